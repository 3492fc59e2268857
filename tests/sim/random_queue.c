/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pools of threads: near saturation, held by another request type, or with a load that is common. */
#include "tests/sim/random.h"

/* A pool whose units call nothing, and that two types use; *other: its unit of the other type. */
static int
shared_pool(struct made *m, struct plan *p, int *other)
{
	int service = m->nservices - 1; /* calls lead to services with larger numbers */

	m->services[service].loop = false;
	plan_call(m, p, 0, service);
	*other = plan_call(m, p, m->types[1], service);
	return service;
}

static void
plant_saturated(struct made *m, struct plan *p)
{
	int other, service = shared_pool(m, p, &other);
	struct cause *c = plan_cause(m, other);

	c->waits_of = service;
	m->services[service].load = between(m, 0.4, 0.6);
	c->overload = between(m, 0.84, 0.9) / m->services[service].load;
}

struct made *
make_saturated(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, NULL, plant_saturated);
}

static void
plant_other(struct made *m, struct plan *p)
{
	int other, service = shared_pool(m, p, &other);
	struct cause *c = plan_cause(m, other);

	m->services[service].threads = whole(m, 1, 2);
	m->replicas[service] = 1;
	c->waits_of = service;
	c->works = chance(m, 0.5);
	c->share = between(m, 0.05, 0.2);
	c->ns = log_between(m, 3e6, 1e7);
	c->sd_ns = 0.3 * c->ns;
	plan_add(p, other, (struct seg){ .kind = SEG_CAUSE });
}

struct made *
make_other_pool(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, NULL, plant_other);
}

struct made *
make_healthy_queue(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, NULL, NULL);
}
