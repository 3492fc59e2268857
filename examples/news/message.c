/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "message.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "work.h"

enum { WAIT_S = 20 };

static int
socket_at(struct sockaddr_un *at, const char *dir, const char *name)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memset(at, 0, sizeof *at);
	at->sun_family = AF_UNIX;
	if (fd < 0 || snprintf(at->sun_path, sizeof at->sun_path, "%s/%s.sock", dir, name) >=
			  (int)sizeof at->sun_path) {
		fprintf(stderr, "%s/%s.sock: no socket: %s\n", dir, name,
		    fd < 0 ? strerror(errno) : "too long a path");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

int
message_listen(const char *dir, const char *name)
{
	struct sockaddr_un at;
	int fd = socket_at(&at, dir, name);

	if (fd < 0)
		return -1;
	unlink(at.sun_path);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 64) != 0) {
		perror(at.sun_path);
		close(fd);
		return -1;
	}
	return fd;
}

int
message_connect(const char *dir, const char *name)
{
	struct sockaddr_un at;
	int fd = socket_at(&at, dir, name);

	if (fd < 0)
		return -1;
	for (int i = 0; i < WAIT_S * 100; i++) {
		if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
			return fd;
		if (errno != ENOENT && errno != ECONNREFUSED)
			break;
		work_wait(10);
	}
	perror(at.sun_path);
	close(fd);
	return -1;
}

int
message_send(int fd, const struct message *m)
{
	size_t n = offsetof(struct message, text) + m->length;
	ssize_t sent;

	do
		sent = send(fd, m, n, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)n ? 0 : -1;
}

int
message_receive(int fd, struct message *m)
{
	ssize_t n;

	do
		n = recv(fd, m, sizeof *m, 0);
	while (n < 0 && errno == EINTR);
	return n >= (ssize_t)offsetof(struct message, text) && m->length <= MESSAGE_TEXT &&
	       n == (ssize_t)(offsetof(struct message, text) + m->length);
}

int
message_ask(int fd, struct message *m)
{
	return message_send(fd, m) == 0 && message_receive(fd, m) == 1 ? 0 : -1;
}
