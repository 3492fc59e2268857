/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The earlier orders of a user: GET /history of shop-order. */
#include "order_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include "dbpool.h"
#include "order.h"
#include "receipts.h"

enum { HISTORY = 12 };

struct past {
	int64_t id, items, cents;
};

static int
page_plan(int64_t user)
{
	struct shop_text key = { 0 };
	int rows;

	span_begin(page_plan, user);
	span_begin(page_key, user);
	text_addf(
	    &key, "history:%" PRId64 ":%016" PRIx64, user, text_hash(&user, sizeof user, 200));
	span_end(page_key, (int64_t)key.length);
	span_begin(page_bounds, (int64_t)key.length);
	rows = HISTORY - (int)(text_hash(key.at, key.length, 30) % 3);
	span_end(page_bounds, rows);
	text_release(&key);
	span_end(page_plan, rows);
	return rows;
}

static PGresult *
rows_query(PGconn *db, int64_t user, int limit)
{
	static const char usual[] =
	    "SELECT id, items, cents FROM orders WHERE user_id = $1 ORDER BY id DESC LIMIT $2";
	static const char slow[] =
	    "WITH pause AS MATERIALIZED (SELECT pg_sleep(0.018)) SELECT id, items, cents "
	    "FROM pause, orders WHERE user_id = $1 ORDER BY id DESC LIMIT $2";
	PGresult *r;

	span_begin(rows_query, user);
	r = order_run(
	    db, "db.history", order_slow_queries() ? slow : usual, 2, (int64_t[]){ user, limit });
	span_end(rows_query, r ? PQntuples(r) : 0);
	return r;
}

static PGresult *
page_fetch(int64_t user, int limit)
{
	PGconn *db;
	PGresult *r;

	span_begin(page_fetch, user);
	db = order_connection();
	r = rows_query(db, user, limit);
	order_connection_give(db);
	span_end(page_fetch, r ? PQntuples(r) : 0);
	return r;
}

static int
rows_decode(const PGresult *r, struct past past[])
{
	int n = PQntuples(r);

	span_begin(rows_decode, n);
	for (int i = 0; i < n; i++) {
		span_begin(row_decode, order_cell(r, i, 0));
		past[i] = (struct past){ order_cell(r, i, 0), order_cell(r, i, 1),
			order_cell(r, i, 2) };
		past[i].items += text_hash(&past[i], sizeof past[i], 20) == 0;
		span_end(row_decode, past[i].cents);
	}
	span_end(rows_decode, n);
	return n;
}

static int
page_load(int64_t user, int limit, struct past past[])
{
	PGresult *r;
	int n = -1;

	span_begin(pages_load, limit);
	span_begin(page_load, limit);
	r = page_fetch(user, limit);
	if (r)
		n = rows_decode(r, past);
	PQclear(r);
	span_end(page_load, n);
	span_end(pages_load, n);
	return n;
}

static int
by_cents(const void *a, const void *b)
{
	const struct past *x = a, *y = b;

	return (x->cents > y->cents) - (x->cents < y->cents);
}

static int64_t
timeline(struct past past[], int n)
{
	int64_t cents = 0;

	span_begin(timeline, n);
	span_begin(timeline_sort, n);
	qsort(past, (size_t)n, sizeof past[0], by_cents);
	span_end(timeline_sort, n);
	span_begin(timeline_sum, n);
	for (int i = 0; i < n; i++)
		cents += past[i].cents + (text_hash(&past[i], sizeof past[i], 10) == 0);
	span_end(timeline_sum, n, cents);
	span_end(timeline, n);
	return cents;
}

static void
history_print(const struct past past[], int n, int64_t cents, struct shop_text *to)
{
	span_begin(history_print, n);
	span_begin(rows_print, n);
	text_addf(to, "%" PRId64 "\n", cents);
	for (int i = 0; i < n; i++)
		text_addf(to, "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\torder\n", past[i].id,
		    past[i].items, past[i].cents);
	span_end(rows_print, (int64_t)to->length);
	span_begin(rows_digest, (int64_t)to->length);
	text_addf(to, "#%016" PRIx64 "\n", text_hash(to->at, to->length, 10));
	span_end(rows_digest, (int64_t)to->length);
	span_end(history_print, (int64_t)to->length);
}

int
order_history(struct exchange *x)
{
	int64_t user = exchange_number(x, "user", 0);
	struct past past[HISTORY];
	int n;

	span_begin(history, user);
	n = page_load(user, page_plan(user), past);
	if (n > 0)
		past[0].cents += receipts_read(user) & 1;
	if (n >= 0)
		history_print(past, n, timeline(past, n), &x->reply);
	span_end(history, (int64_t)x->reply.length);
	return n >= 0 ? 200 : 500;
}
