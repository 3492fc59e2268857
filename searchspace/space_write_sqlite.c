/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes the file of a space: this version, and the other versions from the existing file.
 * Labels are stored as texts, since their numbers are valid in one process only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "searchspace/space_file.h"

static const char *const tables[] = {
#define TABLE(name, columns, what) #name,
#include "searchspace/space_tables.tbl.h"
#undef TABLE
};
static const char *const schema =
#define TABLE(name, columns, what) "CREATE TABLE " #name " (" columns ") STRICT, WITHOUT ROWID;"
#include "searchspace/space_tables.tbl.h"
#undef TABLE
    ;

enum { TABLES = sizeof tables / sizeof tables[0] };
enum table {
#define TABLE(name, columns, what) TABLE_##name,
#include "searchspace/space_tables.tbl.h"
#undef TABLE
};

struct space_writer {
	const char *path; /* for error messages */
	sqlite3 *db;
	sqlite3_stmt *insert[TABLES];
	int64_t version;
	uint32_t *ids; /* [label]: its number in the file, or LABEL_NONE: not written yet */
	uint32_t nids, nplaces, nsteps, nlinks, nkeys;
};

/* ---- rows ---- */

static int
put(struct space_writer *f, enum table table, struct err *e)
{
	sqlite3_stmt *q = f->insert[table];
	int rc = sqlite3_step(q) == SQLITE_DONE ? 0 : database_err(e, f->db, f->path);

	sqlite3_reset(q);
	sqlite3_clear_bindings(q);
	return rc;
}

/* Binds the first columns of a row, all of them integers. */
static sqlite3_stmt *
row(struct space_writer *f, enum table table, int n, const int64_t *values)
{
	for (int i = 0; i < n; i++)
		sqlite3_bind_int64(f->insert[table], i + 1, values[i]);
	return f->insert[table];
}

#define ROW(f, table, ...)                                                       \
	row(f, table, (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), \
	    (int64_t[]){ __VA_ARGS__ })

/* Writes a label unless it was written before. Numbers are given in the order of first use. */
static int
write_label(struct space_writer *f, const struct labels *labels, uint32_t label, struct err *e)
{
	const struct label *l = labels_get(labels, label);
	int rc;

	if (f->ids[label] != LABEL_NONE)
		return 0;
	f->ids[label] = f->nids++;
	sqlite3_bind_text(
	    ROW(f, TABLE_label, f->version, f->ids[label]), 3, l->text, -1, SQLITE_STATIC);
	sqlite3_bind_int(f->insert[TABLE_label], 4, l->kind);
	rc = put(f, TABLE_label, e);
	for (uint32_t i = 0; i < l->nfields && rc == 0; i++) {
		sqlite3_bind_text(ROW(f, TABLE_field, f->version, f->ids[label], i), 4,
		    l->fields[i], -1, SQLITE_STATIC);
		rc = put(f, TABLE_field, e);
	}
	return rc;
}

static int
write_place(struct space_writer *f, const struct labels *labels, uint32_t type, uint32_t id,
    const struct vertex *s, struct err *e)
{
	const struct place *p = &s->place;
	sqlite3_stmt *q = f->insert[TABLE_place];
	int rc;

	if ((rc = write_label(f, labels, p->unit, e)) < 0 ||
	    (rc = write_label(f, labels, p->label, e)) < 0 ||
	    (p->span != LABEL_NONE && (rc = write_label(f, labels, p->span, e)) < 0))
		return rc;
	ROW(f, TABLE_place, f->version, id, type, f->ids[p->unit],
	    p->span != LABEL_NONE ? f->ids[p->span] : 0, f->ids[p->label], (int64_t)p->traces,
	    (int64_t)p->count);
	if (p->span == LABEL_NONE)
		sqlite3_bind_null(q, 5);
	sqlite3_bind_double(q, 9, p->offset_ns);
	sqlite3_bind_int64(q, 10, (int64_t)s->first);
	sqlite3_bind_int64(q, 11, s->first != 0 ? (int64_t)s->last : 0);
	return put(f, TABLE_place, e);
}

static int
write_key(struct space_writer *f, const struct graph_key *k, struct err *e)
{
	sqlite3_stmt *q = ROW(f, TABLE_place_key, f->version, f->nkeys++, f->nplaces + k->vertex,
	    k->field, k->type, (int64_t)k->count);
	uint8_t texts[KEY_TEXTS_MAX * 4];
	int n = 0;

	for (uint32_t i = 0; i < k->texts_cap; i++)
		for (int byte = 0; byte < 4 && k->texts[i] != 0; byte++)
			texts[n++] = (uint8_t)(k->texts[i] >> 8 * byte);
	if (k->type == VALUE_TEXT)
		sqlite3_bind_blob(q, 9, texts, n, SQLITE_TRANSIENT);
	else if (k->count > 0) {
		sqlite3_bind_double(q, 7, k->low);
		sqlite3_bind_double(q, 8, k->high);
	}
	return put(f, TABLE_place_key, e);
}

static int
write_around(
    struct space_writer *f, const struct labels *labels, const struct graph *g, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < g->nsteps && rc == 0; i++) {
		sqlite3_bind_double(
		    ROW(f, TABLE_step, f->version, f->nsteps++, f->nplaces + g->steps[i].from,
			f->nplaces + g->steps[i].to, (int64_t)g->steps[i].count),
		    6, g->steps[i].mean_ns);
		rc = put(f, TABLE_step, e);
	}
	for (uint32_t i = 0; i < g->nlinks && rc == 0; i++)
		if ((rc = write_label(f, labels, g->links[i].unit, e)) == 0) {
			ROW(f, TABLE_concurrency, f->version, f->nlinks++,
			    f->nplaces + g->links[i].vertex, f->ids[g->links[i].unit],
			    (int64_t)g->links[i].count);
			rc = put(f, TABLE_concurrency, e);
		}
	for (uint32_t i = 0; i < g->nkeys && rc == 0; i++)
		rc = write_key(f, &g->keys[i], e);
	return rc;
}

static int
write_graph(struct space_writer *f, const struct labels *labels, uint32_t id, const struct graph *g,
    struct err *e)
{
	int rc = write_label(f, labels, g->type, e);

	if (rc < 0)
		return rc;
	ROW(f, TABLE_type, f->version, id, f->ids[g->type], (int64_t)g->traces);
	rc = put(f, TABLE_type, e);
	for (uint32_t i = 0; i < g->nvertices && rc == 0; i++)
		rc = write_place(f, labels, id, f->nplaces + i, &g->vertices[i], e);
	if (rc == 0)
		rc = write_around(f, labels, g, e);
	f->nplaces += g->nvertices;
	return rc;
}

static int
write_version(struct space_writer *f, const struct space *s, struct err *e)
{
	const struct space_version *v = space_version(s);
	const struct graph *g;
	int rc;

	if (v->name[0] == '\0' && space_graph(s, 0) == NULL)
		return 0; /* an empty space: no version to write */
	sqlite3_bind_text(ROW(f, TABLE_version, f->version), 2, v->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(f->insert[TABLE_version], 3, (int64_t)v->fingerprint);
	sqlite3_bind_int64(f->insert[TABLE_version], 4, v->learned_ns);
	rc = put(f, TABLE_version, e);
	for (uint32_t i = 0; rc == 0 && (g = space_graph(s, i)) != NULL; i++)
		rc = write_graph(f, space_labels(s), i, g, e);
	return rc;
}

/* ---- other versions ---- */

static int
copy_rows(struct space_writer *f, sqlite3 *old, enum table table, struct err *e)
{
	sqlite3_stmt *q = NULL;
	char sql[128];
	int rc, step = SQLITE_DONE;

	snprintf(sql, sizeof sql, "SELECT * FROM %s WHERE %s <> ?", tables[table],
	    table == TABLE_version ? "id" : "version");
	if ((rc = database_prepare(old, f->path, sql, &q, e)) < 0)
		return rc;
	sqlite3_bind_int64(q, 1, f->version);
	while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(q); i++)
			sqlite3_bind_value(f->insert[table], i + 1, sqlite3_column_value(q, i));
		rc = put(f, table, e);
	}
	if (rc == 0 && step != SQLITE_DONE)
		rc = database_err(e, old, f->path);
	sqlite3_finalize(q);
	return rc;
}

/* Sets f->version: the number that this version has in the existing file, or a new one. */
static int
number_version(struct space_writer *f, sqlite3 *old, const char *name, struct err *e)
{
	struct space_version *versions = NULL;
	int64_t *ids = NULL;
	uint32_t n = 0;
	bool found = false;
	int rc = space_list(&versions, &ids, &n, old, f->path, e);

	for (uint32_t i = 0; rc == 0 && i < n && !found; i++) {
		if ((found = strcmp(versions[i].name, name) == 0))
			f->version = ids[i];
		else if (ids[i] < 0 || ids[i] == INT64_MAX)
			rc = space_damaged(e, f->path, "version", ids[i]);
		else if (ids[i] >= f->version)
			f->version = ids[i] + 1;
	}
	if (rc == 0 && !found && n + 2 >= SPACE_VERSIONS_MAX)
		rc = err_set(e, ERR_FULL,
		    "%s: has %u versions of the application; save to another file", f->path, n);
	free(versions);
	free(ids);
	return rc;
}

/* Copies the other versions. An existing file may only be replaced if it is a whole space, or
 * empty. */
static int
copy_others(struct space_writer *f, const char *name, struct err *e)
{
	struct stat st;
	sqlite3 *old = NULL;
	int version, rc;

	if (stat(f->path, &st) < 0)
		return errno == ENOENT ? 0
		                       : err_set(e, ERR_STORE, "%s: %s", f->path, strerror(errno));
	rc = space_open(&old, f->path, &version, e);
	if (rc == 0 && version > 0) {
		if ((rc = database_check(old, f->path, e)) == 0)
			rc = number_version(f, old, name, e);
		for (int i = 0; i < TABLES && rc == 0; i++)
			rc = copy_rows(f, old, (enum table)i, e);
	}
	sqlite3_close(old);
	return rc;
}

/* ---- the file ---- */

static int
prepare_insert(struct space_writer *f, enum table table, struct err *e)
{
	sqlite3_stmt *q = NULL;
	char sql[96];
	int rc, n;

	snprintf(sql, sizeof sql, "SELECT * FROM %s", tables[table]);
	if ((rc = database_prepare(f->db, f->path, sql, &q, e)) < 0)
		return rc;
	n = sqlite3_column_count(q);
	sqlite3_finalize(q);
	snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?%.*s)", tables[table], 2 * (n - 1),
	    ",?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?");
	return database_prepare(f->db, f->path, sql, &f->insert[table], e);
}

/* No journal: no other process sees this file yet, and an incomplete one is deleted. */
static int
begin_writing(struct space_writer *f, const char *temporary, struct err *e)
{
	int rc;

	if (sqlite3_open_v2(temporary, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
	    SQLITE_OK)
		return database_err(e, f->db, f->path);
	if ((rc = database_exec(f->db, f->path,
		 "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", e)) == 0)
		rc = database_exec(f->db, f->path, schema, e);
	for (int i = 0; i < TABLES && rc == 0; i++)
		rc = prepare_insert(f, (enum table)i, e);
	return rc;
}

static int
write_whole(const struct space *s, const char *path, const char *temporary, struct err *e)
{
	size_t bytes = (labels_count(space_labels(s)) + 1) * sizeof(uint32_t);
	struct space_writer f = { .path = path, .ids = malloc(bytes) };
	char stamp[96];
	int rc;

	snprintf(stamp, sizeof stamp,
	    "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", DATABASE_SPACE,
	    SPACE_SCHEMA);
	if (f.ids == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	memset(f.ids, 0xff, bytes); /* LABEL_NONE */
	if ((rc = begin_writing(&f, temporary, e)) == 0 &&
	    (rc = copy_others(&f, space_version(s)->name, e)) == 0 &&
	    (rc = write_version(&f, s, e)) == 0)
		rc = database_exec(f.db, path, stamp, e);
	for (int i = 0; i < TABLES; i++)
		sqlite3_finalize(f.insert[i]);
	sqlite3_close(f.db);
	free(f.ids);
	return rc;
}

static int
system_err(struct err *e, const char *path)
{
	if (errno == ENOSPC || errno == EDQUOT)
		return err_set(e, ERR_FULL, "%s: the disk is full; free some space", path);
	return err_set(e, ERR_STORE, "%s: %s; check the permissions of the file and its folder",
	    path, strerror(errno));
}

static int
sync_path(const char *path, const char *words, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

	if (fd < 0 || fsync(fd) < 0)
		rc = system_err(e, words);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int
sync_folder(const char *path, struct err *e)
{
	char *copy = strdup(path);
	int rc = copy != NULL ? sync_path(dirname(copy), path, e)
	                      : err_set(e, ERR_MEMORY, "%s: out of memory", path);

	free(copy);
	return rc;
}

/* Locks the new file. Two programs saving at once would each drop what the other had learned,
 * so only the one that holds the lock may save. A file that was renamed in the meantime is
 * another file. */
static int
lock_temporary(int *fd, const char *path, const char *temporary, struct err *e)
{
	struct stat mine, there;

	for (;;) {
		if ((*fd = open(temporary, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
			return system_err(e, path);
		if (flock(*fd, LOCK_EX | LOCK_NB) < 0)
			return err_set(
			    e, ERR_BUSY, "%s: another program is saving it; try again", path);
		if (fstat(*fd, &mine) == 0 && stat(temporary, &there) == 0 &&
		    mine.st_dev == there.st_dev && mine.st_ino == there.st_ino)
			/* Removes what a crash left. */
			return ftruncate(*fd, 0) == 0 ? 0 : system_err(e, path);
		close(*fd);
	}
}

static int
replace(const char *path, const char *temporary, struct err *e)
{
	int rc = sync_path(temporary, path, e);

	if (rc < 0)
		return rc;
	return rename(temporary, path) == 0 ? sync_folder(path, e) : system_err(e, path);
}

int
space_save(const struct space *s, const char *path, struct err *e)
{
	char *temporary = NULL;
	int fd = -1, rc;

	if (asprintf(&temporary, "%s.new", path) < 0)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	if ((rc = lock_temporary(&fd, path, temporary, e)) == 0 &&
	    ((rc = write_whole(s, path, temporary, e)) < 0 ||
		(rc = replace(path, temporary, e)) < 0))
		unlink(temporary);
	if (fd >= 0)
		close(fd);
	free(temporary);
	return rc;
}
