/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares all claims of a run with the truth: edge, kind, key, fields and interval of each
 * verdict, the states of its hypotheses, and the log of enabled and disabled tracepoints.
 *
 * The true share is the part of the variance (or of the latency, where the verdict claims that)
 * that the planted edge makes in the same group of requests: those whose path has the structure of
 * that of the verdict's slowest exemplar, also those that do not pass the edge. Of a path that passes the edge at
 * one position all passages count, else the first one. It is computed from
 * many more requests, played without records.
 *
 * Of kinds other than tree only the hypotheses and the log are compared; random_judge.c judges their first
 * verdict.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/random.h"

/* Truth is known far better than what is judged by it: it is of OUTINGS requests of the same group, if so many come. */
enum { OUTINGS = 12000, OUTINGS_MIN = 300, OUTINGS_MOST = 100000, APART_NS = 7 * MS };

/* ---- shares ---- */

struct moment { /* sums over a cause's time x and the response time t */
	double n, x, t, xt, tt;
};

static void
add(struct moment *m, double x, double t)
{
	double dx = x - m->x, dt = t - m->t;

	m->n++;
	m->x += dx / m->n;
	m->t += dt / m->n;
	m->xt += dx * (t - m->t);
	m->tt += dt * (t - m->t);
}

/* Whether the edge contains the point in time of the cause. Otherwise it lies beside it, on the slow
 * path. */
static bool
over_cause(const struct made *m, const struct cause *c, const struct verdict *v)
{
	int from = -1, to = c->nown;

	for (int i = 0; i < c->nown; i++) {
		const char *own = texts_get(m->stage.labels, c->own[i]);

		from = strcmp(own, v->from) == 0 ? i : from;
		to = strcmp(own, v->to) == 0 ? i : to;
	}
	return c->nown == 0 || (from <= c->own_at && to > c->own_at);
}

static bool
true_share(double *ret, struct made *m, const struct verdict *v, int number, bool latency)
{
	const struct cause *c = &m->causes[number];
	const struct went *like = map_get(&m->path_of, v->slowest.low);
	bool everywhere = v->positions == 1;
	struct moment all = { 0 };

	if (like == NULL || !over_cause(m, c, v))
		return false;
	for (int i = 0; i < OUTINGS_MOST && all.n < OUTINGS; i++) {
		struct outing o;

		play_dry(m, m->stage.begun_ns + i * (int64_t)APART_NS, &o);
		/* tracepoints of the cause's own are passed on the slow path only */
		if (o.path == like->path)
			add(&all,
			    c->nown > 0 && (o.took >> number & 1) == 0 ? 0
			    : everywhere                               ? o.edge_ns[number]
								       : o.first_ns[number],
			    o.total_ns);
	}
	*ret = latency ? all.x / all.t : all.xt / all.tt;
	return all.n >= OUTINGS_MIN && all.tt > 0;
}

/* The part of the variance that each cause makes; of a slow one, of the latency of those that take it. */
static void
true_effects(struct made *m, double effects[CAUSES_MAX])
{
	struct moment all[CAUSES_MAX] = { 0 };

	for (int i = 0; i < OUTINGS; i++) {
		struct outing o;

		play_dry(m, m->stage.begun_ns + i * (int64_t)APART_NS, &o);
		for (int k = 0; k < m->ncauses; k++)
			if (m->class != CAUSE_SLOW || o.cause_ns[k] > 0)
				add(&all[k], o.cause_ns[k], o.total_ns);
	}
	for (int k = 0; k < m->ncauses; k++)
		effects[k] = m->class == CAUSE_SLOW ? all[k].x / all[k].t : all[k].xt / all[k].tt;
}

/* Causes whose effect is as large as a verdict's has to be, and those of them that are named. */
static void
due_claims(struct made *m, const struct run *r, uint32_t found, bool verbose, struct claims *ret)
{
	double effects[CAUSES_MAX];

	true_effects(m, effects);
	for (int i = 0; i < m->ncauses; i++) {
		bool due = effects[i] >= r->effect_min, named = (found >> i & 1) != 0;

		ret->due += due;
		ret->due_found += due && named;
		if (verbose)
			printf("  cause %d: effect %.3f, %s\n", i + 1, effects[i],
			    named ? "named"
			    : due ? "NOT NAMED"
				  : "not named");
	}
}

/* ---- keys ---- */

static bool
has(const char *text, const char *what)
{
	return strstr(text, what) != NULL;
}

/* Events of a unit contain its name; its forks and joins are events of its parent. */
static bool
of_unit(const char *label, const struct unit_made *u)
{
	char own[40], structure[40];

	snprintf(own, sizeof own, ":%s_", u->name);
	snprintf(structure, sizeof structure, "(%s)", u->name);
	return has(label, own) ||
	       (has(label, structure) && !has(label, ":fork(") && !has(label, ":join("));
}

/* Whether the key is related to the cause in the generated application. */
static bool
key_is_fair(const struct made *m, const struct cause *c, const char *key)
{
	char amount[300];

	if (c->class == CAUSE_NODE)
		return (strncmp(key, "node of ", 8) == 0 || strncmp(key, "process of ", 11) == 0 ||
			   strncmp(key, "thread of ", 10) == 0) &&
		       of_unit(key, &m->units[c->unit]);
	if (c->looped && strncmp(key, "iterations of ", 14) == 0)
		return true; /* more iterations take longer */
	if (c->class != CAUSE_KEY)
		return false;
	snprintf(amount, sizeof amount, "%s.amount", texts_get(m->stage.labels, c->key_label));
	return strcmp(key, amount) == 0;
}

/* ---- verdicts ---- */

static int
cause_of(const struct made *m, const struct verdict *v)
{
	for (int i = 0; i < m->ncauses; i++) {
		const struct cause *c = &m->causes[i];

		if (judge_edge(m, c, v->from, v->to))
			return i;
		for (int k = 0; k < c->nown; k++)
			if (v->kind == VERDICT_SEPARATED &&
			    strcmp(v->tracepoint, texts_get(m->stage.labels, c->own[k])) == 0)
				return i;
	}
	return -1;
}

/* Whether one end of the edge belongs to a cause and the other does not: then the other end of the
 * cause, a tracepoint, lies between them. */
static bool
beyond(const struct made *m, const struct verdict *v)
{
	for (int i = 0; i < m->ncauses; i++) {
		const struct cause *c = &m->causes[i];
		const char *from = texts_get(m->stage.labels, c->from[0]),
			   *to = texts_get(m->stage.labels, c->to[0]);

		if ((strcmp(from, v->from) == 0) != (strcmp(to, v->to) == 0) &&
		    !judge_edge(m, c, v->from, v->to))
			return true;
	}
	return false;
}

static void
kind_and_fields(const struct made *m, const struct run *r, const struct verdict *v, int cause,
    struct claims *ret)
{
	bool cut = v->kind == VERDICT_CUT,
	     says_none = !cut && v->kind != VERDICT_SPREAD && v->preload == PRELOAD_NONE;

	ret->kinds += (cut && r->cycles < r->effort) || (cause >= 0 && v->kind == VERDICT_SPREAD) ||
	              (cause >= 0 && v->kind == VERDICT_SEPARATED && m->causes[cause].nown == 0) ||
	              (cause >= 0 &&
			  (v->problem == PROBLEM_SLOW) != (m->causes[cause].class == CAUSE_SLOW)) ||
	              (v->kind == VERDICT_KEY && v->key[0] == '\0');
	ret->fields += (says_none && beyond(m, v)) || v->text[0] != '\0' || v->position < 1 ||
	               v->position > v->positions ||
	               (v->unlearned > 0 && v->unlearned_service[0] == '\0') ||
	               !(v->effective_traces > 0 && v->effective_traces <= (double)v->traces) ||
	               (v->kind == VERDICT_SEPARATED &&
			   (v->tracepoint[0] == '\0' || !(v->separation > 0)));
}

static void
verdict_claims(struct made *m, const struct run *r, const struct verdict *v, bool verbose,
    uint32_t *found, struct claims *ret)
{
	int cause = cause_of(m, v);
	struct claims was = *ret;
	bool latency = v->by_latency, known, holds;
	double truth = 0;

	if (cause < 0 && v->kind == VERDICT_SPREAD)
		ret->spread++; /* no position: the verdict says that healthy noise is spread over the edge */
	else
		ret->verdicts++;
	ret->planted += cause >= 0;
	ret->keys += v->key[0] != '\0';
	kind_and_fields(m, r, v, cause, ret);
	if (cause < 0) {
		ret->false_keys += v->key[0] != '\0';
	} else {
		const struct cause *c = &m->causes[cause];
		bool due = c->class == CAUSE_KEY || c->class == CAUSE_NODE;

		*found |= UINT32_C(1) << cause;
		ret->false_keys += v->key[0] != '\0' && !key_is_fair(m, c, v->key);
		ret->keys_due += due;
		ret->keys_missed += due && v->key[0] == '\0';
	}
	known = cause >= 0 && true_share(&truth, m, v, cause, latency);
	holds = known && truth >= v->share_low && truth <= v->share_high;
	if (cause >= 0 && m->causes[cause].class == CAUSE_CONTENTION) {
		ret->waits += known;
		ret->waits_held += holds;
	} else {
		ret->intervals += known;
		ret->held += holds;
	}
	if (verbose)
		printf("  claim %u: %s%s%s%s%s; share %.3f (%.3f to %.3f)%s", v->rank,
		    cause >= 0 ? "planted" : "NOT PLANTED", ret->kinds > was.kinds ? ", KIND" : "",
		    ret->fields > was.fields ? ", FIELDS" : "",
		    ret->false_keys > was.false_keys ? ", FALSE KEY" : "",
		    ret->keys_missed > was.keys_missed ? ", no key" : "", v->share, v->share_low,
		    v->share_high, known ? ", true " : "\n");
	if (verbose && known)
		printf("%.3f%s\n", truth, holds ? "" : ", NOT HELD");
}

/* ---- hypotheses and the log ---- */

static void
hypothesis_claims(const struct made *m, const struct run *r, struct claims *ret)
{
	const struct hypothesis *h;
	uint64_t at = 0;

	while ((h = forest_next(m->stage.forest, r->id, &at)) != NULL) {
		bool told = hypothesis_settled(h->state) && h->state != HYPOTHESIS_WITHDRAWN,
		     explored = h->reason == REASON_EXPLORED; /* it measures no edge */

		ret->unsettled += !hypothesis_settled(h->state);
		ret->blank += told && (h->settled_traces == 0 ||
					  (!explored && (h->mean_ns <= 0 || h->cv <= 0)));
	}
}

/* For each hypothesis and tracepoint the log has as many disables as enables, and at least one
 * enable for each tracepoint that a node had enabled. */
static void
log_claims(const struct made *m, const struct run *r, struct claims *ret)
{
	uint32_t n = texts_count(m->names), *logged = calloc(n + 1, sizeof *logged);
	struct map open = { 0 };
	const struct switched *s;
	uint64_t at = 0, key;
	size_t slot = 0;

	if (logged == NULL)
		stage_die("out of memory", "log");
	while ((s = forest_switched_next(m->stage.forest, NULL, &at)) != NULL) {
		uint32_t t = texts_find(m->names, s->tracepoint, strlen(s->tracepoint));
		uintptr_t now;

		if (s->run != r->id || t == UINT32_MAX)
			continue;
		key = ((uint64_t)t << 32 | s->hypothesis) + 1;
		now = (uintptr_t)map_get(&open, key);
		logged[t] |= s->on;
		ret->log += !s->on && now == 0;
		if (s->on)
			map_put(&open, key, (void *)(now + 1));
		else if (now > 1)
			map_put(&open, key, (void *)(now - 1));
		else
			map_take(&open, key);
	}
	while (map_next(&open, &slot, &key) != NULL)
		ret->log++;
	for (uint32_t t = 0; t < n; t++)
		ret->log += m->on_ever[t] && !logged[t];
	map_release(&open);
	free(logged);
}

void
claims_of(struct made *m, const struct run *r, bool verbose, struct claims *ret)
{
	const struct verdict *v;
	uint32_t found = 0;

	*ret = (struct claims){ 0 };
	m->faulty = true;
	for (uint32_t rank = 1;
	     m->kind == KIND_tree && (v = forest_verdict(m->stage.forest, r->id, rank)) != NULL;
	     rank++)
		verdict_claims(m, r, v, verbose, &found, ret);
	ret->found = (uint32_t)__builtin_popcount(found);
	if (m->kind == KIND_tree && m->ncauses > 1)
		due_claims(m, r, found, verbose, ret);
	hypothesis_claims(m, r, ret);
	log_claims(m, r, ret);
}
