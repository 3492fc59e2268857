/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A decider that begins or stands by, with topics in memory in place of Kafka: what it reads, when it takes a term, and when it answers. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/stream.h"
#include "controlplane/honed/honed.h"
#include "controlplane/honed/remote_agents.h"
#include "controlplane/relay/events.h"
#include "wire/frame.h"

enum { MESSAGES_MAX = 256, OTHER_EPOCH = 4711 };

struct message {
	char topic[32];
	struct buf bytes;
	int64_t offset;
	uint32_t slow_ms; /* to be read */
};

static struct cluster {
	char folder[40];
	struct config config;
	struct message items[MESSAGES_MAX];
	uint32_t n, at;
	int64_t orders;        /* in the topic, */
	int64_t orders_before; /* and so many before this decider was started */
	uint32_t orders_read;  /* that were not our own */
	uint32_t orders_put, begins_put, begins_lost;
	uint32_t undelivered; /* entries that were put with a token */
	atomic_bool holds;    /* no delivery is told */
	bool others_term;     /* another decider's term comes instead of our BEGIN */
	struct mono began;
	int64_t stop_ms; /* the decider is told to end then; 0: when it has read an order */
	atomic_bool stop;
} k;

static void
add(const char *topic, struct buf *bytes, uint32_t slow_ms)
{
	struct message *m = &k.items[k.n++];

	assert_true(k.n <= MESSAGES_MAX);
	snprintf(m->topic, sizeof m->topic, "%s", topic);
	m->offset = strcmp(topic, "hone.orders") == 0 ? k.orders++ : (int64_t)k.n;
	m->bytes = *bytes;
	m->slow_ms = slow_ms;
}

static void
add_order(uint64_t term)
{
	const struct relay_head h = {
		.kind = RELAY_ORDERS, .source = "other", .epoch = OTHER_EPOCH, .number = 1
	};
	struct orders_writer w = { 0 };
	struct buf b = { 0 };
	struct err e;

	assert_int_equal(orders_end(&w, &h, term, NULL, 0, &b, &e), 0);
	add("hone.orders", &b, 0);
}

static void
add_entry(enum forest_entry_kind kind, uint64_t term, uint32_t slow_ms)
{
	const struct relay_head h = { .kind = RELAY_FOREST,
		.source = "other",
		.epoch = OTHER_EPOCH,
		.number = 1 + 8 * (kind == FOREST_ROWS) };
	const struct forest_entry x = { .kind = kind, .term = term };
	struct buf b = { 0 };

	forest_entry_encode(&h, &x, &b);
	add("hone.forest", &b, slow_ms);
}

/* ---- the door ---- */

static int
door_open(void **ret, const struct kafka_options *o, struct err *e)
{
	(void)o;
	(void)e;
	*ret = &k;
	return 0;
}

static void
door_close(void *c)
{
	(void)c;
}

static int
partitions(void *c, const char *topic, int timeout_ms, uint32_t *ret, struct err *e)
{
	(void)c;
	(void)topic;
	(void)timeout_ms;
	(void)e;
	*ret = 1;
	return 0;
}

static int
follow(void *c, const char *const *topics, const uint32_t *partitions, const bool *oldest,
    uint32_t n, int timeout_ms, struct err *e)
{
	(void)c;
	(void)topics;
	(void)partitions;
	(void)oldest;
	(void)n;
	(void)timeout_ms;
	(void)e;
	return 0;
}

static int
topic_end(
    void *c, const char *topic, uint32_t partition, int timeout_ms, int64_t *ret, struct err *e)
{
	(void)c;
	(void)topic;
	(void)partition;
	(void)timeout_ms;
	(void)e;
	*ret = k.orders_before +
	       (k.at == 0 ? 0 : k.orders); /* nothing was read: what waits came after this */
	return 0;
}

static enum kafka_news
next(void *c, int timeout_ms, struct kafka_message *ret, struct err *e)
{
	struct message *m = &k.items[k.at];

	(void)c;
	*e = (struct err){ 0 };
	if (k.at == k.n) {
		usleep((useconds_t)timeout_ms * 1000);
		if (k.stop_ms > 0 ? mono_since_ns(clock_mono(), k.began) >= k.stop_ms * 1000000
				  : k.orders_read > 0)
			atomic_store(&k.stop, true);
		return KAFKA_NOTHING;
	}
	k.at++;
	usleep((useconds_t)m->slow_ms * 1000);
	*ret = (struct kafka_message){
		.topic = m->topic, .offset = m->offset, .data = m->bytes.data, .len = m->bytes.len
	};
	k.orders_read += strcmp(m->topic, "hone.orders") == 0 && k.orders_put == 0;
	return KAFKA_MESSAGE;
}

static void
release(struct kafka_message *m)
{
	(void)m;
}

static int
put(void *c, const char *topic, uint32_t partition, const void *data, size_t len, uint64_t token,
    struct err *e)
{
	struct buf b = { 0 };

	(void)c;
	(void)partition;
	(void)e;
	k.undelivered += token != 0;
	buf_bytes(&b, data, len);
	if (strcmp(topic, "hone.orders") == 0) {
		k.orders_put++;
	} else if (k.others_term) {
		buf_release(&b);
		add_entry(FOREST_BEGIN, 99, 0);
		return 0;
	} else if (++k.begins_put <= k.begins_lost) {
		buf_release(&b);
		return 0;
	}
	add(topic, &b, 0);
	return 0;
}

static bool
delivered(void *c, int timeout_ms, struct kafka_delivery *ret)
{
	(void)c;
	(void)timeout_ms;
	if (k.undelivered == 0 || atomic_load(&k.holds))
		return false;
	k.undelivered--;
	*ret = (struct kafka_delivery){ .token = 1 };
	return true;
}

/* In place of kafka_load.c. */
int
kafka_load(const struct kafka_calls **ret, struct err *e)
{
	static const struct kafka_calls calls = { .open = door_open,
		.close = door_close,
		.partitions = partitions,
		.follow = follow,
		.next = next,
		.release = release,
		.put = put,
		.delivered = delivered,
		.end = topic_end };

	(void)e;
	*ret = &calls;
	return 0;
}

static void
set(const char *fmt, const char *folder)
{
	char text[160];
	struct err e = { 0 };

	snprintf(text, sizeof text, fmt, folder);
	if (config_set(&k.config, text, &e) != 0)
		fail_msg("%s", e.text);
}

static int
begin(void **state)
{
	struct err e;
	(void)state;

	k = (struct cluster){ .folder = "/tmp/hone-remote-XXXXXX", .began = clock_mono() };
	assert_non_null(mkdtemp(k.folder));
	assert_int_equal(config_init(&k.config, &e), 0);
	set("controller.agents=ipc://%s/agents", k.folder);
	set("controller.operators=ipc://%s/sock", k.folder);
	set("storage.database=%s/f.db", k.folder);
	set("storage.space=%s/s.db", k.folder);
	set("kafka.brokers=none:1", "");
	set("kafka.name=d", "");
	set("kafka.role=decider", "");
	set("web.listen=", "");
	return 0;
}

static int
end(void **state)
{
	char command[80];
	(void)state;

	for (uint32_t i = 0; i < k.n; i++)
		buf_release(&k.items[i].bytes);
	config_release(&k.config);
	snprintf(command, sizeof command, "rm -rf %s", k.folder);
	return system(command);
}

/* ---- promises ---- */

/* A full state takes long to be written, and more of the log of the forest is behind it; then there is a beat of the leader. */
static void
a_leader_whose_beats_wait_unread_is_not_taken_for_silent(void **state)
{
	struct remote_agents *r = NULL;
	struct err e = { 0 };
	(void)state;

	add_entry(FOREST_ASK, 0, 1600);
	add_entry(FOREST_ASK, 0, 5500);
	for (int i = 0; i < 20; i++)
		add_entry(FOREST_ASK, 0, 0);
	add_order(3);
	if (remote_agents_open(&r, &k.config, &k.stop, &e) != 0)
		fail_msg("%s", e.text);
	assert_null(r); /* it was told to end while it stood by */
	assert_int_equal(k.orders_put, 0);
}

/* They do not come any more, so it is enough that nobody writes for 5 s. */
static void
orders_that_kafka_deleted_unread_are_not_awaited_for_ever(void **state)
{
	struct remote_agents *r = NULL;
	struct err e = { 0 };
	(void)state;

	k.orders = 7;
	add_entry(FOREST_ASK, 0, 0);
	k.stop_ms = 15000;
	if (remote_agents_open(&r, &k.config, &k.stop, &e) != 0)
		fail_msg("%s", e.text);
	assert_non_null(r);
	assert_true(mono_since_ns(clock_mono(), k.began) >= INT64_C(6000000000));
	remote_agents_close(r);
}

/* Its state would take the place of what others have that have more. It waits for 10 s in place of 1.5 s. */
static void
a_copy_that_is_not_whole_gives_others_time_to_take_over(void **state)
{
	struct remote_agents *r = NULL;
	struct err e = { 0 };
	(void)state;

	add_entry(FOREST_ROWS, 3, 0); /* those before it are missing */
	k.stop_ms = 2500;
	if (remote_agents_open(&r, &k.config, &k.stop, &e) != 0)
		fail_msg("%s", e.text);
	assert_null(r);
	assert_int_equal(k.orders_put, 0);
}

/* The topic was emptied or made anew: another copy may have what it said. One with rows of a log takes over after 10 s. */
static void
an_empty_log_is_not_the_whole_where_deciders_have_led(void **state)
{
	struct remote_agents *r = NULL;
	struct err e = { 0 };
	(void)state;

	k.orders_before = 7;
	k.stop_ms = 11500;
	if (remote_agents_open(&r, &k.config, &k.stop, &e) != 0)
		fail_msg("%s", e.text);
	assert_null(r); /* it gives others time to take over */
	assert_int_equal(k.orders_put, 0);
}

static void
a_decider_that_is_alone_takes_a_term(void **state)
{
	struct remote_agents *r = NULL;
	struct err e = { 0 };
	(void)state;

	if (remote_agents_open(&r, &k.config, &k.stop, &e) != 0)
		fail_msg("%s", e.text);
	assert_non_null(r);
	assert_int_equal(k.begins_put, 1);
	remote_agents_close(r);
}

/* It would beat, and keep others from deciding, and decide nothing. */
static void
a_decider_that_finds_a_higher_term_in_the_log_of_the_forest_ends(void **state)
{
	struct remote_agents *r = NULL;
	struct err e = { 0 };
	(void)state;

	k.others_term = true;
	k.stop_ms = 10000;
	assert_int_equal(remote_agents_open(&r, &k.config, &k.stop, &e), ERR_PEER);
	assert_null(r);
}

static void
the_begin_of_a_term_is_written_again_if_it_is_lost(void **state)
{
	struct remote_agents *r = NULL;
	struct err e = { 0 };
	(void)state;

	k.begins_lost = 1;
	k.stop_ms = 20000;
	if (remote_agents_open(&r, &k.config, &k.stop, &e) != 0)
		fail_msg("%s", e.text);
	assert_non_null(r);
	assert_int_equal(k.begins_put, 2);
	remote_agents_close(r);
}

/* ---- one that leads ---- */

struct leading {
	struct remote_agents *remote;
	struct honed *honed;
	pthread_t thread;
	atomic_bool stop;
};

static void *
run(void *arg)
{
	struct leading *l = arg;

	honed_run(l->honed, &l->stop);
	return NULL;
}

static void
lead(struct leading *l)
{
	struct err e = { 0 };

	*l = (struct leading){ 0 };
	k.stop_ms = 60000;
	if (remote_agents_open(&l->remote, &k.config, &k.stop, &e) != 0 ||
	    honed_open(&l->honed, &k.config, &e) != 0 || honed_decide(l->honed, l->remote, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(pthread_create(&l->thread, NULL, run, l), 0);
}

static void
end_lead(struct leading *l)
{
	atomic_store(&l->stop, true);
	pthread_join(l->thread, NULL);
	honed_close(l->honed);
	remote_agents_close(l->remote);
}

static struct stream *
ask(const char *question)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct stream *s;
	struct err e;
	char url[80];

	snprintf(url, sizeof url, "ipc://%s/sock", k.folder);
	frame_seal(header, FRAME_ASK, 0, question, strlen(question));
	if (stream_dial(&s, url, 10000, &e) != 0 ||
	    stream_write(s, header, sizeof header, 10000, &e) != 0 ||
	    stream_write(s, question, strlen(question), 10000, &e) != 0)
		fail_msg("%s", e.text);
	return s;
}

/* The kind of the frame that has come within the time; 0: none. */
static uint32_t
answered(struct stream *s, int within_ms)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame f;
	struct err e;

	if (stream_read(s, header, sizeof header, within_ms, &e) != 0)
		return 0;
	assert_int_equal(frame_open(&f, header, &e), 0);
	return f.kind;
}

/* A change that is done without agents. What is asked is in the audit, so it changes the forest. */
#define LEVEL(word)                                                  \
	"{\"ask\":\"levels\",\"service\":\"shop\",\"level\":\"" word \
	"\",\"set\":true,\"force\":true}"

static void
who_asks_for_a_change_is_told_when_kafka_has_it(void **state)
{
	static const char look[] = "{\"ask\":\"status\"}";
	struct stream *changes, *looks;
	struct leading l;
	(void)state;

	lead(&l);
	changes = ask(LEVEL("info"));
	assert_int_equal(answered(changes, 10000), FRAME_ANSWER);
	stream_close(changes);
	atomic_store(&k.holds, true);
	changes = ask(LEVEL("debug"));
	looks = ask(look);
	assert_int_equal(answered(looks, 10000), FRAME_ANSWER); /* it waits for nothing */
	assert_int_equal(answered(changes, 300), 0);
	stream_close(looks);
	looks = ask("{\"ask\":\"stop\",\"type\":\"NONE\"}");
	assert_int_equal(answered(looks, 10000), FRAME_ANSWER); /* so does what is refused */
	stream_close(looks);
	atomic_store(&k.holds, false);
	assert_int_equal(answered(changes, 10000), FRAME_ANSWER);
	stream_close(changes);
	end_lead(&l);
}

static void
who_asks_for_a_change_is_told_that_kafka_does_not_take_it(void **state)
{
	struct stream *changes;
	struct leading l;
	(void)state;

	lead(&l);
	atomic_store(&k.holds, true);
	changes = ask(LEVEL("info"));
	assert_int_equal(answered(changes, 20000), FRAME_REFUSE);
	stream_close(changes);
	end_lead(&l);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_leader_whose_beats_wait_unread_is_not_taken_for_silent),
		TEST(orders_that_kafka_deleted_unread_are_not_awaited_for_ever),
		TEST(a_copy_that_is_not_whole_gives_others_time_to_take_over),
		TEST(an_empty_log_is_not_the_whole_where_deciders_have_led),
		TEST(a_decider_that_is_alone_takes_a_term),
		TEST(a_decider_that_finds_a_higher_term_in_the_log_of_the_forest_ends),
		TEST(the_begin_of_a_term_is_written_again_if_it_is_lost),
		TEST(who_asks_for_a_change_is_told_when_kafka_has_it),
		TEST(who_asks_for_a_change_is_told_that_kafka_does_not_take_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
