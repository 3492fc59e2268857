/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's side: keeps a guardian running. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/guard/guard.h"
#include "agent/guard/guard_page.h"

#define SECOND INT64_C(1000000000)

enum { QUIT_MS = 1000, COPIES_FROM = 16 };

extern char **environ;

int64_t
pulse_still_ns(struct pulse *p, uint64_t count, struct mono now, int64_t gap_ns)
{
	int64_t step_ns = mono_since_ns(now, p->looked);

	assert(gap_ns > 0);
	if (p->looked.ns == 0 || count != p->count || step_ns > gap_ns)
		p->still_ns = 0;
	else
		p->still_ns += step_ns;
	p->count = count;
	p->looked = now;
	return p->still_ns;
}

static int
page_make(struct guard *g, struct err *e)
{
	void *page;

	if (g->page != NULL)
		return 0;
	g->page_fd = memfd_create("hone-guard", MFD_CLOEXEC);
	if (g->page_fd < 0 || ftruncate(g->page_fd, sizeof *g->page) != 0)
		return err_errno(e, "shared memory for the guardian");
	page = mmap(NULL, sizeof *g->page, PROT_READ | PROT_WRITE, MAP_SHARED, g->page_fd, 0);
	if (page == MAP_FAILED)
		return err_errno(e, "shared memory for the guardian");
	g->page = page;
	return 0;
}

/* The descriptors must not be among those that they are copied to, so they are copied far above
 * first; exec closes these copies. */
static int
files_give(posix_spawn_file_actions_t *files, const int from[GUARD_FILES], int copy[GUARD_FILES])
{
	for (int i = 0; i < GUARD_FILES; i++) {
		copy[i] = fcntl(from[i], F_DUPFD_CLOEXEC, COPIES_FROM);
		if (from[i] >= 0 && (copy[i] < 0 || posix_spawn_file_actions_adddup2(
							files, copy[i], GUARD_PIPE + i) != 0))
			return -1;
	}
	return 0;
}

/* All signals are blocked until the guardian has set which it ignores. */
static int
spawn(struct guard *g, const int from[GUARD_FILES])
{
	char agent[24], hang[24];
	char *args[] = { "hone-guard", GUARD_OPTION, (char *)g->options.node,
		(char *)g->options.run_dir, agent, hang, NULL };
	int copy[GUARD_FILES] = { -1, -1, -1 }, rc;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t all;

	snprintf(agent, sizeof agent, "%ld", (long)getpid());
	snprintf(hang, sizeof hang, "%lld", (long long)g->options.hang_ns);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &all);
	posix_spawn_file_actions_init(&files);
	rc = files_give(&files, from, copy) == 0
	         ? posix_spawn(&g->pid, "/proc/self/exe", &files, &attr, args, environ)
	         : errno;
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	for (int i = 0; i < GUARD_FILES; i++)
		if (copy[i] >= 0)
			close(copy[i]);
	return rc;
}

static int
start(struct guard *g, struct mono now, struct err *e)
{
	int ends[2], rc;

	g->pid = 0;
	g->started = now;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_errno(e, "a pipe to the guardian");
	__atomic_store_n(&g->page->burying, 0, __ATOMIC_RELEASE); /* the one that set it is dead */
	rc = spawn(g, (int[GUARD_FILES]){ ends[0], g->page_fd, g->options.table });
	close(ends[0]);
	if (rc != 0) {
		close(ends[1]);
		g->pid = 0;
		errno = rc;
		return err_errno(e, "start of the guardian");
	}
	g->pipe = ends[1];
	memset(&g->pulse, 0, sizeof g->pulse);
	return 0;
}

int
guard_start(struct guard *g, const struct guard_options *o, struct err *e)
{
	int rc;

	assert(o->node != NULL && o->run_dir != NULL && o->hang_ns > 0);
	memset(g, 0, sizeof *g);
	g->options = *o;
	g->page_fd = -1;
	if ((rc = page_make(g, e)) != 0 || (rc = start(g, clock_mono(), e)) != 0)
		guard_leave(g);
	return rc;
}

static enum guard_news
replace(struct guard *g, struct mono now)
{
	struct err e;

	if (mono_since_ns(now, g->started) < SECOND || start(g, now, &e) != 0)
		return GUARD_SAME; /* the next attempt is a second after this one */
	return GUARD_AGAIN;
}

enum guard_news
guard_turn(struct guard *g, struct mono now)
{
	uint64_t looks;

	if (g->page == NULL)
		return GUARD_SAME;
	__atomic_fetch_add(&g->page->turns, 1, __ATOMIC_RELAXED);
	if (g->pid == 0)
		return replace(g, now);
	if (waitpid(g->pid, NULL, WNOHANG) == g->pid) {
		g->pid = 0;
		close(g->pipe);
		g->pipe = 0;
		return GUARD_DIED;
	}
	looks = __atomic_load_n(&g->page->looks, __ATOMIC_RELAXED);
	if (pulse_still_ns(&g->pulse, looks, now, g->options.hang_ns / GUARD_GAPS) <
	    g->options.hang_ns)
		return GUARD_SAME;
	memset(&g->pulse, 0, sizeof g->pulse);
	kill(g->pid, SIGKILL); /* the next turn finds it dead */
	return GUARD_HUNG;
}

bool
guard_lives(const struct guard *g)
{
	return g->pid > 0;
}

bool
guard_buries(const struct guard *g)
{
	return g->page != NULL && g->pid > 0 &&
	       __atomic_load_n(&g->page->burying, __ATOMIC_ACQUIRE) != 0;
}

bool
guard_buried(struct guard *g)
{
	uint64_t burials = g->page != NULL ? __atomic_load_n(&g->page->burials, __ATOMIC_ACQUIRE)
	                                   : 0;

	if (burials == g->burials)
		return false;
	g->burials = burials;
	return true;
}

void
guard_dismiss(struct guard *g)
{
	if (g->pid > 0) {
		(void)!write(g->pipe, "q", 1);
		for (int ms = 0; ms < QUIT_MS && waitpid(g->pid, NULL, WNOHANG) == 0; ms++)
			poll(NULL, 0, 1);
	}
	guard_leave(g);
}

void
guard_leave(struct guard *g)
{
	if (g->pipe > 0)
		close(g->pipe);
	if (g->page != NULL) {
		munmap(g->page, sizeof *g->page);
		close(g->page_fd);
	}
	if (g->options.table > 0)
		close(g->options.table);
	memset(g, 0, sizeof *g);
}
