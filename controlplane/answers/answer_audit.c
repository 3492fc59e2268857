/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The audit: makes rows of questions, and answers what they are. */
#include "controlplane/answers/answer_inside.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT_MAX = 100000, LIMIT_DEFAULT = 50, ASKED_TOO_LONG = 3 };

/* Shortens to `max` bytes at the start of a character of UTF-8. */
static void
cut(char *text, size_t max)
{
	size_t len = strlen(text);

	if (len <= max)
		return;
	len = max - ASKED_TOO_LONG;
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	strcpy(text + len, "...");
}

/* The row's text: the error, or what was stopped. The caller's. */
static char *
outcome_text(const json_t *answer)
{
	const json_t *stopped = json_object_get(answer, "stopped");
	const char *error = json_string_value(json_object_get(answer, "error"));
	size_t len = 0, n = json_array_size(stopped);
	char *words;

	if (error != NULL)
		return strdup(error);
	for (size_t i = 0; i < n; i++)
		len += json_string_length(json_array_get(stopped, i)) + 2;
	if ((words = calloc(1, len + 16)) == NULL || n == 0)
		return words;
	strcpy(words, "stopped ");
	for (size_t i = 0; i < n; i++)
		strcat(strcat(words, i > 0 ? ", " : ""),
		    json_string_value(json_array_get(stopped, i)));
	cut(words, AUDIT_ASKED_MAX);
	return words;
}

/* Records in the run who started it. Returns its id, or 0: the answer has no run. */
static uint64_t
sign(struct forest *f, const struct who *w, const json_t *answer)
{
	uint64_t id = (uint64_t)json_integer_value(
	    json_object_get(json_object_get(answer, "run"), "run"));
	struct run *r = id != 0 ? forest_run(f, id) : NULL;

	if (r == NULL)
		return 0;
	json_object_set_new(json_object_get(answer, "run"), "by", answer_text(w->user));
	hypothesis_text(&r->by, w->user); /* without memory only the audit has it */
	forest_touch_run(f, r);
	return id;
}

void
answer_audit(struct forest *f, const struct answer_context *c, const json_t *ask,
    const json_t *answer, bool refused)
{
	bool done = json_object_get(answer, "error") == NULL;
	char *asked, *words;
	uint64_t run;

	if (c->book == NULL)
		return;
	asked = json_dumps(ask, JSON_COMPACT | JSON_PRESERVE_ORDER);
	words = outcome_text(answer);
	run = done ? sign(f, &c->who, answer) : 0;
	if (asked != NULL && words != NULL) {
		cut(asked, AUDIT_ASKED_MAX);
		audit_asked(c->book, f, &c->who, asked,
		    done      ? AUDIT_DONE
		    : refused ? AUDIT_REFUSED
			      : AUDIT_FAILED,
		    run, 1, words, c->now, c->when, NULL);
	}
	free(asked);
	free(words);
}

/* ---- asked ---- */

static json_t *
number_or_null(int64_t n)
{
	return n >= 0 ? json_integer((json_int_t)n) : json_null();
}

static json_t *
row_json(const struct audit *a)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:I, s:o, s:o}", "when",
	    wall_json(a->when), "user", answer_text(a->user), "uid", number_or_null(a->uid), "pid",
	    number_or_null(a->pid), "asked", answer_text(a->asked), "outcome",
	    audit_word(a->outcome), "run", answer_number_id(a->run), "times", (json_int_t)a->times,
	    "reason", answer_reason(a->reason), "text", answer_text(a->text));
}

/* Newest first. left_off: number of older rows in memory. */
json_t *
ask_audit(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	double since_s = json_number_value(json_object_get(ask, "since"));
	json_t *rows = json_array();
	const struct audit *a;
	int64_t limit, left_off = 0;
	uint64_t at = 0;

	(void)g;
	(void)c;
	if (!answer_whole(ask, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &limit)) {
		json_decref(rows);
		return answer_refuse(ERR_INPUT, "\"limit\" must be from 1 to %d", LIMIT_MAX);
	}
	while ((a = forest_audit_next(f, &at)) != NULL)
		if ((double)a->when.ns <
		    since_s * 1e9) /* not the end: the calendar clock may have been set back */
			continue;
		else if (json_array_size(rows) < (size_t)limit)
			json_array_append_new(rows, row_json(a));
		else
			left_off++;
	return json_pack("{s:I, s:o}", "left_off", (json_int_t)left_off, "rows", rows);
}
