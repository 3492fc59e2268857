/* SPDX-License-Identifier: MIT */
#include "instrument/nginx/nginx_tracestate.h"

#include <string.h>

struct tracestate_member {
	const char *text;
	size_t len;
};

static bool
is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* The next non-empty member, without the spaces around it; false: there is none. */
static bool
member_next(const char **at, const char *end, struct tracestate_member *ret)
{
	while (*at < end) {
		const char *comma = memchr(*at, ',', (size_t)(end - *at)), *from = *at,
			   *to = comma != NULL ? comma : end;

		*at = comma != NULL ? comma + 1 : end;
		while (from < to && is_space(*from))
			from++;
		while (to > from && is_space(to[-1]))
			to--;
		*ret = (struct tracestate_member){ from, (size_t)(to - from) };
		if (from < to)
			return true;
	}
	return false;
}

static bool
is_ours(const struct tracestate_member *m)
{
	return m->len >= 5 && memcmp(m->text, "hone=", 5) == 0;
}

static bool
fits(const struct tracestate *t, const struct tracestate_member *m)
{
	return t->len + (t->len > 0) + m->len <= t->max;
}

static void
put(struct tracestate *t, const struct tracestate_member *m)
{
	if (t->len > 0)
		t->text[t->len++] = ',';
	memmove(t->text + t->len, m->text, m->len);
	t->len += m->len;
}

/* Removes the long members. In place: the write position never passes the read position. */
static void
long_drop(struct tracestate *t)
{
	const char *at = t->text, *end = t->text + t->len;
	struct tracestate_member m;

	t->crowded = true;
	t->len = 0;
	while (member_next(&at, end, &m))
		if (m.len <= TRACESTATE_LONG)
			put(t, &m);
}

/* Appends the first member hone=, for which space is reserved. */
static void
ours_keep(struct tracestate *t, const struct tracestate_member *m)
{
	if (t->ours)
		return;
	t->ours = true;
	if (m->len > TRACESTATE_LONG)
		return;
	t->max += 1 + m->len;
	put(t, m);
}

/* Appends a member of another vendor; if it does not fit, long members are dropped, then it and all that follow. */
static void
others_keep(struct tracestate *t, const struct tracestate_member *m)
{
	if (!t->crowded && !fits(t, m))
		long_drop(t);
	if (t->full || (t->crowded && m->len > TRACESTATE_LONG))
		return;
	if (fits(t, m))
		put(t, m);
	else
		t->full = true;
}

/* The number of bytes of a line to parse within the limit: whole members only, since a part of one could be a valid
 * other one. */
static size_t
bytes_to_parse(struct tracestate *t, const char *line, size_t len)
{
	size_t left = TRACESTATE_LOOKED_MAX - t->looked;

	if (len <= left) {
		t->looked += len;
		return len;
	}
	t->looked = TRACESTATE_LOOKED_MAX;
	while (left > 0 && line[left] != ',')
		left--;
	return left;
}

void
tracestate_init(struct tracestate *t, size_t others_max, bool ours_wanted)
{
	t->len = t->looked = 0;
	t->max = others_max;
	t->ours = !ours_wanted;
	t->crowded = t->full = false;
}

void
tracestate_add(struct tracestate *t, const char *line, size_t len)
{
	const char *at = line, *end = line + bytes_to_parse(t, line, len);
	struct tracestate_member m;

	while (member_next(&at, end, &m))
		if (is_ours(&m))
			ours_keep(t, &m);
		else
			others_keep(t, &m);
}
