/* SPDX-License-Identifier: GPL-3.0-or-later */
/* news-kv: the articles. A hash table behind one lock, a log, and a thread that compacts the log. */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "kv_trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "serve.h"
#include "switches.h"
#include "work.h"

enum { ARTICLES = 600, BUCKETS = 256, TEXT = 1200, SEGMENTS = 16, SEGMENT_BYTES = 32 * 1024 };

struct article {
	struct article *next;
	int32_t key;
	uint32_t length;
	char text[TEXT];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table and the log */
static atomic_int waiters;
static struct article *buckets[BUCKETS];
static char log_bytes[SEGMENTS][SEGMENT_BYTES];
static uint32_t log_used[SEGMENTS];
static int segment;

static int
bucket_of(int32_t key)
{
	return (int)(work_hash(&key, sizeof key, 40) % BUCKETS);
}

static struct article *
lookup(int bucket, int32_t key, int *steps)
{
	struct article *a = buckets[bucket];

	for (*steps = 1; a && a->key != key; a = a->next)
		++*steps;
	return a;
}

/* ---- compaction ----------------------------------------------------------------------- */

/* Each second the oldest segment of the log is emptied, under the lock. */
static void *
compact(void *unused)
{
	(void)unused;
	for (int oldest = 0;; oldest = (oldest + 1) % SEGMENTS) {
		work_wait(960);
		span_begin(compact, oldest);
		span_begin(compact_lock, atomic_load(&waiters));
		pthread_mutex_lock(&lock);
		span_end(compact_lock, oldest);
		work_wait(40.0 * switch_degree(SWITCH_lock));
		memset(log_bytes[oldest], 0, log_used[oldest]);
		log_used[oldest] = 0;
		pthread_mutex_unlock(&lock);
		span_end(compact, oldest);
	}
	return NULL;
}

/* ---- questions ------------------------------------------------------------------------ */

static void
get(struct message *m)
{
	static _Thread_local struct article found;
	struct article *a;
	int bucket, steps;

	span_begin(get, m->number);
	span_begin(get_hash, m->number);
	bucket = bucket_of(m->number);
	span_end(get_hash, bucket);
	span_begin(get_lock, atomic_fetch_add(&waiters, 1));
	pthread_mutex_lock(&lock);
	span_end(get_lock, atomic_fetch_sub(&waiters, 1) - 1);
	span_begin(get_lookup, bucket);
	a = lookup(bucket, m->number, &steps);
	span_end(get_lookup, steps);
	span_begin(get_copy, a ? a->length : 0);
	found.length = a ? a->length : 0;
	if (a)
		memcpy(found.text, a->text, a->length);
	span_end(get_copy, found.length);
	pthread_mutex_unlock(&lock);
	span_begin(get_read, found.length);
	work_wait(3 + 0.5 * work_chance());
	span_end(get_read, (int64_t)(found.length / 512));
	span_begin(get_verify, found.length);
	work_hash(found.text, found.length, 10);
	span_end(get_verify, 1);
	memcpy(m->text, found.text, found.length);
	m->length = found.length;
	m->op = a ? STATUS_OK : STATUS_MISSING;
	span_end(get, m->length);
}

static void
put(struct message *m)
{
	struct article *a;
	int bucket = bucket_of(m->number), steps;

	span_begin(put, m->number);
	span_begin(put_lock, atomic_fetch_add(&waiters, 1));
	pthread_mutex_lock(&lock);
	span_end(put_lock, atomic_fetch_sub(&waiters, 1) - 1);
	span_begin(put_lookup, bucket);
	a = lookup(bucket, m->number, &steps);
	span_end(put_lookup, steps);
	if (a) {
		a->length = m->length < TEXT ? m->length : TEXT;
		memcpy(a->text, m->text, a->length);
		if (log_used[segment] + a->length > SEGMENT_BYTES)
			segment = (segment + 1) % SEGMENTS;
		span_begin(log_append, a->length);
		if (log_used[segment] + a->length <= SEGMENT_BYTES) {
			memcpy(log_bytes[segment] + log_used[segment], a->text, a->length);
			log_used[segment] += a->length;
		}
		span_end(log_append, segment);
	}
	pthread_mutex_unlock(&lock);
	span_begin(log_flush, m->length);
	work_queue(0, 12);
	span_end(log_flush, segment);
	m->length = 0;
	m->op = a ? STATUS_OK : STATUS_MISSING;
	span_end(put, m->op);
}

static void
answer(struct message *m)
{
	hone_unit_begin(&m->carrier, m->op == OP_PUT ? "kv.put" : "kv.get");
	if (m->op == OP_PUT) {
		put(m);
	} else if (switch_degree(SWITCH_retry) &&
		   work_chance() < (m->text[0] == '1' ? 0.05 : 0.4)) {
		m->op = STATUS_BUSY;
		m->length = 0;
	} else {
		get(m);
	}
	hone_unit_end();
}

static int
fill(void)
{
	for (int32_t key = 1; key <= ARTICLES; key++) {
		struct article *a = calloc(1, sizeof *a);
		int bucket = bucket_of(key);

		if (!a)
			return -1;
		a->key = key;
		a->length = (uint32_t)(400 + work_hash(&key, sizeof key, 7) % 800);
		memset(a->text, 'a' + key % 26, a->length);
		a->next = buckets[bucket];
		buckets[bucket] = a;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	pthread_t compactor;

	if (argc != 2) {
		fprintf(stderr, "usage: news-kv DIR\n");
		return 2;
	}
	if (switches_open(argv[1]) != 0 || fill() != 0 ||
	    pthread_create(&compactor, NULL, compact, NULL) != 0)
		return 1;
	return serve(argv[1], "kv", answer);
}
