/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When something happened, and where the time was lost over all groups. */
#include <stdlib.h>

#include "report/document_inside.h"
#include "report/rollup.h"

static json_t *
time_json(const struct document *d, int64_t ns)
{
	return wall_json((struct wall){ ns + d->o->wall_offset_ns });
}

/* The requests of the type's problems in that bin; the bins of groups lie within those of the type. */
static uint64_t
requests_of_problems(const struct document *d, const struct report_type *type,
    const struct timeline *t, uint32_t bin)
{
	int64_t from = t->from_ns + bin * t->width_ns;
	uint64_t n = 0;

	for (uint32_t i = 0; i < type->ngroups; i++) {
		const struct judged *j = type->groups[i];
		const struct timeline *g = report_times(d->report, j->group);

		if (g == NULL || (j->finding.problem != PROBLEM_UNPREDICTABLE &&
				     j->finding.problem != PROBLEM_SLOW))
			continue;
		for (uint32_t k = 0; k < g->count; k++) {
			int64_t at = g->from_ns + k * g->width_ns;

			n += at >= from && at < from + t->width_ns ? g->bins[k].n : 0;
		}
	}
	return n;
}

json_t *
document_times(struct document *d, const struct timeline *t, const struct report_type *problems)
{
	json_t *j, *bins;

	if (t == NULL || t->width_ns == 0)
		return json_null();
	j = json_object();
	bins = json_array();
	put(j, "from", time_json(d, t->from_ns));
	put_number(j, "width_s", (double)t->width_ns / 1e9);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct timeline_bin *b = &t->bins[i];
		json_t *one = json_array();

		json_array_append_new(one, json_integer((json_int_t)b->n));
		json_array_append_new(
		    one, b->n > 0 ? number_json(b->sum_ns / (double)b->n / 1e6) : json_null());
		if (problems != NULL)
			json_array_append_new(
			    one, json_integer((json_int_t)requests_of_problems(d, problems, t, i)));
		json_array_append_new(bins, one);
	}
	put(j, "bins", bins);
	return j;
}

json_t *
document_worst(struct document *d, const struct timeline *t)
{
	struct timeline_worst w;
	json_t *j;

	if (t == NULL || !timeline_worst(&w, t))
		return json_null();
	j = json_object();
	put(j, "from", time_json(d, w.from_ns));
	put(j, "until", time_json(d, w.until_ns));
	put_count(j, "requests", w.n);
	put_ms(j, "mean_ms", w.mean_ns);
	put_ms(j, "other_mean_ms", w.other_ns);
	return j;
}

json_t *
document_rollup(struct document *d)
{
	struct rollup_row *rows;
	json_t *all = json_array();
	double sum = 0;
	int n = rollup_of(&rows, d->report, d->o->label);

	if (n < 0) {
		d->failed = true;
		return all;
	}
	for (int i = 0; i < n; i++)
		sum += rows[i].cost_ns;
	for (int i = 0; i < n; i++) {
		bool within = rows[i].owner != LABEL_NONE;
		json_t *j = json_object();

		put(j, "service", document_service(d, within ? rows[i].owner : LABEL_NONE));
		put(j, "call", document_label(d, rows[i].owner));
		put(j, "from", document_label(d, rows[i].from));
		put(j, "to", document_label(d, rows[i].to));
		put_ms(j, "cost_ms", rows[i].cost_ns);
		put_number(j, "share", sum > 0 ? rows[i].cost_ns / sum : 0);
		put_count(j, "groups", rows[i].groups);
		put_count(j, "requests", rows[i].requests);
		json_array_append_new(all, j);
	}
	free(rows);
	return all;
}
