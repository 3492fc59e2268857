/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds the text of a label from texts that a program writes for people. Such texts contain ids of
 * single objects ("attempt_1364250529092_0383_m_000001"), which would make every request different.
 */
#ifndef FORMATS_LABEL_TEXT_H
#define FORMATS_LABEL_TEXT_H

#include "formats/trace_span.h"

struct label_text { /* all zeroes is empty; what does not fit is cut */
	uint32_t len;
	char s[LABEL_TEXT_MAX];
};

/* Appends a character; a control character becomes a blank. */
void label_text_char(struct label_text *to, char c);

/* Appends at most `max` bytes of s. O(max). */
void label_text_bytes(struct label_text *to, struct text_view s, uint32_t max);

/* The same, at most LABEL_TEXT_MAX, with "#" for each run of digits and for each word of at least 8
 * hexadecimal digits that contains a decimal digit. O(length of s). */
void label_text_general(struct label_text *to, struct text_view s, uint32_t max);

#endif
