/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The forest in SQLite. Write-ahead log and synchronous=FULL: what was committed
 * outlives the process and the power. One table of columns for each struct makes
 * the statements and carries the values both ways.
 *
 * 64-bit ids are kept as SQLite's signed integers with the same bits.
 */
#define _GNU_SOURCE
#include "forest/forest.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "forest/database.h"

struct store {
	char *path;
	int lock;		/* open on path.lock while the store is ours */
	sqlite3 *db;
	sqlite3_stmt *put_run, *put_hypothesis, *put_switched;
	bool loaded;		/* else ids might begin again over rows that are there */
};

/* ---- the schema: a step for each version; a step that was released is never changed ---- */

static const char *const steps[] = {
	"CREATE TABLE run ("
	" id INTEGER PRIMARY KEY, type TEXT NOT NULL, strategy TEXT NOT NULL, seed INTEGER NOT NULL,"
	" state INTEGER NOT NULL, verdict INTEGER REFERENCES hypothesis DEFERRABLE INITIALLY DEFERRED,"
	" words TEXT NOT NULL, cycles INTEGER NOT NULL, tracepoints INTEGER NOT NULL,"
	" tracepoints_all INTEGER NOT NULL, begun_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL) STRICT;"
	"CREATE TABLE hypothesis ("
	" id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,"
	" parent INTEGER REFERENCES hypothesis DEFERRABLE INITIALLY DEFERRED,"
	" cycle INTEGER NOT NULL, state INTEGER NOT NULL, presence INTEGER NOT NULL,"
	" tracepoint TEXT NOT NULL, edge_from TEXT NOT NULL, edge_to TEXT NOT NULL, group_shape TEXT NOT NULL,"
	" group_key_a INTEGER NOT NULL, group_key_b INTEGER NOT NULL, traces INTEGER NOT NULL,"
	" mean_ns REAL, cv REAL, share REAL, share_low REAL, share_high REAL, latency_share REAL,"
	" settled_traces INTEGER NOT NULL, settled_share REAL, settled_low REAL, settled_high REAL,"
	" \"key\" TEXT NOT NULL, key_r REAL, key_p REAL, key_n INTEGER NOT NULL,"
	" exemplar_slow INTEGER NOT NULL, exemplar_fast INTEGER NOT NULL,"
	" made_ns INTEGER NOT NULL, settled_ns INTEGER NOT NULL) STRICT;"
	"CREATE INDEX hypothesis_run ON hypothesis (run);"
	"CREATE TABLE switched ("
	" run INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,"
	" hypothesis INTEGER REFERENCES hypothesis DEFERRABLE INITIALLY DEFERRED,"
	" cycle INTEGER NOT NULL, \"on\" INTEGER NOT NULL, tracepoint TEXT NOT NULL, why TEXT NOT NULL,"
	" when_ns INTEGER NOT NULL) STRICT;"
	"CREATE INDEX switched_run ON switched (run);"
	"CREATE INDEX switched_tracepoint ON switched (tracepoint);",
};

enum { SCHEMA = sizeof steps / sizeof steps[0] };

/* ---- columns ---- */

enum kind { U64, U32, REF, FLAG, CHAR, REAL, TEXT };	/* REF: 0 is NULL; REAL: not a number is NULL */

struct column {
	const char *name;
	enum kind kind;
	size_t offset;
};

#define RUN(name, kind, member) { name, kind, offsetof(struct run, member) }
static const struct column run_columns[] = {
	RUN("id", U64, id), RUN("type", TEXT, type), RUN("strategy", TEXT, strategy), RUN("seed", U64, seed),
	RUN("state", U32, state), RUN("verdict", REF, verdict), RUN("words", TEXT, words),
	RUN("cycles", U32, cycles), RUN("tracepoints", U32, tracepoints), RUN("tracepoints_all", U32, tracepoints_all),
	RUN("begun_ns", U64, begun.ns), RUN("ended_ns", U64, ended.ns),
};

#define HYP(name, kind, member) { name, kind, offsetof(struct hypothesis, member) }
static const struct column hypothesis_columns[] = {
	HYP("id", U64, id), HYP("run", U64, run), HYP("parent", REF, parent), HYP("cycle", U32, cycle),
	HYP("state", U32, state), HYP("presence", CHAR, presence), HYP("tracepoint", TEXT, tracepoint),
	HYP("edge_from", TEXT, edge_from), HYP("edge_to", TEXT, edge_to), HYP("group_shape", TEXT, group_shape),
	HYP("group_key_a", U64, group_key[0]), HYP("group_key_b", U64, group_key[1]), HYP("traces", U64, traces),
	HYP("mean_ns", REAL, mean_ns), HYP("cv", REAL, cv), HYP("share", REAL, share),
	HYP("share_low", REAL, share_low), HYP("share_high", REAL, share_high),
	HYP("latency_share", REAL, latency_share), HYP("settled_traces", U64, settled_traces),
	HYP("settled_share", REAL, settled_share), HYP("settled_low", REAL, settled_low),
	HYP("settled_high", REAL, settled_high), HYP("\"key\"", TEXT, key), HYP("key_r", REAL, key_r),
	HYP("key_p", REAL, key_p), HYP("key_n", U32, key_n), HYP("exemplar_slow", U64, exemplar_slow),
	HYP("exemplar_fast", U64, exemplar_fast), HYP("made_ns", U64, made.ns), HYP("settled_ns", U64, settled.ns),
};

#define SWI(name, kind, member) { name, kind, offsetof(struct switched, member) }
static const struct column switched_columns[] = {
	SWI("run", REF, run), SWI("hypothesis", REF, hypothesis), SWI("cycle", U32, cycle), SWI("\"on\"", FLAG, on),
	SWI("tracepoint", TEXT, tracepoint), SWI("why", TEXT, why), SWI("when_ns", U64, when.ns),
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
bind(sqlite3_stmt *q, int i, const struct column *c, const void *row)
{
	const char *at = (const char *)row + c->offset;
	const char *text;

	switch (c->kind) {
	case U64:
		sqlite3_bind_int64(q, i, *(const int64_t *)at);
		break;
	case U32:
		sqlite3_bind_int64(q, i, *(const uint32_t *)at);
		break;
	case REF:
		if (*(const uint64_t *)at == 0)
			sqlite3_bind_null(q, i);
		else
			sqlite3_bind_int64(q, i, *(const int64_t *)at);
		break;
	case FLAG:
		sqlite3_bind_int(q, i, *(const bool *)at);
		break;
	case CHAR:
		sqlite3_bind_int(q, i, *(const unsigned char *)at);
		break;
	case REAL:
		sqlite3_bind_double(q, i, *(const double *)at);
		break;
	case TEXT:
		text = *(const char *const *)at;
		sqlite3_bind_text(q, i, text != NULL ? text : "", -1, SQLITE_STATIC);
		break;
	}
}

static int
write_row(struct store *s, sqlite3_stmt *q, const struct column *columns, size_t n, const void *row, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		bind(q, (int)i + 1, &columns[i], row);
	if (sqlite3_step(q) != SQLITE_DONE)
		rc = database_err(e, s->db, s->path);
	sqlite3_reset(q);
	sqlite3_clear_bindings(q);
	return rc;
}

/* false: out of memory for a text. */
static bool
read_column(sqlite3_stmt *q, int i, const struct column *c, void *row)
{
	char *at = (char *)row + c->offset;

	switch (c->kind) {
	case U64:
	case REF:
		*(int64_t *)at = sqlite3_column_int64(q, i);
		break;
	case U32:
		*(uint32_t *)at = (uint32_t)sqlite3_column_int64(q, i);
		break;
	case FLAG:
		*(bool *)at = sqlite3_column_int(q, i) != 0;
		break;
	case CHAR:
		*at = (char)sqlite3_column_int(q, i);
		break;
	case REAL:
		*(double *)at = sqlite3_column_type(q, i) == SQLITE_NULL ? NAN : sqlite3_column_double(q, i);
		break;
	case TEXT:
		return hypothesis_text((char **)at, (const char *)sqlite3_column_text(q, i));
	}
	return true;
}

static bool
read_row(sqlite3_stmt *q, const struct column *columns, size_t n, void *row)
{
	bool ok = true;

	for (size_t i = 0; i < n; i++)
		ok = read_column(q, (int)i, &columns[i], row) && ok;
	return ok;
}

static void
names(struct buf *b, const struct column *columns, size_t n, const char *before)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%s%s", i > 0 ? ", " : "", before, columns[i].name);
}

/* update: the first column is the row's id; a row with it is replaced in place. */
static int
prepare_put(struct store *s, const char *table, const struct column *columns, size_t n, bool update,
    sqlite3_stmt **ret, struct err *e)
{
	struct buf b = { 0 };
	int rc;

	buf_printf(&b, "INSERT INTO %s (", table);
	names(&b, columns, n, "");
	buf_printf(&b, ") VALUES (?");
	for (size_t i = 1; i < n; i++)
		buf_printf(&b, ", ?");
	buf_printf(&b, update ? ") ON CONFLICT (id) DO UPDATE SET " : ")");
	for (size_t i = 1; update && i < n; i++)
		buf_printf(&b, "%s%s = excluded.%s", i > 1 ? ", " : "", columns[i].name, columns[i].name);
	buf_u8(&b, 0);
	rc = b.failed ? err_set(e, ERR_MEMORY, "%s: out of memory", s->path) :
	    database_prepare(s->db, s->path, (const char *)b.data, ret, e);
	buf_release(&b);
	return rc;
}

/* ---- opening ---- */

static int
lock_err(const char *path, struct err *e)
{
	if (errno == ENOSPC || errno == EDQUOT)
		return err_set(e, ERR_FULL, "%s: no space left on its disk; free some", path);
	return err_set(e, ERR_STORE, "%s.lock: %s; does its folder exist, and may it be written?", path, strerror(errno));
}

static int
locked_by(const char *path, int fd, struct err *e)
{
	char pid[24] = { 0 };

	if (pread(fd, pid, sizeof pid - 1, 0) <= 0)
		snprintf(pid, sizeof pid, "not known");
	pid[strcspn(pid, "\n")] = '\0';
	return err_set(e, ERR_BUSY, "%s: another controller has it (pid %s); stop that one, or name another database",
	    path, pid);
}

/*
 * Not SQLite's own lock: operators may look into the database while it is ours.
 * A lock of the open file, so that it goes with the last descriptor however the
 * process ends, and closing another descriptor of the same file leaves it.
 */
static int
lock(struct store *s, const char *real, struct err *e)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path = NULL, pid[24];
	int len = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());

	if (asprintf(&path, "%s.lock", real) < 0)
		return err_set(e, ERR_MEMORY, "%s: out of memory", s->path);
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	free(path);
	if (s->lock < 0)
		return lock_err(s->path, e);
	if (fcntl(s->lock, F_OFD_SETLK, &whole) < 0)
		return errno == EAGAIN || errno == EACCES ? locked_by(s->path, s->lock, e) : lock_err(s->path, e);
	if (ftruncate(s->lock, 0) < 0 || pwrite(s->lock, pid, (size_t)len, 0) != len)
		return lock_err(s->path, e);
	return 0;
}

static int
step_up(struct store *s, int version, struct err *e)
{
	char stamp[96];
	int rc = database_exec(s->db, s->path, "BEGIN IMMEDIATE", e);

	if (rc < 0)
		return rc;
	snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", DATABASE_FOREST,
	    version + 1);
	if ((rc = database_exec(s->db, s->path, steps[version], e)) < 0 ||
	    (rc = database_exec(s->db, s->path, stamp, e)) < 0)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* Nothing is written before it is known to be ours. */
static int
open_database(struct store *s, struct err *e)
{
	int version, rc;

	if (sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
		return database_err(e, s->db, s->path);
	sqlite3_busy_timeout(s->db, 2000);	/* somebody who looks into it */
	if (sqlite3_db_readonly(s->db, "main") == 1)
		return err_set(e, ERR_STORE, "%s: may not be written; change its permissions, or name another file", s->path);
	if ((rc = database_identify(s->db, s->path, "hypothesis forest", DATABASE_FOREST, SCHEMA, &version, e)) < 0 ||
	    (rc = database_check(s->db, s->path, e)) < 0 ||
	    (rc = database_exec(s->db, s->path, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	    "PRAGMA foreign_keys = ON", e)) < 0)
		return rc;
	for (; version < SCHEMA && rc == 0; version++)
		rc = step_up(s, version, e);
	return rc;
}

static int
prepare(struct store *s, struct err *e)
{
	int64_t rows = 0;
	int rc;

	if ((rc = database_integer(s->db, s->path, "SELECT count(*) FROM (SELECT 1 FROM run LIMIT 1)", &rows, e)) < 0)
		return rc;
	s->loaded = rows == 0;
	if ((rc = prepare_put(s, "run", run_columns, COUNT(run_columns), true, &s->put_run, e)) < 0 ||
	    (rc = prepare_put(s, "hypothesis", hypothesis_columns, COUNT(hypothesis_columns), true, &s->put_hypothesis,
	    e)) < 0)
		return rc;
	return prepare_put(s, "switched", switched_columns, COUNT(switched_columns), false, &s->put_switched, e);
}

int
store_open(struct store **ret, const char *path, struct err *e)
{
	struct store *s = calloc(1, sizeof *s);
	char *real;
	int rc;

	if (s == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	s->lock = -1;
	real = realpath(path, NULL);	/* two names of one file are one database, with one lock */
	if ((s->path = strdup(path)) == NULL)
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", path);
	else if ((rc = lock(s, real != NULL ? real : path, e)) == 0 && (rc = open_database(s, e)) == 0)
		rc = prepare(s, e);
	free(real);
	if (rc < 0) {
		store_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void
store_close(struct store *s)
{
	if (s == NULL)
		return;
	sqlite3_finalize(s->put_run);
	sqlite3_finalize(s->put_hypothesis);
	sqlite3_finalize(s->put_switched);
	sqlite3_close(s->db);
	if (s->lock >= 0)
		close(s->lock);
	free(s->path);
	free(s);
}

/* ---- writing ---- */

static int
write_changes(struct store *s, const struct forest_changes *c, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < c->nruns && rc == 0; i++)
		rc = write_row(s, s->put_run, run_columns, COUNT(run_columns), c->runs[i], e);
	for (uint32_t i = 0; i < c->nhypotheses && rc == 0; i++)
		rc = write_row(s, s->put_hypothesis, hypothesis_columns, COUNT(hypothesis_columns), c->hypotheses[i], e);
	for (uint32_t i = 0; i < c->nswitched && rc == 0; i++)
		rc = write_row(s, s->put_switched, switched_columns, COUNT(switched_columns), &c->switched[i], e);
	return rc;
}

int
store_commit(struct store *s, struct forest *f, struct err *e)
{
	const struct forest_changes *c = forest_changes(f);
	int rc;

	if (c->nruns + c->nhypotheses + c->nswitched == 0)
		return 0;
	if (!s->loaded)
		return err_set(e, ERR_STORE, "%s: holds diagnoses that were not loaded, and would be written over", s->path);
	if ((rc = database_exec(s->db, s->path, "BEGIN IMMEDIATE", e)) < 0)
		return rc;
	if ((rc = write_changes(s, c, e)) < 0 || (rc = database_exec(s->db, s->path, "COMMIT", e)) < 0) {
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		return rc;
	}
	forest_written(f);
	return 0;
}

/* ---- reading ---- */

static int
put_run(struct store *s, sqlite3_stmt *q, struct forest *f, struct err *e)
{
	struct run r = { 0 };
	int rc;

	if (!read_row(q, run_columns, COUNT(run_columns), &r))
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", s->path);
	else if ((rc = forest_put_run(f, &r, e)) == 0)
		return 0;
	free(r.type);
	free(r.strategy);
	free(r.words);
	return rc;
}

static int
put_hypothesis(struct store *s, sqlite3_stmt *q, struct forest *f, struct err *e)
{
	struct hypothesis h = { 0 };
	int rc;

	if (!read_row(q, hypothesis_columns, COUNT(hypothesis_columns), &h))
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", s->path);
	else if ((rc = forest_put(f, &h, e)) == 0)
		return 0;
	hypothesis_release(&h);
	return rc;
}

/* A row that no Hone would have written is damage, as is a page that SQLite cannot read. */
static int
read_rows(struct store *s, sqlite3_stmt *q, int (*put)(struct store *, sqlite3_stmt *, struct forest *, struct err *),
    struct forest *f, struct err *e)
{
	int rc = 0, step;
	struct err why;

	while ((step = sqlite3_step(q)) == SQLITE_ROW && rc == 0)
		rc = put(s, q, f, &why);
	if (rc == ERR_INPUT)
		return err_set(e, ERR_STORE, "%s: is damaged (%s); put a copy in its place, or move it away to begin anew",
		    s->path, why.text);
	if (rc < 0)
		return err_set(e, rc, "%s", why.text);
	return step == SQLITE_DONE ? 0 : database_err(e, s->db, s->path);
}

static int
load(struct store *s, struct forest *f, const char *table, const struct column *columns, size_t n, const char *where,
    int64_t since_ns, int (*put)(struct store *, sqlite3_stmt *, struct forest *, struct err *), struct err *e)
{
	struct buf b = { 0 };
	sqlite3_stmt *q = NULL;
	int rc;

	buf_printf(&b, "SELECT ");
	names(&b, columns, n, "it.");
	buf_printf(&b, " FROM %s it %s ORDER BY it.id", table, where);
	buf_u8(&b, 0);
	rc = b.failed ? err_set(e, ERR_MEMORY, "%s: out of memory", s->path) :
	    database_prepare(s->db, s->path, (const char *)b.data, &q, e);
	buf_release(&b);
	if (rc == 0) {
		sqlite3_bind_int64(q, 1, since_ns);
		rc = read_rows(s, q, put, f, e);
	}
	sqlite3_finalize(q);
	return rc;
}

int
store_load(struct store *s, struct forest *f, unsigned days, struct err *e)
{
	const int64_t day_ns = 86400000000000, century = 36525;
	int64_t since_ns = days == 0 || days > century ? INT64_MIN : clock_wall().ns - days * day_ns;
	int64_t run = 0, hypothesis = 0;
	int rc;

	if ((rc = load(s, f, "run", run_columns, COUNT(run_columns), "WHERE it.begun_ns >= ? OR it.ended_ns = 0", since_ns,
	    put_run, e)) < 0 ||
	    (rc = load(s, f, "hypothesis", hypothesis_columns, COUNT(hypothesis_columns),
	    "JOIN run ON run.id = it.run WHERE run.begun_ns >= ? OR run.ended_ns = 0", since_ns, put_hypothesis, e)) < 0 ||
	    (rc = database_integer(s->db, s->path, "SELECT max(id) FROM run", &run, e)) < 0 ||
	    (rc = database_integer(s->db, s->path, "SELECT max(id) FROM hypothesis", &hypothesis, e)) < 0)
		return rc;
	forest_continue(f, (uint64_t)run, (uint64_t)hypothesis);
	s->loaded = true;
	return 0;
}
