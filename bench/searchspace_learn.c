/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of a space as the application grows: one trace of n different tracepoints is learned,
 * learned again in part, saved and loaded. Ratio: time an event, while learning it first, compared
 * with 1,000 events; if the cost is linear, it stays near 1 except for the effect of the
 * processor's caches. Then real X-Trace reports of HDFS, if HONE_DATA has them: one has 10^175
 * paths, and is one graph.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "base/clock.h"
#include "formats/reading.h"
#include "searchspace/space.h"

enum { ROUNDS = 5 };

static double
us_since(struct mono begin)
{
	return (double)mono_since_ns(clock_mono(), begin) / 1e3;
}

static double
heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return (double)(m.uordblks + m.hblkhd);
}

static void
must(int rc, const struct err *e)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "searchspace_learn: %s\n", e->text);
	exit(1);
}

static void
out_of_memory(void)
{
	fprintf(stderr, "searchspace_learn: out of memory\n");
	exit(1);
}

/* ---- generated traces ---- */

static uint32_t
label(struct labels *labels, enum record_kind kind, const char *text)
{
	uint32_t id = labels_intern(labels, kind, text, strlen(text), NULL, 0);

	if (id == LABEL_NONE)
		out_of_memory();
	return id;
}

/* Spans with three points inside; which > 0 leaves every third one out. */
static struct trace
trace_of(struct labels *labels, uint32_t n, uint32_t which)
{
	struct trace t = { .nunits = 1,
		.events = calloc(n + 2, sizeof *t.events),
		.units = calloc(1, sizeof *t.units) };
	char name[32];

	if (t.events == NULL || t.units == NULL)
		out_of_memory();
	t.events[t.nevents++].label = t.type = label(
	    labels, RECORD_REQUEST_BEGIN, "shop/hone:request_begin(R)");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t in = i % 5;

		if (which != 0 && i / 5 % 3 == which % 3)
			continue;
		snprintf(name, sizeof name,
		    in == 0   ? "shop/app:s%u_begin"
		    : in == 4 ? "shop/app:s%u_end"
			      : "shop/app:p%u_%u",
		    i / 5, in);
		t.events[t.nevents++].label = label(labels, RECORD_POINT, name);
	}
	t.events[t.nevents++].label = label(labels, RECORD_REQUEST_END, "shop/hone:request_end(R)");
	for (uint32_t i = 0; i < t.nevents; i++)
		t.events[i].time_ns = i * 100;
	t.units[0].count = t.nevents;
	t.units[0].fork = TRACE_NONE;
	return t;
}

static void
trace_done(struct trace *t)
{
	free(t->events);
	free(t->units);
}

static void
file_of(struct space *s, struct labels *labels, double *save_us, double *load_us, double *bytes)
{
	struct space *loaded = space_new(labels);
	char folder[] = "/tmp/hone-bench-XXXXXX", path[64];
	struct mono begin;
	struct stat st;
	struct err e;

	if (loaded == NULL)
		out_of_memory();
	if (mkdtemp(folder) == NULL)
		exit(1);
	snprintf(path, sizeof path, "%s/space.db", folder);
	begin = clock_mono();
	must(space_save(s, path, &e), &e);
	*save_us = us_since(begin);
	*bytes = stat(path, &st) == 0 ? (double)st.st_size : 0;
	begin = clock_mono();
	must(space_load(loaded, labels, path, NULL, &e), &e);
	*load_us = us_since(begin);
	unlink(path);
	rmdir(folder);
	space_free(loaded);
}

static double
run(uint32_t n, double per_event_ns, bool quiet)
{
	struct labels *labels = labels_new();
	struct trace first, again;
	struct space *s;
	double first_us, again_us, save_us, load_us, file_bytes, memory;
	struct space_stats st;
	struct mono begin;
	struct err e;

	if (labels == NULL)
		out_of_memory();
	first = trace_of(labels, n, 0);
	again = trace_of(labels, n, 1);
	memory = heap_bytes();
	if ((s = space_new(labels)) == NULL)
		out_of_memory();
	begin = clock_mono();
	must(space_learn(s, &first, &e), &e);
	first_us = us_since(begin);
	begin = clock_mono();
	must(space_learn(s, &again, &e), &e);
	again_us = us_since(begin);
	memory = heap_bytes() - memory;
	space_stats(s, LABEL_NONE, &st);
	file_of(s, labels, &save_us, &load_us, &file_bytes);
	if (!quiet)
		printf("%8u %8.0f %8.0f %7.2f %9.1f %8.0f %8.3f %8.3f %8.1f\n", first.nevents,
		    first_us * 1e3 / first.nevents, again_us * 1e3 / again.nevents,
		    per_event_ns > 0 ? first_us * 1e3 / first.nevents / per_event_ns : 1.0,
		    memory / 1048576, memory / st.places, save_us / 1e6, load_us / 1e6,
		    file_bytes / 1048576);
	trace_done(&first);
	trace_done(&again);
	space_free(s);
	labels_free(labels);
	return first_us * 1e3 / (n + 2);
}

/* ---- real traces ---- */

struct real {
	struct space *s;
	uint64_t events;
	double us; /* the fastest of some rounds, each into an empty space */
	struct labels *labels;
};

static int
take(void *ctx, struct trace *t, struct err *e)
{
	struct real *r = ctx;
	double best = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct space *s = space_new(r->labels);
		struct mono begin = clock_mono();
		double us;
		int rc;

		if (s == NULL)
			out_of_memory();
		if ((rc = space_learn(s, t, e)) < 0)
			return rc;
		us = us_since(begin);
		best = i == 0 || us < best ? us : best;
		space_free(s);
	}
	r->us += best;
	for (uint32_t i = 0; i < t->nevents; i++)
		r->events += !labels_get(r->labels, t->events[i].label)->silent;
	must(space_learn(r->s, t, e), e);
	trace_free(t);
	return 0;
}

static void
real(const char *folder, const char *name)
{
	struct labels *labels = labels_new();
	struct real r = { .s = space_new(labels), .labels = labels };
	struct reading_options o = { .take = take, .ctx = &r };
	struct reading *reading;
	struct space_stats st;
	char path[4096];
	struct err e;

	snprintf(path, sizeof path, "%s/xtrace/%s", folder, name);
	if (access(path, R_OK) < 0) {
		printf("%s: not there, skipped (HONE_DATA names the folder of data)\n", path);
		space_free(r.s);
		labels_free(labels);
		return;
	}
	must(reading_new(&reading, &o, labels, &e), &e);
	must(reading_file(reading, path, &e), &e);
	must(reading_end(reading, &e), &e);
	if (!space_stats(r.s, LABEL_NONE, &st))
		must(ERR_INPUT, &(struct err){ .text = "no trace in it" });
	printf("%s: %llu events: %u places, %u steps, %.3f ms, %.0f ns an event\n", name,
	    (unsigned long long)r.events, st.places, st.steps, r.us / 1e3,
	    r.us * 1e3 / (double)r.events);
	reading_free(reading);
	space_free(r.s);
	labels_free(labels);
}

int
main(void)
{
	const char *folder = getenv("HONE_DATA");
	double per_event_ns;

	printf("%8s %8s %8s %7s %9s %8s %8s %8s %8s\n", "events", "first_ns", "again_ns", "ratio",
	    "MiB", "B/place", "save_s", "load_s", "file_MiB");
	run(1000, 0, true); /* warms up */
	per_event_ns = run(1000, 0, false);
	for (uint32_t n = 10000; n <= 1000000; n *= 10)
		run(n, per_event_ns, false);
	folder = folder != NULL ? folder : "../shared/data";
	real(folder, "small.json");
	real(folder, "medium.json");
	real(folder, "upload.json");
	return 0;
}
