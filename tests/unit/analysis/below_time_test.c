/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/below_time.h"
#include "analysis/below_list.h"
#include "base/rng.h"

static const char *const WAIT_FIELDS[] = { "off_ns", "ready_ns", "owner_state", "owner_place",
	"waker", "waker_type", "before_ns", "owner_type", "waker_name" };
static const char *const SAMPLE_FIELDS[] = { "weight_ns", "before_ns" };

enum { MOST = 64 };

struct made {
	struct labels *labels;
	struct event events[MOST];
	struct value values[MOST][9];
	uint32_t waker, waker_type; /* of the next wait */
	int64_t owner_type;         /* the same; -1: not known */
	int64_t before;             /* of the next record */
	enum below_side side;
	struct unit units[2];
	struct trace trace;
	struct arena arena;
};

static struct value
value_of(int64_t u)
{
	return (struct value){ .type = VALUE_UINT, .u = (uint64_t)u };
}

static struct value
text_of(const char *s)
{
	return (struct value){ .type = VALUE_TEXT, .len = (uint32_t)strlen(s), .text = s };
}

static struct made *
made_new(void)
{
	struct made *m = calloc(1, sizeof *m);

	m->labels = labels_new();
	m->trace = (struct trace){ .below = m->events, .units = m->units, .nunits = 2 };
	return m;
}

static void
made_free(struct made *m)
{
	labels_free(m->labels);
	arena_release(&m->arena);
	free(m);
}

static struct event *
add(struct made *m, enum record_kind kind, uint32_t unit, const char *text, int64_t at_ns,
    const char *const *fields, uint32_t nfields)
{
	uint32_t i = m->trace.nbelow++;

	assert_true(i < MOST);
	m->events[i] = (struct event){ .time_ns = at_ns,
		.unit = unit,
		.label = labels_intern(m->labels, kind, text, strlen(text), fields, nfields),
		.nvalues = nfields,
		.values = m->values[i] };
	assert_int_not_equal(m->events[i].label, LABEL_NONE);
	return &m->events[i];
}

static void
wait(struct made *m, const char *text, int64_t begin, int64_t woken, int64_t end,
    const char *owner_state, const char *owner_place)
{
	struct value *v = m->values[m->trace.nbelow];

	add(m, RECORD_WAIT, 0, text, end + m->before, WAIT_FIELDS, 9);
	v[0] = value_of(end - begin);
	v[1] = value_of(end - woken);
	v[2] = text_of(owner_state);
	v[3] = text_of(owner_place);
	v[4] = value_of(m->waker);
	v[5] = value_of(m->waker_type);
	v[6] = value_of(m->before);
	v[7] = m->owner_type >= 0 ? value_of(m->owner_type) : (struct value){ .type = VALUE_NONE };
	v[8] = text_of(m->waker_type == 0 ? "writer" : "worker");
}

static void
sample(struct made *m, const char *text, int64_t at, int64_t weight)
{
	struct value *v = m->values[m->trace.nbelow];

	add(m, RECORD_SAMPLE, 0, text, at + m->before, SAMPLE_FIELDS, 2);
	v[0] = value_of(weight);
	v[1] = value_of(m->before);
}

static struct below_time
time_of(struct made *m, int64_t from, int64_t to)
{
	struct below_time t;
	struct below_records *r;
	int64_t states = 0, parts = 0;
	struct err e;

	assert_int_equal(below_records_of(&r, &m->trace, m->labels, &m->arena, &e), 0);
	assert_int_equal(below_time_of(&t, r, 0, m->side, from, to, &m->arena, &e), 0);
	for (unsigned i = 0; i < BELOW_STATES; i++)
		states += t.ns[i];
	for (uint32_t i = 0; i < t.nparts; i++)
		parts += t.parts[i].ns;
	assert_int_equal(states, to - from);
	assert_int_equal(parts, to - from);
	return t;
}

static void
a_time_is_divided_into_what_its_thread_did(void **state)
{
	struct made *m = made_new();
	struct below_time t;
	(void)state;

	wait(m, "s/below:disk(main;read() at a.c:3;pread64)", 50, 140, 150, "unknown", "");
	wait(m, "s/below:lock(main;flush_log() at journal.c:88;futex)", 200, 280, 300, "disk",
	    "write_out() at journal.c:131;fsync");
	wait(m, "s/below:timer(main;nap() at a.c:9)", 390, 500, 510, "unknown", "");
	t = time_of(m, 100, 400);
	assert_int_equal(t.ns[BELOW_DISK], 40);
	assert_int_equal(t.ns[BELOW_LOCK], 80);
	assert_int_equal(t.ns[BELOW_TIMER], 10);
	assert_int_equal(t.ns[BELOW_READY], 30);
	assert_int_equal(t.ns[BELOW_RUNNING], 140);
	assert_int_equal(t.waits, 3);
	for (uint32_t i = 0; i < t.nparts; i++)
		if (t.parts[i].state == BELOW_LOCK) {
			assert_int_equal(t.parts[i].owner_state, BELOW_DISK);
			assert_memory_equal(t.parts[i].owner_place, "write_out()", 11);
		}
	t = time_of(m, 210, 250); /* in the middle of a wait */
	assert_int_equal(t.ns[BELOW_LOCK], 40);
	t = time_of(m, 100, 100);
	assert_int_equal(t.nparts, 0);
	made_free(m);
}

/* Their records come with the begin of the unit, and say how much earlier they were. */
static void
what_a_thread_did_before_its_unit_began_lies_before_it(void **state)
{
	struct made *m = made_new();
	struct below_time t;
	(void)state;

	m->side = BELOW_BETWEEN;
	m->before = 210;
	wait(m, "s/below:thread(main;pop() at q.c:3;futex)", 50, 140, 150, "unknown", "");
	m->before = 110;
	wait(m, "s/below:lock(main;reserve() at a.c:8;futex)", 200, 240, 250, "timer", "");
	m->before = 80;
	sample(m, "s/below:running(main;reserve() at a.c:9)", 280, 1000);
	m->before = 0; /* the unit begins at 360 */
	wait(m, "s/below:timer(main;nap() at a.c:9)", 400, 500, 510, "unknown", "");
	t = time_of(m, 100, 360);
	assert_int_equal(t.ns[BELOW_THREAD], 40);
	assert_int_equal(t.ns[BELOW_LOCK], 40);
	assert_int_equal(t.ns[BELOW_READY], 20);
	assert_int_equal(t.ns[BELOW_RUNNING], 110);
	assert_int_equal(t.ns[BELOW_UNKNOWN], 50); /* between both waits nobody saw it */
	assert_int_equal(t.ns[BELOW_TIMER], 0);
	made_free(m);
}

static void
waits_that_contradict_each_other_are_unknown(void **state)
{
	struct made *m = made_new();
	struct below_time t;
	(void)state;

	wait(m, "s/below:disk(a)", 0, 100, 100, "unknown", "");
	wait(m, "s/below:lock(b)", 20, 40, 40, "unknown", "");
	wait(m, "s/below:timer(c)", 90, 150, 150, "unknown", "");
	t = time_of(m, 0, 200);
	assert_int_equal(t.ns[BELOW_DISK], 70);
	assert_int_equal(t.ns[BELOW_LOCK], 0);
	assert_int_equal(t.ns[BELOW_UNKNOWN], 30);
	assert_int_equal(t.ns[BELOW_TIMER], 50);
	assert_int_equal(t.ns[BELOW_RUNNING], 50);
	made_free(m);
}

static void
a_wait_that_cannot_be_read_makes_all_of_the_time_unknown(void **state)
{
	struct made *m = made_new();
	(void)state;

	wait(m, "s/below:disk(a)", 10, 20, 30, "unknown", "");
	m->values[0][1] = value_of(21); /* woken before its begin */
	assert_int_equal(time_of(m, 0, 100).ns[BELOW_UNKNOWN], 100);
	assert_int_equal(time_of(m, 40, 100).ns[BELOW_RUNNING], 60); /* it ended before */
	m->values[0][1] = text_of("1");
	assert_int_equal(time_of(m, 0, 100).ns[BELOW_UNKNOWN], 100);
	m->values[0][1] = value_of(5);
	assert_int_equal(time_of(m, 0, 100).ns[BELOW_DISK], 15);
	m->events[0].unit = 1; /* of another unit */
	assert_int_equal(time_of(m, 0, 100).ns[BELOW_RUNNING], 100);
	made_free(m);
}

static void
samples_divide_the_running_time_by_their_weights(void **state)
{
	struct made *m = made_new();
	struct below_time t;
	(void)state;

	sample(m, "s/below:running(main;sort() at a.c:5)", 10, 30);
	sample(m, "s/below:running(main;sum() at a.c:8)", 50, 10);
	sample(m, "s/below:running(main;late() at a.c:9)", 900, 10);
	t = time_of(m, 0, 101);
	assert_int_equal(t.ns[BELOW_RUNNING], 101);
	assert_int_equal(t.samples, 2);
	assert_int_equal(t.nparts, 2);
	assert_int_equal(t.parts[0].ns, 75);
	assert_memory_equal(t.parts[0].stack, "main;sort()", 11);
	assert_int_equal(t.parts[1].ns, 26);
	made_free(m);
}

static void
time_in_which_nobody_saw_the_thread_is_not_said_to_be_running(void **state)
{
	const int64_t ms = 1000000, unseen = BELOW_UNSEEN_NS;
	struct made *m = made_new();
	struct below_time t;
	(void)state;

	assert_int_equal(time_of(m, 0, unseen - 1).ns[BELOW_RUNNING], unseen - 1);
	assert_int_equal(time_of(m, 0, unseen).ns[BELOW_UNKNOWN], unseen);
	sample(m, "s/below:running(main;sum() at a.c:8)", 3 * ms, ms);
	wait(m, "s/below:disk(a)", 20 * ms, 30 * ms, 30 * ms, "unknown", "");
	t = time_of(m, 0, 50 * ms); /* 20 ms with a sample, 20 ms of disk, 20 ms without */
	assert_int_equal(t.ns[BELOW_RUNNING], 20 * ms);
	assert_int_equal(t.ns[BELOW_DISK], 10 * ms);
	assert_int_equal(t.ns[BELOW_UNKNOWN], 20 * ms);
	m->side =
	    BELOW_BETWEEN; /* it waited for another unit: nothing is taken for running without a sample */
	assert_int_equal(time_of(m, 19 * ms, 31 * ms).ns[BELOW_UNKNOWN], 2 * ms);
	assert_int_equal(time_of(m, 19 * ms, 31 * ms).ns[BELOW_DISK], 10 * ms);
	assert_int_equal(time_of(m, 2 * ms, 5 * ms).ns[BELOW_RUNNING], 3 * ms);
	made_free(m);
}

/* What each nanosecond is, by looking at all waits. */
static void
brute_force(int64_t ns[BELOW_STATES], const int64_t (*w)[3], uint32_t n, int64_t from, int64_t to)
{
	memset(ns, 0, BELOW_STATES * sizeof *ns);
	for (int64_t at = from; at < to; at++) {
		enum below_state is = BELOW_RUNNING;
		uint32_t covering = 0;

		for (uint32_t i = 0; i < n; i++)
			if (w[i][0] <= at && at < w[i][2]) {
				covering++;
				is = at < w[i][1] ? BELOW_LOCK : BELOW_READY;
			}
		ns[covering > 1 ? BELOW_UNKNOWN : is]++;
	}
}

static void
any_waits_are_divided_as_nanosecond_by_nanosecond(void **state)
{
	struct rng r;
	(void)state;

	rng_seed(&r, 7);
	for (int round = 0; round < 3000; round++) {
		struct made *m = made_new();
		uint32_t n = (uint32_t)rng_below(&r, 6);
		int64_t w[6][3], from = (int64_t)rng_below(&r, 60), to, expected[BELOW_STATES];
		struct below_time t;

		to = from + (int64_t)rng_below(&r, 60);
		for (uint32_t i = 0; i < n; i++) {
			w[i][0] = (int64_t)rng_below(&r, 100);
			w[i][1] = w[i][0] + (int64_t)rng_below(&r, 20);
			w[i][2] = w[i][1] + (int64_t)rng_below(&r, 10);
			wait(m, "s/below:lock(f)", w[i][0], w[i][1], w[i][2], "unknown", "");
		}
		t = time_of(m, from, to);
		brute_force(expected, (const int64_t(*)[3])w, n, from, to);
		for (unsigned s = 0; s < BELOW_STATES; s++)
			assert_int_equal(t.ns[s], expected[s]);
		made_free(m);
	}
}

static void
the_place_is_the_innermost_line_of_the_program(void **state)
{
	static const char *const stacks[][2] = {
		{ "main;serve;append() at dd.c:27;fsync", "append() at dd.c:27;fsync" },
		{ "a() at a.c:1;b() at b.c:2", "b() at b.c:2" },
		{ "main;program+0x1234", "program+0x1234" },
		{ "one", "one" },
		{ "", "" },
		{ "main;", "main;" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
		uint32_t len = (uint32_t)strlen(stacks[i][0]),
			 place = below_place_len(stacks[i][0], len);

		assert_int_equal(place, strlen(stacks[i][1]));
		assert_string_equal(stacks[i][0] + len - place, stacks[i][1]);
	}
}

static void
the_caller_is_the_innermost_line_outside_the_place(void **state)
{
	static const char *const stacks[][2] = {
		{ "main;serve() at dd.c:88;append() at dd.c:27;fsync", "serve() at dd.c:88" },
		{ "main() at a.c:1;sort() at a.c:5;qsort;compare() at a.c:9", "sort() at a.c:5" },
		{ "main;serve;append() at dd.c:27;fsync", "serve" },
		{ "main;program+0x1234", "main" },
		{ "...;append() at dd.c:27", "" },
		{ "append() at dd.c:27", "" },
		{ ";one", "" },
		{ "", "" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
		uint32_t len = (uint32_t)strlen(stacks[i][0]), n;
		const char *caller;

		n = below_caller_of(&caller, stacks[i][0], len, below_place_len(stacks[i][0], len));
		assert_int_equal(n, strlen(stacks[i][1]));
		assert_memory_equal(caller, stacks[i][1], n);
	}
}

/* ---- of many requests ---- */

/* Each request waits for a lock for x, runs for y, and spends z elsewhere. */
static struct below_list *
requests(uint32_t n, double *lock_share)
{
	struct below_list *l = below_list_new();
	struct moments total = { 0 };
	struct comoments lock = { 0 };
	struct rng r;

	rng_seed(&r, 3);
	for (uint32_t i = 0; i < n; i++) {
		struct made *m = made_new();
		int64_t x = 1000 + (int64_t)rng_below(&r, 900000),
			y = (int64_t)rng_below(&r, 50000),
			z = 100000 + (int64_t)rng_below(&r, 100000);
		bool syncs = rng_below(&r, 10) < 8;
		struct below_time t;

		/* Requests of type 7 release it after long waits, threads outside of requests after others, and sometimes it is
		 * not known. */
		m->waker = i % 10 == 0 ? 0 : 44;
		m->waker_type = x > 450000 ? 7 : 0;
		/* It is held for requests of type 9 in long waits, outside of requests in others, and sometimes that is not known. */
		m->owner_type = i % 20 == 0 ? -1 : x > 300000 ? 9 : 0;
		wait(m, "s/below:lock(main;flush_log() at journal.c:88;futex)", 0, x, x,
		    syncs ? "disk" : "running",
		    syncs ? "write_out() at journal.c:131;fsync" : "fill() at journal.c:140");
		sample(m, "s/below:running(main;sum() at a.c:8)", x + y / 2, 10);
		t = time_of(m, 0, x + y);
		assert_true(below_list_add(l, x + y + z, &t, 1));
		moments_add(&total, (double)(x + y + z));
		comoments_add(&lock, (double)x, (double)(x + y + z));
		made_free(m);
	}
	*lock_share = comoments_covariance(&lock) / moments_variance(&total);
	return l;
}

static void
shares_of_states_add_up_and_name_place_and_holder(void **state)
{
	struct below_finding f;
	struct arena a = { 0 };
	double lock, sum = 0;
	struct err e;
	struct below_list *l = requests(400, &lock);
	(void)state;

	assert_int_equal(below_list_find(&f, l, false, 0.95, 200, 1, &a, &e), 0);
	assert_int_equal(f.requests, 400);
	assert_int_equal(f.top, BELOW_LOCK);
	assert_near(f.states[BELOW_LOCK].share, lock, 1e-9);
	for (unsigned s = 0; s < BELOW_STATES; s++)
		sum += f.states[s].share;
	assert_near(sum, f.share, 1e-12);
	assert_true(f.states[BELOW_LOCK].interval.low > 0.8);
	assert_true(f.states[BELOW_LOCK].interval.low <= lock &&
		    lock <= f.states[BELOW_LOCK].interval.high);
	assert_true(f.states[BELOW_RUNNING].interval.high < 0.1);
	assert_string_equal(f.places[0].place, "flush_log() at journal.c:88;futex");
	assert_int_equal(f.places[0].state, BELOW_LOCK);
	assert_near(f.places[0].share, lock, 1e-9);
	assert_int_equal(f.nholders, 2);
	assert_string_equal(f.holders[0].place, "write_out() at journal.c:131;fsync");
	assert_int_equal(f.holders[0].state, BELOW_DISK);
	assert_near(f.holders[0].mean_ns + f.holders[1].mean_ns, f.places[0].mean_ns, 1e-3);
	assert_near(f.holders[0].mean_ns / f.places[0].mean_ns, 0.8, 0.06);
	assert_int_equal(f.nwakers, 2);
	assert_int_equal(f.waits, 360);
	assert_int_equal(f.wakers[0].type, 7);
	assert_int_equal(f.wakers[1].type, 0);
	assert_int_equal(f.wakers[0].waits + f.wakers[1].waits, 360);
	assert_string_equal(f.wakers[0].thread, "worker");
	assert_int_equal(f.nheld, 2);
	assert_int_equal(f.held_waits, 380);
	assert_int_equal(f.held[0].type, 9);
	assert_int_equal(f.held[1].type, 0);
	assert_int_equal(f.held[0].waits + f.held[1].waits, 380);
	assert_true(
	    f.held[0].waits > f.wakers[0].waits); /* of more waits than are released by type 7 */
	assert_true(f.held[0].share + f.held[1].share <= f.places[0].share + 1e-9);
	assert_in_range(f.wakers[0].waits, 160, 200);
	assert_true(f.wakers[0].share > f.wakers[1].share);
	assert_near(f.wakers[0].of_edge, f.wakers[0].share / f.share, 1e-9);
	assert_int_equal(below_list_find(&f, l, true, 0.95, 200, 1, &a, &e), 0);
	assert_int_equal(f.top, BELOW_LOCK);
	assert_near(f.states[BELOW_LOCK].share, f.states[BELOW_LOCK].latency_share, 1e-12);
	assert_string_equal(f.places[0].caller, "main");
	below_list_free(l);
	arena_release(&a);
}

/* Half of the time of the place, or a third, is from its first caller; the others have few of it each. */
static void
a_caller_of_less_than_half_of_a_place_is_not_told(void **state)
{
	(void)state;

	for (uint32_t of = 2; of <= 3; of++) {
		struct below_list *l = below_list_new();
		struct below_finding f;
		struct arena a = { 0 };
		struct err e;

		for (uint32_t i = 0; i < 60; i++) {
			struct made *m = made_new();
			struct below_time t;
			char text[80];

			snprintf(text, sizeof text,
			    "s/below:running(main;caller%u;hash() at text.c:141)",
			    i % of == 0 ? 0 : i);
			sample(m, text, 100, 10);
			t = time_of(m, 0, 1000);
			assert_true(below_list_add(l, 2000, &t, 1));
			made_free(m);
		}
		assert_int_equal(below_list_find(&f, l, true, 0.95, 50, 1, &a, &e), 0);
		assert_int_equal(f.nplaces, 1);
		assert_string_equal(f.places[0].place, "hash() at text.c:141");
		assert_string_equal(f.places[0].caller, of == 2 ? "caller0" : "");
		below_list_free(l);
		arena_release(&a);
	}
}

static void
requests_that_do_not_pass_the_edge_count_with_0(void **state)
{
	struct below_list *l = below_list_new();
	struct below_finding f;
	struct arena a = { 0 };
	struct err e;
	(void)state;

	assert_int_equal(below_list_find(&f, l, false, 0.95, 50, 1, &a, &e), 0);
	assert_int_equal(f.requests, 0);
	for (int i = 0; i < BELOW_REQUESTS_MAX + 5; i++) {
		struct below_time t = { .ns = { [BELOW_DISK] = 1000 } };

		assert_true(below_list_add(l, 2000 + 1000 * (i % 2), &t, i % 2));
	}
	assert_int_equal(below_list_requests(l), BELOW_REQUESTS_MAX);
	assert_int_equal(below_list_find(&f, l, false, 0.95, 50, 1, &a, &e), 0);
	assert_near(f.states[BELOW_DISK].share, 1, 1e-9);
	assert_near(f.states[BELOW_DISK].mean_ns, 500, 1e-9);
	assert_int_equal(f.nplaces, 0);
	below_list_free(l);
	arena_release(&a);
}

/* ---- in traces ---- */

static void
waits_are_kept_with_their_unit_and_are_no_steps(void **state)
{
	static const struct assemble_options o = { 64 << 20, 5000, INT64_C(1000000000) };
	struct batch_label labels[] = {
		{ RECORD_REQUEST_BEGIN, 22, 0, "s/hone:request_begin(R)", NULL },
		{ RECORD_REQUEST_END, 20, 0, "s/hone:request_end(R)", NULL },
		{ RECORD_WAIT, 16, 4, "s/below:disk(f)", (const char **)(uintptr_t)WAIT_FIELDS },
	};
	struct value v[4] = { value_of(30), value_of(10), text_of("unknown"), text_of("") };
	struct record records[] = { { .trace_id = 9, .unit_id = 5, .time_ns = 50, .label = 2 },
		{ .trace_id = 1, .unit_id = 5, .time_ns = 100, .label = 0 },
		{ .trace_id = 1, .unit_id = 5, .time_ns = 150, .label = 2 },
		{ .trace_id = 1, .unit_id = 6, .time_ns = 160, .label = 2 },
		{ .trace_id = 1, .unit_id = 5, .time_ns = 200, .label = 1 } };
	struct batch b = { .watermark_ns = INT64_MAX / 8,
		.labels = labels,
		.nlabels = 3,
		.records = records,
		.nrecords = 5 };
	struct kit *k = kit_new(&o);
	struct below_records *below;
	struct below_time time;
	struct critpath path;
	struct trace *t;
	(void)state;

	for (int i = 0; i < 3; i++)
		labels[i].len = (uint32_t)strlen(labels[i].text);
	for (int i = 0; i < 5; i++)
		if (records[i].label == 2) {
			records[i].nvalues = 4;
			records[i].values = v;
		}
	assert_int_equal(assemble_join(k->assemble, 0, &k->e), 0);
	assert_int_equal(assemble_batch(k->assemble, 0, &b, &k->e), 0);
	t = assemble_next(k->assemble);
	assert_non_null(t);
	assert_int_equal(t->nevents, 2);
	assert_int_equal(t->nunits, 1);
	assert_int_equal(t->nbelow, 1); /* that of an unknown unit is left out */
	assert_int_equal(critpath_extract(&path, t, k->labels, NULL, &k->arena, &k->e), 0);
	assert_int_equal(path.nsteps, 2);
	assert_int_equal(below_records_of(&below, t, k->labels, &k->arena, &k->e), 0);
	assert_int_equal(
	    below_time_of(&time, below, 0, BELOW_INSIDE, 100, 200, &k->arena, &k->e), 0);
	assert_int_equal(time.ns[BELOW_DISK], 20);
	assert_int_equal(time.ns[BELOW_READY], 10);
	assert_int_equal(time.ns[BELOW_RUNNING], 70);
	trace_free(t);
	assert_null(assemble_next(k->assemble));
	assert_int_equal(kit_counts(k).pending, 0);
	assert_int_equal(kit_counts(k).late, 1); /* a wait alone begins no trace */
	kit_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_is_divided_into_what_its_thread_did),
		cmocka_unit_test(what_a_thread_did_before_its_unit_began_lies_before_it),
		cmocka_unit_test(waits_that_contradict_each_other_are_unknown),
		cmocka_unit_test(a_wait_that_cannot_be_read_makes_all_of_the_time_unknown),
		cmocka_unit_test(samples_divide_the_running_time_by_their_weights),
		cmocka_unit_test(time_in_which_nobody_saw_the_thread_is_not_said_to_be_running),
		cmocka_unit_test(any_waits_are_divided_as_nanosecond_by_nanosecond),
		cmocka_unit_test(the_place_is_the_innermost_line_of_the_program),
		cmocka_unit_test(the_caller_is_the_innermost_line_outside_the_place),
		cmocka_unit_test(shares_of_states_add_up_and_name_place_and_holder),
		cmocka_unit_test(a_caller_of_less_than_half_of_a_place_is_not_told),
		cmocka_unit_test(requests_that_do_not_pass_the_edge_count_with_0),
		cmocka_unit_test(waits_are_kept_with_their_unit_and_are_no_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
