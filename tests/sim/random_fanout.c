/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fan-out to shards, and tails: causes of one request in a hundred. */
#include "tests/sim/random.h"

static void
shape_fanout(struct made *m, struct plan *p)
{
	p->fanout = whole(m, 3, CALLS_MAX);
}

static void
shape_shard(struct made *m, struct plan *p)
{
	shape_fanout(m, p);
	p->gain = 2;
	p->share = 0.45;
}

static void
plant_shard(struct made *m, struct plan *p)
{
	int unit = 0;
	struct cause *c;

	while (m->units[unit].service != m->nservices - 1)
		unit++;
	c = plan_cause(m, unit);
	c->bad = (int)rng_below(&m->rng, (uint64_t)p->fanout);
	c->share = 0.01;
	c->works = chance(m, 0.5);
	c->ns = log_between(m, 1e7, 4e7);
	c->sd_ns = 0.2 * c->ns;
	plan_add(p, unit, (struct seg){ .kind = SEG_CAUSE });
}

struct made *
make_shard(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, shape_shard, plant_shard);
}

static void
shape_tail(struct made *m, struct plan *p)
{
	(void)m;
	p->gain = 2;
	p->share = 0.45;
}

static void
plant_tail(struct made *m, struct plan *p)
{
	int unit = plan_unit(m, true);
	struct cause *c = plan_cause(m, unit);

	c->share = 0.01;
	c->ns = log_between(m, 1e7, 4e7);
	c->sd_ns = 0.3 * c->ns;
	plan_add(p, unit, (struct seg){ .kind = SEG_CAUSE });
}

struct made *
make_tail(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, shape_tail, plant_tail);
}

struct made *
make_healthy_fanout(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, shape_fanout, NULL);
}
