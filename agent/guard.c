/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/guard.h"
#include "agent/rates.h"
#include "agent/switch.h"

enum { ATTEMPTS = 30, ATTEMPT_MS = 2000 };

static void
detach(void)
{
	static const int IGNORED[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2 };

	setsid();
	for (size_t i = 0; i < sizeof(IGNORED) / sizeof(IGNORED[0]); i++)
		signal(IGNORED[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "hone-guard");
	(void)!chdir("/");
}

/* A session daemon that hangs takes its caller with it; so a child asks it, and may be given up. */
static bool
bury_in_time(const char *node, const char *run_dir, pid_t agent)
{
	pid_t child = fork();

	if (child == 0) {
		switches_lttng_bury(node, run_dir, agent);
		_exit(0);
	}
	if (child < 0)
		return false;
	for (int ms = 0; ms < ATTEMPT_MS; ms += 5) {
		if (waitpid(child, NULL, WNOHANG) == child)
			return true;
		poll(NULL, 0, 5);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return false;
}

/*
 * First what needs nobody's help: the lease in shared memory silences every
 * added tracepoint in programs with libhone. Then LTTng. Where it does not
 * answer, the folder goes all the same: a daemon that waits for a stalled ring
 * waits for that.
 */
static void
clean_up(const char *node, const char *run_dir, const char *policy, pid_t agent)
{
	char folder[PATH_MAX];

	rates_silence_path(policy);
	switches_folder(node, run_dir, agent, folder, sizeof(folder));
	for (int i = 0; i < ATTEMPTS && !bury_in_time(node, run_dir, agent); i++)
		folder_remove(folder);
}

static void
close_all_but(int keep)
{
	if (keep > 3)
		close_range(3, (unsigned)keep - 1, 0);
	close_range((unsigned)keep + 1, ~0u, 0);
}

static _Noreturn void
guardian(int pipe_end, const char *node, const char *run_dir, const char *policy, pid_t agent)
{
	ssize_t n;
	char c;

	detach();
	close_all_but(pipe_end);
	while ((n = read(pipe_end, &c, 1)) < 0 && errno == EINTR)
		;
	if (n == 0)
		clean_up(node, run_dir, policy, agent);
	_exit(0);
}

int
guard_start(struct guard *g, const char *node, const char *run_dir, const char *policy, struct err *e)
{
	pid_t agent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, "a pipe to the guardian");
	g->pid = fork();
	if (g->pid == 0) {
		close(ends[1]);
		guardian(ends[0], node, run_dir, policy, agent);
	}
	close(ends[0]);
	if (g->pid < 0) {
		close(ends[1]);
		memset(g, 0, sizeof(*g));
		return err_errno(e, "a guardian");
	}
	g->pipe = ends[1];
	return 0;
}

bool
guard_lives(struct guard *g)
{
	if (g->pid > 0 && waitpid(g->pid, NULL, WNOHANG) == g->pid)
		g->pid = 0;
	return g->pid > 0;
}

void
guard_dismiss(struct guard *g)
{
	if (guard_lives(g)) {
		(void)!write(g->pipe, "q", 1);
		waitpid(g->pid, NULL, 0);
	}
	guard_leave(g);
}

void
guard_leave(struct guard *g)
{
	if (g->pipe > 0)
		close(g->pipe);
	memset(g, 0, sizeof(*g));
}
