/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patterns of names in which "*" stands for any text, as LTTng has them. */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>

/* Whether the pattern matches all of text. O(pattern * text). */
bool glob_matches(const char *pattern, const char *text);

#endif
