/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mapping/map_rule.h"

#include <stdio.h>
#include <string.h>

#include "base/suggestion.h"
#include "mapping/map_file.h"
#include "mapping/map_rule.h"

enum { EVENT_MAX_BYTES = 255 };

/* Puts "path:line: " in front of the text of e. */
static int
at(const struct mapping *m, int line, struct err *e)
{
	return err_prefix(e, "%s:%d", m->path, line);
}

static char *
keep(struct mapping *m, const char *s, size_t len)
{
	return arena_text(&m->arena, s, len);
}

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "no memory for a mapping");
}

int
map_rule_keep_event(struct mapping *m, const char *s, size_t len, char **ret, struct err *e)
{
	bool named = false, plain = len > 0 && len <= EVENT_MAX_BYTES && *s != ':' &&
	                            s[len - 1] != ':' &&
	                            (memchr(s, ':', len) != NULL || memchr(s, '*', len) != NULL);

	for (size_t i = 0; i < len; i++) {
		plain = plain && (unsigned char)s[i] > ' ' && (unsigned char)s[i] < 0x7f;
		named = named || (s[i] != '*' && s[i] != ':');
	}
	if (!plain || !named)
		return err_set(e, ERR_INPUT,
		    "%.*s is no tracepoint: want provider:event, or a pattern in which * stands for any text",
		    (int)(len < 80 ? len : 80), s);
	return (*ret = keep(m, s, len)) != NULL ? 0 : no_memory(e);
}

static int
keep_field(struct mapping *m, const char *s, size_t len, char **ret, struct err *e)
{
	bool plain = len > 0 && len <= EVENT_MAX_BYTES;

	for (size_t i = 0; i < len; i++)
		plain = plain && (s[i] == '_' || (s[i] >= '0' && s[i] <= '9') ||
				     (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z'));
	if (!plain)
		return err_set(e, ERR_INPUT,
		    "%.*s is no field: want a name of letters, digits and _",
		    (int)(len < 80 ? len : 80), s);
	return (*ret = keep(m, s, len)) != NULL ? 0 : no_memory(e);
}

/* The next word of *s, up to a blank or an arrow; length 0 at the end. Advances *s. */
static size_t
next_word(const char **s, const char **word)
{
	size_t len;

	*s += strspn(*s, " \t");
	*word = *s;
	for (len = 0; !strchr(" \t", (*s)[len]) &&
		      strncmp(*s + len, "->", 2) != 0;) /* strchr() also finds the final 0 */
		len++;
	*s += len;
	return len;
}

/* Reads "FIELD" or "FIELD as NAME": the field that holds an id, and the name of the id. */
static int
read_id(struct mapping *m, const char **s, char **field, char **name, struct err *e)
{
	const char *word, *rest;
	size_t len = next_word(s, &word);
	int rc;

	if (len == 0)
		return err_set(e, ERR_INPUT, "a field is missing: want FIELD, or FIELD as NAME");
	if ((rc = keep_field(m, word, len, field, e)) != 0)
		return rc;
	*name = *field;
	rest = *s;
	if (next_word(&rest, &word) != 2 || strncmp(word, "as", 2) != 0)
		return 0;
	if ((len = next_word(&rest, &word)) == 0)
		return err_set(e, ERR_INPUT, "a name is missing after \"as\": want FIELD as NAME");
	*s = rest;
	return keep_field(m, word, len, name, e);
}

static int
expect_end(const char *s, const char *want, struct err *e)
{
	s += strspn(s, " \t");
	return *s == '\0' ? 0 : err_set(e, ERR_INPUT, "\"%.60s\" is too much: want %s", s, want);
}

/* Names of the ids that the fields of a rule hold. */
struct rule_id_names {
	char *begin, *end, *id[MAP_STEPS_MAX], *gives[MAP_STEPS_MAX];
};

static int
read_step(
    struct mapping *m, const char *s, struct map_step *ret, char **id, char **gives, struct err *e)
{
	static const char want[] = "provider:event FIELD, or provider:event FIELD -> FIELD";
	const char *word;
	size_t len = next_word(&s, &word);
	int rc = map_rule_keep_event(m, word, len, &ret->event, e);

	if (rc != 0 || (rc = read_id(m, &s, &ret->id, id, e)) != 0)
		return rc;
	s += strspn(s, " \t");
	if (strncmp(s, "->", 2) != 0)
		return expect_end(s, want, e);
	s += 2;
	if ((rc = read_id(m, &s, &ret->gives, gives, e)) != 0)
		return rc;
	return expect_end(s, want, e);
}

static uint32_t
kind_of(const struct map_rule *r, const char *name)
{
	for (uint32_t i = 0; i < r->nids; i++)
		if (strcmp(r->ids[i], name) == 0)
			return i;
	return UINT32_MAX;
}

static uint32_t
add_kind(struct map_rule *r, char *name)
{
	uint32_t kind = kind_of(r, name);

	if (kind == UINT32_MAX)
		r->ids[kind = r->nids++] = name;
	return kind;
}

/* The number of the id that a field holds, which must be a known one. */
static int
find_kind(
    const struct map_rule *r, const char *field, const char *name, uint32_t *ret, struct err *e)
{
	char known[200];
	size_t len = 0;

	if ((*ret = kind_of(r, name)) != UINT32_MAX)
		return 0;
	*ret = 0;
	if (r->nids == 1 && strcmp(field, name) == 0)
		return 0;
	for (uint32_t i = 0; i < r->nids && len < sizeof known; i++)
		len += (size_t)snprintf(
		    known + len, sizeof known - len, "%s%s", i == 0 ? "" : ", ", r->ids[i]);
	return err_set(e, ERR_INPUT, "which id is %s? [request %s] has: %s; want e.g. \"%s as %s\"",
	    name, r->name, known, field, r->ids[0]);
}

static int
find_kinds(struct mapping *m, struct map_rule *r, const struct rule_id_names *names, int end_line,
    struct err *e)
{
	int rc;

	if ((r->ids = arena_calloc(&m->arena, 1 + r->nsteps, sizeof *r->ids)) == NULL)
		return no_memory(e);
	add_kind(r, names->begin);
	for (uint32_t i = 0; i < r->nsteps; i++)
		if (r->steps[i].gives != NULL)
			r->steps[i].gives_kind = add_kind(r, names->gives[i]);
	for (uint32_t i = 0; i < r->nsteps; i++)
		if ((rc = find_kind(r, r->steps[i].id, names->id[i], &r->steps[i].id_kind, e)) != 0)
			return at(m, r->steps[i].line, e);
	rc = find_kind(r, r->end_id, names->end, &r->end_kind, e);
	return rc == 0 ? 0 : at(m, end_line, e);
}

static int
read_steps(struct mapping *m, const struct rule_text *w, struct map_rule *r,
    struct rule_id_names *names, struct err *e)
{
	int rc;

	if ((r->steps = arena_calloc(&m->arena, w->nsteps + 1, sizeof *r->steps)) == NULL)
		return no_memory(e);
	r->nsteps = w->nsteps;
	for (uint32_t i = 0; i < w->nsteps; i++) {
		r->steps[i].line = w->steps[i].line;
		if ((rc = read_step(m, w->steps[i].text, &r->steps[i], &names->id[i],
			 &names->gives[i], e)) != 0)
			return err_prefix(e, "%s:%d: step", m->path, w->steps[i].line);
	}
	return 0;
}

static int
read_ids(struct mapping *m, const struct rule_text *w, struct map_rule *r, struct err *e)
{
	const char *begin = w->begin_id, *end = w->end_id;
	struct rule_id_names names = { 0 };
	int rc;

	if ((rc = read_id(m, &begin, &r->begin_id, &names.begin, e)) != 0 ||
	    (rc = expect_end(begin, "FIELD, or FIELD as NAME", e)) != 0)
		return err_prefix(e, "%s:%d: begin_id", m->path, w->line_of[KEY_BEGIN_ID]);
	if ((rc = read_id(m, &end, &r->end_id, &names.end, e)) != 0 ||
	    (rc = expect_end(end, "FIELD, or FIELD as NAME", e)) != 0)
		return err_prefix(e, "%s:%d: end_id", m->path, w->line_of[KEY_END_ID]);
	if ((rc = read_steps(m, w, r, &names, e)) != 0)
		return rc;
	return find_kinds(m, r, &names, w->line_of[KEY_END_ID], e);
}

/* Of a span: what is missing, and what does not apply. */
static int
check_span_keys(const struct mapping *m, const struct rule_text *w, struct err *e)
{
	static const enum rule_key must[] = { KEY_BEGIN, KEY_END, KEY_BEGIN_ID, KEY_END_ID,
		KEY_TRACE_ID, KEY_PARENT_ID };
	static const enum rule_key other[] = { KEY_CARRY, KEY_NESTED, KEY_LIMIT };

	for (size_t i = 0; i < sizeof must / sizeof *must; i++)
		if (w->line_of[must[i]] == 0) {
			err_set(
			    e, ERR_INPUT, "[request %s] needs %s", w->name, map_file_key(must[i]));
			return at(m, w->line, e);
		}
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (w->line_of[other[i]] != 0) {
			err_set(e, ERR_INPUT, "%s does not go with correlate = span",
			    map_file_key(other[i]));
			return at(m, w->line_of[other[i]], e);
		}
	if (w->nsteps > 0) {
		err_set(e, ERR_INPUT, "step goes with correlate = field only");
		return at(m, w->steps[0].line, e);
	}
	return 0;
}

/* Keys that only a span has. */
static int
check_no_span_keys(const struct mapping *m, const struct rule_text *w, struct err *e)
{
	static const enum rule_key only[] = { KEY_TRACE_ID, KEY_PARENT_ID, KEY_SERVICE_FIELD };

	for (size_t i = 0; i < sizeof only / sizeof *only; i++)
		if (w->line_of[only[i]] != 0) {
			err_set(e, ERR_INPUT, "%s goes with correlate = span only",
			    map_file_key(only[i]));
			return at(m, w->line_of[only[i]], e);
		}
	return 0;
}

/* Checks for keys that are missing, and for keys that do not apply. */
static int
check_keys(const struct mapping *m, const struct rule_text *w, bool field, struct err *e)
{
	static const enum rule_key must[] = { KEY_BEGIN, KEY_END, KEY_CORRELATE, KEY_BEGIN_ID,
		KEY_END_ID };
	static const enum rule_key only_field[] = { KEY_BEGIN_ID, KEY_END_ID, KEY_CARRY };

	for (size_t i = 0; i < (field ? 5 : 3); i++)
		if (w->line_of[must[i]] == 0) {
			err_set(e, ERR_INPUT, "[request %s] needs %s", w->name,
			    must[i] == KEY_CORRELATE ? "correlate = thread, field or span"
						     : map_file_key(must[i]));
			return at(m, w->line, e);
		}
	for (size_t i = 0; i < 3 && !field; i++)
		if (w->line_of[only_field[i]] != 0) {
			err_set(e, ERR_INPUT, "%s goes with correlate = field only",
			    map_file_key(only_field[i]));
			return at(m, w->line_of[only_field[i]], e);
		}
	if (!field && w->nsteps > 0) {
		err_set(e, ERR_INPUT, "step goes with correlate = field only");
		return at(m, w->steps[0].line, e);
	}
	if (field && w->line_of[KEY_NESTED] != 0) {
		err_set(e, ERR_INPUT, "nested goes with correlate = thread only");
		return at(m, w->line_of[KEY_NESTED], e);
	}
	if (w->line_of[KEY_TYPE] != 0 && w->line_of[KEY_TYPE_FIELD] != 0) {
		err_set(e, ERR_INPUT, "type and type_field (line %d): want one of them",
		    w->line_of[KEY_TYPE_FIELD]);
		return at(m, w->line_of[KEY_TYPE], e);
	}
	return 0;
}

static int
read_type(struct mapping *m, const struct rule_text *w, struct map_rule *r, struct err *e)
{
	size_t len = strlen(w->type);
	int rc = 0;

	if (w->line_of[KEY_TYPE] != 0) {
		for (size_t i = 0; i < len; i++)
			rc |= (unsigned char)w->type[i] < ' ' || (unsigned char)w->type[i] >= 0x7f;
		if (rc != 0 || len == 0 || len > MAP_TYPE_MAX_BYTES) {
			err_set(
			    e, ERR_INPUT, "type: want 1 to %d plain letters", MAP_TYPE_MAX_BYTES);
			return at(m, w->line_of[KEY_TYPE], e);
		}
		if ((r->type = keep(m, w->type, len)) == NULL)
			return no_memory(e);
	}
	if (r->correlate != MAP_SPAN && w->line_of[KEY_TYPE_FIELD] != 0 &&
	    (rc = keep_field(m, w->type_field, strlen(w->type_field), &r->type_field, e)) != 0)
		return err_prefix(e, "%s:%d: type_field", m->path, w->line_of[KEY_TYPE_FIELD]);
	return 0;
}

static int
read_correlate(
    const struct mapping *m, const struct rule_text *w, struct map_rule *r, struct err *e)
{
	struct suggestion near = { .said = w->correlate };

	r->correlate = strcmp(w->correlate, "field") == 0  ? MAP_FIELD
	               : strcmp(w->correlate, "span") == 0 ? MAP_SPAN
	                                                   : MAP_THREAD;
	if (w->line_of[KEY_CORRELATE] == 0 || r->correlate != MAP_THREAD ||
	    strcmp(w->correlate, "thread") == 0)
		return 0;
	suggestion_try(&near, "thread");
	suggestion_try(&near, "field");
	suggestion_try(&near, "span");
	err_set(e, ERR_INPUT, "correlate: unknown \"%.60s\"; %s%s%swant thread, field or span",
	    w->correlate, near.best != NULL ? "did you mean " : "",
	    near.best != NULL ? near.best : "", near.best != NULL ? "? " : "");
	return at(m, w->line_of[KEY_CORRELATE], e);
}

/* "FIELD | FIELD": the names of fields, of which the first counts that an event has. */
static int
read_fields(struct mapping *m, const struct rule_text *w, enum rule_key key, const char *text,
    struct map_fields *ret, struct err *e)
{
	int rc = 0;

	if (w->line_of[key] == 0)
		return 0;
	for (const char *s = text; rc == 0;) {
		size_t len;

		s += strspn(s, " \t");
		len = strcspn(s, " \t|");
		if (ret->n == MAP_ALTERNATIVES_MAX)
			rc = err_set(e, ERR_INPUT, "over %d fields", MAP_ALTERNATIVES_MAX);
		else if ((rc = keep_field(m, s, len, &ret->names[ret->n], e)) == 0)
			ret->n++;
		s += len;
		s += strspn(s, " \t");
		if (rc == 0 && *s == '\0')
			return 0;
		if (rc == 0 && *s != '|')
			rc = expect_end(s, "FIELD, or FIELD | FIELD", e);
		s += *s == '|';
	}
	return err_prefix(e, "%s:%d: %s", m->path, w->line_of[key], map_file_key(key));
}

static int
read_span(struct mapping *m, const struct rule_text *w, struct map_rule *r, struct err *e)
{
	int rc;

	if ((rc = read_fields(m, w, KEY_BEGIN_ID, w->begin_id, &r->span_fields, e)) != 0 ||
	    (rc = read_fields(m, w, KEY_END_ID, w->end_id, &r->end_span_fields, e)) != 0 ||
	    (rc = read_fields(m, w, KEY_TRACE_ID, w->trace_id, &r->trace_fields, e)) != 0 ||
	    (rc = read_fields(m, w, KEY_PARENT_ID, w->parent_id, &r->parent_fields, e)) != 0 ||
	    (rc = read_fields(m, w, KEY_SERVICE_FIELD, w->service_field, &r->service_fields, e)) !=
		0)
		return rc;
	return read_fields(m, w, KEY_TYPE_FIELD, w->type_field, &r->type_fields, e);
}

int
map_rule_read(struct mapping *m, const struct rule_text *w, struct map_rule *r, struct err *e)
{
	int rc;

	*r = (struct map_rule){ .line = w->line,
		.begin_line = w->line_of[KEY_BEGIN],
		.end_line = w->line_of[KEY_END],
		.begin_id_line = w->line_of[KEY_BEGIN_ID],
		.end_id_line = w->line_of[KEY_END_ID],
		.type_line = w->line_of[KEY_TYPE] + w->line_of[KEY_TYPE_FIELD],
		.carry = w->carry,
		.nested = w->nested,
		.nested_line = w->line_of[KEY_NESTED],
		.limit_ns = w->limit_ns };
	if ((r->name = keep(m, w->name, strlen(w->name))) == NULL)
		return no_memory(e);
	if ((rc = read_correlate(m, w, r, e)) != 0 ||
	    (rc = r->correlate == MAP_SPAN ? check_span_keys(m, w, e)
	                                   : check_no_span_keys(m, w, e)) != 0 ||
	    (r->correlate != MAP_SPAN &&
		(rc = check_keys(m, w, r->correlate == MAP_FIELD, e)) != 0))
		return rc;
	if ((rc = map_rule_keep_event(m, w->begin, strlen(w->begin), &r->begin, e)) != 0)
		return err_prefix(e, "%s:%d: begin", m->path, r->begin_line);
	if ((rc = map_rule_keep_event(m, w->end, strlen(w->end), &r->end, e)) != 0)
		return err_prefix(e, "%s:%d: end", m->path, r->end_line);
	if (strcmp(r->begin, r->end) == 0) {
		err_set(e, ERR_INPUT, "end: %s is its begin; want another tracepoint", r->end);
		return at(m, r->end_line, e);
	}
	if ((rc = read_type(m, w, r, e)) != 0 || r->correlate == MAP_THREAD)
		return rc;
	return r->correlate == MAP_SPAN ? read_span(m, w, r, e) : read_ids(m, w, r, e);
}
