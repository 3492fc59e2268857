/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs and hypotheses are in arrays by ascending id, each in memory of its own, so that pointers to
 * them stay valid. The lists of changes have room for all of them from the moment when they are made:
 * touching one cannot fail.
 */
#include "forest/forest_inside.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *
run_word(enum run_state s)
{
	static const char *const words[RUN_STATES] = {
		[RUN_ACTIVE] = "active",
		[RUN_FOUND] = "found",
		[RUN_NOT_FOUND] = "not found",
		[RUN_STOPPED] = "stopped",
		[RUN_UNSURE] = "unsure",
		[RUN_NOTHING] = "nothing stands out",
		[RUN_GONE] = "gone",
		[RUN_BASELINE] = "baseline",
	};

	return (unsigned)s < RUN_STATES ? words[s] : "?";
}

struct forest *
forest_new(void)
{
	struct forest *f = calloc(1, sizeof *f);

	if (f == NULL || (f->texts = texts_new()) == NULL) {
		free(f);
		return NULL;
	}
	f->next_run = f->next_hypothesis = 1;
	return f;
}

static void
run_release(struct run *r)
{
	free(r->type);
	free(r->strategy);
	free(r->subject);
	free(r->text);
	free(r->version);
	free(r->by);
	free(r->ended_programs);
	free(r->baseline);
	memset(r, 0, sizeof *r);
}

static void
run_free(struct tree_run *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->nverdicts; i++) {
		verdict_release(&r->verdicts[i]->verdict);
		free(r->verdicts[i]);
	}
	free(r->verdicts);
	run_release(&r->run);
	free(r);
}

static void
tree_hypothesis_free(struct tree_hypothesis *n)
{
	if (n == NULL)
		return;
	hypothesis_release(&n->hypothesis);
	free(n);
}

void
forest_free(struct forest *f)
{
	if (f == NULL)
		return;
	for (uint32_t i = 0; i < f->nruns; i++)
		run_free(f->runs[i]);
	for (uint32_t i = 0; i < f->nhypotheses; i++)
		tree_hypothesis_free(f->hypotheses[i]);
	forest_log_release(f);
	texts_free(f->texts);
	free(f->changes.runs);
	free(f->changes.hypotheses);
	free(f->changes.verdicts);
	free(f->runs);
	free(f->hypotheses);
	free(f);
}

/* ---- arrays ---- */

/* Room for one more run, also among the changes. */
static bool
reserve_run(struct forest *f)
{
	return array_reserve(f->runs, f->runs_cap, f->nruns + 1) &&
	       array_reserve(f->changes.runs, f->changed_runs_cap, f->nruns + 1);
}

static bool
reserve_hypothesis(struct forest *f)
{
	return array_reserve(f->hypotheses, f->hypotheses_cap, f->nhypotheses + 1) &&
	       array_reserve(f->changes.hypotheses, f->changed_hypotheses_cap, f->nhypotheses + 1);
}

static bool
reserve_verdict(struct forest *f, struct tree_run *r)
{
	return array_reserve(r->verdicts, r->verdicts_cap, r->nverdicts + 1) &&
	       array_reserve(f->changes.verdicts, f->changed_verdicts_cap, f->nverdicts + 1);
}

/* Index of the first run with at least this id; f->nruns: there is none. */
static uint32_t
run_at_least(const struct forest *f, uint64_t id)
{
	uint32_t low = 0, high = f->nruns;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->runs[middle]->run.id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t
hypothesis_at_least(const struct forest *f, uint64_t id)
{
	uint32_t low = 0, high = f->nhypotheses;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->hypotheses[middle]->hypothesis.id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Or NULL. */
static struct tree_run *
find_run(const struct forest *f, uint64_t id)
{
	uint32_t at = run_at_least(f, id);

	return at < f->nruns && f->runs[at]->run.id == id ? f->runs[at] : NULL;
}

/* ---- adding ---- */

struct run *
forest_run_new(struct forest *f, const char *type)
{
	struct tree_run *r = calloc(1, sizeof *r);

	if (r == NULL || !reserve_run(f) || !hypothesis_text(&r->run.type, type) ||
	    !hypothesis_text(&r->run.strategy, NULL) || !hypothesis_text(&r->run.subject, NULL) ||
	    !hypothesis_text(&r->run.text, NULL) || !hypothesis_text(&r->run.by, NULL) ||
	    !hypothesis_text(&r->run.ended_programs, NULL) ||
	    !hypothesis_text(&r->run.baseline, NULL) || !hypothesis_text(&r->run.version, NULL)) {
		run_free(r);
		return NULL;
	}
	r->run.id = f->next_run++;
	f->runs[f->nruns++] = r;
	forest_touch_run(f, &r->run);
	return &r->run;
}

static void
append_hypothesis(struct forest *f, struct tree_run *r, struct tree_hypothesis *n)
{
	f->hypotheses[f->nhypotheses++] = n;
	if (r->last != NULL)
		r->last->next = n;
	else
		r->first = n;
	r->last = n;
}

struct hypothesis *
forest_hypothesis_new(struct forest *f, uint64_t run, uint64_t parent)
{
	const struct hypothesis blank = { .run = run, .parent = parent, .presence = ' ' };
	struct tree_run *r = find_run(f, run);
	struct tree_hypothesis *n;

	assert(r != NULL && (parent == 0 || forest_get(f, parent) != NULL));
	n = calloc(1, sizeof *n);
	if (n == NULL || !reserve_hypothesis(f) || !hypothesis_copy(&n->hypothesis, &blank)) {
		tree_hypothesis_free(n);
		return NULL;
	}
	n->hypothesis.id = f->next_hypothesis++;
	append_hypothesis(f, r, n);
	forest_touch(f, &n->hypothesis);
	return &n->hypothesis;
}

void
forest_touch_run(struct forest *f, const struct run *run)
{
	struct tree_run *r = (struct tree_run *)run;

	assert(find_run(f, run->id) == r);
	if (r->touched)
		return;
	r->touched = true;
	f->changes.runs[f->changes.nruns++] = &r->run;
}

void
forest_touch(struct forest *f, const struct hypothesis *h)
{
	struct tree_hypothesis *n = (struct tree_hypothesis *)h;

	assert(forest_get(f, h->id) == h);
	if (n->touched)
		return;
	n->touched = true;
	f->changes.hypotheses[f->changes.nhypotheses++] = &n->hypothesis;
}

static void
touch_verdict(struct forest *f, struct tree_verdict *v)
{
	if (v->touched)
		return;
	v->touched = true;
	f->changes.verdicts[f->changes.nverdicts++] = &v->verdict;
}

/* Effects that differ by less are alike: they are measured with some hundred requests. */
static const double EFFECT_APART = 1.2;

/* What is new of the effect; that of a slow group, or of a tail, is of something else: NAN. */
static double
ranked_effect(const struct verdict *v)
{
	if (v->problem != PROBLEM_UNPREDICTABLE)
		return NAN;
	return isnan(v->new_part) ? v->effect : v->effect * v->new_part;
}

/* An effect or a cost that is NAN cannot be compared. Equal verdicts keep their order. */
static bool
ranks_before(const struct verdict *a, const struct verdict *b, double effect_min)
{
	bool worth = verdict_worth(a, effect_min), sure = verdict_sure(a),
	     other_worth = verdict_worth(b, effect_min), other_sure = verdict_sure(b);
	double its = ranked_effect(a), other = ranked_effect(b);

	if ((sure && worth) != (other_sure && other_worth))
		return sure && worth;
	if (worth != other_worth)
		return worth;
	if (sure != other_sure)
		return sure;
	if (worth && (its > EFFECT_APART * other || other > EFFECT_APART * its))
		return its > other;
	if (worth && (a->pool == POOL_STILL) != (b->pool == POOL_STILL))
		return a->pool == POOL_STILL;
	return !isnan(a->cost_ns) && (isnan(b->cost_ns) || a->cost_ns > b->cost_ns);
}

/* Puts the last verdict of the run where it ranks. */
static void
rank_last(struct forest *f, struct tree_run *r)
{
	struct tree_verdict *made = r->verdicts[r->nverdicts - 1];
	uint32_t at;

	for (at = r->nverdicts - 1; at > 0 && ranks_before(&made->verdict,
						  &r->verdicts[at - 1]->verdict, r->run.effect_min);
	     at--) {
		r->verdicts[at] = r->verdicts[at - 1];
		r->verdicts[at]->verdict.rank = at + 1;
		touch_verdict(f, r->verdicts[at]);
	}
	r->verdicts[at] = made;
	made->verdict.rank = at + 1;
	touch_verdict(f, made);
	r->run.verdict = r->verdicts[0]->verdict.hypothesis;
	forest_touch_run(f, &r->run);
}

const struct verdict *
forest_verdict_new(struct forest *f, const struct verdict *v)
{
	struct tree_run *r = find_run(f, v->run);
	const struct hypothesis *h = forest_get(f, v->hypothesis);
	struct tree_verdict *made;

	assert(r != NULL && h != NULL && h->run == v->run);
	for (uint32_t i = 0; i < r->nverdicts; i++)
		assert(r->verdicts[i]->verdict.hypothesis != v->hypothesis);
	if ((made = calloc(1, sizeof *made)) == NULL || !reserve_verdict(f, r) ||
	    !verdict_copy(&made->verdict, v)) {
		free(made);
		return NULL;
	}
	r->verdicts[r->nverdicts++] = made;
	f->nverdicts++;
	rank_last(f, r);
	return &made->verdict;
}

/* The verdict of the forest, which may be changed. */
static struct tree_verdict *
own_verdict(struct forest *f, const struct verdict *v)
{
	const struct tree_run *r = find_run(f, v->run);

	assert(r != NULL && v->rank > 0 && v->rank <= r->nverdicts);
	assert(&r->verdicts[v->rank - 1]->verdict == v);
	return r->verdicts[v->rank - 1];
}

bool
forest_verdict_wait(struct forest *f, const struct verdict *v, const struct verdict *now)
{
	struct tree_verdict *its = own_verdict(f, v);
	char *type = NULL, *unit = NULL;

	if (!hypothesis_text(&type, now->wait_type) || !hypothesis_text(&unit, now->wait_unit)) {
		free(type);
		return false;
	}
	free(its->verdict.wait_type);
	free(its->verdict.wait_unit);
	its->verdict.wait_type = type;
	its->verdict.wait_unit = unit;
	its->verdict.wait_cause = now->wait_cause;
	its->verdict.waits = now->waits;
	its->verdict.wait_share = now->wait_share;
	its->verdict.wait_share_low = now->wait_share_low;
	its->verdict.wait_share_high = now->wait_share_high;
	its->verdict.wait_from_too = now->wait_from_too;
	touch_verdict(f, its);
	return true;
}

void
forest_verdict_pool(struct forest *f, const struct verdict *v, const struct verdict *now)
{
	struct tree_run *r = find_run(f, v->run);
	struct tree_verdict *its = own_verdict(f, v);

	its->verdict.effect = now->effect;
	its->verdict.pool = now->pool;
	its->verdict.pool_threads = now->pool_threads;
	its->verdict.pool_utilisation = now->pool_utilisation;
	its->verdict.pool_service_ns = now->pool_service_ns;
	its->verdict.pool_service_cv = now->pool_service_cv;
	its->verdict.pool_wait_ns = now->pool_wait_ns;
	its->verdict.pool_expected_ns = now->pool_expected_ns;
	its->verdict.pool_low = now->pool_low;
	for (uint32_t i = v->rank; i < r->nverdicts; i++) {
		r->verdicts[i - 1] = r->verdicts[i];
		r->verdicts[i - 1]->verdict.rank = i;
		touch_verdict(f, r->verdicts[i - 1]);
	}
	r->verdicts[r->nverdicts - 1] = its;
	rank_last(f, r);
}

/* ---- finding ---- */

struct run *
forest_run(const struct forest *f, uint64_t id)
{
	struct tree_run *r = find_run(f, id);

	return r != NULL ? &r->run : NULL;
}

const struct verdict *
forest_verdict(const struct forest *f, uint64_t run, uint32_t rank)
{
	const struct tree_run *r = find_run(f, run);

	return r != NULL && rank > 0 && rank <= r->nverdicts ? &r->verdicts[rank - 1]->verdict
	                                                     : NULL;
}

struct run *
forest_run_latest(const struct forest *f, const char *type)
{
	for (uint32_t i = f->nruns; i > 0; i--)
		if (type == NULL || strcmp(f->runs[i - 1]->run.type, type) == 0)
			return &f->runs[i - 1]->run;
	return NULL;
}

struct run *
forest_run_baseline(const struct forest *f, const char *type)
{
	struct run *r, *best = NULL;
	uint64_t at = 0;

	while ((r = forest_run_next(f, &at)) != NULL)
		if (r->baseline[0] != '\0' && strcmp(r->type, type) == 0)
			best = r;
	return best;
}

struct hypothesis *
forest_get(const struct forest *f, uint64_t id)
{
	uint32_t at = hypothesis_at_least(f, id);

	return at < f->nhypotheses && f->hypotheses[at]->hypothesis.id == id
	           ? &f->hypotheses[at]->hypothesis
	           : NULL;
}

struct hypothesis *
forest_next(const struct forest *f, uint64_t run, uint64_t *at)
{
	const struct tree_hypothesis *last = *at != 0 ? (const struct tree_hypothesis *)forest_get(
							    f, *at)
	                                              : NULL;
	const struct tree_run *r = find_run(f, run);
	struct tree_hypothesis *n = last != NULL            ? last->next
	                            : r != NULL && *at == 0 ? r->first
	                                                    : NULL;

	if (n == NULL)
		return NULL;
	*at = n->hypothesis.id;
	return &n->hypothesis;
}

struct run *
forest_run_next(const struct forest *f, uint64_t *at)
{
	uint32_t i = run_at_least(f, *at + 1);

	if (i == f->nruns)
		return NULL;
	*at = f->runs[i]->run.id;
	return &f->runs[i]->run;
}

/* ---- for the store ---- */

const struct forest_changes *
forest_changes(struct forest *f)
{
	struct forest_changes *c = &f->changes;

	assert(
	    c->nswitched <= f->nswitched && c->nevidence <= f->nevidence && c->naudit <= f->naudit);
	c->switched = f->switched != NULL ? f->switched + (f->nswitched - c->nswitched) : NULL;
	c->evidence = f->evidence != NULL ? f->evidence + (f->nevidence - c->nevidence) : NULL;
	c->audit = f->audit != NULL ? f->audit + (f->naudit - c->naudit) : NULL;
	return c;
}

void
forest_written(struct forest *f)
{
	struct forest_changes *c = &f->changes;

	for (uint32_t i = 0; i < c->nruns; i++)
		((struct tree_run *)c->runs[i])->touched = false;
	for (uint32_t i = 0; i < c->nhypotheses; i++)
		((struct tree_hypothesis *)c->hypotheses[i])->touched = false;
	for (uint32_t i = 0; i < c->nverdicts; i++)
		((struct tree_verdict *)c->verdicts[i])->touched = false;
	c->nruns = c->nhypotheses = c->nverdicts = c->nswitched = c->nevidence = c->naudit = 0;
	forest_log_tidy(f);
}

void
forest_touch_all(struct forest *f)
{
	for (uint32_t i = 0; i < f->nruns; i++) {
		forest_touch_run(f, &f->runs[i]->run);
		for (uint32_t v = 0; v < f->runs[i]->nverdicts; v++)
			touch_verdict(f, f->runs[i]->verdicts[v]);
	}
	for (uint32_t i = 0; i < f->nhypotheses; i++)
		forest_touch(f, &f->hypotheses[i]->hypothesis);
	f->changes.nswitched = f->nswitched;
	f->changes.nevidence = f->nevidence;
	f->changes.naudit = f->naudit;
}

int
run_check(const struct run *run, struct err *e)
{
	unsigned long long id = run->id;

	if (run->id == 0 || run->id >= INT64_MAX)
		return err_set(e, ERR_INPUT, "run %llu has an impossible number", id);
	if (run->state >= RUN_STATES)
		return err_set(
		    e, ERR_INPUT, "run %llu is in state %u, which does not exist", id, run->state);
	if (!reason_valid(run->reason))
		return err_set(
		    e, ERR_INPUT, "run %llu has reason %u, which does not exist", id, run->reason);
	return 0;
}

int
forest_put_run(struct forest *f, struct run *run, struct err *e)
{
	struct tree_run *r;

	int rc = run_check(run, e);

	if (rc != 0)
		return rc;
	if (run->id < f->next_run)
		return err_set(e, ERR_INPUT, "run %llu is repeated or out of order",
		    (unsigned long long)run->id);
	if (!reserve_run(f) || (r = calloc(1, sizeof *r)) == NULL)
		return err_set(
		    e, ERR_MEMORY, "out of memory for run %llu", (unsigned long long)run->id);
	r->run = *run;
	f->runs[f->nruns++] = r;
	f->next_run = run->id + 1;
	return 0;
}

int
hypothesis_check(const struct hypothesis *h, struct err *e)
{
	unsigned long long id = h->id;

	if (h->id == 0 || h->id >= INT64_MAX)
		return err_set(e, ERR_INPUT, "hypothesis %llu has an impossible number", id);
	if (hypothesis_word(h->state)[0] == '?')
		return err_set(e, ERR_INPUT, "hypothesis %llu is in state %u, which does not exist",
		    id, h->state);
	if (h->presence != '+' && h->presence != '~' && h->presence != ' ')
		return err_set(e, ERR_INPUT,
		    "hypothesis %llu has presence %u, which does not exist", id,
		    (unsigned char)h->presence);
	if (!reason_valid(h->reason))
		return err_set(e, ERR_INPUT, "hypothesis %llu has reason %u, which does not exist",
		    id, h->reason);
	return 0;
}

int
forest_put(struct forest *f, struct hypothesis *h, struct err *e)
{
	const struct hypothesis *parent = h->parent != 0 ? forest_get(f, h->parent) : NULL;
	struct tree_run *r = find_run(f, h->run);
	unsigned long long id = h->id;
	struct tree_hypothesis *n;
	int rc;

	if (h->id < f->next_hypothesis)
		return err_set(e, ERR_INPUT, "hypothesis %llu is repeated or out of order", id);
	if (r == NULL)
		return err_set(e, ERR_INPUT, "hypothesis %llu is of a run that does not exist", id);
	if (h->parent != 0 && (parent == NULL || parent->run != h->run))
		return err_set(
		    e, ERR_INPUT, "hypothesis %llu has a parent that is not of its run", id);
	if ((rc = hypothesis_check(h, e)) != 0)
		return rc;
	if (!reserve_hypothesis(f) || (n = calloc(1, sizeof *n)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for hypothesis %llu", id);
	n->hypothesis = *h;
	append_hypothesis(f, r, n);
	f->next_hypothesis = h->id + 1;
	return 0;
}

int
verdict_check(const struct verdict *v, struct err *e)
{
	unsigned long long id = v->hypothesis;

	if (verdict_word(v->kind)[0] == '?')
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu is of kind %u, which does not exist", id,
		    v->kind);
	if (wait_word(v->wait_cause)[0] == '?')
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu has wait cause %u, which does not exist", id,
		    v->wait_cause);
	if (preload_word(v->preload)[0] == '?')
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu has preload kind %u, which does not exist", id,
		    v->preload);
	if (v->problem > PROBLEM_TAIL)
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu has problem %u, which does not exist", id,
		    v->problem);
	return 0;
}

int
forest_put_verdict(struct forest *f, struct verdict *v, struct err *e)
{
	const struct hypothesis *h = forest_get(f, v->hypothesis);
	struct tree_run *r = find_run(f, v->run);
	unsigned long long id = v->hypothesis;
	struct tree_verdict *t;
	int rc;

	if (r == NULL || h == NULL || h->run != v->run)
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu is of a run that does not have it", id);
	if (v->rank != r->nverdicts + 1)
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu has rank %u, after %u others", id, v->rank,
		    r->nverdicts);
	if ((rc = verdict_check(v, e)) != 0)
		return rc;
	if (!reserve_verdict(f, r) || (t = calloc(1, sizeof *t)) == NULL)
		return err_set(
		    e, ERR_MEMORY, "out of memory for the verdict of hypothesis %llu", id);
	t->verdict = *v;
	r->verdicts[r->nverdicts++] = t;
	f->nverdicts++;
	return 0;
}

/* Removes what is of this run from the lists of changes, whose order stays. */
static void
discard_changes(struct forest *f, const struct tree_run *r)
{
	struct forest_changes *c = &f->changes;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->nruns; i++)
		if (c->runs[i] != &r->run)
			c->runs[kept++] = c->runs[i];
	c->nruns = kept;
	kept = 0;
	for (uint32_t i = 0; i < c->nhypotheses; i++)
		if (c->hypotheses[i]->run != r->run.id)
			c->hypotheses[kept++] = c->hypotheses[i];
	c->nhypotheses = kept;
	kept = 0;
	for (uint32_t i = 0; i < c->nverdicts; i++)
		if (c->verdicts[i]->run != r->run.id)
			c->verdicts[kept++] = c->verdicts[i];
	c->nverdicts = kept;
}

void
forest_forget(struct forest *f, const uint64_t *runs, uint32_t n, struct wall before)
{
	uint32_t kept = 0, left = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct tree_run *r = find_run(f, runs[i]);

		if (r != NULL) {
			discard_changes(f, r);
			f->nverdicts -= r->nverdicts;
			r->run.state = RUN_STATES; /* marks the run */
			for (struct tree_hypothesis *h = r->first; h != NULL; h = h->next)
				h->hypothesis.run = 0; /* marks its hypotheses */
		}
	}
	for (uint32_t i = 0; i < f->nhypotheses; i++)
		if (f->hypotheses[i]->hypothesis.run == 0)
			tree_hypothesis_free(f->hypotheses[i]);
		else
			f->hypotheses[kept++] = f->hypotheses[i];
	f->nhypotheses = kept;
	for (uint32_t i = 0; i < f->nruns; i++)
		if (f->runs[i]->run.state == RUN_STATES)
			run_free(f->runs[i]);
		else
			f->runs[left++] = f->runs[i];
	f->nruns = left;
	forest_log_forget(f, before);
}

void
forest_continue(struct forest *f, uint64_t last_run, uint64_t last_hypothesis)
{
	if (f->next_run <= last_run)
		f->next_run = last_run + 1;
	if (f->next_hypothesis <= last_hypothesis)
		f->next_hypothesis = last_hypothesis + 1;
}
