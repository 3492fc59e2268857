/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernel events of services that exist only here, and what each request really did. Three tiers, A -> B (-> C) and A -> C, as a simulation
 * by discrete events: messages arrive, threads take them when they are free. What a recording of the kernel would have is written down,
 * in pieces, on any CPU, with the switches and wake-ups in between; the truth is kept apart.
 */
#ifndef TESTS_KERNEL_REQUESTS_GENERATED_H
#define TESTS_KERNEL_REQUESTS_GENERATED_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/texts.h"
#include "kernel/event.h"

enum tier_kind {
	TIER_BLOCKING, /* a thread for each connection */
	TIER_EPOLL,    /* one thread */
	TIER_POOL,     /* one thread reads, workers behind a queue work and respond */
	TIER_HANDBACK, /* the same, but the thread that reads sends the response */
	TIER_FORK      /* a process for each connection */
};

enum { TIERS = 3, WORKERS = 4, CALLS_MAX = 3, CONNECTIONS = 4096, CLIENTS_MAX = 64 };

struct world_options {
	enum tier_kind kind; /* of the first tier; the others are EPOLL if it is, else BLOCKING */
	uint32_t clients, requests;
	uint64_t seed;
	bool sizes;    /* messages have their sizes */
	bool pieces;   /* messages come in pieces */
	bool switches; /* switches and wake-ups are recorded */
	bool http;     /* requests begin with a text */
	bool shared;   /* all calls from A to B on one connection, without waiting for responses */
	bool reuse;    /* few ports and thread numbers; both are used again */
	bool recorded_clients; /* the clients are recorded, too */
	uint32_t renew; /* a client begins a new connection after so many requests; 0: never */
};

struct wire_end {                          /* a TCP connection */
	uint32_t from_client, from_server; /* numbers */
	struct actor *client, *server;
	int tier; /* that serves */
	bool busy;
	int64_t last_ns[2]; /* arrival of requests, of responses: TCP keeps their order */
};

struct actor { /* a thread */
	uint32_t pid, tid;
	int64_t free_ns;
	bool idle, known;
	struct work *on;
};

struct work { /* a request at a tier: what really happened */
	int tier;
	struct work *parent, *children[CALLS_MAX];
	uint32_t nchildren, ncalls;
	int calls[CALLS_MAX];
	int64_t begin_ns, end_ns;
	struct actor *by;
	struct wire_end *on;   /* that it came on */
	struct wire_end *call; /* of the call that is open */
	int client;
	char text[40];
};

struct arrival {
	int64_t time_ns;
	uint64_t order;
	struct work *work;
	bool response, last, first, taken, hand_back;
	uint32_t bytes;
};

struct world {
	struct world_options o;
	struct rng rng;
	struct kernel_names names;
	struct kernel_event *events;
	size_t nevents, events_cap;
	struct arrival *heap;
	size_t nheap, heap_cap;
	uint64_t order;
	struct work **roots;
	uint32_t nroots, done;
	struct wire_end connections[CONNECTIONS];
	uint32_t nconnections;
	struct actor loops[TIERS], workers[WORKERS], *threads[CLIENTS_MAX * 64];
	struct actor clients[CLIENTS_MAX];
	uint32_t nthreads;
	struct wire_end *of_client[CLIENTS_MAX];
	uint32_t sent[CLIENTS_MAX], next_port, next_tid;
	struct work *queue[4096];
	uint32_t nqueue;
	uint32_t tier_names[TIERS], client_name;
};

static const char *const tier_names[TIERS] = { "front", "cart", "stock" };
static const uint16_t tier_ports[TIERS] = { 8080, 9090, 7070 };

static int64_t
some_ns(struct world *w, int64_t most)
{
	return 1 + (int64_t)rng_below(&w->rng, (uint64_t)most);
}

/* ---- events ---- */

static struct kernel_event *
record(struct world *w, const struct actor *a, int64_t time_ns, enum kernel_event_kind kind)
{
	struct kernel_event *ev;

	if (w->nevents == w->events_cap) {
		w->events_cap = w->events_cap != 0 ? w->events_cap * 2 : 4096;
		w->events = realloc(w->events, w->events_cap * sizeof *w->events);
		assert(w->events != NULL);
	}
	ev = &w->events[w->nevents++];
	*ev = (struct kernel_event){
		.time_ns = time_ns, .kind = (uint8_t)kind, .cpu = (uint16_t)rng_below(&w->rng, 4)
	};
	if (a != NULL) {
		ev->tid = a->tid;
		ev->pid = a->pid;
	}
	return ev;
}

static void
name_thread(struct world *w, const struct actor *a, int64_t time_ns, uint32_t name)
{
	record(w, a, time_ns, KERNEL_NAME)->thread.name = name;
}

/* Goes to sleep, as far as the recording tells. */
static void
sleeps(struct world *w, struct actor *a, int64_t time_ns)
{
	struct kernel_event *ev;

	if (!w->o.switches || a->tid == 0 || a->idle)
		return;
	ev = record(w, a, time_ns, KERNEL_SWITCH);
	ev->flags = SWITCH_ASLEEP;
	ev->change.syscall = w->o.kind == TIER_EPOLL ? 232 : 45;
	a->idle = true;
}

static void
wakes(struct world *w, struct actor *a, int64_t time_ns, const struct actor *by)
{
	struct kernel_event *ev;

	if (!w->o.switches || !a->idle)
		return;
	ev = record(w, by, time_ns - 20, KERNEL_WAKING);
	ev->waking.tid = a->tid;
	ev->waking.pid = a->pid;
	ev->waking.by = by != NULL ? WAKE_TASK : WAKE_NETWORK;
	ev->waking.vector = KERNEL_VECTOR_NONE;
	ev = record(w, NULL, time_ns - 5, KERNEL_SWITCH);
	ev->change.next_tid = a->tid;
	ev->change.next_pid = a->pid;
	ev->change.syscall = SYSCALL_UNKNOWN;
	a->idle = false;
}

static void
record_message(struct world *w, const struct actor *a, int64_t time_ns, enum kernel_event_kind kind,
    uint32_t connection, uint32_t bytes, const char *text)
{
	struct kernel_event *ev;

	if (a->tid == 0)
		return; /* not recorded */
	ev = record(w, a, time_ns, kind);
	ev->message.connection = connection;
	ev->message.bytes = w->o.sizes ? bytes : 0;
	ev->message.text = w->o.http ? texts_intern(w->names.texts, text, strlen(text)) : 0;
}

/* ---- arrivals ---- */

static bool
sooner(const struct arrival *a, const struct arrival *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

static void
arrive(struct world *w, struct arrival a)
{
	size_t i = w->nheap++;

	if (w->nheap > w->heap_cap) {
		w->heap_cap = w->heap_cap != 0 ? w->heap_cap * 2 : 1024;
		w->heap = realloc(w->heap, w->heap_cap * sizeof *w->heap);
		assert(w->heap != NULL);
	}
	a.order = w->order++;
	for (; i > 0 && sooner(&a, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = a;
}

static struct arrival
next_arrival(struct world *w)
{
	struct arrival first = w->heap[0], last = w->heap[--w->nheap];
	size_t i = 0;

	for (size_t k; (k = 2 * i + 1) < w->nheap; i = k) {
		if (k + 1 < w->nheap && sooner(&w->heap[k + 1], &w->heap[k]))
			k++;
		if (!sooner(&w->heap[k], &last))
			break;
		w->heap[i] = w->heap[k];
	}
	w->heap[i] = last;
	return first;
}

/* ---- threads and connections ---- */

static struct actor *
new_thread(struct world *w, int tier, int64_t time_ns)
{
	struct actor *a = calloc(1, sizeof *a);

	assert(a != NULL && w->nthreads < CLIENTS_MAX * 64);
	w->threads[w->nthreads++] = a;
	a->tid = 1000 * (uint32_t)(tier + 1) + 10 +
	         (w->o.reuse ? w->next_tid++ % 150 : w->next_tid++);
	if (!w->o.reuse)
		a->tid += 100000;
	a->pid = 100 * (uint32_t)(tier + 1);
	if (w->o.kind == TIER_FORK && tier == 0)
		a->pid = a->tid;
	if (w->o.kind == TIER_FORK || w->o.reuse) {
		struct actor main_thread = { .pid = 100 * (uint32_t)(tier + 1),
			.tid = 100 * (uint32_t)(tier + 1) };
		struct kernel_event *ev = record(w, &main_thread, time_ns - 50, KERNEL_FORK);

		ev->child.tid = a->tid;
		ev->child.pid = a->pid;
	}
	return a;
}

static struct kernel_end
end_at(int last, uint16_t port)
{
	struct kernel_end e = { .port = port };

	e.address[10] = e.address[11] = 0xff;
	e.address[12] = 10;
	e.address[15] = (uint8_t)last;
	return e;
}

static struct wire_end *
new_connection(struct world *w, struct actor *client, int client_host, int tier, int64_t time_ns)
{
	struct wire_end *c = &w->connections[w->nconnections++];
	uint16_t port = (uint16_t)(33000 + (w->o.reuse ? w->next_port++ % 300 : w->next_port++));
	struct kernel_connection of = { end_at(client_host, port),
		end_at(2 + tier, tier_ports[tier]) };
	enum tier_kind kind = tier == 0                 ? w->o.kind
	                      : w->o.kind == TIER_EPOLL ? TIER_EPOLL
	                                                : TIER_BLOCKING;

	assert(w->nconnections <= CONNECTIONS && w->next_port < 32000);
	c->from_client = kernel_connection_intern(&w->names, &of);
	c->from_server = kernel_connection_reverse(&w->names, c->from_client);
	c->client = client;
	c->tier = tier;
	c->server = kind == TIER_BLOCKING || kind == TIER_FORK ? new_thread(w, tier, time_ns)
	                                                       : &w->loops[tier];
	return c;
}

/* A connection from this thread to the tier: a free one, or a new one. */
static struct wire_end *
connection_to(struct world *w, struct actor *a, int from, int tier, int64_t time_ns)
{
	for (uint32_t i = 0; i < w->nconnections; i++) {
		struct wire_end *c = &w->connections[i];

		if (c->client == a && c->tier == tier && (!c->busy || (w->o.shared && tier == 1)))
			return c;
	}
	return new_connection(w, a, 2 + from, tier, time_ns);
}

/* ---- what happens ---- */

/* Sends in pieces; returns when the last piece is sent. */
static int64_t
send_pieces(struct world *w, struct actor *a, struct work *k, bool response, int64_t time_ns)
{
	struct wire_end *c = response ? k->on : k->call;
	uint32_t pieces = w->o.pieces ? 1 + (uint32_t)rng_below(&w->rng, 3) : 1,
		 reads = w->o.pieces ? 1 + (uint32_t)rng_below(&w->rng, 3) : 1;
	uint32_t bytes = 100 + (uint32_t)rng_below(&w->rng, 5000);
	uint32_t connection = response ? c->from_server : c->from_client;
	struct work *to = response ? k->parent : k->children[k->nchildren - 1];
	int64_t at = time_ns;

	for (uint32_t i = 0; i < pieces; i++, at += some_ns(w, 500)) {
		uint32_t part = i + 1 < pieces ? bytes / pieces
		                               : bytes - bytes / pieces * (pieces - 1);

		record_message(w, a, at, KERNEL_SEND, connection, part,
		    i > 0      ? ""
		    : response ? "HTTP/1.1 200 OK"
			       : to->text);
		time_ns = at;
	}
	at = time_ns + some_ns(w, 3000);
	if (at <= c->last_ns[response])
		at = c->last_ns[response] + 1;
	for (uint32_t i = 0; i < reads; i++, at += some_ns(w, 800)) {
		uint32_t part = i + 1 < reads ? bytes / reads : bytes - bytes / reads * (reads - 1);

		arrive(w, (struct arrival){ .time_ns = at,
			      .work = response ? k : to,
			      .response = response,
			      .first = i == 0,
			      .last = i + 1 == reads,
			      .bytes = part });
		c->last_ns[response] = at;
	}
	return time_ns;
}

static struct work *
new_work(struct world *w, int tier, struct work *parent)
{
	struct work *k = calloc(1, sizeof *k);

	assert(k != NULL);
	k->tier = tier;
	k->parent = parent;
	if (tier == 0) {
		k->ncalls = (uint32_t)rng_below(&w->rng, CALLS_MAX + 1);
		for (uint32_t i = 0; i < k->ncalls; i++)
			k->calls[i] = 1 + (int)rng_below(&w->rng, 2);
	} else if (tier == 1 && !w->o.shared && rng_below(&w->rng, 2) == 0) {
		k->ncalls = 1;
		k->calls[0] = 2;
	}
	snprintf(k->text, sizeof k->text, "GET /%s/%u?x=1 HTTP/1.1", tier_names[tier],
	    (unsigned)rng_below(&w->rng, 1000));
	return k;
}

static void client_sends_next(struct world *w, int client, int64_t time_ns);

/* Does the next step of a request: a call, or the response. Returns when its thread is free. */
static int64_t
advance(struct world *w, struct work *k, struct actor *a, int64_t time_ns)
{
	time_ns += some_ns(w, 2000);
	if (k->nchildren < k->ncalls) {
		int tier = k->calls[k->nchildren];
		struct work *child = new_work(w, tier, k);

		k->children[k->nchildren++] = child;
		k->call = connection_to(w, a, k->tier, tier, time_ns);
		k->call->busy = true;
		child->on = k->call;
		time_ns = send_pieces(w, a, k, false, time_ns);
		a->on = k;
		return time_ns;
	}
	k->end_ns = send_pieces(w, a, k, true, time_ns);
	a->on = NULL;
	return k->end_ns;
}

static struct actor *
free_worker(struct world *w)
{
	for (int i = 0; i < WORKERS; i++)
		if (w->workers[i].on == NULL)
			return &w->workers[i];
	return NULL;
}

/* A worker takes what is next in the queue. */
static void
work_on(struct world *w, struct actor *a, int64_t time_ns)
{
	struct work *k;

	if (w->nqueue == 0) {
		sleeps(w, a, time_ns + 10);
		return;
	}
	k = w->queue[0];
	memmove(w->queue, w->queue + 1, --w->nqueue * sizeof *w->queue);
	a->on = k;
	k->by = a;
	if (w->o.kind == TIER_HANDBACK && k->nchildren == k->ncalls) {
		arrive(w, (struct arrival){ time_ns + 400, 0, k, .hand_back = true });
		a->on = NULL;
		work_on(w, a, time_ns + 500);
		return;
	}
	a->free_ns = advance(w, k, a, time_ns);
	if (a->on == NULL)
		work_on(w, a, a->free_ns + 10);
	else
		sleeps(w, a, a->free_ns + 10);
}

static void
enqueue(struct world *w, struct work *k, struct actor *loop, int64_t time_ns)
{
	struct actor *a = free_worker(w);

	w->queue[w->nqueue++] = k;
	assert(w->nqueue < 4096);
	if (a == NULL)
		return;
	if (a->free_ns + 100 > time_ns)
		time_ns = a->free_ns + 100;
	time_ns += 40;
	wakes(w, a, time_ns, loop);
	work_on(w, a, time_ns + 10);
}

static void
client_is_answered(struct world *w, const struct arrival *m)
{
	struct work *k = m->work;

	if (w->o.recorded_clients)
		record_message(w, &w->clients[k->client], m->time_ns, KERNEL_RECEIVE,
		    k->on->from_client, m->bytes, "");
	if (!m->last)
		return;
	w->done++;
	client_sends_next(w, k->client, m->time_ns + some_ns(w, 5000));
}

/* A worker that blocks for an answer goes on; an event loop may do something else. */
static void
take_response(struct world *w, struct arrival *m)
{
	struct work *k = m->work, *of = k->parent;
	struct wire_end *c = k->on;
	struct actor *a = of == NULL ? NULL : c->client;
	int64_t now_ns;

	if (of == NULL) {
		client_is_answered(w, m);
		return;
	}
	now_ns = a->free_ns > m->time_ns ? a->free_ns + 30 : m->time_ns;
	wakes(w, a, now_ns, NULL);
	record_message(w, a, now_ns, KERNEL_RECEIVE, c->from_client, m->bytes,
	    m->first ? "HTTP/1.1 200 OK" : "");
	a->free_ns = now_ns + 30;
	if (m->last) {
		c->busy = false;
		if (w->o.kind == TIER_HANDBACK && of->tier == 0 && of->nchildren == of->ncalls) {
			arrive(w, (struct arrival){ now_ns + 400, 0, of, .hand_back = true });
			a->on = NULL;
			a->free_ns = now_ns + 500;
		} else {
			a->free_ns = advance(w, of, a, now_ns);
		}
		if (a->on == NULL && of->tier == 0 &&
		    (w->o.kind == TIER_POOL || w->o.kind == TIER_HANDBACK)) {
			work_on(w, a, a->free_ns + 20);
			return;
		}
	}
	sleeps(w, a, a->free_ns + 10);
}

static void
take_request(struct world *w, struct arrival *m)
{
	struct work *k = m->work;
	struct actor *a = k->on->server;
	bool pool = k->tier == 0 && (w->o.kind == TIER_POOL || w->o.kind == TIER_HANDBACK);
	int64_t now_ns = a->free_ns > m->time_ns ? a->free_ns + 30 : m->time_ns;

	if (!a->known) {
		a->known = true;
		name_thread(w, a, now_ns - 30, w->tier_names[k->tier]);
	}
	wakes(w, a, now_ns, NULL);
	record_message(
	    w, a, now_ns, KERNEL_RECEIVE, k->on->from_server, m->bytes, m->first ? k->text : "");
	if (m->first)
		k->begin_ns = now_ns;
	a->free_ns = now_ns + 30;
	k->by = a;
	if (m->last && pool) {
		enqueue(w, k, a, now_ns + 100);
		a->free_ns = now_ns + 200;
	} else if (m->last) {
		a->free_ns = advance(w, k, a, now_ns);
	}
	sleeps(w, a, a->free_ns + 10);
}

/* The worker is done: the thread that reads sends the response. */
static void
take_back(struct world *w, struct arrival *m)
{
	struct actor *a = &w->loops[0];
	int64_t now_ns = a->free_ns > m->time_ns ? a->free_ns + 30 : m->time_ns;

	wakes(w, a, now_ns, m->work->by);
	a->free_ns = advance(w, m->work, a, now_ns);
	sleeps(w, a, a->free_ns + 10);
}

static void
client_sends_next(struct world *w, int client, int64_t time_ns)
{
	struct wire_end **c = &w->of_client[client];
	struct work *k, hello = { 0 };

	if (w->nroots == w->o.requests)
		return;
	if (*c == NULL || (w->o.renew != 0 && w->sent[client] % w->o.renew == 0)) {
		if (*c != NULL && w->o.kind == TIER_FORK)
			record(w, (*c)->server, time_ns - 200, KERNEL_EXIT);
		*c = new_connection(w, &w->clients[client], 100 + client % 100, 0, time_ns);
	}
	w->sent[client]++;
	k = new_work(w, 0, NULL);
	k->client = client;
	k->on = *c;
	w->roots[w->nroots++] = k;
	hello.call = *c;
	hello.children[0] = k;
	hello.nchildren = 1;
	send_pieces(w, &w->clients[client], &hello, false, time_ns);
}

static int
by_time(const void *x, const void *y)
{
	const struct kernel_event *a = x, *b = y;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static int
by_begin(const void *x, const void *y)
{
	const struct work *const *a = x, *const *b = y;

	return ((*a)->begin_ns > (*b)->begin_ns) - ((*a)->begin_ns < (*b)->begin_ns);
}

static struct world *
world_new(const struct world_options *o)
{
	struct world *w = calloc(1, sizeof *w);

	assert(w != NULL && o->clients <= CLIENTS_MAX);
	w->o = *o;
	rng_seed(&w->rng, o->seed);
	assert(kernel_names_new(&w->names, NULL) == 0);
	w->roots = calloc(o->requests, sizeof(struct work *));
	for (int i = 0; i < TIERS; i++) {
		w->tier_names[i] = texts_intern(
		    w->names.texts, tier_names[i], strlen(tier_names[i]));
		w->loops[i] = (struct actor){ .pid = 100 * (uint32_t)(i + 1),
			.tid = 100 * (uint32_t)(i + 1) };
		name_thread(w, &w->loops[i], 0, w->tier_names[i]);
		w->loops[i].known = true;
	}
	for (uint32_t i = 0; i < WORKERS; i++) {
		w->workers[i] = (struct actor){ .pid = 100, .tid = 101 + i };
		sleeps(w, &w->workers[i], 1);
	}
	for (uint32_t i = 0; i < o->clients; i++) {
		if (o->recorded_clients)
			w->clients[i] = (struct actor){ .pid = 9000, .tid = 9000 + i };
		client_sends_next(w, (int)i, 1000 + some_ns(w, 10000));
	}
	while (w->nheap > 0) {
		struct arrival m = next_arrival(w);

		if (m.hand_back)
			take_back(w, &m);
		else if (m.response)
			take_response(w, &m);
		else
			take_request(w, &m);
	}
	/* Stable: glibc's qsort() merges. */
	qsort(w->events, w->nevents, sizeof *w->events, by_time);
	qsort(w->roots, w->nroots, sizeof(struct work *), by_begin);
	return w;
}

static void
free_work(struct work *k)
{
	for (uint32_t i = 0; i < k->nchildren; i++)
		free_work(k->children[i]);
	free(k);
}

static void
world_free(struct world *w)
{
	for (uint32_t i = 0; i < w->nroots; i++)
		free_work(w->roots[i]);
	for (uint32_t i = 0; i < w->nthreads; i++)
		free(w->threads[i]);
	kernel_names_release(&w->names);
	free(w->roots);
	free(w->events);
	free(w->heap);
	free(w);
}

/* The truth as a text: "front 10-90 [cart 20-50 [stock 30-40]]". */
static void
put_work(char *to, size_t size, size_t *len, const struct work *k)
{
	*len += (size_t)snprintf(to + *len, size - *len, "%s %lld-%lld", tier_names[k->tier],
	    (long long)k->begin_ns, (long long)k->end_ns);
	for (uint32_t i = 0; i < k->nchildren; i++) {
		*len += (size_t)snprintf(to + *len, size - *len, " [");
		put_work(to, size, len, k->children[i]);
		*len += (size_t)snprintf(to + *len, size - *len, "]");
	}
}

#endif
