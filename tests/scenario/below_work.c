/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits for known reasons, each in a function of its own: "below_work FOLDER TIMES [PHASE...]". Prints its process id, waits for
 * a line of input, and then goes through all phases, or those named, TIMES times each, one thread at a time. While it is in a phase,
 * its first thread has the phase's name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PHASE __attribute__((noinline))

enum { WAIT_US = 3000, FILE_BYTES = 8 << 20, PAGE = 4096 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, inherits,
		       wakes = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem, go, held, let_go;
static int pair[2], tcp[2], pipes[2], cold, direct;
static char *mapped;
static const char *folder;
static int signalled, round_number;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

/* Not functions: the function that calls these is where the thread waits. */
#define SLEEP_US(us) nanosleep(&(struct timespec){ 0, (us)*1000 }, NULL)
#define READ_ONE(fd)                        \
	do {                                \
		char x;                     \
                                            \
		if (read((fd), &x, 1) != 1) \
			die("read");        \
		__asm__ volatile("");       \
	} while (0)

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- the other thread: does what the phase needs, a while after it was asked ---- */

enum other {
	OTHER_NONE,
	OTHER_MUTEX,
	OTHER_PI,
	OTHER_WRITES,
	OTHER_READS,
	OTHER_COND,
	OTHER_SEM,
	OTHER_UNIX,
	OTHER_TCP,
	OTHER_PIPE
};
static enum other asked;

static PHASE void
hold_mutex(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	sem_post(&held);
	SLEEP_US(WAIT_US);
	pthread_mutex_unlock(m);
}

static PHASE void
hold_rwlock(bool writes)
{
	if (writes)
		pthread_rwlock_wrlock(&rwlock);
	else
		pthread_rwlock_rdlock(&rwlock);
	sem_post(&held);
	SLEEP_US(WAIT_US);
	pthread_rwlock_unlock(&rwlock);
}

static void
after_a_while(void)
{
	sem_post(&held);
	SLEEP_US(WAIT_US);
}

static void *
other(void *arg)
{
	for (;;) {
		while (sem_wait(&go) != 0)
			;
		switch (asked) {
		case OTHER_MUTEX:
			hold_mutex(&mutex);
			break;
		case OTHER_PI:
			hold_mutex(&inherits);
			break;
		case OTHER_WRITES:
		case OTHER_READS:
			hold_rwlock(asked == OTHER_WRITES);
			break;
		case OTHER_COND:
			after_a_while();
			pthread_mutex_lock(&wakes);
			signalled = 1;
			pthread_mutex_unlock(&wakes);
			pthread_cond_signal(&cond);
			break;
		case OTHER_SEM:
			after_a_while();
			sem_post(&sem);
			break;
		case OTHER_UNIX:
		case OTHER_TCP:
		case OTHER_PIPE:
			after_a_while();
			if (write(asked == OTHER_UNIX  ? pair[1]
				  : asked == OTHER_TCP ? tcp[1]
						       : pipes[1],
				"x", 1) != 1)
				die("write");
			break;
		case OTHER_NONE:
			break;
		}
		sem_post(&let_go);
	}
	return arg;
}

/* ---- phases ---- */

static PHASE void
phase_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

static PHASE void
phase_pi_mutex(void)
{
	pthread_mutex_lock(&inherits);
	pthread_mutex_unlock(&inherits);
	__asm__ volatile("");
}

static PHASE void
phase_read_lock(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	__asm__ volatile("");
}

static PHASE void
phase_write_lock(void)
{
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	__asm__ volatile("");
}

static PHASE void
phase_cond(void)
{
	pthread_mutex_lock(&wakes);
	while (!signalled)
		pthread_cond_wait(&cond, &wakes);
	signalled = 0;
	pthread_mutex_unlock(&wakes);
	__asm__ volatile("");
}

static PHASE void
phase_sem(void)
{
	while (sem_wait(&sem) != 0)
		;
	__asm__ volatile("");
}

static PHASE void
phase_direct_read(void)
{
	static char room[2 * PAGE];
	char *at = room + (PAGE - (uintptr_t)room % PAGE) % PAGE;

	if (pread(direct, at, PAGE, (off_t)(round_number * 37 % (FILE_BYTES / PAGE)) * PAGE) !=
	    PAGE)
		die("direct read");
	__asm__ volatile("");
}

static PHASE void
phase_cold_read(void)
{
	char page[PAGE];

	if (pread(cold, page, PAGE, (off_t)(round_number * 41 % (FILE_BYTES / PAGE)) * PAGE) !=
	    PAGE)
		die("cold read");
	__asm__ volatile("");
}

static PHASE void
phase_fsync(void)
{
	if (pwrite(cold, "x", 1, round_number) != 1 || fsync(cold) != 0)
		die("fsync");
	__asm__ volatile("");
}

static PHASE int
phase_fault(void)
{
	return *(
	    volatile char *)(mapped + (size_t)(round_number * 43 % (FILE_BYTES / PAGE)) * PAGE);
}

static PHASE void
phase_sleep(void)
{
	SLEEP_US(WAIT_US);
	__asm__ volatile("");
}

static PHASE void
phase_poll(void)
{
	struct pollfd p = { .fd = pair[0], .events = POLLIN };

	poll(&p, 1, WAIT_US / 1000);
	__asm__ volatile("");
}

static PHASE void
phase_epoll(void)
{
	static int fd = -1;
	struct epoll_event e = { .events = EPOLLIN };

	if (fd < 0) {
		fd = epoll_create1(0);
		epoll_ctl(fd, EPOLL_CTL_ADD, pair[0], &e);
	}
	epoll_wait(fd, &e, 1, WAIT_US / 1000);
	__asm__ volatile("");
}

static PHASE void
phase_tcp(void)
{
	READ_ONE(tcp[0]);
	__asm__ volatile("");
}

static PHASE void
phase_unix(void)
{
	READ_ONE(pair[0]);
	__asm__ volatile("");
}

static PHASE void
phase_pipe(void)
{
	READ_ONE(pipes[0]);
	__asm__ volatile("");
}

static PHASE void
phase_timed_lock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	if (pthread_mutex_timedlock(&mutex, &t) == 0)
		pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

static PHASE void
phase_child(void)
{
	pid_t child = vfork();

	if (child == 0) {
		execl("/bin/sleep", "sleep", "0.003", (char *)NULL);
		_exit(1);
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	__asm__ volatile("");
}

static PHASE void
phase_spin(void)
{
	double begun = now_ms();

	while (now_ms() < begun + 5)
		;
}

/* Beside a thread that does not leave the same CPU. */
static volatile int spinning;

static void *
spin(void *arg)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	pthread_setaffinity_np(pthread_self(), sizeof one, &one);
	while (spinning)
		;
	return arg;
}

static PHASE void
phase_crowded(void)
{
	double begun = now_ms();

	while (now_ms() < begun + 20)
		;
}

static void
crowded(void)
{
	cpu_set_t one, before;
	pthread_t thread;

	sched_getaffinity(0, sizeof before, &before);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	spinning = 1;
	pthread_create(&thread, NULL, spin, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof one, &one);
	phase_crowded();
	pthread_setaffinity_np(pthread_self(), sizeof before, &before);
	spinning = 0;
	pthread_join(thread, NULL);
}

static const struct phase {
	const char *name;
	void (*run)(void);
	enum other other;
} PHASES[] = { { "mutex", phase_mutex, OTHER_MUTEX }, { "pi_mutex", phase_pi_mutex, OTHER_PI },
	{ "read_lock", phase_read_lock, OTHER_WRITES },
	{ "write_lock", phase_write_lock, OTHER_WRITES },
	{ "timed_lock", phase_timed_lock, OTHER_MUTEX }, { "cond", phase_cond, OTHER_COND },
	{ "sem", phase_sem, OTHER_SEM }, { "direct_read", phase_direct_read, OTHER_NONE },
	{ "cold_read", phase_cold_read, OTHER_NONE }, { "fsync", phase_fsync, OTHER_NONE },
	{ "fault", (void (*)(void))phase_fault, OTHER_NONE }, { "sleep", phase_sleep, OTHER_NONE },
	{ "poll", phase_poll, OTHER_NONE }, { "epoll", phase_epoll, OTHER_NONE },
	{ "tcp", phase_tcp, OTHER_TCP }, { "unix", phase_unix, OTHER_UNIX },
	{ "pipe", phase_pipe, OTHER_PIPE }, { "child", phase_child, OTHER_NONE },
	{ "spin", phase_spin, OTHER_NONE }, { "crowded", crowded, OTHER_NONE } };

static void
connect_tcp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&a, sizeof a) != 0 || listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&a, &len) != 0)
		die("listen");
	tcp[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(tcp[1], (struct sockaddr *)&a, sizeof a) != 0 ||
	    (tcp[0] = accept(listener, NULL, NULL)) < 0)
		die("connect");
	close(listener);
}

static void
make_file(void)
{
	char path[512], *bytes = calloc(1, FILE_BYTES);

	snprintf(path, sizeof path, "%s/below_work.data", folder);
	cold = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (bytes == NULL || cold < 0 || write(cold, bytes, FILE_BYTES) != FILE_BYTES ||
	    fsync(cold) != 0)
		die(path);
	direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	mapped = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, cold, 0);
	if (mapped == MAP_FAILED)
		die("mmap");
	madvise(mapped, FILE_BYTES, MADV_RANDOM);
	posix_fadvise(cold, 0, FILE_BYTES, POSIX_FADV_RANDOM);
	free(bytes);
}

static bool
is_wanted(int argc, char **argv, const char *name)
{
	for (int i = 3; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc == 3;
}

int
main(int argc, char **argv)
{
	pthread_mutexattr_t pi;
	pthread_t thread;
	char line[8];
	int times;

	if (argc < 3 || (times = atoi(argv[2])) < 1) {
		fputs("usage: below_work FOLDER TIMES [PHASE...]\n", stderr);
		return 2;
	}
	folder = argv[1];
	pthread_mutexattr_init(&pi);
	pthread_mutexattr_setprotocol(&pi, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inherits, &pi);
	if (sem_init(&sem, 0, 0) != 0 || sem_init(&go, 0, 0) != 0 || sem_init(&held, 0, 0) != 0 ||
	    sem_init(&let_go, 0, 0) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 ||
	    pipe(pipes) != 0)
		die("setup");
	connect_tcp();
	make_file();
	pthread_create(&thread, NULL, other, NULL);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (fgets(line, sizeof line, stdin) == NULL)
		return 1;
	for (round_number = 1; round_number <= times; round_number++)
		for (size_t i = 0; i < sizeof PHASES / sizeof *PHASES; i++) {
			const struct phase *p = &PHASES[i];

			if (!is_wanted(argc, argv, p->name))
				continue;
			posix_fadvise(cold, 0, FILE_BYTES, POSIX_FADV_DONTNEED);
			madvise(mapped, FILE_BYTES, MADV_DONTNEED);
			asked = p->other;
			if (p->other != OTHER_NONE) {
				sem_post(&go);
				while (sem_wait(&held) != 0)
					;
			}
			pthread_setname_np(pthread_self(), p->name); /* tells when it begins */
			p->run();
			pthread_setname_np(pthread_self(), "between");
			if (p->other != OTHER_NONE)
				while (sem_wait(&let_go) != 0)
					;
		}
	printf("done\n");
	return 0;
}
