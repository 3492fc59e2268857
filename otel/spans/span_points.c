/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/span_points.h"

#include <string.h>

bool
point_name_fits(const char *s, size_t len)
{
	const char *colon = len > 0 ? memchr(s, ':', len) : NULL;

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f || s[i] == '*')
			return false;
	return len <= POINT_NAME_MAX && colon != NULL && colon > s && colon + 1 < s + len &&
	       !(colon - s == 4 && memcmp(s, "hone", 4) == 0);
}

struct text_view
span_point(const struct span *s)
{
	for (uint32_t i = 0; i < s->nattributes; i++) {
		const struct attribute *a = &s->attributes[i];

		if (a->key_len == strlen(POINT_ATTRIBUTE) &&
		    memcmp(a->key, POINT_ATTRIBUTE, a->key_len) == 0 &&
		    a->value.type == VALUE_TEXT && point_name_fits(a->value.text, a->value.len))
			return (struct text_view){ a->value.text, a->value.len };
	}
	return (struct text_view){ 0 };
}

bool
point_times(struct point_time ret[2], const struct span *s, uint32_t number, int64_t first_ns,
    int64_t last_ns)
{
	int64_t begin_ns = s->begin_ns > first_ns ? s->begin_ns : first_ns, end_ns = s->end_ns;

	if (last_ns - first_ns < 2)
		return false;
	if (begin_ns > last_ns - 2)
		begin_ns = last_ns - 2;
	if (end_ns <= begin_ns)
		end_ns = begin_ns + 1;
	if (end_ns > last_ns - 1)
		end_ns = last_ns - 1;
	ret[0] = (struct point_time){ begin_ns, end_ns, number, false };
	ret[1] = (struct point_time){ end_ns, begin_ns, number, true };
	return true;
}

int
point_time_order(const void *a, const void *b)
{
	const struct point_time *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->end != y->end)
		return x->end ? -1 : 1;
	if (x->other_ns != y->other_ns)
		return x->other_ns > y->other_ns ? -1 : 1;
	return (x->span > y->span) - (x->span < y->span);
}
