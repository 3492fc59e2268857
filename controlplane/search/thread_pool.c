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
	if (f->load.utilisation >= POOL_ALWAYS_MIN)
		return POOL_SATURATED;
	/* 3 */
	if (f->effect < POOL_EFFECT_MIN)
		return POOL_USUAL;
	/* 4 */
	if (f->load.utilisation >= POOL_BUSY_MIN &&
	    f->load.utilisation + f->effect >= POOL_SATURATED_MIN)
		return POOL_SATURATED;
	/* 5 */
	if (f->load.wait_ns >= POOL_UNEXPLAINED_MIN * f->load.expected_ns ||
	    (f->still >= POOL_STILL_MIN &&
		f->load.wait_ns >= POOL_LONGER_MIN * f->load.expected_ns))
		return POOL_UNEXPLAINED;
	/* 6 */
	if (f->load.usual_expected_ns <= POOL_LONG_USUAL_MAX * f->load.expected_ns &&
	    (f->effect >= POOL_LONG_EFFECT_MIN || odd >= POOL_LONG_ODD_MIN))
		return POOL_LONG;
	/* 7 */
	if (odd >= POOL_ODD_MIN)
		return f->load.service_cv >= POOL_LONG_CV_MIN ? POOL_LONG : POOL_UNEXPLAINED;
	/* 8 */
	return POOL_USUAL;
}

static bool
same_service(const struct labels *labels, uint32_t a, uint32_t b)
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
	       same_service(w->labels, s->edges[edge].to, w->to);
}

double
pool_effect(const struct type_variance *t, const struct labels *labels, uint32_t to)
{
	const struct waits_for of = { labels, to };

	return t->m2 > 0 ? fmin(1, fmax(0, type_variance_edges(t, is_wait_for, &of) / t->m2)) : 0;
}

int
pool_load(struct thread_load *ret, const struct wait_list *waits,
    const struct thread_history *history, const struct labels *labels, uint32_t to, struct arena *a,
    struct err *e)
{
	struct thread_wait *of = arena_alloc(a, (waits->nitems + 1) * sizeof *of);
	uint8_t kind = labels_get(labels, to)->kind;
	uint32_t n = 0;

	if (of == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the load of threads");
	for (uint32_t i = 0; i < waits->nitems; i++) {
		const struct listed_wait *w = &waits->items[i];

		if (w->between && labels_get(labels, w->gap.to)->kind == kind &&
		    same_service(labels, w->gap.to, to))
			of[n++] = w->wait;
	}
	return thread_load_of(ret, history, of, n, a, e);
}
