/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/trace_state.h"

#include <string.h>

enum { LINK_DIGITS = 16, TYPE_DIGITS = 8, MEMBER_BYTES = LINK_DIGITS + 1 + TYPE_DIGITS + 1 };
enum { FLAG_SAMPLED = 1, FLAG_PROBED = 2 };

static bool
read_hex(const char *s, uint32_t n, uint64_t *ret)
{
	*ret = 0;
	for (uint32_t i = 0; i < n; i++) {
		char c = (char)(s[i] | 0x20);
		int digit = s[i] >= '0' && s[i] <= '9' ? s[i] - '0'
		            : c >= 'a' && c <= 'f'     ? c - 'a' + 10
		                                       : -1;

		if (digit < 0)
			return false;
		*ret = *ret << 4 | (uint64_t)digit;
	}
	return true;
}

/* The length of the blanks and commas before the next member. */
static uint32_t
between(struct text_view t)
{
	uint32_t n = 0;

	while (n < t.len && (t.s[n] == ' ' || t.s[n] == '\t' || t.s[n] == ','))
		n++;
	return n;
}

static struct text_view
from(struct text_view t, uint32_t n)
{
	return (struct text_view){ t.s + n, t.len - n };
}

static bool
ends(struct text_view t)
{
	return t.len == 0 || memchr("-, \t", t.s[0], 4) != NULL;
}

struct caller
trace_state_caller(struct text_view t)
{
	struct caller c = { 0 };
	uint64_t link, type, flags;
	const char *comma;

	for (t = from(t, between(t)); t.len > 0 && (t.len < 5 || memcmp(t.s, "hone=", 5) != 0);
	     t = from(t, between(t))) {
		comma = memchr(t.s, ',', t.len);
		if (comma == NULL)
			return c;
		t = from(t, (uint32_t)(comma - t.s));
	}
	if (t.len < 5 + MEMBER_BYTES)
		return c;
	t = from(t, 5);
	if (!read_hex(t.s, LINK_DIGITS, &link) || t.s[LINK_DIGITS] != '-' ||
	    !read_hex(t.s + LINK_DIGITS + 1, TYPE_DIGITS, &type) ||
	    !read_hex(t.s + MEMBER_BYTES - 1, 1, &flags) || !ends(from(t, MEMBER_BYTES)) ||
	    link == 0 || type == 0)
		return c;
	return (struct caller){ link, (flags & FLAG_SAMPLED) != 0, (flags & FLAG_PROBED) != 0 };
}
