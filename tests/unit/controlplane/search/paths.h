/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the tests of this room: groups of requests whose paths are written as one letter for
 * each label. The first letter begins the request, the last ends it; all are of one unit. */
#ifndef TESTS_SEARCH_PATHS_H
#define TESTS_SEARCH_PATHS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/group.h"
#include "base/rng.h"
#include "searchspace/space.h"

/* cmocka compares as float, which hides small differences. */
static inline void
near_at(double a, double b, double within, const char *file, int line)
{
	if (!(fabs(a - b) <= within)) {
		print_error("%.17g is not within %g of %.17g\n", a, within, b);
		_fail(file, line);
	}
}
#define assert_near(a, b, within) near_at(a, b, within, __FILE__, __LINE__)

enum { PATH_MAX_STEPS = 64 };

struct paths {
	struct labels *labels;
	struct groups *groups;
	struct arena arena;
	uint32_t of[128]; /* label of a letter */
	uint64_t traces;
};

/* All letters are labels, interned in the order of `letters`. */
static inline void
paths_begin(struct paths *p, const char *letters)
{
	struct groups_options o = { .groups_max = 64, .samples_max = 4096, .seed = 1 };
	char text[64];

	*p = (struct paths){ .labels = labels_new() };
	p->groups = groups_new(&o, p->labels);
	for (const char *c = letters; *c != '\0'; c++) {
		enum record_kind kind = *c == '('   ? RECORD_REQUEST_BEGIN
		                        : *c == ')' ? RECORD_REQUEST_END
		                                    : RECORD_POINT;

		snprintf(text, sizeof text, kind == RECORD_POINT ? "s/app:%c" : "s/hone:%c(R)", *c);
		p->of[(int)*c] = labels_intern(p->labels, kind, text, strlen(text), NULL, 0);
	}
}

static inline void
paths_end(struct paths *p)
{
	groups_free(p->groups);
	labels_free(p->labels);
	arena_release(&p->arena);
}

/* Each letter is one step of the path; time_ns[i] is the time between letters i and i + 1. */
static inline void
paths_shape(struct paths *p, const char *letters, const int64_t *time_ns, struct shape *shape,
    struct critpath *path, struct step *steps)
{
	int64_t at = 1000;

	*path = (struct critpath){ .nsteps = (uint32_t)strlen(letters), .steps = steps };
	assert_true(path->nsteps <= PATH_MAX_STEPS);
	for (uint32_t i = 0; i < path->nsteps; i++) {
		at += i > 0 && time_ns != NULL ? time_ns[i - 1] : 0;
		steps[i] = (struct step){ at, i, p->of[(int)letters[i]], p->of['('], p->of['('],
			BIN_NONE };
	}
	assert_int_equal(shape_of(shape, path, p->labels, &p->arena, NULL), 0);
}

static inline struct group *
paths_add(struct paths *p, const char *letters, const int64_t *time_ns)
{
	static const char *const nodes[] = { "alpha" };
	struct event events[PATH_MAX_STEPS] = { 0 };
	struct step steps[PATH_MAX_STEPS];
	struct critpath path;
	struct shape shape;
	struct trace t = { .id = ++p->traces, .type = p->of['('], .events = events };

	paths_shape(p, letters, time_ns, &shape, &path, steps);
	t.nevents = path.nsteps;
	for (uint32_t i = 0; i < path.nsteps; i++) {
		events[i].time_ns = steps[i].time_ns;
		events[i].label = steps[i].label;
	}
	t.begin_ns = 1000;
	t.end_ns = steps[path.nsteps - 1].time_ns;
	return groups_add(p->groups, &t, &path, &shape, nodes);
}

static inline struct gap
paths_gap(const struct paths *p, char from, char to, uint32_t nth, bool back)
{
	return (struct gap){ .from = p->of[(int)from],
		.to = p->of[(int)to],
		.from_unit = p->of['('],
		.to_unit = p->of['('],
		.nth = nth,
		.back = back };
}

/* Shuffles by the algorithm of Fisher and Yates. */
static inline void
shuffle(uint32_t *order, uint32_t n, struct rng *rng)
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = (uint32_t)(rng_next(rng) % i), x = order[i - 1];

		order[i - 1] = order[k];
		order[k] = x;
	}
}

#endif
