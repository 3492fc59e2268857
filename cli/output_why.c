/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints what is known about a trace (its hypotheses and its times) or about a tracepoint. */
#include "cli/output.h"
#include "cli/state_text.h"
#include "cli/verdict_text.h"

#include <stdlib.h>
#include <string.h>

enum { BAR_CELLS = 10, EDGES_SHOWN = 5 };

/* A time beside its usual value, as in "80.1 ms, usually 1.20 ms (67 times that)". */
static const char *
compared_with_usual(struct pen *p, const json_t *o, const char *key, const char *usual_key)
{
	double here = number_of(o, key), usual = number_of(o, usual_key);
	const char *text = is_null(o, key) ? "not kept" : pen_ms(p, here);

	if (is_null(o, usual_key))
		return text;
	text = pen_printf(p, "%s, usually %s", text, pen_ms(p, usual));
	if (is_null(o, key) || !(usual > 0) || here < 1.5 * usual)
		return text;
	return pen_printf(p, "%s (%.3g times that)", text, here / usual);
}

/* The tracepoints of the hypotheses from the root down, without services. */
static void
print_ancestors(struct pen *p, const json_t *way)
{
	const char *text = "";
	size_t i;
	json_t *h;

	json_array_foreach (way, i, h) {
		const char *presence = text_of(p, h, "presence"),
			   *tracepoint = text_of(p, h, "tracepoint");

		if (tracepoint[0] != '\0')
			text = pen_printf(p, "%s%s%s%s%s", text, text[0] != '\0' ? ", then " : "",
			    presence[0] != ' ' ? presence : "", presence[0] != ' ' ? " " : "",
			    event_of(tracepoint));
	}
	if (text[0] != '\0')
		line_print(p, "found by", text);
}

static void
print_match(struct pen *p, const json_t *m)
{
	const json_t *edge = json_object_get(m, "edge"), *key = json_object_get(m, "key");
	bool settled = number_of(m, "settled_traces") > 0 && !is_null(m, "settled_share");
	const char *presence = text_of(p, m, "presence");

	fputs("\n", p->out);
	pen_put(p, BOLD,
	    pen_printf(p, "%s%s",
		presence[0] == ' ' || presence[0] == '\0' ? "" : pen_printf(p, "%s ", presence),
		pen_clean(p, title_of(m))));
	fprintf(p->out, "  %s  diagnosis %.0f of %s, cycle %.0f, number %.0f\n",
	    text_of(p, m, "state"), number_of(m, "run"), text_of(p, m, "type"),
	    number_of(m, "cycle"), number_of(m, "id"));
	print_ancestors(p, json_object_get(m, "way"));
	line_print(p, "edge", text_of(p, edge, "from"));
	line_print(p, "", pen_printf(p, "%s %s", pen_arrow(p), text_of(p, edge, "to")));
	line_print(p, "here",
	    pen_printf(
		p, "%s on this edge", compared_with_usual(p, m, "edge_ms", "usual_edge_ms")));
	line_print(p, "in all", compared_with_usual(p, m, "total_ms", "usual_total_ms"));
	line_print(p, "share",
	    pen_printf(p, "%s %s %s over %s traces",
		pen_bar(p, number_of(m, settled ? "settled_share" : "share"), BAR_CELLS),
		pen_share(p, number_of(m, settled ? "settled_share" : "share")),
		interval_of(p, number_of(m, settled ? "settled_low" : "share_low"),
		    number_of(m, settled ? "settled_high" : "share_high")),
		pen_count(p, number_of(m, settled ? "settled_traces" : "traces"))));
	if (json_is_object(key))
		line_print(p, key_explains(key) ? "because" : "related",
		    pen_printf(p, "%s %s: R %.2f", text_of(p, key, "name"),
			key_explains(key) ? "explains it" : "is related to it",
			number_of(key, "r")));
	if (!is_null(m, "reason"))
		line_print(p, "reason", text_of_reason(p, m, "reason"));
}

/* ---- from the live report ---- */

static double
excess_ms(const json_t *edge)
{
	return number_of(edge, "ms") - number_of(edge, "usual_ms");
}

static int
by_excess(const void *a, const void *b)
{
	double x = excess_ms(*(json_t *const *)a), y = excess_ms(*(json_t *const *)b);

	return (x < y) - (x > y);
}

/* The edges on which the trace took longer than usual in its group, largest excess first. */
static void
print_live(struct pen *p, const json_t *live)
{
	const json_t *edges = json_object_get(live, "edges");
	size_t n = json_array_size(edges);
	json_t **sorted = calloc(n + 1, sizeof *sorted);

	fputs("\n", p->out);
	pen_put(p, BOLD, "by what is always on");
	fprintf(p->out, "  %s, one of %s requests on this path\n", text_of(p, live, "type"),
	    pen_count(p, number_of(live, "traces")));
	line_print(p, "in all", compared_with_usual(p, live, "total_ms", "usual_total_ms"));
	for (size_t i = 0; sorted != NULL && i < n; i++)
		sorted[i] = json_array_get(edges, i);
	if (sorted != NULL)
		qsort(sorted, n, sizeof *sorted, by_excess);
	for (size_t i = 0; sorted != NULL && i < n && i < EDGES_SHOWN && excess_ms(sorted[i]) > 0;
	     i++) {
		line_print(p, i == 0 ? "longer" : "",
		    pen_printf(p, "%s %s %s", text_of(p, sorted[i], "from"), pen_arrow(p),
			text_of(p, sorted[i], "to")));
		line_print(p, "",
		    pen_printf(p, "  %s", compared_with_usual(p, sorted[i], "ms", "usual_ms")));
	}
	free(sorted);
}

static void
print_trace(struct pen *p, const json_t *a)
{
	const json_t *v = json_object_get(a, "verdict"), *live = json_object_get(a, "live");
	size_t i;
	json_t *m;

	pen_put(p, BOLD, pen_printf(p, "trace %s", text_of(p, a, "trace")));
	if (json_is_object(v))
		fprintf(p->out, "  the slowest of the verdict of diagnosis %.0f of %s",
		    number_of(a, "run"), text_of(p, a, "type"));
	fputc('\n', p->out);
	if (json_is_object(v))
		pen_wrap(p, "", text_of_verdict(p, a, v));
	json_array_foreach (json_object_get(a, "matches"), i, m)
		print_match(p, m);
	if (json_array_size(json_object_get(a, "matches")) == 0)
		fputs("No diagnosis was about requests like this one.\n", p->out);
	if (json_is_object(live))
		print_live(p, live);
}

/* ---- tracepoints ---- */

/* Prints two lines for each switch: the time and the run; the reason and the outcome. */
static void
print_log(struct pen *p, const json_t *log)
{
	size_t i;
	json_t *s;

	json_array_foreach (log, i, s) {
		const char *outcome = text_of(p, s, "outcome"), *said;
		bool explored = strcmp(text_of(p, s, "outcome_reason"), "explored") == 0;

		fprintf(p->out, "%s  ", text_of(p, s, "when"));
		pen_put(p, is_true(s, "on") ? YELLOW : PLAIN, is_true(s, "on") ? "on " : "off");
		if (!is_null(s, "run"))
			fprintf(p->out, "  diagnosis %.0f of %s, cycle %.0f", number_of(s, "run"),
			    text_of(p, s, "type"), number_of(s, "cycle"));
		fputc('\n', p->out);
		said = is_null(s, "hypothesis")
		           ? ""
		           : pen_printf(p, "hypothesis %.0f: ", number_of(s, "hypothesis"));
		said = pen_printf(p, "%s%s", said, text_of_reason(p, s, "reason"));
		if (is_true(s, "on") && outcome[0] != '\0')
			said = pen_printf(
			    p, "%s %s %s", said, pen_arrow(p), explored ? "explored" : outcome);
		if (is_true(s, "on") && !is_null(s, "outcome_reason") && !explored)
			said = pen_printf(
			    p, "%s (%s)", said, text_of_reason(p, s, "outcome_reason"));
		pen_wrap(p, "  ", said);
	}
}

/* Its log level, and whether it is on by it. */
static void
print_level(struct pen *p, const json_t *a)
{
	const json_t *rule = json_object_get(a, "by_level");

	if (is_null(a, "level"))
		return;
	fprintf(p->out, "Its log level is %s.", text_of(p, a, "level"));
	if (json_is_object(rule))
		fprintf(p->out,
		    " It is on for all sampled requests, since hone levels has %s on for %s.",
		    text_of(p, rule, "level"), text_of(p, rule, "service"));
	else if (!is_null(a, "levels_held"))
		fprintf(p->out, " hone levels would have it on for all sampled requests, but %s.",
		    levels_held_text(text_of(p, a, "levels_held")));
	fputs("\n", p->out);
}

static void
print_tracepoint(struct pen *p, const json_t *a)
{
	const json_t *log = json_object_get(a, "switched"),
		     *services = json_object_get(a, "services");
	size_t i;
	json_t *s;

	pen_put(p, BOLD, text_of(p, a, "tracepoint"));
	json_array_foreach (services, i, s)
		fprintf(p->out, "%s%s", i == 0 ? " of " : ", ", pen_clean(p, json_string_value(s)));
	fprintf(p->out, " is %s now", is_true(a, "on") ? "on" : "off");
	if (is_true(a, "learning"))
		fputs(", for learning", p->out);
	else if (!is_null(a, "hypothesis"))
		fprintf(p->out, ", for hypothesis %.0f", number_of(a, "hypothesis"));
	fputs("\n", p->out);
	print_level(p, a);
	if (json_array_size(services) == 0)
		fputs("No program that is known now has it.\n", p->out);
	if (json_array_size(log) == 0) {
		fputs("No diagnosis has ever turned it on.\n", p->out);
		return;
	}
	fputc('\n', p->out);
	print_log(p, log);
}

void
why_print(struct pen *p, const json_t *a)
{
	if (json_object_get(a, "tracepoint") != NULL)
		print_tracepoint(p, a);
	else
		print_trace(p, a);
}
