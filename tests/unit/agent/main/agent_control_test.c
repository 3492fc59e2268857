/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sampling lasts as long as the controller is heard and the tracer's files have room. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/main/agent_control.h"

#define AT(seconds) ((struct mono){ (int64_t)((seconds)*1e9) })

enum { WITHOUT_S = 30 };

struct sampled { /* an agent that has a controller, and samples all requests */
	struct agent agent;
	struct agent_config config;
	char path[64];
};

static void
keep_quiet(enum log_level level, const char *text)
{
	(void)level;
	(void)text;
}

static struct sampled *
begin(void)
{
	static struct sampled s;
	struct want all = { .sampled = 1 };
	struct err e;

	s = (struct sampled){ .config = { .sampling_without_ns = WITHOUT_S * SECOND,
				  .files_bytes = 100000000 } };
	snprintf(s.path, sizeof s.path, "/dev/shm/hone-control-test-%ld", (long)getpid());
	s.agent.config = &s.config;
	s.agent.log = keep_quiet;
	s.agent.reconcile = reconcile_new();
	assert_int_equal(rates_open(&s.agent.rates, s.path, &e), 0);
	assert_int_equal(rates_apply(s.agent.rates, &all, (struct mono){ 0 }, &e), 0);
	s.agent.control.has_want = true;
	s.agent.control.heard = AT(100);
	return &s;
}

static void
end(struct sampled *s)
{
	rates_close(s->agent.rates, true);
	reconcile_free(s->agent.reconcile);
}

static bool
is_sampled(struct sampled *s, double seconds)
{
	return rates_choose(s->agent.rates, "GET", AT(seconds), 0) != RATES_SKIP;
}

static void
without_a_controller_sampling_ends_after_the_stated_time(void **state)
{
	struct sampled *s = begin();
	double at = 100;
	(void)state;

	for (; at < 100 + WITHOUT_S; at += 0.5) {
		control_renew_sampling(&s->agent, AT(at));
		assert_true(is_sampled(s, at));
	}
	control_renew_sampling(&s->agent, AT(at));
	assert_false(is_sampled(s, at)); /* at once, not when the lease in the table ends */
	for (; at < 100 + 3 * WITHOUT_S; at += 0.5) {
		control_renew_sampling(&s->agent, AT(at));
		assert_false(is_sampled(s, at));
	}
	s->agent.control.heard = AT(at);
	control_renew_sampling(&s->agent, AT(at));
	assert_true(is_sampled(s, at));
	end(s);
}

static void
before_a_controller_has_asked_nothing_is_sampled(void **state)
{
	struct sampled *s = begin();
	(void)state;

	s->agent.control.has_want = false;
	control_renew_sampling(&s->agent, AT(100));
	assert_false(is_sampled(s, 100));
	end(s);
}

static void
full_files_end_sampling_until_they_have_room(void **state)
{
	struct sampled *s = begin();
	(void)state;

	control_renew_sampling(&s->agent, AT(100));
	assert_true(is_sampled(s, 100));
	s->agent.queues.files_full = true;
	control_renew_sampling(&s->agent, AT(100.1));
	assert_false(is_sampled(s, 100.1));
	s->agent.queues.files_full = false;
	control_renew_sampling(&s->agent, AT(100.2));
	assert_true(is_sampled(s, 100.2));
	end(s);
}

/* An agent that is stopped renews nothing: its programs write for as long as its lease lasts. */
static void
a_stopped_agents_programs_sample_no_longer_than_the_files_have_room(void **state)
{
	struct sampled *s = begin();
	(void)state;

	control_renew_sampling(&s->agent, AT(100)); /* its rate is not known yet */
	assert_true(is_sampled(s, 101.9));
	assert_false(is_sampled(s, 102.1));
	s->agent.records.stats.bytes = 1000;
	control_renew_sampling(&s->agent, AT(101)); /* files that last for hours */
	assert_true(is_sampled(s, 110.9));
	assert_false(is_sampled(s, 111.1));
	s->agent.records.stats.bytes += 25000000;
	control_renew_sampling(&s->agent, AT(102)); /* files that last for 4 s */
	assert_true(is_sampled(s, 105.9));
	assert_false(is_sampled(s, 106.1));
	end(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_controller_sampling_ends_after_the_stated_time),
		cmocka_unit_test(before_a_controller_has_asked_nothing_is_sampled),
		cmocka_unit_test(full_files_end_sampling_until_they_have_room),
		cmocka_unit_test(
		    a_stopped_agents_programs_sample_no_longer_than_the_files_have_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
