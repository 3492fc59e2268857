/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/answers/answer_inside.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

json_t *
answer_refuse(int code, const char *fmt, ...)
{
	const char *name = code == ERR_MISSING  ? "missing"
	                   : code == ERR_BUSY   ? "busy"
	                   : code == ERR_INPUT  ? "input"
	                   : code == ERR_STORE  ? "store"
	                   : code == ERR_DENIED ? "denied"
	                                        : "failed";
	char text[600];
	va_list ap;

	assert(code < 0 && fmt != NULL);
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return json_pack("{s:b, s:o, s:s}", "ok", 0, "error", answer_text(text), "code", name);
}

json_t *
answer_text(const char *s)
{
	return s != NULL ? text_json(s, strlen(s)) : json_string("");
}

json_t *
answer_incomplete(const uint64_t counts[INCOMPLETES])
{
	json_t *j = json_object();

	for (int i = INCOMPLETE_NONE + 1; i < INCOMPLETES; i++)
		json_object_set_new(
		    j, incomplete_word((enum incomplete)i), json_integer((json_int_t)counts[i]));
	return j;
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

json_t *
answer_lines(const char *lines)
{
	json_t *list = json_array();

	for (size_t n; lines != NULL && lines[0] != '\0'; lines += n + (lines[n] == '\n')) {
		n = strcspn(lines, "\n");
		json_array_append_new(list, text_json(lines, n));
	}
	return list;
}

json_t *
answer_congestion(const struct congestion *c)
{
	bool of_agent = c->reason == REASON_QUEUE_FULL || c->reason == REASON_LOAD_SHED;

	if (c->reason == REASON_NONE)
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "reason",
	    reason_word(c->reason), "node", of_agent ? answer_text(c->node) : json_null(), "queue",
	    of_agent ? json_string(queue_name(c->queue)) : json_null(), "fill",
	    number_json(c->fill), "others", (int)c->others, "backoff_s",
	    c->reason == REASON_LOAD_SHED ? number_json(c->backoff_s) : json_null(), "program",
	    c->program[0] != '\0' ? answer_text(c->program) : json_null(), "pid",
	    c->program[0] != '\0' ? json_integer((json_int_t)c->pid) : json_null());
}

bool
answer_whole(
    const json_t *ask, const char *key, int64_t min, int64_t max, int64_t otherwise, int64_t *ret)
{
	const json_t *v = json_object_get(ask, key);

	assert(min <= max && (v == NULL || json_is_integer(v)));
	*ret = v != NULL ? json_integer_value(v) : otherwise;
	return v == NULL || (*ret >= min && *ret <= max);
}

bool
answer_same_id(struct trace_id a, struct trace_id b)
{
	return a.low == b.low && (a.high == b.high || a.high == 0 || b.high == 0);
}

bool
answer_read_id(const char *s, struct trace_id *ret)
{
	size_t len = strlen(s);
	char half[17] = "";

	if ((len != 16 && len != 32) || strspn(s, "0123456789abcdefABCDEF") != len)
		return false;
	memcpy(half, s, 16);
	ret->high = len == 32 ? strtoull(half, NULL, 16) : 0;
	ret->low = strtoull(s + len - 16, NULL, 16);
	return ret->low != 0 || ret->high != 0;
}
