/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * agent_toggle URL ROUNDS OTHERS STATE_FILE...: as a controller, switches agentp:ev000 on and off, and measures from
 * the command to the tracepoint: from sending WANT until the last program has it armed (each watches the word in its own
 * memory, every 20 us), and until the first record of it is here. OTHERS: as many other tracepoints stay on.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stream.h"
#include "tests/scenario/agent_program.h"
#include "wire/agent.h"
#include "wire/frame.h"
#include "wire/toggle.h"

enum { PATIENCE_MS = 20000, ROUNDS_MAX = 10000, PROGRAMS = 64, OTHERS_MAX = 149, LEASE_MS = 60000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of writing, and of what follows */
static struct stream *stream;
static uint64_t done_epoch;
static int64_t record_ns, newest_ns;	/* the first record since then, when it came here; 0: none yet */
static bool has_record;

static const struct program_state *programs[PROGRAMS];
static int nprograms;

static void
die(const char *words)
{
	fprintf(stderr, "agent_toggle: %s\n", words);
	exit(1);
}

static void
send_frame(enum frame_kind kind, const struct buf *b)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct err e;

	frame_seal(header, kind, 0, b->data, b->len);
	if (stream_write(stream, header, sizeof(header), PATIENCE_MS, &e) != 0 ||
	    stream_write(stream, b->data, b->len, PATIENCE_MS, &e) != 0)
		die(e.text);
}

static void
take_batch(const struct frame *f, const uint8_t *data)
{
	struct arena a = { 0 };
	struct buf ack = { 0 };
	struct batch b;
	struct err e;

	if (batch_decode(&b, &a, data, f->length, &e) != 0)
		die(e.text);
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < b.nrecords && !has_record; i++) {
		const struct batch_label *l = &b.labels[b.records[i].label];

		if (b.records[i].time_ns >= newest_ns && memmem(l->text, l->len, "agentp:ev000", 12) != NULL) {
			has_record = true;
			record_ns = clock_mono().ns;
		}
	}
	buf_u64(&ack, f->seq);
	send_frame(FRAME_ACK, &ack);
	pthread_mutex_unlock(&lock);
	buf_release(&ack);
	arena_release(&a);
}

static void
take_done(const struct frame *f, const uint8_t *data)
{
	struct arena a = { 0 };
	struct done d;
	struct err e;

	if (done_decode(&d, &a, data, f->length, &e) != 0)
		die(e.text);
	for (uint32_t i = 0; i < d.nresults; i++)
		if (d.results[i] == DONE_FAILED)
			die(d.failure);
	pthread_mutex_lock(&lock);
	done_epoch = d.epoch;
	pthread_mutex_unlock(&lock);
	arena_release(&a);
}

static void *
read_all(void *unused)
{
	uint8_t header[FRAME_HEADER_BYTES], *data;
	struct frame f;
	struct err e;

	(void)unused;
	for (;;) {
		if (stream_read(stream, header, sizeof(header), PATIENCE_MS, &e) != 0 || frame_open(&f, header, &e) != 0)
			die(e.text);
		data = malloc(f.length + 1);
		if (data == NULL || (f.length > 0 && stream_read(stream, data, f.length, PATIENCE_MS, &e) != 0) ||
		    frame_check(&f, header, data, &e) != 0)
			die(e.text);
		if (f.kind == FRAME_RECORDS)
			take_batch(&f, data);
		else if (f.kind == FRAME_DONE)
			take_done(&f, data);
		free(data);
	}
	return NULL;
}

/* Returns when it was sent. */
static int64_t
send_want(uint64_t epoch, bool on, int others)
{
	static char names[OTHERS_MAX + 1][32];
	struct toggle toggles[OTHERS_MAX + 1];
	struct rate rate = { "WORK", 1, 1 };
	struct want w = { epoch, LEASE_MS, 1, 1, 0, &rate, toggles };
	struct buf b = { 0 };
	int64_t now_ns;

	for (int i = on ? 0 : 1; i <= others; i++) {
		snprintf(names[i], sizeof(names[i]), "agentp:ev%03d", i);
		toggles[w.ntoggles++].name = names[i];
	}
	want_encode(&w, &b);
	pthread_mutex_lock(&lock);
	newest_ns = now_ns = clock_mono().ns;
	has_record = false;
	send_frame(FRAME_WANT, &b);
	pthread_mutex_unlock(&lock);
	buf_release(&b);
	return now_ns;
}

/* When the last program had it so; waits for that. */
static int64_t
all_are(bool on)
{
	struct mono began = clock_mono();
	int64_t last_ns = 0;

	for (int i = 0; i < nprograms; i++) {
		const struct program_state *p = programs[i];

		while (__atomic_load_n(&p->on, __ATOMIC_ACQUIRE) != on) {
			if (mono_since_ns(clock_mono(), began) / 1000000 > PATIENCE_MS)
				die("a program was never switched");
			usleep(200);
		}
		if ((on ? p->on_ns : p->off_ns) > last_ns)
			last_ns = on ? p->on_ns : p->off_ns;
	}
	return last_ns;
}

static int64_t
first_record(void)
{
	struct mono began = clock_mono();
	bool has = false;

	while (!has && mono_since_ns(clock_mono(), began) / 1000000 < PATIENCE_MS) {
		usleep(500);
		pthread_mutex_lock(&lock);
		has = has_record;
		pthread_mutex_unlock(&lock);
	}
	if (!has)
		die("no record came");
	return record_ns;
}

static void
wait_done(uint64_t epoch)
{
	struct mono began = clock_mono();
	bool is = false;

	while (!is && mono_since_ns(clock_mono(), began) / 1000000 < PATIENCE_MS) {
		usleep(500);
		pthread_mutex_lock(&lock);
		is = done_epoch >= epoch;
		pthread_mutex_unlock(&lock);
	}
	if (!is)
		die("an epoch never held");
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
report(const char *what, double *ms, int n)
{
	qsort(ms, (size_t)n, sizeof(*ms), by_size);
	printf("%-34s median %8.2f ms   p99 %8.2f ms   max %8.2f ms\n", what, ms[n / 2], ms[(n - 1) * 99 / 100], ms[n - 1]);
}

static void
measure(int rounds, int others)
{
	static double on[ROUNDS_MAX], record[ROUNDS_MAX], off[ROUNDS_MAX];
	uint64_t epoch = 1;

	send_want(epoch, false, others);
	wait_done(epoch);
	for (int i = 0; i < rounds; i++) {
		int64_t sent_ns = send_want(++epoch, true, others);

		on[i] = (double)(all_are(true) - sent_ns) / 1e6;
		record[i] = (double)(first_record() - sent_ns) / 1e6;
		wait_done(epoch);
		sent_ns = send_want(++epoch, false, others);
		off[i] = (double)(all_are(false) - sent_ns) / 1e6;
		wait_done(epoch);
	}
	printf("%d programs, %d other tracepoints on, %d rounds\n", nprograms, others, rounds);
	report("command to armed in all programs", on, rounds);
	report("command to dormant in all", off, rounds);
	report("command to its first record here", record, rounds);
}

static void
greet(struct listener *l)
{
	uint8_t header[FRAME_HEADER_BYTES], data[4096];
	struct buf b = { 0 };
	struct frame f;
	struct err e;

	if (listener_accept(l, &stream, PATIENCE_MS, &e) != 0 ||
	    stream_read(stream, header, sizeof(header), PATIENCE_MS, &e) != 0 || frame_open(&f, header, &e) != 0)
		die(e.text);
	if (f.kind != FRAME_HELLO || stream_read(stream, data, f.length, PATIENCE_MS, &e) != 0)
		die("no hello");
	welcome_encode(&(struct welcome){ 0 }, &b);
	send_frame(FRAME_WELCOME, &b);
	buf_release(&b);
}

int
main(int argc, char **argv)
{
	int rounds = argc > 4 ? atoi(argv[2]) : 0, others = argc > 4 ? atoi(argv[3]) : 0;
	struct listener *l;
	pthread_t reader;
	struct err e;

	if (rounds < 1 || rounds > ROUNDS_MAX || others < 0 || others > OTHERS_MAX || argc - 4 > PROGRAMS)
		die("usage: agent_toggle URL ROUNDS OTHERS STATE_FILE...");
	for (int i = 4; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY);

		programs[nprograms] = mmap(NULL, sizeof(*programs[0]), PROT_READ, MAP_SHARED, fd, 0);
		if (programs[nprograms++] == MAP_FAILED)
			die(argv[i]);
		close(fd);
	}
	if (listener_open(&l, argv[1], 0600, &e) != 0)
		die(e.text);
	greet(l);
	if (pthread_create(&reader, NULL, read_all, NULL) != 0)
		die("no thread");
	measure(rounds, others);
	_exit(fflush(stdout));
}
