/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs and hypotheses stand in arrays by ascending id, each in memory of its own,
 * so that pointers stay valid. Room for the list of changes is made where things
 * are made: to touch one can then not fail.
 */
#include "forest/forest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct tree_run {
	struct run run;		/* first: a pointer to one is a pointer to the other */
	bool touched;
};

struct node {
	struct hypothesis hypothesis;	/* first, too */
	bool touched;
};

struct forest {
	struct tree_run **runs;
	struct node **nodes;
	uint32_t nruns, runs_cap, nnodes, nodes_cap;
	uint64_t next_run, next_hypothesis;
	struct forest_changes changes;
	uint32_t switched_cap;
};

const char *
run_word(enum run_state s)
{
	static const char *const words[RUN_STATES] = {
		[RUN_ACTIVE] = "active", [RUN_FOUND] = "found", [RUN_NOT_FOUND] = "not found", [RUN_STOPPED] = "stopped",
	};

	return (unsigned)s < RUN_STATES ? words[s] : "?";
}

struct forest *
forest_new(void)
{
	struct forest *f = calloc(1, sizeof *f);

	if (f != NULL)
		f->next_run = f->next_hypothesis = 1;
	return f;
}

static void
run_free(struct tree_run *r)
{
	if (r == NULL)
		return;
	free(r->run.type);
	free(r->run.strategy);
	free(r->run.words);
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

static void
switched_release(struct switched *s)
{
	free((char *)s->tracepoint);
	free((char *)s->why);
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
	for (uint32_t i = 0; i < f->changes.nswitched; i++)
		switched_release(&f->changes.switched[i]);
	free(f->changes.runs);
	free(f->changes.hypotheses);
	free(f->changes.switched);
	free(f->runs);
	free(f->nodes);
	free(f);
}

/* ---- arrays ---- */

static bool
grow(void *array, uint32_t cap, size_t size_bytes)
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
	if (!grow(&f->runs, cap, sizeof *f->runs) || !grow(&f->changes.runs, cap, sizeof *f->changes.runs))
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
	if (!grow(&f->nodes, cap, sizeof *f->nodes) ||
	    !grow(&f->changes.hypotheses, cap, sizeof *f->changes.hypotheses))
		return false;
	f->nodes_cap = cap;
	return true;
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

/* ---- what is new ---- */

struct run *
forest_run_new(struct forest *f, const char *type)
{
	struct tree_run *r = calloc(1, sizeof *r);

	if (r == NULL || !runs_room(f) || !hypothesis_text(&r->run.type, type) ||
	    !hypothesis_text(&r->run.strategy, NULL) || !hypothesis_text(&r->run.words, NULL)) {
		run_free(r);
		return NULL;
	}
	r->run.id = f->next_run++;
	f->runs[f->nruns++] = r;
	forest_touch_run(f, &r->run);
	return &r->run;
}

struct hypothesis *
forest_hypothesis_new(struct forest *f, uint64_t run, uint64_t parent)
{
	const struct hypothesis blank = { .run = run, .parent = parent, .presence = ' ' };
	struct node *n;

	assert(forest_run(f, run) != NULL && (parent == 0 || forest_get(f, parent) != NULL));
	n = calloc(1, sizeof *n);
	if (n == NULL || !nodes_room(f) || !hypothesis_copy(&n->hypothesis, &blank)) {
		node_free(n);
		return NULL;
	}
	n->hypothesis.id = f->next_hypothesis++;
	f->nodes[f->nnodes++] = n;
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

int
forest_switched(struct forest *f, const struct switched *s, struct err *e)
{
	struct forest_changes *c = &f->changes;
	uint32_t cap = f->switched_cap != 0 ? f->switched_cap * 2 : 16;
	struct switched copy = *s;

	if (c->nswitched == f->switched_cap) {
		if (!grow(&c->switched, cap, sizeof *c->switched))
			return err_set(e, ERR_MEMORY, "out of memory for the log of what was switched");
		f->switched_cap = cap;
	}
	copy.tracepoint = strdup(s->tracepoint != NULL ? s->tracepoint : "");
	copy.why = strdup(s->why != NULL ? s->why : "");
	if (copy.tracepoint == NULL || copy.why == NULL) {
		switched_release(&copy);
		return err_set(e, ERR_MEMORY, "out of memory for the log of what was switched");
	}
	c->switched[c->nswitched++] = copy;
	return 0;
}

/* ---- asking ---- */

struct run *
forest_run(const struct forest *f, uint64_t id)
{
	uint32_t at = run_at_least(f, id);

	return at < f->nruns && f->runs[at]->run.id == id ? &f->runs[at]->run : NULL;
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

	return at < f->nnodes && f->nodes[at]->hypothesis.id == id ? &f->nodes[at]->hypothesis : NULL;
}

struct hypothesis *
forest_next(const struct forest *f, uint64_t run, uint64_t *at)
{
	for (uint32_t i = node_at_least(f, *at + 1); i < f->nnodes; i++) {
		struct hypothesis *h = &f->nodes[i]->hypothesis;

		if (h->run == run) {
			*at = h->id;
			return h;
		}
	}
	return NULL;
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
	return &f->changes;
}

void
forest_written(struct forest *f)
{
	struct forest_changes *c = &f->changes;

	for (uint32_t i = 0; i < c->nruns; i++)
		((struct tree_run *)c->runs[i])->touched = false;
	for (uint32_t i = 0; i < c->nhypotheses; i++)
		((struct node *)c->hypotheses[i])->touched = false;
	for (uint32_t i = 0; i < c->nswitched; i++)
		switched_release(&c->switched[i]);
	c->nruns = c->nhypotheses = c->nswitched = 0;
}

int
forest_put_run(struct forest *f, struct run *run, struct err *e)
{
	struct tree_run *r;

	if (run->id < f->next_run || run->id >= INT64_MAX)
		return err_set(e, ERR_INPUT, "run %llu comes twice, or out of order", (unsigned long long)run->id);
	if (run->state >= RUN_STATES)
		return err_set(e, ERR_INPUT, "run %llu is in state %u, which there is not", (unsigned long long)run->id,
		    run->state);
	if (!runs_room(f) || (r = calloc(1, sizeof *r)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for run %llu", (unsigned long long)run->id);
	r->run = *run;
	f->runs[f->nruns++] = r;
	f->next_run = run->id + 1;
	return 0;
}

int
forest_put(struct forest *f, struct hypothesis *h, struct err *e)
{
	const struct hypothesis *parent = h->parent != 0 ? forest_get(f, h->parent) : NULL;
	unsigned long long id = h->id;
	struct node *n;

	if (h->id < f->next_hypothesis || h->id >= INT64_MAX)
		return err_set(e, ERR_INPUT, "hypothesis %llu comes twice, or out of order", id);
	if (forest_run(f, h->run) == NULL)
		return err_set(e, ERR_INPUT, "hypothesis %llu is of a run that there is not", id);
	if (h->parent != 0 && (parent == NULL || parent->run != h->run))
		return err_set(e, ERR_INPUT, "hypothesis %llu has a parent that its run does not have", id);
	if (hypothesis_word(h->state)[0] == '?')
		return err_set(e, ERR_INPUT, "hypothesis %llu is in state %u, which there is not", id, h->state);
	if (!nodes_room(f) || (n = calloc(1, sizeof *n)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for hypothesis %llu", id);
	n->hypothesis = *h;
	f->nodes[f->nnodes++] = n;
	f->next_hypothesis = h->id + 1;
	return 0;
}

void
forest_continue(struct forest *f, uint64_t last_run, uint64_t last_hypothesis)
{
	if (f->next_run <= last_run)
		f->next_run = last_run + 1;
	if (f->next_hypothesis <= last_hypothesis)
		f->next_hypothesis = last_hypothesis + 1;
}
