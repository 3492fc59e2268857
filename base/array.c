/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/array.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

enum { CAP_MIN = 16 };

void *
array_grow(void *items, size_t *cap, size_t n, size_t max, size_t item_bytes)
{
	size_t more = *cap < CAP_MIN / 2 ? CAP_MIN : 2 * *cap;
	void *grown;

	assert(n > *cap && item_bytes > 0);
	if (n > max || n > PTRDIFF_MAX / item_bytes)
		return NULL;
	if (more < n)
		more = n;
	if (more > max)
		more = max;
	if (more > PTRDIFF_MAX / item_bytes)
		more = PTRDIFF_MAX / item_bytes;
	if ((grown = reallocarray(items, more, item_bytes)) != NULL)
		*cap = more;
	return grown;
}
