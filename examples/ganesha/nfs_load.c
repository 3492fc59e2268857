/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ganesha-load: a load generator for an NFSv4 server, in user space (libnfs). Each
 * client has a connection and a schedule (open loop): the time at which its k-th turn
 * is due does not depend on the duration of earlier turns. So a slow server gets no
 * less load, and the wait for earlier turns is part of a turn's time. What a turn does
 * depends only on the seed and k.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/time.h> /* needed by libnfs.h, which does not include it */
#include <nfsc/libnfs.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* libnfs 4.0 builds a compound in 4096 bytes, which must also hold the data of a write. */
enum { KINDS = 4, CLIENTS_MAX = 64, READ_BYTES = 4096, WRITE_BYTES = 1024, SEEN_MAX = 1 << 16 };

static const struct kind {
	const char *name;
	unsigned weight;
} kinds[KINDS] = { { "read", 60 }, { "stat", 20 }, { "write", 12 }, { "list", 8 } };

/* Times of one kind on one client; after SEEN_MAX turns they are counted, but not kept. */
struct load_times {
	uint64_t count, errors;
	double ms[SEEN_MAX];
};

struct nfs_client {
	pthread_t thread;
	unsigned number;
	struct nfs_context *nfs;
	struct load_times *times[KINDS];
	char first_error[256];
};

static int port = 2049;
static bool makes; /* create the files first */
static unsigned nclients = 8, nfiles = 100;
static double rate = 200, seconds = 10;
static uint64_t seed = 1;
static struct timespec start_time;
static volatile sig_atomic_t ended; /* by a signal: stop early, and print the results */

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)(t.tv_sec - start_time.tv_sec) +
	       (double)(t.tv_nsec - start_time.tv_nsec) * 1e-9;
}

/* False: a signal came before. */
static bool
sleep_until(double at_s)
{
	double left_s;

	while (!ended && (left_s = at_s - now_s()) > 0) {
		double nap_s = left_s < 0.5 ? left_s : 0.5;
		struct timespec t = { (time_t)nap_s,
			(long)((nap_s - (double)(time_t)nap_s) * 1e9) };

		nanosleep(&t, NULL);
	}
	return !ended;
}

/* A random number for a turn and a decision (`which`): the finaliser of SplitMix64 (Steele, Lea, Flood
 * 2014). */
static uint64_t
chance(uint64_t turn, uint64_t which)
{
	uint64_t x = (seed << 32 ^ turn << 3 ^ which) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static unsigned
kind_of(uint64_t turn)
{
	unsigned at = chance(turn, 0) % 100, k = 0;

	while (k < KINDS - 1 && at >= kinds[k].weight)
		at -= kinds[k++].weight;
	return k;
}

/* ---- a turn: returns 0, or the error of libnfs ------------------------------------------ */

static int
turn_file(struct nfs_context *nfs, const char *path, bool writes)
{
	static const char zeroes[WRITE_BYTES];
	struct nfsfh *f;
	char bytes[READ_BYTES];
	int rc, closed;

	rc = nfs_open(nfs, path, writes ? O_WRONLY : O_RDONLY, &f);
	if (rc != 0)
		return rc;
	rc = writes ? nfs_pwrite(nfs, f, 0, WRITE_BYTES, zeroes)
	            : nfs_pread(nfs, f, 0, READ_BYTES, bytes);
	closed = nfs_close(nfs, f);
	return rc < 0 ? rc : closed;
}

static int
turn_list(struct nfs_context *nfs)
{
	struct nfsdir *d;
	int rc;

	rc = nfs_opendir(nfs, "/", &d);
	if (rc != 0)
		return rc;
	while (nfs_readdir(nfs, d) != NULL)
		;
	nfs_closedir(nfs, d);
	return 0;
}

static int
turn(struct nfs_context *nfs, uint64_t number, unsigned kind)
{
	struct nfs_stat_64 st;
	char path[32];

	snprintf(
	    path, sizeof path, kind == 2 ? "/w%u" : "/f%u", (unsigned)(chance(number, 1) % nfiles));
	switch (kind) {
	case 1:
		return nfs_stat64(nfs, path, &st);
	case 3:
		return turn_list(nfs);
	default:
		return turn_file(nfs, path, kind == 2);
	}
}

/* Creates a file of READ_BYTES, unless it exists. */
static int
make_file(struct nfs_context *nfs, const char *path)
{
	static const char zeroes[WRITE_BYTES];
	struct nfs_stat_64 st;
	struct nfsfh *f;
	int rc, closed;

	if (nfs_stat64(nfs, path, &st) == 0)
		return 0;
	rc = nfs_creat(nfs, path, 0644, &f);
	if (rc != 0)
		return rc;
	for (uint64_t at = 0; at < READ_BYTES && rc >= 0; at += WRITE_BYTES)
		rc = nfs_pwrite(nfs, f, at, WRITE_BYTES, zeroes);
	closed = nfs_close(nfs, f);
	return rc < 0 ? rc : closed;
}

static int
make_files(struct nfs_context *nfs)
{
	char path[32];
	int rc = 0;

	for (unsigned i = 0; i < 2 * nfiles && rc == 0; i++) {
		snprintf(path, sizeof path, "/%c%u", i % 2 == 0 ? 'f' : 'w', i / 2);
		rc = make_file(nfs, path);
	}
	return rc;
}

/* ---- clients ------------------------------------------------------------------ */

static int
client_mount(struct nfs_client *c, const char *server, const char *export)
{
	char url[512], name[64];
	struct nfs_url *u;

	c->nfs = nfs_init_context();
	if (c->nfs == NULL)
		return -ENOMEM;
	/* Clients of the same name would lose their open files to each other. */
	snprintf(name, sizeof name, "ganesha-load %d.%u", (int)getpid(), c->number);
	nfs4_set_client_name(c->nfs, name);
	nfs4_set_verifier(c->nfs, name + strlen(name) - 8);
	nfs_set_timeout(c->nfs, 10000);
	snprintf(url, sizeof url, "nfs://%s%s?version=4&nfsport=%d", server, export, port);
	u = nfs_parse_url_dir(c->nfs, url);
	if (u == NULL)
		return -EINVAL;
	nfs_destroy_url(u);
	return nfs_mount(c->nfs, server, export);
}

static void *
client_run(void *arg)
{
	struct nfs_client *c = arg;

	for (uint64_t k = 0;; k++) {
		uint64_t number = k * nclients + c->number;
		double due_s = (double)number / rate;
		unsigned kind = kind_of(number);
		struct load_times *t = c->times[kind];

		if ((seconds > 0 && due_s >= seconds) || !sleep_until(due_s))
			return NULL;
		if (turn(c->nfs, number, kind) != 0 && t->errors++ == 0 &&
		    c->first_error[0] == '\0')
			snprintf(c->first_error, sizeof c->first_error, "%s: %s", kinds[kind].name,
			    nfs_get_error(c->nfs));
		if (t->count < SEEN_MAX)
			t->ms[t->count] = (now_s() - due_s) * 1e3;
		t->count++;
	}
}

static bool
client_new(struct nfs_client *c, unsigned number)
{
	c->number = number;
	for (unsigned k = 0; k < KINDS; k++) {
		c->times[k] = calloc(1, sizeof *c->times[k]);
		if (c->times[k] == NULL)
			return false;
	}
	return true;
}

/* ---- results -------------------------------------------------------------- */

static int
by_ms(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Prints the times of a kind; returns the number of failures. */
static uint64_t
tell(const struct nfs_client *clients, unsigned kind)
{
	double *ms = malloc(sizeof *ms * SEEN_MAX * nclients);
	uint64_t n = 0, count = 0, errors = 0;

	if (ms == NULL)
		return 1;
	for (unsigned i = 0; i < nclients; i++) {
		const struct load_times *t = clients[i].times[kind];
		uint64_t kept = t->count < SEEN_MAX ? t->count : SEEN_MAX;

		memcpy(ms + n, t->ms, kept * sizeof *ms);
		n += kept;
		count += t->count;
		errors += t->errors;
	}
	qsort(ms, n, sizeof *ms, by_ms);
	if (n > 0)
		printf("%-6s %8ju %8ju %9.2f %9.2f %9.2f %9.2f\n", kinds[kind].name,
		    (uintmax_t)count, (uintmax_t)errors, ms[(n - 1) / 2],
		    ms[(n * 95 + 99) / 100 - 1], ms[(n * 99 + 99) / 100 - 1], ms[n - 1]);
	free(ms);
	return errors;
}

static int
tell_all(const struct nfs_client *clients)
{
	uint64_t errors = 0;

	printf("%-6s %8s %8s %9s %9s %9s %9s\n", "kind", "turns", "errors", "p50 ms", "p95 ms",
	    "p99 ms", "max ms");
	for (unsigned k = 0; k < KINDS; k++)
		errors += tell(clients, k);
	for (unsigned i = 0; i < nclients && errors > 0; i++)
		if (clients[i].first_error[0] != '\0')
			fprintf(stderr, "ganesha-load: client %u: %s\n", i, clients[i].first_error);
	return errors > 0;
}

static void
leave(int sig)
{
	(void)sig;
	ended = 1;
}

static int
usage(void)
{
	fputs(
	    "usage: ganesha-load [-p port] [-c clients] [-r turns per second of all clients] [-s seconds, 0: until SIGTERM]\n"
	    "                    [-f files] [-S seed] [-m] server export\n"
	    "The export holds files f0, f1, ... to read, and w0, w1, ... to write, -f (100) of each; -m creates\n"
	    "missing ones.\n",
	    stderr);
	return 2;
}

static bool
options(int argc, char **argv)
{
	for (int o; (o = getopt(argc, argv, "p:c:r:s:f:S:m")) != -1;)
		switch (o) {
		case 'p':
			port = atoi(optarg);
			break;
		case 'c':
			nclients = (unsigned)atoi(optarg);
			break;
		case 'r':
			rate = atof(optarg);
			break;
		case 's':
			seconds = atof(optarg);
			break;
		case 'f':
			nfiles = (unsigned)atoi(optarg);
			break;
		case 'S':
			seed = strtoull(optarg, NULL, 10);
			break;
		case 'm':
			makes = true;
			break;
		default:
			return false;
		}
	return argc - optind == 2 && port > 0 && nclients > 0 && nclients <= CLIENTS_MAX &&
	       nfiles > 0 && rate > 0;
}

int
main(int argc, char **argv)
{
	static struct nfs_client clients[CLIENTS_MAX];
	struct sigaction leaving = { .sa_handler = leave };

	if (!options(argc, argv))
		return usage();
	sigaction(SIGTERM, &leaving, NULL);
	sigaction(SIGINT, &leaving, NULL);
	for (unsigned i = 0; i < nclients; i++)
		if (!client_new(&clients[i], i) ||
		    client_mount(&clients[i], argv[optind], argv[optind + 1]) != 0) {
			fprintf(stderr, "ganesha-load: %s:%d%s: %s\n", argv[optind], port,
			    argv[optind + 1],
			    clients[i].nfs == NULL ? "no memory" : nfs_get_error(clients[i].nfs));
			return 1;
		}
	if (makes && make_files(clients[0].nfs) != 0) {
		fprintf(stderr, "ganesha-load: cannot create files: %s\n",
		    nfs_get_error(clients[0].nfs));
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &start_time);
	for (unsigned i = 0; i < nclients; i++)
		if (pthread_create(&clients[i].thread, NULL, client_run, &clients[i]) != 0) {
			fputs("ganesha-load: cannot create a thread\n", stderr);
			return 1;
		}
	for (unsigned i = 0; i < nclients; i++)
		pthread_join(clients[i].thread, NULL);
	return tell_all(clients);
}
