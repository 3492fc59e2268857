/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `hone capture`. */
#include <string.h>

#include "cli/output.h"
#include "cli/verdict_text.h"

static const char *
limit_text(struct pen *p, const json_t *c)
{
	const char *limit = is_null(c, "limit_ms") ? "not known yet"
	                                           : pen_ms(p, number_of(c, "limit_ms"));

	return is_null(c, "quantile")
	           ? limit
	           : pen_printf(p, "p%g, %s", number_of(c, "quantile") * 100, limit);
}

const char *
capture_state_text(struct pen *p, const json_t *c)
{
	static const struct {
		const char *word, *text;
	} texts[] = { { "preparing", "waits until the flight recorders are on" },
		{ "active", "waits for slow requests" }, { "enough", "ended: enough requests" },
		{ "time", "ended: its time is over" }, { "stopped", "ended" },
		{ "standing", "always on: the slowest of the last ten minutes" } };
	const char *word = text_of(p, c, "state");

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(texts[i].word, word) == 0)
			return texts[i].text;
	return word;
}

void
captures_print(struct pen *p, const json_t *answer)
{
	struct columns t;
	const json_t *c;
	size_t i;

	columns_open(&t, "rlrrrl");
	for (const char *const *h = (const char *const[]){ "CAPTURE", "TYPE", "OVER", "REQUESTS",
		 "CAPTURED", "STATE", NULL };
	     *h != NULL; h++)
		columns_add(&t, *h);
	json_array_foreach (json_object_get(answer, "captures"), i, c) {
		columns_add(&t, pen_printf(p, "%.0f", number_of(c, "capture")));
		columns_add(&t, text_of(p, c, "type"));
		columns_add(&t, limit_text(p, c));
		columns_add(&t, pen_count(p, number_of(c, "seen")));
		columns_add(&t,
		    pen_printf(p, "%.0f of %.0f", number_of(c, "whole"), number_of(c, "count")));
		columns_add(&t, capture_state_text(p, c));
	}
	columns_print(&t, p);
}

/* ---- its requests ---- */

static const char *
result_text(struct pen *p, const json_t *n)
{
	const char *word = text_of(p, n, "result"), *failure = text_of(p, n, "failure");
	const char *colon = failure[0] != '\0' ? ": " : "";

	if (strcmp(word, "no-recorder") == 0)
		return pen_printf(p, "its flight recorder was off%s%s", colon, failure);
	if (strcmp(word, "refused") == 0)
		return pen_printf(p, "the tracer made no snapshot%s%s", colon, failure);
	if (strcmp(word, "unreadable") == 0)
		return pen_printf(p, "the snapshot could not be read%s%s", colon, failure);
	if (strcmp(word, "busy") == 0)
		return "too many requests were asked for at once";
	if (strcmp(word, "silent") == 0)
		return "its agent did not answer";
	return "";
}

/* What the node lacks; "": nothing. */
static const char *
lacks_text(struct pen *p, const json_t *n)
{
	const char *text = result_text(p, n);

	if (text[0] != '\0')
		return text;
	if (number_of(n, "overwritten") > 0)
		text = pen_printf(p, "%.0f of %.0f buffers were overwritten before they were read",
		    number_of(n, "overwritten"), number_of(n, "rings"));
	if (number_of(n, "undecoded") > 0)
		text = pen_printf(p, "%s%s%.0f pieces could not be decoded", text,
		    text[0] != '\0' ? "; " : "", number_of(n, "undecoded"));
	if (number_of(n, "cut") > 0)
		text = pen_printf(p, "%s%s%s records were too many", text,
		    text[0] != '\0' ? "; " : "", pen_count(p, number_of(n, "cut")));
	if (number_of(n, "unlisted") > 0)
		text = pen_printf(p, "%s%s%.0f programs of users that agent.users does not list",
		    text, text[0] != '\0' ? "; " : "", number_of(n, "unlisted"));
	return text;
}

static void
request_print(struct pen *p, const json_t *r)
{
	const json_t *kept = json_object_get(r, "kept"), *n, *e;
	size_t i;

	pen_put(p, BOLD, pen_printf(p, "\n%s", text_of(p, r, "trace")));
	fprintf(p->out, "  %s, %s records of %zu nodes from their flight recorders\n",
	    pen_ms(p, number_of(r, "total_ms")), pen_count(p, number_of(kept, "added")),
	    json_array_size(json_object_get(kept, "nodes")));
	json_array_foreach (json_object_get(r, "edges"), i, e)
		fprintf(p->out, "     %-10s usual %-10s %s %s %s\n", pen_ms(p, number_of(e, "ms")),
		    pen_ms(p, number_of(e, "usual_ms")), text_of(p, e, "from"), pen_arrow(p),
		    text_of(p, e, "to"));
	json_array_foreach (json_object_get(kept, "nodes"), i, n) {
		const char *lacks = lacks_text(p, n);

		if (lacks[0] != '\0')
			pen_wrap(p, "     ",
			    pen_printf(
				p, "lacks records of node %s: %s", text_of(p, n, "node"), lacks));
	}
}

static void
edge_print(struct pen *p, const json_t *edge)
{
	pen_put(p, BOLD,
	    pen_printf(
		p, "\n%s %s %s", text_of(p, edge, "from"), pen_arrow(p), text_of(p, edge, "to")));
	fprintf(p->out,
	    "\n     has most of what slow requests take longer, in %.0f of %.0f of them: %s of %s more than usual\n",
	    number_of(edge, "requests"), number_of(edge, "of"),
	    pen_ms(p, number_of(edge, "excess_ms")), pen_ms(p, number_of(edge, "more_ms")));
}

void
capture_print(struct pen *p, const json_t *answer)
{
	const json_t *c = json_array_get(json_object_get(answer, "captures"), 0), *r,
		     *edge = json_object_get(answer, "edge");
	size_t i;

	fprintf(p->out, "%s: %s requests over %s of %s, %.0f captured (%s)\n",
	    text_of(p, c, "type"), pen_count(p, number_of(c, "slow")), limit_text(p, c),
	    pen_count(p, number_of(c, "seen")), number_of(c, "captured"), capture_state_text(p, c));
	if (number_of(c, "missed") > 0)
		fprintf(p->out, "%s slow requests were not captured, for the bounds of memory\n",
		    pen_count(p, number_of(c, "missed")));
	json_array_foreach (json_object_get(answer, "requests"), i, r)
		request_print(p, r);
	if (json_is_object(edge))
		edge_print(p, edge);
	else if (json_array_size(json_object_get(answer, "requests")) > 0)
		pen_wrap(p, "",
		    number_of(answer, "compared") > 0
			? "\nAll of these requests lack records: no edge is named from them."
			: "\nNo usual request was captured to compare them with: no edge is named.");
}
