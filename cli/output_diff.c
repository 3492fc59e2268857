/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the list of diagnoses, and the comparison of two. */
#include "cli/output.h"
#include "cli/verdict_text.h"

#include <string.h>

/* ---- history ---- */

static enum colour
colour_of(const char *state)
{
	return strcmp(state, "found") == 0 ? GREEN : strcmp(state, "active") == 0 ? YELLOW : PLAIN;
}

void
history_print(struct pen *p, const json_t *a)
{
	const json_t *runs = json_object_get(a, "runs");
	size_t i;
	json_t *r;

	if (json_array_size(runs) == 0)
		fputs("No diagnosis has been started; hone start TYPE begins one.\n", p->out);
	json_array_foreach (runs, i, r) {
		size_t more = json_array_size(json_object_get(r, "verdicts"));

		pen_put(p, BOLD,
		    pen_printf(p, "%-4.0f %s", number_of(r, "run"), text_of(p, r, "type")));
		fputs("  ", p->out);
		pen_put(p, colour_of(text_of(p, r, "state")), text_of(p, r, "state"));
		fprintf(p->out, "  %s%s%s\n     %s, %.0f cycle%s, %.0f of %.0f tracepoints, %s\n",
		    text_of(p, r, "begun"), text_of(p, r, "by")[0] != '\0' ? "  by " : "",
		    text_of(p, r, "by"), text_of(p, r, "strategy"), number_of(r, "cycles"),
		    number_of(r, "cycles") == 1 ? "" : "s", number_of(r, "tracepoints_used"),
		    number_of(r, "tracepoints_all"), pen_seconds(p, number_of(r, "seconds")));
		if (text_of_put(p, run_text_put, r)[0] != '\0')
			pen_wrap(p, "     ",
			    pen_printf(p, "%s%s", text_of_put(p, run_text_put, r),
				more > 1 ? pen_printf(p, " (and %zu more)", more - 1) : ""));
	}
	if (number_of(a, "left_off") > 0)
		fprintf(p->out, "%s older ones are not shown; --limit says how many are\n",
		    pen_count(p, number_of(a, "left_off")));
}

/* ---- diff ---- */

static const char *
share_of(struct pen *p, const json_t *v)
{
	if (is_null(v, "share"))
		return "";
	return pen_printf(p, "%s %s", pen_share(p, number_of(v, "share")),
	    interval_of(p, number_of(v, "share_low"), number_of(v, "share_high")));
}

static const char *
mean_of(struct pen *p, const json_t *v)
{
	if (is_null(v, "mean_ms"))
		return "";
	if (is_null(v, "mean_low_ms"))
		return pen_ms(p, number_of(v, "mean_ms"));
	return pen_printf(p, "%s (%s to %s)", pen_ms(p, number_of(v, "mean_ms")),
	    pen_ms(p, number_of(v, "mean_low_ms")), pen_ms(p, number_of(v, "mean_high_ms")));
}

static const char *
cv_of(struct pen *p, const json_t *v)
{
	return is_null(v, "cv") ? "" : pen_share(p, number_of(v, "cv"));
}

static const char *
p95_of(struct pen *p, const json_t *v)
{
	return is_null(v, "p95_ms") ? "" : pen_ms(p, number_of(v, "p95_ms"));
}

static const char *
overlap_text(const json_t *change, const char *key)
{
	return is_null(change, key) ? "" : is_true(change, key) ? "intervals overlap" : "differs";
}

static void
add_row(
    struct columns *t, const char *name, const char *before, const char *after, const char *remark)
{
	columns_add(t, name);
	columns_add(t, before);
	columns_add(t, after);
	columns_add(t, remark);
}

static void
print_measures(struct pen *p, const json_t *change)
{
	const json_t *before = json_object_get(change, "before"),
		     *after = json_object_get(change, "after");
	struct columns t;

	columns_open(&t, "llll");
	add_row(&t, "", json_is_object(before) ? "BEFORE" : "",
	    json_is_object(after) ? "AFTER" : "", "");
	if (share_of(p, before)[0] != '\0' || share_of(p, after)[0] != '\0')
		add_row(&t, "  share", share_of(p, before), share_of(p, after),
		    strcmp(text_of(p, change, "what"), "moved") == 0
			? "of another edge"
			: overlap_text(change, "share_overlaps"));
	add_row(&t, "  CV", cv_of(p, before), cv_of(p, after), "");
	add_row(&t, "  mean", mean_of(p, before), mean_of(p, after),
	    overlap_text(change, "mean_overlaps"));
	if (p95_of(p, before)[0] != '\0' || p95_of(p, after)[0] != '\0')
		add_row(&t, "  p95", p95_of(p, before), p95_of(p, after), "");
	columns_print(&t, p);
}

/* The prediction of the what-if before the change, and what was measured after it. */
static void
print_foretold(struct pen *p, const json_t *f)
{
	const char *bounds = "", *said = "";

	if (!json_is_object(f) || is_null(f, "happened_cv"))
		return;
	if (!is_null(f, "cv_low") && !is_null(f, "cv_high"))
		bounds = pen_printf(p, " (%s to %s)", pen_share(p, number_of(f, "cv_low")),
		    pen_share(p, number_of(f, "cv_high")));
	if (!is_null(f, "within"))
		said = is_true(f, "within") ? ", as foretold" : ", not as foretold";
	fprintf(p->out, "  were it mended, the CV would be %s%s: it is %s%s\n",
	    pen_share(p, number_of(f, "cv")), bounds, pen_share(p, number_of(f, "happened_cv")),
	    said);
	if (!is_null(f, "p95_ms") && !is_null(f, "happened_p95_ms"))
		fprintf(p->out, "  and the p95 %s: it is %s\n", pen_ms(p, number_of(f, "p95_ms")),
		    pen_ms(p, number_of(f, "happened_p95_ms")));
}

static const char *
edge_text(struct pen *p, const json_t *v)
{
	const json_t *edge = json_object_get(v, "edge");

	return pen_printf(
	    p, "%s %s %s", text_of(p, edge, "from"), pen_arrow(p), text_of(p, edge, "to"));
}

static void
print_change(struct pen *p, const json_t *change)
{
	const json_t *before = json_object_get(change, "before"),
		     *after = json_object_get(change, "after");
	const char *what = text_of(p, change, "what");

	fputc('\n', p->out);
	pen_put(p,
	    strcmp(what, "gone") == 0   ? GREEN
	    : strcmp(what, "same") == 0 ? BOLD
					: RED,
	    what);
	fprintf(p->out, "  %s\n", edge_text(p, json_is_object(before) ? before : after));
	if (strcmp(what, "moved") == 0)
		fprintf(p->out, "   to  %s\n", edge_text(p, after));
	print_measures(p, change);
	print_foretold(p, json_object_get(change, "foretold"));
}

static void
print_run(struct pen *p, const char *name, const json_t *r)
{
	line_print(p, name,
	    pen_printf(p, "diagnosis %.0f of %s: %s, %.0f cycles, %.0f tracepoints, %s",
		number_of(r, "run"), text_of(p, r, "begun"), text_of(p, r, "state"),
		number_of(r, "cycles"), number_of(r, "tracepoints_used"),
		pen_seconds(p, number_of(r, "seconds"))));
}

void
diff_print(struct pen *p, const json_t *a)
{
	const json_t *changes = json_object_get(a, "changes");
	size_t i;
	json_t *change;

	pen_put(p, BOLD, text_of(p, a, "type"));
	fputc('\n', p->out);
	print_run(p, "before", json_object_get(a, "before"));
	print_run(p, "after", json_object_get(a, "after"));
	if (json_array_size(changes) == 0)
		fputs("\nNeither has a verdict.\n", p->out);
	json_array_foreach (changes, i, change)
		print_change(p, change);
}
