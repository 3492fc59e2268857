/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/tls.h: certificates, private key and rules, read from files and kept until these change. */
#define _GNU_SOURCE /* AT_EACCESS */
#include "base/tls.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tls_inside_openssl.h"

enum { CERTIFICATES_MAX_BYTES = 16 * 1024 }; /* of a peer's chain */

static const char CIPHERS_1_2[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-CHACHA20-POLY1305";

/* ---- files ---- */

static const char *const FILE_NOUNS[TLS_FILES] = { "CA", "certificate", "private key",
	"list of revoked certificates" };

static int
check_file(const char *path, enum tls_file which, struct stat *st, struct err *e)
{
	bool there = stat(path, st) == 0;

	if (!there && errno == ENOENT)
		return err_set(e, ERR_MISSING,
		    "%s: there is no %s; hone keys init and hone keys agent NODE make the files and say "
		    "where they belong",
		    path, FILE_NOUNS[which]);
	/* Checked here, since OpenSSL reports a private key that it cannot open as damaged. */
	if (!there || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
		return err_errno(e,
		    "%s: the %s cannot be read by user %ld: make that user its owner (chown), with access to "
		    "its folder",
		    path, FILE_NOUNS[which], (long)geteuid());
	/* As databases do: root may give a group access to its file. */
	if (which == FILE_KEY && (st->st_mode & (st->st_uid == 0 ? 027 : 077)) != 0)
		return err_set(e, ERR_SYSTEM,
		    "%s: others than its owner may use the private key (mode %04o): chmod 600 %s",
		    path, st->st_mode & 07777, path);
	return 0;
}

static bool
same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mode == b->st_mode && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int
check_files(struct own_tls *o, struct stat st[TLS_FILES], struct err *e)
{
	int rc = 0;

	memset(st, 0, TLS_FILES * sizeof *st);
	for (int i = 0; i < TLS_FILES && rc == 0; i++)
		if (o->paths[i] != NULL)
			rc = check_file(o->paths[i], (enum tls_file)i, &st[i], e);
	return rc;
}

/* ---- reading files ---- */

/* Without it OpenSSL would ask on the terminal for the password of a private key. */
static int
no_password(char *buf, int size, int writing, void *of)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)of;
	return -1;
}

static int
fail_file(struct own_tls *o, enum tls_file which, struct err *e)
{
	unsigned long why = ERR_peek_last_error();

	if (ERR_GET_LIB(why) == ERR_LIB_X509 && ERR_GET_REASON(why) == X509_R_KEY_VALUES_MISMATCH)
		return err_set(e, ERR_INPUT,
		    "%s: this private key does not fit the certificate %s: copy both again, together",
		    o->paths[FILE_KEY], o->paths[FILE_CERTIFICATE]);
	if (ERR_GET_LIB(why) == ERR_LIB_SYS)
		return err_set(e, ERR_SYSTEM, "%s: the %s: %s", o->paths[which], FILE_NOUNS[which],
		    strerror(ERR_GET_REASON(why)));
	return err_set(e, ERR_INPUT, "%s: not a %s in PEM%s", o->paths[which], FILE_NOUNS[which],
	    which == FILE_KEY ? ", or one with a password" : "");
}

static int
add_revoked(struct own_tls *o, X509_STORE *store, struct err *e)
{
	BIO *file = BIO_new_file(o->paths[FILE_REVOKED], "r");
	X509_CRL *list;
	int n = 0, rc = 0;

	while (
	    file != NULL && (list = PEM_read_bio_X509_CRL(file, NULL, no_password, NULL)) != NULL) {
		n += X509_STORE_add_crl(store, list) == 1;
		X509_CRL_free(list);
	}
	if (n == 0)
		rc = fail_file(o, FILE_REVOKED, e);
	else
		X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
	BIO_free(file);
	ERR_clear_error(); /* OpenSSL reports the end of the file as an error */
	return rc;
}

static int
read_files(struct own_tls *o, SSL_CTX *c, struct err *e)
{
	ERR_clear_error();
	SSL_CTX_set_default_passwd_cb(c, no_password);
	if (SSL_CTX_load_verify_file(c, o->paths[FILE_CA]) != 1)
		return fail_file(o, FILE_CA, e);
	if (SSL_CTX_use_certificate_chain_file(c, o->paths[FILE_CERTIFICATE]) != 1)
		return fail_file(o, FILE_CERTIFICATE, e);
	if (SSL_CTX_use_PrivateKey_file(c, o->paths[FILE_KEY], SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_check_private_key(c) != 1)
		return fail_file(o, FILE_KEY, e);
	return o->paths[FILE_REVOKED] != NULL ? add_revoked(o, SSL_CTX_get_cert_store(c), e) : 0;
}

/* Checks our own certificate, so that the error appears on the machine where it can be corrected, not at the peers. */
static int
check_own(struct own_tls *o, SSL_CTX *c, struct err *e)
{
	char name[TLS_NAME_MAX_BYTES];
	X509 *own = SSL_CTX_get0_certificate(c);
	struct err why;
	int rc = tls_verify(own, NULL, SSL_CTX_get_cert_store(c), &why);

	if (rc == 0 && !tls_name(own, name))
		rc = err_set(&why, ERR_DENIED,
		    "is not for hone:controller or hone:agent:NODE: hone keys makes such certificates");
	return rc == 0
	           ? 0
	           : err_set(e, ERR_INPUT, "%s: our own certificate, checked with the CA %s, %s",
			 o->paths[FILE_CERTIFICATE], o->paths[FILE_CA], why.text);
}

static void
set_rules(SSL_CTX *c)
{
	SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
	SSL_CTX_set_options(
	    c, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_cipher_list(c, CIPHERS_1_2);
	/* OpenSSL keeps no sessions: ticket_keep() does. */
	SSL_CTX_set_session_cache_mode(
	    c, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL | SSL_SESS_CACHE_NO_AUTO_CLEAR);
	SSL_CTX_sess_set_new_cb(c, tls_on_session);
	SSL_CTX_set_max_cert_list(c, CERTIFICATES_MAX_BYTES);
	SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify(
	    c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, tls_on_certificate);
}

static int
use_files(struct own_tls *o, SSL_CTX *c, struct err *e)
{
	uint8_t hash[TICKET_HASH_BYTES], secret[TICKET_SECRET_BYTES];
	int rc;

	/* Before the context reads them, see ticket_hash(). */
	if ((rc = ticket_hash(hash, o->paths, e)) != 0 || (rc = read_files(o, c, e)) != 0 ||
	    (rc = check_own(o, c, e)) != 0 ||
	    (rc = ticket_secret(secret, hash, SSL_CTX_get0_privatekey(c), e)) != 0)
		return rc;
	rc = ticket_use(c, hash, secret, e);
	OPENSSL_cleanse(secret, sizeof secret);
	return rc;
}

/* Reads everything into a new context, which then replaces the former. */
static int
load(struct own_tls *o, struct err *e)
{
	struct stat seen[TLS_FILES];
	SSL_CTX *c, *former;
	SSL_SESSION *session;
	int rc;

	if ((rc = check_files(o, seen, e)) != 0)
		return rc;
	if ((c = SSL_CTX_new(TLS_method())) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	set_rules(c);
	if ((rc = use_files(o, c, e)) != 0) {
		SSL_CTX_free(c);
		return rc;
	}
	pthread_mutex_lock(&o->lock);
	former = o->context;
	o->context = c;
	session = o->session; /* of the former certificate */
	o->session = NULL;
	memcpy(o->seen, seen, sizeof seen);
	pthread_mutex_unlock(&o->lock);
	SSL_CTX_free(former);
	SSL_SESSION_free(session);
	return 0;
}

/* ---- open, refresh, close ---- */

int
tls_open(struct tls **ret, const struct tls_files *f, struct err *e)
{
	const char *const paths[TLS_FILES] = { f->ca, f->certificate, f->key, f->revoked };
	struct own_tls *o = calloc(1, sizeof *o);
	int rc = 0;

	assert(f->ca != NULL && f->certificate != NULL && f->key != NULL);
	/* NO_ATEXIT: at exit other threads may still use OpenSSL. */
	if (o == NULL || OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) != 1) {
		free(o);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	o->head.calls = &tls_session_openssl;
	pthread_mutex_init(&o->lock, NULL);
	for (int i = 0; i < TLS_FILES && rc == 0; i++) {
		if (paths[i] == NULL || paths[i][0] == '\0') {
			if (i != FILE_REVOKED)
				rc = err_set(
				    e, ERR_MISSING, "no file for the %s is named", FILE_NOUNS[i]);
		} else if ((o->paths[i] = strdup(paths[i])) == NULL) {
			rc = err_set(e, ERR_MEMORY, "out of memory");
		}
	}
	if (rc != 0 || (rc = load(o, e)) != 0) {
		tls_close(&o->head);
		return rc;
	}
	*ret = &o->head;
	return 0;
}

int
tls_refresh(struct tls *t, struct err *e)
{
	struct own_tls *o = (struct own_tls *)t;
	struct stat now[TLS_FILES];
	bool changed = false;
	int rc;

	assert(t != NULL);
	if ((rc = check_files(o, now, e)) != 0)
		return rc;
	pthread_mutex_lock(&o->lock);
	for (int i = 0; i < TLS_FILES; i++)
		changed = changed || !same(&now[i], &o->seen[i]);
	pthread_mutex_unlock(&o->lock);
	if (!changed)
		return 0;
	return (rc = load(o, e)) == 0 ? 1 : rc;
}

void
tls_close(struct tls *t)
{
	struct own_tls *o = (struct own_tls *)t;

	if (o == NULL)
		return;
	SSL_CTX_free(o->context);
	SSL_SESSION_free(o->session);
	free(o->session_host);
	for (int i = 0; i < TLS_FILES; i++)
		free(o->paths[i]);
	pthread_mutex_destroy(&o->lock);
	free(o);
}
