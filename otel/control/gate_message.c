/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/control/gate_message.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "otel/spans/span_points.h"

#define COST_MAX_NS 1e8 /* 0.1 s a span: more is no cost of a span */

static int
malformed(struct err *e, const char *what)
{
	return err_set(e, ERR_INPUT, "a question of a gate: %s", what);
}

/* A text that is not empty, of at most `max` bytes: the rest is cut, at the end of a character. NULL: it is none, or out of memory. */
static char *
text_of(const json_t *from, const char *key, size_t max, struct arena *a)
{
	const json_t *text = json_object_get(from, key);
	size_t len = json_is_string(text) ? json_string_length(text) : 0;
	const char *s = json_string_value(text);

	if (len > max)
		for (len = max; len > 0 && ((unsigned char)s[len] & 0xc0) == 0x80;)
			len--;
	return len > 0 ? arena_text(a, s, len) : NULL;
}

/* As labels have them (formats/span_names.c). */
static void
clean_service(char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
		else if (*s == '/')
			*s = '.';
}

static bool
number_of(const json_t *from, const char *key, double most, double *ret)
{
	const json_t *n = json_object_get(from, key);

	*ret = n != NULL ? json_number_value(n) : 0;
	return n == NULL || (json_is_number(n) && *ret >= 0 && *ret <= most);
}

static bool
count_of(const json_t *from, const char *key, uint64_t most, uint64_t *ret)
{
	const json_t *n = json_object_get(from, key);

	*ret = n != NULL ? (uint64_t)json_integer_value(n) : 0;
	return n == NULL || (json_is_integer(n) && json_integer_value(n) >= 0 && *ret <= most);
}

static int
read_names(struct gate_question *q, const json_t *names, struct arena *a, struct err *e)
{
	size_t n = json_array_size(names);

	if (names != NULL && !json_is_array(names))
		return malformed(e, "names is no list");
	n = n < GATE_NAMES_MAX ? n : GATE_NAMES_MAX;
	if ((q->names = arena_calloc(a, n + 1, sizeof *q->names)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const json_t *name = json_array_get(names, i);
		const char *s = json_string_value(name);

		if (s == NULL)
			return malformed(e, "a name is no text");
		if (!point_name_fits(s, json_string_length(name)))
			continue;
		if ((q->names[q->nnames] = arena_text(a, s, json_string_length(name))) == NULL)
			return err_set(e, ERR_MEMORY, "out of memory");
		q->nnames++;
	}
	return 0;
}

static int
read_object(struct gate_question *q, const json_t *from, struct arena *a, struct err *e)
{
	char *service = text_of(from, "service", GATE_SERVICE_MAX, a);
	uint64_t pid;

	if (service == NULL)
		return malformed(e, "it has no service");
	clean_service(service);
	q->service = service;
	if ((q->instance = text_of(from, "instance", GATE_INSTANCE_MAX, a)) == NULL)
		return malformed(e, "it has no instance");
	if ((q->gate = text_of(from, "gate", GATE_INSTANCE_MAX, a)) == NULL)
		q->gate = "";
	if (!count_of(from, "pid", INT32_MAX, &pid) ||
	    !count_of(from, "version", INT64_MAX, &q->version) ||
	    !count_of(from, "spans", INT64_MAX, &q->spans) ||
	    !number_of(from, "on_ns", COST_MAX_NS, &q->on_ns) ||
	    !number_of(from, "off_ns", COST_MAX_NS, &q->off_ns))
		return malformed(e, "a number is out of range");
	q->pid = (uint32_t)pid;
	q->first = json_is_true(json_object_get(from, "first"));
	return read_names(q, json_object_get(from, "names"), a, e);
}

int
gate_question_read(
    struct gate_question *ret, struct arena *a, const void *data, size_t len, struct err *e)
{
	struct gate_question q = { 0 };
	json_error_t why;
	json_t *from = json_loadb(data, len, JSON_REJECT_DUPLICATES, &why);
	int rc;

	if (from == NULL)
		return malformed(e, why.text);
	rc = json_is_object(from) ? read_object(&q, from, a, e) : malformed(e, "it is no object");
	json_decref(from);
	if (rc == 0)
		*ret = q;
	return rc;
}

int
gate_answer_write(const struct gate_answer *w, struct buf *to, struct err *e)
{
	json_t *answer = json_pack("{s:I, s:I, s:I, s:f}", "version", (json_int_t)w->version,
		   "lease_ms", (json_int_t)w->lease_ms, "poll_ms", (json_int_t)w->poll_ms, "share",
		   w->share),
	       *on = w->listed ? json_array() : NULL;
	char *text = NULL;
	bool ok = answer != NULL;

	for (uint32_t i = 0; ok && i < w->non && on != NULL; i++)
		ok = json_array_append_new(on, json_string(w->on[i])) == 0;
	if (ok && w->listed)
		ok = json_object_set(answer, "on", on) == 0;
	if (ok && w->again)
		ok = json_object_set_new(answer, "again", json_true()) == 0;
	if (ok && (text = json_dumps(answer, JSON_COMPACT)) != NULL)
		buf_bytes(to, text, strlen(text));
	json_decref(on);
	json_decref(answer);
	ok = ok && text != NULL && !to->failed;
	free(text);
	return ok ? 0 : err_set(e, ERR_MEMORY, "out of memory");
}
