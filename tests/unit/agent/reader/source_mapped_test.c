/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/reader/source_mapped.h"
#include "base/rng.h"

#define MS INT64_C(1000000)

enum { RECORDS = 4096, PID = 7 };

enum {
	BEGIN,
	END,
	STEP,
	FOREIGN,
	QUEUED,
	STARTED,
	DONE,
	SEEN,
	LABELS
}; /* indexes of the labels below */

static const char *const OP[] = { "op" }, *const JOB[] = { "job", "size" },
			 *const ASSIGN[] = { "job", "task" }, *const TASK[] = { "task" };
#define LABEL(text, n, fields)                                                           \
	{                                                                                \
		RECORD_POINT, sizeof text - 1, n, text, (const char **)(uintptr_t)fields \
	}
static struct batch_label labels[LABELS] = {
	LABEL("broker/b:call_begin", 1, OP),
	LABEL("broker/b:call_end", 1, OP),
	LABEL("broker/b:inside", 0, OP),
	LABEL("web/w:thing", 0, OP),
	LABEL("broker/b:queued", 2, JOB),
	LABEL("broker/b:started", 2, ASSIGN),
	LABEL("broker/b:done", 1, TASK),
	{ RECORD_WAIT, sizeof "broker/below:timer(main;pause)" - 1, 0,
	    "broker/below:timer(main;pause)", NULL },
};

/* An inner source that plays records as source_lttng.c delivers them. */
struct tape {
	struct record records[RECORDS];
	struct value values[RECORDS][2];
	struct loss losses[4];
	struct source_output take;
	struct source_process processes[2];
	uint32_t nprocesses;
	uint64_t changes;
	uint32_t nlabels;
	struct source source;
	struct maps maps;
	char folder[64], file[96];
	enum mapped_choice choice;
	bool closed;
};

static int
tape_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct tape *t = state;
	(void)now;
	(void)e;

	t->take.records = t->records;
	t->take.losses = t->losses;
	*ret = t->take;
	return 0;
}

static void
tape_stats(void *state, struct source_stats *ret)
{
	struct tape *t = state;

	*ret = (struct source_stats){ .changes = t->changes,
		.nprocesses = t->nprocesses,
		.processes = t->processes,
		.records = 1000000,
		.trouble = "" };
}

static const struct batch_label *
tape_labels(void *state, uint32_t *count)
{
	*count = ((struct tape *)state)->nlabels;
	return labels;
}

static void
tape_close(void *state)
{
	((struct tape *)state)->closed = true;
}

static enum mapped_choice
choose(void *of, const char *type)
{
	assert_true(strcmp(type, "CALL") == 0 || strcmp(type, "JOB") == 0);
	return ((struct tape *)of)->choice;
}

static const char MAP[] =
    "[program]\nservice = broker\n"
    "[request call]\nbegin = b:call_begin\nend = b:call_end\ncorrelate = thread\ntype = CALL\n"
    "[request job]\nbegin = b:queued\nbegin_id = job\nend = b:done\nend_id = task\ncorrelate = field\ntype = JOB\n"
    "step = b:started job -> task\n";

static struct tape *
tape_new(enum mapped_choice choice)
{
	struct tape *t = calloc(1, sizeof *t);
	struct mapped_options o = { .choose = choose, .of = t, .seed = 5 };
	const struct source inner = { t, tape_poll, tape_stats, tape_labels, tape_close };
	struct err e = { 0 };
	FILE *f;

	strcpy(t->folder, "/tmp/mapped-XXXXXX");
	assert_non_null(mkdtemp(t->folder));
	snprintf(t->file, sizeof t->file, "%s/broker.map", t->folder);
	assert_non_null(f = fopen(t->file, "w"));
	fputs(MAP, f);
	fclose(f);
	if (maps_load(&t->maps, t->folder, &e) != 0)
		fail_msg("%s", e.text);
	t->choice = choice;
	t->nlabels = LABELS;
	t->processes[0] = (struct source_process){ "broker", PID, true };
	t->processes[1] = (struct source_process){ "web", 8, false };
	t->nprocesses = 2;
	t->changes = 1;
	assert_int_equal(source_mapped_open(&t->source, &inner, &t->maps, &o, &e), 0);
	return t;
}

static void
tape_free(struct tape *t)
{
	t->source.close(t->source.state);
	assert_true(t->closed);
	maps_release(&t->maps);
	unlink(t->file);
	rmdir(t->folder);
	free(t);
}

static void
blank(struct tape *t)
{
	t->take.nrecords = t->take.nlosses = t->take.nlate = 0;
}

/* Appends a record of the mapped process; a and b are its fields. */
static void
writes(struct tape *t, int64_t at_ms, uint32_t tid, uint32_t label, uint64_t a, uint64_t b)
{
	uint32_t i = t->take.nrecords++;

	t->values[i][0] = (struct value){ .type = VALUE_UINT, .u = a };
	t->values[i][1] = (struct value){ .type = VALUE_UINT, .u = b };
	t->records[i] = (struct record){ .time_ns = at_ms * MS,
		.label = label,
		.pid = PID,
		.tid = tid,
		.nvalues = labels[label].nfields,
		.values = t->values[i] };
	t->take.watermark_ns = at_ms * MS;
}

static struct source_output
polled(struct tape *t)
{
	struct source_output take;
	struct source_stats look;
	struct err e;

	assert_int_equal(
	    t->source.poll(t->source.state, (struct mono){ t->take.watermark_ns + MS }, &take, &e),
	    0);
	t->source.stats(t->source.state, &look);
	assert_int_equal(take.watermark_ns, t->take.watermark_ns);
	for (uint32_t i = take.nlate + 1; i < take.nrecords; i++)
		assert_true(take.records[i].time_ns >= take.records[i - 1].time_ns);
	blank(t);
	return take;
}

/*
 * The delivered records, a letter each: B and E begin and end a request (b: one that is not
 * probed), s is a step, f a record of another program; x follows if it has no trace.
 */
static const char *
story(struct tape *t, struct source_output take)
{
	static char words[3 * RECORDS];
	uint32_t n, at = 0;
	const struct batch_label *l = t->source.labels(t->source.state, &n);

	for (uint32_t i = 0; i < take.nrecords; i++) {
		const struct record *r = &take.records[i];

		assert_true(r->label < n);
		assert_int_equal(l[r->label].nfields, r->nvalues);
		if (l[r->label].kind == RECORD_REQUEST_BEGIN) {
			assert_string_equal(l[r->label].fields[1], "probed");
			words[at++] = r->values[1].u != 0 ? 'B' : 'b';
		} else if (l[r->label].kind == RECORD_REQUEST_END) {
			words[at++] = 'E';
		} else {
			words[at++] = strncmp(l[r->label].text, "web/", 4) == 0 ? 'f'
			              : strstr(l[r->label].text, "inside")      ? 's'
			                                                        : '.';
		}
		if (r->trace_id == 0)
			words[at++] = 'x';
	}
	words[at] = '\0';
	return words;
}

static struct source_stats
stats_of(struct tape *t)
{
	struct source_stats l;

	t->source.stats(t->source.state, &l);
	return l;
}

static void
a_request_gets_its_begin_and_its_end(void **state)
{
	struct tape *t = tape_new(MAPPED_PROBED);
	const struct batch_label *l;
	struct source_output take;
	uint32_t n;
	(void)state;

	writes(t, 1, 1, STEP, 0, 0); /* outside of any request */
	writes(t, 2, 1, BEGIN, 0, 0);
	writes(t, 3, 1, STEP, 0, 0);
	writes(t, 4, 1, END, 0, 0);
	writes(t, 5, 1, STEP, 0, 0);
	take = polled(t);
	assert_string_equal(story(t, take), "B.s.E");
	l = t->source.labels(t->source.state, &n);
	assert_int_equal(l[take.records[0].label].len, strlen("broker/hone:request_begin(CALL)"));
	assert_memory_equal(l[take.records[0].label].text, "broker/hone:request_begin(CALL)", 31);
	assert_memory_equal(l[take.records[4].label].text, "broker/hone:request_end(CALL)", 29);
	for (uint32_t i = 1; i < take.nrecords; i++) {
		assert_int_equal(take.records[i].trace_id, take.records[0].trace_id);
		assert_int_equal(take.records[i].unit_id, take.records[0].unit_id);
	}
	assert_int_equal(take.records[0].time_ns, 2 * MS);
	assert_int_equal(take.records[4].time_ns, 4 * MS);
	assert_int_equal(stats_of(t).mapped, 5);
	assert_int_equal(stats_of(t).dropped, 2);
	assert_int_equal(stats_of(t).records, 1000000 - 2);
	tape_free(t);
}

static void
what_a_thread_did_is_of_the_request_that_it_has_begun_and_not_of_one_that_it_may_carry(void **state)
{
	struct tape *t = tape_new(MAPPED_PROBED);
	struct source_output take;
	(void)state;

	writes(t, 1, 1, SEEN, 0, 0); /* outside of any request */
	writes(t, 2, 1, BEGIN, 0, 0);
	writes(t, 3, 1, SEEN, 0, 0);
	writes(t, 4, 2, SEEN, 0, 0); /* another thread */
	writes(t, 5, 1, END, 0, 0);
	writes(t, 6, 1, SEEN, 0, 0);
	take = polled(t);
	assert_string_equal(story(t, take), "B...E");
	assert_int_equal(take.records[2].time_ns, 3 * MS);
	assert_int_equal(take.records[2].trace_id, take.records[0].trace_id);
	/* a thread that has taken up a job may have put it down again */
	writes(t, 10, 3, QUEUED, 77, 1);
	writes(t, 11, 3, SEEN, 0, 0);
	writes(t, 12, 3, STARTED, 77, 5);
	writes(t, 13, 3, SEEN, 0, 0);
	writes(t, 14, 3, DONE, 5, 0);
	take = polled(t);
	assert_string_equal(story(t, take), "B...E");
	for (uint32_t i = 0; i < take.nrecords; i++)
		assert_true(
		    take.records[i].time_ns != 11 * MS && take.records[i].time_ns != 13 * MS);
	tape_free(t);
	/* of a request that is not probed, nothing */
	t = tape_new(MAPPED_SAMPLED);
	writes(t, 2, 1, BEGIN, 0, 0);
	writes(t, 3, 1, SEEN, 0, 0);
	writes(t, 4, 1, END, 0, 0);
	take = polled(t);
	assert_string_equal(story(t, take), "b..E");
	for (uint32_t i = 0; i < take.nrecords; i++)
		assert_true(take.records[i].time_ns != 3 * MS);
	tape_free(t);
}

static void
a_request_is_followed_from_thread_to_thread(void **state)
{
	struct tape *t = tape_new(MAPPED_PROBED);
	struct source_output take;
	(void)state;

	writes(t, 1, 1, QUEUED, 70, 3);
	writes(t, 2, 1, QUEUED, 71, 0);
	writes(t, 3, 2, STARTED, 71, 5);
	writes(t, 4, 3, STARTED, 70, 6);
	writes(t, 5, 2, STEP, 0, 0); /* a record of job 71, on whose thread it is */
	writes(t, 6, 4, DONE, 5, 0);
	writes(t, 7, 4, DONE, 6, 0);
	take = polled(t);
	assert_string_equal(story(t, take), "B.B...s.E.E");
	assert_int_equal(take.records[6].trace_id, take.records[2].trace_id);
	assert_int_equal(take.records[7].trace_id, take.records[2].trace_id);
	assert_int_equal(take.records[9].trace_id, take.records[0].trace_id);
	/* ids are made empty, other values unchanged */
	assert_int_equal(take.records[1].values[0].type, VALUE_NONE);
	assert_int_equal(take.records[1].values[1].u, 3);
	assert_int_equal(take.records[4].values[0].type, VALUE_NONE);
	assert_int_equal(take.records[4].values[1].type, VALUE_NONE);
	assert_int_equal(t->values[0][0].u, 70);
	tape_free(t);
}

/* Records of a mapped program that have a trace are unchanged, too: the program may also use
 * libhone. */
static void
all_other_records_pass_unchanged(void **state)
{
	struct tape *t = tape_new(MAPPED_NOT);
	struct source_output take;
	(void)state;

	writes(t, 1, 9, FOREIGN, 0, 0);
	writes(t, 2, 1, STEP, 0, 0);
	t->records[1].trace_id = 99;
	t->records[1].link_id = 3;
	writes(t, 3, 1, BEGIN, 0, 0);
	writes(t, 4, 1, END, 0, 0);
	take = polled(t);
	assert_string_equal(story(t, take), "fxs");
	assert_int_equal(take.records[1].trace_id, 99);
	assert_int_equal(take.records[1].link_id, 3);
	assert_int_equal(take.records[1].time_ns, 2 * MS);
	tape_free(t);
}

static void
labels_that_come_later_keep_their_indexes(void **state)
{
	struct tape *t = tape_new(MAPPED_PROBED);
	const struct batch_label *l;
	struct source_output take;
	uint32_t n;
	(void)state;

	t->nlabels = STEP;
	writes(t, 1, 1, BEGIN, 0, 0);
	writes(t, 2, 1, END, 0, 0);
	take = polled(t);
	uint32_t begin = take.records[0].label;
	t->nlabels = LABELS;
	writes(t, 3, 1, FOREIGN, 0, 0);
	writes(t, 4, 1, BEGIN, 0, 0);
	writes(t, 5, 1, STEP, 0, 0);
	take = polled(t);
	assert_string_equal(story(t, take), "fxB.s");
	assert_int_equal(take.records[1].label, begin);
	l = t->source.labels(t->source.state, &n);
	assert_memory_equal(l[take.records[0].label].text, "web/w:thing", 11);
	assert_memory_equal(l[take.records[3].label].text, "broker/b:inside", 15);
	tape_free(t);
}

static void
requests_that_are_not_sampled_are_dropped_and_those_not_probed_keep_what_the_mapping_names(
    void **state)
{
	struct tape *t = tape_new(MAPPED_NOT);
	(void)state;

	writes(t, 1, 1, BEGIN, 0, 0);
	writes(t, 2, 1, STEP, 0, 0);
	assert_string_equal(story(t, polled(t)), "");
	t->choice = MAPPED_PROBED; /* the open request is not affected */
	writes(t, 3, 1, STEP, 0, 0);
	writes(t, 4, 1, END, 0, 0);
	assert_string_equal(story(t, polled(t)), "");
	t->choice = MAPPED_SAMPLED;
	writes(t, 5, 1, BEGIN, 0, 0);
	writes(t, 6, 1, STEP, 0, 0);
	assert_string_equal(story(t, polled(t)), "b.");
	t->choice = MAPPED_PROBED; /* and it applies to requests that begin later */
	writes(t, 7, 2, BEGIN, 0, 0);
	writes(t, 8, 1, STEP, 0, 0);
	writes(t, 9, 2, STEP, 0, 0);
	writes(t, 10, 1, END, 0, 0);
	writes(t, 11, 2, END, 0, 0);
	assert_string_equal(story(t, polled(t)), "B.s.E.E");
	assert_int_equal(stats_of(t).mapped, 11);
	assert_int_equal(stats_of(t).dropped, 6);
	tape_free(t);
}

static void
a_loss_gives_up_open_requests_and_none_that_begins_later(void **state)
{
	struct tape *t = tape_new(MAPPED_PROBED);
	struct source_output take;
	(void)state;

	writes(t, 1, 1, BEGIN, 0, 0);
	writes(t, 2, 2, BEGIN, 0, 0);
	writes(t, 3, 2, END, 0, 0);
	t->losses[t->take.nlosses++] = (struct loss){ LOSS_RING, 4, 4 * MS, 6 * MS };
	writes(t, 7, 3, BEGIN, 0, 0);
	writes(t, 8, 1, STEP, 0, 0); /* its request is unknown */
	writes(t, 9, 1, END, 0, 0);
	writes(t, 10, 3, END, 0, 0);
	take = polled(t);
	assert_string_equal(story(t, take), "B.B..EB..E");
	assert_int_equal(take.nlosses, 1);
	assert_int_equal(take.losses[0].count, 4);
	assert_int_equal(stats_of(t).given_up, 1);
	/* a loss takes effect when records have reached its end */
	writes(t, 11, 1, BEGIN, 0, 0);
	t->losses[t->take.nlosses++] = (struct loss){ LOSS_RING, 1, 12 * MS, 14 * MS };
	assert_string_equal(story(t, polled(t)), "B.");
	writes(t, 13, 1, STEP, 0, 0);
	writes(t, 15, 1, END, 0, 0);
	assert_string_equal(story(t, polled(t)), "s");
	assert_int_equal(stats_of(t).given_up, 2);
	tape_free(t);
}

/* The last records of a process may come after its death was noticed. */
static void
the_death_of_a_process_gives_up_its_open_requests(void **state)
{
	struct tape *t = tape_new(MAPPED_PROBED);
	struct source_output take;
	(void)state;

	writes(t, 1, 1, BEGIN, 0, 0);
	polled(t);
	t->nprocesses = 0;
	t->changes++;
	t->take.watermark_ns = 1 * MS;
	polled(t); /* its death is noticed, at 2 ms */
	writes(t, 2, 1, STEP, 0, 0);
	t->take.watermark_ns = 1 * MS + MS / 2;
	take = polled(t);
	assert_string_equal(story(t, take), "s");
	assert_int_equal(stats_of(t).given_up, 0);
	t->take.watermark_ns = 3 * MS;
	polled(t);
	assert_int_equal(stats_of(t).given_up, 1);
	t->processes[0] = (struct source_process){ "broker", PID, true };
	t->nprocesses = 1;
	t->changes++;
	writes(t, 4, 1, END, 0, 0); /* another process with the same pid */
	writes(t, 5, 1, BEGIN, 0, 0);
	writes(t, 6, 1, END, 0, 0);
	assert_string_equal(story(t, polled(t)), "B..E");
	tape_free(t);
}

static void
a_gap_in_the_mapped_tracepoints_gives_up_open_requests(void **state)
{
	struct tape *t = tape_new(MAPPED_PROBED);
	struct source other = { .poll = tape_poll };
	(void)state;

	writes(t, 1, 1, BEGIN, 0, 0);
	polled(t);
	source_mapped_gap(&t->source, 2 * MS);
	source_mapped_gap(&other, 2 * MS);
	writes(t, 3, 1, END, 0, 0);
	writes(t, 4, 1, BEGIN, 0, 0);
	writes(t, 5, 1, END, 0, 0);
	assert_string_equal(story(t, polled(t)), "B..E");
	tape_free(t);
}

static void
a_late_record_counts_as_lost(void **state)
{
	struct tape *t = tape_new(MAPPED_PROBED);
	struct source_output take;
	(void)state;

	writes(t, 10, 1, BEGIN, 0, 0);
	polled(t);
	writes(t, 5, 9, FOREIGN, 0, 0);
	writes(t, 6, 1, STEP, 0, 0);
	t->take.nlate = 2;
	writes(t, 11, 1, STEP, 0, 0);
	writes(t, 12, 1, END, 0, 0);
	take = polled(t);
	assert_string_equal(story(t, take), "fx");
	assert_int_equal(take.nlate, 1);
	assert_int_equal(take.nlosses, 1);
	assert_int_equal(take.losses[0].reason, LOSS_QUEUE);
	assert_int_equal(take.losses[0].from_ns, 6 * MS);
	assert_int_equal(stats_of(t).lost[LOSS_QUEUE], 1);
	tape_free(t);
}

/* Many threads at once: every request is delivered whole and in order, and memory does not grow. */
static void
memory_does_not_grow(void **state)
{
	struct tape *t = tape_new(MAPPED_PROBED);
	bool in[50] = { false };
	uint64_t begun = 0, ended = 0;
	size_t before = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 3);
	for (int64_t turn = 0; turn < 300; turn++) {
		for (int64_t i = 0; i < 200; i++) {
			uint32_t tid = (uint32_t)rng_below(&r, 50);
			uint32_t what = rng_below(&r, 3) == 0 ? STEP : in[tid] ? END : BEGIN;

			if (what != STEP)
				in[tid] = !in[tid];
			writes(t, turn * 200 + i + 1, tid + 1, what, 0, 0);
		}
		for (const char *c = story(t, polled(t)); *c != '\0'; c++) {
			begun += *c == 'B';
			ended += *c == 'E';
		}
		if (turn == 200)
			before = mallinfo2().uordblks;
	}
	assert_int_equal(mallinfo2().uordblks, before);
	for (int i = 0; i < 50; i++)
		ended += in[i];
	assert_int_equal(begun, ended);
	assert_true(begun > 10000);
	tape_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_gets_its_begin_and_its_end),
		cmocka_unit_test(
		    what_a_thread_did_is_of_the_request_that_it_has_begun_and_not_of_one_that_it_may_carry),
		cmocka_unit_test(a_request_is_followed_from_thread_to_thread),
		cmocka_unit_test(all_other_records_pass_unchanged),
		cmocka_unit_test(labels_that_come_later_keep_their_indexes),
		cmocka_unit_test(
		    requests_that_are_not_sampled_are_dropped_and_those_not_probed_keep_what_the_mapping_names),
		cmocka_unit_test(a_loss_gives_up_open_requests_and_none_that_begins_later),
		cmocka_unit_test(the_death_of_a_process_gives_up_its_open_requests),
		cmocka_unit_test(a_gap_in_the_mapped_tracepoints_gives_up_open_requests),
		cmocka_unit_test(a_late_record_counts_as_lost),
		cmocka_unit_test(memory_does_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
