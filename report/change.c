/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* qsort_r() */
#include <math.h>
#include <stdlib.h>

#include "report/change_inside.h"
#include "report/change_whole.h"
#include "base/texts.h"

/* ---- suspects ---- */

uint32_t
change_rank(const struct change *c, const struct trial *t, struct suspect **ret, struct arena *a)
{
	uint32_t nservices = texts_count(c->texts);
	bool *seen = arena_alloc(a, nservices + 1);
	struct clue *e = trial_evidence(t, a);

	if (seen == NULL || e == NULL)
		return SUSPECTS_FAILED;
	evidence_charge(e, t->nitems, seen, nservices);
	return suspects_rank(ret, e, t->nitems, nservices, c->o.list_max, a);
}

static json_t *
suspect_json(const struct change *c, const struct suspect *s, bool significant)
{
	static const char *const kinds[] = { [EVIDENCE_OWN] = "own_time",
		[EVIDENCE_WAY_IN] = "ways_in",
		[EVIDENCE_WAY] = "ways",
		[EVIDENCE_STEP] = "steps" };
	static const char *const reasons[] = { [SURE_NOT_EXPLAINED] = "explained",
		[SURE_NOT_SIGNIFICANT] = "not_significant",
		[SURE_NOT_BLOCKS] = "too_few_blocks",
		[SURE_NOT_UNUSUAL] = "usual" };
	enum sureness sure = suspect_sure(s, significant, &c->usual);

	return json_pack("{s:s, s:b, s:s?, s:f, s:f, s:f, s:s, s:f, s:f, s:s?}", "service",
	    texts_get(c->texts, s->service), "sure", sure == SURE, "unsure",
	    sure == SURE ? NULL : reasons[sure], "score", s->score, "usual_score",
	    c->usual.largest[s->service], "p", usual_p(&c->usual, s), "evidence", kinds[s->kind],
	    "changed_calls", s->changed, "touched_calls", s->touched, "explained_by",
	    s->by == NO_SERVICE ? NULL : texts_get(c->texts, s->by));
}

static json_t *
suspects_json(struct change *c)
{
	json_t *list = json_array();
	bool *significant = arena_calloc(&c->arena, texts_count(c->texts) + 1, sizeof *significant);
	bool ok = list != NULL && significant != NULL;

	if (ok)
		trial_services(&c->trial, significant);
	for (uint32_t i = 0; ok && i < c->nsuspects; i++)
		ok = json_array_append_new(list, suspect_json(c, &c->suspects[i],
						     significant[c->suspects[i].service])) == 0;
	if (ok)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *
blocks_json(const struct change *c)
{
	return json_pack("{s:I, s:i, s:b, s:f, s:f}", "count", (json_int_t)c->nblocks, "needed",
	    BLOCKS_NEEDED, "enough", c->nblocks >= BLOCKS_NEEDED, "length_ms", c->block_ms, "p",
	    1.0 / (c->nblocks + 1));
}

/* ---- changes as JSON ---- */

static json_t *
word_json(const struct change *c, uint32_t text)
{
	return text == PROFILE_NONE ? json_null() : json_string(texts_get(c->texts, text));
}

static json_t *
call_json(const struct change *c, const struct pair *p, uint32_t call)
{
	return call == PROFILE_NONE ? json_null() : word_json(c, p->calls[call].label);
}

static json_t *
far_json(const struct change *c, const struct pair *p, uint32_t call)
{
	return call == PROFILE_NONE ? json_null() : word_json(c, p->calls[call].far);
}

static json_t *
ends_json(const struct change *c, const struct item *i)
{
	json_t *list = json_pack("[o]", word_json(c, i->ends[0]));

	if (list != NULL && i->ends[1] != PROFILE_NONE)
		json_array_append_new(list, word_json(c, i->ends[1]));
	return list;
}

static double
calls_mean(const struct pair *p, const struct call *call, enum side side)
{
	return p->traces[side] > 0 ? (double)call->calls[side] / p->traces[side] : 0;
}

/* Significant among all tests, and more than in any healthy block. */
static bool
is_sure(const struct change *c, const struct test *t)
{
	return t->p <= c->o.q &&
	       c->trial.items[t->item].part > c->usual_parts[c->trial.items[t->item].id];
}

static json_t *
times_json(const struct change *c, const struct item *i, const struct test *t)
{
	const struct pair *p = &c->pairs[i->type];
	const struct call *call = &p->calls[i->call];
	struct call_times *const *times = i->what == SELF ? call->self : call->way;

	return json_pack(
	    "{s:o, s:o, s:o, s:s, s:o, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b}",
	    "operation", call_json(c, p, i->call), "far", far_json(c, p, i->call), "caller",
	    call_json(c, p, call->parent), "what", i->what == SELF ? "self" : "way", "services",
	    ends_json(c, i), "calls", (json_int_t)i->of[NOW], "calls_then", (json_int_t)i->of[THEN],
	    "calls_mean", calls_mean(p, call, NOW), "calls_mean_then", calls_mean(p, call, THEN),
	    "mean_ms", times[NOW]->mean_ms, "mean_then_ms", times[THEN]->mean_ms, "slower_share",
	    t->share, "lost_share", t->weight, "changed_calls", i->part * (double)i->of[NOW], "p",
	    t->p, "sure", is_sure(c, t));
}

static json_t *
step_json(const struct change *c, const struct item *i, const struct test *t)
{
	const struct pair *p = &c->pairs[i->type];

	return json_pack(
	    "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:b}",
	    "in", call_json(c, p, i->call), "after", call_json(c, p, i->after), "after_far",
	    far_json(c, p, i->after), "then", call_json(c, p, t->then), "then_far",
	    far_json(c, p, t->then), "instead_of", call_json(c, p, i->lost), "instead_of_far",
	    far_json(c, p, i->lost), "services", ends_json(c, i), "count",
	    (json_int_t)t->count[NOW], "of", (json_int_t)i->of[NOW], "count_then",
	    (json_int_t)t->count[THEN], "of_then", (json_int_t)i->of[THEN], "more_share", t->share,
	    "changed_calls", i->part * (double)i->of[NOW], "p", t->p, "sure", is_sure(c, t));
}

static int
compare_tests(const void *a, const void *b, void *ctx)
{
	const struct test *x = *(const struct test *const *)a, *y = *(const struct test *const *)b;
	const struct change *c = ctx;
	const struct item *i = &c->trial.items[x->item], *k = &c->trial.items[y->item];
	double m = i->part * (double)i->of[NOW], n = k->part * (double)k->of[NOW];

	if (is_sure(c, x) != is_sure(c, y))
		return is_sure(c, x) ? -1 : 1;
	if (m != n)
		return m < n ? 1 : -1;
	return (x > y) - (x < y);
}

/* Writes each item whose own test is significant to the lists of its request type: first the items
 * that are sure, then by how much they changed. */
static bool
put_changes(struct change *c)
{
	const struct test **order = arena_alloc(&c->arena, (c->trial.ntests + 1) * sizeof *order);
	size_t n = 0;
	bool ok = order != NULL;

	for (size_t i = 0; ok && i < c->trial.ntests; i++)
		if (c->trial.tests[i].weight > 0)
			order[n++] = &c->trial.tests[i];
	if (ok)
		qsort_r(order, n, sizeof *order, compare_tests, c);
	for (size_t i = 0; ok && i < n; i++) {
		const struct item *item = &c->trial.items[order[i]->item];
		json_t *list = json_object_get(
		    c->types[item->type], item->what == STEP ? "steps" : "operations");

		if (json_array_size(list) < c->o.list_max)
			ok = json_array_append_new(list, item->what == STEP
							     ? step_json(c, item, order[i])
							     : times_json(c, item, order[i])) == 0;
	}
	return ok;
}

/* Calls that only one side makes, from a caller that both sides have. */
static bool
put_calls(struct change *c, uint32_t type)
{
	const struct pair *p = &c->pairs[type];
	bool ok = true;

	for (uint32_t i = 0; ok && i < p->ncalls; i++) {
		const struct call *call = &p->calls[i], *caller = &p->calls[call->parent];
		bool now = call->calls[NOW] > 0, then = call->calls[THEN] > 0;
		json_t *list = json_object_get(c->types[type], now ? "appeared" : "vanished");

		if (now == then || call->parent == PROFILE_NONE || caller->calls[NOW] == 0 ||
		    caller->calls[THEN] == 0 || json_array_size(list) >= c->o.list_max)
			continue;
		ok = json_array_append_new(list,
			 json_pack("{s:o, s:o, s:o, s:f}", "operation", call_json(c, p, i), "far",
			     far_json(c, p, i), "caller", call_json(c, p, call->parent),
			     "calls_mean", calls_mean(p, call, now ? NOW : THEN))) == 0;
	}
	return ok;
}

/* ---- comparing two documents ---- */

static bool
same_type(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "type"), json_object_get(b, "type")) &&
	       json_equal(json_object_get(a, "service"), json_object_get(b, "service"));
}

static const json_t *
type_of(const json_t *document, const json_t *like)
{
	const json_t *t;
	size_t i;

	json_array_foreach (json_object_get(document, "types"), i, t)
		if (same_type(t, like))
			return t;
	return NULL;
}

/* Judges the requests of a type as a whole, if both documents have their times. False: out of memory. */
static bool
put_whole(json_t *into, const struct pair *p, double alpha)
{
	static const char *const states[] = { [WHOLE_SAME] = "same",
		[WHOLE_SLOWER] = "slower",
		[WHOLE_FASTER] = "faster",
		[WHOLE_TOO_FEW] = "too_few" };
	struct whole w;

	if (!p->timed[NOW] || !p->timed[THEN])
		return json_object_set_new(into, "whole", json_null()) == 0;
	return whole_judge(&w, p->total[NOW], p->total[THEN], PROFILE_BUCKETS, alpha) &&
	       json_object_set_new(into, "whole",
		   json_pack("{s:s, s:I, s:I, s:f, s:f}", "state", states[w.state], "requests",
		       (json_int_t)w.requests, "requests_then", (json_int_t)w.requests_then,
		       "slower_p", w.slower_p, "faster_p", w.faster_p)) == 0;
}

/* A request type that both documents have: writes its shares and reads its calls into a pair. */
static int
compare_type(struct change *c, json_t *into, const json_t *now, const json_t *then, struct err *e)
{
	struct pair *p = &c->pairs[c->npairs];
	int rc;

	p->texts = c->texts;
	p->arena = &c->arena;
	c->types[c->npairs++] = into;
	if ((rc = shares_put(into, now, then, &c->o, e)) != 0 ||
	    (rc = pair_read(p, NOW, now, e)) != 0 || (rc = pair_read(p, THEN, then, e)) != 0)
		return rc;
	return pair_sort(p) && put_whole(into, p, c->o.q)
	           ? 0
	           : err_set(e, ERR_MEMORY, "out of memory for changes");
}

static int
compare_types(
    struct change *c, json_t *result, const json_t *now, const json_t *then, struct err *e)
{
	json_t *types = json_object_get(result, "types");
	const json_t *t, *other;
	size_t i;
	int rc;

	json_array_foreach (json_object_get(now, "types"), i, t) {
		json_t *into = json_pack("{s:O?, s:O?, s:[], s:[], s:[], s:[]}", "type",
		    json_object_get(t, "type"), "service", json_object_get(t, "service"),
		    "operations", "steps", "appeared", "vanished");

		if ((other = type_of(then, t)) == NULL) {
			json_decref(into);
			json_array_append(
			    json_object_get(result, "types_appeared"), json_object_get(t, "type"));
			continue;
		}
		if (into == NULL || json_array_append_new(types, into) != 0)
			return err_set(e, ERR_MEMORY, "out of memory for changes");
		if ((rc = compare_type(c, into, t, other, e)) != 0)
			return rc;
	}
	json_array_foreach (json_object_get(then, "types"), i, t)
		if (type_of(now, t) == NULL)
			json_array_append(
			    json_object_get(result, "types_vanished"), json_object_get(t, "type"));
	return 0;
}

static int
conclude(struct change *c, json_t *result, struct err *e)
{
	uint32_t id = 0;
	bool ok = change_blocks(c);

	for (uint32_t i = 0; ok && i < c->npairs; i++) {
		ok = trial_pair(&c->trial, &c->pairs[i], i, id);
		id += pair_items(&c->pairs[i]);
	}
	c->nsuspects = ok && trial_judge(&c->trial, c->usual_parts)
	                   ? change_rank(c, &c->trial, &c->suspects, &c->arena)
	                   : SUSPECTS_FAILED;
	ok = c->nsuspects != SUSPECTS_FAILED && put_changes(c);
	for (uint32_t i = 0; ok && i < c->npairs; i++)
		ok = put_calls(c, i);
	ok = ok && json_object_set_new(result, "suspects", suspects_json(c)) == 0 &&
	     json_object_set_new(result, "blocks", blocks_json(c)) == 0 &&
	     json_object_set_new(result, "tried", json_integer((json_int_t)c->trial.ntests)) == 0;
	return ok ? 0 : err_set(e, ERR_MEMORY, "out of memory for changes");
}

static bool
change_init(struct change *c, const struct change_options *o, size_t ntypes)
{
	*c = (struct change){ .o = o != NULL ? *o : (struct change_options){ 0 } };
	if (c->o.q == 0)
		c->o.q = 0.01;
	if (c->o.confidence == 0)
		c->o.confidence = 0.95;
	if (c->o.list_max == 0)
		c->o.list_max = 50;
	c->trial.alpha = c->o.q;
	c->texts = texts_new();
	c->pairs = arena_calloc(&c->arena, ntypes + 1, sizeof *c->pairs);
	c->types = arena_calloc(&c->arena, ntypes + 1, sizeof *c->types);
	return c->texts != NULL && c->pairs != NULL && c->types != NULL;
}

static void
change_release(struct change *c)
{
	for (uint32_t i = 0; c->pairs != NULL && i < c->npairs; i++)
		pair_release(&c->pairs[i]);
	trial_release(&c->trial);
	texts_free(c->texts);
	arena_release(&c->arena);
}

json_t *
change_json(const json_t *now, const json_t *then, const char *name, const struct change_options *o,
    struct err *e)
{
	json_t *result = json_pack("{s:s, s:O?, s:[], s:[], s:[]}", "name", name, "made",
	    json_object_get(then, "made"), "types", "types_appeared", "types_vanished");
	struct change c;
	int rc;

	if (!json_is_array(json_object_get(now, "types")) ||
	    !json_is_array(json_object_get(then, "types"))) {
		json_decref(result);
		err_set(e, ERR_INPUT, "%s: not an analysis document: it has no types", name);
		return NULL;
	}
	if (!change_init(&c, o, json_array_size(json_object_get(now, "types"))) || result == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory for changes");
	else if ((rc = compare_types(&c, result, now, then, e)) == 0)
		rc = conclude(&c, result, e);
	if (rc != 0) {
		json_decref(result);
		result = NULL;
	}
	change_release(&c);
	return result;
}
