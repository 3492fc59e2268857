/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Under AddressSanitizer the unused part of a block is poisoned and each piece is followed by a gap, so that
 * an access past a piece is reported, as with malloc. A piece is filled, so that a value which was never set is seen in tests.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { GAP_BYTES = 16 };
#define HIDE(at, len) ASAN_POISON_MEMORY_REGION(at, len)
#define SHOW(at, len) ASAN_UNPOISON_MEMORY_REGION(at, len)
#define FILL(at, len) memset(at, 0xa5, len)
#else
enum { GAP_BYTES = 0 };
#define HIDE(at, len) ((void)(at), (void)(len))
#define SHOW(at, len) ((void)(at), (void)(len))
#define FILL(at, len) ((void)(at), (void)(len))
#endif

enum { BLOCK_MIN_BYTES = 4096, BLOCK_MAX_BYTES = 1 << 20 };

struct arena_block {
	struct arena_block *older;
	size_t size_bytes;
	alignas(max_align_t) unsigned char data[];
};

static struct arena_block *
block_new(struct arena *a, size_t size_bytes)
{
	struct arena_block *b;

	assert(a != NULL);
	if (size_bytes > SIZE_MAX / 2 || (b = malloc(sizeof *b + size_bytes)) == NULL)
		return NULL;
	b->older = NULL;
	b->size_bytes = size_bytes;
	a->total_bytes += size_bytes;
	HIDE(b->data, size_bytes);
	return b;
}

static void
block_free(struct arena_block *b)
{
	SHOW(b->data, b->size_bytes);
	free(b);
}

/*
 * A piece that would fill most of a block gets a block of its own, linked behind the newest, whose
 * free part stays in use.
 */
static void *
take_alone(struct arena *a, size_t size_bytes)
{
	struct arena_block *b = block_new(a, size_bytes + GAP_BYTES);

	if (b == NULL)
		return NULL;
	b->older = a->blocks->older;
	a->blocks->older = b;
	SHOW(b->data, size_bytes);
	FILL(b->data, size_bytes);
	return b->data;
}

static bool
grow(struct arena *a)
{
	size_t size_bytes = a->blocks == NULL ? BLOCK_MIN_BYTES : a->blocks->size_bytes * 2;
	struct arena_block *b = block_new(
	    a, size_bytes < BLOCK_MAX_BYTES ? size_bytes : BLOCK_MAX_BYTES);

	if (b == NULL)
		return false;
	b->older = a->blocks;
	a->blocks = b;
	a->used_bytes = 0;
	return true;
}

static void *
take(struct arena *a, size_t size_bytes, size_t align)
{
	size_t at;
	void *piece;

	assert(a != NULL && align > 0 && (align & (align - 1)) == 0);
	if (size_bytes > SIZE_MAX / 4)
		return NULL;
	for (;;) {
		if (a->blocks == NULL && !grow(a))
			return NULL;
		at = (a->used_bytes + align - 1) & ~(align - 1);
		if (at + size_bytes + GAP_BYTES <= a->blocks->size_bytes)
			break;
		if (size_bytes + GAP_BYTES > a->blocks->size_bytes / 2)
			return take_alone(a, size_bytes);
		if (!grow(a))
			return NULL;
	}
	a->used_bytes = at + size_bytes + GAP_BYTES;
	piece = a->blocks->data + at;
	SHOW(piece, size_bytes);
	FILL(piece, size_bytes);
	return piece;
}

void *
arena_alloc(struct arena *a, size_t size_bytes)
{
	return take(a, size_bytes, alignof(max_align_t));
}

void *
arena_calloc(struct arena *a, size_t count, size_t size_bytes)
{
	size_t total_bytes;
	void *p;

	if (__builtin_mul_overflow(count, size_bytes, &total_bytes) ||
	    (p = arena_alloc(a, total_bytes)) == NULL)
		return NULL;
	return memset(p, 0, total_bytes);
}

void *
arena_copy(struct arena *a, const void *from, size_t size_bytes)
{
	void *p = arena_alloc(a, size_bytes);

	assert(from != NULL || size_bytes == 0);
	if (p != NULL && size_bytes > 0)
		memcpy(p, from, size_bytes);
	return p;
}

char *
arena_text(struct arena *a, const char *s, size_t len)
{
	char *p = len == SIZE_MAX ? NULL
	                          : take(a, len + 1, GAP_BYTES == 0 ? 1 : alignof(max_align_t));

	assert(s != NULL || len == 0);
	if (p == NULL)
		return NULL;
	if (len > 0)
		memcpy(p, s, len);
	p[len] = 0;
	return p;
}

void
arena_reset(struct arena *a)
{
	struct arena_block *b = a->blocks, *older;

	if (b == NULL)
		return;
	for (b = b->older; b != NULL; b = older) {
		older = b->older;
		block_free(b);
	}
	b = a->blocks;
	b->older = NULL;
	HIDE(b->data, b->size_bytes);
	a->used_bytes = 0;
	a->total_bytes = b->size_bytes;
}

void
arena_release(struct arena *a)
{
	arena_reset(a);
	if (a->blocks != NULL)
		block_free(a->blocks);
	*a = (struct arena){ 0 };
}
