/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts and stops diagnoses and learning. */
#include "controlplane/answers/answer_inside.h"

#include <stdio.h>
#include <string.h>

enum { EFFORT_MAX = 10000 };
static const double TAIL_LEAST = 0.9, TAIL_MOST = 0.9999; /* quantiles */

/* "flat, bisect and ..." */
static const char *
strategies(char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (unsigned i = 0; strategy_at(i) != NULL && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s",
		    i == 0                       ? ""
		    : strategy_at(i + 1) != NULL ? ", "
						 : " and ",
		    strategy_at(i)->name);
	return out;
}

static json_t *
start_options(struct start_options *o, const json_t *ask)
{
	char names[300];
	int64_t seed;

	o->strategy = json_string_value(json_object_get(ask, "strategy"));
	if (o->strategy != NULL && strategy_find(o->strategy) == NULL)
		return answer_refuse(ERR_INPUT, "%.40s: no such strategy; there are %s",
		    o->strategy, strategies(names, sizeof names));
	if (!answer_whole(ask, "k", 1, PICKS_MAX, 0, &o->tracepoints_per_cycle))
		return answer_refuse(ERR_INPUT, "\"k\" must be from 1 to %d", PICKS_MAX);
	if (!answer_whole(ask, "effort", 1, EFFORT_MAX, 0, &o->effort_cycles))
		return answer_refuse(
		    ERR_INPUT, "\"effort\" must be from 1 to %d cycles", EFFORT_MAX);
	o->effect_min = json_number_value(json_object_get(ask, "effect"));
	if (json_object_get(ask, "effect") != NULL && !(o->effect_min > 0 && o->effect_min <= 1))
		return answer_refuse(ERR_INPUT, "\"effect\" must be above 0, and at most 1");
	if (!answer_whole(ask, "causes", 1, CAUSES_ASKED_MAX, 0, &o->causes_max))
		return answer_refuse(
		    ERR_INPUT, "\"causes\" must be from 1 to %d", CAUSES_ASKED_MAX);
	o->tail_quantile = json_number_value(json_object_get(ask, "tail"));
	if (json_object_get(ask, "tail") != NULL &&
	    !(o->tail_quantile >= TAIL_LEAST && o->tail_quantile <= TAIL_MOST))
		return answer_refuse(ERR_INPUT, "\"tail\" must be from 0.9 to 0.9999");
	o->below = json_object_get(ask, "below") == NULL         ? LOOK_BELOW_AS_CONFIGURED
	           : json_is_true(json_object_get(ask, "below")) ? LOOK_BELOW
	                                                         : LOOK_BELOW_NOT;
	o->healthy = json_is_true(json_object_get(ask, "healthy"));
	o->no_baseline = json_is_false(json_object_get(ask, "baseline"));
	if (!answer_whole(ask, "seed", 1, INT64_MAX, 0, &seed))
		return answer_refuse(ERR_INPUT, "\"seed\" must be a whole number of at least 1");
	o->seed = (uint64_t)seed;
	return NULL;
}

json_t *
ask_start(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *type = json_string_value(json_object_get(ask, "type"));
	struct start_options o = { 0 };
	json_t *no;
	struct err e;
	uint64_t run;
	int rc;

	if (type == NULL)
		return answer_refuse(ERR_INPUT, "the field \"type\" is missing");
	if ((no = start_options(&o, ask)) != NULL)
		return no;
	if ((rc = engine_start(g, type, &o, c->now, c->when, &run, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	return json_pack("{s:o}", "run", answer_run(g, f, forest_run(f, run), c, false));
}

json_t *
ask_stop(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *type = json_string_value(json_object_get(ask, "type"));
	json_t *stopped = json_array();
	struct err e;
	int rc;

	for (uint32_t i = 0; i < engine_parts_of(g)->types.n; i++) {
		const struct diagnosis *d = engine_parts_of(g)->types.items[i].diagnosis;

		if (d != NULL && d->phase != PHASE_ENDED &&
		    (type == NULL || strcmp(type, engine_parts_of(g)->types.items[i].name) == 0))
			json_array_append_new(
			    stopped, answer_text(engine_parts_of(g)->types.items[i].name));
	}
	if ((rc = engine_stop(g, type, c->when, &e)) != 0) {
		json_decref(stopped);
		return answer_refuse(rc, "%s", e.text);
	}
	(void)f;
	return json_pack("{s:o}", "stopped", stopped);
}

json_t *
ask_learn(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	double seconds = json_number_value(json_object_get(ask, "seconds"));
	const json_t *name = json_object_get(ask, "name");
	struct err e;
	int rc;

	(void)f;
	if (!(seconds >= 0.1 && seconds <= 86400))
		return answer_refuse(ERR_INPUT, "\"seconds\" must be from 0.1 to 86400");
	if (name != NULL && (rc = answer_version(g, c, json_string_value(name), true, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	if ((rc = engine_learn_as(
		 g, (int64_t)(seconds * 1e9), json_string_value(name), c->now, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	return json_pack("{s:o}", "learning", answer_learning(g, c));
}
