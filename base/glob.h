/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>

/* Whether the pattern, in which "*" stands for any text, describes all of text. */
bool glob_matches(const char *pattern, const char *text);

#endif
