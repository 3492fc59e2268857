/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * otel-stock: how many of the goods of a basket are on the shelves. A service in C with libhone, which a service with OpenTelemetry calls: its
 * requests are parts of that one's. It uses the HTTP server of the other shop's services.
 *
 * The fault `shelf`: the shelf of some goods is searched in a slow way, in shelf_scan.
 */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "stock_trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/shop/service.h"

enum { GOODS_MAX = 32, SHELVES = 64, SLOW_EACH = 3, SLOW_MS = 120, LEAST = 3 };

struct basket {
	int64_t ids[GOODS_MAX], counts[GOODS_MAX];
	int n;
};

static struct fault faults[] = { { "shelf" }, { 0 } };
static pthread_mutex_t shelves = PTHREAD_MUTEX_INITIALIZER;
static int64_t on_shelf[SHELVES];

static int
goods_check(int64_t id)
{
	int good = id > 0 && id < 1000000;

	span_begin(goods_check, id, 1);
	span_end(goods_check, good);
	return good;
}

static void
goods_parse(struct basket *g, const char *text)
{
	char *end;

	span_begin(goods_parse, (int64_t)strlen(text));
	for (; *text != '\0' && g->n < GOODS_MAX; text = *end == ',' ? end + 1 : end) {
		int64_t id = strtoll(text, &end, 10);

		if (end == text)
			break;
		if (goods_check(id))
			g->ids[g->n++] = id;
	}
	span_end(goods_parse, g->n);
}

static int
shelf_find(const struct basket *g, int i)
{
	int64_t id = g->ids[i];
	int shelf = (int)(id % SHELVES);

	span_begin(shelf_find, id);
	span_begin(shelf_scan, id);
	/* One good of a basket is searched for on all shelves. */
	if (i == 0 && id % SLOW_EACH == 0)
		service_pause(SLOW_MS * atomic_load(&faults[0].on));
	span_end(shelf_scan, SHELVES);
	span_end(shelf_find, 1, shelf);
	return shelf;
}

static int64_t
shelf_tally(int64_t id, int64_t there)
{
	int64_t reserved = id % 4;

	span_begin(shelf_tally, id);
	span_begin(reserved_sum, id);
	span_end(reserved_sum, reserved);
	span_end(shelf_tally, there - reserved);
	return there - reserved;
}

static void
shelves_count(struct basket *g)
{
	int64_t sum = 0;

	span_begin(shelves_count, g->n);
	for (int i = 0; i < g->n; i++) {
		int shelf = shelf_find(g, i);
		int64_t there;

		span_begin(shelves_lock, g->n);
		pthread_mutex_lock(&shelves);
		there = on_shelf[shelf];
		on_shelf[shelf] = there > LEAST ? there - 1 : 100;
		pthread_mutex_unlock(&shelves);
		span_end(shelves_lock, g->n);
		g->counts[i] = shelf_tally(g->ids[i], there);
		sum += g->counts[i];
	}
	span_end(shelves_count, g->n, sum);
}

static void
rules(struct basket *g)
{
	int64_t fewest = 0;

	span_begin(rules, g->n);
	span_begin(rules_least, g->n);
	for (int i = 0; i < g->n; i++)
		fewest += g->counts[i] < LEAST;
	span_end(rules_least, fewest);
	span_begin(rules_reorder, fewest);
	span_end(rules_reorder, fewest > 0);
	span_end(rules, g->n);
}

static void
print(struct exchange *x, const struct basket *g)
{
	uint64_t sign = 0;

	span_begin(print, g->n);
	span_begin(print_lines, g->n);
	text_addf(&x->reply, "[");
	for (int i = 0; i < g->n; i++) {
		text_addf(&x->reply, "%s%" PRId64, i > 0 ? "," : "", g->counts[i]);
		sign = sign * 31 + (uint64_t)g->counts[i];
	}
	text_addf(&x->reply, "]\n");
	span_end(print_lines, (int64_t)x->reply.length);
	span_begin(print_sign, (int64_t)x->reply.length);
	span_end(print_sign, (int64_t)(sign % 97));
	span_end(print, (int64_t)x->reply.length);
}

static int
handle_stock(struct exchange *x)
{
	const char *text = exchange_arg(x, "goods", "");
	struct basket g = { .n = 0 };

	span_begin(answer, (int64_t)strlen(text));
	goods_parse(&g, text);
	shelves_count(&g);
	rules(&g);
	print(x, &g);
	span_end(answer, (int64_t)x->reply.length);
	return 200;
}

static const struct route routes[] = {
	{ "GET", "/stock", "GET_STOCK", 1, handle_stock },
	{ 0 },
};

static const struct service stock = {
	.name = "otel-stock",
	.what = "how many of some goods are there: GET /stock?goods=1,2,3",
	.routes = routes,
	.faults = faults,
};

int
main(int argc, char **argv)
{
	for (int i = 0; i < SHELVES; i++)
		on_shelf[i] = 50 + i;
	return service_main(argc, argv, &stock);
}
