/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The type of values that a format writes as texts: cells of a CSV, tags of Zipkin, fields of X-Trace. */
#ifndef FORMATS_TYPED_H
#define FORMATS_TYPED_H

#include "formats/json.h"

/* The value that a text represents: VALUE_INT for a whole number that fits, VALUE_REAL for another
 * number in the range of a double, VALUE_NONE for "", else VALUE_TEXT: not copied, at most
 * VALUE_TEXT_MAX bytes. O(length). */
static inline struct value
typed_value(struct text_view s)
{
	struct value v = { .type = s.len > 0 ? VALUE_INT : VALUE_NONE };
	bool numeric = s.len > 0, whole = true;

	for (uint32_t i = 0; i < s.len && numeric; i++) {
		bool digit = s.s[i] >= '0' && s.s[i] <= '9';

		numeric = digit || (i > 0 && memchr(".eE+-", s.s[i], 5) != NULL) || s.s[i] == '-';
		whole &= digit || i == 0;
	}
	if (!numeric)
		v.type = s.len > 0 ? VALUE_TEXT : VALUE_NONE;
	else if (whole && json_number_int(s.s, s.len, &v.i))
		v.type = VALUE_INT;
	else
		v.type = json_number_real(s.s, s.len, &v.d) ? VALUE_REAL : VALUE_TEXT;
	if (v.type == VALUE_TEXT) {
		v.text = s.s;
		v.len = s.len < VALUE_TEXT_MAX ? s.len : VALUE_TEXT_MAX;
	}
	return v;
}

#endif
