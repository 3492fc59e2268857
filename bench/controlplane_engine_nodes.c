/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What one message of an agent costs the engine alone, with few and with many nodes: a status, an empty batch, a desired state that is
 * unchanged, one that has changed, a list of programs; and a step. No clock of the machine but the processor time of this thread; no sockets. What does not
 * depend on the number of nodes has the same time in each line.
 *
 *	controlplane_engine_nodes [NODES]...	1000 4000 16000 unless told otherwise
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "controlplane/engine/engine.h"
#include "controlplane/engine/engine_options.h"
#include "wire/record.h"

enum { TRACEPOINTS = 2000, ROUNDS = 5, TYPES = 20, STEPS = 20 };

#define SECOND INT64_C(1000000000)

struct fixture {
	struct engine *engine;
	struct forest *forest;
	uint32_t *nodes, n;
	int64_t now;
	struct batch_writer writer;
};

static void
check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "controlplane_engine_nodes: %s\n", what);
	exit(1);
}

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
programs(struct fixture *f, uint32_t node)
{
	static char text[TRACEPOINTS][40];
	static const char *names[TRACEPOINTS];
	struct program p = { "service", 100 + node, 0, TRACEPOINTS };
	struct programs all = { 1, TRACEPOINTS, &p, names };

	for (int i = 0; i < TRACEPOINTS && names[i] == NULL; i++) {
		snprintf(text[i], sizeof text[i], "service:a_tracepoint_number_%d", i);
		names[i] = text[i];
	}
	check(engine_programs(f->engine, f->nodes[node], &all, NULL) == 0, "programs");
}

static void
status(struct fixture *f, uint32_t node)
{
	struct status s = {
		.tracer_ok = true, .guard_ok = true, .record_ns = 170, .rejected_ns = 27
	};

	engine_status(f->engine, f->nodes[node], &s, (struct mono){ f->now });
}

/* With one request of one of TYPES types in each 20th batch. */
static void
batch(struct fixture *f, uint32_t node, bool request)
{
	struct buf b = { 0 };
	char text[40];

	batch_begin(&f->writer);
	if (request) {
		struct record r = { .trace_id = (uint64_t)f->now + node + 1,
			.unit_id = 1,
			.time_ns = f->now - 2000000,
			.pid = 1,
			.tid = 1 };

		for (int i = 0; i < 2; i++) {
			int len = snprintf(text, sizeof text, "service/hone:%s(T%u)",
			    i == 0 ? "request_begin" : "request_end", node / 20 % TYPES);

			r.label = batch_label(&f->writer,
			    i == 0 ? RECORD_REQUEST_BEGIN : RECORD_REQUEST_END, text, (size_t)len,
			    NULL, 0);
			batch_record(&f->writer, &r);
			r.time_ns += 1000000;
		}
	}
	check(batch_end(&f->writer, f->now, &b, NULL) == 0, "batch");
	check(engine_batch(
		  f->engine, f->nodes[node], b.data, b.len, (struct mono){ f->now }, NULL) == 0,
	    "batch");
	buf_release(&b);
}

static void
step(struct fixture *f)
{
	check(engine_step(f->engine, (struct mono){ f->now }, (struct wall){ f->now }, NULL) == 0,
	    "step");
}

static void
wants(struct fixture *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		check(engine_want(f->engine, f->nodes[i]) != NULL, "want");
}

static void
fixture_init(struct fixture *f, uint32_t n)
{
	struct engine_options o = { .memory_max_bytes = INT64_C(1) << 30,
		.skew_ns = 5000000,
		.patience_ns = 30 * SECOND,
		.groups_max = 100,
		.samples_max = 32,
		.pause_fill = 0.6,
		.resume_fill = 0.3,
		.sampled = 1,
		.enough = 10,
		.lease_ns = 2 * SECOND };
	char name[32];

	*f = (struct fixture){
		.now = SECOND, .n = n, .forest = forest_new(), .nodes = calloc(n, sizeof *f->nodes)
	};
	check(f->forest != NULL && f->nodes != NULL, "memory");
	check(engine_new(&f->engine, &o, f->forest, NULL) == 0, "engine");
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "node-%u", i);
		check(engine_join(f->engine, name, "bench", (struct mono){ f->now }, &f->nodes[i],
			  NULL) == 0,
		    "join");
	}
}

static void
measure(uint32_t n)
{
	struct fixture f;
	double at[8], status_ns = 0, batch_ns = 0, step_ns = 0;
	struct rusage r;

	at[0] = cpu_ns();
	fixture_init(&f, n);
	at[1] = cpu_ns();
	for (uint32_t i = 0; i < n; i++)
		programs(&f, i);
	at[2] = cpu_ns();
	for (int round = 0; round < ROUNDS; round++) {
		double t[4];

		f.now += SECOND;
		t[0] = cpu_ns();
		for (uint32_t i = 0; i < n; i++)
			status(&f, i);
		t[1] = cpu_ns();
		for (uint32_t i = 0; i < n; i++)
			batch(&f, i, i % 20 == 0);
		t[2] = cpu_ns();
		for (int i = 0; i < STEPS; i++)
			step(&f);
		t[3] = cpu_ns();
		status_ns += (t[1] - t[0]) / n / ROUNDS;
		batch_ns += (t[2] - t[1]) / n / ROUNDS;
		step_ns += (t[3] - t[2]) / STEPS / ROUNDS;
	}
	wants(&f);
	at[3] = cpu_ns();
	wants(&f);
	at[4] = cpu_ns();
	programs(&f, 0); /* a change, whatever it is, may concern all */
	at[5] = cpu_ns();
	wants(&f);
	at[6] = cpu_ns();
	getrusage(RUSAGE_SELF, &r);
	printf(
	    "{\"nodes\": %u, \"join_us\": %.2f, \"programs_us\": %.1f, \"status_us\": %.3f, \"batch_us\": %.3f, \"step_us\": %.1f, "
	    "\"want_same_us\": %.3f, \"want_changed_us\": %.3f, \"memory_MiB\": %ld}\n",
	    n, (at[1] - at[0]) / n / 1e3, (at[2] - at[1]) / n / 1e3, status_ns / 1e3,
	    batch_ns / 1e3, step_ns / 1e3, (at[4] - at[3]) / n / 1e3, (at[6] - at[5]) / n / 1e3,
	    r.ru_maxrss / 1024);
	engine_free(f.engine);
	forest_free(f.forest);
	batch_release(&f.writer);
	free(f.nodes);
}

int
main(int argc, char **argv)
{
	if (argc == 1) {
		measure(1000);
		measure(4000);
		measure(16000);
	}
	for (int i = 1; i < argc; i++)
		measure((uint32_t)atoi(argv[i]));
	return 0;
}
