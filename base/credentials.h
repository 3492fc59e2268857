/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The credentials of base/tls.h: a folder with a CA, the certificates that it issued, and those that it revoked.
 *
 *	ca.pem ca.key			the CA; its private key makes agents, so keep it in a safe place
 *	controller.pem controller.key	honed's
 *	revoked.pem			the list of revoked certificates, for honed
 *	agents/NODE/			to be copied to that node: ca.pem, agent.pem, agent.key
 *	issued/SERIAL.pem		each certificate that was ever issued
 *
 * Private keys are EC keys on P-256, one for each certificate, in files with mode 0600. A file is
 * written under another name, flushed and renamed, so there is never half of one. Files are not overwritten, except
 * those that are replaced on request (`again`) and revoked.pem.
 *
 * In credentials_openssl.c (certificates) and credentials_folder_openssl.c (the folder) over OpenSSL 3. hone
 * loads them when they are needed, as lib/hone/credentials.so, through `credentials_calls`.
 */
#ifndef BASE_CREDENTIALS_H
#define BASE_CREDENTIALS_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"

enum { CREDENTIALS_NAME_MAX = 63 }; /* bytes of a node's name */

struct credentials_span { /* when a certificate is valid; whole seconds */
	struct wall from, until;
};

struct credentials_order {
	const char *node; /* NULL: for the controller */

	/* Of the controller: names and IP addresses under which it may be dialled. None: any. */
	const char *const *hosts;
	int nhosts;

	struct credentials_span span;
	bool again; /* replace an existing one; without hosts here, its hosts are kept */
};

enum credentials_state {
	CREDENTIALS_VALID,
	CREDENTIALS_EARLY, /* not valid yet */
	CREDENTIALS_EXPIRED,
	CREDENTIALS_REVOKED,
	CREDENTIALS_STATES
};

struct credentials_row {    /* texts are valid during the call */
	const char *name;   /* of the node; "controller", "CA" */
	const char *role;   /* "agent", "controller", "ca"; "" for other certificates */
	const char *serial; /* hexadecimal */
	const char *file;
	struct credentials_span span;
	enum credentials_state state;
	bool now; /* in use: not replaced by a newer one */
};
typedef void credentials_visit(void *ctx, const struct credentials_row *row);

/* Each call may also return ERR_SYSTEM (files, OpenSSL) or ERR_MEMORY. */
struct credentials_calls {
	/* Creates the folder with the CA, an empty list of revoked certificates, and the controller's certificate (o->node is
	 * NULL). ERR_BUSY: the folder has files of a CA. */
	int (*init)(const char *dir, const struct credentials_span *ca,
	    const struct credentials_order *o, struct err *e);

	/* Issues one certificate. ERR_BUSY: there is one, and o->again is not set; ERR_INPUT: a
	 * malformed name or host, or a span that ends after the CA's; ERR_MISSING: no CA. */
	int (*issue)(const char *dir, const struct credentials_order *o, struct err *e);

	/* Revokes all certificates of the node ("controller": of the controller) that are not revoked
	 * yet; *n is their number. ERR_MISSING: none was issued. */
	int (*revoke)(const char *dir, const char *name, struct wall now, int *n, struct err *e);

	/* Visits all certificates in the folder, or in one PEM file (revocation is then not known). O(n).
	 * ERR_MISSING, ERR_INPUT. */
	int (*list)(
	    const char *path, struct wall now, credentials_visit *fn, void *ctx, struct err *e);
};
extern const struct credentials_calls credentials_calls;

#endif
