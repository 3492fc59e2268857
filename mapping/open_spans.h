/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Open spans of a mapper (correlate = span): two tracepoints, one where a span starts and one where it ends, each with the id of the
 * trace and of the span, as numbers or hexadecimal texts. A span without a parent is a request; another one is a unit that its parent
 * forks when it starts, and joins when it ends. The parent may be in another program: ids say where it belongs.
 */
#ifndef MAPPING_OPEN_SPANS_H
#define MAPPING_OPEN_SPANS_H

#include "mapping/mapper_state.h"

/* Takes a tracepoint in its role, SPAN_START or SPAN_END. ERR_MEMORY. O(1) expected. */
int mapped_spans_take(struct mapper *p, const struct mapper_event *v, const struct event_role *role,
    struct mapper_result *ret, struct err *e);
/* Forgets those that started before then; of the process, if it is not 0. O(those), with a process O(open). */
void mapped_spans_forget(struct mapper *p, int64_t before_ns, uint32_t pid);
void mapped_spans_release(struct mapper *p);

#endif
