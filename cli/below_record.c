/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* pipe2(), F_SETPIPE_SZ */
#include "cli/below_record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20, READ_BYTES = 64 << 10, TURNS_MAX = 64, END_MS = 10000, WAIT_MS = 20 };

struct below_record {
	struct kernel_reader *reader;
	pid_t pid; /* 0: it has ended */
	int from, signals;
	uint32_t asked; /* how often a signal has come */
	uint8_t bytes[READ_BYTES];
};

/* ../lib/hone/hone-below, from the folder of this program. */
static int
find_helper(char *ret, size_t size, struct err *e)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return err_errno(e, "cannot find this program's own file, and so not hone-below");
	self[n] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(self, '/');

		if (slash != NULL)
			*slash = '\0';
	}
	if (snprintf(ret, size, "%s/lib/hone/hone-below", self) >= (int)size ||
	    access(ret, X_OK) != 0)
		return err_set(e, ERR_MISSING,
		    "hone-below is not installed, which records kernel events: %s cannot be executed",
		    ret);
	return 0;
}

static void
execute(const char *path, const struct below_record_options *o, int out, const char *reader)
{
	const char *args[BELOW_RECORD_ARGUMENTS_MAX + 5] = { "hone-below", "--record", "--reader",
		reader };
	sigset_t none;
	size_t n = 4;

	for (size_t i = 0; o->arguments[i] != NULL; i++)
		args[n++] = o->arguments[i];
	args[n] = NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(out, STDOUT_FILENO) >= 0)
		execv(path, (char *const *)(uintptr_t)args);
	_exit(127);
}

static int
start(struct below_record *b, const struct below_record_options *o, struct err *e)
{
	char path[PATH_MAX], reader[16];
	int ends[2], rc = find_helper(path, sizeof path, e);
	sigset_t both;

	if (rc != 0)
		return rc;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, "a pipe to hone-below");
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* more than usual, if that is permitted */
	b->from = ends[0];
	fcntl(b->from, F_SETFL, O_NONBLOCK);
	sigemptyset(&both);
	sigaddset(&both, SIGINT);
	sigaddset(&both, SIGTERM);
	sigprocmask(SIG_BLOCK, &both, NULL);
	b->signals = signalfd(-1, &both, SFD_CLOEXEC | SFD_NONBLOCK);
	snprintf(reader, sizeof reader, "%d", (int)getpid());
	b->pid = b->signals >= 0 ? fork() : -1;
	if (b->pid == 0)
		execute(path, o, ends[1], reader);
	close(ends[1]);
	if (b->pid < 0) {
		b->pid = 0;
		return err_errno(e, "hone-below");
	}
	return 0;
}

int
below_record_start(struct below_record **ret, const struct below_record_options *o, struct err *e)
{
	struct below_record *b = calloc(1, sizeof *b);
	int rc;

	if (b == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	b->from = b->signals = -1;
	if ((b->reader = kernel_reader_new(&o->reader)) == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	else
		rc = start(b, o, e);
	if (rc != 0) {
		below_record_close(b);
		return rc;
	}
	*ret = b;
	return 0;
}

void
below_record_stop(struct below_record *b)
{
	if (b->pid > 0)
		kill(b->pid, SIGTERM);
}

void
below_record_close(struct below_record *b)
{
	if (b == NULL)
		return;
	if (b->from >= 0)
		close(b->from); /* it ends then, too */
	below_record_stop(b);
	for (int ms = 0; b->pid > 0; ms += WAIT_MS) {
		pid_t ended = waitpid(b->pid, NULL, ms < END_MS ? WNOHANG : 0);

		if (ended == b->pid || (ended < 0 && errno != EINTR))
			break;
		poll(NULL, 0, WAIT_MS);
		if (ms + WAIT_MS >= END_MS)
			kill(b->pid, SIGKILL);
	}
	if (b->signals >= 0)
		close(b->signals);
	kernel_reader_free(b->reader);
	free(b);
}

/* A second signal does not wait for what is still to come. */
static void
take_signals(struct below_record *b)
{
	struct signalfd_siginfo s;

	while (read(b->signals, &s, sizeof s) == (ssize_t)sizeof s)
		b->asked++;
	if (b->asked > 0)
		below_record_stop(b);
	if (b->asked > 1 && b->pid > 0)
		kill(b->pid, SIGKILL);
}

/* BELOW_RECORD_RUNS: no more is there now. */
static int
take_events(struct below_record *b, struct err *e)
{
	for (int i = 0; i < TURNS_MAX; i++) {
		ssize_t n = read(b->from, b->bytes, sizeof b->bytes);
		int rc;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return err_errno(e, "the events of hone-below");
		if (n == 0)
			return kernel_reader_is_cut(b->reader)
			           ? err_set(e, ERR_PEER, "hone-below has ended unexpectedly")
			           : BELOW_RECORD_ENDED;
		if ((rc = kernel_reader_feed(b->reader, b->bytes, (size_t)n, e)) != 0)
			return rc;
	}
	return b->asked > 0 ? BELOW_RECORD_ASKED : BELOW_RECORD_RUNS;
}

int
below_record_wait(struct below_record *b, int ms, struct err *e)
{
	struct pollfd p[] = { { .fd = b->from, .events = POLLIN },
		{ .fd = b->signals, .events = POLLIN } };

	poll(p, 2, ms);
	take_signals(b);
	return take_events(b, e);
}
