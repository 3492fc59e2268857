/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile.h"
#include "base/array.h"

enum { PER_OCTAVE = 8, FIRST_OCTAVE = 7, STEPS_PER_NODE = 8, COUNTS_PER_NODE = 64 };

/* State while one trace is added; arrays are in the scratch arena. */
struct profile_addition {
	struct profile *p;
	const struct trace *t;
	const struct labels *labels;
	/* [events], [units]: lists of the units that an event forked */
	uint32_t *first_child, *next_child;
	/* [units]: how many units it forked, and the first of them */
	uint32_t *nchildren, *child;
	uint32_t *node; /* [units] */
	/* [units]: how many units contain it; TRACE_NONE while that is not known. One that contains
	 * it, far enough away to find common ones in O(log depth) (Myers, An Applicative
	 * Random-Access Stack, 1983); an outermost unit itself. */
	uint32_t *depth, *jump;
	int64_t *self_ns, *way_ns; /* [units]; negative: none */
};

struct profile *
profile_new(uint32_t nodes_max)
{
	struct profile *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->nodes_max = nodes_max;
	p->steps_max = nodes_max * STEPS_PER_NODE;
	slices_init(&p->slices, nodes_max * COUNTS_PER_NODE);
	return p;
}

void
profile_free(struct profile *p)
{
	if (p == NULL)
		return;
	free(p->nodes);
	free(p->steps);
	map_release(&p->node_index);
	map_release(&p->step_index);
	slices_release(&p->slices);
	arena_release(&p->arena);
	arena_release(&p->scratch);
	free(p);
}

uint32_t
profile_bucket(double ns)
{
	int octave;
	double at;

	if (!(ns > 0))
		return 0;
	octave = ilogb(ns);
	if (octave < FIRST_OCTAVE)
		return 0;
	at = (octave - FIRST_OCTAVE) * PER_OCTAVE + floor(PER_OCTAVE * log2(scalbn(ns, -octave)));
	return at < PROFILE_BUCKETS ? (uint32_t)at : PROFILE_BUCKETS - 1;
}

double
profile_bucket_ns(uint32_t bucket)
{
	return exp2(FIRST_OCTAVE + bucket / (double)PER_OCTAVE);
}

static bool
same_service(const struct labels *labels, uint32_t a, uint32_t b)
{
	const struct label *x = labels_get(labels, a), *y = labels_get(labels, b);

	return a == b ||
	       (x->service_len == y->service_len && memcmp(x->text, y->text, x->service_len) == 0);
}

/* Hash of three numbers. The index plus 1 of an item is in the map under the first free number
 * from its hash on. */
static uint64_t
key_of(uint32_t a, uint32_t b, uint32_t c)
{
	return hash_u64(hash_u64((uint64_t)a << 32 | b) ^ c);
}

/* The number of a call; PROFILE_NONE: no room; -1: out of memory. */
static int64_t
node_of(struct profile *p, uint32_t parent, uint32_t label, uint32_t far)
{
	uint64_t key = key_of(parent, label, far);
	uintptr_t at;

	for (; (at = (uintptr_t)map_get(&p->node_index, key)) != 0; key++) {
		const struct profile_call *n = &p->nodes[at - 1];

		if (n->parent == parent && n->label == label && n->far == far)
			return (int64_t)at - 1;
	}
	if (p->nnodes == p->nodes_max)
		return PROFILE_NONE;
	if (!array_reserve_max(p->nodes, p->nodes_cap, p->nnodes + 1, p->nodes_max) ||
	    !map_put(&p->node_index, key, (void *)(uintptr_t)(p->nnodes + 1)))
		return -1;
	p->nodes[p->nnodes] = (struct profile_call){ .parent = parent, .label = label, .far = far };
	return p->nnodes++;
}

static bool
count_step(struct profile *p, uint32_t node, uint32_t after, uint32_t then)
{
	uint64_t key = key_of(node, after, then);
	uintptr_t at;

	for (; (at = (uintptr_t)map_get(&p->step_index, key)) != 0; key++) {
		struct profile_step *s = &p->steps[at - 1];

		if (s->node == node && s->after == after && s->then == then) {
			s->count++;
			return slices_count(&p->slices, SLICE_STEP, (uint32_t)at - 1, 0);
		}
	}
	if (p->nsteps == p->steps_max) {
		p->steps_lost++;
		return true;
	}
	if (!array_reserve_max(p->steps, p->steps_cap, p->nsteps + 1, p->steps_max) ||
	    !map_put(&p->step_index, key, (void *)(uintptr_t)(p->nsteps + 1)))
		return false;
	p->steps[p->nsteps++] = (struct profile_step){ node, after, then, 1 };
	return slices_count(&p->slices, SLICE_STEP, p->nsteps - 1, 0);
}

static bool
addition_begin(struct profile_addition *d)
{
	struct arena *a = &d->p->scratch;
	const struct trace *t = d->t;

	arena_reset(a);
	d->first_child = arena_alloc(a, (t->nevents + 1) * sizeof *d->first_child);
	d->next_child = arena_alloc(a, t->nunits * sizeof *d->next_child);
	d->nchildren = arena_calloc(a, t->nunits, sizeof *d->nchildren);
	d->child = arena_calloc(a, t->nunits, sizeof *d->child);
	d->node = arena_alloc(a, t->nunits * sizeof *d->node);
	d->depth = arena_alloc(a, t->nunits * sizeof *d->depth);
	d->jump = arena_alloc(a, t->nunits * sizeof *d->jump);
	d->self_ns = arena_alloc(a, t->nunits * sizeof *d->self_ns);
	d->way_ns = arena_alloc(a, t->nunits * sizeof *d->way_ns);
	if (!d->first_child || !d->next_child || !d->nchildren || !d->child || !d->node ||
	    !d->depth || !d->jump || !d->self_ns || !d->way_ns)
		return false;
	memset(d->first_child, 0xff, (t->nevents + 1) * sizeof *d->first_child);
	for (uint32_t u = 0; u < t->nunits; u++) {
		d->node[u] = PROFILE_NONE;
		d->self_ns[u] = d->way_ns[u] = -1;
	}
	/* backwards, so that lists are in the order of units */
	for (uint32_t u = t->nunits; u-- > 0;) {
		uint32_t fork = t->units[u].fork;

		if (fork == TRACE_NONE || u == t->root)
			continue;
		d->next_child[u] = d->first_child[fork];
		d->first_child[fork] = u;
		d->nchildren[t->events[fork].unit]++;
		d->child[t->events[fork].unit] = u;
	}
	return true;
}

static uint32_t
begin_label(const struct profile_addition *d, uint32_t u)
{
	return d->t->events[d->t->units[u].first].label;
}

/* The label that a forwarding unit calls. In spans the fork was made by the reader, and a
 * client's span contains only the server's. In live traces a unit with one fork may be
 * any worker, so its label does not depend on what it calls. */
static uint32_t
far_of(const struct profile_addition *d, uint32_t u)
{
	uint32_t child = d->child[u];

	if (u == d->t->root || d->nchildren[u] != 1 ||
	    !labels_get(d->labels, d->t->events[d->t->units[child].fork].label)->silent ||
	    same_service(d->labels, begin_label(d, u), begin_label(d, child)))
		return LABEL_NONE;
	return begin_label(d, child);
}

/* Adds the calls of one unit in its order, and which call followed which. */
static bool
walk_unit(struct profile_addition *d, uint32_t u, uint32_t *stack, uint32_t *top)
{
	const struct unit *unit = &d->t->units[u];
	uint32_t after = PROFILE_NONE;

	for (uint32_t i = unit->first; i < unit->first + unit->count; i++)
		for (uint32_t c = d->first_child[i]; c != UINT32_MAX; c = d->next_child[c]) {
			int64_t n = node_of(d->p, d->node[u], begin_label(d, c), far_of(d, c));

			if (n < 0)
				return false;
			if (n == PROFILE_NONE) { /* with everything under it */
				d->p->calls_lost++;
				continue;
			}
			d->node[c] = (uint32_t)n;
			stack[(*top)++] = c;
			if (trace_is_evidence(d->t) &&
			    !count_step(d->p, d->node[u], after, (uint32_t)n))
				return false;
			after = (uint32_t)n;
		}
	return !trace_is_evidence(d->t) || count_step(d->p, d->node[u], after, PROFILE_NONE);
}

static bool
walk_units(struct profile_addition *d)
{
	uint32_t *stack = arena_alloc(&d->p->scratch, (d->t->nunits + 1) * sizeof *stack), top = 0;
	int64_t n = node_of(d->p, PROFILE_NONE, d->t->type, LABEL_NONE);

	if (stack == NULL || n < 0)
		return false;
	if (n == PROFILE_NONE) {
		d->p->calls_lost++;
		return true;
	}
	d->node[d->t->root] = (uint32_t)n;
	stack[top++] = d->t->root;
	while (top > 0)
		if (!walk_unit(d, stack[--top], stack, &top))
			return false;
	return true;
}

static void
spend(int64_t *ns, int64_t more_ns)
{
	*ns = *ns < 0 ? more_ns : *ns + more_ns;
}

/* The unit that forked this one; itself: it is an outermost one. */
static uint32_t
outer_unit(const struct profile_addition *d, uint32_t u)
{
	uint32_t fork = d->t->units[u].fork;

	return u == d->t->root || fork == TRACE_NONE ? u : d->t->events[fork].unit;
}

static void
set_depth(struct profile_addition *d, uint32_t u, uint32_t outer)
{
	uint32_t far = d->jump[outer];

	d->depth[u] = d->depth[outer] + 1;
	d->jump[u] = d->depth[outer] - d->depth[far] == d->depth[far] - d->depth[d->jump[far]]
	                 ? d->jump[far]
	                 : outer;
}

/* Sets depth and jump of all units, the outer ones first. Malformed units may contain each other: then
 * the one that is met again counts as an outermost one. O(units). */
static bool
set_depths(struct profile_addition *d)
{
	uint32_t *chain = arena_alloc(&d->p->scratch, (d->t->nunits + 1) * sizeof *chain);
	bool *met = arena_calloc(&d->p->scratch, d->t->nunits, sizeof *met);

	if (chain == NULL || met == NULL)
		return false;
	memset(d->depth, 0xff, d->t->nunits * sizeof *d->depth);
	for (uint32_t i = 0; i < d->t->nunits; i++) {
		uint32_t n = 0, u = i;

		for (; d->depth[u] == TRACE_NONE && !met[u]; u = outer_unit(d, u)) {
			met[u] = true;
			chain[n++] = u;
		}
		if (d->depth[u] == TRACE_NONE) {
			d->depth[u] = 0;
			d->jump[u] = u;
		}
		while (n-- > 0) {
			if (d->depth[chain[n]] == TRACE_NONE)
				set_depth(d, chain[n], u);
			u = chain[n];
		}
	}
	return true;
}

/* The innermost unit that contains both; TRACE_NONE: their forks are unknown. O(log depth). */
static uint32_t
common_unit(const struct profile_addition *d, uint32_t a, uint32_t b)
{
	while (a != b) {
		uint32_t *deeper = d->depth[a] > d->depth[b] ? &a : &b,
			 least = d->depth[a] < d->depth[b] ? d->depth[a] : d->depth[b];

		if (d->depth[a] != d->depth[b]) {
			*deeper = d->depth[d->jump[*deeper]] >= least ? d->jump[*deeper]
			                                              : outer_unit(d, *deeper);
		} else if (d->depth[a] == 0) {
			return TRACE_NONE;
		} else if (d->jump[a] != d->jump[b]) {
			a = d->jump[a];
			b = d->jump[b];
		} else {
			a = outer_unit(d, a);
			b = outer_unit(d, b);
		}
	}
	return a;
}

/* Adds the time of an edge of the path. An edge between a caller and its call is transfer time
 * if it leads to another service or was handed over: it is unknown in which of both the time
 * was spent. All other time is spent in the unit that contains both ends. */
static void
spend_edge(struct profile_addition *d, const struct step *from, const struct step *to)
{
	uint32_t a = d->t->events[from->event].unit, b = d->t->events[to->event].unit, inner;
	uint32_t common = common_unit(d, a, b);

	assert(from->event < d->t->nevents && to->event < d->t->nevents);
	if (common == TRACE_NONE)
		return;
	inner = common == a ? b : a;
	if (a != b && (common == a || common == b) &&
	    (to->owner == LABEL_NONE ||
		!same_service(d->labels, begin_label(d, a), begin_label(d, b))))
		spend(&d->way_ns[inner], to->time_ns - from->time_ns);
	else
		spend(&d->self_ns[common], to->time_ns - from->time_ns);
}

static bool
add_time(struct profile *p, struct profile_times **times, enum slice_what what, uint32_t node,
    int64_t ns)
{
	if (ns < 0)
		return true;
	if (*times == NULL)
		*times = arena_calloc(&p->arena, 1, sizeof **times);
	if (*times == NULL)
		return false;
	moments_add(&(*times)->ns, (double)ns);
	(*times)->buckets[profile_bucket((double)ns)]++;
	return slices_count(&p->slices, what, node, profile_bucket((double)ns));
}

static bool
add_call(struct profile *p, struct profile_call *n, uint32_t at, uint64_t serial)
{
	bool first = n->last != serial;

	n->calls++;
	n->traces += first;
	n->last = serial;
	return slices_count(&p->slices, SLICE_CALLS, at, 0) &&
	       (!first || slices_count(&p->slices, SLICE_CALLS, at, 1));
}

static bool
add_calls(struct profile_addition *d)
{
	struct profile *p = d->p;
	uint64_t serial = p->traces + p->lossy;

	for (uint32_t u = 0; u < d->t->nunits; u++) {
		uint32_t at = d->node[u];
		struct profile_call *n;

		if (at == PROFILE_NONE)
			continue;
		n = &p->nodes[at];
		if (trace_is_evidence(d->t) && !add_call(p, n, at, serial))
			return false;
		if (!add_time(p, &n->self, SLICE_SELF, at, d->self_ns[u]) ||
		    !add_time(p, &n->way, SLICE_WAY, at, d->way_ns[u]))
			return false;
	}
	return true;
}

int
profile_add(struct profile *p, const struct trace *t, const struct critpath *path,
    const struct labels *labels, struct err *e)
{
	struct profile_addition d = { .p = p, .t = t, .labels = labels };
	uint32_t took = profile_bucket((double)(t->end_ns - t->begin_ns));

	if (!slices_open(&p->slices, t->begin_ns) ||
	    !slices_count(&p->slices, SLICE_TOTAL, 0, took) || !addition_begin(&d) ||
	    !set_depths(&d) || !walk_units(&d))
		return err_set(e, ERR_MEMORY, "out of memory for what requests call");
	for (uint32_t i = 1; i < path->nsteps; i++)
		spend_edge(&d, &path->steps[i - 1], &path->steps[i]);
	if (trace_is_evidence(t))
		p->traces++;
	else
		p->lossy++;
	return add_calls(&d) ? 0 : err_set(e, ERR_MEMORY, "out of memory for the times of calls");
}
