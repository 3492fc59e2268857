/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Alerts, and what is watched. */
#include "controlplane/answers/alert_message.h"
#include "controlplane/answers/answer_inside.h"

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
	return json_pack("{s:o, s:o, s:b, s:s, s:i, s:o, s:o, s:o, s:i, s:o}", "type",
	    answer_text(t->name), "service", answer_text(t->service), "alert", t->state.firing,
	    "answer", range_answer_word(t->last.answer), "healthy_windows", (int)t->healthy.n,
	    "per_second", number_json(t->last_window.per_second), "mean_ms",
	    number_json(t->last_window.mean_ns / 1e6), "usual_mean_ms",
	    t->last.answer >= RANGE_INSIDE ? number_json(t->last.usual_mean_ns / 1e6) : json_null(),
	    "objectives", (int)t->nslos, "limits", limits_json(w, t));
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
