/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the request graphs of a recording with what the services of kernel_requests_work.c say that they did: services, threads, who called
 * whom in which order, and who waited.
 *
 *	kernel_requests_truth RECORDING FILE [all]
 *
 * Prints "requests N traces N exact N lossy N wrong N unmarked N".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "kernel/files/kernel_files.h"
#include "kernel/requests/requests.h"

enum { TEXT_MAX = 4096, CALLS_MAX = 9 };

struct served {
	uint64_t id;
	char service[16];
	int tid;
	long long begin_ns, end_ns;
};

static struct served *all;
static size_t nall, nroots;
static struct map by_id;
static struct labels *labels;
static uint64_t traces, exact, lossy, wrong, unmarked;

static int
by_root(const void *x, const void *y)
{
	const struct served *a = x, *b = y;
	bool front_a = strcmp(a->service, "front") == 0, front_b = strcmp(b->service, "front") == 0;

	if (front_a != front_b)
		return front_b - front_a;
	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static void
read_truth(const char *path)
{
	FILE *f = fopen(path, "r");
	struct served s;
	size_t cap = 0;
	unsigned long long id;

	if (f == NULL)
		exit(2);
	while (fscanf(f, "%llu %15s %d %lld %lld", &id, s.service, &s.tid, &s.begin_ns,
		   &s.end_ns) == 5) {
		if (nall == cap &&
		    (all = realloc(all, (cap = cap * 2 + 1024) * sizeof *all)) == NULL)
			exit(2);
		s.id = id;
		all[nall++] = s;
	}
	fclose(f);
	qsort(all, nall, sizeof *all, by_root);
	for (size_t i = 0; i < nall; i++) {
		nroots += strcmp(all[i].service, "front") == 0;
		if (!map_put(&by_id, all[i].id, &all[i]))
			exit(2);
	}
}

static const struct served *
find(uint64_t id)
{
	return map_get(&by_id, id);
}

static void
put_truth(char *to, size_t *len, const struct served *s)
{
	*len += (size_t)snprintf(to + *len, TEXT_MAX - *len, "%s/%d", s->service, s->tid);
	for (uint64_t i = 1; i <= CALLS_MAX && find(s->id * 10 + i) != NULL; i++) {
		*len += (size_t)snprintf(to + *len, TEXT_MAX - *len, " [");
		put_truth(to, len, find(s->id * 10 + i));
		*len += (size_t)snprintf(to + *len, TEXT_MAX - *len, "]");
	}
}

static void
put_unit(char *to, size_t *len, const struct trace *t, uint32_t unit)
{
	const struct unit *u = &t->units[unit];
	const struct event *first = &t->events[u->first];
	const struct label *l = labels_get(labels, first->label);

	*len += (size_t)snprintf(
	    to + *len, TEXT_MAX - *len, "%.*s/%u", (int)l->service_len, l->text, first->tid);
	for (uint32_t i = u->first; i < u->first + u->count && *len < TEXT_MAX / 2; i++) {
		bool joined = false;

		if (labels_get(labels, t->events[i].label)->kind != RECORD_FORK)
			continue;
		for (uint32_t k = u->first; k < u->first + u->count; k++)
			joined |= labels_get(labels, t->events[k].label)->kind == RECORD_JOIN &&
			          t->events[k].link_id == t->events[i].link_id;
		*len += (size_t)snprintf(to + *len, TEXT_MAX - *len, joined ? " [" : " {");
		for (uint32_t v = 0; v < t->nunits; v++)
			if (t->units[v].fork == i && v != unit)
				put_unit(to, len, t, v);
		*len += (size_t)snprintf(to + *len, TEXT_MAX - *len, joined ? "]" : "}");
	}
}

/* The service has taken its time just after it received the request: the first one at or after that, of the same thread. */
static const struct served *
truth_of(const struct trace *t)
{
	uint32_t tid = t->root != TRACE_NONE ? t->events[t->units[t->root].first].tid : 0;

	for (size_t i = 0; i < nroots; i++)
		if (all[i].begin_ns >= t->begin_ns && all[i].tid == (int)tid)
			return &all[i];
	return NULL;
}

static int
compare(void *ctx, struct trace *t, struct err *e)
{
	const struct served *s = truth_of(t);
	char got[TEXT_MAX] = "", expected[TEXT_MAX] = "";
	size_t len = 0;

	(void)ctx;
	(void)e;
	traces++;
	lossy += !trace_is_evidence(t);
	if (t->root != TRACE_NONE)
		put_unit(got, &len, t, t->root);
	len = 0;
	if (s != NULL)
		put_truth(expected, &len, s);
	if (s != NULL && strcmp(got, expected) == 0) {
		exact++;
	} else {
		wrong++;
		unmarked += trace_is_evidence(t);
		if (wrong <= 5)
			fprintf(stderr, "expected %s\n     got %s\n", expected, got);
	}
	trace_free(t);
	return 0;
}

int
main(int argc, char **argv)
{
	struct requests_options o = requests_defaults();
	struct kernel_files_options with = { .raw_times = true, .take = requests_event };
	struct kernel_files_counts counts;
	struct requests_counts n;
	struct kernel_names names;
	struct requests *r;
	struct err e;

	if (argc < 3)
		return 2;
	read_truth(argv[2]);
	o.rule = argc > 3 && strcmp(argv[3], "all") == 0 ? RULE_ALL : RULE_CURRENT;
	o.take = compare;
	labels = labels_new();
	if (labels == NULL || kernel_names_new(&names, &e) != 0 ||
	    requests_new(&r, &o, &names, labels, &e) != 0)
		return 2;
	with.of = r;
	if (kernel_files_read(&argv[1], 1, &with, &names, &counts, &e) != 0 ||
	    requests_end(r, &e) != 0) {
		fprintf(stderr, "kernel_requests_truth: %s\n", e.text);
		return 1;
	}
	requests_counts(r, &n);
#define REQUEST_COUNT(member, text) \
	if (n.member > 0)           \
		fprintf(stderr, "%llu " #member "\n", (unsigned long long)n.member);
#include "kernel/requests/request_counts.tbl.h"
#undef REQUEST_COUNT
	printf("requests %zu traces %llu exact %llu lossy %llu wrong %llu unmarked %llu\n", nroots,
	    (unsigned long long)traces, (unsigned long long)exact, (unsigned long long)lossy,
	    (unsigned long long)wrong, (unsigned long long)unmarked);
	return 0;
}
