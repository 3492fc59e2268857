/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/tracer/reconcile.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/tracer/tracer_internal.h"
#include "base/array.h"
#include "base/texts.h"
#include "wire/below.h"

#define RETRY_NS INT64_C(1000000000)

struct point { /* one name; kept for the agent's life */
	bool wanted, on, refused;
	bool sampled; /* wanted for all sampled requests */
	bool standing;
	enum tracer_filter filter; /* the widest with which it is enabled; PROBED if it is not */
	enum reconcile_kind kind;
	bool failed; /* the last attempt did, at: */
	struct mono failed_at;
	char reason[128];
};

struct reconcile {
	struct texts *names;
	struct point *points; /* by number of the name */
	uint32_t cap_points;

	bool has_want, first, shed;
	bool stand; /* standing ones are wanted */
	bool (*mapped)(void *of, const char *name);
	void *of;
	uint64_t epoch, held_epoch, shed_epoch;
	struct mono lease_until, held_since, want_at;
	/* The want's toggles: numbers of names, UINT32_MAX for one that has no number. */
	uint32_t *order, norder, cap_order;
	bool busy[RECONCILE_KINDS]; /* changes were given out and have not come back */
	bool done_due;              /* report done as soon as the epoch is applied */
	bool recheck;               /* done has to be reported if its results are others now */
	uint8_t *results;           /* of the last done, cap_results long */
	uint32_t cap_results;
	char failure[256];
};

struct reconcile *
reconcile_new(void)
{
	struct reconcile *r = calloc(1, sizeof *r);

	if (r != NULL && (r->names = texts_new()) == NULL) {
		free(r);
		return NULL;
	}
	return r;
}

void
reconcile_free(struct reconcile *r)
{
	if (r == NULL)
		return;
	texts_free(r->names);
	free(r->points);
	free(r->order);
	free(r->results);
	free(r);
}

void
reconcile_connected(struct reconcile *r)
{
	r->first = true;
	r->done_due = true;
}

static enum reconcile_kind
kind_of(const char *name)
{
	return below_is_probe(name) ? RECONCILE_PROBES : RECONCILE_TRACER;
}

/* Why a tracepoint may not be enabled or disabled; NULL: it may. LTTng disables rules by name, so
 * what is always on, or internal to the tracer, must not be touched. */
static const char *
why_refused(const char *name)
{
	const char *colon = strchr(name, ':');

	if (colon == NULL || colon == name || colon[1] == '\0')
		return "not of the form provider:event";
	if (memchr(name, '*', (size_t)(colon - name)) != NULL)
		return "no wildcards in the provider's name";
	if (strncmp(name, "hone:", 5) == 0)
		return "always on";
	if (is_tracer_internal(name))
		return "internal to the tracer";
	return NULL;
}

static bool
points_reserve(struct reconcile *r, uint32_t count)
{
	uint32_t old = r->cap_points;

	if (!array_reserve(r->points, r->cap_points, count))
		return false;
	memset(r->points + old, 0, (r->cap_points - old) * sizeof *r->points);
	return true;
}

/* The number of a name; a new one if needed. UINT32_MAX: out of memory, or too many names. */
static uint32_t
point_of(struct reconcile *r, const char *name)
{
	size_t len = strlen(name);
	uint32_t id = texts_find(r->names, name, len);
	const char *why;

	if (id != UINT32_MAX)
		return id;
	if (texts_count(r->names) >= RECONCILE_NAMES_MAX ||
	    !points_reserve(r, texts_count(r->names) + 1) ||
	    (id = texts_intern(r->names, name, len)) == UINT32_MAX)
		return UINT32_MAX;
	r->points[id].kind = kind_of(name);
	if ((why = why_refused(name)) != NULL) {
		r->points[id].refused = true;
		strcpy(r->points[id].reason, why);
	}
	return id;
}

static bool
order_take(struct reconcile *r, const struct want *w)
{
	if (!array_reserve(r->order, r->cap_order, w->ntoggles) ||
	    !array_reserve(r->results, r->cap_results, w->ntoggles))
		return false;
	for (uint32_t i = 0; i < r->norder; i++)
		if (r->order[i] != UINT32_MAX)
			r->points[r->order[i]].wanted = r->points[r->order[i]].sampled = false;
	r->norder = w->ntoggles;
	for (uint32_t i = 0; i < w->ntoggles; i++) {
		uint32_t id = r->order[i] = point_of(r, w->toggles[i].name);

		if (id == UINT32_MAX)
			continue;
		r->points[id].wanted = true;
		r->points[id].sampled |= w->toggles[i].sampled;
	}
	return true;
}

int64_t
reconcile_lease_ms(int64_t lease_ms)
{
	return lease_ms < 0                        ? 0
	       : lease_ms > RECONCILE_LEASE_MAX_MS ? RECONCILE_LEASE_MAX_MS
	                                           : lease_ms;
}

static void
lease_take(struct reconcile *r, int64_t lease_ms, struct mono now)
{
	r->lease_until.ns = now.ns + reconcile_lease_ms(lease_ms) * 1000000;
}

int
reconcile_want(struct reconcile *r, const struct want *w, struct mono now, struct err *e)
{
	bool lapsed = r->has_want && now.ns >= r->lease_until.ns;

	if (r->has_want && !r->first && w->epoch < r->epoch)
		return err_set(e, ERR_INPUT, "epoch %llu came after %llu",
		    (unsigned long long)w->epoch, (unsigned long long)r->epoch);
	if (!r->has_want || r->first || w->epoch != r->epoch) {
		if (!order_take(r, w))
			return err_set(e, ERR_MEMORY, "out of memory for %u toggles", w->ntoggles);
		r->done_due = true;
		r->want_at = now;
	}
	if (lapsed) { /* it was disabled meanwhile: applied since now */
		r->done_due = true;
		r->want_at = now;
	}
	if (r->shed && w->epoch > r->shed_epoch)
		r->shed = false;
	r->epoch = w->epoch;
	r->has_want = true;
	r->first = false;
	lease_take(r, w->lease_ms, now);
	return 0;
}

void
reconcile_shed(struct reconcile *r)
{
	r->shed = true;
	r->shed_epoch = r->epoch;
	r->done_due = true;
}

void
reconcile_forget(struct reconcile *r, enum reconcile_kind kind)
{
	for (uint32_t i = 0; i < texts_count(r->names); i++)
		if (r->points[i].kind == kind) {
			r->points[i].on = r->points[i].failed = false;
			r->points[i].filter = FILTER_PROBED;
		}
	r->done_due = true;
}

void
reconcile_lost(struct reconcile *r, uint32_t point, const char *reason, struct mono now)
{
	struct point *p;

	if (point >= texts_count(r->names))
		return;
	p = &r->points[point];
	p->on = false;
	p->filter = FILTER_PROBED;
	p->failed = true;
	p->failed_at = now;
	snprintf(p->reason, sizeof p->reason, "%s", reason);
	r->done_due = true;
}

void
reconcile_programs_changed(struct reconcile *r)
{
	r->recheck = true;
}

static bool
is_live(const struct reconcile *r, struct mono now)
{
	return r->has_want && !r->shed && now.ns < r->lease_until.ns;
}

bool
reconcile_standing(struct reconcile *r, const char *name)
{
	uint32_t id = point_of(r, name);

	if (id == UINT32_MAX)
		return false;
	r->points[id].standing = strncmp(name, "hone:", 5) != 0;
	return true;
}

void
reconcile_standing_none(struct reconcile *r)
{
	for (uint32_t i = 0; i < texts_count(r->names); i++)
		r->points[i].standing = false;
}

void
reconcile_stand(struct reconcile *r, bool on)
{
	r->stand = on;
}

void
reconcile_mapped(struct reconcile *r, bool (*mapped)(void *of, const char *name), void *of)
{
	r->mapped = mapped;
	r->of = of;
}

static enum tracer_filter
filter_of(const struct reconcile *r, uint32_t id)
{
	const struct point *p = &r->points[id];

	if (p->standing || (r->mapped != NULL && r->mapped(r->of, texts_get(r->names, id))))
		return FILTER_NONE;
	return p->sampled ? FILTER_SAMPLED : FILTER_PROBED;
}

static bool
is_wanted(const struct reconcile *r, uint32_t id, bool live)
{
	const struct point *p = &r->points[id];

	return (p->wanted && live && !p->refused) || (p->standing && r->stand);
}

bool
reconcile_wants(const struct reconcile *r, enum reconcile_kind kind, struct mono now)
{
	bool live = is_live(r, now);

	for (uint32_t i = 0; i < texts_count(r->names); i++)
		if (r->points[i].kind == kind && is_wanted(r, i, live))
			return true;
	return false;
}

/*
 * -1: disable it, +1: enable it, or again with a wider filter; 0: it is as it should be, or a failed attempt is less than a second old. A
 * tracer has no narrower filter for what is enabled: that for sampled requests is disabled, and then enabled for probed ones. One without a
 * filter stays so, since it depends on which programs run.
 */
static int
due(const struct reconcile *r, uint32_t id, bool live, struct mono now)
{
	const struct point *p = &r->points[id];
	bool wanted = is_wanted(r, id, live);

	if (p->failed && now.ns - p->failed_at.ns < RETRY_NS)
		return 0;
	if (wanted != p->on)
		return wanted ? 1 : -1;
	if (!wanted || p->filter == FILTER_NONE)
		return 0;
	return filter_of(r, id) > p->filter ? 1 : filter_of(r, id) < p->filter ? -1 : 0;
}

struct tracer_change *
reconcile_changes(struct reconcile *r, enum reconcile_kind kind, struct mono now, uint32_t *n)
{
	uint32_t count = 0, names = texts_count(r->names);
	bool live = is_live(r, now);
	struct tracer_change *list, *c;

	*n = 0;
	for (uint32_t i = 0; !r->busy[kind] && i < names && count < RECONCILE_CHANGES_MAX; i++)
		count += r->points[i].kind == kind && due(r, i, live, now) != 0;
	if (count == 0 || (list = calloc(count, sizeof *list)) == NULL)
		return NULL;
	c = list;
	for (int way = -1; way <= 1; way += 2) {
		for (uint32_t i = 0; i < names && c < list + count; i++) {
			if (r->points[i].kind != kind || due(r, i, live, now) != way)
				continue;
			c->point = i;
			c->on = way > 0;
			c->filter = c->on ? filter_of(r, i) : FILTER_PROBED;
			c->standing = r->points[i].standing;
			strncpy(c->name, texts_get(r->names, i), sizeof c->name - 1);
			c++;
		}
	}
	r->busy[kind] = true;
	*n = count;
	return list;
}

void
reconcile_applied(
    struct reconcile *r, struct tracer_change *changes, uint32_t n, bool gone, struct mono now)
{
	enum reconcile_kind kind = r->points[changes[0].point].kind;

	assert(n > 0 && r->busy[kind]);
	for (uint32_t i = 0; i < n && !gone; i++) {
		struct point *p = &r->points[changes[i].point];

		if (!changes[i].failed)
			r->held_since = now;
		r->done_due = r->done_due || !changes[i].failed || !p->failed;
		p->failed = changes[i].failed;
		p->failed_at = now;
		memcpy(p->reason, changes[i].reason, sizeof p->reason);
		if (changes[i].failed)
			continue;
		if (!changes[i].on || changes[i].filter > p->filter)
			p->filter = changes[i].filter;
		p->on = changes[i].on;
	}
	r->busy[kind] = false;
	free(changes);
}

static uint8_t
result_of(struct reconcile *r, uint32_t id, bool (*exists)(void *, const char *), void *arg)
{
	const struct point *p = id != UINT32_MAX ? &r->points[id] : NULL;
	const char *name = p != NULL ? texts_get(r->names, id) : "",
		   *reason = "too many names since the agent was started";

	if (p != NULL && (p->on || (p->refused && strncmp(name, "hone:", 5) == 0)))
		return exists(arg, name) || strncmp(name, "hone:", 5) == 0 ? DONE_ON : DONE_NO_SUCH;
	if (p != NULL)
		reason = p->reason;
	if (r->failure[0] == '\0') {
		strncat(r->failure, name, 100);
		strcat(r->failure, ": ");
		strncat(r->failure, reason, 130);
	}
	return DONE_FAILED;
}

bool
reconcile_done(struct reconcile *r, struct mono now, bool (*exists)(void *, const char *),
    void *arg, struct done *ret)
{
	bool changed = r->done_due;

	/* After a lease has ended, or load was shed, the state is not the epoch's. */
	if ((!r->done_due && !r->recheck) || (!is_live(r, now) && r->norder > 0) || !r->has_want ||
	    r->first || r->busy[RECONCILE_TRACER] || r->busy[RECONCILE_PROBES])
		return false;
	for (uint32_t i = 0; i < texts_count(r->names); i++)
		if (due(r, i, true, now) != 0)
			return false;
	r->failure[0] = '\0';
	for (uint32_t i = 0; i < r->norder; i++) {
		uint8_t result = result_of(r, r->order[i], exists, arg);

		changed = changed || result != r->results[i];
		r->results[i] = result;
	}
	r->held_epoch = r->epoch;
	r->recheck = false;
	if (!changed)
		return false;
	r->done_due = false;
	*ret = (struct done){ .epoch = r->epoch,
		.nresults = r->norder,
		.results = r->results,
		.failure = r->failure };
	ret->from_ns = r->held_since.ns > r->want_at.ns ? r->held_since.ns : r->want_at.ns;
	return true;
}

void
reconcile_stats(const struct reconcile *r, struct mono now, struct reconcile_stats *ret)
{
	*ret = (struct reconcile_stats){ .epoch = r->held_epoch,
		.wanted = r->norder,
		.shed = r->shed,
		.lease_until = r->lease_until,
		.leased = r->has_want && now.ns < r->lease_until.ns };
	for (uint32_t i = 0; i < texts_count(r->names); i++)
		ret->added += r->points[i].on && !(r->points[i].standing && r->stand);
}
