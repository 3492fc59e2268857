/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mapping/map_file.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggestion.h"

#define AT(field) offsetof(struct rule_text, field)
static const struct ini_key rule_keys[] = {
	[KEY_BEGIN] = { "request", "begin", INI_TEXT, AT(begin), "" },
	[KEY_END] = { "request", "end", INI_TEXT, AT(end), "" },
	[KEY_CORRELATE] = { "request", "correlate", INI_TEXT, AT(correlate), "" },
	[KEY_TYPE] = { "request", "type", INI_TEXT, AT(type), "" },
	[KEY_TYPE_FIELD] = { "request", "type_field", INI_TEXT, AT(type_field), "" },
	[KEY_BEGIN_ID] = { "request", "begin_id", INI_TEXT, AT(begin_id), "" },
	[KEY_END_ID] = { "request", "end_id", INI_TEXT, AT(end_id), "" },
	[KEY_CARRY] = { "request", "carry", INI_BOOL, AT(carry), "yes" },
	[KEY_NESTED] = { "request", "nested", INI_BOOL, AT(nested), "yes" },
	[KEY_LIMIT] = { "request", "limit", INI_TIME, AT(limit_ns), "60s", 1e6, 86400e9 },
	[KEY_TRACE_ID] = { "request", "trace_id", INI_TEXT, AT(trace_id), "" },
	[KEY_PARENT_ID] = { "request", "parent_id", INI_TEXT, AT(parent_id), "" },
	[KEY_SERVICE_FIELD] = { "request", "service_field", INI_TEXT, AT(service_field), "" },
};
static const struct ini_key step_key = { "request", "step", INI_TEXT,
	offsetof(struct step_text, text), "" };
static const struct ini_key service_key = { "program", "service", INI_TEXT,
	offsetof(struct map_file, service), "" };

static bool
is_name(const char *s)
{
	return s[0] != '\0' && strlen(s) <= MAP_NAME_MAX_BYTES &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
	           strlen(s);
}

static int
no_such(const char *what, const char *near, const char *allowed, struct err *e)
{
	return err_set(e, ERR_INPUT, "no %s; %s%s%s%s", what, near != NULL ? "did you mean " : "",
	    near != NULL ? near : "", near != NULL ? "? " : "", allowed);
}

static int
take_program(struct map_file *w, int line, struct err *e)
{
	if (w->program_line != 0)
		return err_set(e, ERR_INPUT,
		    "[program] was in line %d already; a file is of one program", w->program_line);
	w->program_line = line;
	w->in_rule = false;
	return 0;
}

static int
take_request(struct map_file *w, const char *name, int line, struct err *e)
{
	struct rule_text *r = &w->rules[w->nrules];

	if (!is_name(name))
		return err_set(e, ERR_INPUT,
		    "want [request NAME], a name of up to %d letters, digits, _ . and -",
		    MAP_NAME_MAX_BYTES);
	for (uint32_t i = 0; i < w->nrules; i++)
		if (strcmp(w->rules[i].name, name) == 0)
			return err_set(e, ERR_INPUT, "[request %s] was in line %d already", name,
			    w->rules[i].line);
	if (w->nrules == MAP_RULES_MAX)
		return err_set(
		    e, ERR_INPUT, "over %d requests: that many are allowed", MAP_RULES_MAX);
	w->nrules++;
	w->in_rule = true;
	r->line = line;
	if ((r->name = strdup(name)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	return ini_defaults(rule_keys, RULE_KEYS, r, e);
}

static int
take_section(void *of, const char *name, int line, struct err *e)
{
	struct suggestion near = { .said = name };
	char what[100];

	if (strcmp(name, "program") == 0)
		return take_program(of, line, e);
	if (strcmp(name, "request") == 0 || strncmp(name, "request ", 8) == 0)
		return take_request(of, name + 7 + strspn(name + 7, " "), line, e);
	suggestion_try(&near, "program");
	suggestion_try(&near, "request");
	snprintf(what, sizeof what, "section [%.60s]", name);
	return no_such(what, near.best, "there are [program] and [request NAME]", e);
}

static int
take_step(struct rule_text *r, int line, const struct ini_key **k, void **into, struct err *e)
{
	if (r->nsteps == MAP_STEPS_MAX)
		return err_set(e, ERR_INPUT, "over %d steps: that many are allowed", MAP_STEPS_MAX);
	r->steps[r->nsteps].line = line;
	*k = &step_key;
	*into = &r->steps[r->nsteps++];
	return 0;
}

static int
take_rule_key(struct rule_text *r, const char *name, int line, const struct ini_key **k,
    void **into, struct err *e)
{
	struct suggestion near = { .said = name };
	char what[100];

	if (strcmp(name, "step") == 0)
		return take_step(r, line, k, into, e);
	for (int i = 0; i < RULE_KEYS; i++) {
		suggestion_try(&near, rule_keys[i].name);
		if (strcmp(rule_keys[i].name, name) != 0)
			continue;
		if (r->line_of[i] != 0)
			return err_set(
			    e, ERR_INPUT, "%s was given in line %d already", name, r->line_of[i]);
		r->line_of[i] = line;
		*k = &rule_keys[i];
		*into = r;
		return 0;
	}
	suggestion_try(&near, "step");
	snprintf(what, sizeof what, "key \"%.60s\"", name);
	return no_such(what, near.best,
	    "[request] has: begin, end, correlate, type, type_field, begin_id, end_id, step, "
	    "carry, nested, limit, trace_id, parent_id, service_field",
	    e);
}

static int
take_key(void *of, const char *name, int line, const struct ini_key **k, void **into, struct err *e)
{
	struct suggestion near = { .said = name };
	struct map_file *w = of;
	char what[100];

	if (w->in_rule)
		return take_rule_key(&w->rules[w->nrules - 1], name, line, k, into, e);
	if (strcmp(name, "service") != 0) {
		suggestion_try(&near, "service");
		snprintf(what, sizeof what, "key \"%.60s\"", name);
		return no_such(what, near.best, "[program] has: service", e);
	}
	if (w->service_line != 0)
		return err_set(
		    e, ERR_INPUT, "service was given in line %d already", w->service_line);
	w->service_line = line;
	*k = &service_key;
	*into = w;
	return 0;
}

const char *
map_file_key(enum rule_key k)
{
	return rule_keys[k].name;
}

int
map_file_read(struct map_file *ret, const char *path, struct err *e)
{
	const struct ini_reader reader = { ret, take_section, take_key };

	return ini_walk(&reader, path, e);
}

void
map_file_release(struct map_file *w)
{
	for (uint32_t i = 0; i < w->nrules; i++) {
		struct rule_text *r = &w->rules[i];

		ini_release(rule_keys, RULE_KEYS, r);
		for (uint32_t j = 0; j < r->nsteps; j++)
			free(r->steps[j].text);
		free(r->name);
	}
	free(w->service);
}
