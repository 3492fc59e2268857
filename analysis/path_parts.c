/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/path_parts.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/thread_history_inside.h"
#include "base/array.h"

void
path_parts_release(struct path_parts *p)
{
	free(p->items);
	*p = (struct path_parts){ 0 };
}

int
path_parts_add(struct path_parts *p, const struct trace *t, const struct critpath *path,
    uint64_t group, struct err *e)
{
	for (uint32_t i = 1; i < path->nsteps; i++) {
		const struct step *a = &path->steps[i - 1], *b = &path->steps[i];
		const struct event *to = &t->events[b->event];
		struct path_part *x = array_newest(
		    p->items, p->items_cap, p->nitems, p->next, PATH_PARTS_MAX);

		if (x == NULL)
			return err_set(e, ERR_MEMORY, "out of memory for parts of paths");
		*x = (struct path_part){ .begin_ns = a->time_ns,
			.end_ns = b->time_ns,
			.trace_id = t->id,
			.group = group,
			.process = { to->node, to->pid },
			.tid = to->tid,
			.unit = to->unit,
			.from = a->label,
			.to = b->label,
			.between = b->owner == LABEL_NONE,
			.first = i == 1 };
	}
	return 0;
}

const struct path_part *
path_parts_at(const struct path_parts *p, uint32_t i)
{
	return &p->items[(p->next + i) % p->nitems];
}

void
path_parts_time(
    int64_t *from_ns, int64_t *to_ns, const struct path_parts *p, const struct thread_history *h)
{
	int64_t newest_ns = INT64_MIN, longest_ns = 0, begin_ns = 0;

	*from_ns = INT64_MAX;
	*to_ns = INT64_MIN;
	for (uint32_t i = 0; i < h->nevents; i++) {
		int64_t at_ns = h->events[i].time_ns;

		*from_ns = at_ns < *from_ns ? at_ns : *from_ns;
		newest_ns = at_ns > newest_ns ? at_ns : newest_ns;
	}
	for (uint32_t i = 0; i < p->nitems; i++) {
		const struct path_part *x = path_parts_at(p, i);

		begin_ns = x->first || i == 0 ? x->begin_ns : begin_ns;
		longest_ns = x->end_ns - begin_ns > longest_ns ? x->end_ns - begin_ns : longest_ns;
	}
	if (h->nevents > 0)
		*to_ns = newest_ns - 2 * longest_ns;
}

uint32_t
path_requests(struct path_request *ret, const struct path_parts *p, int64_t from_ns, int64_t to_ns,
    double (*lost_ns)(const struct path_part *p, const void *of), const void *of)
{
	uint32_t nret = 0, i = 0;

	while (i < p->nitems && !path_parts_at(p, i)->first)
		i++; /* its begin is not kept any more */
	while (i < p->nitems) {
		const struct path_part *first = path_parts_at(p, i), *last;
		struct path_request *r = &ret[nret];
		uint32_t from = i;

		do
			last = path_parts_at(p, i++);
		while (i < p->nitems && !path_parts_at(p, i)->first);
		if (first->begin_ns < from_ns || last->end_ns > to_ns)
			continue;
		*r = (struct path_request){ .begin_ns = first->begin_ns,
			.group = first->group,
			.t = (double)(last->end_ns - first->begin_ns) };
		for (uint32_t k = from; k < i; k++)
			r->x += lost_ns(path_parts_at(p, k), of);
		nret++;
	}
	return nret;
}

static int
by_group(const void *x, const void *y)
{
	const struct path_request *a = x, *b = y;

	return past_compare(a->group, b->group);
}

static int
by_begin(const void *x, const void *y)
{
	const struct path_request *a = x, *b = y;

	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void
subtract_means(struct path_request *r, uint32_t n)
{
	double t = 0, x = 0;

	for (uint32_t i = 0; i < n; i++) {
		t += r[i].t / n;
		x += r[i].x / n;
	}
	for (uint32_t i = 0; i < n; i++) {
		r[i].t -= t;
		r[i].x -= x;
	}
}

struct lost_share
path_requests_share(struct path_request *r, uint32_t n, bool groups, double confidence)
{
	double part = 0, whole = 0, xx = 0, squares = 0, sum = 0, error;
	struct lost_share ret = { 0 };

	if (groups)
		qsort(r, n, sizeof *r, by_group);
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && (!groups || r[end].group == r[i].group); end++)
			;
		subtract_means(&r[i], end - i);
	}
	for (uint32_t i = 0; i < n; i++) {
		part += r[i].x * r[i].t;
		whole += r[i].t * r[i].t;
		xx += r[i].x * r[i].x;
	}
	if (!(whole > 0))
		return ret;
	ret.share = part / whole;
	ret.slope = xx > 0 ? part / xx : 0;
	qsort(r, n, sizeof *r, by_begin);
	for (uint32_t i = 0; i < n; i++) {
		sum += r[i].x * r[i].t - ret.share * r[i].t * r[i].t;
		if (i + 1 < n && r[i + 1].begin_ns / PATH_SLICE_NS == r[i].begin_ns / PATH_SLICE_NS)
			continue;
		squares += sum * sum;
		sum = 0;
	}
	error = gsl_cdf_ugaussian_Pinv((1 + confidence) / 2) * sqrt(squares) / whole;
	ret.interval = (struct interval){ ret.share - error, ret.share + error };
	return ret;
}
