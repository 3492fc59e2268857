/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Agents of OpAMP in programs (Elastic's distributions of OpenTelemetry for Node, Java and PHP obey `deactivate_instrumentations` of the file `elastic`), and which of their
 * instrumentations are on. Those that the operator names (`off`) are off unless the controller wants them; the others are left alone.
 *
 *	want(names, lease) ---> configuration with a hash ---> ask(): it is offered ---> ask(): "applied, hash" ---> confirmed
 *
 * An instrumentation is a pair of tracepoints, "opamp:express_begin" and "opamp:express_end", of all spans of its scope, which are points in the unit
 * above them (otel/spans/span_points.h). OpAMP has no lease: an agent keeps what it was told when hone-otel is gone. So hone-otel ends the lease of the
 * controller, sets all agents back to what their operator configured before it ends (opamp_table_set_back()), and offers its own configuration
 * again when it starts after it was killed. Bounded: agents, names. Pure; one thread at a time.
 */
#ifndef OTEL_CONTROL_OPAMP_TABLE_H
#define OTEL_CONTROL_OPAMP_TABLE_H

#include "base/clock.h"
#include "formats/trace_span.h"
#include "otel/control/opamp_message.h"
#include "wire/agent_messages.h"
#include "wire/toggle.h"

enum { OPAMP_AGENTS_MAX = 1024, OPAMP_OFF_MAX = 64, OPAMP_OFF_NAME_MAX = 64 };
#define OPAMP_PROVIDER "opamp:"

struct opamp_table;

struct opamp_table_options {
	const char *off;  /* names of instrumentations, with commas between; see opamp_off_fits() */
	int64_t poll_ns;  /* how often agents are to ask */
	int64_t quiet_ns; /* an agent that did not ask for this long is forgotten */
};

/* Whether it is a list of at most OPAMP_OFF_MAX names of letters, digits, '-', '_' and '.'; "" is one. O(len). */
bool opamp_off_fits(const char *off);

struct opamp_table *opamp_table_new(const struct opamp_table_options *o); /* NULL: out of memory */
void opamp_table_free(struct opamp_table *t);                             /* NULL is fine */

/* Takes what the controller wants, until the lease ends. O(toggles x names). */
void opamp_table_want(struct opamp_table *t, const struct want *w, struct mono until);

enum opamp_news { OPAMP_NOTHING, OPAMP_NEW, OPAMP_REFUSED };

/* An agent asks. ret->config is valid until the next call of want() or turn(). *news: it is new, and described; or it could not apply what it was told
 * (r->error). ERR_FULL: too many agents; ERR_MEMORY. O(agents). */
int opamp_table_ask(struct opamp_table *t, const struct opamp_report *r, struct mono now,
    struct opamp_answer *ret, enum opamp_news *news, struct err *e);

/* Ends the lease of what is wanted, and forgets agents, when it is time. O(agents). */
void opamp_table_turn(struct opamp_table *t, struct mono now);

/* From now on all agents are told to do as they were configured at their start. */
void opamp_table_set_back(struct opamp_table *t);

/* Every agent that obeys has said that what is wanted now is in effect, or that it cannot apply it. O(agents). */
bool opamp_table_confirmed(const struct opamp_table *t);

/* Whether an agent has what the name of a tracepoint stands for; "opamp:*": whether there is any. O(names). */
bool opamp_table_has(const struct opamp_table *t, const char *name);

/* The point "opamp:NAME" that a span of this service and scope is, if its instrumentation is one that is switched here. Length 0: it is none. Valid as long
 * as the table. O(names + agents). */
struct text_view opamp_table_scope(
    const struct opamp_table *t, struct text_view service, struct text_view scope);

/* Appends the programs of agents that obey, with their tracepoints, to *ret, all in the arena; changes() is another number when they are others.
 * False: out of memory. O(agents). */
bool opamp_table_programs(const struct opamp_table *t, struct programs *ret, struct arena *a);
uint64_t opamp_table_changes(const struct opamp_table *t);

/* How many instrumentations `off` names. */
uint32_t opamp_table_names(const struct opamp_table *t);

struct opamp_table_stats {
	uint32_t agents, obey; /* obey: they accept configurations, and seem to know these keys */
	uint32_t on;           /* tracepoints that are wanted */
	uint32_t failed;       /* agents that could not apply the configuration */
};

void opamp_table_stats(const struct opamp_table *t, struct opamp_table_stats *ret);

#endif
