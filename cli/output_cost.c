/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints what Hone costs the nodes, now and in total, and the sampling rates that follow from it.
 */
#include "cli/output.h"
#include "cli/state_text.h"
#include "cli/verdict_text.h"

#include <string.h>

enum { NAME_COLUMNS = 24, TYPES_SHOWN = 6 };

static const char *
bytes_of(struct pen *p, double bytes)
{
	static const char *const UNITS[] = { "B", "kB", "MB", "GB", "TB" };
	size_t unit = 0;

	for (; bytes >= 999.5 && unit + 1 < sizeof UNITS / sizeof UNITS[0]; unit++)
		bytes /= 1000;
	return pen_printf(p, bytes < 9.95 && unit > 0 ? "%.1f %s" : "%.0f %s", bytes, UNITS[unit]);
}

/* A line under a heading; the name is printed on the first line of a block only. */
static void
line(struct pen *p, const char *name, enum colour c, const char *words)
{
	pen_put(p, BOLD, pen_printf(p, "%-11s", name));
	pen_put(p, c, words);
	fputc('\n', p->out);
}

static const json_t *
costliest(const json_t *nodes)
{
	const json_t *most = NULL;
	size_t i;
	json_t *n;

	json_array_foreach (nodes, i, n)
		if (most == NULL || number_of(json_object_get(n, "now"), "core_pct") >
					number_of(json_object_get(most, "now"), "core_pct"))
			most = n;
	return most;
}

static void
print_now(struct pen *p, const json_t *cost)
{
	const json_t *nodes = json_object_get(cost, "nodes"), *most = costliest(nodes),
		     *n = json_object_get(most, "now");
	const json_t *sum = json_object_get(cost, "now");
	size_t count = json_array_size(nodes);

	line(p, "cost", PLAIN,
	    pen_printf(p, "%.2f %% of a core on %s (programs %.2f, agent %.2f, tracer %.2f)",
		number_of(n, "core_pct"), pen_shorten(p, text_of(p, most, "node"), NAME_COLUMNS),
		number_of(n, "programs_pct"), number_of(n, "agent_pct"),
		number_of(n, "tracer_pct")));
	line(p, "", PLAIN,
	    pen_printf(p, "%s%s%.0f MiB of buffers, %s/s",
		count == 1 ? ""
			   : pen_printf(p, "%.2f %% on all %zu nodes, ", number_of(sum, "core_pct"),
				 count),
		number_of(cost, "budget_pct") <= 0
		    ? ""
		    : pen_printf(p, "limit %g %%%s; ", number_of(cost, "budget_pct"),
			  count == 1 ? "" : " each"),
		number_of(sum, "ring_mib"), bytes_of(p, number_of(sum, "bytes_per_second"))));
}

static void
print_all(struct pen *p, const json_t *all)
{
	line(p, "", PLAIN,
	    pen_printf(p, "in %s: %s of CPU time%s, %s sent",
		pen_seconds(p, number_of(all, "seconds")), pen_seconds(p, number_of(all, "cpu_s")),
		is_null(all, "record_ns") ? ""
					  : pen_printf(p, ", %s per record",
						pen_ms(p, number_of(all, "record_ns") / 1e6)),
		bytes_of(p, number_of(all, "bytes"))));
}

/* Sampling rates of the types of which not every request is sampled. */
static void
print_sampled(struct pen *p, const json_t *types)
{
	const char *said = "";
	int shown = 0, more = 0;
	size_t i;
	json_t *t;

	json_array_foreach (types, i, t) {
		if (is_null(t, "sampled") || number_of(t, "sampled") > 0.9999)
			continue;
		if (++shown > TYPES_SHOWN)
			more++;
		else
			said = pen_printf(p, "%s%s%s of %s", said, said[0] != '\0' ? ", " : "",
			    pen_share(p, number_of(t, "sampled")),
			    pen_shorten(p, text_of(p, t, "type"), NAME_COLUMNS));
	}
	if (more > 0)
		said = pen_printf(p, "%s, and %d more types", said, more);
	if (shown > 0) {
		pen_put(p, BOLD, "sampled\n");
		pen_wrap(p, "           ", said);
	}
}

static void
print_over(struct pen *p, const json_t *nodes)
{
	size_t i;
	json_t *n;

	json_array_foreach (nodes, i, n) {
		if (is_null(n, "over"))
			continue;
		pen_put(p, RED,
		    pen_printf(
			p, "over       %s\n", pen_shorten(p, text_of(p, n, "node"), NAME_COLUMNS)));
		pen_wrap(
		    p, "           ", text_of_put(p, limit_text_put, json_object_get(n, "over")));
	}
}

void
cost_print(struct pen *p, const json_t *status)
{
	const json_t *cost = json_object_get(status, "cost");

	if (json_array_size(json_object_get(cost, "nodes")) == 0)
		return;
	print_now(p, cost);
	print_all(p, json_object_get(cost, "all"));
	print_sampled(p, json_object_get(status, "types"));
	print_over(p, json_object_get(cost, "nodes"));
}

static void
add_node(struct columns *t, struct pen *p, const json_t *cost)
{
	const json_t *now = json_object_get(cost, "now"), *all = json_object_get(cost, "all");
	bool over = !is_null(cost, "over");

	columns_add(t, pen_shorten(p, text_of(p, cost, "node"), NAME_COLUMNS));
	columns_add(t, pen_printf(p, "%.2f %%%s", number_of(now, "core_pct"), over ? " !" : ""));
	columns_add(t, pen_printf(p, "%.2f", number_of(now, "programs_pct")));
	columns_add(t, pen_printf(p, "%.2f", number_of(now, "agent_pct")));
	columns_add(t, pen_printf(p, "%.2f", number_of(now, "tracer_pct")));
	columns_add(t, pen_printf(p, "%s/s", bytes_of(p, number_of(now, "bytes_per_second"))));
	columns_add(t, pen_seconds(p, number_of(all, "cpu_s")));
	columns_add(t, bytes_of(p, number_of(all, "bytes")));
	columns_add(
	    t, is_null(all, "record_ns") ? "" : pen_ms(p, number_of(all, "record_ns") / 1e6));
}

void
costs_print(struct pen *p, const json_t *agents)
{
	static const char *const heads[] = { "NODE", "CORE", "PROGRAMS", "AGENT", "TRACER", "RATE",
		"CPU TIME", "SENT", "PER RECORD" };
	json_t *a, *over = json_array();
	struct columns t;
	size_t i, rows = 0;

	columns_open(&t, "lrrrrrrrr");
	for (i = 0; i < sizeof heads / sizeof heads[0]; i++)
		columns_add(&t, heads[i]);
	json_array_foreach (agents, i, a)
		if (!is_null(a, "cost")) {
			add_node(&t, p, json_object_get(a, "cost"));
			json_array_append(over, json_object_get(a, "cost"));
			rows++;
		}
	if (rows > 0) {
		fputc('\n', p->out);
		columns_print(&t, p);
	} else {
		columns_release(&t);
	}
	print_over(p, over);
	json_decref(over);
}
