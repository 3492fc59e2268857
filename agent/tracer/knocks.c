/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/tracer/knocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/system/folder.h"
#include "instrument/policy.h"

struct knocks {
	int listener;
	struct mono heard_at, lost_until; /* a knock covers the time until the program's next */
	struct mono minute;               /* begin of the one in which strangers' time is summed */
	int64_t strangers_ns;
	bool unseen;
	uint32_t nusers, users[KNOCKS_USERS_MAX];
	char path[sizeof((struct sockaddr_un *)0)->sun_path];
};

/* Bound to another name first, so that the path always leads to a socket that listens. */
static int
listen_at(struct knocks *k, struct err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if ((size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s.%ld", k->path, (long)getpid()) >=
	    sizeof at.sun_path)
		return err_set(e, ERR_INPUT, "%s: the path of a socket is shorter than %zu bytes",
		    k->path, sizeof at.sun_path);
	k->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (k->listener < 0)
		return err_errno(e, "%s", k->path);
	unlink(at.sun_path);
	if (bind(k->listener, (const struct sockaddr *)&at, sizeof at) != 0)
		return err_errno(e, "%s", at.sun_path);
	if (chmod(at.sun_path, 0666) != 0 || listen(k->listener, KNOCKS_QUEUE) != 0 ||
	    file_place(at.sun_path, k->path, true) != 0) {
		int rc = err_errno(e, "%s", k->path);

		unlink(at.sun_path);
		return rc;
	}
	return 0;
}

int
knocks_open(struct knocks **ret, const char *policy, struct err *e)
{
	struct knocks *k = calloc(1, sizeof *k);
	int rc;

	if (k == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	k->listener = -1;
	if ((size_t)snprintf(k->path, sizeof k->path, "%s" HONE_POLICY_KNOCK, policy) >=
	    sizeof k->path)
		rc = err_set(e, ERR_INPUT,
		    "%s: the path of the table is too long for a socket beside it", policy);
	else
		rc = listen_at(k, e);
	if (rc != 0) {
		knocks_close(k, false);
		return rc;
	}
	k->heard_at = k->minute = clock_mono();
	*ret = k;
	return 0;
}

void
knocks_user(struct knocks *k, uint32_t user)
{
	for (uint32_t i = 0; i < k->nusers; i++)
		if (k->users[i] == user)
			return;
	if (k->nusers < KNOCKS_USERS_MAX)
		k->users[k->nusers++] = user;
}

void
knocks_unseen(struct knocks *k, bool unseen)
{
	k->unseen = unseen;
}

/* 1. to 3. of the header. */
static bool
is_known(const struct knocks *k, uint32_t user)
{
	if (user == 0 || user == geteuid() || k->unseen)
		return true;
	for (uint32_t i = 0; i < k->nusers; i++)
		if (k->users[i] == user)
			return true;
	return false;
}

/* 4.: whether strangers' knocks count now, who knocked at some time since `from`. */
static bool
strangers_count(struct knocks *k, struct mono from, struct mono now)
{
	if (mono_since_ns(now, k->minute) >= KNOCKS_MINUTE_NS) {
		k->minute = now;
		k->strangers_ns = 0;
	}
	if (k->strangers_ns >= KNOCKS_STRANGERS_NS)
		return false;
	k->strangers_ns += mono_since_ns(now, from) + HONE_POLICY_KNOCK_NS;
	return true;
}

static void
cover(struct knocks *k, struct knocks_turn *t)
{
	t->lost = true;
	k->lost_until.ns = clock_mono().ns + HONE_POLICY_KNOCK_NS;
}

void
knocks_hear(struct knocks *k, struct mono now, struct knocks_turn *ret)
{
	uint32_t n = 0;
	int fd;

	*ret = (struct knocks_turn){ .from = k->heard_at };
	k->heard_at = now;
	while (n < KNOCKS_QUEUE &&
	       (fd = accept4(k->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct ucred who = { .uid = UINT32_MAX };
		socklen_t size = sizeof who;

		n++;
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size);
		close(fd);
		if (is_known(k, who.uid)) {
			cover(k, ret);
			continue;
		}
		ret->not_counted++;
		ret->pid = (uint32_t)who.pid;
		ret->user = who.uid;
	}
	ret->full = n == KNOCKS_QUEUE;
	if (ret->not_counted > 0 && strangers_count(k, ret->from, now)) {
		ret->not_counted = 0;
		cover(k, ret);
	}
	ret->lost |= ret->from.ns < k->lost_until.ns;
}

void
knocks_give(struct knocks *k, uint32_t user)
{
	(void)!lchown(k->path, user, (gid_t)-1);
}

void
knocks_close(struct knocks *k, bool remove)
{
	if (k == NULL)
		return;
	if (k->listener >= 0)
		close(k->listener);
	if (remove)
		unlink(k->path);
	free(k);
}
