/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/seen_below.h"

void
seen_below_release(struct seen_below *s)
{
	for (int i = 0; i < 2; i++) {
		record_list_release(&s->parts[i].records);
		arena_release(&s->parts[i].arena);
	}
	*s = (struct seen_below){ 0 };
}

bool
seen_below_add(struct seen_below *s, const struct record *r)
{
	uint32_t n = s->parts[s->now].records.count;

	if (n > 0 && r->time_ns < s->parts[s->now].last_ns)
		return true; /* hone-below hands them on in order */
	if (n > 0 && (r->time_ns - s->parts[s->now].from_ns > SEEN_NS || n >= SEEN_MAX ||
			 s->parts[s->now].arena.total_bytes > SEEN_BYTES_MAX)) {
		s->now = !s->now;
		s->parts[s->now].records.count = n = 0;
		arena_release(&s->parts[s->now].arena);
	}
	if (n == 0)
		s->parts[s->now].from_ns = s->parts[s->now].last_ns = r->time_ns;
	s->parts[s->now].last_ns = r->time_ns;
	return record_list_copy(&s->parts[s->now].records, &s->parts[s->now].arena, r);
}

/* The first one that is not before from_ns. */
static uint32_t
first_from(const struct record_list *l, int64_t from_ns)
{
	uint32_t from = 0, n = l->count;

	while (n > 0) {
		uint32_t half = n / 2;

		if (l->list[from + half].time_ns < from_ns) {
			from += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return from;
}

void
seen_below_find(const struct seen_below *s, uint32_t tid, int64_t from_ns, int64_t to_ns,
    seen_below_take *take, void *of)
{
	for (int k = 1; k >= 0; k--) {
		const struct record_list *l = &s->parts[s->now ^ k].records;

		for (uint32_t i = first_from(l, from_ns);
		     i < l->count && l->list[i].time_ns <= to_ns; i++)
			if (l->list[i].tid == tid)
				take(of, &l->list[i]);
	}
}
