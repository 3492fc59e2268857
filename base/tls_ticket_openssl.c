/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tickets of TLS 1.3 sessions (base/tls.h). Their keys:
 *
 *	secret = HKDF(private key, salt: SHA-256 of the files)		once for each context
 *	name, AES-256 key, HMAC key = HKDF(secret, info: the period)	a period is TLS_TICKET_S; the former one's are taken, too
 */
#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/tls.h"
#include "base/tls_inside_openssl.h"

enum { NAME_BYTES = 16, KEY_BYTES = 32 };

struct ticket_keys {
	uint8_t name[NAME_BYTES], seal[KEY_BYTES], mac[KEY_BYTES];
};

/* ---- the secret ---- */

static bool
hash_file(EVP_MD_CTX *hash, const char *path)
{
	FILE *f = fopen(path, "re");
	uint8_t data[4096];
	uint64_t length = 0;
	bool ok = f != NULL;
	size_t n;

	while (ok && (n = fread(data, 1, sizeof data, f)) > 0) {
		ok = EVP_DigestUpdate(hash, data, n) == 1;
		length += n;
	}
	ok = ok && ferror(f) == 0 && EVP_DigestUpdate(hash, &length, sizeof length) == 1;
	if (f != NULL)
		fclose(f);
	return ok;
}

static bool
hkdf(uint8_t *out, size_t size, const uint8_t *key, size_t key_len, const uint8_t *salt,
    size_t salt_len, const void *info, size_t info_len)
{
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *c = kdf != NULL ? EVP_KDF_CTX_new(kdf) : NULL;
	OSSL_PARAM all[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
		OSSL_PARAM_construct_octet_string(
		    OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)key, key_len),
		OSSL_PARAM_construct_octet_string(
		    OSSL_KDF_PARAM_SALT, (void *)(uintptr_t)salt, salt_len),
		OSSL_PARAM_construct_octet_string(
		    OSSL_KDF_PARAM_INFO, (void *)(uintptr_t)info, info_len),
		OSSL_PARAM_construct_end(),
	};
	bool ok = c != NULL && EVP_KDF_derive(c, out, size, all) == 1;

	EVP_KDF_CTX_free(c);
	EVP_KDF_free(kdf);
	return ok;
}

int
ticket_hash(uint8_t hash[TICKET_HASH_BYTES], char *const paths[TLS_FILES], struct err *e)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	bool ok = c != NULL && EVP_DigestInit_ex(c, EVP_sha256(), NULL) == 1;
	int i = 0;

	for (; i < TLS_FILES && ok; i += ok)
		ok = paths[i] == NULL || hash_file(c, paths[i]);
	ok = ok && EVP_DigestFinal_ex(c, hash, NULL) == 1;
	EVP_MD_CTX_free(c);
	if (ok)
		return 0;
	return i < TLS_FILES ? err_set(e, ERR_SYSTEM, "%s: cannot be read", paths[i])
	                     : err_set(e, ERR_MEMORY, "out of memory");
}

int
ticket_secret(uint8_t secret[TICKET_SECRET_BYTES], const uint8_t hash[TICKET_HASH_BYTES],
    EVP_PKEY *key, struct err *e)
{
	static const char INFO[] = "hone tickets 1";
	uint8_t *der = NULL;
	int len = i2d_PrivateKey(key, &der);
	bool ok = len > 0 && hkdf(secret, TICKET_SECRET_BYTES, der, (size_t)len, hash,
				 TICKET_HASH_BYTES, INFO, sizeof INFO - 1);

	if (der != NULL)
		OPENSSL_clear_free(der, (size_t)len);
	return ok ? 0 : err_set(e, ERR_SYSTEM, "the keys of TLS tickets cannot be made");
}

/* ---- the keys of a period ---- */

static int secret_index = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
free_secret(void *of, void *secret, CRYPTO_EX_DATA *ad, int index, long argl, void *argp)
{
	(void)of;
	(void)ad;
	(void)index;
	(void)argl;
	(void)argp;
	if (secret != NULL)
		OPENSSL_clear_free(secret, TICKET_SECRET_BYTES);
}

static void
take_index(void)
{
	secret_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, free_secret);
}

static bool
keys_of(struct ticket_keys *k, SSL *ssl, uint64_t period)
{
	static const uint8_t SALT[] = "hone ticket keys"; /* OpenSSL takes no empty one */
	const uint8_t *secret = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), secret_index);

	return hkdf((uint8_t *)k, sizeof *k, secret, TICKET_SECRET_BYTES, SALT, sizeof SALT - 1,
	    &period, sizeof period);
}

static bool
init_mac(EVP_MAC_CTX *mac, const struct ticket_keys *k)
{
	OSSL_PARAM all[] = {
		OSSL_PARAM_construct_octet_string(
		    OSSL_MAC_PARAM_KEY, (void *)(uintptr_t)k->mac, KEY_BYTES),
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
		OSSL_PARAM_construct_end(),
	};

	return EVP_MAC_CTX_set_params(mac, all) == 1;
}

/*
 * OpenSSL's callback (SSL_CTX_set_tlsext_ticket_key_evp_cb(3)): the keys to seal a ticket, or those that have sealed one. 1: they are set; 2: so,
 * and a new ticket is due, as each is used once; 0: no ticket, a full handshake; -1: failure. TLS 1.2 would continue a session without a new key exchange: no ticket.
 */
static int
on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
    EVP_MAC_CTX *mac, int seals)
{
	uint64_t period = (uint64_t)time(NULL) / TLS_TICKET_S;
	struct ticket_keys k;
	bool ok = true;
	bool known = true;

	if (SSL_version(ssl) != TLS1_3_VERSION)
		return 0;
	if (!keys_of(&k, ssl, period))
		return -1;
	if (seals) {
		memcpy(name, k.name, NAME_BYTES);
		ok = RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1 &&
		     EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, k.seal, iv) == 1;
	} else {
		if (CRYPTO_memcmp(name, k.name, NAME_BYTES) != 0)
			ok = keys_of(&k, ssl, period - 1);
		known = ok && CRYPTO_memcmp(name, k.name, NAME_BYTES) == 0;
		ok = ok && (!known || EVP_DecryptInit_ex(
					  cipher, EVP_aes_256_cbc(), NULL, k.seal, iv) == 1);
	}
	ok = ok && (!known || init_mac(mac, &k));
	OPENSSL_cleanse(&k, sizeof k);
	return !ok ? -1 : !known ? 0 : seals ? 1 : 2;
}

int
ticket_use(SSL_CTX *c, const uint8_t hash[TICKET_HASH_BYTES],
    const uint8_t secret[TICKET_SECRET_BYTES], struct err *e)
{
	uint8_t *copy = OPENSSL_memdup(secret, TICKET_SECRET_BYTES);

	pthread_once(&once, take_index);
	if (copy == NULL || secret_index < 0 || SSL_CTX_set_ex_data(c, secret_index, copy) != 1) {
		OPENSSL_free(copy);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	/* A session of other credentials would not be taken even if its ticket could be opened. */
	SSL_CTX_set_session_id_context(c, hash, TICKET_HASH_BYTES);
	SSL_CTX_set_tlsext_ticket_key_evp_cb(c, on_ticket);
	SSL_CTX_set_num_tickets(c, 1);
	SSL_CTX_set_timeout(c, TLS_TICKET_S);
	return 0;
}

/* ---- the side that dials ---- */

bool
ticket_keep(struct own_tls *o, const SSL_CTX *of, SSL_SESSION *session, const char *host)
{
	char *copy = strdup(host), *former_host = copy;
	SSL_SESSION *former = NULL;
	bool kept;

	pthread_mutex_lock(&o->lock);
	kept = copy != NULL && of == o->context;
	if (kept) {
		former = o->session;
		former_host = o->session_host;
		o->session = session;
		o->session_host = copy;
	}
	pthread_mutex_unlock(&o->lock);
	SSL_SESSION_free(former);
	free(former_host);
	return kept;
}

SSL_SESSION *
ticket_take(struct own_tls *o, const char *host)
{
	SSL_SESSION *session = NULL;

	pthread_mutex_lock(&o->lock);
	if (o->session != NULL && strcmp(o->session_host, host) == 0) {
		session = o->session;
		o->session = NULL;
	}
	pthread_mutex_unlock(&o->lock);
	return session;
}
