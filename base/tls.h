/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who we are and whom we trust on tls:// streams, in tls_openssl.c over OpenSSL 3. Both sides show a certificate of
 * one CA (hone keys makes them, base/credentials.h), and what a certificate is for stands in it, in a SAN URI:
 *
 *	hone:controller		who listens; an agent talks to no one else
 *	hone:agent:NODE		who dials; it may speak for this node only
 *
 * TLS 1.2 or newer, ECDHE with AEAD ciphers, no renegotiation, no compression, no tickets. If the controller's
 * certificate names hosts, one of them must be the host that was dialled.
 */
#ifndef BASE_TLS_H
#define BASE_TLS_H

#include "base/err.h"

struct tls;

struct tls_files { /* PEM; copied */
	const char *ca, *certificate, *key;
	const char
	    *revoked; /* the CA's list of revoked certificates; NULL or "": none is asked for */
};

/*
 * Reads all of them. ERR_MISSING: no such file; ERR_SYSTEM: it cannot be read, or others may read
 * the key (0600, or 0640 and root's, is wanted); ERR_INPUT: it is none, or they do not belong
 * together, or the certificate is not valid now. Some ms. Used by any number of threads.
 */
int tls_open(struct tls **ret, const struct tls_files *f, struct err *e);
/*
 * Reads them again if one has changed since. 1: what holds has changed, for streams that are
 * secured from now on (stream_trusted() says whether older ones would still be let in); 0: nothing
 * has; negative, as above: what was read before still holds, and the next call tries again. Four
 * stat() when nothing has changed.
 */
int tls_refresh(struct tls *t, struct err *e);
void tls_close(struct tls *t); /* after the streams that it secured; NULL is fine */

#endif
