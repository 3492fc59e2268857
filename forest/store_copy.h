/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A forest's database and a copy of it elsewhere: rows as bytes, a snapshot of all rows, and the place in a log up to which a database has
 * everything.
 *
 *	rows	row, row, ...
 *	row	table u8 (enum store_table) | length of the values uint | values, in the order of store_tables
 *	value	U64, REF, U32 uint | FLAG, CHAR u8 | REAL double, NAN: not known | TEXT text
 *
 * The schema of the writer stands beside the rows: columns that a later schema brought are missing in them, and get what an empty struct has.
 */
#ifndef FOREST_STORE_COPY_H
#define FOREST_STORE_COPY_H

#include "base/buf.h"
#include "forest/forest.h"

/* The schema that this Hone writes rows by. */
int store_schema(void);

/* ---- writing rows ---- */

/* Appends all rows of *c to *out. ERR_MEMORY. O(rows). */
int changes_encode(const struct forest_changes *c, struct buf *out, struct err *e);
/* The bytes of as many whole rows from the beginning as fit into max_bytes, of one at least; *nrows is their number. 0: there is none, or it is
 * malformed. O(rows). */
size_t rows_fitting(const uint8_t *rows, size_t len, size_t max_bytes, uint64_t *nrows);

/* All rows of a database as they are at this moment, whatever is committed meanwhile: it has a connection of its own, which only reads. */
struct store_snapshot;

/* ERR_STORE, ERR_BUSY, ERR_MEMORY. */
int store_snapshot_open(struct store_snapshot **ret, const char *path, struct err *e);
void store_snapshot_close(struct store_snapshot *s); /* NULL is fine */
/* Appends rows until there are max_bytes or more. 1: call again; 0: these were the last ones. Errors of SQLite. O(rows). */
int store_snapshot_next(struct store_snapshot *s, size_t max_bytes, struct buf *out, struct err *e);

/* ---- the place in the log ---- */

struct store_place { /* all zeroes: none */
	uint64_t term, run, number;
};

/* What the last transaction with a place has noted. */
int store_place(struct store *s, struct store_place *ret, struct err *e);
/* Each store_commit() from now on notes this place, in its transaction. */
void store_note_place(struct store *s, const struct store_place *p);

/* ---- the copy ---- */

/* Commits are not forced to the disk from here on, one by one: what a power failure takes is in the log. */
int store_relax(struct store *s, struct err *e);
/* Writes rows and the place in one transaction. ERR_INPUT: malformed, or a row that no forest has; ERR_VERSION: of a newer schema; errors of
 * SQLite. Nothing is written then. O(len). */
int store_put_rows(struct store *s, const void *rows, size_t len, int schema,
    const struct store_place *at, struct err *e);
/* All rows are replaced: begin, then rows, then end, in one transaction. The first time, what a database of no log has had is written to
 * PATH.before-log, which must not exist (ERR_STORE); until the end it is PATH.before-log.new. After an error call store_replace_undo(). */
int store_replace_begin(struct store *s, struct err *e);
int store_replace_rows(struct store *s, const void *rows, size_t len, int schema, struct err *e);
int store_replace_end(struct store *s, const struct store_place *at, struct err *e);
void store_replace_undo(struct store *s);

/* The bytes of any SQLite file as of one moment, with what is in its write-ahead log. ERR_MISSING: there is no such file; ERR_FULL: over
 * max_bytes; ERR_STORE: no database. O(size). */
int database_image(struct buf *ret, const char *path, size_t max_bytes, struct err *e);

#endif
