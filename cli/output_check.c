/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `hone check`: what pairs, and the mistakes in the instrumentation. */
#include "cli/mistake_text.h"
#include "cli/output.h"
#include "cli/verdict_text.h"

enum { SPANS_SECONDS = 30 }; /* enough for requests that are complete late */

static void
print_mistake(struct pen *p, const json_t *m, bool spans)
{
	pen_put(p, RED, pen_printf(p, "\n%s", text_of(p, m, "kind")));
	if (!is_null(m, "type"))
		fprintf(p->out, " in %s", text_of(p, m, "type"));
	fprintf(p->out, ", %s %s\n", pen_share(p, number_of(m, "share")),
	    interval_of(p, number_of(m, "low"), number_of(m, "high")));
	pen_wrap(p, "     ", text_of_put(p, mistake_text_put, m));
	if (mistake_advice(m, spans)[0] != '\0')
		pen_wrap(p, "     ", pen_printf(p, "-> %s", mistake_advice(m, spans)));
	if (is_true(m, "mapped"))
		pen_wrap(p, "     ",
		    "-> if the requests of this program come from a mapping, its begin and end do not pair: hone map check");
}

static void
print_pairs(struct pen *p, const json_t *answer)
{
	struct columns t;
	size_t i;
	json_t *r;

	columns_open(&t, "llrrrr");
	columns_add(&t, "TYPE");
	columns_add(&t, "FORK OR REQUEST");
	columns_add(&t, "FORKED");
	columns_add(&t, "BEGUN");
	columns_add(&t, "ENDED");
	columns_add(&t, "JOINED");
	json_array_foreach (json_object_get(answer, "requests"), i, r) {
		columns_add(&t, text_of(p, r, "type"));
		columns_add(&t, text_of(p, r, "request"));
		columns_add(&t, "");
		columns_add(&t, pen_count(p, number_of(r, "begun")));
		columns_add(&t, pen_count(p, number_of(r, "ended")));
		columns_add(&t, "");
	}
	json_array_foreach (json_object_get(answer, "forks"), i, r) {
		columns_add(&t, text_of(p, r, "type"));
		columns_add(&t, text_of(p, r, "fork"));
		columns_add(&t, pen_count(p, number_of(r, "forked")));
		columns_add(&t, pen_count(p, number_of(r, "begun")));
		columns_add(&t, pen_count(p, number_of(r, "ended")));
		columns_add(&t, pen_count(p, number_of(r, "joined")));
	}
	columns_print(&t, p);
}

void
check_print(struct pen *p, const json_t *answer)
{
	const json_t *mistakes = json_object_get(answer, "mistakes"),
		     *requests = json_object_get(answer, "requests"),
		     *forks = json_object_get(answer, "forks");
	size_t i, n = json_array_size(mistakes);
	json_t *m;

	if (json_array_size(requests) + json_array_size(forks) > 0)
		print_pairs(p, answer);
	json_array_foreach (mistakes, i, m)
		print_mistake(p, m, number_of(answer, "spans") > 0);
	if (n > 0)
		fprintf(p->out, "\n%zu mistake%s in the instrumentation", n, n == 1 ? "" : "s");
	else if (json_array_size(requests) == 0)
		fputs("No request was seen", p->out);
	else
		fputs("\nThe instrumentation is right", p->out);
	fprintf(p->out, ": %s traces", pen_count(p, number_of(answer, "traces")));
	if (!is_null(answer, "seconds"))
		fprintf(p->out, " in %s", pen_seconds(p, number_of(answer, "seconds")));
	if (number_of(answer, "lossy") > 0)
		fprintf(p->out, ", %s of them with lost records",
		    pen_count(p, number_of(answer, "lossy")));
	fputc('\n', p->out);
	if (n == 0 && json_array_size(requests) == 0 && !is_null(answer, "seconds") &&
	    number_of(answer, "seconds") < SPANS_SECONDS)
		fprintf(p->out,
		    "Requests with spans of OpenTelemetry are complete spans.delay + spans.hold after their end, 11 s by default: "
		    "--seconds %d\n",
		    SPANS_SECONDS);
}
