/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * matrix_program STATE_FILE REQUESTS_PER_SECOND: a program that Hone and another user's session
 * trace. Writes to STATE_FILE (matrix_state.h) which of its tracepoints are enabled, and for how
 * long calls into the tracer blocked it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "instrument/hone.h"
#include "tests/scenario/matrix_state.h"
#include "tests/scenario/program.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/agent_program_tp.h"
#include "tests/scenario/matrix_tp.h"
#include "tests/usdt_note.h"

enum { LOOK_EVERY_US = 5000, OTHERS = MATRIX_TRACEPOINTS - 1, WAIT_MIN_US = 100 };

static struct matrix_program *state;
static volatile sig_atomic_t continued;

static void
on_continue(int signal_number)
{
	(void)signal_number;
	continued = continued + 1;
}

/* ---- a probe in the code, of hone-below ---- */

enum { NOP = 0x90 };
extern const volatile uint8_t matrix_probe_place[] __asm__("matrix_probe_place");

static __attribute__((noinline, noclone)) void
pass_probe(uint64_t number)
{
	USDT_PROBE_AT("matrix_probe_place: ", "matrix", "serve", number);
}

/* ---- which are armed: one word for each in the program's memory ---- */

/* clang-format off */
#define EACH_OF_TEN(do, tens) do(tens##0) do(tens##1) do(tens##2) do(tens##3) do(tens##4) \
	do(tens##5) do(tens##6) do(tens##7) do(tens##8) do(tens##9)
#define EACH(do) EACH_OF_TEN(do, ev00) EACH_OF_TEN(do, ev01) EACH_OF_TEN(do, ev02) EACH_OF_TEN(do, ev03) \
	EACH_OF_TEN(do, ev04) EACH_OF_TEN(do, ev05) EACH_OF_TEN(do, ev06) EACH_OF_TEN(do, ev07) \
	EACH_OF_TEN(do, ev08) EACH_OF_TEN(do, ev09) EACH_OF_TEN(do, ev10) EACH_OF_TEN(do, ev11) \
	EACH_OF_TEN(do, ev12) EACH_OF_TEN(do, ev13) EACH_OF_TEN(do, ev14)
/* clang-format on */

static void
look(void)
{
	uint64_t armed[3] = { 0 };
	unsigned at = 0;

#define LOOK(name)                                                                                \
	armed[at / 64] |= (uint64_t)(lttng_ust_tracepoint_enabled(agentp, name) != 0) << at % 64; \
	at++;
	EACH(LOOK)
#undef LOOK
	for (int i = 0; i < 3; i++)
		put(&state->armed[i], armed[i]);
	put(&state->others, (uint64_t)(lttng_ust_tracepoint_enabled(somebody, tick) != 0) |
				(armed[OTHERS / 64] >> OTHERS % 64 & 1) << 1);
	armed[OTHERS / 64] &= ~(UINT64_C(1) << OTHERS % 64);
	armed[MATRIX_PROBE / 64] |= (uint64_t)(*matrix_probe_place != NOP) << MATRIX_PROBE % 64;
	if ((armed[0] | armed[1] | armed[2]) != 0)
		put(&state->armed_ns, now_ns());
	put(&state->looked, state->looked + 1);
}

static void *
watch(void *unused)
{
	(void)unused;
	for (;; wait_us(LOOK_EVERY_US))
		look();
	return NULL;
}

/* ---- how long the tracer holds us up ---- */

/* How long this thread has run, or waited for a processor to run on. */
static int64_t
runnable_ns(int schedstat)
{
	char text[128];
	int64_t ran_ns, waited_ns;
	ssize_t n = pread(schedstat, text, sizeof text - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%" SCNd64 " %" SCNd64, &ran_ns, &waited_ns) == 2 ? ran_ns + waited_ns
	                                                                      : 0;
}

struct part {
	int64_t began_ns, runnable_ns;
	sig_atomic_t continued;
};

static void
part_begin(struct part *p, int schedstat)
{
	p->continued = continued;
	p->runnable_ns = runnable_ns(schedstat);
	p->began_ns = now_ns();
}

static unsigned
bucket_of(int64_t ns)
{
	unsigned octave, bucket;

	if (ns < 128)
		return 0;
	octave = 63 - (unsigned)__builtin_clzll((unsigned long long)ns);
	bucket = (octave - 7) * 8 + (unsigned)(ns >> (octave - 3) & 7) + 1;
	return bucket < MATRIX_BUCKETS ? bucket : MATRIX_BUCKETS - 1;
}

/* A part in which all of the node was suspended says nothing of the tracer. */
static void
part_end(struct part *p, int schedstat)
{
	int64_t took_ns = now_ns() - p->began_ns, blocked_ns;

	if (p->continued != continued)
		return;
	blocked_ns = took_ns - (runnable_ns(schedstat) - p->runnable_ns);
	put(&state->took[bucket_of(took_ns)], state->took[bucket_of(took_ns)] + 1);
	if (took_ns > get(&state->took_longest_ns))
		put(&state->took_longest_ns, took_ns);
	if (blocked_ns > get(&state->blocked_longest_ns))
		put(&state->blocked_longest_ns, blocked_ns);
}

/* ---- requests ---- */

static bool
sampled(void)
{
	struct hone_unit unit;

	hone_detach(&unit);
	hone_attach(&unit);
	return unit.carrier.sampled != 0;
}

static long
waits(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

/* Does not return before it has left its CPU: the timer of a short sleep may expire before that. */
static void
sleep_us(long us)
{
	long before = waits();

	do
		wait_us(us);
	while (waits() == before);
}

#define FIRE(name) lttng_ust_tracepoint(agentp, name, number)

/* Most of its time lies between ev004 and ev005, and varies: for a diagnosis to find. It sleeps there, so each request has a wait. */
static void
serve(uint64_t number, int schedstat, long work_us)
{
	struct hone_carrier from = {
		.trace_id_high = 1, .trace_id = state->pid << 32 | number, .link_id = 1
	};
	struct part part;

	part_begin(&part, schedstat);
	hone_request_begin("WORK", &from);
	FIRE(ev000);
	FIRE(ev001);
	FIRE(ev002);
	FIRE(ev003);
	FIRE(ev004);
	lttng_ust_tracepoint(somebody, tick, number);
	part_end(&part, schedstat);
	sleep_us(work_us);
	part_begin(&part, schedstat);
	pass_probe(number);
	FIRE(ev005);
	FIRE(ev006);
	FIRE(ev007);
	FIRE(ev008);
	FIRE(ev149);
	if (sampled()) {
		if (hone_trace_id() != from.trace_id)
			put(&state->failed, state->failed + 1);
		put(&state->numbered, state->numbered + 1);
	}
	hone_request_end(200);
	part_end(&part, schedstat);
	put(&state->requests, state->requests + 1);
}

int
main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1, schedstat;
	long rate = argc == 3 ? atol(argv[2]) : 0, pause_us;
	unsigned short dice[3] = { 1, 2, (unsigned short)getpid() };
	pthread_t watcher;

	if (fd < 0 || rate < 1 || rate > 5000 || ftruncate(fd, sizeof *state) != 0) {
		fprintf(stderr, "usage: matrix_program STATE_FILE REQUESTS_PER_SECOND\n");
		return 2;
	}
	state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (state == MAP_FAILED || schedstat < 0)
		return 1;
	signal(SIGCONT, on_continue);
	state->pid = (uint64_t)getpid();
	if (pthread_create(&watcher, NULL, watch, NULL) != 0)
		return 1;
	for (pause_us = 1000000 / rate / 2;; wait_us(pause_us)) {
		serve(state->numbered, schedstat,
		    WAIT_MIN_US + (long)((double)pause_us * 2 * erand48(dice)));
		put(&state->suspended, (uint64_t)continued);
	}
}
