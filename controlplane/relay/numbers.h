/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The head of every message in the log, and what its numbers tell. A log keeps the order of a partition, but a writer that has no answer
 * writes again, a process that was stopped may write after another took its place, and a broker may lose what it has taken. So each
 * writer counts: its runs (epoch), the messages of a run in this partition, and the items (records, rows, events) before each message.
 *
 *	head	version u8 | kind u8 | source text | epoch u64 | number uint | items before uint | items uint
 *
 * (uint, text, u64: base/buf.h.) A reader of one partition keeps for each source the run and the next number. No order of epochs is
 * assumed, so a clock that was set back does no harm: a run that was never seen follows the one before; a run that was replaced is over.
 */
#ifndef CONTROLPLANE_RELAY_NUMBERS_H
#define CONTROLPLANE_RELAY_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum relay_kind { RELAY_RECORDS = 1, RELAY_ROWS, RELAY_EVENTS, RELAY_ORDERS, RELAY_FOREST };

enum {
	RELAY_VERSION = 1,
	RELAY_SOURCE_MAX = 63,
	RELAY_SOURCES_MAX = 1024, /* of one partition; messages of further ones are refused */
	RELAY_REPLACED_MAX = 4    /* runs of a source that are remembered as over */
};

struct relay_head {
	uint8_t kind;                      /* enum relay_kind */
	char source[RELAY_SOURCE_MAX + 1]; /* the writer's name */
	uint64_t epoch;                    /* of this run of the writer */
	uint64_t number;                   /* of the message in its partition, from 1 */
	uint64_t before; /* items of the run in this partition before this message */
	uint64_t items;  /* in this message */
};

void relay_head_encode(const struct relay_head *h, struct buf *b);
/* Reads the head; the rest is left in *r. ERR_VERSION; ERR_INPUT: malformed, or not of this kind. O(1). */
int relay_head_decode(
    struct relay_head *ret, struct reader *r, enum relay_kind kind, struct err *e);

enum relay_verdict {
	RELAY_NEXT,    /* take it; `lost` says what is missing before it */
	RELAY_NEW_RUN, /* so, too, and it is the first that came of this run */
	RELAY_AGAIN,   /* it came before */
	RELAY_OVER,    /* of a run that another one has replaced: drop it */
	RELAY_TOO_MANY /* sources; drop it */
};

struct relay_gap {
	uint64_t messages, items; /* 0: nothing is missing */
};

struct relay_counts {
	uint64_t messages, items;           /* taken */
	uint64_t lost_messages, lost_items; /* in gaps */
	uint64_t again, over, refused;      /* messages that were dropped */
};

struct relay_source {
	char name[RELAY_SOURCE_MAX + 1];
	uint64_t epoch, next, items; /* of the run: the next number, items so far */
	uint64_t replaced[RELAY_REPLACED_MAX];
	uint32_t nreplaced; /* since the beginning; the last ones are kept */
};

struct relay_numbers { /* of one partition; all zeroes: nothing has come */
	struct relay_source *sources;
	uint32_t n, cap;
	struct relay_counts counts;
};

void relay_numbers_release(struct relay_numbers *n);

/*
 * What to do with the message, and what is missing before it:
 *
 *	1. a source that never came: it is taken, whatever its number is: we may have begun in the middle of the log
 *	2. a run that was replaced: RELAY_OVER
 *	3. another run than the present one: RELAY_NEW_RUN; missing is what came before it in this run
 *	4. a number that came: RELAY_AGAIN
 *	5. else RELAY_NEXT; missing are the numbers in between
 *
 * Without memory for a new source RELAY_TOO_MANY. O(sources).
 */
enum relay_verdict relay_numbers_take(
    struct relay_numbers *n, const struct relay_head *h, struct relay_gap *gap);

#endif
