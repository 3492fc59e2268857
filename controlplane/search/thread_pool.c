/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/thread_pool.h"

#include <math.h>
#include <string.h>

enum pool_state
pool_state(const struct pool_facts *f)
{
	double odd = f->effect + POOL_OF_CV * f->load.service_cv -
	             POOL_OF_LOAD * f->load.utilisation;

	/* 1 */
	if (f->load.jobs < POOL_JOBS_MIN)
		return POOL_NONE;
	/* 2 */
	if (f->load.utilisation >= POOL_WAITING_LOAD_MIN && f->load.joining >= POOL_WAITING_MIN)
		return POOL_WAITING;
	/* 3 */
	if (f->load.utilisation >= POOL_ALWAYS_MIN)
		return POOL_SATURATED;
	/* 4 */
	if (f->still >= POOL_STILL_MIN &&
	    f->load.wait_ns >= POOL_UNEXPLAINED_MIN * f->load.expected_ns)
		return POOL_UNEXPLAINED;
	/* 5 */
	if (f->effect < POOL_EFFECT_MIN)
		return POOL_USUAL;
	/* 6 */
	if (f->own >= POOL_OWN_MIN)
		return POOL_OWN;
	/* 7 */
	if (f->load.utilisation >= POOL_BUSY_MIN && f->load.service_cv < POOL_LONG_CV_MIN &&
	    f->load.utilisation + f->effect >= POOL_SATURATED_MIN)
		return POOL_SATURATED;
	/* 8 */
	if (f->load.wait_ns >= POOL_UNEXPLAINED_MIN * f->load.expected_ns ||
	    (f->still >= POOL_STILL_MIN &&
		f->load.wait_ns >= POOL_LONGER_MIN * f->load.expected_ns))
		return POOL_UNEXPLAINED;
	/* 9 */
	if (odd >= POOL_LONG_ODD_MIN &&
	    f->load.usual_expected_ns <= POOL_LONG_USUAL_MAX * f->load.expected_ns)
		return POOL_LONG;
	/* 10 */
	if (odd >= POOL_ODD_MIN)
		return f->load.service_cv >= POOL_LONG_CV_MIN ? POOL_LONG : POOL_UNEXPLAINED;
	/* 11 and 12 */
	return f->effect >= POOL_MOST_MIN && f->effect_low >= POOL_MOST_LOW ? POOL_MOST
	                                                                    : POOL_USUAL;
}

bool
pool_same_service(const struct labels *labels, uint32_t a, uint32_t b)
{
	const struct label *x = labels_get(labels, a), *y = labels_get(labels, b);

	return x->service_len == y->service_len && memcmp(x->text, y->text, x->service_len) == 0;
}

struct waits_for { /* threads of the service of a label */
	const struct labels *labels;
	uint32_t to;
};

static bool
is_wait_for(const struct shape *s, uint32_t edge, const void *of)
{
	const struct waits_for *w = of;

	return s->edges[edge].owner == LABEL_NONE &&
	       pool_same_service(w->labels, s->edges[edge].to, w->to);
}

double
pool_effect(const struct type_variance *t, const struct labels *labels, uint32_t to)
{
	const struct waits_for of = { labels, to };

	return t->m2 > 0 ? fmin(1, fmax(0, type_variance_edges(t, is_wait_for, &of) / t->m2)) : 0;
}

/* The waits between two units for the service of `to`, with a record of its kind; of a place inside a unit, with any. */
static struct thread_wait *
waits_for(const struct wait_list *waits, const struct labels *labels, uint32_t to, uint32_t *n,
    struct arena *a)
{
	struct thread_wait *of = arena_alloc(a, (waits->nitems + 1) * sizeof *of);
	uint8_t kind = labels_get(labels, to)->kind;
	bool any = kind != RECORD_UNIT_BEGIN && kind != RECORD_JOIN; /* inside a unit */

	*n = 0;
	for (uint32_t i = 0; i < waits->nitems && of != NULL; i++) {
		const struct listed_wait *w = &waits->items[i];

		if (w->between && (any || labels_get(labels, w->gap.to)->kind == kind) &&
		    pool_same_service(labels, w->gap.to, to))
			of[(*n)++] = w->wait;
	}
	return of;
}

int
pool_load(struct thread_load *ret, const struct wait_list *waits,
    const struct thread_history *history, const struct labels *labels, uint32_t to, struct arena *a,
    struct err *e)
{
	uint32_t n;
	struct thread_wait *of = waits_for(waits, labels, to, &n, a);

	if (of == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the load of threads");
	return thread_load_of(ret, history, of, n, a, e);
}

int
pool_delay(double *ret, const struct type_variance *t, const struct path_parts *parts,
    const struct wait_list *waits, const struct thread_delay_events *events,
    const struct labels *labels, uint32_t to, struct arena *a, struct err *e)
{
	uint32_t n;
	struct thread_wait *of = waits_for(waits, labels, to, &n, a);
	struct thread_delay delay;
	double within = 0;
	int rc;

	*ret = NAN;
	if (of == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the waits for threads");
	if ((rc = thread_delay_of(&delay, parts, events, of, n, 0.95, a, e)) != 0 ||
	    delay.requests < POOL_JOBS_MIN)
		return rc;
	for (uint32_t i = 0; i < groups_count(t->groups); i++)
		within += groups_at(t->groups, i)->total.m2;
	*ret = t->m2 > 0 ? fmin(1, fmax(0, delay.share_low * within / t->m2)) : 0;
	return 0;
}

int
pool_inside(bool *ret, const struct wait_list *waits, const struct thread_delay_events *events,
    const struct gap *gap, struct arena *a, struct err *e)
{
	uint32_t n;
	const struct thread_wait *of = wait_list_of(waits, gap, &n, a);
	double part;
	int rc;

	*ret = false;
	if (of == NULL)
		return 0;
	rc = thread_delay_explains(&part, events, of, n, false, a, e);
	*ret = rc == 0 && part >= POOL_INSIDE_MIN;
	return rc;
}

int
pool_own(double *ret, const struct wait_list *waits, const struct thread_delay_events *events,
    const struct gap *gap, struct arena *a, struct err *e)
{
	uint32_t n;
	const struct thread_wait *of = wait_list_of(waits, gap, &n, a);

	*ret = 0;
	return of != NULL ? thread_delay_explains(ret, events, of, n, true, a, e) : 0;
}
