/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's main loop, around the engine: what came in goes to the engine,
 * what the engine changed goes to the database, and then to the agents. One
 * thread. It logs, so it belongs to the program honed.
 */
#ifndef CONTROLPLANE_HONED_HONED_H
#define CONTROLPLANE_HONED_HONED_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/privilege.h"
#include "controlplane/honed/honed_config.h"

struct honed;

/* Makes the folders of sockets and databases where they are missing, for whom honed will become.
 * Before that. */
int honed_folders(const struct config *c, const struct privilege *who, struct err *e);

/* Opens database, space, listeners, in this order: who fails has disturbed nobody. The
 * configuration outlives it. */
int honed_open(struct honed **ret, const struct config *c, struct err *e);
void honed_close(struct honed *h); /* NULL is fine */

/* Until *stop is set, by a signal handler or a thread. Then all diagnoses are stopped and the
 * agents told; true: every agent has said within 5 s that nothing added is on. */
bool honed_run(struct honed *h, const atomic_bool *stop);

#endif
