/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the store's files share: the connection, the schema with its tables, and
 * rows. One table of columns for each struct makes the statements and carries the
 * values both ways.
 */
#ifndef FOREST_STORE_INSIDE_H
#define FOREST_STORE_INSIDE_H

#include <sqlite3.h>

#include "base/buf.h"
#include "forest/database.h"
#include "forest/forest.h"

/* In the order in which they are written and read: each row's run, parent and hypothesis come
 * before it. */
enum table {
	TABLE_RUN,
	TABLE_HYPOTHESIS,
	TABLE_VERDICT,
	TABLE_SWITCHED,
	TABLE_EVIDENCE,
	TABLE_AUDIT,
	TABLES
};

enum kind {
	U64,
	U32,
	REF,
	FLAG,
	CHAR,
	REAL,
	TEXT
}; /* REF: 0 is NULL; REAL: not a number is NULL */

struct column {
	const char *name;
	enum kind kind;
	size_t offset;
	int since;          /* the schema that brought it */
	const char *before; /* SQL: what it is in a row of an older schema, from 2 on; NULL: null */
};

struct table_info {
	const char *name;
	const struct column *columns;
	unsigned ncolumns;
	int since;
	bool replaces; /* the first column is the row's id; writing one with it again replaces it in
	                  place */
	size_t size_bytes; /* of its struct */
};

extern const struct table_info store_tables[TABLES];
enum { STORE_SCHEMA = 4 }; /* the newest */

/* What schema 4 keeps as a number, from the text that older ones kept, where that is exact. `it`
 * names the table. */
#define BEFORE_4_HYPOTHESIS_REASON                                                    \
	"CASE it.why WHEN 'congestion' THEN 20 WHEN 'budget' THEN 21 WHEN 'stopped' " \
	"THEN 22 WHEN 'explored' THEN 23 ELSE 0 END"
#define BEFORE_4_BY_LATENCY "it.words GLOB '*%) of the latency of [0-9]* requests * lies between *'"

struct store {
	char *path;
	int lock; /* open on path.lock while the store is ours */
	sqlite3 *db;
	sqlite3_stmt *put[TABLES];
	bool loaded; /* else ids might begin again over rows that are there */
};

/* rc; when it is because SQLite found damage, with words that say so, and how what is left can be
 * saved. */
int store_failed(struct store *s, int rc, struct err *e);
/* BEGIN IMMEDIATE, and when rc is 0 COMMIT, else ROLLBACK; what went wrong. */
int store_begin(struct store *s, struct err *e);
int store_end(struct store *s, int rc, struct err *e);

/* ---- rows ---- */

int row_prepare_put(struct store *s, enum table t, struct err *e);
int row_put(struct store *s, enum table t, const void *row, struct err *e);
/* "SELECT its columns, and more, FROM it AS it" into b; columns that schema `version` does not have
 * are NULL. */
void row_select(struct buf *b, enum table t, int version, const char *more);
/* Into a struct that is all zeroes; its texts are the caller's. false: out of memory. */
bool row_read(sqlite3_stmt *q, enum table t, void *row);
/* Puts a row into the forest, which takes over its texts; on failure they are released. */
int row_keep(struct forest *f, enum table t, void *row, struct err *e);

#endif
