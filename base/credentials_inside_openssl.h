/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What credentials_openssl.c (certificates in memory) offers to credentials_folder_openssl.c. */
#ifndef BASE_CREDENTIALS_INSIDE_OPENSSL_H
#define BASE_CREDENTIALS_INSIDE_OPENSSL_H

#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/credentials.h"

struct key_pair { /* a private key and its certificate; all NULL is empty */
	EVP_PKEY *key;
	X509 *certificate;
};

void key_pair_release(struct key_pair *p);
int key_pair_make_ca(struct key_pair *ret, const struct credentials_span *span, struct err *e);

/* hosts: used if the order has none; NULL: none. */
int key_pair_make(struct key_pair *ret, const struct key_pair *ca,
    const struct credentials_order *o, GENERAL_NAMES *hosts, struct err *e);

/* The hosts that a certificate names; the caller's to GENERAL_NAMES_free(). */
GENERAL_NAMES *hosts_of(X509 *c);

/* A signed list of revoked certificates: those of `former` (NULL: none) and `more`. */
int revoked_make(X509_CRL **ret, const struct key_pair *ca, X509_CRL *former, X509 *const *more,
    int nmore, struct wall now, struct err *e);

/* ERR_SYSTEM with OpenSSL's reason for its last failure. */
int fail_openssl(struct err *e, const char *what);

struct certificate_info {
	char name[CREDENTIALS_NAME_MAX + 1], serial[48];
	const char *role; /* as in struct credentials_row */
	struct credentials_span span;
};
void certificate_read(struct certificate_info *ret, X509 *c);

#endif
