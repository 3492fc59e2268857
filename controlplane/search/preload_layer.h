/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The preload layer: what lies in an edge below the program's own tracepoints, recorded by LTTng's
 * preloaded helpers (docs/preload.md).
 *
 *	own tracepoints are used up --> explore a provider --> enable what lay in the edge: a pair or
 *	                                        ^              a point at a time
 *	                                        |                  |               |
 *	                                        '-- next provider -'          a part took over:
 *	                                             no part took over        the verdict
 *
 * A helper's tracepoints are passed at many positions of a path, so those outside the edge are taken
 * out of paths: how often a request locks elsewhere would divide its group into hundreds.
 */
#ifndef CONTROLPLANE_SEARCH_PRELOAD_LAYER_H
#define CONTROLPLANE_SEARCH_PRELOAD_LAYER_H

#include "controlplane/search/search_state.h"

/* "provider:event" is of the provider that is explored now, and says what time is spent on (of the
 * helpers' tracepoints, those in preload_layer.c; of other providers, all). */
bool preload_explores(const struct search_port *port, const struct search *s, const char *name);
/* While exploring: remembers which labels of the layer a trace has inside the gap. O(events).
 * ERR_MEMORY. */
int preload_note(struct search_port *port, struct search *s, const struct trace *t, struct err *e);
/* Takes steps of the layer out of a path where they are not inside the gap; once a part was found,
 * adds its time by object. O(steps). ERR_MEMORY. */
int preload_cut_path(struct search_port *port, struct search *s, const struct trace *t,
    struct critpath *path, struct err *e);
/* Of a decision to narrow in a cycle of the layer: 1: the part says what its time is spent on; 0: it
 * only lies beside a tracepoint of the layer; or a negative code. 1 for any other decision. */
int preload_keeps(
    struct search_port *port, const struct search *s, const struct decision *x, struct err *e);
/* The verdict's fields of the layer, where a part was found there. The texts are the verdict's.
 * ERR_MEMORY. */
int preload_verdict(
    struct verdict *v, struct search_port *port, const struct search *s, struct err *e);

#endif
