/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a space costs as the application grows: a trace that passes n labels is
 * learned, learned again in part, asked about and saved. Ratio: time a label, for
 * learning and asking, against 1,000 labels; linear means that it stays near 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "base/clock.h"
#include "searchspace/space.h"

static uint32_t
label(struct labels *labels, enum record_kind kind, const char *what, uint32_t i)
{
	char text[64];
	int len = snprintf(text, sizeof text, "shop/%s%u", what, i);
	uint32_t id = labels_intern(labels, kind, text, (size_t)len, NULL, 0);

	if (id == LABEL_NONE)
		abort();
	return id;
}

/* Spans with three points inside; which > 0 leaves every third one out. */
static struct trace
trace_of(struct labels *labels, uint32_t n, uint32_t which)
{
	struct trace t = { .nunits = 1, .events = calloc(n + 2, sizeof *t.events), .units = calloc(1, sizeof *t.units) };
	char name[32];

	if (t.events == NULL || t.units == NULL)
		abort();
	t.events[t.nevents++].label = t.type = label(labels, RECORD_REQUEST_BEGIN, "hone:request_begin", 0);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t in = i % 5;

		if (which != 0 && i / 5 % 3 == which % 3)
			continue;
		snprintf(name, sizeof name, in == 0 ? "app:s%u_begin" : in == 4 ? "app:s%u_end" : "app:p%u_", i / 5);
		t.events[t.nevents++].label = label(labels, RECORD_POINT, name, in == 0 || in == 4 ? 0 : in);
	}
	t.events[t.nevents++].label = label(labels, RECORD_REQUEST_END, "hone:request_end", 0);
	for (uint32_t i = 0; i < t.nevents; i++)
		t.events[i].time_ns = i * 100;
	t.units[0].count = t.nevents;
	return t;
}

static double
ms_since(struct mono begin)
{
	return (double)mono_since_ns(clock_mono(), begin) / 1e6;
}

static void
must(int rc, const struct err *e)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s\n", e->text);
	exit(1);
}

static double
run(uint32_t n, double per_label_ns)
{
	struct labels *labels = labels_new();
	struct space *s = space_new(labels), *loaded = space_new(labels);
	struct between *found = calloc(n, sizeof *found);
	struct trace first = trace_of(labels, n, 0), again = trace_of(labels, n, 1);
	struct gap g = { first.type, first.events[first.nevents - 1].label, first.type, first.type };
	char path[] = "/tmp/hone-bench-XXXXXX";
	double first_ms, again_ms, ask_ms, save_ms, load_ms;
	struct mono begin;
	struct err e;
	int fd, got;

	begin = clock_mono();
	must(space_learn(s, &first, &e), &e);
	first_ms = ms_since(begin);
	begin = clock_mono();
	must(space_learn(s, &again, &e), &e);
	again_ms = ms_since(begin);
	begin = clock_mono();
	must(got = space_between(s, first.type, &g, NULL, found, n, &e), &e);
	ask_ms = ms_since(begin);
	if ((fd = mkstemp(path)) < 0)
		exit(1);
	close(fd);
	begin = clock_mono();
	must(space_save(s, path, &e), &e);
	save_ms = ms_since(begin);
	begin = clock_mono();
	must(space_load(loaded, labels, path, &e), NULL, &e);
	load_ms = ms_since(begin);
	unlink(path);
	printf("%8u %9d %9.2f %9.2f %9.2f %9.1f %9.1f %9.2f\n", n, got, first_ms, again_ms, ask_ms, save_ms, load_ms,
	    per_label_ns > 0 ? (first_ms + ask_ms) * 1e6 / n / per_label_ns : 1.0);
	free(first.events);
	free(first.units);
	free(again.events);
	free(again.units);
	free(found);
	space_free(s);
	space_free(loaded);
	labels_free(labels);
	return (first_ms + ask_ms) * 1e6 / n;
}

int
main(void)
{
	double per_label_ns;

	printf("%8s %9s %9s %9s %9s %9s %9s %9s\n", "labels", "between", "learn_ms", "again_ms", "ask_ms", "save_ms", "load_ms",
	    "ratio");
	run(1000, 0);		/* warms up */
	per_label_ns = run(1000, 0);
	run(10000, per_label_ns);
	run(100000, per_label_ns);
	return 0;
}
