/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Feeds the watcher (controlplane/alerts/watcher.h) with traces, ends its windows, and starts diagnoses for its alerts. */
#ifndef CONTROLPLANE_ENGINE_WATCHING_H
#define CONTROLPLANE_ENGINE_WATCHING_H

#include "analysis/always_on_path.h"
#include "analysis/label.h"
#include "controlplane/alerts/watcher.h"
#include "controlplane/engine/request_types.h"

/* Counts a complete trace of the type, of whose requests the share `sampled` is traced, and of its group. A trace that is lossy counts,
 * too: its begin and its end are known. path: NULL: none is known. O(1). ERR_MEMORY. */
int watching_trace(struct watcher *w, const struct request_type *type, const struct labels *labels,
    const struct trace *t, const struct always_on_path *path, double sampled, struct err *e);

/* Ends the window that lasts if its time is over. O(types x healthy windows) then, else O(1). ERR_MEMORY. */
int watching_step(struct watcher *w, const struct request_types *types, struct mono now,
    struct wall when, struct err *e);

/* An alert that began since the last call, for which nothing was decided yet; NULL: none. */
struct alert *watching_new_alert(struct watcher *w);

#endif
