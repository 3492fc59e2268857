/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/below_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/below_cause.h"
#include "analysis/part_shares.h"
#include "base/buf.h"
#include "base/texts.h"

struct below_row { /* a request */
	int64_t total_ns, ns[BELOW_STATES], unseen_ns;
};

enum item_kind { ITEM_PLACE, ITEM_HOLDER, ITEM_WAKER, ITEM_HELD, ITEM_CALLER, ITEM_THREAD };

/* A place in a state; at such a place a holder, a type of requests that end waits, or that held the lock when they began, or a caller; of a holder, or
 * of those that end waits, the name of its thread. */
struct below_item {
	enum item_kind kind;
	enum below_state state; /* of a type of requests: UNKNOWN */
	uint32_t place;         /* in `places`; of a type of requests: that as text */
	uint32_t within;        /* the place's item; of a place: NO_ITEM */
	uint32_t waits;         /* of a type of requests */
	double sum_ns;
	double sum_total; /* of its time x (response time - base_ns), ns^2 */
};
#define NO_ITEM UINT32_MAX
/* So much running time is sampled often enough to tell whether it was running. */
#define RUNNING_PLENTY_NS (5 * BELOW_UNSEEN_NS)
#define CALLER_LEAST 0.5 /* of a place's share, that of a caller that is told */

struct below_list {
	struct below_row *rows;
	uint32_t nrows;
	int64_t running_ns, weight_ns;
	double base_ns; /* of the first request: products of differences keep their digits */
	struct below_item items[BELOW_ITEMS_MAX];
	struct texts *keys; /* "kind/within/state/place": the number of an item */
	struct texts *places;
	struct below_parts *parts;
};

struct below_list *
below_list_new(void)
{
	struct below_list *l = calloc(1, sizeof *l);

	if (l == NULL)
		return NULL;
	l->rows = calloc(BELOW_REQUESTS_MAX, sizeof *l->rows);
	l->keys = texts_new();
	l->places = texts_new();
	l->parts = below_parts_new();
	if (l->rows != NULL && l->keys != NULL && l->places != NULL && l->parts != NULL)
		return l;
	below_list_free(l);
	return NULL;
}

void
below_list_free(struct below_list *l)
{
	if (l == NULL)
		return;
	free(l->rows);
	texts_free(l->keys);
	texts_free(l->places);
	below_parts_free(l->parts);
	free(l);
}

uint32_t
below_list_requests(const struct below_list *l)
{
	return l->nrows;
}

const struct below_parts *
below_list_parts(const struct below_list *l)
{
	return l->parts;
}

/* The item, which is added while there is room; NO_ITEM: there is none. False: out of memory. */
static bool
item_of(uint32_t *ret, struct below_list *l, enum item_kind kind, uint32_t within,
    enum below_state state, const char *place, uint32_t len)
{
	struct buf key = { 0 };
	uint32_t known = texts_count(l->keys), text;
	bool kept;

	buf_printf(&key, "%u/%u/%u/", (unsigned)kind, within, (unsigned)state);
	buf_bytes(&key, place, len);
	kept = !key.failed;
	*ret = NO_ITEM;
	if (kept && known == BELOW_ITEMS_MAX)
		*ret = texts_find(l->keys, (const char *)key.data, key.len);
	else if (kept)
		kept = (*ret = texts_intern(l->keys, (const char *)key.data, key.len)) !=
		       UINT32_MAX;
	buf_release(&key);
	if (!kept || *ret == NO_ITEM || *ret < known)
		return kept;
	if ((text = texts_intern(l->places, place, len)) == UINT32_MAX)
		return false;
	l->items[*ret] = (struct below_item){
		.kind = kind, .state = state, .place = text, .within = within
	};
	return true;
}

static void
add_time(struct below_list *l, uint32_t item, int64_t ns, double above_ns)
{
	if (item == NO_ITEM)
		return;
	l->items[item].sum_ns += (double)ns;
	l->items[item].sum_total += (double)ns * above_ns;
}

static bool
add_holder(struct below_list *l, const struct below_part *p, uint32_t place, double above_ns)
{
	uint32_t len = below_place_len(p->owner_place, p->owner_len), holder, thread;

	if (p->owner_state == BELOW_UNKNOWN && len == 0)
		return true;
	if (!item_of(&holder, l, ITEM_HOLDER, place, p->owner_state,
		p->owner_place + p->owner_len - len, len))
		return false;
	add_time(l, holder, p->ns, above_ns);
	if (holder == NO_ITEM || p->owner_name_len == 0)
		return true;
	if (!item_of(
		&thread, l, ITEM_THREAD, holder, p->owner_state, p->owner_name, p->owner_name_len))
		return false;
	add_time(l, thread, p->ns, above_ns);
	return true;
}

/* Who called that place, of which the stack has place_len bytes. */
static bool
add_caller(struct below_list *l, const struct below_part *p, uint32_t place_len, uint32_t place,
    double above_ns)
{
	const char *text;
	uint32_t len = below_caller_of(&text, p->stack, p->stack_len, place_len), caller;

	if (len == 0)
		return true;
	if (!item_of(&caller, l, ITEM_CALLER, place, p->state, text, len))
		return false;
	add_time(l, caller, p->ns, above_ns);
	return true;
}

/* *item: that of the type, or NO_ITEM. */
static bool
add_type(uint32_t *item, struct below_list *l, const struct below_part *p, enum item_kind kind,
    uint32_t request_type, uint32_t place, double above_ns)
{
	char type[16];

	snprintf(type, sizeof type, "%u", request_type);
	if (!item_of(item, l, kind, place, BELOW_UNKNOWN, type, (uint32_t)strlen(type)))
		return false;
	add_time(l, *item, p->ns, above_ns);
	if (*item != NO_ITEM)
		l->items[*item].waits++;
	return true;
}

static bool
add_waker(struct below_list *l, const struct below_part *p, uint32_t place, double above_ns)
{
	uint32_t waker, thread;

	if (!p->woken_by_thread)
		return true;
	if (!add_type(&waker, l, p, ITEM_WAKER, p->waker_type, place, above_ns))
		return false;
	if (waker == NO_ITEM || p->waker_name_len == 0)
		return true;
	if (!item_of(
		&thread, l, ITEM_THREAD, waker, BELOW_UNKNOWN, p->waker_name, p->waker_name_len))
		return false;
	add_time(l, thread, p->ns, above_ns);
	return true;
}

static bool
add_held(struct below_list *l, const struct below_part *p, uint32_t place, double above_ns)
{
	uint32_t held;

	return !p->owner_is_read ||
	       add_type(&held, l, p, ITEM_HELD, p->owner_type, place, above_ns);
}

static bool
add_part(struct below_list *l, const struct below_part *p, double above_ns)
{
	uint32_t len = below_place_len(p->stack, p->stack_len), at;

	if (len == 0)
		return true;
	if (!item_of(&at, l, ITEM_PLACE, NO_ITEM, p->state, p->stack + p->stack_len - len, len))
		return false;
	add_time(l, at, p->ns, above_ns);
	if (at == NO_ITEM)
		return true;
	if (!add_caller(l, p, len, at, above_ns))
		return false;
	if (p->state == BELOW_READY)
		return true;
	return add_holder(l, p, at, above_ns) && add_held(l, p, at, above_ns) &&
	       add_waker(l, p, at, above_ns);
}

bool
below_list_add(
    struct below_list *l, int64_t total_ns, const struct below_time *times, uint32_t ntimes)
{
	struct below_row *row = &l->rows[l->nrows];

	if (l->nrows == BELOW_REQUESTS_MAX)
		return true;
	if (l->nrows == 0)
		l->base_ns = (double)total_ns;
	*row = (struct below_row){ .total_ns = total_ns };
	for (uint32_t i = 0; i < ntimes; i++) {
		for (unsigned s = 0; s < BELOW_STATES; s++)
			row->ns[s] += times[i].ns[s];
		row->unseen_ns += times[i].unseen_ns;
		l->running_ns += times[i].ns[BELOW_RUNNING];
		l->weight_ns += times[i].weight_ns;
		for (uint32_t p = 0; p < times[i].nparts; p++)
			if (!add_part(l, &times[i].parts[p], (double)total_ns - l->base_ns))
				return false;
	}
	l->nrows++;
	return below_parts_add(l->parts, total_ns, times, ntimes);
}

/* The times of all requests by state. NULL: out of memory. */
static struct part_row *
rows_of(const struct below_list *l, bool unseen, struct arena *a)
{
	struct part_row *rows = arena_alloc(a, l->nrows * sizeof *rows);
	double *x = arena_alloc(a, (size_t)l->nrows * BELOW_STATES * sizeof *x);

	for (uint32_t i = 0; i < l->nrows && rows != NULL && x != NULL; i++, x += BELOW_STATES) {
		rows[i] = (struct part_row){ l->rows[i].total_ns, x };
		for (unsigned s = 0; s < BELOW_STATES; s++)
			x[s] = (double)l->rows[i].ns[s];
		if (unseen) {
			x[BELOW_RUNNING] -= (double)l->rows[i].unseen_ns;
			x[BELOW_UNKNOWN] += (double)l->rows[i].unseen_ns;
		}
	}
	return x != NULL ? rows : NULL;
}

static double
ratio(double x, double of)
{
	return of > 0 ? x / of : 0;
}

struct scale { /* from the sums of an item to its share */
	double n, mean_above, of;
	bool by_latency;
};

static struct below_found
found_of(
    const struct below_list *l, const struct below_item *it, const struct scale *s, double edge)
{
	double mean_ns = it->sum_ns / s->n;
	double carries = s->by_latency ? mean_ns : it->sum_total / s->n - mean_ns * s->mean_above;
	double share = ratio(carries, s->of);

	return (struct below_found){ .state = it->state,
		.place = texts_get(l->places, it->place),
		.caller = "",
		.share = share,
		.mean_ns = mean_ns,
		.of_edge = ratio(share, edge) };
}

struct ranked_item {
	struct below_found found;
	uint32_t item;
};

static int
largest_first(const void *x, const void *y)
{
	const struct below_found *a = &((const struct ranked_item *)x)->found,
				 *b = &((const struct ranked_item *)y)->found;

	return a->share != b->share ? (a->share < b->share ? 1 : -1) : strcmp(a->place, b->place);
}

/* Those of this kind within that item, the largest first, in the arena; how many of them are told. UINT32_MAX: out of memory. */
static uint32_t
rank(struct ranked_item **ret, const struct below_list *l, enum item_kind kind, uint32_t within,
    const struct scale *s, double edge, struct arena *a)
{
	uint32_t count = texts_count(l->keys), n = 0;
	struct ranked_item *all = arena_alloc(a, (count + 1) * sizeof *all);

	if (all == NULL)
		return UINT32_MAX;
	for (uint32_t i = 0; i < count; i++)
		if (l->items[i].kind == kind && l->items[i].within == within)
			all[n++] = (struct ranked_item){ found_of(l, &l->items[i], s, edge), i };
	qsort(all, n, sizeof *all, largest_first);
	*ret = all;
	return n < BELOW_FOUND_MAX ? n : BELOW_FOUND_MAX;
}

/* Who has most of it: who called a place, or whose thread a holder is. */
static bool
find_caller(const struct below_finding *ret, const struct below_list *l, struct below_found *place,
    enum item_kind kind, uint32_t item, const struct scale *s, struct arena *a)
{
	struct ranked_item *callers;
	uint32_t n = rank(&callers, l, kind, item, s, ret->share, a);

	if (n == UINT32_MAX)
		return false;
	if (n > 0 && callers[0].found.share > 0 &&
	    callers[0].found.share >= CALLER_LEAST * place->share)
		place->caller = callers[0].found.place;
	return true;
}

static int
most_first(const void *x, const void *y)
{
	const struct below_waker *a = x, *b = y;

	return a->share != b->share ? (a->share < b->share ? 1 : -1)
	                            : (a->type > b->type) - (a->type < b->type);
}

/* The types of requests of that kind at that place, the largest share first, and how many waits have any. Returns how many types are told;
 * UINT32_MAX: out of memory. */
static uint32_t
find_types(struct below_waker *to, uint32_t *waits, const struct below_finding *ret,
    const struct below_list *l, enum item_kind kind, uint32_t place, const struct scale *s,
    struct arena *a)
{
	uint32_t count = texts_count(l->keys), n = 0;
	struct below_waker *all = arena_alloc(a, (count + 1) * sizeof *all);

	if (all == NULL)
		return UINT32_MAX;
	for (uint32_t i = 0; i < count; i++) {
		const struct below_item *it = &l->items[i];
		struct below_found f;

		if (it->kind != kind || it->within != place)
			continue;
		f = found_of(l, it, s, ret->share);
		f.caller = "";
		if (!find_caller(ret, l, &f, ITEM_THREAD, i, s, a))
			return UINT32_MAX;
		all[n++] = (struct below_waker){ (uint32_t)strtoul(f.place, NULL, 10), it->waits,
			f.share, f.of_edge, f.caller };
		*waits += it->waits;
	}
	qsort(all, n, sizeof *all, most_first);
	n = n < BELOW_FOUND_MAX ? n : BELOW_FOUND_MAX;
	memcpy(to, all, n * sizeof *all);
	return n;
}

/* False: out of memory. */
static bool
find_places(
    struct below_finding *ret, const struct below_list *l, const struct scale *s, struct arena *a)
{
	struct ranked_item *places, *holders;
	uint32_t n = rank(&places, l, ITEM_PLACE, NO_ITEM, s, ret->share, a);

	if (n == UINT32_MAX || n == 0)
		return n == 0;
	ret->nplaces = n;
	for (uint32_t i = 0; i < n; i++) {
		ret->places[i] = places[i].found;
		if (!find_caller(ret, l, &ret->places[i], ITEM_CALLER, places[i].item, s, a))
			return false;
	}
	if ((n = rank(&holders, l, ITEM_HOLDER, places[0].item, s, ret->share, a)) == UINT32_MAX)
		return false;
	ret->nholders = n;
	for (uint32_t i = 0; i < n; i++) {
		ret->holders[i] = holders[i].found;
		if (!find_caller(ret, l, &ret->holders[i], ITEM_THREAD, holders[i].item, s, a))
			return false;
	}
	ret->nwakers = find_types(
	    ret->wakers, &ret->waits, ret, l, ITEM_WAKER, places[0].item, s, a);
	ret->nheld = find_types(
	    ret->held, &ret->held_waits, ret, l, ITEM_HELD, places[0].item, s, a);
	return ret->nwakers != UINT32_MAX && ret->nheld != UINT32_MAX;
}

int
below_list_find(struct below_finding *ret, const struct below_list *l, bool by_latency,
    double confidence, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e)
{
	struct scale s = { .n = (double)l->nrows, .by_latency = by_latency };
	struct part_row *rows;
	struct part_total total;
	double rate;
	int rc;

	*ret = (struct below_finding){ .requests = l->nrows };
	if (l->nrows == 0)
		return 0;
	ret->unseen = l->running_ns >= RUNNING_PLENTY_NS && l->weight_ns < l->running_ns / 2;
	if ((rows = rows_of(l, ret->unseen, a)) == NULL)
		return err_set(
		    e, ERR_MEMORY, "out of memory for the states of %u requests", l->nrows);
	if ((rc = part_shares(ret->states, &total, rows, l->nrows, BELOW_STATES, by_latency,
		 confidence, rounds, seed, a, e)) != 0 ||
	    (rc = below_cause_rate(&rate, rows, l->nrows, a, e)) != 0)
		return rc;
	memcpy(ret->caused, ret->states, sizeof ret->caused);
	if (rate > 0 && (rows = below_cause_rows(rows, l->nrows, rate, a)) == NULL)
		return err_set(
		    e, ERR_MEMORY, "out of memory for the states of %u requests", l->nrows);
	if (rate > 0 && (rc = part_shares(ret->caused, &total, rows, l->nrows, BELOW_STATES,
			     by_latency, confidence, rounds, seed, a, e)) != 0)
		return rc;
	s.of = by_latency ? total.mean_ns : total.variance;
	s.mean_above = total.mean_ns - l->base_ns;
	for (unsigned i = 0; i < BELOW_STATES; i++) {
		ret->share += ret->states[i].share;
		ret->mean_ns += ret->states[i].mean_ns;
		if (ret->caused[i].share > ret->caused[ret->top].share)
			ret->top = (enum below_state)i;
	}
	if (!find_places(ret, l, &s, a))
		return err_set(e, ERR_MEMORY, "out of memory for the places of an edge");
	return 0;
}
