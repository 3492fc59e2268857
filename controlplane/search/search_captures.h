/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CONTROLPLANE_SEARCH_SEARCH_CAPTURES_H
#define CONTROLPLANE_SEARCH_SEARCH_CAPTURES_H

#include "controlplane/search/captured.h"
#include "controlplane/search/search_state.h"

/* Captured requests count that are at most so much older than the diagnosis. */
#define CAPTURED_BEFORE_NS INT64_C(600000000000)

/*
 * Carries out rare_next(). ends: the diagnosis would end, and has found nothing. 1: it is to go on, for outliers or for answers; 0: it may
 * end, with a verdict of what was captured, if there is one (d->rare.h); ERR_MEMORY. O(captured x events) at its end, else O(captured).
 */
int search_captures(struct search_port *port, struct diagnosis *d, bool ends, struct err *e);
/* See rare_is_left(). O(buckets). */
bool search_captures_hold(struct search_port *port, const struct diagnosis *d);

#endif
