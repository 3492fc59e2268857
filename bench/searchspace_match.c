/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of a match as the application grows: a row of n points in spans, with every tenth on the
 * path (gap: about ten points) or none (gap: all), and n points in diamonds, which have 2^(n / 3)
 * paths. Ratio: time a label for the widest gap, compared with 1,000 labels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "searchspace/match.h"

enum { ROUNDS = 5 };

static uint32_t
label(struct labels *labels, enum record_kind kind, const char *what, uint32_t i, const char *end)
{
	char text[64];
	int len = snprintf(text, sizeof text, "shop/%s%u%s", what, i, end);
	uint32_t id = labels_intern(labels, kind, text, (size_t)len, NULL, 0);

	if (id == LABEL_NONE)
		abort();
	return id;
}

/* Spans with three points inside; with diamonds, every third place is one of two alternatives. */
static void
teach(struct space *s, struct labels *labels, uint32_t n, bool diamonds, uint32_t which,
    uint32_t *row)
{
	struct event *events = calloc(n + 2, sizeof *events);
	struct unit unit = { .count = n + 2 };
	struct trace t = { .nunits = 1, .nevents = n + 2, .events = events, .units = &unit };

	if (events == NULL)
		abort();
	t.type = events[0].label = label(labels, RECORD_REQUEST_BEGIN, "hone:request_begin", 0, "");
	for (uint32_t i = 0; i < n; i++)
		events[i + 1].label = diamonds
		                          ? label(labels, RECORD_POINT,
						i % 3 == 1 && which ? "app:other" : "app:p", i, "")
		                          : label(labels, RECORD_POINT,
						i % 5 == 0 || i % 5 == 4 ? "app:span" : "app:p",
						i % 5 == 4 ? i - 4 : i,
						i % 5 == 0   ? "_begin"
						: i % 5 == 4 ? "_end"
							     : "");
	events[n + 1].label = label(labels, RECORD_REQUEST_END, "hone:request_end", 0, "");
	for (uint32_t i = 0; i < n + 2; i++) {
		events[i].time_ns = i * 100;
		row[i] = events[i].label;
	}
	if (space_learn(s, &t, NULL) != 0)
		abort();
	free(events);
}

/* Processor time of this thread, so that other load on the machine is not measured. */
static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* every: one in this number of points is on the path, evenly spread; the gap is in the middle of
 * the path. */
static double
ask_ms(const struct space *s, const uint32_t *row, uint32_t n, uint32_t every, int *found)
{
	uint32_t *tokens = calloc(n + 2, sizeof *tokens), *units = calloc(n + 2, sizeof *units);
	struct match_path p = { 0, tokens, units };
	double best_ms = 1e9;

	if (tokens == NULL || units == NULL)
		abort();
	for (uint32_t i = 0; i < n + 2; i++)
		if (i == 0 || i == n + 1 || (every > 0 && i % every == 0)) {
			units[p.ntokens] = row[0];
			tokens[p.ntokens++] = row[i];
		}
	p.edge = (p.ntokens - 1) / 2;
	p.edge_to = p.edge + 1;
	for (int i = 0; i < ROUNDS; i++) {
		double begin_ms = cpu_ms();
		struct candidate *c;
		struct arena a = { 0 };
		struct gap_time gap;
		struct rng rng;
		double ms;

		rng_seed(&rng, (uint64_t)i);
		if ((*found = match_between(&c, &gap, s, row[0], &p, NULL, NULL, &rng, &a, NULL)) <
		    0)
			abort();
		ms = cpu_ms() - begin_ms;
		best_ms = ms < best_ms ? ms : best_ms;
		arena_release(&a);
	}
	free(tokens);
	free(units);
	return best_ms;
}

static double
run(uint32_t n, bool diamonds, double per_label_ns)
{
	struct labels *labels = labels_new();
	struct space *s = space_new(labels);
	uint32_t *row = calloc(n + 2, sizeof *row);
	double all_ms, part_ms;
	int all, part;

	if (diamonds)
		teach(s, labels, n, true, 1, row);
	teach(s, labels, n, diamonds, 0, row);
	all_ms = ask_ms(s, row, n, 0, &all);
	part_ms = ask_ms(s, row, n, 10, &part);
	printf("%-8s %8u %8d %8.3f %8d %8.3f %8.2f\n", diamonds ? "diamonds" : "spans", n, all,
	    all_ms, part, part_ms, per_label_ns > 0 ? all_ms * 1e6 / n / per_label_ns : 1.0);
	space_free(s);
	labels_free(labels);
	free(row);
	return all_ms * 1e6 / n;
}

int
main(void)
{
	for (int diamonds = 0; diamonds < 2; diamonds++) {
		double per_label_ns;

		if (diamonds == 0)
			printf("%-8s %8s %8s %8s %8s %8s %8s\n", "graph", "labels", "inside",
			    "all_ms", "inside", "part_ms", "ratio");
		per_label_ns = run(1000, diamonds, 0);
		run(10000, diamonds, per_label_ns);
		run(100000, diamonds, per_label_ns);
	}
	return 0;
}
