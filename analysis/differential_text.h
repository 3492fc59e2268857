/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A differential as text, as a verdict keeps it. One line for each thing: a word, numbers, and a text to the end of the line, with
 * a tab after each word and number.
 *
 *	all      slow requests, others, their means on the edge in ns, least response time of a slow request in ns, confidence
 *	state    mean of slow requests, of others (ns), low and high end of the difference (ns), p, slow requests and others
 *	self     that have it; the word of the state (wire/below_states.tbl.h), or the function
 *	inclusive
 *	at       number of the parent, from 0; mean of slow requests, of others (ns); the entry of the stack
 */
#ifndef ANALYSIS_DIFFERENTIAL_TEXT_H
#define ANALYSIS_DIFFERENTIAL_TEXT_H

#include "analysis/differential.h"
#include "base/buf.h"

enum {
	DIFFERENTIAL_TEXT_MAX = 16384, /* bytes with the terminating 0 */
	/* of functions; each has its callers inclusive before it, with the same difference */
	DIFFERENTIAL_SELF_MAX = 8,
	DIFFERENTIAL_INCLUSIVE_MAX = 24,
};

/*
 * Appends the text, terminated: all states, the first functions with at most p_max, and as much of the tree as fits, the largest
 * entries. Shortens what it is given. Control characters become '?'. Items: those of differential_of(). O(items + count).
 */
void differential_write(struct buf *out, struct differential *d, struct difference_node *tree,
    uint32_t count, double p_max);

/* What was written; numbers have six digits. ERR_INPUT: it was not written so. ERR_MEMORY. Uses the arena. O(len^2) at most. */
int differential_read(struct differential *ret, struct difference_node **tree, uint32_t *count,
    const char *text, struct arena *a, struct err *e);

#endif
