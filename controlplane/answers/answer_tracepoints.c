/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints of all programs: which are on, and whether a hypothesis, learning or their log level wants them on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/glob.h"
#include "base/texts.h"
#include "controlplane/answers/answer_inside.h"

static const char *
provider_of(char all[TOGGLE_NAME_MAX + 1], const char *name)
{
	snprintf(all, TOGGLE_NAME_MAX + 1, "%.*s:*", (int)strcspn(name, ":"), name);
	return all;
}

bool
answer_planned(const struct engine *g, const char *name, uint64_t *owner)
{
	const struct plan *plan = engine_parts_of(g)->plan;
	char all[TOGGLE_NAME_MAX + 1];
	const char *at;

	if (!plan_wants(plan, name)) {
		if (!plan_wants(plan, provider_of(all, name)))
			return false;
		name = all;
	}
	for (uint32_t i = 0; (at = plan_at(plan, i, owner)) != NULL; i++)
		if (strcmp(at, name) == 0)
			break;
	return true;
}

json_t *
answer_level(uint8_t level)
{
	return level < LOGLEVELS ? json_string(loglevel_word(level)) : json_null();
}

json_t *
answer_level_rule(const struct level_rule *r)
{
	return r != NULL ? json_pack("{s:o, s:s}", "service", answer_text(r->pattern), "level",
			       loglevel_word(r->level))
	                 : json_null();
}

json_t *
answer_level_rules(const struct level_rules *r)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < r->n; i++)
		json_array_append_new(list, answer_level_rule(&r->items[i]));
	return list;
}

json_t *
answer_levels_held(const struct levels *l)
{
	return l->rules.n > 0 && l->held != LEVELS_ON ? json_string(levels_held_word(l->held))
	                                              : json_null();
}

/* ---- the list ---- */

/* The tracepoints that match. Beyond ANSWER_LISTED_MAX only enabled ones are listed; the others are counted. */
struct tracepoint_list {
	struct engine *g;
	const char *pattern;
	struct texts *names; /* all of them */
	struct texts
	    *by_level;   /* names that are on by their log level on some node, as nodes have them */
	json_t *entries; /* by name: those that are listed */
	uint32_t on;
	bool failed; /* out of memory */
};

/* O(nodes x names) */
static void
take_levels(struct tracepoint_list *l)
{
	const struct engine_parts *p = engine_parts_of(l->g);

	for (uint32_t i = 0; i < p->nodes.n; i++) {
		struct level_choice c = levels_of(&p->levels, i);

		for (uint32_t k = 0; k < c.n && p->nodes.items[i].connected; k++)
			l->failed |= texts_intern(l->by_level, c.names[k], strlen(c.names[k])) ==
			             UINT32_MAX;
	}
}

static bool
is_by_level(const struct tracepoint_list *l, const char *name)
{
	char all[TOGGLE_NAME_MAX + 1];

	if (texts_count(l->by_level) == 0)
		return false;
	provider_of(all, name);
	return texts_find(l->by_level, name, strlen(name)) != UINT32_MAX ||
	       texts_find(l->by_level, all, strlen(all)) != UINT32_MAX;
}

/* The entry of the tracepoint, made at its first call; NULL: it is not listed. */
static json_t *
entry_of(struct tracepoint_list *l, const char *name)
{
	uint32_t known = texts_count(l->names), id;

	if (l->pattern != NULL && !glob_matches(l->pattern, name))
		return NULL;
	if ((id = texts_intern(l->names, name, strlen(name))) == known) {
		uint64_t owner = OWNER_LEARN;
		bool planned = answer_planned(l->g, name, &owner);
		bool on = planned || is_by_level(l, name);

		l->on += on;
		if (on || json_object_size(l->entries) < ANSWER_LISTED_MAX)
			json_object_set_new(l->entries, name,
			    json_pack("{s:o, s:[], s:[], s:s, s:o, s:b, s:n, s:n}", "tracepoint",
				answer_text(name), "services", "nodes", "state", on ? "on" : "off",
				"hypothesis", answer_number_id(owner), "learning",
				planned && owner == OWNER_LEARN, "level", "by_level"));
	}
	l->failed |= id == UINT32_MAX;
	return json_object_get(l->entries, name);
}

/* Linear, since services are few; add_node() compares with the last only, since a node's tracepoints
 * are added one after the other. */
static void
add_service(json_t *services, json_t *service)
{
	for (size_t i = 0; i < json_array_size(services); i++)
		if (json_equal(json_array_get(services, i), service))
			return;
	json_array_append(services, service);
}

static void
add_node(json_t *nodes, json_t *node)
{
	size_t n = json_array_size(nodes);

	if (n == 0 || json_array_get(nodes, n - 1) != node)
		json_array_append(nodes, node);
}

/* The level that the first program gives it, and the first rule that has it on. */
static void
add_level(const struct tracepoint_list *l, json_t *entry, const char *name, uint8_t level,
    const struct level_rule *rule)
{
	if (json_is_null(json_object_get(entry, "level")))
		json_object_set_new(entry, "level", answer_level(level));
	if (rule != NULL && level_covers(rule->level, level) &&
	    json_is_null(json_object_get(entry, "by_level")) && is_by_level(l, name))
		json_object_set_new(entry, "by_level", answer_level_rule(rule));
}

static void
list_node(struct tracepoint_list *l, const struct node *n)
{
	const struct level_rules *rules = &engine_parts_of(l->g)->levels.rules;
	json_t *node = answer_text(n->name), *entry;

	for (uint32_t i = 0; i < n->nbinaries; i++) {
		const struct binary *b = n->binaries[i];
		const struct level_rule *rule = level_rules_find(rules, b->service);
		json_t *service = answer_text(b->service);

		for (uint32_t k = 0; k < b->n; k++)
			if ((entry = entry_of(l, b->names[k])) != NULL) {
				add_service(json_object_get(entry, "services"), service);
				add_node(json_object_get(entry, "nodes"), node);
				add_level(l, entry, b->names[k], b->levels[k], rule);
			}
		json_decref(service);
	}
	json_decref(node);
}

/* O(all tracepoints of all programs). */
json_t *
ask_tracepoints(
    struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	struct tracepoint_list l = { g, json_string_value(json_object_get(ask, "tracepoint")),
		texts_new(), texts_new(), json_object(), 0, false };
	const struct engine_parts *p = engine_parts_of(g);
	json_t *list = json_array(), *entry, *a = NULL;
	const char *name;

	(void)f;
	(void)c;
	l.failed = l.names == NULL || l.by_level == NULL;
	if (!l.failed)
		take_levels(&l);
	for (uint32_t i = 0; !l.failed && i < p->nodes.n; i++)
		list_node(&l, &p->nodes.items[i]);
	json_object_foreach (l.entries, name, entry)
		json_array_append(list, entry);
	if (!l.failed)
		a = json_pack("{s:O, s:I, s:I, s:I, s:o}", "tracepoints", list, "total",
		    (json_int_t)texts_count(l.names), "on", (json_int_t)l.on, "left_off",
		    (json_int_t)(texts_count(l.names) - json_array_size(list)), "levels_held",
		    answer_levels_held(&p->levels));
	json_decref(list);
	json_decref(l.entries);
	texts_free(l.names);
	texts_free(l.by_level);
	return a;
}
