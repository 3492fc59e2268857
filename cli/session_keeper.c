/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* for pipe2(), close_range() */
#include "cli/session_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 64, TOLD = 'd' };

/* Waits for a byte, or for the end of whoever would write it. */
static void
keep(int end, const char *session)
{
	char name[NAME_MAX_BYTES], byte = 0;
	ssize_t n;

	snprintf(name, sizeof name, "%s", session);
	prctl(PR_SET_NAME, "hone-keeper");
	signal(SIGINT, SIG_IGN); /* a terminal sends these to all of its foreground group */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	close_range(3, (unsigned)end - 1, 0);
	close_range((unsigned)end + 1, ~0u, 0);
	while ((n = read(end, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n == 1 && byte == TOLD)
		_exit(0);
	execlp("lttng", "lttng", "--no-sessiond", "destroy", name, (char *)NULL);
	_exit(1);
}

int
session_keeper_start(struct session_keeper *ret, const char *session, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, "a pipe cannot be made");
	switch (ret->pid = fork()) {
	case -1:
		close(ends[0]);
		close(ends[1]);
		*ret = (struct session_keeper){ 0 };
		return err_errno(e, "a process cannot be made");
	case 0:
		close(ends[1]);
		keep(ends[0], session);
	}
	close(ends[0]);
	ret->pipe = ends[1];
	return 0;
}

void
session_keeper_end(struct session_keeper *k)
{
	const char told = TOLD;

	if (k->pid == 0)
		return;
	while (write(k->pipe, &told, 1) < 0 && errno == EINTR)
		;
	close(k->pipe);
	waitpid(k->pid, NULL, 0);
	*k = (struct session_keeper){ 0 };
}
