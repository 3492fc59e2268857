/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Event loops that request types share, and processes that stand still. */
#include "tests/sim/random.h"

static struct seg
cause_seg(void)
{
	return (struct seg){ .kind = SEG_CAUSE };
}

static void
quiet_loops(struct made *m, struct plan *p)
{
	(void)m;
	p->quiet_loops = true;
}

/* Few requests: otherwise most of the variance is of those that wait behind the cause. */
static void
few_requests(struct made *m, struct plan *p)
{
	quiet_loops(m, p);
	p->rate_low = 30;
	p->rate_high = 120;
}

static void
plant_own(struct made *m, struct plan *p)
{
	struct cause *c;
	int unit;

	do
		unit = plan_unit(m, true);
	while (!m->services[m->units[unit].service].loop);
	c = plan_cause(m, unit);
	c->works = true;
	c->share = between(m, 0.1, 0.4);
	c->ns = log_between(m, 5e5, 4e6);
	c->sd_ns = 0.05 * c->ns;
	plan_add(p, unit, cause_seg());
}

struct made *
make_loop_own(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, few_requests, plant_own);
}

/* A unit of another type works long on the loop: on the gateway, or on a loop behind it. */
static void
plant_other(struct made *m, struct plan *p)
{
	int service = chance(m, 0.4) ? 0 : m->nservices - 1, unit = m->types[1];
	struct cause *c;

	if (service > 0) {
		m->services[service].loop = true;
		m->replicas[service] = 1;
		m->services[service].load = between(m, 0.05, 0.2);
		plan_call(m, p, 0, service);
		unit = plan_call(m, p, unit, service);
	}
	c = plan_cause(m, unit);
	c->works = true;
	c->waits_of = service;
	c->share = between(m, 0.05, 0.3);
	c->ns = log_between(m, 2e6, 1e7);
	c->sd_ns = 0.2 * c->ns;
	plan_add(p, unit, cause_seg());
}

struct made *
make_loop_other(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, quiet_loops, plant_other);
}

static void
plant_stall(struct made *m, struct plan *p)
{
	int unit = plan_unit(m, true);
	struct cause *c = plan_cause(m, unit);

	(void)p;
	c->within = m->units[unit].service;
	c->bad = (int)rng_below(&m->rng, (uint64_t)m->replicas[c->within]);
	c->stall_s = between(m, 0.2, 0.8);
	c->ns = between(m, 1.5e7, 3e7);
	c->sd_ns = 0.1 * c->ns;
}

struct made *
make_stall(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, NULL, plant_stall);
}

static void
healthy_loops(struct made *m, struct plan *p)
{
	p->load_low = 0.2;
	p->load_high = 0.7;
	p->loops = true;
	p->rate_high = between(m, 150, 500);
}

struct made *
make_healthy_loop(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, healthy_loops, NULL);
}
