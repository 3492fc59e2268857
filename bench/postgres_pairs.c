/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * postgres_pairs WORKLOAD TURNS CONNINFO...
 *
 * pgbench's transactions on several servers alternately, a few on each, from one process, so that
 * other load on the machine affects all of them. The measure is the processor time of the backend,
 * which other programs do not affect; for connections, the time until the server has answered.
 * Prints the cost of a transaction on the first server, and for every other server the ratio to it:
 * of the medians, and of the medians of ten quantile ranges from lowest to highest. WORKLOAD:
 * select, prepared, tpcb, connect. Each statement (except a prepared one) carries its own context,
 * sampled and not probed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

enum { SERVERS_MAX = 4, PARTS = 10, ACCOUNTS = 100000, TURN = 20 };

struct server {
	const char *where;
	PGconn *db;
	double *took_us;
};

static uint64_t
draw(void)
{
	static uint64_t x = UINT64_C(0x9e3779b97f4a7c15);

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void
failed(struct server *s)
{
	fprintf(stderr, "postgres_pairs: %s", PQerrorMessage(s->db));
	exit(1);
}

static void
done(struct server *s, PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);

	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		failed(s);
	PQclear(r);
}

static void
run(struct server *s, const char *sql)
{
	unsigned long long trace = draw() | 1, link = draw() | 1;
	char text[512];

	snprintf(text, sizeof text,
	    "%s /*traceparent='00-0af7651916cd43dd%016llx-%016llx-01',"
	    "tracestate='hone%%3D%016llx-123456781'*/",
	    sql, trace, link, link);
	done(s, PQexec(s->db, text));
}

static void
connect_to(struct server *s)
{
	s->db = PQconnectdb(s->where);
	if (PQstatus(s->db) != CONNECTION_OK)
		failed(s);
}

static void
do_select(struct server *s, int account)
{
	char sql[128];

	snprintf(sql, sizeof sql, "SELECT abalance FROM pgbench_accounts WHERE aid = %d;", account);
	run(s, sql);
}

static void
do_prepared(struct server *s, int account)
{
	char text[16];
	const char *values[] = { text };

	snprintf(text, sizeof text, "%d", account);
	done(s, PQexecPrepared(s->db, "by_id", 1, values, NULL, NULL, 0));
}

static void
do_tpcb(struct server *s, int account)
{
	int teller = account % 10 + 1, delta = account % 10001 - 5000;
	char sql[256];

	run(s, "BEGIN;");
	snprintf(sql, sizeof sql,
	    "UPDATE pgbench_accounts SET abalance = abalance + %d WHERE aid = %d;", delta, account);
	run(s, sql);
	do_select(s, account);
	snprintf(sql, sizeof sql,
	    "UPDATE pgbench_tellers SET tbalance = tbalance + %d WHERE tid = %d;", delta, teller);
	run(s, sql);
	snprintf(sql, sizeof sql,
	    "UPDATE pgbench_branches SET bbalance = bbalance + %d WHERE bid = 1;", delta);
	run(s, sql);
	snprintf(sql, sizeof sql,
	    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
	    "VALUES (%d, 1, %d, %d, CURRENT_TIMESTAMP);",
	    teller, account, delta);
	run(s, sql);
	run(s, "END;");
}

static void
do_connect(struct server *s, int account)
{
	PQfinish(s->db);
	connect_to(s);
	do_select(s, account);
}

static double
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Processor time that the backend has used so far. */
static double
used_us(const struct server *s)
{
	char path[64];
	double ns = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/schedstat", PQbackendPID(s->db));
	f = fopen(path, "r");
	if (f == NULL || fscanf(f, "%lf", &ns) != 1) {
		perror(path);
		exit(1);
	}
	fclose(f);
	return ns / 1e3;
}

/* One turn of a server: microseconds for each transaction. */
static double
turn(struct server *s, void (*transaction)(struct server *, int))
{
	double before_us = used_us(s);

	for (int i = 0; i < TURN; i++)
		transaction(s, (int)(draw() % ACCOUNTS) + 1);
	return (used_us(s) - before_us) / TURN;
}

static double
turn_connect(struct server *s)
{
	double before_us = now_us();

	do_connect(s, (int)(draw() % ACCOUNTS) + 1);
	return now_us() - before_us;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(const double *from, int n)
{
	double *copy = malloc(sizeof *copy * (size_t)n), m;

	if (copy == NULL)
		abort();
	memcpy(copy, from, sizeof *copy * (size_t)n);
	qsort(copy, (size_t)n, sizeof *copy, compare);
	m = copy[n / 2];
	free(copy);
	return m;
}

static void
tell(const struct server *first, const struct server *s, int n)
{
	double ratios[PARTS];
	int part = n / PARTS;

	for (int i = 0; i < PARTS; i++)
		ratios[i] = median(s->took_us + i * part, part) /
		            median(first->took_us + i * part, part);
	qsort(ratios, PARTS, sizeof *ratios, compare);
	printf(" %.3f (%.3f to %.3f) |", median(s->took_us, n) / median(first->took_us, n),
	    ratios[0], ratios[PARTS - 1]);
}

int
main(int argc, char **argv)
{
	struct server servers[SERVERS_MAX] = { 0 };
	int n = argc > 2 ? atoi(argv[2]) : 0, nservers = argc - 3;
	void (*transaction)(struct server *, int) = NULL;

	if (n >= PARTS && nservers >= 1 && nservers <= SERVERS_MAX)
		transaction = strcmp(argv[1], "select") == 0     ? do_select
		              : strcmp(argv[1], "prepared") == 0 ? do_prepared
		              : strcmp(argv[1], "tpcb") == 0     ? do_tpcb
		              : strcmp(argv[1], "connect") == 0  ? do_connect
		                                                 : NULL;
	if (transaction == NULL) {
		fprintf(
		    stderr, "usage: %s select|prepared|tpcb|connect turns conninfo...\n", argv[0]);
		return 2;
	}
	for (int i = 0; i < nservers; i++) {
		servers[i].where = argv[3 + i];
		servers[i].took_us = calloc((size_t)n, sizeof(double));
		connect_to(&servers[i]);
		done(&servers[i],
		    PQprepare(servers[i].db, "by_id",
			"SELECT abalance FROM pgbench_accounts WHERE aid = $1", 1, NULL));
	}
	for (int round = -n / 10; round < n;
	     round++) { /* the first tenth of the turns is a warm-up */
		for (int i = 0; i < nservers; i++) {
			struct server *s = &servers[(i + round + n) % nservers];
			double us = transaction == do_connect ? turn_connect(s)
			                                      : turn(s, transaction);

			if (round >= 0)
				s->took_us[round] = us;
		}
	}
	printf(" %.0f |", median(servers[0].took_us, n));
	for (int i = 1; i < nservers; i++)
		tell(&servers[0], &servers[i], n);
	printf("\n");
	return 0;
}
