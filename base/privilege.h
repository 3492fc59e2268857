/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * To be no more than one must. A daemon that was started as root opens what
 * needs root, then becomes an ordinary user, and nothing brings it back: no
 * capability, none to be had by exec either (bounding set, no_new_privs), no
 * core file, no debugger of the same user.
 *
 * Capabilities belong to a thread: call privilege_drop() before any is made.
 */
#ifndef BASE_PRIVILEGE_H
#define BASE_PRIVILEGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

enum { PRIVILEGE_GROUPS = 32 };

struct privilege { /* all zeroes: stay who we are */
	bool become;
	char user[64], home[256];
	uid_t uid;
	gid_t gid, groups[PRIVILEGE_GROUPS];
	int ngroups;
};

/*
 * Who to become. `user` is what the configuration says: a name that must exist, or "" for `usual`
 * where there is such a user (and `group`, if that is not NULL), else nobody: then we stay.
 * `group`, where it exists, is added to the user's own groups. Who is not root stays as well;
 * ERR_MISSING if it should have become another. Reads /etc/passwd and /etc/group, or what else
 * nsswitch.conf(5) says.
 */
int privilege_find(
    struct privilege *ret, const char *user, const char *usual, const char *group, struct err *e);

/* Makes the folder and what is missing above it: mode for itself, 0755 for those. What it makes
 * belongs to whom we shall become; what was there stays as it is. Root without capabilities may not
 * write to that user's folders: then nothing is made, and the user can do it itself. ERR_SYSTEM. */
int privilege_folder(const struct privilege *p, const char *path, mode_t mode, struct err *e);

/* Becomes p's user, where p->become, and drops all else. Also for who stays: root without
 * capabilities is a user like others, to whom root's files belong. Checks that it holds. On error:
 * end. */
int privilege_drop(const struct privilege *p, struct err *e);

#endif
