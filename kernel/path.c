/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/path.h"

#include <stdlib.h>

#include "base/array.h"

struct followed_thread { /* back to floor_ns */
	uint32_t thread;
	uint32_t
	    follow; /* number of the follow that leads to it; KERNEL_PATH_NONE: it is the first one */
	int64_t floor_ns;
};

struct back_walk {
	const struct kernel_graph *g;
	struct kernel_path
	    *path; /* its segments are in the order of the walk: the last one first */
	struct followed_thread threads[KERNEL_PATH_DEPTH_MAX];
	uint32_t depth; /* number of threads */
	int64_t at_ns;
};

/* The walk goes back to from_ns, which is before at_ns, through this thread. */
static int
emit(struct back_walk *w, struct kernel_segment as, int64_t from_ns, struct err *e)
{
	struct kernel_path *p = w->path;

	if (from_ns >= w->at_ns)
		return 0;
	if (!array_reserve(p->segments, p->segments_cap, p->nsegments + 1))
		return err_set(e, ERR_MEMORY, "out of memory");
	as.from_ns = from_ns;
	as.to_ns = w->at_ns;
	p->segments[p->nsegments++] = as;
	w->at_ns = from_ns;
	return 0;
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Nothing is known of the thread that is followed before at_ns: up to `from_ns` the time is that of the one that waits for it. */
static int
emit_gap(struct back_walk *w, int64_t from_ns, struct err *e)
{
	const struct followed_thread *f = &w->threads[w->depth - 1];
	struct kernel_segment as = { .thread = f->thread,
		.interval = KERNEL_PATH_NONE,
		.follow = f->follow,
		.depth = (uint16_t)(w->depth - 1),
		.state = BELOW_UNKNOWN };

	if (f->follow != KERNEL_PATH_NONE) {
		const struct kernel_follow *wait = &w->path->follows[f->follow];

		as.thread = wait->waiter;
		as.follow = wait->below;
		as.depth--;
		as.state = wait->state;
	}
	return emit(w, as, from_ns, e);
}

/* A step back: at least one of at_ns and the depth changes. `follow`: whether waits are followed. */
static int
step(struct back_walk *w, bool follow, struct err *e)
{
	struct followed_thread *f = &w->threads[w->depth - 1];
	const struct kernel_thread *t = kernel_graph_thread(w->g, f->thread);
	uint32_t number = kernel_thread_at(t, w->at_ns);
	const struct kernel_interval *interval;
	struct kernel_segment as = {
		.thread = f->thread, .follow = f->follow, .depth = (uint16_t)(w->depth - 1)
	};
	struct kernel_path *p = w->path;
	int rc;

	if (number == t->nintervals) {
		int64_t known = t->nintervals > 0 ? t->intervals[t->nintervals - 1].to_ns
		                                  : INT64_MIN;

		if (follow && w->depth > 1 && t->parent != KERNEL_THREAD_NONE &&
		    w->at_ns <= t->begin_ns) {
			f->thread = t->parent; /* 3 */
			return 0;
		}
		return emit_gap(w, known < w->at_ns ? later(known, f->floor_ns) : f->floor_ns, e);
	}
	interval = &t->intervals[number];
	as.interval = number;
	as.state = interval->state;
	if (!follow || interval->waker == KERNEL_THREAD_NONE || interval->to_ns != w->at_ns)
		return emit(w, as, later(interval->from_ns, f->floor_ns), e); /* 1 */
	if (w->depth == KERNEL_PATH_DEPTH_MAX) {
		p->too_deep++;
		return emit(w, as, later(interval->from_ns, f->floor_ns), e); /* 4 */
	}
	/* 2 */
	as.transfer = true;
	as.state = BELOW_NETWORK;
	if (interval->waker_ns < w->at_ns &&
	    (rc = emit(
		 w, as, later(interval->waker_ns, later(interval->from_ns, f->floor_ns)), e)) != 0)
		return rc;
	if (!array_reserve(p->follows, p->follows_cap, p->nfollows + 1))
		return err_set(e, ERR_MEMORY, "out of memory");
	p->follows[p->nfollows] = (struct kernel_follow){ f->thread, f->follow, interval->state };
	w->threads[w->depth++] = (struct followed_thread){ interval->waker, p->nfollows++,
		later(interval->from_ns, f->floor_ns) };
	return 0;
}

static void
reverse(struct kernel_path *p)
{
	for (uint32_t i = 0; i < p->nsegments / 2; i++) {
		struct kernel_segment s = p->segments[i];

		p->segments[i] = p->segments[p->nsegments - 1 - i];
		p->segments[p->nsegments - 1 - i] = s;
	}
}

static int
walk(struct kernel_path *ret, const struct kernel_graph *g, uint32_t thread, int64_t from_ns,
    int64_t to_ns, bool follow, struct err *e)
{
	const struct kernel_thread *t = kernel_graph_thread(g, thread);
	struct back_walk *w;
	int rc = 0;

	*ret = (struct kernel_path){ 0 };
	from_ns = later(from_ns, t->begin_ns);
	to_ns = to_ns < t->end_ns ? to_ns : t->end_ns;
	if (from_ns >= to_ns)
		return err_set(e, ERR_INPUT, "thread %u is not known in this time", t->tid);
	if ((w = malloc(sizeof *w)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	w->g = g;
	w->path = ret;
	w->at_ns = to_ns;
	w->depth = 1;
	w->threads[0] = (struct followed_thread){ thread, KERNEL_PATH_NONE, from_ns };
	ret->from_ns = from_ns;
	ret->to_ns = to_ns;
	while (rc == 0 && w->at_ns > from_ns) {
		if (w->at_ns <= w->threads[w->depth - 1].floor_ns)
			w->depth--;
		else
			rc = step(w, follow, e);
	}
	free(w);
	reverse(ret);
	return rc;
}

int
kernel_path(struct kernel_path *ret, const struct kernel_graph *g, uint32_t thread, int64_t from_ns,
    int64_t to_ns, struct err *e)
{
	return walk(ret, g, thread, from_ns, to_ns, true, e);
}

int
kernel_states(struct kernel_path *ret, const struct kernel_graph *g, uint32_t thread,
    int64_t from_ns, int64_t to_ns, struct err *e)
{
	return walk(ret, g, thread, from_ns, to_ns, false, e);
}

void
kernel_path_release(struct kernel_path *p)
{
	free(p->segments);
	free(p->follows);
	*p = (struct kernel_path){ 0 };
}
