/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words for people made into labels. What programs say names one thing each,
 * "attempt_1364250529092_0383_m_000001", so that no two requests would ever look the same.
 */
#ifndef FORMATS_LABEL_TEXT_H
#define FORMATS_LABEL_TEXT_H

#include "formats/trace_span.h"

struct label_text { /* a label in the making: all zeroes is empty; what does not fit is cut */
	uint32_t len;
	char s[LABEL_TEXT_MAX];
};

void label_text_char(struct label_text *to, char c); /* of control characters, a blank */
void label_text_text(struct label_text *to, struct text_view s,
    uint32_t max); /* at most `max` bytes of it. O(max) */

/* The same, in which runs of digits, and words of at least 8 hexadecimal digits with a digit among
 * them, are "#". O(length). */
void label_text_general(struct label_text *to, struct text_view s, uint32_t max);

#endif
