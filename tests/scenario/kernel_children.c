/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that makes processes and threads, each of which sleeps NAPS times in a function of its own: a child that is there before "go" is read, and
 * after that a child with a thread and a child of its own, and a child that executes this program again.
 *
 *	kernel_children
 *
 * It says "ready", and "FUNCTION THREAD" for each. Ends when all have ended.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAPS = 20, NAP_US = 20000 };

#define SLEEPER(name)                                      \
	static __attribute__((noinline)) void name(void)   \
	{                                                  \
		printf(#name " %d\n", (int)gettid());      \
		fflush(stdout);                            \
		for (int i = 0; i < NAPS; i++) {           \
			usleep(NAP_US);                    \
			__asm__ volatile("" ::: "memory"); \
		}                                          \
	}
SLEEPER(in_early_child)
SLEEPER(in_child)
SLEEPER(in_thread_of_child)
SLEEPER(in_grandchild)
SLEEPER(before_exec)
SLEEPER(after_exec)

static void *
thread(void *arg)
{
	in_thread_of_child();
	return arg;
}

static void
child(void)
{
	pthread_t t;

	if (fork() == 0) {
		in_grandchild();
		_exit(0);
	}
	if (pthread_create(&t, NULL, thread, NULL) == 0) {
		in_child();
		pthread_join(t, NULL);
	}
	wait(NULL);
	_exit(0);
}

int
main(int argc, char **argv)
{
	pid_t early;
	char byte;
	int go[2];

	if (argc > 1) {
		after_exec();
		return 0;
	}
	if (pipe(go) != 0)
		return 1;
	if ((early = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &byte, 1) == 1)
			in_early_child();
		_exit(0);
	}
	puts("ready");
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1 || write(go[1], "g", 1) != 1)
		return 1;
	waitpid(early, NULL, 0); /* so long the names of this file are looked up */
	if (fork() == 0)
		child();
	if (fork() == 0) {
		before_exec();
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
		_exit(1);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
