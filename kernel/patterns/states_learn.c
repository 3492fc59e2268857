/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "base/rng.h"
#include "kernel/patterns/mine.h"
#include "kernel/patterns/states_baseline.h"

enum {
	VALUES_MAX = 1 << 22
}; /* measures of the samples of a place, while its limits are computed */

struct kept_operation { /* on the heap, with its runs behind it */
	int64_t own_ns;
	uint32_t n;
	struct state_run runs[];
};

struct learned_place {
	char *name;
	uint32_t parent, slot, nslots;
	uint64_t operations; /* that could be kept */
	struct kept_operation **samples;
	uint32_t nsamples, samples_cap;
};

struct learned_type {
	struct hash128 type;
	uint64_t requests;
	struct learned_place *places;
	uint32_t nplaces;
};

struct states_learner {
	struct states_options o;
	struct map types; /* struct learned_type, by type.a */
	uint64_t requests;
	struct states_counts counts;
	struct arena scratch;
	struct rng rng;
	size_t bytes;
};

static int
out_of_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "out of memory");
}

int
states_learner_new(struct states_learner **ret, const struct states_options *o, struct err *e)
{
	struct states_learner *l;

	if (o->support < 0 || o->support > 1)
		return err_set(
		    e, ERR_INPUT, "support %g: must be over 0 and at most 1", o->support);
	if ((l = *ret = calloc(1, sizeof *l)) == NULL)
		return out_of_memory(e);
	l->o = *o;
	l->o.support = o->support > 0 ? o->support : STATES_SUPPORT;
	l->o.memory_bytes = o->memory_bytes > 0 ? o->memory_bytes : STATES_MEMORY_BYTES;
	rng_seed(&l->rng, o->seed);
	return 0;
}

static void
type_free(struct learned_type *t)
{
	for (uint32_t i = 0; t != NULL && i < t->nplaces; i++) {
		for (uint32_t k = 0; k < t->places[i].nsamples; k++)
			free(t->places[i].samples[k]);
		free(t->places[i].samples);
		free(t->places[i].name);
	}
	if (t != NULL)
		free(t->places);
	free(t);
}

void
states_learner_free(struct states_learner *l)
{
	struct learned_type *t;
	size_t at = 0;

	if (l == NULL)
		return;
	while ((t = map_next(&l->types, &at, NULL)) != NULL)
		type_free(t);
	map_release(&l->types);
	arena_release(&l->scratch);
	free(l);
}

static struct learned_type *
type_new(struct states_learner *l, const struct operations *o, const struct workflow *w)
{
	struct learned_type *t = calloc(1, sizeof *t);

	if (t == NULL || (t->places = calloc(w->nplaces, sizeof *t->places)) == NULL)
		goto fail;
	t->type = w->type;
	t->nplaces = w->nplaces;
	for (uint32_t i = 0; i < w->nplaces; i++) {
		const struct operation *op = &o->list[w->places[i].operation];

		t->places[i].parent = w->places[i].parent;
		t->places[i].slot = w->places[i].slot;
		t->places[i].nslots = w->places[i].nslots;
		if ((t->places[i].name = strndup(op->name, op->name_len)) == NULL)
			goto fail;
		l->bytes += sizeof *t->places + op->name_len;
	}
	if (!map_put(&l->types, w->type.a, t))
		goto fail;
	return t;
fail:
	type_free(t);
	return NULL;
}

/* Reservoir sampling (algorithm R of Vitter, 1985): each operation of the place is kept with the same probability. */
static int
keep(struct states_learner *l, struct learned_place *p, const struct operation_states *s)
{
	size_t bytes = sizeof(struct kept_operation) + s->n * sizeof(struct state_run);
	uint64_t at = p->operations++;
	struct kept_operation *new;

	if (p->nsamples == STATES_SAMPLES_MAX) {
		if ((at = rng_below(&l->rng, p->operations)) >= STATES_SAMPLES_MAX)
			return 0;
	} else if (l->bytes + bytes > l->o.memory_bytes) {
		l->counts.not_kept++;
		return 0;
	} else if (!array_reserve(p->samples, p->samples_cap, p->nsamples + 1)) {
		return ERR_MEMORY;
	} else {
		at = p->nsamples;
	}
	if ((new = malloc(bytes)) == NULL)
		return ERR_MEMORY;
	new->own_ns = s->own_ns;
	new->n = s->n;
	if (s->n > 0)
		memcpy(new->runs, s->runs, s->n * sizeof *s->runs);
	if (at == p->nsamples) {
		p->nsamples++;
	} else {
		l->bytes -= sizeof(struct kept_operation) +
		            p->samples[at]->n * sizeof(struct state_run);
		free(p->samples[at]);
	}
	l->bytes += bytes;
	p->samples[at] = new;
	return 0;
}

int
states_learner_add(struct states_learner *l, const struct operations *o, struct err *e)
{
	struct workflow w;
	struct operation_states *s;
	struct learned_type *t;
	int rc;

	arena_reset(&l->scratch);
	if ((rc = workflow_of(&w, o, &l->scratch, e)) == ERR_INPUT) {
		l->counts.malformed++;
		return 0;
	}
	if (rc != 0)
		return rc;
	if ((s = arena_calloc(&l->scratch, o->n, sizeof *s)) == NULL)
		return out_of_memory(e);
	for (uint32_t i = 0; i < o->n; i++)
		if ((rc = operation_states_of(&s[i], o, &w, i, &l->scratch, e)) != 0) {
			l->counts.malformed += rc == ERR_INPUT;
			return rc == ERR_INPUT ? 0 : rc;
		}
	t = map_get(&l->types, w.type.a);
	if (t == NULL && (l->types.count == STATES_TYPES_MAX || l->bytes > l->o.memory_bytes)) {
		l->counts.types_over++;
		return 0;
	}
	if (t == NULL && (t = type_new(l, o, &w)) == NULL)
		return out_of_memory(e);
	l->requests++;
	t->requests++;
	for (uint32_t i = 0; i < o->n; i++) {
		if ((double)s[i].unknown_ns > STATES_UNKNOWN_SHARE * (double)s[i].own_ns)
			l->counts.unknown++;
		else if (keep(l, &t->places[w.place[i]], &s[i]) != 0)
			return out_of_memory(e);
	}
	return 0;
}

/* ---- patterns of an interval ---- */

static int
by_items(const void *x, const void *y)
{
	const struct mine_sequence *a = x, *b = y;

	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->items, b->items, a->len);
}

/* The sequence of a sample in the interval: runs from *first on, and how many. */
static uint32_t
sequence_of(const struct kept_operation *s, uint32_t interval, uint32_t *first)
{
	uint32_t i = 0, n = 0;

	while (i < s->n && s->runs[i].interval < interval)
		i++;
	*first = i;
	while (i < s->n && s->runs[i].interval == interval && !s->runs[i].loose)
		i++, n++;
	return n;
}

/* Sequences of all samples, equal ones counted once. In the arena. */
static int
sequences_of(struct mine_sequence **ret, uint32_t *count, const struct learned_place *p,
    uint32_t interval, struct arena *a)
{
	struct mine_sequence *s = arena_calloc(a, p->nsamples, sizeof *s);
	uint32_t n = 0;

	if (s == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < p->nsamples; i++) {
		uint32_t first, len = sequence_of(p->samples[i], interval, &first);
		uint8_t *items = arena_alloc(a, (size_t)len + 1);

		if (items == NULL)
			return ERR_MEMORY;
		for (uint32_t k = 0; k < len; k++)
			items[k] = p->samples[i]->runs[first + k].state;
		s[i] = (struct mine_sequence){ items, len, 1 };
	}
	qsort(s, p->nsamples, sizeof *s, by_items);
	for (uint32_t i = 0; i < p->nsamples; i++) {
		if (n > 0 && by_items(&s[n - 1], &s[i]) == 0)
			s[n - 1].weight++;
		else
			s[n++] = s[i];
	}
	*ret = s;
	*count = n;
	return 0;
}

static int
longest_first(const void *x, const void *y)
{
	const struct mined *a = x, *b = y;

	if (a->len != b->len)
		return a->len > b->len ? -1 : 1;
	if (a->support != b->support)
		return a->support > b->support ? -1 : 1;
	return memcmp(a->items, b->items, a->len);
}

/* In more than half of the samples that have the pattern, the state came several times. */
static int
find_loops(struct states_pattern *ret, const struct learned_place *p, uint32_t interval,
    uint32_t gap_max, struct arena *a)
{
	bool *looped = arena_calloc(a, ret->len, sizeof *looped);
	uint32_t *again = arena_calloc(a, ret->len, sizeof *again), at[MINE_LENGTH_MAX];
	uint8_t items[MINE_LENGTH_MAX];

	if (looped == NULL || again == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < p->nsamples; i++) {
		uint32_t first, n = sequence_of(p->samples[i], interval, &first);

		for (uint32_t k = 0; k < n; k++)
			items[k] = p->samples[i]->runs[first + k].state;
		if (!mine_match(at, ret->states, ret->len, items, n, 0, gap_max))
			continue;
		for (uint32_t k = 0; k < ret->len; k++)
			again[k] += p->samples[i]->runs[first + at[k]].passes > 1;
	}
	for (uint32_t k = 0; k < ret->len; k++)
		looped[k] = 2 * again[k] > ret->support;
	ret->looped = looped;
	return 0;
}

static int
find_patterns(struct states_interval *ret, struct states_learner *l, const struct learned_place *p,
    uint32_t interval, struct arena *keep_in, struct err *e)
{
	struct mine_options o = { .gap_max = STATES_GAP_MAX,
		.support = l->o.support,
		.work_max = UINT64_C(1) << 27,
		.nodes_max = 1 << 15 };
	struct arena a = { 0 };
	struct mine_sequence *s;
	struct mine_result r = { 0 };
	uint32_t n;
	int rc = sequences_of(&s, &n, p, interval, &a);

	if (rc == 0 && (rc = mine_closed(&r, s, n, &o, &a, e)) == ERR_FULL) {
		ret->coarse = true;
		l->counts.coarse++;
		o.gap_max = 0;
		o.work_max <<= 3; /* at most len^2 / 2 patterns of the sequence */
		rc = mine_closed(&r, s, n, &o, &a, e);
	}
	if (rc == ERR_FULL)
		rc = 0; /* none: the limits of states remain */
	if (r.n > 0)
		qsort(r.patterns, r.n, sizeof *r.patterns, longest_first);
	if (r.n > STATES_PATTERNS_MAX) {
		l->counts.patterns_over += r.n - STATES_PATTERNS_MAX;
		r.n = STATES_PATTERNS_MAX;
	}
	ret->npatterns = rc == 0 ? r.n : 0;
	if (rc == 0 &&
	    (ret->patterns = arena_calloc(keep_in, (size_t)r.n + 1, sizeof *ret->patterns)) == NULL)
		rc = ERR_MEMORY;
	for (uint32_t i = 0; i < r.n && rc == 0; i++) {
		struct states_pattern *q = &ret->patterns[i];

		q->len = r.patterns[i].len;
		q->support = (uint32_t)r.patterns[i].support;
		if ((q->states = arena_copy(keep_in, r.patterns[i].items, q->len)) == NULL ||
		    find_loops(q, p, interval, o.gap_max, keep_in) != 0)
			rc = ERR_MEMORY;
	}
	arena_release(&a);
	return rc == ERR_MEMORY ? out_of_memory(e) : rc;
}

/* ---- limits of a place ---- */

static void
shuffle(struct learned_place *p, struct rng *r)
{
	for (uint32_t i = p->nsamples; i > 1; i--) {
		uint32_t k = (uint32_t)rng_below(r, i);
		struct kept_operation *s = p->samples[k];

		p->samples[k] = p->samples[i - 1];
		p->samples[i - 1] = s;
	}
}

static void
measures_of(double *x, const struct states_place *to, const struct kept_operation *s)
{
	struct operation_states o = { .runs = (struct state_run *)(uintptr_t)s->runs, .n = s->n };

	states_measures(x, NULL, to, STATES_GAP_MAX, &o);
}

static int
find_limits(
    struct states_place *to, const struct learned_place *p, struct arena *keep_in, struct err *e)
{
	uint32_t nm = to->limits.nmeasures;
	uint32_t n = p->nsamples < VALUES_MAX / nm ? p->nsamples : VALUES_MAX / nm;
	struct arena a = { 0 };
	double *x = arena_calloc(&a, nm, sizeof *x), *floors = arena_calloc(&a, nm, sizeof *floors);
	float *y = malloc((size_t)n * nm * sizeof *y);
	struct limits fitted;
	int rc = 0;

	to->means = arena_calloc(keep_in, nm, sizeof *to->means);
	if (x == NULL || floors == NULL || y == NULL || to->means == NULL)
		rc = out_of_memory(e);
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		measures_of(x, to, p->samples[i]);
		for (uint32_t m = 0; m < nm; m++) {
			to->means[m] += x[m] / n;
			y[(size_t)i * nm + m] = (float)states_scaled(x[m], to, m);
		}
	}
	for (uint32_t m = 0; m < nm && rc == 0; m++)
		floors[m] = states_floor(to->means[m], to->resolution_ns,
		    m % 2 == 1 && m < 2 * BELOW_STATES * to->nintervals);
	if (rc == 0 && (rc = limits_fit(&fitted, y, n, nm, floors, NULL, &a, e)) == 0) {
		to->limits = fitted;
		to->limits.list = arena_copy(keep_in, fitted.list, nm * sizeof *fitted.list);
		rc = to->limits.list == NULL ? out_of_memory(e) : 0;
	}
	free(y);
	arena_release(&a);
	return rc;
}

static int
finish_place(struct states_place *to, struct states_learner *l, struct learned_place *p,
    struct arena *a, struct err *e)
{
	int rc = 0;

	*to = (struct states_place){ .parent = p->parent,
		.slot = p->slot,
		.nslots = p->nslots,
		.operations = p->operations,
		.nintervals = states_intervals(p->nslots) };
	if ((to->name = arena_text(a, p->name, strlen(p->name))) == NULL ||
	    (to->intervals = arena_calloc(a, to->nintervals, sizeof *to->intervals)) == NULL)
		return out_of_memory(e);
	for (uint32_t i = 0; i < p->nsamples; i++)
		to->own_ns += (double)p->samples[i]->own_ns / p->nsamples;
	to->resolution_ns = fmax(STATES_RESOLUTION_NS, STATES_RESOLUTION_SHARE * to->own_ns);
	if (p->nsamples < LIMITS_SAMPLES_MIN)
		return 0;
	shuffle(p, &l->rng);
	to->limits.nmeasures = 2 * BELOW_STATES * to->nintervals;
	for (uint32_t i = 0; i < to->nintervals && rc == 0; i++) {
		struct states_interval *in = &to->intervals[i];
		uint32_t kept = 0;

		rc = find_patterns(in, l, p, i, a, e);
		for (; kept < in->npatterns && rc == 0; kept++) {
			if (to->limits.nmeasures + in->patterns[kept].len > STATES_MEASURES_MAX)
				break;
			in->patterns[kept].measure = to->limits.nmeasures;
			to->limits.nmeasures += in->patterns[kept].len;
		}
		l->counts.patterns_over += in->npatterns - kept;
		in->npatterns = kept;
	}
	return rc == 0 ? find_limits(to, p, a, e) : rc;
}

/* ---- the baseline ---- */

static int
most_first(const void *x, const void *y)
{
	const struct states_type *a = x, *b = y;

	if (a->requests != b->requests)
		return a->requests > b->requests ? -1 : 1;
	return a->type.a < b->type.a ? -1 : a->type.a > b->type.a;
}

int
states_learner_finish(struct states_learner *l, struct states_baseline **ret, struct err *e)
{
	struct states_baseline *b;
	struct learned_type *t;
	size_t at = 0;
	int rc = 0;

	if (l->requests == 0)
		return err_set(e, ERR_INPUT, "no request with operations whose states are known");
	if ((b = calloc(1, sizeof *b)) == NULL)
		return out_of_memory(e);
	b->support = l->o.support;
	b->gap_max = STATES_GAP_MAX;
	b->requests = l->requests;
	if ((b->types = arena_calloc(&b->arena, l->types.count, sizeof *b->types)) == NULL)
		rc = out_of_memory(e);
	while (rc == 0 && (t = map_next(&l->types, &at, NULL)) != NULL) {
		struct states_type *to = &b->types[b->ntypes++];

		*to = (struct states_type){
			.type = t->type, .requests = t->requests, .nplaces = t->nplaces
		};
		to->places = arena_calloc(&b->arena, t->nplaces, sizeof *to->places);
		for (uint32_t i = 0; i < t->nplaces && rc == 0; i++)
			rc = to->places == NULL
			         ? out_of_memory(e)
			         : finish_place(&to->places[i], l, &t->places[i], &b->arena, e);
	}
	b->counts = l->counts;
	if (rc == 0) {
		qsort(b->types, b->ntypes, sizeof *b->types, most_first);
		*ret = b;
		return 0;
	}
	states_baseline_free(b);
	return rc;
}

void
states_baseline_free(struct states_baseline *b)
{
	if (b == NULL)
		return;
	arena_release(&b->arena);
	free(b);
}
