/* SPDX-License-Identifier: GPL-3.0-or-later */
/* want and done; hello, welcome, status and programs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "wire/agent_messages.h"
#include "wire/below.h"
#include "wire/loglevel.h"
#include "wire/toggle.h"

static struct arena memory; /* of the texts that the tests generate; released after each */

static int
forget(void **state)
{
	(void)state;
	arena_release(&memory);
	return 0;
}

static const char *
random_name(struct rng *r, size_t most, const char *front)
{
	size_t n = strlen(front), len = n + 1 + rng_below(r, rng_below(r, 10) == 0 ? most - n : 20);
	char *s = arena_calloc(&memory, 1, len + 1);

	memcpy(s, front, n);
	for (size_t i = n; i < len; i++)
		s[i] = (char)(' ' + rng_below(r, 95));
	return s;
}

static uint64_t
some(struct rng *r)
{
	return rng_next(r) >> rng_below(r, 64) >> rng_below(r, 2);
}

/* ---- all messages through one interface ---- */

static int
decode_want(struct arena *a, const void *data, size_t len, struct err *e)
{
	struct want w;

	return want_decode(&w, a, data, len, e);
}

static int
decode_done(struct arena *a, const void *data, size_t len, struct err *e)
{
	struct done d;

	return done_decode(&d, a, data, len, e);
}

static int
decode_hello(struct arena *a, const void *data, size_t len, struct err *e)
{
	struct hello h;

	return hello_decode(&h, a, data, len, e);
}

static int
decode_welcome(struct arena *a, const void *data, size_t len, struct err *e)
{
	struct welcome w;

	(void)a;
	return welcome_decode(&w, data, len, e);
}

static int
decode_clock(struct arena *a, const void *data, size_t len, struct err *e)
{
	struct clock_echo c;

	(void)a;
	return clock_decode(&c, data, len, e);
}

static int
decode_status(struct arena *a, const void *data, size_t len, struct err *e)
{
	struct status s;

	return status_decode(&s, a, data, len, e);
}

static int
decode_programs(struct arena *a, const void *data, size_t len, struct err *e)
{
	struct programs p;

	return programs_decode(&p, a, data, len, e);
}

typedef int (*decoder)(struct arena *a, const void *data, size_t len, struct err *e);

/*
 * Every proper prefix of a valid message, and the message with one byte more, is ERR_INPUT with the
 * message's name.
 */
static void
assert_whole_or_refused(decoder decode, const char *name, struct buf *b)
{
	struct arena a = { 0 };
	struct err e;

	assert_int_equal(decode(&a, b->data, b->len, &e), 0);
	for (size_t len = 0; len < b->len; len++) {
		uint8_t *copy = malloc(len + (len == 0));

		memcpy(copy, b->data, len);
		assert_int_equal(decode(&a, copy, len, &e), ERR_INPUT);
		assert_memory_equal(e.text, name, strlen(name));
		free(copy);
	}
	buf_u8(b, 0);
	assert_int_equal(decode(&a, b->data, b->len, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "too many"));
	arena_release(&a);
}

/*
 * Random bytes: no read past the end (the sanitizer checks), and memory proportional to the length.
 */
static void
assert_bounded(decoder decode, const struct buf *b, struct rng *r)
{
	struct arena a = { 0 };
	uint8_t *copy = malloc(b->len);

	for (int i = 0; i < 3000; i++) {
		memcpy(copy, b->data, b->len);
		for (uint64_t n = 1 + rng_below(r, 3); n > 0; n--)
			copy[rng_below(r, b->len)] = (uint8_t)rng_next(r);
		decode(&a, copy, b->len, NULL);
		assert_true(a.total_bytes <= 64 * b->len + 4096);
		arena_release(&a);
	}
	free(copy);
}

/* ---- want ---- */

static struct want
random_want(struct rng *r, uint32_t nrates, uint32_t ntoggles)
{
	struct want w = { some(r), (int64_t)(some(r) >> 1), rng_unit(r), nrates, ntoggles,
		.nbelow = (uint32_t)rng_below(r, rng_below(r, 10) == 0 ? WANT_BELOW_MAX + 1 : 3),
		.overrun = rng_below(r, 2) == 0 };

	w.rates = arena_calloc(&memory, nrates, sizeof *w.rates);
	w.toggles = arena_calloc(&memory, ntoggles, sizeof *w.toggles);
	for (uint32_t i = 0; i < nrates; i++)
		w.rates[i] = (struct rate){ random_name(r, TOGGLE_NAME_MAX, ""), rng_unit(r),
			rng_unit(r) };
	for (uint32_t i = 0; i < ntoggles; i++)
		w.toggles[i] = (struct toggle){ random_name(r, TOGGLE_NAME_MAX, "p:"),
			rng_below(r, 2) == 0 };
	w.below = arena_calloc(&memory, w.nbelow, sizeof *w.below);
	for (uint32_t i = 0; i < w.nbelow; i++)
		w.below[i] = random_name(r, TOGGLE_NAME_MAX, "");
	return w;
}

static void
a_want_is_decoded_unchanged(void **state)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct want got;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < 200; i++) {
		uint32_t nrates = (uint32_t)rng_below(&r, 5),
			 ntoggles = (uint32_t)rng_below(&r, 30);
		struct want w = i == 0 ? random_want(&r, RATES_MAX, TOGGLES_MAX)
		                       : random_want(&r, nrates, ntoggles);

		buf_reset(&b);
		want_encode(&w, &b);
		assert_int_equal(want_decode(&got, &a, b.data, b.len, &e), 0);
		assert_true(
		    got.epoch == w.epoch && got.lease_ms == w.lease_ms && got.sampled == w.sampled);
		assert_true(got.nrates == w.nrates && got.ntoggles == w.ntoggles);
		for (uint32_t j = 0; j < w.nrates; j++) {
			assert_string_equal(got.rates[j].request_type, w.rates[j].request_type);
			assert_true(got.rates[j].sampled == w.rates[j].sampled);
			assert_true(got.rates[j].probed == w.rates[j].probed);
		}
		for (uint32_t j = 0; j < w.ntoggles; j++) {
			assert_string_equal(got.toggles[j].name, w.toggles[j].name);
			assert_int_equal(got.toggles[j].sampled, w.toggles[j].sampled);
		}
		assert_int_equal(got.nbelow, w.nbelow);
		assert_int_equal(got.overrun, w.overrun);
		for (uint32_t j = 0; j < w.nbelow; j++)
			assert_string_equal(got.below[j], w.below[j]);
		arena_reset(&a);
	}
	buf_release(&b);
	arena_release(&a);
}

static void
a_want_that_renews_has_an_epoch_and_a_lease(void **state)
{
	struct toggle toggle = { "a:b" };
	struct buf b = { 0 };
	struct arena a = { 0 };
	struct want got, w = { .renews = true,
		.epoch = UINT64_MAX,
		.lease_ms = 5000,
		.ntoggles = 1,
		.toggles = &toggle };
	(void)state;

	want_encode(&w, &b);
	assert_int_equal(want_decode(&got, &a, b.data, b.len, NULL), 0);
	assert_true(got.renews && got.epoch == UINT64_MAX && got.lease_ms == 5000);
	assert_int_equal(got.ntoggles, 0);
	assert_whole_or_refused(decode_want, "want: ", &b);
	b.data[0] = 2;
	assert_int_equal(decode_want(&a, b.data, b.len - 1, NULL), ERR_INPUT);
	buf_release(&b);
	arena_release(&a);
}

static void
a_want_cut_off_or_damaged_is_refused(void **state)
{
	struct buf b = { 0 };
	struct want w;
	struct rng r;
	(void)state;

	rng_seed(&r, 2);
	w = random_want(&r, 3, 10);
	want_encode(&w, &b);
	assert_bounded(decode_want, &b, &r);
	assert_whole_or_refused(decode_want, "want: ", &b);
	buf_release(&b);
}

static int
try_want(const struct want *w, struct err *e)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	int rc;

	want_encode(w, &b);
	rc = decode_want(&a, b.data, b.len, e);
	buf_release(&b);
	arena_release(&a);
	return rc;
}

static void
invalid_wants_are_refused(void **state)
{
	static const double shares[] = { -0.01, 1.01, NAN, INFINITY };
	static const char *const names[] = { "", "event", ":event", "provider:", "p:\n", "p:\x7f" };
	struct toggle toggle = { "p:e" };
	struct rate rate = { "GET_HOME", 1, 0.5 };
	struct want w = { 1, 1000, 1, 1, 1, &rate, &toggle };
	struct err e;
	(void)state;

	assert_int_equal(try_want(&w, &e), 0);
	for (size_t i = 0; i < 4; i++) {
		w.sampled = shares[i];
		assert_int_equal(try_want(&w, &e), ERR_INPUT);
		w.sampled = 1;
		rate.probed = shares[i];
		assert_int_equal(try_want(&w, &e), ERR_INPUT);
		rate.probed = 1;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		toggle.name = names[i];
		assert_int_equal(try_want(&w, &e), ERR_INPUT);
		assert_string_equal(e.text, "want: toggle 0 is not of the form provider:event");
	}
	toggle.name = "p:*";
	assert_int_equal(try_want(&w, &e), 0);
	w.lease_ms = -1;
	assert_int_equal(try_want(&w, &e), ERR_INPUT);
	w.lease_ms = 1;
	rate.request_type = "";
	assert_int_equal(try_want(&w, &e), ERR_INPUT);
	w.nrates = 0;
	w.ntoggles = TOGGLES_MAX + 1;
	w.toggles = arena_calloc(&memory, w.ntoggles, sizeof *w.toggles);
	for (uint32_t i = 0; i < w.ntoggles; i++)
		w.toggles[i].name = "p:e";
	assert_int_equal(try_want(&w, &e), ERR_INPUT);
	w.ntoggles--;
	assert_int_equal(try_want(&w, &e), 0);
}

static void
programs_to_look_below_are_few_and_named(void **state)
{
	static const char *const bad[] = { "a\n", "\x7f" };
	const char *below[WANT_BELOW_MAX + 1];
	struct want w = { .epoch = 1, .lease_ms = 1000, .nbelow = WANT_BELOW_MAX, .below = below };
	struct err e;
	(void)state;

	for (uint32_t i = 0; i <= WANT_BELOW_MAX; i++)
		below[i] = "shop-cart";
	assert_int_equal(try_want(&w, &e), 0);
	w.nbelow++;
	assert_int_equal(try_want(&w, &e), ERR_INPUT);
	assert_string_equal(e.text, "want: cut off, or over 64 programs to be looked below");
	w.nbelow = 1;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		below[0] = bad[i];
		assert_int_equal(try_want(&w, &e), ERR_INPUT);
		assert_string_equal(
		    e.text, "want: the name of program 0 is missing, too long or unprintable");
	}
	below[0] = "";
	assert_int_equal(try_want(&w, &e), ERR_INPUT);
}

/* ---- done ---- */

static void
a_done_is_decoded_unchanged(void **state)
{
	uint8_t results[100];
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct done got;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 3);
	for (int i = 0; i < 200; i++) {
		struct done d = { some(&r), (int64_t)rng_next(&r), (uint32_t)rng_below(&r, 100),
			results, i % 2 ? "" : random_name(&r, 4000, "") };

		for (uint32_t j = 0; j < d.nresults; j++)
			results[j] = (uint8_t)rng_below(&r, DONE_FAILED + 1);
		buf_reset(&b);
		done_encode(&d, &b);
		assert_int_equal(done_decode(&got, &a, b.data, b.len, &e), 0);
		assert_true(
		    got.epoch == d.epoch && got.from_ns == d.from_ns && got.nresults == d.nresults);
		assert_memory_equal(got.results, results, d.nresults);
		assert_string_equal(got.failure, d.failure);
	}
	assert_bounded(decode_done, &b, &r);
	assert_whole_or_refused(decode_done, "done: ", &b);
	buf_reset(&b);
	results[0] = DONE_FAILED + 1;
	done_encode(&(struct done){ .nresults = 1, .results = results }, &b);
	assert_int_equal(done_decode(&got, &a, b.data, b.len, &e), ERR_INPUT);
	assert_string_equal(e.text, "done: result 0 is 3, which is out of range");
	buf_release(&b);
	arena_release(&a);
}

/* ---- hello, welcome ---- */

static void
hello_and_welcome_are_decoded_unchanged(void **state)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct welcome welcome;
	struct hello got;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 4);
	for (int i = 0; i < 200; i++) {
		struct hello h = { random_name(&r, NODE_NAME_MAX, ""), rng_next(&r), some(&r),
			random_name(&r, 255, ""), (int64_t)(some(&r) >> 3) };

		buf_reset(&b);
		hello_encode(&h, &b);
		assert_int_equal(hello_decode(&got, &a, b.data, b.len, &e), 0);
		assert_string_equal(got.node, h.node);
		assert_string_equal(got.version, h.version);
		assert_true(got.incarnation == h.incarnation && got.first_seq == h.first_seq &&
			    got.clock_ns == h.clock_ns);
	}
	assert_bounded(decode_hello, &b, &r);
	assert_whole_or_refused(decode_hello, "hello: ", &b);
	buf_reset(&b);
	hello_encode(&(struct hello){ .node = "" }, &b);
	assert_int_equal(hello_decode(&got, &a, b.data, b.len, &e), ERR_INPUT);
	buf_reset(&b);
	hello_encode(&(struct hello){ .node = "n", .version = "v", .clock_ns = -1 }, &b);
	assert_int_equal(hello_decode(&got, &a, b.data, b.len, &e), ERR_INPUT);
	buf_reset(&b);
	welcome_encode(&(struct welcome){ UINT64_MAX }, &b);
	assert_int_equal(welcome_decode(&welcome, b.data, b.len, &e), 0);
	assert_true(welcome.have_seq == UINT64_MAX);
	assert_whole_or_refused(decode_welcome, "welcome: ", &b);
	buf_release(&b);
	arena_release(&a);
}

static void
a_clock_is_decoded_unchanged(void **state)
{
	static const struct clock_echo nonsense[] = { { -1, 0, 0 }, { 0, -1, 0 }, { 0, 0, -1 },
		{ 0, 2, 1 }, { INT64_MAX, 0, 0 }, { 0, 0, INT64_MAX } };
	struct clock_echo got;
	struct buf b = { 0 };
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 5);
	for (int i = 0; i < 200; i++) {
		struct clock_echo c = { (int64_t)(some(&r) >> 3), (int64_t)(some(&r) >> 4), 0 };

		c.went_ns = c.came_ns + (int64_t)(some(&r) >> 4);
		buf_reset(&b);
		clock_encode(&c, &b);
		assert_int_equal(clock_decode(&got, b.data, b.len, &e), 0);
		assert_memory_equal(&got, &c, sizeof c);
	}
	assert_whole_or_refused(decode_clock, "clock: ", &b);
	for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
		buf_reset(&b);
		clock_encode(&nonsense[i], &b);
		assert_int_equal(clock_decode(&got, b.data, b.len, &e), ERR_INPUT);
	}
	buf_release(&b);
}

/* ---- status ---- */

static struct status
random_status(struct rng *r)
{
	struct status s = { .records = some(r),
		.batches = some(r),
		.mapped = some(r),
		.dropped = some(r),
		.cpu_us = (int64_t)some(r),
		.tracer_cpu_us = (int64_t)some(r),
		.switch_cpu_us = (int64_t)some(r),
		.below_cpu_us = (int64_t)some(r),
		.memory_bytes = (int64_t)some(r),
		.ring_bytes = (int64_t)some(r),
		.files_bytes = (int64_t)some(r),
		.sent_bytes = some(r),
		.programs = (uint32_t)some(r),
		.added = (uint32_t)some(r),
		.epoch = some(r),
		.shed = rng_below(r, 2),
		.shed_by = (enum queue)rng_below(r, QUEUES),
		.guard_ok = rng_below(r, 2),
		.tracer_ok = rng_below(r, 2),
		.trouble = { .kind = (enum trouble_kind)rng_below(r, NODE_TROUBLE_KINDS),
		    .subject = random_name(r, 255, ""),
		    .text = random_name(r, 4096, ""),
		    .seconds = 1e6 * rng_unit(r),
		    .bytes = some(r),
		    .times = (uint32_t)some(r),
		    .pid = (uint32_t)some(r) },
		.below = (enum below_on_node)rng_below(r, BELOW_NODE_STATES),
		.below_can = (uint32_t)rng_below(r, BELOW_CAN_FLAGS + 1),
		.below_missing = random_name(r, BELOW_MISSING_MAX, ""),
		.fullest = random_name(r, NODE_NAME_MAX, ""),
		.fullest_pid = (uint32_t)some(r),
		.kernel = rng_below(r, 2),
		.kernel_processes = (uint32_t)some(r),
		.kernel_requests = some(r),
		.kernel_lossy = some(r),
		.kernel_events_per_s = 1e6 * rng_unit(r),
		.kernel_missing = random_name(r, BELOW_MISSING_MAX, "") };

	s.record_ns = rng_below(r, 2) ? 1e4 * rng_unit(r) : 0;
	s.rejected_ns = s.record_ns * rng_unit(r);
	for (int i = 0; i < QUEUES; i++)
		s.fill[i] = rng_unit(r);
	for (int i = 0; i < LOSS_REASONS; i++)
		s.lost[i] = some(r);
	return s;
}

static void
a_status_is_decoded_unchanged(void **state)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct status got;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 5);
	for (int i = 0; i < 200; i++) {
		struct status s = random_status(&r);

		buf_reset(&b);
		status_encode(&s, &b);
		assert_int_equal(status_decode(&got, &a, b.data, b.len, &e), 0);
		assert_memory_equal(got.fill, s.fill, sizeof s.fill);
		assert_memory_equal(got.lost, s.lost, sizeof s.lost);
		assert_true(
		    got.records == s.records && got.batches == s.batches && got.epoch == s.epoch);
		assert_true(got.mapped == s.mapped && got.dropped == s.dropped);
		assert_true(got.kernel == s.kernel && got.kernel_processes == s.kernel_processes &&
			    got.kernel_requests == s.kernel_requests &&
			    got.kernel_lossy == s.kernel_lossy &&
			    got.kernel_events_per_s == s.kernel_events_per_s);
		assert_string_equal(got.kernel_missing, s.kernel_missing);
		assert_true(got.cpu_us == s.cpu_us && got.tracer_cpu_us == s.tracer_cpu_us);
		assert_true(
		    got.switch_cpu_us == s.switch_cpu_us && got.below_cpu_us == s.below_cpu_us);
		assert_true(got.memory_bytes == s.memory_bytes && got.ring_bytes == s.ring_bytes);
		assert_true(got.files_bytes == s.files_bytes && got.sent_bytes == s.sent_bytes);
		assert_true(got.guard_ok == s.guard_ok && got.shed_by == s.shed_by);
		assert_true(got.programs == s.programs && got.added == s.added);
		assert_true(got.record_ns == s.record_ns && got.rejected_ns == s.rejected_ns);
		assert_true(got.shed == s.shed && got.tracer_ok == s.tracer_ok);
		assert_true(got.below == s.below && got.below_can == s.below_can);
		assert_string_equal(got.below_missing, s.below_missing);
		assert_string_equal(got.fullest, s.fullest);
		assert_int_equal(got.fullest_pid, s.fullest_pid);
		assert_string_equal(got.trouble.subject, s.trouble.subject);
		assert_string_equal(got.trouble.text, s.trouble.text);
		assert_true(got.trouble.kind == s.trouble.kind &&
			    got.trouble.seconds == s.trouble.seconds &&
			    got.trouble.bytes == s.trouble.bytes &&
			    got.trouble.times == s.trouble.times &&
			    got.trouble.pid == s.trouble.pid);
	}
	assert_bounded(decode_status, &b, &r);
	assert_whole_or_refused(decode_status, "status: ", &b);
	buf_reset(&b);
	status_encode(&(struct status){ .fill = { 0, 1.5, 0 } }, &b);
	assert_int_equal(status_decode(&got, &a, b.data, b.len, &e), ERR_INPUT);
	for (int i = 0; i < 4; i++) {
		static const double COSTS[][2] = { { -1, -2 }, { 100, 101 }, { 2e9, 40 },
			{ NAN, 1 } };

		buf_reset(&b);
		status_encode(
		    &(struct status){ .record_ns = COSTS[i][0], .rejected_ns = COSTS[i][1] }, &b);
		assert_int_equal(status_decode(&got, &a, b.data, b.len, &e), ERR_INPUT);
		assert_non_null(strstr(e.text, "cost of a record"));
	}
	buf_reset(&b);
	status_encode(&(struct status){ .below_can = BELOW_CAN_FLAGS + 1 }, &b);
	assert_int_equal(status_decode(&got, &a, b.data, b.len, &e), ERR_INPUT);
	buf_reset(&b);
	status_encode(&(struct status){ .below = BELOW_NODE_STATES }, &b);
	assert_int_equal(status_decode(&got, &a, b.data, b.len, &e), ERR_INPUT);
	buf_release(&b);
	arena_release(&a);
}

/* ---- programs ---- */

static struct programs
random_programs(struct rng *r, uint32_t nprograms, uint32_t nnames)
{
	struct programs p = { nprograms, nnames };

	p.programs = arena_calloc(&memory, nprograms, sizeof *p.programs);
	uint8_t *levels = arena_calloc(&memory, nnames, sizeof *levels);

	p.names = arena_calloc(&memory, nnames, sizeof *p.names);
	for (uint32_t i = 0; i < nnames; i++) {
		p.names[i] = random_name(r, 255, "shop:");
		levels[i] = (uint8_t)rng_below(r, LOGLEVELS + 1);
		if (levels[i] == LOGLEVELS)
			levels[i] = LOGLEVEL_NONE;
	}
	p.levels = levels;
	for (uint32_t i = 0; i < nprograms; i++) {
		uint32_t first = (uint32_t)rng_below(r, nnames + 1);

		p.programs[i] = (struct program){ random_name(r, 255, ""), (uint32_t)some(r), first,
			(uint32_t)rng_below(r, nnames - first + 1), (uint8_t)rng_below(r, LEVERS) };
	}
	return p;
}

static void
programs_are_decoded_unchanged(void **state)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct programs got;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 6);
	for (int i = 0; i < 100; i++) {
		struct programs p = random_programs(
		    &r, (uint32_t)rng_below(&r, 10), (uint32_t)rng_below(&r, 40));

		buf_reset(&b);
		programs_encode(&p, &b);
		assert_int_equal(programs_decode(&got, &a, b.data, b.len, &e), 0);
		assert_true(got.nprograms == p.nprograms && got.nnames == p.nnames);
		for (uint32_t j = 0; j < p.nnames; j++) {
			assert_string_equal(got.names[j], p.names[j]);
			assert_int_equal(got.levels[j], p.levels[j]);
		}
		for (uint32_t j = 0; j < p.nprograms; j++) {
			assert_string_equal(got.programs[j].service, p.programs[j].service);
			assert_true(got.programs[j].pid == p.programs[j].pid);
			assert_true(got.programs[j].first == p.programs[j].first);
			assert_true(got.programs[j].count == p.programs[j].count);
			assert_true(got.programs[j].lever == p.programs[j].lever);
		}
	}
	arena_release(&a);
	buf_release(&b);
}

static void
programs_cut_off_damaged_or_out_of_range_are_refused(void **state)
{
	struct program program = { "redis", 7, 1, 1, LEVER_GATE };
	const char *names[] = { "p:a", "p:b" };
	uint8_t levels[] = { LOGLEVEL_INFO, LOGLEVEL_NONE };
	struct programs p, two = { 1, 2, &program, names, levels };
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 7);
	p = random_programs(&r, 5, 20);
	programs_encode(&p, &b);
	assert_bounded(decode_programs, &b, &r);
	assert_whole_or_refused(decode_programs, "programs: ", &b);
	for (uint32_t first = 0; first < 4; first++)
		for (uint32_t count = 0; count < 4; count++) {
			program.first = first;
			program.count = count;
			buf_reset(&b);
			programs_encode(&two, &b);
			assert_int_equal(decode_programs(&a, b.data, b.len, &e),
			    first + count <= 2 ? 0 : ERR_INPUT);
		}
	program = (struct program){ "redis", 7, 1, 1, LEVERS };
	buf_reset(&b);
	programs_encode(&two, &b);
	assert_int_equal(decode_programs(&a, b.data, b.len, &e), ERR_INPUT);
	program = (struct program){ "redis", 7, UINT32_MAX, 2, 0 }; /* the sum would wrap */
	buf_reset(&b);
	programs_encode(&two, &b);
	assert_int_equal(decode_programs(&a, b.data, b.len, &e), ERR_INPUT);
	assert_string_equal(e.text, "programs: program 0 is malformed or cut off");
	program = (struct program){ "redis", 7, 0, 2, 0 };
	for (int level = 0; level <= UINT8_MAX; level++) {
		levels[1] = (uint8_t)level;
		buf_reset(&b);
		programs_encode(&two, &b);
		assert_int_equal(decode_programs(&a, b.data, b.len, &e),
		    level < LOGLEVELS || level == LOGLEVEL_NONE ? 0 : ERR_INPUT);
	}
	assert_string_equal(e.text, "programs: the log level of name 1 is missing or out of range");
	buf_release(&b);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_want_is_decoded_unchanged, forget),
		cmocka_unit_test_teardown(a_want_that_renews_has_an_epoch_and_a_lease, forget),
		cmocka_unit_test_teardown(a_want_cut_off_or_damaged_is_refused, forget),
		cmocka_unit_test_teardown(invalid_wants_are_refused, forget),
		cmocka_unit_test_teardown(programs_to_look_below_are_few_and_named, forget),
		cmocka_unit_test_teardown(a_done_is_decoded_unchanged, forget),
		cmocka_unit_test_teardown(hello_and_welcome_are_decoded_unchanged, forget),
		cmocka_unit_test(a_clock_is_decoded_unchanged),
		cmocka_unit_test_teardown(a_status_is_decoded_unchanged, forget),
		cmocka_unit_test_teardown(programs_are_decoded_unchanged, forget),
		cmocka_unit_test_teardown(
		    programs_cut_off_damaged_or_out_of_range_are_refused, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
