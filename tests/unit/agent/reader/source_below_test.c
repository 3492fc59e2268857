/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The other end of the socket is played by the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/reader/source_below.h"
#include "base/rng.h"

#define SECOND INT64_C(1000000000)

struct stage {
	struct source source;
	struct source_below *below;
	struct source_output out;
	struct mono now;
	int peer;
};

static struct { /* what hone-below answered last */
	char names[100], reason[100];
	uint32_t pid, id;
} answer;

static void
on_listed(void *of, const struct below_listed *l)
{
	(void)of;
	answer.pid = l->pid;
	snprintf(answer.names, sizeof answer.names, "%s", l->names);
}

static void
on_probed(void *of, const struct below_probed *p)
{
	(void)of;
	answer.id = p->id;
	snprintf(answer.reason, sizeof answer.reason, "%s", p->reason);
}

static const struct source_below_answers answers = { NULL, on_listed, on_probed };

static void
stage_open(struct stage *g)
{
	struct err e;

	memset(g, 0, sizeof *g);
	g->now.ns = 100 * SECOND;
	g->peer = -1;
	assert_int_equal(source_below_open(&g->source, &g->below, &answers, &e), 0);
}

static void
stage_attach(struct stage *g)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	source_below_attach(g->below, ends[0], g->now);
	g->peer = ends[1];
}

static void
stage_close(struct stage *g)
{
	g->source.close(g->source.state);
	if (g->peer >= 0)
		close(g->peer);
}

static void
say(struct stage *g, struct below_message m)
{
	struct buf b = { 0 };

	below_encode(&m, &b);
	assert_int_equal(send(g->peer, b.data, b.len, 0), b.len);
	buf_release(&b);
}

static void
mark(struct stage *g, int64_t at_ns)
{
	say(g, (struct below_message){ .kind = BELOW_MARK, .mark_ns = at_ns });
}

static void
poll_at(struct stage *g, int64_t now_ns)
{
	struct err e;

	g->now.ns = now_ns;
	assert_int_equal(g->source.poll(g->source.state, g->now, &g->out, &e), 0);
}

static enum source_below_state
state_of(const struct stage *g)
{
	struct source_below_status s;

	source_below_look(g->below, &s);
	return s.state;
}

static const char *
label_text(const struct stage *g, uint32_t record)
{
	uint32_t count;
	const struct batch_label *labels = g->source.labels(g->source.state, &count);

	assert_true(g->out.records[record].label < count);
	return labels[g->out.records[record].label].text;
}

static struct below_message
wait_of(uint32_t pid, int64_t begin_ns, int64_t end_ns, uint32_t place)
{
	return (struct below_message){ .kind = BELOW_WAIT,
		.wait = { .pid = pid,
		    .tid = pid + 1,
		    .trace_id = 7,
		    .unit_id = 8,
		    .begin_ns = begin_ns,
		    .woken_ns = end_ns,
		    .end_ns = end_ns,
		    .state = BELOW_LOCK,
		    .place = place } };
}

static void
while_none_runs_the_watermark_is_the_present(void **state)
{
	struct stage g;
	(void)state;

	stage_open(&g);
	poll_at(&g, 100 * SECOND);
	assert_true(g.out.watermark_ns == 100 * SECOND && g.out.nrecords == 0);
	poll_at(&g, 101 * SECOND);
	assert_int_equal(g.out.watermark_ns, 101 * SECOND);
	assert_false(source_below_send(g.below, &(struct below_message){ .kind = BELOW_END }));
	stage_close(&g);
}

static void
a_wait_is_a_record_of_its_trace_and_unit_under_the_watermark(void **state)
{
	struct below_message name = { .kind = BELOW_NAME,
		.name = {
		    3, "main;append() at dd.c:27;pthread_mutex_lock", "append", "dd.c", "", 27 } };
	struct below_message asked;
	struct arena a = { 0 };
	uint8_t packet[BELOW_MESSAGE_MAX];
	struct stage g;
	ssize_t n;
	(void)state;

	stage_open(&g);
	stage_attach(&g);
	assert_true(source_below_follow(
	    g.below, &(struct below_follow){ .pid = 50, .offset = -8 }, "cart"));
	n = recv(g.peer, packet, sizeof packet, 0);
	assert_int_equal(below_decode(&asked, &a, packet, (size_t)n, NULL), 0);
	assert_true(asked.kind == BELOW_FOLLOW && asked.follow.pid == 50);
	say(&g, (struct below_message){ .kind = BELOW_CAN, .can = { BELOW_CAN_WAITS, "" } });
	mark(&g, 100 * SECOND);
	poll_at(&g, 100 * SECOND);
	assert_int_equal(state_of(&g), SOURCE_BELOW_ACTIVE);
	say(&g, name);
	say(&g, wait_of(50, 100 * SECOND + 5, 100 * SECOND + 90, 3));
	say(&g, wait_of(50, 100 * SECOND + 1, 100 * SECOND + 70, 0));
	mark(&g, 100 * SECOND + 80);
	poll_at(&g, 101 * SECOND);
	assert_int_equal(g.out.watermark_ns, 100 * SECOND + 80);
	assert_int_equal(g.out.nrecords, 1); /* the other one ended later */
	assert_string_equal(label_text(&g, 0), "cart/below:lock()");
	mark(&g, 100 * SECOND + 99);
	poll_at(&g, 101 * SECOND + 1);
	assert_int_equal(g.out.nrecords, 1);
	assert_string_equal(
	    label_text(&g, 0), "cart/below:lock(main;append() at dd.c:27;pthread_mutex_lock)");
	assert_int_equal(g.out.records[0].trace_id, 7);
	assert_int_equal(g.out.records[0].unit_id, 8);
	assert_int_equal(g.out.records[0].time_ns, 100 * SECOND + 90);
	assert_int_equal(g.out.records[0].values[0].u, 85); /* off_ns */
	assert_int_equal(g.out.records[0].values[1].u, 0);
	assert_int_equal(g.out.nlosses, 0);
	arena_release(&a);
	stage_close(&g);
}

/* The innermost entries are kept, and the label ends as labels with a name do. */
static void
a_long_stack_is_cut_at_its_beginning(void **state)
{
	char folded[BELOW_FOLDED_MAX + 1];
	const char *text;
	struct stage g;
	size_t len = 0;
	(void)state;

	for (int i = 0; i < 60; i++)
		len += (size_t)snprintf(folded + len, sizeof folded - len, "outer_%03d;", i);
	snprintf(folded + len, sizeof folded - len, "append() at dd.c:27;fsync");
	stage_open(&g);
	stage_attach(&g);
	assert_true(source_below_follow(
	    g.below, &(struct below_follow){ .pid = 50, .offset = -8 }, "cart"));
	say(&g, (struct below_message){ .kind = BELOW_CAN, .can = { BELOW_CAN_WAITS, "" } });
	mark(&g, 100 * SECOND);
	poll_at(&g, 100 * SECOND);
	say(&g, (struct below_message){
		    .kind = BELOW_NAME, .name = { 3, folded, "append", "dd.c", "fsync", 27 } });
	for (int s = 0; s < BELOW_STATES; s++) {
		struct below_message w = wait_of(50, 100 * SECOND + 1, 100 * SECOND + 2 + s, 3);

		w.wait.state = (uint8_t)s;
		say(&g, w);
	}
	mark(&g, 100 * SECOND + 99);
	poll_at(&g, 101 * SECOND);
	assert_int_equal(g.out.nrecords, BELOW_STATES);
	for (uint32_t i = 0; i < g.out.nrecords; i++) {
		text = label_text(&g, i);
		len = strlen(text);
		assert_true(len > strlen("append() at dd.c:27;fsync)"));
		assert_string_equal(text + len - strlen("append() at dd.c:27;fsync)"),
		    "append() at dd.c:27;fsync)");
	}
	stage_close(&g);
}

static void
what_it_loses_is_a_loss_with_its_time_span(void **state)
{
	struct stage g;
	(void)state;

	stage_open(&g);
	stage_attach(&g);
	assert_true(source_below_follow(
	    g.below, &(struct below_follow){ .pid = 50, .offset = -8 }, "cart"));
	say(&g, (struct below_message){ .kind = BELOW_CAN, .can = { BELOW_CAN_WAITS, "" } });
	mark(&g, 100 * SECOND);
	poll_at(&g, 100 * SECOND);
	say(&g, (struct below_message){ .kind = BELOW_LOST, .lost = { 9, 5, 6 } });
	say(&g, wait_of(51, 100 * SECOND + 1, 100 * SECOND + 2, 0)); /* is not followed */
	poll_at(&g, 100 * SECOND + 10);
	assert_int_equal(g.out.nlosses, 2);
	assert_true(g.out.losses[0].count == 9 && g.out.losses[0].from_ns == 5 &&
		    g.out.losses[0].to_ns == 6);
	assert_true(g.out.losses[1].count == 1 && g.out.losses[1].from_ns == 100 * SECOND + 1);
	close(g.peer); /* it was killed: what it saw since its last mark is lost */
	g.peer = -1;
	poll_at(&g, 100 * SECOND + 500);
	assert_int_equal(state_of(&g), SOURCE_BELOW_IDLE);
	assert_int_equal(g.out.nlosses, 1);
	assert_true(
	    g.out.losses[0].from_ns == 100 * SECOND && g.out.losses[0].to_ns == 100 * SECOND + 500);
	assert_int_equal(g.out.watermark_ns, 100 * SECOND + 500);
	stage_close(&g);
}

/* Of these messages, each `nth` is dropped on the way, without a word. Each wait between two marks is a record, or lies in a loss. */
static void
drop_each(uint32_t nth)
{
	enum { TURNS = 200, A_TURN = 12 };
	uint64_t number = 0, dropped = 0, told = 0;
	int64_t at = 100 * SECOND;
	struct stage g;
	struct rng rng;

	rng_seed(&rng, nth);
	stage_open(&g);
	stage_attach(&g);
	source_below_follow(g.below, &(struct below_follow){ .pid = 50, .offset = -8 }, "cart");
	say(&g, (struct below_message){
		    .kind = BELOW_CAN, .number = ++number, .can = { BELOW_CAN_WAITS, "" } });
	say(&g, (struct below_message){ .kind = BELOW_MARK, .number = ++number, .mark_ns = at });
	poll_at(&g, at);
	for (int turn = 0; turn < TURNS; turn++) {
		int64_t lost_ns[A_TURN];
		uint32_t n = (uint32_t)rng_below(&rng, A_TURN), nlost = 0, ncame = 0;

		for (uint32_t i = 0; i < n; i++) {
			struct below_message m = wait_of(50, at + 1, at + 100, 0);

			at += 100;
			m.number = ++number;
			if (number % nth == 0) {
				lost_ns[nlost++] = at;
				continue;
			}
			say(&g, m);
			ncame++;
		}
		at += 10;
		/* What hone-below knows of is told once. */
		if (turn % 7 == 0 && nlost > 0) {
			say(&g, (struct below_message){ .kind = BELOW_LOST,
				    .number = ++number,
				    .lost = { nlost, lost_ns[0], lost_ns[nlost - 1], nlost } });
		}
		say(&g, (struct below_message){
			    .kind = BELOW_MARK, .number = ++number, .mark_ns = at });
		poll_at(&g, at);
		assert_int_equal(g.out.nrecords, ncame);
		assert_int_equal(g.out.nlosses, nlost > 0);
		for (uint32_t i = 0; i < nlost; i++)
			assert_in_range(lost_ns[i], g.out.losses[0].from_ns, g.out.losses[0].to_ns);
		dropped += nlost;
		told += nlost > 0 ? g.out.losses[0].count : 0;
	}
	assert_int_equal(told, dropped);
	assert_true(dropped > 0);
	stage_close(&g);
}

static void
each_message_that_is_missing_is_told_as_a_loss_once(void **state)
{
	(void)state;

	for (uint32_t nth = 2; nth < 40; nth++)
		drop_each(nth);
}

static void
numbers_that_go_back_or_end_are_malformed(void **state)
{
	(void)state;

	for (uint64_t second = 0; second <= 5; second += 5) {
		struct stage g;

		stage_open(&g);
		stage_attach(&g);
		say(&g, (struct below_message){
			    .kind = BELOW_CAN, .number = 5, .can = { BELOW_CAN_WAITS, "" } });
		say(&g, (struct below_message){
			    .kind = BELOW_MARK, .number = second, .mark_ns = 100 * SECOND });
		poll_at(&g, 100 * SECOND);
		assert_int_equal(state_of(&g), SOURCE_BELOW_IDLE);
		stage_close(&g);
	}
}

/* how: it reports all and ends; it reports all, in two polls; it dies before; it is silent. */
static void
what_it_has_not_reported_when_it_was_ended_is_a_loss(void **state)
{
	(void)state;

	for (int how = 0; how < 4; how++) {
		struct source_below_status s;
		struct stage g;

		stage_open(&g);
		stage_attach(&g);
		assert_true(source_below_follow(
		    g.below, &(struct below_follow){ .pid = 50, .offset = -8 }, "cart"));
		say(&g,
		    (struct below_message){ .kind = BELOW_CAN, .can = { BELOW_CAN_WAITS, "" } });
		mark(&g, 100 * SECOND);
		poll_at(&g, 100 * SECOND);
		source_below_end(g.below, (struct mono){ 100 * SECOND + 70 });
		assert_int_equal(state_of(&g), SOURCE_BELOW_ENDING);
		if (how < 2)
			say(&g, wait_of(50, 100 * SECOND + 20, 100 * SECOND + 60, 0));
		if (how == 1)
			poll_at(&g, 100 * SECOND + 75);
		if (how < 2)
			mark(&g, 100 * SECOND + 72);
		if (how % 2 == 0) {
			close(g.peer);
			g.peer = -1;
		}
		poll_at(&g, how < 3 ? 100 * SECOND + 80 : 103 * SECOND);
		assert_int_equal(state_of(&g), SOURCE_BELOW_IDLE);
		assert_int_equal(g.out.nrecords, how < 2);
		assert_int_equal(g.out.nlosses, how >= 2);
		assert_true(how < 2 || (g.out.losses[0].from_ns == 100 * SECOND &&
					   g.out.losses[0].to_ns == 100 * SECOND + 70));
		poll_at(&g, 104 * SECOND);
		assert_int_equal(g.out.nlosses, 0);
		source_below_look(g.below, &s);
		assert_int_equal(s.deaths, 0);
		stage_close(&g);
	}
}

static void
it_is_active_when_the_watermark_waits_for_it(void **state)
{
	struct stage g;
	(void)state;

	stage_open(&g);
	for (int i = 0; i < 2; i++) { /* the second one's abilities are known before */
		stage_attach(&g);
		say(&g,
		    (struct below_message){ .kind = BELOW_CAN, .can = { BELOW_CAN_WAITS, "" } });
		poll_at(&g, (100 + i) * SECOND + 20);
		assert_int_equal(state_of(&g), SOURCE_BELOW_STARTING);
		assert_int_equal(g.out.watermark_ns, (100 + i) * SECOND + 20);
		mark(&g, (100 + i) * SECOND + 30);
		poll_at(&g, (100 + i) * SECOND + 40);
		assert_int_equal(state_of(&g), SOURCE_BELOW_ACTIVE);
		assert_int_equal(g.out.watermark_ns, (100 + i) * SECOND + 30);
		source_below_end(g.below, g.now);
		close(g.peer);
		g.peer = -1;
	}
	stage_close(&g);
}

/* As the one that is started to find out what a node can do. */
static void
one_that_followed_nothing_loses_nothing_when_it_ends(void **state)
{
	(void)state;

	for (int dies = 0; dies < 2; dies++) {
		struct stage g;

		stage_open(&g);
		stage_attach(&g);
		say(&g,
		    (struct below_message){ .kind = BELOW_CAN, .can = { BELOW_CAN_WAITS, "" } });
		mark(&g, 100 * SECOND);
		poll_at(&g, 100 * SECOND);
		if (dies) {
			close(g.peer);
			g.peer = -1;
		} else {
			source_below_end(g.below, (struct mono){ 100 * SECOND + 300 });
		}
		poll_at(&g, 100 * SECOND + 500);
		assert_int_equal(state_of(&g), SOURCE_BELOW_IDLE);
		assert_int_equal(g.out.nlosses, 0);
		stage_close(&g);
	}
}

static void
one_that_is_silent_does_not_hold_others_back(void **state)
{
	struct source_below_status s;
	struct stage g;
	(void)state;

	stage_open(&g);
	stage_attach(&g);
	poll_at(&g, 105 * SECOND); /* it starts */
	assert_int_equal(g.out.watermark_ns, 105 * SECOND);
	poll_at(&g, 111 * SECOND);
	assert_int_equal(state_of(&g), SOURCE_BELOW_IDLE);
	close(g.peer);
	stage_attach(&g);
	say(&g, (struct below_message){ .kind = BELOW_CAN, .can = { 0, "no CAP_BPF" } });
	mark(&g, 111 * SECOND);
	poll_at(&g, 111 * SECOND);
	poll_at(&g, 112 * SECOND);
	assert_int_equal(g.out.watermark_ns, 111 * SECOND);
	poll_at(&g, 114 * SECOND);
	assert_int_equal(g.out.watermark_ns, 114 * SECOND);
	source_below_look(g.below, &s);
	assert_true(s.state == SOURCE_BELOW_IDLE && s.deaths == 2 && s.known && s.can == 0);
	assert_string_equal(s.missing, "no CAP_BPF");
	stage_close(&g);
}

static void
one_that_switches_probes_may_be_silent_for_longer(void **state)
{
	(void)state;

	/* 0: it answers, and is silent then; 1: it does not answer; 2: another one was asked; 3: its send failed */
	for (int how = 0; how < 4; how++) {
		const struct below_probe p = { 7, 0, "usdt.postgresql:query__start", true, 1 };
		struct stage g;

		stage_open(&g);
		stage_attach(&g);
		say(&g,
		    (struct below_message){ .kind = BELOW_CAN, .can = { BELOW_CAN_PROBES, "" } });
		mark(&g, 100 * SECOND);
		poll_at(&g, 100 * SECOND);
		if (how == 2) {
			assert_true(source_below_probe(g.below, &p));
			close(g.peer);
			g.peer = -1;
			poll_at(&g, 100 * SECOND);
			stage_attach(&g);
			mark(&g, 100 * SECOND);
			poll_at(&g, 100 * SECOND);
		} else if (how == 3) {
			while (source_below_probe(g.below, &p))
				;
			for (char rest[BELOW_MESSAGE_MAX];
			     recv(g.peer, rest, sizeof rest, MSG_DONTWAIT) > 0;)
				;
			say(&g, (struct below_message){
				    .kind = BELOW_PROBED, .probed = { 7, true, "" } });
			mark(&g, 100 * SECOND + 1);
			poll_at(&g, 100 * SECOND + 1);
		} else {
			assert_true(source_below_probe(g.below, &p));
			assert_true(source_below_probe(g.below, &p));
		}
		if (how == 0) {
			say(&g, (struct below_message){
				    .kind = BELOW_PROBED, .probed = { 7, true, "" } });
			say(&g, (struct below_message){
				    .kind = BELOW_PROBED, .probed = { 7, true, "" } });
			poll_at(&g, 100 * SECOND + 1);
		}
		poll_at(&g, 103 * SECOND);
		assert_int_equal(state_of(&g), how == 1 ? SOURCE_BELOW_ACTIVE : SOURCE_BELOW_IDLE);
		poll_at(&g, 111 * SECOND);
		assert_int_equal(state_of(&g), SOURCE_BELOW_IDLE);
		stage_close(&g);
	}
}

static void
a_malformed_message_ends_it(void **state)
{
	struct stage g;
	(void)state;

	stage_open(&g);
	stage_attach(&g);
	assert_int_equal(send(g.peer, "\xff", 1, 0), 1);
	poll_at(&g, 100 * SECOND);
	assert_int_equal(state_of(&g), SOURCE_BELOW_IDLE);
	close(g.peer);
	stage_attach(&g);
	say(&g, (struct below_message){ .kind = BELOW_LEASE, .lease_ms = 1 });
	poll_at(&g, 100 * SECOND);
	assert_int_equal(state_of(&g), SOURCE_BELOW_IDLE);
	stage_close(&g);
}

static void
its_cpu_time_is_summed_over_all_of_them(void **state)
{
	struct source_below_status s;
	struct stage g;
	(void)state;

	stage_open(&g);
	for (int i = 0; i < 2; i++) {
		stage_attach(&g);
		say(&g, (struct below_message){ .kind = BELOW_COST, .cost_cpu_us = 30 });
		say(&g, (struct below_message){ .kind = BELOW_COST, .cost_cpu_us = 50 });
		poll_at(&g, 100 * SECOND);
		source_below_end(g.below, g.now);
		close(g.peer);
		g.peer = -1;
	}
	source_below_look(g.below, &s);
	assert_true(s.cpu_us == 100 && s.deaths == 0);
	stage_close(&g);
}

static void
say_cost(struct stage *g, int64_t at_ns, int64_t cpu_us)
{
	say(g, (struct below_message){ .kind = BELOW_COST, .cost_cpu_us = cpu_us });
	mark(g, at_ns);
	poll_at(g, at_ns);
}

/* Once: for what it reads of a process when it begins to follow it. Later it costs what it reports. */
static void
what_it_takes_to_begin_is_told_apart(void **state)
{
	const struct below_follow process = { .pid = 5, .flags = BELOW_FOLLOW_WAITS },
				  other = { .pid = 6, .flags = BELOW_FOLLOW_WAITS };
	int64_t at = 100 * SECOND;
	struct source_below_status s;
	struct stage g;
	(void)state;

	stage_open(&g);
	stage_attach(&g);
	say(&g, (struct below_message){ .kind = BELOW_CAN, .can = { BELOW_CAN_WAITS, "" } });
	say_cost(&g, at, 50);
	say_cost(&g, at += SECOND, 60);
	at += BELOW_BEGINS_NS;
	say_cost(&g, at, 70);
	source_below_look(g.below, &s);
	assert_true(s.cpu_us == 70 && s.begin_cpu_us == 60);
	assert_true(source_below_follow(g.below, &process, "cart")); /* soon after */
	say_cost(&g, at += SECOND, 80);
	source_below_look(g.below, &s);
	assert_true(s.cpu_us == 80 && s.begin_cpu_us == 60);
	source_below_unfollow(g.below, process.pid);
	say_cost(&g, at += BELOW_BEGINS_EVERY_NS, 80);
	assert_true(source_below_follow(g.below, &other, "cart"));
	say_cost(&g, at += SECOND, 110);
	at += BELOW_BEGINS_NS;
	say_cost(&g, at, 111);
	source_below_look(g.below, &s);
	assert_true(s.cpu_us == 111 && s.begin_cpu_us == 90);
	stage_close(&g);
}

static void
a_hit_of_a_probe_is_a_point_with_its_arguments(void **state)
{
	const struct batch_label *labels;
	uint32_t nlabels;
	struct below_hit hits[] = { { 7, 50, 51, 9, 10, 100 * SECOND + 5, 2, { -3, 4 }, "SELECT" },
		{ 8, 50, 51, 9, 10, 100 * SECOND + 6, 2, { -3, 4 }, "" } }; /* nobody asked for 8 */
	struct source_stats stats;
	struct stage g;
	(void)state;

	stage_open(&g);
	stage_attach(&g);
	assert_true(source_below_follow(
	    g.below, &(struct below_follow){ .pid = 50, .flags = BELOW_FOLLOW_ALL }, "postgres"));
	assert_true(source_below_probe(
	    g.below, &(struct below_probe){ 7, 0, "usdt.postgresql:query__start", true, 1 }));
	say(&g, (struct below_message){ .kind = BELOW_CAN, .can = { BELOW_CAN_PROBES, "" } });
	say(&g, (struct below_message){ .kind = BELOW_LISTED,
		    .listed = { 50, true, "usdt.postgresql:query__start\n" } });
	say(&g, (struct below_message){ .kind = BELOW_PROBED, .probed = { 7, true, "no" } });
	mark(&g, 100 * SECOND);
	poll_at(&g, 100 * SECOND);
	assert_true(answer.pid == 50 && answer.id == 7 && strcmp(answer.reason, "no") == 0);
	assert_string_equal(answer.names, "usdt.postgresql:query__start\n");
	say(&g, (struct below_message){ .kind = BELOW_HITS, .hits = { 2, hits } });
	mark(&g, 100 * SECOND + 80);
	poll_at(&g, 101 * SECOND);
	assert_int_equal(g.out.nrecords, 1);
	assert_string_equal(label_text(&g, 0), "postgres/usdt.postgresql:query__start");
	assert_true(g.out.records[0].trace_id == 9 && g.out.records[0].tid == 51 &&
		    g.out.records[0].nvalues == 3 && g.out.records[0].values[0].i == -3);
	assert_memory_equal(g.out.records[0].values[2].text, "SELECT", 6);
	labels = g.source.labels(g.source.state, &nlabels);
	assert_string_equal(labels[g.out.records[0].label].fields[2], "word0");
	g.source.stats(g.source.state, &stats);
	assert_int_equal(stats.lost[LOSS_RING], 1);
	stage_close(&g);
}

static void
programs_without_lttng_are_among_its_processes(void **state)
{
	struct source_process list[] = {
		{ .service = "postgres", .pid = 50, .probes_only = true }
	};
	struct source_stats stats;
	struct stage g;
	(void)state;

	stage_open(&g);
	assert_true(source_below_programs(g.below, list, 1));
	list[0].service = NULL;
	g.source.stats(g.source.state, &stats);
	assert_true(stats.nprocesses == 1 && stats.changes == 1 && stats.processes[0].pid == 50);
	assert_string_equal(stats.processes[0].service, "postgres");
	assert_true(source_below_programs(g.below, NULL, 0));
	g.source.stats(g.source.state, &stats);
	assert_true(stats.nprocesses == 0 && stats.changes == 2);
	stage_close(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_none_runs_the_watermark_is_the_present),
		cmocka_unit_test(a_wait_is_a_record_of_its_trace_and_unit_under_the_watermark),
		cmocka_unit_test(a_long_stack_is_cut_at_its_beginning),
		cmocka_unit_test(a_hit_of_a_probe_is_a_point_with_its_arguments),
		cmocka_unit_test(programs_without_lttng_are_among_its_processes),
		cmocka_unit_test(what_it_loses_is_a_loss_with_its_time_span),
		cmocka_unit_test(each_message_that_is_missing_is_told_as_a_loss_once),
		cmocka_unit_test(numbers_that_go_back_or_end_are_malformed),
		cmocka_unit_test(what_it_has_not_reported_when_it_was_ended_is_a_loss),
		cmocka_unit_test(it_is_active_when_the_watermark_waits_for_it),
		cmocka_unit_test(one_that_followed_nothing_loses_nothing_when_it_ends),
		cmocka_unit_test(one_that_is_silent_does_not_hold_others_back),
		cmocka_unit_test(one_that_switches_probes_may_be_silent_for_longer),
		cmocka_unit_test(a_malformed_message_ends_it),
		cmocka_unit_test(its_cpu_time_is_summed_over_all_of_them),
		cmocka_unit_test(what_it_takes_to_begin_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
