/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The next step inside the preload layer: explore a provider, or enable what was found of it. */
#ifndef CONTROLPLANE_SEARCH_PRELOAD_STEP_H
#define CONTROLPLANE_SEARCH_PRELOAD_STEP_H

#include "controlplane/search/search_state.h"

/* No learned tracepoint is left inside the gap: begins a cycle that explores the next provider, or
 * enables a pair or a point that was seen inside the gap. How many tracepoints, or a negative code;
 * 0: none is left there either, a part was found already, the effort is used, or the gap leads from
 * one unit to another. */
int preload_step(struct search_port *port, struct search *s, struct err *e);

#endif
