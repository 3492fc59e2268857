/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mapping/map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/suggestion.h"

struct check {
	const struct map_event *events;
	uint32_t nevents, wrong;
	void (*say)(void *of, bool wrong, int line, const char *text);
	void *of;
};

struct check_site {                /* the key of the file that is checked */
	const char *key, *pattern; /* pattern: of tracepoints */
	int line;
};

__attribute__((format(printf, 4, 5))) static void
report(struct check *c, bool wrong, int line, const char *format, ...)
{
	char text[800];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	c->wrong += wrong;
	c->say(c->of, wrong, line, text);
}

/* The next event that the pattern describes, from *at on. */
static const struct map_event *
next(const struct check *c, const char *pattern, uint32_t *at)
{
	while (*at < c->nevents)
		if (glob_matches(pattern, c->events[(*at)++].name))
			return &c->events[*at - 1];
	return NULL;
}

static void
check_event(struct check *c, struct check_site where)
{
	struct suggestion near = { .said = where.pattern };
	uint32_t at = 0;

	if (next(c, where.pattern, &at) != NULL)
		return;
	if (strchr(where.pattern, '*') != NULL) {
		report(c, true, where.line, "%s: %s describes no tracepoint of the program",
		    where.key, where.pattern);
		return;
	}
	for (uint32_t i = 0; i < c->nevents; i++)
		suggestion_try(&near, c->events[i].name);
	report(c, true, where.line, "%s: the program has no tracepoint %s%s%s%s", where.key,
	    where.pattern, near.best != NULL ? "; did you mean " : "",
	    near.best != NULL ? near.best : "", near.best != NULL ? "?" : "");
}

static const struct map_field *
field_of(const struct map_event *v, const char *name)
{
	for (uint32_t i = 0; i < v->nfields; i++)
		if (strcmp(v->fields[i].name, name) == 0)
			return &v->fields[i];
	return NULL;
}

static void
report_field(struct check *c, const struct map_event *v, const char *field, struct check_site where)
{
	struct suggestion near = { .said = field };
	char all[400] = "none";
	size_t len = 0;

	for (uint32_t i = 0; i < v->nfields; i++) {
		suggestion_try(&near, v->fields[i].name);
		if (len < sizeof all)
			len += (size_t)snprintf(all + len, sizeof all - len, "%s%s",
			    i == 0 ? "" : ", ", v->fields[i].name);
	}
	if (near.best != NULL)
		report(c, true, where.line, "%s: %s has no field %s; did you mean %s?", where.key,
		    v->name, field, near.best);
	else
		report(c, true, where.line, "%s: %s has no field %s; it has: %s", where.key,
		    v->name, field, all);
}

static const char *
type_text(enum map_field_type type)
{
	static const char *const words[] = { "neither number nor text", "a whole number",
		"an enumeration", "a real number", "a text" };

	return words[type];
}

/* The types of a field, as bits, in all events that the pattern matches; reports events without
 * it. */
static uint32_t
types_of(struct check *c, const char *field, struct check_site where)
{
	const struct map_event *v;
	uint32_t types = 0;

	for (uint32_t at = 0; (v = next(c, where.pattern, &at)) != NULL;) {
		const struct map_field *f = field_of(v, field);

		if (f == NULL)
			report_field(c, v, field, where);
		else
			types |= 1u << f->type;
	}
	return types;
}

enum { NUMBERS = 1u << MAP_FIELD_INT | 1u << MAP_FIELD_ENUM, TEXTS = 1u << MAP_FIELD_TEXT };

/* kinds: the types of fields with this id so far. A number and a text are never equal. */
static void
check_id(
    struct check *c, const char *field, const char *id, uint32_t *kinds, struct check_site where)
{
	uint32_t types = types_of(c, field, where);

	for (int t = MAP_FIELD_OTHER; t <= MAP_FIELD_TEXT; t++)
		if (types >> t & 1 && !(1u << t & (NUMBERS | TEXTS)))
			report(c, true, where.line,
			    "%s: field %s is %s; an id is a whole number or a text", where.key,
			    field, type_text(t));
	types &= NUMBERS | TEXTS;
	if ((*kinds & NUMBERS && types & TEXTS) || (*kinds & TEXTS && types & NUMBERS))
		report(c, true, where.line,
		    "%s: field %s is a %s, and id %s was a %s before: they are never equal",
		    where.key, field, types & TEXTS ? "text" : "number", id,
		    types & TEXTS ? "number" : "text");
	*kinds |= types;
}

static void
check_type(struct check *c, const struct map_rule *r)
{
	struct check_site where = { "type_field", r->begin, r->type_line };
	uint32_t types;

	if (r->type_field == NULL)
		return;
	types = types_of(c, r->type_field, where);
	if (types & 1u << MAP_FIELD_OTHER)
		report(c, true, r->type_line,
		    "type_field: %s is %s; want a text, an enumeration or a number", r->type_field,
		    type_text(MAP_FIELD_OTHER));
	if (types & (1u << MAP_FIELD_INT | 1u << MAP_FIELD_REAL))
		report(c, false, r->type_line,
		    "type_field: %s is a number: each of its values is a request type of its own",
		    r->type_field);
}

static void
check_ids(struct check *c, const struct map_rule *r)
{
	uint32_t kinds[MAP_STEPS_MAX + 1] = { 0 };

	check_id(c, r->begin_id, r->ids[0], &kinds[0],
	    (struct check_site){ "begin_id", r->begin, r->begin_id_line });
	for (uint32_t i = 0; i < r->nsteps; i++) {
		const struct map_step *s = &r->steps[i];
		struct check_site where = { "step", s->event, s->line };

		check_event(c, where);
		check_id(c, s->id, r->ids[s->id_kind], &kinds[s->id_kind], where);
		if (s->gives != NULL)
			check_id(c, s->gives, r->ids[s->gives_kind], &kinds[s->gives_kind], where);
	}
	check_id(c, r->end_id, r->ids[r->end_kind], &kinds[r->end_kind],
	    (struct check_site){ "end_id", r->end, r->end_id_line });
}

/* A tracepoint of the program that both patterns match; without a program, the pattern if they are
 * equal. NULL: none. */
static const char *
both(const struct check *c, const char *a, const char *b)
{
	const struct map_event *v;
	uint32_t at = 0;

	if (c->nevents == 0)
		return strcmp(a, b) == 0 ? a : NULL;
	while ((v = next(c, a, &at)) != NULL)
		if (glob_matches(b, v->name))
			return v->name;
	return NULL;
}

static void
check_pair(struct check *c, const struct map_rule *a, const struct map_rule *b)
{
	const char *shared = both(c, a->begin, b->begin);

	if (shared != NULL)
		report(c, true, b->begin_line,
		    "begin: %s begins [request %s] in line %d already: this one never does", shared,
		    a->name, a->begin_line);
	if ((shared = both(c, a->begin, b->end)) != NULL)
		report(c, false, b->end_line,
		    "end: %s also begins [request %s] (line %d): where it ends one it begins none",
		    shared, a->name, a->begin_line);
	if ((shared = both(c, a->end, b->begin)) != NULL)
		report(c, false, b->begin_line,
		    "begin: %s also ends [request %s] (line %d): where it ends one it begins none",
		    shared, a->name, a->end_line);
}

uint32_t
map_check(const struct mapping *m, const struct map_event *events, uint32_t n,
    void (*say)(void *of, bool wrong, int line, const char *text), void *of)
{
	struct check c = { events, n, 0, say, of };

	for (uint32_t i = 0; i < m->nrules; i++) {
		const struct map_rule *r = &m->rules[i];
		const char *shared = both(&c, r->begin, r->end);

		if (shared != NULL)
			report(&c, false, r->end_line,
			    "end: %s is described by begin, too: it ends a request where one is open",
			    shared);
		for (uint32_t j = 0; j < i; j++)
			check_pair(&c, &m->rules[j], r);
		if (r->correlate == MAP_THREAD && r->nested_line == 0)
			report(&c, false, r->line,
			    "[request %s] does not say whether it is nested: after a begin whose end comes on another "
			    "thread, as where the program answers later, all on its thread is taken for a part of it until limit. "
			    "nested = no gives it up at the next begin, nested = yes says that one may lie in another",
			    r->name);
		if (n == 0)
			continue;
		check_event(&c, (struct check_site){ "begin", r->begin, r->begin_line });
		if (r->correlate != MAP_SPAN)
			check_type(&c, r);
		if (r->correlate == MAP_FIELD)
			check_ids(&c, r);
		check_event(&c, (struct check_site){ "end", r->end, r->end_line });
	}
	return c.wrong;
}
