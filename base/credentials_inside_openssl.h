/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What credentials_openssl.c (certificates, in memory) gives to credentials_folder_openssl.c (the folder). */
#ifndef BASE_CREDENTIALS_INSIDE_OPENSSL_H
#define BASE_CREDENTIALS_INSIDE_OPENSSL_H

#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/credentials.h"

struct pair { /* all NULL is empty */
	EVP_PKEY *key;
	X509 *certificate;
};

void pair_release(struct pair *p);
int pair_make_ca(struct pair *ret, const struct credentials_span *span, struct err *e);
/* hosts: in place of the order's, if those are none; NULL is none. */
int pair_make(struct pair *ret, const struct pair *ca, const struct credentials_order *o,
    GENERAL_NAMES *hosts, struct err *e);
/* The hosts a certificate names; the caller's to GENERAL_NAMES_free(). */
GENERAL_NAMES *hosts_of(X509 *c);
/* An empty list, or `former` with one more in it (NULL: none); signed. */
int revoked_make(X509_CRL **ret, const struct pair *ca, X509_CRL *former, X509 *const *more,
    int nmore, struct wall now, struct err *e);
int fail_openssl(struct err *e, const char *what);

struct seen_certificate { /* what a certificate says */
	char name[CREDENTIALS_NAME_MAX + 1], serial[48];
	const char *role;
	struct credentials_span span;
};
void certificate_look(struct seen_certificate *ret, X509 *c);

#endif
