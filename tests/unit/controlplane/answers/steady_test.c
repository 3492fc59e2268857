/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Under steady load with repeated diagnoses, the memory in use no longer grows after three hours.
 * Engine, forest and answers are those of honed; writing and pruning of the database are simulated.
 *
 * Buffers grow by doubling and keep their capacity, so rare maxima still raise the total, less each hour:
 * in 14 hours 4.780, 4.799, 4.807, 4.814, 4.818, 4.824, 4.831, 4.833, ... and 4.840 MB at the end. A leak
 * grows by the same each hour. The third hour adds 8 to 17 kB (it differs from run to run, as malloc rounds
 * blocks up by what lies beside them), the fourth 6 to 11 kB as a rule, and now and then over 24 when two large
 * buffers grow in it. So an hour after the third one has to add at most MORE_MAX, of up to HOURS_MAX: with a leak none does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/answers/answer.h"
#include "tests/sim/stage.h"
#include "tests/unit/sanitized.h"

enum { NODES = 2, POINTS = 8, SLOW = 4, RATE = 40, RUNS_KEPT = 20, MORE_MAX = 16 << 10 };
enum {
	HOURS = 4,
	HOURS_MAX = 7,
	MINUTES = SANITIZED ? 3 : 60
};                                                    /* short "hours" where an hour is slow */
size_t __sanitizer_get_current_allocated_bytes(void); /* sanitizer/allocator_interface.h */

#define STOP "{\"ask\":\"stop\"}"

struct world {
	struct stage stage;
	uint32_t begin, end, point[POINTS]; /* labels */
	bool on[NODES][POINTS], all[NODES];
	double probed[NODES];
	struct audit_book book;
	size_t most; /* bytes in use, in this hour */
	uint64_t runs;
};

static size_t
in_use(void)
{
#if SANITIZED
	return __sanitizer_get_current_allocated_bytes(); /* mallinfo2() knows glibc's allocator only */
#else
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
#endif
}

/* ---- the application: one of eight requests is slow ---- */

static void
request(void *app, int64_t at_ns)
{
	struct world *w = app;
	struct rng *r = &w->stage.rng;
	int k = (int)rng_below(r, NODES);
	uint64_t id = rng_next(r) | 1;
	bool probed = rng_unit(r) < w->probed[k];
	struct stage_record say = {
		.time_ns = at_ns, .trace = id, .unit = id, .label = w->begin, .value = probed
	};

	if (!probed && rng_unit(r) >= w->stage.nodes[k]->sampled)
		return;
	stage_emit(&w->stage, w->stage.nodes[k], &say);
	for (int i = 0; i < POINTS; i++) {
		say.time_ns += 50000 + (int64_t)rng_below(r, 5000) +
		               (i == SLOW && rng_below(r, 8) == 0 ? 3 * MS : 0);
		say.label = w->point[i];
		say.value = (int64_t)rng_below(r, 1000);
		if (probed && (w->all[k] || w->on[k][i]))
			stage_emit(&w->stage, w->stage.nodes[k], &say);
	}
	say.time_ns += 50000;
	say.label = w->end;
	stage_emit(&w->stage, w->stage.nodes[k], &say);
}

static void
obeyed(void *app, struct stage_node *n, const struct want *want)
{
	struct world *w = app;
	int k = n == w->stage.nodes[1];

	memset(w->on[k], 0, sizeof w->on[k]);
	w->all[k] = false;
	w->probed[k] = want->nrates > 0 ? want->rates[0].probed : 0;
	for (uint32_t i = 0; i < want->ntoggles; i++)
		if (strcmp(want->toggles[i].name, "s:*") == 0)
			w->all[k] = true;
		else
			w->on[k][atoi(want->toggles[i].name + 3)] = true;
}

static void
open_world(struct world *w)
{
	struct engine_options o = stage_options(1);
	char text[40];

	o.memory_max_bytes = 16 << 20;
	o.report_max_bytes = 1 << 20;
	o.samples_max = 128;
	o.patience_ns = 3000 * (int64_t)MS;
	w->stage.rate = RATE;
	w->stage.app = w;
	w->stage.request = request;
	w->stage.obeyed = obeyed;
	w->stage.has_clocks = true;
	w->begin = stage_label(
	    &w->stage, RECORD_REQUEST_BEGIN, "s/hone:request_begin(WORK)", "probed");
	w->end = stage_label(&w->stage, RECORD_REQUEST_END, "s/hone:request_end(WORK)", "status");
	for (int k = 0; k < NODES; k++) {
		struct stage_node *n;

		snprintf(text, sizeof text, "n%d", k + 1);
		n = stage_node(&w->stage, "s", text);
		n->record_ns = 500;
		n->rejected_ns = 35;
		n->lose_every_s = 20;
		n->lose_count = 3;
	}
	for (int i = 0; i < POINTS; i++) {
		snprintf(text, sizeof text, "s/s:p%d", i);
		w->point[i] = stage_label(&w->stage, RECORD_POINT, text, "n");
		for (int k = 0; k < NODES; k++)
			stage_has(w->stage.nodes[k], text + 2);
	}
	stage_open(&w->stage, &o, 1);
}

/* ---- the periodic work of honed ---- */

static void __attribute__((format(printf, 2, 3))) ask(struct world *w, const char *fmt, ...)
{
	struct answer_context c = { .now = { w->stage.now_ns },
		.started = { START_NS },
		.when = { w->stage.now_ns },
		.database = "",
		.space_path = "",
		.book = &w->book,
		.who = { .pid = 1, .own = true, .role = ROLE_DIAGNOSE, .user = "root" } };
	char question[128], *answer;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(question, sizeof question, fmt, ap);
	va_end(ap);
	answer = answer_ask(w->stage.g, w->stage.forest, &c, question, strlen(question));
	assert_non_null(answer);
	assert_true(strstr(answer, "\"error\"") == NULL ||
		    strcmp(question, STOP) == 0); /* it may have ended by itself */
	free(answer);
}

/* Like the store: takes the changes and removes the oldest runs. */
static void
write_and_prune(struct world *w)
{
	struct forest *f = w->stage.forest;
	struct run *r;
	uint64_t at = 0, runs[2 * RUNS_KEPT], n = 0;
	struct wall before = { 0 };

	forest_written(f);
	while ((r = forest_run_next(f, &at)) != NULL && n < 2 * RUNS_KEPT)
		runs[n++] = r->id;
	if (n <= RUNS_KEPT)
		return;
	before = forest_run(f, runs[n - RUNS_KEPT])->begun;
	forest_forget(f, runs, (uint32_t)(n - RUNS_KEPT), before);
	w->runs += n - RUNS_KEPT;
}

static void
play(struct world *w, int64_t for_ms)
{
	for (int64_t until_ns = w->stage.now_ns + for_ms * MS; w->stage.now_ns < until_ns;) {
		stage_tick(&w->stage);
		audit_flush(&w->book, w->stage.forest, (struct mono){ w->stage.now_ns },
		    (struct wall){ w->stage.now_ns });
		forest_written(w->stage.forest);
		w->most = in_use() > w->most ? in_use() : w->most;
	}
}

/* A diagnosis, or sometimes learning, and every question; programs start and end all the time. */
static void
round_of_work(struct world *w, int i)
{
	static const char *const questions[] = { "status", "agents", "tracepoints", "report",
		"history", "forest" };

	if (i % 7 == 0)
		ask(w, "{\"ask\":\"learn\",\"seconds\":2}");
	else
		ask(w, "{\"ask\":\"start\",\"type\":\"WORK\",\"seed\":%d}", i);
	for (size_t k = 0; k < sizeof questions / sizeof *questions; k++) {
		ask(w, "{\"ask\":\"%s\"}", questions[k]);
		stage_programs(&w->stage, w->stage.nodes[k % NODES]);
		play(w, 700);
	}
	ask(w, STOP);
	play(w, 800);
	engine_learned(w->stage.g);
	write_and_prune(w);
}

static void
an_hour_comes_that_takes_no_more_memory_than_the_one_before(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	bool steady = false;
	size_t before = 0;
	int i = 0;
	(void)state;

	assert_non_null(w);
	open_world(w);
	play(w, 5000); /* the type is known */
	for (int hour = 1; hour <= HOURS_MAX && !steady; hour++) {
		for (w->most = 0;
		     w->stage.now_ns < START_NS + hour * MINUTES * INT64_C(60000000000);)
			round_of_work(w, ++i);
		print_message("# hour %d: %zu bytes at most\n", hour, w->most);
		steady = hour >= HOURS && w->most <= before + MORE_MAX;
		before = w->most;
	}
	assert_true(w->runs > 5 * MINUTES * HOURS);
	assert_true(steady);
	stage_close(&w->stage);
	stage_release(&w->stage);
	free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_hour_comes_that_takes_no_more_memory_than_the_one_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
