/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The space in a file: SQLite, so that people can look into it, written whole.
 * Labels stand in it as texts, since their numbers hold for one process only.
 * What is read is bad until it was checked: it may come from anywhere.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "forest/database.h"
#include "searchspace/graph.h"

enum { SCHEMA = 1, LABELS_MAX = 1 << 20, TYPES_MAX = 4096, CELL_MAX_BYTES = 1 << 16 };

static const char schema[] =
	"CREATE TABLE label (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, kind INTEGER NOT NULL) STRICT;"
	"CREATE TABLE field (label INTEGER NOT NULL REFERENCES label, number INTEGER NOT NULL, name TEXT NOT NULL,"
	" PRIMARY KEY (label, number)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE type (id INTEGER PRIMARY KEY, label INTEGER NOT NULL UNIQUE REFERENCES label,"
	" traces INTEGER NOT NULL) STRICT;"
	"CREATE TABLE place (id INTEGER PRIMARY KEY, type INTEGER NOT NULL REFERENCES type,"
	" unit INTEGER NOT NULL REFERENCES label, span INTEGER REFERENCES label,"
	" label INTEGER NOT NULL REFERENCES label, traces INTEGER NOT NULL, count INTEGER NOT NULL,"
	" offset_ns REAL NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;"
	"CREATE TABLE step (id INTEGER PRIMARY KEY, from_place INTEGER NOT NULL REFERENCES place,"
	" to_place INTEGER NOT NULL REFERENCES place, count INTEGER NOT NULL, mean_ns REAL NOT NULL) STRICT;";

struct file {
	const char *path;	/* that words name */
	sqlite3 *db;
	sqlite3_stmt *label, *field, *type, *place, *step;	/* to write */
	uint32_t *ids;		/* to write: of each label, or LABEL_NONE; to read: labels of the ids */
	uint32_t nids, ids_max;
	struct spot_at {
		struct graph *graph;
		uint32_t spot;
	} *places;		/* to read: of the ids */
	uint32_t nplaces, places_max;
};

static void
file_close(struct file *f)
{
	sqlite3_stmt *const all[] = { f->label, f->field, f->type, f->place, f->step };

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		sqlite3_finalize(all[i]);
	sqlite3_close(f->db);
	free(f->ids);
	free(f->places);
}

/* ---- writing ---- */

static int
put(struct file *f, sqlite3_stmt *q, struct err *e)
{
	int rc = sqlite3_step(q) == SQLITE_DONE ? 0 : database_err(e, f->db, f->path);

	sqlite3_reset(q);
	sqlite3_clear_bindings(q);
	return rc;
}

/* The label's number in the file: from 0, in the order they are first needed. */
static int
write_label(struct file *f, const struct labels *labels, uint32_t label, struct err *e)
{
	const struct label *l = labels_get(labels, label);
	int rc;

	if (f->ids[label] != LABEL_NONE)
		return 0;
	f->ids[label] = f->nids++;
	sqlite3_bind_int64(f->label, 1, f->ids[label]);
	sqlite3_bind_text(f->label, 2, l->text, -1, SQLITE_STATIC);
	sqlite3_bind_int(f->label, 3, l->kind);
	rc = put(f, f->label, e);
	for (uint32_t i = 0; i < l->nfields && rc == 0; i++) {
		sqlite3_bind_int64(f->field, 1, f->ids[label]);
		sqlite3_bind_int64(f->field, 2, i);
		sqlite3_bind_text(f->field, 3, l->fields[i], -1, SQLITE_STATIC);
		rc = put(f, f->field, e);
	}
	return rc;
}

static int
write_place(struct file *f, const struct labels *labels, uint32_t type, uint32_t id, const struct spot *s, struct err *e)
{
	const struct place *p = &s->place;
	int rc;

	if ((rc = write_label(f, labels, p->unit, e)) < 0 || (rc = write_label(f, labels, p->label, e)) < 0 ||
	    (p->span != LABEL_NONE && (rc = write_label(f, labels, p->span, e)) < 0))
		return rc;
	sqlite3_bind_int64(f->place, 1, id);
	sqlite3_bind_int64(f->place, 2, type);
	sqlite3_bind_int64(f->place, 3, f->ids[p->unit]);
	if (p->span != LABEL_NONE)
		sqlite3_bind_int64(f->place, 4, f->ids[p->span]);
	sqlite3_bind_int64(f->place, 5, f->ids[p->label]);
	sqlite3_bind_int64(f->place, 6, (int64_t)p->traces);
	sqlite3_bind_int64(f->place, 7, (int64_t)p->count);
	sqlite3_bind_double(f->place, 8, p->offset_ns);
	sqlite3_bind_int64(f->place, 9, (int64_t)s->first);
	sqlite3_bind_int64(f->place, 10, (int64_t)s->last);
	return put(f, f->place, e);
}

static int
write_graph(struct file *f, const struct labels *labels, uint32_t id, const struct graph *g, struct err *e)
{
	int rc = write_label(f, labels, g->type, e);

	if (rc < 0)
		return rc;
	sqlite3_bind_int64(f->type, 1, id);
	sqlite3_bind_int64(f->type, 2, f->ids[g->type]);
	sqlite3_bind_int64(f->type, 3, (int64_t)g->traces);
	rc = put(f, f->type, e);
	for (uint32_t i = 0; i < g->nspots && rc == 0; i++)
		rc = write_place(f, labels, id, f->nplaces + i, &g->spots[i], e);
	for (uint32_t i = 0; i < g->nways && rc == 0; i++) {
		sqlite3_bind_int64(f->step, 1, f->nplaces + g->ways[i].from);
		sqlite3_bind_int64(f->step, 2, f->nplaces + g->ways[i].to);
		sqlite3_bind_int64(f->step, 3, (int64_t)g->ways[i].count);
		sqlite3_bind_double(f->step, 4, g->ways[i].mean_ns);
		rc = put(f, f->step, e);
	}
	f->nplaces += g->nspots;
	return rc;
}

/* Nobody else sees this file yet, and half of it is worth nothing: a journal would only cost. */
static int
begin_writing(struct file *f, const char *temporary, struct err *e)
{
	int rc;

	if (sqlite3_open_v2(temporary, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
		return database_err(e, f->db, f->path);
	if ((rc = database_exec(f->db, f->path, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", e)) < 0 ||
	    (rc = database_exec(f->db, f->path, schema, e)) < 0 ||
	    (rc = database_prepare(f->db, f->path, "INSERT INTO label VALUES (?, ?, ?)", &f->label, e)) < 0 ||
	    (rc = database_prepare(f->db, f->path, "INSERT INTO field VALUES (?, ?, ?)", &f->field, e)) < 0 ||
	    (rc = database_prepare(f->db, f->path, "INSERT INTO type VALUES (?, ?, ?)", &f->type, e)) < 0 ||
	    (rc = database_prepare(f->db, f->path, "INSERT INTO place VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &f->place,
	    e)) < 0)
		return rc;
	return database_prepare(f->db, f->path, "INSERT INTO step VALUES (NULL, ?, ?, ?, ?)", &f->step, e);
}

static int
write_whole(const struct space *s, const char *path, const char *temporary, struct err *e)
{
	const struct labels *labels = space_labels(s);
	size_t bytes = (labels_count(labels) + 1) * sizeof(uint32_t);
	struct file f = { .path = path, .ids = malloc(bytes) };
	const struct graph *g;
	char stamp[96];
	int rc;

	snprintf(stamp, sizeof stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", DATABASE_SPACE,
	    SCHEMA);
	if (f.ids == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	memset(f.ids, 0xff, bytes);	/* LABEL_NONE */
	rc = begin_writing(&f, temporary, e);
	for (uint32_t i = 0; rc == 0 && (g = space_graph(s, i)) != NULL; i++)
		rc = write_graph(&f, labels, i, g, e);
	if (rc == 0)
		rc = database_exec(f.db, path, stamp, e);
	file_close(&f);
	return rc;
}

static int
sync_path(const char *path, const char *words, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;

	if (fd < 0 || fsync(fd) < 0)
		rc = err_set(e, errno == ENOSPC ? ERR_FULL : ERR_STORE, "%s: %s", words, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

static int
sync_folder(const char *path, struct err *e)
{
	char *copy = strdup(path);
	int rc = copy != NULL ? sync_path(dirname(copy), path, e) : err_set(e, ERR_MEMORY, "%s: out of memory", path);

	free(copy);
	return rc;
}

/* version 0: an empty file. */
static int
open_to_read(sqlite3 **db, const char *path, int *version, struct err *e)
{
	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		return database_err(e, *db, path);
	sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, CELL_MAX_BYTES);
	sqlite3_busy_timeout(*db, 2000);
	return database_identify(*db, path, "search space", DATABASE_SPACE, SCHEMA, version, e);
}

/* What is there may be written over when it is a space, or nothing. */
static int
may_replace(const char *path, struct err *e)
{
	struct stat st;
	sqlite3 *db = NULL;
	int version, rc;

	if (stat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_set(e, ERR_STORE, "%s: %s", path, strerror(errno));
	rc = open_to_read(&db, path, &version, e);
	sqlite3_close(db);
	return rc;
}

int
space_save(const struct space *s, const char *path, struct err *e)
{
	char *temporary = NULL;
	int rc;

	if ((rc = may_replace(path, e)) < 0)
		return rc;
	if (asprintf(&temporary, "%s.new", path) < 0)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	unlink(temporary);	/* what a crash left */
	if ((rc = write_whole(s, path, temporary, e)) == 0 && (rc = sync_path(temporary, path, e)) == 0) {
		if (rename(temporary, path) < 0)
			rc = err_set(e, ERR_STORE, "%s: %s", path, strerror(errno));
		else
			rc = sync_folder(path, e);
	}
	if (rc < 0)
		unlink(temporary);
	free(temporary);
	return rc;
}

/* ---- reading ---- */

static int
damaged(const struct file *f, const char *what, long long id, struct err *e)
{
	return err_set(e, ERR_STORE, "%s: is damaged (%s %lld); put a copy in its place, or move it away and learn again",
	    f->path, what, id);
}

/* A number of a row, if it is one of those that may stand there; else -1. */
static int64_t
number(sqlite3_stmt *q, int column, uint64_t limit)
{
	int64_t v = sqlite3_column_int64(q, column);

	return v >= 0 && (uint64_t)v < limit ? v : -1;
}

static char *
field_name(sqlite3_stmt *q)
{
	const char *name = (const char *)sqlite3_column_text(q, 0);

	return name != NULL ? strdup(name) : NULL;
}

static int
read_label(struct file *f, sqlite3_stmt *q, struct labels *labels, struct err *e)
{
	const char *fields[RECORD_VALUES_MAX], *text = (const char *)sqlite3_column_text(q, 1);
	uint32_t n = 0;
	int rc = 0;

	if (f->nids == f->ids_max || sqlite3_column_int64(q, 0) != f->nids || text == NULL ||
	    number(q, 2, RECORD_KINDS) < 0)
		return damaged(f, "label", sqlite3_column_int64(q, 0), e);
	sqlite3_bind_int64(f->field, 1, f->nids);
	while (n < RECORD_VALUES_MAX && sqlite3_step(f->field) == SQLITE_ROW &&
	    (fields[n] = field_name(f->field)) != NULL)
		n++;
	sqlite3_reset(f->field);
	f->ids[f->nids] = labels_intern(labels, (enum record_kind)sqlite3_column_int(q, 2), text, strlen(text), fields, n);
	if (f->ids[f->nids++] == LABEL_NONE)
		rc = damaged(f, "label", f->nids - 1, e);
	while (n > 0)
		free((char *)fields[--n]);
	return rc;
}

static int
read_type(struct file *f, sqlite3_stmt *q, struct space *s, struct err *e)
{
	int64_t id = sqlite3_column_int64(q, 0), label = number(q, 1, f->nids), traces = number(q, 2, INT64_MAX);
	struct graph *g;

	if (label < 0 || traces < 0 || space_graph(s, (uint32_t)id) != NULL || id >= TYPES_MAX ||
	    labels_get(space_labels(s), f->ids[label])->kind != RECORD_REQUEST_BEGIN)
		return damaged(f, "type", id, e);
	if ((g = space_graph_of(s, f->ids[label])) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", f->path);
	g->traces = (uint64_t)traces;
	return g == space_graph(s, (uint32_t)id) ? 0 : damaged(f, "type", id, e);
}

static bool
read_spot(struct spot *ret, const struct graph *g, sqlite3_stmt *q)
{
	int64_t traces = number(q, 5, g->traces + 1), count = number(q, 6, INT64_MAX);
	int64_t first = number(q, 8, g->traces + 1), last = number(q, 9, g->traces + 1);
	double offset_ns = sqlite3_column_double(q, 7);

	if (traces < 1 || count < traces || first < 1 || last < first || !isfinite(offset_ns))
		return false;
	ret->place.traces = (uint64_t)traces;
	ret->place.count = (uint64_t)count;
	ret->place.offset_ns = offset_ns;
	ret->first = (uint64_t)first;
	ret->last = (uint64_t)last;
	return true;
}

static int
read_place(struct file *f, sqlite3_stmt *q, struct space *s, struct err *e)
{
	int64_t id = sqlite3_column_int64(q, 0), type = number(q, 1, TYPES_MAX), unit = number(q, 2, f->nids);
	int64_t span = number(q, 3, f->nids), label = number(q, 4, f->nids);
	bool whole = sqlite3_column_type(q, 3) == SQLITE_NULL;
	struct graph *g = type < 0 ? NULL : (struct graph *)space_graph(s, (uint32_t)type);
	uint32_t before, spot;

	if (g == NULL || unit < 0 || label < 0 || (!whole && span < 0) || id != f->nplaces || id == f->places_max)
		return damaged(f, "place", id, e);
	before = g->nspots;
	spot = graph_spot(g, f->ids[unit], whole ? LABEL_NONE : f->ids[span], f->ids[label]);
	if (spot == GRAPH_NONE)
		return err_set(e, ERR_MEMORY, "%s: out of memory, or of what one request type may take", f->path);
	if (spot != before || !read_spot(&g->spots[spot], g, q))
		return damaged(f, "place", id, e);
	f->places[f->nplaces++] = (struct spot_at){ g, spot };
	return 0;
}

static int
read_step(struct file *f, sqlite3_stmt *q, struct space *s, struct err *e)
{
	int64_t from = number(q, 1, f->nplaces), to = number(q, 2, f->nplaces), count = number(q, 3, INT64_MAX);
	double mean_ns = sqlite3_column_double(q, 4);
	struct graph *g;
	uint32_t before, way;

	(void)s;
	if (from < 0 || to < 0 || count < 1 || !isfinite(mean_ns) || f->places[from].graph != f->places[to].graph)
		return damaged(f, "step", sqlite3_column_int64(q, 0), e);
	g = f->places[from].graph;
	before = g->nways;
	if ((way = graph_way(g, f->places[from].spot, f->places[to].spot)) == GRAPH_NONE)
		return err_set(e, ERR_MEMORY, "%s: out of memory, or of what one request type may take", f->path);
	if (way != before)
		return damaged(f, "step", sqlite3_column_int64(q, 0), e);
	g->ways[way].count = (uint64_t)count;
	g->ways[way].mean_ns = mean_ns;
	return 0;
}

static int
read_rows(struct file *f, const char *sql, int (*row)(struct file *, sqlite3_stmt *, struct space *, struct err *),
    struct space *s, struct err *e)
{
	sqlite3_stmt *q = NULL;
	int rc = database_prepare(f->db, f->path, sql, &q, e), step = SQLITE_DONE;

	while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW)
		rc = row(f, q, s, e);
	if (rc == 0 && step != SQLITE_DONE)
		rc = database_err(e, f->db, f->path);
	sqlite3_finalize(q);
	return rc;
}

static int
read_labels(struct file *f, struct labels *labels, struct err *e)
{
	sqlite3_stmt *q = NULL;
	int rc, step = SQLITE_DONE;

	if ((rc = database_prepare(f->db, f->path, "SELECT name FROM field WHERE label = ? ORDER BY number", &f->field,
	    e)) < 0 || (rc = database_prepare(f->db, f->path, "SELECT id, text, kind FROM label ORDER BY id", &q, e)) < 0)
		return rc;
	while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW)
		rc = read_label(f, q, labels, e);
	if (rc == 0 && step != SQLITE_DONE)
		rc = database_err(e, f->db, f->path);
	sqlite3_finalize(q);
	return rc;
}

/* Room for what the file says it has, if that may be. A file may lie: readers look at the room, too. */
static int
make_room(struct file *f, struct err *e)
{
	int64_t labels, places;
	int rc;

	if ((rc = database_integer(f->db, f->path, "SELECT count(*) FROM label", &labels, e)) < 0 ||
	    (rc = database_integer(f->db, f->path, "SELECT count(*) FROM place", &places, e)) < 0)
		return rc;
	if (labels > LABELS_MAX || places > (int64_t)GRAPH_PLACES_MAX * 16)
		return err_set(e, ERR_STORE, "%s: %lld labels and %lld places are more than any application has", f->path,
		    (long long)labels, (long long)places);
	f->ids_max = (uint32_t)labels;
	f->places_max = (uint32_t)places;
	f->ids = calloc((size_t)labels + 1, sizeof *f->ids);
	f->places = calloc((size_t)places + 1, sizeof *f->places);
	return f->ids != NULL && f->places != NULL ? 0 : err_set(e, ERR_MEMORY, "%s: out of memory", f->path);
}

static int
read_whole(struct file *f, struct space *s, struct labels *labels, struct err *e)
{
	int version, rc;

	if ((rc = open_to_read(&f->db, f->path, &version, e)) < 0)
		return rc;
	if (version == 0)
		return err_set(e, ERR_STORE, "%s: is empty; move it away and learn again", f->path);
	if ((rc = database_check(f->db, f->path, e)) < 0 || (rc = database_exec(f->db, f->path, "BEGIN", e)) < 0 ||
	    (rc = make_room(f, e)) < 0 ||
	    (rc = read_labels(f, labels, e)) < 0 ||
	    (rc = read_rows(f, "SELECT id, label, traces FROM type ORDER BY id", read_type, s, e)) < 0 ||
	    (rc = read_rows(f, "SELECT id, type, unit, span, label, traces, count, offset_ns, first, last FROM place"
	    " ORDER BY id", read_place, s, e)) < 0)
		return rc;
	return read_rows(f, "SELECT id, from_place, to_place, count, mean_ns FROM step ORDER BY id", read_step, s, e);
}

/* All is read and checked before anything is added. */
int
space_load(struct space *s, struct labels *labels, const char *path, const char *version, struct err *e)
{
	struct file f = { .path = path };
	struct space *fresh;
	const struct graph *g;
	int rc;

	(void)version;
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return err_set(e, ERR_MISSING, "%s: no such file", path);
	if ((fresh = space_new(labels)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	rc = read_whole(&f, fresh, labels, e);
	file_close(&f);
	for (uint32_t i = 0; rc == 0 && (g = space_graph(fresh, i)) != NULL; i++) {
		struct graph *into = space_graph_of(s, g->type);

		rc = into != NULL ? graph_merge(into, g, e) : err_set(e, ERR_MEMORY, "%s: out of memory", path);
	}
	space_free(fresh);
	return rc;
}
