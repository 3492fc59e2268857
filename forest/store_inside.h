/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of the store share: the connection, the schema and the rows. A list of columns for
 * each struct makes the statements and converts the values in both directions.
 */
#ifndef FOREST_STORE_INSIDE_H
#define FOREST_STORE_INSIDE_H

#include <sqlite3.h>

#include "base/arena.h"
#include "base/buf.h"
#include "forest/database.h"
#include "forest/forest.h"
#include "forest/store_copy.h"

/* In the order of writing and reading: the rows that a row refers to come before it. */
enum store_table {
	TABLE_RUN,
	TABLE_HYPOTHESIS,
	TABLE_VERDICT,
	TABLE_SWITCHED,
	TABLE_EVIDENCE,
	TABLE_AUDIT,
	TABLES
};

/* REF: 0 is NULL; REAL: NAN is NULL. */
enum column_type { U64, U32, REF, FLAG, CHAR, REAL, TEXT };

struct column {
	const char *name;
	enum column_type type;
	size_t offset;
	int since;          /* the schema that brought it */
	const char *before; /* SQL: what it is in a row of an older schema, from 2 on; NULL: null */
};

struct table_info {
	const char *name;
	const struct column *columns;
	unsigned ncolumns;
	int since;
	bool replaces; /* its first column is the id; writing the same id again updates the row */
};

extern const struct table_info store_tables[TABLES];
enum { STORE_SCHEMA = 8 };

/* What schema 4 keeps as a number, from the text that older ones kept, where that is exact. `it`
 * names the table. */
#define BEFORE_4_HYPOTHESIS_REASON                                                    \
	"CASE it.why WHEN 'congestion' THEN 20 WHEN 'budget' THEN 21 WHEN 'stopped' " \
	"THEN 22 WHEN 'explored' THEN 23 ELSE 0 END"
#define BEFORE_4_BY_LATENCY "it.words GLOB '*%) of the latency of [0-9]* requests * lies between *'"

/* What schema 5 keeps as fields, from the texts that older ones kept. The texts stay. Of Hone's own
 * rows alone: users have a uid, or their question is JSON. */
#define BEFORE_5_AUDIT_OWN "it.uid = -1 AND it.pid = -1 AND it.asked NOT GLOB '{*'"
#define BEFORE_5_AUDIT_ACTOR                                                                  \
	"CASE WHEN NOT (" BEFORE_5_AUDIT_OWN ") THEN 0 WHEN it.user = 'the budget' THEN 1 "   \
	"WHEN it.user = 'full queues' THEN 2 WHEN it.user = 'learning' THEN 3 "               \
	"WHEN it.user = 'the lease' THEN 4 WHEN it.user = 'the controller' THEN 5 "           \
	"WHEN it.user GLOB 'agent ?*' AND it.asked = 'off: all that was added there' THEN 6 " \
	"WHEN it.user = 'several users' THEN 7 ELSE 0 END"
#define BEFORE_5_AUDIT_ACTION                                                                  \
	"CASE WHEN it.asked = 'connect' THEN 8 WHEN it.asked = 'connect as an agent' THEN 9 "  \
	"WHEN NOT (" BEFORE_5_AUDIT_OWN ") THEN 0 WHEN it.asked = 'off: a tracepoint' THEN 1 " \
	"WHEN it.asked = 'off: the newest tracepoints' THEN 2 "                                \
	"WHEN it.asked = 'off: all tracepoints' THEN 3 "                                       \
	"WHEN it.asked = 'off: all that it had added' THEN 4 "                                 \
	"WHEN it.asked = 'off: all that was added there' THEN 5 "                              \
	"WHEN it.asked GLOB 'off: [0-9]* added on agent ?*' THEN 6 "                           \
	"WHEN it.asked = 'stop' THEN 7 ELSE 0 END"
#define BEFORE_5_AUDIT_NODE                                                            \
	"CASE WHEN NOT (" BEFORE_5_AUDIT_OWN ") THEN '' "                              \
	"WHEN it.asked = 'off: all that was added there' AND it.user GLOB 'agent ?*' " \
	"THEN substr(it.user, 7) WHEN it.asked GLOB 'off: [0-9]* added on agent ?*' "  \
	"THEN substr(it.asked, instr(it.asked, ' added on agent ') + 16) ELSE '' END"
#define BEFORE_5_AUDIT_COUNT                                                                       \
	"CASE WHEN " BEFORE_5_AUDIT_OWN " AND it.asked GLOB 'off: [0-9]* added on agent ?*' THEN " \
	"min(CAST(substr(it.asked, 6) AS INTEGER), 4294967295) ELSE 0 END"

struct store {
	char *path;
	int lock; /* open on path.lock while the store is ours */
	sqlite3 *db;
	sqlite3_stmt *put[TABLES];
	bool loaded; /* else new ids could repeat those of rows that were not read */
	bool notes;  /* each commit notes `place`, and the table for it is there */
	struct store_place place;
	bool replaces; /* between store_replace_begin() and its end */
	bool kept;     /* its rows of no log are in PATH.before-log.new until then */
};

union store_row {
	struct run run;
	struct hypothesis hypothesis;
	struct verdict verdict;
	struct switched switched;
	struct evidence evidence;
	struct audit audit;
};

/* Returns rc; if SQLite has reported damage, e then says so and names the command that salvages. */
int store_failed(struct store *s, int rc, struct err *e);
/* BEGIN IMMEDIATE; and COMMIT if rc is 0, else ROLLBACK. Return rc or the error of SQLite. */
int store_begin(struct store *s, struct err *e);
int store_end(struct store *s, int rc, struct err *e);

/* In a transaction: notes the place. */
int store_write_place(struct store *s, const struct store_place *p, struct err *e);

/* ---- rows ---- */

/* Appends a row. Sticky like a buf. */
void row_encode(enum store_table t, const void *row, struct buf *out);
/* Reads the next row; its texts are in the arena. ERR_INPUT, ERR_MEMORY. */
int row_decode(struct reader *r, int schema, enum store_table *ret, union store_row *row,
    struct arena *a, struct err *e);
/* Whether a forest could have the row, whatever else it has. ERR_INPUT. */
int row_check(enum store_table t, const union store_row *row, struct err *e);
void row_release(enum store_table t, void *row); /* the texts of a row of row_read() */

int row_prepare_put(struct store *s, enum store_table t, struct err *e);
int row_put(struct store *s, enum store_table t, const void *row, struct err *e);
/* Appends "SELECT columns, more FROM table AS it" to b. A column that schema `version` does not have
 * is its `before`. */
void row_select(struct buf *b, enum store_table t, int version, const char *more);
/* Reads into a struct that is all zeroes; its texts are the caller's. False: out of memory. */
bool row_read(sqlite3_stmt *q, enum store_table t, void *row);
/* Puts a row into the forest, which takes over its texts; on failure they are freed. Errors of
 * forest_put_run() and the like. */
int row_keep(struct forest *f, enum store_table t, void *row, struct err *e);

#endif
