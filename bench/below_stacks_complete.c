/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * below_stacks_complete NAME SAMPLES BYTES PID...: takes samples of all threads of running processes by ptrace(2), one every
 * millisecond, and prints how many of their stacks are complete and what that costs. SHOW=N prints N stacks.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/below/stacks/sampled.h"

static double
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* CPU time of this process and of its child, which reads the files. */
static double
cpu_us(void)
{
	char path[64];
	clockid_t clock;
	struct timespec t;
	int child = 0;
	FILE *f;
	double us;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	if ((f = fopen(path, "r")) == NULL || fscanf(f, "%d", &child) != 1)
		child = 0;
	if (f != NULL)
		fclose(f);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	us = (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
	if (child > 0 && clock_getcpuclockid(child, &clock) == 0 && clock_gettime(clock, &t) == 0)
		us += (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
	return us;
}

int
main(int argc, char **argv)
{
	static const char *const ends[] = { "complete", "bytes missed", "no rules", "replaced",
		"unmapped", "too deep", "no process", "given up" };
	static struct sampled taken;
	struct stacks_limits limits = { 0 };
	struct stacks_counts c;
	struct stacks *s;
	struct code_place p;
	struct err e;
	long wanted = argc > 4 ? atol(argv[2]) : 0,
	     shown = getenv("SHOW") != NULL ? atol(getenv("SHOW")) : 0;
	enum { AGAIN = 1000 };
	double again_us, first_us = 0, most_us = 0, rest_us = 0, lines = 0, functions = 0;

	if (wanted < 2 || stacks_open(&s, &limits, &e) != 0) {
		fprintf(stderr, "usage: below_stacks_complete NAME SAMPLES BYTES PID...\n");
		return 2;
	}
	for (long n = 0, rounds = 0; n < wanted && rounds < wanted; rounds++)
		for (int i = 4; i < argc; i++) {
			pid_t pid = atoi(argv[i]);
			char path[64];
			struct dirent *d;
			DIR *dir;

			snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
			if ((dir = opendir(path)) == NULL)
				continue;
			while (n < wanted && (d = readdir(dir)) != NULL) {
				double began;

				if (atoi(d->d_name) == 0 ||
				    !sampled_take(
					&taken, pid, atoi(d->d_name), (size_t)atol(argv[3])))
					continue;
				began = now_us();
				stacks_place(s, &taken.sample, &p);
				began = now_us() - began;
				if (n++ == 0)
					first_us = began;
				else
					rest_us += began;
				most_us = began > most_us ? began : most_us;
				lines += p.line != 0;
				functions += strstr(p.function, "+0x") == NULL;
				if (n % 97 == 0 && shown-- > 0)
					printf("  %s: %s\n", ends[p.end], p.folded);
				usleep(1000);
			}
			closedir(dir);
		}
	stacks_counts(s, &c);
	/* The last stack again: all its addresses are known. */
	again_us = cpu_us();
	for (int i = 0; i < AGAIN; i++)
		stacks_place(s, &taken.sample, &p);
	again_us = (cpu_us() - again_us) / AGAIN;
	printf(
	    "%-10s %6lu samples, %4.1f %% complete, %4.1f frames, %lu addresses named, %.0f %% with function, %.0f %% with line, "
	    "first %.1f ms, most %.1f ms, others %.0f us, "
	    "a stack of %u known frames %.0f us of CPU time;",
	    argv[1], (unsigned long)c.samples,
	    100.0 * (double)c.ends[STACK_COMPLETE] / (double)c.samples,
	    (double)c.frames / (double)c.samples, (unsigned long)c.names,
	    100 * functions / (double)c.samples, 100 * lines / (double)c.samples, first_us / 1e3,
	    most_us / 1e3, rest_us / (double)(c.samples - 1), p.frames, again_us);
	for (int i = 1; i <= STACK_GIVEN_UP; i++)
		if (c.ends[i] > 0)
			printf(" %s %lu", ends[i], (unsigned long)c.ends[i]);
	printf("\n");
	stacks_close(s);
	return 0;
}
