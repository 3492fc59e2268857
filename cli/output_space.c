/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints the learned space. The graph of a type is listed by unit; within a unit places are in
 * order of time, each indented under the place that opened its span:
 *
 *	TRACES  EACH       AT     NEXT  PLACE
 *	 100 %   1.0     0 ms  0.12 ms  hone:unit_begin(cart.get)
 *	  84 %   2.3  0.12 ms  1.20 ms    shop:lock_begin
 */
#include "cli/output.h"

#include <math.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

/* ---- a type ---- */

struct space_printer {
	struct pen *pen;
	const json_t *places;
	struct columns table;
};

static const char *
notes_of(struct pen *p, const json_t *place)
{
	const char *notes = "";
	size_t i;
	json_t *o;

	json_array_foreach (json_object_get(place, "units"), i, o)
		notes = pen_printf(
		    p, "%s%s %s", notes, p->utf8 ? " ⇒" : " =>", text_of(p, o, "unit"));
	json_array_foreach (json_object_get(place, "keys"), i, o) {
		double low = number_of(o, "low"), high = number_of(o, "high"),
		       texts = number_of(o, "texts");
		const char *range = !is_null(o, "texts")
		                        ? pen_printf(p, "%.0f text%s", texts, texts == 1 ? "" : "s")
		                    : low == high ? pen_printf(p, "%.6g", low)
		                                  : pen_printf(p, "%.6g to %.6g", low, high);

		notes = pen_printf(
		    p, "%s%s%s: %s", notes, i == 0 ? "  [" : ", ", text_of(p, o, "field"), range);
	}
	return i > 0 ? pen_printf(p, "%s]", notes) : notes;
}

static void
add_place(struct space_printer *l, const json_t *place, int depth)
{
	struct pen *p = l->pen;

	columns_add(
	    &l->table, is_null(place, "share") ? "" : pen_share(p, number_of(place, "share")));
	columns_add(&l->table, is_null(place, "per_trace")
				   ? ""
				   : pen_printf(p, "%.1f", number_of(place, "per_trace")));
	columns_add(&l->table, pen_ms(p, number_of(place, "at_ms")));
	columns_add(
	    &l->table, is_null(place, "next_ms") ? "" : pen_ms(p, number_of(place, "next_ms")));
	columns_add(&l->table, pen_printf(p, "%*s%s%s", 2 * depth, "",
				   event_of(text_of(p, place, "label")), notes_of(p, place)));
}

/* Prints the places of the unit that lie directly in the span of `around`, and recursively those in
 * their spans. NULL: places in no span whose begin is known. */
static void
add_inside(struct space_printer *l, const char *unit, const json_t *around, int depth)
{
	size_t i;
	json_t *place;

	if (depth > DEPTH_MAX)
		return;
	json_array_foreach (l->places, i, place) {
		bool here = around == NULL
		                ? is_null(place, "around")
		                : !is_null(place, "around") &&
		                      number_of(place, "around") == number_of(around, "place");

		if (!here || strcmp(text_of(l->pen, place, "unit"), unit) != 0)
			continue;
		add_place(l, place, depth);
		add_inside(l, unit, place, depth + 1);
	}
}

static void
print_unit(struct space_printer *l, const char *unit)
{
	static const char *const heads[] = { "TRACES", "EACH", "AT", "NEXT", "PLACE" };
	struct pen *p = l->pen;

	fputc('\n', p->out);
	pen_put(p, BOLD, unit);
	fputc('\n', p->out);
	columns_open(&l->table, "rrrrl");
	for (int i = 0; i < 5; i++)
		columns_add(&l->table, heads[i]);
	add_inside(l, unit, NULL, 0);
	columns_print(&l->table, p);
}

static bool
seen_before(struct pen *p, const json_t *places, size_t at, const char *unit)
{
	for (size_t i = 0; i < at; i++)
		if (strcmp(text_of(p, json_array_get(places, i), "unit"), unit) == 0)
			return true;
	return false;
}

static const char *
coverage_text(struct pen *p, const json_t *type)
{
	if (is_null(type, "unseen"))
		return "coverage unknown";
	if (number_of(type, "unseen") == 0 && number_of(type, "next_new") == 0)
		return "coverage: no sign of unseen places";
	return pen_printf(p,
	    "coverage: about %s unseen places; the next trace shows a new one with probability %s",
	    pen_count(p, ceil(number_of(type, "unseen"))),
	    pen_share(p, number_of(type, "next_new")));
}

/* Explains places that no complete trace has shown. */
static const char *
partial_text(struct pen *p, const json_t *type)
{
	return pen_printf(p,
	    "%s of the places were seen only while a part of the tracepoints was enabled: during learning in "
	    "turns (the overhead budget did not permit all at once), or by diagnoses",
	    pen_count(p, number_of(type, "glimpsed")));
}

void
space_print(struct pen *p, const json_t *document)
{
	const json_t *type = json_array_get(json_object_get(document, "types"), 0), *place;
	struct space_printer l = { .pen = p, .places = json_object_get(type, "graph") };
	size_t i;

	pen_put(p, BOLD, text_of(p, type, "type"));
	fprintf(p->out, "  %s%s traces, %s places, %s steps\n",
	    pen_count(p, number_of(type, "traces")),
	    number_of(type, "glimpsed") > 0 ? " complete" : "",
	    pen_count(p, number_of(type, "places")), pen_count(p, number_of(type, "steps")));
	if (number_of(type, "glimpsed") > 0)
		pen_wrap(p, "", partial_text(p, type));
	fprintf(p->out, "%s\n", coverage_text(p, type));
	json_array_foreach (l.places, i, place) {
		const char *unit = text_of(p, place, "unit");

		if (!seen_before(p, l.places, i, unit))
			print_unit(&l, unit);
	}
}

/* ---- numbers ---- */

static void
print_version(struct pen *p, const json_t *document)
{
	const json_t *v = json_object_get(document, "space_version");
	const char *name = text_of(p, v, "name");

	fprintf(p->out, "%s: %s, %s traces%s%s\n\n", text_of(p, document, "path"),
	    name[0] != '\0' ? pen_printf(p, "version %s", name) : "unnamed version",
	    pen_count(p, number_of(v, "traces")), is_null(v, "learned") ? "" : ", learned ",
	    text_of(p, v, "learned"));
}

static void
print_labels(struct pen *p, const json_t *document, const char *key, size_t left_off,
    const char *none, const char *one, const char *many)
{
	enum { SHOWN = 20 };
	const json_t *all = json_object_get(document, key);
	size_t i, n = json_array_size(all) + left_off;
	json_t *label;

	if (all == NULL)
		return;
	if (n == 0)
		fprintf(p->out, "\n%s\n", none);
	else
		fprintf(
		    p->out, "\n%zu tracepoint%s %s:\n", n, n == 1 ? "" : "s", n == 1 ? one : many);
	json_array_foreach (all, i, label) {
		if (i == SHOWN) {
			fprintf(p->out, "  and %zu more; --json lists all\n", n - SHOWN);
			break;
		}
		fprintf(p->out, "  %s\n", pen_clean(p, json_string_value(label)));
	}
}

void
space_stats_print(struct pen *p, const json_t *document)
{
	static const char *const heads[] = { "REQUEST TYPE", "SERVICE", "TRACES", "PLACES", "STEPS",
		"TRACEPOINTS", "UNSEEN", "NEXT IS NEW" };
	struct columns t;
	size_t i;
	json_t *o;

	print_version(p, document);
	columns_open(&t, "llrrrrrr");
	for (i = 0; i < 8; i++)
		columns_add(&t, heads[i]);
	json_array_foreach (json_object_get(document, "types"), i, o) {
		const char *label = text_of(p, o, "type"), *name = strchr(label, '('),
			   *slash = strchr(label, '/');

		/* service/provider:event(TYPE), where it is of that form */
		columns_add(&t, name != NULL
				    ? pen_printf(p, "%.*s", (int)strcspn(name + 1, ")"), name + 1)
				    : label);
		columns_add(
		    &t, slash != NULL ? pen_printf(p, "%.*s", (int)(slash - label), label) : "");
		columns_add(&t, pen_count(p, number_of(o, "traces")));
		columns_add(&t, pen_count(p, number_of(o, "places")));
		columns_add(&t, pen_count(p, number_of(o, "steps")));
		columns_add(&t, pen_count(p, number_of(o, "labels")));
		columns_add(
		    &t, is_null(o, "unseen") ? "" : pen_count(p, ceil(number_of(o, "unseen"))));
		columns_add(
		    &t, is_null(o, "next_new") ? "" : pen_share(p, number_of(o, "next_new")));
	}
	columns_print(&t, p);
	print_labels(p, document, "stale", 0, "every learned tracepoint still exists in a program",
	    "was learned and exists in no program now", "were learned and exist in no program now");
	print_labels(p, document, "never_seen", (size_t)number_of(document, "never_seen_left_off"),
	    "every tracepoint of the programs was seen while learning",
	    "of the programs was never seen while learning",
	    "of the programs were never seen while learning");
}

void
versions_print(struct pen *p, const json_t *document)
{
	struct columns t;
	size_t i;
	json_t *v;

	columns_open(&t, "llrl");
	columns_add(&t, "VERSION");
	columns_add(&t, "LEARNED");
	columns_add(&t, "TRACES");
	columns_add(&t, "FINGERPRINT");
	json_array_foreach (json_object_get(document, "versions"), i, v) {
		columns_add(&t, text_of(p, v, "name"));
		columns_add(&t, text_of(p, v, "learned"));
		columns_add(&t, pen_count(p, number_of(v, "traces")));
		columns_add(&t, text_of(p, v, "fingerprint"));
	}
	columns_print(&t, p);
}
