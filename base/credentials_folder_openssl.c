/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The folder of base/credentials.h. Calls that change it hold a lock on it. */
#define _GNU_SOURCE /* renameat2() */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/credentials_inside_openssl.h"

enum { PRIVATE = 0600, PUBLIC = 0644 };

struct folder {
	const char *path;
	int fd; /* locked */
	struct key_pair ca;
};

/* ---- paths and bytes ---- */

static int __attribute__((format(printf, 3, 4)))
path_in(char ret[PATH_MAX], struct err *e, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(ret, PATH_MAX, fmt, ap);
	va_end(ap);
	return n > 0 && n < PATH_MAX
	           ? 0
	           : err_set(e, ERR_INPUT, "%.80s...: a path that is too long", ret);
}

static int
make_folder(const char *path, mode_t mode, struct err *e)
{
	return mkdir(path, mode) == 0 || errno == EEXIST
	           ? 0
	           : err_errno(e, "%s: cannot make this folder", path);
}

/* With the folder that it is in: nothing else makes /etc/hone. */
static int
make_folder_and_parent(const char *path, mode_t mode, struct err *e)
{
	char parent[PATH_MAX];
	char *slash;
	int rc;

	if ((rc = path_in(parent, e, "%s", path)) != 0)
		return rc;
	for (size_t n = strlen(parent); n > 1 && parent[n - 1] == '/'; n--)
		parent[n - 1] = '\0';
	if ((slash = strrchr(parent, '/')) != NULL && slash != parent) {
		*slash = '\0';
		if ((rc = make_folder(parent, mode, e)) != 0)
			return rc;
	}
	return make_folder(path, mode, e);
}

static int
flush_folder(const char *file, struct err *e)
{
	char path[PATH_MAX];
	int fd, rc;

	snprintf(path, sizeof path, "%s", file);
	*strrchr(path, '/') = '\0';
	if ((fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return err_errno(e, "%s", path);
	rc = fsync(fd) == 0 ? 0 : err_errno(e, "%s: fsync", path);
	close(fd);
	return rc;
}

static int
write_all(int fd, const char *data, size_t len)
{
	ssize_t n;

	for (; len > 0; data += n, len -= (size_t)n)
		if ((n = write(fd, data, len)) < 0) {
			if (errno != EINTR)
				return -1;
			n = 0;
		}
	return fsync(fd);
}

/* Writes a file PATH.new, flushes it, and renames it. */
static int
put_bytes(const char *path, const char *data, size_t len, mode_t mode, bool replace, struct err *e)
{
	char beside[PATH_MAX];
	int fd, rc;

	if ((rc = path_in(beside, e, "%s.new", path)) != 0)
		return rc;
	unlink(beside); /* left by a process that was killed: the lock excludes others */
	if ((fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)) < 0)
		return err_errno(e, "%s", beside);
	rc = fchmod(fd, mode) == 0 && write_all(fd, data, len) == 0
	         ? 0
	         : err_errno(e, "%s: writing", beside);
	close(fd);
	if (rc == 0 &&
	    renameat2(AT_FDCWD, beside, AT_FDCWD, path, replace ? 0 : RENAME_NOREPLACE) != 0)
		rc = errno == EEXIST
		         ? err_set(e, ERR_BUSY, "%s exists already and is not overwritten", path)
		         : err_errno(e, "%s", path);
	if (rc != 0)
		unlink(beside);
	return rc == 0 ? flush_folder(path, e) : rc;
}

/* ---- PEM ---- */

static int
put_pem(BIO *b, bool made, const char *path, mode_t mode, bool replace, struct err *e)
{
	char *data;
	long len = BIO_get_mem_data(b, &data);
	int rc = made && len > 0 ? put_bytes(path, data, (size_t)len, mode, replace, e)
	                         : fail_openssl(e, path);

	BIO_free(b);
	return rc;
}

static int
put_key(EVP_PKEY *key, const char *path, bool replace, struct err *e)
{
	BIO *b = BIO_new(BIO_s_secmem());

	return put_pem(b, PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL) == 1, path,
	    PRIVATE, replace, e);
}

static int
put_certificate(X509 *c, const char *path, bool replace, struct err *e)
{
	BIO *b = BIO_new(BIO_s_mem());

	return put_pem(b, PEM_write_bio_X509(b, c) == 1, path, PUBLIC, replace, e);
}

static int
put_list(X509_CRL *l, const char *path, bool replace, struct err *e)
{
	BIO *b = BIO_new(BIO_s_mem());

	return put_pem(b, PEM_write_bio_X509_CRL(b, l) == 1, path, PUBLIC, replace, e);
}

static int
open_file(BIO **ret, const char *path, struct err *e)
{
	struct stat st;

	ERR_clear_error();
	if (stat(path, &st) != 0)
		return errno == ENOENT ? err_set(e, ERR_MISSING, "%s: no such file", path)
		                       : err_errno(e, "%s", path);
	if ((*ret = BIO_new_file(path, "r")) == NULL)
		return fail_openssl(e, path);
	return 0;
}

static int
get_certificate(X509 **ret, const char *path, struct err *e)
{
	BIO *b;
	int rc = open_file(&b, path, e);

	if (rc != 0)
		return rc;
	*ret = PEM_read_bio_X509(b, NULL, NULL, (void *)"");
	BIO_free(b);
	ERR_clear_error();
	return *ret != NULL ? 0 : err_set(e, ERR_INPUT, "%s: not a certificate in PEM", path);
}

static int
get_key(EVP_PKEY **ret, const char *path, struct err *e)
{
	BIO *b;
	int rc = open_file(&b, path, e);

	if (rc != 0)
		return rc;
	/* An empty password, so that OpenSSL does not ask for one. */
	*ret = PEM_read_bio_PrivateKey(b, NULL, NULL, (void *)"");
	BIO_free(b);
	ERR_clear_error();
	return *ret != NULL ? 0
	                    : err_set(e, ERR_INPUT,
				  "%s: not a private key in PEM, or one with a password", path);
}

static int
get_list(X509_CRL **ret, const char *dir, struct err *e)
{
	char path[PATH_MAX];
	BIO *b;
	int rc = path_in(path, e, "%s/revoked.pem", dir);

	if (rc != 0 || (rc = open_file(&b, path, e)) != 0)
		return rc;
	*ret = PEM_read_bio_X509_CRL(b, NULL, NULL, NULL);
	BIO_free(b);
	ERR_clear_error();
	return *ret != NULL ? 0
	                    : err_set(e, ERR_INPUT, "%s: not a list of revoked certificates", path);
}

/* ---- the folder ---- */

static int
folder_lock(struct folder *f, const char *dir, struct err *e)
{
	*f = (struct folder){ .path = dir, .fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	if (f->fd < 0)
		return errno == ENOENT
		           ? err_set(e, ERR_MISSING,
				 "%s: no credentials are there; hone keys init makes them", dir)
		           : err_errno(e, "%s", dir);
	if (flock(f->fd, LOCK_EX) == 0)
		return 0;
	close(f->fd);
	return err_errno(e, "%s: lock", dir);
}

static void
folder_release(struct folder *f)
{
	key_pair_release(&f->ca);
	close(f->fd);
}

static int
folder_open(struct folder *f, const char *dir, struct err *e)
{
	char certificate[PATH_MAX], key[PATH_MAX];
	int rc;

	if ((rc = folder_lock(f, dir, e)) != 0)
		return rc;
	if ((rc = path_in(certificate, e, "%s/ca.pem", dir)) != 0 ||
	    (rc = path_in(key, e, "%s/ca.key", dir)) != 0 ||
	    (rc = get_certificate(&f->ca.certificate, certificate, e)) != 0 ||
	    (rc = get_key(&f->ca.key, key, e)) != 0)
		goto fail;
	if (X509_check_private_key(f->ca.certificate, f->ca.key) == 1)
		return 0;
	ERR_clear_error();
	rc = err_set(e, ERR_INPUT, "%s does not fit %s", key, certificate);
fail:
	folder_release(f);
	return rc;
}

/* Keeps a copy before the certificate is used, so that it can be revoked. */
static int
note_issued(const struct folder *f, X509 *c, struct err *e)
{
	struct certificate_info s;
	char path[PATH_MAX];
	int rc;

	certificate_read(&s, c);
	if ((rc = path_in(path, e, "%s/issued", f->path)) != 0 ||
	    (rc = make_folder(path, 0700, e)) != 0 ||
	    (rc = path_in(path, e, "%s/issued/%s.pem", f->path, s.serial)) != 0)
		return rc;
	return put_certificate(c, path, false, e);
}

/* The private key first: a reader between the two writes finds that they do not match, and keeps its former ones. */
static int
put_pair(
    const struct folder *f, const struct key_pair *p, const char *base, bool replace, struct err *e)
{
	char key[PATH_MAX], certificate[PATH_MAX];
	int rc;

	if ((rc = path_in(key, e, "%s.key", base)) != 0 ||
	    (rc = path_in(certificate, e, "%s.pem", base)) != 0 ||
	    (rc = note_issued(f, p->certificate, e)) != 0 ||
	    (rc = put_key(p->key, key, replace, e)) != 0)
		return rc;
	return put_certificate(p->certificate, certificate, replace, e);
}

/* ---- init ---- */

static int
fill(struct folder *f, const struct credentials_order *o, struct err *e)
{
	struct key_pair p = { 0 };
	X509_CRL *list = NULL;
	char path[PATH_MAX];
	int rc;

	if ((rc = path_in(path, e, "%s/ca.key", f->path)) == 0 &&
	    (rc = put_key(f->ca.key, path, false, e)) == 0 &&
	    (rc = key_pair_make(&p, &f->ca, o, NULL, e)) == 0 &&
	    (rc = path_in(path, e, "%s/controller", f->path)) == 0 &&
	    (rc = put_pair(f, &p, path, false, e)) == 0 &&
	    (rc = revoked_make(&list, &f->ca, NULL, NULL, 0, o->span.from, e)) == 0 &&
	    (rc = path_in(path, e, "%s/revoked.pem", f->path)) == 0 &&
	    (rc = put_list(list, path, false, e)) == 0 &&
	    (rc = path_in(path, e, "%s/ca.pem", f->path)) == 0)
		rc = put_certificate(f->ca.certificate, path, false, e);
	X509_CRL_free(list);
	key_pair_release(&p);
	return rc;
}

static int
check_unused(const char *dir, struct err *e)
{
	static const char *const files[] = { "ca.pem", "ca.key", "controller.pem", "controller.key",
		"revoked.pem" };
	char path[PATH_MAX];
	int rc = 0;

	for (size_t i = 0; i < sizeof files / sizeof files[0] && rc == 0; i++)
		if ((rc = path_in(path, e, "%s/%s", dir, files[i])) == 0 && access(path, F_OK) == 0)
			rc = err_set(e, ERR_BUSY,
			    "%s exists already and is not overwritten; hone keys show lists the certificates, "
			    "--dir DIR makes a CA elsewhere",
			    path);
	return rc;
}

static int
credentials_init(const char *dir, const struct credentials_span *ca,
    const struct credentials_order *o, struct err *e)
{
	struct folder f;
	int rc;

	assert(o->node == NULL);
	if ((rc = make_folder_and_parent(dir, 0755, e)) != 0 || (rc = folder_lock(&f, dir, e)) != 0)
		return rc;
	if ((rc = check_unused(dir, e)) == 0 && (rc = key_pair_make_ca(&f.ca, ca, e)) == 0)
		rc = fill(&f, o, e);
	folder_release(&f);
	return rc;
}

/* ---- issue ---- */

/* The name becomes that of a folder, and part of the certificate. */
static int
check_node(const char *s, struct err *e)
{
	static const char fits[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t len = strlen(s);

	if (len == 0 || len > CREDENTIALS_NAME_MAX || strspn(s, fits) != len ||
	    strchr("-_.", s[0]) != NULL)
		return err_set(e, ERR_INPUT,
		    "%.80s: a node's name is 1 to %d letters, digits, and - _ . after the first", s,
		    CREDENTIALS_NAME_MAX);
	if (strcmp(s, "controller") == 0 || strcmp(s, "CA") == 0)
		return err_set(e, ERR_INPUT,
		    "%s: not allowed as the name of an agent; it stands for the %s", s, s);
	return 0;
}

/* Creates the folder of an agent with its ca.pem. base: the path of its files without .key and .pem. */
static int
agent_folder(const struct folder *f, const char *node, char base[PATH_MAX], struct err *e)
{
	char path[PATH_MAX];
	int rc;

	if ((rc = path_in(path, e, "%s/agents", f->path)) != 0 ||
	    (rc = make_folder(path, 0700, e)) != 0 ||
	    (rc = path_in(path, e, "%s/agents/%s", f->path, node)) != 0 ||
	    (rc = make_folder(path, 0700, e)) != 0 ||
	    (rc = path_in(path, e, "%s/agents/%s/ca.pem", f->path, node)) != 0 ||
	    (rc = put_certificate(f->ca.certificate, path, true, e)) != 0)
		return rc;
	return path_in(base, e, "%s/agents/%s/agent", f->path, node);
}

static int
check_former(const char *base, const struct credentials_order *o, X509 **former, struct err *e)
{
	char path[PATH_MAX];
	int rc = path_in(path, e, "%s.pem", base);

	if (rc != 0 || access(path, F_OK) != 0)
		return rc;
	if (!o->again)
		return err_set(e, ERR_BUSY,
		    "%s exists already; --again replaces it (hone keys revoke %s before that revokes "
		    "the former)",
		    path, o->node != NULL ? o->node : "controller");
	return get_certificate(former, path, e);
}

static int
issue_in(struct folder *f, const struct credentials_order *o, struct err *e)
{
	GENERAL_NAMES *hosts = NULL;
	struct key_pair p = { 0 };
	X509 *former = NULL;
	char base[PATH_MAX];
	int rc;

	rc = o->node != NULL ? agent_folder(f, o->node, base, e)
	                     : path_in(base, e, "%s/controller", f->path);
	if (rc != 0 || (rc = check_former(base, o, &former, e)) != 0)
		return rc;
	if (former != NULL)
		hosts = hosts_of(former);
	if ((rc = key_pair_make(&p, &f->ca, o, hosts, e)) == 0)
		rc = put_pair(f, &p, base, true, e);
	GENERAL_NAMES_free(hosts);
	X509_free(former);
	key_pair_release(&p);
	return rc;
}

static int
credentials_issue(const char *dir, const struct credentials_order *o, struct err *e)
{
	struct folder f;
	int rc;

	assert(o->nhosts == 0 || o->hosts != NULL);
	if ((o->node != NULL && (rc = check_node(o->node, e)) != 0) ||
	    (rc = folder_open(&f, dir, e)) != 0)
		return rc;
	rc = issue_in(&f, o, e);
	folder_release(&f);
	return rc;
}

/* ---- issued certificates ---- */

struct issued {
	X509 **all;
	uint32_t n, cap;
};

static void
issued_release(struct issued *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		X509_free(s->all[i]);
	free(s->all);
	memset(s, 0, sizeof *s);
}

static int
issued_add(struct issued *s, X509 *c, struct err *e)
{
	if (!array_reserve(s->all, s->cap, s->n + 1)) {
		X509_free(c);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	s->all[s->n++] = c;
	return 0;
}

static int
is_pem(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 4 && strcmp(d->d_name + len - 4, ".pem") == 0;
}

static int
issued_read(struct issued *s, const char *dir, struct err *e)
{
	char path[PATH_MAX];
	struct dirent **names;
	X509 *c;
	int rc = path_in(path, e, "%s/issued", dir), n;

	if (rc != 0)
		return rc;
	if ((n = scandir(path, &names, is_pem, alphasort)) < 0)
		return errno == ENOENT
		           ? err_set(e, ERR_MISSING,
				 "%s: no credentials are there; hone keys init makes them", dir)
		           : err_errno(e, "%s", path);
	for (int i = 0; i < n; i++) {
		if (rc == 0 &&
		    (rc = path_in(path, e, "%s/issued/%s", dir, names[i]->d_name)) == 0 &&
		    (rc = get_certificate(&c, path, e)) == 0)
			rc = issued_add(s, c, e);
		free(names[i]);
	}
	free(names);
	return rc;
}

static int
by_role_and_name(const void *a, const void *b)
{
	struct certificate_info x, y;
	int order;

	certificate_read(&x, *(X509 *const *)a);
	certificate_read(&y, *(X509 *const *)b);
	if ((order = -strcmp(x.role, y.role)) != 0) /* controller before agent */
		return order;
	if ((order = strcmp(x.name, y.name)) != 0)
		return order;
	return x.span.from.ns != y.span.from.ns ? (x.span.from.ns < y.span.from.ns ? -1 : 1)
	                                        : strcmp(x.serial, y.serial);
}

/* ---- revoke ---- */

static bool
is_revoked(X509_CRL *list, X509 *c)
{
	X509_REVOKED *r;

	return list != NULL && X509_CRL_get0_by_cert(list, &r, c) == 1;
}

static int
revoke_in(struct folder *f, const char *name, struct wall now, int *n, struct err *e)
{
	X509_CRL *former = NULL, *list = NULL;
	struct issued issued = { 0 };
	X509 **more = NULL;
	char path[PATH_MAX];
	int rc, known = 0;

	if ((rc = get_list(&former, f->path, e)) != 0 ||
	    (rc = issued_read(&issued, f->path, e)) != 0)
		goto done;
	if ((more = calloc((size_t)issued.n + 1, sizeof *more)) == NULL) {
		rc = err_set(e, ERR_MEMORY, "out of memory");
		goto done;
	}
	for (uint32_t i = 0; i < issued.n; i++) {
		struct certificate_info s;

		certificate_read(&s, issued.all[i]);
		if (strcmp(s.name, name) != 0)
			continue;
		known++;
		if (!is_revoked(former, issued.all[i]))
			more[(*n)++] = issued.all[i];
	}
	if (known == 0)
		rc = err_set(e, ERR_MISSING,
		    "%s: no certificate was issued to it; hone keys show lists all", name);
	else if ((rc = revoked_make(&list, &f->ca, former, more, *n, now, e)) == 0 &&
		 (rc = path_in(path, e, "%s/revoked.pem", f->path)) == 0)
		rc = put_list(list, path, true, e);
done:
	free(more);
	issued_release(&issued);
	X509_CRL_free(former);
	X509_CRL_free(list);
	return rc;
}

static int
credentials_revoke(const char *dir, const char *name, struct wall now, int *n, struct err *e)
{
	struct folder f;
	int rc;

	*n = 0;
	if ((rc = folder_open(&f, dir, e)) != 0)
		return rc;
	rc = revoke_in(&f, name, now, n, e);
	folder_release(&f);
	return rc;
}

/* ---- list ---- */

static void
show(X509 *c, X509_CRL *list, bool in_use, const char *file, struct wall now, credentials_visit *fn,
    void *ctx)
{
	struct certificate_info s;
	struct credentials_row row;

	certificate_read(&s, c);
	row = (struct credentials_row){ .name = strcmp(s.role, "ca") == 0 ? "CA" : s.name,
		.role = s.role,
		.serial = s.serial,
		.file = file,
		.span = s.span,
		.now = in_use };
	row.state = is_revoked(list, c)        ? CREDENTIALS_REVOKED
	            : now.ns < s.span.from.ns  ? CREDENTIALS_EARLY
	            : now.ns > s.span.until.ns ? CREDENTIALS_EXPIRED
	                                       : CREDENTIALS_VALID;
	fn(ctx, &row);
}

/* Whether c is the certificate in use, and the path of its file. */
static bool
find_file(const char *dir, X509 *c, char path[PATH_MAX])
{
	struct certificate_info s;
	X509 *there;
	bool same;

	certificate_read(&s, c);
	if ((strcmp(s.role, "controller") == 0
		    ? path_in(path, NULL, "%s/controller.pem", dir)
		    : path_in(path, NULL, "%s/agents/%s/agent.pem", dir, s.name)) != 0 ||
	    get_certificate(&there, path, NULL) != 0)
		return false;
	same = X509_cmp(there, c) == 0;
	X509_free(there);
	if (!same)
		path_in(path, NULL, "%s/issued/%s.pem", dir, s.serial);
	return same;
}

static int
list_folder(const char *dir, struct wall now, credentials_visit *fn, void *ctx, struct err *e)
{
	struct issued issued = { 0 };
	X509_CRL *list = NULL;
	X509 *ca = NULL;
	char path[PATH_MAX];
	int rc;

	if ((rc = path_in(path, e, "%s/ca.pem", dir)) == 0 &&
	    (rc = issued_read(&issued, dir, e)) == 0 && (rc = get_certificate(&ca, path, e)) == 0 &&
	    (rc = get_list(&list, dir, e)) == 0) {
		show(ca, NULL, true, path, now, fn, ctx);
		qsort(issued.all, (size_t)issued.n, sizeof *issued.all, by_role_and_name);
		for (uint32_t i = 0; i < issued.n; i++) {
			bool in_use = find_file(dir, issued.all[i], path);

			show(issued.all[i], list, in_use, path, now, fn, ctx);
		}
	}
	issued_release(&issued);
	X509_CRL_free(list);
	X509_free(ca);
	return rc;
}

static int
list_file(const char *path, struct wall now, credentials_visit *fn, void *ctx, struct err *e)
{
	X509 *c;
	BIO *b;
	int n = 0, rc = open_file(&b, path, e);

	if (rc != 0)
		return rc;
	for (; (c = PEM_read_bio_X509(b, NULL, NULL, (void *)"")) != NULL; n++) {
		show(c, NULL, true, path, now, fn, ctx);
		X509_free(c);
	}
	BIO_free(b);
	ERR_clear_error();
	return n > 0 ? 0 : err_set(e, ERR_INPUT, "%s: no certificate in PEM is in it", path);
}

static int
credentials_list(const char *path, struct wall now, credentials_visit *fn, void *ctx, struct err *e)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return errno == ENOENT
		           ? err_set(e, ERR_MISSING,
				 "%s: no credentials are there; hone keys init makes them", path)
		           : err_errno(e, "%s", path);
	return S_ISDIR(st.st_mode) ? list_folder(path, now, fn, ctx, e)
	                           : list_file(path, now, fn, ctx, e);
}

const struct credentials_calls credentials_calls = { credentials_init, credentials_issue,
	credentials_revoke, credentials_list };
