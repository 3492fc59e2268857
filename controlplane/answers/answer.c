/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dispatches questions, checks their fields and the role of the user. docs/questions.md describes
 * the answers. */
#include "controlplane/answers/answer.h"

#include <assert.h>
#include <string.h>

#include "controlplane/answers/answer_inside.h"
#include "wire/question.h"

static bool
is_text(const json_t *v)
{
	return json_is_string(v);
}
static bool
is_whole(const json_t *v)
{
	return json_is_integer(v);
}
static bool
is_number(const json_t *v)
{
	return json_is_number(v);
}
static bool
is_bool(const json_t *v)
{
	return json_is_boolean(v);
}
static bool
is_list(const json_t *v)
{
	return json_is_array(v);
}

static const struct question_info {
	const char *name;
	question *answer;
	enum role role; /* the least that may ask it */
	const char
	    *changing;      /* the field that makes the question a change if it is true; "": none */
	const char *fields; /* its permitted fields, separated by blanks */
} QUESTIONS[] = {
#define QUESTION(name, role, changing, fields) { #name, ask_##name, ROLE_##role, changing, fields },
#include "wire/questions.tbl.h"
};

/* The type of each field, the same in all questions. */
static const struct {
	const char *name, *what;
	bool (*is)(const json_t *v);
} FIELDS[] = {
	{ "type", "a string", is_text },
	{ "strategy", "a string", is_text },
	{ "name", "a string", is_text },
	{ "trace", "a string", is_text },
	{ "tracepoint", "a string", is_text },
	{ "path", "a string", is_text },
	{ "k", "a whole number", is_whole },
	{ "seed", "a whole number", is_whole },
	{ "effort", "a whole number", is_whole },
	{ "effect", "a number", is_number },
	{ "causes", "a whole number", is_whole },
	{ "tail", "a number", is_number },
	{ "below", "true or false", is_bool },
	{ "healthy", "true or false", is_bool },
	{ "baseline", "true or false", is_bool },
	{ "run", "a whole number", is_whole },
	{ "limit", "a whole number", is_whole },
	{ "skip", "a whole number", is_whole },
	{ "seconds", "a number", is_number },
	{ "since", "a number", is_number },
	{ "samples", "true or false", is_bool },
	{ "reset", "true or false", is_bool },
	{ "quantile", "a number", is_number },
	{ "over_ms", "a number", is_number },
	{ "count", "a whole number", is_whole },
	{ "capture", "a whole number", is_whole },
	{ "requests", "true or false", is_bool },
	{ "runs", "a list", is_list },
	{ "service", "a string", is_text },
	{ "level", "a string", is_text },
	{ "set", "true or false", is_bool },
	{ "force", "true or false", is_bool },
};

/* Whether the word is in the list, whose words are separated by blanks. */
static bool
is_listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; *list != '\0'; list += strspn(list, " ")) {
		size_t n = strcspn(list, " ");

		if (n == len && memcmp(list, word, len) == 0)
			return true;
		list += n;
	}
	return false;
}

/*
 * Returns the refusal of an unknown field or a wrong type, or NULL: there is none. An unknown field must not count
 * as absent: "stop" without a type stops all diagnoses.
 */
static json_t *
refuse_fields(const json_t *ask, const char *asked, const char *fields)
{
	const char *name;
	json_t *v;

	json_object_foreach ((json_t *)ask, name, v) {
		if (strcmp(name, "ask") == 0)
			continue;
		if (!is_listed(fields, name))
			return answer_refuse(ERR_INPUT, "%s has no field \"%.80s\"%s%s", asked,
			    name, fields[0] != '\0' ? "; it has " : "", fields);
		for (size_t i = 0; i < sizeof FIELDS / sizeof FIELDS[0]; i++)
			if (strcmp(FIELDS[i].name, name) == 0 && !FIELDS[i].is(v))
				return answer_refuse(
				    ERR_INPUT, "\"%s\" must be %s", name, FIELDS[i].what);
	}
	return NULL;
}

static json_t *
refuse_role(const struct answer_context *c, const char *name, enum role needed)
{
	struct err e = { 0 };

	roles_refuse(c->roles, &c->who, needed, name, &e);
	return answer_refuse(ERR_DENIED, "%s", e.text);
}

static json_t *
answer_to(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask,
    const struct question_info *q)
{
	bool changes = q->role == ROLE_DIAGNOSE || json_is_true(json_object_get(ask, q->changing));
	enum role needed = changes ? ROLE_DIAGNOSE : q->role;
	bool refused = c->who.role < needed;
	json_t *a = refused ? refuse_role(c, q->name, needed)
	                    : refuse_fields(ask, q->name, q->fields);

	if (a == NULL)
		a = q->answer(g, f, c, ask);
	if (a == NULL)
		a = answer_refuse(ERR_MEMORY, "%s: no memory for the answer", q->name);
	if ((changes || refused) && c->part != ANSWER_READ)
		answer_audit(f, c, ask, a, refused);
	return a;
}

static json_t *
answer_named(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask,
    const char *name)
{
	for (size_t i = 0; i < sizeof QUESTIONS / sizeof QUESTIONS[0]; i++)
		if (strcmp(QUESTIONS[i].name, name) == 0)
			return answer_to(g, f, c, ask, &QUESTIONS[i]);
	return answer_refuse(ERR_INPUT, "%.80s: no such question", name);
}

/* The answer as text, which takes it. NULL: out of memory. */
static char *
text_of(json_t *a)
{
	char *text;

	if (json_object_get(a, "ok") == NULL)
		json_object_set_new(a, "ok", json_true());
	json_object_set_new(a, "version", json_integer(ANSWER_VERSION));
	text = json_dumps(a, JSON_COMPACT | JSON_PRESERVE_ORDER);
	json_decref(a);
	return text;
}

char *
answer_ask(
    struct engine *g, struct forest *f, const struct answer_context *c, const char *ask, size_t len)
{
	json_error_t why = { 0 };
	json_t *q = json_loadb(ask, len, 0, &why), *a;
	const char *name = json_string_value(json_object_get(q, "ask"));

	assert(g != NULL && f != NULL && c != NULL && ask != NULL);
	if (name != NULL)
		a = answer_named(g, f, c, q, name);
	else
		a = answer_refuse(ERR_INPUT, "the question is not a JSON object with \"ask\"%s%s",
		    q == NULL ? ": " : "", q == NULL ? why.text : "");
	json_decref(q);
	return text_of(a);
}

char *
answer_failure(const struct err *e)
{
	return text_of(answer_refuse(e->code, "%s", e->text));
}

enum answer_length
answer_length(const char *ask, size_t len)
{
	json_t *q = json_loadb(ask, len, 0, NULL);
	const char *name = json_string_value(json_object_get(q, "ask"));
	enum answer_length length = ANSWER_SHORT;

	if (name != NULL && strcmp(name, "requests") == 0)
		length = ANSWER_LONG;
	else if (name != NULL && strcmp(name, "report") == 0)
		length = json_is_true(json_object_get(q, "reset")) ? ANSWER_LONG_CHANGES
		                                                   : ANSWER_LONG;
	json_decref(q);
	return length;
}

bool
answer_is_ok(const char *text)
{
	json_t *a = json_loads(text, 0, NULL);
	bool ok = json_is_true(json_object_get(a, "ok"));

	json_decref(a);
	return ok;
}
