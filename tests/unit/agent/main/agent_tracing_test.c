/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent does with the results of its tracer, which a fake one gives. */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/main/agent_tracing.h"

enum { LEASE_MS = 600000 };

struct traced { /* an agent with an open session */
	struct agent agent;
	struct agent_config config;
	struct guard guard;
	bool fails_on, fails_off, is_on; /* of the tracer: calls that fail, and the tracepoint */
	int opened, closed_sources;
};

static void
keep_quiet(enum log_level level, const char *text)
{
	(void)level;
	(void)text;
}

/* ---- the tracer ---- */

static int
fake_open(void *state, struct tracer_session *ret, struct err *e)
{
	struct traced *t = state;
	(void)ret;

	t->opened++;
	t->is_on = false; /* a new session has no rule */
	return err_set(e, ERR_TRACER, "the test ends here");
}

static int
fake_set(
    void *state, struct tracer_change *changes, uint32_t n, struct tracer_gap *gap, struct err *e)
{
	struct traced *t = state;
	(void)gap;
	(void)e;

	for (uint32_t i = 0; i < n; i++) {
		changes[i].failed = changes[i].on ? t->fails_on : t->fails_off;
		strcpy(changes[i].reason, changes[i].failed ? "it does not want to" : "");
		if (!changes[i].failed)
			t->is_on = changes[i].on;
	}
	return 0;
}

static void
fake_end(void *state)
{
	(void)state;
}

/* ---- its records ---- */

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
source_closed(void *state)
{
	((struct traced *)state)->closed_sources++;
}

/* ---- the agent ---- */

static void
begin(struct traced *t)
{
	struct tracer tracer = {
		.state = t, .open = fake_open, .set = fake_set, .close = fake_end, .free = fake_end
	};
	struct pack_options pack = { 1 << 20, SECOND, SECOND };
	struct err e;

	*t = (struct traced){ .config = {
				  .node = "n", .hang_ns = SECOND, .list_every_ns = SECOND } };
	t->agent.config = &t->config;
	t->agent.guard = &t->guard;
	t->agent.log = keep_quiet;
	t->agent.wake = eventfd(0, 0);
	t->agent.out = outbox_new(1 << 20);
	t->agent.pack = pack_new(&pack, t->agent.out);
	t->agent.reconcile = reconcile_new();
	t->agent.records.source = (struct source){ t, no_records, no_stats, no_labels,
		source_closed };
	t->agent.tracing.session = SESSION_OPEN;
	t->agent.tracing.checked_at = t->agent.tracing.listed_at = clock_mono();
	assert_int_equal(
	    tracer_thread_start(&t->agent.tracer_thread, &tracer, t->agent.wake, &e), 0);
}

static void
end(struct traced *t)
{
	struct err e;

	assert_int_equal(tracer_thread_stop(t->agent.tracer_thread, 20000, &e), 0);
	reconcile_free(t->agent.reconcile);
	pack_free(t->agent.pack);
	outbox_free(t->agent.out);
	close(t->agent.wake);
}

/* The controller wants "p:x", or nothing; the agent gives the tracer its task and takes the result. */
static void
want(struct traced *t, uint64_t epoch, bool on)
{
	struct toggle x = { "p:x" };
	struct want w = { .epoch = epoch, .lease_ms = LEASE_MS, .ntoggles = on, .toggles = &x };
	struct err e;

	assert_int_equal(reconcile_want(t->agent.reconcile, &w, clock_mono(), &e), 0);
}

static void
turn(struct traced *t, struct mono now)
{
	struct pollfd p = { .fd = t->agent.wake, .events = POLLIN };
	eventfd_t n;

	tracing_give_task(&t->agent, now);
	assert_int_equal(poll(&p, 1, 20000), 1);
	eventfd_read(t->agent.wake, &n);
	tracing_take_result(&t->agent);
}

static uint32_t
added(const struct traced *t)
{
	struct reconcile_stats s;

	reconcile_stats(t->agent.reconcile, clock_mono(), &s);
	return s.added;
}

/* LTTng's session daemon disables no rule any more after its consumer was killed; it still ends sessions. */
static void
a_tracepoint_that_cannot_be_disabled_goes_off_with_its_session(void **state)
{
	struct mono later;
	struct traced t;
	(void)state;

	begin(&t);
	want(&t, 1, true);
	turn(&t, clock_mono());
	assert_true(t.is_on && added(&t) == 1);
	t.fails_off = true;
	want(&t, 2, false);
	turn(&t, clock_mono());
	assert_true(t.is_on);
	assert_int_equal(t.agent.tracing.session, SESSION_LOST);
	assert_int_equal(t.agent.tracing.trouble.kind, NODE_TROUBLE_TRACER);
	assert_non_null(strstr(t.agent.tracing.trouble.text, "p:x cannot be disabled"));
	assert_int_equal(t.closed_sources, 1);
	later.ns = clock_mono().ns + SECOND + 1;
	turn(&t, later); /* the next session, before which the last one is ended */
	assert_int_equal(t.opened, 1);
	assert_false(t.is_on);
	end(&t);
}

static void
a_tracepoint_that_cannot_be_enabled_ends_no_session(void **state)
{
	struct traced t;
	(void)state;

	begin(&t);
	t.fails_on = true;
	want(&t, 1, true);
	turn(&t, clock_mono());
	assert_int_equal(t.agent.tracing.session, SESSION_OPEN);
	assert_int_equal(added(&t), 0);
	assert_int_equal(t.closed_sources, 0);
	end(&t);
}

/* Nothing is on any more, whatever the agent had enabled. */
static void
a_new_session_after_a_lost_one_enables_all_again(void **state)
{
	struct tracer_change *changes;
	struct mono later;
	struct traced t;
	uint32_t n;
	(void)state;

	begin(&t);
	want(&t, 1, true);
	turn(&t, clock_mono());
	assert_int_equal(added(&t), 1);
	tracing_lost(&t.agent, &(struct err){ ERR_TRACER, "the session is gone" }, clock_mono());
	assert_int_equal(added(&t), 0);
	later.ns = clock_mono().ns + SECOND + 1;
	turn(&t, later);
	assert_int_equal(t.opened, 1);
	changes = reconcile_changes(t.agent.reconcile, RECONCILE_TRACER, later, &n);
	assert_true(n == 1 && changes[0].on);
	reconcile_applied(t.agent.reconcile, changes, n, true, later);
	end(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tracepoint_that_cannot_be_disabled_goes_off_with_its_session),
		cmocka_unit_test(a_tracepoint_that_cannot_be_enabled_ends_no_session),
		cmocka_unit_test(a_new_session_after_a_lost_one_enables_all_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
