/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "controlplane/search/search_functions.h"

/* The edge from 'b' to 'c' of "(abc)" has the problem. Threads were seen in serve(), in lookup() that it calls, and in compare() below that,
 * which is called 1000 times. */
enum { MS = 1000000, NFUNCTIONS = 3 };
static const char STACK[] = "main;serve;lookup() at a.c:9;compare";
static const char *const FUNCTIONS[NFUNCTIONS] = { "serve", "lookup", "compare" };

struct scene {
	struct fake f;
	struct search *s;
	uint32_t start[NFUNCTIONS], done[NFUNCTIONS];
	bool attached;        /* the probes where functions end */
	int64_t elsewhere_ns; /* of each request, in serve() before lookup() */
};

static uint32_t
function_label(struct scene *x, const char *function, const char *end)
{
	char text[100];
	int len = snprintf(text, sizeof text, "s/func.s:%s%s", function, end);

	return labels_intern(x->f.paths.labels, RECORD_POINT, text, (size_t)len, NULL, 0);
}

static void
begin_with(struct scene *x, bool on, const char *stack)
{
	*x = (struct scene){ .attached = true };
	fake_begin(&x->f, "(abc)");
	x->f.port.settings.functions = on;
	x->s = fake_search(&x->f, 'b', 'c');
	assert_true(label_set_add(&x->s->enabled.labels, x->f.paths.of[(int)'b']));
	assert_true(label_set_add(&x->s->enabled.labels, x->f.paths.of[(int)'c']));
	search_enter(x->s, SEARCH_SWITCHING);
	search_enter(x->s, SEARCH_GATHERING);
	for (int i = 0; i < NFUNCTIONS; i++) {
		x->start[i] = function_label(x, FUNCTIONS[i], "_start");
		x->done[i] = function_label(x, FUNCTIONS[i], "_done");
	}
	snprintf(x->s->below.service, sizeof x->s->below.service, "s");
	x->s->below.list = below_list_new();
	for (int i = 0; i < 200; i++) {
		int64_t ns = i % 5 == 0 ? 20 * MS : MS;
		const struct below_part part = { .state = BELOW_RUNNING,
			.stack = stack,
			.stack_len = (uint32_t)strlen(stack),
			.ns = ns };
		struct below_time t = { .parts = &part, .nparts = 1, .samples = 1 };

		t.ns[BELOW_RUNNING] = ns;
		assert_true(below_list_add(x->s->below.list, ns + MS, &t, 1));
	}
}

static void
begin(struct scene *x, bool on)
{
	begin_with(x, on, STACK);
}

static void
add_event(struct event *events, struct unit *u, int64_t time_ns, uint32_t label)
{
	events[u->count++] = (struct event){ .time_ns = time_ns, .label = label };
}

/* A request whose edge takes 1 ms and slow_ns more, in lookup(); serve() has all of it. compare: how often lookup() calls that. lost: how many
 * ends of lookup() are missing. */
static void
request(struct scene *x, int64_t slow_ns, int compare, bool lost)
{
	static struct event events[4096];
	struct unit u = { .fork = TRACE_NONE };
	struct critpath path;
	struct shape shape;
	struct trace t = { .type = x->f.paths.of['('],
		.probed = true,
		.nunits = 1,
		.events = events,
		.units = &u };
	int64_t at = 0;

	add_event(events, &u, at, x->f.paths.of['(']);
	add_event(events, &u, at += 100, x->f.paths.of['a']);
	add_event(events, &u, at += 100, x->f.paths.of['b']);
	add_event(events, &u, at, x->start[0]);
	add_event(events, &u, at += MS / 2 + x->elsewhere_ns, x->start[1]);
	for (int i = 0; i < compare; i++) {
		add_event(events, &u, at, x->start[2]);
		add_event(events, &u, at, x->done[2]);
	}
	at += slow_ns + MS / 2;
	if (!lost)
		add_event(events, &u, at, x->done[1]);
	if (x->attached)
		add_event(events, &u, at, x->done[0]);
	add_event(events, &u, at, x->f.paths.of['c']);
	add_event(events, &u, at += 100, x->f.paths.of[')']);
	t.nevents = u.count;
	t.end_ns = at;
	assert_int_equal(critpath_extract(&path, &t, x->f.paths.labels, &x->s->enabled.labels,
			     x->f.port.scratch, NULL),
	    0);
	assert_int_equal(shape_of(&shape, &path, x->f.paths.labels, x->f.port.scratch, NULL), 0);
	assert_int_equal(search_functions_trace(&x->f.port, x->s, &t, &path, &shape, NULL), 0);
}

static void
requests(struct scene *x, int n, int compare, bool lost)
{
	for (int i = 0; i < n; i++)
		request(x, i % 4 == 0 ? 20 * MS + i * 1000 : i * 100, compare, lost);
}

static bool
wants(const struct scene *x, const char *name)
{
	return plan_wants(x->f.port.plan, name);
}

static void
functions_are_counted_then_timed_from_the_outside_in(void **state)
{
	struct verdict v = { 0 };
	struct scene x;
	int rc;
	(void)state;

	begin(&x, true);
	assert_true(search_functions_begin(&x.f.port, x.s, &rc, NULL));
	assert_true(search_functions_gather(x.s) && x.s->phase == SEARCH_SWITCHING);
	assert_true(wants(&x, "func.s:serve_start") && wants(&x, "func.s:lookup_start") &&
		    wants(&x, "func.s:compare_start"));
	assert_false(wants(&x, "func.s:serve_done") || wants(&x, "func.s:main_start"));
	search_enter(x.s, SEARCH_GATHERING);
	requests(&x, FUNCTIONS_COUNTED, 1000, false);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 0);
	/* compare() is called too often: 1000 times 25 us is more than a tenth of the edge */
	assert_true(wants(&x, "func.s:serve_done") && wants(&x, "func.s:lookup_done"));
	assert_false(wants(&x, "func.s:compare_start") || wants(&x, "func.s:compare_done"));
	search_enter(x.s, SEARCH_GATHERING);
	requests(&x, FUNCTIONS_TIMED - 1, 0, false);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 0);
	requests(&x, 1, 0, false);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 1); /* no others are left */
	search_functions_stop(&x.f.port, x.s);
	assert_int_equal(plan_count(x.f.port.plan), 0);
	assert_int_equal(fake_logged(&x.f, 0), 0); /* all that was enabled was disabled */
	assert_int_equal(search_functions_verdict(&v, x.s, NULL), 0);
	assert_memory_equal(v.below_functions, "0\t1000\t", 7);
	assert_non_null(strstr(v.below_functions, "\tcompare\n1\t1\t1\t"));
	assert_non_null(strstr(v.below_functions, "\tserve\n1\t1\t"));
	assert_string_equal(v.below_functions + strlen(v.below_functions) - 7, "\tlookup");
	free(v.below_functions);
	fake_end(&x.f);
}

static void
requests_before_the_second_probes_are_attached_do_not_count(void **state)
{
	struct verdict v = { 0 };
	struct scene x;
	int rc;
	(void)state;

	begin(&x, true);
	assert_true(search_functions_begin(&x.f.port, x.s, &rc, NULL));
	search_enter(x.s, SEARCH_GATHERING);
	requests(&x, FUNCTIONS_COUNTED, 0, false);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 0);
	search_enter(x.s, SEARCH_GATHERING);
	x.attached = false;
	requests(&x, FUNCTIONS_TIMED, 0, true);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 0); /* it goes on */
	x.attached = true;
	requests(&x, FUNCTIONS_TIMED, 0, false);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 1);
	search_functions_stop(&x.f.port, x.s);
	assert_int_equal(search_functions_verdict(&v, x.s, NULL), 0);
	assert_non_null(strstr(v.below_functions, "\tserve"));
	assert_non_null(strstr(v.below_functions, "\tlookup"));
	free(v.below_functions);
	fake_end(&x.f);
}

static void
a_function_whose_ends_are_not_all_seen_is_not_told(void **state)
{
	struct verdict v = { 0 };
	struct scene x;
	int rc;
	(void)state;

	begin(&x, true);
	assert_true(search_functions_begin(&x.f.port, x.s, &rc, NULL));
	search_enter(x.s, SEARCH_GATHERING);
	requests(&x, FUNCTIONS_COUNTED, 0, true);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 0);
	search_enter(x.s, SEARCH_GATHERING);
	requests(&x, FUNCTIONS_TIMED, 0, true);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 1);
	search_functions_stop(&x.f.port, x.s);
	assert_int_equal(search_functions_verdict(&v, x.s, NULL), 0);
	assert_non_null(strstr(v.below_functions, "\tserve"));
	assert_null(strstr(v.below_functions, "\tlookup"));
	free(v.below_functions);
	fake_end(&x.f);
}

/* Of 150 requests lookup() is slow in so many; elsewhere each takes from 0 to 9 ms. Returns whether more are waited for. */
static bool
begin_slow(struct scene *x, int slow, int64_t slow_ns)
{
	int rc;

	begin(x, true);
	assert_true(search_functions_begin(&x->f.port, x->s, &rc, NULL));
	search_enter(x->s, SEARCH_GATHERING);
	requests(x, FUNCTIONS_COUNTED, 1000, false);
	assert_int_equal(search_functions_ready(&x->f.port, x->s, NULL), 0);
	search_enter(x->s, SEARCH_GATHERING);
	for (int i = 0; i < FUNCTIONS_TIMED; i++) {
		x->elsewhere_ns = (int64_t)(i * 7 % 10) * MS;
		request(
		    x, i > 0 && i % (FUNCTIONS_TIMED / (slow + 1)) == 0 ? slow_ns : 0, 0, false);
	}
	x->elsewhere_ns = 0;
	return search_functions_ready(&x->f.port, x->s, NULL) == 0;
}

static void
begin_unsure(struct scene *x)
{
	assert_true(begin_slow(x, 2, 25 * MS));
	assert_true(wants(x, "func.s:lookup_done"));
}

/* Six slow ones would be enough if the requests were looked at once. */
static void
of_several_looks_each_asks_for_more(void **state)
{
	struct scene x;
	(void)state;

	assert_true(begin_slow(&x, 6, 18 * MS));
	search_functions_stop(&x.f.port, x.s);
	fake_end(&x.f);
}

static void
few_slow_requests_are_no_reason_to_end(void **state)
{
	struct verdict v = { 0 };
	struct scene x;
	(void)state;

	begin_unsure(&x);
	requests(&x, FUNCTIONS_TIMED - 1, 0, false);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 0);
	requests(&x, 1, 0, false);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 1);
	search_functions_stop(&x.f.port, x.s);
	assert_int_equal(search_functions_verdict(&v, x.s, NULL), 0);
	assert_non_null(strstr(v.below_functions, "\tlookup"));
	free(v.below_functions);
	fake_end(&x.f);
}

static void
but_it_ends_in_time_and_what_is_unsure_is_not_told(void **state)
{
	struct verdict v = { 0 };
	struct scene x;
	(void)state;

	begin_unsure(&x);
	x.f.port.now.ns += FUNCTIONS_TIME_NS + 1;
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 1);
	search_functions_stop(&x.f.port, x.s);
	assert_int_equal(search_functions_verdict(&v, x.s, NULL), 0);
	assert_null(strstr(v.below_functions, "\tlookup"));
	free(v.below_functions);
	fake_end(&x.f);
}

/* Others may be whole; the search does not end with those of this step. */
static void
functions_whose_ends_are_never_seen_give_way_to_the_next_ones(void **state)
{
	struct scene x;
	int rc;
	(void)state;

	begin_with(&x, true, "main;serve;lookup() at a.c:9;compare;hash");
	assert_true(search_functions_begin(&x.f.port, x.s, &rc, NULL));
	assert_false(wants(&x, "func.s:hash_start"));
	search_enter(x.s, SEARCH_GATHERING);
	requests(&x, FUNCTIONS_COUNTED, 0, true);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 0);
	search_enter(x.s, SEARCH_GATHERING);
	x.attached = false;
	requests(&x, FUNCTIONS_TIMED, 0, true);
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 0);
	x.f.port.now.ns += FUNCTIONS_TIME_NS + 1;
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 0);
	assert_int_equal(x.s->phase, SEARCH_SWITCHING);
	assert_true(wants(&x, "func.s:hash_start"));
	assert_false(wants(&x, "func.s:serve_start") || wants(&x, "func.s:serve_done"));
	search_enter(x.s, SEARCH_GATHERING);
	x.f.port.now.ns += FUNCTIONS_TIME_NS + 1; /* none are left */
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 1);
	search_functions_stop(&x.f.port, x.s);
	assert_int_equal(plan_count(x.f.port.plan), 0);
	fake_end(&x.f);
}

static void
it_ends_where_no_requests_come_and_leaves_nothing_on(void **state)
{
	struct scene x;
	int rc;
	(void)state;

	begin(&x, true);
	assert_true(search_functions_begin(&x.f.port, x.s, &rc, NULL));
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 0);
	x.f.port.now.ns += FUNCTIONS_COUNT_NS + 1;
	assert_int_equal(search_functions_ready(&x.f.port, x.s, NULL), 1);
	search_end(&x.f.port, x.s, REASON_OPERATOR);
	assert_int_equal(plan_count(x.f.port.plan), 0);
	assert_false(search_functions_gather(x.s));
	fake_end(&x.f);
}

static void
it_is_not_begun_where_it_is_not_permitted_or_nothing_was_seen(void **state)
{
	struct scene x;
	int rc;
	(void)state;

	begin(&x, false);
	assert_false(search_functions_begin(&x.f.port, x.s, &rc, NULL));
	x.f.port.settings.functions = true;
	x.f.port.paused = true;
	assert_false(search_functions_begin(&x.f.port, x.s, &rc, NULL));
	x.f.port.paused = false;
	below_list_free(x.s->below.list);
	x.s->below.list = NULL;
	assert_false(search_functions_begin(&x.f.port, x.s, &rc, NULL));
	assert_int_equal(rc, 0);
	x.s->below.list = below_list_new(); /* of no request */
	assert_false(search_functions_begin(&x.f.port, x.s, &rc, NULL));
	assert_int_equal(rc, 0);
	assert_int_equal(plan_count(x.f.port.plan), 0);
	fake_end(&x.f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_counted_then_timed_from_the_outside_in),
		cmocka_unit_test(requests_before_the_second_probes_are_attached_do_not_count),
		cmocka_unit_test(a_function_whose_ends_are_not_all_seen_is_not_told),
		cmocka_unit_test(of_several_looks_each_asks_for_more),
		cmocka_unit_test(few_slow_requests_are_no_reason_to_end),
		cmocka_unit_test(but_it_ends_in_time_and_what_is_unsure_is_not_told),
		cmocka_unit_test(functions_whose_ends_are_never_seen_give_way_to_the_next_ones),
		cmocka_unit_test(it_ends_where_no_requests_come_and_leaves_nothing_on),
		cmocka_unit_test(it_is_not_begun_where_it_is_not_permitted_or_nothing_was_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
