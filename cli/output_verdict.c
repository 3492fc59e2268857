/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict of a run: what takes the time, how sure that is, and what it took to find out. */
#include "cli/output.h"

#include <string.h>

static void
line(struct pen *p, const char *name, const char *words)
{
	fputs("  ", p->out);
	pen_put(p, BOLD, pen_printf(p, "%-10s", name));
	fprintf(p->out, " %s\n", words);
}

static void
print_edge(struct pen *p, const json_t *v)
{
	const json_t *edge = json_object_get(v, "edge");

	line(p, "edge", text_of(p, edge, "from"));
	line(p, "", pen_printf(p, "%s %s", pen_arrow(p), text_of(p, edge, "to")));
}

static void
print_share(struct pen *p, const json_t *v, bool slow)
{
	const char *sure = is_null(v, "confidence") ? "" :
	    pen_printf(p, " with %s confidence", pen_share(p, number_of(v, "confidence")));

	line(p, "share", pen_printf(p, "%s of the %s (%s to %s%s)", pen_share(p, number_of(v, "share")),
	    slow ? "response time" : "variance of the response time", pen_share(p, number_of(v, "share_low")),
	    pen_share(p, number_of(v, "share_high")), sure));
	line(p, "latency", pen_printf(p, "%s of the mean of %s", pen_share(p, number_of(v, "latency_share")),
	    pen_ms(p, number_of(json_object_get(v, "group"), "mean_ms"))));
}

static void
print_key(struct pen *p, const json_t *key)
{
	double pv = number_of(key, "p");

	if (!json_is_object(key)) {
		line(p, "because", "no key explains it");
		return;
	}
	line(p, "because", pen_printf(p, "%s explains it: R %.2f, %s, n %s", text_of(p, key, "name"), number_of(key, "r"),
	    pv < 1e-12 ? "p < 1e-12" : pen_printf(p, "p %.1g", pv), pen_count(p, number_of(key, "n"))));
}

static void
print_what_if(struct pen *p, const json_t *w)
{
	if (!json_is_object(w))
		return;
	line(p, "what if", pen_printf(p, "always at its median: CV %s %s %s, p95 %s %s %s, p99 %s %s %s",
	    pen_share(p, number_of(w, "cv_now")), pen_arrow(p), pen_share(p, number_of(w, "cv_then")),
	    pen_ms(p, number_of(w, "p95_now_ms")), pen_arrow(p), pen_ms(p, number_of(w, "p95_then_ms")),
	    pen_ms(p, number_of(w, "p99_now_ms")), pen_arrow(p), pen_ms(p, number_of(w, "p99_then_ms"))));
}

/* The path with its middle left out: where it begins and ends says which group it is, the edge says the rest. */
static void
print_group(struct pen *p, const json_t *group)
{
	enum { ENDS = 3 };
	const json_t *path = json_object_get(group, "path");
	size_t n = json_array_size(path);

	line(p, "group", pen_printf(p, "%s requests with this critical path, CV %s:", pen_count(p, number_of(group, "traces")),
	    pen_share(p, number_of(group, "cv"))));
	for (size_t i = 0; i < n; i++) {
		if (n > 2 * ENDS + 1 && i == ENDS) {
			fprintf(p->out, "               (%zu more)\n", n - 2 * ENDS);
			i = n - ENDS;
		}
		fprintf(p->out, "             %s %s\n", pen_arrow(p),
		    pen_shorten(p, pen_clean(p, json_string_value(json_array_get(path, i))), p->columns - 16));
	}
}

static void
print_effort(struct pen *p, const json_t *run)
{
	double used = number_of(run, "tracepoints_used"), all = number_of(run, "tracepoints_all");

	line(p, "effort", pen_printf(p, "%.0f of %.0f tracepoints turned on (%s), %.0f %s, %s", used, all,
	    pen_share(p, all > 0 ? used / all : 0), number_of(run, "cycles"), number_of(run, "cycles") == 1 ? "cycle" :
	    "cycles", pen_seconds(p, number_of(run, "seconds"))));
}

/* Other diagnoses may have tracepoints on; then it says so, since nobody can tell them apart from outside. */
static void
print_after(struct pen *p, const json_t *after)
{
	double added = number_of(after, "added");

	if (after == NULL)
		return;
	if (added == 0 && is_true(after, "quiet"))
		line(p, "after", "no added tracepoint is on: every agent has said so");
	else if (added == 0)
		line(p, "after", "no added tracepoint is wanted; not every agent has said yet that all are off");
	else
		line(p, "after", pen_printf(p, "%.0f added tracepoint%s STILL ON%s", added, added == 1 ? " is" : "s are",
		    json_array_size(json_object_get(after, "runs")) > 0 ? ", other diagnoses run" : ""));
}

static void
print_found(struct pen *p, const json_t *run, const json_t *v)
{
	bool slow = strcmp(text_of(p, v, "problem"), "slow") == 0;
	const json_t *ex = json_object_get(v, "exemplars");

	pen_put(p, BOLD, text_of(p, run, "type"));
	fprintf(p->out, " is %s here:\n\n", slow ? "slow" : "unpredictable");
	print_edge(p, v);
	print_share(p, v, slow);
	print_key(p, json_object_get(v, "key"));
	print_what_if(p, json_object_get(v, "what_if"));
	print_group(p, json_object_get(v, "group"));
	line(p, "examples", pen_printf(p, "slowest trace %s, fastest %s", text_of(p, ex, "slowest"), text_of(p, ex, "fastest")));
	if (is_true(v, "bottom"))
		line(p, "bottom", "nothing is left to turn on inside this edge");
	if (is_true(v, "spread"))
		line(p, "spread", "it is spread over what lies inside this edge, no part has most of it");
}

void
verdict_print(struct pen *p, const json_t *answer, const json_t *after)
{
	const json_t *run = json_object_get(answer, "run"), *v = json_object_get(run, "verdict");

	if (json_is_object(v)) {
		print_found(p, run, v);
	} else {
		pen_put(p, BOLD, text_of(p, run, "type"));
		fprintf(p->out, ": %s: %s\n\n", text_of(p, run, "state"), text_of(p, run, "words"));
	}
	print_effort(p, run);
	print_after(p, after);
	fputc('\n', p->out);
	tree_print(p, run);
}
