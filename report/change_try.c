/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The items of a comparison: the times of each call, and each position after which a call continues.
 * Each hypothesis about an item is a test. */
#include <math.h>
#include <stdlib.h>

#include "report/change_inside.h"
#include "report/change_stats.h"
#include "base/array.h"

static bool
add_item(struct trial *t, const struct item *item)
{
	if (!array_reserve(t->items, t->items_cap, t->nitems + 1))
		return false;
	t->items[t->nitems++] = *item;
	return true;
}

static bool
add_test(struct trial *t, const struct test *test)
{
	if (!array_reserve(t->tests, t->tests_cap, t->ntests + 1))
		return false;
	t->tests[t->ntests++] = *test;
	return true;
}

static bool
try_times(struct trial *trial, const struct pair *pair, uint32_t type, uint32_t id, uint32_t call,
    enum what what)
{
	const struct call *of = &pair->calls[call];
	struct call_times *const *t = what == SELF ? of->self : of->way;
	struct item item = {
		.what = what,
		.type = type,
		.id = id + 2 * call + (what == WAY),
		.call = call,
		.ends = { of->service, PROFILE_NONE },
	};
	struct test test = { .item = (uint32_t)trial->nitems };
	struct slower s;

	if (t[NOW] == NULL || t[THEN] == NULL || t[NOW]->n == 0 || t[THEN]->n == 0)
		return true;
	item.of[NOW] = t[NOW]->n;
	item.of[THEN] = t[THEN]->n;
	if (what == WAY && of->parent != PROFILE_NONE &&
	    pair->calls[of->parent].service != of->service)
		item.ends[1] = pair->calls[of->parent].service;
	s = slower_of(t[NOW]->buckets, t[THEN]->buckets, PROFILE_BUCKETS, of->traces[NOW],
	    of->traces[THEN], trial->alpha);
	test.share = s.calls;
	test.weight = s.lost;
	test.p = s.p;
	return add_item(trial, &item) && add_test(trial, &test);
}

/* The call that was answered before, or else the call that is no longer made, if it is of another
 * service. */
static uint32_t
other_end(const struct pair *p, const struct item *i)
{
	uint32_t here = i->ends[0];

	if (i->after != PROFILE_NONE && p->calls[i->after].far_service != here)
		return p->calls[i->after].far_service;
	if (i->lost != PROFILE_NONE && p->calls[i->lost].far_service != here)
		return p->calls[i->lost].far_service;
	return PROFILE_NONE;
}

/*
 * Calls of one request are correlated, so the sample size is the number of requests: counts are scaled
 * down to it, rounded so that less is claimed.
 */
static void
test_step(struct test *t, const struct item *item, const uint64_t *requests, double alpha)
{
	uint64_t of[SIDES], count[SIDES];

	for (int side = 0; side < SIDES; side++) {
		double part = fmin(1, (double)requests[side] / (double)item->of[side]);
		double scaled = part * (double)t->count[side];

		of[side] = (uint64_t)ceil(part * (double)item->of[side]);
		count[side] = (uint64_t)fmin(
		    side == NOW ? floor(scaled) : ceil(scaled), (double)of[side]);
	}
	if (of[NOW] == 0 || of[THEN] == 0)
		return;
	t->share = fmax(0, more_often(count[NOW], of[NOW], count[THEN], of[THEN], alpha));
	t->p = more_often_p(count[NOW], of[NOW], count[THEN], of[THEN]);
	t->weight = t->share;
}

/* Steps that follow the same one: the pair's steps [0..n). */
static bool
try_steps(struct trial *trial, const struct pair *pair, uint32_t type, uint32_t id,
    const struct onward *s, uint32_t n)
{
	struct item item = { .what = STEP,
		.type = type,
		.id = id + 2 * pair->ncalls + (uint32_t)(s - pair->steps),
		.call = s->call,
		.after = s->after,
		.lost = PROFILE_NONE,
		.ends = { pair->calls[s->call].far_service } };
	uint32_t index = (uint32_t)trial->nitems;
	double fall = 0;

	for (uint32_t i = 0; i < n; i++)
		for (int side = 0; side < SIDES; side++)
			item.of[side] += s[i].count[side];
	if (n == 1 || item.of[NOW] == 0 ||
	    item.of[THEN] == 0) /* only one continuation: there is no alternative to compare with */
		return true;
	for (uint32_t i = 0; i < n; i++) {
		double apart = (double)s[i].count[NOW] / (double)item.of[NOW] -
		               (double)s[i].count[THEN] / (double)item.of[THEN];
		struct test t = { .item = index,
			.then = s[i].then,
			.count = { s[i].count[NOW], s[i].count[THEN] },
			.p = 1 };

		if (apart < fall) {
			fall = apart;
			item.lost = s[i].then;
		}
		test_step(&t, &item, pair->calls[s->call].traces, trial->alpha);
		if (!add_test(trial, &t))
			return false;
	}
	item.ends[1] = other_end(pair, &item);
	return add_item(trial, &item);
}

uint32_t
pair_items(const struct pair *p)
{
	return 2 * p->ncalls + p->nsteps;
}

bool
trial_pair(struct trial *t, const struct pair *p, uint32_t type, uint32_t id)
{
	size_t first = t->ntests;
	bool ok = true;

	for (uint32_t i = 0; ok && i < p->ncalls; i++)
		ok = try_times(t, p, type, id, i, SELF) && try_times(t, p, type, id, i, WAY);
	for (uint32_t i = 0, n; ok && i < p->nsteps; i += n) {
		for (n = 1; i + n < p->nsteps && p->steps[i + n].call == p->steps[i].call &&
			    p->steps[i + n].after == p->steps[i].after;
		     n++)
			;
		ok = try_steps(t, p, type, id, &p->steps[i], n);
	}
	for (size_t i = first; ok && i < t->ntests; i++)
		t->items[t->tests[i].item].part += t->tests[i].weight;
	return ok;
}

bool
trial_judge(struct trial *t, const double *usual_parts)
{
	double *p = malloc((t->ntests + 1) * sizeof *p);
	bool ok = p != NULL;

	for (size_t i = 0; ok && i < t->ntests; i++)
		p[i] = t->tests[i].p;
	ok = ok && correct_p(p, t->ntests);
	for (size_t i = 0; ok && i < t->ntests; i++) {
		struct test *test = &t->tests[i];

		test->p = p[i];
		if (test->weight > 0 && test->p <= t->alpha &&
		    (usual_parts == NULL ||
			t->items[test->item].part > usual_parts[t->items[test->item].id]))
			t->items[test->item].sure = true;
	}
	free(p);
	return ok;
}

void
trial_services(const struct trial *t, bool *services)
{
	for (size_t i = 0; i < t->nitems; i++)
		for (int end = 0; end < 2 && t->items[i].sure; end++)
			if (t->items[i].ends[end] != PROFILE_NONE)
				services[t->items[i].ends[end]] = true;
}

void
trial_release(struct trial *t)
{
	free(t->items);
	free(t->tests);
	*t = (struct trial){ 0 };
}

struct clue *
trial_evidence(const struct trial *t, struct arena *a)
{
	static const enum evidence_kind kinds[] = {
		[SELF] = EVIDENCE_OWN, [WAY] = EVIDENCE_WAY, [STEP] = EVIDENCE_STEP
	};
	struct clue *e = arena_alloc(a, (t->nitems + 1) * sizeof *e);

	for (size_t i = 0; e != NULL && i < t->nitems; i++) {
		const struct item *item = &t->items[i];

		e[i] = (struct clue){ kinds[item->what], item->ends[0],
			item->ends[1] != PROFILE_NONE ? item->ends[1] : NO_SERVICE, false,
			item->part, (double)item->of[NOW] };
	}
	return e;
}
