/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was meant: of some names, the one that is nearest to what was said. */
#ifndef BASE_SUGGESTION_H
#define BASE_SUGGESTION_H

#include <stdint.h>

enum { EDIT_DISTANCE_MAX_BYTES = 255 }; /* longer words are like no other */

/* How many letters to add, take away or change to get from a to b (Levenshtein 1966), by Wagner and
 * Fischer's table, a row at a time. Over EDIT_DISTANCE_MAX_BYTES of one: UINT32_MAX. O(a * b). */
uint32_t edit_distance(const char *a, const char *b);

struct suggestion {              /* { .said = word } is ready */
	const char *said, *best; /* best: NULL if none is near enough to be meant */
	uint32_t distance;
};

/* Near enough: a quarter of its letters may differ, and one; the beginning of a name is nearly the
 * name. Of those that are as near, the first. */
void suggestion_try(struct suggestion *n, const char *name);

#endif
