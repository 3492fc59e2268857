/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/answers/alert_message.h"

#include <stdio.h>

#include "controlplane/answers/answer_inside.h"

enum { MESSAGE_VERSION = 1 };

static const struct watched_type *
watched_of(const struct engine *g, uint32_t label)
{
	const struct watcher *w = &engine_parts_of(g)->watcher;

	for (uint32_t i = 0; i < WATCHED_MAX; i++)
		if (w->types[i] != NULL && w->types[i]->label == label)
			return w->types[i];
	return NULL;
}

bool
alert_is_diagnosed_now(const struct forest *f, const struct alert *a)
{
	const struct run *r = a->run != 0 ? forest_run(f, a->run) : NULL;

	return r != NULL && r->state == RUN_ACTIVE;
}

/* ---- hone alerts, webhook, command ---- */

static json_t *
range_json(const struct range_judgement *r)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "of",
	    r->of_excess ? "excess" : "time", "quantile", number_json(r->quantile), "now_ms",
	    number_json(r->now_ns / 1e6), "usual_ms", number_json(r->usual_ns / 1e6), "limit_ms",
	    number_json(r->limit_ns / 1e6), "usual_mean_ms", number_json(r->usual_mean_ns / 1e6),
	    "cost_share", number_json(r->cost_share));
}

static json_t *
objective_json(const struct alert *a)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:i, s:I, s:I}", "limit_ms",
	    number_json((double)a->slo.limit_ns / 1e6), "goal", number_json(a->slo.goal), "rate",
	    number_json(a->burn.rate), "rate_limit", number_json(a->burn.limit), "windows",
	    (int)a->burn.long_minutes, "failures", (json_int_t)a->burn.failures, "requests",
	    (json_int_t)a->burn.requests);
}

static json_t *
group_json(const struct alert *a)
{
	return a->of_group ? json_sprintf("%016llx%016llx", (unsigned long long)a->group.a,
				 (unsigned long long)a->group.b)
	                   : json_null();
}

json_t *
alert_json(const struct engine *g, const struct alert *a)
{
	const struct watched_type *t = watched_of(g, a->label);

	return json_pack("{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "number",
	    (json_int_t)a->number, "kind", alert_kind_word(a->kind), "type",
	    answer_text(t != NULL ? t->name : NULL), "service",
	    answer_text(t != NULL ? t->service : NULL), "group", group_json(a), "since",
	    wall_json(a->since), "ended", wall_json(a->ended), "range",
	    a->kind == ALERT_RANGE ? range_json(&a->range) : json_null(), "objective",
	    a->kind == ALERT_OBJECTIVE ? objective_json(a) : json_null(), "started",
	    self_start_word(a->self_start), "run", answer_number_id(a->run));
}

static char *
text_and_free(json_t *j)
{
	char *text = j != NULL ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return text;
}

char *
alert_message(const struct engine *g, const struct forest *f, const struct alert *a,
    const struct answer_context *c)
{
	const struct run *r = a->run != 0 ? forest_run(f, a->run) : NULL;

	return text_and_free(json_pack("{s:i, s:o, s:o}", "version", (int)MESSAGE_VERSION, "alert",
	    alert_json(g, a), "run", r != NULL ? answer_run(g, f, r, c, false) : json_null()));
}

/* ---- Alertmanager ---- */

static void
put_number(json_t *o, const char *key, double x)
{
	char text[40];

	snprintf(text, sizeof text, "%.4g", x);
	json_object_set_new(o, key, json_string(text));
}

/* Annotations are texts: the fields of the alert, and of the largest verdict of its diagnosis. */
static json_t *
annotations(const struct forest *f, const struct alert *a)
{
	const struct run *r = a->run != 0 ? forest_run(f, a->run) : NULL;
	const struct verdict *v;
	json_t *o = json_object();

	if (a->kind == ALERT_RANGE) {
		json_object_set_new(o, "of", json_string(a->range.of_excess ? "excess" : "time"));
		put_number(o, "quantile", a->range.quantile);
		put_number(o, "now_ms", a->range.now_ns / 1e6);
		put_number(o, "usual_ms", a->range.usual_ns / 1e6);
		put_number(o, "cost_share", a->range.cost_share);
		if (a->of_group)
			json_object_set_new(o, "group", group_json(a));
	} else {
		put_number(o, "limit_ms", (double)a->slo.limit_ns / 1e6);
		put_number(o, "goal", a->slo.goal);
		put_number(o, "burn_rate", a->burn.rate);
	}
	if (r == NULL)
		return o;
	put_number(o, "run", (double)r->id);
	json_object_set_new(o, "run_state", json_string(run_word(r->state)));
	if ((v = forest_verdict(f, r->id, 1)) == NULL)
		return o;
	json_object_set_new(o, "edge_from", answer_text(v->from));
	json_object_set_new(o, "edge_to", answer_text(v->to));
	put_number(o, "share", v->share);
	return o;
}

static json_t *
managed(const struct engine *g, const struct forest *f, const struct alert *a)
{
	const struct watched_type *t = watched_of(g, a->label);
	json_t *o = json_pack("{s:{s:s, s:o, s:o, s:s}, s:o, s:o}", "labels", "alertname",
	    a->kind == ALERT_RANGE ? "HoneLatencyLeftRange" : "HoneObjectiveMissed", "type",
	    answer_text(t != NULL ? t->name : NULL), "service",
	    answer_text(t != NULL ? t->service : NULL), "source", "hone", "annotations",
	    annotations(f, a), "startsAt", wall_json(a->since));

	if (o != NULL && a->ended.ns != 0)
		json_object_set_new(o, "endsAt", wall_json(a->ended));
	return o;
}

char *
alert_manager_message(const struct engine *g, const struct forest *f, const struct alert *alerts,
    uint32_t n, struct wall since, uint32_t *count)
{
	json_t *list = json_array();

	*count = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (alerts[i].ended.ns != 0 ? alerts[i].ended.ns <= since.ns
					    : alert_is_diagnosed_now(f, &alerts[i]))
			continue;
		json_array_append_new(list, managed(g, f, &alerts[i]));
		++*count;
	}
	return text_and_free(list);
}
