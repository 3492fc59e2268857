/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "mapping/mapper_roles.h"

enum { TYPES_MAX = 1024 }; /* any further type is "(other)" */

static const struct name_roles nothing = { 0 };

static uint32_t
field_of(const struct mapper_event *v, const char *name)
{
	for (uint32_t i = 0; name != NULL && i < v->nfields; i++)
		if (strcmp(v->fields[i], name) == 0)
			return i;
	return ITEM_NONE;
}

/* Copies a text of a program, with _ for each byte that is not printable ASCII. Returns the
 * length. */
static size_t
clean(char *out, const char *s, size_t len)
{
	len = len < MAP_TYPE_MAX_BYTES ? len : MAP_TYPE_MAX_BYTES;
	for (size_t i = 0; i < len; i++)
		out[i] = (unsigned char)s[i] < ' ' || (unsigned char)s[i] >= 0x7f ? '_' : s[i];
	return len;
}

static uint32_t
begin_type(struct mapper *p, const struct mapper_event *v, const struct map_rule *r)
{
	const char *type = r->type != NULL ? r->type : v->name;
	char words[MAP_TYPE_MAX_BYTES];

	return texts_intern(p->types, words, clean(words, type, strlen(type)));
}

static bool
add_begin(struct mapper *p, const struct mapper_event *v, uint32_t rule, struct event_role *role)
{
	const struct map_rule *r = &p->map->rules[rule];

	*role = (struct event_role){ .kind = BEGIN,
		.rule = rule,
		.id = field_of(v, r->begin_id),
		.gives = ITEM_NONE,
		.type = field_of(v, r->type_field),
		.type_text = ITEM_NONE };
	return r->type_field != NULL || (role->type_text = begin_type(p, v, r)) != ITEM_NONE;
}

static uint32_t
field_of_any(const struct mapper_event *v, const struct map_fields *names)
{
	uint32_t found = ITEM_NONE;

	for (uint32_t i = 0; i < names->n && found == ITEM_NONE; i++)
		found = field_of(v, names->names[i]);
	return found;
}

/* Returns how many roles it has, 0 or 1. */
static uint32_t
add_span(
    const struct mapper_event *v, const struct map_rule *r, uint32_t rule, struct event_role *role)
{
	bool starts = glob_matches(r->begin, v->name);

	if (!starts && !glob_matches(r->end, v->name))
		return 0;
	*role = (struct event_role){ .kind = starts ? SPAN_START : SPAN_END,
		.rule = rule,
		.id = field_of_any(v, starts ? &r->span_fields : &r->end_span_fields),
		.gives = field_of_any(v, &r->trace_fields),
		.parent = field_of_any(v, &r->parent_fields),
		.type = field_of_any(v, &r->type_fields),
		.type_text = ITEM_NONE };
	return 1;
}

/* The roles of the tracepoint, in the order of the file. ITEM_NONE: out of memory. */
static uint32_t
roles_of(struct mapper *p, const struct mapper_event *v, struct event_role *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->map->nrules; i++) {
		const struct map_rule *r = &p->map->rules[i];

		if (r->correlate == MAP_SPAN) {
			n += add_span(v, r, i, &out[n]);
			continue;
		}
		if (glob_matches(r->begin, v->name) && !add_begin(p, v, i, &out[n++]))
			return ITEM_NONE;
		for (uint32_t j = 0; j < r->nsteps; j++)
			if (glob_matches(r->steps[j].event, v->name))
				out[n++] = (struct event_role){ .kind = STEP,
					.rule = i,
					.id = field_of(v, r->steps[j].id),
					.gives = field_of(v, r->steps[j].gives),
					.id_kind = r->steps[j].id_kind,
					.gives_kind = r->steps[j].gives_kind };
		if (glob_matches(r->end, v->name))
			out[n++] = (struct event_role){ .kind = END,
				.rule = i,
				.id = field_of(v, r->end_id),
				.gives = ITEM_NONE,
				.id_kind = r->end_kind };
	}
	return n;
}

const struct name_roles *
roles_plan(struct mapper *p, const struct mapper_event *v)
{
	const struct name_roles *known = map_get(&p->plans, v->name_id);
	struct event_role roles[MAP_RULES_MAX * (MAP_STEPS_MAX + 2)];
	struct name_roles *plan = (struct name_roles *)&nothing;
	uint32_t n;

	if (known != NULL)
		return known;
	if ((n = roles_of(p, v, roles)) == ITEM_NONE)
		return NULL;
	if (n > 0) {
		if ((plan = arena_alloc(&p->arena, sizeof *plan + n * sizeof plan->roles[0])) ==
		    NULL)
			return NULL;
		plan->nroles = n;
		memcpy(plan->roles, roles, n * sizeof roles[0]);
	}
	return map_put(&p->plans, v->name_id, plan) ? plan : NULL;
}

/* The type is the value of the field; without one, the name of the rule. */
uint32_t
roles_type(struct mapper *p, const struct mapper_event *v, const struct event_role *role)
{
	const struct value *value = role->type < v->nfields ? &v->values[role->type] : NULL;
	const char *name = p->map->rules[role->rule].type != NULL ? p->map->rules[role->rule].type
	                                                          : p->map->rules[role->rule].name;
	char words[MAP_TYPE_MAX_BYTES + 1];
	size_t len = 0;
	uint32_t known;

	if (role->type_text != ITEM_NONE)
		return role->type_text;
	if (value != NULL && value->type == VALUE_TEXT)
		len = clean(words, value->text, value->len);
	else if (value != NULL && value->type == VALUE_INT)
		len = (size_t)snprintf(words, sizeof words, "%lld", (long long)value->i);
	else if (value != NULL && value->type == VALUE_UINT)
		len = (size_t)snprintf(words, sizeof words, "%llu", (unsigned long long)value->u);
	else if (value != NULL && value->type == VALUE_REAL)
		len = (size_t)snprintf(words, sizeof words, "%g", value->d);
	if (len == 0)
		len = clean(words, name, strlen(name));
	if ((known = texts_find(p->types, words, len)) != ITEM_NONE ||
	    texts_count(p->types) < TYPES_MAX)
		return known != ITEM_NONE ? known : texts_intern(p->types, words, len);
	return texts_intern(p->types, "(other)", 7);
}
