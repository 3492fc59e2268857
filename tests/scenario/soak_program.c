/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * soak_program MODE ENDS LATE_LIBRARY: a traced program whose lifetime and end MODE selects:
 *
 *	steady	two threads work until SIGTERM
 *	brief	works for 50 ms
 *	fork	three children of fork() work; the parent waits for them
 *	exec	works, then executes the brief mode under its name with a "d" appended
 *	crash	two threads work until one of them dereferences a null pointer
 *	late	loads LATE_LIBRARY while it works
 *	three	works until three of its requests were sampled, or for 20 s
 *
 * Each thread numbers its sampled requests, from 1: the number is the status of hone:request_end. A thread that ends normally appends "NAME PID TID LAST_NUMBER BEGAN_NS ENDED_NS" to the file ENDS. Children of fork() are numbered only where liblttng-ust-fork is loaded: otherwise LTTng records their
 * parent's pid.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "instrument/hone.h"
#include "tests/scenario/program.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/soak_tp.h"

struct work {
	long ms;       /* 0: until SIGTERM */
	uint32_t most; /* sampled requests; 0: any number */
	bool crash;    /* in the middle of its last request */
	void (*late)(uint32_t n);
};

static volatile sig_atomic_t stop;
static const char *ends;
static bool numbered = true;
static __thread uint32_t
    number; /* of the thread's last request; continues over several calls of work */

static bool
sampled(void)
{
	struct hone_unit u;

	hone_detach(&u);
	hone_attach(&u);
	return u.carrier.sampled;
}

/* About every eighth request, at random, is slow: the cause to be found. */
static void
think(uint32_t n, unsigned *dice)
{
	bool deep = rand_r(dice) % 8 == 0;

	lttng_ust_tracepoint(soak, think_begin, n, "");
	if (deep)
		lttng_ust_tracepoint(soak, think_deep, n, "deep");
	wait_us(deep ? 3000 : 500);
	lttng_ust_tracepoint(soak, think_end, n, "");
}

static void
serve(const struct work *w, unsigned *dice, bool last)
{
	uint32_t n = number;
	bool seen;

	hone_request_begin("WORK", NULL);
	seen = sampled();
	lttng_ust_tracepoint(soak, read_begin, n, "from somewhere");
	lttng_ust_tracepoint(soak, parse, n, "GET / HTTP/1.1");
	lttng_ust_tracepoint(soak, read_end, n, "");
	think(n, dice);
	if (last && w->crash)
		*(volatile int *)NULL = 0;
	lttng_ust_tracepoint(soak, write_begin, n, "");
	if (w->late != NULL)
		w->late(n);
	lttng_ust_tracepoint(soak, write_flush, n, "");
	lttng_ust_tracepoint(soak, write_end, n, "");
	hone_request_end(numbered && seen ? (int)++number : 0);
	wait_us(4000 + rand_r(dice) % 4000);
}

static void
note_end(int64_t began_ns)
{
	char line[128];
	int fd, len = snprintf(line, sizeof line, "%s %d %d %u %lld %lld\n",
		    program_invocation_short_name, getpid(), gettid(), number, (long long)began_ns,
		    (long long)now_ns());

	if (!numbered || (fd = open(ends, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) < 0)
		return;
	if (write(fd, line, (size_t)len) != len)
		abort();
	close(fd);
}

static void *
work(void *arg)
{
	static __thread int64_t began_ns;
	const struct work *w = arg;
	int64_t until_ns = w->ms > 0 ? now_ns() + w->ms * 1000000 : INT64_MAX;
	unsigned dice = (unsigned)gettid();

	if (began_ns == 0)
		began_ns = now_ns();
	while (!stop && now_ns() < until_ns && (w->most == 0 || number < w->most))
		serve(w, &dice, false);
	if (w->crash)
		serve(w, &dice, true);
	note_end(began_ns);
	return NULL;
}

static void
work_twice(struct work *w)
{
	pthread_t other;

	if (pthread_create(&other, NULL, work, w) != 0)
		abort();
	work(w);
	pthread_join(other, NULL);
}

static void
fork_three(struct work *w)
{
	bool ours = numbered;

	numbered = ours && getenv("LD_PRELOAD") != NULL &&
	           strstr(getenv("LD_PRELOAD"), "ust-fork") != NULL;
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			work(w);
			if (!numbered) /* LTTng's destructors may wait for a lock that its thread
			                  held in the parent */
				_exit(0);
			exit(0);
		}
	numbered = ours;
	work(w);
	while (wait(NULL) > 0)
		;
}

static void
on_term(int signal)
{
	(void)signal;
	stop = 1;
}

int
main(int argc, char **argv)
{
	struct work w = { .ms = 200 };
	char becomes[4096];
	void *library;

	if (argc != 4) {
		fprintf(stderr, "usage: soak_program MODE ENDS LATE_LIBRARY\n");
		return 2;
	}
	ends = argv[2];
	signal(SIGTERM, on_term);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	if (strcmp(argv[1], "steady") == 0) {
		w.ms = 0;
		work_twice(&w);
	} else if (strcmp(argv[1], "brief") == 0) {
		w.ms = 50;
		work(&w);
	} else if (strcmp(argv[1], "three") == 0) {
		w = (struct work){ .ms = 20000, .most = 3 };
		work(&w);
	} else if (strcmp(argv[1], "fork") == 0) {
		fork_three(&w);
	} else if (strcmp(argv[1], "exec") == 0) {
		work(&w);
		snprintf(becomes, sizeof becomes, "%sd", argv[0]);
		execl(becomes, becomes, "brief", argv[2], argv[3], NULL);
		return 1;
	} else if (strcmp(argv[1], "crash") == 0) {
		w.crash = true;
		work_twice(&w);
	} else if (strcmp(argv[1], "late") == 0) {
		work(&w);
		if ((library = dlopen(argv[3], RTLD_NOW)) == NULL ||
		    (*(void **)&w.late = dlsym(library, "soak_late")) == NULL) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		work(&w);
	} else {
		return 2;
	}
	return 0;
}
