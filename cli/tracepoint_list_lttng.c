/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "cli/tracepoint_list.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { READ_BYTES = 65536, BYTES_MAX = 64 << 20 };

extern char **environ;

/* Appends everything up to the end of file. until_ns: deadline on the monotonic clock; 0: none. */
static int
read_all(struct buf *to, int fd, int64_t until_ns, struct err *e)
{
	struct pollfd p = { fd, POLLIN, 0 };
	ssize_t n = 1;
	uint8_t *at;

	while (n != 0) {
		int64_t left_ns = until_ns - clock_mono().ns;

		if (until_ns != 0 &&
		    (left_ns <= 0 || poll(&p, 1, (int)(left_ns / 1000000) + 1) == 0))
			return err_set(e, ERR_TIMEOUT, "no answer");
		if ((at = buf_reserve(to, READ_BYTES)) == NULL)
			return err_set(e, ERR_MEMORY, "out of memory");
		if ((n = read(fd, at, READ_BYTES)) < 0 && errno != EINTR)
			return err_errno(e, "cannot be read");
		to->len += n > 0 ? (size_t)n : 0;
		if (to->len > BYTES_MAX)
			return err_set(
			    e, ERR_FULL, "over %d MiB: not a list of tracepoints", BYTES_MAX >> 20);
	}
	return 0;
}

int
tracepoint_list_file(struct buf *ret, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return err_errno(e, "%s", path);
	if ((rc = read_all(ret, fd, 0, e)) != 0)
		err_prefix(e, "%s", path);
	close(fd);
	return rc;
}

/* Starts lttng in a process group of its own, so that its children can be killed with it. */
static int
start(pid_t *pid, int out, const char *const *arguments, struct err *e)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	int rc;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_adddup2(&files, out, 2);
	posix_spawnattr_init(&how);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
	rc = posix_spawnp(
	    pid, arguments[0], &files, &how, (char *const *)(uintptr_t)arguments, environ);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	errno = rc;
	return rc == 0 ? 0
	       : rc == ENOENT
	           ? err_set(e, ERR_MISSING, "lttng is not installed; install lttng-tools")
	           : err_errno(e, "lttng cannot be started");
}

/* The error of a failed lttng: the last line of its output, which holds its message. */
static int
failed(const char *verb, const struct buf *output, struct err *e)
{
	const char *text = (const char *)output->data, *line;
	size_t len = output->len;

	while (len > 0 && text[len - 1] == '\n')
		len--;
	line = len > 0 ? memrchr(text, '\n', len) : NULL;
	line = line != NULL ? line + 1 : text;
	return err_set(e, ERR_TRACER, "lttng %s failed: %.*s", verb,
	    len > 0 ? (int)(text + len - line) : 0, len > 0 ? line : "");
}

int
tracepoint_list_lttng(struct buf *ret, const char *const *arguments, int timeout_ms, struct err *e)
{
	int64_t until_ns = clock_mono().ns + (int64_t)timeout_ms * 1000000;
	int ends[2], rc, status = 0;
	pid_t pid;

	assert(ret->len == 0 && timeout_ms > 0);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, "cannot create a pipe to lttng");
	rc = start(&pid, ends[1], arguments, e);
	close(ends[1]);
	if (rc != 0) {
		close(ends[0]);
		return rc;
	}
	if ((rc = read_all(ret, ends[0], until_ns, e)) != 0) {
		err_prefix(e, "lttng %s", arguments[2]);
		kill(-pid, SIGKILL);
	}
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return rc != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0)
	           ? rc
	           : failed(arguments[2], ret, e);
}

int
tracepoint_list_ask(struct buf *ret, int timeout_ms, struct err *e)
{
	static const char *const arguments[] = { "lttng", "--no-sessiond", "list", "--userspace",
		"--fields", NULL };

	return tracepoint_list_lttng(ret, arguments, timeout_ms, e);
}
