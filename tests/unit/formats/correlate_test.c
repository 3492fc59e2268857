/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* strsep() */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/mistake.h"
#include "base/rng.h"
#include "formats/correlate.h"
#include "tests/unit/mapping/map_file.h"

enum { TRACES_MAX = 4096 };

struct room {
	struct labels *labels;
	struct reading *reading;
	struct mapping *map;
	struct trace *traces[TRACES_MAX];
	uint32_t ntraces;
};

static int
take(void *ctx, struct trace *t, struct err *e)
{
	struct room *r = ctx;

	(void)e;
	assert_true(r->ntraces < TRACES_MAX);
	r->traces[r->ntraces++] = t;
	return 0;
}

static void
open_room_with(struct room *r, const char *map)
{
	struct reading_options o = { .take = take, .ctx = r };
	struct err e = { 0 };

	memset(r, 0, sizeof *r);
	if (map != NULL && map_of_text(&r->map, map, &e) != 0)
		fail_msg("%s", e.text);
	o.map = r->map;
	r->labels = labels_new();
	assert_int_equal(reading_new(&r->reading, &o, r->labels, &e), 0);
}

static void
open_room(struct room *r)
{
	open_room_with(r, NULL);
}

static void
close_room(struct room *r)
{
	for (uint32_t i = 0; i < r->ntraces; i++)
		trace_free(r->traces[i]);
	reading_free(r->reading);
	labels_free(r->labels);
	map_free(r->map);
}

static struct text_view
text(const char *s)
{
	return (struct text_view){ s, (uint32_t)strlen(s) };
}

static struct tracer_event
event_at(struct room *r, const char *node, uint32_t tid, int64_t time_ns, const char *name)
{
	return (struct tracer_event){ .time_ns = time_ns,
		.node = reading_node(r->reading, node, strlen(node)),
		.pid = 7,
		.tid = tid,
		.has_tid = true,
		.service = text("nfsd"),
		.name = text(name) };
}

static void
say(struct room *r, struct correlate *c, uint32_t tid, int64_t time_ns, const char *name)
{
	struct tracer_event v = event_at(r, "host", tid, time_ns, name);
	struct err e;

	assert_int_equal(correlate_event(c, &v, &e), 0);
}

static const char *
label_at(const struct room *r, const struct trace *t, uint32_t i)
{
	return labels_get(r->labels, t->events[i].label)->text;
}

static void
a_pair_on_a_thread_is_a_request_with_all_between_them_on_that_thread(void **state)
{
	struct correlate *c;
	struct room r;
	struct err e;

	(void)state;
	open_room(&r);
	assert_int_equal(correlate_new(&c, r.reading, "thread=nfs:rpc_begin..nfs:rpc_end", &e), 0);
	say(&r, c, 1, 1000, "nfs:idle");
	say(&r, c, 1, 2000, "nfs:rpc_begin");
	say(&r, c, 2, 2100, "nfs:rpc_begin");
	say(&r, c, 1, 2200, "nfs:lookup");
	say(&r, c, 2, 2300, "nfs:read");
	say(&r, c, 1, 3000, "nfs:rpc_end");
	say(&r, c, 1, 3100, "nfs:idle");
	say(&r, c, 2, 4100, "nfs:rpc_end");
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(r.ntraces, 2);
	assert_int_equal(r.traces[0]->nevents, 5);
	assert_int_equal(r.traces[0]->end_ns - r.traces[0]->begin_ns, 1000);
	assert_string_equal(label_at(&r, r.traces[0], 0), "nfsd/hone:request_begin(nfs:rpc_begin)");
	assert_string_equal(label_at(&r, r.traces[0], 1), "nfsd/nfs:rpc_begin");
	assert_string_equal(label_at(&r, r.traces[0], 2), "nfsd/nfs:lookup");
	assert_string_equal(label_at(&r, r.traces[0], 3), "nfsd/nfs:rpc_end");
	assert_string_equal(label_at(&r, r.traces[0], 4), "nfsd/hone:request_end(nfs:rpc_begin)");
	assert_string_equal(label_at(&r, r.traces[1], 2), "nfsd/nfs:read");
	assert_int_equal(r.traces[1]->end_ns - r.traces[1]->begin_ns, 2000);
	correlate_free(c);
	close_room(&r);
}

static void
a_request_whose_end_is_missing_is_counted_and_not_handed_out(void **state)
{
	struct reading_counts n;
	struct correlate *c;
	struct room r;
	struct err e;

	(void)state;
	open_room(&r);
	assert_int_equal(correlate_new(&c, r.reading, "thread=*_begin..*_end", &e), 0);
	say(&r, c, 1, 1000, "a:x_begin");
	say(&r, c, 1, 2000, "a:x_begin");
	say(&r, c, 1, 3000, "a:x_end");
	say(&r, c, 1, 4000, "a:x_end");
	say(&r, c, 1, 5000, "a:x_begin");
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(r.ntraces, 1);
	assert_int_equal(r.traces[0]->begin_ns, 2000);
	reading_counts(r.reading, &n);
	assert_int_equal(n.skipped[SKIP_ROOTLESS].count, 2);
	correlate_free(c);
	close_room(&r);
}

struct shown { /* to a check of the instrumentation */
	uint32_t complete, open;
	int64_t open_begin_ns;
};

static bool
look(void *ctx, const struct trace *t)
{
	struct shown *s = ctx;

	s->complete += t->incomplete == INCOMPLETE_NONE;
	s->open += t->incomplete == INCOMPLETE_NO_END;
	if (t->incomplete == INCOMPLETE_NO_END)
		s->open_begin_ns = t->begin_ns;
	return true;
}

static void
a_check_is_shown_open_requests_but_not_those_that_the_recording_cut_off(void **state)
{
	struct shown shown = { 0 };
	struct reading_options o = { .look = look, .ctx = &shown };
	struct correlate *c;
	struct room r = { 0 };
	struct err e;
	(void)state;

	r.labels = labels_new();
	assert_int_equal(reading_new(&r.reading, &o, r.labels, &e), 0);
	assert_int_equal(correlate_new(&c, r.reading, "thread=*_begin..*_end", &e), 0);
	say(&r, c, 1, 1000, "a:x_begin");
	say(&r, c, 2, 2000, "a:x_begin"); /* open: others take 1000 ns */
	say(&r, c, 1, 2000, "a:x_end");
	say(&r, c, 1, 3000, "a:x_begin");
	say(&r, c, 1, 4000, "a:x_end");
	say(&r, c, 3, 4500, "a:x_begin"); /* cut off: the recording ends 500 ns later */
	say(&r, c, 1, 4600, "a:x_begin");
	say(&r, c, 1, 5000, "a:x_end");
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(shown.complete, 3);
	assert_int_equal(shown.open, 1);
	assert_int_equal(shown.open_begin_ns, 2000);
	correlate_free(c);
	close_room(&r);
}

static void
by_context_structure_ties_units_over_nodes(void **state)
{
	static const char *const fields[] = { "name", "link_id", "size" };
	static const struct {
		const char *node, *name;
		uint64_t unit;
		int64_t time_ns;
	} script[] = {
		{ "a", "hone:request_begin", 1, 1000 },
		{ "a", "hone:fork", 1, 1100 },
		{ "b", "hone:unit_begin", 2, 1200 },
		{ "b", "disk:read", 2, 1300 },
		{ "b", "hone:unit_end", 2, 1400 },
		{ "a", "hone:join", 1, 1500 },
		{ "a", "hone:request_end", 1, 1600 },
	};
	struct value values[] = { { .type = VALUE_TEXT, .len = 3, .text = "get" },
		{ .type = VALUE_UINT, .u = 77 }, { .type = VALUE_INT, .i = 5 } };
	struct correlate *c;
	struct room r;
	struct err e;

	(void)state;
	open_room(&r);
	assert_int_equal(correlate_new(&c, r.reading, NULL, &e), 0);
	for (size_t i = 0; i < sizeof script / sizeof script[0]; i++) {
		struct tracer_event v = event_at(
		    &r, script[i].node, 1, script[i].time_ns, script[i].name);

		v.has_context = true;
		v.trace_id = 99;
		v.unit_id = script[i].unit;
		v.fields = fields;
		v.values = values;
		v.nfields = 3;
		assert_int_equal(correlate_event(c, &v, &e), 0);
	}
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(r.ntraces, 1);
	assert_int_equal(r.traces[0]->nunits, 2);
	assert_int_equal(r.traces[0]->units[1].fork, 1);
	assert_false(r.traces[0]->lossy);
	assert_string_equal(label_at(&r, r.traces[0], 1), "nfsd/hone:fork(get)");
	assert_int_equal(labels_get(r.labels, r.traces[0]->events[1].label)->nfields, 1);
	assert_int_equal(r.traces[0]->events[1].values[0].i, 5);
	correlate_free(c);
	close_room(&r);
}

static void
what_is_missing_is_said(void **state)
{
	struct correlate *c;
	struct room r;
	struct err e;

	(void)state;
	open_room(&r);
	assert_int_equal(correlate_new(&c, r.reading, "thread=nothing", &e), ERR_INPUT);
	assert_int_equal(correlate_new(&c, r.reading, "pid=a..b", &e), ERR_INPUT);
	assert_int_equal(correlate_new(&c, r.reading, NULL, &e), 0);
	say(&r, c, 1, 1000, "a:x");
	assert_int_equal(correlate_end(c, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "--correlate"));
	correlate_free(c);
	assert_int_equal(correlate_new(&c, r.reading, "thread=a:x..a:y", &e), 0);
	for (int i = 0; i < 3; i++) {
		struct tracer_event v = event_at(&r, "host", 1, 1000, "a:x");

		v.has_tid = false;
		assert_int_equal(correlate_event(c, &v, &e), 0);
	}
	assert_int_equal(correlate_end(c, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "vtid"));
	correlate_free(c);
	close_room(&r);
}

static void
losses_mark_the_traces_of_their_time(void **state)
{
	struct correlate *c;
	struct room r;
	struct err e;
	int64_t second = 1000000000;

	(void)state;
	open_room(&r);
	assert_int_equal(correlate_new(&c, r.reading, "thread=a:begin..a:end", &e), 0);
	say(&r, c, 1, 1 * second, "a:begin");
	say(&r, c, 1, 2 * second, "a:end");
	assert_int_equal(correlate_loss(c, 0, 3, 4 * second, 5 * second, &e), 0);
	say(&r, c, 1, 3 * second, "a:begin");
	say(&r, c, 1, 6 * second, "a:end");
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(r.ntraces, 2);
	assert_false(r.traces[0]->lossy);
	assert_true(r.traces[1]->lossy);
	correlate_free(c);
	close_room(&r);
}

static void
many_requests_on_many_threads_come_out_whole(void **state)
{
	enum { REQUESTS = 3000, THREADS = 8 };
	struct correlate *c;
	struct rng rng;
	struct room r;
	struct err e;
	int64_t at = 1000;
	uint32_t open[THREADS] = { 0 }, begun = 0;

	(void)state;
	open_room(&r);
	rng_seed(&rng, 5);
	assert_int_equal(correlate_new(&c, r.reading, "thread=a:begin..a:end", &e), 0);
	for (uint32_t done = 0; done < REQUESTS; at += 1 + (int64_t)rng_below(&rng, 1000000)) {
		uint32_t t = (uint32_t)rng_below(&rng, THREADS);

		if (open[t] == 0 && begun < REQUESTS) {
			say(&r, c, t, at, "a:begin");
			open[t] = 1;
			begun++;
		} else if (open[t] > 0 && open[t] < 6) {
			say(&r, c, t, at, "a:step");
			open[t]++;
		} else if (open[t] == 6) {
			say(&r, c, t, at, "a:end");
			open[t] = 0;
			done++;
		}
	}
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(r.ntraces, REQUESTS);
	for (uint32_t i = 0; i < REQUESTS; i++)
		assert_int_equal(r.traces[i]->nevents, 9);
	correlate_free(c);
	close_room(&r);
}

static const char BROKER[] =
    "[program]\nservice = nfsd\n"
    "[request job]\nbegin = b:queued\nbegin_id = job\nend = b:done\nend_id = task\ncorrelate = field\ntype_field = kind\n"
    "step = b:started job -> task\n[request rpc]\nbegin = a:begin\nend = a:end\ncorrelate = thread\ntype = RPC\n";

static void
say_ids(struct room *r, struct correlate *c, const char *node, uint32_t tid, int64_t time_ns,
    const char *name, uint64_t job, uint64_t task)
{
	/* another program may have the same tracepoint with its fields in another order */
	const char *const fields[][3] = { { "kind", "job", "task" }, { "task", "kind", "job" } };
	struct value values[][3] = { { { .type = VALUE_TEXT, .len = 4, .text = "mail" },
					 { .type = VALUE_UINT, .u = job },
					 { .type = VALUE_UINT, .u = task } },
		{ { .type = VALUE_UINT, .u = task },
		    { .type = VALUE_TEXT, .len = 4, .text = "mail" },
		    { .type = VALUE_UINT, .u = job } } };
	struct tracer_event v = event_at(r, node, tid, time_ns, name);
	struct err e;

	v.nfields = 3;
	v.fields = fields[task % 2];
	v.values = values[task % 2];
	assert_int_equal(correlate_event(c, &v, &e), 0);
}

static void
a_mapping_follows_ids_from_thread_to_thread(void **state)
{
	struct correlate *c;
	struct room r;
	struct err e;

	(void)state;
	open_room_with(&r, BROKER);
	assert_int_equal(correlate_new(&c, r.reading, NULL, &e), 0);
	say_ids(&r, c, "a", 1, 1000, "b:queued", 5, 0);
	say_ids(&r, c, "b", 1, 1001, "b:queued", 5, 0); /* another node */
	say_ids(&r, c, "a", 2, 1100, "b:started", 5, 77);
	say_ids(&r, c, "b", 2, 1200, "b:started", 5, 77);
	say(&r, c, 2, 1300, "disk:read"); /* of "host", where nothing runs */
	say_ids(&r, c, "a", 2, 1400, "disk:read", 0, 0);
	say_ids(&r, c, "a", 3, 1500, "b:done", 0, 77);
	say_ids(&r, c, "b", 3, 1700, "b:done", 0, 77);
	say(&r, c, 1, 1800, "a:begin");
	say(&r, c, 1, 1900, "a:begin");
	say(&r, c, 1, 2000, "a:end");
	say(&r, c, 1, 2100, "a:end");
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(r.ntraces, 3);
	assert_int_equal(r.traces[0]->nevents, 6);
	assert_string_equal(label_at(&r, r.traces[0], 0), "nfsd/hone:request_begin(mail)");
	assert_string_equal(label_at(&r, r.traces[0], 3), "nfsd/disk:read");
	assert_string_equal(label_at(&r, r.traces[0], 5), "nfsd/hone:request_end(mail)");
	assert_int_equal(r.traces[0]->end_ns - r.traces[0]->begin_ns, 500);
	assert_int_equal(r.traces[0]->nunits, 1);
	assert_int_equal(r.traces[1]->end_ns - r.traces[1]->begin_ns, 699);
	assert_string_equal(label_at(&r, r.traces[2], 0), "nfsd/hone:request_begin(RPC)");
	assert_int_equal(r.traces[2]->end_ns - r.traces[2]->begin_ns, 300);
	correlate_free(c);
	close_room(&r);
}

/* ---- mappings whose begin and end do not pair ---- */

struct pairs { /* what a check of the instrumentation sees */
	struct room room;
	struct correlate *c;
	struct place_table facts;
};

static bool
look_at_trace(void *ctx, const struct trace *t)
{
	struct pairs *p = ctx;

	return place_table_add(&p->facts, t, p->room.labels);
}

static bool
look_at_mapped(void *ctx, uint32_t label, enum mapped_event what, uint32_t times)
{
	struct pairs *p = ctx;

	return place_table_mapped(&p->facts, label, what, times);
}

static void
pairs_begin(struct pairs *p)
{
	struct reading_options o = {
		.look = look_at_trace, .look_mapped = look_at_mapped, .ctx = p
	};
	struct err e;

	memset(p, 0, sizeof *p);
	assert_int_equal(map_of_text(&p->room.map, BROKER, &e), 0);
	o.map = p->room.map;
	p->room.labels = labels_new();
	assert_int_equal(reading_new(&p->room.reading, &o, p->room.labels, &e), 0);
	assert_int_equal(correlate_new(&p->c, p->room.reading, NULL, &e), 0);
}

/* Ends it; the only mistake is of that kind, at that tracepoint. */
static void
only_mistake(struct pairs *p, enum mistake_kind kind, const char *at, uint64_t count, uint64_t of)
{
	const struct mistake_limits limits = mistake_defaults();
	struct mistake found[4];
	struct err e;

	assert_int_equal(correlate_end(p->c, &e), 0);
	assert_int_equal(
	    mistakes_find(found, 4, &p->facts, p->room.labels, NULL, &limits), kind != MISTAKES);
	if (kind != MISTAKES) {
		assert_string_equal(mistake_word(found[0].kind), mistake_word(kind));
		assert_string_equal(labels_get(p->room.labels, found[0].at)->text, at);
		assert_int_equal(found[0].count, count);
		assert_int_equal(found[0].of, of);
	}
	place_table_release(&p->facts);
	correlate_free(p->c);
	close_room(&p->room);
}

static void
a_check_names_the_tracepoint_of_a_mapping_that_does_not_pair(void **state)
{
	struct pairs p;
	(void)state;

	pairs_begin(&p);
	for (int i = 0; i < 20; i++) {
		say_ids(&p.room, p.c, "a", 1, 1000 * (i + 1), "b:queued", 100 + i, 0);
		say_ids(&p.room, p.c, "a", 2, 1000 * (i + 1) + 100, "b:started", 100 + i, 200 + i);
		say_ids(&p.room, p.c, "a", 3, 1000 * (i + 1) + 200, "b:done", 0, 200 + i);
	}
	only_mistake(&p, MISTAKES, "", 0, 0);

	/* ends of threads that begin nothing; the first one may have begun before the recording */
	pairs_begin(&p);
	say(&p.room, p.c, 1, 100, "a:begin");
	say(&p.room, p.c, 2, 150, "a:end");
	say(&p.room, p.c, 1, 200, "a:end");
	for (int i = 0; i < 20; i++)
		say(&p.room, p.c, 2, 1000 + 100 * i, "a:end");
	only_mistake(&p, MISTAKE_MAPPED_ALONE, "nfsd/a:end", 20, 21);

	/* a begin whose end never comes on its thread */
	pairs_begin(&p);
	for (int i = 0; i < 50; i++)
		say(&p.room, p.c, 1, 100 * (i + 1), "a:begin");
	only_mistake(&p, MISTAKE_MAPPED_INSIDE, "nfsd/a:begin", 32, 33);

	/* a begin without the field of its id */
	pairs_begin(&p);
	for (int i = 0; i < 20; i++)
		say(&p.room, p.c, 1, 100 * (i + 1), "b:queued");
	only_mistake(&p, MISTAKE_MAPPED_IDLESS, "nfsd/b:queued", 20, 20);
}

static void
a_mapping_is_of_one_program_and_context_is_better(void **state)
{
	struct correlate *c;
	struct tracer_event v;
	struct room r;
	struct err e;

	(void)state;
	open_room_with(&r, BROKER);
	assert_int_equal(correlate_new(&c, r.reading, NULL, &e), 0);
	v = event_at(&r, "host", 1, 1000, "a:begin");
	v.service = text("smbd");
	assert_int_equal(correlate_event(c, &v, &e), 0);
	assert_int_equal(correlate_end(c, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "of a program called nfsd"));
	correlate_free(c);
	assert_int_equal(correlate_new(&c, r.reading, NULL, &e), 0);
	for (int i = 0; i < 2; i++) {
		v = event_at(&r, "host", 1, 1000 + i * 100,
		    i == 0 ? "hone:request_begin" : "hone:request_end");
		v.has_context = true;
		v.trace_id = v.unit_id = 9;
		assert_int_equal(correlate_event(c, &v, &e), 0);
	}
	say(&r, c, 2, 1050, "a:begin");
	say(&r, c, 2, 1150, "a:end");
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(r.ntraces, 2);
	assert_string_equal(label_at(&r, r.traces[0], 0), "nfsd/hone:request_begin()");
	assert_string_equal(label_at(&r, r.traces[1], 0), "nfsd/hone:request_begin(RPC)");
	correlate_free(c);
	close_room(&r);
}

static void
what_is_open_at_a_loss_is_given_up_where_pairs_nest(void **state)
{
	struct correlate *c;
	struct room r;
	struct err e;
	int64_t second = 1000000000;

	(void)state;
	open_room_with(&r, BROKER);
	assert_int_equal(correlate_new(&c, r.reading, NULL, &e), 0);
	say(&r, c, 1, 1 * second, "a:begin");
	assert_int_equal(
	    correlate_loss(c, reading_node(r.reading, "host", 4), 3, 2 * second, 3 * second, &e),
	    0);
	say(&r, c, 1, 5 * second, "a:begin"); /* not nested: its end was lost */
	say(&r, c, 1, 6 * second, "a:end");
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(r.ntraces, 1);
	assert_int_equal(r.traces[0]->begin_ns, 5 * second);
	assert_false(r.traces[0]->lossy);
	correlate_free(c);
	close_room(&r);
}

/* Ids in names of requests, and bytes that are no text. */
static void
names_over_the_limit_share_one_label(void **state)
{
	const char *fields[] = { "name" };
	struct value value = { .type = VALUE_TEXT };
	struct reading_counts n;
	struct correlate *c;
	struct room r;
	struct err e;
	char name[32];

	(void)state;
	open_room(&r);
	assert_int_equal(correlate_new(&c, r.reading, NULL, &e), 0);
	for (uint32_t i = 0; i < 50010; i++) {
		struct tracer_event v = event_at(&r, "host", 1, 1000 + i, "hone:request_begin");

		v.has_context = true;
		v.trace_id = v.unit_id = i < 50000 ? 1
		                                   : i; /* the last ones are traces of their own */
		value.len = (uint32_t)snprintf(name, sizeof name, "GET \xff%u", i);
		value.text = name;
		v.fields = fields;
		v.values = &value;
		v.nfields = 1;
		assert_int_equal(correlate_event(c, &v, &e), 0);
		v.name = text("hone:request_end");
		v.nfields = 0;
		v.time_ns += 1;
		if (i >= 50000)
			assert_int_equal(correlate_event(c, &v, &e), 0);
	}
	assert_int_equal(correlate_end(c, &e), 0);
	reading_counts(r.reading, &n);
	assert_true(n.skipped[SKIP_NAMES].count >= 9);
	assert_non_null(strstr(n.skipped[SKIP_NAMES].why, "nfsd/hone:request_begin(GET ?"));
	assert_true(r.ntraces >= 9);
	assert_string_equal(
	    label_at(&r, r.traces[r.ntraces - 1], 0), "nfsd/hone:request_begin((other))");
	correlate_free(c);
	close_room(&r);
}

/* ---- spans ---- */

#define SPANS                                                                                                                   \
	"[program]\nservice = *\n[request o]\nbegin = o:start\nend = o:end\ncorrelate = span\nbegin_id = span\nend_id = span\n" \
	"trace_id = trace\nparent_id = parent\nservice_field = service_name | service\ntype_field = op_name | operation\n"

/* fields: "name=value name=value": a value of digits and a + before it is a number, others are texts. */
static void
say_fields(struct room *r, struct correlate *c, const char *node, int64_t time_ns, const char *name,
    const char *fields)
{
	struct tracer_event v = event_at(r, node, 1, time_ns, name);
	const char *names[RECORD_VALUES_MAX];
	struct value values[RECORD_VALUES_MAX];
	char copy[256], *at = copy;
	struct err e;

	snprintf(copy, sizeof copy, "%s", fields);
	for (char *word; (word = strsep(&at, " ")) != NULL && *word != '\0'; v.nfields++) {
		char *value = strchr(word, '=');

		*value++ = '\0';
		names[v.nfields] = word;
		values[v.nfields] = (struct value){
			.type = VALUE_TEXT, .len = (uint32_t)strlen(value), .text = value
		};
		if (value[0] == '+')
			values[v.nfields] = (struct value){ .type = VALUE_UINT,
				.u = strtoull(value, NULL, 10) };
	}
	v.fields = names;
	v.values = values;
	v.has_tid = false; /* spans need no thread */
	assert_int_equal(correlate_event(c, &v, &e), 0);
}

static void
two_events_of_a_span_are_a_unit_over_programs_and_hosts(void **state)
{
	struct reading_counts n;
	struct correlate *c;
	struct room r;
	struct err e;

	(void)state;
	open_room_with(&r, SPANS);
	assert_int_equal(correlate_new(&c, r.reading, NULL, &e), 0);
	say_fields(&r, c, "a", 1000, "o:start", "trace=00ab span=01 parent=0000000000000000");
	say_fields(&r, c, "a", 1100, "o:start", "trace=00ab span=02 parent=01 operation=ask");
	say_fields(&r, c, "b", 1200, "o:start", "trace=ab span=+3 parent=+2 service=cart");
	say_fields(&r, c, "b", 1250, "o:other", "trace=ab span=+3");
	say_fields(&r, c, "b", 1300, "o:end", "trace=ab span=+3 operation=get rows=+7");
	say_fields(&r, c, "a", 1400, "o:end", "trace=00ab span=02 service_name=front");
	say_fields(&r, c, "a", 1500, "o:end", "trace=00ab span=01 service_name=front op_name=home");
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(reading_end(r.reading, &e), 0);
	reading_counts(r.reading, &n);
	assert_int_equal(n.spans, 3);
	assert_int_equal(r.ntraces, 1);
	assert_int_equal(r.traces[0]->nunits, 3);
	assert_string_equal(
	    labels_get(r.labels, r.traces[0]->type)->text, "front/hone:request_begin(home)");
	assert_int_equal(r.traces[0]->end_ns - r.traces[0]->begin_ns, 500);
	assert_false(r.traces[0]->lossy);
	correlate_free(c);
	close_room(&r);
}

static void
what_lacks_a_part_of_a_span_is_counted(void **state)
{
	struct reading_counts n;
	struct correlate *c;
	struct room r;
	struct err e;

	(void)state;
	open_room_with(&r, SPANS);
	assert_int_equal(correlate_new(&c, r.reading, NULL, &e), 0);
	say_fields(&r, c, "a", 1000, "o:start", "trace=1 span=1 parent=0 service=a operation=x");
	say_fields(&r, c, "a", 1100, "o:start", "trace=1 span=2 parent=1 service=a operation=y");
	say_fields(
	    &r, c, "a", 1200, "o:end", "trace=1 span=3 service=a operation=z"); /* no start */
	say_fields(&r, c, "a", 1300, "o:start", "span=4 parent=1");             /* no trace */
	say_fields(&r, c, "a", 1400, "o:end", "trace=1 span=1");
	assert_int_equal(correlate_end(c, &e), 0);
	assert_int_equal(reading_end(r.reading, &e), 0);
	reading_counts(r.reading, &n);
	assert_int_equal(n.skipped[SKIP_INCOMPLETE].count, 1);
	assert_int_equal(n.skipped[SKIP_UNTIMED].count, 2); /* no start, no end */
	assert_int_equal(r.ntraces, 1);
	assert_true(r.traces[0]->lossy);
	correlate_free(c);
	close_room(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_events_of_a_span_are_a_unit_over_programs_and_hosts),
		cmocka_unit_test(what_lacks_a_part_of_a_span_is_counted),
		cmocka_unit_test(
		    a_pair_on_a_thread_is_a_request_with_all_between_them_on_that_thread),
		cmocka_unit_test(a_request_whose_end_is_missing_is_counted_and_not_handed_out),
		cmocka_unit_test(
		    a_check_is_shown_open_requests_but_not_those_that_the_recording_cut_off),
		cmocka_unit_test(by_context_structure_ties_units_over_nodes),
		cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(losses_mark_the_traces_of_their_time),
		cmocka_unit_test(many_requests_on_many_threads_come_out_whole),
		cmocka_unit_test(a_mapping_follows_ids_from_thread_to_thread),
		cmocka_unit_test(a_check_names_the_tracepoint_of_a_mapping_that_does_not_pair),
		cmocka_unit_test(a_mapping_is_of_one_program_and_context_is_better),
		cmocka_unit_test(what_is_open_at_a_loss_is_given_up_where_pairs_nest),
		cmocka_unit_test(names_over_the_limit_share_one_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
