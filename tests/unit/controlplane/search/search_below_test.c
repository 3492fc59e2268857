/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "analysis/differential_text.h"
#include "controlplane/search/search_below.h"
#include "controlplane/search/search_end.h"
#include "controlplane/search/search_verdict.h"
#include "instrument/policy.h"

/* The edge from 'b' to 'c' of "(abc)" has the problem: most of it is a lock. */
enum { EDGE = 2, TRACES = 150, CLEAR = TRACES * 2 / 3 };

static const char *WAIT_FIELDS[] = { "off_ns", "ready_ns", "owner_state", "owner_place", "waker",
	"waker_type", "owner_name", "owner_type", "waker_name" };
enum { NWAIT = sizeof WAIT_FIELDS / sizeof *WAIT_FIELDS };

static const char CHECKOUT[] = "s/hone:request_begin(CHECKOUT)";

struct scene {
	struct fake f;
	struct search *s;
	struct group *group;
	uint32_t wait;
	int64_t now_ns; /* the next request begins */
};

static void
begin(struct scene *x, bool on, bool can)
{
	static const char text[] = "s/below:lock(main;flush_log() at journal.c:88;futex)";
	int64_t time_ns[PATH_MAX_STEPS];

	fake_begin(&x->f, "(abc)");
	x->f.can_look_below = can;
	x->s = fake_search(&x->f, 'b', 'c');
	x->f.d->below = on;
	assert_true(label_set_add(&x->s->enabled.labels, x->f.paths.of[(int)'b']));
	assert_true(label_set_add(&x->s->enabled.labels, x->f.paths.of[(int)'c']));
	search_enter(x->s, SEARCH_SWITCHING);
	search_enter(x->s, SEARCH_GATHERING);
	x->f.d->groups = x->f.paths.groups;
	for (int i = 0; i < TRACES; i++) {
		fake_times(&x->f, "(abc)", -1, time_ns);
		time_ns[EDGE] += rng_below(&x->f.rng, 10) < 3 ? 20 * MS_NS + i * 1000 : 0;
		x->group = paths_add(&x->f.paths, "(abc)", time_ns);
	}
	x->s->origin.group_id = x->group->shape.key;
	x->wait = labels_intern(
	    x->f.paths.labels, RECORD_WAIT, text, sizeof text - 1, WAIT_FIELDS, NWAIT);
	labels_intern(
	    x->f.paths.labels, RECORD_REQUEST_BEGIN, CHECKOUT, sizeof CHECKOUT - 1, NULL, 0);
}

static void
end(struct scene *x)
{
	x->f.d->groups = NULL;
	fake_end(&x->f);
}

static void
judge(struct scene *x)
{
	assert_int_equal(
	    conclude(&x->f.port, x->s, x->f.paths.groups, x->group, EDGE, VERDICT_PLACE, NULL), 0);
}

/* A request along these letters; edge i takes takes_ns[i], and at its end it waits for waits_ns[i] of that. */
static void
request_along(
    struct scene *x, const char *letters, const int64_t *takes_ns, const int64_t *waits_ns)
{
	static const char holder[] = "main;write_out() at journal.c:131;fsync";
	struct value v[PATH_MAX_STEPS][NWAIT];
	struct event events[PATH_MAX_STEPS] = { 0 }, below[PATH_MAX_STEPS] = { 0 };
	struct unit unit = { .count = (uint32_t)strlen(letters), .fork = TRACE_NONE };
	struct critpath path;
	struct shape shape;
	struct trace t = { .type = x->f.paths.of['('],
		.begin_ns = x->now_ns,
		.probed = true,
		.nevents = unit.count,
		.nunits = 1,
		.events = events,
		.units = &unit,
		.below = below };

	for (uint32_t i = 0; i < t.nevents; i++) {
		events[i].time_ns = i == 0 ? x->now_ns : events[i - 1].time_ns + takes_ns[i - 1];
		events[i].label = x->f.paths.of[(int)letters[i]];
		if (i == 0 || waits_ns[i - 1] == 0)
			continue;
		v[i][0] = (struct value){ .type = VALUE_UINT, .u = (uint64_t)waits_ns[i - 1] };
		v[i][1] = (struct value){ .type = VALUE_UINT };
		v[i][2] = (struct value){ .type = VALUE_TEXT, .len = 4, .text = "disk" };
		v[i][3] = (struct value){
			.type = VALUE_TEXT, .len = sizeof holder - 1, .text = holder
		};
		v[i][4] = (struct value){ .type = VALUE_UINT, .u = 77 };
		v[i][5] = (struct value){ .type = VALUE_UINT, .u = hone_policy_type("CHECKOUT") };
		v[i][6] = (struct value){ .type = VALUE_TEXT, .len = 6, .text = "writer" };
		v[i][7] = (struct value){ .type = VALUE_UINT };
		v[i][8] = (struct value){ .type = VALUE_TEXT, .len = 6, .text = "worker" };
		below[t.nbelow++] = (struct event){ .time_ns = events[i].time_ns,
			.label = x->wait,
			.nvalues = NWAIT,
			.values = v[i] };
	}
	t.end_ns = x->now_ns = events[t.nevents - 1].time_ns;
	assert_int_equal(critpath_extract(&path, &t, x->f.paths.labels, &x->s->enabled.labels,
			     x->f.port.scratch, NULL),
	    0);
	assert_int_equal(shape_of(&shape, &path, x->f.paths.labels, x->f.port.scratch, NULL), 0);
	assert_int_equal(search_below_trace(&x->f.port, x->s, &t, &path, &shape, NULL), 0);
}

/* A request whose edge takes 1 ms, of which it runs for 0.2 ms; or more, by the lock. */
static void
request(struct scene *x, int64_t lock_ns, bool recorded)
{
	request_along(x, "(abc)", (const int64_t[]){ 100, 100, 200000 + lock_ns, 100 },
	    (const int64_t[]){ 0, 0, recorded ? lock_ns : 0, 0 });
}

/* The first request with a record may have begun before that. */
static void
look_begins(struct scene *x)
{
	judge(x);
	request(x, 1000000, true);
	assert_int_equal(below_list_requests(x->s->below.list), 0);
}

static void
requests(struct scene *x, int n)
{
	for (int i = 0; i < n; i++)
		request(x, 800000 + (int64_t)rng_below(&x->f.rng, 20000000), true);
}

static void
a_verdict_says_what_threads_did_and_is_the_same_without_it(void **state)
{
	const struct verdict *v;
	struct scene x, without;
	(void)state;

	begin(&without, false, true);
	judge(&without);
	begin(&x, true, true);
	judge(&x);
	assert_true(search_below_gathers(x.s));
	assert_int_equal(x.s->phase, SEARCH_SWITCHING);
	assert_int_equal(x.f.below, 1);
	assert_null(x.s->outcome.verdict);
	request(&x, 5000, false); /* before the first record: it may not have begun */
	assert_int_equal(below_list_requests(x.s->below.list), 0);
	request(&x, 1000000, true); /* nor with it: that may be of its end only */
	x.now_ns -= 100;
	request(&x, 1000000, true); /* nor one that had begun before it ended */
	assert_int_equal(below_list_requests(x.s->below.list), 0);
	requests(&x, CLEAR - 1);
	assert_int_equal(search_below_ready(&x.f.port, x.s, NULL), 0);
	requests(&x, 1);
	assert_int_equal(search_below_ready(&x.f.port, x.s, NULL), 1); /* the lock has most of it */
	search_below_stop(&x.f.port, x.s, NULL);
	assert_int_equal(x.f.below, 0);
	judge(&x);
	assert_int_equal(x.s->phase, SEARCH_ENDED);
	assert_non_null(v = x.s->outcome.verdict);
	assert_true(v->share == without.s->outcome.verdict->share &&
		    v->share_low == without.s->outcome.verdict->share_low &&
		    v->traces == without.s->outcome.verdict->traces);
	assert_int_equal(without.s->outcome.verdict->below_requests, 0);
	assert_int_equal(v->below_requests, CLEAR);
	assert_string_equal(v->below_top, "lock");
	assert_string_equal(v->below_missing, "");
	assert_memory_equal(v->below_places, "lock\t", 5);
	assert_non_null(strstr(v->below_places, "\tflush_log() at journal.c:88;futex"));
	assert_memory_equal(v->below_holders, "disk\t", 5);
	assert_non_null(strstr(v->below_holders, "\twrite_out() at journal.c:131;fsync\twriter"));
	assert_memory_equal(v->below_wakers, "100\t", 4);
	assert_non_null(strstr(v->below_wakers, "\tCHECKOUT\tworker"));
	assert_memory_equal(
	    v->below_held, "100\t", 4); /* outside of requests, whose type is empty */
	assert_int_equal(v->below_held[strlen(v->below_held) - 1], '\t');
	end(&x);
	end(&without);
}

/* 51 % of what the edge takes is the lock; of the rest nothing is known. At first in each request, then in all together. */
static void
a_state_that_certainly_has_more_than_any_other_needs_no_more_requests(void **state)
{
	(void)state;

	for (int certain = 0; certain < 2; certain++) {
		struct scene x;

		begin(&x, true, true);
		look_begins(&x);
		for (int i = 0; i < CLEAR; i++) {
			int64_t some_ns = 200000 + (int64_t)rng_below(&x.f.rng, 20000000),
				more_ns = certain ? some_ns
			                          : (int64_t)rng_below(&x.f.rng, 20000000),
				lock_ns = more_ns * 51 / 100;

			request_along(&x, "(abc)",
			    (const int64_t[]){ 100, 100, lock_ns + some_ns * 49 / 100, 100 },
			    (const int64_t[]){ 0, 0, lock_ns, 0 });
		}
		assert_int_equal(search_below_ready(&x.f.port, x.s, NULL), certain);
		end(&x);
	}
}

static void
the_verdict_says_what_slow_requests_have_more_of(void **state)
{
	const struct difference *most = NULL;
	struct difference_node *tree;
	struct arena a = { 0 };
	const struct verdict *v;
	struct differential d;
	uint32_t count;
	struct scene x;
	struct err e;
	(void)state;

	begin(&x, true, true);
	look_begins(&x);
	requests(&x, BELOW_PLENTY);
	search_below_stop(&x.f.port, x.s, NULL);
	judge(&x);
	assert_non_null(v = x.s->outcome.verdict);
	assert_int_equal(differential_read(&d, &tree, &count, v->below_differential, &a, &e), 0);
	assert_int_equal(d.nslow, BELOW_PLENTY / 4);
	assert_int_equal(d.nslow + d.nusual, BELOW_PLENTY);
	assert_true(d.confidence == v->confidence);
	for (uint32_t i = 0; i < d.count && most == NULL; i++)
		if (d.items[i].of == DIFFERENCE_STATE)
			most = &d.items[i];
	assert_non_null(most);
	assert_int_equal(most->state, BELOW_LOCK);
	/* Uniform from 0.8 to 20.8 ms: the slowest quarter has 10 ms more than the others. */
	assert_in_range((int64_t)(most->slow_ns - most->usual_ns), 9 * MS_NS, 11 * MS_NS);
	assert_true(most->more_ns.low > 8e6 && most->p <= 0.01 && most->slow == d.nslow);
	assert_int_equal(count, 5); /* root main flush_log futex [lock] */
	assert_string_equal(tree[2].text, "flush_log() at journal.c:88");
	arena_release(&a);
	end(&x);
}

static void
nodes_that_cannot_are_told_in_the_verdict(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, true, false);
	x.f.below_missing = "alpha: no CAP_BPF";
	judge(&x);
	assert_int_equal(x.s->phase, SEARCH_ENDED);
	assert_int_equal(x.f.below, 0);
	assert_int_equal(x.s->outcome.verdict->below_requests, 0);
	assert_string_equal(x.s->outcome.verdict->below_missing, "alpha: no CAP_BPF");
	end(&x);
}

static void
what_would_be_over_the_budget_is_not_begun(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, true, true);
	x.f.below_too_dear = true;
	judge(&x);
	assert_int_equal(x.s->phase, SEARCH_ENDED);
	assert_int_equal(x.f.below, 0);
	assert_string_equal(x.s->outcome.verdict->below_missing, "over-budget");
	end(&x);
}

static void
what_a_node_cannot_say_is_told_beside_what_it_says(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, true, true);
	x.f.below_missing = "alpha: no stacks";
	look_begins(&x);
	requests(&x, BELOW_PLENTY);
	search_below_stop(&x.f.port, x.s, NULL);
	judge(&x);
	assert_int_equal(x.s->outcome.verdict->below_requests, BELOW_PLENTY);
	assert_string_equal(x.s->outcome.verdict->below_top, "lock");
	assert_string_equal(x.s->outcome.verdict->below_missing, "alpha: no stacks");
	end(&x);
}

static void
a_node_that_can_no_longer_say_it_ends_the_look_with_its_reason(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, true, true);
	look_begins(&x);
	requests(&x, BELOW_FEW);
	x.f.can_look_below = false;
	x.f.below_missing = "alpha: no CAP_BPF";
	assert_int_equal(search_below_ready(&x.f.port, x.s, NULL), 1);
	search_below_stop(&x.f.port, x.s, NULL);
	assert_int_equal(x.f.below, 0);
	judge(&x);
	assert_int_equal(x.s->outcome.verdict->below_requests, 0);
	assert_string_equal(x.s->outcome.verdict->below_missing, "alpha: no CAP_BPF");
	end(&x);
}

static void
without_any_record_the_search_does_not_wait_for_ever(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, true, true);
	judge(&x);
	request(&x, 5000, false);
	assert_int_equal(search_below_ready(&x.f.port, x.s, NULL), 0);
	x.f.port.now.ns += BELOW_MAX_NS + 1;
	assert_int_equal(search_below_ready(&x.f.port, x.s, NULL), 1);
	search_below_stop(&x.f.port, x.s, NULL);
	judge(&x);
	assert_string_equal(x.s->outcome.verdict->below_missing, "no-records");
	assert_string_equal(x.s->outcome.verdict->below_states, "");
	assert_string_equal(x.s->outcome.verdict->below_differential, "");
	end(&x);
}

static void
what_it_costs_to_start_does_not_end_it_what_it_costs_later_does(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, true, true);
	x.f.port.now.ns += 60 *
	                   INT64_C(1000000000); /* the cycle of the final edge began long ago */
	x.f.over_budget = true;
	x.f.confirmed = false;
	judge(&x);
	assert_int_equal(search_step(&x.f.port, x.s, NULL), 0);
	assert_true(search_below_gathers(x.s));
	x.f.confirmed = true;
	assert_int_equal(search_step(&x.f.port, x.s, NULL), 0);
	assert_int_equal(x.s->phase, SEARCH_GATHERING);
	x.f.port.now.ns += BELOW_START_NS;
	assert_int_equal(search_step(&x.f.port, x.s, NULL), 0);
	assert_true(search_below_gathers(x.s));
	assert_int_equal(x.s->enabled.n, 0); /* no tracepoint is: the look is what costs */
	x.f.port.now.ns += 1;
	x.s->cycle.groups = x.f.paths.groups;
	x.f.paths.groups = NULL; /* they are the search's, which ends */
	assert_int_equal(search_step(&x.f.port, x.s, NULL), 0);
	assert_false(search_below_gathers(x.s));
	assert_string_equal(x.s->outcome.verdict->below_missing, "over-budget");
	end(&x);
}

static void
requests_that_have_the_problem_elsewhere_say_nothing_of_the_edge(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, true, true);
	look_begins(&x);
	for (int i = 0; i < BELOW_PLENTY; i++)
		request(&x, 1000000, true); /* the lock always takes the same */
	search_below_stop(&x.f.port, x.s, NULL);
	judge(&x);
	assert_string_equal(x.s->outcome.verdict->below_top, "");
	assert_string_equal(x.s->outcome.verdict->below_places, "");
	assert_string_equal(x.s->outcome.verdict->below_missing, "elsewhere");
	assert_int_equal(x.s->outcome.verdict->below_requests, 0);
	end(&x);
}

/* In 100 requests, the mean time that was found in the edge of the verdict, and of that in waits for the lock. */
static void
found_in(double *mean_ns, double *lock_ns, const char *letters,
    struct gap (*of)(const struct paths *), const int64_t *takes_ns, const int64_t *waits_ns)
{
	struct below_finding f;
	struct scene x;

	begin(&x, true, true);
	look_begins(&x);
	x.s->at.gap = of(&x.f.paths);
	assert_true(label_set_add(&x.s->enabled.labels, x.f.paths.of['a']));
	for (int i = 0; i < 100; i++)
		request_along(&x, letters, takes_ns, waits_ns);
	assert_int_equal(
	    below_list_find(&f, x.s->below.list, true, 0.95, 20, 1, x.f.port.scratch, NULL), 0);
	*mean_ns = f.mean_ns;
	*lock_ns = f.states[BELOW_LOCK].mean_ns;
	search_below_stop(&x.f.port, x.s, NULL);
	end(&x);
}

static struct gap
second(const struct paths *p)
{
	return paths_gap(p, 'b', 'c', 1, false);
}

static struct gap
anywhere(const struct paths *p)
{
	struct gap gap = paths_gap(p, 'b', 'c', 0, false);

	gap.only = true;
	return gap;
}

static void
of_several_positions_only_those_of_the_verdict_count(void **state)
{
	const int64_t takes_ns[] = { 9, 5000, 7, 8, 30000, 6 },
		      waits_ns[] = { 0, 4000, 0, 0, 20000, 0 };
	double mean_ns, lock_ns;
	(void)state;

	found_in(&mean_ns, &lock_ns, "(bcabc)", second, takes_ns, waits_ns);
	assert_near(mean_ns, 30000, 1e-6);
	assert_near(lock_ns, 20000, 1e-6);
	found_in(&mean_ns, &lock_ns, "(bcabc)", anywhere, takes_ns, waits_ns);
	assert_near(mean_ns, 35000, 1e-6);
	assert_near(lock_ns, 24000, 1e-6);
}

static void
all_iterations_of_a_loop_count(void **state)
{
	const int64_t takes_ns[] = { 1, 100, 2, 200, 3, 300, 4 },
		      waits_ns[] = { 0, 10, 0, 20, 0, 30, 0 };
	double mean_ns, lock_ns;
	(void)state;

	found_in(&mean_ns, &lock_ns, "(bcbcbc)", anywhere, takes_ns, waits_ns);
	assert_near(mean_ns, 600, 1e-9);
	assert_near(lock_ns, 60, 1e-9);
}

/* Between a unit that has ended and the join the joining thread waits; before a unit begins, its thread does something else. */
static void
between_units_one_that_waits_for_another_or_has_yet_to_begin_is_looked_at(void **state)
{
	static const char join[] = "s/hone:join(kv.get)", unit[] = "s/hone:unit_begin(kv.get)";
	const struct verdict v = { .kind = VERDICT_PLACE, .share_low = 0.5, .handed_over = true };
	struct scene x;
	int rc;
	(void)state;

	begin(&x, true, true);
	assert_false(search_below_begin(&x.f.port, x.s, &v, x.group, EDGE, &rc, NULL));
	assert_int_equal(x.s->below.state, BELOW_NOT_BEGUN);
	x.group->shape.edges[EDGE].to = labels_intern(
	    x.f.paths.labels, RECORD_UNIT_BEGIN, unit, sizeof unit - 1, NULL, 0);
	assert_true(search_below_begin(&x.f.port, x.s, &v, x.group, EDGE, &rc, NULL));
	assert_true(x.f.before); /* what the thread did before */
	search_below_stop(&x.f.port, x.s, NULL);
	end(&x);

	begin(&x, true, true);
	x.group->shape.edges[EDGE].to = labels_intern(
	    x.f.paths.labels, RECORD_JOIN, join, sizeof join - 1, NULL, 0);
	assert_true(search_below_begin(&x.f.port, x.s, &v, x.group, EDGE, &rc, NULL));
	assert_true(search_below_gathers(x.s) && !x.f.before);
	search_below_stop(&x.f.port, x.s, NULL);
	end(&x);
}

static void
a_state_that_nobody_saw_does_not_stand_out(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, true, true);
	look_begins(&x);
	for (int i = 0; i < CLEAR; i++) /* detached for most of it, as far as anyone can tell */
		request_along(&x, "(abc)",
		    (const int64_t[]){
			100, 100, 1000000 + (int64_t)rng_below(&x.f.rng, 8000000), 100 },
		    (const int64_t[]){ 0, 0, 1000, 0 });
	assert_int_equal(search_below_ready(&x.f.port, x.s, NULL), 1); /* more would say no more */
	search_below_stop(&x.f.port, x.s, NULL);
	judge(&x);
	assert_string_equal(x.s->outcome.verdict->below_top, "");
	assert_non_null(strstr(x.s->outcome.verdict->below_states, "unknown\t"));
	assert_null(strstr(x.s->outcome.verdict->below_states, "running\t"));
	assert_string_equal(x.s->outcome.verdict->below_differential, "");
	end(&x);
}

/* The lock holds one request in 50 up. */
static void
of_a_cause_that_few_requests_have_more_are_taken(void **state)
{
	struct scene x;
	int n = 0;
	(void)state;

	begin(&x, true, true);
	look_begins(&x);
	while (search_below_ready(&x.f.port, x.s, NULL) == 0) {
		int64_t lock_ns = n++ % 50 == 0 ? 20000000 + n * 1000 : 0;

		request_along(&x, "(abc)",
		    (const int64_t[]){
			1 + (int64_t)rng_below(&x.f.rng, 4000000), 100, 1000 + lock_ns, 100 },
		    (const int64_t[]){ 0, 0, lock_ns, 0 });
		assert_true(n <= BELOW_REQUESTS_MAX);
	}
	assert_true(n > BELOW_PLENTY);
	search_below_stop(&x.f.port, x.s, NULL);
	judge(&x);
	assert_string_equal(x.s->outcome.verdict->below_top, "lock");
	end(&x);
}

/* Requests that wait come one after the other, so the interval of the share says nothing; each slow one has the wait, and no other one. */
static void
a_state_that_all_slow_requests_have_stands_out(void **state)
{
	struct scene x;
	int n = 0;
	(void)state;

	begin(&x, true, true);
	look_begins(&x);
	while (search_below_ready(&x.f.port, x.s, NULL) == 0) {
		int64_t lock_ns = n % 512 > 500 ? 20000000 + n * 1000 : 0;

		n++;
		request_along(&x, "(abc)",
		    (const int64_t[]){
			1 + (int64_t)rng_below(&x.f.rng, 4000000), 100, 1000 + lock_ns, 100 },
		    (const int64_t[]){ 0, 0, lock_ns, 0 });
	}
	assert_true(n >= BELOW_REQUESTS_MAX); /* nothing stood out before */
	search_below_stop(&x.f.port, x.s, NULL);
	judge(&x);
	assert_string_equal(x.s->outcome.verdict->below_top, "lock");
	end(&x);
}

static void
it_is_not_asked_for_after_the_end_of_a_search(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, true, true);
	judge(&x);
	assert_int_equal(x.f.below, 1);
	search_end(&x.f.port, x.s, REASON_STOPPED);
	assert_int_equal(x.f.below, 0);
	end(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_verdict_says_what_threads_did_and_is_the_same_without_it),
		cmocka_unit_test(
		    a_state_that_certainly_has_more_than_any_other_needs_no_more_requests),
		cmocka_unit_test(the_verdict_says_what_slow_requests_have_more_of),
		cmocka_unit_test(nodes_that_cannot_are_told_in_the_verdict),
		cmocka_unit_test(what_would_be_over_the_budget_is_not_begun),
		cmocka_unit_test(what_a_node_cannot_say_is_told_beside_what_it_says),
		cmocka_unit_test(a_node_that_can_no_longer_say_it_ends_the_look_with_its_reason),
		cmocka_unit_test(without_any_record_the_search_does_not_wait_for_ever),
		cmocka_unit_test(what_it_costs_to_start_does_not_end_it_what_it_costs_later_does),
		cmocka_unit_test(requests_that_have_the_problem_elsewhere_say_nothing_of_the_edge),
		cmocka_unit_test(of_several_positions_only_those_of_the_verdict_count),
		cmocka_unit_test(all_iterations_of_a_loop_count),
		cmocka_unit_test(
		    between_units_one_that_waits_for_another_or_has_yet_to_begin_is_looked_at),
		cmocka_unit_test(a_state_that_nobody_saw_does_not_stand_out),
		cmocka_unit_test(of_a_cause_that_few_requests_have_more_are_taken),
		cmocka_unit_test(a_state_that_all_slow_requests_have_stands_out),
		cmocka_unit_test(it_is_not_asked_for_after_the_end_of_a_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
