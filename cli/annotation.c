/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for strerrorname_np() */
#include "cli/annotation.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "cli/call.h"

enum { COMM_MAX = 15 }; /* bytes of a thread's name that the kernel keeps */

/* ---- small answers ---- */

bool
annotation_is_chosen(const struct annotation *a, uint32_t span)
{
	const struct span *s = &a->spans.list[span].span;

	return !s->no_begin && !s->no_end && s->end_ns - s->begin_ns >= a->over_ns;
}

/* What is to be added to a time of the recording. */
static int64_t
offset_of(const struct annotation *a, uint32_t node)
{
	return a->clock == ANNOTATION_MONOTONIC ? a->spans.clock_ns[node] : 0;
}

int64_t
annotation_wall_ns(const struct annotation *a, uint32_t span, int64_t event_ns)
{
	return event_ns + offset_of(a, a->spans.list[span].node);
}

const char *
annotation_thread(const struct annotation *a, uint32_t host, uint32_t tid, int64_t at_ns)
{
	uint32_t number = kernel_graph_find(a->graph, host, tid, at_ns);

	return number == KERNEL_THREAD_NONE
	           ? ""
	           : texts_get(a->names.texts, kernel_graph_thread(a->graph, number)->name);
}

const char *
annotation_call(const struct annotation *a, int32_t number, uint32_t name)
{
	const char *known = name == 0 ? kernel_syscall_name(number)
	                              : texts_get(a->names.texts, name);

	return known != NULL ? known : "";
}

bool
annotation_argument(const struct annotation *a, const struct span_call *c, int64_t *ret)
{
	static const char *const without[] = { /* none, or the address of a text */
		"sched_yield", "pause", "getpid", "gettid", "getppid", "fork", "vfork", "getuid",
		"getgid", "geteuid", "getegid", "setsid", "getpgrp", "sync", "munlockall",
		"vhangup", "rt_sigreturn", "restart_syscall", "inotify_init", "open", "creat",
		"stat", "lstat", "access", "chdir", "rename", "mkdir", "rmdir", "link", "unlink",
		"symlink", "readlink", "chmod", "chown", "lchown", "truncate", "execve", "mknod",
		"statfs", "chroot", "mount", "umount2", "memfd_create", "uname", "mq_open"
	};
	const char *name = annotation_call(a, c->number, c->name);

	if ((c->flags & SPAN_CALL_BEGIN) == 0)
		return false;
	for (size_t i = 0; i < sizeof without / sizeof *without; i++)
		if (strcmp(without[i], name) == 0)
			return false;
	/* An int is passed in 64 bits, of which the upper ones are 0 or not defined. */
	*ret = c->argument > UINT32_MAX - 4096 && c->argument <= UINT32_MAX ? (int32_t)c->argument
	                                                                    : c->argument;
	return true;
}

const char *
annotation_error(int64_t result)
{
	const char *name = result < 0 && result >= -4095 ? strerrorname_np((int)-result) : NULL;

	return name != NULL ? name : "";
}

/* ---- hosts ---- */

static bool
is_other_name(const struct invocation *c, const char *node)
{
	for (int i = 0; c->hosts[i] != NULL; i++)
		if (strcmp(c->hosts[i], node) == 0)
			return true;
	return false;
}

static int
find_hosts(struct annotation *a, struct err *e)
{
	uint32_t n = texts_count(a->spans.nodes), known = texts_count(a->names.hosts);

	a->hosts = calloc((size_t)n + 1, sizeof *a->hosts);
	if (a->hosts == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	a->nhosts = n;
	for (uint32_t i = 0; i < n; i++) {
		const char *node = texts_get(a->spans.nodes, i);

		a->hosts[i] = texts_find(a->names.hosts, node, strlen(node));
		if (a->hosts[i] != UINT32_MAX || known != 1)
			continue;
		if (node[0] == '\0' || is_other_name(a->spans.call, node)) {
			a->hosts[i] = 0;
		} else if (n == 1 && a->spans.call->hosts[0] == NULL) {
			a->hosts[i] = 0;
			a->assumed = true;
		}
	}
	return 0;
}

/* ---- where spans are ---- */

/* Records of units of recorded hosts, on the clock of the recording. Once. */
static void
convert_units(struct annotation *a)
{
	struct span_source *s = &a->spans;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->nrecords; i++) {
		struct place_record r = s->records[i];

		if (a->hosts[r.host] == UINT32_MAX)
			continue;
		r.time_ns -= offset_of(a, r.host);
		r.host = a->hosts[r.host];
		s->records[kept++] = r;
	}
	s->nrecords = kept;
	for (uint32_t i = 0; i < s->nof_units; i++) {
		int64_t offset_ns = offset_of(a, s->list[s->of_units[i].span].node);

		s->of_units[i].from_ns -= offset_ns;
		s->of_units[i].to_ns -= offset_ns;
	}
}

static int
place_units(struct annotation *a, struct span_places *to, size_t max, struct err *e)
{
	struct span_source *s = &a->spans;
	const struct place_note *notes = NULL;
	size_t nnotes = 0;

	if (a->watch != NULL)
		notes = unit_watch_notes(a->watch, &nnotes);
	return span_places_add(
	    to, s->records, s->nrecords, notes, nnotes, s->of_units, s->nof_units, max, e);
}

static int
place_threads(struct annotation *a, struct span_places *to, size_t max, struct err *e)
{
	struct span_source *s = &a->spans;

	for (uint32_t i = 0; i < s->nlist; i++) {
		struct source_span *is = &s->list[i];
		int64_t offset_ns = offset_of(a, is->node);

		if (is->standing != SPAN_STANDS)
			continue;
		if (is->unit == SPAN_NONE && !is->has_tid)
			is->standing = SPAN_NO_THREAD;
		else if (a->hosts[is->node] == UINT32_MAX)
			is->standing = SPAN_OTHER_HOST;
		if (is->standing != SPAN_STANDS || is->unit != SPAN_NONE)
			continue;
		if (to->nlist == max)
			return err_set(e, ERR_FULL, "more than %zu places of spans", max);
		if (!array_reserve(to->list, to->list_cap, to->nlist + 1))
			return err_set(e, ERR_MEMORY, "no memory for the places of spans");
		to->list[to->nlist++] = (struct span_place){ is->span.begin_ns - offset_ns,
			is->span.end_ns - offset_ns, i, a->hosts[is->node], is->tid };
	}
	return 0;
}

/* At the first event: all sources have given one then, so that their hosts are known. */
static int
know_hosts(struct annotation *a, struct err *e)
{
	int rc = 0;

	if (a->hosts == NULL && (rc = find_hosts(a, e)) == 0)
		convert_units(a);
	return rc;
}

static int
begin(struct annotation *a, struct err *e)
{
	struct span_source *s = &a->spans;
	struct span_node *nodes = calloc((size_t)s->nlist + 1, sizeof *nodes);
	struct span_places places = { 0 };
	size_t max = a->ao.memory_max_bytes / 2 / sizeof *places.list;
	int rc = nodes != NULL ? 0 : err_set(e, ERR_MEMORY, "out of memory");

	if (rc == 0 && (rc = know_hosts(a, e)) == 0 &&
	    (rc = place_threads(a, &places, max, e)) == 0 &&
	    (rc = place_units(a, &places, max, e)) == 0) {
		for (uint32_t i = 0; i < s->nlist; i++) {
			nodes[i] = (struct span_node){ s->list[i].parent,
				annotation_is_chosen(a, i) };
			a->nchosen += nodes[i].chosen;
		}
		a->places = places.nlist;
		rc = annotate_new(
		    &a->annotate, &a->ao, &a->names, nodes, s->nlist, places.list, places.nlist, e);
	}
	free(nodes);
	span_places_release(&places);
	return rc;
}

/* ---- the recording ---- */

/* The first reading, for the units that the kernel saw threads work for. */
static int
watch_event(void *of, const struct kernel_event *ev, struct err *e)
{
	struct annotation *a = of;
	struct span_source *s = &a->spans;
	struct unit_id *ids;
	uint32_t n = 0;
	int rc;

	if (a->watch == NULL) {
		if ((rc = know_hosts(a, e)) != 0)
			return rc;
		if ((ids = calloc((size_t)s->nunits + 1, sizeof *ids)) == NULL)
			return err_set(e, ERR_MEMORY, "out of memory");
		for (uint32_t i = 0; i < s->nlist;
		     i++) /* a unit's own span is in no other one of it */
			if (s->list[i].unit != SPAN_NONE && n == s->list[i].unit && n < s->nunits)
				ids[n++] = (struct unit_id){ s->list[i].span.id, s->list[i].unit };
		rc = unit_watch_new(&a->watch, s->records, s->nrecords, ids, n, e);
		free(ids);
		if (rc != 0)
			return rc;
	}
	return unit_watch_take(a->watch, ev, e);
}

static int
take_event(void *of, const struct kernel_event *ev, struct err *e)
{
	struct annotation *a = of;
	int rc;

	if (a->annotate == NULL && (rc = begin(a, e)) != 0)
		return rc;
	if ((rc = kernel_graph_take(a->graph, ev, e)) != 0)
		return rc;
	return annotate_take(a->annotate, ev, e);
}

static void
put_time(char to[64], enum annotation_clock clock, int64_t ns)
{
	time_t s = (time_t)(ns / 1000000000);
	struct tm t;
	size_t len;

	if (clock == ANNOTATION_MONOTONIC || s < 86400 * 365 || gmtime_r(&s, &t) == NULL) {
		snprintf(to, 64, "%.6f s", (double)ns / 1e9);
		return;
	}
	len = strftime(to, 64, "%Y-%m-%dT%H:%M:%S", &t);
	snprintf(to + len, 64 - len, ".%06dZ", (int)(ns % 1000000000 / 1000));
}

static int
check_overlap(struct annotation *a, struct err *e)
{
	struct annotate_counts n = annotate_counts(a->annotate);
	int64_t offset_ns = offset_of(a, a->spans.list[0].node),
		from_ns = a->spans.from_ns - offset_ns, to_ns = a->spans.to_ns - offset_ns;
	char times[4][64];

	if (a->spans.from_ns > a->spans.to_ns || (from_ns <= n.last_ns && to_ns >= n.first_ns))
		return 0;
	put_time(times[0], a->clock, from_ns);
	put_time(times[1], a->clock, to_ns);
	put_time(times[2], a->clock, n.first_ns);
	put_time(times[3], a->clock, n.last_ns);
	return err_set(e, ERR_INPUT,
	    "the spans and the recording do not overlap: spans from %s to %s, the recording from %s to %s%s",
	    times[0], times[1], times[2], times[3],
	    a->clock == ANNOTATION_WALL && a->counts.wall_offset_ns == 0
		? "; the recording does not say how its clock relates to the time of day"
		: "");
}

static int
read_kernel(struct annotation *a, char *const *recordings, int n, struct err *e)
{
	struct kernel_graph_options go = { .memory_max_bytes = a->ao.memory_max_bytes };
	int rc;

	if ((rc = kernel_names_new(&a->names, e)) != 0)
		return rc;
	/* Standard input can be read once only; a text says nothing of units. */
	if (a->clock == ANNOTATION_MONOTONIC && a->spans.nunits > 0 &&
	    strcmp(recordings[0], "-") != 0) {
		a->o.take = watch_event;
		if ((rc = kernel_files_read(recordings, n, &a->o, &a->names, &a->counts, e)) != 0)
			return rc;
		a->o.take = take_event;
	}
	if ((rc = kernel_graph_new(&a->graph, &go, &a->names, e)) != 0 ||
	    (rc = kernel_files_read(recordings, n, &a->o, &a->names, &a->counts, e)) != 0)
		return rc;
	if (a->annotate == NULL)
		return err_set(
		    e, ERR_INPUT, "the recording has no event of the kernel that is known");
	if ((rc = kernel_graph_end(a->graph, e)) != 0 ||
	    (rc = annotate_end(a->annotate, a->graph, e)) != 0)
		return rc;
	return check_overlap(a, e);
}

/* ---- what came of it ---- */

/* Whether the kernel has the name for this thread that the span has for it; without one of both nothing is known. */
static bool
has_that_name(const struct annotation *a, const struct source_span *s, uint32_t span)
{
	const char *name = annotation_thread(a, a->hosts[s->node], s->tid,
	    s->span.begin_ns - offset_of(a, a->spans.list[span].node) + 1);
	size_t len = s->thread_name.len < COMM_MAX ? s->thread_name.len : COMM_MAX;

	return name[0] == '\0' || len == 0 ||
	       (strlen(name) == len && memcmp(name, s->thread_name.s, len) == 0);
}

static void
judge_standings(struct annotation *a)
{
	for (uint32_t i = 0; i < a->spans.nlist; i++) {
		struct source_span *s = &a->spans.list[i];
		const struct span_result *r = annotate_result(a->annotate, i);
		int64_t self_ns = 0;

		for (int k = 0; k < SPAN_STATES; k++)
			self_ns += r->self_ns[k];
		if (s->standing == SPAN_STANDS && r->active_ns == 0 &&
		    s->span.begin_ns < s->span.end_ns)
			s->standing = SPAN_NOWHERE;
		else if (s->standing == SPAN_STANDS && s->unit == SPAN_NONE &&
			 !has_that_name(a, s, i))
			s->standing = SPAN_OTHER_THREAD;
		else if (s->standing == SPAN_STANDS && self_ns > 0 && r->unseen_ns == self_ns &&
			 r->ncalls == 0)
			s->standing = SPAN_UNSEEN;
		a->nplaced += s->standing == SPAN_STANDS && annotation_is_chosen(a, i);
	}
}

/* ---- all of it ---- */

static int
split_calls(struct annotation *a, const char *list, struct err *e)
{
	char *rest, *name;

	if (list == NULL)
		return 0;
	if ((a->calls_text = rest = strdup(list)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	while ((name = strsep(&rest, ",")) != NULL) {
		if (name[0] == '\0')
			continue;
		if (a->ncalls == sizeof a->calls / sizeof *a->calls)
			return err_set(e, ERR_INPUT, "--calls: more than 64 names");
		if (kernel_syscall_number(name) == SYSCALL_UNKNOWN)
			return err_set(e, ERR_INPUT,
			    "--calls: %s is no system call of Linux for x86-64", name);
		a->calls[a->ncalls++] = name;
	}
	return 0;
}

int
annotation_make(struct annotation *ret, struct invocation *c, const char *const *spans,
    char *const *recordings, int nrecordings, struct err *e)
{
	struct annotation *a = ret;
	size_t memory_bytes = call_memory_bytes(c, true);
	int rc;

	*a = (struct annotation){ .over_ns = (int64_t)(c->number[FLAG_OVER] * 1e6) };
	if ((rc = split_calls(a, c->value[FLAG_CALLS], e)) != 0)
		return rc;
	rc = spans != NULL
	         ? span_source_read(&a->spans, c, spans, memory_bytes / 4, e)
	         : span_source_requests(&a->spans, c, recordings, nrecordings, memory_bytes / 4, e);
	if (rc != 0)
		return rc;
	a->clock = a->spans.own_clock && nrecordings == 1 ? ANNOTATION_MONOTONIC : ANNOTATION_WALL;
	a->ao = (struct annotate_options){ .by_middle = a->clock == ANNOTATION_WALL &&
		                                        spans != NULL,
		.call_over_ns = (int64_t)(c->number[FLAG_CALL_OVER] * 1e3),
		.calls = a->calls,
		.ncalls = a->ncalls,
		.memory_max_bytes = memory_bytes / 4 };
	a->o = (struct kernel_files_options){
		.counted = c->value[FLAG_COUNT] != NULL ? c->value[FLAG_COUNT] : "*page_fault*",
		.raw_times = a->clock == ANNOTATION_MONOTONIC,
		.memory_max_bytes = memory_bytes / 4,
		.take = take_event,
		.of = a
	};
	if ((rc = read_kernel(a, recordings, nrecordings, e)) != 0)
		return rc;
	judge_standings(a);
	return 0;
}

void
annotation_release(struct annotation *a)
{
	annotate_free(a->annotate);
	unit_watch_free(a->watch);
	kernel_graph_free(a->graph);
	kernel_names_release(&a->names);
	span_source_release(&a->spans);
	free(a->hosts);
	free(a->calls_text);
	*a = (struct annotation){ 0 };
}
