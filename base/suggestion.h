/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "Did you mean": of several names, the one that is most similar to a misspelt word. */
#ifndef BASE_SUGGESTION_H
#define BASE_SUGGESTION_H

#include <stdint.h>

enum { EDIT_DISTANCE_MAX_BYTES = 255 };

/* The number of bytes to insert, delete or replace to get from a to b (Levenshtein 1966; the
 * algorithm is Wagner and Fischer's, one row at a time). UINT32_MAX: one of them is over
 * EDIT_DISTANCE_MAX_BYTES long. O(a * b). */
uint32_t edit_distance(const char *a, const char *b);

struct suggestion {              /* { .said = word } before the first try */
	const char *said, *best; /* best: NULL if no name is similar enough */
	uint32_t distance;       /* of best */
};

/* Offers one name. It is similar enough at a distance of 1 + a quarter of the word's length or less;
 * a name that begins with the word counts as distance 1 at most, if the word has two bytes or more. The first of
 * equally similar names is kept. */
void suggestion_try(struct suggestion *n, const char *name);

#endif
