/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is usual while a service is healthy: each block of the baseline is compared with the rest of it,
 * as the window is with all of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/change_inside.h"
#include "base/texts.h"

struct health {
	struct change *c;
	struct pair
	    *views; /* [npairs]: NOW is a block, THEN the rest; share the texts with the pairs */
	struct block *blocks;
	double window_ms, requests;
	struct arena scratch;
};

/* ---- blocks ---- */

static int
compare_slices(const void *a, const void *b)
{
	double x = ((const struct slice_time *)a)->begin_ms,
	       y = ((const struct slice_time *)b)->begin_ms;

	return (x > y) - (x < y);
}

/* The window's length and number of requests. False: some type has no times. */
static bool
measure_window(struct health *h)
{
	double begin_ms = HUGE_VAL, end_ms = -HUGE_VAL;

	for (uint32_t i = 0; i < h->c->npairs; i++) {
		const struct pair *p = &h->c->pairs[i];

		if (!p->timed[NOW] || !p->timed[THEN])
			return false;
		begin_ms = fmin(begin_ms, p->begin_ms[NOW]);
		end_ms = fmax(end_ms, p->end_ms[NOW]);
		for (uint32_t b = 0; b < PROFILE_BUCKETS; b++)
			h->requests += p->total[NOW][b];
	}
	h->window_ms = end_ms - begin_ms;
	return h->requests > 0;
}

/* Cuts the slices of all types into blocks: as long as the window, or half or a quarter of that if there
 * are too few. A shorter block shows at least as much by chance, since it has fewer requests, and so does
 * a short disturbance in it. False: out of memory. */
static bool
cut_blocks(struct health *h)
{
	struct change *c = h->c;
	struct slice_time *all;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->npairs; i++)
		n += c->pairs[i].nslices;
	all = arena_alloc(&c->arena, (n + 1) * sizeof *all);
	h->blocks = arena_alloc(&c->arena, (n + 1) * sizeof *h->blocks);
	if (all == NULL || h->blocks == NULL)
		return false;
	n = 0;
	for (uint32_t i = 0; i < c->npairs; i++)
		for (uint32_t k = 0; k < c->pairs[i].nslices; k++)
			all[n++] = (struct slice_time){ c->pairs[i].slices[k].begin_ms,
				c->pairs[i].slices[k].requests };
	qsort(all, n, sizeof *all, compare_slices);
	c->block_ms = h->window_ms;
	c->nblocks = blocks_cut(h->blocks, all, n, c->block_ms, h->requests);
	while (c->nblocks < BLOCKS_NEEDED && c->block_ms > h->window_ms / BLOCK_FEWER) {
		c->block_ms /= 2;
		c->nblocks = blocks_cut(h->blocks, all, n, c->block_ms, h->requests);
	}
	return true;
}

/* ---- a block as a side of a comparison ---- */

static bool
make_views(struct health *h)
{
	struct change *c = h->c;

	if ((h->views = arena_calloc(&c->arena, c->npairs + 1, sizeof *h->views)) == NULL)
		return false;
	for (uint32_t i = 0; i < c->npairs; i++) {
		const struct pair *p = &c->pairs[i];
		struct pair *v = &h->views[i];

		v->ncalls = p->ncalls;
		v->nsteps = p->nsteps;
		v->calls = arena_alloc(&c->arena, (p->ncalls + 1) * sizeof *v->calls);
		v->steps = arena_alloc(&c->arena, (p->nsteps + 1) * sizeof *v->steps);
		if (v->calls == NULL || v->steps == NULL)
			return false;
		memcpy(v->calls, p->calls, p->ncalls * sizeof *v->calls);
		memcpy(v->steps, p->steps, p->nsteps * sizeof *v->steps);
		for (uint32_t k = 0; k < v->ncalls; k++) {
			v->calls[k].calls[NOW] = v->calls[k].traces[NOW] = 0;
			v->calls[k].self[NOW] = v->calls[k].way[NOW] = NULL;
		}
		for (uint32_t k = 0; k < v->nsteps; k++)
			v->steps[k].count[NOW] = 0;
	}
	return true;
}

/* Takes the count, or as much of it as there is, from a number; remembers how much. */
static uint64_t
take(struct counted *n, uint64_t from)
{
	n->moved = n->count < from ? n->count : (uint32_t)from;
	return from - n->moved;
}

static void
take_times(struct call_times *now, struct call_times *then, struct counted *n, uint32_t times)
{
	uint64_t sum;

	then->buckets[n->bucket] = (uint32_t)take(n, then->buckets[n->bucket]);
	then->n -= n->moved < then->n ? n->moved : then->n;
	sum = now->buckets[n->bucket] + (uint64_t)n->moved * times;
	now->buckets[n->bucket] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	now->n += (uint64_t)n->moved * times;
}

static void
return_times(struct call_times *now, struct call_times *then, const struct counted *n)
{
	then->buckets[n->bucket] += n->moved;
	then->n += n->moved;
	now->buckets[n->bucket] = 0;
	now->n = 0;
}

/* Moves what a slice counted from THEN to NOW, as if it had happened so many times; times 0: back. */
static bool
move_count(
    struct health *h, const struct pair *p, struct pair *v, struct counted *n, uint32_t times)
{
	struct call *call = &v->calls[n->what == SLICE_STEP ? 0 : n->of];
	struct call_times **t = n->what == SLICE_SELF ? call->self : call->way;
	uint64_t *count = n->what == SLICE_STEP ? v->steps[p->step_at[n->of]].count
	                  : n->bucket == 0      ? call->calls
	                                        : call->traces;

	if (n->what == SLICE_SELF || n->what == SLICE_WAY) {
		if (t[THEN] == NULL)
			return true;
		if (t[NOW] == NULL &&
		    (t[NOW] = arena_calloc(&h->c->arena, 1, sizeof *t[NOW])) == NULL)
			return false;
		if (times > 0)
			take_times(t[NOW], t[THEN], n, times);
		else
			return_times(t[NOW], t[THEN], n);
	} else if (times > 0) {
		count[THEN] = take(n, count[THEN]);
		count[NOW] += (uint64_t)n->moved * times;
	} else {
		count[THEN] += n->moved;
		count[NOW] = 0;
	}
	return true;
}

static double
requests_in(const struct pair *p, const struct block *b)
{
	double n = 0;

	for (uint32_t i = 0; i < p->nslices; i++)
		if (p->slices[i].begin_ms >= b->begin_ms && p->slices[i].begin_ms < b->end_ms)
			n += p->slices[i].requests;
	return n;
}

static double
requests_now(const struct pair *p)
{
	double n = 0;

	for (uint32_t i = 0; i < PROFILE_BUCKETS; i++)
		n += p->total[NOW][i];
	return n;
}

/* A block with fewer requests of the type than the window counts each of them several times, so that
 * what it shows by chance is not mistaken for less than the window would. */
static uint32_t
times_of(const struct pair *p, const struct block *b)
{
	double n = requests_in(p, b), most = n > 0 ? round(requests_now(p) / n) : 1;

	return (uint32_t)fmin(fmax(1, most), BLOCK_FEWER);
}

static bool
move_block(struct health *h, const struct block *b, bool back)
{
	bool ok = true;

	for (uint32_t i = 0; ok && i < h->c->npairs; i++) {
		struct pair *p = &h->c->pairs[i];
		uint32_t times = back ? 0 : times_of(p, b);

		for (uint32_t k = 0; ok && k < p->nslices; k++) {
			const struct slice *s = &p->slices[k];

			if (s->begin_ms < b->begin_ms || s->begin_ms >= b->end_ms)
				continue;
			for (size_t j = s->first; ok && j < s->first + s->ncounted; j++)
				ok = move_count(h, p, &h->views[i], &p->counted[j], times);
		}
	}
	return ok;
}

/* ---- what blocks show ---- */

/* Compares a block with the rest: notes the parts of its items and the scores of its suspects. False: out of
 * memory. */
static bool
try_block(struct health *h, uint32_t block)
{
	struct change *c = h->c;
	struct trial t = { .alpha = c->o.q };
	struct suspect *s;
	uint32_t id = 0, n = SUSPECTS_FAILED;
	bool ok = move_block(h, &h->blocks[block], false), *significant;

	arena_reset(&h->scratch);
	significant = arena_calloc(&h->scratch, texts_count(c->texts) + 1, sizeof *significant);
	ok = ok && significant != NULL;
	for (uint32_t i = 0; ok && i < c->npairs; i++) {
		ok = trial_pair(&t, &h->views[i], i, id);
		id += pair_items(&h->views[i]);
	}
	for (size_t i = 0; ok && i < t.nitems; i++)
		c->usual_parts[t.items[i].id] = fmax(
		    c->usual_parts[t.items[i].id], t.items[i].part);
	ok = ok && trial_judge(&t, NULL);
	if (ok && (n = change_rank(c, &t, &s, &h->scratch)) != SUSPECTS_FAILED) {
		trial_services(&t, significant);
		usual_add(&c->usual, block, s, n, significant);
	}
	trial_release(&t);
	return ok && n != SUSPECTS_FAILED && move_block(h, &h->blocks[block], true);
}

bool
change_blocks(struct change *c)
{
	struct health h = { .c = c };
	uint32_t items = 0;
	bool timed = c->npairs > 0 && measure_window(&h), ok = !timed || cut_blocks(&h);

	for (uint32_t i = 0; i < c->npairs; i++)
		items += pair_items(&c->pairs[i]);
	c->usual_parts = arena_calloc(&c->arena, items + 1, sizeof *c->usual_parts);
	c->usual = (struct usual){ .nblocks = c->nblocks,
		.nservices = texts_count(c->texts),
		.apart = c->block_ms > 0 ? (uint32_t)round(h.window_ms / c->block_ms) : 1 };
	if (!ok || c->usual_parts == NULL || !usual_begin(&c->usual, &c->arena))
		return false;
	if (c->nblocks > 1)
		ok = make_views(&h);
	for (uint32_t i = 0; ok && c->nblocks > 1 && i < c->nblocks; i++)
		ok = try_block(&h, i);
	usual_end(&c->usual);
	arena_release(&h.scratch);
	return ok;
}
