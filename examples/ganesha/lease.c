/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ganesha-lease: behaves like a Samba server of the same files, as an NFS server
 * notices it. Samba grants a Windows client exclusive caching of a file (an oplock)
 * and holds a write lease on the file meanwhile (fcntl(2), F_SETLEASE). Another
 * process that opens the file waits in open() until the client has written its data
 * back and Samba has released the lease. This program takes such leases, releases
 * one as slowly as such a client, and takes it again when no process has the file
 * open any more.
 *
 * Usage: ganesha-lease -w milliseconds file...; ends with SIGTERM. Needs root, or to own the files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FILES_MAX = 1024, RETAKE_MS = 5 };

/* WITHOUT a lease --taken again--> HELD --SIGRTMIN: a process opens the file--> GIVING until due_ms
 * --> WITHOUT */
enum state { WITHOUT, HELD, GIVING };

struct leased {
	int fd;
	enum state state;
	int64_t due_ms; /* when it is released, or taken again; CLOCK_MONOTONIC */
};

static struct leased files[FILES_MAX];
static unsigned nfiles;
static int64_t write_back_ms = 40;
static uint64_t broken;

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Takes the lease, or tries again later if a process has the file open (EAGAIN). False: failed. */
static bool
take(struct leased *l, int64_t at_ms)
{
	if (fcntl(l->fd, F_SETSIG, SIGRTMIN) != 0 || fcntl(l->fd, F_SETLEASE, F_WRLCK) != 0) {
		l->due_ms = at_ms + RETAKE_MS;
		return errno == EAGAIN;
	}
	l->state = HELD;
	return true;
}

static bool
tick(struct leased *l, int64_t at_ms)
{
	if (l->state == HELD || l->due_ms > at_ms)
		return true;
	if (l->state == WITHOUT)
		return take(l, at_ms);
	l->state = WITHOUT;
	l->due_ms = at_ms + RETAKE_MS;
	return fcntl(l->fd, F_SETLEASE, F_UNLCK) == 0;
}

static void
wanted(int fd)
{
	for (unsigned i = 0; i < nfiles; i++)
		if (files[i].fd == fd && files[i].state == HELD) {
			files[i].state = GIVING;
			files[i].due_ms = now_ms() + write_back_ms;
			broken++;
		}
}

/* Waits for a signal or until the next file is due. Returns the signal's number, or 0. */
static int
wait_signal(const sigset_t *set, siginfo_t *info)
{
	int64_t at_ms = now_ms(), left_ms = 1000;
	struct timespec t;
	int sig;

	for (unsigned i = 0; i < nfiles; i++)
		if (files[i].state != HELD && files[i].due_ms - at_ms < left_ms)
			left_ms = files[i].due_ms > at_ms ? files[i].due_ms - at_ms : 0;
	t.tv_sec = left_ms / 1000;
	t.tv_nsec = left_ms % 1000 * 1000000;
	sig = sigtimedwait(set, info, &t);
	return sig < 0 ? 0 : sig;
}

static int
serve(const sigset_t *set)
{
	siginfo_t info;

	for (;;) {
		int sig = wait_signal(set, &info);
		int64_t at_ms = now_ms();

		if (sig == SIGTERM || sig == SIGINT)
			return 0;
		if (sig == SIGRTMIN)
			wanted(info.si_fd);
		for (unsigned i = 0; i < nfiles; i++)
			if (!tick(&files[i], at_ms)) {
				fprintf(stderr, "ganesha-lease: lease: %s\n", strerror(errno));
				return 1;
			}
	}
}

static bool
open_files(char **paths)
{
	for (; *paths != NULL && nfiles < FILES_MAX; paths++, nfiles++) {
		files[nfiles].fd = open(*paths, O_RDWR | O_CLOEXEC);
		if (files[nfiles].fd < 0) {
			fprintf(stderr, "ganesha-lease: %s: %s\n", *paths, strerror(errno));
			return false;
		}
	}
	return nfiles > 0 && *paths == NULL;
}

int
main(int argc, char **argv)
{
	sigset_t set;
	int rc, o;

	while ((o = getopt(argc, argv, "w:")) == 'w')
		write_back_ms = atoll(optarg);
	if (o != -1 || optind == argc || write_back_ms <= 0) {
		fputs("usage: ganesha-lease [-w milliseconds] file...\n", stderr);
		return 2;
	}
	/* Blocked before the first lease, so that a signal stays pending until the program waits for it. */
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!open_files(argv + optind))
		return 1;
	for (unsigned i = 0; i < nfiles; i++)
		if (!take(&files[i], now_ms())) {
			fprintf(stderr, "ganesha-lease: %s: %s\n", argv[optind + (int)i],
			    strerror(errno));
			return 1;
		}
	puts("ganesha-lease: leases held");
	fflush(stdout);
	rc = serve(&set);
	printf("ganesha-lease: %ju opens had to wait\n", (uintmax_t)broken);
	return rc;
}
