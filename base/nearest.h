/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was meant: of some names, the one that is nearest to what was said. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stdint.h>

enum { NEAREST_MAX_BYTES = 255 }; /* longer words are like no other */

/* How many letters to add, take away or change to get from a to b (Levenshtein 1966), by Wagner and
 * Fischer's table, a row at a time. Over NEAREST_MAX_BYTES of one: UINT32_MAX. O(a * b). */
uint32_t nearest_distance(const char *a, const char *b);

struct nearest {                 /* { .said = word } is ready */
	const char *said, *best; /* best: NULL if none is near enough to be meant */
	uint32_t distance;
};

/* Near enough: a quarter of its letters may differ, and one; the beginning of a name is nearly the
 * name. Of those that are as near, the first. */
void nearest_try(struct nearest *n, const char *name);

#endif
