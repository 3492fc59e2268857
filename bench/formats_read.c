/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speed of converting trace files to traces: FILE..., each read in its detected format. For
 * comparison the same bytes are only read and inflated: the ratio is the cost of finding spans and
 * building traces. Measures only: no time makes it fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "formats/reading.h"

enum { ROUNDS = 3 };

static double
now_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
die(const struct err *e)
{
	fprintf(stderr, "formats_read: %s\n", e->text);
	exit(1);
}

static double
plain_s(char **files, int n, uint64_t *bytes)
{
	double begin = now_s(CLOCK_MONOTONIC);
	struct input in;
	struct err e;

	*bytes = 0;
	for (int i = 0; i < n; i++) {
		if (input_open(&in, files[i], &e) != 0)
			die(&e);
		while (input_more(&in, &e) == 0)
			in.at = in.end;
		*bytes += input_offset(&in);
		input_close(&in);
	}
	return now_s(CLOCK_MONOTONIC) - begin;
}

static double
read_s(char **files, int n, struct reading_counts *counts, double *cpu_s)
{
	struct reading_options o = { 0 };
	struct labels *labels = labels_new();
	double begin = now_s(CLOCK_MONOTONIC), cpu = now_s(CLOCK_THREAD_CPUTIME_ID), took;
	struct reading *r;
	struct err e;

	if (labels == NULL || reading_new(&r, &o, labels, &e) != 0)
		die(&e);
	for (int i = 0; i < n; i++)
		if (reading_file(r, files[i], &e) != 0)
			die(&e);
	if (reading_end(r, &e) != 0)
		die(&e);
	reading_counts(r, counts);
	took = now_s(CLOCK_MONOTONIC) - begin;
	*cpu_s = now_s(CLOCK_THREAD_CPUTIME_ID) - cpu;
	reading_free(r);
	labels_free(labels);
	return took;
}

int
main(int argc, char **argv)
{
	struct reading_counts counts = { 0 };
	double plain = 1e9, all = 1e9, cpu = 1e9;
	uint64_t bytes = 0;
	struct rusage used;

	if (argc < 2) {
		fprintf(stderr, "usage: formats_read FILE...\n");
		return 2;
	}
	for (int i = 0; i < ROUNDS; i++) {
		double p = plain_s(argv + 1, argc - 1, &bytes), c,
		       a = read_s(argv + 1, argc - 1, &counts, &c);

		plain = p < plain ? p : plain;
		all = a < all ? a : all;
		cpu = c < cpu ? c : cpu;
	}
	getrusage(RUSAGE_SELF, &used);
	printf(
	    "formats_read: %llu traces, %llu spans, %.1f MB: %.2f s, %.0f traces/s, %.2f M spans/s, %.0f MB/s; "
	    "%.0f ns of the reading thread a span; %.1f times as long as reading the same bytes; %.0f MiB at most\n",
	    (unsigned long long)counts.traces, (unsigned long long)counts.spans,
	    (double)bytes / 1e6, all, (double)counts.traces / all, (double)counts.spans / all / 1e6,
	    (double)bytes / all / 1e6, cpu / (double)(counts.spans > 0 ? counts.spans : 1) * 1e9,
	    all / plain, (double)used.ru_maxrss / 1024);
	for (int i = 0; i < SKIPS; i++)
		if (counts.skipped[i].count > 0)
			printf("formats_read: skipped %llu, the first: %s\n",
			    (unsigned long long)counts.skipped[i].count, counts.skipped[i].why);
	return 0;
}
