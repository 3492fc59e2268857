/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "load.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONNECTIONS_MAX = 256 };

/* Response times of one type on one connection. */
struct times {
	double *ms;
	size_t n, room;
};

struct connection {
	pthread_t thread;
	struct times times[LOAD_TYPES_MAX];
	uint64_t errors[LOAD_TYPES_MAX];
};

static const struct load_app *load_app;
static struct load_type *types; /* those of load_app */
static int ntypes;
static int port, nconnections = 16, json;
static double seconds = 10, rate, think_ms = 20;
static volatile sig_atomic_t ended; /* by a signal: stop early, and print the results */
static uint64_t seed = 1;
static const char *log_path;
static FILE *told; /* the file of --log: a line for each answer */
static atomic_uint_fast64_t next_request;
static pthread_mutex_t schedule = PTHREAD_MUTEX_INITIALIZER;
static double schedule_at; /* when the next request is due, in s since the start */
static struct timespec start_time;

/* ---- random numbers, which depend on the seed -------------------------------------- */

uint64_t
load_chance(uint64_t k, uint64_t which)
{
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + k * UINT64_C(0xd1342543de82ef95) +
	             which * UINT64_C(0xaf251af3b0f025b5);

	for (int i = 0; i < 2; i++) {
		x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	}
	return x ^ x >> 31;
}

double
load_share(uint64_t k, uint64_t which)
{
	return (double)(load_chance(k, which) >> 11) * 0x1p-53;
}

static int
type_of(uint64_t k)
{
	int sum = 0, left, t;

	for (t = 0; t < ntypes; t++)
		sum += types[t].weight;
	left = (int)(load_chance(k, 0) % (uint64_t)sum);
	for (t = 0; left >= types[t].weight; t++)
		left -= types[t].weight;
	return t;
}

/* ---- sending requests -------------------------------------------------------------------- */

static double
since_start(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start_time.tv_sec) +
	       (double)(now.tv_nsec - start_time.tv_nsec) * 1e-9;
}

static void
wait_until(double at)
{
	double whole = floor(at);
	struct timespec t = { start_time.tv_sec + (time_t)whole,
		start_time.tv_nsec + (long)((at - whole) * 1e9) };

	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void
times_add(struct times *t, double ms)
{
	if (t->n == t->room) {
		t->room = t->room ? t->room * 2 : 256;
		t->ms = realloc(t->ms, t->room * sizeof *t->ms);
		if (!t->ms)
			abort();
	}
	t->ms[t->n++] = ms;
}

/* Writes the time of the answer (s since 1970), the request type, the response time (ms) and the
 * status. */
static void
log_answer(int type, double ms, long status)
{
	struct timespec now;

	if (!told)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	fprintf(told, "%lld.%06ld %s %.3f %ld\n", (long long)now.tv_sec, now.tv_nsec / 1000,
	    types[type].name, ms, status);
}

static size_t
drop(char *bytes, size_t size, size_t n, void *unused)
{
	(void)bytes, (void)unused;
	return size * n;
}

/* The number of the next request; *at is when it is due, in s since the start. */
static uint64_t
draw(double *at)
{
	uint64_t k;

	pthread_mutex_lock(&schedule);
	k = atomic_fetch_add(&next_request, 1);
	*at = schedule_at;
	if (rate > 0)
		schedule_at += -log(1 - load_share(k, 99)) / rate;
	pthread_mutex_unlock(&schedule);
	return k;
}

/* Sends a request. With a rate, its response time begins when it was due, so it includes the wait for a
 * connection, as for a user. */
static void
ask(struct connection *c, CURL *h, uint64_t k, double due)
{
	int type = type_of(k), post;
	char path[256], url[320];
	long status = 0;
	double begin = rate > 0 ? due : since_start(), ms;

	post = load_app->path(k, type, path, sizeof path);
	snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
	curl_easy_setopt(h, CURLOPT_URL, url);
	if (post) {
		curl_easy_setopt(h, CURLOPT_POST, 1L);
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, "");
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE, 0L);
	} else {
		curl_easy_setopt(h, CURLOPT_HTTPGET, 1L);
	}
	if (curl_easy_perform(h) == CURLE_OK)
		curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
	ms = (since_start() - begin) * 1e3;
	log_answer(type, ms, status);
	if (status == 200)
		times_add(&c->times[type], ms);
	else if (c->errors[type]++ == 0)
		fprintf(
		    stderr, "%s: %s answered with status %ld\n", load_app->program, url, status);
}

static void
end_early(int sig)
{
	(void)sig;
	ended = 1;
}

static void *
send_requests(void *arg)
{
	struct connection *c = arg;
	CURL *h = curl_easy_init();
	double due;

	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, drop);
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_TIMEOUT, 30L);
	curl_easy_setopt(h, CURLOPT_PROXY, "");
	while (since_start() < seconds && !ended) {
		uint64_t k = draw(&due);

		if (rate > 0 && due >= seconds)
			break;
		if (rate > 0)
			wait_until(due);
		ask(c, h, k, due);
		if (rate <= 0 && think_ms > 0)
			wait_until(since_start() + think_ms * 2e-3 * load_share(k, 98));
	}
	curl_easy_cleanup(h);
	return NULL;
}

/* ---- results ------------------------------------------------------------------- */

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The nearest rank, as Hone's quantiles. */
static double
quantile(const struct times *t, double q)
{
	return t->n ? t->ms[(size_t)fmax(ceil(q * (double)t->n - 1e-9), 1) - 1] : 0;
}

static double
deviation(const struct times *t, double *mean)
{
	double m2 = 0;

	*mean = 0;
	for (size_t i = 0; i < t->n; i++) {
		double apart = t->ms[i] - *mean;

		*mean += apart / (double)(i + 1);
		m2 += apart * (t->ms[i] - *mean);
	}
	return t->n > 1 ? sqrt(m2 / (double)(t->n - 1)) : 0;
}

static uint64_t
tell_type(const char *name, struct times *t, uint64_t errors, double took, const char *comma)
{
	static const char words_form[] =
	    "%-12s %7zu requests %7.1f /s  mean %7.2f  sd %7.2f  p50 %7.2f  p95 %7.2f  "
	    "p99 %7.2f ms  %" PRIu64 " errors\n";
	static const char json_form[] =
	    "\"%s\": {\"requests\": %zu, \"requests_per_s\": %.2f, \"mean_ms\": %.3f, "
	    "\"sd_ms\": %.3f, \"p50_ms\": %.3f, \"p95_ms\": %.3f, \"p99_ms\": %.3f, "
	    "\"errors\": %" PRIu64 "}%s";
	double mean, sd = deviation(t, &mean);

	qsort(t->ms, t->n, sizeof *t->ms, by_value);
	printf(json ? json_form : words_form, name, t->n, (double)t->n / took, mean, sd,
	    quantile(t, .5), quantile(t, .95), quantile(t, .99), errors, comma);
	return errors;
}

static uint64_t
tell(struct connection *connections, double took)
{
	struct times all = { 0 };
	uint64_t errors, all_errors = 0;

	if (json)
		printf("{\"seconds\": %.3f, \"seed\": %" PRIu64 ", \"types\": {", took, seed);
	for (int t = 0; t < ntypes; t++) {
		struct times one = { 0 };

		errors = 0;
		for (int c = 0; c < nconnections; c++) {
			errors += connections[c].errors[t];
			for (size_t i = 0; i < connections[c].times[t].n; i++) {
				times_add(&one, connections[c].times[t].ms[i]);
				times_add(&all, connections[c].times[t].ms[i]);
			}
			free(connections[c].times[t].ms);
		}
		all_errors += tell_type(
		    types[t].name, &one, errors, took, t < ntypes - 1 ? ", " : "}, ");
		free(one.ms);
	}
	tell_type("all", &all, all_errors, took, "}\n");
	free(all.ms);
	return all_errors;
}

/* ---- the program --------------------------------------------------------------- */

static int
usage(FILE *to, int status)
{
	fprintf(to,
	    "%s: a load generator; the same seed gives the same requests\n"
	    "  --port N         of %s\n"
	    "  --seconds S      duration, default 10\n"
	    "  --rate R         requests per second, at random times; default: each connection sends the next "
	    "request after an answer\n"
	    "  --think MS       mean pause of a connection between two requests, without --rate; default 20\n"
	    "  --connections N  default 16\n"
	    "  --mix T=W,...    weights of request types, default",
	    load_app->program, load_app->to);
	for (int t = 0; t < ntypes; t++)
		fprintf(to, "%s%s=%d", t ? "," : " ", types[t].name, types[t].weight);
	fprintf(to,
	    "\n  --seed N         default 1\n  --json           print the results as JSON\n"
	    "  --log FILE       a line for each answer: time, type, milliseconds, status\n"
	    "SIGTERM and SIGINT end it early.\nExit status: 0: all answers have status 200; 1: not all; 2: usage error.\n");
	return status;
}

static int
take_mix(char *mix)
{
	int t, sum = 0;

	for (t = 0; t < ntypes; t++)
		types[t].weight = 0;
	for (char *save, *one = strtok_r(mix, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
		char *is = strchr(one, '=');

		for (t = 0; is && t < ntypes; t++)
			if (strncmp(one, types[t].name, (size_t)(is - one)) == 0 &&
			    !types[t].name[is - one])
				break;
		if (!is || t == ntypes || atoi(is + 1) < 0)
			return -1;
		sum += types[t].weight = atoi(is + 1);
	}
	return sum ? 0 : -1;
}

/* Returns the number of arguments used; 0: unknown or malformed. */
static int
take_flag(const char *name, char *value)
{
	if (strcmp(name, "--json") == 0)
		return json = 1;
	if (!value)
		return 0;
	if (strcmp(name, "--port") == 0)
		port = atoi(value);
	else if (strcmp(name, "--seconds") == 0)
		seconds = atof(value);
	else if (strcmp(name, "--rate") == 0)
		rate = atof(value);
	else if (strcmp(name, "--think") == 0)
		think_ms = atof(value);
	else if (strcmp(name, "--connections") == 0)
		nconnections = atoi(value);
	else if (strcmp(name, "--seed") == 0)
		seed = strtoull(value, NULL, 10);
	else if (strcmp(name, "--log") == 0)
		log_path = value;
	else if (strcmp(name, "--mix") != 0 || take_mix(value) != 0)
		return 0;
	return 2;
}

int
load_main(int argc, char **argv, const struct load_app *app)
{
	static struct connection connections[CONNECTIONS_MAX];

	load_app = app;
	types = app->types;
	while (types[ntypes].name)
		ntypes++;
	for (int i = 1, n; i < argc; i += n) {
		if (strcmp(argv[i], "--help") == 0)
			return usage(stdout, 0);
		n = take_flag(argv[i], argv[i + 1]);
		if (n == 0)
			return usage(stderr, 2);
	}
	if (port < 1 || nconnections < 1 || nconnections > CONNECTIONS_MAX || seconds <= 0)
		return usage(stderr, 2);
	told = log_path ? fopen(log_path, "w") : NULL;
	if (log_path && !told) {
		fprintf(stderr, "%s: %s: %s\n", load_app->program, log_path, strerror(errno));
		return 1;
	}
	if (told)
		setvbuf(told, NULL, _IOLBF, 0); /* so that readers see whole lines */
	signal(SIGTERM, end_early);
	signal(SIGINT, end_early);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	clock_gettime(CLOCK_MONOTONIC, &start_time);
	for (int i = 0; i < nconnections; i++)
		if (pthread_create(&connections[i].thread, NULL, send_requests, &connections[i]) !=
		    0) {
			perror(load_app->program);
			return 1;
		}
	for (int i = 0; i < nconnections; i++)
		pthread_join(connections[i].thread, NULL);
	return tell(connections, since_start()) ? 1 : 0;
}
