/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removes what dead agents of this node left: sessions, folders, and a table of rates that no agent
 * holds. What living agents have stays. */
#ifndef AGENT_GUARD_SWEEP_H
#define AGENT_GUARD_SWEEP_H

#include "base/err.h"

/* Ends the sessions of dead agents and removes their folders in run_dir, in a child process that
 * becomes the user who owns run_dir, since root must not follow what another user placed there. To
 * be called before any thread is started. Up to 10 s. ERR_TIMEOUT: the session daemon hangs;
 * ERR_TRACER: it does not answer, but the folders are removed; ERR_MISSING: run_dir has an unknown
 * owner; ERR_SYSTEM. */
int sweep_left(const char *node, const char *run_dir, struct err *e);

/* `hone-agent --sweep`: sweep_left(), then removes the table of rates at path `policy`, unless an
 * agent holds it, and run_dir, if it is empty. Returns what sweep_left() does. */
int sweep_all(const char *node, const char *run_dir, const char *policy, struct err *e);

#endif
