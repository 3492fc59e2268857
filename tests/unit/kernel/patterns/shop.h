/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of an application that is made up, with faults that are known: a front end asks for the user, then once to four times for articles, of
 * which each asks a database, and renders a page. Times have heavy tails, few operations have waits that others do not have, and load
 * that all of a request have in common changes from request to request.
 */
#ifndef TESTS_UNIT_KERNEL_PATTERNS_SHOP_H
#define TESTS_UNIT_KERNEL_PATTERNS_SHOP_H

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "kernel/patterns/request_operations.h"

enum fault {
	FAULT_NONE,
	FAULT_DISK,     /* the database reads three times as slowly */
	FAULT_LOCK,     /* articles wait for a lock */
	FAULT_CPU,      /* the user service loses its CPU to others */
	FAULT_NETWORK,  /* the front end waits longer before the user service answers */
	FAULT_TIMER,    /* articles back off before they ask again */
	FAULT_COMPUTE,  /* rendering takes twice as long */
	FAULT_THREADED, /* the user service no longer waits for the network */
	FAULTS
};

enum { SHOP_PIECES = 4096, SHOP_OPERATIONS = 32 };

struct shop {
	struct rng rng;
	struct operation list[SHOP_OPERATIONS];
	struct operation_piece pieces[SHOP_PIECES];
	uint32_t n, npieces;
	double load;
	int64_t now_ns;
	uint64_t id;
	enum fault fault;
};

static inline void
shop_piece(struct shop *s, enum below_state state, double mean_us, double sigma)
{
	int64_t ns = (int64_t)(1e3 * mean_us * s->load * exp(sigma * rng_normal(&s->rng)));

	s->pieces[s->npieces++] = (struct operation_piece){ s->now_ns, s->now_ns + ns,
		OPERATION_NONE, (uint8_t)state };
	s->now_ns += ns;
}

/* Running, now and then interrupted by others, or by a lock or a fault that few have. */
static inline void
shop_run(struct shop *s, double mean_us)
{
	uint64_t chance = rng_below(&s->rng, 100);

	shop_piece(s, BELOW_RUNNING, mean_us / 2, 0.15);
	if (chance < 10)
		shop_piece(s, BELOW_READY, 15, 0.6);
	else if (chance == 10)
		shop_piece(s, BELOW_LOCK, 20, 0.5);
	else if (chance == 11)
		shop_piece(s, BELOW_FAULT, 60, 0.5);
	shop_piece(s, BELOW_RUNNING, mean_us / 2, 0.15);
}

static inline uint32_t
shop_begin(struct shop *s, const char *name, uint32_t parent)
{
	s->list[s->n] = (struct operation){ .name = name,
		.name_len = (uint32_t)strlen(name),
		.parent = parent,
		.begin_ns = s->now_ns };
	return s->n++;
}

static inline void
shop_end(struct shop *s, uint32_t operation, uint32_t first)
{
	s->list[operation].end_ns = s->now_ns;
	s->list[operation].pieces = s->pieces + first;
	s->list[operation].npieces = s->npieces - first;
}

/* An operation that calls others has its pieces in `own`, until those of the others are written. */
struct shop_own {
	struct operation_piece list[256];
	uint32_t n;
};

static inline void
shop_take(struct shop *s, struct shop_own *own, uint32_t first)
{
	memcpy(own->list + own->n, s->pieces + first, (s->npieces - first) * sizeof *s->pieces);
	own->n += s->npieces - first;
	s->npieces = first;
}

static inline void
shop_within(struct shop *s, struct shop_own *own, uint32_t child)
{
	own->list[own->n++] = (struct operation_piece){ s->list[child].begin_ns,
		s->list[child].end_ns, child, BELOW_NETWORK };
}

static inline void
shop_write(struct shop *s, uint32_t operation, const struct shop_own *own)
{
	uint32_t first = s->npieces;

	memcpy(s->pieces + first, own->list, own->n * sizeof *own->list);
	s->npieces += own->n;
	shop_end(s, operation, first);
}

static inline void
shop_database(struct shop *s, uint32_t parent)
{
	uint32_t o = shop_begin(s, "database query", parent), first = s->npieces;

	shop_run(s, 120);
	for (uint64_t reads = 1 + rng_below(&s->rng, 5); reads > 0; reads--) {
		shop_piece(s, BELOW_DISK, s->fault == FAULT_DISK ? 900 : 300, 0.4);
		shop_run(s, 40);
	}
	shop_end(s, o, first);
}

static inline void
shop_article(struct shop *s, uint32_t parent)
{
	struct shop_own own = { .n = 0 };
	uint32_t o = shop_begin(s, "articles get", parent), first = s->npieces, child;

	shop_run(s, 80);
	if (s->fault == FAULT_LOCK)
		shop_piece(s, BELOW_LOCK, 400, 0.5);
	if (s->fault == FAULT_TIMER && rng_below(&s->rng, 3) == 0)
		shop_piece(s, BELOW_TIMER, 5000, 0.1);
	shop_run(s, 30);
	shop_take(s, &own, first);
	child = s->n;
	shop_database(s, o);
	shop_within(s, &own, child);
	first = s->npieces;
	shop_run(s, 60);
	shop_take(s, &own, first);
	shop_write(s, o, &own);
}

static inline void
shop_user(struct shop *s, uint32_t parent)
{
	uint32_t o = shop_begin(s, "users check", parent), first = s->npieces;

	shop_run(s, 100);
	if (s->fault != FAULT_THREADED)
		shop_piece(s, BELOW_NETWORK, 250, 0.4);
	shop_run(s, 150);
	if (s->fault == FAULT_CPU)
		shop_piece(s, BELOW_READY, 600, 0.8);
	shop_run(s, 50);
	shop_end(s, o, first);
}

/* The next request; it is valid until the one after it. */
static inline struct operations
shop_request(struct shop *s)
{
	struct shop_own own = { .n = 0 };
	uint32_t o, first, child;

	s->n = s->npieces = 0;
	s->load = exp(0.2 * rng_normal(&s->rng));
	s->now_ns += 1000000;
	o = shop_begin(s, "front GET /page", OPERATION_NONE);
	shop_run(s, 200);
	shop_piece(s, BELOW_NETWORK, s->fault == FAULT_NETWORK ? 700 : 100, 0.3);
	shop_take(s, &own, 0);
	child = s->n;
	shop_user(s, o);
	shop_within(s, &own, child);
	for (uint64_t articles = 1 + rng_below(&s->rng, 4); articles > 0; articles--) {
		first = s->npieces;
		shop_piece(s, BELOW_NETWORK, 80, 0.3);
		shop_run(s, 50);
		shop_take(s, &own, first);
		child = s->n;
		shop_article(s, o);
		shop_within(s, &own, child);
	}
	first = s->npieces;
	shop_piece(s, BELOW_NETWORK, 90, 0.3);
	shop_run(s, s->fault == FAULT_COMPUTE ? 800 : 400);
	shop_take(s, &own, first);
	shop_write(s, o, &own);
	return (struct operations){ .id = ++s->id, .list = s->list, .n = s->n };
}

static inline void
shop_init(struct shop *s, uint64_t seed, enum fault fault)
{
	memset(s, 0, sizeof *s);
	rng_seed(&s->rng, seed);
	s->fault = fault;
}

#endif
