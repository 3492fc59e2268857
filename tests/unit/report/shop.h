/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A front that asks a cart and waits: requests whose times the test chooses, through assembly into
 * a report. */
#ifndef TESTS_REPORT_SHOP_H
#define TESTS_REPORT_SHOP_H

#include "../analysis/kit.h"

#include "base/rng.h"
#include "report/report.h"

struct shop {
	struct kit *kit;
	struct report *report;
	struct rng rng;
	int64_t now_ns;
	uint64_t traces;
};

static const char *const shop_nodes[] = { "alpha" };

static inline struct shop *
shop_new(const struct report_options *o)
{
	struct report_options usual = report_defaults();
	struct shop *s = calloc(1, sizeof *s);

	s->kit = kit_new(NULL);
	s->report = report_new(o != NULL ? o : &usual, s->kit->labels);
	assert_non_null(s->report);
	rng_seed(&s->rng, 7);
	s->now_ns = 1000000;
	assert_int_equal(assemble_join(s->kit->assemble, 0, &s->kit->e), 0);
	return s;
}

static inline void
shop_free(struct shop *s)
{
	report_free(s->report);
	kit_free(s->kit);
	free(s);
}

/* One request of that type: 100 us in front, `cart_ns` in the cart, then `times` times a step of 10
 * us. */
static inline void
shop_request(struct shop *s, const char *type, int64_t cart_ns, int times)
{
	uint64_t id = ++s->traces, unit = 2 * id, link = 1000000 + id;
	int64_t t = s->now_ns;
	struct row rows[64] = {
		{ t, 0, unit, 'B', 0, type, id },
		{ t + 40000, 0, unit, 'F', link, "cart", id },
		{ t + 50000, 0, unit + 1, 'b', link, "cart", id },
		{ t + 50000 + cart_ns, 0, unit + 1, 'e', link, "cart", id },
		{ t + 60000 + cart_ns, 0, unit, 'J', link, "cart", id },
	};
	size_t n = 5;
	struct trace *trace;

	t += 60000 + cart_ns;
	for (int i = 0; i < times; i++) {
		rows[n++] = (struct row){ t += 5000, 0, unit, '.', 0, "draw", id };
		rows[n++] = (struct row){ t += 5000, 0, unit, '.', 0, "drawn", id };
	}
	rows[n++] = (struct row){ t + 40000, 0, unit, 'E', 0, type, id };
	s->now_ns = t + 100000000;
	kit_batch(s->kit, 0, rows, n, s->now_ns);
	while ((trace = assemble_next(s->kit->assemble)) != NULL) {
		assert_int_equal(report_add(s->report, trace, shop_nodes, &s->kit->e), 0);
		trace_free(trace);
	}
}

/* The cart takes 1 ms on average, and `spread` of it more or less. */
static inline void
shop_requests(struct shop *s, const char *type, int count, double spread)
{
	for (int i = 0; i < count; i++)
		shop_request(
		    s, type, (int64_t)(1e6 * (1 + spread * (2 * rng_unit(&s->rng) - 1))), 0);
}

#endif
