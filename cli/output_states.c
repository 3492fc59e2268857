/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of a baseline of states, and of what departed from it. */
#include <string.h>

#include "cli/output.h"

#define MACHINE_TOLD 1.5 /* times as long */
enum { FINDINGS_PRINTED = 3, PATTERNS_PRINTED = 40, EXAMPLES_PRINTED = 5, NEW_PRINTED = 5 };

static const char *
count_of(struct pen *p, double n, const char *one, const char *many)
{
	return pen_printf(p, "%s %s", pen_count(p, n), n == 1 ? one : many);
}

/* ---- a baseline ---- */

static double
compared_of(const json_t *type)
{
	double n = 0;
	json_t *o;
	size_t i;

	json_array_foreach (json_object_get(type, "operations"), i, o)
		n += number_of(o, "samples") > 0;
	return n;
}

static void
add_patterns(struct columns *t, struct pen *p, const json_t *type, int *left)
{
	json_t *o, *in, *q;
	size_t i, k, m;

	json_array_foreach (json_object_get(type, "operations"), i, o) {
		bool named = false;

		json_array_foreach (json_object_get(o, "intervals"), k, in)
			json_array_foreach (json_object_get(in, "patterns"), m, q) {
				if (m > 0 || (*left)-- <= 0)
					continue;
				columns_add(
				    t, named ? "" : pen_shorten(p, text_of(p, o, "name"), 48));
				columns_add(
				    t, pen_printf(p, "%.0f of %.0f", number_of(in, "interval") + 1,
					   2 * number_of(o, "slots") + 1));
				columns_add(t, pen_shorten(p, text_of(p, q, "pattern"), 32));
				columns_add(t, pen_share(p, number_of(q, "support") /
								number_of(o, "samples")));
				columns_add(t, pen_ms(p, number_of(o, "own_ns") / 1e6));
				named = true;
			}
	}
}

void
states_print(struct pen *p, const json_t *document)
{
	double operations = 0, compared = 0;
	int left = PATTERNS_PRINTED;
	struct columns t;
	json_t *type;
	size_t i;

	json_array_foreach (json_object_get(document, "types"), i, type) {
		operations += (double)json_array_size(json_object_get(type, "operations"));
		compared += compared_of(type);
	}
	fprintf(p->out, "%s of %s: %s, of which %s have enough samples to be compared\n\n",
	    count_of(p, number_of(document, "requests"), "request", "requests"),
	    count_of(p, (double)i, "type", "types"),
	    count_of(p, operations, "operation", "operations"), pen_count(p, compared));
	columns_open(&t, "lllrr");
	columns_add(&t, "OPERATION");
	columns_add(&t, "INTERVAL");
	columns_add(&t, "PATTERN");
	columns_add(&t, "SUPPORT");
	columns_add(&t, "OWN TIME");
	json_array_foreach (json_object_get(document, "types"), i, type)
		add_patterns(&t, p, type, &left);
	columns_print(&t, p);
	if (left < 0)
		fprintf(p->out, "and %s more; --json has all\n", pen_count(p, -left));
}

/* ---- a comparison ---- */

static const char *
where_of(struct pen *p, const json_t *o, const json_t *f)
{
	const char *after = text_of(p, f, "after"), *before = text_of(p, f, "before");

	if (number_of(o, "intervals") == 1)
		return "";
	if (after[0] != '\0' && strcmp(after, before) == 0)
		return pen_printf(p, "between %s", pen_shorten(p, after, 30));
	if (before[0] != '\0')
		return pen_printf(p, "before %s", pen_shorten(p, before, 30));
	return pen_printf(p, "after %s", pen_shorten(p, after, 30));
}

/* "disk, more", "network of R-N-R, less", "lacks R-N-R" */
static const char *
what_of(struct pen *p, const json_t *f)
{
	const char *pattern = text_of(p, f, "pattern"), *measure = text_of(p, f, "measure");
	const char *how = is_true(f, "more") ? "more" : "less";

	if (strcmp(measure, "absent") == 0)
		return pen_printf(p, "lacks %s", pen_shorten(p, pattern, 24));
	if (strcmp(measure, "count") == 0)
		return pen_printf(p, "%s, %s often", text_of(p, f, "state"),
		    is_true(f, "more") ? "more" : "less");
	return pattern[0] != '\0' ? pen_printf(p, "%s of %s, %s", text_of(p, f, "state"),
					pen_shorten(p, pattern, 24), how)
	                          : pen_printf(p, "%s, %s", text_of(p, f, "state"), how);
}

static const char *
amount_of(struct pen *p, const json_t *f, const char *key)
{
	const char *measure = text_of(p, f, "measure");

	if (strcmp(measure, "absent") == 0)
		return pen_share(p, number_of(f, key));
	return strcmp(measure, "count") == 0 ? pen_printf(p, "%.1f", number_of(f, key))
	                                     : pen_ms(p, number_of(f, key) / 1e6);
}

static double
print_findings(struct pen *p, const json_t *operations)
{
	double departed = 0;
	struct columns t;
	json_t *o, *f;
	size_t i, k;

	columns_open(&t, "llllrrr");
	columns_add(&t, "OPERATION");
	columns_add(&t, "RESOURCE");
	columns_add(&t, "STATE");
	columns_add(&t, "WHERE");
	columns_add(&t, "USUAL");
	columns_add(&t, "NOW");
	columns_add(&t, "OPERATIONS");
	json_array_foreach (operations, i, o) {
		departed += json_array_size(json_object_get(o, "findings")) > 0;
		json_array_foreach (json_object_get(o, "findings"), k, f) {
			if (k == FINDINGS_PRINTED)
				break;
			columns_add(&t, k > 0 ? "" : pen_shorten(p, text_of(p, o, "name"), 48));
			columns_add(&t, text_of(p, f, "resource"));
			columns_add(&t, what_of(p, f));
			columns_add(&t, where_of(p, o, f));
			columns_add(&t, amount_of(p, f, "usual"));
			columns_add(&t, amount_of(p, f, "mean"));
			columns_add(
			    &t, pen_printf(p, "%s of %s", pen_count(p, number_of(f, "operations")),
				    pen_count(p, number_of(f, "of"))));
		}
	}
	if (departed > 0) {
		columns_print(&t, p);
		fputc('\n', p->out);
	} else {
		columns_release(&t);
	}
	return departed;
}

/* Single operations, if nothing is found in many. */
static void
print_examples(struct pen *p, const json_t *operations)
{
	int printed = 0;
	json_t *o, *x;
	size_t i, k;

	json_array_foreach (operations, i, o)
		json_array_foreach (json_object_get(o, "examples"), k, x)
			if (printed++ < EXAMPLES_PRINTED)
				fprintf(p->out, "  %s in request %s: %s %s, usually %s\n",
				    text_of(p, o, "name"), text_of(p, x, "request"),
				    text_of(p, x, "state"), pen_ms(p, number_of(x, "ns") / 1e6),
				    pen_ms(p, number_of(x, "usual_ns") / 1e6));
}

static void
print_counts(struct pen *p, const json_t *document)
{
	static const struct {
		const char *of, *name, *text;
	} texts[] = {
		{ NULL, "too_few",
		    "operations of which the baseline has too few were not compared" },
		{ "counts", "unknown", "operations were left out: their states are not known" },
		{ "counts", "malformed",
		    "requests were left out: their operations contradict each other" },
		{ "counts", "types_over", "requests are of types beyond the limit" },
		{ "source", "no_evidence", "requests were left out: a part of them is missing" },
		{ "source", "over_memory",
		    "requests were left out: there was no memory for them (--memory)" },
		{ "source", "lost", "events were lost: what they overlap is unknown" },
		{ "source", "without_context",
		    "wake-ups of which nothing says who woke: no interrupt was recorded before them" },
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const json_t *o = texts[i].of != NULL ? json_object_get(document, texts[i].of)
		                                      : document;

		if (number_of(o, texts[i].name) > 0)
			fprintf(p->out, "%s %s\n", pen_count(p, number_of(o, texts[i].name)),
			    texts[i].text);
	}
}

void
states_comparison_print(struct pen *p, const json_t *document)
{
	const json_t *operations = json_object_get(document, "operations");
	double compared = number_of(document, "compared"), outside = number_of(document, "outside");
	double departed;
	json_t *type;
	size_t i;

	fprintf(p->out, "%s, compared with the baseline %s\n\n",
	    count_of(p, number_of(document, "requests"), "request", "requests"),
	    text_of(p, document, "baseline"));
	if ((departed = print_findings(p, operations)) == 0)
		fprintf(
		    p->out, "No operation departs from what is usual more often than by chance.\n");
	if (compared > 0)
		fprintf(p->out, "%s of %s operations are outside of their limits (%s)\n",
		    pen_count(p, outside), pen_count(p, compared),
		    pen_share(p, outside / compared));
	if (number_of(document, "machine") >= MACHINE_TOLD)
		fprintf(p->out,
		    "The machine was busier: threads of all services waited %.1f times as long for a processor\n",
		    number_of(document, "machine"));
	if (number_of(document, "explained") > 0)
		fprintf(p->out, "%s more are explained by operations below them\n",
		    pen_count(p, number_of(document, "explained")));
	if (departed == 0)
		print_examples(p, operations);
	json_array_foreach (json_object_get(document, "types_new"), i, type) {
		if (i < NEW_PRINTED)
			fprintf(p->out, "new type: %s with %s, in %s\n", text_of(p, type, "name"),
			    count_of(p, number_of(type, "operations"), "operation", "operations"),
			    count_of(p, number_of(type, "requests"), "request", "requests"));
	}
	if (i > NEW_PRINTED)
		fprintf(p->out, "and %s more new types\n", pen_count(p, (double)(i - NEW_PRINTED)));
	print_counts(p, document);
}
