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
#define WINDOW_NS (180 * SECOND_NS) /* the fault's minute and two more */
#define CALM_NS (300 * SECOND_NS)   /* after an injection, before traffic is called healthy again */

enum ranking { EDGE_VARIANCE, COVARIANCE, SERVICES, EDGES, SERVICES_SMALL, EDGES_SMALL, RANKINGS };

static const char *const RANKING_NAMES[RANKINGS] = {
	"edge variance, here",
	"covariance, here",
	"change: services",
	"change: edges, either end",
	"services, small baseline",
	"edges, small baseline",
};

struct window {        /* traffic of some time: of one request type, as the set has no more */
	uint32_t type; /* its label; LABEL_NONE: no trace yet */
	uint64_t traces;
	struct profile *profile;
	struct groups *groups;
};

struct fault {
	int64_t at_ns;
	char service[64], type[32], when[32];
	struct window window, before; /* before: healthy traffic since the fault before */
	uint32_t ranks[RANKINGS];     /* from 1; UNKNOWN: not named */
};

struct day {
	const char *path;
	uint32_t nfaults;
	struct fault faults[FAULTS_MAX];
	struct window healthy, small;
	struct window half[2]; /* healthy traffic before faults of even and of odd numbers */
	bool only_small;       /* what is read now goes there */
	bool has_normal;       /* a file of its own */
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
window_add(struct window *w, const struct day *d, const struct trace *t, const struct critpath *p,
    struct arena *a)
{
	struct shape s;
	struct err e;

	w->type = t->type;
	w->traces++;
	if (profile_add(w->profile, t, p, d->labels, &e) != 0 ||
	    shape_of(&s, p, d->labels, a, &e) != 0)
		die("a trace", &e);
	groups_add(w->groups, t, p, &s, reading_nodes(d->reading));
}

/* Healthy is what began longer than CALM_NS after every injection, or before it. */
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
		window_add(&d->healthy, d, t, p, &d->arena);
	if (calm && next < d->nfaults) {
		window_add(&d->faults[next].before, d, t, p, &d->arena);
		window_add(&d->half[next % 2], d, t, p, &d->arena);
	}
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

/* How many score at least as much: ties are held against us. */
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

/* An edge counts for the services at both its ends. */
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

/* Ties are held against us. */
static uint32_t
rank_service(const json_t *change, const char *service)
{
	const json_t *list = json_object_get(change, "suspects"), *s, *me = NULL;
	uint32_t rank = 0;
	size_t i;

	json_array_foreach (list, i, s)
		if (strcmp(json_string_value(json_object_get(s, "service")), service) == 0)
			me = s;
	if (me == NULL)
		return UNKNOWN;
	json_array_foreach (list, i, s)
		rank += number_of(s, "score") >= number_of(me, "score");
	return rank;
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

/* The most that any change between the same services comes to, for each such pair: by its services.
 */
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

static void
rank_by_change(const struct day *d, struct fault *f, const json_t *healthy, enum ranking services,
    enum ranking edges)
{
	static const struct change_options o = { .list_max = UINT32_MAX };
	json_t *now = document_of(d, &f->window), *change;
	struct err e;

	if ((change = change_json(now, healthy, "healthy", &o, &e)) == NULL)
		die(f->when, &e);
	f->ranks[services] = rank_service(change, f->service);
	f->ranks[edges] = rank_edge(change, f->service);
	json_decref(change);
	json_decref(now);
}

/*
 * How often a sure suspect is named though there is no fault: healthy traffic before each
 * fault against that before every other one.
 */
static void
count_false_alarms(const struct day *d, uint32_t *alarms, uint32_t *tried)
{
	json_t *halves[2] = { document_of(d, &d->half[0]), document_of(d, &d->half[1]) };
	struct err e;

	for (uint32_t i = 0; i < d->nfaults; i++) {
		json_t *now, *change, *s;
		bool sure = false;
		size_t k;

		if (d->faults[i].before.traces == 0)
			continue;
		now = document_of(d, &d->faults[i].before);
		if ((change = change_json(now, halves[(i + 1) % 2], "healthy", NULL, &e)) == NULL)
			die("healthy traffic", &e);
		json_array_foreach (json_object_get(change, "suspects"), k, s)
			sure = sure || json_is_true(json_object_get(s, "sure"));
		*alarms += sure;
		++*tried;
		json_decref(change);
		json_decref(now);
	}
	json_decref(halves[0]);
	json_decref(halves[1]);
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
	printf("  change: services, by type\n");
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
	uint32_t alarms = 0, tried = 0;

	printf("%s: %s, %u faults; baseline %llu traces; small baseline (%s) %llu\n", d->path,
	    train_ticket ? "TrainTicket" : "OnlineBoutique", d->nfaults,
	    (unsigned long long)d->healthy.traces,
	    d->has_normal ? "the set's normal minute" : "before the first fault",
	    (unsigned long long)d->small.traces);
	if (each)
		for (uint32_t i = 0; i < d->nfaults; i++) {
			const struct fault *f = &d->faults[i];

			printf(
			    "    %s %-28s %-16s %5llu traces; service %2u, edge %2u (0: not named)\n",
			    f->when, f->service, f->type, (unsigned long long)f->window.traces,
			    f->ranks[SERVICES], f->ranks[EDGES]);
		}
	printf("  %-28s %3s  %3s %9s %5s %5s    %9s %5s %5s\n", "ranking", "of", "with traces",
	    "@1", "@3", "@5", "of those @1", "@3", "@5");
	for (int r = 0; r < RANKINGS; r++)
		print_row(d, RANKING_NAMES[r], r, NULL);
	print_types(d);
	count_false_alarms(d, &alarms, &tried);
	printf(
	    "  healthy traffic against healthy traffic of other times: a sure suspect in %u of %u\n",
	    alarms, tried);
	printf("  known before, over two days of each application\n");
	for (size_t i = 0; i < sizeof PEERS / sizeof *PEERS; i++)
		printf("    %-34s %s\n", PEERS[i][0], PEERS[i][train_ticket ? 2 : 1]);
	printf("\n");
}

static void
evaluate(struct day *d)
{
	json_t *healthy, *small;

	if (d->healthy.traces == 0 || d->small.traces == 0)
		die("no healthy traffic", NULL);
	healthy = document_of(d, &d->healthy);
	small = document_of(d, &d->small);
	for (uint32_t i = 0; i < d->nfaults; i++) {
		struct fault *f = &d->faults[i];

		if (f->window.traces == 0)
			continue;
		f->ranks[EDGE_VARIANCE] = rank_simply(d, f, EDGE_VARIANCE);
		f->ranks[COVARIANCE] = rank_simply(d, f, COVARIANCE);
		rank_by_change(d, f, healthy, SERVICES, EDGES);
		rank_by_change(d, f, small, SERVICES_SMALL, EDGES_SMALL);
	}
	json_decref(healthy);
	json_decref(small);
}

static void
one_day(const char *path, bool each)
{
	struct day *d = calloc(1, sizeof *d);

	d->path = path;
	d->labels = labels_new();
	window_init(&d->healthy, d->labels);
	window_init(&d->small, d->labels);
	window_init(&d->half[0], d->labels);
	window_init(&d->half[1], d->labels);
	read_faults(d);
	read_files(d, true);
	read_files(d, false);
	evaluate(d);
	print_day(d, strncmp(d->faults[0].service, "ts-", 3) == 0, each);
	for (uint32_t i = 0; i < d->nfaults; i++) {
		window_release(&d->faults[i].window);
		window_release(&d->faults[i].before);
	}
	window_release(&d->half[0]);
	window_release(&d->half[1]);
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
