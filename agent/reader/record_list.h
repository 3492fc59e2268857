/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list of records with their values, which can be kept and sorted by time. */
#ifndef AGENT_READER_RECORD_LIST_H
#define AGENT_READER_RECORD_LIST_H

#include <stdbool.h>

#include "wire/record.h"

struct record_list { /* all zeroes is empty */
	struct record *list;
	uint32_t count, cap;
};

void record_list_release(struct record_list *l);

/* Appends r; its values stay where they are. False: out of memory. */
bool record_list_add(struct record_list *l, const struct record *r);
/* Appends a copy of r with its values and texts in the arena. False: out of memory. */
bool record_list_copy(struct record_list *l, struct arena *a, const struct record *r);

/* Sorts by time: a natural merge sort, for lists of few ascending runs. Stable, so that records
 * with equal times keep their order. `scratch` is memory that may be used again. False: out of
 * memory, and the list is unchanged. O(n log runs). */
bool record_list_sort(struct record_list *l, struct record_list *scratch);

#endif
