/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/learning.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"
#include "controlplane/engine/trace_age.h"

/* Between two steps of the rate; four times that when it rises. */
#define SHRINK_NS INT64_C(500000000)
/* An agent that has not confirmed by then must not keep everything enabled. */
#define CONFIRM_NS INT64_C(30000000000)

enum { SHRINK_MOST = 64, GROUPS_MOST = 64 };

/* The time that is left, of this group and of those that follow. */
double
learning_left_s(const struct learning *l, struct mono now)
{
	int64_t each_ns, left_ns;

	assert(l->active && l->ngroups > 0);
	each_ns = l->for_ns / l->ngroups;
	left_ns = l->ready ? mono_since_ns(l->until, now) : each_ns;
	return (double)(left_ns + each_ns * (l->ngroups - l->group - 1)) / 1e9;
}

/* ---- versions ---- */

/*
 * 1. The programs and the name are those of the space: it is used.
 * 2. The space is of no programs yet, or the operator gave its name: the programs are of it.
 * 3. Else a new space is begun; the former one stays in its file.
 */
static int
begin_version(struct learning *l, const char *name, struct err *e)
{
	const struct space_version *was = space_version(l->is.learned->space);
	uint64_t fingerprint = nodes_fingerprint(l->is.nodes, l->is.preload);
	char made_up[sizeof was->name], kept[sizeof was->name];
	struct space *fresh;
	int rc;

	if (was->fingerprint == fingerprint && (name == NULL || strcmp(name, was->name) == 0))
		return 0;
	snprintf(made_up, sizeof made_up, "%08x", (unsigned)(fingerprint >> 32));
	if (was->fingerprint == 0 || (name != NULL && strcmp(name, was->name) == 0))
		return space_version_set(l->is.learned->space, fingerprint,
		    name != NULL ? name : strcpy(kept, was->name), 0, e);
	if (request_types_diagnosed(l->is.types))
		return err_set(e, ERR_BUSY,
		    "the application is another one than was learned: hone stop first, or wait until "
		    "the diagnoses have ended");
	if ((fresh = space_new(l->is.labels)) == NULL)
		return err_set(e, ERR_MEMORY, "search space: out of memory");
	if ((rc = space_version_set(fresh, fingerprint, name != NULL ? name : made_up, 0, e)) !=
	    0) {
		space_free(fresh);
		return rc;
	}
	learned_space_use(l->is.learned, fresh);
	overhead_forget(l->is.overhead);
	return 0;
}

/* ---- what is enabled ---- */

static void
tell_overhead(const struct learning *l)
{
	overhead_learning(l->is.overhead, l->active, l->ngroups, l->shrink);
}

/* One wildcard for each provider: rules cost, not the tracepoints that they match. Without the
 * preload layer: a record of every mutex and malloc would be most of what is learned. */
static int
want_provider(struct learning *l, struct texts *seen, const char *tracepoint, struct err *e)
{
	const char *colon = strchr(tracepoint, ':');
	uint32_t before = texts_count(seen), number;
	char all[TOGGLE_NAME_MAX + 1];

	if (colon == NULL || preload_is(l->is.preload, tracepoint))
		return 0;
	snprintf(all, sizeof all, "%.*s:*", (int)(colon - tracepoint), tracepoint);
	if ((number = texts_intern(seen, all, strlen(all))) == UINT32_MAX)
		return err_set(e, ERR_MEMORY, "learning: out of memory");
	if (number < before || number % l->ngroups != l->group)
		return 0;
	return plan_want(l->is.plan, all, OWNER_LEARN, e);
}

/* Puts the providers of this group into the plan; doubles the number of groups until a desired
 * state can name those of one. */
static int
want_group(struct learning *l, struct err *e)
{
	for (;;) {
		struct texts *seen = texts_new();
		int rc = seen != NULL ? 0 : err_set(e, ERR_MEMORY, "learning: out of memory");

		for (uint32_t i = 0; i < l->is.nodes->binaries.n && rc == 0; i++) {
			const struct binary *x = l->is.nodes->binaries.items[i];

			for (uint32_t k = 0; x != NULL && k < x->n && rc == 0; k++)
				rc = want_provider(l, seen, x->names[k], e);
		}
		if (rc == 0)
			l->providers = texts_count(seen);
		texts_free(seen);
		if (rc != 0 || l->providers <= l->ngroups * (uint32_t)TOGGLES_MAX)
			return rc;
		plan_release_owner(l->is.plan, OWNER_LEARN);
		l->ngroups *= 2;
	}
}

int
learning_begin(struct learning *l, int64_t for_ns, const char *name, struct mono now, struct err *e)
{
	char why[CONGESTION_TEXT_MAX];
	int rc;

	assert(for_ns > 0);
	if (l->active)
		return err_set(e, ERR_BUSY, "learning already; 'hone status' shows how far it is");
	if (nodes_tracepoints(l->is.nodes, l->is.preload) == 0)
		return err_set(e, ERR_MISSING,
		    "there is nothing to learn from: no agent has reported a program with "
		    "tracepoints; see 'hone agents'");
	if (l->is.queues->paused)
		return err_set(e, ERR_BUSY, "not now: %s; try again when the load has gone down",
		    congestion_print(&l->is.queues->pause, why));
	if ((rc = begin_version(l, name, e)) != 0)
		return rc;
	*l = (struct learning){ .is = l->is,
		.for_ns = for_ns,
		.since = now,
		.until = { now.ns + for_ns },
		.begun = now,
		.shrink = 1,
		.ngroups = 1 };
	rc = want_group(l, e);
	tell_overhead(l);
	if (rc != 0 || (rc = overhead_learning_predict(l->is.overhead, true, e)) != 0) {
		plan_release_owner(l->is.plan, OWNER_LEARN);
		return rc;
	}
	l->active = true;
	tell_overhead(l);
	nodes_changed(l->is.nodes);
	return overhead_step(l->is.overhead, now, e);
}

/* The groups that are left share the time that is left. */
static int
begin_group(struct learning *l, uint32_t group, struct mono now, struct err *e)
{
	plan_release_owner(l->is.plan, OWNER_LEARN);
	l->group = group;
	l->ready = false;
	l->since = now;
	l->until = (struct mono){ now.ns + l->for_ns / l->ngroups };
	nodes_changed(l->is.nodes);
	if (want_group(l, e) != 0)
		return ERR_MEMORY;
	tell_overhead(l);
	return overhead_learning_predict(l->is.overhead, true, e);
}

/* Over budget even at the least share of requests: half of the providers at a time, from the first
 * group again. */
static int
split_groups(struct learning *l, struct mono now, struct err *e)
{
	if (!l->ready || mono_since_ns(now, l->since) < 2 * SHRINK_NS ||
	    2 * l->ngroups > l->providers || l->ngroups == GROUPS_MOST)
		return 0;
	for (uint32_t i = 0; i < l->is.types->n; i++)
		if (overhead_learning_probed(l->is.overhead, &l->is.types->items[i]) <
		    OVERHEAD_PROBED_MIN) {
			l->ngroups *= 2;
			return begin_group(l, 0, now, e);
		}
	return 0;
}

/* ---- steps ---- */

/* Full queues halve the rate, again and again, before they end learning; empty ones double it. */
static void
adapt_rate(struct learning *l, struct mono now)
{
	bool paused = l->is.queues->paused;

	if (mono_since_ns(now, l->shrunk) < (paused ? SHRINK_NS : 4 * SHRINK_NS))
		return;
	if (paused && l->shrink * SHRINK_MOST > 1)
		l->shrink /= 2;
	else if (!paused && l->shrink < 1)
		l->shrink *= 2;
	else
		return;
	l->shrunk = now;
}

static bool
is_too_much(const struct learning *l, struct mono now)
{
	const struct queues *q = l->is.queues;

	return q->paused && !q->backing_off && l->shrink * SHRINK_MOST <= 1 &&
	       mono_since_ns(now, q->paused_since) > l->is.withdraw_ns;
}

/* text: of an error, or NULL. */
static void
end_by(struct learning *l, enum audit_actor by, enum reason reason, const char *text)
{
	struct audit own = { .when = l->when,
		.actor = by,
		.action = ACTION_DISABLE_ALL,
		.reason = reason,
		.text = text };

	if (reason == REASON_CONGESTION) {
		own.cause = l->is.queues->pause.reason;
		own.node = l->is.queues->pause.node;
		own.queue = l->is.queues->pause.queue;
		own.fill = l->is.queues->pause.fill;
	}
	forest_audit_own(l->is.forest, &own);
	learning_end(l);
}

int
learning_step(struct learning *l, struct mono now, struct wall when, struct err *e)
{
	bool backing_off = l->is.queues->backing_off;
	int rc = 0;

	if (!l->active)
		return 0;
	l->when = when;
	/* 1. the rate. After a backoff the time counts anew: what that agent did not record is no
	 * evidence. */
	if (backing_off) {
		l->shrink /= l->ready && l->shrink * SHRINK_MOST > 1 ? 2 : 1;
		l->ready = false;
	} else {
		adapt_rate(l, now);
	}
	tell_overhead(l);
	/* 2. everything is enabled */
	if (!l->ready && nodes_confirmed(l->is.nodes, l->is.plan) && !backing_off) {
		l->ready = true;
		l->since = now;
		l->until = (struct mono){ now.ns + l->for_ns / l->ngroups };
	}
	/* 3. an end, the next group, or smaller groups */
	if (is_too_much(l, now))
		end_by(l, ACTOR_QUEUES, REASON_CONGESTION, NULL);
	else if (mono_since_ns(now, l->until) >= (l->ready ? 0 : CONFIRM_NS)) {
		if (l->group + 1 < l->ngroups)
			rc = begin_group(l, l->group + 1, now, e);
		else
			end_by(l, ACTOR_LEARNING, REASON_TIME_OVER, NULL);
	} else {
		rc = split_groups(l, now, e);
	}
	if (rc != 0)
		end_by(l, ACTOR_LEARNING, REASON_FAILED, e != NULL ? e->text : "");
	return rc;
}

void
learning_end(struct learning *l)
{
	const struct space_version *v = space_version(l->is.learned->space);
	char name[sizeof v->name];

	if (!l->active)
		return;
	snprintf(name, sizeof name, "%s", v->name);
	space_version_set(l->is.learned->space, v->fingerprint, name, l->when.ns, NULL);
	plan_release_owner(l->is.plan, OWNER_LEARN);
	nodes_changed(l->is.nodes);
	l->active = false;
	l->is.learned->unsaved = true;
	tell_overhead(l);
}

/* Only a complete trace, of a time when everything was enabled, shows what may follow what. */
int
learning_trace(struct learning *l, const struct trace *t, struct err *e)
{
	struct space *space = l->is.learned->space;

	assert(l->active);
	if (!l->ready || l->is.queues->backing_off || !t->probed || !trace_is_evidence(t) ||
	    !trace_began_after(l->is.clocks, t, l->since.ns))
		return 0;
	l->traces++;
	return l->ngroups > 1 ? space_learn_more(space, t, e) : space_learn(space, t, e);
}
