/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/check.h"

#include <math.h>
#include <string.h>

#include "report/document.h"

enum { MISTAKES_LISTED = 64 };

struct facts_view {
	const struct labels *labels;
	const struct check_options *o;
};

static json_t *
label_json(const struct facts_view *c, uint32_t label)
{
	const struct label *l;

	if (label == LABEL_NONE)
		return json_null();
	l = labels_get(c->labels, label);
	return text_json(l->text, strlen(l->text));
}

static json_t *
type_json(const struct facts_view *c, uint32_t type)
{
	const struct label *l;

	if (type == LABEL_NONE)
		return json_null();
	l = labels_get(c->labels, type);
	return text_json(l->name, l->name_len);
}

static bool
is_of_type(const struct facts_view *c, uint32_t type)
{
	const char *name = c->o->type, *slash = name != NULL ? strchr(name, '/') : NULL;
	const struct label *l;

	if (name == NULL || type == LABEL_NONE)
		return name == NULL;
	l = labels_get(c->labels, type);
	if (slash != NULL && (size_t)(slash - name) == l->service_len &&
	    strncmp(l->text, name, l->service_len) == 0)
		name = slash + 1;
	return strlen(name) == l->name_len && memcmp(name, l->name, l->name_len) == 0;
}

static json_t *
mistake_json(const struct facts_view *c, const struct mistake *m)
{
	bool mapped = c->o->is_mapped != NULL &&
	              c->o->is_mapped(c->o->ctx, labels_get(c->labels, m->at));

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:I, s:I, s:f, s:f, s:f}", "kind",
	    mistake_word(m->kind), "type", type_json(c, m->type), "at", label_json(c, m->at), "to",
	    label_json(c, m->to), "to_service",
	    m->to_service != NULL ? text_json(m->to_service, strlen(m->to_service)) : json_null(),
	    "mapped", mapped, "count", (json_int_t)m->count, "of", (json_int_t)m->of, "share",
	    m->share, "low", m->low, "high", m->high);
}

static json_t *
fork_json(const struct facts_view *c, const struct place_facts *f)
{
	return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "type", type_json(c, f->type),
	    "fork", label_json(c, f->label), "unit", label_json(c, f->unit), "forked",
	    (json_int_t)f->forked, "begun", (json_int_t)f->begun, "ended", (json_int_t)f->ended,
	    "joined", (json_int_t)f->joined);
}

static json_t *
request_json(const struct facts_view *c, const struct place_facts *f)
{
	return json_pack("{s:o, s:o, s:I, s:I}", "type", type_json(c, f->type), "request",
	    label_json(c, f->label), "begun", (json_int_t)f->requests, "ended",
	    (json_int_t)(f->requests - f->open));
}

json_t *
check_json(
    const struct place_table *facts, const struct labels *labels, const struct check_options *o)
{
	const struct mistake_limits limits = mistake_defaults();
	const struct facts_view c = { labels, o };
	struct mistake found[MISTAKES_LISTED];
	json_t *mistakes = json_array(), *forks = json_array(), *requests = json_array(),
	       *silent = json_array();
	uint32_t n = mistakes_find(found, MISTAKES_LISTED, facts, labels, o->idle, &limits);

	for (uint32_t i = 0; i < n; i++)
		if (is_of_type(&c, found[i].type))
			json_array_append_new(mistakes, mistake_json(&c, &found[i]));
	for (uint32_t i = 0; i < facts->n; i++) {
		const struct place_facts *f = &facts->items[i];

		if (f->forked > 0 && is_of_type(&c, f->type))
			json_array_append_new(forks, fork_json(&c, f));
		if (f->requests > 0 && is_of_type(&c, f->type))
			json_array_append_new(requests, request_json(&c, f));
	}
	for (uint32_t i = 0; o->idle != NULL && o->idle[i] != NULL; i++)
		json_array_append_new(silent, text_json(o->idle[i], strlen(o->idle[i])));
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "seconds",
	    isnan(o->seconds) ? json_null() : json_real(o->seconds), "spans", (json_int_t)o->spans,
	    "traces", (json_int_t)facts->traces, "lossy", (json_int_t)facts->lossy, "beyond",
	    (json_int_t)facts->beyond, "requests", requests, "forks", forks, "silent", silent,
	    "mistakes", mistakes);
}
