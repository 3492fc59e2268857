/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private keys, certificates and lists of revoked certificates (X.509 v3, RFC 5280), in memory. */
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/credentials_inside_openssl.h"

enum { SERIAL_BITS = 127 };

int
fail_openssl(struct err *e, const char *what)
{
	const char *why = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return err_set(
	    e, ERR_SYSTEM, "%s: %s", what, why != NULL ? why : "OpenSSL gives no reason");
}

void
key_pair_release(struct key_pair *p)
{
	EVP_PKEY_free(p->key);
	X509_free(p->certificate);
	memset(p, 0, sizeof *p);
}

/* ---- parts of a certificate ---- */

static bool
add_extension(X509 *c, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *x;
	bool ok;

	X509V3_set_ctx(&ctx, issuer, c, NULL, NULL, 0);
	if ((x = X509V3_EXT_conf_nid(NULL, &ctx, nid, value)) == NULL)
		return false;
	ok = X509_add_ext(c, x, -1) == 1;
	X509_EXTENSION_free(x);
	return ok;
}

static bool
set_serial(X509 *c)
{
	BIGNUM *n = BN_new();
	bool ok = n != NULL && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
	          BN_to_ASN1_INTEGER(n, X509_get_serialNumber(c)) != NULL;

	BN_free(n);
	return ok;
}

static bool
set_subject(X509 *c, const char *name)
{
	X509_NAME *n = X509_get_subject_name(c);

	return X509_NAME_add_entry_by_txt(
		   n, "O", MBSTRING_ASC, (const unsigned char *)"Hone", -1, -1, 0) == 1 &&
	       X509_NAME_add_entry_by_txt(
		   n, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) == 1;
}

static time_t
seconds(struct wall w)
{
	return (time_t)(w.ns / 1000000000);
}

/* A new private key, and the parts of a certificate that those of a CA and of others share. */
static bool
begin(struct key_pair *p, const char *subject, const struct credentials_span *span)
{
	return (p->key = EVP_EC_gen("P-256")) != NULL && (p->certificate = X509_new()) != NULL &&
	       X509_set_version(p->certificate, X509_VERSION_3) == 1 &&
	       set_serial(p->certificate) && set_subject(p->certificate, subject) &&
	       ASN1_TIME_set(X509_getm_notBefore(p->certificate), seconds(span->from)) != NULL &&
	       ASN1_TIME_set(X509_getm_notAfter(p->certificate), seconds(span->until)) != NULL &&
	       X509_set_pubkey(p->certificate, p->key) == 1;
}

static bool
sign(struct key_pair *p, const struct key_pair *by)
{
	return X509_set_issuer_name(p->certificate, X509_get_subject_name(by->certificate)) == 1 &&
	       add_extension(p->certificate, by->certificate, NID_subject_key_identifier, "hash") &&
	       add_extension(
		   p->certificate, by->certificate, NID_authority_key_identifier, "keyid:always") &&
	       X509_sign(p->certificate, by->key, EVP_sha256()) > 0;
}

/* Each CA has a random name, so that two of them are not confused. */
int
key_pair_make_ca(struct key_pair *ret, const struct credentials_span *span, struct err *e)
{
	struct key_pair p = { 0 };
	unsigned char some[4];
	char subject[32];

	if (RAND_bytes(some, sizeof some) != 1)
		return fail_openssl(e, "random numbers");
	snprintf(subject, sizeof subject, "Hone CA %02x%02x%02x%02x", some[0], some[1], some[2],
	    some[3]);
	if (!begin(&p, subject, span) ||
	    !add_extension(
		p.certificate, NULL, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
	    !add_extension(p.certificate, NULL, NID_key_usage, "critical,keyCertSign,cRLSign") ||
	    !sign(&p, &p)) {
		key_pair_release(&p);
		return fail_openssl(e, "making a CA");
	}
	*ret = p;
	return 0;
}

/* ---- purpose and hosts ---- */

static bool
add_name(GENERAL_NAMES *all, int type, const char *value)
{
	GENERAL_NAME *n = a2i_GENERAL_NAME(NULL, NULL, NULL, type, value, 0);

	if (n != NULL && sk_GENERAL_NAME_push(all, n) > 0)
		return true;
	GENERAL_NAME_free(n);
	return false;
}

static bool
is_host(const char *s)
{
	size_t len = strlen(s);

	return len > 0 && len < 254 &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:") ==
	           len;
}

static bool
add_host(GENERAL_NAMES *all, const char *host)
{
	ASN1_OCTET_STRING *ip;

	if (!is_host(host))
		return false;
	if ((ip = a2i_IPADDRESS(host)) == NULL) {
		ERR_clear_error();
		return strchr(host, ':') == NULL && add_name(all, GEN_DNS, host);
	}
	ASN1_OCTET_STRING_free(ip);
	return add_name(all, GEN_IPADD, host);
}

GENERAL_NAMES *
hosts_of(X509 *c)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(c, NID_subject_alt_name, NULL, NULL);

	for (int i = sk_GENERAL_NAME_num(all); i-- > 0;) {
		int type = sk_GENERAL_NAME_value(all, i)->type;

		if (type != GEN_DNS && type != GEN_IPADD)
			GENERAL_NAME_free(sk_GENERAL_NAME_delete(all, i));
	}
	return all;
}

static int
add_names(X509 *c, const struct credentials_order *o, GENERAL_NAMES *hosts, struct err *e)
{
	GENERAL_NAMES *all = GENERAL_NAMES_new();
	char role[32 + CREDENTIALS_NAME_MAX];
	int rc = 0;

	snprintf(role, sizeof role, o->node != NULL ? "hone:agent:%s" : "hone:controller", o->node);
	if (all == NULL || !add_name(all, GEN_URI, role))
		rc = fail_openssl(e, role);
	for (int i = 0; rc == 0 && i < o->nhosts; i++)
		if (!add_host(all, o->hosts[i]))
			rc = err_set(e, ERR_INPUT,
			    "%s: neither the name of a host nor an IP address", o->hosts[i]);
	for (int i = 0; rc == 0 && o->nhosts == 0 && i < sk_GENERAL_NAME_num(hosts); i++)
		if (sk_GENERAL_NAME_push(all, GENERAL_NAME_dup(sk_GENERAL_NAME_value(hosts, i))) <=
		    0)
			rc = fail_openssl(e, role);
	if (rc == 0 && X509_add1_ext_i2d(c, NID_subject_alt_name, all, 0, X509V3_ADD_APPEND) != 1)
		rc = fail_openssl(e, role);
	GENERAL_NAMES_free(all);
	return rc;
}

int
key_pair_make(struct key_pair *ret, const struct key_pair *ca, const struct credentials_order *o,
    GENERAL_NAMES *hosts, struct err *e)
{
	struct key_pair p = { 0 };
	int rc;

	if (ASN1_TIME_cmp_time_t(X509_get0_notAfter(ca->certificate), seconds(o->span.until)) < 0)
		return err_set(e, ERR_INPUT,
		    "it would be valid for longer than the CA: use fewer --days, or make a new folder with "
		    "hone keys init");
	if (!begin(&p, o->node != NULL ? o->node : "controller", &o->span) ||
	    !add_extension(
		p.certificate, ca->certificate, NID_basic_constraints, "critical,CA:FALSE") ||
	    !add_extension(
		p.certificate, ca->certificate, NID_key_usage, "critical,digitalSignature") ||
	    !add_extension(p.certificate, ca->certificate, NID_ext_key_usage,
		o->node != NULL ? "clientAuth" : "serverAuth"))
		rc = fail_openssl(e, "making a certificate");
	else if ((rc = add_names(p.certificate, o, hosts, e)) == 0 && !sign(&p, ca))
		rc = fail_openssl(e, "signing a certificate");
	if (rc != 0)
		key_pair_release(&p);
	else
		*ret = p;
	return rc;
}

/* ---- lists of revoked certificates ---- */

static bool
revoke(X509_CRL *list, X509 *c, struct wall now)
{
	X509_REVOKED *r = X509_REVOKED_new();
	ASN1_TIME *when = ASN1_TIME_set(NULL, seconds(now));
	bool ok = r != NULL && when != NULL &&
	          X509_REVOKED_set_serialNumber(r, X509_get_serialNumber(c)) == 1 &&
	          X509_REVOKED_set_revocationDate(r, when) == 1 &&
	          X509_CRL_add0_revoked(list, r) == 1;

	ASN1_TIME_free(when);
	if (!ok)
		X509_REVOKED_free(r);
	return ok;
}

/* The list is valid as long as the CA: it lies beside its reader, and each revocation makes a new one. */
static X509_CRL *
list_begin(const struct key_pair *ca, X509_CRL *former, struct wall now)
{
	X509_CRL *list = former != NULL ? X509_CRL_dup(former) : X509_CRL_new();
	ASN1_TIME *when = ASN1_TIME_set(NULL, seconds(now));

	if (list == NULL || when == NULL || X509_CRL_set_version(list, X509_CRL_VERSION_2) != 1 ||
	    X509_CRL_set_issuer_name(list, X509_get_subject_name(ca->certificate)) != 1 ||
	    X509_CRL_set1_lastUpdate(list, when) != 1 ||
	    X509_CRL_set1_nextUpdate(list, X509_get0_notAfter(ca->certificate)) != 1) {
		X509_CRL_free(list);
		list = NULL;
	}
	ASN1_TIME_free(when);
	return list;
}

int
revoked_make(X509_CRL **ret, const struct key_pair *ca, X509_CRL *former, X509 *const *more,
    int nmore, struct wall now, struct err *e)
{
	X509_CRL *list = list_begin(ca, former, now);
	bool ok = list != NULL;

	for (int i = 0; ok && i < nmore; i++)
		ok = revoke(list, more[i], now);
	ok = ok && X509_CRL_sort(list) == 1 && X509_CRL_sign(list, ca->key, EVP_sha256()) > 0;
	if (!ok) {
		X509_CRL_free(list);
		return fail_openssl(e, "making a list of revoked certificates");
	}
	*ret = list;
	return 0;
}

/* ---- the content of a certificate ---- */

static struct wall
wall_of(const ASN1_TIME *t)
{
	struct tm tm;

	return (
	    struct wall){ ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) * 1000000000 : 0 };
}

static void
set_role(struct certificate_info *s, X509 *c)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(c, NID_subject_alt_name, NULL, NULL);

	s->role = X509_check_ca(c) != 0 ? "ca" : "";
	for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
		const GENERAL_NAME *n = sk_GENERAL_NAME_value(all, i);
		const char *text;

		if (n->type != GEN_URI)
			continue;
		text = (const char *)ASN1_STRING_get0_data(n->d.uniformResourceIdentifier);
		if (strcmp(text, "hone:controller") == 0)
			s->role = "controller";
		else if (strncmp(text, "hone:agent:", 11) == 0)
			s->role = "agent";
	}
	GENERAL_NAMES_free(all);
}

void
certificate_read(struct certificate_info *ret, X509 *c)
{
	BIGNUM *n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(c), NULL);
	char *hex = n != NULL ? BN_bn2hex(n) : NULL;

	memset(ret, 0, sizeof *ret);
	snprintf(ret->serial, sizeof ret->serial, "%s", hex != NULL ? hex : "");
	OPENSSL_free(hex);
	BN_free(n);
	if (X509_NAME_get_text_by_NID(
		X509_get_subject_name(c), NID_commonName, ret->name, sizeof ret->name) < 0)
		ret->name[0] = '\0';
	ret->span = (struct credentials_span){ wall_of(X509_get0_notBefore(c)),
		wall_of(X509_get0_notAfter(c)) };
	set_role(ret, c);
	ERR_clear_error();
}
