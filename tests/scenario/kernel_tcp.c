/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server that waits for many connections in one thread, and its clients, each a thread that blocks: "kernel_tcp CONNECTIONS ROUNDS". Prints its
 * process id, waits for a line of input, and then says, for the client's and the server's process, how many messages were sent and
 * received: calls that moved bytes. All calls that send and receive are used in turn; every tenth answer is longer than buffers are.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG_BYTES = 3 << 20, CONNECTIONS_MAX = 100 };

static atomic_ulong sends, receives;
static struct sockaddr_in6 address;
static int rounds;
static char filler[LONG_BYTES];

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

/* One call, of a kind that changes. Returns what it says. */
static ssize_t
send_once(int fd, const char *bytes, size_t len, unsigned turn)
{
	struct iovec parts[2] = { { (char *)bytes, len / 2 },
		{ (char *)bytes + len / 2, len - len / 2 } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t n = turn % 4 == 0   ? write(fd, bytes, len)
	            : turn % 4 == 1 ? send(fd, bytes, len, 0)
	            : turn % 4 == 2 ? writev(fd, parts, 2)
	                            : sendmsg(fd, &m, 0);

	sends += n > 0;
	return n;
}

static ssize_t
receive_once(int fd, char *bytes, size_t len, unsigned turn)
{
	struct iovec part = { bytes, len };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n = turn % 4 == 0   ? read(fd, bytes, len)
	            : turn % 4 == 1 ? recv(fd, bytes, len, 0)
	            : turn % 4 == 2 ? readv(fd, &part, 1)
	                            : recvmsg(fd, &m, 0);

	receives += n > 0;
	return n;
}

static void *
client(void *arg)
{
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	static __thread char bytes[1 << 16];

	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		die("connect");
	for (int i = 0; i < rounds; i++) {
		size_t want = i % 10 == 9 ? LONG_BYTES : 100, have = 0;
		int len = snprintf(
		    bytes, sizeof bytes, "GET /%zu HTTP/1.1\r\nCookie: secret\r\n\r\n", want);

		if (send_once(fd, bytes, (size_t)len, (unsigned)i) != len)
			die("send");
		while (have < want) {
			ssize_t n = receive_once(fd, bytes, sizeof bytes, (unsigned)i);

			if (n <= 0)
				die("receive");
			have += (size_t)n;
		}
	}
	close(fd);
	return arg;
}

struct peer {
	int fd;
	size_t left; /* to be sent */
	unsigned turn;
};

static void
answer(struct peer *p)
{
	while (p->left > 0) {
		ssize_t n = send_once(p->fd, filler + LONG_BYTES - p->left, p->left, p->turn++);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			die("server: send");
		p->left -= (size_t)n;
	}
}

static void
serve(int listener, int connections)
{
	struct peer peers[CONNECTIONS_MAX] = { 0 };
	int poll = epoll_create1(0), open = connections;
	char bytes[4096];

	for (int i = 0; i < connections; i++) {
		struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLET,
			.data.ptr = &peers[i] };

		int small = 64 << 10; /* so that sending is refused at times */

		if ((peers[i].fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) < 0 ||
		    setsockopt(peers[i].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) != 0 ||
		    epoll_ctl(poll, EPOLL_CTL_ADD, peers[i].fd, &e) != 0)
			die("accept");
	}
	while (open > 0) {
		struct epoll_event e;
		struct peer *p;
		ssize_t n;

		if (epoll_wait(poll, &e, 1, -1) != 1)
			continue;
		p = e.data.ptr;
		answer(p);
		while ((n = receive_once(p->fd, bytes, sizeof bytes - 1, p->turn)) > 0) {
			bytes[n] = '\0';
			p->left = (size_t)atoi(bytes + 5);
			answer(p);
		}
		if (n == 0) {
			close(p->fd);
			open--;
		}
	}
}

int
main(int argc, char **argv)
{
	int connections = argc == 3 ? atoi(argv[1]) : 0,
	    listener = socket(AF_INET6, SOCK_STREAM, 0);
	pthread_t threads[CONNECTIONS_MAX];
	socklen_t len = sizeof address;
	char line[8];
	pid_t server;

	rounds = argc == 3 ? atoi(argv[2]) : 0;
	if (connections < 1 || connections > CONNECTIONS_MAX || rounds < 1)
		return 2;
	address.sin6_family = AF_INET6;
	address.sin6_addr.s6_addr[10] = address.sin6_addr.s6_addr[11] = 0xff; /* ::ffff:127.0.0.1 */
	address.sin6_addr.s6_addr[12] = 127, address.sin6_addr.s6_addr[15] = 1;
	if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(listener, connections) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) != 0)
		die("listen");
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (fgets(line, sizeof line, stdin) == NULL)
		return 1;
	if ((server = fork()) == 0) {
		prctl(PR_SET_NAME, "tcp-server");
		serve(listener, connections);
		printf("%d %lu %lu\n", (int)getpid(), sends, receives);
		return 0;
	}
	for (int i = 0; i < connections; i++)
		pthread_create(&threads[i], NULL, client, NULL);
	for (int i = 0; i < connections; i++)
		pthread_join(threads[i], NULL);
	waitpid(server, NULL, 0);
	printf("%d %lu %lu\n", (int)getpid(), sends, receives);
	return 0;
}
