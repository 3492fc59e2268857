/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names of events of spans (OpenTelemetry's addEvent(), exceptions), by service: tracepoints "event:NAME" that are always on, which the
 * controller is told of with the program, so that searches use them. Bounded: EVENT_NAMES_MAX names in all, further ones are left out and
 * counted: names with ids in them would be a tracepoint each. Pure; one thread at a time.
 */
#ifndef OTEL_SPANS_EVENT_NAMES_H
#define OTEL_SPANS_EVENT_NAMES_H

#include "formats/trace_span.h"
#include "wire/agent_messages.h"

#define EVENT_PROVIDER "event:"
enum { EVENT_NAMES_MAX = 2048, EVENT_NAME_MAX = 200 };

struct event_names;

struct event_names *event_names_new(void);    /* NULL: out of memory */
void event_names_free(struct event_names *n); /* NULL is fine */

/* The tracepoint of an event of that service, "event:NAME", until event_names_free(). NULL: it has none, since its name is empty, longer
 * than EVENT_NAME_MAX, has '*' or control characters, or past the bound. O(length) expected. */
const char *event_names_note(
    struct event_names *n, struct text_view service, struct text_view name);

/* Whether some service has this tracepoint; "event:*": whether there is any. O(length) expected. */
bool event_names_has(const struct event_names *n, const char *tracepoint);

/* Gives the programs from `from` on the tracepoints of their service. Names belong to n; the rest is in the arena. False: out of memory.
 * O(programs + names) expected. */
bool event_names_fill(
    const struct event_names *n, struct programs *ret, uint32_t from, struct arena *a);

uint64_t event_names_changes(const struct event_names *n); /* another number: there are others */
uint64_t event_names_left(const struct event_names *n);    /* events past the bounds */

#endif
