/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/trace_dag.h"

#include <stdio.h>
#include <string.h>

#include "analysis/below_time.h"
#include "report/document.h"

static double
ms_of(int64_t ns)
{
	return (double)ns / 1e6;
}

static json_t *
value_json(const struct value *v)
{
	switch (v->type) {
	case VALUE_INT:
		return json_integer((json_int_t)v->i);
	case VALUE_UINT:
		return json_integer((json_int_t)v->u);
	case VALUE_REAL:
		return json_real(v->d);
	case VALUE_TEXT:
		return text_json(v->text, v->len);
	}
	return json_null();
}

static const struct event *
end_of(const struct trace *t, const struct labels *l, const struct unit *u)
{
	for (uint32_t i = u->first + u->count; i-- > u->first;) {
		uint8_t kind = labels_get(l, t->events[i].label)->kind;

		if (kind == RECORD_UNIT_END || kind == RECORD_REQUEST_END)
			return &t->events[i];
	}
	return NULL;
}

static bool
is_joined(const struct trace *t, const struct labels *l, const struct event *fork)
{
	const struct unit *u = &t->units[fork->unit];

	for (uint32_t i = u->first; i < u->first + u->count; i++)
		if (t->events[i].link_id == fork->link_id &&
		    labels_get(l, t->events[i].label)->kind == RECORD_JOIN)
			return true;
	return false;
}

/* What its threads waited for, by state. */
static json_t *
waits_json(const struct trace *t, const struct labels *l, uint32_t unit)
{
	json_t *waits = json_object();

	for (uint32_t i = 0; i < t->nbelow; i++) {
		const struct event *e = &t->below[i];
		const struct label *label = labels_get(l, e->label);
		const char *state = memchr(label->event, ':', label->event_len);
		char word[32];

		if (e->unit != unit || label->kind != RECORD_WAIT || e->nvalues == 0 ||
		    state == NULL)
			continue;
		snprintf(word, sizeof word, "%.*s",
		    (int)(label->event_len - (size_t)(state + 1 - label->event)), state + 1);
		json_object_set_new(waits, word,
		    json_real(json_real_value(json_object_get(waits, word)) +
			      ms_of((int64_t)e->values[0].u)));
	}
	return waits;
}

static json_t *
fields_json(const struct event *end, const struct label *l)
{
	json_t *fields = json_object();

	for (uint32_t i = 0; end != NULL && i < end->nvalues && i < l->nfields; i++)
		json_object_set_new(fields, l->fields[i], value_json(&end->values[i]));
	return fields;
}

static json_t *
unit_json(const struct trace *t, const struct labels *l, const char *const *nodes, uint32_t unit)
{
	const struct unit *u = &t->units[unit];
	const struct event *first = &t->events[u->first], *end = end_of(t, l, u);
	const struct event *fork = u->fork != TRACE_NONE ? &t->events[u->fork] : NULL;
	const struct label *begin = labels_get(l, first->label);
	const char *node = nodes[first->node];

	return json_pack("{s:i, s:o, s:o, s:b, s:o, s:o, s:o, s:f, s:o, s:I, s:I, s:o, s:o}",
	    "unit", (int)unit, "parent",
	    fork != NULL ? json_integer((json_int_t)fork->unit) : json_null(), "forked_ms",
	    fork != NULL ? json_real(ms_of(fork->time_ns - t->begin_ns)) : json_null(), "joined",
	    fork != NULL && is_joined(t, l, fork), "service",
	    text_json(begin->text, begin->service_len), "name",
	    text_json(begin->name, begin->name_len), "host", text_json(node, strlen(node)),
	    "begin_ms", ms_of(first->time_ns - t->begin_ns), "end_ms",
	    end != NULL ? json_real(ms_of(end->time_ns - t->begin_ns)) : json_null(), "pid",
	    (json_int_t)first->pid, "tid", (json_int_t)first->tid, "waits_ms",
	    waits_json(t, l, unit), "fields",
	    fields_json(end, end != NULL ? labels_get(l, end->label) : NULL));
}

json_t *
trace_dag(const struct trace *t, const struct labels *labels, const char *const *nodes)
{
	const struct label *type = t->type != LABEL_NONE ? labels_get(labels, t->type) : NULL;
	json_t *units = json_array();
	char id[40];

	for (uint32_t u = 0; u < t->nunits; u++)
		json_array_append_new(units, unit_json(t, labels, nodes, u));
	snprintf(id, sizeof id, "%016llx", (unsigned long long)t->id);
	return json_pack("{s:s, s:o, s:f, s:b, s:s, s:o}", "trace", id, "type",
	    type != NULL ? text_json(type->text, strlen(type->text)) : json_null(), "total_ms",
	    ms_of(t->end_ns - t->begin_ns), "lossy", t->lossy, "incomplete",
	    incomplete_word((enum incomplete)t->incomplete), "units", units);
}
