/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CONTROLPLANE_SEARCH_SEARCH_END_H
#define CONTROLPLANE_SEARCH_SEARCH_END_H

#include "controlplane/search/search_state.h"

/* Disables all that the search enabled, and withdraws the hypotheses that it had not settled. reason:
 * why there is no verdict; REASON_NONE: there is one. It must not have ended. */
void search_end(struct search_port *port, struct search *s, enum reason reason);
/* The same, because the tracepoint of this label, an end of the gap, is over budget. */
void search_end_over_budget(struct search_port *port, struct search *s, uint32_t label);

#endif
