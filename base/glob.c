/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/glob.h"

#include <assert.h>
#include <stddef.h>

/* On a mismatch only the last "*" has to match more, since the part after it may begin anywhere. */
bool
glob_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	assert(pattern != NULL && text != NULL);
	while (*text != '\0') {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}
