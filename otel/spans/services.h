/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The services that spans came from lately, one entry for each service and place (pod, host or instance), for the controller's list of
 * programs. Their spans are always on, as libhone's tracepoints are, so none is listed as a tracepoint: only what can be switched is.
 * Bounded: SERVICES_MAX entries with names of up to SERVICE_NAME_MAX bytes; what does not fit is counted. Pure; one thread at a time.
 */
#ifndef OTEL_SPANS_SERVICES_H
#define OTEL_SPANS_SERVICES_H

#include "base/clock.h"
#include "formats/trace_span.h"
#include "wire/agent_messages.h"

#define SERVICE_QUIET_NS \
	(INT64_C(900) * 1000000000) /* without a span for so long it is forgotten */
enum { SERVICES_MAX = 1024, SERVICE_NAME_MAX = 63, SERVICE_PLACE_MAX = 127 };

struct services;

struct services *services_new(void);    /* NULL: out of memory */
void services_free(struct services *s); /* NULL is fine */

/* A span came. O(1) expected. */
void services_note(struct services *s, const struct span *span, struct mono now);

/* Forgets those that are quiet. O(entries), at most once a second. */
void services_turn(struct services *s, struct mono now);

/* Another number when there are other entries; how many there are; spans of which the service did not fit. */
uint64_t services_changes(const struct services *s);
uint32_t services_count(const struct services *s);
uint64_t services_left(const struct services *s);

/* Appends a program for each entry to *ret, whose programs are copied to the arena; names belong to s and are valid until its next
 * change. At most PROGRAMS_MAX in all. False: out of memory. O(entries). */
bool services_programs(const struct services *s, struct programs *ret, struct arena *a);

#endif
