/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by tls_openssl.c and tls_session_openssl.c. */
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
	pthread_mutex_t lock; /* of the members below */
	SSL_CTX *context;
	struct stat seen[TLS_FILES]; /* of the files that context was read from */
};

enum { TLS_NAME_MAX_BYTES = 96 };

extern const struct tls_session_calls tls_session_openssl;

/* The current context; the reference is the caller's. */
static inline SSL_CTX *
tls_context(struct own_tls *o)
{
	SSL_CTX *c;

	pthread_mutex_lock(&o->lock);
	c = o->context;
	SSL_CTX_up_ref(c);
	pthread_mutex_unlock(&o->lock);
	return c;
}

/* The purpose in the certificate's SAN URI, "hone:...". False: it has none, or several. */
bool tls_name(X509 *c, char name[TLS_NAME_MAX_BYTES]);

/* Whether the certificate is of the store's CA, valid now and not revoked: 0, or ERR_DENIED with a text that
 * begins with a verb ("is revoked"); ERR_MEMORY. */
int tls_verify(X509 *c, STACK_OF(X509) * chain, X509_STORE *store, struct err *e);

/* OpenSSL's callback for each certificate of a peer. */
int tls_on_certificate(int ok, X509_STORE_CTX *at);

#endif
