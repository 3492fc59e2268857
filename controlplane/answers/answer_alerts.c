/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Alerts, and what is watched. */
#include "controlplane/answers/alert_message.h"
#include "controlplane/answers/answer_inside.h"

/* What is known of a profile, put into o. */
static json_t *
put_profile(json_t *o, const struct latency_profile *p)
{
	json_object_set_new(o, "alert", json_boolean(p->state.firing));
	json_object_set_new(o, "answer", json_string(range_answer_word(p->last.answer)));
	json_object_set_new(o, "healthy_windows", json_integer(p->healthy.n));
	json_object_set_new(o, "mean_ms", number_json(p->last_window.mean_ns / 1e6));
	json_object_set_new(o, "usual_mean_ms",
	    p->last.answer >= RANGE_INSIDE ? number_json(p->last.usual_mean_ns / 1e6)
					   : json_null());
	return o;
}

static json_t *
groups_json(const struct group_profiles *g)
{
	json_t *groups = json_array();

	for (uint32_t i = 0; i < g->n; i++) {
		const struct group_profile *x = g->items[i];
		json_t *o = json_pack("{s:o, s:I}", "group",
		    json_sprintf("%016llx%016llx", (unsigned long long)x->key.a,
			(unsigned long long)x->key.b),
		    "requests", (json_int_t)x->profile.last_window.requests);

		json_array_append_new(groups, put_profile(o, &x->profile));
	}
	return groups;
}

/* The objectives of the type, with what is known of the newest hour. */
static json_t *
limits_json(const struct watcher *w, const struct watched_type *t)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < t->nslos; i++) {
		const struct slo *s = &w->slos[t->slos[i].rule];
		const struct slo_burn *b = &t->slos[i].burn;

		json_array_append_new(all,
		    json_pack("{s:o, s:o, s:I, s:I}", "limit_ms",
			number_json((double)s->limit_ns / 1e6), "goal", number_json(s->goal),
			"failures", (json_int_t)b->failures, "requests", (json_int_t)b->requests));
	}
	return all;
}

static json_t *
watched_json(const struct watcher *w, const struct watched_type *t)
{
	const struct latency_window *last = &t->all.last_window;
	json_t *o = json_pack("{s:o, s:o, s:o, s:I, s:o, s:i, s:o, s:o}", "type",
	    answer_text(t->name), "service", answer_text(t->service), "window",
	    wall_json(last->begin), "requests", (json_int_t)last->requests, "per_second",
	    number_json(last->per_second), "objectives", (int)t->nslos, "groups",
	    groups_json(&t->groups), "limits", limits_json(w, t));

	put_profile(o, &t->all);
	json_object_set_new(o, "alert", json_boolean(t->firing));
	return o;
}

json_t *
ask_alerts(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const struct watcher *w = &engine_parts_of(g)->watcher;
	json_t *types = json_array(), *alerts = json_array();

	(void)f;
	(void)c;
	(void)ask;
	for (uint32_t i = 0; i < WATCHED_MAX; i++)
		if (w->types[i] != NULL && (w->types[i]->watched || w->types[i]->nslos > 0))
			json_array_append_new(types, watched_json(w, w->types[i]));
	for (uint32_t i = w->nalerts; i-- > 0;)
		json_array_append_new(alerts, alert_json(g, &w->alerts[i]));
	return json_pack("{s:o, s:o, s:I, s:o, s:o, s:i, s:I, s:o}", "alerts", alerts, "watched",
	    types, "left_out", (json_int_t)w->left_out, "window_s",
	    number_json((double)w->settings.window_ns / 1e9), "learn_s",
	    number_json((double)w->settings.learn_ns / 1e9), "started", (int)w->starts.n,
	    "starts_per_day", (json_int_t)w->settings.self_start.per_day, "cv_max",
	    number_json(engine_parts_of(g)->options.conditions.cv_max));
}

json_t *
ask_alerts_accept(
    struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *name = json_string_value(json_object_get(ask, "type"));
	struct engine_parts *p = engine_parts(g);
	struct request_type *type;
	struct err e;
	int rc;

	if (name == NULL)
		return answer_refuse(ERR_INPUT, "the field \"type\" is missing");
	if ((rc = request_types_find(&p->types, p->labels, name, &type, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	if (!watcher_accept(&p->watcher, type->label, c->when))
		return answer_refuse(
		    ERR_MISSING, "%.80s: is not watched (watch.types in honed.conf)", name);
	return ask_alerts(g, f, c, ask);
}
