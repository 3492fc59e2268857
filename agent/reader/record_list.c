/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/record_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void
record_list_release(struct record_list *l)
{
	free(l->list);
	*l = (struct record_list){ 0 };
}

bool
record_list_add(struct record_list *to, const struct record *r)
{
	if (!array_reserve(to->list, to->cap, to->count + 1))
		return false;
	to->list[to->count++] = *r;
	return true;
}

bool
record_list_copy(struct record_list *to, struct arena *a, const struct record *r)
{
	struct value *values = arena_copy(a, r->values, r->nvalues * sizeof *values);
	struct record copy = *r;

	for (uint32_t i = 0; values != NULL && i < r->nvalues; i++)
		if (values[i].type == VALUE_TEXT &&
		    (values[i].text = arena_copy(a, values[i].text, values[i].len)) == NULL)
			return false;
	copy.values = values;
	return (values != NULL || r->nvalues == 0) && record_list_add(to, &copy);
}

/* The end of the ascending run that begins at `from`. */
static uint32_t
run_end(const struct record_list *r, uint32_t from)
{
	uint32_t at = from + 1;

	while (at < r->count && r->list[at].time_ns >= r->list[at - 1].time_ns)
		at++;
	return at < r->count ? at : r->count;
}

bool
record_list_sort(struct record_list *r, struct record_list *scratch)
{
	if (!array_reserve(scratch->list, scratch->cap, r->count))
		return false;
	while (r->count > 0 && run_end(r, 0) < r->count) {
		uint32_t n = 0;

		for (uint32_t from = 0, mid, to; from < r->count; from = to) {
			uint32_t a = from, b;

			b = mid = run_end(r, from);
			to = mid < r->count ? run_end(r, mid) : mid;
			while (a < mid || b < to)
				scratch->list[n++] = b == to || (a < mid && r->list[a].time_ns <=
										r->list[b].time_ns)
				                         ? r->list[a++]
				                         : r->list[b++];
		}
		memcpy(r->list, scratch->list, n * sizeof *r->list);
	}
	return true;
}
