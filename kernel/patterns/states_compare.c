/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/patterns/states_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"

struct departures {
	uint32_t low, high;         /* operations in which it departs */
	uint32_t low_one, high_one; /* in which it is more than one sigma away */
	double sum_y, sum_low_one, sum_high_one;
	double sum;               /* over all operations */
	double sum_low, sum_high; /* over those in which it departs */
};

struct compared_place {
	uint32_t operations, outside, explained, height, npatterns;
	double sum_ns; /* of their lengths without waits for a processor, in them and below them */
	/* The time that an operation was ready, and its other work: sums, and products of what is above usual. */
	double sum_ready, sum_work, sum_work_ready, sum_work_work, sum_ready_ready;
	struct departures *measures;
	uint32_t *absent; /* by pattern, of all intervals */
	struct states_example examples[STATES_EXAMPLES_MAX];
	double examples_ns[STATES_EXAMPLES_MAX]; /* their excess */
	uint32_t nexamples;
};

struct compared_type {
	const struct states_type *type;
	uint64_t requests;
	struct compared_place *places;
	struct states_new_type is_new; /* if type is NULL */
};

struct states_comparer {
	const struct states_baseline *b;
	struct map known; /* struct states_type, by type.a */
	struct map types; /* struct compared_type, by type.a */
	struct arena arena, scratch;
	uint64_t requests, operations, outside, explained, too_few;
	uint32_t nnews;
	struct states_counts counts;
};

const char *
state_resource(enum below_state s)
{
	static const char *const words[BELOW_STATES] = { [BELOW_RUNNING] = "the CPU",
		[BELOW_READY] = "preemption",
		[BELOW_DISK] = "the disk",
		[BELOW_NETWORK] = "the network",
		[BELOW_TIMER] = "a timer",
		[BELOW_LOCK] = "a lock",
		[BELOW_THREAD] = "another thread",
		[BELOW_FAULT] = "page faults",
		[BELOW_UNKNOWN] = "unknown" };

	return (unsigned)s < BELOW_STATES ? words[s] : "unknown";
}

static int
out_of_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "out of memory");
}

int
states_comparer_new(struct states_comparer **ret, const struct states_baseline *b, struct err *e)
{
	struct states_comparer *c = *ret = calloc(1, sizeof *c);

	if (c == NULL)
		return out_of_memory(e);
	c->b = b;
	for (uint32_t i = 0; i < b->ntypes; i++)
		if (!map_put(&c->known, b->types[i].type.a, &b->types[i])) {
			states_comparer_free(c);
			*ret = NULL;
			return out_of_memory(e);
		}
	return 0;
}

void
states_comparer_free(struct states_comparer *c)
{
	if (c == NULL)
		return;
	map_release(&c->known);
	map_release(&c->types);
	arena_release(&c->arena);
	arena_release(&c->scratch);
	free(c);
}

static struct compared_type *
type_new(struct states_comparer *c, const struct workflow *w, const struct operations *o)
{
	struct compared_type *t = arena_calloc(&c->arena, 1, sizeof *t);
	const struct states_type *type = map_get(&c->known, w->type.a);

	if (t == NULL)
		return NULL;
	t->type = type;
	if (type == NULL) {
		t->is_new = (struct states_new_type){ .operations = o->n,
			.type = w->type,
			.name = arena_text(&c->arena, o->list[0].name, o->list[0].name_len) };
		c->nnews++;
		return t->is_new.name != NULL && map_put(&c->types, w->type.a, t) ? t : NULL;
	}
	if ((t->places = arena_calloc(&c->arena, type->nplaces, sizeof *t->places)) == NULL)
		return NULL;
	for (uint32_t i = type->nplaces; i-- > 0;) {
		const struct states_place *p = &type->places[i];
		struct compared_place *to = &t->places[i];

		for (uint32_t k = 0; k < p->nintervals; k++)
			to->npatterns += p->intervals[k].npatterns;
		to->measures = arena_calloc(
		    &c->arena, (size_t)p->limits.nmeasures + 1, sizeof *to->measures);
		to->absent = arena_calloc(&c->arena, (size_t)to->npatterns + 1, sizeof *to->absent);
		if (to->measures == NULL || to->absent == NULL)
			return NULL;
		if (p->parent != OPERATION_NONE && t->places[p->parent].height <= to->height)
			t->places[p->parent].height = to->height + 1;
	}
	return map_put(&c->types, w->type.a, t) ? t : NULL;
}

/* ---- one operation ---- */

struct looked_at {
	double work_ns;   /* of it and of operations below it, without waits for a processor */
	double below_ns;  /* what operations below it took longer than usual */
	double excess_ns; /* and it itself */
};

static bool
of_time(const struct states_place *p, uint32_t m)
{
	return m < 2 * BELOW_STATES * p->nintervals && m % 2 == 0;
}

static enum below_state
state_of(uint32_t m)
{
	return (enum below_state)(m / 2 % BELOW_STATES);
}

static bool
waits_for_others(enum below_state s)
{
	return s == BELOW_NETWORK || s == BELOW_THREAD;
}

static void
remember(struct compared_place *to, const struct states_example *new, double excess_ns)
{
	uint32_t k = to->nexamples;

	if (k < STATES_EXAMPLES_MAX)
		to->nexamples++;
	else if (to->examples_ns[--k] >= excess_ns)
		return;
	for (; k > 0 && to->examples_ns[k - 1] < excess_ns; k--) {
		to->examples[k] = to->examples[k - 1];
		to->examples_ns[k] = to->examples_ns[k - 1];
	}
	to->examples[k] = *new;
	to->examples_ns[k] = excess_ns;
}

/* The state of an interval, or of a pattern of it, that a measure is of. */
static void
what_is(const struct states_place *p, uint32_t m, uint32_t *interval, enum below_state *state)
{
	*interval = m / (2 * BELOW_STATES);
	*state = state_of(m);
	for (uint32_t i = 0; i < p->nintervals && m >= 2 * BELOW_STATES * p->nintervals; i++)
		for (uint32_t k = 0; k < p->intervals[i].npatterns; k++) {
			const struct states_pattern *q = &p->intervals[i].patterns[k];

			if (m >= q->measure && m < q->measure + q->len) {
				*interval = i;
				*state = (enum below_state)q->states[m - q->measure];
			}
		}
}

/* Of a state, in all intervals. */
static double
time_in(const double *x, const struct states_place *p, enum below_state s)
{
	double sum = 0;

	for (uint32_t i = 0; i < p->nintervals; i++)
		sum += x[states_measure(i, s)];
	return sum;
}

/* What takes time and is no wait for a processor. */
static bool
is_work(enum below_state s)
{
	return s != BELOW_READY && s != BELOW_UNKNOWN;
}

static double
work_in(const double *x, const struct states_place *p)
{
	double sum = 0;

	for (unsigned s = 0; s < BELOW_STATES; s++)
		sum += is_work((enum below_state)s) ? time_in(x, p, (enum below_state)s) : 0;
	return sum;
}

static void
add_work(struct compared_place *to, const struct states_place *p, const double *x)
{
	double ready = time_in(x, p, BELOW_READY) - time_in(p->means, p, BELOW_READY);
	double work = work_in(x, p) - work_in(p->means, p);

	to->sum_ready += ready;
	to->sum_work += work;
	to->sum_work_ready += work * ready;
	to->sum_work_work += work * work;
	to->sum_ready_ready += ready * ready;
}

/* Whether it is outside. Measures of patterns and counts of a wait that is explained are so, too. */
static bool
look(struct compared_place *to, struct looked_at *of, const struct states_place *p, const double *x,
    struct states_example *example)
{
	bool outside = false, explained = false;
	double most = -1;

	for (uint32_t m = 0; m < p->limits.nmeasures; m++) {
		double y = states_scaled(x[m], p, m), more = x[m] - p->means[m];
		double score = limit_score(&p->limits.list[m], y);
		bool is_out = limit_outside(&p->limits, m, y);
		uint32_t interval;
		enum below_state state;

		to->measures[m].sum += x[m];
		to->measures[m].sum_y += y;
		if (fabs(score) <= 1)
			continue;
		what_is(p, m, &interval, &state);
		if (score > 0 && waits_for_others(state)) {
			uint32_t time = states_measure(interval, state);

			if (x[time] > p->means[time] &&
			    of->below_ns >= 0.5 * (x[time] - p->means[time])) {
				explained = true;
				continue;
			}
		}
		*(score > 0 ? &to->measures[m].high_one : &to->measures[m].low_one) += 1;
		*(score > 0 ? &to->measures[m].sum_high_one : &to->measures[m].sum_low_one) += x[m];
		if (fabs(score) <= LIMITS_SIGMAS && !is_out)
			continue;
		*(score > 0 ? &to->measures[m].high : &to->measures[m].low) += 1;
		*(score > 0 ? &to->measures[m].sum_high : &to->measures[m].sum_low) += x[m];
		if (of_time(p, m) && score > 0)
			of->excess_ns += more;
		outside = outside || is_out;
		if (is_out && of_time(p, m) && fabs(more) > most) {
			most = fabs(more);
			example->interval = interval;
			example->state = state;
			example->ns = x[m];
			example->usual_ns = p->means[m];
		}
	}
	to->operations++;
	to->outside += outside;
	to->explained += explained && !outside;
	if (most >= 0)
		remember(to, example, most);
	return outside;
}

int
states_comparer_add(
    struct states_comparer *c, const struct operations *o, uint32_t *ret, struct err *e)
{
	struct operation_states *s;
	struct looked_at *of;
	struct compared_type *t;
	struct workflow w;
	uint32_t outside = 0;
	int rc;

	if (ret != NULL)
		*ret = 0;
	arena_reset(&c->scratch);
	if ((rc = workflow_of(&w, o, &c->scratch, e)) == ERR_INPUT) {
		c->counts.malformed++;
		return 0;
	}
	if (rc != 0)
		return rc;
	s = arena_calloc(&c->scratch, o->n, sizeof *s);
	of = arena_calloc(&c->scratch, o->n, sizeof *of);
	if (s == NULL || of == NULL)
		return out_of_memory(e);
	for (uint32_t i = 0; i < o->n; i++)
		if ((rc = operation_states_of(&s[i], o, &w, i, &c->scratch, e)) != 0) {
			c->counts.malformed += rc == ERR_INPUT;
			return rc == ERR_INPUT ? 0 : rc;
		}
	t = map_get(&c->types, w.type.a);
	if (t == NULL && c->types.count == STATES_TYPES_MAX) {
		c->counts.types_over++;
		return 0;
	}
	if (t == NULL && (t = type_new(c, &w, o)) == NULL)
		return out_of_memory(e);
	c->requests++;
	t->requests++;
	t->is_new.requests++;
	for (uint32_t i = o->n; i-- > 0 && t->type != NULL;) { /* children before their parents */
		const struct states_place *p = &t->type->places[w.place[i]];
		struct compared_place *to = &t->places[w.place[i]];
		struct states_example example = {
			.id_high = o->id_high, .id = o->id, .begin_ns = o->list[i].begin_ns
		};
		double *x;
		bool *absent;

		for (uint32_t k = 0; k < s[i].n; k++)
			of[i].work_ns += is_work((enum below_state)s[i].runs[k].state)
			                     ? (double)s[i].runs[k].ns
			                     : 0;
		if ((double)s[i].unknown_ns > STATES_UNKNOWN_SHARE * (double)s[i].own_ns) {
			c->counts.unknown++;
		} else if (p->limits.samples == 0) {
			c->too_few++;
		} else {
			x = arena_calloc(&c->scratch, p->limits.nmeasures, sizeof *x);
			absent = arena_calloc(
			    &c->scratch, (size_t)to->npatterns + 1, sizeof *absent);
			if (x == NULL || absent == NULL)
				return out_of_memory(e);
			states_measures(x, absent, p, c->b->gap_max, &s[i]);
			for (uint32_t k = 0; k < to->npatterns; k++)
				to->absent[k] += absent[k];
			outside += look(to, &of[i], p, x, &example);
			add_work(to, p, x);
			to->sum_ns += of[i].work_ns;
			c->operations++;
		}
		if (i > 0) {
			of[o->list[i].parent].below_ns += of[i].below_ns + of[i].excess_ns;
			of[o->list[i].parent].work_ns += of[i].work_ns;
		}
	}
	c->outside += outside;
	if (ret != NULL)
		*ret = outside;
	return 0;
}

/* ---- waits for a processor ---- */

/* How long an operation of the place waits longer for a processor for each ns of other work: least squares over the operations of the window. 0: other
 * work explains less than half of how these waits differ. */
static double
ready_rate(const struct compared_place *x)
{
	double n = x->operations, covariance, work, ready;

	if (x->operations < STATES_RATE_MIN)
		return 0;
	covariance = x->sum_work_ready - x->sum_work * x->sum_ready / n;
	work = x->sum_work_work - x->sum_work * x->sum_work / n;
	ready = x->sum_ready_ready - x->sum_ready * x->sum_ready / n;
	return covariance > 0 && covariance * covariance >= STATES_RATE_R2 * work * ready
	           ? covariance / work
	           : 0;
}

struct ready_growth { /* of the operations of a service */
	const char *service;
	uint32_t len;
	double now_ns, usual_ns;
};

static int
by_size(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static int
by_growth(const void *x, const void *y)
{
	const struct ready_growth *a = x, *b = y;
	double p = a->now_ns / a->usual_ns, q = b->now_ns / b->usual_ns;

	return p < q ? -1 : p > q;
}

static void
add_growth(struct ready_growth *list, uint32_t *n, const struct states_place *p,
    const struct compared_place *x)
{
	uint32_t len = (uint32_t)strcspn(p->name, " "), i = 0;
	double usual = time_in(p->means, p, BELOW_READY), of = x->operations;

	while (i < *n && (list[i].len != len || memcmp(list[i].service, p->name, len) != 0))
		i++;
	if (i == *n)
		list[(*n)++] = (struct ready_growth){ .service = p->name, .len = len };
	list[i].now_ns += x->sum_ready + of * (usual + p->resolution_ns);
	list[i].usual_ns += of * (usual + p->resolution_ns);
}

static double
median(double *v, uint32_t n)
{
	qsort(v, n, sizeof *v, by_size);
	return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The logarithm of the factor of each place with enough operations; how many. */
static uint32_t
factors_of_places(double *v, const struct states_comparer *c)
{
	struct compared_type *t;
	uint32_t n = 0;
	size_t at = 0;

	while ((t = map_next(&c->types, &at, NULL)) != NULL)
		for (uint32_t i = 0; t->type != NULL && i < t->type->nplaces; i++) {
			struct ready_growth g = { 0 };
			uint32_t one = 0;

			if (t->places[i].operations < STATES_RATE_MIN)
				continue;
			add_growth(&g, &one, &t->type->places[i], &t->places[i]);
			v[n++] = log(g.now_ns / g.usual_ns);
		}
	return n;
}

/*
 * By which factor threads of all services wait longer for a processor: the median of the services; 1: they do not, or there are
 * fewer than STATES_SERVICES_MIN, since a caller waits until the thread that it calls has a processor, too. And up to which factor that is so for a single place: half of what is more is that of the machine, or it is within three
 * robust sigmas of the places (1.4826 times the median of the distances from their median; Rousseeuw and Croux, JASA 88, 1993).
 */
static bool
find_machine(struct states_comparison *to, const struct states_comparer *c, uint32_t places)
{
	struct ready_growth *list = calloc(places, sizeof *list);
	double *v = calloc(places, sizeof *v), middle;
	struct compared_type *t;
	uint32_t n = 0;
	size_t at = 0;

	to->machine = to->machine_most = 1;
	while (list != NULL && v != NULL && (t = map_next(&c->types, &at, NULL)) != NULL)
		for (uint32_t i = 0; t->type != NULL && i < t->type->nplaces; i++)
			if (t->places[i].operations > 0)
				add_growth(list, &n, &t->type->places[i], &t->places[i]);
	if (n >= STATES_SERVICES_MIN) {
		qsort(list, n, sizeof *list, by_growth);
		to->machine = fmax(1, list[(n - 1) / 2].now_ns / list[(n - 1) / 2].usual_ns);
		to->machine_most = 2 * to->machine - 1;
	}
	if (n >= STATES_SERVICES_MIN && (n = factors_of_places(v, c)) >= STATES_PLACES_MIN) {
		middle = median(v, n);
		for (uint32_t i = 0; i < n; i++)
			v[i] = fabs(v[i] - middle);
		to->machine_most = fmax(
		    to->machine_most, to->machine * exp(LIMITS_SIGMAS * 1.4826 * median(v, n)));
	}
	free(v);
	free(list);
	return v != NULL && list != NULL;
}

/* ---- the comparison ---- */

static int
greatest_first(const void *x, const void *y)
{
	const struct states_finding *a = x, *b = y;
	bool a_part = a->is_count || a->pattern != NULL, b_part = b->is_count || b->pattern != NULL;

	if (a_part != b_part)
		return a_part ? 1 : -1;
	return a->cost_ns != b->cost_ns ? (a->cost_ns > b->cost_ns ? -1 : 1) : 0;
}

/* What the measure changes of the length of operations that depart; of a count the time of its state, in all. */
static double
effect_of(const struct states_place *p, const struct compared_place *from, uint32_t m,
    const struct states_finding *f)
{
	if (!f->is_count)
		return fabs(f->excess_ns);
	return fabs(from->measures[m - 1].sum / from->operations - p->means[m - 1]);
}

/* A finding of the measure in one direction, if it is one. */
static bool
find(struct states_finding *f, const struct states_place *p, const struct compared_place *from,
    uint32_t m, bool more, uint32_t sigmas, double chance_max)
{
	const struct departures *x = &from->measures[m];
	const struct limit *l = &p->limits.list[m];
	bool one = sigmas == 1, is_count = m < 2 * BELOW_STATES * p->nintervals && m % 2 == 1;
	uint32_t n = more ? (one ? x->high_one : x->high) : (one ? x->low_one : x->low);
	uint32_t usual = more ? (one ? l->high_one : l->high) : (one ? l->low_one : l->low);
	double sum = more ? (one ? x->sum_high_one : x->sum_high)
	                  : (one ? x->sum_low_one : x->sum_low);
	double unit = is_count ? 1 : p->resolution_ns, of = from->operations;

	if (n == 0 || n < STATES_SHARE_MIN * of)
		return false;
	if (one && (n / of < usual / (double)p->limits.samples + STATES_SHIFT_SHARE ||
		       fabs(x->sum_y / of - l->mean) < STATES_SHIFT))
		return false;
	*f = (struct states_finding){ .is_count = is_count,
		.more = more,
		.operations = n,
		.sigmas = sigmas,
		.mean = x->sum / of,
		.usual = p->means[m] };
	what_is(p, m, &f->interval, &f->state);
	f->chance = limits_chance(n, from->operations, usual, p->limits.samples);
	f->excess_ns = is_count ? 0 : sum / n - f->usual;
	f->cost_ns = fabs(f->excess_ns) * n;
	f->low = limits_value(l->mean - LIMITS_SIGMAS * l->below, unit);
	f->high = limits_value(l->mean + LIMITS_SIGMAS * l->above, unit);
	return f->chance < chance_max &&
	       effect_of(p, from, m, f) >= STATES_EFFECT * from->sum_ns / of &&
	       fabs(f->mean - f->usual) >= (is_count ? 0.5 : unit) && (f->mean > f->usual) == more;
}

static bool
same_state(const struct states_finding *list, uint32_t n, const struct states_finding *f)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i].interval == f->interval && list[i].state == f->state &&
		    list[i].more == f->more && !list[i].is_count && !list[i].absent)
			return true;
	return false;
}

/* Whether one of the states of a pattern that some operations lack takes so much less time or more. */
static bool
absence_matters(const struct states_place *p, const struct compared_place *from, uint32_t interval,
    const struct states_pattern *q)
{
	double of = from->operations;

	for (uint32_t i = 0; i < q->len; i++) {
		uint32_t m = states_measure(interval, (enum below_state)q->states[i]);

		if (fabs(from->measures[m].sum / of - p->means[m]) >=
		    STATES_EFFECT * from->sum_ns / of)
			return true;
	}
	return false;
}

/* Patterns that more operations lack than usual. */
static uint32_t
find_absent(struct states_finding *list, const struct states_place *p,
    const struct compared_place *from, double chance_max)
{
	uint32_t n = 0, number = 0;

	for (uint32_t i = 0; i < p->nintervals; i++)
		for (uint32_t k = 0; k < p->intervals[i].npatterns; k++, number++) {
			const struct states_pattern *q = &p->intervals[i].patterns[k];
			uint32_t absent = from->absent[number];
			uint32_t usual = p->limits.samples > q->support
			                     ? p->limits.samples - q->support
			                     : 0;
			struct states_finding f = { .interval = i,
				.state = (enum below_state)q->states[0],
				.pattern = q,
				.absent = true,
				.operations = absent,
				.mean = (double)absent / from->operations,
				.usual = (double)usual / p->limits.samples };

			if (absent == 0 || f.mean < f.usual + STATES_SHARE_MIN ||
			    !absence_matters(p, from, i, q))
				continue;
			f.chance = limits_chance(
			    absent, from->operations, usual, p->limits.samples);
			if (f.chance < chance_max)
				list[n++] = f;
		}
	return n;
}

/*
 * Waits for a processor that come of something else are no findings: of a machine that is busier for everyone, or of more work, of which there is a
 * finding and which explains at least half of what is more. The findings of that work have its waits in their costs.
 */
static void
explain_ready(struct states_place_change *to, const struct compared_place *from,
    const struct states_comparison *c)
{
	const struct states_place *p = to->place;
	double of = from->operations, usual = time_in(p->means, p, BELOW_READY) + p->resolution_ns;
	double ready = from->sum_ready / of, rate = ready_rate(from), more = 0, ran = 0;
	double usual_ran = time_in(p->means, p, BELOW_RUNNING) + p->resolution_ns;
	uint32_t n = 0;

	for (uint32_t i = 0; i < to->nfindings; i++) {
		const struct states_finding *f = &to->findings[i];

		if (f->more && !f->is_count && f->pattern == NULL && is_work(f->state))
			*(f->state == BELOW_RUNNING ? &ran : &more) += f->mean - f->usual;
	}
	more += ran;
	/* Who runs for longer loses the processor more often, also if all operations do. */
	if (rate * more < ran * c->machine * usual / usual_ran)
		rate = c->machine * usual / usual_ran * ran / more;
	if (rate * more < 0.5 * ready || more <= 0)
		rate = 0;
	for (uint32_t i = 0; i < to->nfindings; i++) {
		struct states_finding *f = &to->findings[i];

		if (f->state == BELOW_READY && f->more &&
		    (rate > 0 || usual + ready <= c->machine_most * usual))
			continue;
		if (f->more && is_work(f->state))
			f->cost_ns *= 1 + rate;
		to->findings[n++] = *f;
	}
	to->nfindings = n;
}

static int
finish_place(struct states_place_change *to, const struct compared_place *from, double chance_max,
    const struct states_comparison *c, struct arena *a)
{
	const struct states_place *p = to->place;
	uint32_t nm = p->limits.nmeasures, times = 2 * BELOW_STATES * p->nintervals;
	struct states_finding f;

	to->operations = from->operations;
	to->outside = from->outside;
	to->explained = from->explained;
	to->height = from->height;
	to->nexamples = from->nexamples;
	memcpy(to->examples, from->examples, sizeof to->examples);
	if (from->operations == 0)
		return 0;
	to->chance = limits_chance(
	    from->outside, from->operations, p->limits.outside, p->limits.samples);
	to->findings = arena_calloc(a, 2 * (size_t)nm + from->npatterns + 1, sizeof *to->findings);
	if (to->findings == NULL)
		return ERR_MEMORY;
	chance_max /= 4 * (double)nm + from->npatterns;
	for (uint32_t m = 0; m < nm; m++)
		for (unsigned more = 0; more < 2; more++) {
			if ((!find(&f, p, from, m, more, LIMITS_SIGMAS, chance_max) &&
				!(m < times && find(&f, p, from, m, more, 1, chance_max))) ||
			    (m >= times && same_state(to->findings, to->nfindings, &f)))
				continue;
			for (uint32_t k = 0; m >= times && k < p->intervals[f.interval].npatterns;
			     k++) {
				const struct states_pattern *q = &p->intervals[f.interval]
				                                      .patterns[k];

				if (m >= q->measure && m < q->measure + q->len) {
					f.pattern = q;
					f.position = m - q->measure;
				}
			}
			to->findings[to->nfindings++] = f;
		}
	to->nfindings += find_absent(to->findings + to->nfindings, p, from, chance_max);
	explain_ready(to, from, c);
	qsort(to->findings, to->nfindings, sizeof f, greatest_first);
	return 0;
}

static int
most_new_first(const void *x, const void *y)
{
	const struct states_new_type *a = x, *b = y;

	return a->requests != b->requests ? (a->requests > b->requests ? -1 : 1) : 0;
}

static int
most_first(const void *x, const void *y)
{
	const struct states_type_change *a = x, *b = y;

	if (a->requests != b->requests)
		return a->requests > b->requests ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

static int
finish_types(struct states_comparison *to, struct states_comparer *c, uint32_t places)
{
	struct compared_type *t;
	size_t at = 0;

	while ((t = map_next(&c->types, &at, NULL)) != NULL) {
		struct states_type_change *change = &to->types[to->ntypes];

		if (t->type == NULL) {
			to->requests_new += t->requests;
			to->news[to->nnews] = t->is_new;
			if ((to->news[to->nnews++].name = arena_text(
				 &to->arena, t->is_new.name, strlen(t->is_new.name))) == NULL)
				return ERR_MEMORY;
			continue;
		}
		to->ntypes++;
		change->type = t->type;
		change->requests = t->requests;
		change->places = arena_calloc(&to->arena, t->type->nplaces, sizeof *change->places);
		if (change->places == NULL)
			return ERR_MEMORY;
		for (uint32_t i = 0; i < t->type->nplaces; i++) {
			change->places[i].place = &t->type->places[i];
			change->places[i].number = i;
			if (finish_place(&change->places[i], &t->places[i], STATES_CHANCE / places,
				to, &to->arena) != 0)
				return ERR_MEMORY;
		}
	}
	return 0;
}

int
states_comparer_finish(struct states_comparer *c, struct states_comparison **ret, struct err *e)
{
	struct states_comparison *to = calloc(1, sizeof *to);
	struct compared_type *t;
	uint32_t places = 1;
	size_t at = 0;

	if (to == NULL)
		return out_of_memory(e);
	while ((t = map_next(&c->types, &at, NULL)) != NULL)
		places += t->type != NULL ? t->type->nplaces : 0;
	to->requests = c->requests;
	to->operations = c->operations;
	to->outside = c->outside;
	to->too_few = c->too_few;
	to->counts = c->counts;
	to->types = arena_calloc(&to->arena, c->types.count + 1, sizeof *to->types);
	to->news = arena_calloc(&to->arena, (size_t)c->nnews + 1, sizeof *to->news);
	if (!find_machine(to, c, places) || to->types == NULL || to->news == NULL ||
	    finish_types(to, c, places) != 0) {
		states_comparison_free(to);
		return out_of_memory(e);
	}
	for (uint32_t i = 0; i < to->ntypes; i++)
		for (uint32_t k = 0; k < to->types[i].type->nplaces; k++)
			to->explained += to->types[i].places[k].explained;
	if (to->ntypes > 0)
		qsort(to->types, to->ntypes, sizeof *to->types, most_first);
	if (to->nnews > 0)
		qsort(to->news, to->nnews, sizeof *to->news, most_new_first);
	*ret = to;
	return 0;
}

void
states_comparison_free(struct states_comparison *c)
{
	if (c == NULL)
		return;
	arena_release(&c->arena);
	free(c);
}
