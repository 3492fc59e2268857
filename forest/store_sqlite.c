/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The forest in SQLite. With the write-ahead log and synchronous=FULL a committed transaction survives
 * the end of the process and a power failure.
 */
#define _GNU_SOURCE
#include "forest/store_inside.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the schema: one step for each version; a released step is never changed ---- */

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
	"ALTER TABLE run ADD COLUMN tracepoints_most INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN requests INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN effort INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN version TEXT NOT NULL DEFAULT '';"
	"CREATE INDEX run_type ON run (type);"
	"CREATE INDEX run_ended ON run (ended_ns);"
	"ALTER TABLE hypothesis ADD COLUMN cost_ns REAL;"
	"ALTER TABLE hypothesis ADD COLUMN separation REAL;"
	"ALTER TABLE hypothesis ADD COLUMN why TEXT NOT NULL DEFAULT '';"
	"CREATE TABLE verdict ("
	" hypothesis INTEGER PRIMARY KEY REFERENCES hypothesis DEFERRABLE INITIALLY DEFERRED,"
	" run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,"
	" rank INTEGER NOT NULL, kind INTEGER NOT NULL, problem INTEGER NOT NULL,"
	" edge_from TEXT NOT NULL, edge_to TEXT NOT NULL, path TEXT NOT NULL, tracepoint TEXT NOT NULL,"
	" words TEXT NOT NULL, traces INTEGER NOT NULL, confidence REAL, mean_ns REAL, cv REAL,"
	" share REAL, share_low REAL, share_high REAL, latency_share REAL, probability REAL, cost_ns REAL,"
	" cv_now REAL, cv_then REAL, cv_then_low REAL, cv_then_high REAL, p50_then_ns REAL,"
	" p95_now_ns REAL, p95_then_ns REAL, p99_now_ns REAL, p99_then_ns REAL,"
	" \"key\" TEXT NOT NULL, key_r REAL, key_p REAL, key_n INTEGER NOT NULL,"
	" slowest_high INTEGER NOT NULL, slowest_low INTEGER NOT NULL, slowest_ns INTEGER NOT NULL,"
	" fastest_high INTEGER NOT NULL, fastest_low INTEGER NOT NULL, fastest_ns INTEGER NOT NULL,"
	" when_ns INTEGER NOT NULL) STRICT;"
	"CREATE INDEX verdict_run ON verdict (run, rank);"
	"CREATE TABLE evidence ("
	" run INTEGER NOT NULL,"
	" hypothesis INTEGER NOT NULL REFERENCES hypothesis DEFERRABLE INITIALLY DEFERRED,"
	" trace_high INTEGER NOT NULL, trace_low INTEGER NOT NULL,"
	" total_ns INTEGER NOT NULL, edge_ns INTEGER NOT NULL) STRICT;"
	/* While a deferred reference is open, as run.verdict is, SQLite searches every new row's
	   id in all columns that refer to its table. */
	"CREATE INDEX run_verdict ON run (verdict);"
	"CREATE INDEX hypothesis_parent ON hypothesis (parent);"
	"CREATE INDEX switched_hypothesis ON switched (hypothesis);"
	"CREATE INDEX evidence_hypothesis ON evidence (hypothesis);",
	"ALTER TABLE run ADD COLUMN \"by\" TEXT NOT NULL DEFAULT '';"
	/* audit.run is not a reference: audit rows outlive pruned runs. */
	"CREATE TABLE audit ("
	" when_ns INTEGER NOT NULL, uid INTEGER NOT NULL, user TEXT NOT NULL, pid INTEGER NOT NULL,"
	" asked TEXT NOT NULL, outcome INTEGER NOT NULL, run INTEGER, times INTEGER NOT NULL,"
	" words TEXT NOT NULL) STRICT;"
	"CREATE INDEX audit_when ON audit (when_ns);",
	/* Fields in place of sentences. The columns words and why keep what older versions wrote;
	   they are empty in new rows, except audit.words, which has errors. */
	"ALTER TABLE run ADD COLUMN reason INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN subject TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE hypothesis ADD COLUMN reason INTEGER NOT NULL DEFAULT 0;"
	"UPDATE hypothesis AS it SET reason = " BEFORE_4_HYPOTHESIS_REASON " WHERE why <> '';"
	"ALTER TABLE switched ADD COLUMN reason INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE switched ADD COLUMN subject TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE audit ADD COLUMN reason INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN by_latency INTEGER NOT NULL DEFAULT 0;"
	"UPDATE verdict AS it SET by_latency = " BEFORE_4_BY_LATENCY ";"
	"ALTER TABLE verdict ADD COLUMN effective_traces REAL;"
	"ALTER TABLE verdict ADD COLUMN separation REAL;"
	"ALTER TABLE verdict ADD COLUMN slow_with INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN position INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN positions INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN loop_back INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN unlearned INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN unlearned_service TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN over_budget INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN preload_over_budget INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN preload INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN above_from TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN above_to TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN call TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN object TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN object_share REAL;",
	/* A verdict is of all requests that the search began with. */
	"ALTER TABLE verdict ADD COLUMN passing INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN passes REAL;"
	"ALTER TABLE verdict ADD COLUMN mistake TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN mistake_at TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN mistake_to TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN mistake_count INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN mistake_of INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN ended_programs TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN unlearned_names TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN handed_over INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN wait_cause INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN wait_share REAL;"
	"ALTER TABLE verdict ADD COLUMN wait_share_low REAL;"
	"ALTER TABLE verdict ADD COLUMN wait_share_high REAL;"
	"ALTER TABLE verdict ADD COLUMN wait_type TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN wait_unit TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN wait_from_too INTEGER NOT NULL DEFAULT 0;"
	/* A verdict is worth mending by its effect. */
	"ALTER TABLE verdict ADD COLUMN effect REAL;"
	"ALTER TABLE run ADD COLUMN effect_min REAL;"
	/* Actions of Hone as fields. user, asked and words keep what older versions wrote; words has
	   errors, too. */
	"ALTER TABLE audit ADD COLUMN actor INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE audit ADD COLUMN action INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE audit ADD COLUMN node TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE audit ADD COLUMN count INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE audit ADD COLUMN cause INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE audit ADD COLUMN queue INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE audit ADD COLUMN fill REAL;"
	"ALTER TABLE audit ADD COLUMN types TEXT NOT NULL DEFAULT '';"
	"UPDATE audit AS it SET actor = " BEFORE_5_AUDIT_ACTOR ", action = " BEFORE_5_AUDIT_ACTION
	", node = " BEFORE_5_AUDIT_NODE ", count = " BEFORE_5_AUDIT_COUNT ";",
	/* The threads that requests wait for. */
	"ALTER TABLE verdict ADD COLUMN pool INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN pool_threads INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN pool_utilisation REAL;"
	"ALTER TABLE verdict ADD COLUMN pool_service_ns REAL;"
	"ALTER TABLE verdict ADD COLUMN pool_service_cv REAL;"
	"ALTER TABLE verdict ADD COLUMN pool_wait_ns REAL;"
	"ALTER TABLE verdict ADD COLUMN pool_expected_ns REAL;"
	/* ... and what is left of a problem, which is searched, too. */
	"ALTER TABLE run ADD COLUMN causes_max INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN \"left\" REAL;"
	/* ... and the tail of a request type. */
	"ALTER TABLE run ADD COLUMN tail_quantile REAL;"
	/* ... and when a problem was there that is not any more. */
	"ALTER TABLE run ADD COLUMN problem_from_ns INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN problem_to_ns INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN tail_quantile REAL;"
	"ALTER TABLE verdict ADD COLUMN tail_ns REAL;"
	"ALTER TABLE verdict ADD COLUMN tail_carries REAL;"
	"ALTER TABLE verdict ADD COLUMN tail_requests INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN tail_key TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN tail_value TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN tail_has INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN tail_with REAL;"
	"ALTER TABLE verdict ADD COLUMN tail_without REAL;"
	"ALTER TABLE verdict ADD COLUMN tail_p REAL;"
	/* ... and what threads did below the tracepoints of an edge. */
	"ALTER TABLE verdict ADD COLUMN below_requests INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN below_top TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN below_states TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN below_places TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN below_holders TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN below_wakers TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN below_missing TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN below_differential TEXT NOT NULL DEFAULT '';",
	/* What was there before is no cause of what is there now. */
	"ALTER TABLE run ADD COLUMN healthy INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN baseline TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE run ADD COLUMN compared INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE verdict ADD COLUMN below_functions TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN below_held TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE verdict ADD COLUMN new_part REAL;"
	"ALTER TABLE verdict ADD COLUMN new_low REAL;"
	"ALTER TABLE verdict ADD COLUMN ground INTEGER NOT NULL DEFAULT 0;",
	/* Waits for threads are sure together. */
	"ALTER TABLE verdict ADD COLUMN pool_low REAL;",
};

_Static_assert(sizeof steps / sizeof steps[0] == STORE_SCHEMA, "a step for each version");

/* ---- errors ---- */

/* ERR_STORE, with the page if SQLite's text names one. */
static int
damaged(const char *path, const char *words, struct err *e)
{
	const char *page = words;

	while ((page = strcasestr(page, "page ")) != NULL && strspn(page + 5, "0123456789") == 0)
		page += 5;
	return err_set(e, ERR_STORE,
	    "%s: is damaged%s%.*s (%.120s); hone forest --salvage %s NEW recovers the readable rows, "
	    "or put a copy in its place",
	    path, page != NULL ? " at page " : "",
	    page != NULL ? (int)strspn(page + 5, "0123456789") : 0, page != NULL ? page + 5 : "",
	    words, path);
}

int
store_failed(struct store *s, int rc, struct err *e)
{
	if (rc == ERR_STORE && s->db != NULL && (sqlite3_errcode(s->db) & 0xff) == SQLITE_CORRUPT)
		return damaged(s->path, sqlite3_errmsg(s->db), e);
	return rc;
}

int
store_begin(struct store *s, struct err *e)
{
	return store_failed(s, database_exec(s->db, s->path, "BEGIN IMMEDIATE", e), e);
}

int
store_end(struct store *s, int rc, struct err *e)
{
	if (rc == 0)
		rc = store_failed(s, database_exec(s->db, s->path, "COMMIT", e), e);
	if (rc < 0)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* ---- opening ---- */

static int
lock_err(const char *path, struct err *e)
{
	if (errno == ENOSPC || errno == EDQUOT)
		return err_set(e, ERR_FULL, "%s: no space left on its disk; free some", path);
	return err_set(e, ERR_STORE, "%s.lock: %s; check that its folder exists and is writable",
	    path, strerror(errno));
}

static int
locked_by(const char *path, int fd, struct err *e)
{
	char pid[24] = { 0 };

	if (pread(fd, pid, sizeof pid - 1, 0) <= 0)
		snprintf(pid, sizeof pid, "not known");
	pid[strcspn(pid, "\n")] = '\0';
	return err_set(e, ERR_BUSY,
	    "%s: another controller has it (pid %s); stop that one, or name another database", path,
	    pid);
}

/*
 * Locks path.lock rather than the database, which operators may read meanwhile. It is a lock of the
 * open file description (F_OFD_SETLK): it ends with the last descriptor however the process ends, and
 * closing another descriptor of the same file does not end it.
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
		return errno == EAGAIN || errno == EACCES ? locked_by(s->path, s->lock, e)
		                                          : lock_err(s->path, e);
	if (ftruncate(s->lock, 0) < 0 || pwrite(s->lock, pid, (size_t)len, 0) != len)
		return lock_err(s->path, e);
	return 0;
}

/* Migrates from `version` to the next, in one transaction. */
static int
step_up(struct store *s, int version, struct err *e)
{
	char stamp[96];
	int rc = store_begin(s, e);

	if (rc < 0)
		return rc;
	snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d",
	    DATABASE_FOREST, version + 1);
	if ((rc = database_exec(s->db, s->path, steps[version], e)) == 0)
		rc = database_exec(s->db, s->path, stamp, e);
	return store_end(s, rc, e);
}

/*
 * Incremental vacuum lets pruning return space to the file system in small steps. A file that was
 * created without it is rewritten once; if there is no space for that, or another process reads it,
 * it stays as it is, and its free pages are reused.
 */
static int
make_shrinkable(struct store *s, struct err *e)
{
	int64_t mode;
	int rc = database_integer(s->db, s->path, "PRAGMA auto_vacuum", &mode, e);

	if (rc == 0 && mode != 2)
		sqlite3_exec(s->db, "PRAGMA auto_vacuum = INCREMENTAL; VACUUM", NULL, NULL, NULL);
	return rc;
}

static int
check_whole(struct store *s, struct err *e)
{
	sqlite3_stmt *q = NULL;
	char words[160] = "";
	int rc = database_prepare(s->db, s->path, "PRAGMA quick_check(1)", &q, e);

	if (rc == 0 && sqlite3_step(q) != SQLITE_ROW)
		rc = database_err(e, s->db, s->path);
	else if (rc == 0)
		snprintf(words, sizeof words, "%s", (const char *)sqlite3_column_text(q, 0));
	rc = store_failed(s, rc, e);
	sqlite3_finalize(q);
	for (char *c = words; *c != '\0'; c++)
		*c = *c == '\n' ? ' ' : *c;
	return rc == 0 && strcmp(words, "ok") != 0 ? damaged(s->path, words, e) : rc;
}

/* Writes nothing before the file is known to be a forest and undamaged. */
static int
open_database(struct store *s, struct err *e)
{
	int version, rc;

	if (sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
	    SQLITE_OK)
		return database_err(e, s->db, s->path);
	sqlite3_busy_timeout(s->db, 2000); /* other processes may read it */
	if (sqlite3_db_readonly(s->db, "main") == 1)
		return err_set(e, ERR_STORE,
		    "%s: is not writable; change its permissions, or name another file", s->path);
	if ((rc = database_identify(s->db, s->path, "hypothesis forest", DATABASE_FOREST,
		 STORE_SCHEMA, &version, e)) < 0 ||
	    (rc = check_whole(s, e)) < 0)
		return rc;
	if (version == 0) /* takes effect only in an empty database */
		sqlite3_exec(s->db, "PRAGMA auto_vacuum = INCREMENTAL", NULL, NULL, NULL);
	if ((rc = database_exec(s->db, s->path,
		 "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
		 "PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 4194304",
		 e)) < 0)
		return rc;
	for (; version < STORE_SCHEMA && rc == 0; version++)
		rc = step_up(s, version, e);
	return rc == 0 ? make_shrinkable(s, e) : rc;
}

static int
prepare(struct store *s, struct err *e)
{
	int64_t rows = 0;
	int rc = database_integer(
	    s->db, s->path, "SELECT count(*) FROM (SELECT 1 FROM run LIMIT 1)", &rows, e);

	s->loaded = rows == 0;
	for (enum store_table t = 0; t < TABLES && rc == 0; t++)
		rc = row_prepare_put(s, t, e);
	return rc;
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
	real = realpath(path, NULL); /* one lock for all names of the file */
	if ((s->path = strdup(path)) == NULL)
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", path);
	else if ((rc = lock(s, real != NULL ? real : path, e)) == 0 &&
		 ((rc = open_database(s, e)) < 0 || (rc = prepare(s, e)) < 0))
		rc = store_failed(s, rc, e);
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
	for (enum store_table t = 0; t < TABLES; t++)
		sqlite3_finalize(s->put[t]);
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
		rc = row_put(s, TABLE_RUN, c->runs[i], e);
	for (uint32_t i = 0; i < c->nhypotheses && rc == 0; i++)
		rc = row_put(s, TABLE_HYPOTHESIS, c->hypotheses[i], e);
	for (uint32_t i = 0; i < c->nverdicts && rc == 0; i++)
		rc = row_put(s, TABLE_VERDICT, c->verdicts[i], e);
	for (uint32_t i = 0; i < c->nswitched && rc == 0; i++)
		rc = row_put(s, TABLE_SWITCHED, &c->switched[i], e);
	for (uint32_t i = 0; i < c->nevidence && rc == 0; i++)
		rc = row_put(s, TABLE_EVIDENCE, &c->evidence[i], e);
	for (uint32_t i = 0; i < c->naudit && rc == 0; i++)
		rc = row_put(s, TABLE_AUDIT, &c->audit[i], e);
	return rc;
}

int
store_commit(struct store *s, struct forest *f, struct err *e)
{
	const struct forest_changes *c = forest_changes(f);
	int rc;

	if (c->nruns + c->nhypotheses + c->nverdicts + c->nswitched + c->nevidence + c->naudit == 0)
		return 0;
	if (!s->loaded)
		return err_set(e, ERR_STORE,
		    "%s: has diagnoses that were not loaded and would be overwritten", s->path);
	if ((rc = store_begin(s, e)) < 0)
		return rc;
	if ((rc = write_changes(s, c, e)) == 0 && s->notes)
		rc = store_write_place(s, &s->place, e);
	if ((rc = store_end(s, rc, e)) < 0)
		return rc;
	forest_written(f);
	return 0;
}

/* ---- reading ---- */

/* A row that the forest refuses is reported as damage, like a page that SQLite cannot read. */
static int
read_rows(struct store *s, sqlite3_stmt *q, enum store_table t, struct forest *f, struct err *e)
{
	union store_row row;
	struct err why;
	int rc = 0, step;

	while ((step = sqlite3_step(q)) == SQLITE_ROW && rc == 0) {
		memset(&row, 0, sizeof row);
		rc = row_read(q, t, &row) ? row_keep(f, t, &row, &why)
		                          : err_set(&why, ERR_MEMORY, "out of memory");
	}
	if (rc == ERR_INPUT)
		return damaged(s->path, why.text, e);
	if (rc < 0)
		return err_set(e, rc, "%s: %s", s->path, why.text);
	return step == SQLITE_DONE ? 0 : store_failed(s, database_err(e, s->db, s->path), e);
}

/* Runs since a time, active ones, and those that later ones are compared with. */
#define LOADED(run) "(" run ".begun_ns >= ?1 OR " run ".ended_ns = 0 OR " run ".baseline <> '')"

static int
load(struct store *s, struct forest *f, enum store_table t, int64_t since_ns, struct err *e)
{
	static const char *const which[TABLES] = {
		[TABLE_RUN] = "WHERE " LOADED("it") " ORDER BY it.id",
		[TABLE_HYPOTHESIS] = "JOIN run ON run.id = it.run WHERE " LOADED(
		    "run") " ORDER BY it.id",
		[TABLE_VERDICT] = "JOIN run ON run.id = it.run WHERE " LOADED(
		    "run") " ORDER BY it.run, it.rank",
		[TABLE_SWITCHED] =
		    "LEFT JOIN run ON run.id = it.run WHERE (it.run IS NULL AND it.when_ns >= ?1)"
		    " OR " LOADED("run") " ORDER BY it.rowid",
		[TABLE_EVIDENCE] = "JOIN run ON run.id = it.run WHERE " LOADED(
		    "run") " ORDER BY it.rowid",
		[TABLE_AUDIT] =
		    "WHERE it.when_ns >= ?1 AND it.rowid > (SELECT max(rowid) - ?2 FROM audit) ORDER BY it.rowid",
	};
	struct buf b = { 0 };
	sqlite3_stmt *q = NULL;
	int rc;

	row_select(&b, t, STORE_SCHEMA, "");
	buf_printf(&b, " %s", which[t]);
	buf_u8(&b, 0);
	rc = b.failed ? err_set(e, ERR_MEMORY, "%s: out of memory", s->path)
	              : database_prepare(s->db, s->path, (const char *)b.data, &q, e);
	buf_release(&b);
	if (rc == 0) {
		sqlite3_bind_int64(q, 1, since_ns);
		if (t == TABLE_AUDIT)
			sqlite3_bind_int64(q, 2, AUDIT_KEPT);
		rc = read_rows(s, q, t, f, e);
	}
	sqlite3_finalize(q);
	return rc;
}

int
store_load(struct store *s, struct forest *f, unsigned days, struct err *e)
{
	const int64_t day_ns = 86400000000000, century = 36525;
	int64_t since_ns = days == 0 || days > century ? INT64_MIN
	                                               : clock_wall().ns - days * day_ns;
	int64_t run = 0, hypothesis = 0;
	int rc = 0;

	for (enum store_table t = 0; t < TABLES && rc == 0; t++)
		rc = load(s, f, t, since_ns, e);
	if (rc < 0 ||
	    (rc = database_integer(s->db, s->path, "SELECT max(id) FROM run", &run, e)) < 0 ||
	    (rc = database_integer(
		 s->db, s->path, "SELECT max(id) FROM hypothesis", &hypothesis, e)) < 0)
		return store_failed(s, rc, e);
	forest_continue(f, (uint64_t)run, (uint64_t)hypothesis);
	s->loaded = true;
	return 0;
}
