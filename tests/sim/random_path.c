/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths that only some requests take: retries, conditional loops, caches that miss; and few paths of many
 * tracepoints. */
#include "tests/sim/random.h"

/* A branch that this share of the requests takes while there are faults, with a loop of that body. */
static struct seg
sometimes_loop(struct made *m, double share, int high, struct block body)
{
	struct seg loop = { .kind = SEG_LOOP, .low = 1, .high = high, .body = body };
	struct seg s = around(m, SEG_BRANCH, &loop);

	s.share = share;
	s.planted = true;
	return s;
}

static void
plant_retry(struct made *m, struct plan *p)
{
	int unit = plan_unit(m, true);
	struct cause *c = plan_cause(m, unit);

	c->iterates = true;
	c->ns = log_between(m, 5e6, 3e7);
	c->sd_ns = between(m, 0.1, 0.5) * c->ns;
	plan_add(p, unit,
	    sometimes_loop(m, between(m, 0.02, 0.08), 3,
		plan_body(m, c, unit, (struct seg){ .kind = SEG_CAUSE })));
}

struct made *
make_retry(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, NULL, plant_retry);
}

/* Each attempt calls a unit, which fails; then the back-off. */
static void
plant_retry_call(struct made *m, struct plan *p)
{
	int unit = 0, callee = plan_call(m, p, unit, m->nservices - 1);
	struct cause *c = plan_cause(m, unit);
	struct seg backoff = { .kind = SEG_CAUSE };
	struct seg *segs = room(m, 2, sizeof *segs);
	struct block body;

	c->iterates = true;
	c->callee = callee;
	c->ns = log_between(m, 5e6, 3e7);
	c->sd_ns = between(m, 0.1, 0.5) * c->ns;
	body = plan_body(m, c, unit, backoff);
	segs[0] = (struct seg){ .kind = SEG_CALL, .what = 1, .unit = { callee } };
	segs[1] = (struct seg){ .kind = SEG_LOOP, .low = 1, .high = 1, .body = body };
	plan_add(p, unit, sometimes_loop(m, between(m, 0.02, 0.08), 3, (struct block){ segs, 2 }));
}

struct made *
make_retry_call(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, NULL, plant_retry_call);
}

static void
plant_cond_loop(struct made *m, struct plan *p)
{
	int unit = plan_unit(m, true);
	struct cause *c = plan_cause(m, unit);

	c->iterates = true;
	c->works = true;
	c->ns = log_between(m, 5e5, 3e6);
	c->sd_ns = 0.1 * c->ns;
	plan_add(p, unit,
	    sometimes_loop(m, between(m, 0.05, 0.2), whole(m, 3, 12),
		plan_body(m, c, unit, (struct seg){ .kind = SEG_CAUSE })));
}

struct made *
make_cond_loop(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, NULL, plant_cond_loop);
}

static void
plant_cache(struct made *m, struct plan *p)
{
	int unit = plan_unit(m, true);
	struct cause *c = plan_cause(m, unit);

	c->ns = log_between(m, 2e6, 2e7);
	c->sd_ns = between(m, 0.05, 0.5) * c->ns;
	plan_add(p, unit,
	    sometimes_loop(m, between(m, 0.05, 0.4), 1,
		plan_body(m, c, unit, (struct seg){ .kind = SEG_CAUSE })));
}

struct made *
make_cache(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, NULL, plant_cache);
}

/* As a disk with a throttle: few requests, one service that matters, many tracepoints in its code, which
 * branches twice. */
static void
shape_few(struct made *m, struct plan *p)
{
	(void)m;
	p->size_low = 850;
	p->size_high = 950;
	p->rate_low = 18;
	p->rate_high = 50;
	p->extras = 0;
}

static void
plant_few(struct made *m, struct plan *p)
{
	int unit = plan_unit(m, true);
	struct cause *c = plan_cause(m, unit);

	for (int i = 0; i < 2; i++) {
		struct seg none = { .kind = SEG_LOOP };
		struct seg loop = { .kind = SEG_LOOP, .low = 1, .high = 1 };
		struct seg branch;

		loop.body = plan_points(m, unit, none, whole(m, 20, 60), whole(m, 20, 60));
		branch = around(m, SEG_BRANCH, &loop);
		branch.share = between(m, 0.3, 0.7);
		plan_add(p, unit, branch);
	}
	c->share = between(m, 0.6, 1);
	c->ns = log_between(m, 2e6, 2e7);
	c->sd_ns = between(m, 0.6, 1.2) * c->ns;
	plan_add(p, unit, (struct seg){ .kind = SEG_CAUSE });
}

struct made *
make_few_paths(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, shape_few, plant_few);
}

static void
shape_paths(struct made *m, struct plan *p)
{
	(void)m;
	p->extras = 6;
	p->load_low = 0.05;
	p->load_high = 0.4;
}

struct made *
make_healthy_paths(uint64_t seed, uint32_t size_max)
{
	(void)size_max;
	return service_new(seed, shape_paths, NULL);
}
