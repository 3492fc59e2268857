/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The identity of this side on tls:// streams and the CA that it trusts, in tls_openssl.c over OpenSSL 3. Both
 * sides show a certificate of one CA (`hone keys` makes them, base/credentials.h). The SAN URI of a
 * certificate says what it is for:
 *
 *	hone:controller		the side that listens; an agent accepts no other
 *	hone:agent:NODE		the side that dials; it may speak for this node only
 *
 * TLS 1.2 or newer, ECDHE with AEAD ciphers, no renegotiation, no compression. If the
 * controller's certificate names hosts, one of them must be the host that was dialled.
 *
 * With TLS 1.3 a side that dials again continues its last session with that host (RFC 8446, section 2.2: with a new key exchange, without
 * early data), for which the side that listens keeps nothing: the ticket has the session, with the certificate of the side that dials. A ticket
 * is sealed by keys that follow from the listening side's private key and from the contents of all its files (HKDF, RFC 5869). So it
 * is of use after a restart of that side, and of none after any of its files has changed, the list of revoked certificates too; and
 * both sides check the certificate, the name and the host again as in a full handshake. A ticket is used once, but for
 * handshakes that broke off, and TLS_TICKET_S at most.
 */
#ifndef BASE_TLS_H
#define BASE_TLS_H

#include "base/err.h"

struct tls;

enum { TLS_TICKET_S = 6 * 3600 };

struct tls_files { /* paths of PEM files; copied */
	const char *ca, *certificate, *key;
	const char *revoked; /* the CA's list of revoked certificates; NULL or "": no list */
};

/*
 * Reads all files; some ms. The result may be used by several threads. ERR_MISSING: no such file;
 * ERR_SYSTEM: not readable, or the private key is accessible to others (0600 is required, or 0640 if
 * root owns it); ERR_INPUT: malformed, not matching, or the certificate is not valid now;
 * ERR_MEMORY.
 */
int tls_open(struct tls **ret, const struct tls_files *f, struct err *e);

/*
 * Reads the files again if one has changed since; four stat() otherwise. 1: they have been replaced, for streams that
 * are secured from now on (channel_trusted() tests older ones); 0: no change; negative, as above: the
 * former content stays in use, and the next call tries again.
 */
int tls_refresh(struct tls *t, struct err *e);

void tls_close(struct tls *t); /* after the streams that it secured; NULL is fine */

#endif
