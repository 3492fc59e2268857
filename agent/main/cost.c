/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/main/cost.h"
#include "agent/tracer/tracer.h"

#define SECOND INT64_C(1000000000)
#define LIMIT_NS (8 * SECOND)

enum { ATTEMPTS = 3 };

extern char **environ;

/* ../lib/hone/hone-cost, from the folder of this program. */
static bool
program_path(char *out, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return false;
	self[n] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(self, '/');

		if (slash == NULL)
			return false;
		*slash = '\0';
	}
	return snprintf(out, size, "%s/lib/hone/hone-cost", self) < (int)size &&
	       access(out, X_OK) == 0;
}

static bool
begin(struct cost *c, const char *node, const char *run_dir)
{
	char path[PATH_MAX], session[128], folder[PATH_MAX], end[] = "--end";
	char *args[] = { path, session, folder, c->left ? end : NULL, NULL };
	posix_spawn_file_actions_t files;
	int ends[2], rc;

	if (!program_path(path, sizeof path) || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	tracer_cost_session(
	    node, run_dir, getpid(), session, sizeof session, folder, sizeof folder);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[1], 1);
	rc = posix_spawn(&c->pid, path, &files, NULL, args, environ);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	c->from = ends[0];
	c->ends = c->left;
	if (rc == 0)
		return true;
	close(ends[0]);
	c->pid = 0;
	return false;
}

static void
take(struct cost *c)
{
	char line[64];
	double record_ns, rejected_ns;
	ssize_t n = read(c->from, line, sizeof line - 1);

	line[n > 0 ? n : 0] = '\0';
	if (sscanf(line, "%lf %lf", &record_ns, &rejected_ns) != 2 ||
	    !(rejected_ns > 0 && rejected_ns < record_ns) || !(record_ns < 1e6))
		return;
	c->record_ns = record_ns;
	c->rejected_ns = rejected_ns;
}

bool
cost_step(struct cost *c, const char *node, const char *run_dir, bool may, struct mono now)
{
	int status = 0;

	if (c->pid == 0) {
		if (!may || now.ns < c->next.ns ||
		    (!c->left && (c->record_ns > 0 || c->attempts == ATTEMPTS)))
			return false;
		c->attempts += !c->left;
		c->begun = now;
		c->next.ns = now.ns + LIMIT_NS;
		return !begin(c, node, run_dir) && !c->left;
	}
	if (waitpid(c->pid, &status, WNOHANG) == 0) {
		if (mono_since_ns(now, c->begun) > LIMIT_NS)
			kill(c->pid, SIGKILL); /* the next call finds it dead */
		return false;
	}
	if (!c->ends)
		take(c);
	close(c->from);
	c->pid = 0;
	c->left = !WIFEXITED(status) || WEXITSTATUS(status) == COST_LEFT;
	return !c->ends;
}

void
cost_end(struct cost *c)
{
	if (c->pid == 0)
		return;
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->from);
	c->pid = 0;
}
