/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The operations of a request, and what each of them did: the input of this room, whatever made it (states_of_trace.h). Pure data.
 *
 *	operation 0 (root)  |R |N |===== operation 1 =====|R |D |R|
 *	operation 1                |R |L |R |=== 2 ===|R  |
 *
 * The pieces of an operation cover it from begin to end. A piece that passed within a sub-operation is that sub-operation's: its state does
 * not count here (state Z of Belkhiri et al., ICPE 2024, section 2.3), and it separates two intervals.
 */
#ifndef KERNEL_PATTERNS_REQUEST_OPERATIONS_H
#define KERNEL_PATTERNS_REQUEST_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "wire/below.h"

enum {
	OPERATION_NONE = UINT32_MAX,
	OPERATIONS_MAX = 65536,      /* of a request */
	OPERATION_INTERVALS_MAX = 65 /* further ones are counted with the last of them */
};

struct operation_piece {
	int64_t from_ns, to_ns;
	uint32_t
	    within; /* the operation directly below in which it passed; OPERATION_NONE: in itself */
	uint8_t state; /* enum below_state */
};

struct operation {
	const char *name; /* "service operation", name_len bytes */
	uint32_t name_len;
	uint32_t parent; /* before this one in the list; OPERATION_NONE: the first one */
	int64_t begin_ns, end_ns;
	const struct operation_piece *pieces; /* by time, without gaps */
	uint32_t npieces;
};

struct operations {
	uint64_t id_high, id; /* of the request */
	struct operation *list;
	uint32_t n;
};

/*
 * The workflow: which operation calls which, in which order. It is the request's type. Operations that another one calls are ordered by
 * their begins; those that overlap in time are ordered by what they are, since their order is chance. Several of the same kind, one after the
 * other, have one slot: a loop of any length is the same workflow, which it is not in the paper.
 *
 * A place is an operation of the workflow. The time of a place with n slots falls into 2n + 1 intervals: 2i is before slot i (2n: at the end), and
 * 2i + 1 between the operations of slot i.
 */
struct workflow_place {
	uint32_t parent, slot; /* OPERATION_NONE, 0: the root */
	uint32_t first;        /* place of its slot 0; that of slot i is first + i */
	uint32_t nslots;
	uint32_t operation; /* one of those at this place */
};

struct workflow {
	struct hash128 type;
	struct workflow_place
	    *places; /* parents first; the same order for all requests of a type */
	uint32_t nplaces;
	uint32_t *place, *slot; /* by operation */
};

/* In the arena. ERR_INPUT: no operation, more than OPERATIONS_MAX, or a parent that is not before its child; ERR_MEMORY. O(n log n). */
int workflow_of(struct workflow *ret, const struct operations *o, struct arena *a, struct err *e);

/* ---- states as letters, and repeated pairs folded ---- */

char state_letter(enum below_state s); /* R P D N T L B F U, in the order of the states */
enum below_state letter_state(char c); /* BELOW_STATES: no letter of a state */

struct state_run {
	int64_t ns;        /* of all its passes */
	uint32_t passes;   /* how often: more than 1 in a loop */
	uint16_t interval; /* number, as above */
	uint8_t state;
	bool loose; /* no part of the sequence, but the sum of a state that has no place in it */
};

/*
 * What an operation did, interval by interval: its sequence of states, and behind it the sums that are loose. A state that follows itself is one
 * run; a pair of states that follows itself is one pair, so R D R D R is (R-D)+ R (Belkhiri et al., section 3.2). Loose are READY and UNKNOWN,
 * since when a thread loses its CPU is chance (READY is left out there, too), and what is beyond the first MINE_LENGTH_MAX runs of an
 * interval.
 */
struct operation_states {
	struct state_run *runs;
	uint32_t n;
	int64_t own_ns, unknown_ns;
};

/* Of one operation, whose place is in w. In the arena. ERR_INPUT: a piece does not begin where the one before ended, or is not what it
 * says; ERR_MEMORY. O(pieces). */
int operation_states_of(struct operation_states *ret, const struct operations *o,
    const struct workflow *w, uint32_t operation, struct arena *a, struct err *e);

#endif
