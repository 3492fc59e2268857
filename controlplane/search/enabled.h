/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints that a search has enabled: in the plan, in its list, and in the forest's log. */
#ifndef CONTROLPLANE_SEARCH_ENABLED_H
#define CONTROLPLANE_SEARCH_ENABLED_H

#include "controlplane/search/search_state.h"

/* For that hypothesis. Counted in the run unless it was enabled for another. 0 or a negative code. */
int enable(struct search_port *port, struct search *s, const struct pick *pick, enum reason reason,
    struct err *e);
/* A candidate, for a hypothesis of its own of the cycle that begins. 0 or a negative code. */
int enable_candidate(struct search_port *port, struct search *s, uint32_t label, struct err *e);
/* Pick number `at`; those after it move up by one. */
void disable(struct search_port *port, struct search *s, uint32_t at, enum reason reason);
/* All that is_needed() does not ask for. */
void disable_unneeded(struct search_port *port, struct search *s, enum reason reason);
/* The cost of the label's tracepoint fits, and was not found to be over budget before. */
bool is_affordable(const struct search_port *port, const struct search *s, uint32_t label);
/* Tracepoints of the present cycle are enabled. */
bool has_fresh(const struct search *s);

#endif
