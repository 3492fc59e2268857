/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What dead agents of this node left, without being one: sessions, folders, a table of rates that
 * nobody holds. */
#ifndef AGENT_GUARD_SWEEP_H
#define AGENT_GUARD_SWEEP_H

#include "base/err.h"

/* Ends sessions and takes folders away, as the user to whom the folder belongs, in a child: as root
 * in a folder of somebody else's we could be led astray. What living agents have stays. Before any
 * thread is made. Within 10 s, or ERR_TIMEOUT; ERR_TRACER: the session daemon does not answer (then
 * the folders are gone all the same). */
int sweep_left(const char *node, const char *run_dir, struct err *e);

/* `hone-agent --sweep`: that, and the table of rates, unless an agent has it, and the folder
 * itself. */
int sweep_all(const char *node, const char *run_dir, const char *policy, struct err *e);

#endif
