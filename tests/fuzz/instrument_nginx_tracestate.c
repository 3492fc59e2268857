/* SPDX-License-Identifier: MIT */
/*
 * The part that is kept of a tracestate list, given in lines, does not exceed its maximal length,
 * contains at most the first of Hone's members, and is kept unchanged when it is read again.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "instrument/nginx/nginx_tracestate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts Hone's members of the list that was kept. */
static size_t
count_ours(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i + 5 <= len; i++)
		n += memcmp(text + i, "hone=", 5) == 0 && (i == 0 || text[i - 1] == ',');
	return n;
}

/* Each line is in a block of exactly its size, so that a read past its end is detected. */
static void
add(struct tracestate *t, const uint8_t *line, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);

	if (copy == NULL)
		abort();
	if (len > 0)
		memcpy(copy, line, len);
	tracestate_add(t, copy, len);
	free(copy);
}

static void
add_lines(struct tracestate *t, const uint8_t *data, size_t size)
{
	const uint8_t *end;

	for (; (end = memchr(data, '\n', size)) != NULL; data = end + 1) {
		add(t, data, (size_t)(end - data));
		size -= (size_t)(end - data) + 1;
	}
	add(t, data, size);
}

static void
look(const uint8_t *data, size_t size, size_t others_max, bool ours_wanted)
{
	struct tracestate t, again;
	size_t ours;

	tracestate_init(&t, others_max, ours_wanted);
	add_lines(&t, data, size);
	ours = count_ours(t.text, t.len);
	assert(t.looked <= TRACESTATE_LOOKED_MAX && t.looked <= size);
	assert(t.len <= size && t.len <= others_max + (ours > 0 ? 1 + TRACESTATE_LONG : 0));
	assert(ours <= ours_wanted);
	tracestate_init(&again, others_max, ours_wanted);
	tracestate_add(&again, t.text, t.len);
	assert(again.len == t.len && memcmp(again.text, t.text, t.len) == 0 && !again.crowded);
}

/* A member of Hone's at the end of the list is used, if the list has no other one and is
 * examined completely. */
static void
look_behind(const uint8_t *data, size_t size)
{
	static const uint8_t OURS[] = ",hone=b7ad6b7169203331-123456783";
	const size_t len = sizeof OURS - 1;
	struct tracestate t;
	bool had;

	tracestate_init(&t, TRACESTATE_OTHERS_MAX, true);
	add_lines(&t, data, size);
	had = t.ours || t.looked + len > TRACESTATE_LOOKED_MAX;
	add(&t, OURS, len);
	assert(had ||
	       (t.len >= len - 1 && memcmp(t.text + t.len - (len - 1), OURS + 1, len - 1) == 0));
}

/* If the examination stops early, the result is that of the whole list or no member: never a
 * part of a member. */
static void
look_shorter(const uint8_t *data, size_t size, size_t by)
{
	struct tracestate all, some;

	tracestate_init(&all, 0, true);
	add_lines(&all, data, size);
	tracestate_init(&some, 0, true);
	some.looked = by;
	add_lines(&some, data, size);
	assert(some.looked <= TRACESTATE_LOOKED_MAX);
	assert(some.len == 0 || (some.len == all.len && memcmp(some.text, all.text, all.len) == 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t NONE[1];

	if (size == 0)
		data = NONE;
	look(data, size, TRACESTATE_PASSED_MAX, false);
	look(data, size, TRACESTATE_OTHERS_MAX, true);
	look(data, size, 16, true);
	look(data, size, 0, true);
	look_behind(data, size);
	look_shorter(data, size, TRACESTATE_LOOKED_MAX - size / 2 % TRACESTATE_LOOKED_MAX);
	return 0;
}
