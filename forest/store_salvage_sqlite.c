/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recovers the readable rows of a damaged database. SQLite finds a row by its id down the tree of
 * pages, and fails at a page that it cannot read. So each table is read by ascending row id without
 * its indexes; after a failure the next readable id is searched, one by one and then in doubling
 * steps:
 *
 *	rows ... 217  | 218 ... 226 on a page that cannot be read |  227 ... rows
 *
 * Rows pass the checks of every load; a row whose run, parent or hypothesis was not saved is left out;
 * the rest is written into a new database. It works on a copy, since SQLite writes even to read a
 * database that has a log.
 *
 * Why not SQLite's own recovery: the API sqlite3_recover and the shell's .recover need the virtual
 * table sqlite_dbpage, which Debian 12 compiles neither into libsqlite3 nor into sqlite3 (3.40.1).
 * What remains there is .dump, which ends with ROLLBACK at the first damaged table. Measured with a
 * forest of 216 pages (60 runs, 7,200 rows of evidence), of which every third page in turn was
 * overwritten with zeroes: of 72 files this one recovered 71, with 98.6 % of the runs, 96.2 % of the
 * verdicts and 94.7 % of the evidence on average; .dump recovered 18, .recover none.
 */
#define _GNU_SOURCE
#include "forest/store_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

enum { SINGLE_STEPS = 4096 }; /* ids that are tried one by one */

struct salvage {
	const char *from;
	char *copy, *copy_wal;
	bool copied;         /* the files were made here, and are to be deleted */
	struct store source; /* on the copy */
	int version;
	struct forest *forest;
	struct verdict *verdicts; /* collected: ranks are corrected when all have been read */
	size_t nverdicts, verdicts_cap;
	struct salvaged *ret;
};

/* ---- the copy ---- */

static int
copy_err(const char *path, struct err *e)
{
	return errno == ENOSPC || errno == EDQUOT
	           ? err_set(e, ERR_FULL, "%s: no space left on its disk; free some", path)
	           : err_set(e, ERR_STORE, "%s: %s", path, strerror(errno));
}

/* What cannot be read from the disk (EIO) becomes zeroes in the copy: damaged pages for SQLite. */
static int
copy_bytes(int in, int out, const char *from, const char *to, struct err *e)
{
	static const size_t piece = 4096;
	char data[4096];
	off_t size = lseek(in, 0, SEEK_END);

	for (off_t at = 0; at < size; at += (off_t)piece) {
		ssize_t n = pread(in, data, piece, at);

		if (n < 0 && errno != EIO)
			return copy_err(from, e);
		if (n > 0 && pwrite(out, data, (size_t)n, at) != n)
			return copy_err(to, e);
	}
	return size < 0 || ftruncate(out, size) < 0 ? copy_err(to, e) : 0;
}

static int
copy_file(const char *from, const char *to, bool needed, struct err *e)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out, rc;

	if (in < 0)
		return needed || errno != ENOENT ? copy_err(from, e) : 0;
	if ((out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0) {
		rc = copy_err(to, e);
		close(in);
		return rc;
	}
	rc = copy_bytes(in, out, from, to, e);
	close(in);
	if (close(out) < 0 && rc == 0)
		rc = copy_err(to, e);
	return rc;
}

/* A controller that has the database has locked path.lock. */
static int
check_unused(const char *from, struct err *e)
{
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	char *real = realpath(from, NULL), *path = NULL;
	int fd = -1, rc = 0;

	if (real == NULL)
		return copy_err(from, e);
	if (asprintf(&path, "%s.lock", real) < 0) {
		free(real);
		return err_set(e, ERR_MEMORY, "%s: out of memory", from);
	}
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
		if (fcntl(fd, F_OFD_SETLK, &whole) < 0)
			rc = err_set(
			    e, ERR_BUSY, "%s: in use by a controller; stop that first", from);
		close(fd);
	}
	free(path);
	free(real);
	return rc;
}

static int
make_copy(struct salvage *r, const char *to, struct err *e)
{
	char *wal = NULL;
	int rc;

	if (access(to, F_OK) == 0)
		return err_set(
		    e, ERR_STORE, "%s: exists already and is not overwritten; name a new file", to);
	if ((rc = check_unused(r->from, e)) < 0)
		return rc;
	if (asprintf(&r->copy, "%s.copy", to) < 0 ||
	    asprintf(&r->copy_wal, "%s.copy-wal", to) < 0 || asprintf(&wal, "%s-wal", r->from) < 0)
		return err_set(e, ERR_MEMORY, "%s: out of memory", r->from);
	if (access(r->copy, F_OK) == 0 || access(r->copy_wal, F_OK) == 0) {
		rc = err_set(e, ERR_STORE,
		    "%s: exists already, and the name is needed for a copy; move it away", r->copy);
	} else {
		r->copied = true;
		if ((rc = copy_file(r->from, r->copy, true, e)) == 0)
			rc = copy_file(wal, r->copy_wal, false, e);
	}
	free(wal);
	return rc;
}

static int
open_copy(struct salvage *r, struct err *e)
{
	int rc;

	r->source.path = (char *)r->from; /* for error texts */
	if (sqlite3_open_v2(r->copy, &r->source.db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		return database_err(e, r->source.db, r->from);
	if ((rc = database_identify(r->source.db, r->from, "hypothesis forest", DATABASE_FOREST,
		 STORE_SCHEMA, &r->version, e)) < 0)
		return rc;
	return r->version > 0 ? 0 : err_set(e, ERR_STORE, "%s: no row of it can be read", r->from);
}

/* ---- rows ---- */

static int
collect_verdict(struct salvage *r, struct verdict *v, struct err *e)
{
	if (!array_reserve(r->verdicts, r->verdicts_cap, r->nverdicts + 1)) {
		verdict_release(v);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	r->verdicts[r->nverdicts++] = *v;
	return 0;
}

static int
keep_row(struct salvage *r, enum store_table t, sqlite3_stmt *q, struct err *e)
{
	union store_row row;
	int rc;

	memset(&row, 0, sizeof row);
	if (!row_read(q, t, &row))
		return err_set(e, ERR_MEMORY, "%s: out of memory", r->from);
	rc = t == TABLE_VERDICT ? collect_verdict(r, &row.verdict, e)
	                        : row_keep(r->forest, t, &row, e);
	if (rc != ERR_INPUT)
		return rc;
	r->ret->orphans++;
	return 0;
}

enum { READ_END = 0, READ_GAP = 1 };

/* Reads rows from id *at on; *at is then behind the last one that could be read. */
static int
read_on(struct salvage *r, enum store_table t, sqlite3_stmt *q, int64_t *at, struct err *e)
{
	int step, rc = 0;

	sqlite3_bind_int64(q, 1, *at);
	while ((step = sqlite3_step(q)) == SQLITE_ROW && rc == 0) {
		int64_t id = sqlite3_column_int64(q, (int)store_tables[t].ncolumns);

		if (id < *at) /* out of order: the page is damaged */
			break;
		rc = keep_row(r, t, q, e);
		if (id == INT64_MAX) {
			step = SQLITE_DONE;
			break;
		}
		*at = id + 1;
	}
	sqlite3_reset(q);
	if (rc < 0)
		return rc;
	if ((step & 0xff) == SQLITE_NOMEM)
		return err_set(e, ERR_MEMORY, "%s: out of memory", r->from);
	return step == SQLITE_DONE ? READ_END : READ_GAP;
}

/* Whether SQLite can step to a row, or to the end, from this id on. */
static bool
readable(sqlite3_stmt *q, int64_t at)
{
	int step;

	sqlite3_bind_int64(q, 1, at);
	step = sqlite3_step(q);
	sqlite3_reset(q);
	return step == SQLITE_ROW || step == SQLITE_DONE;
}

/* Moves *at to the first id behind the gap from which SQLite can read. False: there is none. */
static bool
skip_gap(sqlite3_stmt *q, int64_t *at)
{
	int64_t low = *at + 1, high, by = 1;

	for (int i = 0; i < SINGLE_STEPS && low < INT64_MAX; i++, low++)
		if (readable(q, low)) {
			*at = low;
			return true;
		}
	for (high = low; !readable(q, high); by *= 2) {
		if (by > INT64_MAX / 2 || high > INT64_MAX - by)
			return false;
		low = high;
		high += by;
	}
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (readable(q, middle))
			high = middle;
		else
			low = middle;
	}
	*at = high;
	return true;
}

static int
prepare_reading(struct salvage *r, enum store_table t, sqlite3_stmt **q, struct err *e)
{
	struct buf b = { 0 };
	int rc;

	row_select(&b, t, r->version, ", it.rowid");
	buf_printf(&b, " NOT INDEXED WHERE it.rowid >= ? ORDER BY it.rowid");
	buf_u8(&b, 0);
	rc = b.failed ? err_set(e, ERR_MEMORY, "%s: out of memory", r->from)
	              : database_prepare(r->source.db, r->from, (const char *)b.data, q, e);
	buf_release(&b);
	return rc;
}

static int
read_table(struct salvage *r, enum store_table t, struct err *e)
{
	sqlite3_stmt *q = NULL;
	int64_t at = INT64_MIN;
	int rc = prepare_reading(r, t, &q, e);

	if (rc < 0 && rc != ERR_MEMORY) { /* its schema cannot be read */
		r->ret->unreadable++;
		return 0;
	}
	while (rc == 0 && (rc = read_on(r, t, q, &at, e)) == READ_GAP) {
		r->ret->unreadable++;
		at = at < 0 ? 0 : at; /* ids begin at 1 */
		rc = 0;
		if (!skip_gap(q, &at))
			break;
	}
	sqlite3_finalize(q);
	return rc;
}

/* ---- putting it together ---- */

static int
compare_ranks(const void *a, const void *b)
{
	const struct verdict *x = a, *y = b;

	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->hypothesis < y->hypothesis ? -1 : x->hypothesis > y->hypothesis;
}

/* Ranks after a lost verdict move up. */
static int
keep_verdicts(struct salvage *r, struct err *e)
{
	uint64_t run = 0;
	uint32_t rank = 0;
	int rc = 0;

	if (r->nverdicts > 0)
		qsort(r->verdicts, r->nverdicts, sizeof *r->verdicts, compare_ranks);
	for (size_t i = 0; i < r->nverdicts && rc == 0; i++) {
		struct verdict *v = &r->verdicts[i];

		rank = v->run == run ? rank : 0;
		run = v->run;
		v->rank = rank + 1;
		rc = row_keep(r->forest, TABLE_VERDICT, v, e);
		memset(v, 0, sizeof *v); /* its texts were taken over or freed */
		if (rc == 0) {
			rank++;
			r->ret->verdicts++;
		} else if (rc == ERR_INPUT) {
			r->ret->orphans++;
			rc = 0;
		}
	}
	return rc;
}

static void
count(struct salvage *r)
{
	const struct forest_changes *c;
	struct run *run;
	uint64_t at = 0;

	forest_touch_all(r->forest);
	c = forest_changes(r->forest);
	r->ret->runs = c->nruns;
	r->ret->hypotheses = c->nhypotheses;
	r->ret->switches = c->nswitched;
	r->ret->evidence = c->nevidence;
	r->ret->audits = c->naudit;
	while ((run = forest_run_next(r->forest, &at)) != NULL) {
		const struct verdict *first = forest_verdict(r->forest, run->id, 1);
		const struct hypothesis *h = forest_get(r->forest, run->verdict);

		if (h == NULL || h->run != run->id)
			run->verdict = first != NULL ? first->hypothesis : 0;
	}
}

static int
read_all(struct salvage *r, struct err *e)
{
	int rc = 0;

	for (enum store_table t = 0; t < TABLES && rc == 0; t++)
		if (store_tables[t].since <= r->version) {
			rc = read_table(r, t, e);
			if (rc == 0 && t == TABLE_VERDICT)
				rc = keep_verdicts(r, e);
		}
	if (rc < 0)
		return rc;
	count(r);
	return r->ret->runs + r->ret->audits > 0
	           ? 0
	           : err_set(e, ERR_STORE, "%s: no row of it can be read", r->from);
}

static int
write_new(struct salvage *r, const char *to, struct err *e)
{
	static const char *const endings[] = { "", "-wal", "-shm", "-journal", ".lock" };
	struct store *s = NULL;
	int rc = store_open(&s, to, e);
	char *name;

	if (rc == 0)
		rc = store_commit(s, r->forest, e);
	store_close(s);
	for (size_t i = rc < 0 ? 0 : 4; i < sizeof endings / sizeof endings[0]; i++)
		if (asprintf(&name, "%s%s", to, endings[i]) >= 0) {
			unlink(name);
			free(name);
		}
	return rc;
}

static void
salvage_release(struct salvage *r)
{
	static const char *const endings[] = { "", "-wal", "-shm", "-journal" };
	char *name;

	sqlite3_close(r->source.db);
	for (size_t i = 0; r->copied && i < sizeof endings / sizeof endings[0]; i++)
		if (asprintf(&name, "%s%s", r->copy, endings[i]) >= 0) {
			unlink(name);
			free(name);
		}
	for (size_t i = 0; i < r->nverdicts; i++)
		verdict_release(&r->verdicts[i]);
	free(r->verdicts);
	free(r->copy);
	free(r->copy_wal);
	forest_free(r->forest);
}

int
store_salvage(const char *from, const char *to, struct salvaged *ret, struct err *e)
{
	struct salvage r = { .from = from, .ret = ret, .forest = forest_new() };
	int rc;

	memset(ret, 0, sizeof *ret);
	if (r.forest == NULL)
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", from);
	else if ((rc = make_copy(&r, to, e)) == 0 && (rc = open_copy(&r, e)) == 0 &&
		 (rc = read_all(&r, e)) == 0)
		rc = write_new(&r, to, e);
	salvage_release(&r);
	return rc;
}
