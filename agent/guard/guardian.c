/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The guardian's side: a process without threads that watches the agent and cleans up after it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/system/folder.h"
#include "agent/guard/guard.h"
#include "agent/guard/guard_page.h"
#include "agent/tracer/rates.h"
#include "agent/tracer/tracer.h"
#include "base/log.h"

enum {
	ATTEMPTS = 30,
	ATTEMPT_MS = 2000,
	STEP_MS = 5,
	LOOKS = 20, /* during hang_ns */
	LOOK_MS_MAX = 500,
	ARGUMENTS = 6
};

struct guardian {
	const char *node, *run_dir;
	pid_t agent;
	int64_t hang_ns;
	struct guard_page *page;
	struct pulse pulse; /* of the agent */
	/* Its sessions were ended when its counter had the value buried_at. */
	bool buried;
	uint64_t buried_at;
};

static uint64_t
turns(const struct guardian *g)
{
	return __atomic_load_n(&g->page->turns, __ATOMIC_RELAXED);
}

static void
look(struct guardian *g)
{
	__atomic_fetch_add(&g->page->looks, 1, __ATOMIC_RELAXED);
}

/* A call to a session daemon that hangs never returns; so a child process makes it, and is killed
 * after ATTEMPT_MS. False: it did not end in time. */
static bool
bury_in_time(struct guardian *g, bool hung)
{
	pid_t child = fork();

	if (child == 0) {
		if (hung) /* it must not outlive this guardian: the next one starts its own */
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		tracer_lttng_bury(g->node, g->run_dir, g->agent);
		_exit(0);
	}
	if (child < 0)
		return false;
	for (int ms = 0; ms < ATTEMPT_MS; ms += STEP_MS) {
		if (waitpid(child, NULL, WNOHANG) == child)
			return true;
		look(g);
		poll(NULL, 0, STEP_MS);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return false;
}

/*
 * 1. Silences the table of rates in shared memory: that disables every added tracepoint in programs
 *    with libhone, and depends on no other process.
 * 2. Ends the agent's sessions. While the session daemon does not answer, removes their folder: a
 *    daemon that waits for a stalled ring buffer waits for the folder to disappear.
 *
 * hung: the agent lives; stops when it continues, since then it ends its sessions itself. True: the
 * sessions are ended.
 */
static bool
clean_up(struct guardian *g, bool hung)
{
	char folder[PATH_MAX];
	uint64_t seen = turns(g);

	rates_silence_fd(GUARD_TABLE);
	tracer_folder(g->node, g->run_dir, g->agent, folder, sizeof folder);
	for (int i = 0; i < ATTEMPTS; i++) {
		if (bury_in_time(g, hung))
			return true;
		if (hung && turns(g) != seen)
			return false;
		folder_remove(folder);
	}
	return false;
}

/* The agent may continue meanwhile: while `burying` is 1 it must not open a session. */
static void
bury_hung(struct guardian *g, int64_t still_ns)
{
	g->buried_at = turns(g);
	__atomic_store_n(&g->page->burying, 1, __ATOMIC_SEQ_CST);
	g->buried = clean_up(g, true);
	__atomic_fetch_add(&g->page->burials, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&g->page->burying, 0, __ATOMIC_RELEASE);
	log_line(LOG_WARN,
	    "the agent (process %ld) has not moved for %.1f s: nothing is probed any more, %s",
	    (long)g->agent, (double)still_ns / 1e9,
	    g->buried ? "and its session is ended" : "but the session daemon does not answer");
}

static void
watch(struct guardian *g)
{
	int64_t still_ns;

	look(g);
	still_ns = pulse_still_ns(&g->pulse, turns(g), clock_mono(), g->hang_ns / GUARD_GAPS);
	if (still_ns < g->hang_ns || (g->buried && turns(g) == g->buried_at))
		return;
	bury_hung(g, still_ns);
	memset(&g->pulse, 0, sizeof g->pulse);
}

/* Waits until the agent is dead (true) or has asked this process to quit (false). */
static bool
wait_for_end(struct guardian *g)
{
	int64_t look_ms = g->hang_ns / LOOKS / 1000000;
	struct pollfd end = { .fd = GUARD_PIPE, .events = POLLIN };
	char c;

	if (look_ms > LOOK_MS_MAX)
		look_ms = LOOK_MS_MAX;
	for (;;) {
		ssize_t n;

		if (poll(&end, 1, (int)look_ms) <= 0) {
			watch(g);
			continue;
		}
		n = read(GUARD_PIPE, &c, 1);
		if (n >= 0 || errno != EINTR)
			return n <= 0;
	}
}

/* Ignores the signals that a terminal or a service manager sends to all processes of a group. */
static void
detach(void)
{
	static const int IGNORED[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1,
		SIGUSR2 };
	sigset_t none;

	for (size_t i = 0; i < sizeof IGNORED / sizeof IGNORED[0]; i++)
		signal(IGNORED[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "hone-guard");
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	close_range(GUARD_PIPE + GUARD_FILES, ~0u, 0);
	(void)!chdir("/");
}

static bool
files_take(struct guardian *g)
{
	void *page = mmap(NULL, sizeof *g->page, PROT_READ | PROT_WRITE, MAP_SHARED, GUARD_PAGE, 0);

	if (page == MAP_FAILED || fcntl(GUARD_PIPE, F_GETFD) < 0)
		return false;
	g->page = page;
	for (int fd = GUARD_PIPE; fd < GUARD_PIPE + GUARD_FILES; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	return true;
}

int
guard_main(int argc, char **argv)
{
	struct guardian g = { 0 };

	if (argc != ARGUMENTS || !files_take(&g))
		return 2;
	detach();
	log_open("hone-guard", LOG_INFO);
	g.node = argv[2];
	g.run_dir = argv[3];
	g.agent = (pid_t)strtol(argv[4], NULL, 10);
	g.hang_ns = strtoll(argv[5], NULL, 10);
	if (g.agent <= 0 || g.hang_ns <= 0)
		return 2;
	if (wait_for_end(&g))
		clean_up(&g, false);
	return 0;
}
