/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mapper with hand-written sequences, with the same sequences interleaved in many orders of the
 * threads, and with random events compared with a slow model that keeps a plain list.
 */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "map_file.h"
#include "mapping/mapper.h"

/* ---- counts allocations; not with sanitizers, which have allocators of their own ---- */

static uint64_t allocations;

#ifndef HONE_DEBUG
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

void *
malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t size)
{
	allocations++;
	return __libc_realloc(p, size);
}
#endif

/* ---- a mapper and single events ---- */

static const char NESTED[] =
    "[program]\nservice = x\n"
    "[request rpc]\nbegin = rpc:begin\nend = rpc:end\ncorrelate = thread\ntype = RPC\nlimit = 1s\n"
    "[request op]\nbegin = op:begin\nend = op:end\ncorrelate = thread\ntype_field = op\n";

static const char BROKER[] =
    "[program]\nservice = x\n"
    "[request job]\nbegin = b:queued\nbegin_id = job\nend = b:done\nend_id = task\ncorrelate = field\ntype = JOB\n"
    "step = b:started job -> task\nstep = b:written task\nstep = b:sent no as job\nlimit = 1s\n";

struct talk {
	struct mapping *map;
	struct mapper *mapper;
	int64_t now_ns;
	uint32_t pid, tid;
	struct mapper_result place;
};

static void
open_talk(struct talk *t, const char *text, const struct mapper_options *o)
{
	struct err e = { 0 };

	*t = (struct talk){ .pid = 7 };
	if (map_of_text(&t->map, text, &e) != 0 || mapper_new(&t->mapper, t->map, o, &e) != 0)
		fail_msg("%s", e.text);
}

static void
close_talk(struct talk *t)
{
	mapper_free(t->mapper);
	map_free(t->map);
}

static struct value
number(int64_t n)
{
	return (struct value){ .type = VALUE_INT, .i = n };
}

static struct value
text(const char *s)
{
	return (struct value){ .type = VALUE_TEXT, .len = (uint32_t)strlen(s), .text = s };
}

/* The ids of names are not dense, as a caller's may be. */
static uint32_t
name_id(const char *name)
{
	uint32_t id = 5381;

	for (; *name != '\0'; name++)
		id = id * 33 + (unsigned char)*name;
	return id;
}

static uint64_t
say2(struct talk *t, uint32_t tid, const char *name, const char *field, struct value value,
    const char *field2, struct value value2)
{
	const char *fields[] = { "noise", field, field2 };
	const struct value values[] = { number(12345), value, value2 };
	uint32_t n = field == NULL ? 1 : field2 == NULL ? 2 : 3;
	struct mapper_event v = { .time_ns = ++t->now_ns,
		.pid = t->pid,
		.tid = tid,
		.name = name,
		.name_id = name_id(name) + n,
		.nfields = n,
		.fields = fields,
		.values = values };
	struct err e = { 0 };

	if (mapper_event(t->mapper, &v, &t->place, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(t->place.trace_id == 0, t->place.unit_id == 0);
	assert_true((t->place.begins || t->place.ends) == (t->place.type != NULL));
	return t->place.trace_id;
}

static uint64_t
say(struct talk *t, uint32_t tid, const char *name)
{
	return say2(t, tid, name, NULL, (struct value){ 0 }, NULL, (struct value){ 0 });
}

static uint64_t
say_id(struct talk *t, uint32_t tid, const char *name, const char *field, int64_t id)
{
	return say2(t, tid, name, field, number(id), NULL, (struct value){ 0 });
}

static struct mapper_counts
counts(const struct talk *t)
{
	struct mapper_counts n;

	mapper_get_counts(t->mapper, &n);
	return n;
}

static void
a_pair_on_a_thread_is_a_request_with_all_events_in_between(void **state)
{
	struct talk t;
	uint64_t a, b;

	(void)state;
	open_talk(&t, NESTED, NULL);
	assert_int_equal(say(&t, 1, "x:idle"), 0);
	a = say(&t, 1, "rpc:begin");
	assert_int_not_equal(a, 0);
	assert_true(t.place.begins && !t.place.ends);
	assert_string_equal(t.place.type, "RPC");
	b = say(&t, 2, "rpc:begin");
	assert_int_not_equal(b, a);
	assert_int_equal(say(&t, 1, "x:work"), a);
	assert_false(t.place.begins || t.place.ends);
	assert_int_equal(say(&t, 2, "x:work"), b);
	assert_int_equal(say(&t, 1, "rpc:end"), a);
	assert_true(t.place.ends && !t.place.begins);
	assert_int_equal(say(&t, 1, "x:idle"), 0);
	assert_int_equal(say(&t, 2, "rpc:end"), b);
	assert_int_equal(say(&t, 2, "rpc:end"), 0);
	assert_int_equal(counts(&t).begun, 2);
	assert_int_equal(counts(&t).ended, 2);
	assert_int_equal(counts(&t).orphans, 1);
	assert_int_equal(mapper_open(t.mapper), 0);
	close_talk(&t);
}

static void
nested_pairs_count(void **state)
{
	struct talk t;
	uint64_t a, b;

	(void)state;
	open_talk(&t, NESTED, NULL);
	a = say(&t, 1, "rpc:begin");
	assert_int_equal(say(&t, 1, "rpc:begin"), a);
	assert_false(t.place.begins);
	assert_int_equal(say(&t, 1, "rpc:end"), a);
	assert_false(t.place.ends);
	b = say2(&t, 1, "op:begin", "op", text("READ"), NULL, (struct value){ 0 });
	assert_int_not_equal(b, a);
	assert_string_equal(t.place.type, "READ");
	assert_int_equal(say(&t, 1, "x:work"), b);
	assert_int_equal(say(&t, 1, "op:end"), b);
	assert_int_equal(say(&t, 1, "x:work"), a);
	assert_int_equal(say(&t, 1, "rpc:end"), a);
	assert_true(t.place.ends);
	assert_int_equal(
	    say2(&t, 1, "op:begin", "op", number(-4), NULL, (struct value){ 0 }) == 0, 0);
	assert_string_equal(t.place.type, "-4");
	assert_int_equal(say(&t, 1, "op:begin"), t.place.trace_id); /* nested, with any fields */
	say(&t, 2, "op:begin");
	assert_string_equal(t.place.type, "op"); /* without the field: the name of the rule */
	close_talk(&t);
}

/*
 * A server answers the first call later, from another thread; the first thread continues with other
 * calls, pair by pair.
 */
static void
a_missing_end_on_a_thread_is_detected_before_the_time_limit(void **state)
{
	static const char *const texts[] = { "", "nested=yes\n", "nested=no\n" };
	char map[200];
	struct talk t;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		snprintf(map, sizeof map,
		    "[program]\nservice=x\n[request r]\nbegin=a:b\nend=a:e\ncorrelate=thread\n%s",
		    texts[i]);
		open_talk(&t, map, NULL);
		say(&t, 1, "a:b");
		for (int n = 0; n < MAPPER_INSIDE_MANY; n++) {
			assert_int_equal(counts(&t).endless, 0);
			say(&t, 1, "a:b");
			say(&t, 1, "a:e");
		}
		assert_int_equal(counts(&t).endless, i == 0);
		assert_int_equal(counts(&t).given_up, i == 2);
		close_talk(&t);
	}
}

static void
without_nesting_a_begin_gives_up_the_open_request(void **state)
{
	struct talk t;
	uint64_t a, b;

	(void)state;
	open_talk(&t,
	    "[program]\nservice=x\n[request r]\nbegin=*_b\nend=*_e\ncorrelate=thread\nnested=no\n",
	    NULL);
	a = say(&t, 1, "a:x_b");
	assert_string_equal(t.place.type, "a:x_b");
	b = say(&t, 1, "a:y_b");
	assert_true(t.place.begins);
	assert_int_not_equal(a, b);
	assert_int_equal(say(&t, 1, "a:y_e"), b);
	assert_true(t.place.ends);
	assert_string_equal(t.place.type, "a:y_b");
	assert_int_equal(counts(&t).given_up, 1);
	close_talk(&t);
}

static void
a_request_is_followed_by_a_chain_of_ids_over_threads(void **state)
{
	struct talk t;
	uint64_t a, b;

	(void)state;
	open_talk(&t, BROKER, NULL);
	a = say_id(&t, 1, "b:queued", "job", 5);
	assert_true(t.place.begins);
	assert_int_equal(say(&t, 1, "x:work"), a);
	b = say_id(&t, 1, "b:queued", "job", 6);
	assert_int_equal(say(&t, 1, "x:work"), b);
	assert_int_equal(say2(&t, 2, "b:started", "job", number(5), "task", text("five")), a);
	assert_int_equal(say2(&t, 3, "b:started", "job", number(6), "task", number(5)),
	    b);                                    /* the values are equal, the fields differ */
	assert_int_equal(say(&t, 1, "x:work"), 0); /* other threads have both requests now */
	assert_int_equal(say(&t, 2, "x:work"), a);
	assert_int_equal(say(&t, 3, "x:work"), b);
	assert_int_equal(say_id(&t, 4, "b:written", "task", 5), b);
	assert_int_equal(say_id(&t, 4, "b:sent", "no", 5), a);
	assert_int_equal(say(&t, 4, "x:work"), a);
	assert_int_equal(say(&t, 2, "x:work"), 0);
	assert_int_equal(say2(&t, 4, "b:done", "task", text("five"), NULL, (struct value){ 0 }), a);
	assert_true(t.place.ends);
	assert_string_equal(t.place.type, "JOB");
	assert_int_equal(say(&t, 4, "x:work"), 0);
	assert_int_equal(say_id(&t, 1, "b:written", "task", 7), 0);
	assert_int_equal(say_id(&t, 1, "b:done", "task", 7), 0);
	assert_int_equal(counts(&t).orphans, 2);
	assert_int_equal(say(&t, 9, "b:written"), 0);
	assert_int_equal(counts(&t).idless, 1);
	close_talk(&t);
}

static void
ids_are_compared_with_type_kind_and_process(void **state)
{
	struct value real = { .type = VALUE_REAL, .d = 5 }, same = { .type = VALUE_UINT, .u = 5 };
	struct value huge = { .type = VALUE_UINT, .u = UINT64_MAX };
	struct talk t;
	uint64_t a, b, c, d;

	(void)state;
	open_talk(&t, BROKER, NULL);
	a = say_id(&t, 1, "b:queued", "job", 5);
	b = say2(&t, 1, "b:queued", "job", text("5"), NULL, real);
	c = say_id(&t, 1, "b:queued", "job", -1);
	d = say2(&t, 1, "b:queued", "job", huge, NULL, real);
	assert_true(a != b && a != c && b != c && c != d);
	assert_int_equal(counts(&t).clashes, 0);
	assert_int_equal(say2(&t, 1, "b:sent", "no", same, NULL, real), a);
	assert_int_equal(say2(&t, 1, "b:sent", "no", text("5"), NULL, real), b);
	assert_int_equal(say_id(&t, 1, "b:sent", "no", -1), c);
	assert_int_equal(say2(&t, 1, "b:sent", "no", huge, NULL, real), d);
	assert_int_equal(say2(&t, 2, "b:sent", "no", real, NULL, real), 0);
	assert_int_equal(say2(&t, 2, "b:sent", "no", text(""), NULL, real), 0);
	assert_int_equal(counts(&t).idless, 2);
	t.pid = 8;
	assert_int_equal(say_id(&t, 1, "b:sent", "no", 5), 0);
	t.pid = 7;
	assert_int_not_equal(say_id(&t, 1, "b:queued", "job", 5), a);
	assert_int_equal(counts(&t).clashes, 1);
	close_talk(&t);
}

static void
without_carry_only_ids_assign_records(void **state)
{
	struct talk t;
	uint64_t a;

	(void)state;
	open_talk(&t,
	    "[program]\nservice=x\n[request r]\nbegin=a:b\nend=a:e\ncorrelate=field\nbegin_id=i\nend_id=i\nstep=a:s i\n"
	    "carry=no\n",
	    NULL);
	a = say_id(&t, 1, "a:b", "i", 1);
	assert_int_equal(say(&t, 1, "x:work"), 0);
	assert_int_equal(say_id(&t, 1, "a:s", "i", 1), a);
	assert_int_equal(say(&t, 1, "x:work"), 0);
	close_talk(&t);
}

static bool
not_rpc(void *of, const char *type)
{
	++*(int *)of;
	return strcmp(type, "RPC") != 0;
}

static void
unsampled_requests_are_counted_but_not_followed(void **state)
{
	int asked = 0;
	struct mapper_options o = { .sampled = not_rpc, .of = &asked };
	struct talk t;

	(void)state;
	open_talk(&t, NESTED, &o);
	assert_int_equal(say(&t, 1, "rpc:begin"), 0);
	assert_int_equal(say(&t, 1, "x:work"), 0);
	assert_int_not_equal(say(&t, 1, "op:begin"), 0);
	assert_int_not_equal(say(&t, 1, "op:end"), 0);
	assert_int_equal(say(&t, 1, "rpc:end"), 0);
	assert_false(t.place.ends);
	assert_int_equal(asked, 2);
	assert_int_equal(counts(&t).unsampled, 1);
	assert_int_equal(counts(&t).begun, 1);
	assert_int_equal(counts(&t).ended, 1);
	assert_int_equal(counts(&t).orphans, 0);
	close_talk(&t);
}

static void
the_end_of_a_process_gives_up_its_requests(void **state)
{
	struct talk t;
	uint64_t b;

	(void)state;
	open_talk(&t, BROKER, NULL);
	say_id(&t, 1, "b:queued", "job", 5);
	say_id(&t, 1, "b:queued", "job", 6);
	t.pid = 8;
	b = say_id(&t, 1, "b:queued", "job", 5);
	mapper_gone(t.mapper, 7);
	assert_int_equal(counts(&t).given_up, 2);
	assert_int_equal(mapper_open(t.mapper), 1);
	assert_int_equal(say_id(&t, 1, "b:sent", "no", 5), b);
	t.pid = 7;
	assert_int_equal(say(&t, 1, "x:work"), 0);
	assert_int_equal(say_id(&t, 1, "b:sent", "no", 5), 0);
	close_talk(&t);
}

static void
a_request_without_an_end_is_given_up_after_the_time_of_its_rule(void **state)
{
	struct talk t;
	uint64_t a;

	(void)state;
	open_talk(&t, NESTED, NULL);
	say(&t, 1, "rpc:begin");    /* at 1 ns; its limit is 1 s */
	a = say(&t, 2, "op:begin"); /* its limit is 60 s */
	mapper_expire(t.mapper, 1000000001);
	assert_int_equal(mapper_open(t.mapper), 2);
	mapper_expire(t.mapper, 1000000002);
	assert_int_equal(mapper_open(t.mapper), 1);
	assert_int_equal(say(&t, 1, "x:work"), 0);
	assert_int_equal(say(&t, 2, "x:work"), a);
	mapper_expire(t.mapper, INT64_MAX);
	assert_int_equal(counts(&t).given_up, 2);
	mapper_expire(t.mapper, INT64_MIN);
	close_talk(&t);
}

static void
over_the_limit_the_oldest_request_is_given_up(void **state)
{
	struct mapper_options o = { .requests_max = 3 };
	uint64_t a[5];
	struct talk t;

	(void)state;
	open_talk(&t, NESTED, &o);
	for (uint32_t i = 0; i < 5; i++)
		a[i] = say(&t, i, i % 2 ? "rpc:begin" : "op:begin");
	assert_int_equal(mapper_open(t.mapper), 3);
	assert_int_equal(counts(&t).given_up, 2);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(say(&t, i, "x:work"), i < 2 ? 0 : a[i]);
	close_talk(&t);
}

static void
ids_of_a_request_are_bounded(void **state)
{
	struct talk t;
	uint64_t a;

	(void)state;
	open_talk(&t, BROKER, NULL);
	a = say_id(&t, 1, "b:queued", "job", 1);
	for (int64_t i = 0; i < 100; i++)
		assert_int_equal(say2(&t, 1, "b:started", "job", number(1), "task", number(i)), a);
	for (int64_t i = 0; i < 100; i++)
		assert_int_equal(say_id(&t, 1, "b:written", "task", i), i < 63 ? a : 0);
	assert_int_equal(counts(&t).orphans, 37);
	close_talk(&t);
}

static void
types_from_fields_are_printable_and_bounded(void **state)
{
	struct talk t;
	char name[100];

	(void)state;
	open_talk(&t, NESTED, NULL);
	say2(&t, 1, "op:begin", "op", text("a\nb\xff"), NULL, number(0));
	assert_string_equal(t.place.type, "a_b_");
	memset(name, 'x', 99);
	name[99] = '\0';
	say2(&t, 2, "op:begin", "op", text(name), NULL, number(0));
	assert_int_equal(strlen(t.place.type), MAP_TYPE_MAX_BYTES);
	for (int64_t i = 0; i < 3000; i++)
		say2(&t, 3 + (uint32_t)i, "op:begin", "op", number(i), NULL, number(0));
	assert_string_equal(t.place.type, "(other)");
	say2(&t, 9999, "op:begin", "op", number(10), NULL, number(0));
	assert_string_equal(t.place.type, "10");
	close_talk(&t);
}

static void
trace_ids_come_from_the_seed(void **state)
{
	struct mapper_options o = { .seed = 5 }, other = { .seed = 6 };
	struct talk t[3];

	(void)state;
	open_talk(&t[0], NESTED, &o);
	open_talk(&t[1], NESTED, &o);
	open_talk(&t[2], NESTED, &other);
	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t a = say(&t[0], i, "rpc:begin"), b = say(&t[1], i, "rpc:begin"),
			 c = say(&t[2], i, "rpc:begin");

		assert_int_not_equal(a, 0);
		assert_int_equal(a, b);
		assert_int_not_equal(a, c);
	}
	for (int i = 0; i < 3; i++)
		close_talk(&t[i]);
}

static void
no_memory_is_allocated_in_steady_state(void **state)
{
	struct talk t;
	uint64_t before = 0;

	(void)state;
#ifdef HONE_DEBUG
	/*
	 * sanitizers have allocators of their own; not skip(): cmocka prints it as "not ok" in TAP
	 */
	return;
#endif
	open_talk(&t, BROKER, NULL);
	for (int64_t i = 0; i < 20000; i++) {
		if (i == 5000)
			before = allocations;
		say_id(&t, 1, "b:queued", "job", i);
		say2(&t, 2, "b:started", "job", number(i), "task", number(i));
		say(&t, 2, "x:work");
		if (i >= 50)
			say_id(&t, 3, "b:done", "task", i - 50);
	}
	assert_int_not_equal(before, 0);
	assert_int_equal(allocations, before);
	assert_int_equal(mapper_open(t.mapper), 50);
	close_talk(&t);
}

/* ---- sequences in many orders ---- */

enum { THREADS = 5, JOBS = 12 };

/*
 * Jobs move between threads, and RPCs run on all threads: in any order of the threads, each event
 * belongs to its request.
 */
static void
in_any_order_of_threads_each_record_belongs_to_its_request(void **state)
{
	static const char both[] =
	    "[program]\nservice = x\n"
	    "[request job]\nbegin = b:queued\nbegin_id = job\nend = b:done\nend_id = task\ncorrelate = field\ntype = JOB\n"
	    "step = b:started job -> task\nstep = b:written task\n"
	    "[request rpc]\nbegin = rpc:begin\nend = rpc:end\ncorrelate = thread\ntype = RPC\n";

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct {
			uint32_t at;
			uint64_t trace;
			uint32_t task;
		} jobs[JOBS] = { 0 };
		struct {
			uint32_t at;
			uint64_t rpc;
			int carries;
		} threads[THREADS];
		uint32_t left = JOBS;
		struct talk t;
		struct rng r;

		rng_seed(&r, seed);
		open_talk(&t, both, NULL);
		for (int i = 0; i < THREADS; i++)
			threads[i].at = 0, threads[i].rpc = 0, threads[i].carries = -1;
		for (uint32_t i = 0; i < JOBS; i++)
			jobs[i].task = (uint32_t)rng_below(&r, 1000) * 16 + i;
		while (left > 0) {
			uint32_t tid = (uint32_t)rng_below(&r, THREADS),
				 j = (uint32_t)rng_below(&r, JOBS);
			uint64_t got;

			if (rng_below(&r, 3) ==
			    0) { /* the thread's RPC: begin, work, begin, end, work, end */
				static const char *const names[] = { "rpc:begin", "x:a",
					"rpc:begin", "rpc:end", "x:a", "rpc:end" };
				uint32_t at = threads[tid].at++ % 6;

				got = say(&t, tid, names[at]);
				if (at == 0)
					threads[tid].rpc = got;
				assert_int_not_equal(got, 0);
				assert_int_equal(got, threads[tid].rpc);
				assert_int_equal(t.place.begins, at == 0);
				assert_int_equal(t.place.ends, at == 5);
				threads[tid].rpc = at == 5 ? 0 : got;
				continue;
			}
			if (rng_below(&r, 3) == 0) {
				uint64_t want = threads[tid].rpc != 0 ? threads[tid].rpc
				                : threads[tid].carries >= 0
				                    ? jobs[threads[tid].carries].trace
				                    : 0;

				assert_int_equal(say(&t, tid, "x:work"), want);
				continue;
			}
			if (jobs[j].at == 4)
				continue;
			got = jobs[j].at == 0 ? say_id(&t, tid, "b:queued", "job", j)
			      : jobs[j].at == 1
			          ? say2(&t, tid, "b:started", "job", number(j), "task",
					number(jobs[j].task))
			          : say_id(&t, tid, jobs[j].at == 2 ? "b:written" : "b:done",
					"task", jobs[j].task);
			if (jobs[j].at == 0)
				jobs[j].trace = got;
			assert_int_not_equal(got, 0);
			assert_int_equal(got, jobs[j].trace);
			assert_int_equal(t.place.begins, jobs[j].at == 0);
			assert_int_equal(t.place.ends, jobs[j].at == 3);
			for (int i = 0; i < THREADS; i++)
				if (threads[i].carries == (int)j &&
				    (i != (int)tid || jobs[j].at == 3))
					threads[i].carries = -1;
			if (jobs[j].at < 3 && threads[tid].rpc == 0)
				threads[tid].carries = (int)j;
			left -= ++jobs[j].at == 4;
		}
		assert_int_equal(counts(&t).orphans + counts(&t).clashes + counts(&t).given_up +
				     counts(&t).idless,
		    0);
		close_talk(&t);
	}
}

/* ---- the model: a list of all open requests, searched for each event ---- */

enum { OPEN_MAX = 64, MODEL_IDS = 64 };

struct model_id {
	uint32_t kind;
	bool is_text, negative;
	uint64_t n;
	char text[8];
};

struct model_request {
	/* tid: for MAP_THREAD the thread of the request; for MAP_FIELD valid if `held` */
	uint32_t rule, pid, tid;
	bool open, held, followed;
	uint32_t depth, inside, nids;
	int64_t begin_ns;
	uint64_t trace_id;
	struct model_id ids[MODEL_IDS];
};

struct model {
	const struct mapping *map;
	struct mapper_counts counts;
	uint32_t requests_max, ids_max, n;
	struct model_request list[4096]; /* in the order in which they began */
};

struct model_answer {
	struct model_request *request; /* NULL: none */
	bool begins, ends;
};

static bool
is_a(const char *pattern, const char *name)
{
	return fnmatch(pattern, name, 0) == 0;
}

static bool
model_value(const struct mapper_event *v, const char *field, uint32_t kind, struct model_id *ret)
{
	*ret = (struct model_id){ .kind = kind };
	for (uint32_t i = 0; i < v->nfields; i++) {
		const struct value *x = &v->values[i];

		if (strcmp(v->fields[i], field) != 0)
			continue;
		if (x->type == VALUE_TEXT && x->len > 0) {
			ret->is_text = true;
			snprintf(ret->text, sizeof ret->text, "%.*s", (int)x->len, x->text);
			return true;
		}
		ret->n = x->u;
		ret->negative = x->type == VALUE_INT && x->i < 0;
		return x->type == VALUE_INT || x->type == VALUE_UINT;
	}
	return false;
}

static bool
same_id(const struct model_id *a, const struct model_id *b)
{
	return a->kind == b->kind && a->is_text == b->is_text && a->negative == b->negative &&
	       a->n == b->n && strcmp(a->text, b->text) == 0;
}

static struct model_request *
model_find(struct model *m, uint32_t pid, uint32_t rule, const struct model_id *id)
{
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t j = 0; m->list[i].open && m->list[i].pid == pid &&
				     m->list[i].rule == rule && j < m->list[i].nids;
		     j++)
			if (same_id(&m->list[i].ids[j], id))
				return &m->list[i];
	return NULL;
}

static void
model_lose(struct model_request *r, uint64_t *count)
{
	r->open = r->held = false;
	*count += r->followed;
}

/* The innermost request of the thread among the rules whose bit is set. */
static struct model_request *
model_inner(struct model *m, const struct mapper_event *v, uint64_t rules)
{
	for (uint32_t i = m->n; i-- > 0;)
		if (m->list[i].open && m->list[i].pid == v->pid && m->list[i].tid == v->tid &&
		    rules >> m->list[i].rule & 1 &&
		    m->map->rules[m->list[i].rule].correlate == MAP_THREAD)
			return &m->list[i];
	return NULL;
}

static struct model_request *
model_oldest(struct model *m, bool with_ids, const struct model_request *but)
{
	struct model_request *best = NULL;

	for (uint32_t rule = 0; rule < m->map->nrules; rule++)
		for (uint32_t i = 0; i < m->n; i++) {
			struct model_request *r = &m->list[i];

			if (!r->open || r == but || r->rule != rule ||
			    (with_ids && m->map->rules[rule].correlate != MAP_FIELD))
				continue;
			if (best == NULL || r->begin_ns < best->begin_ns)
				best = r;
			break;
		}
	return best;
}

static void
model_leave(struct model *m, const struct mapper_event *v)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->list[i].held && m->list[i].pid == v->pid && m->list[i].tid == v->tid)
			m->list[i].held = false;
}

static void
model_enter(struct model *m, const struct mapper_event *v, struct model_request *r)
{
	if (r->held && r->tid == v->tid)
		return;
	r->held = false;
	if (model_inner(m, v, UINT64_MAX) != NULL)
		return;
	model_leave(m, v);
	r->held = m->map->rules[r->rule].carry;
	r->tid = v->tid;
}

static uint32_t
model_count(const struct model *m, bool ids)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n; i++)
		n += m->list[i].open ? ids ? m->list[i].nids : 1 : 0;
	return n;
}

static bool
model_follows(void *of, const char *type)
{
	(void)of;
	return strcmp(type, "no") != 0;
}

static struct model_request *
model_new(struct model *m, const struct mapper_event *v, uint32_t rule)
{
	const struct map_rule *r = &m->map->rules[rule];
	struct model_request *q;

	if (model_count(m, false) == m->requests_max)
		model_lose(model_oldest(m, false, NULL), &m->counts.given_up);
	q = &m->list[m->n++];
	*q = (struct model_request){ .rule = rule,
		.pid = v->pid,
		.tid = v->tid,
		.open = true,
		.begin_ns = v->time_ns,
		.followed = r->type == NULL || model_follows(NULL, r->type) };
	for (uint32_t i = 0; r->type_field != NULL && i < v->nfields; i++)
		if (strcmp(v->fields[i], r->type_field) == 0 && v->values[i].type == VALUE_TEXT &&
		    v->values[i].len == 2 && memcmp(v->values[i].text, "no", 2) == 0)
			q->followed = false;
	++*(q->followed ? &m->counts.begun : &m->counts.unsampled);
	return q;
}

static void
model_call(struct model *m, struct model_request *r, const struct model_id *id)
{
	struct model_request *known = model_find(m, r->pid, r->rule, id), *old;

	if (known == r)
		return;
	if (known != NULL)
		model_lose(known, &m->counts.clashes);
	if (r->nids == MODEL_IDS)
		return;
	if (model_count(m, true) == m->ids_max) {
		if ((old = model_oldest(m, true, r)) == NULL)
			return;
		model_lose(old, &m->counts.given_up);
	}
	r->ids[r->nids++] = *id;
}

static struct model_request *
model_begin(struct model *m, const struct mapper_event *v, uint32_t rule, bool *begins)
{
	const struct map_rule *r = &m->map->rules[rule];
	struct model_request *open;
	struct model_id id;

	if (r->correlate == MAP_THREAD) {
		if ((open = model_inner(m, v, UINT64_C(1) << rule)) != NULL && r->nested) {
			open->depth++;
			m->counts.endless += ++open->inside == MAPPER_INSIDE_MANY &&
			                     r->nested_line == 0;
			return open;
		}
		if (open != NULL)
			model_lose(open, &m->counts.given_up);
		*begins = true;
		return model_new(m, v, rule);
	}
	if (!model_value(v, r->begin_id, 0, &id)) {
		m->counts.idless++;
		return NULL;
	}
	if ((open = model_find(m, v->pid, rule, &id)) != NULL)
		model_lose(open, &m->counts.clashes);
	*begins = true;
	open = model_new(m, v, rule);
	model_call(m, open, &id);
	model_enter(m, v, open);
	return open;
}

static struct model_request *
model_named(struct model *m, const struct mapper_event *v, uint32_t rule, const char *field,
    uint32_t kind, bool *missed)
{
	struct model_request *r;
	struct model_id id;

	if (!model_value(v, field, kind, &id)) {
		m->counts.idless++;
		return NULL;
	}
	r = model_find(m, v->pid, rule, &id);
	*missed |= r == NULL;
	return r;
}

static struct model_request *
model_end(struct model *m, const struct mapper_event *v, bool *ends, bool *missed)
{
	const struct map_rule *rules = m->map->rules;
	struct model_request *r;
	uint64_t here = 0;

	for (uint32_t i = 0; i < m->map->nrules; i++)
		here |= (uint64_t)is_a(rules[i].end, v->name) << i;
	if ((r = model_inner(m, v, here)) != NULL) {
		*ends = r->depth == 0;
		r->depth -= !*ends;
		return r;
	}
	for (uint32_t i = 0; i < m->map->nrules && r == NULL; i++) {
		if (!(here >> i & 1))
			continue;
		if (rules[i].correlate == MAP_FIELD)
			r = model_named(m, v, i, rules[i].end_id, rules[i].end_kind, missed);
		else
			*missed = true;
	}
	*ends = r != NULL;
	return r;
}

static struct model_request *
model_steps(struct model *m, const struct mapper_event *v, struct model_request *now, bool *missed)
{
	bool placed = now != NULL;

	for (uint32_t i = 0; i < m->map->nrules; i++)
		for (uint32_t j = 0; j < m->map->rules[i].nsteps; j++) {
			const struct map_step *s = &m->map->rules[i].steps[j];
			struct model_request *r;
			struct model_id id;

			if (!is_a(s->event, v->name) ||
			    (r = model_named(m, v, i, s->id, s->id_kind, missed)) == NULL)
				continue;
			if (s->gives != NULL && model_value(v, s->gives, s->gives_kind, &id))
				model_call(m, r, &id);
			if (placed && !now->open)
				placed = false;
			if (placed)
				continue;
			now = r;
			placed = true;
			model_enter(m, v, r);
		}
	return placed ? now : NULL;
}

static struct model_answer
model_event(struct model *m, const struct mapper_event *v)
{
	struct model_answer a = { 0 };
	bool missed = false;

	a.request = model_end(m, v, &a.ends, &missed);
	for (uint32_t i = 0; i < m->map->nrules && a.request == NULL; i++)
		if (is_a(m->map->rules[i].begin, v->name))
			a.request = model_begin(m, v, i, &a.begins);
	if (!a.ends)
		a.request = model_steps(m, v, a.request, &missed);
	if (a.request == NULL && missed) {
		m->counts.orphans++;
		model_leave(m, v);
	}
	if (a.request == NULL && !missed && (a.request = model_inner(m, v, UINT64_MAX)) == NULL)
		for (uint32_t i = 0; i < m->n; i++)
			if (m->list[i].held && m->list[i].pid == v->pid && m->list[i].tid == v->tid)
				a.request = &m->list[i];
	if (a.ends)
		model_lose(a.request, &m->counts.ended);
	return a;
}

static void
model_expire(struct model *m, int64_t now_ns)
{
	for (uint32_t rule = 0; rule < m->map->nrules; rule++)
		for (uint32_t i = 0; i < m->n; i++) {
			if (!m->list[i].open || m->list[i].rule != rule)
				continue;
			if (now_ns - m->list[i].begin_ns <= m->map->rules[rule].limit_ns)
				break;
			model_lose(&m->list[i], &m->counts.given_up);
		}
}

/* ---- random events ---- */

static const char *const random_maps[] = {
	NESTED,
	BROKER,
	"[program]\nservice = x\n"
	"[request a]\nbegin = a:b*\nend = *:e\ncorrelate = thread\nnested = no\ntype_field = s\nlimit = 1ms\n"
	"[request b]\nbegin = b:b\nend = a:e\ncorrelate = thread\nlimit = 1ms\n"
	"[request c]\nbegin = a:s\nend = b:e\nbegin_id = s\nend_id = s\ncorrelate = field\ntype_field = s\nlimit = 1ms\n"
	"step = b:* s -> t\nstep = a:* t -> s\n",
	"[program]\nservice = x\n"
	"[request a]\nbegin = a:b\nend = a:e\nbegin_id = s\nend_id = t\ncorrelate = field\ntype_field = s\nstep = b:s s -> t\n"
	"step = a:* t -> s\nlimit = 1ms\n"
	"[request b]\nbegin = b:b\nend = a:e\nbegin_id = s\nend_id = t\ncorrelate = field\ncarry = no\nstep = *:s t as s\n",
	"[program]\nservice = x\n"
	"[request j]\nbegin = a:b\nend = a:e\nbegin_id = s\nend_id = t\ncorrelate = field\nstep = a:b s -> t\nstep = b:* s -> s2\n"
	"step = b:b s -> t\nstep = b:e t\n",
};

static const char *const random_names[] = { "rpc:begin", "rpc:end", "op:begin", "op:end",
	"b:queued", "b:started", "b:written", "b:done", "b:sent", "a:b", "a:b2", "a:e", "a:s",
	"b:b", "b:e", "b:s", "x:work", "x:work", "x:idle" };

static struct value
random_value(struct rng *r)
{
	static const char *const texts[] = { "1", "two", "no", "" };

	switch (rng_below(r, 8)) {
	case 0:
		return text(texts[rng_below(r, 4)]);
	case 1:
		return (struct value){ .type = VALUE_REAL, .d = 2 };
	case 2:
		return number(-(int64_t)rng_below(r, 2));
	case 3:
		return (struct value){ .type = VALUE_NONE };
	case 4:
	case 5:
		return (struct value){ .type = VALUE_UINT, .u = rng_below(r, 6) };
	default:
		return number((int64_t)rng_below(r, 6));
	}
}

/* The same name with other fields has another id. */
static void
random_event(struct rng *r, struct mapper_event *v, const char **fields, struct value *values)
{
	static const char *const names[] = { "job", "task", "no", "op", "s", "t", "s2" };
	uint32_t i = (uint32_t)rng_below(r, sizeof random_names / sizeof random_names[0]),
		 form = (uint32_t)rng_below(r, 12);

	v->name = random_names[i];
	v->name_id = i * 16 + (form == 0);
	v->nfields = 0;
	for (uint32_t j = 0; j < 7; j++) {
		if (form == 0 && j % 2 == 0)
			continue;
		fields[v->nfields] = names[j];
		values[v->nfields++] = random_value(r);
	}
	v->fields = fields;
	v->values = values;
	v->pid = 1 + (uint32_t)rng_below(r, 2);
	v->tid = 1 + (uint32_t)rng_below(r, 3);
	v->time_ns += (int64_t)rng_below(r, 20000);
}

static void
compare(struct model *m, struct model_answer a, const struct mapper_result *place, uint64_t seed,
    uint32_t step)
{
	bool followed = a.request != NULL && a.request->followed;

	if (followed && a.begins)
		a.request->trace_id = place->trace_id;
	if (place->trace_id != (followed ? a.request->trace_id : 0) ||
	    place->begins != (followed && a.begins) || place->ends != (followed && a.ends) ||
	    (followed && place->trace_id == 0))
		fail_msg(
		    "%s seed %llu event %u: trace %llx, begins %d, ends %d; the model says %llx, %d, %d",
		    m->map->rules[0].name, (unsigned long long)seed, step,
		    (unsigned long long)place->trace_id, place->begins, place->ends,
		    followed ? (unsigned long long)a.request->trace_id : 0, a.begins, a.ends);
}

static void
run_random(struct model *m, struct mapper *p, uint64_t seed)
{
	const char *fields[8];
	struct value values[8];
	struct mapper_event v = { 0 };
	struct mapper_counts n;
	struct rng r;
	struct err e = { 0 };

	rng_seed(&r, seed);
	for (uint32_t i = 0; i < 3000; i++) {
		struct mapper_result place;
		uint32_t pid;

		random_event(&r, &v, fields, values);
		if (mapper_event(p, &v, &place, &e) != 0)
			fail_msg("%s", e.text);
		compare(m, model_event(m, &v), &place, seed, i);
		if (rng_below(&r, 50) == 0) {
			mapper_expire(p, v.time_ns);
			model_expire(m, v.time_ns);
		}
		if (rng_below(&r, 500) == 0) {
			pid = 1 + (uint32_t)rng_below(&r, 2);
			mapper_gone(p, pid);
			for (uint32_t j = 0; j < m->n; j++)
				if (m->list[j].open && m->list[j].pid == pid)
					model_lose(&m->list[j], &m->counts.given_up);
		}
		assert_int_equal(mapper_open(p), model_count(m, false));
	}
	mapper_get_counts(p, &n);
	assert_memory_equal(&n, &m->counts, sizeof n);
}

static void
random_events_equal_the_model(void **state)
{
	static struct model m;
	struct mapper_counts sum = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++)
		for (size_t k = 0; k < sizeof random_maps / sizeof random_maps[0]; k++) {
			struct mapper_options o = { .requests_max = 1 + (uint32_t)(seed * 7 % 24),
				.seed = seed,
				.sampled = model_follows };
			struct talk t;

			open_talk(&t, random_maps[k], &o);
			memset(&m, 0, sizeof m);
			m.map = t.map;
			m.requests_max = o.requests_max;
			for (m.ids_max = 4; m.ids_max < 4 * o.requests_max;)
				m.ids_max *= 2;
			run_random(&m, t.mapper, seed);
			sum.begun += m.counts.begun;
			sum.ended += m.counts.ended;
			sum.unsampled += m.counts.unsampled;
			sum.given_up += m.counts.given_up;
			sum.orphans += m.counts.orphans;
			sum.clashes += m.counts.clashes;
			close_talk(&t);
		}
	assert_true(sum.begun > 10000 && sum.ended > 10000 && sum.unsampled > 1000 &&
		    sum.given_up > 1000 && sum.orphans > 1000 &&
		    sum.clashes > 1000); /* else the test would not cover clashes */
}

/* ---- spans ---- */

static const char SPANS[] =
    "[program]\nservice = x\n[request otl]\nbegin = o:start\nend = o:end\ncorrelate = span\nbegin_id = span\n"
    "end_id = span\ntrace_id = trace\nparent_id = parent\ntype_field = op\n";

static struct mapper_result
span_says(struct talk *t, uint32_t pid, const char *name, const char *trace, const char *span,
    const char *other)
{
	static const char *const start[] = { "trace", "span", "parent" }, *const end[] = { "trace",
		"span", "op" };
	bool starts = strcmp(name, "o:start") == 0;
	const struct value values[] = {
		{ .type = VALUE_TEXT, .len = (uint32_t)strlen(trace), .text = trace },
		{ .type = VALUE_TEXT, .len = (uint32_t)strlen(span), .text = span },
		{ .type = VALUE_TEXT, .len = (uint32_t)strlen(other), .text = other },
	};
	struct mapper_event v = { .time_ns = ++t->now_ns,
		.pid = pid,
		.tid = pid,
		.name = name,
		.name_id = starts ? 901 : 902,
		.nfields = 3,
		.fields = starts ? start : end,
		.values = values };
	struct mapper_result ret;
	struct err e;

	assert_int_equal(mapper_event(t->mapper, &v, &ret, &e), 0);
	return ret;
}

static bool
follows_ab(void *of, uint64_t trace_id)
{
	(void)of;
	return trace_id == 0xab;
}

static void
spans_are_units_that_their_parents_fork_and_join(void **state)
{
	struct mapper_options o = { .follows = follows_ab };
	struct mapper_result r;
	struct mapper_counts n;
	struct talk t;

	(void)state;
	open_talk(&t, SPANS, &o);
	r = span_says(&t, 1, "o:start", "000000000000000100000000000000ab", "01", "0000");
	assert_true(r.span && r.begins && !r.unit_begins);
	assert_int_equal(r.trace_id, 0xab);
	assert_int_equal(r.unit_id, 1);
	assert_string_equal(r.type, "otl");
	/* of another process, whose parent is not known there */
	r = span_says(&t, 2, "o:start", "000000000000000100000000000000ab", "02", "01");
	assert_true(r.span && r.unit_begins && !r.begins);
	assert_int_equal(r.trace_id, 0xab);
	assert_int_equal(r.parent_id, 1);
	/* of a trace that is not followed */
	r = span_says(&t, 2, "o:start", "cd", "03", "01");
	assert_int_equal(r.trace_id, 0);
	assert_int_equal(span_says(&t, 2, "o:end", "cd", "03", "get").trace_id, 0);
	r = span_says(&t, 2, "o:end", "000000000000000100000000000000ab", "02", "get");
	assert_true(r.span && r.unit_ends && !r.ends);
	assert_int_equal(r.parent_id, 1);
	assert_string_equal(r.type, "get"); /* its name comes with its end */
	r = span_says(&t, 1, "o:end", "000000000000000100000000000000ab", "01", "home");
	assert_true(r.span && r.ends);
	assert_string_equal(r.type, "otl"); /* that of the request does not change */
	assert_int_equal(mapper_open(t.mapper), 0);
	assert_int_equal(span_says(&t, 1, "o:end", "ab", "01", "home").trace_id, 0);
	assert_int_equal(span_says(&t, 1, "o:start", "ab", "", "01").trace_id, 0);
	span_says(&t, 1, "o:start", "ab", "05", "0");
	span_says(&t, 2, "o:start", "ab", "06", "05");
	assert_int_equal(mapper_open(t.mapper), 2);
	mapper_gone(t.mapper, 2);
	assert_int_equal(mapper_open(t.mapper), 1);
	mapper_expire(t.mapper, t.now_ns + INT64_C(61000000000));
	assert_int_equal(mapper_open(t.mapper), 0);
	mapper_get_counts(t.mapper, &n);
	assert_int_equal(n.idless, 1);
	assert_int_equal(n.given_up, 2);
	assert_int_equal(n.begun, 4);
	assert_int_equal(n.ended, 2);
	assert_int_equal(n.unsampled, 1);
	close_talk(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_are_units_that_their_parents_fork_and_join),
		cmocka_unit_test(a_pair_on_a_thread_is_a_request_with_all_events_in_between),
		cmocka_unit_test(nested_pairs_count),
		cmocka_unit_test(a_missing_end_on_a_thread_is_detected_before_the_time_limit),
		cmocka_unit_test(without_nesting_a_begin_gives_up_the_open_request),
		cmocka_unit_test(a_request_is_followed_by_a_chain_of_ids_over_threads),
		cmocka_unit_test(ids_are_compared_with_type_kind_and_process),
		cmocka_unit_test(without_carry_only_ids_assign_records),
		cmocka_unit_test(unsampled_requests_are_counted_but_not_followed),
		cmocka_unit_test(the_end_of_a_process_gives_up_its_requests),
		cmocka_unit_test(a_request_without_an_end_is_given_up_after_the_time_of_its_rule),
		cmocka_unit_test(over_the_limit_the_oldest_request_is_given_up),
		cmocka_unit_test(ids_of_a_request_are_bounded),
		cmocka_unit_test(types_from_fields_are_printable_and_bounded),
		cmocka_unit_test(trace_ids_come_from_the_seed),
		cmocka_unit_test(no_memory_is_allocated_in_steady_state),
		cmocka_unit_test(in_any_order_of_threads_each_record_belongs_to_its_request),
		cmocka_unit_test(random_events_equal_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
