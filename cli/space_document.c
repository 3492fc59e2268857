/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/space_document.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/document.h"
#include "wire/question.h"

/* ---- types ---- */

static bool
type_is(const struct label *l, const char *name)
{
	size_t len = strlen(name);

	if (strcmp(l->text, name) == 0 || (l->name_len == len && memcmp(l->name, name, len) == 0))
		return true;
	return len == (size_t)l->service_len + 1 + l->name_len &&
	       memcmp(name, l->text, l->service_len) == 0 && name[l->service_len] == '/' &&
	       memcmp(name + l->service_len + 1, l->name, l->name_len) == 0;
}

static int
fail_unknown_type(
    const struct space *s, const struct labels *labels, const char *name, struct err *e)
{
	char known[240] = "";
	size_t len = 0;
	uint32_t type;

	for (uint32_t i = 0; (type = space_type(s, i)) != LABEL_NONE && len < sizeof known - 1;
	     i++) {
		const struct label *l = labels_get(labels, type);

		len += (size_t)snprintf(known + len, sizeof known - len, "%s%.*s",
		    i > 0 ? ", " : "", l->name_len > 0 ? (int)l->name_len : (int)strlen(l->text),
		    l->name_len > 0 ? l->name : l->text);
	}
	if (known[0] == '\0')
		return err_set(e, ERR_MISSING, "nothing has been learned yet; run hone learn");
	return err_set(e, ERR_MISSING, "%.80s: unknown request type; learned are %s", name, known);
}

int
space_find_type(uint32_t *ret, const struct space *s, const struct labels *labels, const char *name,
    struct err *e)
{
	uint32_t type;
	int found = 0;

	for (uint32_t i = 0; (type = space_type(s, i)) != LABEL_NONE; i++)
		if (type_is(labels_get(labels, type), name)) {
			*ret = type;
			found++;
		}
	if (found == 1)
		return 0;
	if (found > 1)
		return err_set(e, ERR_INPUT,
		    "%.80s: several services have this request type; use SERVICE/TYPE", name);
	return fail_unknown_type(s, labels, name, e);
}

/* ---- the graph of a type ---- */

struct graph_writer {
	const struct labels *labels;
	struct space_export graph;
	json_t **places; /* their JSON objects, by place number */
	uint32_t *order; /* place numbers by time */
};

static const char *
label_of(const struct graph_writer *l, uint32_t label)
{
	return label != LABEL_NONE ? labels_get(l->labels, label)->text : "";
}

static const struct graph_writer *sorting; /* for by_time(), since qsort() passes no context */

static int
by_time(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct place *x = &sorting->graph.places[i], *y = &sorting->graph.places[k];

	if (x->offset_ns != y->offset_ns)
		return x->offset_ns < y->offset_ns ? -1 : 1;
	return (i > k) - (i < k);
}

/* The place that began the span of this one: the last with that label in the same unit before it in
 * time, or null. Only earlier places in `order` are searched, so no place encloses itself. */
static json_t *
around(const struct graph_writer *l, uint32_t at)
{
	const struct place *p = &l->graph.places[l->order[at]];

	while (p->span != LABEL_NONE && at-- > 0) {
		const struct place *q = &l->graph.places[l->order[at]];

		if (q->label == p->span && q->unit == p->unit)
			return json_integer((json_int_t)l->order[at]);
	}
	return json_null();
}

static json_t *
place_json(const struct graph_writer *l, uint32_t at)
{
	const struct place *p = &l->graph.places[l->order[at]];
	double traces = (double)l->graph.traces;

	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:[], s:[], s:[]}",
	    "place", (int)l->order[at], "label",
	    text_json(label_of(l, p->label), strlen(label_of(l, p->label))), "unit",
	    text_json(label_of(l, p->unit), strlen(label_of(l, p->unit))), "span",
	    text_json(label_of(l, p->span), strlen(label_of(l, p->span))), "around", around(l, at),
	    "traces", (json_int_t)p->traces, "share",
	    number_json(traces > 0 ? (double)p->traces / traces : NAN), "count",
	    (json_int_t)p->count, "per_trace",
	    number_json(traces > 0 ? (double)p->count / traces : NAN), "at_ms",
	    number_json(p->offset_ns / 1e6), "steps", "units", "keys");
}

/* Adds each step to the place where it begins, with its share of all steps from there. */
static void
add_steps(const struct graph_writer *l)
{
	double *all = calloc(l->graph.nplaces + 1, sizeof *all),
	       *took = calloc(l->graph.nplaces + 1, sizeof *took);

	for (uint32_t i = 0; all != NULL && took != NULL && i < l->graph.nsteps; i++) {
		const struct space_step *s = &l->graph.steps[i];

		all[s->from] += (double)s->count;
		took[s->from] += (double)s->count * s->mean_ns;
	}
	for (uint32_t i = 0; all != NULL && took != NULL && i < l->graph.nsteps; i++) {
		const struct space_step *s = &l->graph.steps[i];

		json_array_append_new(json_object_get(l->places[s->from], "steps"),
		    json_pack("{s:i, s:I, s:o, s:o}", "to", (int)s->to, "count",
			(json_int_t)s->count, "share", number_json((double)s->count / all[s->from]),
			"mean_ms", number_json(s->mean_ns / 1e6)));
	}
	for (uint32_t i = 0; all != NULL && took != NULL && i < l->graph.nplaces; i++)
		json_object_set_new(l->places[i], "next_ms",
		    number_json(all[i] > 0 ? took[i] / all[i] / 1e6 : NAN));
	free(all);
	free(took);
}

static void
add_others(const struct graph_writer *l)
{
	static const char *const types[] = { "none", "integer", "integer", "real", "text" };

	for (uint32_t i = 0; i < l->graph.nconcurrency; i++) {
		const struct concurrency *c = &l->graph.concurrency[i];

		json_array_append_new(json_object_get(l->places[c->place], "units"),
		    json_pack("{s:o, s:I}", "unit",
			text_json(label_of(l, c->unit), strlen(label_of(l, c->unit))), "count",
			(json_int_t)c->count));
	}
	for (uint32_t i = 0; i < l->graph.nkeys; i++) {
		const struct place_key *k = &l->graph.keys[i];
		bool text = k->type == VALUE_TEXT;

		json_array_append_new(json_object_get(l->places[k->place], "keys"),
		    json_pack("{s:o, s:s, s:I, s:o, s:o, s:o}", "field",
			text_json(k->field, strlen(k->field)), "type",
			k->type < 5 ? types[k->type] : "none", "count", (json_int_t)k->count, "low",
			number_json(text ? NAN : k->low), "high", number_json(text ? NAN : k->high),
			"texts", text ? json_integer(k->texts) : json_null()));
	}
}

/* All places in order of time, each with its unit and span. */
static json_t *
places_json(struct graph_writer *l)
{
	json_t *list = json_array();

	l->places = calloc(l->graph.nplaces + 1, sizeof *l->places);
	l->order = calloc(l->graph.nplaces + 1, sizeof *l->order);
	if (l->places != NULL && l->order != NULL) {
		for (uint32_t i = 0; i < l->graph.nplaces; i++)
			l->order[i] = i;
		sorting = l;
		qsort(l->order, l->graph.nplaces, sizeof *l->order, by_time);
		for (uint32_t i = 0; i < l->graph.nplaces; i++)
			json_array_append_new(list, l->places[l->order[i]] = place_json(l, i));
		add_steps(l);
		add_others(l);
	}
	free(l->places);
	free(l->order);
	return list;
}

static json_t *
type_json(struct space *s, const struct labels *labels, uint32_t type, bool whole)
{
	struct graph_writer l = { .labels = labels };
	struct space_stats st = { 0 };
	struct space_cover c = { NAN, NAN };
	json_t *j;

	space_stats(s, type, &st);
	space_cover(s, type, &c);
	j = json_pack("{s:o, s:I, s:i, s:i, s:i, s:i, s:o, s:o}", "type",
	    text_json(label_of(&l, type), strlen(label_of(&l, type))), "traces",
	    (json_int_t)st.traces, "places", (int)st.places, "glimpsed", (int)st.glimpsed, "steps",
	    (int)st.steps, "labels", (int)st.labels, "unseen", number_json(c.unseen), "next_new",
	    number_json(c.next_new));
	if (whole && space_export(s, type, &l.graph))
		json_object_set_new(j, "graph", places_json(&l));
	return j;
}

/* ---- versions, and the whole document ---- */

static json_t *
version_json(const struct space_version *v)
{
	return json_pack("{s:o, s:o, s:o, s:I}", "name", text_json(v->name, strlen(v->name)),
	    "fingerprint",
	    v->fingerprint != 0 ? json_sprintf("%016llx", (unsigned long long)v->fingerprint)
				: json_null(),
	    "learned", wall_json((struct wall){ v->learned_ns }), "traces", (json_int_t)v->traces);
}

json_t *
space_document(struct space *s, const struct labels *labels, uint32_t type, const char *path)
{
	json_t *types = json_array();
	uint32_t t;

	for (uint32_t i = 0; (t = space_type(s, i)) != LABEL_NONE; i++)
		if (type == LABEL_NONE || type == t)
			json_array_append_new(types, type_json(s, labels, t, type != LABEL_NONE));
	return json_pack("{s:i, s:o, s:o, s:o}", "version", ANSWER_VERSION, "path",
	    text_json(path, strlen(path)), "space_version", version_json(space_version(s)), "types",
	    types);
}

int
space_versions_document(json_t **ret, const char *path, struct err *e)
{
	struct space_version *all = NULL;
	uint32_t n = 0;
	json_t *list;
	int rc = space_versions(&all, &n, path, e);

	if (rc != 0)
		return rc;
	list = json_array();
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, version_json(&all[i]));
	free(all);
	*ret = json_pack("{s:i, s:o, s:o}", "version", ANSWER_VERSION, "path",
	    text_json(path, strlen(path)), "versions", list);
	return *ret != NULL ? 0 : err_set(e, ERR_MEMORY, "out of memory");
}
