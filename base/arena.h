/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that is taken piece by piece and given back whole. A trace lives in one. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena { /* all zeroes is an empty one */
	struct arena_block *blocks;
	size_t used_bytes;  /* of the newest block */
	size_t total_bytes; /* of all blocks */
};

/* size bytes, aligned for anything, not cleared; valid until reset or release. Blocks
 * double from 4 KiB to 1 MiB. Out of memory: NULL. O(1) amortised. */
void *arena_alloc(struct arena *a, size_t size_bytes);
void *arena_calloc(
    struct arena *a, size_t count, size_t size_bytes); /* cleared; overflow is NULL */
void *arena_copy(struct arena *a, const void *from, size_t size_bytes);
char *arena_text(struct arena *a, const char *s, size_t len); /* copy with a final 0 */

void arena_reset(struct arena *a);   /* empty, keeps its newest block */
void arena_release(struct arena *a); /* gives all back; a is empty */

#endif
