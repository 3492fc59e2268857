/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes traces of a tracer's events. The request of an event is found by the trace contract
 * (libhone's context names it) or, for programs without libhone, by a mapping of the program
 * (mapping/mapper.h) or by a pair of events on one thread that begin and end a request.
 */
#ifndef FORMATS_CORRELATE_H
#define FORMATS_CORRELATE_H

#include "formats/correlate_event.h"

struct correlate;

/*
 * The rule is "thread=BEGIN..END", each of them "provider:event" or a pattern of it, in which *
 * stands for any text. A begin event inside of such a request ends the request, which is then
 * incomplete. Without a rule (NULL), programs that the mapping of the reading's options names are
 * correlated by the mapping, all others by context. ERR_INPUT: the rule does not have that form.
 * ERR_MEMORY.
 */
int correlate_check(const char *rule, struct err *e); /* only checks the rule; not NULL */

/* Traces are handed to the reading, which must outlive *ret. The caller frees *ret. */
int correlate_new(struct correlate **ret, struct reading *r, const char *rule, struct err *e);
void correlate_free(struct correlate *c); /* NULL is allowed */

/* Adds an event, which is copied. Events may be out of order by up to 1 s. O(fields) amortised,
 * and the assembly of the traces that are handed out. ERR_MEMORY (also over 60,000 labels or 4096
 * nodes), or the error of take(). */
int correlate_event(struct correlate *c, const struct tracer_event *v, struct err *e);

/* The tracer lost `count` events of the node between these times: traces that overlap the interval
 * are marked as lossy. ERR_MEMORY. */
int correlate_loss(struct correlate *c, uint32_t node, uint64_t count, int64_t from_ns,
    int64_t to_ns, struct err *e);

/* After the last event: hands out the complete traces and counts the incomplete ones. ERR_INPUT: no
 * event belongs to a request, nor was look_mapped() told of one; the text names what is missing. ERR_MEMORY, or the error of
 * take(). */
int correlate_end(struct correlate *c, struct err *e);

#endif
