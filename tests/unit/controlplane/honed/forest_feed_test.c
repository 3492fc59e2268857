/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A decider's feed and the copy of one that stands by, with a log in memory in place of Kafka. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "controlplane/honed/forest_copy.h"
#include "controlplane/honed/forest_feed.h"
#include "controlplane/honed/forest_files.h"
#include "controlplane/honed/forest_keeper.h"
#include "searchspace/space.h"

#define SECOND_NS INT64_C(1000000000)

enum { MESSAGES_MAX = 4096 };

struct memory_log {
	struct buf items[MESSAGES_MAX];
	uint32_t n, delivered;
	uint32_t refuses; /* the next ones */
	bool holds;       /* no delivery is told */
};

static int
put(void *k, const char *topic, uint32_t partition, const void *data, size_t len, uint64_t token,
    struct err *e)
{
	struct memory_log *l = k;

	(void)topic;
	(void)partition;
	l->delivered += token == 0; /* no delivery is told of it */
	if (l->refuses > 0) {
		l->refuses--;
		return err_set(e, ERR_FULL, "the queue is full");
	}
	assert_true(l->n < MESSAGES_MAX);
	buf_bytes(&l->items[l->n++], data, len);
	return 0;
}

static bool
delivered(void *k, int timeout_ms, struct kafka_delivery *ret)
{
	struct memory_log *l = k;

	(void)timeout_ms;
	*ret = (struct kafka_delivery){ .token = 1 };
	return !l->holds && l->delivered < l->n && ++l->delivered;
}

static const struct kafka_calls calls = { .put = put, .delivered = delivered };

struct decider {
	struct config config;
	struct kafka_link link;
	char space[96], levels[96];
};

struct house {
	char folder[40];
	struct memory_log log;
	struct decider one, two;
	struct mono now;
};

static void
set(struct config *c, const char *fmt, const char *folder, const char *name)
{
	char text[160];
	struct err e = { 0 };

	snprintf(text, sizeof text, fmt, folder, name);
	if (config_set(c, text, &e) != 0)
		fail_msg("%s", e.text);
}

static void
make_decider(struct decider *d, struct house *h, const char *name, uint64_t epoch)
{
	struct err e;

	assert_int_equal(config_init(&d->config, &e), 0);
	set(&d->config, "controller.agents=ipc://%s/%s.agents", h->folder, name);
	set(&d->config, "controller.operators=ipc://%s/%s.sock", h->folder, name);
	set(&d->config, "storage.database=%s/%s.db", h->folder, name);
	set(&d->config, "storage.space=%s/%s.space", h->folder, name);
	set(&d->config, "levels.file=%s/%s.levels", h->folder, name);
	set(&d->config, "watch.healthy=%s/%s.healthy", h->folder, name);
	d->link = (struct kafka_link){ .calls = &calls, .connection = &h->log, .epoch = epoch };
	snprintf(d->link.name, sizeof d->link.name, "%s", name);
	limited_log_init(&d->link.log, clock_mono());
	snprintf(d->space, sizeof d->space, "%s/%s.space", h->folder, name);
	snprintf(d->levels, sizeof d->levels, "%s/%s.levels", h->folder, name);
}

static int
begin(void **state)
{
	struct house *h = calloc(1, sizeof *h);

	strcpy(h->folder, "/tmp/hone-feed-XXXXXX");
	assert_non_null(mkdtemp(h->folder));
	make_decider(&h->one, h, "one", 11);
	make_decider(&h->two, h, "two", 22);
	h->now = clock_mono();
	*state = h;
	return 0;
}

static int
end(void **state)
{
	struct house *h = *state;
	char command[80];
	int rc;

	for (uint32_t i = 0; i < h->log.n; i++)
		buf_release(&h->log.items[i]);
	config_release(&h->one.config);
	config_release(&h->two.config);
	snprintf(command, sizeof command, "rm -rf %s", h->folder);
	rc = system(command);
	free(h);
	return rc;
}

/* ---- a leader ---- */

struct leading {
	struct forest_keeper keeper;
	struct forest_feed *feed;
};

static void
lead(struct leading *l, struct decider *d, uint64_t term, const struct forest_place *from)
{
	struct err e = { 0 };

	assert_true(forest_feed_begin(&d->link, term));
	if (forest_keeper_open(&l->keeper, d->config.database, 0, 0, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(forest_feed_open(&l->feed, &d->link, &d->config, term, from, &e), 0);
	l->keeper.feed = l->feed;
}

static void
end_lead(struct leading *l)
{
	forest_keeper_close(&l->keeper);
	forest_feed_close(l->feed);
}

static void
steps(struct house *h, struct leading *l, int n)
{
	for (int i = 0; i < n; i++) {
		h->now.ns += 2 * SECOND_NS;
		/* A step ends after 10 ms by the clock: it gets all of them. */
		for (int again = 0; again < 3; again++)
			forest_feed_step(
			    l->feed, clock_mono().ns > h->now.ns ? clock_mono() : h->now);
	}
}

static struct run *
diagnose(struct leading *l, const char *type)
{
	struct run *r = forest_run_new(l->keeper.forest, type);
	struct hypothesis *v = forest_hypothesis_new(l->keeper.forest, r->id, 0);

	r->begun = clock_wall();
	assert_true(hypothesis_text(&v->tracepoint, "shop:a"));
	forest_audit_own(l->keeper.forest,
	    &(struct audit){
		.when = r->begun, .actor = ACTOR_ALERT, .action = ACTION_START, .run = r->id });
	assert_true(forest_keeper_commit(&l->keeper));
	return r;
}

/* ---- one that stands by ---- */

static void
read_log(struct house *h, struct forest_copy *c, uint32_t from, uint64_t term)
{
	for (uint32_t i = from; i < h->log.n; i++) {
		const struct kafka_message m = { .data = h->log.items[i].data,
			.len = h->log.items[i].len };

		forest_copy_take(c, &m, term, clock_mono());
	}
}

static void
stand_by(struct forest_copy *c, struct decider *d)
{
	struct err e = { 0 };

	if (forest_copy_open(c, &d->config, &d->link, &e) != 0)
		fail_msg("%s", e.text);
}

static void
write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
file_is(const char *path, const char *text)
{
	char is[200] = "";
	FILE *f = fopen(path, "r");

	if (f == NULL)
		fail_msg("%s is not there", path);
	is[fread(is, 1, sizeof is - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(is, text);
}

static void
save_space(const char *path, const char *version)
{
	struct labels *labels = labels_new();
	struct space *s = space_new(labels);
	struct err e = { 0 };

	assert_int_equal(space_version_set(s, 77, version, 0, &e), 0);
	if (space_save(s, path, &e) != 0)
		fail_msg("%s", e.text);
	space_free(s);
	labels_free(labels);
}

static uint32_t
runs_of(const struct forest *f)
{
	uint64_t at = 0;
	uint32_t n = 0;

	while (forest_run_next(f, &at) != NULL)
		n++;
	return n;
}

/* ---- promises ---- */

static void
who_takes_over_has_the_diagnoses_the_space_and_the_levels(void **state)
{
	struct house *h = *state;
	struct leading one, two;
	struct forest_copy c;
	struct space_version *versions;
	const struct run *r;
	struct err e = { 0 };
	uint32_t n;

	save_space(h->one.space, "v1");
	write_text(h->one.levels, "debug shop-cart\n");
	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 2);
	stand_by(&c, &h->two);
	diagnose(&one, "BUY");
	diagnose(&one, "SELL");
	end_lead(&one); /* as by kill -9: nothing more is said */

	assert_true(forest_feed_begin(&h->two.link, 2));
	read_log(h, &c, 0, 2);
	assert_true(c.own_begin);
	assert_true(c.whole_before);
	forest_copy_close(&c);
	if (forest_keeper_open(&two.keeper, h->two.config.database, 0, 0, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(runs_of(two.keeper.forest), 2);
	r = forest_run_latest(two.keeper.forest, "BUY");
	assert_non_null(r);
	assert_int_equal(r->state, RUN_STOPPED);
	assert_int_equal(r->reason, REASON_CONTROLLER_ENDED);
	assert_non_null(forest_get(two.keeper.forest, 2));
	forest_keeper_close(&two.keeper);
	assert_int_equal(space_versions(&versions, &n, h->two.space, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(versions[0].name, "v1");
	free(versions);
	file_is(h->two.levels, "debug shop-cart\n");
}

/* So a copy that has more than this decider knows before any rows that they are not on top of it. */
static void
what_a_decider_writes_first_is_a_state(void **state)
{
	struct house *h = *state;
	struct forest_entry x;
	struct relay_head head;
	struct leading one;
	struct err e;

	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	diagnose(&one, "BUY");
	end_lead(&one);
	assert_int_equal(
	    forest_entry_decode(&head, &x, h->log.items[1].data, h->log.items[1].len, &e), 0);
	assert_int_equal(x.kind, FOREST_STATE);
	assert_int_equal(x.flags & FOREST_FIRST, FOREST_FIRST);
}

static void
files_follow_when_they_change(void **state)
{
	struct house *h = *state;
	struct leading one;
	struct forest_copy c;
	uint32_t before;

	stand_by(&c, &h->two);
	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 2);
	before = h->log.n;
	steps(h, &one, 3);
	assert_int_equal(h->log.n, before); /* nothing has changed */
	write_text(h->one.levels, "info shop-*\n");
	steps(h, &one, 2);
	assert_int_equal(h->log.n, before + 1);
	write_text(h->one.levels, "this is no level file\n");
	steps(h, &one, 2);
	read_log(h, &c, 0, 0);
	file_is(h->two.levels, "info shop-*\n"); /* that one is not taken */
	forest_copy_close(&c);
	end_lead(&one);
}

/* What is in its write-ahead log belongs to the file that stays. */
static void
a_file_that_is_refused_leaves_the_old_one_with_its_log(void **state)
{
	struct house *h = *state;
	char wal[112];
	struct buf image = { 0 };
	struct err e = { 0 };

	save_space(h->one.space, "v1");
	assert_int_equal(forest_file_read(&image, h->one.space, FOREST_FILE_SPACE, &e), 0);
	snprintf(wal, sizeof wal, "%s-wal", h->two.space);
	write_text(h->two.space, "old");
	write_text(wal, "log");
	assert_true(forest_file_write(h->two.space, FOREST_FILE_SPACE, "garbage", 7, &e) < 0);
	file_is(h->two.space, "old");
	file_is(wal, "log");
	assert_int_equal(
	    forest_file_write(h->two.space, FOREST_FILE_SPACE, image.data, image.len, &e), 0);
	assert_int_equal(access(wal, F_OK), -1);
	buf_release(&image);
}

static void
a_copy_that_comes_late_asks_and_gets_a_full_state(void **state)
{
	struct house *h = *state;
	struct leading one;
	struct forest_copy c;
	struct forest_entry x;
	struct relay_head head;
	struct err e;
	uint32_t cut;

	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 2);
	diagnose(&one, "BUY");
	cut = h->log.n;
	stand_by(&c, &h->two); /* the topic has lost what was before */
	diagnose(&one, "SELL");
	read_log(h, &c, cut, 0);
	assert_false(c.follow.whole);
	cut = h->log.n;
	forest_copy_ask(&c, c.came);
	assert_int_equal(h->log.n, cut); /* a state may be on its way */
	forest_copy_ask(&c, (struct mono){ c.came.ns + 3 * SECOND_NS });
	forest_copy_ask(&c, (struct mono){ c.came.ns + 4 * SECOND_NS });
	assert_int_equal(h->log.n, cut + 1);
	assert_int_equal(
	    forest_entry_decode(&head, &x, h->log.items[cut].data, h->log.items[cut].len, &e), 0);
	assert_int_equal(x.kind, FOREST_ASK);
	forest_feed_asked(one.feed);
	steps(h, &one, 8); /* 16 s */
	read_log(h, &c, cut, 0);
	assert_true(c.follow.whole);
	forest_copy_close(&c);
	end_lead(&one);
}

/* The leader commits more often than each 2 s, and entries come all the time. What cannot be taken is asked for more and more rarely. */
static void
a_copy_asks_also_while_entries_come_and_more_rarely_if_states_fail(void **state)
{
	struct house *h = *state;
	struct leading one;
	struct forest_copy c;
	uint32_t cut, asks[2] = { 0 };

	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	stand_by(&c, &h->two);
	for (int fails = 0; fails < 2; fails++)
		for (int i = 0; i < 1000; i++) {
			struct mono now = { c.lost.ns + (fails * 1000 + i) * SECOND_NS };

			c.came = now;
			cut = h->log.n;
			forest_copy_ask(&c, now);
			asks[fails] += h->log.n - cut;
			if (fails > 0 && h->log.n > cut) {
				c.follow.calls.state_begin(c.follow.calls.ctx, &(struct err){ 0 });
				c.follow.calls.state_undo(c.follow.calls.ctx);
			}
		}
	assert_in_range(asks[0], 95, 98); /* from 30 s on each 10 s */
	assert_in_range(asks[1], 5, 8);   /* after 20, 40, 80 ... s */
	forest_copy_close(&c);
	end_lead(&one);
}

static uint32_t
states_of(const struct leading *l)
{
	struct forest_feed_counts counts;

	forest_feed_counts(l->feed, &counts);
	return (uint32_t)counts.states;
}

static void
states_that_are_asked_for_come_once_a_minute_at_most(void **state)
{
	struct house *h = *state;
	struct leading one;

	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 4);
	assert_int_equal(states_of(&one), 1);
	for (int i = 0; i < 300; i++) { /* 10 min */
		forest_feed_asked(one.feed);
		steps(h, &one, 1);
	}
	assert_in_range(states_of(&one), 10, 11);
	end_lead(&one);
}

/* The entry has a number, so the copy knows that it is missing; a full state follows by itself. */
static void
an_entry_that_finds_the_queue_full_is_followed_by_a_full_state(void **state)
{
	struct house *h = *state;
	struct forest_feed_counts counts;
	struct leading one, two;
	struct forest_copy c;
	struct err e = { 0 };

	stand_by(&c, &h->two);
	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 2);
	diagnose(&one, "BUY");
	h->log.refuses = 1;
	diagnose(&one, "SELL");
	diagnose(&one, "SHIP");
	read_log(h, &c, 0, 0);
	assert_false(c.follow.whole);
	assert_int_equal(c.follow.missing, 1);
	steps(h, &one, 8);
	read_log(h, &c, 0, 0); /* from the beginning: what came is recognised */
	assert_true(c.follow.whole);
	forest_feed_counts(one.feed, &counts);
	assert_int_equal(counts.lost, 1);
	assert_int_equal(counts.states, 2);
	end_lead(&one);
	forest_copy_close(&c);
	if (forest_keeper_open(&two.keeper, h->two.config.database, 0, 0, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(runs_of(two.keeper.forest), 3);
	forest_keeper_close(&two.keeper);
}

/* A state that is due waits for room. What is committed until then is in it, as its first entry is what it is as of. */
static void
a_state_that_had_to_wait_has_what_was_committed_meanwhile(void **state)
{
	struct house *h = *state;
	struct leading one, two;
	struct forest_copy c;
	struct err e = { 0 };

	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 4);
	h->log.holds = true;
	for (int i = 0; i < 16; i++)
		diagnose(&one, "BUY");
	forest_feed_asked(one.feed);
	steps(h, &one, 4);
	diagnose(&one, "LATE");
	h->log.holds = false;
	steps(h, &one, 4);
	stand_by(&c, &h->two);
	read_log(h, &c, 0, 0);
	assert_true(c.follow.whole);
	assert_int_equal(c.follow.states, 2);
	forest_copy_close(&c);
	end_lead(&one);
	if (forest_keeper_open(&two.keeper, h->two.config.database, 0, 0, &e) != 0)
		fail_msg("%s", e.text);
	assert_non_null(forest_run_latest(two.keeper.forest, "LATE"));
	assert_int_equal(runs_of(two.keeper.forest), 17);
	forest_keeper_close(&two.keeper);
}

static uint32_t
begins_of_states(const struct house *h, uint64_t term)
{
	struct forest_entry x;
	struct relay_head head;
	struct err e;
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->log.n; i++)
		n += forest_entry_decode(
			 &head, &x, h->log.items[i].data, h->log.items[i].len, &e) == 0 &&
		     x.term == term && x.kind == FOREST_STATE && (x.flags & FOREST_FIRST) != 0;
	return n;
}

/* Its snapshot would keep the leader's write-ahead log from being written back. */
static void
a_state_that_kafka_takes_nothing_of_for_60_s_begins_anew(void **state)
{
	struct house *h = *state;
	struct leading one;
	struct forest_copy c;
	char *long_type = malloc(20001);

	memset(long_type, 'x', 20000);
	long_type[20000] = '\0';
	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	for (int i = 0; i < 20; i++) /* 400 kB, of which 256 KiB are in the first piece */
		diagnose(&one, long_type);
	free(long_type);
	end_lead(&one);
	h->log.delivered = h->log.n;
	h->log.holds = true;
	lead(&one, &h->one, 2, &(struct forest_place){ 0 });
	for (int i = 0; i < 40; i++)
		diagnose(&one, "BUY");
	steps(h, &one, 20);
	assert_int_equal(begins_of_states(h, 2), 1);
	steps(h, &one, 20);
	h->log.holds = false;
	steps(h, &one, 5);
	assert_int_equal(begins_of_states(h, 2), 2);
	stand_by(&c, &h->two);
	read_log(h, &c, 0, 0);
	assert_true(c.follow.whole);
	forest_copy_close(&c);
	end_lead(&one);
}

static void
an_entry_at_the_end_that_cannot_be_read_is_not_overlooked(void **state)
{
	struct house *h = *state;
	struct forest_copy c;
	struct leading one;

	stand_by(&c, &h->two);
	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 2);
	diagnose(&one, "BUY");
	end_lead(&one);
	h->log.items[h->log.n - 1].len--; /* cut off */
	h->log.items[h->log.n - 1].data[0] ^= 255;
	assert_true(forest_feed_begin(&h->two.link, 2));
	read_log(h, &c, 0, 2);
	assert_true(c.own_begin);
	assert_false(c.whole_before);
	forest_copy_close(&c);
}

/* Nobody knows whether it counts, so the copy is not whole; it would stay so, as nothing else need come. */
static void
a_copy_asks_also_for_what_it_could_not_read(void **state)
{
	struct house *h = *state;
	struct forest_copy c;
	struct leading one;
	uint32_t cut;

	stand_by(&c, &h->two);
	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 2);
	read_log(h, &c, 0, 0);
	assert_true(forest_copy_whole(&c));
	cut = h->log.n;
	buf_bytes(&h->log.items[h->log.n++], "else", 4);
	h->log.delivered++; /* of no decider */
	read_log(h, &c, cut, 0);
	assert_false(forest_copy_whole(&c));
	cut = h->log.n;
	forest_copy_ask(&c, (struct mono){ c.came.ns + 3 * SECOND_NS });
	assert_int_equal(h->log.n, cut + 1);
	forest_feed_asked(one.feed);
	steps(h, &one, 8);
	read_log(h, &c, cut, 0);
	assert_true(forest_copy_whole(&c));
	forest_copy_close(&c);
	end_lead(&one);
}

/* Its own BEGIN comes back as the first entry of the log. */
static void
begin_in_an_empty_log(struct house *h, struct forest_copy *c, struct decider *d, bool led_before)
{
	uint32_t from = h->log.n;

	stand_by(c, d);
	c->led_before = led_before;
	assert_true(forest_feed_begin(&d->link, 9));
	read_log(h, c, from, 9);
	assert_true(c->own_begin);
	forest_copy_close(c);
}

static void
an_empty_log_is_the_whole_only_where_nobody_has_led(void **state)
{
	struct house *h = *state;
	struct forest_copy c;
	struct leading one;

	begin_in_an_empty_log(h, &c, &h->two, true);
	assert_true(!c.whole_before && c.gone_before);
	begin_in_an_empty_log(h, &c, &h->two, false); /* the first decider of all */
	assert_true(c.whole_before && !c.gone_before);

	/* A database with rows of a log, which was made anew; so were the orders. */
	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	diagnose(&one, "BUY");
	end_lead(&one);
	begin_in_an_empty_log(h, &c, &h->one, false);
	assert_true(!c.whole_before && c.gone_before);

	/* With any entry of it, the log counts. */
	stand_by(&c, &h->one);
	c.led_before = true;
	assert_false(forest_copy_whole(&c));
	forest_copy_ask(&c, (struct mono){ c.came.ns + 3 * SECOND_NS }); /* it may still be read */
	assert_int_equal(c.asked.ns, 0);
	forest_copy_ask(&c, (struct mono){ c.came.ns + 31 * SECOND_NS });
	assert_true(c.asked.ns != 0);
	read_log(h, &c, 0, 0);
	assert_false(forest_copy_log_is_gone(&c));
	forest_copy_close(&c);
}

static void
a_state_makes_up_for_entries_before_it_that_could_not_be_read(void **state)
{
	struct house *h = *state;
	struct forest_copy c;
	struct leading one;

	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	end_lead(&one);
	h->log.items[0].data[0] ^= 255; /* BEGIN; the state is the first entry that is read */
	stand_by(&c, &h->two);
	read_log(h, &c, 0, 0);
	assert_int_equal(c.follow.states, 1);
	assert_true(forest_copy_whole(&c));
	forest_copy_close(&c);
}

/* What was put is lost if the decider is killed before Kafka has it. */
static void
a_decision_is_in_the_log_when_kafka_has_taken_it(void **state)
{
	struct house *h = *state;
	struct leading one;
	struct hypothesis *v;
	uint64_t put;

	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 2);
	assert_true(forest_feed_has_decisions(one.feed));
	h->log.holds = true;
	diagnose(&one, "BUY");
	put = forest_feed_put(one.feed);
	steps(h, &one, 2);
	assert_false(forest_feed_has_decisions(one.feed));
	assert_false(forest_feed_has(one.feed, put));
	h->log.holds = false;
	steps(h, &one, 1);
	assert_true(forest_feed_has_decisions(one.feed));
	assert_true(forest_feed_has(one.feed, put));
	/* What a search measures is committed all the time; nothing waits for that. */
	h->log.holds = true;
	assert_non_null(v = forest_get(one.keeper.forest, 1));
	forest_touch(one.keeper.forest, v);
	assert_true(forest_keeper_commit(&one.keeper));
	assert_true(forest_feed_put(one.feed) > put);
	assert_true(forest_feed_has_decisions(one.feed));
	assert_false(forest_feed_has(one.feed, forest_feed_put(one.feed)));
	end_lead(&one);
}

static void
after_an_entry_that_was_lost_a_full_state_must_be_in_the_log(void **state)
{
	struct house *h = *state;
	struct leading one;

	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 2);
	h->log.refuses = 1;
	diagnose(&one, "BUY");
	diagnose(&one, "SELL"); /* Kafka has this one, and it is on top of nothing */
	h->now.ns -= 2 * SECOND_NS;
	steps(h, &one, 1);
	assert_false(forest_feed_has_decisions(one.feed));
	steps(h, &one, 6);
	assert_true(forest_feed_has_decisions(one.feed));
	end_lead(&one);
}

/* Of a database that follows no other one, a copy has nothing before that. */
static void
the_first_state_must_be_in_the_log_if_it_follows_none(void **state)
{
	struct house *h = *state;
	struct leading one;

	h->log.holds = true;
	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 1);
	assert_false(forest_feed_has_decisions(one.feed));
	end_lead(&one);
	lead(&one, &h->one, 2, &(struct forest_place){ 1, 11, 2 });
	assert_true(forest_feed_has_decisions(one.feed));
	end_lead(&one);
}

/* Two of one machine. The database is what the log says, unless one of another machine has led since. */
static void
who_shares_the_leaders_database_has_all_that_it_has(void **state)
{
	struct house *h = *state;
	struct forest_copy c;
	struct leading one;
	struct decider three;

	for (int others = 0; others < 2; others++) {
		uint32_t from = h->log.n;
		uint64_t term = 10 * (uint64_t)others + 1;

		h->one.link.epoch = 100 + term;
		lead(&one, &h->one, term, &(struct forest_place){ 0 });
		three = h->one;
		three.link.epoch = 101 + term;
		stand_by(&c, &three);
		assert_null(c.store);
		diagnose(&one, "BUY");
		end_lead(&one);
		if (others) {
			lead(&one, &h->two, term + 1, &(struct forest_place){ 0 });
			diagnose(&one, "SELL");
			end_lead(&one);
		}
		assert_true(forest_feed_begin(&three.link, term + 2));
		c.kafka = &three.link;
		read_log(h, &c, from, term + 2);
		assert_true(c.own_begin);
		assert_int_equal(c.whole_before, !others);
		forest_copy_close(&c);
	}
}

/* Its own database has more than the log: nothing of it is lost. */
static void
a_decider_that_is_started_anew_keeps_what_the_log_has_lost(void **state)
{
	struct house *h = *state;
	struct forest_copy c;
	struct leading one;

	lead(&one, &h->one, 1, &(struct forest_place){ 0 });
	steps(h, &one, 2);
	diagnose(&one, "BUY");
	h->log.refuses = 100;
	diagnose(&one, "SELL"); /* Kafka was away, and then the decider was killed */
	end_lead(&one);
	h->log.refuses = 0;
	h->one.link.epoch = 33;
	stand_by(&c, &h->one);
	assert_true(forest_feed_begin(&h->one.link, 2));
	read_log(h, &c, 0, 2);
	assert_true(c.whole_before);
	assert_int_equal(c.follow.base.term, 1);
	forest_copy_close(&c);
	lead(&one, &h->one, 2, &(struct forest_place){ 1, 11, 9 });
	assert_int_equal(runs_of(one.keeper.forest), 2);
	end_lead(&one);
}

static void
a_decider_that_is_started_anew_keeps_files_that_are_newer_than_the_log(void **state)
{
	struct house *h = *state;
	struct forest_copy c;
	struct leading one;

	for (uint64_t term = 1; term <= 3; term++) {
		h->one.link.epoch = 30 + term;
		stand_by(&c, &h->one);
		assert_true(forest_feed_begin(&h->one.link, term));
		read_log(h, &c, 0, term);
		assert_true(c.own_begin);
		forest_copy_lead(&c, term);
		forest_copy_close(&c);
		if (term > 1)
			file_is(h->one.levels, "info shop-*\n");
		write_text(h->one.levels, "debug shop-cart\n");
		lead(&one, &h->one, term, &(struct forest_place){ 0 });
		diagnose(&one, "BUY"); /* the log has the file behind this */
		steps(h, &one, 2);
		end_lead(&one);
		write_text(h->one.levels, "info shop-*\n"); /* and is killed before it is put */
	}
	stand_by(&c, &h->two);
	read_log(h, &c, 0, 0);
	file_is(h->two.levels, "debug shop-cart\n");
	forest_copy_close(&c);
	unlink(h->one.levels); /* without an own one the log's is better than none */
	stand_by(&c, &h->one);
	read_log(h, &c, 0, 0);
	file_is(h->one.levels, "debug shop-cart\n");
	forest_copy_close(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_takes_over_has_the_diagnoses_the_space_and_the_levels),
		TEST(what_a_decider_writes_first_is_a_state),
		TEST(files_follow_when_they_change),
		TEST(a_file_that_is_refused_leaves_the_old_one_with_its_log),
		TEST(a_copy_that_comes_late_asks_and_gets_a_full_state),
		TEST(a_copy_asks_also_while_entries_come_and_more_rarely_if_states_fail),
		TEST(states_that_are_asked_for_come_once_a_minute_at_most),
		TEST(an_entry_that_finds_the_queue_full_is_followed_by_a_full_state),
		TEST(a_state_that_had_to_wait_has_what_was_committed_meanwhile),
		TEST(a_state_that_kafka_takes_nothing_of_for_60_s_begins_anew),
		TEST(an_entry_at_the_end_that_cannot_be_read_is_not_overlooked),
		TEST(a_copy_asks_also_for_what_it_could_not_read),
		TEST(a_state_makes_up_for_entries_before_it_that_could_not_be_read),
		TEST(a_decision_is_in_the_log_when_kafka_has_taken_it),
		TEST(after_an_entry_that_was_lost_a_full_state_must_be_in_the_log),
		TEST(an_empty_log_is_the_whole_only_where_nobody_has_led),
		TEST(the_first_state_must_be_in_the_log_if_it_follows_none),
		TEST(who_shares_the_leaders_database_has_all_that_it_has),
		TEST(a_decider_that_is_started_anew_keeps_files_that_are_newer_than_the_log),
		TEST(a_decider_that_is_started_anew_keeps_what_the_log_has_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
