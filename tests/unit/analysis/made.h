/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups of requests whose edges and fields the test chooses: request_begin, a point for each edge,
 * request_end.
 */
#ifndef TESTS_ANALYSIS_MADE_H
#define TESTS_ANALYSIS_MADE_H

#include "kit.h"

#include "analysis/variance.h"
#include "base/rng.h"

enum { MADE_MAX = 16 };

struct made {
	struct labels *labels;
	struct groups *groups;
	struct arena arena;
	uint32_t nedges;
	uint32_t label[MADE_MAX + 1];
	uint64_t traces;
	uint32_t pid, tid; /* of all events; 0: unknown */
};

static const char *const made_fields[2] = { "size", "kind" };

/* slow_max: see groups_options. */
static inline void
made_begin_slow(
    struct made *m, uint32_t nedges, uint32_t samples_max, uint32_t slow_max, uint64_t seed)
{
	struct groups_options o = {
		.groups_max = 8, .samples_max = samples_max, .slow_max = slow_max, .seed = seed
	};
	char text[64];

	*m = (struct made){ .labels = labels_new(), .nedges = nedges };
	m->groups = groups_new(&o, m->labels);
	for (uint32_t i = 0; i <= nedges; i++) {
		enum record_kind kind = i == 0        ? RECORD_REQUEST_BEGIN
		                        : i == nedges ? RECORD_REQUEST_END
		                                      : RECORD_POINT;

		snprintf(
		    text, sizeof text, kind == RECORD_POINT ? "s/app:p%u" : "s/hone:r%u(R)", i);
		m->label[i] = labels_intern(
		    m->labels, kind, text, strlen(text), made_fields, kind == RECORD_POINT ? 2 : 0);
	}
}

static inline void
made_begin(struct made *m, uint32_t nedges, uint32_t samples_max, uint64_t seed)
{
	made_begin_slow(m, nedges, samples_max, 0, seed);
}

static inline void
made_end(struct made *m)
{
	groups_free(m->groups);
	labels_free(m->labels);
	arena_release(&m->arena);
}

/* Adds one request. values: two for each point, or NULL. node: where it began. */
static inline struct group *
made_add(struct made *m, const int64_t *edges_ns, const struct value *values, uint32_t node)
{
	static const char *const nodes[] = { "alpha", "beta", "gamma" };
	struct event events[MADE_MAX + 1] = { 0 };
	struct step steps[MADE_MAX + 1];
	struct trace t = {
		.id = ++m->traces, .type = m->label[0], .nevents = m->nedges + 1, .events = events
	};
	struct critpath p = { .nsteps = m->nedges + 1, .steps = steps };
	struct arena a = { 0 };
	struct shape s;
	struct group *g;

	for (uint32_t i = 0; i <= m->nedges; i++) {
		events[i].time_ns = i > 0 ? events[i - 1].time_ns + edges_ns[i - 1] : 1000;
		events[i].label = m->label[i];
		events[i].node = node;
		events[i].pid = m->pid;
		events[i].tid = m->tid;
		if (i > 0 && i < m->nedges && values != NULL) {
			events[i].nvalues = 2;
			events[i].values = &values[2 * (i - 1)];
		}
		steps[i] = (struct step){ events[i].time_ns, i, m->label[i], m->label[0],
			m->label[0], BIN_NONE };
	}
	t.begin_ns = 1000;
	t.end_ns = events[m->nedges].time_ns;
	assert_int_equal(shape_of(&s, &p, m->labels, &a, NULL), 0);
	g = groups_add(m->groups, &t, &p, &s, nodes);
	arena_release(&a);
	return g;
}

#endif
