/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dropping privileges. A daemon that was started as root opens what needs root, then becomes an
 * ordinary user for good: no capabilities, none through exec (bounding set, no_new_privs), no core
 * file, no debugger of the same user.
 *
 * Capabilities belong to a thread: call privilege_drop() before other threads are created.
 */
#ifndef BASE_PRIVILEGE_H
#define BASE_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum { PRIVILEGE_GROUPS = 32 };

struct privilege { /* all zeroes: the user stays as it is */
	bool become;
	char user[64], home[256];
	uid_t uid;
	gid_t gid, groups[PRIVILEGE_GROUPS];
	int ngroups;
};

/*
 * Finds the user to become. `user` comes from the configuration: a name that must exist, or "" for
 * the user `usual` if it exists (and `group` too, if not NULL); otherwise the user stays as it is,
 * as it does if the process is not root. `group`, if it exists, is added to the user's own groups. Reads
 * /etc/passwd and /etc/group, or the sources in nsswitch.conf(5). ERR_MISSING: no such user, or only root
 * could become it; ERR_FULL: the user is in more than PRIVILEGE_GROUPS - 1 groups.
 */
int privilege_find(
    struct privilege *ret, const char *user, const char *usual, const char *group, struct err *e);

/* Creates the folder with this mode, and missing parents with 0755, for the user of privilege_find(); existing
 * folders are not changed. Root without the capabilities to do that creates nothing and returns
 * 0: the user can create it itself. ERR_SYSTEM; ERR_INPUT: the path is too long. */
int privilege_folder(const struct privilege *p, const char *path, mode_t mode, struct err *e);

/* Becomes p's user if p->become, drops all privileges either way, and verifies that. ERR_SYSTEM: the
 * process must end. */
int privilege_drop(const struct privilege *p, struct err *e);

/*
 * Becomes p's user if p->become, and keeps of the n capabilities those that the process has: permitted, effective, and
 * ambient, so that an exec keeps them too. All others are dropped. *all: it has all of them; then nothing can be added through
 * exec (bounding set, no_new_privs). Otherwise a program's file capabilities still can. ERR_SYSTEM: the process must
 * end. Before threads are created.
 */
int privilege_keep(const struct privilege *p, const int *kept, size_t n, bool *all, struct err *e);

#endif
