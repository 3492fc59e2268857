/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program whose threads block where it says: `blocked HOW` prints "PID TID LINE" of the thread that blocks next, with the
 * line of the call, the next one, and blocks until standard input ends. Built with -O2 -fomit-frame-pointer. With
 * -DOTHER all its functions have other names, as in an upgrade.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef OTHER
#define append other_append
#define serve other_serve
#define work other_work
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *how;
static volatile int sink;

#define SAY()                                                                        \
	do {                                                                         \
		char text_[64];                                                      \
		int n_ = snprintf(text_, sizeof text_, "%d %ld %d\n", (int)getpid(), \
		    syscall(SYS_gettid), __LINE__ + 1);                              \
		sink += (int)write(1, text_, (size_t)n_);                            \
	} while (0)

int append(int x);
int serve(int x);
void *work(void *unused);

static inline __attribute__((always_inline)) int
flush_log(int x)
{
	char c;

	SAY();
	sink += (int)read(0, &c, 1);
	return x + sink;
}

__attribute__((noinline)) int
append(int x)
{
	char c[3000];

	memset(c, x, sizeof c);
	if (strcmp(how, "inlined") == 0)
		x += flush_log(x);
	else if (strcmp(how, "mutex") == 0) {
		SAY();
		pthread_mutex_lock(&mutex);
	} else {
		SAY();
		sink += (int)read(0, c, 1);
	}
	return x + c[x % 1000] + sink;
}

__attribute__((noinline)) int
serve(int x)
{
	return append(x + 1) + sink;
}

void *
work(void *unused)
{
	(void)unused;
	sink += serve(sink);
	return NULL;
}

static void
handler(int signal)
{
	sink += serve(signal);
}

static void
made_at_run_time(void)
{
	static const unsigned char code[] = { 0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xc3 }; /* pause() */
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, code, sizeof code);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	SAY();
	((void (*)(void))page)();
	sink++;
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	how = argc > 1 ? argv[1] : "read";
	if (strcmp(how, "made") == 0)
		made_at_run_time();
	else if (strcmp(how, "signal") == 0) {
		signal(SIGUSR1, handler);
		raise(SIGUSR1);
	} else if (strcmp(how, "mutex") == 0) {
		char c;

		pthread_mutex_lock(&mutex);
		pthread_create(&thread, NULL, work, NULL);
		while (read(0, &c, 1) > 0)
			;
		_exit(0);
	} else if (strcmp(how, "thread") == 0) {
		pthread_create(&thread, NULL, work, NULL);
		pthread_join(thread, NULL);
	} else
		work(NULL);
	return sink == 12345;
}
