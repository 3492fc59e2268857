/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints an analysis document: problems first, then all request types, then the data not used. */
#include "cli/output.h"
#include "cli/verdict_text.h"

#include <string.h>

enum { KEYS_SHOWN = 3, CALLS_SHOWN = 10 };

#define NOTABLE 1.5 /* the mean of the worst time as a multiple of that of all other times */

static void
title(struct pen *p, const char *words)
{
	fputc('\n', p->out);
	pen_put(p, BOLD, words);
	fputs("\n\n", p->out);
}

static const char *
plural(struct pen *p, double n, const char *one, const char *many)
{
	return pen_printf(p, "%s %s", pen_count(p, n), n == 1 ? one : many);
}

/* ---- a problem ---- */

/* A path as text, built one service at a time. */
struct path_text {
	const char *text;
	bool open; /* a loop has just begun: no arrow before the next word */
};

static void
add_word(struct pen *p, struct path_text *w, const char *word, bool opens, bool closes)
{
	const char *between = w->text[0] == '\0' || closes ? ""
	                      : w->open                    ? " "
	                                                   : pen_printf(p, " %s ", pen_arrow(p));

	w->text = pen_printf(p, "%s%s%s%s", w->text, between, closes ? " " : "", word);
	w->open = opens;
}

static const char *
service_of(struct pen *p, const char *label)
{
	int len = 0;

	while (label[len] != '\0' && label[len] != '/')
		len++;
	return pen_printf(p, "%.*s", len, label);
}

/* The services along a path, in order, consecutive repeats once. */
static void
print_path(struct pen *p, const json_t *path)
{
	struct path_text w = { "", false };
	const char *last = "";
	size_t i;
	json_t *v;

	json_array_foreach (path, i, v) {
		const char *label = pen_clean(p, json_string_value(v));
		const char *service = service_of(p, label);
		bool opens = strcmp(label, "(") == 0, closes = strcmp(label, ")+") == 0;

		if (!opens && !closes && strcmp(service, last) == 0)
			continue;
		add_word(p, &w, service, opens, closes);
		last = opens || closes ? "" : service;
	}
	document_line(p, "path", pen_shorten(p, w.text, 2 * (p->columns - 16)));
	document_line(p, "",
	    pen_printf(p, "%s", plural(p, (double)json_array_size(path), "label", "labels")));
}

static void
print_times(struct pen *p, const json_t *g)
{
	const char *interval = is_null(g, "cv_low") ? ""
	                                            : pen_printf(p, " (%s to %s)",
							  pen_share(p, number_of(g, "cv_low")),
							  pen_share(p, number_of(g, "cv_high")));

	document_line(p, "times",
	    pen_printf(p, "mean %s, CV %s%s, p50 %s, p95 %s, p99 %s",
		pen_ms(p, number_of(g, "mean_ms")), pen_share(p, number_of(g, "cv")), interval,
		pen_ms(p, number_of(g, "p50_ms")), pen_ms(p, number_of(g, "p95_ms")),
		pen_ms(p, number_of(g, "p99_ms"))));
	if (number_of(g, "ignored_mean_ms") > 0)
		document_line(p, "",
		    pen_printf(p, "without %s of excluded waits",
			pen_ms(p, number_of(g, "ignored_mean_ms"))));
}

static void
print_edge(struct pen *p, const json_t *g, const json_t *edge)
{
	bool slow = strcmp(text_of(p, g, "problem"), "slow") == 0;
	const char *owner = text_of(p, edge, "owner_service");
	const json_t *tail = json_object_get(edge, "tail"), *slowest = json_object_get(g, "tail");

	document_line(p, "edge", text_of(p, edge, "from"));
	document_line(p, "", pen_printf(p, "%s %s", pen_arrow(p), text_of(p, edge, "to")));
	document_line(p, "share",
	    pen_printf(p, "%s %s of the %s (%s to %s), %s, %s",
		pen_bar(p, number_of(edge, "share"), 10), pen_share(p, number_of(edge, "share")),
		slow ? "mean" : "variance", pen_share(p, number_of(edge, "low")),
		pen_share(p, number_of(edge, "high")),
		slow ? pen_ms(p, number_of(edge, "mean_ms"))
		     : pen_printf(
			   p, "%s of the mean", pen_share(p, number_of(edge, "latency_share"))),
		owner[0] != '\0' ? pen_printf(p, "in %s", owner) : "between services"));
	if (json_is_object(tail))
		document_line(p, "slowest",
		    pen_printf(p,
			"%s on this edge in the slowest %s, usually %s: %s of their excess time",
			pen_ms(p, number_of(tail, "slow_ms")),
			pen_count(p, number_of(slowest, "slow")),
			pen_ms(p, number_of(tail, "usual_ms")),
			pen_share(p, number_of(tail, "excess_share"))));
}

static const char *
key_text(struct pen *p, const json_t *key)
{
	double pv = number_of(key, "p");

	return pen_printf(p, "%s: %s, %s, n %s", text_of(p, key, "name"),
	    is_true(key, "numeric")
		? pen_printf(p, "R %.2f, rank R %.2f", number_of(key, "r"), number_of(key, "rho"))
		: pen_printf(p, "%s of its variance", pen_share(p, number_of(key, "share"))),
	    pv < 1e-12 ? "p < 1e-12" : pen_printf(p, "p %.1g", pv),
	    pen_count(p, number_of(key, "n")));
}

static void
print_keys(struct pen *p, const json_t *g)
{
	const json_t *keys = json_object_get(g, "keys");
	const char *shown_as = "";
	int shown = 0;

	for (size_t i = 0; i < json_array_size(keys) && shown < KEYS_SHOWN; i++) {
		const json_t *key = json_array_get(keys, i);
		const char *as = key_explains(key) ? "because" : "related";

		if (number_of(key, "edge") != number_of(g, "top"))
			continue;
		document_line(p, strcmp(as, shown_as) != 0 ? as : "", key_text(p, key));
		shown_as = as;
		shown++;
	}
	if (shown == 0)
		document_line(p, "because",
		    pen_printf(p, "no key explains it (%s tried)",
			pen_count(p, number_of(g, "keys_tried"))));
}

static void
print_what_if(struct pen *p, const json_t *w)
{
	const json_t *now = json_object_get(w, "now"), *then = json_object_get(w, "then");

	if (!json_is_object(w))
		return;
	document_line(p, "what if",
	    pen_printf(p,
		"always at its median: CV %s %s %s (%s to %s), p95 %s %s %s, p99 %s %s %s",
		pen_share(p, number_of(now, "cv")), pen_arrow(p),
		pen_share(p, number_of(then, "cv")), pen_share(p, number_of(then, "cv_low")),
		pen_share(p, number_of(then, "cv_high")), pen_ms(p, number_of(now, "p95_ms")),
		pen_arrow(p), pen_ms(p, number_of(then, "p95_ms")),
		pen_ms(p, number_of(now, "p99_ms")), pen_arrow(p),
		pen_ms(p, number_of(then, "p99_ms"))));
}

static const char *
exemplar(struct pen *p, const json_t *g, const char *which)
{
	const json_t *x = json_object_get(json_object_get(g, "exemplars"), which);

	return pen_printf(
	    p, "%s %s (%s)", which, text_of(p, x, "trace"), pen_ms(p, number_of(x, "total_ms")));
}

static const json_t *
member_with(const json_t *array, const char *key, const char *value)
{
	size_t i;
	json_t *o;

	json_array_foreach (array, i, o) {
		const char *s = json_string_value(json_object_get(o, key));

		if (s != NULL && value != NULL && strcmp(s, value) == 0)
			return o;
	}
	return NULL;
}

/* The group of a problem. Found by its id: several services may have a type of the same name. */
static const json_t *
group_of(const json_t *document, const json_t *problem)
{
	const char *hash = json_string_value(json_object_get(problem, "group"));
	const json_t *g = NULL;
	size_t i;
	json_t *type;

	json_array_foreach (json_object_get(document, "types"), i, type)
		if ((g = member_with(json_object_get(type, "groups"), "group", hash)) != NULL)
			break;
	return g;
}

/* "2023-01-30 13:07:12" of a time in JSON. */
static const char *
time_text(struct pen *p, const json_t *o, const char *key)
{
	const char *s = text_of(p, o, key);

	return strlen(s) >= 19 ? pen_printf(p, "%.10s %.8s", s, s + 11) : s;
}

static void
print_when(struct pen *p, const json_t *worst)
{
	if (!json_is_object(worst) ||
	    number_of(worst, "mean_ms") < NOTABLE * number_of(worst, "other_mean_ms"))
		return;
	document_line(p, "when",
	    pen_printf(p, "worst from %s to %s (UTC): mean %s in %s, otherwise %s",
		time_text(p, worst, "from"), time_text(p, worst, "until"),
		pen_ms(p, number_of(worst, "mean_ms")),
		plural(p, number_of(worst, "requests"), "request", "requests"),
		pen_ms(p, number_of(worst, "other_mean_ms"))));
}

static void
print_problem(struct pen *p, const json_t *document, const json_t *problem)
{
	const json_t *g = group_of(document, problem);
	const json_t *edge = json_array_get(
	    json_object_get(g, "edges"), (size_t)number_of(g, "top"));

	pen_put(p, CYAN,
	    pen_printf(p, "%3.0f  %s", number_of(problem, "rank"), text_of(p, problem, "type")));
	fprintf(p->out, " of %s is ", text_of(p, problem, "service"));
	pen_put(p, RED, text_of(p, problem, "problem"));
	fprintf(p->out, ": %s lost in %s\n", pen_ms(p, number_of(problem, "cost_ms")),
	    plural(p, number_of(g, "count"), "request", "requests"));
	print_path(p, json_object_get(g, "path"));
	print_times(p, g);
	print_when(p, json_object_get(g, "worst"));
	print_edge(p, g, edge);
	print_keys(p, g);
	print_what_if(p, json_object_get(g, "what_if"));
	document_line(p, "traces",
	    pen_printf(p, "%s, %s, %s", exemplar(p, g, "slowest"), exemplar(p, g, "median"),
		exemplar(p, g, "fastest")));
	fputc('\n', p->out);
}

/* Requests in groups with at least `least` of them, and all others. */
static void
count_judged(const json_t *document, double least, double *judged, double *others)
{
	size_t i, k;
	json_t *type, *g;

	*judged = *others = 0;
	json_array_foreach (json_object_get(document, "types"), i, type) {
		double n = number_of(type, "count"), in = 0;

		json_array_foreach (json_object_get(type, "groups"), k, g)
			in += number_of(g, "count") >= least ? number_of(g, "count") : 0;
		*judged += in;
		*others += n - in;
	}
}

/* Types whose requests as a whole are slower than the baseline's. Returns their number. */
static int
print_slower(struct pen *p, const json_t *document)
{
	size_t i;
	json_t *t;
	int n = 0;

	json_array_foreach (json_object_get(json_object_get(document, "baseline"), "types"), i, t) {
		const json_t *whole = json_object_get(t, "whole");

		if (!json_is_object(whole) || strcmp(text_of(p, whole, "state"), "slower") != 0)
			continue;
		if (n++ == 0)
			title(p, "slower than the baseline");
		fprintf(p->out, "  %s: mean %s %s %s in %s, before %s, p %.1g\n",
		    text_of(p, t, "type"), pen_ms(p, number_of(t, "mean_then_ms")), pen_arrow(p),
		    pen_ms(p, number_of(t, "mean_ms")),
		    plural(p, number_of(whole, "requests"), "request", "requests"),
		    pen_count(p, number_of(whole, "requests_then")), number_of(whole, "slower_p"));
	}
	return n;
}

/* "no problem" is only said of requests that were judged, and not beside a type that became slower. */
static void
print_no_problem(struct pen *p, const json_t *document)
{
	const json_t *o = json_object_get(document, "options");
	double least = number_of(o, "traces_min"), judged, others;

	count_judged(document, least, &judged, &others);
	if (print_slower(p, document) == 0)
		title(p, judged > 0 ? "no problem" : "too few requests to judge");
	if (judged > 0)
		fprintf(p->out,
		    "  no group of %s or more requests is unpredictable (CV over %s) or consistently slow\n",
		    pen_count(p, least), pen_share(p, number_of(o, "cv_max")));
	if (others > 0)
		fprintf(p->out, "  %s in groups of fewer than %s, which are not judged%s\n",
		    plural(p, others, "request is", "requests are"), pen_count(p, least),
		    judged > 0 ? "" : "; --min-traces sets the number");
}

static void
print_problems(struct pen *p, const json_t *document)
{
	const json_t *all = json_object_get(document, "problems");
	size_t n = json_array_size(all);

	if (n == 0) {
		print_no_problem(p, document);
		return;
	}
	title(p, "problems by cost");
	for (size_t i = 0; i < n && i < PROBLEMS_SHOWN; i++)
		print_problem(p, document, json_array_get(all, i));
	if (n > PROBLEMS_SHOWN)
		fprintf(p->out, "     and %zu more; --json lists all\n", n - PROBLEMS_SHOWN);
}

/* ---- all problems, by where their time was lost ---- */

/* What a label names: the text in its brackets, or after its service. */
static const char *
call_name(struct pen *p, const char *label)
{
	const char *name = strchr(label, '('), *end = strrchr(label, ')');

	if (name != NULL && end != NULL && end > name)
		return pen_printf(p, "%.*s", (int)(end - name - 1), name + 1);
	name = strchr(label, '/');
	return name != NULL ? name + 1 : label;
}

static void
print_lost_in(struct pen *p, const json_t *document)
{
	const json_t *all = json_object_get(document, "lost_in"), *row;
	struct columns t;
	size_t i;

	if (json_array_size(all) < 2)
		return;
	title(p, "problems by service and call");
	columns_open(&t, "llrrrr");
	columns_add(&t, "  service");
	columns_add(&t, "call");
	columns_add(&t, "lost");
	columns_add(&t, "share");
	columns_add(&t, "groups");
	columns_add(&t, "requests");
	json_array_foreach (all, i, row) {
		const char *call = text_of(p, row, "call"), *from = text_of(p, row, "from"),
			   *to = text_of(p, row, "to");

		if (i == CALLS_SHOWN)
			break;
		columns_add(&t,
		    pen_printf(p, "  %s",
			pen_shorten(p,
			    is_null(row, "call") ? "between services" : text_of(p, row, "service"),
			    30)));
		columns_add(
		    &t, pen_shorten(p,
			    is_null(row, "call") ? pen_printf(p, "%s %s %s", service_of(p, from),
						       pen_arrow(p), service_of(p, to))
						 : call_name(p, call),
			    44));
		columns_add(&t, pen_ms(p, number_of(row, "cost_ms")));
		columns_add(&t, pen_share(p, number_of(row, "share")));
		columns_add(&t, pen_count(p, number_of(row, "groups")));
		columns_add(&t, pen_count(p, number_of(row, "requests")));
	}
	columns_print(&t, p);
	if (json_array_size(all) > CALLS_SHOWN)
		fprintf(p->out, "  and %zu more; --json lists all\n",
		    json_array_size(all) - CALLS_SHOWN);
}

/* ---- all types ---- */

static size_t
problems_of(const json_t *type)
{
	size_t i, n = 0;
	json_t *g;

	json_array_foreach (json_object_get(type, "groups"), i, g) {
		const char *word = json_string_value(json_object_get(g, "problem"));

		n += word != NULL &&
		     (strcmp(word, "unpredictable") == 0 || strcmp(word, "slow") == 0);
	}
	return n;
}

static void
print_types(struct pen *p, const json_t *document)
{
	static const char *const heads[] = { "  type", "service", "requests", "mean", "CV", "p50",
		"p95", "p99", "groups", "problems" };
	struct columns t;
	size_t i;
	json_t *type;

	title(p, "request types");
	columns_open(&t, "llrrrrrrrr");
	for (i = 0; i < sizeof heads / sizeof heads[0]; i++)
		columns_add(&t, heads[i]);
	json_array_foreach (json_object_get(document, "types"), i, type) {
		columns_add(
		    &t, pen_printf(p, "  %s", pen_shorten(p, text_of(p, type, "type"), 40)));
		columns_add(&t, pen_shorten(p, text_of(p, type, "service"), 24));
		columns_add(&t, pen_count(p, number_of(type, "count")));
		columns_add(&t, pen_ms(p, number_of(type, "mean_ms")));
		columns_add(&t, pen_share(p, number_of(type, "cv")));
		columns_add(&t, pen_ms(p, number_of(type, "p50_ms")));
		columns_add(&t, pen_ms(p, number_of(type, "p95_ms")));
		columns_add(&t, pen_ms(p, number_of(type, "p99_ms")));
		columns_add(
		    &t, pen_count(p, (double)json_array_size(json_object_get(type, "groups"))));
		columns_add(&t, pen_count(p, (double)problems_of(type)));
	}
	columns_print(&t, p);
}

/* ---- what it was made of, and what was not used ---- */

/* What was read: "14 of 866 spans", if some are in no request. */
static const char *
pieces_of(struct pen *p, const json_t *counts)
{
	double spans = number_of(counts, "spans"), used = number_of(counts, "spans_used");
	const char *all = spans > 0 ? plural(p, spans, "span", "spans")
	                            : plural(p, number_of(counts, "events"), "event", "events");

	return spans > 0 && used < spans && !is_null(counts, "spans_used")
	           ? pen_printf(p, "%s of %s", pen_count(p, used), all)
	           : all;
}

static void
print_source(struct pen *p, const json_t *document)
{
	const json_t *source = json_object_get(document, "source"),
		     *n = json_object_get(source, "counts");
	double traces = 0, groups = 0;
	size_t i;
	json_t *type;

	json_array_foreach (json_object_get(document, "types"), i, type) {
		traces += number_of(type, "count");
		groups += (double)json_array_size(json_object_get(type, "groups"));
	}
	fprintf(p->out, "%s of %s in %s", plural(p, traces, "request", "requests"),
	    plural(p, (double)i, "type", "types"), plural(p, groups, "group", "groups"));
	if (is_true(source, "live"))
		fprintf(p->out, ", live since %s\n", text_of(p, source, "since"));
	else
		fprintf(p->out, ", from %s in %s\n", pieces_of(p, n),
		    plural(p, number_of(n, "files"), "file", "files"));
}

/* The text for a reason's identifier; an unknown identifier is printed as it is. */
static const char *
reason_of(struct pen *p, const json_t *skipped)
{
	static const char *const words[][2] = {
#define X(name, word, what) { word, what },
#include "formats/skips.tbl.h"
#undef X
		{ "untyped", "traces beyond the request type limit" },
#define ODDITY(name, word, text) { word, text },
#include "kernel/files/oddities.tbl.h"
#undef ODDITY
#define REQUEST_COUNT(member, text) { "request_" #member, text },
#include "kernel/requests/request_counts.tbl.h"
#undef REQUEST_COUNT
	};
	const char *reason = text_of(p, skipped, "reason");

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(words[i][0], reason) == 0)
			return words[i][1];
	return reason;
}

/* "FILE at byte N: WHY", without the parts that are unknown or already in the text. */
static const char *
first_of(struct pen *p, const json_t *skipped)
{
	const char *file = text_of(p, skipped, "file"), *why = text_of(p, skipped, "why");
	const char *position = is_null(skipped, "offset")
	                           ? ""
	                           : pen_printf(p, " at byte %.0f", number_of(skipped, "offset"));

	if (is_null(skipped, "file") || file[0] == '\0' || strncmp(why, file, strlen(file)) == 0)
		return why;
	return pen_printf(p, "%s%s: %s", file, position, why);
}

static void
print_count(struct columns *t, struct pen *p, double n, const char *words, const char *where)
{
	if (n == 0)
		return;
	columns_add(t, pen_printf(p, "  %s", pen_count(p, n)));
	columns_add(t, words);
	columns_add(t, where);
}

static void
print_skipped(struct pen *p, const json_t *document)
{
	const json_t *source = json_object_get(document, "source"),
		     *n = json_object_get(source, "counts"), *s;
	struct columns t;
	size_t i;

	columns_open(&t, "rll");
	columns_add(&t, "");
	columns_add(&t, "what");
	columns_add(&t, "first");
	json_array_foreach (json_object_get(source, "skipped"), i, s)
		print_count(&t, p, number_of(s, "count"), reason_of(p, s), first_of(p, s));
	print_count(&t, p, number_of(n, "other_groups"), "traces beyond the group limit", "");
	print_count(
	    &t, p, number_of(n, "moved"), "path steps moved behind their causes (clocks)", "");
	if (t.cells > 3) {
		title(p, "not used or corrected");
		columns_print(&t, p);
		return;
	}
	columns_release(&t);
}

void
analysis_print(struct pen *p, const json_t *document)
{
	print_source(p, document);
	print_problems(p, document);
	print_lost_in(p, document);
	if (json_is_object(json_object_get(document, "baseline")))
		change_print(p, json_object_get(document, "baseline"));
	print_types(p, document);
	print_skipped(p, document);
}

void
baselines_print(struct pen *p, const json_t *list)
{
	struct columns t;
	size_t i;
	json_t *b;

	if (json_array_size(list) == 0) {
		fputs("no baselines; save one with hone baseline save NAME [FILE...]\n", p->out);
		return;
	}
	columns_open(&t, "llr");
	columns_add(&t, "name");
	columns_add(&t, "saved");
	columns_add(&t, "KiB");
	json_array_foreach (list, i, b) {
		columns_add(&t, text_of(p, b, "name"));
		columns_add(&t, text_of(p, b, "saved"));
		columns_add(&t, pen_count(p, number_of(b, "bytes") / 1024));
	}
	columns_print(&t, p);
}
