/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* qsort_r() */
#include <math.h>
#include <stdlib.h>

#include "report/change_inside.h"
#include "base/texts.h"

/* ---- suspects ---- */

struct suspect {
	uint32_t service;
	double changed, all, score; /* calls */
	bool sure;
};

static int
compare_suspects(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return (x->service > y->service) - (x->service < y->service);
}

static void
score_suspects(const struct change *c, struct suspect *s, uint32_t n)
{
	double changed = 0;

	for (size_t i = 0; i < c->nitems; i++) {
		const struct item *item = &c->items[i];

		changed += item->changed;
		for (int end = 0; end < 2; end++)
			if (item->ends[end] != PROFILE_NONE) {
				struct suspect *at = &s[item->ends[end]];

				at->changed += item->changed;
				at->all += (double)item->of[NOW];
				at->sure = at->sure || item->sure;
			}
	}
	for (uint32_t i = 0; i < n; i++) {
		s[i].service = i;
		s[i].score = s[i].changed > 0 ? s[i].changed / sqrt(changed * s[i].all) : 0;
	}
	qsort(s, n, sizeof *s, compare_suspects);
}

static json_t *
suspects_json(struct change *c)
{
	uint32_t n = texts_count(c->texts);
	struct suspect *s = arena_calloc(&c->arena, n + 1, sizeof *s);
	json_t *list = json_array();

	if (s == NULL || list == NULL)
		goto fail;
	score_suspects(c, s, n);
	for (uint32_t i = 0; i < n && s[i].score > 0; i++)
		if (json_array_append_new(list, json_pack("{s:s, s:b, s:f, s:f, s:f}", "service",
						    texts_get(c->texts, s[i].service), "sure",
						    s[i].sure, "score", s[i].score, "changed_calls",
						    s[i].changed, "touched_calls", s[i].all)) != 0)
			goto fail;
	return list;
fail:
	json_decref(list);
	return NULL;
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
	    t->share, "lost_share", t->weight, "changed_calls", i->changed, "p", t->p, "sure",
	    t->p <= c->o.q);
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
	    "changed_calls", i->changed, "p", t->p, "sure", t->p <= c->o.q);
}

static bool
is_sure(const struct change *c, const struct test *t)
{
	return t->p <= c->o.q;
}

static int
compare_tests(const void *a, const void *b, void *ctx)
{
	const struct test *x = *(const struct test *const *)a, *y = *(const struct test *const *)b;
	const struct change *c = ctx;
	double m = c->items[x->item].changed, n = c->items[y->item].changed;

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
	const struct test **order = arena_alloc(&c->arena, (c->ntests + 1) * sizeof *order);
	size_t n = 0;
	bool ok = order != NULL;

	for (size_t i = 0; ok && i < c->ntests; i++)
		if (c->tests[i].weight > 0)
			order[n++] = &c->tests[i];
	if (ok)
		qsort_r(order, n, sizeof *order, compare_tests, c);
	for (size_t i = 0; ok && i < n; i++) {
		const struct item *item = &c->items[order[i]->item];
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
	return change_try(c, c->npairs - 1) ? 0
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
	bool ok = change_judge(c) && put_changes(c);

	for (uint32_t i = 0; ok && i < c->npairs; i++)
		ok = put_calls(c, i);
	ok = ok && json_object_set_new(result, "suspects", suspects_json(c)) == 0 &&
	     json_object_set_new(result, "tried", json_integer((json_int_t)c->ntests)) == 0;
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
	free(c->items);
	free(c->tests);
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
