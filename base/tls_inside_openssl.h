/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tls_openssl.c and tls_session_openssl.c share. */
#ifndef BASE_TLS_INSIDE_OPENSSL_H
#define BASE_TLS_INSIDE_OPENSSL_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/tls_session.h"

enum tls_file { FILE_CA, FILE_CERTIFICATE, FILE_KEY, FILE_REVOKED, TLS_FILES };

struct own_tls {
	struct tls head;
	char *paths[TLS_FILES];
	pthread_mutex_t lock; /* of these two: */
	SSL_CTX *context;
	struct stat seen[TLS_FILES]; /* the files that it was read from */
};

enum { TLS_NAME_MAX_BYTES = 96 };

extern const struct tls_session_calls tls_session_openssl;

SSL_CTX *tls_context(struct own_tls *o); /* what holds now: the caller's reference */
/* What the certificate says it is for, from its SAN URI: "hone:...". False: nothing, or more than
 * one thing. */
bool tls_name(X509 *c, char name[TLS_NAME_MAX_BYTES]);
/* Is it of our CA, valid now, not revoked? 0, or ERR_DENIED and words that begin with a verb ("is
 * revoked"). */
int tls_verify(X509 *c, STACK_OF(X509) * chain, X509_STORE *store, struct err *e);
int tls_on_certificate(
    int ok, X509_STORE_CTX *at); /* OpenSSL asks it about each certificate of a peer */

#endif
