/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Three services on 127.0.0.2 to 127.0.0.4 that know nothing of Hone, and their clients: front calls cart and stock, cart calls stock. What each
 * request really did is appended to a file.
 *
 *	kernel_requests_work blocking|epoll CLIENTS REQUESTS FILE [FIRST [NET NET]]
 *
 * FIRST: id of the first request. NET: files of two network namespaces. Front and the clients are in the first one, cart and stock in the second
 * one, with the addresses 10.77.0.2 to 10.77.0.4.
 * It says "ready", and waits for a line on its input. Lines of the file: id of the request, service, thread, when it was received, when the
 * response was sent (CLOCK_MONOTONIC, ns). The calls of request N are N * 10 + 1, N * 10 + 2 and so on.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	TIERS = 3,
	MESSAGE = 64,
	CALLS_MAX = 3,
	EVENTS = 64,
	FIRST_ID = 1000000 /* so that ids of calls are no ids of requests */
};

struct line { /* a connection of an event loop */
	int fd, tier;
	bool upstream;
	struct task *task; /* upstream: that waits for its answer; NULL: free */
	struct line *next; /* of the free ones */
};

struct task { /* a request that is being served */
	uint64_t id;
	int calls[CALLS_MAX], ncalls, next;
	struct line *from;
	int64_t begin_ns;
};

static const char *const names[TIERS] = { "front", "cart", "stock" };
static char *const *nets; /* of front, and of the others; NULL: the one that this is in */
static uint64_t first_id = FIRST_ID;
static int tier, out;
static uint16_t ports[TIERS];

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

/* What request `id` of this service calls: the same on every run. */
static int
plan(uint64_t id, int calls[CALLS_MAX])
{
	uint64_t x = (id + 1) * UINT64_C(0x9e3779b97f4a7c15);
	int n = 0;

	x ^= x >> 29;
	if (tier == 0)
		for (n = 0; n < (int)(x % (CALLS_MAX + 1)); n++)
			calls[n] = 1 + (int)(x >> (8 + n) & 1);
	else if (tier == 1 && (x & 1))
		calls[n++] = 2;
	return n;
}

static void
spin(uint64_t id)
{
	for (volatile uint64_t i = id * 7919 % 20000; i > 0; i--)
		;
}

static void
say(uint64_t id, int64_t begin_ns)
{
	char text[128];
	int n = snprintf(text, sizeof text, "%llu %s %d %lld %lld\n", (unsigned long long)id,
	    names[tier], (int)gettid(), (long long)begin_ns, (long long)now_ns());

	if (write(out, text, (size_t)n) != n)
		die("write");
}

static struct sockaddr_in
address_of(int of, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl((nets != NULL ? 0x0a4d0002 : 0x7f000002) + (uint32_t)of) } };
}

/* The network namespace of that service, from now on. */
static void
enter(int of)
{
	int fd = nets != NULL ? open(nets[of > 0], O_RDONLY | O_CLOEXEC) : -1;

	if (nets != NULL && (fd < 0 || setns(fd, CLONE_NEWNET) != 0))
		die("setns");
	if (fd >= 0)
		close(fd);
}

static int
connect_to(int of)
{
	struct sockaddr_in a = address_of(of, ports[of]);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	return fd;
}

/* False: the other side has closed. */
static bool
receive(int fd, char message[MESSAGE])
{
	return recv(fd, message, MESSAGE, MSG_WAITALL) == MESSAGE;
}

static void
ask(int fd, int of, uint64_t id)
{
	char message[MESSAGE] = "";

	snprintf(message, sizeof message, "GET /%s/%llu HTTP/1.1\r\n", names[of],
	    (unsigned long long)id);
	if (send(fd, message, sizeof message, MSG_NOSIGNAL) != sizeof message)
		die("send");
}

static void
answer(int fd)
{
	char message[MESSAGE] = "HTTP/1.1 200 OK\r\n";

	send(fd, message, sizeof message, MSG_NOSIGNAL);
}

static uint64_t
id_of(const char *message)
{
	return strtoull(strchr(message + 5, '/') + 1, NULL, 10);
}

/* ---- a thread for each connection ---- */

static void *
serve(void *arg)
{
	int fd = (int)(intptr_t)arg, to[TIERS] = { -1, -1, -1 };
	char message[MESSAGE];

	while (receive(fd, message)) {
		int64_t begin_ns = now_ns();
		uint64_t id = id_of(message);
		int calls[CALLS_MAX], n = plan(id, calls);

		for (int i = 0; i < n; i++) {
			int of = calls[i];

			spin(id);
			if (to[of] < 0)
				to[of] = connect_to(of);
			ask(to[of], of, id * 10 + (uint64_t)i + 1);
			if (!receive(to[of], message))
				return NULL;
		}
		spin(id + 1);
		say(id, begin_ns);
		answer(fd);
	}
	return NULL;
}

static void
blocking_tier(int listener)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), yes = 1;
		pthread_t t;

		if (fd < 0)
			die("accept");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
		if (pthread_create(&t, NULL, serve, (void *)(intptr_t)fd) != 0)
			die("pthread_create");
		pthread_detach(t);
	}
}

/* ---- an event loop ---- */

static struct line *free_lines[TIERS];
static int loop;

static struct line *
watch(int fd, bool upstream, int of)
{
	struct line *l = calloc(1, sizeof *l);
	struct epoll_event e = { .events = EPOLLIN, .data = { .ptr = l } };

	*l = (struct line){ .fd = fd, .upstream = upstream, .tier = of };
	if (epoll_ctl(loop, EPOLL_CTL_ADD, fd, &e) != 0)
		die("epoll_ctl");
	return l;
}

static void
advance(struct task *t)
{
	spin(t->id);
	if (t->next < t->ncalls) {
		int of = t->calls[t->next++];
		struct line *l = free_lines[of];

		if (l != NULL)
			free_lines[of] = l->next;
		else
			l = watch(connect_to(of), true, of);
		l->task = t;
		ask(l->fd, of, t->id * 10 + (uint64_t)t->next);
		return;
	}
	say(t->id, t->begin_ns);
	answer(t->from->fd);
	free(t);
}

static void
handle(struct line *l)
{
	char message[MESSAGE];
	struct task *t;

	if (!receive(l->fd, message)) {
		close(l->fd);
		free(l);
		return;
	}
	if (l->upstream) {
		t = l->task;
		l->next = free_lines[l->tier];
		free_lines[l->tier] = l;
	} else {
		t = calloc(1, sizeof *t);
		t->begin_ns = now_ns();
		t->id = id_of(message);
		t->ncalls = plan(t->id, t->calls);
		t->from = l;
	}
	advance(t);
}

static void
epoll_tier(int listener)
{
	struct epoll_event events[EVENTS], first = { .events = EPOLLIN };

	loop = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_ctl(loop, EPOLL_CTL_ADD, listener, &first) != 0)
		die("epoll_ctl");
	for (;;) {
		int n = epoll_wait(loop, events, EVENTS, -1), yes = 1;

		for (int i = 0; i < n; i++) {
			int fd;

			if (events[i].data.ptr != NULL) {
				handle(events[i].data.ptr);
				continue;
			}
			fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
			watch(fd, false, 0);
		}
	}
}

/* ---- all of it ---- */

static uint64_t each;

static void *
client(void *arg)
{
	uint64_t first = first_id + (uint64_t)(uintptr_t)arg * each;
	int fd = connect_to(0);
	char message[MESSAGE];

	for (uint64_t i = 0; i < each; i++) {
		ask(fd, 0, first + i);
		if (!receive(fd, message))
			exit(1);
	}
	close(fd);
	return NULL;
}

static int
listen_at(int of)
{
	struct sockaddr_in a = address_of(of, (uint16_t)(8001 + of));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	ports[of] = (uint16_t)(8001 + of);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 256) != 0)
		die("listen");
	return fd;
}

int
main(int argc, char **argv)
{
	int listeners[TIERS], nclients;
	pid_t servers[TIERS];
	pthread_t threads[256];
	char line[16];

	if (argc < 5 || argc == 7 || argc > 8 || (nclients = atoi(argv[2])) < 1 || nclients > 256) {
		fprintf(stderr,
		    "usage: kernel_requests_work blocking|epoll CLIENTS REQUESTS FILE [FIRST [NET NET]]\n");
		return 2;
	}
	each = strtoull(argv[3], NULL, 10) / (uint64_t)nclients;
	out = open(argv[4], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (out < 0)
		die(argv[4]);
	if (argc > 5)
		first_id = strtoull(argv[5], NULL, 10);
	if (argc > 6)
		nets = &argv[6];
	for (int i = 0; i < TIERS; i++) {
		enter(i);
		listeners[i] = listen_at(i);
	}
	for (int i = 0; i < TIERS; i++) {
		if ((servers[i] = fork()) < 0)
			die("fork");
		if (servers[i] > 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, names[i]);
		tier = i;
		enter(i);
		(strcmp(argv[1], "epoll") == 0 ? epoll_tier : blocking_tier)(listeners[i]);
	}
	enter(0);
	puts("ready");
	fflush(stdout);
	if (fgets(line, sizeof line, stdin) == NULL)
		return 1;
	for (int i = 0; i < nclients; i++)
		if (pthread_create(&threads[i], NULL, client, (void *)(uintptr_t)i) != 0)
			die("pthread_create");
	for (int i = 0; i < nclients; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < TIERS; i++)
		kill(servers[i], SIGKILL);
	for (int i = 0; i < TIERS; i++)
		waitpid(servers[i], NULL, 0);
	puts("done");
	return 0;
}
