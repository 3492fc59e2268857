/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shop-front: the service for users. It calls the other services and makes pages of their answers. */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "front_trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "crew.h"
#include "goods.h"
#include "peer.h"
#include "service.h"

enum { CREW = 24, REPLICAS = 8, VISITORS = 1024 };

/* A page that is being made. */
struct front_page {
	int64_t user;
	struct shop_text answer; /* of the services, in the order of the calls */
	int status;
};

/* A part of a page, which the crew fetches. */
struct page_part {
	const char *port, *name, *path;
	int64_t user;
	struct shop_text answer;
	int status;
};

static const char *catalog_arg, *cart_arg, *order_arg, *price_arg;
static char *replicas[REPLICAS];
static int nreplicas;
static struct crew *crew;
static atomic_uint_fast64_t picked;

static struct {
	pthread_mutex_t mutex;
	atomic_int waiters;
	unsigned char seen[VISITORS];
	int count;
} visitors = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* ---- the user ------------------------------------------------------------------- */

static void
visitor_note(int64_t user)
{
	int waiters = atomic_fetch_add(&visitors.waiters, 1);

	span_begin(visitor_note, waiters);
	pthread_mutex_lock(&visitors.mutex);
	atomic_fetch_sub(&visitors.waiters, 1);
	visitors.count += !visitors.seen[user % VISITORS];
	visitors.seen[user % VISITORS] = 1;
	pthread_mutex_unlock(&visitors.mutex);
	span_end(visitor_note, visitors.count);
}

static int
admission(const struct exchange *x, struct front_page *p)
{
	char session[64];
	uint64_t h;

	p->user = exchange_number(x, "user", 0);
	span_begin(admission, p->user);
	span_begin(session_read, p->user);
	snprintf(
	    session, sizeof session, "%" PRId64 ":%s", p->user, exchange_arg(x, "session", "none"));
	span_end(session_read, (int64_t)strlen(session));
	span_begin(session_verify, (int64_t)strlen(session));
	h = text_hash(session, strlen(session), 200);
	p->status = p->user >= 1 && h ? 200 : 403;
	span_end(session_verify, p->status);
	if (p->status == 200)
		visitor_note(p->user);
	span_end(admission, p->status);
	return p->status == 200 ? 0 : -1;
}

/* ---- the other services ------------------------------------------------------------------- */

/* The n-th choice depends only on the seed and n. */
static const char *
replica_pick(void)
{
	uint64_t n[2] = { service_seed(), atomic_fetch_add(&picked, 1) };
	int i;

	span_begin(replica_pick, nreplicas);
	i = (int)((text_hash(n, sizeof n, 3) >> 32) % (uint64_t)nreplicas);
	span_end(replica_pick, i);
	return replicas[i];
}

static void
fetch_part(void *arg)
{
	struct page_part *part = arg;
	int64_t lines = 0;

	span_begin(part, crew_queued(crew));
	part->status = peer_call(part->port, part->name, "GET", NULL, &part->answer,
	    "%s?user=%" PRId64, part->path, part->user);
	span_begin(part_check, (int64_t)part->answer.length);
	for (size_t i = 0; i < part->answer.length; i++)
		lines += part->answer.at[i] == '\n';
	span_end(part_check, lines);
	span_end(part, part->status);
}

static void
gather_part(struct front_page *p, struct page_part *part)
{
	if (part->status != 200)
		p->status = 502;
	text_add(&p->answer, text_string(&part->answer), part->answer.length);
	text_release(&part->answer);
}

static void
gather(struct front_page *p)
{
	struct page_part parts[] = {
		{ replica_pick(), "catalog.featured", "/featured", p->user },
		{ cart_arg, "cart.summary", "/summary", p->user },
		{ price_arg, "price.promotions", "/promotions", p->user },
	};
	struct task tasks[] = {
		{ "front.featured", fetch_part, &parts[0] },
		{ "front.summary", fetch_part, &parts[1] },
		{ "front.promotions", fetch_part, &parts[2] },
	};

	span_begin(gather, crew_queued(crew));
	span_begin(hand_over, crew_queued(crew));
	for (int i = 0; i < 3; i++)
		crew_give(crew, &tasks[i]);
	span_end(hand_over, crew_queued(crew));
	span_begin(await_parts, 3);
	for (int i = 0; i < 3; i++)
		crew_wait(crew, &tasks[i]);
	span_end(await_parts, 3);
	for (int i = 0; i < 3; i++)
		gather_part(p, &parts[i]);
	span_end(gather, 3);
}

/* ---- the page ------------------------------------------------------------------------ */

static void
parts_read(const struct front_page *p, struct goods *g)
{
	int64_t cents;

	span_begin(parts_read, (int64_t)p->answer.length);
	span_begin(lines_read, (int64_t)p->answer.length);
	goods_read(g, text_string(&p->answer));
	span_end(lines_read, g->n);
	span_begin(lines_rate, g->n);
	cents = goods_cents(g) + (text_hash(g, (size_t)g->n * sizeof g->lines[0], 5) == 0);
	span_end(lines_rate, cents);
	span_end(parts_read, g->n);
}

static void
tile_escape(const char *name, char out[128])
{
	char *end = out + 120;

	span_begin(tile_escape, (int64_t)strlen(name));
	for (; *name && out < end; name++) {
		if (*name == '<' || *name == '>' || *name == '&')
			out += sprintf(out, "&#%d;", *name);
		else
			*out++ = *name;
	}
	*out = 0;
	span_end(tile_escape, (int64_t)(end - out));
}

static void
tile(const struct line *l, struct shop_text *to)
{
	static const char template[] =
	    "<div class=\"tile\" id=\"p{id}\">\n  <h3> {name} </h3>\n"
	    "  <span class=\"price\">{whole}.{part} EUR</span>\n"
	    "  <a href=\"/product?id={id}\">more about {name}</a>\n</div>\n";
	char name[128], id[24], whole[24], part[24];
	const char *const pairs[] = { "id", id, "name", name, "whole", whole, "part", part, NULL };
	int replaced;

	span_begin(tile, l->product);
	tile_escape(l->name, name);
	snprintf(id, sizeof id, "%" PRId64, l->product);
	snprintf(whole, sizeof whole, "%" PRId64, l->cents / 100);
	snprintf(part, sizeof part, "%02d", (int)(l->cents % 100));
	span_begin(tile_fill, (int64_t)sizeof template);
	replaced = text_fill(to, template, pairs);
	span_end(tile_fill, replaced);
	span_end(tile, (int64_t)to->length);
}

static void
render(const struct goods *g, struct shop_text *page)
{
	struct shop_text body = { 0 };
	char count[24];
	const char *const pairs[] = { "count", count, "body", NULL, NULL };
	const char *framed[5];

	span_begin(render, g->n);
	span_begin(tiles, g->n);
	for (int i = 0; i < g->n; i++)
		tile(&g->lines[i], &body);
	span_end(tiles, (int64_t)body.length);
	span_begin(frame, (int64_t)body.length);
	snprintf(count, sizeof count, "%d", g->n);
	memcpy(framed, pairs, sizeof framed);
	framed[3] = text_string(&body);
	text_fill(page,
	    "<html>\n<head> <title>shop, {count} goods</title> </head>\n<body>\n{body}</body>\n</html>\n",
	    framed);
	span_end(frame, (int64_t)page->length);
	text_release(&body);
	span_end(render, (int64_t)page->length);
}

/* Removes blanks that browsers do not show, and appends a tag by which pages can be compared. */
static void
finish(const struct shop_text *page, struct shop_text *reply)
{
	span_begin(finish, (int64_t)page->length);
	span_begin(squeeze, (int64_t)page->length);
	for (size_t i = 0; i < page->length; i++)
		if (!(page->at[i] == '\n' || (page->at[i] == ' ' && i && page->at[i - 1] == ' ')))
			text_add(reply, &page->at[i], 1);
	span_end(squeeze, (int64_t)reply->length);
	span_begin(page_tag, (int64_t)reply->length);
	text_addf(reply, "<!-- %016" PRIx64 " -->\n", text_hash(reply->at, reply->length, 5));
	span_end(page_tag, (int64_t)reply->length);
	span_end(finish, (int64_t)reply->length);
}

static void
compose(const struct front_page *p, struct shop_text *reply)
{
	struct shop_text page = { 0 };
	struct goods g = { 0 };

	span_begin(compose, (int64_t)p->answer.length);
	parts_read(p, &g);
	render(&g, &page);
	finish(&page, reply);
	text_release(&page);
	span_end(compose, (int64_t)reply->length);
}

/* ---- the routes -------------------------------------------------------------------- */

static void
ask_product(struct front_page *p, const struct exchange *x)
{
	int64_t product = exchange_number(x, "id", 1);

	span_begin(product_ask, product);
	p->status = peer_call(replica_pick(), "catalog.product", "GET", NULL, &p->answer,
	    "/product?id=%" PRId64, product);
	span_end(product_ask, p->status);
	if (p->status != 200)
		return;
	span_begin(price_ask, 1);
	p->status = peer_call(price_arg, "price.quote", "GET", NULL, &p->answer,
	    "/quote?user=%" PRId64 "&lines=%" PRId64 ":1&region=%s", p->user, product,
	    exchange_arg(x, "region", "DE"));
	span_end(price_ask, p->status);
}

static void
ask_search(struct front_page *p, const struct exchange *x)
{
	const char *q = exchange_arg(x, "q", "");
	char escaped[512];
	size_t n = 0;

	span_begin(search_ask, (int64_t)strlen(q));
	for (; *q && n < sizeof escaped - 1;
	     q++) /* other characters than those of words become blanks */
		escaped[n++] = (char)(strchr(" &?%#+/", *q) ? '+' : *q);
	escaped[n] = 0;
	p->status = peer_call(
	    replica_pick(), "catalog.search", "GET", NULL, &p->answer, "/search?q=%s", escaped);
	span_end(search_ask, p->status);
}

static void
ask_add(struct front_page *p, const struct exchange *x)
{
	int64_t product = exchange_number(x, "product", 0);

	span_begin(cart_ask, product);
	p->status = peer_call(cart_arg, "cart.add", "POST", NULL, &p->answer,
	    "/add?user=%" PRId64 "&product=%" PRId64 "&quantity=%" PRId64, p->user, product,
	    exchange_number(x, "quantity", 1));
	span_end(cart_ask, p->status);
}

static void
ask_place(struct front_page *p, const struct exchange *x)
{
	(void)x;
	span_begin(order_ask, p->user);
	p->status = peer_call(
	    order_arg, "order.place", "POST", NULL, &p->answer, "/place?user=%" PRId64, p->user);
	span_end(order_ask, p->status);
}

static void
ask_history(struct front_page *p, const struct exchange *x)
{
	(void)x;
	span_begin(history_ask, p->user);
	p->status = peer_call(
	    order_arg, "order.history", "GET", NULL, &p->answer, "/history?user=%" PRId64, p->user);
	span_end(history_ask, p->status);
}

static void
ask_parts(struct front_page *p, const struct exchange *x)
{
	(void)x;
	gather(p);
}

static int
serve_page(struct exchange *x, void (*ask)(struct front_page *, const struct exchange *))
{
	struct front_page p = { 0 };

	span_begin(page, exchange_number(x, "user", 0));
	if (admission(x, &p) == 0)
		ask(&p, x);
	if (p.status == 200)
		compose(&p, &x->reply);
	text_release(&p.answer);
	span_end(page, p.status);
	return p.status;
}

static int
get_home(struct exchange *x)
{
	return serve_page(x, ask_parts);
}

static int
get_product(struct exchange *x)
{
	return serve_page(x, ask_product);
}

static int
search(struct exchange *x)
{
	return serve_page(x, ask_search);
}

static int
add_to_cart(struct exchange *x)
{
	return serve_page(x, ask_add);
}

static int
checkout(struct exchange *x)
{
	return serve_page(x, ask_place);
}

static int
get_orders(struct exchange *x)
{
	return serve_page(x, ask_history);
}

static int
start(void)
{
	nreplicas = text_split(strdup(catalog_arg), ',', replicas, REPLICAS);
	crew = crew_new(CREW);
	return crew && nreplicas ? 0 : -1;
}

int
main(int argc, char **argv)
{
	static const struct route routes[] = {
		{ "GET", "/", "GET_HOME", 1, get_home },
		{ "GET", "/product", "GET_PRODUCT", 1, get_product },
		{ "GET", "/search", "SEARCH", 1, search },
		{ "POST", "/cart", "ADD_TO_CART", 1, add_to_cart },
		{ "POST", "/checkout", "CHECKOUT", 1, checkout },
		{ "GET", "/orders", "GET_ORDERS", 1, get_orders },
		{ 0 },
	};
	static const struct flag flags[] = {
		{ "catalog", &catalog_arg,
		    "ports of the replicas of shop-catalog, with commas between" },
		{ "cart", &cart_arg, "port of shop-cart" },
		{ "order", &order_arg, "port of shop-order" },
		{ "price", &price_arg, "port of shop-price" },
		{ 0 },
	};
	static const struct service service = { "shop-front", "the service for users", routes, NULL,
		flags, start };

	return service_main(argc, argv, &service);
}
