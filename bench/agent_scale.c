/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * agent_scale URL AGENT_PID_FILE SESSIOND STATE_FILE...: acts as the controller of a node with many
 * programs of 2000 tracepoints each, and measures:
 *
 *  - toggles, while 0, 20 and 100 other tracepoints are enabled: the time from the command until the
 *    last program has the tracepoint enabled (some programs watch the enabler state in their own
 *    memory), and, for a tracepoint that was never enabled before, until the agent reports it;
 *  - the agent's memory: current and peak; its processor time while idle;
 *  - processor time for a record, of the agent's threads and of the tracer's daemons, at several
 *    rates.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/agent_scale_program.h"
#include "tests/common/accepted.h"
#include "wire/agent_messages.h"
#include "wire/frame.h"
#include "wire/toggle.h"

enum {
	PATIENCE_MS = 30000,
	PROGRAMS = 64,
	OTHERS_MAX = 100,
	LEASE_MS = 600000,
	ROUNDS = 60,
	FIRSTS = 30,
	THREADS = 64
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct accepted *accepted;
static uint64_t done_epoch, epoch, records, lost, programs_told;
static int64_t done_ns;

static struct scale_state *programs[PROGRAMS];
static int nprograms;
static pid_t agent, sessiond;

static void
die(const char *words)
{
	fprintf(stderr, "agent_scale: %s\n", words);
	exit(1);
}

/* ---- the link ---- */

static void
send_frame(enum frame_kind kind, const struct buf *b)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct err e;

	frame_seal(header, kind, 0, b->data, b->len);
	pthread_mutex_lock(&lock);
	if (accepted_write(accepted, header, sizeof header, PATIENCE_MS, &e) != 0 ||
	    accepted_write(accepted, b->data, b->len, PATIENCE_MS, &e) != 0)
		die(e.text);
	pthread_mutex_unlock(&lock);
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
	__atomic_fetch_add(&records, b.nrecords, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < b.nlosses; i++)
		__atomic_fetch_add(&lost, b.losses[i].count, __ATOMIC_RELAXED);
	buf_u64(&ack, f->seq);
	send_frame(FRAME_ACK, &ack);
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
	__atomic_store_n(&done_ns, clock_mono().ns, __ATOMIC_RELEASE);
	__atomic_store_n(&done_epoch, d.epoch, __ATOMIC_RELEASE);
	arena_release(&a);
}

static void
take_programs(const struct frame *f, const uint8_t *data)
{
	struct arena a = { 0 };
	struct programs p;
	struct err e;

	if (programs_decode(&p, &a, data, f->length, &e) != 0)
		die(e.text);
	for (uint32_t i = 0; i < p.nprograms; i++)
		if (p.programs[i].count < 2000)
			p.nprograms = 0;
	__atomic_store_n(&programs_told, p.nprograms, __ATOMIC_RELEASE);
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
		if (accepted_read(accepted, header, sizeof header, PATIENCE_MS, &e) != 0 ||
		    frame_open(&f, header, &e) != 0)
			die(e.text);
		data = malloc(f.length + 1);
		if (data == NULL ||
		    (f.length > 0 &&
			accepted_read(accepted, data, f.length, PATIENCE_MS, &e) != 0) ||
		    frame_check(&f, header, data, &e) != 0)
			die(e.text);
		if (f.kind == FRAME_RECORDS)
			take_batch(&f, data);
		else if (f.kind == FRAME_DONE)
			take_done(&f, data);
		else if (f.kind == FRAME_PROGRAMS)
			take_programs(&f, data);
		free(data);
	}
	return NULL;
}

static void
greet(struct listen_socket *l)
{
	uint8_t header[FRAME_HEADER_BYTES], data[4096];
	struct buf b = { 0 };
	struct frame f;
	struct err e;

	if (accepted_open(&accepted, l, PATIENCE_MS, &e) != 0 ||
	    accepted_read(accepted, header, sizeof header, PATIENCE_MS, &e) != 0 ||
	    frame_open(&f, header, &e) != 0)
		die(e.text);
	if (f.kind != FRAME_HELLO || accepted_read(accepted, data, f.length, PATIENCE_MS, &e) != 0)
		die("no hello");
	welcome_encode(&(struct welcome){ 0 }, &b);
	send_frame(FRAME_WELCOME, &b);
	buf_release(&b);
}

static void
await(const char *what, bool (*is)(uint64_t), uint64_t arg)
{
	for (struct mono began = clock_mono(); !is(arg); usleep(200))
		if (mono_since_ns(clock_mono(), began) / 1000000 > PATIENCE_MS)
			die(what);
}

static bool
is_done(uint64_t wanted)
{
	return __atomic_load_n(&done_epoch, __ATOMIC_ACQUIRE) >= wanted;
}

static bool
are_told(uint64_t wanted)
{
	return __atomic_load_n(&programs_told, __ATOMIC_ACQUIRE) >= wanted;
}

/* others: how many tracepoints from scale:t1000 on to enable; more: the number of one further
 * tracepoint, or -1. Returns when the desired state was sent. */
static int64_t
send_want(int others, int more)
{
	static char names[OTHERS_MAX + 1][32];
	struct toggle toggles[OTHERS_MAX + 1] = { 0 };
	struct rate rate = { "WORK", 1, 1 };
	struct want w = { ++epoch, LEASE_MS, 1, 1, 0, &rate, toggles };
	struct buf b = { 0 };
	int64_t now_ns;

	for (int i = 0; i < others + (more >= 0); i++) {
		snprintf(names[i], sizeof names[i], "scale:t%04d", i < others ? 1000 + i : more);
		toggles[w.ntoggles++].name = names[i];
	}
	want_encode(&w, &b);
	now_ns = clock_mono().ns;
	send_frame(FRAME_WANT, &b);
	buf_release(&b);
	return now_ns;
}

/* ---- toggles ---- */

/* The first and the last program to be told, and some between them; watching in all programs
 * would keep the processors busy. */
static bool
is_watched(int i)
{
	return i == 0 || i == nprograms - 1 || i % 7 == 3;
}

static void
watch_some(bool on)
{
	for (int i = 0; i < nprograms; i++)
		__atomic_store_n(&programs[i]->watching, on && is_watched(i), __ATOMIC_RELEASE);
}

static bool
all_are(uint64_t on)
{
	for (int i = 0; i < nprograms; i++)
		if (is_watched(i) && __atomic_load_n(&programs[i]->on, __ATOMIC_ACQUIRE) != on)
			return false;
	return true;
}

static int64_t
last_ns(bool on)
{
	int64_t last = 0;

	for (int i = 0; i < nprograms; i++)
		if (is_watched(i) && (on ? programs[i]->on_ns : programs[i]->off_ns) > last)
			last = on ? programs[i]->on_ns : programs[i]->off_ns;
	return last;
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
	qsort(ms, (size_t)n, sizeof *ms, by_size);
	printf("  %-44s median %7.2f ms   p99 %7.2f ms   max %7.2f ms\n", what, ms[(n - 1) / 2],
	    ms[(n * 99 + 99) / 100 - 1], ms[n - 1]);
}

static void
toggles(int others)
{
	static double first[FIRSTS], on[ROUNDS], off[ROUNDS];
	static int fresh = 100;
	int64_t sent_ns, all_ns;

	sent_ns = send_want(others, -1);
	await("the others never came on", is_done, epoch);
	all_ns = done_ns - sent_ns;
	usleep(1500000); /* the agent may open a session ahead */
	watch_some(true);
	for (int i = 0; i < ROUNDS; i++) {
		sent_ns = send_want(others, 0);
		await("it never came on", all_are, 1);
		on[i] = (double)(last_ns(true) - sent_ns) / 1e6;
		await("no done", is_done, epoch);
		sent_ns = send_want(others, -1);
		await("it never went off", all_are, 0);
		off[i] = (double)(last_ns(false) - sent_ns) / 1e6;
		await("no done", is_done, epoch);
		usleep(20000);
	}
	watch_some(false);
	for (int i = 0; i < FIRSTS; i++) {
		sent_ns = send_want(others, fresh++);
		await("no done", is_done, epoch);
		first[i] = (double)(done_ns - sent_ns) / 1e6;
		send_want(others, -1);
		await("no done", is_done, epoch);
		usleep(20000);
	}
	printf("toggles with %d others on (those took %.0f ms together)\n", others,
	    (double)all_ns / 1e6);
	report("command to armed in all programs", on, ROUNDS);
	report("command to dormant in all programs", off, ROUNDS);
	report("never on before: command to done", first, FIRSTS);
	fflush(stdout);
}

/* ---- cost ---- */

static long
status_kib(const char *key)
{
	char path[64], line[256];
	long kib = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)agent);
	if ((f = fopen(path, "r")) == NULL)
		die("no agent");
	while (fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			kib = atol(line + strlen(key));
	fclose(f);
	return kib;
}

static void
memory(const char *when)
{
	printf("memory %-42s %6.1f MiB resident, %6.1f at most since it began\n", when,
	    (double)status_kib("VmRSS:") / 1024, (double)status_kib("VmHWM:") / 1024);
	fflush(stdout);
}

struct thread {
	pid_t tid;
	uint64_t ns;
};

/* Nanoseconds of processor time of each thread of a process. */
static int
threads_of(pid_t pid, struct thread *list)
{
	char path[300];
	struct dirent *d;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	if ((dir = opendir(path)) == NULL)
		return 0;
	while ((d = readdir(dir)) != NULL && n < THREADS) {
		unsigned long long ns = 0;
		FILE *f;

		snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, d->d_name);
		if (d->d_name[0] == '.' || (f = fopen(path, "r")) == NULL)
			continue;
		if (fscanf(f, "%llu", &ns) == 1)
			list[n++] = (struct thread){ (pid_t)atoi(d->d_name), ns };
		fclose(f);
	}
	closedir(dir);
	return n;
}

static uint64_t
sum_of(pid_t pid)
{
	struct thread list[THREADS];
	uint64_t ns = 0;

	for (int i = threads_of(pid, list); i-- > 0;)
		ns += list[i].ns;
	return ns;
}

/* The session daemon and its children, of which each belongs to the thread that made it. */
static uint64_t
tracer_ns_of(void)
{
	struct thread list[THREADS];
	uint64_t ns = sum_of(sessiond);

	for (int i = threads_of(sessiond, list); i-- > 0;) {
		char path[64];
		FILE *f;
		int child;

		snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)sessiond,
		    (int)list[i].tid);
		if ((f = fopen(path, "r")) == NULL)
			continue;
		while (fscanf(f, "%d", &child) == 1)
			ns += sum_of((pid_t)child);
		fclose(f);
	}
	return ns;
}

static void
cost(const char *what, uint64_t rate, int seconds)
{
	struct thread before[THREADS], after[THREADS];
	uint64_t records_before, lost_before, main_ns = 0, other_ns = 0, tracer_ns, came;
	int nbefore, nafter;

	for (int i = 0; i < nprograms; i++)
		__atomic_store_n(
		    &programs[i]->rate, i < 4 ? rate / 4 / (FIRED_EACH + 2) : 0, __ATOMIC_RELEASE);
	usleep(700000);
	records_before = __atomic_load_n(&records, __ATOMIC_RELAXED);
	lost_before = __atomic_load_n(&lost, __ATOMIC_RELAXED);
	tracer_ns = tracer_ns_of();
	nbefore = threads_of(agent, before);
	sleep((unsigned)seconds);
	nafter = threads_of(agent, after);
	tracer_ns = tracer_ns_of() - tracer_ns;
	came = __atomic_load_n(&records, __ATOMIC_RELAXED) - records_before;
	for (int i = 0; i < nafter; i++)
		for (int k = 0; k < nbefore; k++)
			if (before[k].tid == after[i].tid)
				*(after[i].tid == agent ? &main_ns : &other_ns) += after[i].ns -
				                                                   before[k].ns;
	printf(
	    "%-38s %7.0f records/s: agent %5.2f %% of a core (reading and packing %5.2f, sending %5.2f), tracer's daemons %5.2f "
	    "%%\n",
	    what, (double)came / seconds, (double)(main_ns + other_ns) / 1e7 / seconds,
	    (double)main_ns / 1e7 / seconds, (double)other_ns / 1e7 / seconds,
	    (double)tracer_ns / 1e7 / seconds);
	if (came > 1000 && rate > 0)
		printf(
		    "  a record: agent %.3f us (reading and packing %.3f, sending %.3f), tracer's daemons %.3f us; lost %llu\n",
		    (double)(main_ns + other_ns) / 1e3 / (double)came,
		    (double)main_ns / 1e3 / (double)came, (double)other_ns / 1e3 / (double)came,
		    (double)tracer_ns / 1e3 / (double)came,
		    (unsigned long long)(__atomic_load_n(&lost, __ATOMIC_RELAXED) - lost_before));
	fflush(stdout);
}

static void
measure(void)
{
	await("the programs were never told of", are_told, (uint64_t)nprograms);
	send_want(0, -1);
	await("no done", is_done, epoch);
	memory("programs listed");
	cost("idle, nothing added", 0, 4);
	toggles(0);
	send_want(0, 1);
	await("no done", is_done, epoch);
	cost("one added", 10000, 4);
	cost("one added", 50000, 4);
	cost("one added", 200000, 4);
	memory("after 200000 records/s");
	cost("idle", 0, 2);
	toggles(20);
	toggles(100);
	memory("100 added");
	cost("idle, 100 added", 0, 4);
	send_want(100, 1);
	await("no done", is_done, epoch);
	cost("101 added", 50000, 4);
	memory("at the end");
}

int
main(int argc, char **argv)
{
	struct listen_socket *l;
	pthread_t reader;
	struct err e;

	if (argc < 5 || argc - 4 > PROGRAMS)
		die("usage: agent_scale URL AGENT_PID_FILE SESSIOND STATE_FILE...");
	sessiond = atoi(argv[3]);
	for (int i = 4; i < argc; i++) {
		int fd = open(argv[i], O_RDWR);

		programs[nprograms] = mmap(
		    NULL, sizeof *programs[0], PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (programs[nprograms++] == MAP_FAILED)
			die(argv[i]);
		close(fd);
	}
	if (accepted_listen(&l, argv[1], &e) != 0)
		die(e.text);
	greet(l);
	FILE *f = fopen(argv[2], "r");
	if (f == NULL || fscanf(f, "%d", &agent) != 1)
		die("no agent");
	if (pthread_create(&reader, NULL, read_all, NULL) != 0)
		die("no thread");
	measure();
	_exit(fflush(stdout));
}
