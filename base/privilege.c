/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/privilege.h"

/* ---- the user ---- */

static int
groups_find(struct privilege *p, const char *group, struct err *e)
{
	const struct group *more = group != NULL ? getgrnam(group) : NULL;

	p->ngroups = PRIVILEGE_GROUPS - 1;
	if (getgrouplist(p->user, p->gid, p->groups, &p->ngroups) < 0)
		return err_set(e, ERR_FULL, "user %s is in more than %d groups", p->user,
		    PRIVILEGE_GROUPS - 1);
	if (more != NULL)
		p->groups[p->ngroups++] = more->gr_gid;
	return 0;
}

int
privilege_find(
    struct privilege *ret, const char *user, const char *usual, const char *group, struct err *e)
{
	const char *name = user[0] != '\0' ? user : usual;
	const struct passwd *pw = getpwnam(name);

	memset(ret, 0, sizeof *ret);
	if (user[0] == '\0' &&
	    (pw == NULL || geteuid() != 0 || (group != NULL && getgrnam(group) == NULL)))
		return 0;
	if (pw == NULL)
		return err_set(e, ERR_MISSING, "there is no user %s", name);
	if (geteuid() != 0 && geteuid() != pw->pw_uid)
		return err_set(e, ERR_MISSING, "only root can become user %s", name);
	if (geteuid() != 0 || pw->pw_uid == 0)
		return 0;
	ret->become = true;
	ret->uid = pw->pw_uid;
	ret->gid = pw->pw_gid;
	snprintf(ret->user, sizeof ret->user, "%s", pw->pw_name);
	snprintf(ret->home, sizeof ret->home, "%s", pw->pw_dir);
	return groups_find(ret, group, e);
}

/* ---- folders ---- */

static bool
give(const struct privilege *p, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	bool given = fd >= 0 && fchown(fd, p->uid, p->gid) == 0;

	if (fd >= 0)
		close(fd);
	return given;
}

int
privilege_folder(const struct privilege *p, const char *path, mode_t mode, struct err *e)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	assert(p != NULL && path != NULL);
	if (len >= sizeof part)
		return err_set(e, ERR_INPUT, "%.60s...: the path is too long", path);
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, i == len ? mode : 0755) != 0) {
			if (errno == EACCES && p->become)
				return 0;
			if (errno != EEXIST)
				return err_errno(e, "%s", part);
		} else if (p->become && !give(p, part)) {
			rmdir(part);
			return 0;
		}
	}
	return 0;
}

/* ---- dropping ---- */

static int
capabilities(int call, struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct self = { _LINUX_CAPABILITY_VERSION_3, 0 };

	return (int)syscall(call, &self, set);
}

/* Empties the bounding set, which limits what an exec can add. Without CAP_SETPCAP that is not possible, and not
 * needed: such a process has no capabilities to pass on. */
static int
bounds_drop(struct err *e)
{
	struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];

	if (capabilities(SYS_capget, set) != 0)
		return err_errno(e, "capabilities");
	if ((set[0].effective & (1u << CAP_SETPCAP)) == 0)
		return 0;
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return err_errno(e, "capability %lu", cap);
	return 0;
}

static int
user_become(const struct privilege *p, struct err *e)
{
	if (setgroups((size_t)p->ngroups, p->groups) != 0 ||
	    setresgid(p->gid, p->gid, p->gid) != 0 || setresuid(p->uid, p->uid, p->uid) != 0)
		return err_errno(e, "becoming user %s", p->user);
	if (setenv("HOME", p->home, 1) != 0 || setenv("USER", p->user, 1) != 0 ||
	    setenv("LOGNAME", p->user, 1) != 0)
		return err_errno(e, "becoming user %s", p->user);
	return 0;
}

/* Asks the kernel whether the drop took effect. */
static int
check(const struct privilege *p, struct err *e)
{
	struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];
	uid_t real, effective, saved;

	if (capabilities(SYS_capget, set) != 0 || getresuid(&real, &effective, &saved) != 0)
		return err_errno(e, "capabilities");
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		if ((set[i].effective | set[i].permitted | set[i].inheritable) != 0)
			return err_set(
			    e, ERR_SYSTEM, "the process has capabilities after they were dropped");
	if (p->become &&
	    (real != p->uid || effective != p->uid || saved != p->uid || setuid(0) == 0))
		return err_set(e, ERR_SYSTEM,
		    "the process can still be root, though it became user %s", p->user);
	return 0;
}

int
privilege_drop(const struct privilege *p, struct err *e)
{
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	struct rlimit no_core = { 0, 0 };
	int rc;

	if ((rc = bounds_drop(e)) != 0 || (p->become && (rc = user_become(p, e)) != 0))
		return rc;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0,
	    0); /* kernels before 4.3 have no ambient set */
	if (capabilities(SYS_capset, none) != 0)
		return err_errno(e, "dropping capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || setrlimit(RLIMIT_CORE, &no_core) != 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return err_errno(e, "dropping privileges");
	return check(p, e);
}

static int
bounds_keep(uint64_t kept, struct err *e)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if ((kept >> cap & 1) == 0 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return err_errno(e, "capability %d", cap);
	return 0;
}

int
privilege_keep(const struct privilege *p, const int *kept, size_t n, bool *all, struct err *e)
{
	struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];
	struct rlimit no_core = { 0, 0 };
	uint64_t has, wanted = 0;
	int rc;

	for (size_t i = 0; i < n; i++)
		wanted |= UINT64_C(1) << kept[i];
	if (capabilities(SYS_capget, set) != 0)
		return err_errno(e, "capabilities");
	has = (set[0].permitted | (uint64_t)set[1].permitted << 32) & wanted;
	*all = has == wanted;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
		return err_errno(e, "keeping capabilities");
	if ((set[0].effective & (1u << CAP_SETPCAP)) != 0 && (rc = bounds_keep(wanted, e)) != 0)
		return rc;
	if (p->become && (rc = user_become(p, e)) != 0)
		return rc;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		set[i].permitted = set[i].effective = set[i].inheritable = i < 2
		                                                               ? (uint32_t)(has >>
											    32 * i)
		                                                               : 0;
	if (capabilities(SYS_capset, set) != 0)
		return err_errno(e, "dropping capabilities");
	for (size_t i = 0; i < n; i++)
		if ((has >> kept[i] & 1) != 0 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept[i], 0, 0) != 0)
			return err_errno(e, "ambient capability %d", kept[i]);
	if (*all && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return err_errno(e, "dropping privileges");
	if (setrlimit(RLIMIT_CORE, &no_core) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return err_errno(e, "dropping privileges");
	return 0;
}
