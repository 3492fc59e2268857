/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs and hypotheses stand in arrays by ascending id, each in memory of its own,
 * so that pointers stay valid. Room for the list of changes is made where things
 * are made: to touch one can then not fail.
 */
#include "forest/forest_inside.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *
run_word(enum run_state s)
{
	static const char *const words[RUN_STATES] = {
		[RUN_ACTIVE] = "active",
		[RUN_FOUND] = "found",
		[RUN_NOT_FOUND] = "not found",
		[RUN_STOPPED] = "stopped",
		[RUN_UNSURE] = "unsure",
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
node_free(struct node *n)
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
	for (uint32_t i = 0; i < f->nnodes; i++)
		node_free(f->nodes[i]);
	forest_log_release(f);
	texts_free(f->texts);
	free(f->changes.runs);
	free(f->changes.hypotheses);
	free(f->changes.verdicts);
	free(f->runs);
	free(f->nodes);
	free(f);
}

/* ---- arrays ---- */

bool
forest_grow(void *array, uint32_t cap, size_t size_bytes)
{
	void *more, *old;

	memcpy(&old, array, sizeof old);
	if ((more = reallocarray(old, cap, size_bytes)) == NULL)
		return false;
	memcpy(array, &more, sizeof more);
	return true;
}

/* Room for one more, and for it among the changes. */
static bool
runs_room(struct forest *f)
{
	uint32_t cap = f->runs_cap != 0 ? f->runs_cap * 2 : 16;

	if (f->nruns < f->runs_cap)
		return true;
	if (!forest_grow(&f->runs, cap, sizeof *f->runs) ||
	    !forest_grow(&f->changes.runs, cap, sizeof *f->changes.runs))
		return false;
	f->runs_cap = cap;
	return true;
}

static bool
nodes_room(struct forest *f)
{
	uint32_t cap = f->nodes_cap != 0 ? f->nodes_cap * 2 : 64;

	if (f->nnodes < f->nodes_cap)
		return true;
	if (!forest_grow(&f->nodes, cap, sizeof *f->nodes) ||
	    !forest_grow(&f->changes.hypotheses, cap, sizeof *f->changes.hypotheses))
		return false;
	f->nodes_cap = cap;
	return true;
}

static bool
verdicts_room(struct forest *f, struct tree_run *r)
{
	uint32_t cap = f->verdicts_cap != 0 ? f->verdicts_cap * 2 : 16, n = r->nverdicts;

	if (f->nverdicts == f->verdicts_cap) {
		if (!forest_grow(&f->changes.verdicts, cap, sizeof *f->changes.verdicts))
			return false;
		f->verdicts_cap = cap;
	}
	return (n & (n - 1)) != 0 ||
	       forest_grow(&r->verdicts, n != 0 ? n * 2 : 1, sizeof *r->verdicts);
}

/* Where the first with at least this id is, or would be. */
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
node_at_least(const struct forest *f, uint64_t id)
{
	uint32_t low = 0, high = f->nnodes;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (f->nodes[middle]->hypothesis.id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Or NULL. */
static struct tree_run *
tree_of(const struct forest *f, uint64_t id)
{
	uint32_t at = run_at_least(f, id);

	return at < f->nruns && f->runs[at]->run.id == id ? f->runs[at] : NULL;
}

/* ---- what is new ---- */

struct run *
forest_run_new(struct forest *f, const char *type)
{
	struct tree_run *r = calloc(1, sizeof *r);

	if (r == NULL || !runs_room(f) || !hypothesis_text(&r->run.type, type) ||
	    !hypothesis_text(&r->run.strategy, NULL) || !hypothesis_text(&r->run.subject, NULL) ||
	    !hypothesis_text(&r->run.text, NULL) || !hypothesis_text(&r->run.by, NULL) ||
	    !hypothesis_text(&r->run.version, NULL)) {
		run_free(r);
		return NULL;
	}
	r->run.id = f->next_run++;
	f->runs[f->nruns++] = r;
	forest_touch_run(f, &r->run);
	return &r->run;
}

static void
node_append(struct forest *f, struct tree_run *r, struct node *n)
{
	f->nodes[f->nnodes++] = n;
	if (r->last != NULL)
		r->last->next = n;
	else
		r->nodes = n;
	r->last = n;
}

struct hypothesis *
forest_hypothesis_new(struct forest *f, uint64_t run, uint64_t parent)
{
	const struct hypothesis blank = { .run = run, .parent = parent, .presence = ' ' };
	struct tree_run *r = tree_of(f, run);
	struct node *n;

	assert(r != NULL && (parent == 0 || forest_get(f, parent) != NULL));
	n = calloc(1, sizeof *n);
	if (n == NULL || !nodes_room(f) || !hypothesis_copy(&n->hypothesis, &blank)) {
		node_free(n);
		return NULL;
	}
	n->hypothesis.id = f->next_hypothesis++;
	node_append(f, r, n);
	forest_touch(f, &n->hypothesis);
	return &n->hypothesis;
}

void
forest_touch_run(struct forest *f, const struct run *run)
{
	struct tree_run *r = (struct tree_run *)run;

	if (r->touched)
		return;
	r->touched = true;
	f->changes.runs[f->changes.nruns++] = &r->run;
}

void
forest_touch(struct forest *f, const struct hypothesis *h)
{
	struct node *n = (struct node *)h;

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

/* What is not a number costs least; of equals the earlier one ranks higher. */
static bool
comes_before(const struct verdict *a, const struct verdict *b)
{
	if (verdict_sure(a) != verdict_sure(b))
		return verdict_sure(a);
	return !isnan(a->cost_ns) && (isnan(b->cost_ns) || a->cost_ns > b->cost_ns);
}

const struct verdict *
forest_verdict_new(struct forest *f, const struct verdict *v)
{
	struct tree_run *r = tree_of(f, v->run);
	const struct hypothesis *h = forest_get(f, v->hypothesis);
	struct tree_verdict *made;
	uint32_t at;

	assert(r != NULL && h != NULL && h->run == v->run);
	for (uint32_t i = 0; i < r->nverdicts; i++)
		assert(r->verdicts[i]->verdict.hypothesis != v->hypothesis);
	if ((made = calloc(1, sizeof *made)) == NULL || !verdicts_room(f, r) ||
	    !verdict_copy(&made->verdict, v)) {
		free(made);
		return NULL;
	}
	for (at = r->nverdicts++; at > 0 && comes_before(v, &r->verdicts[at - 1]->verdict); at--) {
		r->verdicts[at] = r->verdicts[at - 1];
		r->verdicts[at]->verdict.rank = at + 1;
		touch_verdict(f, r->verdicts[at]);
	}
	r->verdicts[at] = made;
	made->verdict.rank = at + 1;
	f->nverdicts++;
	touch_verdict(f, made);
	r->run.verdict = r->verdicts[0]->verdict.hypothesis;
	forest_touch_run(f, &r->run);
	return &made->verdict;
}

/* ---- asking ---- */

struct run *
forest_run(const struct forest *f, uint64_t id)
{
	struct tree_run *r = tree_of(f, id);

	return r != NULL ? &r->run : NULL;
}

const struct verdict *
forest_verdict(const struct forest *f, uint64_t run, uint32_t rank)
{
	const struct tree_run *r = tree_of(f, run);

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

struct hypothesis *
forest_get(const struct forest *f, uint64_t id)
{
	uint32_t at = node_at_least(f, id);

	return at < f->nnodes && f->nodes[at]->hypothesis.id == id ? &f->nodes[at]->hypothesis
	                                                           : NULL;
}

struct hypothesis *
forest_next(const struct forest *f, uint64_t run, uint64_t *at)
{
	const struct node *last = *at != 0 ? (const struct node *)forest_get(f, *at) : NULL;
	const struct tree_run *r = tree_of(f, run);
	struct node *n = last != NULL ? last->next : r != NULL && *at == 0 ? r->nodes : NULL;

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
		((struct node *)c->hypotheses[i])->touched = false;
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
	for (uint32_t i = 0; i < f->nnodes; i++)
		forest_touch(f, &f->nodes[i]->hypothesis);
	f->changes.nswitched = f->nswitched;
	f->changes.nevidence = f->nevidence;
	f->changes.naudit = f->naudit;
}

int
forest_put_run(struct forest *f, struct run *run, struct err *e)
{
	struct tree_run *r;

	if (run->id < f->next_run || run->id >= INT64_MAX)
		return err_set(e, ERR_INPUT, "run %llu comes twice, or out of order",
		    (unsigned long long)run->id);
	if (run->state >= RUN_STATES)
		return err_set(e, ERR_INPUT, "run %llu is in state %u, which there is not",
		    (unsigned long long)run->id, run->state);
	if (!reason_valid(run->reason))
		return err_set(e, ERR_INPUT, "run %llu has reason %u, which there is not",
		    (unsigned long long)run->id, run->reason);
	if (!runs_room(f) || (r = calloc(1, sizeof *r)) == NULL)
		return err_set(
		    e, ERR_MEMORY, "out of memory for run %llu", (unsigned long long)run->id);
	r->run = *run;
	f->runs[f->nruns++] = r;
	f->next_run = run->id + 1;
	return 0;
}

int
forest_put(struct forest *f, struct hypothesis *h, struct err *e)
{
	const struct hypothesis *parent = h->parent != 0 ? forest_get(f, h->parent) : NULL;
	struct tree_run *r = tree_of(f, h->run);
	unsigned long long id = h->id;
	struct node *n;

	if (h->id < f->next_hypothesis || h->id >= INT64_MAX)
		return err_set(e, ERR_INPUT, "hypothesis %llu comes twice, or out of order", id);
	if (r == NULL)
		return err_set(e, ERR_INPUT, "hypothesis %llu is of a run that there is not", id);
	if (h->parent != 0 && (parent == NULL || parent->run != h->run))
		return err_set(
		    e, ERR_INPUT, "hypothesis %llu has a parent that its run does not have", id);
	if (hypothesis_word(h->state)[0] == '?')
		return err_set(e, ERR_INPUT, "hypothesis %llu is in state %u, which there is not",
		    id, h->state);
	if (h->presence != '+' && h->presence != '~' && h->presence != ' ')
		return err_set(e, ERR_INPUT, "hypothesis %llu has presence %u, which there is not",
		    id, (unsigned char)h->presence);
	if (!reason_valid(h->reason))
		return err_set(e, ERR_INPUT, "hypothesis %llu has reason %u, which there is not",
		    id, h->reason);
	if (!nodes_room(f) || (n = calloc(1, sizeof *n)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for hypothesis %llu", id);
	n->hypothesis = *h;
	node_append(f, r, n);
	f->next_hypothesis = h->id + 1;
	return 0;
}

int
forest_put_verdict(struct forest *f, struct verdict *v, struct err *e)
{
	const struct hypothesis *h = forest_get(f, v->hypothesis);
	struct tree_run *r = tree_of(f, v->run);
	unsigned long long id = v->hypothesis;
	struct tree_verdict *t;

	if (r == NULL || h == NULL || h->run != v->run)
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu is of a run that does not have it", id);
	if (v->rank != r->nverdicts + 1)
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu has rank %u, after %u others", id, v->rank,
		    r->nverdicts);
	if (verdict_word(v->kind)[0] == '?')
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu is of kind %u, which there is not", id,
		    v->kind);
	if (preload_word(v->preload)[0] == '?')
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu has preload kind %u, which there is not", id,
		    v->preload);
	if (v->problem > PROBLEM_UNSURE)
		return err_set(e, ERR_INPUT,
		    "the verdict of hypothesis %llu has problem %u, which there is not", id,
		    v->problem);
	if (!verdicts_room(f, r) || (t = calloc(1, sizeof *t)) == NULL)
		return err_set(
		    e, ERR_MEMORY, "out of memory for the verdict of hypothesis %llu", id);
	t->verdict = *v;
	r->verdicts[r->nverdicts++] = t;
	f->nverdicts++;
	return 0;
}

/* Those that still wait to be written keep their order. */
static void
drop_changes(struct forest *f, const struct tree_run *r)
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
		struct tree_run *r = tree_of(f, runs[i]);

		if (r != NULL) {
			drop_changes(f, r);
			f->nverdicts -= r->nverdicts;
			r->run.state = RUN_STATES; /* marks it, */
			for (struct node *node = r->nodes; node != NULL; node = node->next)
				node->hypothesis.run = 0; /* and those */
		}
	}
	for (uint32_t i = 0; i < f->nnodes; i++)
		if (f->nodes[i]->hypothesis.run == 0)
			node_free(f->nodes[i]);
		else
			f->nodes[kept++] = f->nodes[i];
	f->nnodes = kept;
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
