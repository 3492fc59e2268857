/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What gates and the decider say to each other, beside records.
 *
 *	gate to decider, hone.events
 *	head (its items: events) | beat int, ns of the gate's CLOCK_MONOTONIC | records, bytes uint, since the gate began | nevents uint | events
 *	event	kind u8 | link uint, of the connection with the agent | length uint | body
 *
 *	decider to gates, hone.orders
 *	head (its items: orders) | term uint | nechoes uint | echoes | norders uint | orders
 *	echo	gate text | its run u64 | the last beat of it that has come int
 *	order	number of the gate's echo uint | kind u8 | link uint | length uint | body
 *
 * A desired state has a lease, which counts from when the agent gets it. So a gate passes none on that a decider made long ago: an order counts
 * only if its message has an echo of this run of the gate, and that beat is at most ORDER_AGE_MAX_NS old by the gate's own clock. Thus a
 * decider that was stopped, and wakes, turns nothing on, and no clock of another machine matters.
 *
 * Who decides follows from the order of hone.orders alone: a decider that begins takes a term higher than all before (next_term()). All readers
 * agree on the leader (struct leader): the first run with the highest term. A decider that reads that it is another one ends.
 */
#ifndef CONTROLPLANE_RELAY_EVENTS_H
#define CONTROLPLANE_RELAY_EVENTS_H

#include "controlplane/relay/numbers.h"

#define RELAY_BEAT_NS INT64_C(250000000)
#define ORDER_AGE_MAX_NS INT64_C(2000000000)

enum { RELAY_EVENTS_MAX = 65536, RELAY_GATES_MAX = 256 };

enum relay_event_kind {
	RELAY_JOINED = 1, /* body: node text | version of the agent text */
	RELAY_LEFT,       /* body: the reason */
	RELAY_FRAME,      /* body: kind u8 (wire/frame.h) | payload */
	RELAY_CLOCK       /* body: struct clock_sample as 4 ints, all on the time base of the log */
};

struct relay_event {
	uint8_t kind; /* enum relay_event_kind */
	uint64_t link;
	const uint8_t *body; /* in the message */
	size_t len;
};

struct events_writer { /* all zeroes before the first event */
	struct buf events;
	uint64_t n;
};

void events_release(struct events_writer *w);
/* Sticky like a buf: w->events.failed. */
void events_add(struct events_writer *w, enum relay_event_kind kind, uint64_t link,
    const void *body, size_t len);
/* Appends the message; h->items must be w->n. The writer is then empty. ERR_MEMORY. */
int events_end(struct events_writer *w, const struct relay_head *h, int64_t beat_ns,
    uint64_t records, uint64_t bytes, struct buf *out, struct err *e);

struct events_message {
	int64_t beat_ns;
	uint64_t records, bytes;
	uint32_t n;
};

/* Of a reader behind the head. ERR_INPUT. */
int events_open(struct events_message *ret, struct reader *r, struct err *e);
int events_next(struct relay_event *ret, struct reader *r, struct err *e);

enum relay_order_kind {
	RELAY_WANT = 1, /* body: payload of WANT */
	RELAY_KEEP,     /* body: payload of KEEP */
	/* body: the reason. The connection is closed, and the agent connects again: the decider does not know it, since it began after it or has
	 * missed events. */
	RELAY_REFUSE
};

struct relay_order {
	uint32_t echo;
	uint8_t kind; /* enum relay_order_kind */
	uint64_t link;
	const uint8_t *body;
	size_t len;
};

struct relay_echo {
	char gate[RELAY_SOURCE_MAX + 1];
	uint64_t epoch;
	int64_t beat_ns;
};

struct orders_writer {
	struct buf orders;
	uint64_t n;
};

void orders_release(struct orders_writer *w);
void orders_add(struct orders_writer *w, uint32_t echo, enum relay_order_kind kind, uint64_t link,
    const void *body, size_t len);
int orders_end(struct orders_writer *w, const struct relay_head *h, uint64_t term,
    const struct relay_echo *echoes, uint32_t nechoes, struct buf *out, struct err *e);

/* Reads what is behind the head. ERR_INPUT. */
int orders_term(uint64_t *ret, struct reader *r, struct err *e);
/* Then the echoes: *echo is the number of that of this run of the gate, UINT32_MAX: there is none; *beat_ns its beat. *n: orders that
 * follow. ERR_INPUT. */
int orders_open(struct reader *r, const char *gate, uint64_t epoch, uint32_t *echo,
    int64_t *beat_ns, uint32_t *n, struct err *e);
int orders_next(struct relay_order *ret, struct reader *r, struct err *e);
struct leader { /* all zeroes: none was read */
	uint64_t term, epoch;
};

/* Takes note of a message of this term and run. Whether it is the leader's: any other is to be dropped. */
bool leader_take(struct leader *l, uint64_t term, uint64_t epoch);

/* The term of a decider that begins when the log of orders has had `end` messages: over all that it has read, and over all that were taken
 * before, since a decider with term n + 1 begins behind n messages and then writes one. ERR_INPUT: there is no higher one. */
int next_term(const struct leader *l, int64_t end, uint64_t *ret, struct err *e);

/* Whether an order with the echo of this beat still counts. */
bool order_counts(int64_t beat_ns, int64_t now_ns);

#endif
