/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hone-cost SESSION FOLDER [--end]: measures the processor time in ns that a record costs on this
 * machine, and that a record costs which the filter rejects. hone-agent runs it once; and again with
 * --end, which only ends the session, if a run before was killed.
 *
 * It creates a session like Hone's (per-process buffers, the same contexts and filter), in overwrite
 * mode in memory, which is not read out. It runs itself as the traced program, within a unit that is
 * probed or not, but not sampled, so that other tracing of the node sees no request. At its end it
 * removes SESSION and FOLDER; if it is killed, the agent or its guardian does, which know both names.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <limits.h>
#include <lttng/lttng.h>

#include "agent/main/cost.h"
#include "agent/system/folder.h"
#include "agent/tracer/tracer.h"
#include "instrument/hone.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "agent/cost/six_tp.h"

enum { ROUNDS = 5, CALLS = 20000, SECONDS_MAX = 4 };

#define CHANNEL "cost"

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ns for each call of the tracepoint in a probed unit, or in one that is not: the median of ROUNDS,
 * since other processes disturb some of them. */
static double
measure(bool probed)
{
	const struct hone_carrier c = { .trace_id = 1, .probed = probed };
	double ns[ROUNDS];

	hone_unit_begin(&c, "cost");
	for (int round = -1; round < ROUNDS; round++) { /* round -1 fills the caches */
		double begin_ns = cpu_ns();

		for (int i = 0; i < CALLS; i++)
			lttng_ust_tracepoint(hone_cost, six, i);
		if (round >= 0)
			ns[round] = (cpu_ns() - begin_ns) / CALLS;
	}
	hone_unit_end();
	qsort(ns, ROUNDS, sizeof ns[0], by_size);
	return ns[ROUNDS / 2];
}

/* Measures and prints both costs. The tracepoint was enabled before this process started, so it is
 * armed before main(), unless the session daemon does not answer. */
static int
traced(void)
{
	double taken_ns, rejected_ns;

	if (!lttng_ust_tracepoint_enabled(hone_cost, six))
		return 1;
	taken_ns = measure(true);
	rejected_ns = measure(false);
	if (!(rejected_ns > 0 && taken_ns > rejected_ns))
		return 1; /* the filter made no difference: libhone's context is missing */
	printf("%.1f %.1f\n", taken_ns, rejected_ns);
	return fflush(stdout) == 0 ? 0 : 1;
}

static int
channel_make(struct lttng_handle *h, struct lttng_domain *d)
{
	static char provider[] = "hone", trace_id[] = "trace_id", unit_id[] = "unit_id";
	struct lttng_event_context context[3] = { { .ctx = LTTNG_EVENT_CONTEXT_VTID },
		{ .ctx = LTTNG_EVENT_CONTEXT_APP_CONTEXT },
		{ .ctx = LTTNG_EVENT_CONTEXT_APP_CONTEXT } };
	struct lttng_channel *c = lttng_channel_create(d);
	int rc;

	if (c == NULL)
		return -1;
	strcpy(c->name, CHANNEL);
	c->enabled = 1;
	c->attr.overwrite = 1;
	c->attr.subbuf_size = 64 << 10;
	c->attr.num_subbuf = 4;
	c->attr.output = LTTNG_EVENT_MMAP;
	rc = lttng_enable_channel(h, c);
	lttng_channel_destroy(c);
	context[1].u.app_ctx.provider_name = context[2].u.app_ctx.provider_name = provider;
	context[1].u.app_ctx.ctx_name = trace_id;
	context[2].u.app_ctx.ctx_name = unit_id;
	for (int i = 0; i < 3 && rc >= 0; i++)
		rc = lttng_add_context(h, &context[i], NULL, CHANNEL);
	return rc;
}

static int
session_make(const char *session)
{
	struct lttng_domain d = { .type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_PID };
	struct lttng_handle *h = NULL;
	struct lttng_event *event = lttng_event_create();
	int rc = event == NULL ? -1 : lttng_create_session_snapshot(session, NULL);

	if (rc >= 0 &&
	    ((h = lttng_create_handle(session, &d)) == NULL || (rc = channel_make(h, &d)) < 0))
		rc = -1;
	if (rc >= 0) {
		event->type = LTTNG_EVENT_TRACEPOINT;
		event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
		event->loglevel = -1;
		strcpy(event->name, "hone_cost:six");
		rc = lttng_enable_event_with_filter(h, event, CHANNEL, "$app.hone:probed == 1");
	}
	if (rc >= 0)
		rc = lttng_start_tracing(session);
	if (event != NULL)
		lttng_event_destroy(event);
	if (h != NULL)
		lttng_destroy_handle(h);
	return rc;
}

/* Runs this program again as the traced one, so that libhone and the tracer are initialised before
 * its main(). By its path, not by /proc/self/exe: the kernel names a process after the file that it
 * was executed from, the tracer reports that name, and the agent leaves out what is called
 * "hone-cost" (agent/main/agent_records.c). */
static int
run(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
	pid_t parent = getpid(), pid = fork();
	int status;

	path[len > 0 ? len : 0] = '\0';

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		alarm(SECONDS_MAX);
		execl(path, "hone-cost", "--traced", (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
	                                                                       : 1;
}

int
main(int argc, char **argv)
{
	bool only_end = argc == 4 && strcmp(argv[3], "--end") == 0;
	int rc = 1;

	if (argc == 2 && strcmp(argv[1], "--traced") == 0)
		return traced();
	if (argc != 3 && !only_end) {
		fprintf(stderr, "usage: hone-cost session folder [--end]\n");
		return 2;
	}
	setpriority(PRIO_PROCESS, 0, 10);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!only_end && folder_make(argv[2], NULL) == 0 && session_make(argv[1]) >= 0)
		rc = run();
	return tracer_lttng_end(argv[1], argv[2]) ? rc : COST_LEFT;
}
