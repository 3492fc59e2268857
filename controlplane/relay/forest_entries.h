/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The forest as a log, hone.forest: what the decider writes into its database, in order, so that one that stands by has it in its own.
 *
 *	head (its items: rows) | term uint | kind u8 | the kind's
 *	BEGIN	a decider has this term from here on: what entries of lower terms say behind it counts for nobody
 *	ROWS	flags u8 (MORE: of one commit with the next entry) | schema uint | rows
 *	STATE	flags u8 (FIRST, LAST) | schema uint | FIRST: the place that its writer went on from, 3 x uint | rows
 *	FILE	flags u8 (FIRST, LAST) | which u8 | bytes: a file beside the database, whole, in one entry or several
 *	ASK	one that stands by has not got all: the leader is to write a full state. It has no number in the term
 *
 * (Rows: forest/store_copy.h; they are bytes here.) A full state is all rows of the database as of its first entry. Between its entries there may be
 * ROWS and FILEs: these rows come on top of it. The writer makes one when its term begins, each day, and when it is asked. So
 * the topic may delete what is older than some days.
 *
 * The reader (struct forest_follow) is pure: what it does with rows, states and files are calls. It keeps to
 *
 *	1. entries of a lower term, or of a second run with the same one, are dropped (leader_take())
 *	2. an entry whose number came is dropped
 *	3. numbers that are missing end `whole`: rows that follow are dropped, until a full state is complete
 *	4. a full state takes the place of everything, when its last entry has come. If its writer ends before that, the copy is what it was,
 *	   with the rows that came meanwhile, if these are on top of what the copy has
 *
 * So the copy is at each moment what some decider's database was, and `whole` says whether it is what the last entry says.
 */
#ifndef CONTROLPLANE_RELAY_FOREST_ENTRIES_H
#define CONTROLPLANE_RELAY_FOREST_ENTRIES_H

#include "controlplane/relay/events.h"

enum {
	FOREST_MESSAGE_MAX =
	    900 << 10, /* bytes of rows or of a file in an entry, but for a longer row */
	FOREST_FILE_MAX = 64 << 20,
	FOREST_WAITING_MAX =
	    64 << 20, /* bytes of rows that wait for a state or for the end of their commit */
	FOREST_FILES = 3
};

enum forest_entry_kind { FOREST_BEGIN = 1, FOREST_ROWS, FOREST_STATE, FOREST_FILE, FOREST_ASK };

enum { FOREST_FIRST = 1, FOREST_LAST = 2, FOREST_MORE = 4 };

struct forest_place { /* all zeroes: none */
	uint64_t term, run, number;
};

struct forest_entry {
	uint64_t term;
	uint8_t kind, flags, which;
	uint32_t schema;
	struct forest_place from;
	const uint8_t *body; /* rows or bytes, in the message */
	size_t len;
};

/* Appends the message. h->kind is RELAY_FOREST. Sticky like a buf. */
void forest_entry_encode(const struct relay_head *h, const struct forest_entry *x, struct buf *out);
/* ERR_VERSION, ERR_INPUT. O(1). */
int forest_entry_decode(
    struct relay_head *h, struct forest_entry *ret, const void *data, size_t len, struct err *e);

/* What is done to the copy. An error ends `whole`, but for that of a file; its text is kept. */
struct forest_calls {
	void *ctx;
	/* One commit or several, in one transaction. */
	int (*rows)(void *ctx, const void *rows, size_t len, uint32_t schema,
	    const struct forest_place *at, struct err *e);
	int (*state_begin)(void *ctx, struct err *e);
	int (*state_rows)(void *ctx, const void *rows, size_t len, uint32_t schema, struct err *e);
	int (*state_end)(void *ctx, const struct forest_place *at, struct err *e);
	void (*state_undo)(void *ctx); /* also after an error of one of the three */
	int (*file)(void *ctx, uint32_t which, const void *data, size_t len, struct err *e);
};

struct forest_follow {
	struct forest_calls calls;
	struct leader leader;
	struct forest_place seen; /* the last entry that was not dropped */
	struct forest_place base; /* the last one before the present term */
	bool whole;               /* the copy, with what waits, has all up to `seen` */
	bool unread; /* the last entries could not be read: whether they count is not known */
	struct forest_place rows; /* the last entry with rows, also if they were dropped */
	bool state_on;            /* a state has begun, and has not ended */
	bool on_top;        /* what waits is on top of the copy, not only of the state that is on */
	struct buf waiting; /* rows; the first `complete` bytes are of whole commits */
	size_t complete;
	uint64_t part_from; /* number of the entry before those of a commit that is not complete */
	uint32_t schema;
	struct buf file;
	int file_on;              /* which, or -1 */
	uint64_t entries, states; /* taken, and complete */
	uint64_t older, again;    /* entries that were dropped by 1. and 2. */
	uint64_t missing;         /* entries that are known to be missing, */
	uint64_t gaps;            /* and in how many places */
	struct err trouble;       /* the last one of a call; code 0: none */
};

/* copy: up to where the copy has all; zeroes: it is of no log. */
void forest_follow_init(
    struct forest_follow *f, const struct forest_calls *calls, const struct forest_place *copy);
void forest_follow_release(struct forest_follow *f);
/* Takes a message of hone.forest. ERR_INPUT, ERR_VERSION: it cannot be read, and will be missing. O(len). */
int forest_follow_take(struct forest_follow *f, const void *data, size_t len, struct err *e);
/* The log has come to its end for this reader: a state that is on is undone. */
void forest_follow_end(struct forest_follow *f);

#endif
