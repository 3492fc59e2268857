/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hypotheses of a search, as the forest keeps them. */
#ifndef CONTROLPLANE_SEARCH_SEARCH_HYPOTHESIS_H
#define CONTROLPLANE_SEARCH_SEARCH_HYPOTHESIS_H

#include "controlplane/search/search_state.h"

/* A new one of the diagnosis's present cycle, owned by the forest; parent: may be NULL. NULL: out of
 * memory. */
struct hypothesis *hypothesis_new_from(
    struct search_port *port, const struct diagnosis *d, const struct hypothesis *parent);
/* That this tracepoint, enabled, shows a smaller edge. NULL, and *e: out of memory. */
struct hypothesis *hypothesis_new_tracepoint(
    struct search_port *port, const struct search *s, uint32_t label, struct err *e);
/* Its motive: what is known of the group, and of this edge of it (UINT32_MAX: of none). Texts for
 * which there is no memory are left out. */
void hypothesis_motive(
    const struct search_port *port, struct hypothesis *h, const struct group *group, uint32_t edge);
/* Requests of the group's reservoir as evidence, up to EVIDENCE_MAX; its order is random, so these
 * are the first. edge: UINT32_MAX: none. 0 or a negative code. */
int hypothesis_evidence(const struct search_port *port, const struct hypothesis *h,
    const struct group *group, uint32_t edge, struct err *e);
/* Enters the state, at the port's time, and marks the hypothesis as changed. */
void hypothesis_settle(struct search_port *port, struct hypothesis *h, enum hypothesis_state state);
void hypothesis_withdraw(struct search_port *port, struct hypothesis *h, enum reason reason);

/* What the hypothesis has enabled is not wanted by it any more, and the log says so. reason: for the log. */
void hypothesis_disable(struct search_port *port, const struct hypothesis *h, enum reason reason);

#endif
