/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of TLS on the agent link: batches of 64 KiB from one thread to another, over TCP, a local
 * socket and TLS, in MB/s and in processor time of both sides together, as a multiple of TCP's; and
 * the processor time of a connection with its handshake, both sides together. The best of several
 * rounds, to reduce the effect of other load.
 */
#define _GNU_SOURCE
#include <ftw.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/credentials.h"
#include "base/stream.h"
#include "base/tls.h"
#include "tests/common/accepted.h"

enum { BATCH_BYTES = 64 * 1024, BATCHES = 3000, ROUNDS = 5, HANDSHAKES = 100, LIMIT_MS = 10000 };

static char folder[] = "/tmp/bench-stream.XXXXXX";
static struct tls *controller, *agent;
static uint8_t batch[BATCH_BYTES];

static void
must(int rc, const struct err *e)
{
	if (rc != 0) {
		fprintf(stderr, "base_stream: %s\n", e->text);
		exit(1);
	}
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	return remove(path);
}

static struct tls *
open_keys(const char *base)
{
	char files[3][100];
	struct tls *t = NULL;
	struct err e;

	snprintf(files[0], sizeof files[0], "%s/ca.pem", folder);
	snprintf(files[1], sizeof files[1], "%s/%s.pem", folder, base);
	snprintf(files[2], sizeof files[2], "%s/%s.key", folder, base);
	must(tls_open(&t, &(struct tls_files){ files[0], files[1], files[2], NULL }, &e), &e);
	return t;
}

static void
make_keys(void)
{
	int64_t now_ns = clock_wall().ns;
	struct credentials_span span = { { now_ns - 3600 * INT64_C(1000000000) },
		{ now_ns + 86400 * INT64_C(1000000000) } };
	struct credentials_order order = { .span = span };
	struct err e = { 0 };

	must(mkdtemp(folder) != NULL ? 0 : err_errno(&e, "%s", folder), &e);
	must(credentials_calls.init(folder, &span, &order, &e), &e);
	order.node = "n1";
	must(credentials_calls.issue(folder, &order, &e), &e);
	controller = open_keys("controller");
	agent = open_keys("agents/n1/agent");
}

/* ---- the two sides ---- */

struct pair {
	struct stream *a;
	struct accepted *b;
};

static void *
accept_secure(void *arg)
{
	struct err e;

	must(accepted_secure(arg, controller, LIMIT_MS, &e), &e);
	return NULL;
}

static void
pair_open(struct pair *p, struct listen_socket *l)
{
	pthread_t thread;
	struct err e;

	must(stream_dial(&p->a, listen_socket_url(l), LIMIT_MS, &e), &e);
	must(accepted_open(&p->b, l, LIMIT_MS, &e), &e);
	if (strncmp(listen_socket_url(l), "tls", 3) != 0)
		return;
	pthread_create(&thread, NULL, accept_secure, p->b);
	must(stream_secure(p->a, agent, LIMIT_MS, &e), &e);
	pthread_join(thread, NULL);
}

static void *
take_all(void *arg)
{
	static uint8_t got[BATCH_BYTES];
	struct err e;

	for (int i = 0; i < BATCHES; i++)
		must(accepted_read(arg, got, sizeof got, LIMIT_MS, &e), &e);
	return NULL;
}

static double
seconds_since(struct mono then)
{
	return (double)mono_since_ns(clock_mono(), then) / 1e9;
}

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double
megabytes_per_s(struct listen_socket *l, double *batch_us)
{
	double best = 0;
	struct err e;

	*batch_us = 1e9;

	for (int r = 0; r < ROUNDS; r++) {
		pthread_t taker;
		struct pair p;

		pair_open(&p, l);
		pthread_create(&taker, NULL, take_all, p.b);
		struct mono began = clock_mono();
		double cpu_began_ms = cpu_ms();

		for (int i = 0; i < BATCHES; i++)
			must(stream_write(p.a, batch, sizeof batch, LIMIT_MS, &e), &e);
		pthread_join(taker, NULL);
		double now = (double)BATCHES * BATCH_BYTES / 1e6 / seconds_since(began);

		double us = 1e3 * (cpu_ms() - cpu_began_ms) / BATCHES;

		best = now > best ? now : best;
		*batch_us = us < *batch_us ? us : *batch_us;
		stream_close(p.a);
		accepted_close(p.b);
	}
	return best;
}

/* Returns nanoseconds of processor time. */
static double
connection_ms(struct listen_socket *l)
{
	double best = 1e9;

	for (int r = 0; r < ROUNDS; r++) {
		double began = cpu_ms(), now;

		for (int i = 0; i < HANDSHAKES; i++) {
			struct pair p;

			pair_open(&p, l);
			stream_close(p.a);
			accepted_close(p.b);
		}
		now = (cpu_ms() - began) / HANDSHAKES;
		best = now < best ? now : best;
	}
	return best;
}

int
main(void)
{
	char ipc[100];
	const char *const urls[] = { "tcp://127.0.0.1:0", ipc, "tls://127.0.0.1:0" },
			  *const names[] = { "tcp", "ipc", "tls" };
	double first = 0;
	struct err e;

	make_keys();
	for (size_t i = 0; i < sizeof batch; i++)
		batch[i] = (uint8_t)(i * 2654435761u >> 13);
	snprintf(ipc, sizeof ipc, "ipc://%s/socket", folder);
	printf("%-6s %8s %18s %8s %20s\n", "link", "MB/s", "CPU a batch, us", "of tcp",
	    "CPU a connection, ms");
	for (int i = 0; i < 3; i++) {
		struct listen_socket *l;

		must(accepted_listen(&l, urls[i], &e), &e);
		double batch_us, rate = megabytes_per_s(l, &batch_us), ms = connection_ms(l);

		first = i == 0 ? batch_us : first;
		printf("%-6s %8.0f %18.1f %7.1fx %20.3f\n", names[i], rate, batch_us,
		    batch_us / first, ms);
		listen_socket_close(l);
	}
	tls_close(controller);
	tls_close(agent);
	return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : 1;
}
