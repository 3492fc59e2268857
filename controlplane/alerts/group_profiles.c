/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/group_profiles.h"

#include <stdlib.h>

static const double WHOLE_PART = 0.9; /* a group that is more of its type says nothing else */

static bool
is(struct hash128 x, struct hash128 y)
{
	return x.a == y.a && x.b == y.b;
}

static struct group_profile *
watched(const struct group_profiles *g, struct hash128 key)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (is(g->items[i]->key, key))
			return g->items[i];
	return NULL;
}

/* Space-Saving: a group that is not counted takes the place of the smallest one, and its count. */
static void
count(struct group_profiles *g, struct hash128 key)
{
	struct group_count *least = &g->counted[0];

	for (uint32_t i = 0; i < g->ncounted; i++) {
		if (is(g->counted[i].key, key)) {
			g->counted[i].n++;
			return;
		}
		if (g->counted[i].n < least->n)
			least = &g->counted[i];
	}
	if (g->ncounted < GROUPS_COUNTED) {
		g->counted[g->ncounted++] = (struct group_count){ key, 1, 0 };
		return;
	}
	*least = (struct group_count){ key, least->n + 1, least->n };
}

int
group_profiles_request(
    struct group_profiles *g, struct hash128 key, int64_t begin_ns, int64_t took_ns, struct err *e)
{
	struct group_profile *x = watched(g, key);

	count(g, key);
	return x != NULL ? window_times_add(&x->profile.times, begin_ns, took_ns, e) : 0;
}

static void
drop(struct group_profiles *g, uint32_t i)
{
	latency_profile_release(&g->items[i]->profile);
	free(g->items[i]);
	g->items[i] = g->items[--g->n];
	g->items[g->n] = NULL;
}

static void
drop_idle(struct group_profiles *g, uint32_t *room)
{
	for (uint32_t i = g->n; i-- > 0;) {
		struct group_profile *x = g->items[i];

		x->idle = x->profile.last_window.requests < RANGE_REQUESTS_MIN ? x->idle + 1 : 0;
		if (x->idle < GROUP_IDLE_MAX)
			continue;
		drop(g, i);
		++*room;
	}
}

static int
by_count(const void *a, const void *b)
{
	const struct group_count *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->key.a > y->key.a) - (x->key.a < y->key.a);
}

int
group_profiles_choose(struct group_profiles *g, uint64_t requests, uint32_t *room, struct err *e)
{
	int rc = 0;

	drop_idle(g, room);
	qsort(g->counted, g->ncounted, sizeof g->counted[0], by_count);
	for (uint32_t i = 0; i < g->ncounted && rc == 0; i++) {
		const struct group_count *c = &g->counted[i];
		struct group_profile *x;

		if (c->n < RANGE_REQUESTS_MIN || g->n == GROUPS_WATCHED_MAX || *room == 0)
			break;
		if (c->n - c->more < RANGE_REQUESTS_MIN ||
		    (double)c->n > WHOLE_PART * (double)requests || watched(g, c->key) != NULL)
			continue;
		if ((x = calloc(1, sizeof *x)) == NULL) {
			rc = err_set(e, ERR_MEMORY, "out of memory for a group of requests");
			break;
		}
		x->key = c->key;
		g->items[g->n++] = x;
		--*room;
	}
	g->ncounted = 0;
	return rc;
}

void
group_profiles_release(struct group_profiles *g)
{
	while (g->n > 0)
		drop(g, g->n - 1);
	*g = (struct group_profiles){ 0 };
}
