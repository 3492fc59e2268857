/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of all tracepoints. liblttng-ctl returns half a kilobyte for each, 60 MiB on a node with
 * 20 programs of 2000 tracepoints. So a child process requests it, and sends pid, log level and name of
 * each through a pipe, about 30 bytes. The child executes this program again, since a process that was
 * forked beside threads may hold locks that no thread releases.
 *
 *	pipe: count, or LTTng's negative code (int32), then for each: pid (int32), log level (uint8), name, 0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/tracer/session_lttng.h"
#include "base/buf.h"
#include "wire/loglevel.h"

enum { READ_BYTES = 64 << 10, BYTES_MAX = 256 << 20 };

static bool
write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static uint8_t
level_of(const struct lttng_event *event)
{
	return event->loglevel >= 0 && event->loglevel < LOGLEVELS ? (uint8_t)event->loglevel
	                                                           : LOGLEVEL_USUAL;
}

/* Closes all descriptors that it inherited: the guardian detects the agent's death by a pipe, which
 * must not be held open here. */
int
tracepoints_send(const char *parent)
{
	struct lttng_domain d = { .type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_PID };
	struct lttng_event *events = NULL;
	struct lttng_handle *h;
	struct buf b = { 0 };
	int32_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != (pid_t)strtol(parent, NULL, 10))
		return 1;
	close_range(STDERR_FILENO + 1, ~0u, 0);
	h = lttng_create_handle("", &d);
	n = h == NULL ? -LTTNG_ERR_NOMEM : lttng_list_tracepoints(h, &events);
	buf_bytes(&b, &n, sizeof n);
	for (int32_t i = 0; i < n; i++) {
		int32_t pid = events[i].pid;

		buf_bytes(&b, &pid, sizeof pid);
		buf_u8(&b, level_of(&events[i]));
		buf_bytes(&b, events[i].name, strlen(events[i].name) + 1);
	}
	_exit(!b.failed && write_all(STDOUT_FILENO, b.data, b.len) ? 0 : 1);
}

static int
read_all(int fd, struct buf *b)
{
	ssize_t n;

	for (;;) {
		uint8_t *room = b->len < BYTES_MAX ? buf_reserve(b, READ_BYTES) : NULL;

		if (room == NULL)
			return ERR_MEMORY;
		n = read(fd, room, READ_BYTES);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return ERR_SYSTEM;
		b->len += n > 0 ? (size_t)n : 0;
	}
}

/* Starts the child, with its standard output to `to`. Returns an errno. */
static int
child_start(pid_t *child, int to)
{
	char parent[24];
	char *args[] = { "hone-agent", LIST_OPTION, parent, NULL };
	posix_spawn_file_actions_t files;
	int rc;

	snprintf(parent, sizeof parent, "%ld", (long)getpid());
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, to, STDOUT_FILENO);
	rc = posix_spawn(child, "/proc/self/exe", &files, NULL, args, environ);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

static int
request(struct buf *b, struct err *e)
{
	int ends[2], status = 0, rc;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, "a pipe for the list of tracepoints");
	rc = child_start(&child, ends[1]);
	close(ends[1]);
	if (rc != 0) {
		close(ends[0]);
		errno = rc;
		return err_errno(e, "a process to list tracepoints");
	}
	rc = read_all(ends[0], b);
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		rc = ERR_MEMORY;
	return rc != 0 ? err_set(e, rc, "the list of tracepoints could not be read") : 0;
}

/* The names in the list point into the bytes that were received. */
static int
parse(struct tracepoints *ret, struct buf *b, struct err *e)
{
	int32_t n = -LTTNG_ERR_UNK, pid;
	size_t at = sizeof n;

	if (b->len >= sizeof n)
		memcpy(&n, b->data, sizeof n);
	if (n < 0)
		return session_err(e, n, "tracepoints");
	if ((ret->list = malloc(((size_t)n + 1) * sizeof *ret->list)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for %d tracepoints", n);
	while (ret->count < (uint32_t)n && at + sizeof pid + 1 < b->len) {
		uint8_t level = b->data[at + sizeof pid];
		char *name = (char *)b->data + at + sizeof pid + 1;

		memcpy(&pid, b->data + at, sizeof pid);
		ret->list[ret->count++] = (struct tracepoint){ pid, name, level };
		at += sizeof pid + 1 + strlen(name) + 1;
	}
	ret->text = (char *)b->data;
	memset(b, 0, sizeof *b);
	return 0;
}

int
tracepoints_list(struct tracepoints *ret, struct err *e)
{
	struct buf b = { 0 };
	int rc;

	memset(ret, 0, sizeof *ret);
	if ((rc = request(&b, e)) == 0)
		rc = parse(ret, &b, e);
	buf_release(&b);
	return rc;
}

void
tracepoints_release(struct tracepoints *t)
{
	free(t->list);
	free(t->text);
	memset(t, 0, sizeof *t);
}
