/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by tls_openssl.c and tls_session_openssl.c. */
#ifndef BASE_TLS_INSIDE_OPENSSL_H
#define BASE_TLS_INSIDE_OPENSSL_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/tls_session.h"

enum tls_file { FILE_CA, FILE_CERTIFICATE, FILE_KEY, FILE_REVOKED, TLS_FILES };

struct own_tls {
	struct tls head;
	char *paths[TLS_FILES];
	pthread_mutex_t lock; /* of the members below */
	SSL_CTX *context;
	/* Of the side that dials: to continue once, with this host; NULL: none. */
	SSL_SESSION *session;
	char *session_host;
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

/* ---- tickets (tls_ticket_openssl.c) ---- */

enum { TICKET_HASH_BYTES = 32, TICKET_SECRET_BYTES = 32 };

/*
 * SHA-256 of the contents of the files. To be made before a context reads them: if one changes in between, the hash is of the former content,
 * and its tickets are of no use once the change is seen. ERR_SYSTEM, ERR_MEMORY.
 */
int ticket_hash(uint8_t hash[TICKET_HASH_BYTES], char *const paths[TLS_FILES], struct err *e);
/* Of what the keys of tickets are made: the same as long as the hash and the private key are. ERR_SYSTEM. */
int ticket_secret(uint8_t secret[TICKET_SECRET_BYTES], const uint8_t hash[TICKET_HASH_BYTES],
    EVP_PKEY *key, struct err *e);
/* The context gives tickets by this secret, which is copied, and takes them. ERR_MEMORY. */
int ticket_use(SSL_CTX *c, const uint8_t hash[TICKET_HASH_BYTES],
    const uint8_t secret[TICKET_SECRET_BYTES], struct err *e);
/* The session of a side that dials, to be continued by its next one with this host. True: it takes the reference. False: the files have changed
 * since context `of`, or out of memory. */
bool ticket_keep(struct own_tls *o, const SSL_CTX *of, SSL_SESSION *session, const char *host);
/* Takes it: the reference is the caller's. NULL: there is none for this host. */
SSL_SESSION *ticket_take(struct own_tls *o, const char *host);

/* OpenSSL's callback for a ticket that came. */
int tls_on_session(SSL *ssl, SSL_SESSION *session);

/* OpenSSL's callback for each certificate of a peer. */
int tls_on_certificate(int ok, X509_STORE_CTX *at);

#endif
