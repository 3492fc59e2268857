/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/decide.h"

#include <assert.h>
#include <math.h>

/* ---- pure ---- */

static struct decide_result
result(enum decide_what what, enum decide_reason reason, bool separates)
{
	return (struct decide_result){ what, reason, separates };
}

/* This cycle cut the gap, and one of several parts has nearly all of it, by far more than its standard error: of what the paths with these parts carry,
 * and most of what all do. */
static bool
is_clear(const struct decide_facts *f)
{
	return f->cuts && f->nparts > 1 && !f->slow_side && !f->forced && !f->tail &&
	       f->top_of_gap >= DECIDE_CLEAR_MIN && f->top_of_all >= DECIDE_CLEAR_OF_ALL &&
	       f->ahead >= DECIDE_CLEAR_SE && f->effective >= DECIDE_CLEAR_EFFECTIVE;
}

/*
 *  1. Fewer traces than half of the minimum, or than that if a label separates, or of a tail fewer slow requests: wait.
 *  2. The gap carries nothing: wait.
 *  3. The problem is not as large as when the gap was found, or these requests vary much less than all that came since
 *     the diagnosis began: wait, up to DECIDE_MANY traces. What is measured now is not what is searched. One request in
 *     a hundred may have the problem, and a sample of 30 mostly has none of them.
 *  4. A label separates, but one side has too few traces: wait, up to DECIDE_MANY traces.
 *  5. A label separates, and the gap is much slower on one side: follow that side.
 *  6. The parts are not measured yet: measure them.
 *  7. The paths with these parts do not carry nearly all of the gap: choose between which labels the
 *     parts are. (Not where sides of a separation are compared, which fixes the labels.)
 *     Steps 8 to 10 wait for more traces, until the deadline. Of a tail, where nearly all traces are of
 *     requests that are not slow, DECIDE_SLOW_PLENTY slow requests stand for the numbers of traces in
 *     steps 3, 4, 9 and 10.
 *  8. Fewer traces with these parts than the minimum; half of it if they are clear.
 *  9. The lead of the top part is not certain, up to DECIDE_PLENTY traces.
 * 10. The covariance rests on few requests, up to 2 x DECIDE_MANY traces. One slow request among 30
 *     has all its time in one part: with two equal causes, as often in the other. Where four have it in the
 *     same one, which is clear then, that is one of two equal causes by chance at most once in eight times, and what is left
 *     of the problem is searched afterwards.
 * 11. Only the slow side is followed, and bounds do not say which part has its excess: unsure.
 * 12. There is only one part: narrow.
 * 13. Forced: narrow to the top part.
 * 14. The top part carries enough of the gap, and of what the search began with: narrow.
 * 15. Otherwise the problem is spread.
 */
struct decide_result
decide(const struct decide_facts *f, const struct decide_thresholds *t)
{
	const struct separation *sep = &f->separation;
	double side = fmin(sep->nwith, sep->nwithout);
	bool candidate = sep->label != LABEL_NONE && sep->between >= DECIDE_SEPARATES_MIN,
	     separates;
	bool late = f->deadline_passed, few = !late && f->traces < t->traces_min,
	     slow_plenty = f->slow >= DECIDE_SLOW_PLENTY,
	     many = f->tail ? slow_plenty : f->traces >= DECIDE_MANY;

	/* 1 */
	if (f->traces < t->traces_min / (late ? DECIDE_LATE_DIVISOR : DECIDE_CLEAR_DIVISOR) ||
	    f->traces <= 0 || (few && (f->tail || candidate)) ||
	    (f->tail && f->slow < (late ? DECIDE_SLOW_LATE : DECIDE_SLOW_MIN)))
		return result(DECIDE_WAIT, DECIDE_FEW_TRACES, false);
	/* 2 */
	if (f->carries <= 0)
		return result(DECIDE_WAIT, DECIDE_NOTHING_CARRIED, false);
	/* 3 */
	if (!late && !many &&
	    (f->share < f->share_found / 2 || f->carries < f->carried_found / 4 ||
		f->all < DECIDE_CALM_MAX * f->usual))
		return result(DECIDE_WAIT, DECIDE_NOT_BACK, false);
	/* 4 */
	separates = candidate &&
	            (side >= DECIDE_SIDE_MIN || (side >= DECIDE_SIDE_LATE && (late || many)));
	if (candidate && !separates && !late && !many)
		return result(DECIDE_WAIT, DECIDE_SMALL_SIDE, false);
	/* 5 */
	if (separates && sep->slow_ns >= DECIDE_MUCH_SLOWER * sep->fast_ns)
		return result(DECIDE_FOLLOW, DECIDE_SLOWER_SIDE, true);
	/* 6 */
	if (!f->parts_known)
		return result(DECIDE_MEASURE_PARTS, DECIDE_PARTS_UNKNOWN, separates);
	assert(f->nparts > 0);
	/* 7 */
	if (!f->row_chosen && !separates && !f->slow_side && f->cover < DECIDE_COVERS_MIN)
		return result(DECIDE_CHOOSE_ROW, DECIDE_OTHER_PARTS, separates);
	/* 8 */
	if (!late && f->pooled < t->traces_min / (is_clear(f) ? DECIDE_CLEAR_DIVISOR : 1))
		return result(DECIDE_WAIT, DECIDE_FEW_POOLED, separates);
	/* 9 */
	if (!late && f->ahead < DECIDE_SURE_SE &&
	    (f->tail ? !slow_plenty : f->pooled < DECIDE_PLENTY))
		return result(DECIDE_WAIT, DECIDE_NOT_AHEAD, separates);
	/* 10 */
	if (!late && f->effective < DECIDE_EFFECTIVE_MIN && !is_clear(f) &&
	    (f->tail ? !slow_plenty : f->pooled < 2 * DECIDE_MANY))
		return result(DECIDE_WAIT, DECIDE_FEW_EFFECTIVE, separates);
	/* 11 */
	if (f->slow_side && f->nparts > 1 && !f->excess_bounded && !f->forced)
		return result(DECIDE_UNSURE, DECIDE_UNBOUNDED, separates);
	/* 12 */
	if (f->nparts == 1)
		return result(DECIDE_NARROW, DECIDE_ONLY_PART, separates);
	/* 13 */
	if (f->forced)
		return result(DECIDE_NARROW, DECIDE_FORCED, separates);
	/* 14 */
	if (f->top_of_gap >= t->isolate_min && f->top_of_root >= DECIDE_OF_ROOT_MIN)
		return result(DECIDE_NARROW, DECIDE_TOP_PART, separates);
	/* 15 */
	return result(DECIDE_SPREAD, DECIDE_NO_PART, separates);
}

bool
decide_is_lost(const struct decide_facts *f, const struct decide_thresholds *t)
{
	double all_found = f->share_found > 0 ? f->carried_found / f->share_found : 0;

	return f->cuts && all_found > 0 && f->requests >= t->traces_min &&
	       (f->deadline_passed || f->requests >= DECIDE_MANY) &&
	       f->share < DECIDE_HIDDEN_MAX * f->share_found &&
	       f->carries < DECIDE_HIDDEN_MAX * f->carried_found &&
	       f->all >= (1 - f->share_found / 2) * all_found;
}

enum measure_row
decide_row(uint32_t ncommon, double top_of_gap, const struct decide_thresholds *t)
{
	/* 1 */
	if (ncommon > 1)
		return ROW_COMMON;
	/* 2 and 3 */
	return top_of_gap >= t->isolate_min ? ROW_MODEL : ROW_COMMON;
}

static bool
is_outer(const struct part *p, const struct gap *since)
{
	return p->gap.from == since->from || p->gap.to == since->to;
}

bool
decide_excess(
    const struct part *parts, uint32_t n, const struct gap *since, double fast_ns, uint32_t *top)
{
	double outer_ns = 0, outer_most, least = -1;
	uint32_t outer = 0;

	assert(n > 0);
	/* 1. All outer parts together exceed the fast side by this at most. */
	for (uint32_t i = 0; i < n; i++)
		if (is_outer(&parts[i], since)) {
			outer_ns += parts[i].mean_ns;
			outer++;
		}
	outer_most = outer_ns > fast_ns ? outer_ns - fast_ns : 0;
	/* 2. Lower bounds: all that an inner part takes, and what an outer part takes longer than
	 * the whole fast side. The first of equals is the top part. */
	for (uint32_t i = 0; i < n; i++) {
		double low = !is_outer(&parts[i], since)  ? parts[i].mean_ns
		             : parts[i].mean_ns > fast_ns ? parts[i].mean_ns - fast_ns
		                                          : 0;

		if (low > least) {
			least = low;
			*top = i;
		}
	}
	/* 3. Upper bounds of the others: all that a part takes, but of several outer parts no more
	 * than all of them exceed. */
	for (uint32_t i = 0; i < n; i++) {
		double high = is_outer(&parts[i], since) && outer > 1
		                  ? fmin(parts[i].mean_ns, outer_most)
		                  : parts[i].mean_ns;

		if (i != *top && high > least)
			return false;
	}
	return true;
}

/* ---- with measuring ---- */

double
decide_of_gap(const struct measured *m, const struct part *p)
{
	return m->share > 0 ? fmax(0, fmin(1, p->share / m->share)) : 0;
}

double
decide_of_root(const struct decide_context *c, const struct measured *m, const struct part *p)
{
	double now = c->root_share > 0 ? p->share / c->root_share : 1,
	       then = c->of_root * decide_of_gap(m, p);

	return now > then ? now : then;
}

static void
add_parts(struct decide_facts *f, struct measured *m, const struct decide_context *c)
{
	uint32_t by_excess = m->top;

	f->parts_known = true;
	f->nparts = m->nparts;
	f->pooled = m->pooled;
	f->effective = m->effective;
	f->ahead = m->ahead;
	f->cover = m->cover;
	if (c->slow_side && m->nparts > 1) {
		f->excess_bounded = decide_excess(
		    m->parts, m->nparts, &c->since, c->fast_ns, &by_excess);
		m->top = f->excess_bounded ? by_excess : m->top;
	}
	f->top_of_gap = m->parts[m->top].of_gap;
	f->top_of_all = decide_of_gap(m, &m->parts[m->top]);
	f->top_of_root = decide_of_root(c, m, &m->parts[m->top]);
}

/* Measures the parts anew, between the labels that decide_row() says. */
static int
choose_row(struct decide_facts *f, struct measured *m, const struct measure_input *in,
    const struct decide_context *c, const struct decide_thresholds *t, struct arena *a,
    struct err *e)
{
	double top_of_gap = decide_of_gap(m, &m->parts[m->top]);
	int rc = measure_parts(m, in, ROW_COMMON, NULL, a, e);

	if (rc == 0 && decide_row(m->nparts, top_of_gap, t) == ROW_MODEL)
		rc = measure_parts(m, in, ROW_MODEL, NULL, a, e);
	f->row_chosen = true;
	if (rc == 0)
		add_parts(f, m, c);
	return rc;
}

int
decide_measured(struct decision *ret, const struct measure_input *in,
    const struct decide_context *c, const struct decide_thresholds *t, struct arena *a,
    struct err *e)
{
	struct decide_facts f = { .deadline_passed = c->deadline_passed,
		.carried_found = c->carried_found,
		.share_found = c->share_found,
		.separation.label = LABEL_NONE,
		.cuts = c->cuts,
		.usual = c->usual,
		.slow_side = c->slow_side,
		.forced = c->forced,
		.tail = c->tail };
	struct decide_result r;
	struct measured *m = &ret->m;
	int rc = measure_gap(m, in, a, e);

	if (rc != 0)
		return rc;
	f.traces = m->n;
	f.slow = m->all.slow;
	f.carries = m->carries;
	f.share = m->share;
	f.requests = m->all.n;
	f.all = in->by_latency ? m->all.t : m->all.variance;
	if (decide_is_lost(&f, t)) {
		ret->what = DECIDE_LOST;
		ret->reason = DECIDE_HIDDEN;
		ret->sep = f.separation;
		return 0;
	}
	if (!in->by_latency && !in->by_mean &&
	    (rc = measure_separation(&f.separation, m, in, a, e)) != 0)
		return rc;
	r = decide(&f, t);
	if (r.what == DECIDE_MEASURE_PARTS) {
		rc = r.separates ? measure_parts(m, in, ROW_COMMON, &f.separation, a, e)
		                 : measure_parts(m, in, ROW_MODEL, NULL, a, e);
		if (rc != 0)
			return rc;
		add_parts(&f, m, c);
		r = decide(&f, t);
	}
	if (r.what == DECIDE_CHOOSE_ROW) {
		if ((rc = choose_row(&f, m, in, c, t, a, e)) != 0)
			return rc;
		r = decide(&f, t);
	}
	assert(r.what != DECIDE_MEASURE_PARTS && r.what != DECIDE_CHOOSE_ROW);
	ret->what = r.what;
	ret->reason = r.reason;
	ret->sep = f.separation;
	if (!r.separates)
		ret->sep.label = LABEL_NONE;
	return 0;
}
