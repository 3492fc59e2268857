/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "controlplane/server/roles.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { CACHED = 64, LOOKUP_MAX_BYTES = 1 << 20, GROUPS_MAX = 65536 };

struct permission { /* a user or a group in a list */
	bool group;
	unsigned id;
};

struct permission_list {
	struct permission *entries;
	unsigned n, cap;
};

struct user { /* as it was in the system's user database at `at` */
	bool used;
	int uid;
	struct mono at;
	char name[USER_NAME_MAX + 1];
	gid_t *groups;
	int ngroups;
};

struct roles {
	struct permission_list look, diagnose, agents;
	int own_uid;
	char own_name[USER_NAME_MAX + 1];
	pthread_mutex_t lock; /* guards users */
	struct user users[CACHED];
};

/* ---- names ---- */

/* The user with this name, or with this uid if name is NULL. getpwnam_r() does not return the size of
 * the buffer that it needs, so sizes are tried up to LOOKUP_MAX_BYTES. *buffer: the caller's to
 * free(), also on errors. 0 or an errno; ENOENT: there is no such user. */
static int
find_user(const char *name, int uid, struct passwd *ret, char **buffer)
{
	struct passwd *found = NULL;
	int rc = ERANGE;

	*buffer = NULL;
	for (size_t size = 4096; rc == ERANGE && size <= LOOKUP_MAX_BYTES; size *= 4) {
		free(*buffer);
		if ((*buffer = malloc(size)) == NULL)
			return ENOMEM;
		rc = name != NULL ? getpwnam_r(name, ret, *buffer, size, &found)
		                  : getpwuid_r((uid_t)uid, ret, *buffer, size, &found);
	}
	return rc == 0 && found == NULL ? ENOENT : rc;
}

/* Both return 0 or an errno; ENOENT: there is no such name. */
static int
user_id(const char *name, unsigned *id)
{
	struct passwd user;
	char *buffer;
	int rc = find_user(name, 0, &user, &buffer);

	*id = rc == 0 ? user.pw_uid : 0;
	free(buffer);
	return rc;
}

static int
group_id(const char *name, unsigned *id)
{
	struct group group, *found = NULL;
	char *buffer = NULL;
	int rc = ERANGE;

	for (size_t size = 4096; rc == ERANGE && size <= LOOKUP_MAX_BYTES; size *= 4) {
		free(buffer);
		if ((buffer = malloc(size)) == NULL)
			return ENOMEM;
		rc = getgrnam_r(name, &group, buffer, size, &found);
	}
	*id = rc == 0 && found != NULL ? group.gr_gid : 0;
	free(buffer);
	return rc == 0 && found == NULL ? ENOENT : rc;
}

static int
add_name(struct permission_list *l, const char *key, const char *word, struct err *e)
{
	struct permission entry = { .group = word[0] == '@' };
	int rc = entry.group ? group_id(word + 1, &entry.id) : user_id(word, &entry.id);

	if (rc == ENOMEM || !array_reserve(l->entries, l->cap, l->n + 1))
		return err_set(e, ERR_MEMORY, "%s: out of memory", key);
	/* getpwnam(3): each of these codes can mean that the name was not found. */
	if (rc == ENOENT || rc == ESRCH || rc == EBADF || rc == EPERM)
		return err_set(e, ERR_INPUT, "%s: %.80s: there is no such %s on this machine", key,
		    entry.group ? word + 1 : word,
		    entry.group ? "group" : "user; a group is written @NAME");
	if (rc != 0)
		return err_set(
		    e, ERR_INPUT, "%s: %.80s: cannot be looked up: %s", key, word, strerror(rc));
	l->entries[l->n++] = entry;
	return 0;
}

static int
read_list(struct permission_list *l, const char *key, const char *names, struct err *e)
{
	char *copy = strdup(names != NULL ? names : ""), *rest = copy, *word;
	int rc = copy != NULL ? 0 : err_set(e, ERR_MEMORY, "%s: out of memory", key);

	while (rc == 0 && (word = strsep(&rest, " \t")) != NULL)
		if (word[0] != '\0')
			rc = add_name(l, key, word, e);
	free(copy);
	return rc;
}

int
roles_new(struct roles **ret, const struct roles_options *o, struct err *e)
{
	struct roles *r = calloc(1, sizeof *r);
	struct passwd own;
	char *buffer;
	int rc;

	if (r == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	pthread_mutex_init(&r->lock, NULL);
	r->own_uid = o->own_uid;
	if (find_user(NULL, o->own_uid, &own, &buffer) == 0)
		snprintf(r->own_name, sizeof r->own_name, "%s", own.pw_name);
	else
		snprintf(r->own_name, sizeof r->own_name, "uid %d", o->own_uid);
	free(buffer);
	if ((rc = read_list(&r->look, "operators.look", o->look, e)) < 0 ||
	    (rc = read_list(&r->diagnose, "operators.diagnose", o->diagnose, e)) < 0 ||
	    (rc = read_list(&r->agents, "agents.allow", o->agents, e)) < 0) {
		roles_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void
roles_free(struct roles *r)
{
	if (r == NULL)
		return;
	for (int i = 0; i < CACHED; i++)
		free(r->users[i].groups);
	free(r->look.entries);
	free(r->diagnose.entries);
	free(r->agents.entries);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

bool
roles_operators_open(const struct roles *r)
{
	return r->look.n + r->diagnose.n > 0;
}

bool
roles_agents_open(const struct roles *r)
{
	return r->agents.n > 0;
}

/* ---- users ---- */

static void
look_up_groups(struct user *u, const struct passwd *pw)
{
	int n = 32;

	for (;;) {
		gid_t *more = reallocarray(u->groups, (size_t)n, sizeof *more);
		int had = n;

		if (more == NULL)
			return;
		u->groups = more;
		if (getgrouplist(pw->pw_name, pw->pw_gid, u->groups, &n) >= 0) {
			u->ngroups = n;
			return;
		}
		n = n > had ? n : 2 * had;
		/* No groups, rather than an arbitrary part of them. */
		if (n > GROUPS_MAX)
			return;
	}
}

static void
look_up(struct user *u, int uid, struct mono now)
{
	struct passwd pw;
	char *buffer;

	u->used = true;
	u->uid = uid;
	u->at = now;
	u->ngroups = 0;
	snprintf(u->name, sizeof u->name, "uid %d", uid);
	if (find_user(NULL, uid, &pw, &buffer) == 0) {
		snprintf(u->name, sizeof u->name, "%s", pw.pw_name);
		look_up_groups(u, &pw);
	}
	free(buffer);
}

/* The user in the cache, looked up if it is not there or expired; it then replaces its own entry, a
 * free one, or the oldest. With the lock held. */
static const struct user *
user_of(struct roles *r, int uid, struct mono now)
{
	struct user *found = &r->users[0];

	for (int i = 0; i < CACHED; i++) {
		struct user *u = &r->users[i];

		if (u->used && u->uid == uid) {
			if (mono_since_ns(now, u->at) < ROLES_CACHE_S * INT64_C(1000000000))
				return u;
			found = u;
			break;
		}
		if (found->used && (!u->used || u->at.ns < found->at.ns))
			found = u;
	}
	look_up(found, uid, now);
	return found;
}

/* Whether the list has the user or one of its groups. */
static bool
has(const struct permission_list *l, const struct user *u)
{
	for (unsigned i = 0; i < l->n; i++) {
		if (!l->entries[i].group && (int)l->entries[i].id == u->uid)
			return true;
		for (int g = 0; l->entries[i].group && g < u->ngroups; g++)
			if (u->groups[g] == l->entries[i].id)
				return true;
	}
	return false;
}

void
roles_who(struct roles *r, int uid, int pid, struct mono now, struct who *ret)
{
	const struct user *u;

	*ret = (struct who){ .uid = uid, .pid = pid, .own = uid == 0 || uid == r->own_uid };
	pthread_mutex_lock(&r->lock);
	u = user_of(r, uid, now);
	memcpy(ret->user, u->name, sizeof ret->user);
	ret->role = ret->own || has(&r->diagnose, u) ? ROLE_DIAGNOSE
	            : has(&r->look, u)               ? ROLE_LOOK
	                                             : ROLE_NONE;
	pthread_mutex_unlock(&r->lock);
}

enum agent_scope
roles_agent(struct roles *r, const struct who *w, struct mono now)
{
	bool may;

	if (w->own)
		return AGENT_ANY_NODE;
	pthread_mutex_lock(&r->lock);
	may = has(&r->agents, user_of(r, w->uid, now));
	pthread_mutex_unlock(&r->lock);
	return may ? AGENT_THIS_HOST : AGENT_NO;
}

/* ---- texts ---- */

const char *
role_word(enum role role)
{
	static const char *const names[ROLES] = {
		[ROLE_NONE] = "none", [ROLE_LOOK] = "look", [ROLE_DIAGNOSE] = "diagnose"
	};

	return (unsigned)role < ROLES ? names[role] : "?";
}

/* " or USER": the user of honed, who can change the configuration as root can. Empty if it is root.
 */
static const char *
or_own(const struct roles *r, char out[USER_NAME_MAX + 8])
{
	if (r == NULL || r->own_uid == 0)
		return "";
	snprintf(out, USER_NAME_MAX + 8, " or %s", r->own_name);
	return out;
}

int
roles_refuse(
    const struct roles *r, const struct who *w, enum role needed, const char *what, struct err *e)
{
	char own[USER_NAME_MAX + 8];

	if (w->role == ROLE_NONE)
		return err_set(e, ERR_DENIED,
		    "user %s (uid %d) may not ask this controller; root%s can allow it: %s, or an @group "
		    "of theirs, in operators.%s of honed.conf",
		    w->user, w->uid, or_own(r, own), w->user, role_word(needed));
	return err_set(e, ERR_DENIED,
	    "%s: user %s (uid %d) may look, and change nothing; root%s can allow it: %s, or an @group of "
	    "theirs, in operators.%s of honed.conf",
	    what != NULL ? what : "this", w->user, w->uid, or_own(r, own), w->user,
	    role_word(needed));
}

int
roles_refuse_agent(const struct roles *r, const struct who *w, struct err *e)
{
	char own[USER_NAME_MAX + 8];

	return err_set(e, ERR_DENIED,
	    "user %s (uid %d) may not run an agent of this controller; root%s can allow it: %s, or an "
	    "@group of theirs, in agents.allow of honed.conf",
	    w->user, w->uid, or_own(r, own), w->user);
}
