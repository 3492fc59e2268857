/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs without any instrumentation that serve requests by TCP, and their load. Text like HTTP/1; nothing of Hone or LTTng.
 *
 *	kernel_live ROLE [FAULT]
 *	kernel_live load [PAUSE_US [FILE]]	FILE: counts the answers
 *
 *	load ---> front, 127.0.0.2: a thread for each connection
 *	            '---> middle, 127.0.0.3: one thread and epoll
 *	                    '---> back, 127.0.0.4: a thread for each connection, which takes a lock
 *	                                            FAULT lock: another thread, the keeper, holds it for 25 ms at times
 *	                                            FAULT disk: one request in twenty reads a file, not from memory, for 15 ms
 *	                                            FAULT cpu: one request in twenty computes for 15 ms of processor time
 *	                                            FAULT timer: one request in twenty sleeps for 15 ms
 *
 * The name of a process is kl-ROLE, or KERNEL_LIVE_NAME-ROLE. The load prints "N requests, M of them over 10 ms": as many as were answered, by
 * its own clock.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LOADS = 8, CONNECTIONS_MAX = 64, PORT = 8080, MESSAGE_MAX = 512, PAUSE_US = 20000 };

static const char *const ADDRESSES[] = { "127.0.0.2", "127.0.0.3", "127.0.0.4" };
static const char *fault = "";
static int pause_us = PAUSE_US;

static void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static int64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t
now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* So much processor time: on a busy machine it is the same work. */
static void
compute_us(int us)
{
	for (int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * INT64_C(1000);
	     clock_ns(CLOCK_THREAD_CPUTIME_ID) < until;)
		;
}

static struct sockaddr_in
address_of(int tier)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)(PORT + tier)) };

	inet_pton(AF_INET, ADDRESSES[tier], &a.sin_addr);
	return a;
}

static int
serve_at(int tier)
{
	struct sockaddr_in a = address_of(tier);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(s, (struct sockaddr *)&a, sizeof a) != 0 || listen(s, 64) != 0)
		fail(ADDRESSES[tier]);
	return s;
}

static int
connect_to(int tier)
{
	struct sockaddr_in a = address_of(tier);

	for (int tries = 0; tries < 200; tries++) {
		int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (connect(s, (struct sockaddr *)&a, sizeof a) == 0)
			return s;
		close(s);
		usleep(20000);
	}
	fail(ADDRESSES[tier]);
	return -1;
}

static bool
say(int s, const char *text)
{
	size_t n = strlen(text);

	return send(s, text, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* A message that fits in one piece, as all do here. */
static bool
hear(int s)
{
	char message[MESSAGE_MAX];

	return recv(s, message, sizeof message, 0) > 0;
}

static const char *const ASK = "GET /item/17?user=42 HTTP/1.1\r\nHost: shop\r\n\r\n";
static const char *const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/* ---- front ---- */

static void *
front_serve(void *of)
{
	int client = (int)(intptr_t)of, middle = connect_to(1);

	while (hear(client)) {
		compute_us(100);
		if (!say(middle, ASK) || !hear(middle))
			break;
		compute_us(50);
		if (!say(client, ANSWER))
			break;
	}
	close(client);
	close(middle);
	return NULL;
}

/* ---- back ---- */

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;

static void *
keep(void *of)
{
	(void)of;
	prctl(PR_SET_NAME, "keeper");
	for (unsigned n = 1;; n++) {
		usleep(40000 + n * 7919 % 20000);
		pthread_mutex_lock(&stock);
		usleep(25000);
		pthread_mutex_unlock(&stock);
	}
	return NULL;
}

enum { BLOCK = 1 << 16, BLOCKS = 256, FAULT_US = 15000, FAULT_OF = 20 };

/* A file without a name whose reads come from the disk: O_DIRECT leaves the page cache out. */
static int
disk_open(void)
{
	static char block[BLOCK] __attribute__((aligned(4096)));
	int file = open(
	    getenv("KERNEL_LIVE_FOLDER"), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);

	if (file < 0)
		fail("KERNEL_LIVE_FOLDER");
	for (int i = 0; i < BLOCKS; i++)
		if (pwrite(file, block, sizeof block, (off_t)i * BLOCK) != sizeof block)
			fail("KERNEL_LIVE_FOLDER");
	return file;
}

static void
read_disk(int file)
{
	static __thread char block[BLOCK] __attribute__((aligned(4096)));
	int64_t until = now_ns() + FAULT_US * INT64_C(1000);

	for (unsigned n = 0; now_ns() < until; n++)
		if (pread(file, block, sizeof block, (off_t)(n * 7919 % BLOCKS) * BLOCK) !=
		    sizeof block)
			fail("a file");
}

static void *
back_serve(void *of)
{
	static atomic_uint requests;
	int client = (int)(intptr_t)of, file = strcmp(fault, "disk") == 0 ? disk_open() : -1;

	while (hear(client)) {
		bool turn = atomic_fetch_add(&requests, 1) % FAULT_OF == 0;

		pthread_mutex_lock(&stock);
		compute_us(100);
		pthread_mutex_unlock(&stock);
		if (turn && file >= 0)
			read_disk(file);
		if (turn && strcmp(fault, "cpu") == 0)
			compute_us(FAULT_US);
		if (turn && strcmp(fault, "timer") == 0)
			usleep(FAULT_US);
		if (!say(client, ANSWER))
			break;
	}
	close(client);
	if (file >= 0)
		close(file);
	return NULL;
}

static void
serve_threads(int tier, void *(*serve)(void *))
{
	int s = serve_at(tier);
	pthread_t t;

	for (;;) {
		int client = accept4(s, NULL, NULL, SOCK_CLOEXEC);

		if (client >= 0 && pthread_create(&t, NULL, serve, (void *)(intptr_t)client) == 0)
			pthread_detach(t);
	}
}

/* ---- middle ---- */

/* A connection of a client, and one to the back for it. */
static struct {
	int client, back;
} pairs[CONNECTIONS_MAX];

static void
watch(int loop, int s, uint32_t what)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = what };

	if (epoll_ctl(loop, EPOLL_CTL_ADD, s, &e) != 0)
		fail("epoll");
}

static void
middle_event(int loop, uint32_t what)
{
	uint32_t i = what / 2;

	if (!hear(what % 2 == 0 ? pairs[i].client : pairs[i].back)) {
		epoll_ctl(loop, EPOLL_CTL_DEL, pairs[i].client, NULL);
		epoll_ctl(loop, EPOLL_CTL_DEL, pairs[i].back, NULL);
		close(pairs[i].client);
		close(pairs[i].back);
		return;
	}
	compute_us(30);
	if (what % 2 == 0)
		say(pairs[i].back, ASK);
	else
		say(pairs[i].client, ANSWER);
}

static void
serve_events(void)
{
	int s = serve_at(1), loop = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event happened[16];
	uint32_t n = 0;

	watch(loop, s, UINT32_MAX);
	for (;;) {
		int ready = epoll_wait(loop, happened, 16, -1);

		for (int i = 0; i < ready; i++) {
			if (happened[i].data.u32 != UINT32_MAX) {
				middle_event(loop, happened[i].data.u32);
				continue;
			}
			pairs[n].client = accept4(s, NULL, NULL, SOCK_CLOEXEC);
			pairs[n].back = connect_to(2);
			watch(loop, pairs[n].client, 2 * n);
			watch(loop, pairs[n].back, 2 * n + 1);
			n = (n + 1) % CONNECTIONS_MAX;
		}
	}
}

/* ---- load ---- */

enum { SLOW_NS = 10 * 1000 * 1000 };

static volatile sig_atomic_t ended;
static uint64_t *answered; /* in a file, if one is named */
static atomic_ullong slow; /* of these, over 10 ms */

static void
on_end(int signal_number)
{
	(void)signal_number;
	ended = 1;
}

static void *
load(void *of)
{
	unsigned seed = (unsigned)(intptr_t)of;
	int front = connect_to(0);

	while (!ended) {
		int64_t begin_ns = now_ns();

		if (!say(front, ASK) || !hear(front))
			break;
		slow += now_ns() - begin_ns > SLOW_NS;
		__atomic_add_fetch(answered, 1, __ATOMIC_RELAXED);
		usleep((useconds_t)(pause_us / 2 + rand_r(&seed) % (unsigned)pause_us));
	}
	close(front);
	return NULL;
}

static void
load_all(const char *counter)
{
	int file = counter != NULL ? open(counter, O_CREAT | O_RDWR | O_CLOEXEC, 0600) : -1;
	pthread_t t[LOADS];

	if (file >= 0 && ftruncate(file, sizeof *answered) != 0)
		fail(counter);
	answered = mmap(NULL, sizeof *answered, PROT_READ | PROT_WRITE,
	    file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
	if (answered == MAP_FAILED)
		fail("a counter");

	signal(SIGTERM, on_end);
	signal(SIGINT, on_end);
	for (intptr_t i = 0; i < LOADS; i++)
		pthread_create(&t[i], NULL, load, (void *)(i + 1));
	for (int i = 0; i < LOADS; i++)
		pthread_join(t[i], NULL);
	printf("%llu requests, %llu of them over 10 ms\n", (unsigned long long)*answered,
	    (unsigned long long)slow);
}

int
main(int argc, char **argv)
{
	pthread_t t;
	char name[16];
	const char *prefix = getenv("KERNEL_LIVE_NAME");

	if (argc < 2)
		return 2;
	fault = argc > 2 ? argv[2] : "";
	snprintf(name, sizeof name, "%s-%s", prefix != NULL ? prefix : "kl", argv[1]);
	prctl(PR_SET_NAME, name);
	if (strcmp(argv[1], "load") == 0) {
		if (argc > 2)
			pause_us = atoi(argv[2]);
		load_all(argc > 3 ? argv[3] : NULL);
		return 0;
	}
	if (strcmp(argv[1], "front") == 0)
		serve_threads(0, front_serve);
	if (strcmp(argv[1], "middle") == 0)
		serve_events();
	if (strcmp(argv[1], "back") != 0)
		return 2;
	if (strcmp(fault, "lock") == 0)
		pthread_create(&t, NULL, keep, NULL);
	serve_threads(2, back_serve);
	return 0;
}
