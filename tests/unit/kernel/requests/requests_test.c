/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Request graphs of generated services, compared with what the services really did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/requests/requests.h"
#include "tests/unit/kernel/requests/generated.h"

enum { TEXT_MAX = 4096 };

struct outcome {
	struct world *w;
	struct labels *labels;
	uint64_t traces, exact, lossy, wrong, wrong_unmarked, unknown, waits;
	bool show;
};

/* ---- a trace as a text, in the form of put_work() ---- */

static void
put_unit(char *to, size_t *len, const struct trace *t, const struct labels *l, uint32_t unit)
{
	const struct unit *u = &t->units[unit];
	const struct event *first = &t->events[u->first], *end = NULL;
	const struct label *begin = labels_get(l, first->label);

	for (uint32_t i = u->first; i < u->first + u->count; i++) {
		uint8_t kind = labels_get(l, t->events[i].label)->kind;

		if (kind == RECORD_UNIT_END || kind == RECORD_REQUEST_END)
			end = &t->events[i];
	}
	*len += (size_t)snprintf(to + *len, TEXT_MAX - *len, "%.*s %lld-%lld",
	    (int)begin->service_len, begin->text, (long long)first->time_ns,
	    end != NULL ? (long long)end->time_ns : -1);
	for (uint32_t i = u->first; i < u->first + u->count && *len < TEXT_MAX / 2; i++) {
		bool joined = false;

		if (labels_get(l, t->events[i].label)->kind != RECORD_FORK)
			continue;
		for (uint32_t k = u->first; k < u->first + u->count; k++)
			joined |= labels_get(l, t->events[k].label)->kind == RECORD_JOIN &&
			          t->events[k].link_id == t->events[i].link_id;
		*len += (size_t)snprintf(to + *len, TEXT_MAX - *len, joined ? " [" : " {");
		for (uint32_t v = 0; v < t->nunits; v++)
			if (t->units[v].fork == i && v != unit)
				put_unit(to, len, t, l, v);
		*len += (size_t)snprintf(to + *len, TEXT_MAX - *len, joined ? "]" : "}");
	}
}

/* Whether this is what a request did that began then; several may have. *begun: whether one did. */
static bool
is_true(
    const struct world *w, int64_t begin_ns, const char *got, char expected[TEXT_MAX], bool *begun)
{
	uint32_t from = 0, to = w->nroots;

	*begun = false;
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (w->roots[middle]->begin_ns < begin_ns)
			from = middle + 1;
		else
			to = middle;
	}
	for (; from < w->nroots && w->roots[from]->begin_ns == begin_ns; from++) {
		size_t len = 0;

		put_work(expected, TEXT_MAX, &len, w->roots[from]);
		*begun = true;
		if (strcmp(got, expected) == 0)
			return true;
	}
	return false;
}

static int
compare(void *of, struct trace *t, struct err *e)
{
	struct outcome *o = of;
	char got[TEXT_MAX] = "", expected[TEXT_MAX] = "";
	size_t len = 0;
	bool begun;

	(void)e;
	o->traces++;
	o->waits += t->nbelow;
	if (t->root != TRACE_NONE)
		put_unit(got, &len, t, o->labels, t->root);
	if (is_true(o->w, t->begin_ns, got, expected, &begun)) {
		o->exact++;
		o->lossy += !trace_is_evidence(t);
	} else {
		o->wrong++;
		o->unknown += !begun;
		o->wrong_unmarked += trace_is_evidence(t);
		if (o->show && trace_is_evidence(t))
			print_message("expected %s\n     got %s\n", expected, got);
	}
	trace_free(t);
	return 0;
}

/* Feeds the events [from, to) of the world. */
static struct outcome
run(struct world *w, const struct requests_options *with, size_t from, size_t to,
    struct requests_counts *counts)
{
	struct outcome o = { .w = w, .labels = labels_new(), .show = getenv("SHOW") != NULL };
	struct requests_options options = *with;
	struct requests *r;
	struct err e;

	options.take = compare;
	options.ctx = &o;
	assert_int_equal(requests_new(&r, &options, &w->names, o.labels, &e), 0);
	for (size_t i = 0; i < from; i++) /* what a dump of the state at the begin says */
		if (w->events[i].kind == KERNEL_NAME)
			assert_int_equal(requests_event(r, &w->events[i], &e), 0);
	for (size_t i = from; i < to; i++)
		assert_int_equal(requests_event(r, &w->events[i], &e), 0);
	assert_int_equal(requests_end(r, &e), 0);
	requests_counts(r, counts);
	requests_free(r);
	labels_free(o.labels);
	return o;
}

static struct outcome
run_all(const struct world_options *wo, struct requests_counts *counts)
{
	struct requests_options with = requests_defaults();
	struct world *w = world_new(wo);
	struct outcome o = run(w, &with, 0, w->nevents, counts);

	if (getenv("SHOW") != NULL)
		print_message(
		    "%zu events, %llu traces: %llu exact (%llu of them lossy), %llu wrong, "
		    "%llu of them unmarked; unattributed %llu, adopted %llu, handed over %llu, "
		    "ambiguous %llu, unsolicited %llu, outside %llu, background %llu\n",
		    w->nevents, (unsigned long long)o.traces, (unsigned long long)o.exact,
		    (unsigned long long)o.lossy, (unsigned long long)o.wrong,
		    (unsigned long long)o.wrong_unmarked, (unsigned long long)counts->unattributed,
		    (unsigned long long)counts->adopted, (unsigned long long)counts->handed_over,
		    (unsigned long long)counts->ambiguous, (unsigned long long)counts->unsolicited,
		    (unsigned long long)counts->outside, (unsigned long long)counts->background);
	world_free(w);
	return o;
}

/* ---- tests ---- */

static void
threads_that_block_have_exact_graphs(void **state)
{
	struct requests_counts n;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct outcome o = run_all(
		    &(struct world_options){ TIER_BLOCKING, .clients = 16, .requests = 10000,
			.seed = i, .sizes = i & 1, .pieces = (i & 2) != 0, .switches = (i & 4) != 0,
			.http = i % 3 == 0 },
		    &n);

		assert_int_equal(o.traces, 10000);
		assert_int_equal(o.exact, 10000);
		assert_true(o.lossy <= 3); /* whose responses may go on after the end */
		assert_true(i < 4 || o.waits > 0);
	}
}

static void
event_loops_have_exact_graphs(void **state)
{
	struct requests_counts n;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct outcome o = run_all(
		    &(struct world_options){ TIER_EPOLL, .clients = 32, .requests = 10000,
			.seed = i, .sizes = i & 1, .pieces = (i & 2) != 0, .switches = (i & 4) != 0,
			.http = i % 3 == 0 },
		    &n);

		assert_int_equal(o.traces, 10000);
		assert_int_equal(o.exact, 10000);
		assert_true(o.lossy <= 3); /* whose responses may go on after the end */
	}
}

static void
workers_behind_a_queue_have_right_graphs_or_lossy_ones(void **state)
{
	struct requests_counts n;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct outcome o = run_all(
		    &(struct world_options){ TIER_POOL, .clients = 16, .requests = 10000, .seed = i,
			.sizes = i & 1, .pieces = (i & 2) != 0, .switches = (i & 4) != 0 },
		    &n);

		assert_int_equal(o.traces, 10000);
		assert_int_equal(o.wrong_unmarked, 0);
		assert_true(o.exact - o.lossy >= 9900);
	}
}

static void
workers_that_hand_back_have_right_graphs_or_lossy_ones(void **state)
{
	struct requests_counts n;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct outcome o = run_all(
		    &(struct world_options){ TIER_HANDBACK, .clients = i < 2 ? 2 : 16,
			.requests = 10000, .seed = i, .sizes = true, .switches = i & 1 },
		    &n);

		assert_int_equal(o.traces, 10000);
		assert_int_equal(o.wrong_unmarked, 0);
	}
}

static void
processes_for_each_connection_have_exact_graphs(void **state)
{
	struct requests_counts n;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct outcome o = run_all(
		    &(struct world_options){ TIER_FORK, .clients = 16, .requests = 5000, .seed = i,
			.sizes = i & 1, .switches = (i & 2) != 0, .renew = 5 },
		    &n);

		assert_int_equal(o.traces, 5000);
		assert_int_equal(o.wrong_unmarked, 0);
		assert_true(o.exact - o.lossy >= 4995);
	}
}

static void
pipelined_calls_have_right_graphs_or_lossy_ones(void **state)
{
	struct requests_counts n;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct outcome o = run_all(
		    &(struct world_options){ TIER_EPOLL, .clients = 32, .requests = 10000,
			.seed = i, .sizes = i & 1, .pieces = (i & 2) != 0, .http = (i & 4) != 0,
			.shared = true },
		    &n);

		assert_int_equal(o.traces, 10000);
		assert_int_equal(o.wrong_unmarked, 0);
	}
}

static void
ports_and_threads_that_are_used_again_are_no_mistake(void **state)
{
	struct requests_counts n;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct outcome o = run_all(
		    &(struct world_options){ TIER_BLOCKING, .clients = 8, .requests = 5000,
			.seed = i, .sizes = i & 1, .reuse = true, .renew = 20 },
		    &n);

		assert_int_equal(o.traces, 5000);
		assert_int_equal(o.wrong_unmarked, 0);
		assert_true(o.exact - o.lossy >= 4950);
	}
}

static void
clients_that_are_recorded_begin_requests(void **state)
{
	struct requests_counts n;
	struct outcome o;

	(void)state;
	o = run_all(&(struct world_options){ TIER_EPOLL, .clients = 8, .requests = 3000, .seed = 1,
			.recorded_clients = true },
	    &n);
	assert_int_equal(o.exact, 3000);
	assert_int_equal(o.lossy, 0);
}

/* Takes a third of the events of some times away, and says so. */
static void
lose_some(struct world *w, uint32_t times)
{
	struct kernel_event *kept = malloc((w->nevents + times) * sizeof *kept);
	int64_t end_ns = w->events[w->nevents - 1].time_ns, each_ns = end_ns / times;
	size_t n = 0;
	struct rng rng;

	assert_non_null(kept);
	rng_seed(&rng, 5);
	for (size_t i = 0, k = 0; i < w->nevents; i++) {
		int64_t from_ns = (int64_t)k * each_ns + each_ns / 2, to_ns = from_ns + 100000;
		const struct kernel_event *ev = &w->events[i];

		if (k < times && ev->time_ns > to_ns) {
			kept[n++] = (struct kernel_event){ .time_ns = to_ns,
				.kind = KERNEL_LOST,
				.cpu = KERNEL_CPU_ALL,
				.lost = { .from_ns = from_ns } };
			k++;
		}
		if (ev->time_ns < from_ns || ev->time_ns > to_ns || rng_below(&rng, 3) != 0)
			kept[n++] = *ev;
	}
	free(w->events);
	w->events = kept;
	w->nevents = n;
}

static void
losses_make_requests_lossy_and_none_wrong(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		struct world_options wo = { (enum tier_kind)(i % 5), .clients = 8, .requests = 5000,
			.seed = i, .sizes = i & 1, .pieces = (i & 2) != 0, .switches = true,
			.renew = i % 5 == TIER_FORK ? 5 : 0, .recorded_clients = i >= 5 };
		struct requests_options with = requests_defaults();
		struct world *w = world_new(&wo);
		struct requests_counts n;
		struct outcome o;

		lose_some(w, 10);
		with.hold_ns = 1000000;
		o = run(w, &with, 0, w->nevents, &n);
		if (o.show)
			print_message(
			    "kind %u: %llu traces, %llu exact, %llu of them lossy, %llu wrong, %llu unmarked\n",
			    i, (unsigned long long)o.traces, (unsigned long long)o.exact,
			    (unsigned long long)o.lossy, (unsigned long long)o.wrong,
			    (unsigned long long)o.wrong_unmarked);
		assert_true(n.losses > 5);
		assert_true(o.traces > 4000);
		assert_int_equal(o.wrong_unmarked, 0);
		world_free(w);
	}
}

static void
what_is_open_at_begin_and_end_is_not_guessed(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		struct world_options wo = { (enum tier_kind)(i % 5), .clients = 16,
			.requests = 2000, .seed = i, .pieces = i >= 10, .switches = i & 1,
			.renew = i % 5 == TIER_FORK ? 5 : 0, .recorded_clients = i >= 15 };
		struct requests_options with = requests_defaults();
		struct world *w = world_new(&wo);
		struct requests_counts n;
		struct outcome o = run(w, &with, w->nevents / 3 + i, w->nevents * 2 / 3, &n);

		if (o.show)
			print_message(
			    "kind %u: %llu traces, %llu unmarked, background %llu, unattributed %llu\n",
			    i, (unsigned long long)o.traces, (unsigned long long)o.wrong_unmarked,
			    (unsigned long long)n.background, (unsigned long long)n.unattributed);
		assert_true(o.traces > 500);
		assert_true(n.no_response > 0);
		assert_int_equal(n.requests, n.traces + n.no_response + n.given_up);
		assert_int_equal(o.wrong_unmarked, 0);
		world_free(w);
	}
}

static void
the_rule_all_is_exact_for_threads_that_block(void **state)
{
	struct world_options wo = { TIER_BLOCKING, .clients = 16, .requests = 10000, .seed = 3,
		.pieces = true };
	struct requests_options with = requests_defaults();
	struct requests_counts n;
	struct outcome o;
	struct world *w;

	(void)state;
	with.rule = RULE_ALL;
	w = world_new(&wo);
	o = run(w, &with, 0, w->nevents, &n);
	assert_int_equal(o.exact, 10000);
	world_free(w);
	/* As the paper's: an event loop's requests get each other's calls. */
	wo.kind = TIER_EPOLL;
	w = world_new(&wo);
	o = run(w, &with, 0, w->nevents, &n);
	assert_int_equal(o.traces, 10000);
	assert_true(o.exact < 9000);
	world_free(w);
}

static void
only_gateways_begin_requests(void **state)
{
	static const struct {
		const char *list;
		uint64_t traces;
	} cases[] = { { "10.0.0.0/24", 1000 }, { "10.0.0.96/28,10.0.0.112", 1000 },
		{ "10.0.0.100,10.0.0.101,10.0.0.102,10.0.0.103", 1000 }, { "10.0.1.0/24", 0 },
		{ "10.0.0.100:1", 0 } };
	struct world_options wo = { TIER_EPOLL, .clients = 4, .requests = 1000, .seed = 3 };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int recorded = 0; recorded < 2; recorded++) {
			struct requests_options with = requests_defaults();
			struct gateways *g = gateways_new();
			struct requests_counts n;
			struct outcome o;
			struct world *w;
			struct err e;

			assert_int_equal(gateways_add(g, cases[i].list, &e), 0);
			wo.recorded_clients = recorded;
			w = world_new(&wo);
			with.gateways = g;
			o = run(w, &with, 0, w->nevents, &n);
			/* 10.0.0.0/24 has the services, too: each call between them begins a request. */
			if (i == 0)
				assert_true(o.traces > 1000);
			else
				assert_int_equal(o.exact, cases[i].traces);
			assert_true(cases[i].traces > 0 || n.outside >= 1000);
			world_free(w);
			gateways_free(g);
		}
}

static void
memory_is_bounded_and_what_is_given_up_is_counted(void **state)
{
	struct world_options wo = { TIER_EPOLL, .clients = 64, .requests = 3000, .seed = 3 };
	struct requests_options with = requests_defaults();
	struct requests_counts n;
	struct outcome o;
	struct world *w = world_new(&wo);

	(void)state;
	with.traces_max = 16;
	with.records_max = 400;
	with.threads_max = 16;
	with.connections_max = 16;
	o = run(w, &with, 0, w->nevents, &n);
	assert_true(n.given_up > 0);
	assert_true(n.evicted > 0);
	assert_int_equal(n.requests, n.traces + n.no_response + n.given_up);
	assert_true(o.traces < 3000);
	world_free(w);
}

/* ---- single events ---- */

struct stage {
	struct kernel_names names;
	struct labels *labels;
	struct requests *r;
	struct trace *taken[8];
	int ntaken;
	uint16_t host; /* of messages to come, and their network namespace */
	uint32_t net;
	struct err e;
};

static int
keep(void *of, struct trace *t, struct err *e)
{
	struct stage *s = of;

	(void)e;
	assert_true(s->ntaken < 8);
	s->taken[s->ntaken++] = t;
	return 0;
}

static void
stage_open(struct stage *s)
{
	struct requests_options with = requests_defaults();

	*s = (struct stage){ .labels = labels_new() };
	with.take = keep;
	with.ctx = s;
	assert_int_equal(kernel_names_new(&s->names, &s->e), 0);
	assert_int_equal(requests_new(&s->r, &with, &s->names, s->labels, &s->e), 0);
}

static void
stage_close(struct stage *s)
{
	for (int i = 0; i < s->ntaken; i++)
		trace_free(s->taken[i]);
	requests_free(s->r);
	labels_free(s->labels);
	kernel_names_release(&s->names);
}

static void
give(struct stage *s, struct kernel_event ev)
{
	assert_int_equal(requests_event(s->r, &ev, &s->e), 0);
}

static void
message(struct stage *s, int64_t time_ns, uint32_t tid, enum kernel_event_kind kind,
    const char *here, const char *there, const char *text)
{
	struct kernel_connection c = { .net = s->net };

	assert_true(kernel_end_read(&c.here, here) && kernel_end_read(&c.there, there));
	give(s, (struct kernel_event){ .time_ns = time_ns,
		    .tid = tid,
		    .pid = tid / 100 * 100,
		    .host = s->host,
		    .kind = (uint8_t)kind,
		    .message = { kernel_connection_intern(&s->names, &c), 0,
			texts_intern(s->names.texts, text, strlen(text)) } });
}

static const char *
type_of(const struct stage *s, int i)
{
	return labels_get(s->labels, s->taken[i]->type)->text;
}

static bool
has_label(const struct stage *s, const struct trace *t, const char *text)
{
	for (uint32_t i = 0; i < t->nevents; i++)
		if (strcmp(labels_get(s->labels, t->events[i].label)->text, text) == 0)
			return true;
	return false;
}

static void
requests_have_the_name_of_their_path(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s);
	give(&s, (struct kernel_event){ .tid = 100,
		     .pid = 100,
		     .kind = KERNEL_NAME,
		     .thread = { .name = texts_intern(s.names.texts, "ngi/nx", 6) } });
	message(&s, 10, 100, KERNEL_RECEIVE, "10.0.0.2:80", "10.0.0.9:40000",
	    "GET /user/17/cart/1b4e28ba-2fa1-11d2-883f-0016d3cca427/deadbeef01?x=1 HTTP/1.1");
	message(&s, 20, 100, KERNEL_SEND, "10.0.0.2:80", "10.0.0.9:40000", "HTTP/1.1 200 OK");
	message(&s, 30, 100, KERNEL_RECEIVE, "10.0.0.2:80", "10.0.0.9:40000",
	    "POST /cafe/face HTTP/1.1");
	message(&s, 40, 100, KERNEL_SEND, "10.0.0.2:80", "10.0.0.9:40000", "HTTP/1.1 200 OK");
	assert_int_equal(requests_end(s.r, &s.e), 0);
	assert_int_equal(s.ntaken, 2);
	assert_string_equal(
	    type_of(&s, 0), "ngi_nx/hone:request_begin(10.0.0.2:80 GET /user/{id}/cart/{id}/{id})");
	assert_string_equal(
	    type_of(&s, 1), "ngi_nx/hone:request_begin(10.0.0.2:80 POST /cafe/face)");
	stage_close(&s);
}

/* A call to a program that is not recorded has no unit: it is a span of two points, and the trace is complete. */
static void
calls_to_the_outside_are_spans(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s);
	message(&s, 10, 100, KERNEL_RECEIVE, "10.0.0.2:80", "10.0.0.9:40000", "");
	message(&s, 20, 100, KERNEL_SEND, "10.0.0.2:50000", "10.0.0.7:5432", "");
	message(&s, 90, 100, KERNEL_RECEIVE, "10.0.0.2:50000", "10.0.0.7:5432", "");
	message(&s, 99, 100, KERNEL_SEND, "10.0.0.2:80", "10.0.0.9:40000", "");
	assert_int_equal(requests_end(s.r, &s.e), 0);
	assert_int_equal(s.ntaken, 1);
	assert_true(trace_is_evidence(s.taken[0]));
	assert_true(has_label(&s, s.taken[0], "pid-100/call:10.0.0.7:5432_begin"));
	assert_true(has_label(&s, s.taken[0], "pid-100/call:10.0.0.7:5432_end"));
	assert_int_equal(s.taken[0]->nunits, 1);
	stage_close(&s);
}

static void
a_forked_helper_is_a_unit_that_its_parent_waits_for(void **state)
{
	struct stage s;
	const struct trace *t;

	(void)state;
	stage_open(&s);
	message(&s, 10, 100, KERNEL_RECEIVE, "10.0.0.2:80", "10.0.0.9:40000", "");
	give(&s, (struct kernel_event){ .time_ns = 20,
		     .tid = 100,
		     .pid = 100,
		     .kind = KERNEL_FORK,
		     .child = { 101, 100 } });
	give(&s, (struct kernel_event){ .time_ns = 21,
		     .tid = 100,
		     .pid = 100,
		     .kind = KERNEL_SWITCH,
		     .flags = SWITCH_ASLEEP,
		     .change = { .next_tid = 101, .next_pid = 100, .syscall = 202 } });
	message(&s, 30, 101, KERNEL_SEND, "10.0.0.2:50000", "10.0.0.7:5432", "");
	message(&s, 40, 101, KERNEL_RECEIVE, "10.0.0.2:50000", "10.0.0.7:5432", "");
	give(&s, (struct kernel_event){ .time_ns = 50,
		     .tid = 101,
		     .pid = 100,
		     .kind = KERNEL_WAKING,
		     .waking = { .tid = 100, .pid = 100, .by = WAKE_TASK } });
	give(&s,
	    (struct kernel_event){ .time_ns = 51, .tid = 101, .pid = 100, .kind = KERNEL_EXIT });
	message(&s, 60, 100, KERNEL_SEND, "10.0.0.2:80", "10.0.0.9:40000", "");
	assert_int_equal(requests_end(s.r, &s.e), 0);
	assert_int_equal(s.ntaken, 1);
	t = s.taken[0];
	assert_int_equal(t->nunits, 2);
	assert_true(trace_is_evidence(t));
	assert_true(has_label(&s, t, "pid-100/hone:join(fork)"));
	assert_int_equal(t->events[t->units[1].first + t->units[1].count - 1].time_ns, 50);
	stage_close(&s);
}

static void
what_the_user_counts_and_waits_are_fields_of_the_end(void **state)
{
	struct stage s;
	const struct trace *t;
	const struct label *l;
	const struct event *end;
	uint64_t faults = 0, disk = 0;
	uint32_t name;

	(void)state;
	stage_open(&s);
	name = texts_intern(s.names.texts, "page_fault_user", 15);
	message(&s, 1000, 100, KERNEL_RECEIVE, "10.0.0.2:80", "10.0.0.9:40000", "");
	for (int i = 0; i < 3; i++)
		give(&s, (struct kernel_event){ .time_ns = 1100,
			     .tid = 100,
			     .pid = 100,
			     .kind = KERNEL_COUNTED,
			     .counted = { name, 2 } });
	give(&s, (struct kernel_event){ .time_ns = 2000,
		     .tid = 100,
		     .pid = 100,
		     .kind = KERNEL_SWITCH,
		     .flags = SWITCH_ASLEEP | SWITCH_IOWAIT,
		     .change = { .syscall = 17 } });
	give(&s, (struct kernel_event){ .time_ns = 5000,
		     .kind = KERNEL_WAKING,
		     .waking = { .tid = 100, .pid = 100, .by = WAKE_BLOCK } });
	give(&s, (struct kernel_event){ .time_ns = 5500,
		     .kind = KERNEL_SWITCH,
		     .change = { .next_tid = 100, .next_pid = 100 } });
	message(&s, 6000, 100, KERNEL_SEND, "10.0.0.2:80", "10.0.0.9:40000", "");
	give(&s, (struct kernel_event){ .time_ns = 6100,
		     .tid = 100,
		     .pid = 100,
		     .kind = KERNEL_COUNTED,
		     .counted = { name, 1 } });
	assert_int_equal(requests_end(s.r, &s.e), 0);
	assert_int_equal(s.ntaken, 1);
	t = s.taken[0];
	assert_int_equal(t->nbelow, 1);
	assert_string_equal(labels_get(s.labels, t->below[0].label)->text, "pid-100/below:disk()");
	assert_int_equal(t->below[0].time_ns, 5500);
	assert_int_equal(t->below[0].values[0].u, 3500);
	assert_int_equal(t->below[0].values[1].u, 500);
	end = &t->events[t->nevents - 1];
	l = labels_get(s.labels, end->label);
	for (uint32_t i = 0; i < end->nvalues; i++) {
		if (strcmp(l->fields[i], "page_fault_user") == 0)
			faults = end->values[i].u;
		if (strcmp(l->fields[i], "disk_ns") == 0)
			disk = end->values[i].u;
	}
	assert_int_equal(faults, 6);
	assert_int_equal(disk, 3000);
	stage_close(&s);
}

/* Two services of the namespace: 100 serves a client that is not recorded, and asks 200. The requests of several namespaces are interleaved. */
static void
step_of_pair(struct stage *s, int step, int64_t time_ns, uint32_t tids, const char *a,
    const char *a_calls, const char *b)
{
	switch (step) {
	case 0:
		message(s, time_ns, tids + 100, KERNEL_RECEIVE, a, "10.9.0.1:40000", "");
		break;
	case 1:
		message(s, time_ns, tids + 100, KERNEL_SEND, a_calls, b, "");
		break;
	case 2:
		message(s, time_ns, tids + 200, KERNEL_RECEIVE, b, a_calls, "");
		break;
	case 3:
		message(s, time_ns, tids + 200, KERNEL_SEND, b, a_calls, "");
		break;
	case 4:
		message(s, time_ns, tids + 100, KERNEL_RECEIVE, a_calls, b, "");
		break;
	case 5:
		message(s, time_ns, tids + 100, KERNEL_SEND, a, "10.9.0.1:40000", "");
		break;
	}
}

enum { PAIR_STEPS = 6 };

/* A trace of two units, of which the second one is that of the same pair. */
static void
is_whole(const struct trace *t)
{
	assert_true(trace_is_evidence(t));
	assert_int_equal(t->nunits, 2);
	assert_int_equal(t->events[t->units[1].first].tid, t->events[t->units[0].first].tid + 100);
}

static void
equal_loopback_connections_of_namespaces_and_hosts_are_kept_apart(void **state)
{
	static const struct {
		uint16_t hosts[3];
		uint32_t nets[3];
	} cases[] = { { { 0, 0, 0 }, { 11, 12, 13 } }, { { 0, 1, 2 }, { 11, 11, 11 } },
		{ { 0, 1, 2 }, { 0, 0, 0 } } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct requests_counts n;
		struct stage s;

		stage_open(&s);
		for (int step = 0; step < PAIR_STEPS; step++)
			for (uint32_t net = 0; net < 3; net++) {
				s.host = cases[i].hosts[net];
				s.net = cases[i].nets[net];
				step_of_pair(&s, step, 10 * step + net, net * 1000,
				    net == 0   ? "10.0.0.1:80"
				    : net == 1 ? "10.0.0.2:80"
					       : "10.0.0.3:80",
				    "127.0.0.1:40001", "127.0.0.1:8080");
			}
		assert_int_equal(requests_end(s.r, &s.e), 0);
		assert_int_equal(s.ntaken, 3);
		for (int t = 0; t < 3; t++)
			is_whole(s.taken[t]);
		requests_counts(s.r, &n);
		assert_int_equal(n.ambiguous + n.reused, 0);
		stage_close(&s);
	}
}

static void
a_connection_leads_from_one_namespace_to_another(void **state)
{
	struct stage s;

	(void)state;
	stage_open(&s);
	for (int step = 0; step < PAIR_STEPS; step++) {
		s.net = step == 2 || step == 3 ? 12 : 11;
		step_of_pair(
		    &s, step, 10 * step, 0, "10.0.0.1:80", "10.0.0.1:40001", "10.0.0.2:8080");
	}
	assert_int_equal(requests_end(s.r, &s.e), 0);
	assert_int_equal(s.ntaken, 1);
	is_whole(s.taken[0]);
	stage_close(&s);
}

/* Two pairs of namespaces have the same addresses. */
static void
which_of_equal_connections_it_is_is_not_guessed(void **state)
{
	struct requests_counts n;
	struct stage s;

	(void)state;
	for (uint32_t shift = 0; shift < 3; shift++) {
		stage_open(&s);
		for (int step = 0; step < PAIR_STEPS + 2; step++)
			for (uint32_t pair = 0; pair < 2; pair++) {
				int at = step - (int)(pair * shift);

				s.net = (at == 2 || at == 3 ? 12 : 11) + 10 * pair;
				step_of_pair(&s, at, 10 * step + pair, 1000 * pair,
				    pair == 0 ? "10.0.1.1:80" : "10.0.1.2:80", "10.0.0.1:40001",
				    "10.0.0.2:8080");
			}
		requests_counts(s.r, &n);
		assert_true(n.ambiguous > 0);
		/* When both are long over, one of them alone is certain again. */
		for (int step = 0; step < PAIR_STEPS; step++) {
			s.net = step == 2 || step == 3 ? 12 : 11;
			step_of_pair(&s, step, INT64_C(5000000000) + step, 0, "10.0.1.1:80",
			    "10.0.0.1:40001", "10.0.0.2:8080");
		}
		assert_int_equal(requests_end(s.r, &s.e), 0);
		assert_in_range(s.ntaken, 3, 8); /* what 200 serves may seem to come from outside */
		for (int t = 0; t < s.ntaken - 1; t++)
			assert_false(trace_is_evidence(s.taken[t]));
		is_whole(s.taken[s.ntaken - 1]);
		stage_close(&s);
	}
}

static void
bad_gateways_are_refused(void **state)
{
	static const char *const bad[] = { "", "10.0.0", "10.0.0.0/33", "10.0.0.0/",
		"10.0.0.0:80/8", "fe80::/129", "10.0.0.1,,10.0.0.2", "10.0.0.1,", "pid:", "pid:x",
		"pid:0", "pid:1x", "pid:1,", "10.0.0.0/8x", "host" };
	struct gateways *g = gateways_new();
	struct kernel_end end;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(gateways_add(g, bad[i], &e), ERR_INPUT);
	gateways_free(g);
	g = gateways_new();
	assert_int_equal(gateways_add(g, "fe80::/10,[::1]:80,10.1.0.0/15", &e), 0);
	assert_true(kernel_end_read(&end, "[febf::1]:99") && gateways_match(g, &end));
	assert_false(kernel_end_read(&end, "[fec0::1]:99") && gateways_match(g, &end));
	assert_true(kernel_end_read(&end, "[::1]:80") && gateways_match(g, &end));
	assert_false(kernel_end_read(&end, "[::1]:81") && gateways_match(g, &end));
	assert_true(kernel_end_read(&end, "10.1.255.255:1") && gateways_match(g, &end));
	assert_false(kernel_end_read(&end, "10.2.0.0:1") && gateways_match(g, &end));
	assert_int_equal(gateways_add(g, "pid:8,10.9.9.9,pid:9", &e), 0);
	assert_true(gateways_match_process(g, 3, 8) && gateways_match_process(g, 0, 9));
	assert_int_equal(gateways_add_process(g, 0, 7, &e), 0);
	assert_true(gateways_match_process(g, 0, 7));
	assert_false(gateways_match_process(g, 1, 7));
	gateways_free(g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_block_have_exact_graphs),
		cmocka_unit_test(event_loops_have_exact_graphs),
		cmocka_unit_test(workers_behind_a_queue_have_right_graphs_or_lossy_ones),
		cmocka_unit_test(workers_that_hand_back_have_right_graphs_or_lossy_ones),
		cmocka_unit_test(processes_for_each_connection_have_exact_graphs),
		cmocka_unit_test(pipelined_calls_have_right_graphs_or_lossy_ones),
		cmocka_unit_test(ports_and_threads_that_are_used_again_are_no_mistake),
		cmocka_unit_test(clients_that_are_recorded_begin_requests),
		cmocka_unit_test(losses_make_requests_lossy_and_none_wrong),
		cmocka_unit_test(what_is_open_at_begin_and_end_is_not_guessed),
		cmocka_unit_test(the_rule_all_is_exact_for_threads_that_block),
		cmocka_unit_test(only_gateways_begin_requests),
		cmocka_unit_test(memory_is_bounded_and_what_is_given_up_is_counted),
		cmocka_unit_test(requests_have_the_name_of_their_path),
		cmocka_unit_test(calls_to_the_outside_are_spans),
		cmocka_unit_test(a_forked_helper_is_a_unit_that_its_parent_waits_for),
		cmocka_unit_test(what_the_user_counts_and_waits_are_fields_of_the_end),
		cmocka_unit_test(bad_gateways_are_refused),
		cmocka_unit_test(equal_loopback_connections_of_namespaces_and_hosts_are_kept_apart),
		cmocka_unit_test(a_connection_leads_from_one_namespace_to_another),
		cmocka_unit_test(which_of_equal_connections_it_is_is_not_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
