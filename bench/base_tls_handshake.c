/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a TLS handshake costs each side, in processor time of the thread, without sockets: two sessions of base/tls_session.h hand each other
 * their bytes.
 *
 *	base_tls_handshake KEYS [TIMES]
 *
 * KEYS: a folder of `hone keys` with an agent n0. Prints two lines of JSON, of full handshakes and of those that continue a session: the
 * median in us of the side that listens and of the one that dials, of the later check of the certificate, the share that continued a
 * session, and the bytes of memory of a session that listens.
 */
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/tls.h"
#include "base/tls_session.h"

enum { TIMES = 500, TIMES_MAX = 100000, KEPT = 200 };

static int resumed;
static double us[3][TIMES_MAX]; /* listens, dials, checks again */

static double
cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void
must(int rc, const struct err *e)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "base_tls_handshake: %s\n", e->text);
	exit(1);
}

static struct tls *
open_tls(const char *keys, const char *name)
{
	char certificate[400], key[400], ca[400], revoked[400];
	struct tls *t = NULL;
	struct err e;

	snprintf(ca, sizeof ca, "%s/ca.pem", keys);
	snprintf(revoked, sizeof revoked, "%s/revoked.pem", keys);
	snprintf(certificate, sizeof certificate, "%s/%s.pem", keys, name);
	snprintf(key, sizeof key, "%s/%s.key", keys, name);
	must(tls_open(&t, &(struct tls_files){ ca, certificate, key, revoked }, &e), &e);
	return t;
}

/* One side goes on, and its output goes to the other. Its time is added to *sum. */
static int
go_on(struct tls_session *k, struct tls_session *other, const struct tls_session_calls *calls,
    double *sum)
{
	uint8_t data[16384];
	struct err e = { 0 };
	double from = cpu_us();
	int rc = calls->shake(k, &e);
	size_t n;

	must(rc, &e);
	while ((n = calls->goes(k, data, sizeof data)) > 0) {
		*sum += cpu_us() - from;
		must(calls->came(other, data, n, &e), &e);
		from = cpu_us();
	}
	*sum += cpu_us() - from;
	return rc;
}

/* The dialling side reads what the other one sends after the handshake: its ticket. */
static void
read_ticket(struct tls_session *a, struct tls_session *b, const struct tls_session_calls *calls)
{
	uint8_t data[16384];
	struct err e = { 0 };
	size_t n;

	must(calls->write(a, "H", 1, &e), &e);
	while ((n = calls->goes(a, data, sizeof data)) > 0)
		must(calls->came(b, data, n, &e), &e);
	must(calls->read(b, data, 1, &n, &e), &e);
}

static struct tls_session *
shake_hands(struct tls *listens, struct tls *dials, int i, bool continues)
{
	const struct tls_session_calls *calls = listens->calls;
	struct tls_session *a = NULL, *b = NULL;
	struct err e = { 0 };
	int wants_a = TLS_WANTS_INPUT, wants_b = TLS_WANTS_INPUT;
	double from = cpu_us();

	us[0][i] = us[1][i] = 0;
	must(calls->open(&a, listens, false, NULL, &e), &e);
	us[0][i] = cpu_us() - from;
	from = cpu_us();
	must(calls->open(&b, dials, true, continues ? "localhost" : NULL, &e), &e);
	us[1][i] = cpu_us() - from;
	while (wants_a != 0 || wants_b != 0) {
		if (wants_b != 0)
			wants_b = go_on(b, a, calls, &us[1][i]);
		if (wants_a != 0)
			wants_a = go_on(a, b, calls, &us[0][i]);
	}
	from = cpu_us();
	must(calls->trusted(a, &e), &e);
	us[2][i] = cpu_us() - from;
	if (continues)
		read_ticket(a, b, calls);
	resumed += calls->resumed(a);
	calls->close(b);
	return a;
}

static int
by_size(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static double
median(double *all, int n)
{
	qsort(all, (size_t)n, sizeof *all, by_size);
	return all[n / 2];
}

static void
measure(struct tls *listens, struct tls *dials, int n, bool continues)
{
	struct tls_session *kept[KEPT];
	size_t before;

	listens->calls->close(shake_hands(listens, dials, 0, continues)); /* the first ticket */
	resumed = 0;
	for (int i = 0; i < n; i++)
		listens->calls->close(shake_hands(listens, dials, i, continues));
	printf(
	    "{\"handshakes\": \"%s\", \"times\": %d, \"continued\": %d, \"listens_us\": %.0f, \"dials_us\": %.0f, \"checks_again_us\": %.0f",
	    continues ? "continue" : "full", n, resumed, median(us[0], n), median(us[1], n),
	    median(us[2], n));
	before = mallinfo2().uordblks;
	for (int i = 0; i < KEPT; i++)
		kept[i] = shake_hands(listens, dials, i, continues);
	printf(", \"session_bytes\": %zu}\n", (mallinfo2().uordblks - before) / KEPT);
	for (int i = 0; i < KEPT; i++)
		listens->calls->close(kept[i]);
}

int
main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : TIMES;
	struct tls *listens, *dials;

	if (argc < 2 || n < 1 || n > TIMES_MAX) {
		fprintf(stderr, "usage: base_tls_handshake KEYS [TIMES]\n");
		return 2;
	}
	listens = open_tls(argv[1], "controller");
	dials = open_tls(argv[1], "agents/n0/agent");
	measure(listens, dials, n, false);
	measure(listens, dials, n, true);
	tls_close(listens);
	tls_close(dials);
	return 0;
}
