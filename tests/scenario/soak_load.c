/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * soak_load SEED EVERY_MS DIR ENDS LATE_LIBRARY: until SIGTERM, starts a soak_program about every
 * EVERY_MS, of a mode that depends on the seed, under a name in DIR; kills some of them at random
 * moments; prints how many ended in which way.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "tests/scenario/program.h"

enum { LIVE_MAX = 12 };

struct child {
	pid_t pid;
	int64_t kill_ns; /* 0: it ends by itself */
};

static const struct {
	const char *name, *mode;
	bool killed, preload;
} ways[] = {
	{ "soak_brief", "brief" },
	{ "soak_fork", "fork" },
	{ "soak_prefork", "fork", .preload = true },
	{ "soak_exec", "exec" },
	{ "soak_crash", "crash" },
	{ "soak_late", "late" },
	{ "soak_killed", "steady", .killed = true },
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static volatile sig_atomic_t stop;
static struct child live[LIVE_MAX];
static unsigned long started[WAYS], ended_well, killed, crashed, failed;
extern char **environ;

static void
on_term(int signal)
{
	(void)signal;
	stop = 1;
}

static void
start(struct child *c, struct rng *dice, char **argv)
{
	int way = (int)rng_below(dice, WAYS);
	char path[4096];
	char *args[] = { path, (char *)ways[way].mode, argv[4], argv[5], NULL };

	snprintf(path, sizeof path, "%s/%s", argv[3], ways[way].name);
	if (ways[way].preload)
		setenv("LD_PRELOAD", "liblttng-ust-fork.so.1", 1);
	else
		unsetenv("LD_PRELOAD");
	if (posix_spawn(&c->pid, path, NULL, NULL, args, environ) != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	c->kill_ns = ways[way].killed ? now_ns() + (int64_t)rng_below(dice, 1000) * 1000000 : 0;
	started[way]++;
}

static void
count_end(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		killed++;
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
		crashed++;
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		ended_well++;
	else
		failed++;
}

static int
look_after(struct child *c)
{
	int status;

	if (c->pid != 0 && c->kill_ns != 0 && now_ns() >= c->kill_ns) {
		kill(c->pid, SIGKILL);
		c->kill_ns = 0;
	}
	if (c->pid != 0 && waitpid(c->pid, &status, WNOHANG) == c->pid) {
		count_end(status);
		c->pid = 0;
	}
	return c->pid != 0;
}

int
main(int argc, char **argv)
{
	int64_t next_ns = now_ns(), every_ns;
	struct rng dice;
	int nlive;

	if (argc != 6) {
		fprintf(stderr, "usage: soak_load SEED EVERY_MS DIR ENDS LATE_LIBRARY\n");
		return 2;
	}
	rng_seed(&dice, strtoull(argv[1], NULL, 10));
	every_ns = atoll(argv[2]) * 1000000;
	signal(SIGTERM, on_term);
	do {
		nlive = 0;
		for (int i = 0; i < LIVE_MAX; i++) {
			if (live[i].pid == 0 && !stop && now_ns() >= next_ns) {
				start(&live[i], &dice, argv);
				next_ns = now_ns() + every_ns / 2 +
				          (int64_t)rng_below(&dice, (uint64_t)every_ns);
			}
			nlive += look_after(&live[i]);
		}
		usleep(5000);
	} while (!stop || nlive > 0);
	for (int i = 0; i < WAYS; i++)
		printf("started %s %lu\n", ways[i].name, started[i]);
	printf("they ended well: %lu, killed: %lu, crashed: %lu, failed: %lu\n", ended_well, killed,
	    crashed, failed);
	return failed > 0;
}
