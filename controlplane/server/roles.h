/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who on this machine may do what. The kernel says which user is at the other end of
 * a local socket; lists of names in honed.conf say what that user may:
 *
 *	operators.look, operators.diagnose	ask; ask what changes something too
 *	agents.allow				be this host's agent
 *
 * root, and the user that honed runs as, may do all. A list has names of users and
 * @groups with blanks between. What names stand for is looked up once, at the start;
 * of which groups a user is, at most ROLES_CACHE_S ago.
 */
#ifndef CONTROLPLANE_SERVER_ROLES_H
#define CONTROLPLANE_SERVER_ROLES_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"

enum role {
	ROLE_NONE,
	ROLE_LOOK,
	ROLE_DIAGNOSE,
	ROLES
}; /* each may what the one before may, and more */

enum { USER_NAME_MAX = 63, ROLES_CACHE_S = 30 };

struct who {          /* a peer. All zeroes but uid and pid: nothing is known of it, as over tcp */
	int uid, pid; /* -1: the transport does not know */
	bool own;     /* root, or our own user */
	enum role role;               /* as an operator */
	char user[USER_NAME_MAX + 1]; /* its name, or "uid N" where it has none */
};

enum agent_may { AGENT_NO, AGENT_THIS_HOST, AGENT_ANY_NODE };

struct roles_options {
	const char *look, *diagnose, *agents; /* lists */
	int own_uid;                          /* who may do all, beside root */
};

struct roles;

/* The texts are not needed afterwards. ERR_INPUT: a name that nobody has, with the key that says
 * it. */
int roles_new(struct roles **ret, const struct roles_options *o, struct err *e);
void roles_free(struct roles *r); /* NULL is fine */

/* Whether others than root and our own user may knock at all: the socket's mode is then 0666, else
 * 0600. */
bool roles_operators_open(const struct roles *r);
bool roles_agents_open(const struct roles *r);

/* Any thread. Asks the system's user database where the cache does not know, so it may take as long
 * as that. */
void roles_who(struct roles *r, int uid, int pid, struct mono now, struct who *ret);
enum agent_may roles_agent(struct roles *r, const struct who *w, struct mono now);

const char *role_word(enum role role); /* "none", "look", "diagnose" */
/* Why not, and who can change it, in words: ERR_DENIED. what: "stop", or NULL to look at all. */
int roles_refuse(
    const struct roles *r, const struct who *w, enum role needed, const char *what, struct err *e);
int roles_refuse_agent(const struct roles *r, const struct who *w, struct err *e);

#endif
