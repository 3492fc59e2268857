/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions to answers, JSON to JSON; docs/questions.md says what each holds. */
#include "controlplane/answer_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	question *answer;
} QUESTIONS[] = {
	{ "status", ask_status },
	{ "agents", ask_agents },
	{ "tracepoints", ask_tracepoints },
	{ "start", ask_start },
	{ "stop", ask_stop },
	{ "learn", ask_learn },
	{ "forest", ask_forest },
	{ "verdict", ask_verdict },
	{ "history", ask_history },
	{ "why", ask_why },
	{ "diff", ask_diff },
	{ "space", ask_space },
	{ "space_import", ask_space_import },
	{ "space_use", ask_space_use },
	{ "report", ask_report },
};

json_t *
answer_refuse(int code, const char *fmt, ...)
{
	const char *name = code == ERR_MISSING ? "missing" : code == ERR_BUSY ? "busy" : code == ERR_INPUT ? "input" :
	    code == ERR_STORE ? "store" : "failed";
	char words[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof words, fmt, ap);
	va_end(ap);
	return json_pack("{s:b, s:o, s:s}", "ok", 0, "error", answer_text(words), "code", name);
}

char *
answer_ask(struct engine *g, struct forest *f, const struct answer_context *c, const char *ask, size_t len)
{
	json_error_t why = { 0 };
	json_t *q = json_loadb(ask, len, 0, &why), *a = NULL;
	const char *name = json_string_value(json_object_get(q, "ask"));
	char *text;

	if (name == NULL)
		a = answer_refuse(ERR_INPUT, "the question is not a JSON object with \"ask\"%s%s", q == NULL ? ": " : "",
		    q == NULL ? why.text : "");
	for (size_t i = 0; a == NULL && i < sizeof QUESTIONS / sizeof QUESTIONS[0]; i++)
		if (strcmp(QUESTIONS[i].name, name) == 0)
			a = QUESTIONS[i].answer(g, f, c, q);
	if (a == NULL)
		a = answer_refuse(ERR_INPUT, "%.80s: no such question", name);
	if (json_object_get(a, "ok") == NULL)
		json_object_set_new(a, "ok", json_true());
	json_object_set_new(a, "version", json_integer(1));
	text = json_dumps(a, JSON_COMPACT | JSON_PRESERVE_ORDER);
	json_decref(a);
	json_decref(q);
	return text;
}

/* ---- pieces ---- */

json_t *
answer_text(const char *s)
{
	return s != NULL ? text_json(s, strlen(s)) : json_string("");
}

json_t *
answer_id(struct trace_id id)
{
	return id.high == 0 && id.low == 0 ? json_null() : trace_id_json(id.high, id.low);
}

json_t *
answer_number_id(uint64_t id)
{
	return id != 0 ? json_integer((json_int_t)id) : json_null();
}

bool
answer_whole(const json_t *ask, const char *key, int64_t min, int64_t max, int64_t otherwise, int64_t *ret)
{
	const json_t *v = json_object_get(ask, key);

	*ret = v != NULL ? json_integer_value(v) : otherwise;
	return v == NULL || (json_is_integer(v) && *ret >= min && *ret <= max);
}
