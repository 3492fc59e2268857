/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Applications of services with threads: a gateway, which is an event loop, in front of event loops and
 * pools of threads. Two or three request types share all services. The load of each service is drawn,
 * and its work scaled to it. Draws again what does not meet the conditions of random.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/random.h"

enum { TRIES = 400, SIZES = 14, DEPTH_MAX = 3, POOL_THREADS = 24 };
static const double HEALTHY_HELD_MAX = 0.8;
static const double HEALTHY_SHARE_MAX = 0.35; /* of a place */
static const double OTHER_MAX = 0.5;          /* share of another place, by that of the cause */

/* ---- what is planted ---- */

struct cause *
plan_cause(struct made *m, int unit)
{
	struct cause *c = &m->causes[0];

	m->ncauses = 1;
	*c = (struct cause){ .class = CAUSE_SOMETIMES,
		.unit = unit,
		.bad = -1,
		.share = 1,
		.waits_of = -1,
		.within = -1,
		.callee = -1 };
	return c;
}

static int
type_of(const struct made *m, int unit)
{
	while (m->units[unit].parent >= 0)
		unit = m->units[unit].parent;
	return unit;
}

int
plan_unit(struct made *m, bool root)
{
	int unit;

	do
		unit = (int)rng_below(&m->rng, (uint64_t)m->nunits);
	while (type_of(m, unit) != 0 || (unit == 0 && !root));
	return unit;
}

void
plan_add(struct plan *p, int unit, struct seg s)
{
	if (p->n[unit] == INSERTS_MAX)
		stage_die("a unit has too many parts", "service");
	p->places[unit][p->n[unit]++].seg = s;
}

struct block
plan_points(struct made *m, int unit, struct seg middle, int before, int after)
{
	struct unit_made *u = &m->units[unit];
	struct seg *segs = room(m, 3, sizeof *segs);
	uint32_t first = m->npoints;
	char event[64];

	for (int i = 0; i < before + after; i++) {
		snprintf(event, sizeof event, "%s_%u", u->name, m->npoints);
		add_point(m, u, m->npoints++, event, -1);
	}
	segs[0] = (struct seg){ .kind = SEG_STRETCH, .what = (int)m->nstretches };
	add_stretch(m, first, (uint32_t)before, true);
	segs[1] = middle;
	segs[2] = (struct seg){ .kind = SEG_STRETCH, .what = (int)m->nstretches };
	add_stretch(m, first + (uint32_t)before, (uint32_t)after, true);
	return (struct block){ segs, 3 };
}

struct block
plan_body(struct made *m, struct cause *c, int unit, struct seg middle)
{
	uint32_t first = m->npoints;
	struct block b = plan_points(m, unit, middle, whole(m, 1, 2), whole(m, 1, 2));

	for (uint32_t i = first; i < m->npoints && c->nown < OWN_MAX; i++)
		c->own[c->nown++] = m->points[i].label;
	return b;
}

/* ---- structure ---- */

static void
make_services(struct made *m, const struct plan *p)
{
	m->nservices = whole(m, 3, 6);
	for (int i = 0; i < m->nservices; i++) {
		struct service *s = &m->services[i];
		bool shards = p->fanout > 0 && i == m->nservices - 1;

		m->replicas[i] = i == 0           ? 1
		                 : shards         ? p->fanout
		                 : chance(m, 0.6) ? 1
		                                  : whole(m, 2, 3);
		s->loop = i == 0 || (!shards && (p->loops || chance(m, 0.35)));
		s->threads = whole(m, 1, 4);
		s->load = between(m, p->load_low, p->load_high);
		if (s->loop && p->quiet_loops)
			s->load = between(m, 0.03, 0.12);
		s->scale = 1;
	}
}

static int
make_callee(struct made *m, int parent, int service)
{
	int unit = m->nunits;
	struct unit_made *u = add_unit(m, parent, true);

	u->service = service;
	return unit;
}

int
plan_call(struct made *m, struct plan *p, int unit, int service)
{
	struct seg s = { .kind = SEG_CALL, .what = 1, .unit = { make_callee(m, unit, service) } };

	label_unit(m, &m->units[s.unit[0]]);
	plan_add(p, unit, s);
	return s.unit[0];
}

/* Calls lead to services with larger numbers, so no pool waits for itself. */
static void
make_calls(struct made *m, struct plan *p, int unit, int most)
{
	int service = m->units[unit].service, calls = whole(m, unit == 0 ? 1 : 0, most);
	int last = p->fanout > 0 ? m->nservices - 2 : m->nservices - 1;

	for (int i = 0; i < calls && service < last && m->nunits < UNITS_MAX - 6; i++) {
		struct seg s = { .kind = SEG_CALL, .what = chance(m, 0.2) ? 2 : 1 };

		for (int k = 0; k < s.what; k++)
			s.unit[k] = make_callee(m, unit, whole(m, service + 1, last));
		plan_add(p, unit, s);
		for (int k = 0; k < s.what; k++)
			if (m->units[unit].depth < DEPTH_MAX - 1)
				make_calls(m, p, s.unit[k], 2);
	}
	if (m->units[unit].depth == 0 && p->fanout > 0 && unit == 0) {
		struct seg s = { .kind = SEG_CALL, .what = p->fanout, .shards = true };

		s.unit[0] = make_callee(m, unit, m->nservices - 1);
		for (int k = 1; k < s.what; k++)
			s.unit[k] = s.unit[0];
		plan_add(p, unit, s);
	}
}

static void
make_types(struct made *m, struct plan *p)
{
	m->ntypes = whole(m, 2, 3);
	for (int i = 0; i < m->ntypes; i++) {
		m->types[i] = m->nunits;
		add_unit(m, -1, true)->service = 0;
		m->type_rate[i] = m->rate * (i == 0 ? 1 : between(m, 0.2, 0.8));
		make_calls(m, p, m->types[i], 3);
	}
}

/* Healthy parts: dependencies that are not instrumented, conditional loops, branches, caches that miss. */
static void
make_extras(struct made *m, struct plan *p, int unit)
{
	bool sleeps = !m->services[m->units[unit].service].loop;

	for (int i = whole(m, 0, p->extras); i > 0; i--) {
		struct seg none = { .kind = SEG_LOOP }, s = none; /* no rounds */
		int kind = whole(m, 0, 2);

		if (sleeps && kind > 0 && m->nsleeps < SLEEPS_MAX) {
			s = (struct seg){ .kind = SEG_SLEEP, .what = m->nsleeps };
			m->sleeps[m->nsleeps++] = (struct sleep){ log_between(m, 2e5, 4e6),
				between(m, 0.05, 2 * p->sigma_high) };
		}
		if (kind < 2) { /* a miss sleeps; a branch or loop has only its own points */
			s = (struct seg){ .kind = SEG_LOOP,
				.low = 1,
				.high = whole(m, 1, 4),
				.body = plan_points(m, unit, s, 1, 1) };
			s = around(m, SEG_BRANCH, &s);
			s.share = between(m, 0.03, 0.6);
		}
		if (s.kind != SEG_LOOP)
			plan_add(p, unit, s);
	}
}

static void
share_points(struct made *m, struct plan *p)
{
	double weight[UNITS_MAX], sum = 0;

	for (int i = 0; i < m->nunits; i++)
		sum += weight[i] = exp(rng_normal(&m->rng));
	for (int i = 0; i < m->nunits; i++) {
		uint32_t n = (uint32_t)((m->size - m->spare) * weight[i] / sum), need;

		need = (uint32_t)p->n[i] + 3;
		p->points[i] = n > need ? n : need;
	}
}

/* ---- the truth ---- */

/* Behind a sleep a unit of an event loop waits for the thread again. */
static void
right_sleeps(struct made *m, struct cause *c, const struct unit_made *u, const struct block *b)
{
	for (int i = 0; i < b->nsegs; i++) {
		right_sleeps(m, c, u, &b->segs[i].body);
		if (b->segs[i].kind == SEG_SLEEP && c->nto < ENDS_MAX - OWN_MAX) {
			c->nfrom += ends_at(m, u, b, i - 1, true, c->from + c->nfrom);
			c->nto += ends_at(m, u, b, i + 1, false, c->to + c->nto);
		}
	}
}

static void
right_wait(struct made *m, struct cause *c)
{
	for (int i = 0; i < m->nunits; i++) {
		const struct unit_made *u = &m->units[i];

		if (u->service == c->waits_of && m->services[c->waits_of].loop)
			right_sleeps(m, c, u, &u->block);
		if (u->parent >= 0 && u->service == c->waits_of && c->nto < ENDS_MAX) {
			c->to[c->nto++] = u->begin;
			c->from[c->nfrom++] = u->fork[m->units[u->parent].service];
		}
	}
}

/* A path that was never learned: the nearest tracepoints that were are as right. */
static void
right_outside(struct made *m, struct cause *c)
{
	const struct unit_made *u = &m->units[c->unit];
	int at;

	for (int i = 0; i < u->block.nsegs; i++)
		if (block_of(&u->block.segs[i].body, 0, &at) != NULL) {
			c->nfrom += ends_at(m, u, &u->block, i - 1, true, c->from + c->nfrom);
			c->nto += ends_at(m, u, &u->block, i + 1, false, c->to + c->nto);
		}
}

static void
find_truth(struct made *m)
{
	struct cause *c = &m->causes[0];
	const struct block *b;
	int at;

	if (m->ncauses == 0)
		return;
	if (c->waits_of >= 0)
		right_wait(m, c);
	else if (c->within < 0) {
		if ((b = block_of(&m->units[c->unit].block, 0, &at)) == NULL)
			stage_die("a cause is nowhere", m->units[c->unit].name);
		c->nfrom = ends_at(m, &m->units[c->unit], b, at - 1, true, c->from);
		c->nto = ends_at(m, &m->units[c->unit], b, at + 1, false, c->to);
		if (!m->learn_faulty && c->nown > 0)
			right_outside(m, c);
	}
}

/* ---- times ---- */

/* Scales the work of each service so that its threads have the load that was drawn. A pool whose threads wait
 * for others, or for the cause, has enough of them. */
static void
set_loads(struct made *m)
{
	struct traffic_result r;
	double work[SERVICES_MAX];

	for (int i = 0; i < m->nservices; i++) {
		work[i] = m->services[i].load;
		m->services[i].scale = 1e-3; /* no queues: what is measured is the work alone */
	}
	traffic_dry(m, false, &r);
	for (int i = 0; i < m->nservices; i++)
		m->services[i].scale *= r.load[i] > 0 ? work[i] / r.load[i] : 1e3;
	for (int i = 0; i < m->nunits; i++)
		if (m->units[i].parent >= 0)
			m->services[m->units[m->units[i].parent].service].threads = POOL_THREADS;
	if (m->ncauses > 0 && m->causes[0].waits_of < 0)
		m->services[m->units[m->causes[0].unit].service].threads = POOL_THREADS;
}

static bool
healthy_is_fair(struct made *m)
{
	struct traffic_result r;

	traffic_dry(m, false, &r);
	for (int i = 0; i < m->nservices; i++)
		if (r.held[i] > HEALTHY_HELD_MAX)
			return false;
	m->mean_ns = r.mean_ns;
	m->healthy_cv = m->cause_cv = r.cv;
	m->cause_share = r.most_share;
	return r.n >= TRAFFIC_REQUESTS && r.cv >= 0.1 && r.cv <= 1.5 &&
	       r.most_share <= HEALTHY_SHARE_MAX;
}

/* Sizes the cause so that it multiplies the variance by at least the gain. */
static bool
cause_is_fair(struct made *m, const struct plan *p)
{
	struct traffic_result without, with;
	struct cause *c = &m->causes[0];

	traffic_dry(m, false, &without);
	m->healthy_cv = without.cv;
	m->mean_ns = without.mean_ns;
	if (without.n < TRAFFIC_REQUESTS || without.cv > 0.35)
		return false;
	for (int i = 0; i < SIZES; i++) {
		double times;

		traffic_dry(m, true, &with);
		if (with.n < TRAFFIC_REQUESTS)
			return false;
		times = with.variance / without.variance;
		m->cause_cv = with.cv;
		m->cause_share = c->within >= 0     ? 1 - 1 / times
		                 : c->waits_of >= 0 ? with.wait_share[c->waits_of]
		                                    : with.cause_share;
		if (times >= p->gain && with.cv >= 0.15 && m->cause_share >= p->share &&
		    (c->within >= 0 || with.most_share <= OTHER_MAX * m->cause_share))
			return true;
		if (times > 12 * p->gain)
			return false;
		if (c->overload > 0 && (c->overload = 1 + (c->overload - 1) * 1.1) > 4)
			return false;
		c->ns *= 1.3;
		c->sd_ns *= 1.3;
	}
	return false;
}

static struct made *
draw(uint64_t seed, uint64_t again, shape_fn *shape, plant_fn *plant, struct plan **ret)
{
	struct made *m = made_alloc(seed);
	struct plan *p = *ret = room(m, 1, sizeof *p);

	rng_seed(&m->rng, hash_u64(seed) + again);
	*p = (struct plan){ .load_low = plant != NULL ? 0.05 : 0.2,
		.load_high = plant != NULL ? 0.35 : 0.8,
		.sigma_low = plant != NULL ? 0.05 : 0.2,
		.sigma_high = plant != NULL ? 0.25 : 0.9,
		.size_low = 60,
		.size_high = 900,
		.rate_low = 80,
		.rate_high = 400,
		.gain = 3,
		.share = 0.6,
		.extras = 2 };
	if (shape != NULL)
		shape(m, p);
	m->size = (uint32_t)log_between(m, p->size_low, p->size_high);
	m->spare = (uint32_t)(m->size * between(m, 0, 0.3));
	m->rate = log_between(m, p->rate_low, p->rate_high);
	m->sigma = between(m, p->sigma_low, p->sigma_high);
	m->learn_faulty = chance(m, 0.7);
	made_room(m, 3 * m->size + 2000);
	make_services(m, p);
	make_types(m, p);
	for (int i = 0; i < m->nunits; i++) {
		label_unit(m, &m->units[i]);
		make_extras(m, p, i);
	}
	if (plant != NULL)
		plant(m, p);
	share_points(m, p);
	for (int i = 0; i < m->nunits; i++)
		make_block(m, &m->units[i], &m->units[i].block, p->points[i], false, p->places[i],
		    p->n[i]);
	add_spare(m);
	m->size = texts_count(m->names);
	find_truth(m);
	set_loads(m);
	return m;
}

struct made *
service_new(uint64_t seed, shape_fn *shape, plant_fn *plant)
{
	for (uint64_t again = 0; again < TRIES; again++) {
		struct plan *p;
		struct made *m = draw(seed, again, shape, plant, &p);

		if (plant == NULL ? healthy_is_fair(m) : cause_is_fair(m, p)) {
			make_nodes(m);
			traffic_begin(m);
			return m;
		}
		made_free(m);
	}
	stage_die("nothing fair was drawn", "services");
}
