/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the comparison with a baseline: the member "baseline" of an analysis document. */
#include "cli/output.h"

#include <string.h>

#define P_MAX 0.01 /* of what is called a change */

enum { SHOWN = 3, SUSPECTS_SHOWN = 5 };

static const char *
signed_ms(struct pen *p, double ms)
{
	return pen_printf(p, "%s%s", ms >= 0 ? "+" : "", pen_ms(p, ms));
}

static const char *
p_value(struct pen *p, const json_t *o)
{
	double pv = number_of(o, "p");

	return pv < 1e-12 ? "p < 1e-12" : pen_printf(p, "p %.1g", pv);
}

/* Whether a mean or an edge of any type changed significantly. */
static bool
changed_at_all(const json_t *types)
{
	size_t i, k;
	json_t *t, *e;

	json_array_foreach (types, i, t) {
		const json_t *whole = json_object_get(t, "whole");

		if (number_of(t, "p") <= P_MAX ||
		    (json_is_object(whole) && (number_of(whole, "slower_p") <= P_MAX ||
						  number_of(whole, "faster_p") <= P_MAX)))
			return true;
		json_array_foreach (json_object_get(t, "edges"), k, e)
			if (number_of(e, "p") <= P_MAX)
				return true;
	}
	return false;
}

static const char *
suspect_words(struct pen *p, const json_t *suspects, bool explained)
{
	const char *words = "";
	size_t i, n = 0;
	json_t *s;

	json_array_foreach (suspects, i, s) {
		if (is_null(s, "explained_by") == explained || n++ >= SUSPECTS_SHOWN)
			continue;
		words = pen_printf(p, "%s%s%s (%.2f%s%s%s)", words, n > 1 ? ", " : "",
		    text_of(p, s, "service"), number_of(s, "score"),
		    is_true(s, "sure") ? ", sure" : "", explained ? ", by " : "",
		    explained ? text_of(p, s, "explained_by") : "");
	}
	return n > SUSPECTS_SHOWN ? pen_printf(p, "%s, %zu more", words, n - SUSPECTS_SHOWN)
	                          : words;
}

/* What the healthy blocks of the baseline say of the suspects. */
static void
print_blocks(struct pen *p, const json_t *blocks)
{
	double n = number_of(blocks, "count");

	if (!json_is_object(blocks))
		return;
	if (!is_true(blocks, "enough"))
		document_line(p, "",
		    pen_printf(p,
			"none can be sure: the baseline has %s healthy blocks of a quarter of the window's length, %s are needed",
			pen_count(p, n), pen_count(p, number_of(blocks, "needed"))));
	else
		document_line(p, "",
		    pen_printf(p,
			"compared with %s healthy blocks of %s: more than in all of them has p %.2g",
			pen_count(p, n), pen_ms(p, number_of(blocks, "length_ms")),
			number_of(blocks, "p")));
}

static void
print_suspects(struct pen *p, const json_t *change)
{
	const json_t *suspects = json_object_get(change, "suspects");
	const char *words = suspect_words(p, suspects, false),
		   *others = suspect_words(p, suspects, true);

	if (words[0] == '\0') {
		document_line(p, "suspects",
		    changed_at_all(json_object_get(change, "types"))
			? "none: response times changed, but no single call or step did significantly"
			: "none: no call is significantly slower or followed by a different call");
		return;
	}
	document_line(p, "suspects", words);
	if (others[0] != '\0')
		document_line(p, "explained", others);
	print_blocks(p, json_object_get(change, "blocks"));
}

/* The requests as a whole. */
static void
print_whole(struct pen *p, const json_t *type)
{
	const json_t *w = json_object_get(type, "whole");
	const char *state;

	if (!json_is_object(w))
		return;
	state = text_of(p, w, "state");
	if (strcmp(state, "too_few") == 0)
		document_line(p, "",
		    pen_printf(p,
			"too few requests to tell: %s, before %s; p %.2g that they are not slower",
			pen_count(p, number_of(w, "requests")),
			pen_count(p, number_of(w, "requests_then")), number_of(w, "slower_p")));
	else if (strcmp(state, "same") != 0)
		document_line(p, "",
		    pen_printf(p, "requests as a whole are %s, p %.1g", state,
			number_of(w, strcmp(state, "slower") == 0 ? "slower_p" : "faster_p")));
}

static void
print_edges(struct pen *p, const json_t *edges)
{
	size_t i;
	json_t *e;
	int shown = 0;

	json_array_foreach (edges, i, e) {
		if (number_of(e, "p") > P_MAX || shown == SHOWN)
			continue;
		document_line(p, shown++ == 0 ? "edges" : "", text_of(p, e, "from"));
		document_line(p, "", pen_printf(p, "%s %s", pen_arrow(p), text_of(p, e, "to")));
		document_line(p, "",
		    pen_printf(p, "  %s %s %s: %s in the mean over all requests, %s",
			pen_ms(p, number_of(e, "mean_then_ms")), pen_arrow(p),
			pen_ms(p, number_of(e, "mean_ms")), signed_ms(p, number_of(e, "change_ms")),
			p_value(p, e)));
	}
}

static const char *
call_of(struct pen *p, const json_t *o, const char *call, const char *far)
{
	const char *there = text_of(p, o, far);

	return is_null(o, call) ? "none" : there[0] != '\0' ? there : text_of(p, o, call);
}

static void
print_operations(struct pen *p, const json_t *operations)
{
	size_t i;
	json_t *o;

	json_array_foreach (operations, i, o) {
		if (i == SHOWN)
			break;
		document_line(p, i == 0 ? "slower" : "", call_of(p, o, "operation", "far"));
		document_line(p, "",
		    pen_printf(p, "  %s %s %s %s; %s of %s calls are slower, %s",
			text_of(p, o, "what")[0] == 'w' ? "round trip" : "own time",
			pen_ms(p, number_of(o, "mean_then_ms")), pen_arrow(p),
			pen_ms(p, number_of(o, "mean_ms")),
			pen_share(p, number_of(o, "slower_share")),
			pen_count(p, number_of(o, "calls")), p_value(p, o)));
	}
}

static void
print_steps(struct pen *p, const json_t *steps)
{
	size_t i;
	json_t *s;

	json_array_foreach (steps, i, s) {
		if (i == SHOWN)
			break;
		document_line(p, i == 0 ? "reordered" : "",
		    pen_printf(p, "after %s",
			is_null(s, "after") ? "the begin" : call_of(p, s, "after", "after_far")));
		document_line(p, "",
		    pen_printf(p, "  %s follows instead of %s: %s of %s, before %s of %s, %s",
			is_null(s, "then") ? "the end" : call_of(p, s, "then", "then_far"),
			call_of(p, s, "instead_of", "instead_of_far"),
			pen_count(p, number_of(s, "count")), pen_count(p, number_of(s, "of")),
			pen_count(p, number_of(s, "count_then")),
			pen_count(p, number_of(s, "of_then")), p_value(p, s)));
	}
}

static void
print_calls(struct pen *p, const json_t *type)
{
	size_t appeared = json_array_size(json_object_get(type, "appeared"));
	size_t vanished = json_array_size(json_object_get(type, "vanished"));

	if (appeared + vanished > 0)
		document_line(p, "calls", pen_printf(p, "%zu new, %zu gone", appeared, vanished));
}

static void
print_type(struct pen *p, const json_t *type)
{
	fputs("\n  ", p->out);
	pen_put(p, CYAN, text_of(p, type, "type"));
	fprintf(p->out, " of %s: mean %s %s %s\n", text_of(p, type, "service"),
	    pen_ms(p, number_of(type, "mean_then_ms")), pen_arrow(p),
	    pen_ms(p, number_of(type, "mean_ms")));
	document_line(p, "change",
	    pen_printf(p, "%s (%s to %s) in %s requests, before %s",
		signed_ms(p, number_of(type, "change_ms")), signed_ms(p, number_of(type, "low_ms")),
		signed_ms(p, number_of(type, "high_ms")), pen_count(p, number_of(type, "count")),
		pen_count(p, number_of(type, "count_then"))));
	document_line(p, "",
	    pen_printf(p, "%s on the same paths, %s by a different mix of paths",
		signed_ms(p, number_of(type, "within_ms")),
		signed_ms(p, number_of(type, "mix_ms"))));
	print_whole(p, type);
	print_edges(p, json_object_get(type, "edges"));
	print_operations(p, json_object_get(type, "operations"));
	print_steps(p, json_object_get(type, "steps"));
	print_calls(p, type);
}

static void
print_names(struct pen *p, const char *name, const json_t *names)
{
	size_t i;
	json_t *v;

	json_array_foreach (names, i, v)
		document_line(p, i == 0 ? name : "", pen_clean(p, json_string_value(v)));
}

void
change_print(struct pen *p, const json_t *change)
{
	size_t i;
	json_t *type;

	fputc('\n', p->out);
	pen_put(p, BOLD, pen_printf(p, "changes since %s", text_of(p, change, "name")));
	fprintf(p->out, " (%s)\n\n", text_of(p, change, "made"));
	print_suspects(p, change);
	json_array_foreach (json_object_get(change, "types"), i, type)
		print_type(p, type);
	print_names(p, "new types", json_object_get(change, "types_appeared"));
	print_names(p, "gone", json_object_get(change, "types_vanished"));
}
