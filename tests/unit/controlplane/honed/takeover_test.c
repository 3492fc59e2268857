/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Three deciders over the logs of the forest and of orders, in memory, in random orders of what may happen: diagnoses begin; Kafka takes what a
 * decider has put, late, twice, or not before the decider is killed; a decider stands still and wakes; a copy reads late; the log of the forest is cut;
 * one that stands by takes over, or two at once do. The feed, the copies, the databases and who leads are those of honed; that a decider reads all
 * before it takes a term is remote_agents_test.c's.
 *
 * Each decider acts on a diagnosis when forest_feed_has() and forest_feed_has_decisions() say so: it tells the operator, and turns a tracepoint on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/log.h"
#include "base/rng.h"
#include "controlplane/honed/forest_copy.h"
#include "controlplane/honed/forest_feed.h"
#include "controlplane/honed/forest_keeper.h"

#define SECOND_NS INT64_C(1000000000)

enum { DECIDERS = 3, SEEDS = 30, EVENTS = 60, STARTS_MAX = EVENTS, NOBODY = -1 };

enum what { STANDS_BY, LEADS, STANDS_STILL, ENDED };

struct order {
	uint64_t term, epoch;
	int start; /* whose tracepoint it turns on; NOBODY: a beat */
};

struct writer { /* of what was put and is not in the log */
	struct buf *entries;
	uint32_t n, cap;
	uint64_t told, taken; /* deliveries */
	struct order *orders;
	uint32_t norders, orders_cap;
};

struct start {
	char type[16];
	uint64_t put;
	int by;        /* the decider that began it, until that ends */
	bool answered; /* "started" */
	bool on;       /* an order to turn its tracepoint on was sent */
	bool cut_off;  /* a decider that took over has said that it does not have all */
};

struct decider {
	struct config config;
	struct kafka_link link;
	struct writer queue;
	enum what what;
	/* one that stands by */
	struct forest_copy copy;
	uint32_t read; /* entries of the log */
	/* one that leads */
	struct forest_keeper keeper;
	struct forest_feed *feed;
	uint64_t term;
};

struct world {
	char folder[40];
	struct rng rng;
	struct buf *log; /* hone.forest */
	uint32_t n, cap, first;
	struct order *orders; /* hone.orders */
	uint32_t norders, orders_cap;
	struct decider deciders[DECIDERS];
	struct start starts[STARTS_MAX];
	uint32_t nstarts;
	struct leader gate; /* as a gate knows it */
	uint32_t obeyed;    /* orders that it has read */
	uint64_t epoch;     /* the last one given */
	struct mono now;
};

static struct { /* of all seeds: each must have happened */
	uint32_t takeovers, contended, killed, woken, cuts, answered, on, cut_off, unanswered, late;
} seen;

/* ---- Kafka ---- */

static int
put(void *of, const char *topic, uint32_t partition, const void *data, size_t len, uint64_t token,
    struct err *e)
{
	struct writer *q = of;

	(void)topic;
	(void)partition;
	(void)e;
	assert_true(array_reserve(q->entries, q->cap, q->n + 1));
	q->entries[q->n] = (struct buf){ 0 };
	buf_u8(&q->entries[q->n], token != 0);
	buf_bytes(&q->entries[q->n++], data, len);
	return 0;
}

static bool
delivered(void *of, int timeout_ms, struct kafka_delivery *ret)
{
	struct writer *q = of;

	(void)timeout_ms;
	*ret = (struct kafka_delivery){ .token = 1 };
	return q->told < q->taken && ++q->told;
}

static const struct kafka_calls calls = { .put = put, .delivered = delivered };

static void
append(struct world *w, const struct buf *entry)
{
	assert_true(array_reserve(w->log, w->cap, w->n + 1));
	w->log[w->n] = (struct buf){ 0 };
	buf_bytes(&w->log[w->n++], entry->data + 1, entry->len - 1);
}

/* The first entries of what is put come into the log, now and then twice. */
static void
take_entries(struct world *w, struct decider *d, uint32_t n)
{
	struct writer *q = &d->queue;

	for (uint32_t i = 0; i < n; i++) {
		append(w, &q->entries[i]);
		if (rng_below(&w->rng, 8) == 0)
			append(w, &q->entries[i]);
		q->taken += q->entries[i].data[0];
		buf_release(&q->entries[i]);
	}
	q->n -= n;
	memmove(q->entries, q->entries + n, q->n * sizeof *q->entries);
}

static void
take_orders(struct world *w, struct decider *d, uint32_t n)
{
	struct writer *q = &d->queue;

	for (uint32_t i = 0; i < n; i++) {
		assert_true(array_reserve(w->orders, w->orders_cap, w->norders + 1));
		w->orders[w->norders++] = q->orders[i];
	}
	q->norders -= n;
	memmove(q->orders, q->orders + n, q->norders * sizeof *q->orders);
}

static void
lose_queue(struct writer *q)
{
	for (uint32_t i = 0; i < q->n; i++)
		buf_release(&q->entries[i]);
	free(q->entries);
	free(q->orders);
	*q = (struct writer){ 0 };
}

static void
put_order(struct decider *d, int start)
{
	struct writer *q = &d->queue;

	assert_true(array_reserve(q->orders, q->orders_cap, q->norders + 1));
	q->orders[q->norders++] = (struct order){ d->term, d->link.epoch, start };
}

/* ---- deciders ---- */

static void
stand_by(struct world *w, struct decider *d)
{
	struct err e = { 0 };

	lose_queue(&d->queue);
	d->link.epoch = ++w->epoch;
	d->read = w->first;
	d->term = 0;
	if (forest_copy_open(&d->copy, &d->config, &d->link, &e) != 0)
		fail_msg("%s", e.text);
	d->what = STANDS_BY;
}

static void
read_entries(struct world *w, struct decider *d, uint32_t until)
{
	if (d->read < w->first)
		d->read = w->first;
	for (; d->read < until; d->read++) {
		const struct kafka_message m = { .data = w->log[d->read].data,
			.len = w->log[d->read].len };

		forest_copy_take(&d->copy, &m, d->term, clock_mono());
	}
}

/* Its process has ended. */
static void
end_decider(struct world *w, struct decider *d)
{
	if (d->what == STANDS_BY) {
		forest_copy_close(&d->copy);
	} else if (d->what != ENDED) {
		forest_keeper_close(&d->keeper);
		forest_feed_close(d->feed);
		d->feed = NULL;
	}
	for (uint32_t i = 0; i < w->nstarts; i++) {
		struct start *s = &w->starts[i];

		if (s->by != d - w->deciders)
			continue;
		s->by = NOBODY;
		seen.unanswered += !s->answered;
	}
	lose_queue(&d->queue);
	d->what = ENDED;
}

static struct leader
leader_now(const struct world *w)
{
	struct leader l = { 0 };

	for (uint32_t i = 0; i < w->norders; i++)
		leader_take(&l, w->orders[i].term, w->orders[i].epoch);
	return l;
}

/* A run that was stopped, so that it can begin anew. */
static bool
has_start(const struct decider *d, const struct start *s)
{
	const struct run *r = forest_run_latest(d->keeper.forest, s->type);

	return r != NULL && r->state == RUN_STOPPED && r->reason == REASON_CONTROLLER_ENDED;
}

static void
check_starts(struct world *w, const struct decider *d, bool whole, uint64_t seed)
{
	for (uint32_t i = 0; i < w->nstarts; i++) {
		struct start *s = &w->starts[i];

		if ((!s->answered && !s->on) || s->cut_off || has_start(d, s))
			continue;
		if (whole)
			fail_msg("seed %llu: %s was %s, and term %llu does not know of it",
			    (unsigned long long)seed, s->type, s->on ? "on" : "started",
			    (unsigned long long)d->term);
		s->cut_off = true;
		seen.cut_off++;
	}
}

static void
ask_for_term(struct world *w, struct decider *d)
{
	struct leader known = leader_now(w);
	struct err e;

	if (d->copy.follow.leader.term > known.term)
		known.term = d->copy.follow.leader.term;
	assert_int_equal(next_term(&known, w->norders, &d->term, &e), 0);
	put_order(d, NOBODY);
}

static void
take_over(struct world *w, struct decider *d, uint64_t seed)
{
	struct forest_place from = { 0 };
	struct decider *other = &w->deciders[rng_below(&w->rng, DECIDERS)];
	struct leader l;
	struct err e = { 0 };
	bool whole;

	ask_for_term(w, d);
	if (other != d && other->what == STANDS_BY) { /* so does this one, in the same moment */
		ask_for_term(w, other);
		take_orders(w, d, d->queue.norders);
		take_orders(w, other, other->queue.norders);
		seen.contended++;
		l = leader_now(w);
		assert_true((l.epoch == d->link.epoch) != (l.epoch == other->link.epoch));
		end_decider(w, l.epoch == d->link.epoch ? other : d);
		if (d->what == ENDED) /* what the other's copy knew made its term a higher one */
			d = other;
	}
	take_orders(w, d, d->queue.norders);
	l = leader_now(w);
	assert_true(l.epoch == d->link.epoch && l.term == d->term);
	assert_true(forest_feed_begin(&d->link, d->term));
	take_entries(w, d, d->queue.n);
	read_entries(w, d, w->n);
	assert_true(d->copy.own_begin);
	whole = d->copy.whole_before;
	if (whole)
		from = d->copy.follow.base;
	forest_copy_lead(&d->copy, d->term);
	forest_copy_close(&d->copy);
	if (forest_keeper_open(&d->keeper, d->config.database, 0, 0, &e) != 0 ||
	    forest_feed_open(&d->feed, &d->link, &d->config, d->term, &from, &e) != 0)
		fail_msg("%s", e.text);
	d->keeper.feed = d->feed;
	d->what = LEADS;
	seen.takeovers++;
	check_starts(w, d, whole, seed);
}

static void
begin_diagnosis(struct world *w, struct decider *d)
{
	struct start *s = &w->starts[w->nstarts];
	struct run *r;

	*s = (struct start){ .by = (int)(d - w->deciders) };
	snprintf(s->type, sizeof s->type, "T%u", w->nstarts++);
	assert_non_null(r = forest_run_new(d->keeper.forest, s->type));
	r->begun = clock_wall();
	assert_true(forest_keeper_commit(&d->keeper));
	s->put = forest_feed_put(d->feed);
}

/* As honed's step: what Kafka has is told, and acted on; then the beat. */
static void
lead_on(struct world *w, struct decider *d)
{
	w->now.ns += (int64_t)rng_below(&w->rng, 4) * SECOND_NS;
	forest_feed_step(d->feed, w->now);
	for (uint32_t i = 0; i < w->nstarts; i++) {
		struct start *s = &w->starts[i];

		if (s->by != d - w->deciders)
			continue;
		if (!s->answered && forest_feed_has(d->feed, s->put)) {
			s->answered = true;
			seen.answered++;
		}
		if (!s->on && forest_feed_has_decisions(d->feed)) {
			s->on = true;
			seen.on++;
			put_order(d, (int)i);
		}
	}
	put_order(d, NOBODY);
}

/* What it had put comes into the logs, behind what others have put. Then it reads who leads. */
static void
wake(struct world *w, struct decider *d)
{
	take_entries(w, d, d->queue.n);
	take_orders(w, d, d->queue.norders);
	seen.woken++;
	if (leader_now(w).epoch == d->link.epoch) {
		d->what = LEADS;
		return;
	}
	seen.late++;
	end_decider(w, d);
}

/* ---- a gate ---- */

/* Who is obeyed has the highest term that was read, and what it turns on is known to whoever leads from now on. */
static void
obey(struct world *w)
{
	for (; w->obeyed < w->norders; w->obeyed++) {
		const struct order *o = &w->orders[w->obeyed];

		if (!leader_take(&w->gate, o->term, o->epoch))
			continue;
		assert_true(o->term == w->gate.term && o->epoch == w->gate.epoch);
		if (o->start != NOBODY)
			assert_true(w->starts[o->start].on);
	}
}

/* ---- what happens ---- */

/* Kafka deletes what is old, and keeps the last full state (docs/scale.md). */
static void
cut(struct world *w)
{
	uint32_t first = w->first;
	bool begun = false;

	for (uint32_t i = w->first; i < w->n; i++) {
		struct forest_entry x;
		struct relay_head h;
		struct err e;

		assert_int_equal(forest_entry_decode(&h, &x, w->log[i].data, w->log[i].len, &e), 0);
		if (x.kind != FOREST_STATE)
			continue;
		if ((x.flags & FOREST_FIRST) != 0)
			first = i;
		begun |= (x.flags & FOREST_FIRST) != 0;
		if (begun && (x.flags & FOREST_LAST) != 0)
			w->first = first;
	}
	seen.cuts++;
}

static struct decider *
one_that(struct world *w, enum what what)
{
	uint32_t from = (uint32_t)rng_below(&w->rng, DECIDERS);

	for (uint32_t i = 0; i < DECIDERS; i++)
		if (w->deciders[(from + i) % DECIDERS].what == what)
			return &w->deciders[(from + i) % DECIDERS];
	return NULL;
}

static void
take_some(struct world *w, struct decider *d)
{
	take_entries(w, d, (uint32_t)rng_below(&w->rng, d->queue.n + 1));
	take_orders(w, d, (uint32_t)rng_below(&w->rng, d->queue.norders + 1));
}

static void
happen(struct world *w, uint64_t seed)
{
	struct decider *leader = one_that(w, LEADS), *stands = one_that(w, STANDS_BY),
		       *still = one_that(w, STANDS_STILL), *ended = one_that(w, ENDED);
	uint64_t which = rng_below(&w->rng, 32);

	if (leader == NULL && stands != NULL && which < 20)
		take_over(w, stands, seed);
	else if (which < 8 && leader != NULL)
		begin_diagnosis(w, leader);
	else if (which < 18 && leader != NULL)
		lead_on(w, leader);
	else if (which < 22 && leader != NULL)
		take_some(w, leader);
	else if (which < 25 && stands != NULL)
		read_entries(w, stands, w->n);
	else if (which == 25 && leader != NULL) {
		seen.killed++;
		end_decider(w, leader);
	} else if (which == 26 && leader != NULL)
		leader->what = STANDS_STILL;
	else if (which == 27 && still != NULL)
		wake(w, still);
	else if (which == 28 && rng_below(&w->rng, 3) == 0)
		cut(w);
	else if (which == 29 && leader != NULL)
		forest_feed_asked(leader->feed);
	else if (ended != NULL)
		stand_by(w, ended);
	obey(w);
}

/* One that reads all of the log, if it was never cut, has what the leader has. */
static void
check_reader(struct world *w)
{
	struct decider *leader = one_that(w, LEADS), *reader = one_that(w, STANDS_BY);
	struct forest_keeper k;
	struct err e = { 0 };
	uint64_t at = 0;
	const struct run *r;

	if (leader == NULL || reader == NULL)
		return;
	for (int i = 0; i < 8; i++) { /* also a state that is due */
		forest_feed_step(leader->feed, w->now);
		take_entries(w, leader, leader->queue.n);
		w->now.ns += 2 * SECOND_NS;
	}
	read_entries(w, reader, w->n);
	if (!forest_copy_whole(&reader->copy))
		return;
	end_decider(w, reader);
	if (forest_keeper_open(&k, reader->config.database, 0, 0, &e) != 0)
		fail_msg("%s", e.text);
	while ((r = forest_run_next(leader->keeper.forest, &at)) != NULL)
		assert_non_null(forest_run_latest(k.forest, r->type));
	for (at = 0; (r = forest_run_next(k.forest, &at)) != NULL;)
		assert_non_null(forest_run_latest(leader->keeper.forest, r->type));
	forest_keeper_close(&k);
}

/* ---- worlds ---- */

static void
set(struct config *c, const char *fmt, const char *folder, int name)
{
	char text[160];
	struct err e = { 0 };

	snprintf(text, sizeof text, fmt, folder, name);
	if (config_set(c, text, &e) != 0)
		fail_msg("%s", e.text);
}

static void
make_world(struct world *w, uint64_t seed)
{
	struct err e;

	*w = (struct world){ .folder = "/tmp/hone-takeover-XXXXXX", .now = clock_mono() };
	assert_non_null(mkdtemp(w->folder));
	rng_seed(&w->rng, seed);
	for (int i = 0; i < DECIDERS; i++) {
		struct decider *d = &w->deciders[i];

		assert_int_equal(config_init(&d->config, &e), 0);
		set(&d->config, "controller.agents=ipc://%s/%d.agents", w->folder, i);
		set(&d->config, "controller.operators=ipc://%s/%d.sock", w->folder, i);
		set(&d->config, "storage.database=%s/%d.db", w->folder, i);
		set(&d->config, "storage.space=%s/%d.space", w->folder, i);
		set(&d->config, "levels.file=%s/%d.levels", w->folder, i);
		set(&d->config, "watch.healthy=%s/%d.healthy", w->folder, i);
		d->link = (struct kafka_link){ .calls = &calls, .connection = &d->queue };
		snprintf(d->link.name, sizeof d->link.name, "d%d", i);
		limited_log_init(&d->link.log, clock_mono());
		stand_by(w, d);
	}
}

static void
end_world(struct world *w)
{
	char command[80];

	for (int i = 0; i < DECIDERS; i++) {
		end_decider(w, &w->deciders[i]);
		config_release(&w->deciders[i].config);
	}
	for (uint32_t i = 0; i < w->n; i++)
		buf_release(&w->log[i]);
	free(w->log);
	free(w->orders);
	snprintf(command, sizeof command, "rm -rf %s", w->folder);
	assert_int_equal(system(command), 0);
}

static void
whoever_leads_has_each_diagnosis_that_was_acted_on_or_says_that_it_lacks_some(void **state)
{
	struct world *w = malloc(sizeof *w);
	(void)state;

	assert_non_null(w);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		make_world(w, seed);
		for (int i = 0; i < EVENTS; i++)
			happen(w, seed);
		check_reader(w);
		end_world(w);
	}
	free(w);
	print_message(
	    "# %u takeovers (%u by two at once), %u deciders killed, %u woken (%u replaced), %u cuts; %u diagnoses told, %u on, %u not told, %u cut off\n",
	    seen.takeovers, seen.contended, seen.killed, seen.woken, seen.late, seen.cuts,
	    seen.answered, seen.on, seen.unanswered, seen.cut_off);
	assert_true(seen.takeovers > SEEDS && seen.contended > 0 && seen.killed > 0 &&
		    seen.late > 0 && seen.cuts > 0 && seen.answered > 0 && seen.on > 0 &&
		    seen.unanswered > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    whoever_leads_has_each_diagnosis_that_was_acted_on_or_says_that_it_lacks_some),
	};

	log_open("test", LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
