/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The gates of this node's programs (npm/hone-otel-gate), and which spans are to be on in them. A gate asks again and again; it keeps
 * what it was told until its lease ends. So nothing stays on when hone-otel is gone: there is nothing to set back.
 *
 *	want(names, share, lease) ---> version 8 ---> ask(): answer 8 ---> ask(): "8 is in effect" ---> confirmed
 *
 * A name that the controller wants is that of a tracepoint: one end of a span ("price:discount_begin"), or "price:*". Bounded: gates,
 * services, and names in all. Pure; one thread at a time.
 */
#ifndef OTEL_CONTROL_GATE_TABLE_H
#define OTEL_CONTROL_GATE_TABLE_H

#include "base/clock.h"
#include "otel/control/gate_message.h"
#include "wire/agent_messages.h"
#include "wire/toggle.h"

enum { GATES_MAX = 1024, GATE_NAMES_OF_ONE = 4096, GATE_NAMES_OF_ALL = 32768 };

struct gate_table;

struct gate_table_options {
	int64_t
	    lease_ns; /* of an answer, at most; a gate that did not ask for this long is forgotten */
	int64_t busy_ns, idle_ns; /* between two questions: while spans may be wanted, and else */
	uint64_t version;         /* the first one; above all that an earlier hone-otel gave */
};

struct gate_table *gate_table_new(const struct gate_table_options *o); /* NULL: out of memory */
void gate_table_free(struct gate_table *t);                            /* NULL is fine */

/* Takes what the controller wants, until the lease ends. ERR_MEMORY: it stays as it was. O(toggles). */
int gate_table_want(struct gate_table *t, const struct want *w, struct mono until, struct err *e);

/* A gate asks. *ret is in the arena. ERR_FULL: too many gates or names; ERR_MEMORY. *is_new: its first question.
 * O(names of its service). */
int gate_table_ask(struct gate_table *t, const struct gate_question *q, struct mono now,
    struct gate_answer *ret, bool *is_new, struct arena *a, struct err *e);

/* Ends the lease of what is wanted, and forgets gates, when it is time. O(gates). */
void gate_table_turn(struct gate_table *t, struct mono now);

/* Every gate has said that what is wanted now is in effect. */
bool gate_table_confirmed(const struct gate_table *t);

/* The share of traces in which what is wanted is on in every program, now; 1 without gates. O(gates). */
double gate_table_share(const struct gate_table *t, struct mono now);

/* Whether a gate has what the name of a tracepoint stands for. O(services); with "*" O(names). */
bool gate_table_has(const struct gate_table *t, const char *name);

/* The programs with their tracepoints, in the arena; changes() is another number when they are others. ERR_MEMORY. O(names). */
int gate_table_programs(
    const struct gate_table *t, struct programs *ret, struct arena *a, struct err *e);
uint64_t gate_table_changes(const struct gate_table *t);

struct gate_table_stats {
	uint32_t gates, names, on; /* on: names that are wanted, and that some gate has */
	uint64_t spans;            /* that were on, of the gates that are known now */
	uint64_t names_left;       /* past the bounds */
	double on_ns,
	    off_ns; /* of a span: the mean of all gates that have measured it; 0: none has */
};

void gate_table_stats(const struct gate_table *t, struct gate_table_stats *ret);

#endif
