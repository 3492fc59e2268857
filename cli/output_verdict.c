/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the verdicts of a run with their confidence, its effort, and its tree of hypotheses. */
#include "cli/mistake_text.h"
#include "cli/output.h"
#include "cli/verdict_text.h"

#include <string.h>

/* Prints a line with the output of the put function, if that is not empty. */
static void
print_part(
    struct pen *p, const char *name, void (*put)(struct buf *out, const json_t *o), const json_t *v)
{
	const char *text = text_of_put(p, put, v);

	if (text[0] != '\0')
		line_print(p, name, text);
}

static void
print_edge(struct pen *p, const json_t *v)
{
	const json_t *edge = json_object_get(v, "edge");

	line_print(p, "edge", text_of(p, edge, "from"));
	line_print(p, "", pen_printf(p, "%s %s", pen_arrow(p), text_of(p, edge, "to")));
}

static void
print_share(struct pen *p, const json_t *v)
{
	const char *sure = is_null(v, "confidence") ? ""
	                                            : pen_printf(p, " with %s confidence",
							  pen_share(p, number_of(v, "confidence")));

	if (!is_null(v, "captured")) {
		line_print(p, "captured",
		    pen_printf(p, "%s%s", text_of_put(p, verdict_captured_put, v),
			is_true(v, "sure")
			    ? ""
			    : pen_printf(p, ": not sure, %s", verdict_doubt_text(v))));
		return;
	}
	const char *interval = interval_useful(number_of(v, "share"), number_of(v, "share_low"),
				   number_of(v, "share_high"))
	                           ? pen_printf(p, "%s to %s%s",
					 pen_share(p, number_of(v, "share_low")),
					 pen_share(p, number_of(v, "share_high")), sure)
	                           : "too few requests for a useful interval";

	line_print(p, "share",
	    pen_printf(p, "%s of the %s (%s)%s", pen_share(p, number_of(v, "share")),
		strcmp(text_of(p, v, "measure"), "latency") == 0 ? "response time"
		: strcmp(text_of(p, v, "measure"), "tail") == 0  ? "excess of the slow requests"
								 : "variance of the response time",
		interval,
		is_true(v, "sure") || !is_null(v, "mistake")
		    ? ""
		    : pen_printf(p, ": not sure, %s", verdict_doubt_text(v))));
	if (!is_null(v, "mistake"))
		line_print(p, "not sure",
		    pen_printf(p, "the instrumentation is wrong: %s (hone check)",
			text_of_put(p, mistake_text_put, json_object_get(v, "mistake"))));
	line_print(p, "latency",
	    pen_printf(p, "%s of the mean of %s", pen_share(p, number_of(v, "latency_share")),
		pen_ms(p, number_of(json_object_get(v, "group"), "mean_ms"))));
}

static void
print_key(struct pen *p, const json_t *key)
{
	double pv = number_of(key, "p");

	if (!json_is_object(key)) {
		line_print(p, "because", "no key explains it");
		return;
	}
	line_print(p, key_explains(key) ? "because" : "related",
	    pen_printf(p, "%s %s: R %.2f, %s, n %s", text_of(p, key, "name"),
		key_explains(key) ? "explains it" : "is related to it, but does not explain it",
		number_of(key, "r"), pv < 1e-12 ? "p < 1e-12" : pen_printf(p, "p %.1g", pv),
		pen_count(p, number_of(key, "n"))));
}

static void
print_what_if(struct pen *p, const json_t *w)
{
	const char *sure = "";

	if (!json_is_object(w))
		return;
	if (!is_null(w, "cv_then_low") && !is_null(w, "cv_then_high"))
		sure = interval_useful(number_of(w, "cv_then"), number_of(w, "cv_then_low"),
			   number_of(w, "cv_then_high"))
		           ? pen_printf(p, " (%s to %s)", pen_share(p, number_of(w, "cv_then_low")),
				 pen_share(p, number_of(w, "cv_then_high")))
		           : " (too few requests for a useful interval)";
	line_print(p, "what if",
	    pen_printf(p,
		"this edge always at its median, in all requests of the group: CV %s %s %s%s, p95 %s %s %s, p99 %s %s %s",
		pen_share(p, number_of(w, "cv_now")), pen_arrow(p),
		pen_share(p, number_of(w, "cv_then")), sure, pen_ms(p, number_of(w, "p95_now_ms")),
		pen_arrow(p), pen_ms(p, number_of(w, "p95_then_ms")),
		pen_ms(p, number_of(w, "p99_now_ms")), pen_arrow(p),
		pen_ms(p, number_of(w, "p99_then_ms"))));
}

/* Where some of the requests do not pass the edge, or pass it several times. */
static const char *
passing_text(struct pen *p, const json_t *group)
{
	double passing = number_of(group, "passing"), passes = number_of(group, "passes");

	if (is_null(group, "passing") ||
	    (passing >= number_of(group, "traces") && passes < 1 + 1e-9))
		return "";
	return pen_printf(p, " or without the edge, %s of them pass it, %.1f times each",
	    pen_count(p, passing), passes);
}

/* Prints the first and last labels of the path, which identify the group; the middle is left out. */
static void
print_group(struct pen *p, const json_t *group)
{
	enum { ENDS = 3 };
	const json_t *path = json_object_get(group, "path");
	size_t n = json_array_size(path);

	line_print(p, "group",
	    pen_printf(p, "%s requests with this critical path%s, CV %s:",
		pen_count(p, number_of(group, "traces")), passing_text(p, group),
		pen_share(p, number_of(group, "cv"))));
	for (size_t i = 0; i < n; i++) {
		if (n > 2 * ENDS + 1 && i == ENDS) {
			fprintf(p->out, "               (%zu more)\n", n - 2 * ENDS);
			i = n - ENDS;
		}
		fprintf(p->out, "             %s %s\n", pen_arrow(p),
		    pen_shorten(p, pen_clean(p, json_string_value(json_array_get(path, i))),
			p->columns - 16));
	}
}

static void
print_effort(struct pen *p, const json_t *run)
{
	double used = number_of(run, "tracepoints_used"), all = number_of(run, "tracepoints_all");

	line_print(p, "effort",
	    pen_printf(p, "%.0f of %.0f tracepoints enabled (%s), %.0f %s, %s", used, all,
		pen_share(p, all > 0 ? used / all : 0), number_of(run, "cycles"),
		number_of(run, "cycles") == 1 ? "cycle" : "cycles",
		pen_seconds(p, number_of(run, "seconds"))));
}

/* Prints how many added tracepoints are still enabled. They may belong to other diagnoses, since the answer does
 * not say to which. */
static void
print_after(struct pen *p, const json_t *after)
{
	double added = number_of(after, "added");
	const json_t *node;
	size_t i;

	if (after == NULL)
		return;
	if (added == 0 && is_true(after, "quiet"))
		line_print(p, "after",
		    pen_printf(p, "all added tracepoints are off (%s)", off_by_whom(after)));
	else if (added == 0)
		line_print(p, "after",
		    "all added tracepoints are to be off; not every agent has confirmed it yet");
	else
		line_print(p, "after",
		    pen_printf(p, "%.0f added tracepoint%s STILL ON%s", added,
			added == 1 ? " is" : "s are",
			json_array_size(json_object_get(after, "runs")) > 0
			    ? ", other diagnoses run"
			    : ""));
	json_array_foreach (json_object_get(after, "unknown"), i, node)
		line_print(p, "not known", unknown_words(p, node));
}

/* Prints which requests are slow, where a tail was searched. */
static void
print_tail(struct pen *p, const json_t *tail)
{
	if (!json_is_object(tail) || is_null(tail, "carries"))
		return;
	line_print(p, "tail",
	    pen_printf(p,
		"%s requests beyond p%.4g (%s); the slowest %s carry %s of the variance of the type",
		pen_count(p, number_of(tail, "requests")), number_of(tail, "quantile") * 100,
		pen_ms(p, number_of(tail, "above_ms")),
		pen_share(p, 2 * (1 - number_of(tail, "quantile"))),
		pen_share(p, number_of(tail, "carries"))));
}

/* Prints how the search ended, and what can be done next. */
static void
print_kind(struct pen *p, const json_t *run, const json_t *v)
{
	const json_t *separation = json_object_get(v, "separation");
	const char *kind = text_of(p, v, "kind"), *end = text_of_end(p, run, v);
	bool separated = strcmp(kind, "separated") == 0;

	print_part(p, "inside", verdict_preload_put, v);
	print_part(p, "within", verdict_within_put, v);
	print_tail(p, json_object_get(v, "tail"));
	print_part(p, "slow ones", verdict_tail_put, v);
	print_part(p, "waited for", verdict_waited_put, v);
	print_part(p, "threads", verdict_pool_put, v);
	print_part(p, "new", verdict_new_put, v);
	if (separated)
		line_print(p, "separated",
		    pen_printf(p, "requests with %s are %s; each side alone is predictable",
			text_of(p, v, "tracepoint"),
			strcmp(text_of(p, separation, "slow"), "without") == 0 ? "fast" : "slow"));
	else if (is_null(v, "preload") && end[0] != '\0')
		line_print(p, strcmp(kind, "key") == 0 ? "place" : kind, end);
	print_part(p, "below", verdict_below_put, v);
	print_part(p, "ground", verdict_ground_put, v);
	print_part(p, "in code", verdict_below_place_put, v);
	print_part(p, "holder", verdict_below_holder_put, v);
	print_part(p, "held", verdict_below_held_put, v);
	print_part(p, "released", verdict_below_released_put, v);
	print_part(p, "functions", verdict_below_functions_put, v);
	print_part(p, "differs", verdict_below_differential_put, v);
	print_part(p, "budget", verdict_budget_put, v);
	print_part(p, "not seen", verdict_unlearned_put, v);
}

static void
print_cost(struct pen *p, const json_t *v)
{
	if (number_of(v, "cost_ms") > 0)
		line_print(p, "cost",
		    pen_printf(p, "%s lost in %s requests", pen_ms(p, number_of(v, "cost_ms")),
			pen_count(p, number_of(json_object_get(v, "group"), "traces"))));
}

/* Of several verdicts: the number, and the part of the whole that the verdict's edge has. */
static void
print_number(struct pen *p, const json_t *run, const json_t *v, bool slow)
{
	size_t n = json_array_size(json_object_get(run, "verdicts"));

	if (n < 2)
		return;
	fprintf(p->out, " (%.0f of %zu", number_of(v, "rank"), n);
	if (!is_null(v, "effect"))
		fprintf(p->out, ", %s of the %s", pen_share(p, number_of(v, "effect")),
		    slow ? "response time" : "variance of all requests");
	fprintf(p->out, ")");
}

static void
print_found(struct pen *p, const json_t *run, const json_t *v, bool first)
{
	const char *problem = text_of(p, v, "problem");
	const json_t *ex = json_object_get(v, "exemplars");

	pen_put(p, BOLD, text_of(p, run, "type"));
	fprintf(p->out, " is %s%s here", first ? "" : "also ",
	    strcmp(problem, "tail") == 0   ? "slow for few requests"
	    : strcmp(problem, "slow") == 0 ? "slow"
					   : "unpredictable");
	print_number(p, run, v, strcmp(problem, "slow") == 0);
	fprintf(p->out, ":\n\n");
	print_edge(p, v);
	print_part(p, "position", verdict_position_put, v);
	print_share(p, v);
	print_part(p, "sample", verdict_sample_put, v);
	if (is_null(v, "captured"))
		print_key(p, json_object_get(v, "key"));
	print_kind(p, run, v);
	print_what_if(p, json_object_get(v, "what_if"));
	print_cost(p, v);
	print_group(p, json_object_get(v, "group"));
	if (text_of(p, v, "text")[0] != '\0')
		line_print(p, "recorded", text_of(p, v, "text"));
	line_print(p, "examples",
	    pen_printf(p, "slowest trace %s, fastest %s", text_of(p, ex, "slowest"),
		text_of(p, ex, "fastest")));
}

/* Prints the tracepoints that did not help and the edges with a share whose upper bound is small. */
static void
print_excluded(struct pen *p, const json_t *excluded)
{
	enum { SHOWN = 8 };
	size_t i;
	json_t *x;

	json_array_foreach (excluded, i, x) {
		const json_t *edge = json_object_get(x, "edge");
		const char *tracepoint = text_of(p, x, "tracepoint");

		if (i == SHOWN) {
			line_print(p, "",
			    pen_printf(p, "and %zu more; --json lists all",
				json_array_size(excluded) - SHOWN));
			break;
		}
		line_print(p, i == 0 ? "excluded" : "",
		    pen_printf(p, "%s%s%s %s %s: %s", tracepoint,
			tracepoint[0] != '\0' ? " in " : "", event_of(text_of(p, edge, "from")),
			pen_arrow(p), event_of(text_of(p, edge, "to")),
			is_null(x, "share")
			    ? text_of(p, x, "state")
			    : pen_printf(p, "%s %s", pen_share(p, number_of(x, "share")),
				  interval_of(
				      p, number_of(x, "share_low"), number_of(x, "share_high")))));
	}
}

/* Prints all verdicts; `first` is the first of run.verdicts. */
static void
print_verdicts(struct pen *p, const json_t *run, const json_t *first)
{
	const json_t *all = json_object_get(run, "verdicts");

	print_found(p, run, first, true);
	for (size_t i = 1; i < json_array_size(all); i++) {
		fputc('\n', p->out);
		print_found(p, run, json_array_get(all, i), false);
	}
}

/* Programs of the request type that ended meanwhile. */
static void
print_ended(struct pen *p, const json_t *run)
{
	size_t i;
	json_t *x;

	json_array_foreach (json_object_get(run, "ended_programs"), i, x)
		line_print(p, "ended",
		    pen_printf(p, "%s (process %.0f on %s) ended during the diagnosis",
			text_of(p, x, "service"), number_of(x, "pid"), text_of(p, x, "node")));
}

void
verdict_print(struct pen *p, const json_t *answer, const json_t *after)
{
	const json_t *run = json_object_get(answer, "run"), *v = json_object_get(run, "verdict");

	if (json_is_object(v)) {
		const char *nothing = text_of_put(p, run_nothing_put, run),
			   *gone = text_of_put(p, run_gone_put, run);

		if (nothing[0] != '\0')
			fprintf(p->out, "%s: nothing stands out: %s\n\n", text_of(p, run, "type"),
			    nothing);
		if (gone[0] != '\0')
			fprintf(p->out, "%s: %s\n\n", text_of(p, run, "type"), gone);
		print_verdicts(p, run, v);
		print_part(p, "compared", run_compared_put, run);
		print_part(p, "left", run_left_put, run);
	} else {
		pen_put(p, BOLD, text_of(p, run, "type"));
		fprintf(p->out, ": %s: %s\n\n", text_of(p, run, "state"),
		    text_of_put(p, run_text_put, run));
		print_excluded(p, json_object_get(run, "excluded"));
	}
	print_ended(p, run);
	print_effort(p, run);
	print_after(p, after);
	fputc('\n', p->out);
	tree_print(p, run);
}
