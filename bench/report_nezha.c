/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often the faulty service of a labelled fault is among the first 1, 3, 5 that are named, on
 * the Nezha set (Yu et al., ESEC/FSE 2023): a folder for each day, with the traces and
 * fault_list.json. docs/nezha.md gives the reason for each choice here. Prints a table for each
 * day; with -v also a line for each fault.
 *
 * 	report_nezha [-v] FOLDER...
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/group.h"
#include "formats/reading.h"
#include "report/change.h"
#include "report/operations.h"
#include "base/texts.h"

enum { FAULTS_MAX = 256, NODES_MAX = 8192, UNKNOWN = 0 };

#define SECOND_NS INT64_C(1000000000)
#define WINDOW_NS (180 * SECOND_NS) /* the minute of the fault and the two after it */
#define CALM_NS (300 * SECOND_NS)   /* from an injection until traffic is healthy again */

enum baseline {
	WHOLE_DAY, /* healthy traffic of the day, also later than the window */
	PAST,      /* only what began before the window */
	SMALL,     /* the set's normal minute, or what is before the first fault */
	BASELINES
};

enum ranking {
	EDGE_VARIANCE,
	COVARIANCE,
	SERVICES,
	EDGES = SERVICES + BASELINES,
	RANKINGS = EDGES + BASELINES
};

static const char *const RANKING_NAMES[RANKINGS] = {
	[EDGE_VARIANCE] = "edge variance, here",
	[COVARIANCE] = "covariance, here",
	[SERVICES + WHOLE_DAY] = "services, whole day",
	[SERVICES + PAST] = "services, past only",
	[SERVICES + SMALL] = "services, small baseline",
	[EDGES + WHOLE_DAY] = "edges, whole day",
	[EDGES + PAST] = "edges, past only",
	[EDGES + SMALL] = "edges, small baseline",
};

struct window {        /* traffic of a period: of one request type, as the set has only one */
	uint32_t type; /* its label; LABEL_NONE: no trace yet */
	uint64_t traces;
	struct profile *profile;
	struct groups *groups;
};

struct fault {
	int64_t at_ns;
	char service[64], type[32], when[32];
	struct window window, before; /* before: healthy traffic since the previous fault */
	/* Other healthy traffic: past: before the injection; earlier: the same without `before`;
	 * others: of the whole day without `before`. Without groups. */
	struct window past, earlier, others;
	uint32_t ranks[RANKINGS]; /* rank from 1; UNKNOWN: not named */
};

struct sureness {                              /* of the suspects of several windows */
	uint32_t windows, enough, sure, right; /* enough: with enough healthy blocks */
};

struct day {
	const char *path;
	uint32_t nfaults;
	struct fault faults[FAULTS_MAX];
	struct window healthy, small;
	struct sureness faulty[BASELINES], calm[BASELINES];
	bool only_small; /* the traces being read are added to `small` */
	bool has_normal; /* the set has a file of healthy minutes */
	struct labels *labels;
	struct reading *reading;
	struct arena arena;
};

static void
die(const char *what, const struct err *e)
{
	fprintf(stderr, "report_nezha: %s%s%s\n", what, e != NULL ? ": " : "",
	    e != NULL ? e->text : "");
	exit(1);
}

/* ---- reading ------------------------------------------------------------------- */

static void
window_init(struct window *w, const struct labels *labels)
{
	static const struct groups_options o = {
		.groups_max = NODES_MAX, .samples_max = 1, .seed = 1
	};

	w->type = LABEL_NONE;
	w->profile = profile_new(NODES_MAX);
	w->groups = groups_new(&o, labels);
	if (w->profile == NULL || w->groups == NULL)
		die("out of memory", NULL);
}

static void
window_release(struct window *w)
{
	profile_free(w->profile);
	groups_free(w->groups);
}

/* "NAME-HASH-SUFFIX" */
static void
service_of_pod(char *ret, size_t size, const char *pod)
{
	snprintf(ret, size, "%s", pod);
	for (int i = 0; i < 2; i++)
		if (strrchr(ret, '-') != NULL)
			*strrchr(ret, '-') = '\0';
}

static void
read_fault(struct day *d, const json_t *o)
{
	struct fault *f = &d->faults[d->nfaults++];
	struct tm tm = { 0 };
	const char *when, *pod, *type;

	if (d->nfaults == FAULTS_MAX ||
	    json_unpack((json_t *)o, "{s:s, s:s, s:s}", "inject_time", &when, "inject_pod", &pod,
		"inject_type", &type) != 0 ||
	    strptime(when, "%Y-%m-%d %H:%M:%S", &tm) == NULL)
		die("fault_list.json: not of the form that is known", NULL);
	f->at_ns = (int64_t)timegm(&tm) * SECOND_NS;
	snprintf(f->when, sizeof f->when, "%s", when);
	snprintf(f->type, sizeof f->type, "%s", type);
	service_of_pod(f->service, sizeof f->service, pod);
	window_init(&f->window, d->labels);
	window_init(&f->before, d->labels);
	window_init(&f->past, d->labels);
	window_init(&f->earlier, d->labels);
	window_init(&f->others, d->labels);
}

static void
read_faults(struct day *d)
{
	char path[4096];
	json_t *all, *hour, *o;
	const char *key;
	json_error_t je;
	size_t i;

	snprintf(path, sizeof path, "%s/fault_list.json", d->path);
	if ((all = json_load_file(path, 0, &je)) == NULL) {
		fprintf(stderr,
		    "report_nezha: %s: %s; make eval-nezha DATA=FOLDER says where the sets lie\n",
		    path, je.text);
		exit(1);
	}
	json_object_foreach (all, key, hour)
		json_array_foreach (hour, i, o)
			read_fault(d, o);
	json_decref(all);
}

static void
profile_window(
    struct window *w, const struct day *d, const struct trace *t, const struct critpath *p)
{
	struct err e;

	w->type = t->type;
	w->traces++;
	if (profile_add(w->profile, t, p, d->labels, &e) != 0)
		die("a trace", &e);
}

static void
window_add(struct window *w, const struct day *d, const struct trace *t, const struct critpath *p,
    struct arena *a)
{
	struct shape s;
	struct err e;

	profile_window(w, d, t, p);
	if (shape_of(&s, p, d->labels, a, &e) != 0)
		die("a trace", &e);
	groups_add(w->groups, t, p, &s, reading_nodes(d->reading));
}

/* Healthy traffic before fault `next`, or after the last one. */
static void
place_calm(struct day *d, uint32_t next, const struct trace *t, const struct critpath *p)
{
	window_add(&d->healthy, d, t, p, &d->arena);
	for (uint32_t i = 0; i < d->nfaults; i++) {
		struct fault *f = &d->faults[i];

		if (t->begin_ns < f->at_ns)
			profile_window(&f->past, d, t, p);
		if (i == next)
			window_add(&f->before, d, t, p, &d->arena);
		else
			profile_window(&f->others, d, t, p);
		if (t->begin_ns < f->at_ns && i != next)
			profile_window(&f->earlier, d, t, p);
	}
}

/* A trace is healthy if it began, for every injection, before it or longer than CALM_NS after it. */
static void
place(struct day *d, const struct trace *t, const struct critpath *p)
{
	bool calm = true, first = true;
	uint32_t next = d->nfaults;

	if (d->only_small) {
		window_add(&d->small, d, t, p, &d->arena);
		return;
	}
	for (uint32_t i = 0; i < d->nfaults; i++) {
		struct fault *f = &d->faults[i];

		if (t->begin_ns >= f->at_ns && t->begin_ns < f->at_ns + WINDOW_NS)
			window_add(&f->window, d, t, p, &d->arena);
		calm = calm && (t->begin_ns < f->at_ns || t->begin_ns >= f->at_ns + CALM_NS);
		first = first && t->begin_ns < f->at_ns;
		if (next == d->nfaults && t->begin_ns < f->at_ns)
			next = i;
	}
	if (calm)
		place_calm(d, next, t, p);
	if (first && !d->has_normal)
		window_add(&d->small, d, t, p, &d->arena);
}

static int
take(void *ctx, struct trace *t, struct err *e)
{
	struct day *d = ctx;
	struct critpath p;

	(void)e;
	arena_reset(&d->arena);
	if (critpath_extract(&p, t, d->labels, NULL, &d->arena, NULL) == 0)
		place(d, t, &p);
	trace_free(t);
	return 0;
}

/* The files of the day in the order of their names; `normal`: only those of the set's own healthy
 * minutes. */
static void
read_files(struct day *d, bool normal)
{
	struct reading_options o = { .format = "nezha", .take = take, .ctx = d };
	struct dirent **list;
	struct err e;
	int n = scandir(d->path, &list, NULL, alphasort);

	if (n < 0 || reading_new(&d->reading, &o, d->labels, &e) != 0)
		die(d->path, n < 0 ? NULL : &e);
	d->only_small = normal;
	for (int i = 0; i < n; i++) {
		bool is_normal = strncmp(list[i]->d_name, "normal_", 7) == 0;
		char path[4096];

		snprintf(path, sizeof path, "%s/%s", d->path, list[i]->d_name);
		d->has_normal = d->has_normal || is_normal;
		if (strstr(list[i]->d_name, "_trace.csv") != NULL && (is_normal || !normal) &&
		    reading_file(d->reading, path, &e) != 0)
			die("not read", &e);
		free(list[i]);
	}
	free(list);
	if (reading_end(d->reading, &e) != 0)
		die(d->path, &e);
	reading_free(d->reading);
}

/* ---- simple rankings: groups of at least 4 traces with a CV over 10 % --------------- */

static void
charge(const struct labels *labels, struct texts *services, double *score, uint32_t label,
    double amount)
{
	const struct label *l = labels_get(labels, label);
	uint32_t s = texts_intern(services, l->text, l->service_len);

	if (s < NODES_MAX)
		score[s] += amount;
}

static bool
one_service(const struct labels *labels, uint32_t a, uint32_t b)
{
	const struct label *x = labels_get(labels, a), *y = labels_get(labels, b);

	return x->service_len == y->service_len && memcmp(x->text, y->text, x->service_len) == 0;
}

/* The number of services that score at least as much: ties count against Hone. */
static uint32_t
rank_of(const struct texts *services, const double *score, const char *service)
{
	uint32_t me = texts_find(services, service, strlen(service)), rank = 0;

	if (me == UINT32_MAX || me >= NODES_MAX || score[me] <= 0)
		return UNKNOWN;
	for (uint32_t i = 0; i < texts_count(services) && i < NODES_MAX; i++)
		rank += score[i] >= score[me];
	return rank;
}

/* The score of an edge counts for the services at both of its ends. */
static uint32_t
rank_simply(const struct day *d, const struct fault *f, enum ranking by)
{
	struct texts *services = texts_new();
	double *score = calloc(NODES_MAX, sizeof *score);
	uint32_t rank;

	for (uint32_t i = 0; i < groups_count(f->window.groups); i++) {
		const struct group *g = groups_at(f->window.groups, i);

		if (g->total.n < 4 || moments_cv(&g->total) <= 0.10)
			continue;
		for (uint32_t k = 0; k < g->shape.nedges; k++) {
			const struct shape_edge *edge = &g->shape.edges[k];
			double amount = by == EDGE_VARIANCE ? g->edges[k].m2_x
			                                    : fmax(0, g->edges[k].c_xy);

			charge(d->labels, services, score, edge->from, amount);
			if (!one_service(d->labels, edge->from, edge->to))
				charge(d->labels, services, score, edge->to, amount);
		}
	}
	rank = rank_of(services, score, f->service);
	texts_free(services);
	free(score);
	return rank;
}

/* ---- rankings by what changed ---------------------------------------------------------- */

static json_t *
document_of(const struct day *d, const struct window *w)
{
	json_t *type = json_pack("{s:s, s:s, s:[]}", "type", labels_get(d->labels, w->type)->text,
	    "service", "", "groups");
	struct err e;

	if (type == NULL || operations_put(type, w->profile, d->labels, &e) != 0)
		die("out of memory", NULL);
	return json_pack("{s:s, s:[o]}", "made", "", "types", type);
}

static double
number_of(const json_t *o, const char *name)
{
	return json_number_value(json_object_get(o, name));
}

static const json_t *
suspect_of(const json_t *change, const char *service)
{
	const json_t *s;
	size_t i;

	json_array_foreach (json_object_get(change, "suspects"), i, s)
		if (strcmp(json_string_value(json_object_get(s, "service")), service) == 0)
			return s;
	return NULL;
}

static bool
is_explained(const json_t *suspect)
{
	return json_is_string(json_object_get(suspect, "explained_by"));
}

/* The place in the list; those with the same score count against us, unless they are explained by
 * suspects and this one is not. */
static uint32_t
rank_service(const json_t *change, const char *service)
{
	const json_t *me = suspect_of(change, service), *s;
	uint32_t rank = 0;
	bool past = false;
	size_t i;

	json_array_foreach (json_object_get(change, "suspects"), i, s) {
		rank += !past || (number_of(s, "score") == number_of(me, "score") &&
				     is_explained(s) == is_explained(me));
		past = past || s == me;
	}
	return me != NULL ? rank : UNKNOWN;
}

static bool
has_service(const json_t *services, const char *service)
{
	const json_t *s;
	size_t i;

	json_array_foreach (services, i, s)
		if (strcmp(json_string_value(s), service) == 0)
			return true;
	return false;
}

/* The largest change between each pair of services, by the names of the two. */
static json_t *
best_by_services(const json_t *change)
{
	static const char *const lists[] = { "operations", "steps" };
	json_t *best = json_object(), *o;
	size_t i;

	for (int l = 0; l < 2; l++)
		json_array_foreach (
		    json_object_get(json_array_get(json_object_get(change, "types"), 0), lists[l]),
		    i, o) {
			const json_t *s = json_object_get(o, "services");
			const char *a = json_string_value(json_array_get(s, 0)),
				   *b = json_string_value(json_array_get(s, 1));
			char key[512];

			b = b != NULL ? b : a;
			snprintf(key, sizeof key, "%s %s", strcmp(a, b) < 0 ? a : b,
			    strcmp(a, b) < 0 ? b : a);
			if (number_of(o, "changed_calls") >
			    number_of(json_object_get(best, key), "changed_calls"))
				json_object_set(best, key, o);
		}
	return best;
}

static uint32_t
rank_edge(const json_t *change, const char *service)
{
	json_t *best = best_by_services(change), *o;
	double mine = 0;
	uint32_t rank = 0;
	const char *key;

	json_object_foreach (best, key, o)
		if (has_service(json_object_get(o, "services"), service))
			mine = fmax(mine, number_of(o, "changed_calls"));
	json_object_foreach (best, key, o)
		rank += number_of(o, "changed_calls") >= mine;
	json_decref(best);
	return mine > 0 ? rank : UNKNOWN;
}

/* NULL: one of them has no traffic. */
static json_t *
change_between(
    const struct day *d, const char *name, const struct window *now, const struct window *then)
{
	static const struct change_options o = { .list_max = UINT32_MAX };
	json_t *a, *b, *change;
	struct err e;

	if (now->traces == 0 || then->traces == 0)
		return NULL;
	a = document_of(d, now);
	b = document_of(d, then);
	if ((change = change_json(a, b, name, &o, &e)) == NULL)
		die("not compared", &e);
	json_decref(a);
	json_decref(b);
	return change;
}

/* service: of the fault; NULL: there is none. */
static void
note_sureness(struct sureness *n, const json_t *change, const char *service)
{
	const json_t *first = json_array_get(json_object_get(change, "suspects"), 0);

	n->windows++;
	n->enough += json_is_true(json_object_get(json_object_get(change, "blocks"), "enough"));
	if (json_is_true(json_object_get(first, "sure"))) {
		n->sure++;
		n->right += service != NULL && rank_service(change, service) == 1;
	}
}

static void
compare_fault(struct day *d, struct fault *f)
{
	const struct window *then[BASELINES] = { &d->healthy, &f->past, &d->small };
	const struct window *calm[BASELINES] = { &f->others, &f->earlier, &d->small };

	for (int b = 0; b < BASELINES; b++) {
		json_t *change = change_between(d, "FAULT", &f->window, then[b]);

		if (change != NULL) {
			f->ranks[SERVICES + b] = rank_service(change, f->service);
			f->ranks[EDGES + b] = rank_edge(change, f->service);
			note_sureness(&d->faulty[b], change, f->service);
		}
		json_decref(change);
		if (b == SMALL && !d->has_normal)
			continue; /* it is the first of these windows */
		if ((change = change_between(d, "CALM", &f->before, calm[b])) != NULL)
			note_sureness(&d->calm[b], change, NULL);
		json_decref(change);
	}
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void
print_row(const struct day *d, const char *name, enum ranking r, const char *type)
{
	uint32_t n = 0, seen = 0, hits[3] = { 0 };
	static const uint32_t at[3] = { 1, 3, 5 };

	for (uint32_t i = 0; i < d->nfaults; i++) {
		const struct fault *f = &d->faults[i];

		if (type != NULL && strcmp(f->type, type) != 0)
			continue;
		n++;
		seen += f->window.traces > 0;
		for (int k = 0; k < 3; k++)
			hits[k] += f->ranks[r] != UNKNOWN && f->ranks[r] <= at[k];
	}
	printf("  %-28s %3u  %3u %9.0f %5.0f %5.0f %%", name, n, seen, 100.0 * hits[0] / n,
	    100.0 * hits[1] / n, 100.0 * hits[2] / n);
	if (type == NULL)
		printf("  %9.0f %5.0f %5.0f %%", 100.0 * hits[0] / seen, 100.0 * hits[1] / seen,
		    100.0 * hits[2] / seen);
	printf("\n");
}

static void
print_types(const struct day *d)
{
	printf("  services, whole day, by type\n");
	for (uint32_t i = 0; i < d->nfaults; i++) {
		bool had = false;

		for (uint32_t k = 0; k < i; k++)
			had = had || strcmp(d->faults[k].type, d->faults[i].type) == 0;
		if (!had) {
			char name[64];

			snprintf(name, sizeof name, "  %s", d->faults[i].type);
			print_row(d, name, SERVICES, d->faults[i].type);
		}
	}
}

static void
print_sureness(const struct day *d)
{
	static const char *const names[] = { "whole day", "past only", "small baseline" };

	printf("  %-28s %s\n", "sure first suspects",
	    "faults: sure (right) of windows with enough blocks of all; healthy: sure, enough, all");
	for (int b = 0; b < BASELINES; b++) {
		const struct sureness *f = &d->faulty[b], *c = &d->calm[b];

		printf("    %-26s faults %u (%u) of %u of %u; healthy %u of %u of %u\n", names[b],
		    f->sure, f->right, f->enough, f->windows, c->sure, c->enough, c->windows);
	}
}

/* Known before: of simple rankings with the same windows, over two days of each application, where
 * this set has one. */
static const char *const PEERS[][3] = {
	{ "edge variance", "27 / 53 / 71 %", "4 / 24 / 29 %" },
	{ "covariance", "29 / 51 / 67 %", "9 / 20 / 27 %" },
	{ "edge mean", "24 / 59 / 73 %", "7 / 20 / 29 %" },
	{ "variance minus a healthy minute's", "39 / 55 / 69 %", "7 / 18 / 27 %" },
	{ "log ratio of means to healthy", "37 / 61 / 69 %", "11 / 20 / 29 %" },
	{ "Nezha itself (with logs, metrics)", "92.9 / 96.4 / 96.4 %", "86.7 / 97.8 / 97.8 %" },
};

static void
print_day(const struct day *d, bool train_ticket, bool each)
{
	printf("%s: %s, %u faults; baseline %llu traces; small baseline (%s) %llu\n", d->path,
	    train_ticket ? "TrainTicket" : "OnlineBoutique", d->nfaults,
	    (unsigned long long)d->healthy.traces,
	    d->has_normal ? "the set's normal minute" : "before the first fault",
	    (unsigned long long)d->small.traces);
	if (each)
		for (uint32_t i = 0; i < d->nfaults; i++) {
			const struct fault *f = &d->faults[i];

			printf(
			    "    %s %-28s %-16s %5llu traces; whole day %2u, past %2u (0: not named)\n",
			    f->when, f->service, f->type, (unsigned long long)f->window.traces,
			    f->ranks[SERVICES], f->ranks[SERVICES + PAST]);
		}
	printf("  %-28s %3s  %3s %9s %5s %5s    %9s %5s %5s\n", "ranking", "of", "with traces",
	    "@1", "@3", "@5", "of those @1", "@3", "@5");
	for (int r = 0; r < RANKINGS; r++)
		print_row(d, RANKING_NAMES[r], r, NULL);
	print_types(d);
	print_sureness(d);
	printf("  known before, over two days of each application\n");
	for (size_t i = 0; i < sizeof PEERS / sizeof *PEERS; i++)
		printf("    %-34s %s\n", PEERS[i][0], PEERS[i][train_ticket ? 2 : 1]);
	printf("\n");
}

static void
evaluate(struct day *d)
{
	if (d->healthy.traces == 0 || d->small.traces == 0)
		die("no healthy traffic", NULL);
	for (uint32_t i = 0; i < d->nfaults; i++) {
		struct fault *f = &d->faults[i];

		if (f->window.traces > 0) {
			f->ranks[EDGE_VARIANCE] = rank_simply(d, f, EDGE_VARIANCE);
			f->ranks[COVARIANCE] = rank_simply(d, f, COVARIANCE);
		}
		compare_fault(d, f);
	}
}

static void
one_day(const char *path, bool each)
{
	struct day *d = calloc(1, sizeof *d);

	d->path = path;
	d->labels = labels_new();
	window_init(&d->healthy, d->labels);
	window_init(&d->small, d->labels);
	read_faults(d);
	read_files(d, true);
	read_files(d, false);
	evaluate(d);
	print_day(d, strncmp(d->faults[0].service, "ts-", 3) == 0, each);
	for (uint32_t i = 0; i < d->nfaults; i++) {
		window_release(&d->faults[i].window);
		window_release(&d->faults[i].before);
		window_release(&d->faults[i].past);
		window_release(&d->faults[i].earlier);
		window_release(&d->faults[i].others);
	}
	window_release(&d->healthy);
	window_release(&d->small);
	labels_free(d->labels);
	arena_release(&d->arena);
	free(d);
}

int
main(int argc, char **argv)
{
	bool each = argc > 1 && strcmp(argv[1], "-v") == 0;
	int first = each ? 2 : 1;

	if (argc <= first) {
		fprintf(stderr, "usage: report_nezha [-v] FOLDER...\n");
		return 2;
	}
	for (int i = first; i < argc; i++)
		one_day(argv[i], each);
	return 0;
}
