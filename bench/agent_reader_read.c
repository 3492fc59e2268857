/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * agent_reader_read OUTPUT NAME: cost of reading a recorded session, in ns of processor time a
 * record (files, metadata, decoding all fields, merging), and as a share of what babeltrace2 needs
 * for the same work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/reader/source_lttng.h"

enum { ROUNDS = 7 };

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Reads the whole session once. Returns ns of processor time for each record. */
static double
read_all(const char *output, uint64_t *records, uint64_t *sum)
{
	const struct source_options o = { .keep = true, .outside = true };
	const double start = cpu_ns();
	const int64_t from_ns = clock_mono().ns;
	struct source s;
	struct source_output t = { 0 };
	struct source_stats l;
	struct err e;

	if (source_lttng_open(&s, output, "/nowhere", "hone", &o, &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	while (t.watermark_ns < from_ns) {
		if (s.poll(s.state, clock_mono(), &t, &e) != 0) {
			fprintf(stderr, "%s\n", e.text);
			exit(1);
		}
		for (uint32_t i = 0; i < t.nrecords; i++)
			*sum += t.records[i].trace_id +
			        (t.records[i].nvalues > 0 ? t.records[i].values[0].u : 0);
		if (!t.more)
			poll(NULL, 0, 1);
	}
	s.stats(s.state, &l);
	if (l.lost[LOSS_DECODE] > 0)
		fprintf(stderr, "not all could be read: %s\n", l.trouble);
	s.close(s.state);
	*records = l.records;
	return (cpu_ns() - start) / (double)l.records;
}

static double
babeltrace_ns(const char *output, uint64_t records)
{
	struct rusage used;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execlp("babeltrace2", "babeltrace2", output, "--output-format=dummy", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status != 0) {
		fprintf(stderr, "babeltrace2 failed\n");
		exit(1);
	}
	return ((double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e9 +
		   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e3) /
	       (double)records;
}

int
main(int argc, char **argv)
{
	uint64_t records = 0, sum = 0;
	double ours = 1e18, theirs = 1e18;

	if (argc != 3)
		return 2;
	for (int i = 0; i < ROUNDS; i++) {
		double ns = read_all(argv[1], &records, &sum);
		ours = ns < ours ? ns : ours;
	}
	for (int i = 0; i < 2; i++) {
		double ns = babeltrace_ns(argv[1], records);
		theirs = ns < theirs ? ns : theirs;
	}
	printf("reader: %-28s %8lu records, %6.1f ns a record; babeltrace2 %7.1f: 1/%.1f of it\n",
	    argv[2], (unsigned long)records, ours, theirs, theirs / ours);
	return sum == 0 ? 1 : 0;
}
