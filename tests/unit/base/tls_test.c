/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tls:// between a stream, as an agent has it, and a channel, as honed has it, with credentials made by the code of `hone keys`. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ftw.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/credentials.h"
#include "base/rng.h"
#include "base/stream.h"
#include "base/tls.h"
#include "base/tls_inside_openssl.h"
#include "base/tls_session.h"
#include "tests/common/accepted.h"

enum { LONG_MS = 30000, MB = 1 << 20, PATH_BYTES = 200 };
#define DAY_NS (INT64_C(86400) * 1000000000)

static char folder[] = "/tmp/tls_test.XXXXXX";

/* ---- credentials ---- */

static const char *
path_of(const char *fmt, ...)
{
	static _Thread_local char paths[16][PATH_BYTES];
	static _Thread_local int next;
	char *path = paths[next++ % 16];
	int n = snprintf(path, PATH_BYTES, "%s/", folder);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path + n, (size_t)(PATH_BYTES - n), fmt, ap);
	va_end(ap);
	return path;
}

static struct credentials_span
days(int from, int until)
{
	int64_t now_ns = clock_wall().ns;

	return (struct credentials_span){ { now_ns + from * DAY_NS }, { now_ns + until * DAY_NS } };
}

static void
must(int rc, const struct err *e)
{
	if (rc != 0)
		fail_msg("%s", e->text);
}

static void
make_ca(const char *name, const char *const *hosts, int nhosts)
{
	struct credentials_span ca = days(-100, 3650);
	struct credentials_order o = { .hosts = hosts, .nhosts = nhosts, .span = days(-1, 365) };
	struct err e;

	must(credentials_calls.init(path_of("%s", name), &ca, &o, &e), &e);
}

static void
issue(const char *ca, const char *node, struct credentials_span span, bool again)
{
	struct credentials_order o = { .node = node, .span = span, .again = again };
	struct err e;

	must(credentials_calls.issue(path_of("%s", ca), &o, &e), &e);
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	return remove(path);
}

static int
make_keys(void **state)
{
	static const char *const hosts[] = { "localhost", "10.1.2.3" };
	(void)state;

	if (mkdtemp(folder) == NULL)
		return -1;
	make_ca("ours", NULL, 0);
	make_ca("other", NULL, 0);
	make_ca("named", hosts, 2);
	make_ca("twins", NULL, 0);
	make_ca("leaving", NULL, 0);
	issue("twins", "n1", days(-1, 365), false);
	issue("leaving", "n1", days(-1, 365), false);
	issue("leaving", "n2", days(-1, 365), false);
	issue("ours", "n1", days(-1, 365), false);
	issue("ours", "n2", days(-1, 365), false);
	issue("ours", "past", days(-20, -10), false);
	issue("ours", "future", days(10, 20), false);
	issue("other", "n1", days(-1, 365), false);
	issue("named", "n1", days(-1, 365), false);
	return 0;
}

static int
remove_keys(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct tls *
tls_of(const char *ca, const char *certificate, const char *key, const char *revoked)
{
	struct tls_files f = { path_of("%s", ca), path_of("%s", certificate), path_of("%s", key),
		revoked != NULL ? path_of("%s", revoked) : NULL };
	struct tls *t = NULL;
	struct err e;

	must(tls_open(&t, &f, &e), &e);
	return t;
}

static struct tls *
controller(const char *ca)
{
	char files[4][PATH_BYTES];

	snprintf(files[0], PATH_BYTES, "%s/ca.pem", ca);
	snprintf(files[1], PATH_BYTES, "%s/controller.pem", ca);
	snprintf(files[2], PATH_BYTES, "%s/controller.key", ca);
	snprintf(files[3], PATH_BYTES, "%s/revoked.pem", ca);
	return tls_of(files[0], files[1], files[2], files[3]);
}

static struct tls *
agent(const char *ca, const char *node)
{
	char files[3][PATH_BYTES];

	snprintf(files[0], PATH_BYTES, "%s/ca.pem", ca);
	snprintf(files[1], PATH_BYTES, "%s/agents/%s/agent.pem", ca, node);
	snprintf(files[2], PATH_BYTES, "%s/agents/%s/agent.key", ca, node);
	return tls_of(files[0], files[1], files[2], NULL);
}

/* ---- two sides ---- */

struct side {
	struct stream *stream;     /* of the side that dials, */
	struct accepted *accepted; /* or of the other one */
	struct tls *tls;
	int rc, limit_ms;
	struct err e;
	pthread_t thread;
};

static void *
secure(void *arg)
{
	struct side *s = arg;

	s->rc = s->stream != NULL ? stream_secure(s->stream, s->tls, s->limit_ms, &s->e)
	                          : accepted_secure(s->accepted, s->tls, s->limit_ms, &s->e);
	return NULL;
}

static int
side_read(struct side *s, void *data, size_t len)
{
	return s->stream != NULL ? stream_read(s->stream, data, len, LONG_MS, NULL)
	                         : accepted_read(s->accepted, data, len, LONG_MS, NULL);
}

static int
side_write(struct side *s, const void *data, size_t len)
{
	return s->stream != NULL ? stream_write(s->stream, data, len, LONG_MS, NULL)
	                         : accepted_write(s->accepted, data, len, LONG_MS, NULL);
}

struct pair {
	struct listen_socket *listener;
	struct side a, b; /* a dialed b */
};

static void
connect_pair(struct pair *p, struct tls *a, struct tls *b)
{
	struct err e;

	memset(p, 0, sizeof *p);
	must(accepted_listen(&p->listener, "tls://127.0.0.1:0", &e), &e);
	must(stream_dial(&p->a.stream, listen_socket_url(p->listener), LONG_MS, &e), &e);
	must(accepted_open(&p->b.accepted, p->listener, LONG_MS, &e), &e);
	p->a.tls = a;
	p->b.tls = b;
	p->a.limit_ms = p->b.limit_ms = LONG_MS;
}

static void
shake(struct pair *p)
{
	pthread_create(&p->b.thread, NULL, secure, &p->b);
	secure(&p->a);
	pthread_join(p->b.thread, NULL);
}

static void
open_pair(struct pair *p, struct tls *a, struct tls *b)
{
	connect_pair(p, a, b);
	shake(p);
	must(p->a.rc, &p->a.e);
	must(p->b.rc, &p->b.e);
}

static void
close_pair(struct pair *p)
{
	stream_close(p->a.stream);
	accepted_close(p->b.accepted);
	listen_socket_close(p->listener);
}

/* ---- authentication ---- */

static void
the_accepting_side_knows_the_name_of_the_other(void **state)
{
	struct tls *a = agent("ours", "n1"), *b = controller("ours");
	char bytes[6];
	struct pair p;
	struct err e;
	(void)state;

	open_pair(&p, a, b);
	assert_string_equal(accepted_name(p.b.accepted), "hone:agent:n1");
	assert_int_equal(side_write(&p.a, "hello", 6), 0);
	assert_int_equal(side_read(&p.b, bytes, 6), 0);
	assert_string_equal(bytes, "hello");
	assert_int_equal(accepted_trusted(p.b.accepted, &e), 0);
	close_pair(&p);
	tls_close(a);
	tls_close(b);
}

/* Expects these errors; "" means no error on that side. */
static void
refused_with(struct tls *a, struct tls *b, const char *a_says, const char *b_says)
{
	struct pair p;

	connect_pair(&p, a, b);
	shake(&p);
	if (p.a.rc == 0 || p.b.rc == 0 || strstr(p.a.e.text, a_says) == NULL ||
	    strstr(p.b.e.text, b_says) == NULL)
		fail_msg("agent: %d %s\ncontroller: %d %s", p.a.rc, p.a.e.text, p.b.rc, p.b.e.text);
	assert_true(p.a.rc == ERR_DENIED);
	assert_true(p.b.rc == ERR_DENIED);
	assert_non_null(strstr(p.a.e.text, listen_socket_url(p.listener)));
	assert_string_equal(accepted_name(p.b.accepted), "");
	assert_true(stream_write(p.a.stream, "x", 1, LONG_MS, NULL) < 0);
	close_pair(&p);
	tls_close(a);
	tls_close(b);
}

static void
peers_of_another_ca_are_refused(void **state)
{
	struct tls *mixed;
	(void)state;

	refused_with(agent("other", "n1"), controller("ours"), "is of another CA than ours",
	    "of another CA");
	/* a peer that trusts our CA, but whose certificate is of another */
	mixed = tls_of("ours/ca.pem", "ours/agents/n1/agent.pem", "ours/agents/n1/agent.key", NULL);
	refused_with(mixed, controller("other"), "is of another CA than ours", "of another CA");
}

static void
credentials_of_the_other_role_are_refused(void **state)
{
	struct tls *posing;
	(void)state;

	posing = tls_of("ours/ca.pem", "ours/controller.pem", "ours/controller.key", NULL);
	refused_with(posing, controller("ours"), "not for this side",
	    "is not an agent's, but hone:controller");
	posing = tls_of(
	    "ours/ca.pem", "ours/agents/n2/agent.pem", "ours/agents/n2/agent.key", NULL);
	refused_with(agent("ours", "n1"), posing, "is not the controller's, but hone:agent:n2",
	    "not for this side");
}

static void
the_certificate_must_name_the_dialed_host(void **state)
{
	struct tls *a = agent("named", "n1"), *b = controller("named");
	char url[100];
	struct pair p;
	struct err e;
	(void)state;

	connect_pair(&p, a, b);
	stream_close(p.a.stream);
	accepted_close(p.b.accepted);
	snprintf(url, sizeof url, "tls://localhost%s", strrchr(listen_socket_url(p.listener), ':'));
	must(stream_dial(&p.a.stream, url, LONG_MS, &e), &e);
	must(accepted_open(&p.b.accepted, p.listener, LONG_MS, &e), &e);
	shake(&p);
	must(p.a.rc, &p.a.e);
	must(p.b.rc, &p.b.e);
	close_pair(&p);
	refused_with(a, b, "is not for the host 127.0.0.1", "refuses us");
}

/* ---- sessions that continue ---- */

struct sessions {
	struct tls_session *a, *b; /* a dialed b */
	int a_rc, b_rc;
	struct err e;
};

/* Moves what one side has for the other; how many bytes. */
static size_t
pass(const struct tls_session_calls *calls, struct tls_session *from, struct tls_session *to)
{
	char data[16384];
	size_t n, sum = 0;
	struct err e;

	for (; (n = calls->goes(from, data, sizeof data)) > 0; sum += n)
		must(calls->came(to, data, n, &e), &e);
	return sum;
}

/* A handshake without sockets; then b says one byte, as honed does, which comes behind its ticket. */
static struct sessions
greet(struct tls *a, struct tls *b, const char *host)
{
	const struct tls_session_calls *calls = a->calls;
	struct sessions s = { .a_rc = TLS_WANTS_INPUT, .b_rc = TLS_WANTS_INPUT };
	char byte = 0;
	size_t n;

	must(calls->open(&s.a, a, true, host, &s.e), &s.e);
	must(calls->open(&s.b, b, false, NULL, &s.e), &s.e);
	for (int i = 0; i < 10 && (s.a_rc > 0 || s.b_rc > 0); i++) {
		if (s.a_rc > 0)
			s.a_rc = calls->shake(s.a, &s.e);
		pass(calls, s.a, s.b);
		if (s.b_rc > 0)
			s.b_rc = calls->shake(s.b, &s.e);
		pass(calls, s.b, s.a);
	}
	if (s.a_rc == 0 && s.b_rc == 0) {
		must(calls->write(s.b, "H", 1, &s.e), &s.e);
		pass(calls, s.b, s.a);
		must(calls->read(s.a, &byte, 1, &n, &s.e), &s.e);
		assert_int_equal(byte, 'H');
		assert_int_equal(calls->resumed(s.a), calls->resumed(s.b));
	}
	return s;
}

static void
part(struct tls *a, struct sessions *s)
{
	a->calls->close(s->a);
	a->calls->close(s->b);
}

/* Whether the next handshake of these two continues a session. It has to succeed. */
static bool
continues(struct tls *a, struct tls *b, const char *host)
{
	struct sessions s = greet(a, b, host);
	bool yes = a->calls->resumed(s.a);

	if (s.a_rc != 0 || s.b_rc != 0)
		fail_msg("%s", s.e.text);
	assert_string_equal(a->calls->name(s.a), "hone:controller");
	assert_true(strncmp(a->calls->name(s.b), "hone:agent:n", 12) == 0);
	must(a->calls->trusted(s.a, &s.e), &s.e);
	must(a->calls->trusted(s.b, &s.e), &s.e);
	part(a, &s);
	return yes;
}

static void
a_session_continues_with_the_same_names_also_after_a_restart(void **state)
{
	struct tls *a = agent("ours", "n1"), *other = agent("ours", "n2"), *b = controller("ours");
	struct sessions s;
	(void)state;

	assert_false(continues(a, b, "127.0.0.1"));
	for (int i = 0; i < 3; i++)
		assert_true(continues(a, b, "127.0.0.1"));
	assert_false(continues(other, b, "127.0.0.1")); /* n2 has none of its own yet */
	tls_close(b);
	b = controller("ours");
	s = greet(a, b, "127.0.0.1");
	assert_true(a->calls->resumed(s.b));
	assert_string_equal(a->calls->name(s.b), "hone:agent:n1");
	part(a, &s);
	s = greet(other, b, "127.0.0.1");
	assert_true(a->calls->resumed(s.b));
	assert_string_equal(a->calls->name(s.b), "hone:agent:n2");
	part(a, &s);
	tls_close(a);
	tls_close(other);
	tls_close(b);
}

/* As to a controller that is too busy to answer in time. */
static void
a_handshake_that_breaks_off_leaves_the_session(void **state)
{
	struct tls *a = agent("ours", "n1"), *b = controller("ours");
	const struct tls_session_calls *calls = a->calls;
	struct tls_session *k;
	struct err e;
	(void)state;

	assert_false(continues(a, b, "127.0.0.1"));
	for (int i = 0; i < 3; i++) {
		must(calls->open(&k, a, true, "127.0.0.1", &e), &e);
		assert_int_equal(calls->shake(k, &e), TLS_WANTS_INPUT);
		calls->close(k);
	}
	assert_true(continues(a, b, "127.0.0.1"));
	tls_close(a);
	tls_close(b);
}

/* A host that the certificate does not name is refused as in a full handshake. */
static void
a_session_continues_with_its_own_host_alone(void **state)
{
	struct tls *a = agent("named", "n1"), *b = controller("named");
	struct sessions s;
	(void)state;

	assert_false(continues(a, b, "localhost"));
	s = greet(a, b, "127.0.0.1");
	assert_int_equal(s.a_rc, ERR_DENIED);
	part(a, &s);
	assert_true(continues(a, b, "localhost"));
	tls_close(a);
	tls_close(b);
}

/* Another controller, also one of the same CA, has another private key. */
static void
no_session_continues_with_another_controller(void **state)
{
	struct tls *a = agent("twins", "n1"), *b = controller("twins"), *c;
	struct credentials_order o = { .span = days(-1, 365), .again = true };
	struct err e;
	(void)state;

	assert_false(continues(a, b, "127.0.0.1"));
	must(credentials_calls.issue(path_of("twins"), &o, &e), &e);
	c = controller("twins");
	assert_false(continues(a, c, "127.0.0.1"));
	tls_close(a);
	tls_close(b);
	tls_close(c);
}

static void
no_session_of_a_revoked_certificate_continues(void **state)
{
	struct tls *a = agent("leaving", "n1"), *other = agent("leaving", "n2"),
		   *b = controller("leaving");
	struct sessions s;
	struct err e;
	int n;
	(void)state;

	assert_false(continues(a, b, "127.0.0.1"));
	assert_true(continues(a, b, "127.0.0.1"));
	assert_false(continues(other, b, "127.0.0.1"));
	must(credentials_calls.revoke(path_of("leaving"), "n1", clock_wall(), &n, &e), &e);
	assert_int_equal(tls_refresh(b, &e), 1);
	s = greet(a, b, "127.0.0.1");
	assert_int_equal(s.b_rc, ERR_DENIED);
	assert_false(a->calls->resumed(s.b));
	assert_string_equal(a->calls->name(s.b), "");
	part(a, &s);
	/* nor does any of before, but others go on with a full handshake */
	assert_false(continues(other, b, "127.0.0.1"));
	assert_true(continues(other, b, "127.0.0.1"));
	/* after a restart with the new list it is the same */
	tls_close(b);
	b = controller("leaving");
	s = greet(a, b, "127.0.0.1");
	assert_int_equal(s.b_rc, ERR_DENIED);
	part(a, &s);
	assert_true(continues(other, b, "127.0.0.1"));
	tls_close(a);
	tls_close(other);
	tls_close(b);
}

/* The clock of b goes on by 400 days, so that the agent's certificate has expired, but not its session. */
static void
no_session_of_an_expired_certificate_continues(void **state)
{
	struct tls *a = agent("ours", "n1"),
		   *b = tls_of("ours/ca.pem", "ours/controller.pem", "ours/controller.key", NULL);
	X509_STORE *store = SSL_CTX_get_cert_store(((struct own_tls *)b)->context);
	struct sessions s;
	char byte;
	size_t n;
	(void)state;

	assert_false(continues(a, b, "127.0.0.1"));
	X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store), time(NULL) + 400 * 86400);
	s = greet(a, b, "127.0.0.1");
	assert_int_equal(s.b_rc, ERR_DENIED);
	assert_non_null(strstr(s.e.text, "expired on"));
	assert_string_equal(a->calls->name(s.b), "");
	/* What came with it, a ticket, is not kept: the next handshake is full, and tells the agent why. */
	pass(a->calls, s.b, s.a);
	assert_int_not_equal(a->calls->read(s.a, &byte, 1, &n, &s.e), 0);
	part(a, &s);
	s = greet(a, b, "127.0.0.1");
	assert_int_equal(s.b_rc, ERR_DENIED);
	assert_int_equal(a->calls->read(s.a, &byte, 1, &n, &s.e), ERR_DENIED);
	assert_non_null(strstr(s.e.text, "our certificate has expired"));
	part(a, &s);
	tls_close(a);
	tls_close(b);
}

/* ---- faults in our own credentials ---- */

static void
own_keys_fail(const struct tls_files *f, int code, const char *words)
{
	struct tls *t = NULL;
	struct err e = { 0 };

	if (tls_open(&t, f, &e) != code || strstr(e.text, words) == NULL)
		fail_msg("wanted %d %s, got %d %s", code, words, e.code, e.text);
}

static void
invalid_credentials_are_named(void **state)
{
	const char *ca = path_of("ours/ca.pem"), *certificate = path_of("ours/agents/n1/agent.pem"),
		   *key = path_of("ours/agents/n1/agent.key"),
		   *other = path_of("ours/agents/n2/agent.key");
	(void)state;

	own_keys_fail(&(struct tls_files){ path_of("none.pem"), certificate, key, NULL },
	    ERR_MISSING, "there is no CA; hone keys");
	own_keys_fail(&(struct tls_files){ ca, certificate, path_of("none"), NULL }, ERR_MISSING,
	    "there is no private key");
	own_keys_fail(&(struct tls_files){ ca, certificate, key, path_of("none") }, ERR_MISSING,
	    "there is no list");
	own_keys_fail(
	    &(struct tls_files){ ca, "", key, NULL }, ERR_MISSING, "no file for the certificate");
	own_keys_fail(&(struct tls_files){ ca, certificate, other, NULL }, ERR_INPUT,
	    "does not fit the certificate");
	own_keys_fail(&(struct tls_files){ ca, ca, key, NULL }, ERR_INPUT, "does not fit");
	own_keys_fail(
	    &(struct tls_files){ key, certificate, key, NULL }, ERR_INPUT, "not a CA in PEM");
	own_keys_fail(
	    &(struct tls_files){ ca, certificate, key, ca }, ERR_INPUT, "not a list of revoked");
	own_keys_fail(&(struct tls_files){ path_of("other/ca.pem"), certificate, key, NULL },
	    ERR_INPUT, "of another CA");
	own_keys_fail(&(struct tls_files){ ca, certificate, key, path_of("other/revoked.pem") },
	    ERR_INPUT, "of another CA");
	own_keys_fail(&(struct tls_files){ ca, path_of("ours/agents/past/agent.pem"),
			  path_of("ours/agents/past/agent.key"), NULL },
	    ERR_INPUT, "expired on 20");
	own_keys_fail(&(struct tls_files){ ca, path_of("ours/agents/future/agent.pem"),
			  path_of("ours/agents/future/agent.key"), NULL },
	    ERR_INPUT, "compare the clocks");
	assert_int_equal(chmod(key, 0644), 0);
	own_keys_fail(&(struct tls_files){ ca, certificate, key, NULL }, ERR_SYSTEM, "chmod 600");
	assert_int_equal(chmod(key, 0600), 0);
}

/* ---- a peer that is not an agent and may present any certificate ---- */

struct stranger {
	SSL_CTX *context;
	SSL *ssl;
	BIO *in, *out;
};

/* base: path of the certificate it shows, without .pem and .key; NULL: none. */
static void
stranger_open(struct stranger *s, const char *base, int newest)
{
	s->context = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_security_level(s->context, 0);
	SSL_CTX_set_max_proto_version(s->context, newest);
	SSL_CTX_set_min_proto_version(s->context, TLS1_VERSION);
	if (base != NULL) {
		assert_int_equal(SSL_CTX_use_certificate_file(
				     s->context, path_of("%s.pem", base), SSL_FILETYPE_PEM),
		    1);
		assert_int_equal(SSL_CTX_use_PrivateKey_file(
				     s->context, path_of("%s.key", base), SSL_FILETYPE_PEM),
		    1);
	}
	s->ssl = SSL_new(s->context);
	s->in = BIO_new(BIO_s_mem());
	s->out = BIO_new(BIO_s_mem());
	SSL_set_bio(s->ssl, s->in, s->out);
	SSL_set_connect_state(s->ssl);
}

static void
stranger_close(struct stranger *s)
{
	SSL_free(s->ssl);
	SSL_CTX_free(s->context);
	ERR_clear_error();
}

static void
carry_between(struct stranger *s, const struct tls_session_calls *c, struct tls_session *k)
{
	uint8_t bytes[8192];
	size_t n;

	while (BIO_read_ex(s->out, bytes, sizeof bytes, &n) == 1)
		assert_int_equal(c->came(k, bytes, n, NULL), 0);
	while ((n = c->goes(k, bytes, sizeof bytes)) > 0)
		BIO_write(s->in, bytes, (int)n);
}

/* Performs the handshake. Returns the result of the controller's side. */
static int
meet(struct stranger *s, const struct tls_session_calls *c, struct tls_session *k, struct err *e)
{
	int rc = TLS_WANTS_INPUT;

	e->text[0] = '\0';
	for (int round = 0; round < 8 && rc == TLS_WANTS_INPUT; round++) {
		SSL_do_handshake(s->ssl);
		carry_between(s, c, k);
		rc = c->shake(k, e);
		carry_between(s, c, k);
	}
	return rc;
}

static void
only_valid_credentials_are_accepted(void **state)
{
	static const struct {
		const char *base;
		int newest, rc;
		const char *words;
	} cases[] = {
		{ "ours/agents/n1/agent", TLS1_3_VERSION, 0, "" },
		{ "ours/agents/n1/agent", TLS1_2_VERSION, 0, "" },
		{ "ours/agents/n1/agent", TLS1_1_VERSION, ERR_INPUT, "TLS older than 1.2" },
		{ NULL, TLS1_3_VERSION, ERR_DENIED, "shows no certificate" },
		{ NULL, TLS1_2_VERSION, ERR_DENIED, "shows no certificate" },
		{ "other/agents/n1/agent", TLS1_3_VERSION, ERR_DENIED,
		    "(hone:agent:n1) is of another CA" },
		{ "other/agents/n1/agent", TLS1_2_VERSION, ERR_DENIED,
		    "(hone:agent:n1) is of another CA" },
		{ "ours/agents/past/agent", TLS1_3_VERSION, ERR_DENIED,
		    "(hone:agent:past) expired on 20" },
		{ "ours/agents/future/agent", TLS1_3_VERSION, ERR_DENIED,
		    "compare the clocks of both machines" },
		{ "ours/controller", TLS1_3_VERSION, ERR_DENIED,
		    "is not an agent's, but hone:controller" },
		{ "ours/ca", TLS1_3_VERSION, ERR_DENIED, "is not an agent's, but Hone CA" },
	};
	struct tls *b = controller("ours");
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct stranger s;
		struct tls_session *k;
		struct err e;
		int rc;

		stranger_open(&s, cases[i].base, cases[i].newest);
		assert_int_equal(b->calls->open(&k, b, false, NULL, NULL), 0);
		rc = meet(&s, b->calls, k, &e);
		if (rc != cases[i].rc || strstr(e.text, cases[i].words) == NULL)
			fail_msg("%zu: %d %s", i, rc, e.text);
		assert_string_equal(b->calls->name(k), rc == 0 ? "hone:agent:n1" : "");
		b->calls->close(k);
		stranger_close(&s);
	}
	tls_close(b);
}

/*
 * A peer that requests key updates without end would make our answers accumulate as long as no data
 * is written.
 */
static void
requests_for_key_updates_are_bounded(void **state)
{
	struct tls *b = controller("ours");
	struct stranger s;
	struct tls_session *k;
	struct err e = { 0 };
	uint8_t bytes[8192];
	size_t n, owed = 0;
	int rc = TLS_WANTS_INPUT;
	(void)state;

	stranger_open(&s, "ours/agents/n1/agent", TLS1_3_VERSION);
	assert_int_equal(b->calls->open(&k, b, false, NULL, NULL), 0);
	assert_int_equal(meet(&s, b->calls, k, &e), 0);
	for (int i = 0; i < 100000 && rc == TLS_WANTS_INPUT; i++) {
		assert_int_equal(SSL_key_update(s.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		SSL_do_handshake(s.ssl);
		while (BIO_read_ex(s.out, bytes, sizeof bytes, &n) == 1)
			assert_int_equal(b->calls->came(k, bytes, n, NULL), 0);
		rc = b->calls->read(k, bytes, 1, &n, &e);
	}
	assert_int_equal(rc, ERR_INPUT);
	while ((n = b->calls->goes(k, bytes, sizeof bytes)) > 0)
		owed += n;
	assert_in_range(owed, 1, 2 * TLS_OWED_MAX_BYTES);
	b->calls->close(k);
	stranger_close(&s);
	tls_close(b);
}

/* TLS 1.2 would let an agent request another handshake, which costs us more than the agent. */
static void
a_second_handshake_is_refused(void **state)
{
	struct tls *b = controller("ours");
	struct stranger s;
	struct tls_session *k;
	struct err e = { 0 };
	char byte;
	size_t n;
	(void)state;

	stranger_open(&s, "ours/agents/n1/agent", TLS1_2_VERSION);
	assert_int_equal(b->calls->open(&k, b, false, NULL, NULL), 0);
	assert_int_equal(meet(&s, b->calls, k, &e), 0);
	SSL_do_handshake(s.ssl);
	assert_int_equal(SSL_renegotiate(s.ssl), 1);
	SSL_do_handshake(s.ssl);
	carry_between(&s, b->calls, k);
	assert_int_equal(b->calls->read(k, &byte, 1, &n, &e),
	    TLS_WANTS_INPUT); /* a warning is sent, no handshake */
	carry_between(&s, b->calls, k);
	assert_int_not_equal(SSL_do_handshake(s.ssl), 1);
	b->calls->close(k);
	stranger_close(&s);
	tls_close(b);
}

static const struct tls_session_calls *
calls_of(struct tls *t)
{
	return t->calls;
}

/* Moves all output of a to b. */
static void
carry(const struct tls_session_calls *c, struct tls_session *a, struct tls_session *b)
{
	uint8_t bytes[4096];
	size_t n;

	while ((n = c->goes(a, bytes, sizeof bytes)) > 0)
		assert_int_equal(c->came(b, bytes, n, NULL), 0);
}

/* ---- no TLS, or too slow ---- */

static int64_t
ms_since(struct mono then)
{
	return mono_since_ns(clock_mono(), then) / 1000000;
}

static void
pause_ms(int ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l }, NULL);
}

/* Connects to the same port without TLS. */
static void
connect_plain(struct pair *p, struct tls *b)
{
	char url[100];
	struct err e;

	connect_pair(p, NULL, b);
	stream_close(p->a.stream);
	accepted_close(p->b.accepted);
	snprintf(url, sizeof url, "tcp%s", listen_socket_url(p->listener) + 3);
	must(stream_dial(&p->a.stream, url, LONG_MS, &e), &e);
	must(accepted_open(&p->b.accepted, p->listener, LONG_MS, &e), &e);
}

static void
bytes_without_tls_are_refused(void **state)
{
	static const char said[][48] = { "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"HONE\4\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		"\26\3\1\377\377\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct tls *b = controller("ours");
	struct pair p;
	(void)state;

	for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
		connect_plain(&p, b);
		assert_int_equal(stream_write(p.a.stream, said[i], 27, LONG_MS, NULL), 0);
		secure(&p.b);
		assert_int_equal(p.b.rc, ERR_INPUT);
		if (strstr(p.b.e.text, "TLS") == NULL)
			fail_msg("%s", p.b.e.text);
		close_pair(&p);
	}
	tls_close(b);
}

/* An agent dials tls:// at a listener that does not answer, or that uses another protocol. */
static void
a_listener_without_tls_is_reported(void **state)
{
	struct tls *a = agent("ours", "n1");
	struct listen_socket *l;
	struct accepted *taken;
	struct stream *dialled;
	char url[100];
	struct err e;
	(void)state;

	must(accepted_listen(&l, "tcp://127.0.0.1:0", &e), &e);
	snprintf(url, sizeof url, "tls%s", listen_socket_url(l) + 3);
	must(stream_dial(&dialled, url, LONG_MS, &e), &e);
	must(accepted_open(&taken, l, LONG_MS, &e), &e);
	assert_int_equal(
	    accepted_write(taken, "220 mail.example ESMTP ready\r\n", 30, LONG_MS, &e), 0);
	assert_int_equal(stream_secure(dialled, a, LONG_MS, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "TLS"));
	stream_close(dialled);
	accepted_close(taken);
	must(stream_dial(&dialled, url, LONG_MS, &e), &e);
	must(accepted_open(&taken, l, LONG_MS, &e), &e);
	assert_int_equal(stream_secure(dialled, a, 100, &e), ERR_TIMEOUT);
	stream_close(dialled);
	accepted_close(taken);
	assert_int_equal(stream_dial(&dialled, url, LONG_MS, &e), 0);
	assert_int_equal(stream_secure(dialled, NULL, LONG_MS, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "hone keys init"));
	stream_close(dialled);
	listen_socket_close(l);
	tls_close(a);
}

/* Returns an agent's first message of a handshake, made without a connection. */
static size_t
client_hello(struct tls *a, uint8_t *bytes, size_t size)
{
	const struct tls_session_calls *c = calls_of(a);
	struct tls_session *k;
	size_t n;

	assert_int_equal(c->open(&k, a, true, "h", NULL), 0);
	assert_int_equal(c->shake(k, NULL), TLS_WANTS_INPUT);
	n = c->goes(k, bytes, size);
	c->close(k);
	return n;
}

/* Reads the agent's first message and returns what the controller answers, which is not sent. */
static size_t
server_hello(struct pair *p, uint8_t *bytes, size_t size)
{
	const struct tls_session_calls *c = calls_of(p->b.tls);
	struct tls_session *k;
	uint8_t byte;
	size_t n = 0;

	assert_int_equal(c->open(&k, p->b.tls, false, NULL, NULL), 0);
	while (n == 0) {
		assert_int_equal(side_read(&p->b, &byte, 1), 0);
		assert_int_equal(c->came(k, &byte, 1, NULL), 0);
		assert_int_equal(c->shake(k, NULL), TLS_WANTS_INPUT);
		n = c->goes(k, bytes, size);
	}
	c->close(k);
	return n;
}

static void
slow_handshakes_time_out(void **state)
{
	struct tls *a = agent("ours", "n1"), *b = controller("ours");
	uint8_t hello[8192];
	struct mono began;
	struct pair p;
	size_t n;
	(void)state;

	for (int i = 0; i < 3; i++) { /* no byte; half a hello; a hello byte by byte */
		connect_pair(&p, a, b);
		p.a.limit_ms = 300;
		began = clock_mono();
		pthread_create(&p.a.thread, NULL, secure, &p.a);
		n = server_hello(&p, hello, sizeof hello);
		assert_in_range(n, 100, sizeof hello - 1);
		if (i == 1)
			assert_int_equal(side_write(&p.b, hello, n / 2), 0);
		for (size_t k = 0; i == 2 && k < 100 && side_write(&p.b, hello + k, 1) == 0; k++)
			pause_ms(10);
		pthread_join(p.a.thread, NULL);
		assert_int_equal(p.a.rc, ERR_TIMEOUT);
		assert_in_range(ms_since(began), 290, 20000);
		close_pair(&p);
	}
	tls_close(a);
	tls_close(b);
}

static void
a_peer_that_closes_in_the_handshake_is_reported_as_gone(void **state)
{
	struct tls *a = agent("ours", "n1"), *b = controller("ours");
	uint8_t hello[4096];
	size_t n = client_hello(a, hello, sizeof hello);
	struct pair p;
	(void)state;

	connect_plain(&p, b);
	assert_int_equal(stream_write(p.a.stream, hello, n / 2, LONG_MS, NULL), 0);
	stream_close(p.a.stream);
	p.a.stream = NULL;
	secure(&p.b);
	assert_int_equal(p.b.rc, ERR_PEER);
	close_pair(&p);
	tls_close(a);
	tls_close(b);
}

/* ---- transfers ---- */

enum { MANY_BYTES = 16 * MB };

struct transfer {
	struct side *side;
	uint8_t *bytes;
	uint64_t seed;
	int rc;
	pthread_t thread;
};

static void *
send_many(void *arg)
{
	struct transfer *t = arg;
	struct rng r;
	size_t n;

	rng_seed(&r, t->seed);
	for (size_t at = 0; at < MANY_BYTES && t->rc == 0; at += n) {
		n = 1 + rng_below(&r, 100000);
		n = n < MANY_BYTES - at ? n : MANY_BYTES - at;
		t->rc = side_write(t->side, t->bytes + at, n);
	}
	return NULL;
}

static void *
take_many(void *arg)
{
	struct transfer *t = arg;
	struct rng r;
	size_t n;

	rng_seed(&r, t->seed);
	for (size_t at = 0; at < MANY_BYTES && t->rc == 0; at += n) {
		n = 1 + rng_below(&r, 100000);
		n = n < MANY_BYTES - at ? n : MANY_BYTES - at;
		t->rc = side_read(t->side, t->bytes + at, n);
	}
	return NULL;
}

static void
sixteen_megabytes_go_both_ways_at_once(void **state)
{
	struct tls *a = agent("ours", "n1"), *b = controller("ours");
	struct transfer t[4] = { 0 };
	struct pair p;
	struct rng r;
	(void)state;

	rng_seed(&r, 11);
	open_pair(&p, a, b);
	for (int i = 0; i < 4; i++) { /* 0 sends to 3, 1 sends to 2 */
		t[i] = (struct transfer){ i % 2 == 0 ? &p.a : &p.b, malloc(MANY_BYTES),
			(uint64_t)i + 1, 0, 0 };
		for (size_t at = 0; i < 2 && at < MANY_BYTES; at += 8)
			memcpy(t[i].bytes + at, &(uint64_t){ rng_next(&r) }, 8);
		pthread_create(&t[i].thread, NULL, i < 2 ? send_many : take_many, &t[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i].thread, NULL);
		assert_int_equal(t[i].rc, 0);
	}
	assert_memory_equal(t[0].bytes, t[3].bytes, MANY_BYTES);
	assert_memory_equal(t[1].bytes, t[2].bytes, MANY_BYTES);
	for (int i = 0; i < 4; i++)
		free(t[i].bytes);
	close_pair(&p);
	tls_close(a);
	tls_close(b);
}

struct blocked {
	struct stream *stream;
	bool writes;
	uint8_t *bytes;
	int rc;
};

static void *
block(void *arg)
{
	struct blocked *b = arg;

	b->rc = b->writes ? stream_write(b->stream, b->bytes, 16 * MB, LONG_MS, NULL)
	                  : stream_read(b->stream, b->bytes, 1, LONG_MS, NULL);
	return NULL;
}

static void
abort_wakes_read_write_and_handshake(void **state)
{
	struct tls *a = agent("ours", "n1"), *b = controller("ours");
	uint8_t *bytes = calloc(1, 16 * MB);
	struct mono began = clock_mono();
	pthread_t thread;
	struct pair p;
	struct rng r;
	(void)state;

	rng_seed(&r, 12);
	for (int i = 0; i < 40; i++) {
		struct blocked blocked = { NULL, i % 2, bytes, 0 };

		open_pair(&p, a, b);
		blocked.stream = p.a.stream;
		pthread_create(&thread, NULL, block, &blocked);
		pause_ms((int)rng_below(&r, 4));
		stream_abort(p.a.stream);
		pthread_join(thread, NULL);
		assert_int_equal(blocked.rc, ERR_PEER);
		close_pair(&p);
		connect_pair(&p, a, b);
		pthread_create(&p.a.thread, NULL, secure, &p.a);
		pause_ms((int)rng_below(&r, 3));
		stream_abort(p.a.stream);
		pthread_join(p.a.thread, NULL);
		assert_int_equal(p.a.rc, ERR_PEER);
		close_pair(&p);
	}
	assert_true(ms_since(began) < LONG_MS);
	free(bytes);
	tls_close(a);
	tls_close(b);
}

/* ---- truncation and damage ---- */

/* The bytes that one side sent in a whole connection, and their offsets. */
struct script {
	uint8_t bytes[16384];
	size_t len;
};

static void
speak(const struct tls_session_calls *c, struct tls_session *from, struct tls_session *to,
    struct script *s)
{
	size_t n;

	while ((n = c->goes(from, s->bytes + s->len, sizeof s->bytes - s->len)) > 0) {
		if (to != NULL)
			assert_int_equal(c->came(to, s->bytes + s->len, n, NULL), 0);
		s->len += n;
	}
}

/*
 * The connection is cut after each byte that the agent sends, in the handshake or in the data: the
 * controller receives a prefix of the data and accepts the agent only after a complete handshake.
 */
static void
a_cut_stream_yields_a_prefix_at_any_byte(void **state)
{
	static const char said[] = "what was said";
	struct tls *a = agent("ours", "n1"), *b = controller("ours");
	const struct tls_session_calls *c = calls_of(a);
	int let_in = 0, whole = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 13);
	for (int i = 0; i < 200; i++) {
		struct script from_a = { .len = 0 };
		struct tls_session *ka, *kb;
		size_t fed = 0, cut, n;
		char got[sizeof said];
		bool a_done = false, written = false;
		int b_rc = TLS_WANTS_INPUT;

		assert_int_equal(c->open(&ka, a, true, "h", NULL), 0);
		assert_int_equal(c->open(&kb, b, false, NULL, NULL), 0);
		cut = i == 0 ? sizeof from_a.bytes : rng_below(&r, 1800);
		for (int round = 0; round < 8; round++) {
			a_done = a_done || c->shake(ka, NULL) == 0;
			if (a_done && !written)
				written = c->write(ka, said, sizeof said, NULL) == 0;
			speak(c, ka, NULL, &from_a);
			n = (from_a.len < cut ? from_a.len : cut) - fed;
			assert_int_equal(c->came(kb, from_a.bytes + fed, n, NULL), 0);
			fed += n;
			if (b_rc == TLS_WANTS_INPUT)
				b_rc = c->shake(kb, NULL);
			carry(c, kb, ka);
		}
		assert_true(b_rc == 0 || b_rc == TLS_WANTS_INPUT);
		let_in += b_rc == 0;
		if (b_rc == 0 && c->read(kb, got, sizeof got, &n, NULL) == 0) {
			assert_int_equal(n, sizeof said);
			assert_memory_equal(got, said, sizeof said);
			whole++;
		}
		if (b_rc != 0)
			assert_string_equal(c->name(kb), "");
		c->close(ka);
		c->close(kb);
	}
	assert_in_range(let_in, 1, 199);
	assert_in_range(whole, 1, let_in);
	tls_close(a);
	tls_close(b);
}

/*
 * One bit that either side sends is inverted: no peer is accepted without valid credentials, and
 * received data is unchanged.
 */
static void
every_changed_bit_is_detected(void **state)
{
	struct tls *a = agent("ours", "n1"), *b = controller("ours");
	const struct tls_session_calls *c = calls_of(a);
	struct rng r;
	int whole = 0;
	(void)state;

	rng_seed(&r, 14);
	for (int i = 0; i < 200; i++) {
		size_t at = 0, changed = i == 0 ? SIZE_MAX : rng_below(&r, 2600), n;
		struct tls_session *ka, *kb;
		int a_rc = TLS_WANTS_INPUT, b_rc = TLS_WANTS_INPUT;
		uint8_t bytes[8192];
		char byte;

		assert_int_equal(c->open(&ka, a, true, "h", NULL), 0);
		assert_int_equal(c->open(&kb, b, false, NULL, NULL), 0);
		for (int round = 0; round < 8; round++) {
			a_rc = a_rc == TLS_WANTS_INPUT ? c->shake(ka, NULL) : a_rc;
			while ((n = c->goes(ka, bytes, sizeof bytes)) > 0) {
				if (changed >= at && changed - at < n)
					bytes[changed - at] ^= (uint8_t)(1u << rng_below(&r, 8));
				at += n;
				c->came(kb, bytes, n, NULL);
			}
			b_rc = b_rc == TLS_WANTS_INPUT ? c->shake(kb, NULL) : b_rc;
			while ((n = c->goes(kb, bytes, sizeof bytes)) > 0) {
				if (changed >= at && changed - at < n)
					bytes[changed - at] ^= (uint8_t)(1u << rng_below(&r, 8));
				at += n;
				c->came(ka, bytes, n, NULL);
			}
		}
		/* A ticket is read with the first data. */
		bool came = a_rc == 0 && b_rc == 0 && c->write(kb, "x", 1, NULL) == 0 &&
		            (carry(c, kb, ka), true) && c->read(ka, &byte, 1, &n, NULL) == 0;

		if (came && changed < at)
			fail_msg("a changed bit in byte %zu of %zu was not seen", changed, at);
		if (came)
			assert_int_equal(byte, 'x');
		whole += came;
		c->close(ka);
		c->close(kb);
	}
	assert_in_range(whole, 1, 199);
	tls_close(a);
	tls_close(b);
}

/* ---- revocation and renewal ---- */

static void
revoked_certificates_are_refused(void **state)
{
	struct tls *a, *b, *again;
	struct err e = { 0 };
	struct pair p;
	int n;
	(void)state;

	make_ca("strict", NULL, 0);
	issue("strict", "n1", days(-1, 365), false);
	issue("strict", "n2", days(-1, 365), false);
	a = agent("strict", "n1");
	b = controller("strict");
	open_pair(&p, a, b);
	assert_int_equal(tls_refresh(b, &e), 0);
	must(credentials_calls.revoke(path_of("strict"), "n1", clock_wall(), &n, &e), &e);
	assert_int_equal(n, 1);
	assert_int_equal(tls_refresh(b, &e), 1);
	assert_int_equal(accepted_trusted(p.b.accepted, &e), ERR_DENIED);
	assert_non_null(strstr(e.text, "(hone:agent:n1) is revoked"));
	close_pair(&p);
	refused_with(a, b, "our certificate is revoked", "hone:agent:n1) is revoked");

	/* others, and the same node with new credentials, are accepted */
	b = controller("strict");
	a = agent("strict", "n2");
	open_pair(&p, a, b);
	close_pair(&p);
	issue("strict", "n1", days(-1, 365), true);
	again = agent("strict", "n1");
	open_pair(&p, again, b);
	assert_int_equal(accepted_trusted(p.b.accepted, &e), 0);
	close_pair(&p);
	must(credentials_calls.revoke(path_of("strict"), "n1", clock_wall(), &n, &e), &e);
	assert_int_equal(n, 1); /* the first is in the list already and stays */
	must(credentials_calls.revoke(path_of("strict"), "n1", clock_wall(), &n, &e), &e);
	assert_int_equal(n, 0);
	assert_int_equal(
	    credentials_calls.revoke(path_of("strict"), "n9", clock_wall(), &n, &e), ERR_MISSING);
	tls_close(a);
	tls_close(b);
	tls_close(again);
}

static void
new_credentials_apply_without_a_restart_and_invalid_ones_do_not(void **state)
{
	struct tls *a, *b;
	struct err e = { 0 };
	struct pair p;
	FILE *f;
	(void)state;

	make_ca("renewed", NULL, 0);
	issue("renewed", "n1", days(-1, 365), false);
	a = agent("renewed", "n1");
	b = controller("renewed");
	issue("renewed", "n1", days(-1, 200), true);
	issue("renewed", NULL, days(-1, 200), true);
	assert_int_equal(tls_refresh(a, &e), 1);
	assert_int_equal(tls_refresh(b, &e), 1);
	assert_int_equal(tls_refresh(a, &e), 0);
	open_pair(&p, a, b);
	close_pair(&p);
	f = fopen(path_of("renewed/agents/n1/agent.pem"), "w");
	fputs("half of a certif", f);
	fclose(f);
	assert_int_equal(tls_refresh(a, &e), ERR_INPUT);
	/* repeated as long as the files are damaged */
	assert_int_equal(tls_refresh(a, &e), ERR_INPUT);
	open_pair(&p, a, b);
	close_pair(&p);
	tls_close(a);
	tls_close(b);
}

/* ---- the folder of credentials ---- */

struct tally {
	int rows, now, states[CREDENTIALS_STATES];
};

static void
count(void *ctx, const struct credentials_row *row)
{
	struct tally *t = ctx;

	t->rows++;
	t->now += row->now;
	t->states[row->state]++;
	assert_int_equal(access(row->file, R_OK), 0);
	assert_true(row->serial[0] != '\0' && row->role[0] != '\0' &&
		    row->span.until.ns > row->span.from.ns);
}

static void
the_folder_lists_its_certificates_and_overwrites_none(void **state)
{
	struct credentials_span ca = days(0, 10);
	struct credentials_order o = { .node = "n1", .span = days(0, 5) };
	struct tally t = { 0 };
	struct stat st;
	struct err e;
	int n;
	(void)state;

	assert_int_equal(credentials_calls.init(path_of("ours"), &ca,
			     &(struct credentials_order){ .span = days(0, 5) }, &e),
	    ERR_BUSY);
	assert_int_equal(credentials_calls.issue(path_of("ours"), &o, &e), ERR_BUSY);
	assert_non_null(strstr(e.text, "--again"));
	for (int i = 0; i < 3; i++) {
		o.node = (const char *const[]){ "../n1", "", "controller" }[i];
		assert_int_equal(credentials_calls.issue(path_of("ours"), &o, &e), ERR_INPUT);
	}
	o = (struct credentials_order){ .node = "n7", .span = days(0, 5000) };
	assert_int_equal(credentials_calls.issue(path_of("ours"), &o, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "longer than the CA"));
	o = (struct credentials_order){ .hosts = (const char *const[]){ "two words" },
		.nhosts = 1,
		.span = days(0, 5),
		.again = true };
	assert_int_equal(credentials_calls.issue(path_of("ours"), &o, &e), ERR_INPUT);
	assert_int_equal(credentials_calls.issue(path_of("nowhere"), &o, &e), ERR_MISSING);

	make_ca("listed", NULL, 0);
	issue("listed", "n1", days(-20, -10), false);
	issue("listed", "n1", days(-1, 10), true);
	issue("listed", "n2", days(5, 10), false);
	issue("listed", "n3", days(-1, 10), false);
	must(credentials_calls.revoke(path_of("listed"), "n3", clock_wall(), &n, &e), &e);
	must(credentials_calls.list(path_of("listed"), clock_wall(), count, &t, &e), &e);
	assert_int_equal(t.rows, 6); /* CA, controller, n1 twice, n2, n3 */
	assert_int_equal(t.now, 5);
	assert_int_equal(t.states[CREDENTIALS_EXPIRED], 1);
	assert_int_equal(t.states[CREDENTIALS_EARLY], 1);
	assert_int_equal(t.states[CREDENTIALS_REVOKED], 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
		    stat(path_of("listed/%s", (const char *const[]){ "ca.key", "controller.key",
						  "agents/n1/agent.key" }[i]),
			&st),
		    0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
	memset(&t, 0, sizeof t);
	must(credentials_calls.list(
		 path_of("listed/agents/n2/agent.pem"), clock_wall(), count, &t, &e),
	    &e);
	assert_int_equal(t.rows, 1);
	assert_int_equal(
	    credentials_calls.list(path_of("listed/ca.key"), clock_wall(), count, &t, &e),
	    ERR_INPUT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_accepting_side_knows_the_name_of_the_other),
		cmocka_unit_test(peers_of_another_ca_are_refused),
		cmocka_unit_test(credentials_of_the_other_role_are_refused),
		cmocka_unit_test(the_certificate_must_name_the_dialed_host),
		cmocka_unit_test(a_session_continues_with_the_same_names_also_after_a_restart),
		cmocka_unit_test(a_handshake_that_breaks_off_leaves_the_session),
		cmocka_unit_test(a_session_continues_with_its_own_host_alone),
		cmocka_unit_test(no_session_continues_with_another_controller),
		cmocka_unit_test(no_session_of_a_revoked_certificate_continues),
		cmocka_unit_test(no_session_of_an_expired_certificate_continues),
		cmocka_unit_test(invalid_credentials_are_named),
		cmocka_unit_test(only_valid_credentials_are_accepted),
		cmocka_unit_test(requests_for_key_updates_are_bounded),
		cmocka_unit_test(a_second_handshake_is_refused),
		cmocka_unit_test(bytes_without_tls_are_refused),
		cmocka_unit_test(a_listener_without_tls_is_reported),
		cmocka_unit_test(slow_handshakes_time_out),
		cmocka_unit_test(a_peer_that_closes_in_the_handshake_is_reported_as_gone),
		cmocka_unit_test(sixteen_megabytes_go_both_ways_at_once),
		cmocka_unit_test(abort_wakes_read_write_and_handshake),
		cmocka_unit_test(a_cut_stream_yields_a_prefix_at_any_byte),
		cmocka_unit_test(every_changed_bit_is_detected),
		cmocka_unit_test(revoked_certificates_are_refused),
		cmocka_unit_test(new_credentials_apply_without_a_restart_and_invalid_ones_do_not),
		cmocka_unit_test(the_folder_lists_its_certificates_and_overwrites_none),
	};

	return cmocka_run_group_tests(tests, make_keys, remove_keys);
}
