/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/spans/span_places.h"

#include <stdlib.h>

#include "base/array.h"

struct unit_stay { /* of a unit on a thread */
	int64_t from_ns, to_ns;
	uint32_t unit, host, tid;
};

struct ordered_record {
	const struct place_record *of;
	size_t nth; /* among the records of its unit */
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
	const struct ordered_record *r = x, *s = y;
	const struct place_record *a = r->of, *b = s->of;

	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return (r->nth > s->nth) - (r->nth < s->nth);
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

/* The records, numbered within their units, by thread and time. */
static int
order(struct ordered_record **ret, const struct place_record *records, size_t n, struct err *e)
{
	const struct place_record **units = calloc(n + 1, sizeof *units);
	struct ordered_record *all = calloc(n + 1, sizeof *all);

	if (units == NULL || all == NULL) {
		free(units);
		free(all);
		return err_set(e, ERR_MEMORY, "no memory for %zu records", n);
	}
	for (size_t i = 0; i < n; i++)
		units[i] = &records[i];
	qsort(units, n, sizeof *units, by_unit);
	for (size_t i = 0; i < n; i++)
		all[i] = (struct ordered_record){ units[i],
			i > 0 && units[i - 1]->unit == units[i]->unit ? all[i - 1].nth + 1 : 0 };
	free(units);
	qsort(all, n, sizeof *all, by_thread);
	*ret = all;
	return 0;
}

/* Where each unit was, by unit and time. */
static size_t
stays_of(struct unit_stay *to, const struct ordered_record *all, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		const struct place_record *a = all[i].of, *b = all[i + 1].of;

		if (a->host != b->host || a->tid != b->tid || a->unit != b->unit ||
		    all[i].nth + 1 != all[i + 1].nth || a->time_ns >= b->time_ns)
			continue;
		if (count > 0 && to[count - 1].unit == a->unit &&
		    to[count - 1].to_ns == a->time_ns && to[count - 1].host == a->host &&
		    to[count - 1].tid == a->tid)
			to[count - 1].to_ns = b->time_ns;
		else
			to[count++] = (struct unit_stay){ a->time_ns, b->time_ns, a->unit, a->host,
				a->tid };
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
span_places_add(struct span_places *to, struct place_record *records, size_t nrecords,
    struct span_of_unit *spans, size_t nspans, size_t places_max, struct err *e)
{
	struct ordered_record *all = NULL;
	struct unit_stay *stays = calloc(nrecords + 1, sizeof *stays);
	size_t nstays, first = 0;
	int rc = stays != NULL ? 0 : err_set(e, ERR_MEMORY, "no memory for %zu records", nrecords);

	if (nrecords == 0 || nspans == 0 || rc != 0 ||
	    (rc = order(&all, records, nrecords, e)) != 0) {
		free(stays);
		return rc;
	}
	nstays = stays_of(stays, all, nrecords);
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
