/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone levels: which tracepoints are always on by their log level, what the next ones would cost, and another level for services. */
#include <string.h>

#include "cli/call.h"
#include "cli/client.h"
#include "cli/command.h"

/* ---- printing ---- */

static const char *
core_text(struct pen *p, double core)
{
	return pen_printf(p, "%.3g %%", core * 100);
}

/* "0.02 % of a core on node n1, 120 records/s on all nodes" */
static const char *
price_text(struct pen *p, const json_t *price)
{
	if (is_null(price, "node") || number_of(price, "tracepoints") == 0)
		return "nothing";
	return pen_printf(p, "%s of a core on node %s, %s records/s on all nodes",
	    core_text(p, number_of(price, "core")), text_of(p, price, "node"),
	    pen_count(p, number_of(price, "per_second")));
}

static void
held_print(struct pen *p, const json_t *a)
{
	const char *held = text_of(p, a, "held");

	if (strcmp(held, "congestion") == 0)
		line_print(p, "held",
		    is_null(a, "held_s")
			? "none is on, since a queue is full"
			: pen_printf(p,
			      "none is on, since a queue was full; again in %s at the earliest",
			      pen_seconds(p, number_of(a, "held_s"))));
	else if (strcmp(held, "learning") == 0)
		line_print(p, "held", "none is on by its level while hone learn runs");
	else if (held[0] != '\0')
		line_print(p, "held", "none is on: honed is ending");
}

static void
add_level(struct columns *t, struct pen *p, const char *service, const json_t *l)
{
	const char *about = is_true(l, "counted") ? "" : "~";

	columns_add(t, service);
	columns_add(t, text_of(p, l, "level"));
	columns_add(t, pen_count(p, number_of(l, "tracepoints")));
	columns_add(t, is_true(l, "on") ? "on" : "");
	columns_add(t, is_null(l, "per_second") ? "?"
						: pen_printf(p, "%s%s", about,
						      pen_count(p, number_of(l, "per_second"))));
	columns_add(t, pen_printf(p, "%s%s", number_of(l, "unknown") > 0 ? "over " : "",
			   core_text(p, number_of(l, "core"))));
}

static void
services_print(struct pen *p, const json_t *a)
{
	const json_t *services = json_object_get(a, "services"), *s, *l;
	struct columns t;
	size_t i, k;

	columns_open(&t, "llrlrr");
	columns_add(&t, "service");
	columns_add(&t, "level");
	columns_add(&t, "tracepoints");
	columns_add(&t, "");
	columns_add(&t, "records/s");
	columns_add(&t, "of a core, up to it");
	json_array_foreach (services, i, s)
		json_array_foreach (json_object_get(s, "levels"), k, l)
			add_level(&t, p,
			    k > 0 ? ""
				  : pen_printf(p, "%s (%s)", text_of(p, s, "service"),
					text_of(p, s, "level")),
			    l);
	if (json_array_size(services) > 0)
		columns_print(&t, p);
	else
		fputs("No program that an agent lists has tracepoints with a log level.\n", p->out);
	columns_release(&t);
	if (number_of(a, "left_off") > 0)
		fprintf(p->out, "%s more services are not shown: hone levels PATTERN\n",
		    pen_count(p, number_of(a, "left_off")));
}

/* ~ and ? */
static void
legend_print(struct pen *p, const json_t *a)
{
	const json_t *s, *l;
	bool predicted = false, unknown = false;
	size_t i, k;

	json_array_foreach (json_object_get(a, "services"), i, s)
		json_array_foreach (json_object_get(s, "levels"), k, l) {
			unknown |= is_null(l, "per_second");
			predicted |= !is_null(l, "per_second") && !is_true(l, "counted");
		}
	if (predicted)
		line_print(
		    p, "~", "predicted: what hone learn saw, at the present rate of requests");
	if (unknown)
		line_print(p, "?", "not known: run hone learn while there is load");
}

static void
levels_print(struct pen *p, const json_t *a)
{
	const json_t *rule;
	const char *rules = "";
	size_t i;

	services_print(p, a);
	fputc('\n', p->out);
	legend_print(p, a);
	json_array_foreach (json_object_get(a, "rules"), i, rule)
		rules = pen_printf(p, "%s%s%s %s", rules, i > 0 ? ", " : "",
		    text_of(p, rule, "service"), text_of(p, rule, "level"));
	line_print(p, "set", rules[0] != '\0' ? rules : "nothing: hone levels SERVICE LEVEL");
	line_print(p, "cost",
	    pen_printf(p, "%s; the budget is %s on each node (levels.budget)",
		price_text(p, json_object_get(a, "price")), core_text(p, number_of(a, "budget"))));
	held_print(p, a);
	if (!is_true(a, "stored"))
		line_print(p, "not stored",
		    "if honed is started again they are as before; its log says why");
	if (number_of(a, "left_out") > 0)
		line_print(p, "left out",
		    pen_printf(p, "%s names of tracepoints, the least severe: a node takes 1,024",
			pen_count(p, number_of(a, "left_out"))));
}

static void
cost_of_change_print(struct pen *p, const json_t *a)
{
	const json_t *x = json_object_get(a, "change"), *after = json_object_get(x, "after");

	pen_put(p, BOLD,
	    pen_printf(p, "%s: level %s\n", text_of(p, x, "service"), text_of(p, x, "level")));
	line_print(p, "now", price_text(p, json_object_get(x, "before")));
	line_print(p, "with it",
	    pen_printf(p, "%s; the budget is %s on each node (levels.budget)", price_text(p, after),
		core_text(p, number_of(a, "budget"))));
	if (number_of(after, "unknown") > 0)
		line_print(p, "not known",
		    pen_printf(p,
			"how often %s of %s tracepoints are passed: run hone learn while there is load",
			pen_count(p, number_of(after, "unknown")),
			pen_count(p, number_of(after, "tracepoints"))));
}

/* ---- asking ---- */

static json_t *
question_of(const struct invocation *c, bool set)
{
	json_t *q = json_pack("{s:s}", "ask", "levels");

	if (c->narguments > 0)
		json_object_set_new(q, "service", json_string(c->arguments[0]));
	if (c->narguments > 1)
		json_object_set_new(q, "level", json_string(c->arguments[1]));
	if (set)
		json_object_set_new(q, "set", json_true());
	if (set && c->value[FLAG_FORCE] != NULL)
		json_object_set_new(q, "force", json_true());
	return q;
}

/* Says the price, and then asks to set the level: so the price is there also where that is refused. */
static enum exit_code
set_level(struct invocation *c)
{
	json_t *answer;
	struct err e;

	if (c->value[FLAG_JSON] != NULL)
		return call_ask_and_print(c, question_of(c, true), levels_print);
	if (call_ask_once(c, question_of(c, false), &answer, &e) != 0)
		return call_failed(c, &e);
	cost_of_change_print(c->out, answer);
	fflush(c->out->out);
	json_decref(answer);
	if (call_ask_once(c, question_of(c, true), &answer, &e) != 0)
		return call_failed(c, &e);
	line_print(
	    c->out, "set", "it holds until it is set anew, also when honed is started again");
	json_decref(answer);
	return DONE;
}

static enum exit_code
run_levels(struct invocation *c)
{
	bool change = c->narguments > 1;

	if (!change && (c->value[FLAG_FORCE] != NULL || c->value[FLAG_DRY_RUN] != NULL))
		return call_misused(c, c->value[FLAG_FORCE] != NULL ? "--force" : "--dry-run",
		    "needs a service and a level", NULL);
	if (call_either(c, FLAG_FORCE, FLAG_DRY_RUN) != DONE)
		return MISUSED;
	if (change && c->value[FLAG_DRY_RUN] == NULL)
		return set_level(c);
	return call_ask_and_print(
	    c, question_of(c, false), change ? cost_of_change_print : levels_print);
}

const struct command command_levels = {
	.name = "levels",
	.arguments = "[SERVICE [LEVEL]]",
	.arguments_min = 0,
	.arguments_max = 2,
	.flags = FLAGS_ASK | FLAG_BIT(DRY_RUN) | FLAG_BIT(FORCE),
	.run = run_levels,
	.help =
	    "show or set which tracepoints are always on, by their log level, and what that costs",
	.more =
	    "SERVICE is the name of a program, or a pattern of them (shop-*). LEVEL is emerg, alert, crit, err,\n"
	    "warning, notice, info (or log), debug-system, debug-program, debug-process, debug-module,\n"
	    "debug-unit, debug-function, debug-line, debug, or off: its tracepoints of this level and of more\n"
	    "severe ones are on for all sampled requests. The cost is said first; what is over levels.budget,\n"
	    "or not known, is refused without --force. Without LEVEL the levels of each service are shown.",
	.many = "give a service and a level only",
};
