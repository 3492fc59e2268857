/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The keys of base/tls.h: a folder with a CA, what it has issued, and what it has revoked.
 *
 *	ca.pem ca.key			the CA; its key makes agents, so it is best kept where nobody else is
 *	controller.pem controller.key	honed's
 *	revoked.pem			the list of revoked certificates, for honed
 *	agents/NODE/			what belongs on that node: ca.pem, agent.pem, agent.key
 *	issued/SERIAL.pem		each certificate that was ever issued
 *
 * EC keys on P-256, each for itself, files of keys with mode 0600. A file is written beside its place, flushed, and
 * renamed: there is never half of one. Nothing is overwritten, but what is made anew (again) and revoked.pem.
 *
 * In credentials_openssl.c (certificates) and credentials_folder_openssl.c (the folder) over OpenSSL 3. hone loads them when they are
 * needed, as lib/hone/credentials.so, through `credentials_calls`.
 */
#ifndef BASE_CREDENTIALS_H
#define BASE_CREDENTIALS_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"

enum { CREDENTIALS_NAME_MAX = 63 }; /* of a node */

struct credentials_span { /* in which a certificate is valid; whole seconds */
	struct wall from, until;
};

struct credentials_order {
	const char *node;         /* NULL: for the controller */
	const char *const *hosts; /* the controller's: names and IP addresses it may be dialled by;
	                             none: any will do */
	int nhosts;
	struct credentials_span span;
	bool again; /* in place of one that is there; hosts as there, if none are given */
};

enum credentials_state {
	CREDENTIALS_VALID,
	CREDENTIALS_EARLY,
	CREDENTIALS_EXPIRED,
	CREDENTIALS_REVOKED,
	CREDENTIALS_STATES
};

struct credentials_row {    /* texts last as long as the call */
	const char *name;   /* of the node; "controller", "CA" */
	const char *role;   /* "agent", "controller", "ca"; "" if it says none of these */
	const char *serial; /* hex */
	const char *file;
	struct credentials_span span;
	enum credentials_state state;
	bool now; /* the one that is in use: not one that another has replaced */
};
typedef void credentials_visit(void *ctx, const struct credentials_row *row);

struct credentials_calls {
	/* Makes the folder with the CA, its empty list, and the controller's (o->node is NULL).
	 * ERR_BUSY: there is one. */
	int (*init)(const char *dir, const struct credentials_span *ca,
	    const struct credentials_order *o, struct err *e);
	/* ERR_BUSY: there is one, and it was not said again. ERR_INPUT: a name or a host is none,
	 * or it would outlive the CA. */
	int (*issue)(const char *dir, const struct credentials_order *o, struct err *e);
	/* All of that node's ("controller": of the controller) that are not yet; *n: how many.
	 * ERR_MISSING: there is none. */
	int (*revoke)(const char *dir, const char *name, struct wall now, int *n, struct err *e);
	/* All in the folder, or in one file (then nothing is known of revocation); O(n).
	 * ERR_MISSING. */
	int (*list)(
	    const char *path, struct wall now, credentials_visit *fn, void *ctx, struct err *e);
};
extern const struct credentials_calls credentials_calls;

#endif
