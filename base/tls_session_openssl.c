/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A TLS session (base/tls_session.h): an SSL between two memory BIOs, and the check of the peer's certificate. */
#include <assert.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/tls_inside_openssl.h"

static const char CONTROLLER[] = "hone:controller", AGENT[] = "hone:agent:";

struct tls_session {
	struct own_tls *of;
	SSL *ssl;
	BIO *in, *out; /* from and to the transport; owned by ssl */
	bool dials, done, resumed, failed;
	bool broken;        /* reading failed behind data that was handed out */
	SSL_SESSION *last;  /* that this one is to continue; NULL: none, or it is used up */
	SSL_SESSION *fresh; /* its ticket came; kept once the peer has said something */
	char *host;
	char name[TLS_NAME_MAX_BYTES]; /* the peer's */
	struct err why;                /* the refusal of its certificate; code 0: none */
};

/* ---- the content of a certificate ---- */

static bool
printable(const unsigned char *s, int len)
{
	for (int i = 0; i < len; i++)
		if (s[i] <= 0x20 || s[i] >= 0x7f)
			return false;
	return len > 0;
}

bool
tls_name(X509 *c, char name[TLS_NAME_MAX_BYTES])
{
	GENERAL_NAMES *all = X509_get_ext_d2i(c, NID_subject_alt_name, NULL, NULL);
	int found = 0;

	for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
		const GENERAL_NAME *n = sk_GENERAL_NAME_value(all, i);
		const unsigned char *s;
		int len;

		if (n->type != GEN_URI)
			continue;
		s = ASN1_STRING_get0_data(n->d.uniformResourceIdentifier);
		len = ASN1_STRING_length(n->d.uniformResourceIdentifier);
		if (len < 5 || memcmp(s, "hone:", 5) != 0)
			continue;
		if (printable(s, len) && len < TLS_NAME_MAX_BYTES)
			snprintf(name, TLS_NAME_MAX_BYTES, "%.*s", len, (const char *)s);
		else
			found++; /* a malformed one counts twice: it is refused */
		found++;
	}
	GENERAL_NAMES_free(all);
	return found == 1;
}

/* For error texts: its name, or else its common name with unprintable bytes replaced, since any party may have made
 * it. */
static void
describe(X509 *c, char text[TLS_NAME_MAX_BYTES])
{
	if (tls_name(c, text))
		return;
	if (X509_NAME_get_text_by_NID(
		X509_get_subject_name(c), NID_commonName, text, TLS_NAME_MAX_BYTES) <= 0)
		snprintf(text, TLS_NAME_MAX_BYTES, "without a name");
	for (char *p = text; *p != '\0'; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
}

static void
print_time(const ASN1_TIME *t, char words[32])
{
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1 || strftime(words, 32, "%Y-%m-%d %H:%M UTC", &tm) == 0)
		snprintf(words, 32, "?");
}

static void
print_now(char words[32])
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(words, 32, "%Y-%m-%d %H:%M UTC", &tm);
}

/* The text for the failure of X509_verify_cert(), which names the certificate. */
static int
fail_verify(X509_STORE_CTX *at, struct err *e)
{
	int code = X509_STORE_CTX_get_error(at);
	X509 *c = X509_STORE_CTX_get_current_cert(at);
	char when[32] = "?", now[32];

	print_now(now);
	switch (code) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		print_time(X509_get0_notAfter(c), when);
		return err_set(e, ERR_DENIED,
		    "expired on %s (here it is %s): hone keys agent NODE --again, or hone keys "
		    "controller --again, makes a new one",
		    when, now);
	case X509_V_ERR_CERT_NOT_YET_VALID:
		print_time(X509_get0_notBefore(c), when);
		return err_set(e, ERR_DENIED,
		    "is not valid before %s, and here it is %s: compare the clocks of both machines",
		    when, now);
	case X509_V_ERR_CERT_REVOKED:
		return err_set(e, ERR_DENIED,
		    "is revoked and no longer accepted; hone keys agent NODE --again makes a new "
		    "one");
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
		return err_set(e, ERR_DENIED,
		    "is of another CA than ours: both sides need keys of one hone keys init");
	case X509_V_ERR_UNABLE_TO_GET_CRL:
	case X509_V_ERR_CRL_SIGNATURE_FAILURE:
		return err_set(e, ERR_DENIED,
		    "cannot be checked: our list of revoked certificates is of another CA");
	case X509_V_ERR_INVALID_PURPOSE:
		return err_set(e, ERR_DENIED, "is not for this side of a connection");
	default:
		return err_set(
		    e, ERR_DENIED, "is not valid: %s", X509_verify_cert_error_string(code));
	}
}

int
tls_verify(X509 *c, STACK_OF(X509) * chain, X509_STORE *store, struct err *e)
{
	X509_STORE_CTX *at = X509_STORE_CTX_new();
	int rc;

	if (at == NULL || X509_STORE_CTX_init(at, store, c, chain) != 1)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	else
		rc = X509_verify_cert(at) == 1 ? 0 : fail_verify(at, e);
	X509_STORE_CTX_free(at);
	ERR_clear_error();
	return rc;
}

/* ---- which peers are accepted ---- */

static bool
names_hosts(X509 *c)
{
	GENERAL_NAMES *all = X509_get_ext_d2i(c, NID_subject_alt_name, NULL, NULL);
	bool yes = false;

	for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
		int type = sk_GENERAL_NAME_value(all, i)->type;

		yes = yes || type == GEN_DNS || type == GEN_IPADD;
	}
	GENERAL_NAMES_free(all);
	return yes;
}

static int
check_role(struct tls_session *k, X509 *c, struct err *e)
{
	char words[TLS_NAME_MAX_BYTES];
	bool named = tls_name(c, k->name);

	describe(c, words);
	if (k->dials && (!named || strcmp(k->name, CONTROLLER) != 0))
		return err_set(e, ERR_DENIED,
		    "is not the controller's, but %s: is this the address of honed?", words);
	if (!k->dials && (!named || strncmp(k->name, AGENT, strlen(AGENT)) != 0 ||
			     k->name[strlen(AGENT)] == '\0'))
		return err_set(e, ERR_DENIED,
		    "is not an agent's, but %s: hone keys agent NODE makes one", words);
	if (k->dials && k->host != NULL && names_hosts(c) &&
	    X509_check_ip_asc(c, k->host, 0) != 1 &&
	    X509_check_host(c, k->host, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL) != 1)
		return err_set(e, ERR_DENIED,
		    "is not for the host %s: hone keys controller --again --host %s makes one for it",
		    k->host, k->host);
	return 0;
}

int
tls_on_certificate(int ok, X509_STORE_CTX *at)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(at, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls_session *k = SSL_get_app_data(ssl);
	X509 *c = X509_STORE_CTX_get_current_cert(at);
	char words[TLS_NAME_MAX_BYTES];
	struct err e = { 0 };

	if (ok != 1 && X509_STORE_CTX_get_error(at) != X509_V_ERR_INVALID_PURPOSE)
		fail_verify(at, &e);
	else if (X509_STORE_CTX_get_error_depth(at) == 0 && check_role(k, c, &e) != 0)
		X509_STORE_CTX_set_error(at, X509_V_ERR_APPLICATION_VERIFICATION);
	else if (ok != 1)
		fail_verify(at, &e);
	else
		return 1;
	describe(c, words);
	err_set(&k->why, e.code, "its certificate (%s) %s", words, e.text);
	return 0;
}

/* ---- failures ---- */

/* The text for the alert with which the peer refuses us (RFC 8446, section 6). NULL: no text. */
static const char *
alert_text(int alert)
{
	switch (alert) {
	case SSL_AD_UNKNOWN_CA:
		return "our certificate is of another CA than its own: both sides need keys of one hone keys init";
	case SSL_AD_CERTIFICATE_EXPIRED:
		return "our certificate has expired by its clock: hone keys agent NODE --again makes a new one";
	case SSL_AD_CERTIFICATE_REVOKED:
		return "our certificate is revoked: hone keys agent NODE --again makes a new one";
	case SSL_AD_BAD_CERTIFICATE:
		return "our certificate is not valid; if it is new, compare the clocks of both machines";
	case SSL_AD_UNSUPPORTED_CERTIFICATE:
	case SSL_AD_HANDSHAKE_FAILURE:
		return "our certificate is not for this side of a connection, or both sides have no cipher in common";
	case SSL_AD_CERTIFICATE_REQUIRED:
		return "it requires a certificate from us";
	case SSL_AD_PROTOCOL_VERSION:
		return "it does not speak our version of TLS (1.2 or newer)";
	default:
		return NULL;
	}
}

static int
fail_session(struct tls_session *k, struct err *e)
{
	unsigned long code = ERR_peek_last_error();
	int reason = ERR_GET_REASON(code), alert = reason - SSL_AD_REASON_OFFSET;
	const char *words = ERR_reason_error_string(code);

	ERR_clear_error();
	if (k->why.code != 0) {
		*e = k->why;
		return e->code;
	}
	if (ERR_GET_LIB(code) == ERR_LIB_SSL && alert > 0 && alert < 256)
		return err_set(e, ERR_DENIED, "the other side refuses us: %s",
		    alert_text(alert) != NULL ? alert_text(alert)
		    : words != NULL           ? words
					      : "without a reason");
	switch (reason) {
	case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
		return err_set(e, ERR_DENIED, "it shows no certificate");
	case SSL_R_UNSUPPORTED_PROTOCOL:
	case SSL_R_VERSION_TOO_LOW:
		return err_set(e, ERR_INPUT, "it offers only TLS older than 1.2");
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_HTTP_REQUEST:
	case SSL_R_HTTPS_PROXY_REQUEST:
	case SSL_R_BAD_PROTOCOL_VERSION_NUMBER:
	case SSL_R_UNEXPECTED_MESSAGE:
		return err_set(e, ERR_INPUT, "it does not speak TLS");
	default:
		return err_set(e, ERR_INPUT, "it violates the TLS protocol: %s",
		    words != NULL ? words : "unknown failure");
	}
}

static int
fail_call(struct tls_session *k, int result, struct err *e)
{
	switch (SSL_get_error(k->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		return TLS_WANTS_INPUT;
	case SSL_ERROR_ZERO_RETURN:
		return err_set(e, ERR_PEER, "the peer has closed the session");
	default:
		return fail_session(k, e);
	}
}

/* ---- the calls ---- */

/* Without it: a full handshake. */
static void
continue_last(struct tls_session *k)
{
	SSL_SESSION *last = ticket_take(k->of, k->host);

	if (last != NULL)
		SSL_set_session(k->ssl, last);
	k->last = last;
}

/* If the connection broke off or timed out before the handshake ended, the next one may continue it; a full handshake would cost a busy
 * controller more. */
static void
give_back_last(struct tls_session *k)
{
	if (k->last != NULL && (k->done || k->failed ||
				   !ticket_keep(k->of, SSL_get_SSL_CTX(k->ssl), k->last, k->host)))
		SSL_SESSION_free(k->last);
	k->last = NULL;
}

static void
session_close(struct tls_session *k)
{
	if (k == NULL)
		return;
	/* Else OpenSSL would let no session continue whose connection broke off, as that to a killed controller does. */
	if (k->done)
		SSL_set_shutdown(k->ssl, SSL_SENT_SHUTDOWN);
	give_back_last(k);
	SSL_SESSION_free(k->fresh);
	SSL_free(k->ssl);
	free(k->host);
	free(k);
}

int
tls_on_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls_session *k = SSL_get_app_data(ssl);

	if (!k->dials || !k->done || k->host == NULL || SSL_version(ssl) != TLS1_3_VERSION)
		return 0;
	SSL_SESSION_free(k->fresh);
	k->fresh = session;
	return 1; /* the reference is ours */
}

/*
 * A session that the peer refuses after the handshake, as it does one whose certificate has expired meanwhile, brings a ticket, too. It is not kept,
 * so the next handshake is full, and its alert says why.
 */
static void
keep_fresh(struct tls_session *k)
{
	if (!ticket_keep(k->of, SSL_get_SSL_CTX(k->ssl), k->fresh, k->host))
		SSL_SESSION_free(k->fresh);
	k->fresh = NULL;
}

static int
session_open(struct tls_session **ret, struct tls *t, bool dials, const char *host, struct err *e)
{
	struct tls_session *k = calloc(1, sizeof *k);
	SSL_CTX *c;

	assert(ret != NULL && t != NULL);
	if (k == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	k->of = (struct own_tls *)t;
	k->dials = dials;
	c = tls_context(k->of);
	k->ssl = SSL_new(c);
	SSL_CTX_free(c);
	k->in = BIO_new(BIO_s_mem());
	k->out = BIO_new(BIO_s_mem());
	if (k->ssl == NULL || k->in == NULL || k->out == NULL ||
	    (host != NULL && (k->host = strdup(host)) == NULL)) {
		BIO_free(k->in);
		BIO_free(k->out);
		session_close(k);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	SSL_set_bio(k->ssl, k->in, k->out);
	SSL_set_app_data(k->ssl, k);
	dials ? SSL_set_connect_state(k->ssl) : SSL_set_accept_state(k->ssl);
	if (dials && host != NULL)
		continue_last(k);
	*ret = k;
	return 0;
}

/* OpenSSL calls tls_on_certificate() only in full handshakes. */
static int
check_resumed(struct tls_session *k, struct err *e)
{
	X509 *peer = SSL_get0_peer_certificate(k->ssl);
	char words[TLS_NAME_MAX_BYTES];
	struct err why;
	int rc;

	if (peer == NULL)
		return err_set(e, ERR_DENIED, "its earlier session has no certificate");
	k->resumed = true;
	if ((rc = tls_verify(peer, SSL_get_peer_cert_chain(k->ssl),
		 SSL_CTX_get_cert_store(SSL_get_SSL_CTX(k->ssl)), &why)) == 0 &&
	    (rc = check_role(k, peer, &why)) == 0)
		return 0;
	describe(peer, words);
	return err_set(e, rc, "its certificate (%s) %s", words, why.text);
}

static int
session_shake(struct tls_session *k, struct err *e)
{
	int result;

	ERR_clear_error();
	if ((result = SSL_do_handshake(k->ssl)) != 1)
		result = fail_call(k, result, e);
	else
		result = SSL_session_reused(k->ssl) == 1 ? check_resumed(k, e) : 0;
	k->done = result == 0;
	k->failed = result < 0;
	return result;
}

static int
session_came(struct tls_session *k, const void *data, size_t len, struct err *e)
{
	size_t n;

	return BIO_write_ex(k->in, data, len, &n) == 1 && n == len
	           ? 0
	           : err_set(e, ERR_MEMORY, "out of memory");
}

static size_t
session_goes(struct tls_session *k, void *data, size_t size)
{
	size_t n = 0;

	return BIO_read_ex(k->out, data, size, &n) == 1 ? n : 0;
}

/* Whether SSL_read_ex() can say anything but that it wants input, which would cost nearly as much as reading a record. */
static bool
has_input(const struct tls_session *k)
{
	return k->broken || BIO_ctrl_pending(k->in) > 0 || SSL_has_pending(k->ssl) == 1 ||
	       (SSL_get_shutdown(k->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
}

static int
session_read(struct tls_session *k, void *data, size_t size, size_t *n, struct err *e)
{
	size_t more;
	int result = 1;

	assert(n != NULL && size > 0);
	*n = 0;
	if (!has_input(k))
		return TLS_WANTS_INPUT;
	ERR_clear_error();
	for (; *n < size && (*n == 0 || has_input(k)); *n += more)
		if ((result = SSL_read_ex(k->ssl, (char *)data + *n, size - *n, &more)) != 1)
			break;
	if (BIO_ctrl_pending(k->out) > TLS_OWED_MAX_BYTES)
		return err_set(e, ERR_INPUT, "it requests key updates without end");
	k->broken = *n > 0 && result != 1 && SSL_get_error(k->ssl, result) != SSL_ERROR_WANT_READ;
	if (*n > 0 && k->fresh != NULL)
		keep_fresh(k);
	return *n > 0 ? 0 : fail_call(k, result, e);
}

static int
session_write(struct tls_session *k, const void *data, size_t len, struct err *e)
{
	size_t n;
	int result;

	ERR_clear_error();
	if ((result = SSL_write_ex(k->ssl, data, len, &n)) == 1)
		return n == len ? 0 : err_set(e, ERR_MEMORY, "out of memory");
	/* Only a handshake would need input, and renegotiation is off. */
	return (result = fail_call(k, result, e)) == TLS_WANTS_INPUT
	           ? err_set(e, ERR_INPUT, "it requests another handshake")
	           : result;
}

static const char *
session_name(const struct tls_session *k)
{
	return k->done ? k->name : "";
}

static bool
session_resumed(const struct tls_session *k)
{
	return k->done && k->resumed;
}

static int
session_trusted(struct tls_session *k, struct err *e)
{
	SSL_CTX *c = tls_context(k->of);
	X509 *peer = SSL_get0_peer_certificate(k->ssl);
	struct err why;
	int rc = tls_verify(peer, SSL_get_peer_cert_chain(k->ssl), SSL_CTX_get_cert_store(c), &why);

	assert(k->done);
	SSL_CTX_free(c);
	return rc == 0 ? 0 : err_set(e, rc, "its certificate (%s) %s", k->name, why.text);
}

const struct tls_session_calls tls_session_openssl = { session_open, session_close, session_shake,
	session_came, session_goes, session_read, session_write, session_name, session_resumed,
	session_trusted };
