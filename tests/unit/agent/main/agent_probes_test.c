/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone-below is played by the test. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/main/agent_probes.h"

enum { LEASE_MS = 600000 };

struct probed { /* an agent with an open session, and a program with two probes */
	struct agent agent;
	struct agent_config config;
	int peer; /* hone-below's end */
	uint64_t epoch;
};

static void
keep_quiet(enum log_level level, const char *text)
{
	(void)level;
	(void)text;
}

static void
say(struct probed *t, struct below_message m)
{
	struct buf b = { 0 };

	below_encode(&m, &b);
	assert_int_equal(send(t->peer, b.data, b.len, 0), b.len);
	buf_release(&b);
}

/* What the agent asked next; kind 0: nothing. Texts are valid until the next call. */
static struct below_message
asked(struct probed *t)
{
	static struct arena a;
	static uint8_t packet[BELOW_MESSAGE_MAX];
	struct below_message m = { 0 };
	ssize_t n = recv(t->peer, packet, sizeof packet, MSG_DONTWAIT);

	arena_release(&a);
	if (n > 0)
		assert_int_equal(below_decode(&m, &a, packet, (size_t)n, NULL), 0);
	return m;
}

static void
read_answers(struct probed *t)
{
	struct source_output out;
	struct err e;

	assert_int_equal(
	    t->agent.records.source.poll(t->agent.records.source.state, clock_mono(), &out, &e), 0);
}

static void
want(struct probed *t, const char *first, const char *second)
{
	struct toggle toggles[] = { { first }, { second } };
	const struct want w = { .epoch = ++t->epoch,
		.lease_ms = LEASE_MS,
		.ntoggles = (first != NULL) + (second != NULL),
		.toggles = toggles };
	struct err e;

	assert_int_equal(reconcile_want(t->agent.reconcile, &w, clock_mono(), &e), 0);
}

/* The result of the first tracepoint that is wanted; -1: not done yet. */
static int
result(struct probed *t)
{
	struct done d;

	return reconcile_done(t->agent.reconcile, clock_mono(), probes_exist, &t->agent, &d)
	           ? d.results[0]
	           : -1;
}

static void
begin(struct probed *t)
{
	static const struct inventory_process postgres = { "postgres", 40, false, true, 4 };
	const struct source_below_answers answers = probes_answers(&t->agent);
	int ends[2];
	struct err e;

	*t = (struct probed){ .config = { .node = "n", .probes = true } };
	t->agent.config = &t->config;
	t->agent.log = keep_quiet;
	t->agent.reconcile = reconcile_new();
	t->agent.inventory = inventory_new();
	t->agent.control.connected = true;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	t->peer = ends[1];
	assert_int_equal(
	    source_below_open(&t->agent.records.source, &t->agent.below.source, &answers, &e), 0);
	source_below_attach(t->agent.below.source, ends[0], clock_mono());
	assert_int_equal(inventory_run(t->agent.inventory, &postgres, 1, &e), 0);
}

/* Its probes are listed. */
static void
list(struct probed *t)
{
	assert_true(probes_need(&t->agent, clock_mono()));
	probes_turn(&t->agent, true, clock_mono());
	assert_true(asked(t).kind == BELOW_LIST);
	say(t, (struct below_message){ .kind = BELOW_LISTED,
		   .listed = { 40, true, "usdt.pg:query__start\nusdt.pg:query__done\n" } });
	read_answers(t);
	assert_false(probes_need(&t->agent, clock_mono()));
	assert_true(t->agent.control.programs_due);
}

static void
end(struct probed *t)
{
	probes_release(&t->agent);
	t->agent.records.source.close(t->agent.records.source.state);
	reconcile_free(t->agent.reconcile);
	inventory_free(t->agent.inventory);
	close(t->peer);
	asked(&(struct probed){ .peer = -1 });
}

static void
a_wildcard_is_on_when_all_that_it_matches_are(void **state)
{
	struct below_message one, other;
	struct probed t;
	(void)state;

	begin(&t);
	list(&t);
	want(&t, "usdt.pg:*", NULL);
	assert_true(probes_need(&t.agent, clock_mono()));
	probes_turn(&t.agent, true, clock_mono());
	one = asked(&t);
	assert_true(one.kind == BELOW_PROBE && one.probe.on);
	assert_string_equal(one.probe.name, "usdt.pg:query__start");
	other = asked(&t);
	assert_true(other.kind == BELOW_PROBE && other.probe.id != one.probe.id);
	say(&t,
	    (struct below_message){ .kind = BELOW_PROBED, .probed = { one.probe.id, true, "" } });
	read_answers(&t);
	assert_int_equal(result(&t), -1);
	say(&t,
	    (struct below_message){ .kind = BELOW_PROBED, .probed = { other.probe.id, true, "" } });
	read_answers(&t);
	assert_int_equal(result(&t), DONE_ON);

	/* one of them stays wanted by its name */
	want(&t, "usdt.pg:query__done", NULL);
	probes_turn(&t.agent, true, clock_mono());
	one = asked(&t);
	assert_true(one.kind == BELOW_PROBE && !one.probe.on);
	assert_string_equal(one.probe.name, "usdt.pg:query__start");
	assert_int_equal(asked(&t).kind, 0);
	end(&t);
}

static void
a_function_is_asked_for_in_a_process_of_its_service_as_soon_as_one_runs(void **state)
{
	static const struct source_process programs[] = { { .service = "shop", .pid = 30 },
		{ .service = "postgres", .pid = 40 } };
	struct source_stats *s;
	struct below_message m;
	struct probed t;
	(void)state;

	begin(&t);
	list(&t);
	s = &t.agent.records.stats;
	want(&t, "func.postgres:ExecScan_start", NULL);
	probes_turn(&t.agent, true, clock_mono());
	assert_int_equal(asked(&t).kind, 0); /* none runs */
	assert_int_equal(result(&t), DONE_NO_SUCH);
	s->processes = programs;
	s->nprocesses = 2;
	assert_true(
	    probes_follow(&t.agent, &programs[1]) && !probes_follow(&t.agent, &programs[0]));
	probes_turn(&t.agent, true, clock_mono());
	m = asked(&t);
	assert_true(m.kind == BELOW_PROBE && m.probe.on && m.probe.pid == 40);
	assert_string_equal(m.probe.name, "func.postgres:ExecScan_start");
	say(&t, (struct below_message){ .kind = BELOW_PROBED, .probed = { m.probe.id, true, "" } });
	read_answers(&t);
	assert_true(probes_exist(&t.agent, "func.postgres:ExecScan_start"));
	assert_false(probes_exist(&t.agent, "func.postgres:ExecScan_done"));
	want(&t, NULL, NULL);
	probes_turn(&t.agent, true, clock_mono());
	m = asked(&t);
	assert_true(m.kind == BELOW_PROBE && !m.probe.on);
	end(&t);
}

static void
a_probe_that_is_passed_too_often_fails_and_is_not_tried_again_soon(void **state)
{
	struct below_message m;
	struct probed t;
	(void)state;

	begin(&t);
	list(&t);
	want(&t, "usdt.pg:query__start", NULL);
	probes_turn(&t.agent, true, clock_mono());
	m = asked(&t);
	say(&t, (struct below_message){ .kind = BELOW_PROBED, .probed = { m.probe.id, true, "" } });
	read_answers(&t);
	assert_int_equal(result(&t), DONE_ON);
	say(&t, (struct below_message){ .kind = BELOW_PROBED,
		    .probed = { m.probe.id, false, "passed 1000000 times a second" } });
	read_answers(&t);
	assert_int_equal(result(&t), DONE_FAILED);
	want(&t, NULL, NULL);
	probes_turn(&t.agent, true, clock_mono());
	want(&t, "usdt.pg:query__start", NULL);
	reconcile_forget(t.agent.reconcile, RECONCILE_PROBES); /* else a second has to pass */
	probes_turn(&t.agent, true, clock_mono());
	assert_int_equal(asked(&t).kind, 0);
	assert_int_equal(result(&t), DONE_FAILED);
	end(&t);
}

static void
a_probe_for_which_there_was_no_room_is_asked_for_again(void **state)
{
	struct below_message m;
	struct probed t;
	(void)state;

	begin(&t);
	list(&t);
	want(&t, "usdt.pg:query__start", NULL);
	probes_turn(&t.agent, true, clock_mono());
	m = asked(&t);
	say(&t, (struct below_message){
		    .kind = BELOW_PROBED, .probed = { m.probe.id, false, "8 are taken", true } });
	read_answers(&t);
	assert_int_equal(result(&t), DONE_FAILED);
	want(&t, NULL, NULL);
	probes_turn(&t.agent, true, clock_mono());
	want(&t, "usdt.pg:query__start", NULL);
	reconcile_forget(t.agent.reconcile, RECONCILE_PROBES); /* else a second has to pass */
	probes_turn(&t.agent, true, clock_mono());
	assert_int_equal(asked(&t).kind, BELOW_PROBE);
	end(&t);
}

static void
after_hone_below_has_ended_all_are_switched_again(void **state)
{
	struct below_message m;
	struct probed t;
	(void)state;

	begin(&t);
	list(&t);
	want(&t, "usdt.pg:query__start", NULL);
	probes_turn(&t.agent, true, clock_mono());
	m = asked(&t);
	probes_ended(&t.agent, clock_mono()); /* before it has answered */
	assert_int_equal(result(&t), -1);
	probes_turn(&t.agent, true, clock_mono());
	assert_true(asked(&t).kind == BELOW_PROBE);
	say(&t, (struct below_message){ .kind = BELOW_PROBED, .probed = { m.probe.id, true, "" } });
	read_answers(&t);
	assert_int_equal(result(&t), DONE_ON);
	end(&t);
}

static void
where_probes_are_not_possible_they_fail_at_once(void **state)
{
	struct probed t;
	(void)state;

	begin(&t);
	t.config.probes = false;
	want(&t, "usdt.pg:query__start", NULL);
	assert_false(probes_need(&t.agent, clock_mono()));
	probes_turn(&t.agent, false, clock_mono());
	assert_int_equal(result(&t), DONE_FAILED);
	end(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wildcard_is_on_when_all_that_it_matches_are),
		cmocka_unit_test(
		    a_function_is_asked_for_in_a_process_of_its_service_as_soon_as_one_runs),
		cmocka_unit_test(
		    a_probe_that_is_passed_too_often_fails_and_is_not_tried_again_soon),
		cmocka_unit_test(a_probe_for_which_there_was_no_room_is_asked_for_again),
		cmocka_unit_test(after_hone_below_has_ended_all_are_switched_again),
		cmocka_unit_test(where_probes_are_not_possible_they_fail_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
