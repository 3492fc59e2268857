/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each user of this machine may do. The kernel reports the user at the other end of a local
 * socket; lists in honed.conf give permissions:
 *
 *	operators.look		ask questions that change nothing
 *	operators.diagnose	ask all questions
 *	agents.allow		run an agent that reports for this host
 *
 * root and the user of honed may do everything. A list has names of users, and of groups as @NAME,
 * separated by blanks or tabs. Names are resolved once, by roles_new(); the name and the groups of a
 * user are cached for ROLES_CACHE_S.
 */
#ifndef CONTROLPLANE_SERVER_ROLES_H
#define CONTROLPLANE_SERVER_ROLES_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"

/* Each role includes the ones before it. */
enum role { ROLE_NONE, ROLE_LOOK, ROLE_DIAGNOSE, ROLES };

enum { USER_NAME_MAX = 63, ROLES_CACHE_S = 30 };

/* The user at the other end of a connection. */
struct who {
	int uid, pid;                 /* -1: not known, as over tls:// */
	bool own;                     /* root, or the user of honed */
	enum role role;               /* as an operator */
	char user[USER_NAME_MAX + 1]; /* the user's name, or "uid N" without one; of an agent over
	                                 tls:// the name in its certificate */
};

/* Which nodes an agent may report for. */
enum agent_scope { AGENT_NO, AGENT_THIS_HOST, AGENT_ANY_NODE };

struct roles_options {
	const char *look, *diagnose, *agents; /* the three lists; NULL: empty */
	int own_uid;                          /* the user of honed */
};

struct roles;

/* Copies what it needs of *o. May take as long as the system's user database. ERR_INPUT: a name that
 * does not exist or cannot be looked up, with its config key; ERR_MEMORY. */
int roles_new(struct roles **ret, const struct roles_options *o, struct err *e);
void roles_free(struct roles *r); /* NULL is fine */

/* Whether other users than root and honed's may connect: the socket's mode is then 0666, else 0600.
 */
bool roles_operators_open(const struct roles *r);
bool roles_agents_open(const struct roles *r);

/* The user with its role, and which nodes its agent may report for. Thread-safe. A user that is not
 * in the cache is looked up in the system's user database, which may take long; without an entry it
 * has no groups. */
void roles_who(struct roles *r, int uid, int pid, struct mono now, struct who *ret);
enum agent_scope roles_agent(struct roles *r, const struct who *w, struct mono now);

const char *role_word(enum role role); /* "none", "look", "diagnose" */
/* Sets *e to ERR_DENIED with the config key that would permit it, and who can change that. what: the
 * refused question, as "stop"; NULL: "this". */
int roles_refuse(
    const struct roles *r, const struct who *w, enum role needed, const char *what, struct err *e);
int roles_refuse_agent(const struct roles *r, const struct who *w, struct err *e);

#endif
