/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>

#include "formats/label_text.h"

static bool
is_hex(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool
is_word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
	       (c & 0x80) != 0;
}

/* The length at `at` of an id: a run of digits, or a word of at least 8 hexadecimal digits; 0: none. */
static uint32_t
single_name(struct text_view s, uint32_t at)
{
	uint32_t hex = at, digits = at;

	while (digits < s.len && s.s[digits] >= '0' && s.s[digits] <= '9')
		digits++;
	if (at > 0 && is_word(s.s[at - 1]))
		return digits - at;
	for (bool numeric = false; hex < s.len && is_hex(s.s[hex]); hex++) {
		numeric |= s.s[hex] <= '9';
		if (hex - at + 1 >= 8 && numeric && (hex + 1 == s.len || !is_word(s.s[hex + 1])))
			return hex - at + 1;
	}
	return digits - at;
}

void
label_text_char(struct label_text *to, char c)
{
	if (to->len < sizeof to->s)
		to->s[to->len++] = (uint8_t)c < ' ' ? ' ' : c;
}

void
label_text_bytes(struct label_text *to, struct text_view s, uint32_t max)
{
	for (uint32_t i = 0; i < s.len && i < max; i++)
		label_text_char(to, s.s[i]);
}

void
label_text_general(struct label_text *to, struct text_view s, uint32_t max)
{
	uint32_t limit = to->len + max, n;

	assert(max <= LABEL_TEXT_MAX);

	for (uint32_t i = 0; i < s.len && to->len < limit; i += n) {
		n = is_hex(s.s[i]) ? single_name(s, i) : 0;
		label_text_char(to, n > 0 ? '#' : s.s[i]);
		n += n == 0;
	}
}
