/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/function_times.h"

struct outer_call { /* the outermost one that has begun */
	uint32_t depth;
	int64_t begin_ns;
};

static int64_t
overlap(int64_t begin_ns, int64_t end_ns, int64_t from_ns, int64_t to_ns)
{
	int64_t begin = begin_ns > from_ns ? begin_ns : from_ns,
		end = end_ns < to_ns ? end_ns : to_ns;

	return end > begin ? end - begin : 0;
}

static void
time_of(struct function_time *ret, const struct event *events, uint32_t n,
    const struct function_labels *f, int64_t from_ns, int64_t to_ns)
{
	struct outer_call c = { 0 };

	*ret = (struct function_time){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		int64_t at = events[i].time_ns;

		if (events[i].label == f->start) {
			if (c.depth++ == 0)
				c.begin_ns = at;
			ret->calls += at >= from_ns && at <= to_ns;
		} else if (events[i].label == f->done && f->done != LABEL_NONE) {
			if (c.depth == 0)
				ret->torn = true;
			else if (--c.depth == 0)
				ret->ns += overlap(c.begin_ns, at, from_ns, to_ns);
		}
	}
	ret->torn |= c.depth > 0;
}

void
function_times_of(struct function_time *ret, const struct trace *t, uint32_t unit,
    const struct function_labels *functions, uint32_t n, int64_t from_ns, int64_t to_ns)
{
	const struct unit *u = &t->units[unit];

	for (uint32_t i = 0; i < n; i++)
		time_of(&ret[i], &t->events[u->first], u->count, &functions[i], from_ns, to_ns);
}
