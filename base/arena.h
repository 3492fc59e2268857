/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An arena: memory that is allocated piece by piece and freed as a whole. A trace lives in one.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena { /* all zeroes is an empty arena */
	struct arena_block *blocks;
	size_t used_bytes;  /* of the newest block */
	size_t total_bytes; /* of all blocks */
};

/* size_bytes, aligned for any type, not cleared; valid until reset or release. Blocks double from
 * 4 KiB to 1 MiB; a piece of over half a block has a block of its own. NULL: out of memory. O(1)
 * amortised. */
void *arena_alloc(struct arena *a, size_t size_bytes);

/* The same for count * size_bytes, cleared. NULL also if the product overflows. */
void *arena_calloc(struct arena *a, size_t count, size_t size_bytes);

/* A copy of the bytes. NULL: out of memory. */
void *arena_copy(struct arena *a, const void *from, size_t size_bytes);

/* A copy of the text with a terminating 0. NULL: out of memory. */
char *arena_text(struct arena *a, const char *s, size_t len);

void arena_reset(struct arena *a);   /* frees all pieces; keeps the newest block for reuse */
void arena_release(struct arena *a); /* frees everything; the arena is empty */

#endif
