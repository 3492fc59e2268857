/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shop-price: the price of lines of goods for a customer: list price, discounts, tax. */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "price_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cache.h"
#include "dbpool.h"
#include "goods.h"
#include "service.h"

enum { RULES = 64 };

struct rule {
	int64_t group, least, percent; /* for products of this group, from `least` pieces on */
};

struct bill {
	struct goods goods;
	int64_t user, tier, base_cents, discount_cents, tax_cents;
	const char *region;
};

static const char *redis_arg, *database_arg;
static int64_t list_cents[GOODS_PRODUCTS + 1];
static struct rule rules[RULES];
static void rare_stall_changed(int on);
static struct fault faults[] = { { "slow_function" }, { "cpu_function" },
	{ "rare_stall", rare_stall_changed }, { 0 } };

/* Sums since rare_stall was switched on, and half a period before: so the first stall comes in the middle of a period. */
static atomic_uint rare_sums;
#define RARE_EACH 1000u /* sums in a period, times the degree */
#define RARE_MS 600

/* ---- the customer and the goods ---------------------------------------------------------- */

static int
line_check(struct line *l, char *from)
{
	char *colon = strchr(from, ':');

	l->product = strtoll(from, NULL, 10);
	l->quantity = colon ? strtoll(colon + 1, NULL, 10) : 1;
	span_begin(line_check, l->product, l->quantity);
	if (l->product < 1 || l->product > GOODS_PRODUCTS || l->quantity < 1)
		l->product = 0;
	else
		snprintf(l->name, sizeof l->name, "%016" PRIx64, text_hash(from, strlen(from), 50));
	span_end(line_check, list_cents[l->product]);
	return l->product ? 0 : -1;
}

static int
lines_parse(struct goods *g, const char *lines)
{
	char copy[1024], *each[GOODS_MAX];
	int n, bad = 0;

	span_begin(lines_parse, (int64_t)strlen(lines));
	snprintf(copy, sizeof copy, "%s", lines);
	n = text_split(copy, ',', each, GOODS_MAX);
	for (int i = 0; i < n; i++) {
		if (line_check(&g->lines[g->n], each[i]) == 0)
			g->n++;
		else
			bad = 1;
	}
	span_end(lines_parse, g->n);
	return bad || g->n == 0 ? -1 : 0;
}

static int64_t
tier_decide(int64_t user, const char *known)
{
	uint64_t h;
	int64_t tier;

	span_begin(tier_decide, user);
	h = text_hash(&user, sizeof user, 400);
	tier = *known ? strtoll(known, NULL, 10) : (int64_t)(h % 4);
	span_end(tier_decide, tier);
	return tier;
}

static void
customer(struct bill *b)
{
	struct shop_text known = { 0 };
	char key[40], tier[24];
	int found, status;

	span_begin(customer, b->user);
	snprintf(key, sizeof key, "tier:%" PRId64, b->user);
	span_begin(cache_get, b->user);
	found = cache_get(key, &known);
	span_end(cache_get, found, (int64_t)known.length);
	b->tier = tier_decide(b->user, text_string(&known));
	if (!found) {
		snprintf(tier, sizeof tier, "%" PRId64, b->tier);
		span_begin(cache_put, (int64_t)strlen(tier));
		status = cache_put(key, tier, strlen(tier), 0);
		span_end(cache_put, status);
	}
	text_release(&known);
	span_end(customer, b->tier);
}

/* ---- the price ------------------------------------------------------------ */

static void
base_sum(struct bill *b)
{
	span_begin(base_sum, b->goods.n);
	for (int i = 0; i < b->goods.n; i++) {
		struct line *l = &b->goods.lines[i];

		span_begin(line_price, l->product, l->quantity);
		l->cents = list_cents[l->product] -
		           (int64_t)(text_hash(l->name, strlen(l->name), 30) % 3);
		b->base_cents += l->cents * l->quantity;
		span_end(line_price, l->cents);
	}
	span_end(base_sum, b->base_cents);
}

static int
by_percent(const void *a, const void *b)
{
	const struct rule *x = a, *y = b;

	return (y->percent > x->percent) - (y->percent < x->percent);
}

static int
rules_scan(const struct goods *g, const struct rule *r, int64_t percent[])
{
	int matched = 0;

	span_begin(rules_scan, g->n);
	for (int i = 0; i < g->n; i++) {
		percent[i] = 0;
		for (int k = 0; k < RULES && !percent[i]; k++)
			if (g->lines[i].product % RULES == r[k].group &&
			    g->lines[i].quantity >= r[k].least)
				percent[i] = r[k].percent;
		matched += percent[i] > 0;
	}
	span_end(rules_scan, matched);
	return matched;
}

static void
discount(struct bill *b)
{
	struct rule sorted[RULES];
	int64_t percent[GOODS_MAX];
	int matched;

	span_begin(discount, b->goods.n);
	span_begin(rules_sort, RULES);
	memcpy(sorted, rules, sizeof sorted);
	qsort(sorted, RULES, sizeof *sorted, by_percent);
	span_end(rules_sort, RULES);
	span_begin(rules_match, b->goods.n);
	matched = rules_scan(&b->goods, sorted, percent);
	span_end(rules_match, matched);
	span_begin(discount_apply, matched);
	for (int i = 0; i < b->goods.n; i++)
		b->discount_cents += b->goods.lines[i].cents * b->goods.lines[i].quantity *
		                     (percent[i] + b->tier) / 100;
	span_end(discount_apply, b->discount_cents);
	span_end(discount, b->discount_cents);
}

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* What computes long for some inputs, 15 ms of a CPU for one sum in four, and no tracepoint tells. */
static __attribute__((noinline)) int64_t
rest_by_trial(int64_t net, int degree)
{
	uint64_t h = text_hash(&net, sizeof net, 1);
	double until = (h >> 32) % 4 == 0 ? cpu_ms() + 15 * degree : 0;

	while (cpu_ms() < until)
		h = text_hash(&h, sizeof h, 10);
	return (int64_t)(h % 1000);
}

static void
rare_stall_changed(int on)
{
	atomic_store(&rare_sums, RARE_EACH * (unsigned)on / 2);
}

/* Distributes the cents left by rounding among the lines. */
static int64_t
spread_rest(struct bill *b, int64_t rate)
{
	int64_t net = b->base_cents - b->discount_cents, rest = net * rate % 1000;
	int degree = atomic_load(&faults[0].on);

	if (degree > 0 && service_random() < 0.25)
		service_pause(degree * (24 + 2 * service_random()));
	degree = atomic_load(&faults[1].on);
	if (degree > 0)
		rest = rest_by_trial(net + b->goods.n, degree);
	degree = atomic_load(&faults[2].on);
	if (degree > 0 && atomic_fetch_add(&rare_sums, 1) % (RARE_EACH * (unsigned)degree) == 0)
		service_pause(RARE_MS);
	for (int i = 0; rest > 0 && i < b->goods.n; i++)
		rest -= b->goods.lines[i].quantity;
	return rest > 0 ? rest : 0;
}

static void
tax_region(struct bill *b)
{
	int64_t rate, rest;

	span_begin(tax_region, b->region);
	span_begin(tax_rate, b->region);
	rate = 150 + (int64_t)(text_hash(b->region, strlen(b->region), 600) % 100);
	span_end(tax_rate, rate);
	rest = spread_rest(b, rate);
	span_begin(tax_round, rest);
	b->tax_cents = (b->base_cents - b->discount_cents) * rate / 1000 + (rest > 500);
	span_end(tax_round, b->tax_cents);
	span_end(tax_region, rate);
}

static void
tax(struct bill *b)
{
	struct shop_text note = { 0 };

	span_begin(tax, b->region);
	tax_region(b);
	span_begin(tax_note, b->tax_cents);
	text_addf(
	    &note, "%s %" PRId64 ".%02" PRId64, b->region, b->tax_cents / 100, b->tax_cents % 100);
	span_end(tax_note, (int64_t)note.length);
	text_release(&note);
	span_end(tax, b->tax_cents);
}

static int64_t
pricing(struct bill *b)
{
	int64_t total;

	span_begin(pricing, b->goods.n);
	base_sum(b);
	discount(b);
	tax(b);
	total = b->base_cents - b->discount_cents + b->tax_cents;
	span_end(pricing, total);
	return total;
}

/* ---- the routes -------------------------------------------------------------- */

static void
quote_print(const struct bill *b, int64_t total, struct shop_text *to)
{
	span_begin(quote_print, b->goods.n);
	text_addf(to, "%" PRId64 "\n", total);
	span_begin(quote_lines, b->goods.n);
	goods_print(&b->goods, to);
	span_end(quote_lines, (int64_t)to->length);
	span_begin(quote_sign, (int64_t)to->length);
	text_addf(to, "#%016" PRIx64 "\n", text_hash(to->at, to->length, 20));
	span_end(quote_sign, (int64_t)to->length);
	span_end(quote_print, (int64_t)to->length);
}

static int
quote(struct exchange *x)
{
	const char *lines = exchange_arg(x, "lines", "");
	struct bill b = { .user = exchange_number(x, "user", 0),
		.region = exchange_arg(x, "region", "DE") };
	int64_t total = 0;
	int status = 400;

	span_begin(quote, (int64_t)strlen(lines));
	if (lines_parse(&b.goods, lines) == 0) {
		customer(&b);
		total = pricing(&b);
		quote_print(&b, total, &x->reply);
		status = 200;
	}
	span_end(quote, total);
	return status;
}

static int
promotions(struct exchange *x)
{
	struct bill b = { .user = exchange_number(x, "user", 0) };
	int shown = 0;

	span_begin(promotions, b.user);
	customer(&b);
	span_begin(offers_pick, RULES);
	for (int k = 0; k < RULES; k++)
		shown += rules[k].least <= b.tier + 1 && text_hash(&rules[k], sizeof rules[k], 1);
	span_end(offers_pick, shown);
	span_begin(offers_print, shown);
	for (int k = 0; k < RULES && shown > 0; k++)
		if (rules[k].least <= b.tier + 1 && shown-- <= 6)
			text_addf(&x->reply, "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\toffer\n",
			    rules[k].group + 1, rules[k].least, rules[k].percent);
	span_end(offers_print, (int64_t)x->reply.length);
	span_end(promotions, (int64_t)x->reply.length);
	return 200;
}

static int
start(void)
{
	struct dbpool *pool = dbpool_new(database_arg, 1);
	PGconn *db;
	PGresult *r;

	if (!pool)
		return -1;
	db = dbpool_take(pool, dbpool_line_up(pool));
	r = db_run(db, "db.prices", "SELECT id, cents FROM product", 0, NULL);
	for (int i = 0; r && i < PQntuples(r); i++)
		if (atoi(PQgetvalue(r, i, 0)) <= GOODS_PRODUCTS)
			list_cents[atoi(PQgetvalue(r, i, 0))] = atoi(PQgetvalue(r, i, 1));
	for (int k = 0; k < RULES; k++)
		rules[k] = (struct rule){ k, 1 + k * 7 % 5, k * 11 % 20 };
	cache_use(redis_arg);
	PQclear(r);
	PQfinish(db); /* the only connection of this pool, which is used once */
	return r ? 0 : -1;
}

int
main(int argc, char **argv)
{
	static const struct route routes[] = {
		{ "GET", "/quote", "price.quote", 0, quote },
		{ "GET", "/promotions", "price.promotions", 0, promotions },
		{ 0 },
	};
	static const struct flag flags[] = {
		{ "redis", &redis_arg, "Redis's Unix socket" },
		{ "database", &database_arg, "PostgreSQL, a libpq connection string" },
		{ 0 },
	};
	static const struct service service = { "shop-price", "what goods cost a customer", routes,
		faults, flags, start };

	return service_main(argc, argv, &service);
}
