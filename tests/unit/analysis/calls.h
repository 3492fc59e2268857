/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces from a list of calls, as a reader makes them of spans: forks and joins are silent. */
#ifndef TESTS_ANALYSIS_CALLS_H
#define TESTS_ANALYSIS_CALLS_H

#include "kit.h"

#include "analysis/profile.h"

struct made_call {
	int parent; /* index of an earlier call; -1: the request */
	const char *service, *name;
	/* within the parent's times, after earlier calls of the same parent */
	int64_t begin_ns, end_ns;
};

static inline uint32_t
made_label(struct labels *l, enum record_kind kind, const char *service, const char *name)
{
	static const char *const events[RECORD_KINDS] = { "", "request_begin", "request_end", "",
		"unit_begin", "unit_end" };
	char text[128];
	int len = snprintf(text, sizeof text, "%s/hone:%s(%s)", service, events[kind], name);

	return labels_intern(l, kind, text, (size_t)len, NULL, 0);
}

static inline void
made_event(struct trace *t, uint32_t unit, uint32_t label, int64_t time_ns)
{
	t->events[t->nevents++] = (struct event){
		.time_ns = time_ns, .label = label, .unit = unit
	};
	t->units[unit].count++;
}

/* The calls of one trace; unit i is call i. */
static inline struct trace *
made_trace(struct labels *l, const struct made_call *calls, uint32_t n)
{
	struct arena a = { 0 };
	struct trace *t = arena_calloc(&a, 1, sizeof *t);

	t->units = arena_calloc(&a, n, sizeof *t->units);
	t->events = arena_calloc(&a, 4 * n, sizeof *t->events);
	t->nunits = n;
	t->id = 1;
	t->type = made_label(l, RECORD_REQUEST_BEGIN, calls[0].service, calls[0].name);
	t->begin_ns = calls[0].begin_ns;
	t->end_ns = calls[0].end_ns;
	t->units[0].fork = TRACE_NONE;
	for (uint32_t i = 0; i < n; i++) {
		t->units[i].id = i + 1;
		t->units[i].first = t->nevents;
		made_event(t, i,
		    made_label(l, i == 0 ? RECORD_REQUEST_BEGIN : RECORD_UNIT_BEGIN,
			calls[i].service, calls[i].name),
		    calls[i].begin_ns);
		for (uint32_t k = i + 1; k < n; k++) {
			if (calls[k].parent != (int)i)
				continue;
			t->units[k].fork = t->nevents;
			made_event(t, i, labels_silent(l, RECORD_FORK), calls[k].begin_ns);
			t->events[t->nevents - 1].link_id = k + 1;
			made_event(t, i, labels_silent(l, RECORD_JOIN), calls[k].end_ns);
			t->events[t->nevents - 1].link_id = k + 1;
		}
		made_event(t, i,
		    made_label(l, i == 0 ? RECORD_REQUEST_END : RECORD_UNIT_END, calls[i].service,
			calls[i].name),
		    calls[i].end_ns);
	}
	for (uint32_t i = 1; i < n; i++) /* the links between a unit and its fork */
		t->events[t->units[i].first].link_id = i + 1;
	for (uint32_t i = 1; i < n; i++)
		t->events[t->units[i].first + t->units[i].count - 1].link_id = i + 1;
	t->arena = a;
	return t;
}

/* Adds the calls as one request. */
static inline void
profile_calls(
    struct profile *p, struct labels *l, const struct made_call *calls, uint32_t n, bool lossy)
{
	struct trace *t = made_trace(l, calls, n);
	struct arena a = { 0 };
	struct critpath path;
	struct err e;

	t->lossy = lossy;
	assert_int_equal(critpath_extract(&path, t, l, NULL, &a, &e), 0);
	assert_int_equal(profile_add(p, t, &path, l, &e), 0);
	arena_release(&a);
	trace_free(t);
}

#endif
