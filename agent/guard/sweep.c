/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/tracer/rates.h"
#include "agent/guard/sweep.h"
#include "agent/tracer/tracer.h"
#include "base/privilege.h"

enum { LIMIT_MS = 10000 };

/* Becomes the user who owns the folder: that user could create what is in it, and can remove it. */
static int
owner_become(const char *run_dir, struct err *e)
{
	struct privilege who = { 0 };
	struct passwd *pw;
	struct stat st;
	int rc;

	if (geteuid() != 0 || lstat(run_dir, &st) != 0 || st.st_uid == 0)
		return 0;
	if ((pw = getpwuid(st.st_uid)) == NULL)
		return err_set(e, ERR_MISSING,
		    "%s belongs to user %ld, who is not in the password database", run_dir,
		    (long)st.st_uid);
	if ((rc = privilege_find(&who, pw->pw_name, pw->pw_name, TRACING_GROUP, e)) != 0)
		return rc;
	return privilege_drop(&who, e);
}

static _Noreturn void
child_sweep(const char *node, const char *run_dir, int result_fd)
{
	struct err e = { 0 };

	if (owner_become(run_dir, &e) == 0)
		tracer_lttng_sweep(node, run_dir, &e);
	_exit(write(result_fd, &e, sizeof e) != (ssize_t)sizeof e);
}

int
sweep_left(const char *node, const char *run_dir, struct err *e)
{
	struct pollfd result = { .events = POLLIN };
	struct err what = { 0 };
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, "a child process to sweep");
	if ((child = fork()) == 0)
		child_sweep(node, run_dir, ends[1]);
	close(ends[1]);
	result.fd = ends[0];
	if (child < 0)
		err_errno(&what, "a child process to sweep");
	else if (poll(&result, 1, LIMIT_MS) != 1 ||
		 read(ends[0], &what, sizeof what) != (ssize_t)sizeof what)
		err_set(&what, ERR_TIMEOUT,
		    "the session daemon hangs: the sessions of an earlier agent still exist");
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return what.code == 0 ? 0 : err_set(e, what.code, "%s", what.text);
}

int
sweep_all(const char *node, const char *run_dir, const char *policy, struct err *e)
{
	struct rates *rates;
	int rc;

	if (access(policy, F_OK) == 0 && rates_open(&rates, policy, e) == 0)
		rates_close(rates, true);
	rc = sweep_left(node, run_dir, e);
	rmdir(run_dir); /* not empty while an agent lives */
	return rc;
}
