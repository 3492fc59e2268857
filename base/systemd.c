/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/systemd.h"

/* Returns the address's length, 0 if the path is unusable. '@' stands for the 0 with which abstract names
 * begin; their length is part of the name. */
static socklen_t
address(struct sockaddr_un *to, const char *path)
{
	size_t len = path != NULL ? strlen(path) : 0;

	memset(to, 0, sizeof *to);
	to->sun_family = AF_UNIX;
	if (len < 2 || len >= sizeof to->sun_path || (path[0] != '/' && path[0] != '@'))
		return 0;
	memcpy(to->sun_path, path, len);
	if (path[0] == '@')
		to->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] == '/'));
}

bool
systemd_notify(const char *lines)
{
	struct sockaddr_un to;
	socklen_t len = address(&to, getenv("NOTIFY_SOCKET"));
	bool sent;
	int fd;

	assert(lines != NULL);
	if (len == 0 || (fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
		return false;
	sent = sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (struct sockaddr *)&to, len) ==
	       (ssize_t)strlen(lines);
	close(fd);
	return sent;
}

/* 0: there is no watchdog for this process. */
static int64_t
watched_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (usec == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoll(usec, NULL, 10) * 1000;
}

void
systemd_watchdog(struct mono now)
{
	static int64_t every_ns = -1;
	static struct mono next;

	if (every_ns < 0)
		every_ns = watched_ns() / 2;
	if (every_ns <= 0 || now.ns < next.ns)
		return;
	systemd_notify("WATCHDOG=1");
	next.ns = now.ns + every_ns;
}
