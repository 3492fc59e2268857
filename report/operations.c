/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/operations.h"

#include <string.h>

#include "report/document.h"

/* Writes "self_calls", ... or "way_calls", ... if there are any. False: out of memory. */
static bool
put_times(json_t *o, const char *what, const struct profile_times *t)
{
	json_t *buckets = json_array();
	bool ok = buckets != NULL;
	char name[32];

	for (uint32_t b = 0; ok && b < PROFILE_BUCKETS; b++)
		if (t->buckets[b] != 0)
			ok = json_array_append_new(buckets,
				 json_pack("[i, I]", (int)b, (json_int_t)t->buckets[b])) == 0;
	snprintf(name, sizeof name, "%s_calls", what);
	ok = ok && json_object_set_new(o, name, json_integer((json_int_t)t->ns.n)) == 0;
	snprintf(name, sizeof name, "%s_mean_ms", what);
	ok = ok && json_object_set_new(o, name, json_real(t->ns.mean / 1e6)) == 0;
	snprintf(name, sizeof name, "%s_variance_ms2", what);
	ok = ok && json_object_set_new(o, name, json_real(moments_variance(&t->ns) / 1e12)) == 0;
	snprintf(name, sizeof name, "%s_buckets", what);
	return json_object_set_new(o, name, buckets) == 0 && ok;
}

static json_t *
index_or_null(uint32_t i)
{
	return i == PROFILE_NONE ? json_null() : json_integer(i);
}

static json_t *
label_or_null(const struct labels *labels, uint32_t label)
{
	const char *text = label == LABEL_NONE ? "" : labels_get(labels, label)->text;

	return label == LABEL_NONE ? json_null() : text_json(text, strlen(text));
}

static json_t *
service_or_null(const struct labels *labels, uint32_t label)
{
	const struct label *l = label == LABEL_NONE ? NULL : labels_get(labels, label);

	return l == NULL ? json_null() : text_json(l->text, l->service_len);
}

static json_t *
operation_json(const struct profile *p, const struct profile_call *n, const struct labels *labels)
{
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:f, s:[]}", "operation",
	    label_or_null(labels, n->label), "far", label_or_null(labels, n->far), "service",
	    service_or_null(labels, n->label), "far_service", service_or_null(labels, n->far),
	    "parent", index_or_null(n->parent), "traces", (json_int_t)n->traces, "calls",
	    (json_int_t)n->calls, "calls_mean",
	    p->traces > 0 ? (double)n->calls / (double)p->traces : 0, "next");

	if (o == NULL || (n->self != NULL && !put_times(o, "self", n->self)) ||
	    (n->way != NULL && !put_times(o, "way", n->way))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* ---- slices of time ---- */

/* The counts of one subject: [[bucket, count]..]. Advances *i past them. */
static json_t *
slice_buckets(const struct slices *s, uint32_t *i)
{
	uint64_t subject = s->counts[*i].key >> 9;
	json_t *list = json_array();

	for (; *i < s->ncounts && s->counts[*i].key >> 9 == subject; ++*i)
		json_array_append_new(
		    list, json_pack("[i, I]", (int)slice_bucket(s->counts[*i].key),
			      (json_int_t)s->counts[*i].count));
	return list;
}

static json_t *
slice_step(const struct profile *p, const struct slice_count *c)
{
	const struct profile_step *s = &p->steps[slice_subject(c->key)];

	return json_pack("[i, o, o, I]", (int)s->node, index_or_null(s->after),
	    index_or_null(s->then), (json_int_t)c->count);
}

/* Advances *i past the counts of slice n. */
static json_t *
slice_json(const struct profile *p, uint32_t n, uint32_t *i)
{
	static const char *const names[] = { [SLICE_TOTAL] = "total_buckets",
		[SLICE_CALLS] = "calls",
		[SLICE_SELF] = "self_buckets",
		[SLICE_WAY] = "way_buckets",
		[SLICE_STEP] = "next" };
	const struct slices *s = &p->slices;
	json_t *o = json_pack("{s:I, s:[], s:[], s:[], s:[], s:[]}", "begin_ms",
	    (json_int_t)(s->at[n] * (s->length_ns / 1000000)), names[SLICE_TOTAL],
	    names[SLICE_CALLS], names[SLICE_SELF], names[SLICE_WAY], names[SLICE_STEP]);

	while (o != NULL && *i < s->ncounts && slice_of(s->counts[*i].key) == n) {
		const struct slice_count *c = &s->counts[*i];
		enum slice_what what = slice_what(c->key);
		json_t *list = json_object_get(o, names[what]), *item;
		uint32_t of = slice_subject(c->key);

		if (what == SLICE_TOTAL)
			json_object_set_new(o, names[what], slice_buckets(s, i));
		else if (what == SLICE_STEP) {
			json_array_append_new(list, slice_step(p, c));
			++*i;
		} else {
			item = slice_buckets(s, i);
			json_array_append_new(list, json_pack("[i, o]", (int)of, item));
		}
	}
	return o;
}

static bool
put_slices(json_t *type, struct profile *p)
{
	json_t *all = json_array();
	uint32_t i = 0;
	bool ok = all != NULL && slices_sort(&p->slices);

	for (uint32_t n = 0; ok && n < p->slices.n; n++)
		ok = json_array_append_new(all, slice_json(p, n, &i)) == 0;
	return json_object_set_new(type, "slices", all) == 0 && ok &&
	       json_object_set_new(type, "slice_ms", json_integer(p->slices.length_ns / 1000000)) ==
	           0;
}

int
operations_put(json_t *type, struct profile *p, const struct labels *labels, struct err *e)
{
	json_t *all = json_array();
	bool ok = all != NULL;

	for (uint32_t i = 0; ok && i < p->nnodes; i++)
		ok = json_array_append_new(all, operation_json(p, &p->nodes[i], labels)) == 0;
	for (uint32_t i = 0; ok && i < p->nsteps; i++) {
		const struct profile_step *s = &p->steps[i];
		json_t *next = json_object_get(json_array_get(all, s->node), "next");

		ok = json_array_append_new(
			 next, json_pack("[o, o, I]", index_or_null(s->after),
				   index_or_null(s->then), (json_int_t)s->count)) == 0;
	}
	ok = json_object_set_new(type, "operations", all) == 0 && ok;
	ok = ok &&
	     json_object_set_new(type, "operations_traces", json_integer((json_int_t)p->traces)) ==
	         0 &&
	     json_object_set_new(type, "operations_lossy", json_integer((json_int_t)p->lossy)) ==
	         0 &&
	     json_object_set_new(type, "operations_lost",
		 json_pack("{s:I, s:I}", "calls", (json_int_t)p->calls_lost, "steps",
		     (json_int_t)p->steps_lost)) == 0;
	ok = ok && (p->slices.lost > 0 || put_slices(type, p));
	return ok ? 0 : err_set(e, ERR_MEMORY, "out of memory for the document");
}
