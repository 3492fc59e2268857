/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shop-order: places orders (in database and journal), and lists earlier ones. */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "order_trace.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "crew.h"
#include "dbpool.h"
#include "goods.h"
#include "journal.h"
#include "order.h"
#include "peer.h"
#include "receipts.h"
#include "service.h"

enum { POOL = 12, CREW = 12 };

/* An order that is being placed. */
struct order {
	struct goods goods;
	int64_t user, cents, id;
	int reserved, authorized; /* set by the crew */
};

static const char *database_arg, *journal_arg, *receipts_arg, *cart_arg, *price_arg;
static struct dbpool *pool;
static struct crew *crew;

static void
small_pool_changed(int connections)
{
	dbpool_limit(pool, connections > 0 && connections < POOL ? connections : POOL);
}

static struct fault faults[] = { { "small_pool", small_pool_changed }, { "slow_disk" },
	{ "page_cache", receipts_cold }, { 0 } };

int
order_slow_queries(void)
{
	return atomic_load(&faults[0].on);
}

PGconn *
order_connection(void)
{
	struct dbpool_turn turn = dbpool_line_up(pool);
	PGconn *db;

	span_begin(connection_wait, turn.waiters);
	db = dbpool_take(pool, turn);
	span_end(connection_wait, turn.waiters);
	return db;
}

void
order_connection_give(PGconn *db)
{
	dbpool_give(pool, db);
}

PGresult *
order_run(PGconn *db, const char *name, const char *sql, int n, const int64_t numbers[])
{
	char text[4][24];
	const char *params[4];

	for (int i = 0; i < n; i++) {
		snprintf(text[i], sizeof text[i], "%" PRId64, numbers[i]);
		params[i] = text[i];
	}
	return db_run(db, name, sql, n, params);
}

int64_t
order_cell(const PGresult *r, int row, int column)
{
	return strtoll(PQgetvalue(r, row, column), NULL, 10);
}

/* ---- the two checks that the crew does in parallel --------------------------- */

static void
reserve(void *arg)
{
	struct order *o = arg;
	PGconn *db;
	PGresult *r;
	int64_t least = 1000, most = 0;
	int rows;

	span_begin(reserve, o->goods.n);
	span_begin(reserve_pick, crew_queued(crew));
	for (int i = 0; i < o->goods.n; i++) {
		least = o->goods.lines[i].product < least ? o->goods.lines[i].product : least;
		most = o->goods.lines[i].product > most ? o->goods.lines[i].product : most;
	}
	span_end(reserve_pick, o->goods.n);
	db = order_connection();
	span_begin(stock_query, o->goods.n);
	r = order_run(db, "db.stock",
	    "SELECT id, stock FROM product WHERE id BETWEEN $1 AND $2 AND id % 8 = $1 % 8", 2,
	    (int64_t[]){ least, most });
	rows = r ? PQntuples(r) : 0;
	span_end(stock_query, rows);
	order_connection_give(db);
	span_begin(stock_compare, rows);
	for (int i = 0; i < rows; i++)
		o->reserved |= order_cell(r, i, 1) >= 0;
	span_end(stock_compare, o->reserved);
	PQclear(r);
	span_end(reserve, rows);
}

static int
payment_sign(const struct shop_text *key)
{
	uint64_t h;
	int attempt = 0;

	span_begin(payment_sign, (int64_t)key->length);
	do /* a signature ends in two zero bits, found by trial, at most 16 times */
		h = text_hash(key->at, key->length, 10 + ++attempt);
	while (h % 4 && attempt < 16);
	span_end(payment_sign, attempt);
	return attempt > 0;
}

static void
authorize(void *arg)
{
	struct order *o = arg;
	struct shop_text lines = { 0 }, answer = { 0 };
	int status;

	span_begin(authorize, o->goods.n);
	goods_print_short(&o->goods, &lines);
	span_begin(quote_ask, o->goods.n);
	status = peer_call(price_arg, "price.quote", "GET", NULL, &answer,
	    "/quote?region=FR&user=%" PRId64 "&lines=%s", o->user, text_string(&lines));
	span_end(quote_ask, status);
	span_begin(payment_key, crew_queued(crew));
	o->cents = strtoll(text_string(&answer), NULL, 10);
	text_addf(&lines, "#%" PRId64 "#%" PRId64, o->user, o->cents);
	span_end(payment_key, (int64_t)lines.length);
	o->authorized = payment_sign(&lines) && status == 200;
	text_release(&lines);
	text_release(&answer);
	span_end(authorize, status);
}

static int
check(struct order *o)
{
	struct task tasks[] = { { "order.reserve", reserve, o },
		{ "order.authorize", authorize, o } };

	span_begin(hand_over, crew_queued(crew));
	crew_give(crew, &tasks[0]);
	crew_give(crew, &tasks[1]);
	span_end(hand_over, crew_queued(crew));
	span_begin(await_both, o->goods.n);
	crew_wait(crew, &tasks[0]);
	crew_wait(crew, &tasks[1]);
	span_end(await_both, o->reserved + o->authorized);
	return o->reserved && o->authorized ? 0 : -1;
}

/* ---- the order in the database ------------------------------------------------------- */

static int
insert_order(PGconn *db, struct order *o)
{
	PGresult *r;
	int rows;

	span_begin(order_insert, o->goods.n, o->cents);
	r = order_run(db, "db.order",
	    "INSERT INTO orders (user_id, items, cents) VALUES ($1, $2, $3) RETURNING id", 3,
	    (int64_t[]){ o->user, o->goods.n, o->cents });
	rows = r ? PQntuples(r) : 0;
	o->id = rows ? order_cell(r, 0, 0) : 0;
	PQclear(r);
	span_end(order_insert, rows);
	return rows;
}

/* One number of each line, as an array in PostgreSQL's format. */
static const char *
column(const struct goods *g, size_t offset, struct shop_text *to)
{
	for (int i = 0; i < g->n; i++)
		text_addf(to, "%c%" PRId64, i ? ',' : '{',
		    *(const int64_t *)((const char *)&g->lines[i] + offset));
	text_adds(to, "}");
	return text_string(to);
}

static int
insert_lines(PGconn *db, const struct order *o)
{
	struct shop_text columns[3] = { 0 };
	char id[24];
	const char *params[] = { id, column(&o->goods, offsetof(struct line, product), &columns[0]),
		column(&o->goods, offsetof(struct line, quantity), &columns[1]),
		column(&o->goods, offsetof(struct line, cents), &columns[2]) };
	PGresult *r;
	int rows;

	snprintf(id, sizeof id, "%" PRId64, o->id);
	span_begin(lines_insert, o->goods.n);
	r = db_run(db, "db.lines",
	    "INSERT INTO order_line (order_id, product, quantity, cents) "
	    "SELECT $1, * FROM unnest($2::int[], $3::int[], $4::bigint[])",
	    4, params);
	rows = r ? atoi(PQcmdTuples(r)) : 0;
	span_end(lines_insert, rows);
	PQclear(r);
	for (int i = 0; i < 3; i++)
		text_release(&columns[i]);
	return rows;
}

/* Locks the rows in order of their ids; otherwise two customers with the same goods could deadlock. */
static int
hold_goods(PGconn *db, const struct goods *g)
{
	struct shop_text ids = { 0 };
	const char *params[] = { column(g, offsetof(struct line, product), &ids) };
	PGresult *r;
	int rows;

	span_begin(goods_hold, g->n);
	r = db_run(db, "db.hold",
	    "SELECT id FROM product WHERE id = ANY($1::int[]) ORDER BY id FOR NO KEY UPDATE", 1,
	    params);
	rows = r ? PQntuples(r) : 0;
	span_end(goods_hold, rows);
	PQclear(r);
	text_release(&ids);
	return rows;
}

static int
transaction(PGconn *db, struct order *o)
{
	PGresult *r;
	int done, status;

	span_begin(transaction, o->goods.n);
	PQclear(db_run(db, "db.begin", "BEGIN", 0, NULL));
	done = hold_goods(db, &o->goods) && insert_order(db, o) &&
	       insert_lines(db, o) == o->goods.n;
	span_begin(transaction_commit, o->goods.n);
	r = db_run(db, "db.commit", done ? "COMMIT" : "ROLLBACK", 0, NULL);
	status = r && done ? 0 : -1;
	PQclear(r);
	span_end(transaction_commit, status);
	span_end(transaction, done);
	return status;
}

static int
settle(struct order *o)
{
	PGconn *db;
	int status;

	span_begin(settle, o->goods.n);
	db = order_connection();
	status = transaction(db, o);
	order_connection_give(db);
	span_end(settle, o->goods.n);
	return status;
}

/* ---- the order in the journal ---------------------------------------------------------- */

static void
entry_build(const struct order *o, struct shop_text *entry)
{
	span_begin(entry_build, o->goods.n);
	text_addf(entry, "order %" PRId64 " user %" PRId64 " cents %" PRId64 "\n", o->id, o->user,
	    o->cents);
	span_begin(entry_lines, o->goods.n);
	goods_print(&o->goods, entry);
	span_end(entry_lines, (int64_t)entry->length);
	span_begin(entry_seal, (int64_t)entry->length);
	text_addf(entry, "#%016" PRIx64 "\n", text_hash(entry->at, entry->length, 20));
	span_end(entry_seal, (int64_t)entry->length);
	span_end(entry_build, (int64_t)entry->length);
}

static int
journal_put(const struct shop_text *entry)
{
	int status;

	span_begin(journal_put, (int64_t)entry->length);
	span_begin(journal_write, (int64_t)entry->length);
	status = journal_write(entry->at, entry->length);
	if (atomic_load(&faults[1].on))
		service_pause(60 * service_random());
	span_end(journal_write, status);
	span_begin(journal_sync, (int64_t)entry->length);
	if (status == 0)
		status = journal_sync();
	span_end(journal_sync, status);
	span_end(journal_put, status);
	return status;
}

static int
journal_append(const struct shop_text *entry)
{
	uint64_t segment;
	int status;

	span_begin(journal_append, (int64_t)entry->length);
	span_begin(segment_pick, (int64_t)entry->length);
	segment = text_hash(entry->at, entry->length, 5) % 16;
	span_end(segment_pick, (int64_t)segment);
	status = journal_put(entry);
	span_begin(segment_note, (int64_t)segment);
	segment ^= text_hash(entry->at, entry->length, 5);
	span_end(segment_note, (int64_t)(segment & 0xffff));
	span_end(journal_append, status);
	return status;
}

static int
record(const struct order *o)
{
	struct shop_text entry = { 0 };
	int status;

	span_begin(record, o->goods.n);
	entry_build(o, &entry);
	status = journal_append(&entry);
	span_end(record, (int64_t)entry.length);
	text_release(&entry);
	return status;
}

/* ---- placing an order ------------------------------------------------------------------- */

static int
cart_fetch(struct order *o)
{
	struct shop_text cart = { 0 };
	const char *lines;
	int status;

	span_begin(cart_fetch, o->user);
	status = peer_call(
	    cart_arg, "cart.get", "GET", NULL, &cart, "/cart?user=%" PRId64, o->user);
	span_end(cart_fetch, status);
	span_begin(cart_parse, (int64_t)cart.length);
	lines = strchr(text_string(&cart), '\n');
	if (status == 200 && lines)
		goods_read(&o->goods, lines + 1);
	span_end(cart_parse, o->goods.n);
	text_release(&cart);
	return o->goods.n ? 200 : 409;
}

static int
cart_clear(int64_t user)
{
	struct shop_text answer = { 0 };
	int status;

	span_begin(cart_clear, user);
	status = peer_call(
	    cart_arg, "cart.clear", "POST", NULL, &answer, "/clear?user=%" PRId64, user);
	span_end(cart_clear, status);
	text_release(&answer);
	return status;
}

static int
place(struct exchange *x)
{
	struct order o = { .user = exchange_number(x, "user", 0) };
	int status;

	span_begin(place, o.user);
	status = cart_fetch(&o);
	if (status == 200 && (check(&o) != 0 || settle(&o) != 0 || record(&o) != 0))
		status = 500;
	if (status == 200)
		status = cart_clear(o.user);
	span_begin(receipt, o.goods.n);
	text_addf(&x->reply, "%" PRId64 "\t%" PRId64 "\n", o.id, o.cents);
	goods_print(&o.goods, &x->reply);
	span_end(receipt, (int64_t)x->reply.length);
	span_end(place, (int64_t)x->reply.length);
	return status;
}

static int
start(void)
{
	pool = dbpool_new(database_arg, POOL);
	crew = crew_new(CREW);
	return pool && crew && journal_open(journal_arg) == 0 ? receipts_open(receipts_arg) : -1;
}

int
main(int argc, char **argv)
{
	static const struct route routes[] = {
		{ "POST", "/place", "order.place", 0, place },
		{ "GET", "/history", "order.history", 0, order_history },
		{ 0 },
	};
	static const struct flag flags[] = {
		{ "database", &database_arg, "PostgreSQL, a libpq connection string" },
		{ "journal", &journal_arg, "file that every order is written to" },
		{ "receipts", &receipts_arg, "file of the receipts" },
		{ "cart", &cart_arg, "port of shop-cart" },
		{ "price", &price_arg, "port of shop-price" },
		{ 0 },
	};
	static const struct service service = { "shop-order", "orders, placed and past", routes,
		faults, flags, start };

	return service_main(argc, argv, &service);
}
