/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * burst_program RUN_DIR: a traced program that fills its rings on purpose and records when. It
 * reads commands and answers each with a line:
 *
 *	work 1|0		starts or stops requests of type WORK, about one every 5 ms, one
 *				step of them sometimes slow
 *	map			finds its rings below RUN_DIR: "rings N BYTES"
 *	burst US PERCENT	requests of type BURST, at a rate that fills a ring in US
 *				microseconds (0: as fast as possible), until PERCENT of a ring is written or tried:
 *				"burst START END HALF LOST COUNT GAP WROTE FULLEST". Times are ns of
 *				CLOCK_MONOTONIC. HALF: a ring was seen half full; LOST: the last
 *				check before the first lost record, 0: none; COUNT: lost records;
 *				GAP: the longest time between two checks, us
 *	wrote			"wrote ALL SAMPLED": records that passed their filters, lost or
 *				not; sampled requests
 *	dump FILE		writes the requests ("request ID BEGIN END") and the times of loss
 *				("lost FROM TO"): "dumped"
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/reader/ring.h"
#include "base/clock.h"
#include "base/rng.h"
#include "instrument/hone.h"
#include "tests/scenario/program.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/burst_program_tp.h"

enum {
	RINGS_MAX = 64,
	REQUESTS_MAX = 4 << 20,
	LOSSES_MAX = 1 << 20,
	LOOK_US = 100,
	REST_US = 1000,
	STEPS = 8,
	BURST_STEPS = 4,
	UNSAMPLED_MAX = 1000
};

struct seen { /* by the watching thread, during a burst */
	_Atomic int64_t half_ns, lost_ns, gap_ns;
	_Atomic uint64_t fullest; /* in millionths */
};

static pthread_mutex_t mapping = PTHREAD_MUTEX_INITIALIZER;
static struct ring rings[RINGS_MAX];
static _Atomic int nrings;
static atomic_bool working, bursting, remapped;
static struct seen seen;
static _Atomic uint64_t wrote, sampled, nrequests, nlosses;
static struct {
	uint64_t id;
	int64_t begin_ns, end_ns;
} * requests;
static struct {
	int64_t from_ns, to_ns;
} * losses;

/* ---- records ---- */

#define FIRE(name)                                                                 \
	do {                                                                       \
		if (lttng_ust_tracepoint_enabled(burstp, name) && hone_probed()) { \
			lttng_ust_do_tracepoint(burstp, name, wrote);              \
			n++;                                                       \
		}                                                                  \
	} while (0)

static uint64_t
step(int which)
{
	uint64_t n = 0;

	switch (which) {
	case 0:
		FIRE(s1);
		break;
	case 1:
		FIRE(s2);
		break;
	case 2:
		FIRE(s3);
		break;
	case 3:
		FIRE(s4);
		break;
	case 4:
		FIRE(s5);
		break;
	case 5:
		FIRE(s6);
		break;
	case 6:
		FIRE(s7);
		break;
	default:
		FIRE(s8);
	}
	return n;
}

/* A request: begin, a fork without a join, its steps, end. Returns the number of its records. */
static uint64_t
request(const char *type, int rounds, int64_t each_us, int slow, int64_t slow_us)
{
	struct hone_carrier c;
	int64_t begin_ns = clock_mono().ns;
	uint64_t id, n = 0, at;

	hone_request_begin(type, NULL);
	id = hone_trace_id();
	hone_fork("aside", &c);
	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < STEPS; i++) {
			n += step(i);
			wait_us(each_us + (i == slow ? slow_us : 0));
		}
	for (int i = 1; i < rounds; i++)
		hone_fork("aside", &c);
	hone_request_end(200);
	if (c.sampled) {
		n += 2 + (uint64_t)rounds;
		if ((at = nrequests++) < REQUESTS_MAX) {
			requests[at].id = id;
			requests[at].begin_ns = begin_ns;
			requests[at].end_ns = clock_mono().ns;
		}
		sampled++;
	} else {
		n = 0;
	}
	wrote += n;
	return n;
}

static void *
work(void *unused)
{
	struct rng rng;

	(void)unused;
	rng_seed(&rng, 1);
	for (;;) {
		if (working)
			request("WORK", 1, 100, 4, rng_unit(&rng) < 0.3 ? 4000 : 0);
		wait_us(2000);
	}
	return NULL;
}

/* ---- the rings ---- */

static uint64_t
lost_in_all(void)
{
	uint64_t sum = 0, one;

	for (int i = 0; i < nrings; i++)
		if (ring_lost(&rings[i], &one))
			sum += one;
	return sum;
}

static double
fullest(void)
{
	double most = 0;

	for (int i = 0; i < nrings; i++) {
		uint64_t consumed = ring_consumed(&rings[i]), produced = ring_produced(&rings[i]);
		double fill = produced > consumed
		                  ? (double)(produced - consumed) / (double)rings[i].bytes
		                  : 0;

		most = fill > most ? fill : most;
	}
	return most;
}

static void
note_loss(int64_t from_ns, int64_t to_ns)
{
	uint64_t at = nlosses;

	if (at < LOSSES_MAX) {
		losses[at].from_ns = from_ns;
		losses[at].to_ns = to_ns;
		nlosses = at + 1;
	}
}

static void *
watch(void *unused)
{
	uint64_t lost = lost_in_all();
	int64_t before_ns = clock_mono().ns;

	(void)unused;
	for (;;) {
		pthread_mutex_lock(&mapping);
		int64_t now_ns = clock_mono().ns;
		uint64_t lost_now = lost_in_all();
		double fill = fullest();
		if (atomic_exchange(&remapped, false))
			lost = lost_now;
		pthread_mutex_unlock(&mapping);

		if (bursting) {
			if (now_ns - before_ns > seen.gap_ns)
				seen.gap_ns = now_ns - before_ns;
			if (fill > 0.5 && seen.half_ns == 0)
				seen.half_ns = now_ns;
			if (lost_now > lost && seen.lost_ns == 0)
				seen.lost_ns = before_ns;
			if (fill * 1e6 > (double)seen.fullest)
				seen.fullest = (uint64_t)(fill * 1e6);
		}
		if (lost_now > lost)
			note_loss(before_ns, now_ns);
		lost = lost_now;
		before_ns = now_ns;
		wait_us(bursting ? LOOK_US : REST_US);
	}
	return NULL;
}

static int
map_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	char mine[64];
	struct err e;

	(void)st;
	snprintf(mine, sizeof mine, "-%ld-", (long)getpid());
	if (kind != FTW_F || strstr(path, mine) == NULL || strchr(path + at->base, '_') == NULL ||
	    nrings == RINGS_MAX)
		return 0;
	if (ring_map(&rings[nrings], AT_FDCWD, path, &e) == 0)
		nrings++;
	return 0;
}

static void
map_rings(const char *dir)
{
	pthread_mutex_lock(&mapping);
	while (nrings > 0)
		ring_unmap(&rings[--nrings]);
	nftw(dir, map_one, 16, FTW_PHYS);
	remapped = true;
	pthread_mutex_unlock(&mapping);
	printf("rings %d %" PRIu64 "\n", nrings, nrings > 0 ? rings[0].bytes : 0);
}

/* ---- a burst ---- */

static uint64_t
produced_in_all(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < nrings; i++)
		sum += ring_produced(&rings[i]);
	return sum;
}

/* Fires BURST requests at a rate that fills a ring in `us`, until `percent` is written. */
static void
burst(int64_t us, int64_t percent)
{
	static double record_bytes = 64;
	uint64_t ring_bytes = rings[0].bytes, n = 0, lost = lost_in_all(),
		 begun = produced_in_all(), all = wrote;
	int64_t begun_ns = clock_mono().ns, start_ns = begun_ns;
	cpu_set_t one, any;
	int unsampled = 0;

	sched_getaffinity(0, sizeof any, &any);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one); /* one ring receives all records */
	sched_setaffinity(0, sizeof one, &one);
	seen.half_ns = seen.lost_ns = seen.gap_ns = 0;
	seen.fullest = 0;
	bursting = true;
	while ((double)n * record_bytes < (double)ring_bytes * (double)percent / 100) {
		int64_t due_ns = us == 0
		                     ? 0
		                     : start_ns + (int64_t)((double)n * record_bytes /
							    (double)ring_bytes * (double)us * 1000);
		int64_t early_us = (due_ns - clock_mono().ns) / 1000;

		if (early_us > 0) {
			wait_us(early_us > 60 ? early_us - 60 : 0);
			continue;
		}
		/* After it was descheduled, it keeps its rate and does not catch up. */
		if (us > 0 && early_us < -500)
			start_ns -= early_us * 1000;
		uint64_t one_more = request("BURST", BURST_STEPS, 0, -1, 0);

		unsampled = one_more == 0 ? unsampled + 1 : 0;
		n += one_more;
		if (unsampled == UNSAMPLED_MAX)
			break;
		if (seen.lost_ns == 0 && n > 64)
			record_bytes = (double)(produced_in_all() - begun) / (double)(wrote - all);
		record_bytes = record_bytes < 32 ? 32 : record_bytes;
	}
	wait_us(2 * LOOK_US + 100);
	bursting = false;
	sched_setaffinity(0, sizeof any, &any);
	printf("burst %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRId64
	       " %" PRIu64 " %" PRIu64 "\n",
	    begun_ns, clock_mono().ns, (int64_t)seen.half_ns, (int64_t)seen.lost_ns,
	    lost_in_all() - lost, seen.gap_ns / 1000, n, (uint64_t)seen.fullest);
}

static void
dump(const char *path)
{
	FILE *f = fopen(path, "w");

	for (uint64_t i = 0; f != NULL && i < nrequests && i < REQUESTS_MAX; i++)
		fprintf(f, "request %016" PRIx64 " %" PRId64 " %" PRId64 "\n", requests[i].id,
		    requests[i].begin_ns, requests[i].end_ns);
	for (uint64_t i = 0; f != NULL && i < nlosses; i++)
		fprintf(f, "lost %" PRId64 " %" PRId64 "\n", losses[i].from_ns, losses[i].to_ns);
	puts(f != NULL && fclose(f) == 0 && nrequests <= REQUESTS_MAX ? "dumped" : "not dumped");
}

int
main(int argc, char **argv)
{
	char line[512], word[400];
	int64_t a, b;
	pthread_t t;

	requests = calloc(REQUESTS_MAX, sizeof *requests);
	losses = calloc(LOSSES_MAX, sizeof *losses);
	if (argc != 2 || requests == NULL || losses == NULL ||
	    pthread_create(&t, NULL, work, NULL) != 0 ||
	    pthread_create(&t, NULL, watch, NULL) != 0) {
		fprintf(stderr, "usage: burst_program RUN_DIR\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (sscanf(line, "work %" SCNd64, &a) == 1) {
			working = a != 0;
			puts("ok");
		} else if (strncmp(line, "map", 3) == 0) {
			map_rings(argv[1]);
		} else if (sscanf(line, "burst %" SCNd64 " %" SCNd64, &a, &b) == 2 && nrings > 0) {
			burst(a, b);
		} else if (strncmp(line, "wrote", 5) == 0) {
			printf(
			    "wrote %" PRIu64 " %" PRIu64 "\n", (uint64_t)wrote, (uint64_t)sampled);
		} else if (sscanf(line, "dump %399s", word) == 1) {
			dump(word);
		} else {
			puts("what?");
		}
	}
	return 0;
}
