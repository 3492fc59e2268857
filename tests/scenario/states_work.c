/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A front end and a service of contacts behind it, without any instrumentation, and their clients, for tests of what their threads wait for:
 *
 *	client threads ---HTTP---> front: a thread for each connection ---HTTP---> contacts: PORT + 1
 *
 *	states_work PORT FILE REQUESTS MODE
 *
 * Contacts reads a request in two parts, head and body, as the front end sends them, computes, counts it under a lock, reads FILE twice, and answers.
 * It has two kinds of workers, as gunicorn has. MODE is one of them, or a fault of the first:
 *	sync		a thread for each connection, which reads, computes and answers
 *	threaded	one thread reads all connections; two others compute and answer
 *	disk		sync, and it reads 24 times
 *	lock		sync, and another thread holds the lock for long
 *	timer		sync, and each third request backs off
 *	compute		sync, and the front end renders for longer
 *	hog		sync, and other processes want the CPU of contacts
 * It says "ready" when all is connected, begins when it reads a line, and says "done".
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 2, BODY = 64, QUEUE = 64, HOGS = 2, BLOCK = 16384, BLOCKS = 256 };

static const char *mode, *path;
static int port, requests, file_fd;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static void
pause_us(long us)
{
	struct timespec t = { 0, us * 1000 };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

static int64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void
compute(long us)
{
	int64_t end = cpu_ns() + us * 1000;

	while (cpu_ns() < end)
		for (volatile int i = 0; i < 500; i++)
			;
}

static bool
is(const char *m)
{
	return strcmp(mode, m) == 0;
}

/* ---- sockets ---- */

static int
listen_on(int at)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)at),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 16) != 0)
		die("listen");
	return fd;
}

static void
no_delay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int
connect_to(int at)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)at),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	for (int i = 0; i < 500 && connect(fd, (struct sockaddr *)&a, sizeof a) != 0; i++)
		pause_us(10000);
	no_delay(fd);
	return fd;
}

static void
put(int fd, const char *text, size_t len)
{
	if (send(fd, text, len, MSG_NOSIGNAL) != (ssize_t)len)
		exit(0); /* the other side has ended */
}

/* Reads at least one byte, up to the end of what begins with a head of this many bytes of body. Returns the bytes so far; 0: ended. */
static size_t
get(int fd, char *text, size_t have, size_t max)
{
	ssize_t n = recv(fd, text + have, max - have, 0);

	return n > 0 ? have + (size_t)n : 0;
}

static bool
whole(const char *text, size_t len, size_t body)
{
	const char *end = memmem(text, len, "\r\n\r\n", 4);

	return end != NULL && len >= (size_t)(end - text) + 4 + body;
}

static bool
get_all(int fd, char *text, size_t max, size_t body)
{
	size_t have = 0;

	while (!whole(text, have, body))
		if ((have = get(fd, text, have, max)) == 0)
			return false;
	return true;
}

static const char ANSWER[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/* ---- contacts ---- */

static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint served;
static unsigned lines;

static void
read_file(void)
{
	static _Thread_local char *room;

	if (room == NULL && (room = aligned_alloc(4096, BLOCK)) == NULL)
		die("memory");
	if (pread(file_fd, room, BLOCK, rand() % BLOCKS * BLOCK) != BLOCK)
		die(path);
}

static void
make_file(void)
{
	static char much[BLOCK];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (int i = 0; i < BLOCKS; i++)
		if (write(fd, much, sizeof much) != sizeof much)
			die(path);
	if (fd < 0 || fsync(fd) != 0 || close(fd) != 0 ||
	    (file_fd = open(path, O_RDONLY | O_DIRECT)) < 0)
		die(path);
}

static void
serve(int fd)
{
	unsigned n = atomic_fetch_add(&served, 1);

	compute(120);
	if (is("timer") && n % 3 == 0)
		pause_us(6000);
	pthread_mutex_lock(&line_lock);
	lines++;
	pthread_mutex_unlock(&line_lock);
	for (int i = 0; i < (is("disk") ? 24 : 2); i++)
		read_file();
	compute(80);
	put(fd, ANSWER, sizeof ANSWER - 1);
}

static void *
sync_worker(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char text[1024];

	while (get_all(fd, text, sizeof text, BODY))
		serve(fd);
	return NULL;
}

static void *
holder(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&line_lock);
		pause_us(2500);
		pthread_mutex_unlock(&line_lock);
		pause_us(1000);
	}
	return arg;
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t some;
	int fds[QUEUE];
	unsigned first, last;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .some = PTHREAD_COND_INITIALIZER };

static void *
pool_worker(void *arg)
{
	(void)arg;
	for (;;) {
		int fd;

		pthread_mutex_lock(&queue.lock);
		while (queue.first == queue.last)
			pthread_cond_wait(&queue.some, &queue.lock);
		fd = queue.fds[queue.first++ % QUEUE];
		pthread_mutex_unlock(&queue.lock);
		serve(fd);
	}
	return NULL;
}

static void
read_for_pool(const int *fds, int n)
{
	static char text[64][1024];
	size_t have[64] = { 0 };
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	for (int i = 0; i < n; i++) {
		ev.data.fd = i;
		epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &ev);
	}
	while (epoll_wait(ep, &ev, 1, -1) == 1) {
		int i = ev.data.fd;

		if ((have[i] = get(fds[i], text[i], have[i], sizeof text[i])) == 0)
			exit(0);
		if (!whole(text[i], have[i], BODY))
			continue;
		have[i] = 0;
		pthread_mutex_lock(&queue.lock);
		queue.fds[queue.last++ % QUEUE] = fds[i];
		pthread_cond_signal(&queue.some);
		pthread_mutex_unlock(&queue.lock);
	}
}

static void
contacts(int listening)
{
	int fds[CLIENTS];
	pthread_t t;

	prctl(PR_SET_NAME, "contacts");
	make_file();
	if (is("hog")) {
		cpu_set_t one;

		sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
		CPU_ZERO(&one);
		CPU_SET(0, &one);
		sched_setaffinity(0, sizeof one, &one);
		for (int i = 0; i < HOGS; i++)
			if (fork() == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				prctl(PR_SET_NAME, "hog");
				for (volatile int k = 0;; k++)
					;
			}
	}
	for (int i = 0; i < CLIENTS; i++) {
		if ((fds[i] = accept(listening, NULL, NULL)) < 0)
			die("accept");
		no_delay(fds[i]);
		if (!is("threaded"))
			pthread_create(&t, NULL, sync_worker, (void *)(intptr_t)fds[i]);
		else
			pthread_create(&t, NULL, pool_worker, NULL);
	}
	if (is("lock"))
		pthread_create(&t, NULL, holder, NULL);
	if (is("threaded"))
		read_for_pool(fds, CLIENTS);
	for (;;)
		pause();
}

/* ---- the front end, and its clients ---- */

static void *
front_worker(void *arg)
{
	static const char head[] = "POST /contacts HTTP/1.1\r\nContent-Length: 64\r\n\r\n";
	int fd = (int)(intptr_t)arg, behind = connect_to(port + 1);
	char text[1024], body[BODY] = { 0 };

	while (get_all(fd, text, sizeof text, 0)) {
		compute(100);
		put(behind, head, sizeof head - 1);
		pause_us(700);
		put(behind, body, sizeof body);
		if (!get_all(behind, text, sizeof text, 0))
			exit(0);
		compute(is("compute") ? 1500 : 150);
		put(fd, ANSWER, sizeof ANSWER - 1);
	}
	return NULL;
}

static void
front(int listening)
{
	pthread_t t;

	prctl(PR_SET_NAME, "front");
	for (int i = 0; i < CLIENTS; i++) {
		int fd = accept(listening, NULL, NULL);

		no_delay(fd);
		pthread_create(&t, NULL, front_worker, (void *)(intptr_t)fd);
	}
	for (;;)
		pause();
}

static void *
client(void *arg)
{
	static const char head[] = "GET /page HTTP/1.1\r\n\r\n";
	int fd = (int)(intptr_t)arg;
	char text[1024];

	for (int i = 0; i < requests / CLIENTS; i++) {
		put(fd, head, sizeof head - 1);
		if (!get_all(fd, text, sizeof text, 0))
			exit(1);
		pause_us(2000);
	}
	return NULL;
}

static pid_t
start(void (*run)(int listening), int listening)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(listening);
		_exit(0);
	}
	return pid;
}

int
main(int argc, char **argv)
{
	int fds[CLIENTS], front_fd, contacts_fd;
	pthread_t t[CLIENTS];
	pid_t pids[2];

	if (argc != 5)
		return 2;
	port = atoi(argv[1]);
	path = argv[2];
	requests = atoi(argv[3]);
	mode = argv[4];
	/* On a busy machine the wait for a processor would be longer than any fault. */
	if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }) != 0)
		perror("SCHED_FIFO");
	front_fd = listen_on(port);
	contacts_fd = listen_on(port + 1);
	pids[0] = start(contacts, contacts_fd);
	pids[1] = start(front, front_fd);
	close(front_fd);
	close(contacts_fd);
	for (int i = 0; i < CLIENTS; i++)
		fds[i] = connect_to(port);
	pause_us(300000);
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&t[i], NULL, client, (void *)(intptr_t)fds[i]);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(t[i], NULL);
	puts("done");
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return 0;
}
