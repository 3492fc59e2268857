/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shop-catalog: the products. It runs as several replicas, each on a node of its own. */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "catalog_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cache.h"
#include "dbpool.h"
#include "goods.h"
#include "service.h"

enum { POOL = 4, FEATURED = 8, FOUND = 6, PAIRS = 26 * 26 };

/* A list of products that is being prepared. */
struct view {
	struct goods goods;
	char keys[GOODS_MAX][64];
	int order[GOODS_MAX];
};

struct term_pairs {
	unsigned char count[PAIRS];
	int n;
};

static const char *redis_arg, *database_arg;
static struct dbpool *pool;
static char names[GOODS_PRODUCTS + 1][48];
static struct fault faults[] = { { "slow_node" }, { "input_dependent" }, { "noisy_neighbour" },
	{ "slow_tenth" }, { 0 } };

/* ---- one record, from the cache or else the database ------------------------ */

static int
query(int64_t product, struct shop_text *record)
{
	char id[24];
	const char *params[] = { id };
	struct dbpool_turn turn = dbpool_line_up(pool);
	PGconn *db;
	PGresult *r;
	int rows;

	span_begin(connection_wait, turn.waiters);
	db = dbpool_take(pool, turn);
	span_end(connection_wait, turn.waiters);
	snprintf(id, sizeof id, "%" PRId64, product);
	span_begin(query, product);
	r = db_run(db, "db.product",
	    "SELECT id, stock, cents, name, description FROM product WHERE id = $1", 1, params);
	rows = r ? PQntuples(r) : 0;
	span_end(query, rows);
	dbpool_give(pool, db);
	span_begin(record_pack, rows);
	for (int f = 0; rows && f < PQnfields(r); f++)
		text_addf(record, "%s%s", f ? "\t" : "", PQgetvalue(r, 0, f));
	span_end(record_pack, (int64_t)record->length);
	PQclear(r);
	return rows;
}

static int
record_load(int64_t product, struct shop_text *record)
{
	char key[40];
	int found, rows, status;

	span_begin(record_load, product);
	snprintf(key, sizeof key, "product:%" PRId64, product);
	span_begin(cache_get, product);
	found = cache_get(key, record) == 1;
	span_end(cache_get, found, (int64_t)record->length);
	if (!found) {
		span_begin(record_fetch, product);
		rows = query(product, record);
		span_end(record_fetch, rows);
		span_begin(cache_put, (int64_t)record->length);
		status = rows ? cache_put(key, record->at, record->length, 60) : 0;
		span_end(cache_put, status);
	}
	span_end(record_load, (int64_t)record->length);
	return record->length ? 0 : -1;
}

static int
record_read(struct line *l, struct shop_text *record)
{
	char *fields[5] = { NULL };
	int n, words = 0;

	span_begin(record_read, (int64_t)record->length);
	span_begin(fields_split, (int64_t)record->length);
	n = text_split(record->at, '\t', fields, 5);
	span_end(fields_split, n);
	if (n == 5) {
		l->product = strtoll(fields[0], NULL, 10);
		l->quantity = strtoll(fields[1], NULL, 10);
		l->cents = strtoll(fields[2], NULL, 10);
		snprintf(l->name, sizeof l->name, "%s", fields[3]);
		span_begin(words_fold, (int64_t)strlen(fields[4]));
		words = text_fold(fields[4]);
		span_end(words_fold, words);
	}
	span_end(record_read, words);
	return n == 5 ? 0 : -1;
}

static int
record_add(struct goods *g, int64_t product)
{
	struct shop_text record = { 0 };
	int rc = -1;

	if (g->n < GOODS_MAX && record_load(product, &record) == 0)
		rc = record_read(&g->lines[g->n], &record);
	g->n += rc == 0;
	text_release(&record);
	return rc;
}

static void
records_collect(struct goods *g, const int products[], int n)
{
	span_begin(records_collect, n);
	for (int i = 0; i < n; i++)
		record_add(g, products[i]);
	span_end(records_collect, g->n);
}

/* ---- preparing a list --------------------------------------------------- */

static void
keys_make(struct view *v)
{
	int64_t bytes = 0;

	span_begin(keys_make, v->goods.n);
	for (int i = 0; i < v->goods.n; i++) {
		const struct line *l = &v->goods.lines[i];

		bytes += snprintf(v->keys[i], sizeof v->keys[i], "%d%08" PRId64 "%.40s",
		    l->quantity == 0, l->cents, l->name);
		v->order[i] = i;
	}
	span_end(keys_make, bytes);
}

/* Reads the memory that the sort will use, so that it is in the CPU's cache. */
static uint64_t
keys_touch(const struct view *v)
{
	uint64_t h = 0;

	if (atomic_load(&faults[0].on))
		service_pause(24 + 3 * service_random());
	for (int i = 0; i < v->goods.n; i++)
		h ^= text_hash(v->keys[i], sizeof v->keys[i], 5);
	return h;
}

static void
keys_order(struct view *v)
{
	span_begin(keys_order, v->goods.n);
	for (int i = 1; i < v->goods.n; i++)
		for (int k = i; k > 0 && strcmp(v->keys[v->order[k]], v->keys[v->order[k - 1]]) < 0;
		     k--) {
			int swap = v->order[k];

			v->order[k] = v->order[k - 1];
			v->order[k - 1] = swap;
		}
	span_end(keys_order, v->goods.n);
}

static void
arrange(struct view *v, uint64_t *digest)
{
	int64_t groups = 0, last = -1;

	span_begin(arrange, v->goods.n);
	keys_make(v);
	*digest = keys_touch(v);
	keys_order(v);
	span_begin(groups_join, v->goods.n);
	for (int i = 0; i < v->goods.n; i++) {
		int64_t group = v->goods.lines[v->order[i]].cents / 1000;

		*digest ^= text_hash(v->goods.lines[i].name, sizeof v->goods.lines[i].name, 5);
		groups += group != last;
		last = group;
	}
	span_end(groups_join, groups);
	span_end(arrange, v->goods.n);
}

static void
view_print(const struct view *v, uint64_t digest, struct shop_text *to)
{
	span_begin(view_print, v->goods.n);
	span_begin(rows_print, v->goods.n);
	for (int i = 0; i < v->goods.n; i++)
		line_print(&v->goods.lines[v->order[i]], to);
	span_end(rows_print, (int64_t)to->length);
	span_begin(rows_digest, (int64_t)to->length);
	digest ^= text_hash(text_string(to), to->length, 10);
	text_addf(to, "#%016" PRIx64 "\n", digest);
	span_end(rows_digest, (int64_t)to->length);
	span_end(view_print, (int64_t)to->length);
}

static void
view(struct view *v, struct shop_text *to)
{
	uint64_t digest;
	int stocked = 0;

	span_begin(view, v->goods.n);
	span_begin(stock_check, v->goods.n);
	for (int i = 0; i < v->goods.n; i++)
		stocked += v->goods.lines[i].quantity > 0 &&
		           text_hash(&v->goods.lines[i], sizeof v->goods.lines[i], 5);
	span_end(stock_check, stocked);
	arrange(v, &digest);
	view_print(v, digest, to);
	span_end(view, v->goods.n);
}

/* ---- search ------------------------------------------------------------------------ */

static void
pairs_of(struct term_pairs *p, const char *words)
{
	memset(p, 0, sizeof *p);
	for (; words[0] && words[1]; words++)
		if (words[0] >= 'a' && words[0] <= 'z' && words[1] >= 'a' && words[1] <= 'z') {
			p->count[(words[0] - 'a') * 26 + words[1] - 'a']++;
			p->n++;
		}
}

/* Compares the query once more with each name that is almost equal. */
static void
compare_spelling(const char *words)
{
	int degree = atomic_load(&faults[3].on);

	if (atomic_load(&faults[1].on))
		service_pause(0.8 * (double)strlen(words));
	if (degree > 0 && service_random() < 0.1)
		service_pause(20.0 * degree);
}

/* Computes as long for each query, without a tracepoint: about 8 ms of a CPU. */
static __attribute__((noinline)) uint64_t
weigh_spelling(void)
{
	return text_hash(names[1], 40, 4000) %
	       1000; /* no tail call, which would take it off the stack */
}

static int
score_names(const struct term_pairs *p, const char *words, int score[])
{
	int hits = 0;

	span_begin(score_names, (int64_t)strlen(words));
	for (int id = 1; id <= GOODS_PRODUCTS; id++) {
		score[id] = 0;
		for (const char *n = names[id]; n[0] && n[1]; n++)
			if (n[0] >= 'a' && n[1] >= 'a')
				score[id] += p->count[(n[0] - 'a') * 26 + n[1] - 'a'];
		hits += score[id] > 0;
	}
	compare_spelling(words);
	if (atomic_load(&faults[2].on))
		hits += weigh_spelling() > 1000;
	span_end(score_names, hits);
	return hits;
}

static void
ranking(const char *words, int best[FOUND])
{
	struct term_pairs pairs;
	int score[GOODS_PRODUCTS + 1], hits;

	span_begin(ranking, FOUND);
	span_begin(pairs_index, (int64_t)strlen(words));
	pairs_of(&pairs, words);
	span_end(pairs_index, pairs.n);
	span_begin(score, (int64_t)strlen(words));
	hits = score_names(&pairs, words, score);
	span_begin(score_scale, hits);
	for (int id = 1; id <= GOODS_PRODUCTS; id++)
		score[id] = score[id] * 1000 / (int)(strlen(names[id]) + 1);
	span_end(score_scale, hits);
	span_end(score, hits);
	span_begin(top_select, hits);
	for (int k = 0; k < FOUND; k++) {
		best[k] = 1;
		for (int id = 1; id <= GOODS_PRODUCTS; id++)
			if (score[id] > score[best[k]])
				best[k] = id;
		score[best[k]] = -1;
	}
	span_end(top_select, FOUND);
	span_end(ranking, FOUND);
}

static void
lookup(const char *words, int nwords, int best[FOUND])
{
	struct term_pairs a, b;
	int alike = 0;

	span_begin(lookup, nwords);
	ranking(words, best);
	span_begin(near_misses, FOUND);
	for (int k = 1; k < FOUND; k++) {
		pairs_of(&a, names[best[k - 1]]);
		pairs_of(&b, names[best[k]]);
		alike += memcmp(&a, &b, sizeof a) == 0;
	}
	span_end(near_misses, alike);
	span_end(lookup, FOUND);
}

static int
terms(char *words)
{
	int n, weight = 0;

	span_begin(terms, (int64_t)strlen(words));
	span_begin(terms_fold, (int64_t)strlen(words));
	n = text_fold(words);
	span_end(terms_fold, n);
	span_begin(terms_weigh, n);
	for (const char *w = words; *w; w++)
		weight += strchr("aeiou ", *w) ? 1 : 2;
	weight += text_hash(words, strlen(words), 20) == 0;
	span_end(terms_weigh, weight);
	span_end(terms, n);
	return n;
}

/* ---- the routes ----------------------------------------------------------------- */

static int
product(struct exchange *x)
{
	int64_t id = exchange_number(x, "id", 0);
	struct view v = { 0 };
	int status;

	span_begin(product, id);
	span_begin(product_check, id);
	status = id >= 1 && id <= GOODS_PRODUCTS && text_hash(names[id], sizeof names[id], 20)
	             ? 200
	             : 404;
	span_end(product_check, status);
	if (status == 200 && record_add(&v.goods, id) == 0)
		view(&v, &x->reply);
	span_end(product, (int64_t)x->reply.length);
	return v.goods.n ? 200 : 404;
}

static int
featured(struct exchange *x)
{
	int64_t user = exchange_number(x, "user", 0);
	struct view v = { 0 };
	int products[FEATURED];

	span_begin(featured, user);
	span_begin(featured_pick, user);
	for (int i = 0; i < FEATURED; i++)
		products[i] = 1 + (int)(text_hash(&user, sizeof user, 10 + i) % 40);
	span_end(featured_pick, FEATURED);
	records_collect(&v.goods, products, FEATURED);
	view(&v, &x->reply);
	span_end(featured, (int64_t)x->reply.length);
	return v.goods.n ? 200 : 500;
}

static int
search(struct exchange *x)
{
	char words[256];
	struct view v = { 0 };
	int best[FOUND], n;

	snprintf(words, sizeof words, "%s", exchange_arg(x, "q", ""));
	span_begin(search, (int64_t)strlen(words));
	n = terms(words);
	lookup(words, n, best);
	records_collect(&v.goods, best, FOUND);
	view(&v, &x->reply);
	span_end(search, (int64_t)x->reply.length);
	return n && v.goods.n ? 200 : 400;
}

static int
start(void)
{
	PGconn *db;
	PGresult *r;

	pool = dbpool_new(database_arg, POOL);
	if (!pool)
		return -1;
	db = dbpool_take(pool, dbpool_line_up(pool));
	r = db_run(db, "db.names", "SELECT id, name FROM product", 0, NULL);
	for (int i = 0; r && i < PQntuples(r); i++)
		if (atoi(PQgetvalue(r, i, 0)) <= GOODS_PRODUCTS)
			snprintf(names[atoi(PQgetvalue(r, i, 0))], sizeof names[0], "%s",
			    PQgetvalue(r, i, 1));
	PQclear(r);
	dbpool_give(pool, db);
	cache_use(redis_arg);
	return r ? 0 : -1;
}

int
main(int argc, char **argv)
{
	static const struct route routes[] = {
		{ "GET", "/product", "catalog.product", 0, product },
		{ "GET", "/featured", "catalog.featured", 0, featured },
		{ "GET", "/search", "catalog.search", 0, search },
		{ 0 },
	};
	static const struct flag flags[] = {
		{ "redis", &redis_arg, "Redis's Unix socket" },
		{ "database", &database_arg, "PostgreSQL, a libpq connection string" },
		{ 0 },
	};
	static const struct service service = { "shop-catalog",
		"the products, and the search among them", routes, faults, flags, start };

	return service_main(argc, argv, &service);
}
