/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The items of a comparison: the times of each call, and each position after which a call continues.
 * Each hypothesis about an item is a test. */
#include <math.h>
#include <stdlib.h>

#include "report/change_inside.h"
#include "report/change_stats.h"
#include "base/array.h"

static bool
add_item(struct change *c, const struct item *item)
{
	if (!array_reserve(c->items, c->items_cap, c->nitems + 1))
		return false;
	c->items[c->nitems++] = *item;
	return true;
}

static bool
add_test(struct change *c, const struct test *test)
{
	if (!array_reserve(c->tests, c->tests_cap, c->ntests + 1))
		return false;
	c->tests[c->ntests++] = *test;
	return true;
}

static bool
try_times(struct change *c, uint32_t type, uint32_t call, enum what what)
{
	const struct pair *pair = &c->pairs[type];
	const struct call *of = &pair->calls[call];
	struct call_times *const *t = what == SELF ? of->self : of->way;
	struct item item = {
		.what = what, .type = type, .call = call, .ends = { of->service, PROFILE_NONE }
	};
	struct test test = { .item = (uint32_t)c->nitems };
	struct slower s;

	if (t[NOW] == NULL || t[THEN] == NULL)
		return true;
	item.of[NOW] = t[NOW]->n;
	item.of[THEN] = t[THEN]->n;
	if (what == WAY && of->parent != PROFILE_NONE &&
	    pair->calls[of->parent].service != of->service)
		item.ends[1] = pair->calls[of->parent].service;
	s = slower_of(t[NOW]->buckets, t[THEN]->buckets, PROFILE_BUCKETS, of->traces[NOW],
	    of->traces[THEN], c->o.q);
	test.share = s.calls;
	test.weight = s.lost;
	test.p = s.p;
	return add_item(c, &item) && add_test(c, &test);
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
try_steps(struct change *c, uint32_t type, const struct onward *s, uint32_t n)
{
	const struct pair *pair = &c->pairs[type];
	struct item item = { .what = STEP,
		.type = type,
		.call = s->call,
		.after = s->after,
		.lost = PROFILE_NONE,
		.ends = { pair->calls[s->call].far_service } };
	uint32_t index = (uint32_t)c->nitems;
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
		test_step(&t, &item, pair->calls[s->call].traces, c->o.q);
		if (!add_test(c, &t))
			return false;
	}
	item.ends[1] = other_end(pair, &item);
	return add_item(c, &item);
}

bool
change_try(struct change *c, uint32_t type)
{
	struct pair *p = &c->pairs[type];
	bool ok = true;

	pair_sort(p);
	for (uint32_t i = 0; ok && i < p->ncalls; i++)
		ok = try_times(c, type, i, SELF) && try_times(c, type, i, WAY);
	for (uint32_t i = 0, n; ok && i < p->nsteps; i += n) {
		for (n = 1; i + n < p->nsteps && p->steps[i + n].call == p->steps[i].call &&
			    p->steps[i + n].after == p->steps[i].after;
		     n++)
			;
		ok = try_steps(c, type, &p->steps[i], n);
	}
	return ok;
}

bool
change_judge(struct change *c)
{
	double *p = arena_alloc(&c->arena, (c->ntests + 1) * sizeof *p);

	if (p == NULL)
		return false;
	for (size_t i = 0; i < c->ntests; i++)
		p[i] = c->tests[i].p;
	if (!correct_p(p, c->ntests))
		return false;
	for (size_t i = 0; i < c->ntests; i++) {
		struct test *t = &c->tests[i];

		t->p = p[i];
		c->items[t->item].changed += t->weight * (double)c->items[t->item].of[NOW];
		c->items[t->item].sure = c->items[t->item].sure ||
		                         (t->weight > 0 && t->p <= c->o.q);
	}
	return true;
}
