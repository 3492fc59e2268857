/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/guard/below_start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

enum { STARTER_SOCKET = 3, GIVEN_SOCKET = 4, BELOW_SOCKET = 3, REAP_MS = 500, QUIT_MS = 1000 };

static const int KEPT[] = { CAP_BPF, CAP_PERFMON };

/* ---- the starter ---- */

static void
below_exec(const char *path, pid_t starter, bool bounded)
{
	char *args[] = { "hone-below", NULL };
	char *env[] = { "PATH=/usr/bin:/bin", NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != starter)
		_exit(1);
	if (dup2(GIVEN_SOCKET, BELOW_SOCKET) < 0)
		_exit(1);
	fcntl(BELOW_SOCKET, F_SETFD, 0);
	close_range(BELOW_SOCKET + 1, ~0u, 0);
	execve(path, args, env);
	log_line(LOG_ERROR, "%s cannot be started: %s%s", path, strerror(errno),
	    bounded ? "" : "; it may need capabilities that this user cannot have");
	_exit(1);
}

static void
below_kill(pid_t *child)
{
	if (*child > 0) {
		kill(*child, SIGKILL);
		waitpid(*child, NULL, 0);
	}
	*child = 0;
}

/* Receives a descriptor. 1: it is in *ret; 0: the agent's end was closed; -1: something else, to be ignored. */
static int
descriptor_take(int from, int *ret)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof control.room };
	ssize_t n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (n == 0 || (n < 0 && errno != EINTR))
		return 0;
	if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(ret, CMSG_DATA(c), sizeof *ret);
	return 1;
}

/* Keeps standard error for the log, and the socket. */
static void
descriptors_close(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
	}
	if (socket != STARTER_SOCKET)
		dup2(socket, STARTER_SOCKET);
	fcntl(STARTER_SOCKET, F_SETFD, FD_CLOEXEC);
	close_range(STARTER_SOCKET + 1, ~0u, 0);
}

static void
signals_ignore(void)
{
	static const int IGNORED[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1,
		SIGUSR2 };

	for (size_t i = 0; i < sizeof IGNORED / sizeof *IGNORED; i++)
		signal(IGNORED[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

/* Waits for the agent. Returns when its end was closed. */
static void
serve(const char *path, bool bounded)
{
	struct pollfd agent = { .fd = STARTER_SOCKET, .events = POLLIN };
	pid_t child = 0, self = getpid();
	int given, rc;

	for (;;) {
		if (child > 0 && waitpid(child, NULL, WNOHANG) == child)
			child = 0;
		if (poll(&agent, 1, child > 0 ? REAP_MS : -1) <= 0)
			continue;
		if ((rc = descriptor_take(STARTER_SOCKET, &given)) == 0)
			break;
		if (rc < 0)
			continue;
		below_kill(&child);
		if (given != GIVEN_SOCKET) {
			dup2(given, GIVEN_SOCKET);
			close(given);
		}
		if ((child = fork()) == 0)
			below_exec(path, self, bounded);
		close(GIVEN_SOCKET);
	}
	below_kill(&child);
}

static void
starter_main(const char *path, const struct privilege *who, int socket)
{
	bool bounded;
	struct err e;

	prctl(PR_SET_NAME, "hone-starter");
	signals_ignore();
	descriptors_close(socket);
	if (setsid() < 0 || chdir("/") != 0)
		_exit(1);
	if (privilege_keep(who, KEPT, sizeof KEPT / sizeof *KEPT, &bounded, &e) != 0) {
		log_line(LOG_ERROR, "hone-below: %s", e.text);
		_exit(1);
	}
	serve(path, bounded);
	_exit(0);
}

/* ---- the agent ---- */

bool
below_start_path(char *out, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return false;
	self[n] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(self, '/');

		if (slash == NULL)
			return false;
		*slash = '\0';
	}
	return snprintf(out, size, "%s/lib/hone/hone-below", self) < (int)size &&
	       access(out, X_OK) == 0;
}

int
below_start_make(
    struct below_start *s, const char *path, const struct privilege *who, struct err *e)
{
	int ends[2];
	pid_t pid;

	memset(s, 0, sizeof *s);
	if (access(path, X_OK) != 0)
		return err_set(e, ERR_MISSING, "%s: %s", path, strerror(errno));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return err_errno(e, "a socket to hone-below's starter");
	if ((pid = fork()) == 0) {
		close(ends[0]);
		starter_main(path, who, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_errno(e, "hone-below's starter");
	}
	s->pid = pid;
	s->to = ends[0];
	return 0;
}

static int
descriptor_give(int to, int given)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 's';
	struct iovec data = { &byte, 1 };
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof control.room };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &given, sizeof given);
	return sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -1;
}

int
below_start(struct below_start *s, int *ret, struct err *e)
{
	int ends[2];

	if (s->to <= 0)
		return err_set(e, ERR_MISSING, "hone-below has no starter");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		return err_errno(e, "a socket to hone-below");
	if (descriptor_give(s->to, ends[1]) != 0) {
		close(ends[0]);
		close(ends[1]);
		return err_set(e, ERR_MISSING, "hone-below's starter has ended");
	}
	close(ends[1]);
	*ret = ends[0];
	return 0;
}

void
below_start_end(struct below_start *s)
{
	if (s->to > 0)
		close(s->to);
	for (int ms = 0; s->pid > 0 && ms < QUIT_MS && waitpid(s->pid, NULL, WNOHANG) == 0; ms++)
		poll(NULL, 0, 1);
	memset(s, 0, sizeof *s);
}
