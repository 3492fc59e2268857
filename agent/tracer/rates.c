/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/tracer/rates.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/system/folder.h"
#include "instrument/policy.h"

#define put(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define get(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

struct rates {
	int fd;
	struct knocks *knocks;
	struct hone_policy *table;
	char path[256];
};

static struct hone_policy *
table_map(int fd)
{
	void *t = mmap(NULL, sizeof(struct hone_policy), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return t == MAP_FAILED ? NULL : t;
}

static bool
table_fits(int fd)
{
	struct hone_policy head;
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof head &&
	       pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
	       head.magic == HONE_POLICY_MAGIC && head.version == HONE_POLICY_VERSION &&
	       head.ntypes == HONE_POLICY_TYPES;
}

/*
 * Every user may open the table for reading, since programs of all users do. So the lock is one for
 * writing, of the open file: only who may open the file for writing can hold it. A reader can hold a
 * lock for reading, which excludes it; therefore the lock is taken before the file gets its path.
 */
enum lock { LOCK_TAKEN, LOCK_AGENT, LOCK_READER };

static enum lock
lock_take(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	if (fcntl(fd, F_OFD_SETLK, &l) == 0)
		return LOCK_TAKEN;
	return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type == F_RDLCK ? LOCK_READER : LOCK_AGENT;
}

/* Writes a new table, locks it, and renames it to its path, so that no program sees half of it. A file
 * that was there before is not changed, since programs may have mapped it. *fd is the caller's.
 * ERR_BUSY: it must not replace a file, and there is one now. */
static int
table_make(const char *path, bool replace, int *fd, struct err *e)
{
	struct hone_policy t = { .magic = HONE_POLICY_MAGIC,
		.version = HONE_POLICY_VERSION,
		.ntypes = HONE_POLICY_TYPES };
	char temporary[300];
	int rc = 0;

	snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
	if ((*fd = mkostemp(temporary, O_CLOEXEC)) < 0)
		return err_errno(e, "%s", temporary);
	if (write(*fd, &t, sizeof t) != (ssize_t)sizeof t || lock_take(*fd) != LOCK_TAKEN ||
	    fchmod(*fd, 0644) != 0 || file_place(temporary, path, replace) != 0) {
		rc = errno == EEXIST ? err_set(e, ERR_BUSY, "%s was made by another process", path)
		                     : err_errno(e, "%s", path);
		unlink(temporary);
		close(*fd);
		*fd = -1;
	}
	return rc;
}

/* The owner of a file can truncate it, which kills processes that access their mapping. */
static bool
is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IWOTH) == 0;
}

/* The path still leads to the open file. */
static bool
is_at(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static void
silence(struct hone_policy *t)
{
	for (int i = 0; i < HONE_POLICY_TYPES; i++) {
		put(&t->types[i].probe_until_ns, 0);
		put(&t->types[i].probe_rate, 0);
	}
}

/* A table that is not used any more: programs that still have it mapped stop sampling by it, and look
 * for the new one. */
static void
table_end(int fd)
{
	struct hone_policy *t = table_fits(fd) ? table_map(fd) : NULL;

	if (t == NULL)
		return;
	silence(t);
	put(&t->sample_until_ns, 0);
	munmap(t, sizeof *t);
}

/*
 * 1. none, or something that is no file: a link, a folder, a socket          make one
 * 2. of another user                                                         make one
 * 3. locked by an agent                                                      ERR_BUSY
 * 4. locked by a reader, who can only have done so while no agent ran        make one
 * 5. it is a table, and still at its path                                    take it
 * 6. it is something else, or an older table                                 make one
 */
static int
table_lock(struct rates *r, struct err *e)
{
	for (int attempt = 0; attempt < 10; attempt++) {
		enum lock lock;

		r->fd = open(r->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (r->fd < 0 && errno == EACCES)
			return err_set(e, ERR_SYSTEM,
			    "%s belongs to another user: start hone-agent as root, or as that "
			    "user, or give it a table of its own (agent.policy)",
			    r->path);
		if (r->fd < 0 && errno != ENOENT && errno != ELOOP && errno != EISDIR &&
		    errno != ENXIO)
			return err_errno(e, "%s", r->path);
		if (r->fd < 0 || !is_own(r->fd)) { /* 1, 2 */
			bool there = r->fd >= 0 || errno != ENOENT;
			int rc;

			if (r->fd >= 0)
				close(r->fd);
			if ((rc = table_make(r->path, there, &r->fd, e)) != ERR_BUSY)
				return rc;
			continue;
		}
		lock = lock_take(r->fd);
		if (lock == LOCK_AGENT) /* 3 */
			return err_set(e, ERR_BUSY,
			    "%s is held by another hone-agent; end it, or give this one a "
			    "table of its own (agent.policy)",
			    r->path);
		if (lock == LOCK_TAKEN && table_fits(r->fd) && is_at(r->fd, r->path)) /* 5 */
			return 0;
		if (is_at(r->fd, r->path)) { /* 4, 6 */
			table_end(r->fd);
			close(r->fd);
			return table_make(r->path, true, &r->fd, e);
		}
		close(r->fd);
		r->fd = -1;
	}
	return err_set(e, ERR_BUSY, "%s is replaced again and again by another process", r->path);
}

int
rates_open(struct rates **ret, const char *path, struct err *e)
{
	struct rates *r = calloc(1, sizeof *r);
	int rc;

	if (r == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	r->fd = -1;
	snprintf(r->path, sizeof r->path, "%s", path);
	if ((rc = table_lock(r, e)) != 0)
		goto fail;
	if ((r->table = table_map(r->fd)) == NULL) {
		rc = err_errno(e, "%s", path);
		goto fail;
	}
	if ((rc = knocks_open(&r->knocks, path, e)) != 0)
		goto fail;
	silence(r->table);
	put(&r->table->sample_until_ns, 0);
	put(&r->table->callers_known, 0);
	*ret = r;
	return 0;
fail:
	rates_close(r, false);
	return rc;
}

/* A share as a fraction of 2^32; UINT32_MAX is "always". */
static uint32_t
fixed_point(double share)
{
	if (!(share > 0))
		return 0;
	return share >= 1 ? UINT32_MAX : (uint32_t)(share * 4294967295.0);
}

/* The type's entry, found as libhone finds it. NULL: it has none. */
static struct hone_policy_entry *
entry_of(struct hone_policy *t, uint32_t type)
{
	for (uint32_t i = 0; i < HONE_POLICY_TYPES; i++) {
		struct hone_policy_entry *e = &t->types[(type + i) % HONE_POLICY_TYPES];

		if (e->request_type == type)
			return e;
		if (e->request_type == 0)
			break;
	}
	return NULL;
}

/* A place for a type that has none: free, or of a type that nobody names any more, since types without
 * an entry have the same rates as that one. No place becomes free again, so other types are still
 * found. NULL: all places are of named types. */
static struct hone_policy_entry *
entry_place(struct hone_policy *t, uint32_t type, const bool *named)
{
	for (uint32_t i = 0; i < HONE_POLICY_TYPES; i++) {
		uint32_t at = (type + i) % HONE_POLICY_TYPES;

		if (t->types[at].request_type == 0 || !named[at])
			return &t->types[at];
	}
	return NULL;
}

/* The rates are written before the lease. A place that another type had loses its lease first, so that
 * no program takes the new type's probing for the old one's. */
static void
entry_put(struct hone_policy_entry *e, uint32_t type, uint32_t sampled, uint32_t probed,
    uint64_t until_ns)
{
	if (probed == 0)
		until_ns = 0;
	if (e->request_type != type) {
		put(&e->probe_until_ns, 0);
		put(&e->request_type, type);
	}
	put(&e->sample_rate, sampled);
	put(&e->probe_rate, probed);
	put(&e->probe_until_ns, until_ns);
}

int
rates_apply(struct rates *r, const struct want *w, struct mono probe_until, struct err *e)
{
	struct hone_policy *t = r->table;
	bool named[HONE_POLICY_TYPES] = { false };
	uint32_t others = fixed_point(w->sampled);
	int rc = 0;

	put(&t->sample_rate, others);
	for (uint32_t i = 0; i < w->nrates; i++) {
		struct hone_policy_entry *entry = entry_of(
		    t, hone_policy_type(w->rates[i].request_type));

		if (entry != NULL)
			named[entry - t->types] = true;
	}
	for (uint32_t i = 0; i < w->nrates; i++) {
		const struct rate *rate = &w->rates[i];
		uint32_t type = hone_policy_type(rate->request_type);
		struct hone_policy_entry *entry = entry_of(t, type);

		if (entry == NULL)
			entry = entry_place(t, type, named);
		if (entry == NULL) {
			rc = err_set(e, ERR_FULL,
			    "%s has no entry left for request type %s: all %d are of types that the "
			    "controller names",
			    r->path, rate->request_type, HONE_POLICY_TYPES);
			continue;
		}
		named[entry - t->types] = true;
		entry_put(entry, type, fixed_point(rate->sampled), fixed_point(rate->probed),
		    (uint64_t)probe_until.ns);
	}
	for (int i = 0; i < HONE_POLICY_TYPES; i++)
		if (!named[i] && t->types[i].request_type != 0)
			entry_put(&t->types[i], t->types[i].request_type, others, 0, 0);
	return rc;
}

static bool
within(uint32_t draw, uint32_t rate)
{
	return draw < rate || rate == UINT32_MAX;
}

enum rates_choice
rates_choose(const struct rates *r, const char *request_type, struct mono now, uint32_t draw)
{
	const struct hone_policy *t = r->table;
	uint32_t type = hone_policy_type(request_type);
	const struct hone_policy_entry *e = entry_of(r->table, type);
	bool named = e != NULL && e->request_type == type;

	if ((uint64_t)now.ns >= t->sample_until_ns ||
	    !within(draw, named ? e->sample_rate : t->sample_rate))
		return RATES_SKIP;
	if (named && (uint64_t)now.ns < e->probe_until_ns && within(draw, e->probe_rate))
		return RATES_PROBE;
	return RATES_SAMPLE;
}

void
rates_callers(struct rates *r, bool known)
{
	put(&r->table->callers_known, (uint32_t)known);
}

void
rates_renew(struct rates *r, struct mono sample_until)
{
	put(&r->table->sample_until_ns, (uint64_t)sample_until.ns);
}

struct knocks *
rates_knocks(struct rates *r)
{
	return r->knocks;
}

void
rates_silence(struct rates *r)
{
	silence(r->table);
}

void
rates_close(struct rates *r, bool remove)
{
	if (r == NULL)
		return;
	if (r->table != NULL) {
		silence(r->table);
		put(&r->table->sample_until_ns, 0);
		if (remove)
			unlink(r->path);
		munmap(r->table, sizeof *r->table);
	}
	knocks_close(r->knocks, remove);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

int
rates_spare(const struct rates *r)
{
	int fd = open(r->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 || is_at(fd, r->path))
		return fd;
	close(fd);
	return -1;
}

void
rates_silence_fd(int fd)
{
	struct hone_policy *t;

	if (fd < 0 || !table_fits(fd) || (t = table_map(fd)) == NULL)
		return;
	silence(t);
	munmap(t, sizeof *t);
}
