/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests whose system calls and waits are known. Several are served at a time: each begins on a thread of its own, which saves a file, and goes on as a
 * unit that moves over the threads of a pool, phase by phase; so the phases of several units alternate on each thread.
 *
 *	save	in it journal: write, fsync		nap	12 ms of sleep
 *	ask	connect, send, receive: 5 ms		guard	a mutex that another thread holds for most of 10 ms
 *	touch	page faults
 *
 * Reads a line, then serves, prints what each phase did, one line each, and ends:
 *
 *	PHASE UNIT TID ARGUMENT		ARGUMENT: file descriptor; pages; holder's tid; else 0
 *
 * usage: annotate_program FOLDER REQUESTS
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "instrument/hone.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/annotate_program_tp.h"

enum {
	POOL = 3,
	CLIENTS = 4,
	PAGES = 64,
	PHASES = 4,
	NAP_NS = 12000000,
	HOLD_NS = 10000000,
	ANSWER_NS = 5000000
};

struct job { /* on its way over the pool */
	struct hone_carrier carrier;
	struct hone_unit unit;
	int phase;
	bool done;
	pthread_mutex_t lock;
	pthread_cond_t finished;
	struct job *next;
};

static struct job *queue;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER, guarded = PTHREAD_MUTEX_INITIALIZER,
		       print_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static volatile pid_t holder;
static sem_t wanted;
static int requests;
static const char *folder;
static struct sockaddr_in server;
static char said[1 << 20];
static size_t said_len;

#define STEP(name) lttng_ust_tracepoint(orders, name, 0)

static void
tell(const char *phase, uint64_t unit, long argument)
{
	pthread_mutex_lock(&print_lock);
	said_len += (size_t)snprintf(said + said_len, sizeof said - said_len,
	    "%s %016" PRIx64 " %d %ld\n", phase, unit, (int)gettid(), argument);
	pthread_mutex_unlock(&print_lock);
}

static void
pause_ns(long ns)
{
	nanosleep(&(struct timespec){ 0, ns }, NULL);
}

static void
save(int number)
{
	char path[4096];
	int fd;

	STEP(save_begin);
	snprintf(path, sizeof path, "%s/order-%d", folder, number);
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	STEP(journal_begin);
	if (write(fd, path, 100) != 100 || fsync(fd) != 0)
		abort();
	STEP(journal_end);
	close(fd);
	STEP(save_end);
	tell("journal", hone_unit_id(), fd);
}

static void
nap(uint64_t unit)
{
	STEP(nap_begin);
	pause_ns(NAP_NS);
	STEP(nap_end);
	tell("nap", unit, 0);
}

static void
ask(uint64_t unit)
{
	char answer[64];
	int fd;

	STEP(ask_begin);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&server, sizeof server) != 0 ||
	    send(fd, "question", 8, 0) != 8 || recv(fd, answer, sizeof answer, 0) != 6)
		abort();
	close(fd);
	STEP(ask_end);
	tell("ask", unit, fd);
}

static void
guard(uint64_t unit)
{
	pid_t who;

	sem_post(&wanted);
	while ((who = holder) == 0)
		pause_ns(50000);
	STEP(guard_begin);
	pthread_mutex_lock(&guarded);
	pthread_mutex_unlock(&guarded);
	STEP(guard_end);
	tell("guard", unit, who);
}

static void
touch(uint64_t unit)
{
	size_t bytes = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	volatile char *p;

	STEP(touch_begin);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < bytes; i += bytes / PAGES)
		p[i] = 1;
	munmap((void *)p, bytes);
	STEP(touch_end);
	tell("touch", unit, PAGES);
}

static void
enqueue(struct job *j)
{
	struct job **at = &queue;

	pthread_mutex_lock(&queue_lock);
	j->next = NULL;
	while (*at != NULL)
		at = &(*at)->next;
	*at = j;
	pthread_cond_signal(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
}

static struct job *
dequeue(void)
{
	struct job *j;

	pthread_mutex_lock(&queue_lock);
	while (queue == NULL)
		pthread_cond_wait(&queue_filled, &queue_lock);
	j = queue;
	queue = j->next;
	pthread_mutex_unlock(&queue_lock);
	return j;
}

/* A thread of the pool does one phase of whatever unit is next. */
static void *
pool(void *unused)
{
	static void (*const phases[PHASES])(uint64_t) = { nap, ask, guard, touch };

	(void)unused;
	pthread_setname_np(pthread_self(), "pool");
	for (;;) {
		struct job *j = dequeue();

		if (j->phase == 0)
			hone_unit_begin(&j->carrier, "work");
		else
			hone_attach(&j->unit);
		phases[j->phase](hone_unit_id());
		if (++j->phase < PHASES) {
			hone_detach(&j->unit);
			enqueue(j);
			continue;
		}
		hone_unit_end();
		pthread_mutex_lock(&j->lock);
		j->done = true;
		pthread_cond_signal(&j->finished);
		pthread_mutex_unlock(&j->lock);
	}
	return NULL;
}

/* Takes the mutex when somebody is about to want it, and keeps it for a while. */
static void *
hold(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "holder");
	for (;;) {
		sem_wait(&wanted);
		pthread_mutex_lock(&guarded);
		holder = gettid();
		pause_ns(HOLD_NS);
		holder = 0;
		pthread_mutex_unlock(&guarded);
	}
	return NULL;
}

static void *
answer(void *listening)
{
	char question[64];

	for (;;) {
		int fd = accept(*(int *)listening, NULL, NULL);

		if (recv(fd, question, sizeof question, 0) > 0) {
			pause_ns(ANSWER_NS);
			if (send(fd, "answer", 6, 0) != 6)
				abort();
		}
		close(fd);
	}
	return NULL;
}

static void *
client(void *of)
{
	int first = *(int *)of;

	for (int i = first; i < requests; i += CLIENTS) {
		struct job j = { .lock = PTHREAD_MUTEX_INITIALIZER,
			.finished = PTHREAD_COND_INITIALIZER };

		hone_request_begin("ORDER", NULL);
		save(i);
		hone_fork("work", &j.carrier);
		enqueue(&j);
		pthread_mutex_lock(&j.lock);
		while (!j.done)
			pthread_cond_wait(&j.finished, &j.lock);
		pthread_mutex_unlock(&j.lock);
		hone_join(&j.carrier, "work");
		hone_request_end(200);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	int listening = socket(AF_INET, SOCK_STREAM, 0), numbers[CLIENTS];
	pthread_t thread, clients[CLIENTS];
	socklen_t size = sizeof server;
	char line[16];

	if (argc != 3)
		return 2;
	folder = argv[1];
	requests = atoi(argv[2]);
	server.sin_family = AF_INET;
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listening, (struct sockaddr *)&server, sizeof server) != 0 ||
	    listen(listening, 16) != 0 ||
	    getsockname(listening, (struct sockaddr *)&server, &size) != 0)
		return 1;
	for (int i = 0; i < POOL; i++)
		pthread_create(&thread, NULL, pool, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&thread, NULL, answer, &listening);
	pthread_create(&thread, NULL, hold, NULL);
	puts("ready");
	fflush(stdout);
	if (fgets(line, sizeof line, stdin) == NULL)
		return 1;
	for (int i = 0; i < CLIENTS; i++) {
		numbers[i] = i;
		pthread_create(&clients[i], NULL, client, &numbers[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	fwrite(said, 1, said_len, stdout);
	return 0;
}
