/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/state_text.h"

#include <math.h>
#include <string.h>

#include "cli/output.h"

static const char *
member(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

struct word_text {
	const char *word, *text;
};

/* The text of the word; the word itself, of a newer honed, if it is not in the list. */
static const char *
text_of_word(const struct word_text *all, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].word, word) == 0)
			return all[i].text;
	return word;
}

/* Appends the template; each "{name}" is replaced by put_field(), which ignores unknown names. */
static void
put_template(struct buf *out, const char *text, const json_t *o,
    void (*put_field)(struct buf *out, const json_t *o, const char *name))
{
	char name[16];

	while (*text != '\0') {
		size_t len = strcspn(text, "{"), n;

		buf_bytes(out, text, len);
		if (text[len] == '\0')
			break;
		text += len + 1;
		n = strcspn(text, "}");
		if (n < sizeof name) {
			memcpy(name, text, n);
			name[n] = '\0';
			put_field(out, o, name);
		}
		text += n + (text[n] == '}');
	}
}

/* ---- congestion, phases ---- */

void
congestion_text_put(struct buf *out, const json_t *c)
{
	const char *reason = member(c, "reason");
	double fill = number_of(c, "fill") * 100;

	if (!json_is_object(c))
		return;
	if (strcmp(reason, "mailbox-full") == 0)
		buf_printf(out, "the controller's mailbox is %.0f %% full", fill);
	else
		buf_printf(out, "agent %s%s: %s %.0f %% full", member(c, "node"),
		    strcmp(reason, "load-shed") == 0 ? " has shed load" : "", member(c, "queue"),
		    fill);
	if (json_is_string(json_object_get(c, "program")))
		buf_printf(out, " (%s, process %.0f)", member(c, "program"), number_of(c, "pid"));
	if (number_of(c, "others") > 0)
		buf_printf(out, ", and %.0f more", number_of(c, "others"));
	if (number_of(c, "backoff_s") > 0)
		buf_printf(
		    out, "; no tracepoint is added there for %.0f s", number_of(c, "backoff_s"));
}

static const char *
plural(double n)
{
	return n == 1 ? "" : "s";
}

/* How many slow requests have come of those that the search of a tail begins with. */
static void
put_gathered_tail(struct buf *out, const json_t *tail)
{
	if (!json_is_object(tail))
		return;
	buf_printf(out, "; %.0f of %.0f requests beyond p%.4g have come",
	    fmin(number_of(tail, "slow"), number_of(tail, "wanted")), number_of(tail, "wanted"),
	    number_of(tail, "quantile") * 100);
	if (!is_null(tail, "seconds_left"))
		buf_printf(out, ", about %.0f s more", ceil(number_of(tail, "seconds_left")));
}

void
phase_text_put(struct buf *out, const json_t *phase)
{
	const char *word = member(phase, "word");
	double cycle = number_of(phase, "cycle"), n = number_of(phase, "tracepoints"),
	       traces = number_of(phase, "traces"), groups = number_of(phase, "groups");

	if (!json_is_object(phase))
		buf_printf(out, "ended");
	else if (strcmp(word, "paused") == 0)
		buf_printf(
		    out, "paused%s", json_is_object(json_object_get(phase, "pause")) ? ": " : "");
	else if (strcmp(word, "enabling") == 0)
		buf_printf(out, "cycle %.0f: enabling %.0f tracepoint%s", cycle, n, plural(n));
	else
		buf_printf(out, "%s, cycle %.0f: %.0f trace%s in %.0f group%s", word, cycle, traces,
		    plural(traces), groups, plural(groups));
	congestion_text_put(out, json_object_get(phase, "pause"));
	put_gathered_tail(out, json_object_get(phase, "tail"));
}

/* ---- limits ---- */

static void
put_limit_field(struct buf *out, const json_t *over, const char *name)
{
	const char *limit = member(over, "limit");
	double n = number_of(over, name);

	if (strcmp(name, "spender") == 0)
		buf_printf(out, "%s", member(over, "spender"));
	else if (strcmp(limit, "network") == 0)
		buf_printf(out, "%.0f", n / 1e3);
	else if (strcmp(limit, "memory") == 0)
		buf_printf(out, "%.0f", n / 1048576);
	else
		buf_printf(out, "%.2f", n);
}

const char *
levels_held_text(const char *word)
{
	return strcmp(word, "congestion") == 0 ? "a queue is, or was, too full"
	       : strcmp(word, "learning") == 0 ? "hone learn runs"
	                                       : "honed is ending";
}

void
limit_text_put(struct buf *out, const json_t *over)
{
	static const struct word_text LIMITS[] = {
#define LIMIT(name, word, text) { word, text },
#include "wire/limits.tbl.h"
#undef LIMIT
	};

	if (json_is_object(over))
		put_template(out,
		    text_of_word(LIMITS, sizeof LIMITS / sizeof LIMITS[0], member(over, "limit")),
		    over, put_limit_field);
}

/* ---- troubles of nodes ---- */

static void
put_trouble_field(struct buf *out, const json_t *trouble, const char *name)
{
	if (strcmp(name, "text") == 0 || strcmp(name, "subject") == 0)
		buf_printf(out, "%s", member(trouble, name));
	else if (strcmp(name, "mib") == 0)
		buf_printf(out, "%.1f", number_of(trouble, "bytes") / 1048576);
	else if (strcmp(name, "seconds") == 0)
		buf_printf(out, "%.1f", number_of(trouble, name));
	else if (json_is_null(json_object_get(trouble, name)))
		buf_printf(out, "unknown");
	else
		buf_printf(out, "%.0f", number_of(trouble, name));
}

void
trouble_text_put(struct buf *out, const json_t *trouble)
{
	static const struct word_text TROUBLES[] = {
#define TROUBLE(name, number, word, text) { word, text },
#include "wire/troubles.tbl.h"
#undef TROUBLE
	};

	if (json_is_object(trouble))
		put_template(out,
		    text_of_word(
			TROUBLES, sizeof TROUBLES / sizeof TROUBLES[0], member(trouble, "kind")),
		    trouble, put_trouble_field);
}

/* ---- the audit ---- */

static void
put_row_field(struct buf *out, const json_t *row, const char *name)
{
	if (json_is_number(json_object_get(row, name)))
		buf_printf(out, "%.0f", number_of(row, name));
	else if (json_is_null(json_object_get(row, name)))
		buf_printf(out, "unknown");
	else
		buf_printf(out, "%s", member(row, name));
}

void
actor_text_put(struct buf *out, const json_t *row)
{
	static const struct word_text ACTORS[] = {
#define ACTOR(name, number, word, text) { word, text },
#include "forest/audit.tbl.h"
#undef ACTOR
	};

	put_template(out,
	    text_of_word(ACTORS, sizeof ACTORS / sizeof ACTORS[0], member(row, "actor")), row,
	    put_row_field);
}

void
action_text_put(struct buf *out, const json_t *row)
{
	static const struct word_text ACTIONS[] = {
#define ACTION(name, number, word, text) { word, text },
#include "forest/audit.tbl.h"
#undef ACTION
	};

	put_template(out,
	    text_of_word(ACTIONS, sizeof ACTIONS / sizeof ACTIONS[0], member(row, "action")), row,
	    put_row_field);
}
