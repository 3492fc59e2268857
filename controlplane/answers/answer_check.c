/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the instrumentation is right: how forks, units and requests pair, and the mistakes in it. */
#include <string.h>

#include "analysis/mistake.h"
#include "controlplane/answers/answer_inside.h"

enum { MISTAKES_LISTED = 64, SECONDS_USUAL = 60 };

/* As many seconds as the engine keeps, less the window that is overwritten next. */
enum { SECONDS_MAX = (INSTRUMENTATION_WINDOWS - 1) * INSTRUMENTATION_WINDOW_S };

static json_t *
label_json(const struct engine *g, uint32_t label)
{
	return label != LABEL_NONE
	           ? answer_text(labels_get(engine_parts_of(g)->labels, label)->text)
	           : json_null();
}

/* Whether the row is of the request type with this name, or "service/name"; NULL: any. */
static bool
is_of_type(const struct engine *g, uint32_t type, const char *name)
{
	const char *slash = name != NULL ? strchr(name, '/') : NULL;
	const struct label *l;

	if (name == NULL || type == LABEL_NONE)
		return name == NULL;
	l = labels_get(engine_parts_of(g)->labels, type);
	if (slash != NULL && (size_t)(slash - name) == l->service_len &&
	    strncmp(l->text, name, l->service_len) == 0)
		name = slash + 1;
	return strlen(name) == l->name_len && memcmp(name, l->name, l->name_len) == 0;
}

static json_t *
type_name(const struct engine *g, uint32_t type)
{
	const struct label *l;

	if (type == LABEL_NONE)
		return json_null();
	l = labels_get(engine_parts_of(g)->labels, type);
	return text_json(l->name, l->name_len);
}

/* Whether a program of the label's service runs on a node with mapped programs: its requests may come
 * from a mapping. */
static bool
may_be_mapped(const struct engine *g, uint32_t label)
{
	const struct nodes *nodes = &engine_parts_of(g)->nodes;
	const struct label *l = labels_get(engine_parts_of(g)->labels, label);

	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct programs *p = &nodes->items[i].programs;

		for (uint32_t k = 0; k < p->nprograms && nodes->items[i].status.mapped > 0; k++)
			if (label_of_service(l, p->programs[k].service))
				return true;
	}
	return false;
}

static json_t *
mistake_json(const struct engine *g, const struct mistake *m)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:I, s:I, s:f, s:f, s:f}", "kind",
	    mistake_word(m->kind), "type", type_name(g, m->type), "at", label_json(g, m->at), "to",
	    label_json(g, m->to), "to_service",
	    m->to_service != NULL ? answer_text(m->to_service) : json_null(), "mapped",
	    may_be_mapped(g, m->at), "count", (json_int_t)m->count, "of", (json_int_t)m->of,
	    "share", m->share, "low", m->low, "high", m->high);
}

static json_t *
fork_json(const struct engine *g, const struct place_facts *f)
{
	return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "type", type_name(g, f->type),
	    "fork", label_json(g, f->label), "unit", label_json(g, f->unit), "forked",
	    (json_int_t)f->forked, "begun", (json_int_t)f->begun, "ended", (json_int_t)f->ended,
	    "joined", (json_int_t)f->joined);
}

static json_t *
request_json(const struct engine *g, const struct place_facts *f)
{
	return json_pack("{s:o, s:o, s:I, s:I}", "type", type_name(g, f->type), "request",
	    label_json(g, f->label), "begun", (json_int_t)f->requests, "ended",
	    (json_int_t)(f->requests - f->open));
}

static json_t *
facts_json(struct engine *g, const struct place_table *facts, const char *type, double seconds,
    const char *const *idle)
{
	const struct mistake_limits limits = mistake_defaults();
	struct mistake found[MISTAKES_LISTED];
	json_t *mistakes = json_array(), *forks = json_array(), *requests = json_array(),
	       *silent = json_array();
	uint32_t n = mistakes_find(
	    found, MISTAKES_LISTED, facts, engine_parts_of(g)->labels, idle, &limits);

	for (uint32_t i = 0; i < n; i++)
		if (is_of_type(g, found[i].type, type))
			json_array_append_new(mistakes, mistake_json(g, &found[i]));
	for (uint32_t i = 0; i < facts->n; i++) {
		const struct place_facts *f = &facts->items[i];

		if (f->forked > 0 && is_of_type(g, f->type, type))
			json_array_append_new(forks, fork_json(g, f));
		if (f->requests > 0 && is_of_type(g, f->type, type))
			json_array_append_new(requests, request_json(g, f));
	}
	for (uint32_t i = 0; idle[i] != NULL; i++)
		json_array_append_new(silent, answer_text(idle[i]));
	return json_pack("{s:f, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "seconds", seconds, "traces",
	    (json_int_t)facts->traces, "lossy", (json_int_t)facts->lossy, "beyond",
	    (json_int_t)facts->beyond, "requests", requests, "forks", forks, "silent", silent,
	    "mistakes", mistakes);
}

json_t *
ask_check(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const json_t *given = json_object_get(ask, "seconds");
	double seconds = given != NULL ? json_number_value(given) : SECONDS_USUAL;
	struct engine_parts *p = engine_parts(g);
	struct place_table facts = { 0 };
	struct arena arena = { 0 };
	const char **idle = NULL;
	json_t *a = NULL;

	(void)f;
	if (!(seconds >= 1 && seconds <= SECONDS_MAX))
		return answer_refuse(
		    ERR_INPUT, "\"seconds\" must be from 1 to %d", (int)SECONDS_MAX);
	if (instrumentation_facts(&facts, &p->instrumentation, p->assemble, &p->types, p->labels,
		(struct mono){ c->now.ns - (int64_t)(seconds * 1e9) }, c->now))
		idle = instrumentation_idle(&p->nodes, &facts, p->labels, &arena);
	if (idle != NULL)
		a = facts_json(
		    g, &facts, json_string_value(json_object_get(ask, "type")), seconds, idle);
	place_table_release(&facts);
	arena_release(&arena);
	return a;
}
