/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shop-cart: the carts of the users, in Redis, and the index of recent visitors. */
#define _GNU_SOURCE
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "cart_trace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cache.h"
#include "goods.h"
#include "peer.h"
#include "service.h"

enum { CART_LINES = 16, VISITS = 256 };

/* The recent visitors, for all threads. */
static struct {
	pthread_mutex_t mutex;
	atomic_int waiters;
	int64_t users[VISITS];
	uint64_t next;
} visits = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static const char *redis_arg, *price_arg, *visits_arg;
static struct fault faults[] = { { "lock_contention" }, { "journal_fsync" }, { 0 } };
static int visits_file;

/* ---- recent visitors -------------------------------------------------------------- */

/* A thread that compacts the index periodically, and holds its lock meanwhile. */
static void *
compact_index(void *unused)
{
	(void)unused;
	for (;;) {
		service_pause(atomic_load(&faults[0].on) ? 4 + 30 * service_random() : 50);
		pthread_mutex_lock(&visits.mutex);
		service_pause(atomic_load(&faults[0].on) * (5 + 55 * service_random()));
		pthread_mutex_unlock(&visits.mutex);
	}
	return NULL;
}

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Writes visitors to the disk, one after the other. */
static __attribute__((noinline)) void
write_out(double ms)
{
	double until = now_ms() + ms;

	for (uint64_t i = 0; now_ms() < until; i++) {
		int64_t user = visits.users[i % VISITS];

		if (pwrite(visits_file, &user, sizeof user, (off_t)(i % VISITS * 4096)) !=
			sizeof user ||
		    fdatasync(visits_file) != 0) {
			perror(visits_arg);
			return;
		}
	}
}

/* A thread that saves the visitors periodically; its fault is that it holds the lock of the index meanwhile. No
 * tracepoint is passed. */
static void *
save_visits(void *unused)
{
	(void)unused;
	for (;;) {
		service_pause(10 + 30 * service_random());
		if (atomic_load(&faults[1].on) == 0)
			continue;
		pthread_mutex_lock(&visits.mutex);
		write_out(atomic_load(&faults[1].on) * (5 + 55 * service_random()));
		pthread_mutex_unlock(&visits.mutex);
	}
	return NULL;
}

static int
index_update(int64_t user)
{
	int seen = 0;

	span_begin(index_update, user);
	for (int i = 0; i < VISITS; i++)
		seen += visits.users[i] == user;
	visits.users[visits.next++ % VISITS] = user;
	span_end(index_update, seen);
	return seen;
}

static int
visit_note(int64_t user)
{
	int waiters, seen;

	span_begin(visit_note, user);
	waiters = atomic_fetch_add(&visits.waiters, 1);
	span_begin(index_lock, waiters);
	pthread_mutex_lock(&visits.mutex);
	atomic_fetch_sub(&visits.waiters, 1);
	span_end(index_lock, 1);
	seen = index_update(user);
	pthread_mutex_unlock(&visits.mutex);
	span_end(visit_note, seen);
	return seen;
}

static int
presence(int64_t user)
{
	uint64_t h;
	int seen, rank = 0;

	span_begin(presence, user);
	span_begin(visit_hash, user);
	h = text_hash(&user, sizeof user, 300);
	span_end(visit_hash, (int64_t)(h % VISITS));
	seen = visit_note(user);
	span_begin(visit_rank, seen);
	for (int i = 0; i < seen; i++)
		rank += (int)(text_hash(&h, sizeof h, 20 + i) % 3);
	span_end(visit_rank, rank);
	span_end(presence, seen);
	return rank;
}

/* ---- the cart in Redis ----------------------------------------------------------- */

static int
user_check(int64_t user)
{
	int status;

	span_begin(user_check, user);
	status = user >= 1 && text_hash(&user, sizeof user, 300) != 0 ? 200 : 403;
	span_end(user_check, status);
	return status;
}

/* Fills the cart of a user who has none with goods that were saved for later, so no cart is empty. */
static void
saved_items(int64_t user, struct goods *g)
{
	span_begin(saved_items, user);
	for (g->n = 0; g->n < 1 + user % 5; g->n++) {
		struct line *l = &g->lines[g->n];

		l->product = 1 +
		             (int64_t)(text_hash(&user, sizeof user, 2 + g->n) % GOODS_PRODUCTS);
		l->quantity = 1 + user % 3;
		l->cents = 100 * (1 + l->product % 50);
		snprintf(l->name, sizeof l->name, "saved %" PRId64, l->product);
	}
	span_end(saved_items, g->n);
}

static void
cart_decode(struct goods *g, const struct shop_text *from)
{
	span_begin(cart_decode, (int64_t)from->length);
	goods_read(g, text_string(from));
	for (int i = 0; i < g->n; i++) {
		struct line *l = &g->lines[i];

		span_begin(line_verify, l->product, l->quantity);
		if (text_hash(l, sizeof *l, 20) == 0 || l->quantity > 99)
			l->quantity = 99;
		span_end(line_verify, l->cents);
	}
	span_end(cart_decode, g->n);
}

static void
cart_key(char key[40], int64_t user)
{
	snprintf(key, 40, "cart:%" PRId64, user);
}

static int
cart_load(int64_t user, struct goods *g)
{
	struct shop_text kept = { 0 };
	char key[40];
	int found;

	span_begin(cart_load, user);
	cart_key(key, user);
	span_begin(cache_get, user);
	found = cache_get(key, &kept);
	span_end(cache_get, found, (int64_t)kept.length);
	if (!found)
		saved_items(user, g);
	else
		cart_decode(g, &kept);
	text_release(&kept);
	span_end(cart_load, g->n);
	return found < 0 ? -1 : 0;
}

static int
cart_save(int64_t user, const struct goods *g)
{
	struct shop_text out = { 0 };
	char key[40];
	int status;

	span_begin(cart_save, g->n);
	cart_key(key, user);
	span_begin(cart_encode, g->n);
	goods_print(g, &out);
	span_end(cart_encode, (int64_t)out.length);
	span_begin(cache_put, (int64_t)out.length);
	status = cache_put(key, text_string(&out), out.length, 0);
	span_end(cache_put, status);
	text_release(&out);
	span_end(cart_save, status);
	return status;
}

/* ---- changing a cart ----------------------------------------------------------------------- */

static void
limits_check(struct goods *g)
{
	int dropped = g->n >= CART_LINES;

	span_begin(limits_check, g->n);
	if (dropped)
		memmove(g->lines, g->lines + 1, (size_t)--g->n * sizeof g->lines[0]);
	for (int i = 0; i < g->n; i++)
		dropped += text_hash(&g->lines[i], sizeof g->lines[i], 5) == 0;
	span_end(limits_check, dropped);
}

/* Recalled goods are not sold. Each group of customers has its own list of them. */
static int
recall_check(int64_t user, int64_t product)
{
	char key[40], value[24];
	int recalled;

	span_begin(recall_check, product);
	snprintf(key, sizeof key, "recalled:%" PRId64, user % 6);
	snprintf(value, sizeof value, "%" PRId64, product);
	recalled = cache_list_has(key, value);
	span_end(recall_check, recalled);
	return recalled;
}

static void
line_merge(struct goods *g, int64_t product, int64_t quantity)
{
	int i = 0;

	span_begin(line_merge, product, quantity);
	while (i < g->n && g->lines[i].product != product)
		i++;
	if (i == g->n) {
		g->n++;
		g->lines[i] = (struct line){ .product = product,
			.cents = 100 * (1 + product % 50) };
		snprintf(g->lines[i].name, sizeof g->lines[i].name, "product %" PRId64, product);
	}
	g->lines[i].quantity += quantity;
	span_end(line_merge, g->n);
}

static void
cart_change(struct goods *g, int64_t user, int64_t product, int64_t quantity)
{
	span_begin(cart_change, g->n);
	limits_check(g);
	presence(user);
	line_merge(g, product, quantity);
	span_end(cart_change, g->n);
}

static int64_t
totals(const struct goods *g, int64_t user)
{
	struct shop_text lines = { 0 }, answer = { 0 };
	int64_t cents;
	int status;

	span_begin(totals, g->n);
	goods_print_short(g, &lines);
	span_begin(quote_ask, g->n);
	status = peer_call(price_arg, "price.quote", "GET", NULL, &answer,
	    "/quote?user=%" PRId64 "&lines=%s", user, text_string(&lines));
	span_end(quote_ask, status);
	span_begin(quote_read, (int64_t)answer.length);
	cents = status == 200 ? strtoll(text_string(&answer), NULL, 10) : -1;
	span_end(quote_read, cents);
	text_release(&lines);
	text_release(&answer);
	span_end(totals, cents);
	return cents;
}

static void
cart_print(const struct goods *g, int64_t cents, struct shop_text *to)
{
	span_begin(cart_print, g->n);
	text_addf(to, "%" PRId64 "\n", cents);
	goods_print(g, to);
	text_addf(to, "#%016" PRIx64 "\n", text_hash(to->at, to->length, 10));
	span_end(cart_print, (int64_t)to->length);
}

/* ---- the routes ------------------------------------------------------------------- */

static int
add(struct exchange *x)
{
	int64_t user = exchange_number(x, "user", 0), product = exchange_number(x, "product", 0),
		cents;
	struct goods g = { 0 };
	int status;

	span_begin(add, product);
	status = product >= 1 ? user_check(user) : 400;
	if (status == 200 && cart_load(user, &g) != 0)
		status = 500;
	if (status == 200 && recall_check(user, product) != 0)
		status = 409;
	if (status == 200) {
		cart_change(&g, user, product, exchange_number(x, "quantity", 1));
		status = cart_save(user, &g) == 0 ? 200 : 500;
	}
	if (status == 200) {
		cents = totals(&g, user);
		cart_print(&g, cents, &x->reply);
		status = cents >= 0 ? 200 : 502;
	}
	span_end(add, (int64_t)x->reply.length);
	return status;
}

static int
summary(struct exchange *x)
{
	int64_t user = exchange_number(x, "user", 0);
	struct goods g = { 0 };
	int rc;

	span_begin(summary, user);
	rc = cart_load(user, &g);
	presence(user);
	span_begin(summary_count, g.n);
	text_addf(&x->reply, "%d\t%" PRId64 "\n", g.n, goods_cents(&g));
	span_end(summary_count, g.n, goods_cents(&g));
	span_end(summary, (int64_t)x->reply.length);
	return rc == 0 ? 200 : 500;
}

static int
get(struct exchange *x)
{
	int64_t user = exchange_number(x, "user", 0);
	struct goods g = { 0 };
	int rc;

	span_begin(get, user);
	rc = cart_load(user, &g);
	cart_print(&g, goods_cents(&g), &x->reply);
	span_end(get, (int64_t)x->reply.length);
	return rc == 0 ? 200 : 500;
}

static int
clear(struct exchange *x)
{
	int64_t user = exchange_number(x, "user", 0);
	char key[40];
	int rc;

	span_begin(clear, user);
	cart_key(key, user);
	rc = cache_drop(key);
	text_adds(&x->reply, "ok\n");
	span_end(clear, rc);
	return rc == 0 ? 200 : 500;
}

static int
start(void)
{
	pthread_t compacts, saves;

	cache_use(redis_arg);
	visits_file = open(visits_arg, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (visits_file < 0) {
		perror(visits_arg);
		return -1;
	}
	if (pthread_create(&compacts, NULL, compact_index, NULL) != 0 ||
	    pthread_create(&saves, NULL, save_visits, NULL) != 0)
		return -1;
	pthread_setname_np(saves, "writer");
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct route routes[] = {
		{ "POST", "/add", "cart.add", 0, add },
		{ "GET", "/summary", "cart.summary", 0, summary },
		{ "GET", "/cart", "cart.get", 0, get },
		{ "POST", "/clear", "cart.clear", 0, clear },
		{ 0 },
	};
	static const struct flag flags[] = {
		{ "redis", &redis_arg, "Redis's Unix socket" },
		{ "price", &price_arg, "port of shop-price" },
		{ "visits", &visits_arg, "the file of the recent visitors" },
		{ 0 },
	};
	static const struct service service = { "shop-cart", "what users mean to buy", routes,
		faults, flags, start };

	return service_main(argc, argv, &service);
}
