/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gap becomes smaller, or only one side of its requests is followed. */
#ifndef CONTROLPLANE_SEARCH_NARROW_H
#define CONTROLPLANE_SEARCH_NARROW_H

#include "controlplane/search/search_state.h"

/* The gap becomes this part of it. */
void narrow(struct search *s, const struct measured *m, const struct part *part);
/* From now on only requests of the slow side count. They may be predictable in themselves, so parts
 * are compared by latency. ERR_MEMORY. */
int follow_slow_side(struct search *s, const struct separation *sep, struct err *e);
/* The label is an end of the gap, or what requests are divided by: it has to stay enabled. */
bool is_needed(const struct search *s, uint32_t label);
/* Remembers the shape's path, with the gap as one edge. O(path). ERR_MEMORY. */
int remember_path(struct search *s, const struct shape *shape, struct arena *a, struct err *e);

#endif
