/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When hone-below is started: its starter, and hone-below itself, are played by the test. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/main/agent_below.h"
#include "agent/main/agent_probes.h"

struct node { /* an agent that is connected, and nothing is wanted of it */
	struct agent agent;
	struct agent_config config;
	struct below_start start;
	int starter; /* the starter's end */
	int peer;    /* hone-below's end; -1: none runs */
	struct mono now;
};

static void
keep_quiet(enum log_level level, const char *text)
{
	(void)level;
	(void)text;
}

/* ---- the tracer's records ---- */

static int
no_records(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	(void)state;
	(void)e;
	*ret = (struct source_output){ .watermark_ns = now.ns };
	return 0;
}

static void
no_stats(void *state, struct source_stats *ret)
{
	(void)state;
	*ret = (struct source_stats){ .trouble = "" };
}

static const struct batch_label *
no_labels(void *state, uint32_t *count)
{
	(void)state;
	*count = 0;
	return NULL;
}

static void
no_close(void *state)
{
	(void)state;
}

/* ---- the node ---- */

static void
open_session(struct node *n)
{
	const struct source plain = { n, no_records, no_stats, no_labels, no_close };
	struct err e;

	assert_int_equal(below_source(&n->agent, &n->agent.records.source, &plain, &e), 0);
}

static void
close_session(struct node *n)
{
	below_source_closed(&n->agent);
	n->agent.records.source.close(n->agent.records.source.state);
}

static void
begin(struct node *n)
{
	int ends[2];

	*n = (struct node){ .config = { .node = "n", .probes = true }, .peer = -1 };
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	n->start.to = ends[0];
	n->starter = ends[1];
	n->now = clock_mono();
	n->agent.config = &n->config;
	n->agent.log = keep_quiet;
	n->agent.reconcile = reconcile_new();
	n->agent.inventory = inventory_new();
	n->agent.control.connected = true;
	n->agent.below.start = &n->start;
	open_session(n);
}

static void
end(struct node *n)
{
	close_session(n);
	probes_release(&n->agent);
	reconcile_free(n->agent.reconcile);
	inventory_free(n->agent.inventory);
	below_release(&n->agent);
	close(n->starter);
	if (n->peer >= 0)
		close(n->peer);
}

/* The agent has asked its starter for a hone-below since the last call. */
static bool
started(struct node *n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof control.room };

	if (recvmsg(n->starter, &m, MSG_DONTWAIT) != 1)
		return false;
	if (n->peer >= 0)
		close(n->peer);
	memcpy(&n->peer, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof n->peer);
	return true;
}

/* A turn of the agent, a tenth of a second after the last one. True: hone-below was started. */
static bool
tenth(struct node *n)
{
	struct source_output out;
	struct err e;

	n->now.ns += SECOND / 10;
	n->agent.records.source.poll(n->agent.records.source.state, n->now, &out, &e);
	below_turn(&n->agent, n->now);
	return started(n);
}

/* So many seconds; how often hone-below was started. */
static int
turns(struct node *n, int seconds)
{
	int times = 0;

	for (int i = 0; i < seconds * 10; i++)
		times += tenth(n);
	return times;
}

/* The agent may have ended it. */
static void
say(struct node *n, struct below_message m)
{
	struct buf b = { 0 };

	below_encode(&m, &b);
	send(n->peer, b.data, b.len, MSG_NOSIGNAL);
	buf_release(&b);
}

/* Tenths of a second in which hone-below answers what it is asked, without names of probes. */
static int
turns_playing(struct node *n, int tenths)
{
	uint8_t packet[BELOW_MESSAGE_MAX];
	struct arena a = { 0 };
	int times = 0;

	for (int i = 0; i < tenths; i++) {
		struct below_message m;
		ssize_t len;

		if (tenth(n)) {
			times++;
			say(n, (struct below_message){
				   .kind = BELOW_CAN, .can = { BELOW_CAN_PROBES, "" } });
		}
		while (n->peer >= 0 &&
		       (len = recv(n->peer, packet, sizeof packet, MSG_DONTWAIT)) > 0 &&
		       below_decode(&m, &a, packet, (size_t)len, NULL) == 0)
			if (m.kind == BELOW_LIST)
				say(n, (struct below_message){
					   .kind = BELOW_LISTED, .listed = { m.list, true, "" } });
		say(n, (struct below_message){ .kind = BELOW_MARK, .mark_ns = n->now.ns });
	}
	arena_release(&a);
	return times;
}

/* hone-below runs until the agent has what it can do. */
static void
answer(struct node *n, uint32_t can)
{
	say(n, (struct below_message){ .kind = BELOW_CAN, .can = { can, can != 0 ? "" : "no" } });
	if (can != 0)
		say(n, (struct below_message){ .kind = BELOW_MARK, .mark_ns = n->now.ns });
	assert_int_equal(turns(n, 1), 0);
}

static void
what_it_can_do_is_tried_once_however_often_the_session_is_made_anew(void **state)
{
	static const uint32_t can[] = { 0, BELOW_CAN_WAITS, BELOW_CAN_WAITS | BELOW_CAN_PROBES };
	(void)state;

	for (size_t i = 0; i < sizeof can / sizeof *can; i++) {
		struct node n;
		int again = 0;

		begin(&n);
		assert_int_equal(turns(&n, 1), 1);
		answer(&n, can[i]);
		for (int k = 0; k < 100; k++) { /* the tracer loses it each second */
			close_session(&n);
			open_session(&n);
			again += turns(&n, 1);
		}
		assert_int_equal(again, 0);
		again = turns(&n, 400);
		assert_int_equal(again > 0, can[i] == 0); /* it may have been permitted since */
		end(&n);
	}
}

/* The same session, in which a process runs for half of each second. */
static int
starts_for_processes(struct node *n, int seconds, uint64_t program)
{
	int starts = 0;
	struct err e;

	for (uint32_t i = 1; i <= (uint32_t)seconds; i++) {
		const struct inventory_process p = { "short", 1000 + i, false, true,
			program != 0 ? program + i : 0 };

		assert_int_equal(inventory_run(n->agent.inventory, &p, 1, &e), 0);
		starts += turns_playing(n, 5);
		assert_int_equal(inventory_run(n->agent.inventory, NULL, 0, &e), 0);
		starts += turns_playing(n, 5);
	}
	return starts;
}

static void
short_processes_whose_file_is_unknown_do_not_start_it_each_time(void **state)
{
	struct node n;
	(void)state;

	begin(&n);
	assert_int_equal(turns(&n, 1), 1);
	answer(&n, BELOW_CAN_PROBES);
	assert_in_range(
	    starts_for_processes(&n, 600, 0), 5, 10);      /* at 0, 5, 15, 35, 75, 155, 315 s */
	assert_true(starts_for_processes(&n, 20, 7) > 15); /* other files may have probes */
	end(&n);
}

static void
one_that_dies_is_started_less_and_less_often_also_in_new_sessions(void **state)
{
	struct node n;
	int starts = 0;
	(void)state;

	begin(&n);
	for (int k = 0; k < 300; k++) {
		starts += turns(&n, 1);
		if (n.peer >= 0)
			close(n.peer);
		n.peer = -1;
		turns(&n, 1);
		close_session(&n);
		open_session(&n);
	}
	assert_in_range(starts, 5, 20); /* at 0, 1, 3, 7, 15, 31, 63 s and each minute, of ten */
	end(&n);
}

static void
a_starter_that_has_ended_is_asked_less_and_less_often(void **state)
{
	struct node n;
	(void)state;

	begin(&n);
	close(n.starter);
	turns(&n, 1);
	assert_int_equal(n.agent.below.retry_ns, SECOND);
	turns(&n, 300);
	assert_int_equal(n.agent.below.retry_ns, 60 * SECOND);
	n.starter = dup(0);
	end(&n);
}

static void
one_that_could_do_nothing_is_tried_again_soon_after_a_start_that_failed(void **state)
{
	struct node n;
	int to;
	(void)state;

	begin(&n);
	assert_int_equal(turns(&n, 1), 1);
	answer(&n, 0);
	to = n.start.to;
	n.start.to = 0;
	assert_int_equal(turns(&n, 400), 0); /* the first try that fails is after 300 s */
	assert_in_range(n.agent.below.retry_ns, 32 * SECOND, 60 * SECOND);
	n.start.to = to;
	assert_int_equal(turns(&n, 61), 1);
	end(&n);
}

static void
a_new_session_is_not_taken_for_one_with_many_waits_outside_of_requests(void **state)
{
	struct node n;
	(void)state;

	begin(&n);
	assert_int_equal(turns(&n, 1), 1);
	say(&n, (struct below_message){ .kind = BELOW_CAN, .can = { BELOW_CAN_WAITS, "" } });
	say(&n, (struct below_message){ .kind = BELOW_SAMPLE,
		    .sample = { .pid = 1, .tid = 1, .time_ns = n.now.ns, .weight_ns = 1 } });
	turns(&n, 2);
	assert_int_equal(n.agent.below.outside, 1);
	close_session(&n);
	open_session(&n);
	turns(&n, 3);
	assert_int_equal(n.agent.below.before_off.ns, 0);
	end(&n);
}

static void
a_program_that_was_not_listed_when_it_died_needs_no_pause(void **state)
{
	static const struct inventory_process p = { "long", 1000, false, true, 0 };
	struct node n;
	struct err e;
	(void)state;

	begin(&n);
	assert_int_equal(turns(&n, 1), 1);
	answer(&n, BELOW_CAN_PROBES);
	assert_int_equal(inventory_run(n.agent.inventory, &p, 1, &e), 0);
	assert_true(tenth(&n));
	close(n.peer); /* before it has said anything */
	n.peer = -1;
	tenth(&n);
	assert_int_equal(n.agent.probes.fileless_ns, 0);
	assert_int_equal(turns_playing(&n, 20), 1);
	assert_int_equal(inventory_unprobed(n.agent.inventory, true, NULL), 0);
	end(&n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    what_it_can_do_is_tried_once_however_often_the_session_is_made_anew),
		cmocka_unit_test(short_processes_whose_file_is_unknown_do_not_start_it_each_time),
		cmocka_unit_test(one_that_dies_is_started_less_and_less_often_also_in_new_sessions),
		cmocka_unit_test(a_starter_that_has_ended_is_asked_less_and_less_often),
		cmocka_unit_test(
		    one_that_could_do_nothing_is_tried_again_soon_after_a_start_that_failed),
		cmocka_unit_test(a_program_that_was_not_listed_when_it_died_needs_no_pause),
		cmocka_unit_test(
		    a_new_session_is_not_taken_for_one_with_many_waits_outside_of_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
