/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text printer: status, agents, tracepoints, and the short answers. */
#include "cli/output.h"
#include "cli/state_text.h"
#include "cli/verdict_text.h"

#include <math.h>
#include <string.h>

static const char *
plural(double n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* The strings of an array, separated by commas; "none" if it is empty. */
static const char *
list_of(struct pen *p, const json_t *o, const char *key)
{
	const char *all = "";
	size_t i;
	json_t *v;

	json_array_foreach (json_object_get(o, key), i, v)
		all = pen_printf(
		    p, "%s%s%s", all, i > 0 ? ", " : "", pen_clean(p, json_string_value(v)));
	return all[0] != '\0' ? all : "none";
}

static void
head(struct pen *p, const char *name)
{
	pen_put(p, BOLD, pen_printf(p, "%-11s", name));
}

static void
warning(struct pen *p, const char *name, const char *words)
{
	if (words[0] == '\0')
		return;
	head(p, name);
	pen_put(p, RED, words);
	fputc('\n', p->out);
}

/* ---- status ---- */

/* Fill of the controller's mailbox and of each congested queue, pauses, and agents that shed load.
 */
static void
print_queues(struct pen *p, const json_t *q)
{
	const json_t *list = json_object_get(q, "congested"), *o;
	const char *who = "";
	size_t i;

	json_array_foreach (list, i, o)
		who = pen_printf(p, "%s, %s %s %s", who, text_of(p, o, "node"),
		    text_of(p, o, "queue"), pen_share(p, number_of(o, "fill")));
	head(p, "queues");
	fprintf(p->out, "mailbox %s%s", pen_share(p, number_of(q, "mailbox")), who);
	if (number_of(q, "pauses") > 0)
		fprintf(p->out, "; %s %s, %s in total", pen_count(p, number_of(q, "pauses")),
		    plural(number_of(q, "pauses"), "pause", "pauses"),
		    pen_seconds(p, number_of(q, "paused_s")));
	if (number_of(q, "sheds") > 0)
		fprintf(p->out, "; load shed by agents %s %s, last: %s",
		    pen_count(p, number_of(q, "sheds")),
		    plural(number_of(q, "sheds"), "time", "times"),
		    text_of_put(p, congestion_text_put, json_object_get(q, "shed")));
	fputc('\n', p->out);
}

/* Nothing if no rule is set. */
static void
print_levels(struct pen *p, const json_t *levels)
{
	size_t i;
	json_t *rule;

	if (!json_is_object(levels))
		return;
	head(p, "levels");
	json_array_foreach (json_object_get(levels, "rules"), i, rule)
		fprintf(p->out, "%s%s of %s", i > 0 ? ", " : "", text_of(p, rule, "level"),
		    text_of(p, rule, "service"));
	if (!is_null(levels, "levels_held"))
		fprintf(p->out, "; none is on: %s",
		    levels_held_text(text_of(p, levels, "levels_held")));
	fputc('\n', p->out);
}

static void
print_controller(struct pen *p, const json_t *a)
{
	const json_t *c = json_object_get(a, "controller"), *l = json_object_get(a, "learning"),
		     *node;
	size_t i;

	head(p, "honed");
	fprintf(p->out, "%s, process %.0f, up %s\n", text_of(p, c, "version"), number_of(c, "pid"),
	    pen_seconds(p, number_of(c, "uptime_s")));
	head(p, "database");
	fprintf(p->out, "%s\n", text_of(p, c, "database"));
	head(p, "agents");
	fprintf(p->out, "%.0f connected\n", number_of(a, "agents"));
	head(p, "added");
	if (number_of(a, "added") == 0)
		fprintf(p->out, "all added tracepoints are off (%s)\n",
		    is_true(a, "quiet") ? off_by_whom(a) : "not yet confirmed by all agents");
	else
		fprintf(p->out, "%.0f %s enabled: %s\n", number_of(a, "added"),
		    plural(number_of(a, "added"), "tracepoint", "tracepoints"),
		    list_of(p, a, "added_names"));
	print_levels(p, json_object_get(a, "levels"));
	json_array_foreach (json_object_get(a, "unknown"), i, node)
		warning(p, "not known", unknown_words(p, node));
	if (json_is_object(l)) {
		head(p, "learning");
		fprintf(p->out, "%s left; %s traces, %s places%s\n",
		    pen_seconds(p, number_of(l, "left_s")), pen_count(p, number_of(l, "traces")),
		    pen_count(p, number_of(l, "places")),
		    is_null(l, "unseen") ? ""
					 : pen_printf(p, ", about %s unseen",
					       pen_count(p, ceil(number_of(l, "unseen")))));
	}
	print_queues(p, json_object_get(a, "queues"));
	if (is_true(a, "paused"))
		warning(
		    p, "paused", text_of_put(p, congestion_text_put, json_object_get(a, "pause")));
	warning(p, "trouble", text_of(p, c, "store_trouble"));
	if (json_is_true(json_object_get(c, "space_stale")))
		warning(p, "stale",
		    "the running programs have other tracepoints than the learned space; run hone learn, or choose "
		    "another version (hone space versions)");
}

/* On terminals under 100 columns the service, p50 and p99 are left out. */
static void
print_types(struct pen *p, const json_t *types)
{
	static const char *const heads[] = { "REQUEST TYPE", "SERVICE", "TRACES", "TRACES/S",
		"MEAN", "P50", "P95", "P99", "CV", "LEARNED", "DIAGNOSIS" };
	static const char *const times[] = { "mean_ms", "p50_ms", "p95_ms", "p99_ms" };
	bool wide = p->columns >= 100;
	struct columns t;
	size_t i;
	json_t *o;

	if (json_array_size(types) == 0) {
		fputs("\nNo request has been traced yet.\n", p->out);
		return;
	}
	fputc('\n', p->out);
	columns_open(&t, wide ? "llrrrrrrrrl" : "lrrrrrrl");
	for (i = 0; i < 11; i++)
		if (wide || (i != 1 && i != 5 && i != 7))
			columns_add(&t, heads[i]);
	json_array_foreach (types, i, o) {
		columns_add(&t, text_of(p, o, "type"));
		if (wide)
			columns_add(&t, text_of(p, o, "service"));
		columns_add(&t, pen_count(p, number_of(o, "traces")));
		columns_add(&t, pen_printf(p, "%.1f", number_of(o, "per_second")));
		for (int k = 0; k < 4; k++)
			if (wide || k % 2 == 0)
				columns_add(&t, pen_ms(p, number_of(o, times[k])));
		columns_add(&t, pen_share(p, number_of(o, "cv")));
		columns_add(&t, pen_count(p, number_of(o, "learned_places")));
		columns_add(
		    &t, is_null(o, "run") ? "" : pen_printf(p, "%.0f", number_of(o, "run")));
	}
	columns_print(&t, p);
}

static void
print_runs(struct pen *p, const json_t *runs)
{
	size_t i;
	json_t *r;

	json_array_foreach (runs, i, r) {
		fprintf(p->out, "%sdiagnosis %.0f of ", i == 0 ? "\n" : "", number_of(r, "run"));
		pen_put(p, BOLD, text_of(p, r, "type"));
		fprintf(p->out, ": %s, %.0f of %.0f tracepoints used; %s\n",
		    pen_seconds(p, number_of(r, "seconds")), number_of(r, "tracepoints_used"),
		    number_of(r, "tracepoints_all"),
		    text_of_put(p, phase_text_put, json_object_get(r, "phase")));
	}
}

/* Appends the traces in which a part is missing that was not lost. */
static const char *
say_incomplete(struct pen *p, const char *said, const json_t *incomplete)
{
	static const struct {
		const char *word, *text;
	} reasons[] = {
#define INCOMPLETE(name, word, text) { word, text },
#include "analysis/incomplete.tbl.h"
#undef INCOMPLETE
	};

	for (size_t i = 1; i < sizeof reasons / sizeof reasons[0]; i++)
		if (number_of(incomplete, reasons[i].word) > 0)
			said = pen_printf(p, "%s%s%s incomplete traces (%s)", said,
			    said[0] != '\0' ? ", " : "",
			    pen_count(p, number_of(incomplete, reasons[i].word)), reasons[i].text);
	return said;
}

/* Records and traces received, and the reasons why some were not used (those with a count). */
static void
print_counts(struct pen *p, const json_t *c)
{
	static const struct {
		const char *key, *words;
	} reasons[] = {
		{ "late", "records arrived late" },
		{ "duplicate", "records received twice" },
		{ "given_up_memory", "traces dropped for lack of memory" },
		{ "lossy", "traces with lost records" },
		{ "opened", "of these for want of a unit in time" },
		{ "pending", "traces not complete yet" },
		{ "other_groups", "traces beyond the group limit" },
		{ "pathless", "traces without a critical path" },
		{ "inexact", "traces whose edges do not add up" },
		{ "clock_contradictory", "traces during a clock jump" },
		{ "lost_ring", "records lost by the tracer" },
		{ "lost_queue", "records lost by agents" },
		{ "lost_decode", "records not decoded" },
		{ "unlabelled", "of these beyond an agent's limit of labels" },
	};
	const char *said = "";

	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (number_of(c, reasons[i].key) > 0)
			said = pen_printf(p, "%s%s%s %s", said, said[0] != '\0' ? ", " : "",
			    pen_count(p, number_of(c, reasons[i].key)), reasons[i].words);
	said = say_incomplete(p, said, json_object_get(c, "incomplete"));
	fprintf(p->out, "\n%s records, %s traces\n", pen_count(p, number_of(c, "records")),
	    pen_count(p, number_of(c, "traces")));
	if (said[0] != '\0')
		pen_wrap(p, "", pen_printf(p, "not used: %s", said));
	if (number_of(c, "clock_corrected") > 0 || number_of(c, "moved") > 0)
		fprintf(p->out,
		    "clocks: corrected in %s traces; %s path steps moved behind their causes\n",
		    pen_count(p, number_of(c, "clock_corrected")),
		    pen_count(p, number_of(c, "moved")));
}

static void
print_status(struct pen *p, const json_t *a)
{
	print_controller(p, a);
	cost_print(p, a);
	print_types(p, json_object_get(a, "types"));
	print_runs(p, json_object_get(a, "runs"));
	print_counts(p, json_object_get(a, "counts"));
}

/* ---- agents ---- */

/* Fill and name of the fullest queue, and whose ring buffer it is. */
static const char *
worst_fill(struct pen *p, const json_t *o)
{
	static const char *const FILLS[] = { "fill_ring", "fill_files", "fill_agent", "fill_link" };
	size_t worst = 0;
	const json_t *of;

	for (size_t i = 1; i < sizeof FILLS / sizeof FILLS[0]; i++)
		if (number_of(o, FILLS[i]) > number_of(o, FILLS[worst]))
			worst = i;
	of = worst == 0 ? json_object_get(o, "fill_ring_of") : NULL;
	return pen_printf(p, "%s %s%s", pen_share(p, number_of(o, FILLS[worst])),
	    FILLS[worst] + strlen("fill_"),
	    json_is_object(of) ? pen_printf(p, " (%s)", text_of(p, of, "program")) : "");
}

/* By how much the node's clock is ahead of the controller's. CLOCK_MONOTONIC of two machines
 * differs by the difference of their boot times. */
static const char *
clock_of(struct pen *p, const json_t *o)
{
	const char *ahead;

	if (is_true(o, "same_clock"))
		return "same";
	if (!json_is_number(json_object_get(o, "offset_ms")))
		return "?";
	ahead = pen_printf(p, "%+.3f s", -number_of(o, "offset_ms") / 1e3);
	if (!json_is_number(json_object_get(o, "uncertain_ms")))
		return ahead;
	return pen_printf(p, "%s +-%.2f ms", ahead, number_of(o, "uncertain_ms"));
}

static void
add_agent(struct columns *t, struct pen *p, const json_t *o)
{
	double lost = number_of(o, "lost_ring") + number_of(o, "lost_queue") +
	              number_of(o, "lost_decode");

	columns_add(t, text_of(p, o, "node"));
	columns_add(t, !is_true(o, "connected")  ? "offline"
		       : is_true(o, "tracer_ok") ? "ok"
						 : "no tracer");
	columns_add(t, pen_count(p, number_of(o, "programs")));
	columns_add(t, pen_count(p, number_of(o, "records_per_second")));
	columns_add(t, worst_fill(p, o));
	columns_add(t, pen_count(p, lost));
	columns_add(t, pen_count(p, number_of(o, "added")));
	columns_add(t, pen_printf(p, "%.1f %%", number_of(o, "cpu_pct")));
	columns_add(t, pen_printf(p, "%.1f %%", number_of(o, "tracer_cpu_pct")));
	columns_add(t, pen_printf(p, "%.0f MiB", number_of(o, "memory_mib")));
	columns_add(t, pen_printf(p, "%.0f MiB", number_of(o, "ring_mib")));
	columns_add(t, pen_printf(p, "%.0f ns%s", number_of(o, "record_ns"),
			   is_true(o, "record_assumed") ? ", assumed" : ""));
	columns_add(t,
	    pen_printf(p, "%.3f of %g %%", number_of(o, "spent_pct"), number_of(o, "budget_pct")));
	columns_add(t, pen_ms(p, number_of(o, "lag_ms")));
	columns_add(t, clock_of(p, o));
	columns_add(t, list_of(p, o, "services"));
}

static void
print_refused(struct pen *p, const json_t *refused)
{
	size_t i;
	json_t *o;

	json_array_foreach (refused, i, o)
		warning(p, "refused",
		    pen_printf(p, " %s ago, %s: %s", pen_seconds(p, number_of(o, "ago_s")),
			number_of(o, "times") > 1
			    ? pen_printf(p, "%s times", pen_count(p, number_of(o, "times")))
			    : "once",
			text_of(p, o, "words")));
}

/* What is not known between two tracepoints on that node, and why. Nothing if all is. */
static void
print_below(struct pen *p, const json_t *o)
{
	const json_t *below = json_object_get(o, "below");

	if (!json_is_object(below) || text_of(p, below, "missing")[0] == '\0')
		return;
	head(p, text_of(p, o, "node"));
	fprintf(p->out, " below tracepoints: %s", text_of(p, below, "state"));
	if (json_array_size(json_object_get(below, "can")) > 0)
		fprintf(p->out, " (%s)", list_of(p, below, "can"));
	fprintf(p->out, "; %s\n", text_of(p, below, "missing"));
}

static const char *
kernel_why(const char *missing)
{
	if (strcmp(missing, "no-process") == 0)
		return "no process has a name of kernel.services in hone-agent.conf";
	if (strcmp(missing, "over-limit") == 0)
		return "they have more kernel events a second than kernel.limit in hone-agent.conf, and are not followed for "
		       "ten minutes";
	return missing;
}

/* Programs without instrumentation that are followed on that node, and why not. Nothing if none are configured. */
static void
print_kernel(struct pen *p, const json_t *o)
{
	const json_t *k = json_object_get(o, "kernel");

	if (!json_is_object(k))
		return;
	head(p, text_of(p, o, "node"));
	fprintf(p->out,
	    " by kernel events: %s processes, %s requests, %s of them lossy, %s events/s",
	    pen_count(p, number_of(k, "processes")), pen_count(p, number_of(k, "requests")),
	    pen_count(p, number_of(k, "lossy")), pen_count(p, number_of(k, "events_per_second")));
	if (text_of(p, k, "missing")[0] != '\0')
		fprintf(p->out, "; %s", kernel_why(text_of(p, k, "missing")));
	putc('\n', p->out);
}

/* The flight recorder of that node: what it holds, how far back, and what it costs. Nothing if it is off and not wanted. */
static void
print_recorder(struct pen *p, const json_t *o)
{
	const json_t *r = json_object_get(o, "recorder");
	double refused = number_of(r, "refused");

	if (!json_is_object(r))
		return;
	head(p, text_of(p, o, "node"));
	fprintf(p->out, " flight recorder %s", is_true(r, "on") ? "on" : "off");
	if (text_of(p, r, "missing")[0] != '\0')
		fprintf(p->out, ": %s", text_of(p, r, "missing"));
	if (is_true(r, "on"))
		fprintf(p->out, ": %s; %s, %.0f MiB, %s of a core", list_of(p, r, "providers"),
		    is_null(r, "horizon_s")
			? "nothing is written"
			: pen_printf(p, "%s back", pen_seconds(p, number_of(r, "horizon_s"))),
		    number_of(r, "memory_mib"), pen_share(p, number_of(r, "measured")));
	fprintf(p->out, "; %s provider%s left out; %s snapshot%s",
	    pen_count(p, number_of(r, "left_out")), number_of(r, "left_out") == 1 ? "" : "s",
	    pen_count(p, number_of(r, "snapshots")), number_of(r, "snapshots") == 1 ? "" : "s");
	if (refused > 0)
		fprintf(p->out, ", %s more refused by the tracer", pen_count(p, refused));
	putc('\n', p->out);
}

/* What switches the spans of each service on that node. Nothing if all have tracepoints. */
static void
print_levers(struct pen *p, const json_t *o)
{
	const json_t *levers = json_object_get(o, "levers");
	json_t *lever;
	const char *service, *between = "";
	bool any = false;

	json_object_foreach ((json_t *)levers, service, lever)
		any |= strcmp(text_of(p, levers, service), "tracer") != 0;
	if (!any)
		return;
	head(p, text_of(p, o, "node"));
	fputs(" levers: ", p->out);
	json_object_foreach ((json_t *)levers, service, lever) {
		fprintf(
		    p->out, "%s%s %s", between, pen_clean(p, service), text_of(p, levers, service));
		between = ", ";
	}
	putc('\n', p->out);
}

static void
print_agents(struct pen *p, const json_t *a)
{
	static const char *const heads[] = { "NODE", "STATE", "PROGRAMS", "RECORDS/S", "FULLEST",
		"LOST", "ADDED", "CPU", "TRACER CPU", "MEMORY", "BUFFERS", "PER RECORD", "OVERHEAD",
		"LAG", "CLOCK", "SERVICES" };
	const json_t *agents = json_object_get(a, "agents");
	struct columns t;
	size_t i;
	json_t *o;

	if (json_array_size(agents) == 0) {
		fputs("No agent has connected yet; start hone-agent on each node.\n", p->out);
		print_refused(p, json_object_get(a, "refused"));
		return;
	}
	columns_open(&t, "llrrrrrrrrrrrrrl");
	for (i = 0; i < 16; i++)
		columns_add(&t, heads[i]);
	json_array_foreach (agents, i, o)
		add_agent(&t, p, o);
	columns_print(&t, p);
	costs_print(p, agents);
	json_array_foreach (agents, i, o)
		if (number_of(o, "rests_s") > 0)
			warning(p, text_of(p, o, "node"),
			    pen_printf(p, " shed load; no tracepoint is added there for %s%s",
				pen_seconds(p, number_of(o, "rests_s")),
				is_true(o, "shed")
				    ? pen_printf(p, " (%s full)", text_of(p, o, "shed_by"))
				    : ""));
	json_array_foreach (agents, i, o)
		if (!is_null(o, "trouble"))
			warning(p, text_of(p, o, "node"),
			    pen_printf(p, " %s",
				text_of_put(p, trouble_text_put, json_object_get(o, "trouble"))));
	json_array_foreach (agents, i, o) {
		print_levers(p, o);
		print_below(p, o);
		print_kernel(p, o);
		print_recorder(p, o);
	}
	print_refused(p, json_object_get(a, "refused"));
}

/* ---- tracepoints ---- */

/* Why it is on; "": it is off. */
static const char *
purpose_of(struct pen *p, const json_t *o)
{
	const json_t *rule = json_object_get(o, "by_level");
	const char *why = is_true(o, "learning") ? "learning" : "";

	if (!is_null(o, "hypothesis"))
		why = pen_printf(p, "hypothesis %.0f", number_of(o, "hypothesis"));
	if (json_is_object(rule))
		why = pen_printf(p, "%s%slevel %s of %s", why, why[0] != '\0' ? ", " : "",
		    text_of(p, rule, "level"), text_of(p, rule, "service"));
	return why;
}

static void
print_tracepoints(struct pen *p, const json_t *a)
{
	static const char *const heads[] = { "TRACEPOINT", "LEVEL", "STATE", "FOR", "SERVICES",
		"NODES" };
	struct columns t;
	size_t i;
	json_t *o;

	columns_open(&t, "llllll");
	for (i = 0; i < sizeof heads / sizeof *heads; i++)
		columns_add(&t, heads[i]);
	json_array_foreach (json_object_get(a, "tracepoints"), i, o) {
		columns_add(&t, text_of(p, o, "tracepoint"));
		columns_add(&t, is_null(o, "level") ? "" : text_of(p, o, "level"));
		columns_add(&t, text_of(p, o, "state"));
		columns_add(&t, purpose_of(p, o));
		columns_add(&t, list_of(p, o, "services"));
		columns_add(&t, list_of(p, o, "nodes"));
	}
	columns_print(&t, p);
	fprintf(p->out, "%s tracepoints, %s enabled\n", pen_count(p, number_of(a, "total")),
	    pen_count(p, number_of(a, "on")));
	if (number_of(a, "left_off") > 0)
		fprintf(p->out,
		    "%s disabled tracepoints are not shown; hone tracepoints 'PROVIDER:*' shows those of a provider\n",
		    pen_count(p, number_of(a, "left_off")));
	if (!is_null(a, "levels_held"))
		fprintf(p->out, "none is on by its log level: %s\n",
		    levels_held_text(text_of(p, a, "levels_held")));
}

/* ---- forest, and short answers ---- */

static void
print_forest(struct pen *p, const json_t *a)
{
	size_t i;
	json_t *r;

	if (json_array_size(json_object_get(a, "runs")) == 0)
		fputs("No diagnosis has been started; start one with hone start TYPE.\n", p->out);
	json_array_foreach (json_object_get(a, "runs"), i, r) {
		if (i > 0)
			fputc('\n', p->out);
		tree_print(p, r);
	}
}

static void
print_started(struct pen *p, const json_t *a)
{
	const json_t *r = json_object_get(a, "run");

	fprintf(p->out, "diagnosis %.0f of ", number_of(r, "run"));
	pen_put(p, BOLD, text_of(p, r, "type"));
	fprintf(p->out, " started; hone status shows its progress, hone forest %s its results\n",
	    text_of(p, r, "type"));
	if (!is_null(r, "reason"))
		pen_wrap(p, "", text_of_reason(p, r, "reason"));
}

static void
print_stopped(struct pen *p, const json_t *a)
{
	if (json_array_size(json_object_get(a, "stopped")) == 0)
		fputs("stopped\n", p->out);
	else
		fprintf(p->out, "stopped: %s\n", list_of(p, a, "stopped"));
}

static void
print_learning(struct pen *p, const json_t *a)
{
	fprintf(p->out,
	    "learning for %s; all tracepoints are being enabled, put load on the application\n",
	    pen_seconds(p, number_of(json_object_get(a, "learning"), "left_s")));
}

/* TRACES counts all traces; LEARNED those that were probed and complete, which the overhead budget
 * may limit. */
static void
print_learned(struct pen *p, const json_t *status)
{
	struct columns t;
	size_t i;
	json_t *o;

	columns_open(&t, "lrrrrr");
	columns_add(&t, "REQUEST TYPE");
	columns_add(&t, "TRACES");
	columns_add(&t, "LEARNED TRACES");
	columns_add(&t, "LEARNED PLACES");
	columns_add(&t, "UNSEEN PLACES");
	columns_add(&t, "NEXT IS NEW");
	json_array_foreach (json_object_get(status, "types"), i, o) {
		columns_add(&t, text_of(p, o, "type"));
		columns_add(&t, pen_count(p, number_of(o, "traces")));
		columns_add(&t, pen_count(p, number_of(o, "learned_traces")));
		columns_add(&t, pen_count(p, number_of(o, "learned_places")));
		columns_add(
		    &t, is_null(o, "unseen") ? "" : pen_count(p, ceil(number_of(o, "unseen"))));
		columns_add(
		    &t, is_null(o, "next_new") ? "" : pen_share(p, number_of(o, "next_new")));
	}
	columns_print(&t, p);
}

static void
print_done(struct pen *p, const json_t *o)
{
	fprintf(p->out, "%s\n", text_of(p, o, "words"));
}

const struct output output_text = { print_status, print_agents, print_tracepoints, print_forest,
	print_started, print_stopped, print_learning, print_learned, verdict_print, analysis_print,
	baselines_print, why_print, history_print, diff_print, space_print, space_stats_print,
	versions_print, audit_print, print_done };
