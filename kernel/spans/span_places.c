/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/spans/span_places.h"

#include <stdlib.h>

#include "base/array.h"

struct unit_stay { /* of a unit on a thread */
	int64_t from_ns, to_ns;
	uint32_t unit, host, tid;
};

enum said_by { SAID_BY_KERNEL, SAID_BY_RECORD };

struct said { /* that a unit is on a thread at a time */
	int64_t time_ns;
	uint32_t host, tid, unit;
	uint8_t by;   /* enum said_by */
	bool is_last; /* record of its unit */
	size_t nth;   /* among the records of its unit */
};

static int
by_unit(const void *x, const void *y)
{
	const struct place_record *a = *(const struct place_record *const *)x,
				  *b = *(const struct place_record *const *)y;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a > b) - (a < b);
}

/* By thread and time. Of equal times by unit, so that records of one unit stay together. */
static int
by_thread(const void *x, const void *y)
{
	const struct said *a = x, *b = y;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->by != b->by)
		return a->by < b->by ? -1 : 1;
	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return (a->nth > b->nth) - (a->nth < b->nth);
}

static int
stays_by_unit(const void *x, const void *y)
{
	const struct unit_stay *a = x, *b = y;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int
spans_by_unit(const void *x, const void *y)
{
	const struct span_of_unit *a = x, *b = y;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return (a->span > b->span) - (a->span < b->span);
}

/* All that is said, by thread and time. */
static int
order(struct said **ret, const struct place_record *records, size_t n,
    const struct place_note *notes, size_t nnotes, struct err *e)
{
	const struct place_record **units = calloc(n + 1, sizeof *units);
	struct said *all = calloc(n + nnotes + 1, sizeof *all);

	if (units == NULL || all == NULL) {
		free(units);
		free(all);
		return err_set(e, ERR_MEMORY, "no memory for %zu records", n);
	}
	for (size_t i = 0; i < n; i++)
		units[i] = &records[i];
	qsort(units, n, sizeof *units, by_unit);
	for (size_t i = 0; i < n; i++) {
		const struct place_record *r = units[i];

		all[i] = (struct said){ r->time_ns, r->host, r->tid, r->unit, SAID_BY_RECORD,
			i + 1 == n || units[i + 1]->unit != r->unit,
			i > 0 && units[i - 1]->unit == r->unit ? all[i - 1].nth + 1 : 0 };
	}
	free(units);
	for (size_t i = 0; i < nnotes; i++)
		all[n + i] = (struct said){ .time_ns = notes[i].time_ns,
			.host = notes[i].host,
			.tid = notes[i].tid,
			.unit = notes[i].unit,
			.by = SAID_BY_KERNEL };
	qsort(all, n + nnotes, sizeof *all, by_thread);
	*ret = all;
	return 0;
}

/* Appends a time of a unit on a thread; joins it to the one before. */
static size_t
stay(struct unit_stay *to, size_t count, const struct said *at, uint32_t unit, int64_t to_ns)
{
	struct unit_stay *last = count > 0 ? &to[count - 1] : NULL;

	if (at->time_ns >= to_ns)
		return count;
	if (last != NULL && last->unit == unit && last->to_ns == at->time_ns &&
	    last->host == at->host && last->tid == at->tid) {
		last->to_ns = to_ns;
		return count;
	}
	to[count] = (struct unit_stay){ at->time_ns, to_ns, unit, at->host, at->tid };
	return count + 1;
}

/* Of a thread of which the kernel says nothing: from a record of a unit to the next one of the same unit. */
static size_t
stays_by_records(struct unit_stay *to, size_t count, const struct said *s, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (s[i].unit == s[i + 1].unit && s[i].nth + 1 == s[i + 1].nth)
			count = stay(to, count, &s[i], s[i].unit, s[i + 1].time_ns);
	return count;
}

/* Of a thread of which the kernel says something: until something else is said. Behind the last record of a unit, which is its end, what
 * the kernel said last is true again: a unit inside of another one has ended. */
static size_t
stays_by_kernel(struct unit_stay *to, size_t count, const struct said *s, size_t n)
{
	uint32_t kernel = SPAN_NONE, now;

	for (size_t i = 0; i < n; i++) {
		if (s[i].by == SAID_BY_KERNEL)
			kernel = s[i].unit;
		now = s[i].by == SAID_BY_KERNEL || s[i].is_last ? kernel : s[i].unit;
		if (s[i].is_last && kernel == s[i].unit)
			now = kernel = SPAN_NONE;
		if (now != SPAN_NONE)
			count = stay(
			    to, count, &s[i], now, i + 1 < n ? s[i + 1].time_ns : INT64_MAX);
	}
	return count;
}

/* Where each unit was, by unit and time. */
static size_t
stays_of(struct unit_stay *to, const struct said *all, size_t n)
{
	size_t count = 0, end;

	for (size_t i = 0; i < n; i = end) {
		bool by_kernel = false;

		for (end = i; end < n && all[end].host == all[i].host && all[end].tid == all[i].tid;
		     end++)
			by_kernel |= all[end].by == SAID_BY_KERNEL;
		count = (by_kernel ? stays_by_kernel : stays_by_records)(
		    to, count, &all[i], end - i);
	}
	qsort(to, count, sizeof *to, stays_by_unit);
	return count;
}

static int
add(struct span_places *to, const struct unit_stay *s, const struct span_of_unit *span,
    size_t places_max, struct err *e)
{
	int64_t from_ns = s->from_ns > span->from_ns ? s->from_ns : span->from_ns,
		to_ns = s->to_ns < span->to_ns ? s->to_ns : span->to_ns;

	if (from_ns >= to_ns)
		return 0;
	if (to->nlist == places_max)
		return err_set(e, ERR_FULL, "the spans have more than %zu places", places_max);
	if (!array_reserve(to->list, to->list_cap, to->nlist + 1))
		return err_set(e, ERR_MEMORY, "no memory for the places of spans");
	to->list[to->nlist++] = (struct span_place){ from_ns, to_ns, span->span, s->host, s->tid };
	return 0;
}

int
span_places_add(struct span_places *to, const struct place_record *records, size_t nrecords,
    const struct place_note *notes, size_t nnotes, struct span_of_unit *spans, size_t nspans,
    size_t places_max, struct err *e)
{
	struct said *all = NULL;
	struct unit_stay *stays = calloc(nrecords + nnotes + 1, sizeof *stays);
	size_t nstays, first = 0;
	int rc = stays != NULL ? 0 : err_set(e, ERR_MEMORY, "no memory for %zu records", nrecords);

	if (nrecords + nnotes == 0 || nspans == 0 || rc != 0 ||
	    (rc = order(&all, records, nrecords, notes, nnotes, e)) != 0) {
		free(stays);
		return rc;
	}
	nstays = stays_of(stays, all, nrecords + nnotes);
	free(all);
	qsort(spans, nspans, sizeof *spans, spans_by_unit);
	for (size_t i = 0; i < nspans && rc == 0; i++) {
		while (first < nstays && (stays[first].unit < spans[i].unit ||
					     (stays[first].unit == spans[i].unit &&
						 stays[first].to_ns <= spans[i].from_ns)))
			first++;
		for (size_t k = first; k < nstays && stays[k].unit == spans[i].unit &&
				       stays[k].from_ns < spans[i].to_ns && rc == 0;
		     k++)
			rc = add(to, &stays[k], &spans[i], places_max, e);
	}
	free(stays);
	return rc;
}

void
span_places_release(struct span_places *p)
{
	free(p->list);
	*p = (struct span_places){ 0 };
}
