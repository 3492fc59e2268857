/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * source_brief COUNT AT_ONCE LIVES SEED: runs COUNT programs, at most AT_ONCE in parallel. Each
 * lives for 5 to 50 ms and fires a numbered kinds:hot every half millisecond; one in eight then
 * executes itself and lives once more. Each life appends a line to the file LIVES: "PID BORN_NS
 * MAIN_NS ENDED_NS FIRST LAST FIRST_ARMED ARMED": the times when it was started, reached main() and
 * left it, its first and last number (the second life of a pid continues the count), the first
 * number whose tracepoint was enabled (0: none), and the number of firings while it was enabled.
 */
#define _GNU_SOURCE
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/scenario/program.h"
#include "tests/scenario/source_tp.h"

extern char **environ;

static void
say(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, line, strlen(line)) != (ssize_t)strlen(line))
		abort();
	close(fd);
}

/* live LIVES BORN_NS MS FIRST AGAIN */
static int
live(char **argv)
{
	int64_t main_ns = now_ns(), until_ns = main_ns + atol(argv[4]) * 1000000;
	uint64_t first = strtoull(argv[5], NULL, 10), n = first, first_armed = 0, armed = 0;
	char line[256], born[32], next[32];

	for (;; n++) {
		/* counts only firings that were enabled before and after, which must be recorded */
		bool before = lttng_ust_tracepoint_enabled(kinds, hot);
		lttng_ust_tracepoint(kinds, hot, n);
		if (before && lttng_ust_tracepoint_enabled(kinds, hot)) {
			first_armed = first_armed == 0 ? n : first_armed;
			armed++;
		}
		if (now_ns() >= until_ns)
			break;
		nanosleep(&(struct timespec){ 0, 500000 }, NULL);
	}
	int64_t ended_ns = now_ns();
	snprintf(line, sizeof line,
	    "%d %s %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
	    getpid(), argv[3], main_ns, ended_ns, first, n, first_armed, armed);
	say(argv[2], line);
	if (argv[6][0] == '0')
		return 0;
	snprintf(born, sizeof born, "%" PRId64, now_ns());
	snprintf(next, sizeof next, "%" PRIu64, n + 1);
	execv(argv[0],
	    (char *[]){ argv[0], argv[1], argv[2], born, argv[4], next, (char[]){ "0" }, NULL });
	return 1;
}

static void
start(const char *self, char *lives, unsigned *dice)
{
	char born[32], ms[16];
	pid_t pid;

	snprintf(born, sizeof born, "%" PRId64, now_ns());
	snprintf(ms, sizeof ms, "%d", 5 + rand_r(dice) % 46);
	char *again = rand_r(dice) % 8 == 0 ? (char[]){ "1" } : (char[]){ "0" };
	char *words[] = { (char *)(uintptr_t)self, (char[]){ "live" }, lives, born, ms,
		(char[]){ "1" }, again, NULL };
	if (posix_spawn(&pid, self, NULL, NULL, words, environ) != 0)
		abort();
}

int
main(int argc, char **argv)
{
	int running = 0;

	if (argc == 7 && strcmp(argv[1], "live") == 0)
		return live(argv);
	if (argc != 5)
		return 2;
	unsigned dice = (unsigned)atoi(argv[4]);
	for (int i = 0; i < atoi(argv[1]); i++) {
		start(argv[0], argv[3], &dice);
		if (++running >= atoi(argv[2]) && wait(NULL) > 0)
			running--;
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
