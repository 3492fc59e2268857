/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone alerts: which request types are watched, and which alerts there are. */
#include <string.h>

#include "cli/call.h"
#include "cli/command.h"
#include "cli/output.h"

/* "0.95" as "p95", "0.05" as "p5". */
static const char *
quantile_of(struct pen *p, double q)
{
	return pen_printf(p, "p%g", q * 100);
}

/* "p95 of the response times", or of what requests take beyond their neighbours. */
static const char *
value_of(struct pen *p, const json_t *r)
{
	return pen_printf(p, "%s of %s", quantile_of(p, number_of(r, "quantile")),
	    strcmp(text_of(p, r, "of"), "excess") == 0
		? "what a request takes beyond the requests before and after it"
		: "the response times");
}

static const char *
cost_text(struct pen *p, const json_t *r)
{
	double share = number_of(r, "cost_share");

	return share > 0 ? pen_printf(
			       p, "%s of the response time is more than usual", pen_share(p, share))
	                 : "the mean response time is not more than usual";
}

static const char *
range_text(struct pen *p, const json_t *r)
{
	return pen_printf(p, "%s is %s; usual at this rate of requests are %s, at most %s; %s",
	    value_of(p, r), pen_ms(p, number_of(r, "now_ms")), pen_ms(p, number_of(r, "usual_ms")),
	    pen_ms(p, number_of(r, "limit_ms")), cost_text(p, r));
}

static const char *
objective_text(struct pen *p, const json_t *o)
{
	return pen_printf(p,
	    "%s of %s requests took over %s; the objective is %s; it is used up %.1f times too fast (limit %.1f)",
	    pen_count(p, number_of(o, "failures")), pen_count(p, number_of(o, "requests")),
	    pen_ms(p, number_of(o, "limit_ms")), pen_share(p, 1 - number_of(o, "goal")),
	    number_of(o, "rate"), number_of(o, "rate_limit"));
}

/* What came of its diagnosis. */
static const char *
started_text(struct pen *p, const json_t *a)
{
	static const struct {
		const char *word, *text;
	} texts[] = {
		{ "off", "no diagnosis was started (watch.starts_per_day is 0)" },
		{ "busy", "no diagnosis was started, since another one or learning was active" },
		{ "cool-down",
		    "no diagnosis was started, since there was one shortly before (watch.cool_down)" },
		{ "day-full",
		    "no diagnosis was started, since watch.starts_per_day were started in the last 24 h" },
		{ "failed", "a diagnosis could not be started" },
	};
	const char *word = text_of(p, a, "started");

	if (!is_null(a, "run"))
		return pen_printf(p, "diagnosis %.0f was started: hone forest --run %.0f",
		    number_of(a, "run"), number_of(a, "run"));
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (strcmp(word, texts[i].word) == 0)
			return texts[i].text;
	return "";
}

static void
alert_print(struct pen *p, const json_t *a)
{
	bool firing = is_null(a, "ended");

	pen_put(p, firing ? RED : PLAIN, firing ? "alert" : "ended");
	fprintf(p->out, " %.0f  ", number_of(a, "number"));
	pen_put(p, BOLD, pen_printf(p, "%s/%s", text_of(p, a, "service"), text_of(p, a, "type")));
	fprintf(p->out, "  since %s", text_of(p, a, "since"));
	if (!firing)
		fprintf(p->out, ", ended %s", text_of(p, a, "ended"));
	fputc('\n', p->out);
	if (!is_null(a, "group"))
		pen_wrap(p, "     ", pen_printf(p, "of group %s:", text_of(p, a, "group")));
	pen_wrap(p, "     ",
	    !is_null(a, "range") ? range_text(p, json_object_get(a, "range"))
				 : objective_text(p, json_object_get(a, "objective")));
	pen_wrap(p, "     ", started_text(p, a));
}

static const char *
answer_words(struct pen *p, const json_t *t, const json_t *answer)
{
	const char *word = text_of(p, t, "answer");
	double windows = number_of(answer, "learn_s") / number_of(answer, "window_s");

	if (is_true(t, "alert"))
		return "alert";
	if (strcmp(word, "learning") == 0)
		return pen_printf(p, "learning, %.0f of %.0f windows",
		    number_of(t, "healthy_windows"), windows < 60 ? 60 : windows);
	if (strcmp(word, "few-requests") == 0)
		return "too few requests are traced";
	if (strcmp(word, "rate-unknown") == 0)
		return "not judged: such a rate of requests was not learned";
	return strcmp(word, "inside") == 0 ? "as usual" : "one window outside the range";
}

/* What follows its name and its rate, or its requests. */
static void
profile_columns(struct columns *table, struct pen *p, const json_t *x, const json_t *answer)
{
	columns_add(table, pen_ms(p, number_of(x, "mean_ms")));
	columns_add(
	    table, is_null(x, "usual_mean_ms") ? "" : pen_ms(p, number_of(x, "usual_mean_ms")));
	columns_add(table, answer_words(p, x, answer));
}

static void
watched_print(struct pen *p, const json_t *answer)
{
	struct columns table;
	const json_t *t, *g;
	size_t i, k;

	columns_open(&table, "lrrrl");
	for (const char *const *h =
		 (const char *const[]){ "watched", "requests/s", "mean", "usual", "is", NULL };
	     *h != NULL; h++)
		columns_add(&table, *h);
	json_array_foreach (json_object_get(answer, "watched"), i, t) {
		columns_add(&table,
		    pen_printf(p, "%s/%s", text_of(p, t, "service"), text_of(p, t, "type")));
		columns_add(&table, pen_printf(p, "%.1f", number_of(t, "per_second")));
		profile_columns(&table, p, t, answer);
		json_array_foreach (json_object_get(t, "groups"), k, g) {
			columns_add(&table, pen_printf(p, "  group %s", text_of(p, g, "group")));
			columns_add(&table, "");
			profile_columns(&table, p, g, answer);
		}
	}
	columns_print(&table, p);
}

static void
alerts_print(struct pen *p, const json_t *answer)
{
	const json_t *alerts = json_object_get(answer, "alerts"), *a;
	size_t i;

	if (json_array_size(json_object_get(answer, "watched")) == 0) {
		fputs(
		    "Nothing is watched: no request of a type of watch.types came yet.\n", p->out);
		return;
	}
	if (json_array_size(alerts) == 0)
		fputs("No alert.\n", p->out);
	json_array_foreach (alerts, i, a)
		alert_print(p, a);
	if (number_of(answer, "left_out") > 0)
		fprintf(p->out, "%s alerts are not listed, since too many fired at once\n",
		    pen_count(p, number_of(answer, "left_out")));
	fputc('\n', p->out);
	watched_print(p, answer);
}

static enum exit_code
run_alerts(struct invocation *c)
{
	if (c->narguments == 0)
		return call_ask_and_print(c, json_pack("{s:s}", "ask", "alerts"), alerts_print);
	if (strcmp(c->arguments[0], "accept") != 0 || c->narguments != 2)
		return call_misused(c, pen_printf(c->err, "alerts %s", c->arguments[0]),
		    "must be accept TYPE", NULL);
	return call_ask_and_print(c,
	    json_pack("{s:s, s:s}", "ask", "alerts_accept", "type", c->arguments[1]), alerts_print);
}

const struct command command_alerts = {
	.name = "alerts",
	.arguments = "[accept TYPE]",
	.arguments_min = 0,
	.arguments_max = 2,
	.flags = FLAGS_ASK,
	.run = run_alerts,
	.help = "list alerts, and the request types that are watched",
	.more =
	    "An alert begins when the response times of a type leave the range that they have while it is healthy, at\n"
	    "a like rate of requests, or when an objective is missed too often (section [watch] of honed.conf).\n"
	    "accept TYPE  what the type does now is healthy: forget what was learned of it, and learn anew",
};
