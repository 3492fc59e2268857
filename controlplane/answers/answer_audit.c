/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The audit: makes rows of questions, and answers what they are. */
#include "controlplane/answers/answer_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_MAX = 100000, LIMIT_DEFAULT = 50, ASKED_TOO_LONG = 3, TYPES_TEXT_MAX = 4096 };

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

/* The request types that were stopped, one on each line; as many whole ones as TYPES_TEXT_MAX has
 * room for. */
static void
stopped_types(const json_t *answer, char out[TYPES_TEXT_MAX])
{
	const json_t *stopped = json_object_get(answer, "stopped");
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < json_array_size(stopped); i++) {
		const char *type = json_string_value(json_array_get(stopped, i));
		size_t n = strlen(type);

		if (len + n + 2 > TYPES_TEXT_MAX)
			break;
		if (len > 0)
			out[len++] = '\n';
		memcpy(out + len, type, n + 1);
		len += n;
	}
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
	struct audit row = { .when = c->when, .times = 1 };
	char *asked, types[TYPES_TEXT_MAX];

	if (c->book == NULL)
		return;
	asked = json_dumps(ask, JSON_COMPACT | JSON_PRESERVE_ORDER);
	row.run = done ? sign(f, &c->who, answer) : 0;
	row.outcome = done ? AUDIT_DONE : refused ? AUDIT_REFUSED : AUDIT_FAILED;
	row.text = json_string_value(json_object_get(answer, "error"));
	stopped_types(answer, types);
	row.types = types;
	if (asked != NULL) {
		cut(asked, AUDIT_ASKED_MAX);
		row.asked = asked;
		audit_asked(c->book, f, &c->who, &row, c->now, NULL);
	}
	free(asked);
}

/* ---- asked ---- */

static json_t *
number_or_null(int64_t n)
{
	return n >= 0 ? json_integer((json_int_t)n) : json_null();
}

static json_t *
word_or_null(const char *word)
{
	return word[0] != '\0' ? json_string(word) : json_null();
}

static json_t *
cause_json(const struct audit *a)
{
	struct congestion c = { .reason = a->cause, .queue = a->queue, .fill = a->fill };

	if (a->node != NULL)
		snprintf(c.node, sizeof c.node, "%s", a->node);
	return answer_congestion(&c);
}

static json_t *
row_json(const struct audit *a)
{
	json_t *row = json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:I, s:o, s:o}", "when",
	    wall_json(a->when), "user", answer_text(a->user), "uid", number_or_null(a->uid), "pid",
	    number_or_null(a->pid), "asked", answer_text(a->asked), "outcome",
	    audit_word(a->outcome), "run", answer_number_id(a->run), "times", (json_int_t)a->times,
	    "reason", answer_reason(a->reason), "text", answer_text(a->text));

	json_object_set_new(row, "actor", word_or_null(audit_actor_word(a->actor)));
	json_object_set_new(row, "action", word_or_null(audit_action_word(a->action)));
	json_object_set_new(row, "node",
	    a->node != NULL && a->node[0] != '\0' ? answer_text(a->node) : json_null());
	json_object_set_new(row, "count",
	    a->action == ACTION_DISABLE_COUNT ? json_integer((json_int_t)a->count) : json_null());
	json_object_set_new(row, "cause", cause_json(a));
	json_object_set_new(row, "types", answer_lines(a->types));
	return row;
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
