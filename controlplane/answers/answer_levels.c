/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Log levels: which tracepoints are on by them, what the next ones would cost, and another level for services. */
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "controlplane/answers/answer_inside.h"

/* Each service has a price for each of its levels, for which all cells are visited: VISITS_MAX of them, so that honed's thread is not held up. */
enum { SERVICES_LISTED = 200, VISITS_MAX = 4000000 };

/* ---- what is on ---- */

static json_t *
price_json(const struct level_facts *f, const struct level_price *p)
{
	return json_pack("{s:o, s:o, s:o, s:I, s:I}", "node",
	    p->node != UINT32_MAX ? answer_text(f->nodes->items[p->node].name) : json_null(),
	    "core", number_json(p->core), "per_second", number_json(p->per_second), "tracepoints",
	    (json_int_t)p->tracepoints, "unknown", (json_int_t)p->unknown);
}

/* Of one level of a service, on all nodes together: records a second. *counted: all of them were. */
static double
rate_of(const struct level_table *t, uint32_t service, int level, bool *counted)
{
	double sum = 0;

	*counted = t->services[service].nodes > 0;
	for (uint32_t i = 0; i < t->ncells; i++)
		if (t->cells[i].service == service) {
			sum += t->cells[i].per_second[level];
			*counted &= t->cells[i].counted[level];
		}
	return sum;
}

static json_t *
level_json(const struct level_table *t, const struct level_facts *f, uint32_t service, int level)
{
	const struct level_service *s = &t->services[service];
	struct level_price with = level_table_price_of(t, f, service, (uint8_t)level);
	bool on = f->levels->held == LEVELS_ON && level_covers(s->upto, (uint8_t)level), counted;
	double per_second = rate_of(t, service, level, &counted);

	return json_pack("{s:s, s:I, s:b, s:o, s:b, s:o, s:o, s:I}", "level",
	    loglevel_word((uint8_t)level), "tracepoints", (json_int_t)s->tracepoints[level], "on",
	    on, "per_second", counted || s->known ? number_json(per_second) : json_null(),
	    "counted", counted, "core", number_json(with.core), "node",
	    with.node != UINT32_MAX ? answer_text(f->nodes->items[with.node].name) : json_null(),
	    "unknown", (json_int_t)with.unknown);
}

static json_t *
service_json(const struct level_table *t, const struct level_facts *f, uint32_t service)
{
	const struct level_service *s = &t->services[service];
	json_t *levels = json_array();

	for (int l = 0; l < LOGLEVELS; l++)
		if (s->tracepoints[l] > 0)
			json_array_append_new(levels, level_json(t, f, service, l));
	return json_pack("{s:o, s:I, s:s, s:b, s:o}", "service", answer_text(s->name), "nodes",
	    (json_int_t)s->nodes, "level", loglevel_word(s->upto), "known", s->known, "levels",
	    levels);
}

/* Those that have a tracepoint with a level. *left_off: beyond SERVICES_LISTED. */
static json_t *
services_json(const struct level_table *t, const struct level_facts *f, const char *pattern,
    json_int_t *left_off)
{
	json_t *list = json_array();

	*left_off = 0;
	for (uint32_t i = 0; i < t->nservices; i++) {
		const struct level_service *s = &t->services[i];
		bool any = false;

		for (int l = 0; l < LOGLEVELS; l++)
			any |= s->tracepoints[l] > 0;
		if (!any || (pattern != NULL && !glob_matches(pattern, s->name)))
			continue;
		if (json_array_size(list) < SERVICES_LISTED &&
		    (json_array_size(list) + 1) * LOGLEVELS * t->ncells <= VISITS_MAX)
			json_array_append_new(list, service_json(t, f, i));
		else
			++*left_off;
	}
	return list;
}

static json_t *
levels_json(struct engine *g, const struct answer_context *c, const struct level_table *t,
    const struct level_facts *f, const char *pattern)
{
	const struct levels *l = f->levels;
	struct level_price now = level_table_price(t, f, &l->rules);
	double held_s = (double)mono_since_ns(l->held_until, c->now) / 1e9;
	uint32_t left_out = 0;
	json_int_t left_off;
	json_t *services = services_json(t, f, pattern, &left_off);

	for (uint32_t i = 0; i < l->n; i++)
		left_out += l->nodes[i].choice.left_out;
	return json_pack("{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:I, s:I}", "rules",
	    answer_level_rules(&l->rules), "held",
	    l->held != LEVELS_ON ? json_string(levels_held_word(l->held)) : json_null(), "held_s",
	    l->held == LEVELS_HELD_CONGESTION && held_s > 0 ? number_json(held_s) : json_null(),
	    "stored", l->stored == l->version, "budget",
	    number_json(engine_parts_of(g)->options.levels_share), "price", price_json(f, &now),
	    "services", services, "left_off", left_off, "left_out", (json_int_t)left_out);
}

/* ---- another level ---- */

static bool
any_matches(const struct level_table *t, const char *pattern)
{
	for (uint32_t i = 0; i < t->nservices; i++)
		if (glob_matches(pattern, t->services[i].name))
			return true;
	return false;
}

struct level_change {
	const char *pattern;
	uint8_t level;
	bool force;
	struct level_rules rules; /* with it */
	struct level_price before, after;
};

/*
 * 1. What costs less than what is on, or as much, and of which not more is unknown, may always be set.
 * 2. No program has that name: most often that is a slip.
 * 3. Over the budget.
 * 4. What it costs is not known.
 */
static json_t *
refuse_change(const struct engine *g, const struct level_table *t, const struct level_facts *f,
    const struct level_change *x)
{
	double budget = engine_parts_of(g)->options.levels_share;

	if (x->force || x->level == LOGLEVEL_NONE)
		return NULL;
	if (!any_matches(t, x->pattern))
		return answer_refuse(ERR_MISSING,
		    "%.127s: no program of that name has tracepoints on any node; --force sets its level all the same",
		    x->pattern);
	if (x->after.core > budget && x->after.core > x->before.core)
		return answer_refuse(ERR_FULL,
		    "%.127s: with level %s, %.0f records/s on all nodes; on node %s they would cost %.3g %% of a core, and "
		    "levels.budget is %.3g %%; --force sets it all the same",
		    x->pattern, loglevel_word(x->level), x->after.per_second,
		    f->nodes->items[x->after.node].name, x->after.core * 100, budget * 100);
	if (x->after.unknown > x->before.unknown)
		return answer_refuse(ERR_FULL,
		    "%.127s: how often %u of %u tracepoints are passed is not known; run hone learn under load, or --force sets "
		    "the level all the same",
		    x->pattern, x->after.unknown, x->after.tracepoints);
	return NULL;
}

static json_t *
change_json(const struct level_facts *f, const struct level_change *x, bool set)
{
	return json_pack("{s:o, s:s, s:b, s:o, s:o}", "service", answer_text(x->pattern), "level",
	    loglevel_word(x->level), "set", set, "before", price_json(f, &x->before), "after",
	    price_json(f, &x->after));
}

static json_t *
change(struct engine *g, const struct level_table *t, const struct level_facts *f,
    const json_t *ask, json_t **ret)
{
	const char *word = json_string_value(json_object_get(ask, "level"));
	bool set = json_is_true(json_object_get(ask, "set"));
	struct level_change x = { .pattern = json_string_value(json_object_get(ask, "service")),
		.force = json_is_true(json_object_get(ask, "force")),
		.rules = f->levels->rules };
	json_t *no;
	struct err e;
	int rc;

	if (x.pattern == NULL || word == NULL)
		return answer_refuse(
		    ERR_INPUT, "a level is set with both \"service\" and \"level\"");
	if (!loglevel_read(word, &x.level))
		return answer_refuse(ERR_INPUT,
		    "%.40s: is no level: emerg, alert, crit, err, warning, notice, info, debug-system, debug-program, "
		    "debug-process, debug-module, debug-unit, debug-function, debug-line, debug, or off",
		    word);
	if ((rc = level_rules_set(&x.rules, x.pattern, x.level, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	x.before = level_table_price(t, f, &f->levels->rules);
	x.after = level_table_price(t, f, &x.rules);
	if (set && (no = refuse_change(g, t, f, &x)) != NULL)
		return no;
	if (set && (rc = engine_set_level(g, x.pattern, x.level, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	*ret = change_json(f, &x, set);
	return NULL;
}

json_t *
ask_levels(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	struct level_facts facts = engine_level_facts(g);
	struct level_table t;
	json_t *answer, *changed = NULL;
	struct err e;

	(void)f;
	if (level_table_make(&t, &facts, &e) != 0) {
		level_table_release(&t);
		return NULL;
	}
	if (json_object_get(ask, "level") != NULL || json_is_true(json_object_get(ask, "set"))) {
		answer = change(g, &t, &facts, ask, &changed);
		level_table_release(&t);
		if (answer != NULL)
			return answer;
		/* What is on may be another level now. */
		if (level_table_make(&t, &facts, &e) != 0) {
			level_table_release(&t);
			json_decref(changed);
			return NULL;
		}
	}
	answer = levels_json(g, c, &t, &facts, json_string_value(json_object_get(ask, "service")));
	json_object_set_new(answer, "change", changed != NULL ? changed : json_null());
	level_table_release(&t);
	return answer;
}
