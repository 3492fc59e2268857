/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words for people made into labels. What programs say names one thing each,
 * "attempt_1364250529092_0383_m_000001", so that no two requests would ever look the same.
 */
#ifndef FORMATS_WORDS_H
#define FORMATS_WORDS_H

#include "formats/span.h"

struct words { /* a label in the making: all zeroes is empty; what does not fit is cut */
	uint32_t len;
	char s[LABEL_TEXT_MAX];
};

void words_char(struct words *to, char c); /* of control characters, a blank */
void words_text(
    struct words *to, struct text s, uint32_t max); /* at most `max` bytes of it. O(max) */

/* The same, in which runs of digits, and words of at least 8 hexadecimal digits with a digit among
 * them, are "#". O(length). */
void words_general(struct words *to, struct text s, uint32_t max);

#endif
