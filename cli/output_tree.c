/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints the hypotheses of a run as a tree, three or four lines for each:
 *
 *	|- + shop:lock_wait  isolates  cycle 2, number 5
 *	|    api/shop:cart_begin -> api/shop:cart_end
 *	|    ######..  78 % (70..85)  120 traces, 12.3 ms, CV 45 %
 */
#include "cli/output.h"
#include "cli/state_text.h"
#include "cli/verdict_text.h"

#include <string.h>

enum { BAR_CELLS = 10, DEPTH_MAX = 64 };

struct drawing {
	struct pen *pen;
	const json_t *hypotheses;
	struct tree_left left;
};

static double
parent_of(const json_t *h)
{
	return is_null(h, "parent") ? 0 : number_of(h, "parent");
}

struct tree_left
tree_left(const json_t *hypotheses)
{
	return (struct tree_left){ json_array_size(hypotheses), DEPTH_MAX };
}

const json_t *
tree_child(const json_t *hypotheses, double parent, const json_t *after)
{
	bool past = after == NULL;
	size_t i;
	json_t *h;

	json_array_foreach (hypotheses, i, h) {
		if (past && parent_of(h) == parent && number_of(h, "id") > parent)
			return h;
		past = past || h == after;
	}
	return NULL;
}

static enum colour
colour_of(const char *state)
{
	static const struct {
		const char *state;
		enum colour colour;
	} colours[] = { { "isolates", GREEN }, { "explained", GREEN }, { "bottom", GREEN },
		{ "separates", CYAN }, { "probing", YELLOW }, { "open", YELLOW },
		{ "withdrawn", RED }, { "no help", DIM } };

	for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
		if (strcmp(colours[i].state, state) == 0)
			return colours[i].colour;
	return PLAIN;
}

const char *
interval_of(struct pen *p, double low, double high)
{
	const char *from = pen_printf(p, "%.0f", low * 100),
		   *to = pen_printf(p, "%.0f", high * 100);

	/* a share that only led to the next hypothesis has no interval */
	return strcmp(from, to) == 0 ? ""
	                             : pen_printf(p, "(%s%s%s)", from, p->utf8 ? "…" : "..", to);
}

static void
print_edge(struct drawing *d, const json_t *h, const char *margin)
{
	const json_t *edge = json_object_get(h, "edge");
	struct pen *p = d->pen;
	int half = (p->columns - pen_width(margin) - 4) / 2;

	if (text_of(p, edge, "from")[0] != '\0')
		fprintf(p->out, "%s%s %s %s\n", margin,
		    pen_shorten(p, text_of(p, edge, "from"), half), pen_arrow(p),
		    pen_shorten(p, text_of(p, edge, "to"), half));
}

/* Whether the hypothesis explores: it enabled tracepoints that were not learned, and measured no edge. */
static bool
is_explorer(const json_t *h)
{
	const char *reason = json_string_value(json_object_get(h, "reason"));

	return reason != NULL && strcmp(reason, "explored") == 0;
}

const char *
title_of(const json_t *h)
{
	const char *tracepoint = json_string_value(json_object_get(h, "tracepoint"));

	if (tracepoint != NULL && tracepoint[0] != '\0')
		return tracepoint;
	if (is_explorer(h))
		return "all that may be inside, to see what is there";
	return parent_of(h) == 0 ? "as it was found" : "measured once more";
}

static void
print_title(struct drawing *d, const json_t *h)
{
	struct pen *p = d->pen;
	const char *presence = text_of(p, h, "presence"), *state = text_of(p, h, "state");

	if (presence[0] != ' ' && presence[0] != '\0')
		pen_put(p, BOLD, pen_printf(p, "%s ", presence));
	pen_put(p, BOLD, pen_clean(p, title_of(h)));
	fputs("  ", p->out);
	pen_put(p, colour_of(state), is_explorer(h) ? "explored" : state);
	if (!is_null(h, "reason") && !is_explorer(h))
		fprintf(p->out, " (%s)", text_of_reason(p, h, "reason"));
	fprintf(p->out, "  cycle %.0f, number %.0f\n", number_of(h, "cycle"), number_of(h, "id"));
}

/* The reason of the settled state, or the reason for the hypothesis. */
static void
print_numbers(struct drawing *d, const json_t *h, const char *margin)
{
	struct pen *p = d->pen;
	bool settled = number_of(h, "settled_traces") > 0 && !is_null(h, "settled_share");
	double share = number_of(h, settled ? "settled_share" : "share");
	double traces = number_of(h, settled ? "settled_traces" : "traces");
	const char *interval;

	if (is_explorer(h)) {
		fprintf(p->out, "%sshown by %s trace%s\n", margin, pen_count(p, traces),
		    traces == 1 ? "" : "s");
		return;
	}
	interval = interval_of(p, number_of(h, settled ? "settled_low" : "share_low"),
	    number_of(h, settled ? "settled_high" : "share_high"));
	fprintf(p->out, "%s%s %5s%s%s  %s trace%s", margin, pen_bar(p, share, BAR_CELLS),
	    pen_share(p, share), interval[0] != '\0' ? " " : "", interval, pen_count(p, traces),
	    traces == 1 ? "" : "s");
	if (number_of(h, "mean_ms") > 0)
		fprintf(p->out, ", %s, CV %s", pen_ms(p, number_of(h, "mean_ms")),
		    pen_share(p, number_of(h, "cv")));
	fputc('\n', p->out);
}

static void
print_separation(struct drawing *d, const json_t *h, const char *margin)
{
	struct pen *p = d->pen;

	if (strcmp(text_of(p, h, "state"), "separates") == 0 && !is_null(h, "separation"))
		fprintf(p->out,
		    "%s%s of what the edge carries lies between requests with it and without it\n",
		    margin, pen_share(p, number_of(h, "separation")));
}

static void
print_key(struct drawing *d, const json_t *h, const char *margin)
{
	const json_t *key = json_object_get(h, "key");
	struct pen *p = d->pen;

	if (json_is_object(key))
		fprintf(p->out, "%s%s %s: R %.2f over %s traces\n", margin, text_of(p, key, "name"),
		    key_explains(key) ? "explains it" : "is related to it", number_of(key, "r"),
		    pen_count(p, number_of(key, "n")));
}

static void
print_children(struct drawing *d, double parent, const char *margin)
{
	struct pen *p = d->pen;
	const json_t *next = tree_child(d->hypotheses, parent, NULL), *h;

	if (d->left.depth == 0)
		return;
	d->left.depth--;
	while ((h = next) != NULL && d->left.shown > 0) {
		next = tree_child(d->hypotheses, parent, h);
		d->left.shown--;
		const char *branch = p->utf8        ? next != NULL ? "├─ " : "└─ "
		                     : next != NULL ? "|- "
		                                    : "`- ";
		const char *below = pen_printf(p, "%s%s", margin,
		    next == NULL ? "   "
		    : p->utf8    ? "│  "
				 : "|  ");

		fprintf(p->out, "%s%s", margin, branch);
		print_title(d, h);
		const char *inside = pen_printf(p, "%s  ", below);

		print_edge(d, h, inside);
		print_numbers(d, h, inside);
		print_separation(d, h, inside);
		print_key(d, h, inside);
		print_children(d, number_of(h, "id"), below);
	}
	d->left.depth++;
}

void
tree_print(struct pen *p, const json_t *run)
{
	const json_t *hypotheses = json_object_get(run, "hypotheses");
	struct drawing d = { p, hypotheses, tree_left(hypotheses) };
	const char *state = text_of(p, run, "state");
	double used = number_of(run, "tracepoints_used"), all = number_of(run, "tracepoints_all");

	pen_put(p, BOLD, text_of(p, run, "type"));
	fputs("  ", p->out);
	pen_put(p,
	    strcmp(state, "found") == 0    ? GREEN
	    : strcmp(state, "active") == 0 ? YELLOW
					   : RED,
	    state);
	fprintf(p->out,
	    "  diagnosis %.0f, %s, seed %.0f; %.0f cycle%s, %s, %.0f of %.0f tracepoints (%s)\n",
	    number_of(run, "run"), text_of(p, run, "strategy"), number_of(run, "seed"),
	    number_of(run, "cycles"), number_of(run, "cycles") == 1 ? "" : "s",
	    pen_seconds(p, number_of(run, "seconds")), used, all,
	    pen_share(p, all > 0 ? used / all : 0));
	if (strcmp(state, "active") == 0)
		fprintf(
		    p->out, "%s\n", text_of_put(p, phase_text_put, json_object_get(run, "phase")));
	else if (text_of_put(p, run_text_put, run)[0] != '\0')
		pen_wrap(p, "", text_of_put(p, run_text_put, run));
	print_children(&d, 0, "");
}
