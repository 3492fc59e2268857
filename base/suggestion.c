/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/suggestion.h"

#include <assert.h>
#include <string.h>

uint32_t
edit_distance(const char *a, const char *b)
{
	uint32_t row[EDIT_DISTANCE_MAX_BYTES + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > EDIT_DISTANCE_MAX_BYTES || lb > EDIT_DISTANCE_MAX_BYTES)
		return UINT32_MAX;
	for (uint32_t j = 0; j <= lb; j++)
		row[j] = j;
	for (uint32_t i = 1; i <= la; i++) {
		uint32_t corner = row[0];

		row[0] = i;
		for (uint32_t j = 1; j <= lb; j++) {
			uint32_t change = corner + (a[i - 1] != b[j - 1]);
			uint32_t least = row[j] < row[j - 1] ? row[j] : row[j - 1];

			corner = row[j];
			row[j] = change < least + 1 ? change : least + 1;
		}
	}
	return row[lb];
}

void
suggestion_try(struct suggestion *n, const char *name)
{
	uint32_t distance = edit_distance(n->said, name);
	size_t letters = strlen(n->said);

	assert(n->said != NULL && name != NULL);
	if (letters >= 2 && strncmp(n->said, name, letters) == 0 && distance > 1)
		distance = 1;
	if (distance > 1 + letters / 4 || (n->best != NULL && distance >= n->distance))
		return;
	n->best = name;
	n->distance = distance;
}
