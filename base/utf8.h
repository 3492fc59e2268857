/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* The length of the UTF-8 character (RFC 3629) at s, which has `left` bytes, at least 1; 0: there is none. O(1). */
size_t utf8_character(const unsigned char *s, size_t left);

#endif
