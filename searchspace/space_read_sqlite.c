/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the file of a space. The file may come from anywhere, so everything read is checked
 * before use.
 */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "searchspace/space_file.h"

enum { LABELS_MAX = 1 << 20, TYPES_MAX = 4096 };

struct space_reader {
	const char *path;   /* for error messages */
	struct labels *all; /* of this process */
	sqlite3 *db;
	sqlite3_stmt *field; /* statement: names of a label's fields */
	int64_t version;
	uint32_t *labels; /* [nlabels], by number in the file */
	uint32_t nlabels, labels_max;
	struct vertex_ref {
		struct graph *graph;
		uint32_t vertex;
	} * places; /* [nplaces], by number in the file */
	uint32_t nplaces, places_max;
};

static int
reader_damaged(const struct space_reader *f, const char *what, sqlite3_stmt *q, struct err *e)
{
	return space_damaged(e, f->path, what, sqlite3_column_int64(q, 0));
}

static int
too_much(const struct space_reader *f, struct err *e)
{
	return err_set(
	    e, ERR_MEMORY, "%s: out of memory, or over the limits of one request type", f->path);
}

/* An integer column, if 0 <= value < limit; otherwise -1. */
static int64_t
number(sqlite3_stmt *q, int column, uint64_t limit)
{
	int64_t v = sqlite3_column_int64(q, column);

	return v >= 0 && (uint64_t)v < limit ? v : -1;
}

/* ---- rows ---- */

static char *
field_name(sqlite3_stmt *q)
{
	const char *name = (const char *)sqlite3_column_text(q, 0);

	return name != NULL ? strdup(name) : NULL;
}

/* Reads the field names of a label, by its number in the file; the caller frees each. */
static uint32_t
read_fields(struct space_reader *f, int64_t id, const char **ret)
{
	uint32_t n = 0;

	sqlite3_bind_int64(f->field, 1, f->version);
	sqlite3_bind_int64(f->field, 2, id);
	while (n < RECORD_VALUES_MAX && sqlite3_step(f->field) == SQLITE_ROW &&
	       (ret[n] = field_name(f->field)) != NULL)
		n++;
	sqlite3_reset(f->field);
	return n;
}

/* Its kind is one of a tracepoint: waits and samples are not learned. */
static int
read_label(struct space_reader *f, sqlite3_stmt *q, struct space *s, struct err *e)
{
	const char *fields[RECORD_VALUES_MAX], *text = (const char *)sqlite3_column_text(q, 1);
	uint32_t n, id;

	(void)s;
	if (f->nlabels == f->labels_max || sqlite3_column_int64(q, 0) != f->nlabels ||
	    text == NULL || number(q, 2, RECORD_WAIT) < 0)
		return reader_damaged(f, "label", q, e);
	n = read_fields(f, f->nlabels, fields);
	id = labels_intern(
	    f->all, (enum record_kind)sqlite3_column_int(q, 2), text, strlen(text), fields, n);
	while (n > 0)
		free((char *)fields[--n]);
	f->labels[f->nlabels++] = id;
	return id != LABEL_NONE ? 0 : reader_damaged(f, "label", q, e);
}

static int
read_type(struct space_reader *f, sqlite3_stmt *q, struct space *s, struct err *e)
{
	int64_t id = sqlite3_column_int64(q, 0), label = number(q, 1, f->nlabels),
		traces = number(q, 2, INT64_MAX);
	struct graph *g;

	if (label < 0 || traces < 0 || id < 0 || id >= TYPES_MAX ||
	    space_graph(s, (uint32_t)id) != NULL ||
	    labels_get(space_labels(s), f->labels[label])->kind != RECORD_REQUEST_BEGIN)
		return reader_damaged(f, "type", q, e);
	if ((g = space_graph_of(s, f->labels[label])) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", f->path);
	g->traces = (uint64_t)traces;
	return g == space_graph(s, (uint32_t)id) ? 0 : reader_damaged(f, "type", q, e);
}

/* Reads the numbers of a place. first 0: glimpsed, see graph.h. */
static bool
read_vertex(struct vertex *ret, const struct graph *g, sqlite3_stmt *q)
{
	int64_t traces = number(q, 5, graph_glimpses_max(g) + 1), count = number(q, 6, INT64_MAX);
	int64_t first = number(q, 8, g->traces + 1), last = number(q, 9, g->traces + 1);
	double offset_ns = sqlite3_column_double(q, 7);

	if (traces < 1 || count < traces || first < 0 || last < first ||
	    (first == 0 && last != 0) || !isfinite(offset_ns))
		return false;
	if (first > 0 && (traces > last - first + 1 || (traces == 1 && first != last)))
		return false;
	ret->place.traces = (uint64_t)traces;
	ret->place.count = (uint64_t)count;
	ret->place.offset_ns = offset_ns;
	ret->first = (uint64_t)first;
	ret->last = (uint64_t)last;
	return true;
}

static int
read_place(struct space_reader *f, sqlite3_stmt *q, struct space *s, struct err *e)
{
	int64_t id = sqlite3_column_int64(q, 0), type = number(q, 1, TYPES_MAX),
		unit = number(q, 2, f->nlabels);
	int64_t span = number(q, 3, f->nlabels), label = number(q, 4, f->nlabels);
	bool none = sqlite3_column_type(q, 3) == SQLITE_NULL;
	struct graph *g = type < 0 ? NULL : (struct graph *)space_graph(s, (uint32_t)type);
	uint32_t before, vertex;

	if (g == NULL || unit < 0 || label < 0 || (!none && span < 0) || id != f->nplaces ||
	    id == f->places_max)
		return reader_damaged(f, "place", q, e);
	before = g->nvertices;
	vertex = graph_vertex(
	    g, f->labels[unit], none ? LABEL_NONE : f->labels[span], f->labels[label]);
	if (vertex == GRAPH_NONE)
		return too_much(f, e);
	if (vertex != before || !read_vertex(&g->vertices[vertex], g, q))
		return reader_damaged(f, "place", q, e);
	f->places[f->nplaces++] = (struct vertex_ref){ g, vertex };
	return 0;
}

static int
read_step(struct space_reader *f, sqlite3_stmt *q, struct space *s, struct err *e)
{
	int64_t from = number(q, 1, f->nplaces), to = number(q, 2, f->nplaces),
		count = number(q, 3, INT64_MAX);
	double mean_ns = sqlite3_column_double(q, 4);
	struct graph *g;
	uint32_t before, step;

	(void)s;
	if (from < 0 || to < 0 || count < 0 || !isfinite(mean_ns) ||
	    f->places[from].graph != f->places[to].graph)
		return reader_damaged(f, "step", q, e);
	g = f->places[from].graph;
	before = g->nsteps;
	if ((step = graph_step(g, f->places[from].vertex, f->places[to].vertex)) == GRAPH_NONE)
		return too_much(f, e);
	if (step != before)
		return reader_damaged(f, "step", q, e);
	g->steps[step].count = (uint64_t)count;
	g->steps[step].mean_ns = mean_ns;
	return 0;
}

static int
read_link(struct space_reader *f, sqlite3_stmt *q, struct space *s, struct err *e)
{
	int64_t place = number(q, 1, f->nplaces), unit = number(q, 2, f->nlabels),
		count = number(q, 3, INT64_MAX);
	struct graph *g;
	uint32_t before, link;

	(void)s;
	if (place < 0 || unit < 0 || count < 1)
		return reader_damaged(f, "concurrency", q, e);
	g = f->places[place].graph;
	before = g->nlinks;
	if ((link = graph_link(g, f->places[place].vertex, f->labels[unit])) == GRAPH_NONE)
		return too_much(f, e);
	if (link != before ||
	    graph_find(g, f->labels[unit], LABEL_NONE, f->labels[unit]) == GRAPH_NONE)
		return reader_damaged(f, "concurrency", q, e);
	g->links[link].count = (uint64_t)count;
	return 0;
}

static bool
read_texts(struct graph_key *k, sqlite3_stmt *q)
{
	const uint8_t *bytes = sqlite3_column_blob(q, 7);
	int n = sqlite3_column_bytes(q, 7) / 4;

	if (sqlite3_column_bytes(q, 7) % 4 != 0 || n > KEY_TEXTS_MAX || (uint64_t)n > k->count)
		return false;
	for (int i = 0; i < n; i++, bytes += 4) {
		uint32_t hash = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
		                (uint32_t)bytes[3] << 24;

		if (hash == 0 || !key_text(k, hash) || k->ntexts != (uint32_t)i + 1)
			return false;
	}
	return true;
}

/* Columns: id, place, field name, type, count, low, high, texts. The label may have other
 * fields in this process: keys of fields that it no longer has are skipped. */
static int
read_key(struct space_reader *f, sqlite3_stmt *q, struct space *s, struct err *e)
{
	int64_t place = number(q, 1, f->nplaces), type = number(q, 3, VALUE_TEXT + 1);
	const char *name = (const char *)sqlite3_column_text(q, 2);
	const struct label *l;
	struct graph *g;
	struct graph_key k = { 0 };
	uint32_t field = 0, before, n;
	int64_t count;

	if (place < 0 || name == NULL || type <= VALUE_NONE)
		return reader_damaged(f, "key", q, e);
	g = f->places[place].graph;
	count = number(q, 4, g->vertices[f->places[place].vertex].place.count + 1);
	k.low = sqlite3_column_double(q, 5);
	k.high = sqlite3_column_double(q, 6);
	if (count < 0 || !isfinite(k.low) || !isfinite(k.high) || k.low > k.high)
		return reader_damaged(f, "key", q, e);
	l = labels_get(space_labels(s), g->vertices[f->places[place].vertex].place.label);
	while (field < l->nfields && strcmp(l->fields[field], name) != 0)
		field++;
	if (field == l->nfields)
		return 0;
	before = g->nkeys;
	if ((n = graph_key(g, f->places[place].vertex, field, (uint8_t)type)) == GRAPH_NONE)
		return too_much(f, e);
	if (n != before)
		return reader_damaged(f, "key", q, e);
	g->keys[n].count = (uint64_t)count;
	g->keys[n].low = k.low;
	g->keys[n].high = k.high;
	return type != VALUE_TEXT || read_texts(&g->keys[n], q) ? 0
	                                                        : reader_damaged(f, "key", q, e);
}

/* ---- whole file ---- */

static int
read_rows(struct space_reader *f, const char *sql,
    int (*row)(struct space_reader *, sqlite3_stmt *, struct space *, struct err *),
    struct space *s, struct err *e)
{
	sqlite3_stmt *q = NULL;
	int rc = database_prepare(f->db, f->path, sql, &q, e), step = SQLITE_DONE;

	sqlite3_bind_int64(q, 1, f->version);
	while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW)
		rc = row(f, q, s, e);
	if (rc == 0 && step != SQLITE_DONE)
		rc = database_err(e, f->db, f->path);
	sqlite3_finalize(q);
	return rc;
}

static int
count_rows(struct space_reader *f, const char *sql, int64_t *ret, struct err *e)
{
	sqlite3_stmt *q = NULL;
	int rc = database_prepare(f->db, f->path, sql, &q, e);

	sqlite3_bind_int64(q, 1, f->version);
	if (rc == 0 && sqlite3_step(q) == SQLITE_ROW)
		*ret = sqlite3_column_int64(q, 0);
	else if (rc == 0)
		rc = database_err(e, f->db, f->path);
	sqlite3_finalize(q);
	return rc;
}

/* Allocates for the number of rows in the file, within limits. The numbers may be wrong, so the
 * row readers check the room, too. */
static int
make_room(struct space_reader *f, struct err *e)
{
	int64_t labels = 0, places = 0;
	int rc;

	if ((rc = count_rows(f, "SELECT count(*) FROM label WHERE version = ?", &labels, e)) < 0 ||
	    (rc = count_rows(f, "SELECT count(*) FROM place WHERE version = ?", &places, e)) < 0)
		return rc;
	if (labels > LABELS_MAX || places > (int64_t)GRAPH_PLACES_MAX * 16)
		return err_set(e, ERR_STORE,
		    "%s: %lld labels and %lld places are more than any application has", f->path,
		    (long long)labels, (long long)places);
	f->labels_max = (uint32_t)labels;
	f->places_max = (uint32_t)places;
	f->labels = calloc((size_t)labels + 1, sizeof *f->labels);
	f->places = calloc((size_t)places + 1, sizeof *f->places);
	return f->labels != NULL && f->places != NULL
	           ? 0
	           : err_set(e, ERR_MEMORY, "%s: out of memory", f->path);
}

/* Rows that are valid one by one may still contradict each other. */
static int
check_graphs(struct space_reader *f, const struct space *s, struct err *e)
{
	const struct graph *g;
	uint32_t at = 0, id = 0;

	for (uint32_t i = 0; (g = space_graph(s, i)) != NULL; i++) {
		const char *what = graph_check(g, space_labels(s), &at);

		if (what == NULL)
			continue;
		if (what[0] == '\0')
			return err_set(e, ERR_MEMORY, "%s: out of memory", f->path);
		while (id < f->nplaces && (f->places[id].graph != g || f->places[id].vertex != at))
			id++;
		return space_damaged(e, f->path, what, id);
	}
	return 0;
}

static int
read_version(struct space_reader *f, struct space *s, struct err *e)
{
	int rc;

	if ((rc = make_room(f, e)) < 0 ||
	    (rc = database_prepare(f->db, f->path,
		 "SELECT name FROM field WHERE version = ? AND label = ? ORDER BY number",
		 &f->field, e)) < 0 ||
	    (rc = read_rows(f, "SELECT id, text, kind FROM label WHERE version = ? ORDER BY id",
		 read_label, s, e)) < 0 ||
	    (rc = read_rows(f, "SELECT id, label, traces FROM type WHERE version = ? ORDER BY id",
		 read_type, s, e)) < 0 ||
	    (rc = read_rows(f,
		 "SELECT id, type, unit, span, label, traces, count, offset_ns, first, last FROM place"
		 " WHERE version = ? ORDER BY id",
		 read_place, s, e)) < 0 ||
	    (rc = read_rows(f,
		 "SELECT id, from_place, to_place, count, mean_ns FROM step WHERE version = ? ORDER BY id",
		 read_step, s, e)) < 0 ||
	    (rc = read_rows(f,
		 "SELECT id, place, unit, count FROM concurrency WHERE version = ? ORDER BY id",
		 read_link, s, e)) < 0 ||
	    (rc = read_rows(f,
		 "SELECT k.id, k.place, (SELECT name FROM field WHERE version = p.version AND label = p.label"
		 " AND number = k.field), k.type, k.count, k.low, k.high, k.texts FROM place_key k JOIN place p"
		 " ON p.version = k.version AND p.id = k.place WHERE k.version = ? ORDER BY k.id",
		 read_key, s, e)) < 0)
		return rc;
	return check_graphs(f, s, e);
}

/* ---- versions ---- */

static int
no_version(const struct space_reader *f, const struct space_version *has, uint32_t n,
    const char *name, struct err *e)
{
	char words[256] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < n && len + sizeof has->name + 8 < sizeof words; i++)
		len += (size_t)snprintf(words + len, sizeof words - len, "%s%s", i > 0 ? ", " : "",
		    has[i].name[0] != '\0' ? has[i].name : "(unnamed)");
	return err_set(e, ERR_MISSING, "%s: has no version '%s' of the application; it has: %s",
	    f->path, name, n > 0 ? words : "none");
}

/* Sets f->version and *ret. *found false: the file has no version, and none was asked for. */
static int
find_version(
    struct space_reader *f, const char *name, struct space_version *ret, bool *found, struct err *e)
{
	struct space_version *versions = NULL;
	int64_t *ids = NULL;
	uint32_t n = 0, i = 0;
	int rc = space_list(&versions, &ids, &n, f->db, f->path, e);

	while (name != NULL && i < n && strcmp(versions[i].name, name) != 0)
		i++;
	*found = rc == 0 && i < n;
	if (rc == 0 && i < n) {
		*ret = versions[i];
		f->version = ids[i];
	} else if (rc == 0 && name != NULL)
		rc = no_version(f, versions, n, name, e);
	free(versions);
	free(ids);
	return rc;
}

static int
read_file(struct space_reader *f, struct space *s, const char *name, struct err *e)
{
	struct space_version v;
	int schema, rc;
	bool found;

	if ((rc = space_open(&f->db, f->path, &schema, e)) < 0)
		return rc;
	if (schema == 0)
		return err_set(e, ERR_STORE, "%s: is empty; move it away and learn again", f->path);
	if ((rc = database_check(f->db, f->path, e)) < 0 ||
	    (rc = database_exec(f->db, f->path, "BEGIN", e)) < 0 ||
	    (rc = find_version(f, name, &v, &found, e)) < 0 || !found ||
	    (rc = read_version(f, s, e)) < 0)
		return rc;
	if ((rc = space_version_set(s, v.fingerprint, v.name, v.learned_ns, e)) == 0)
		s->version.traces = v.traces;
	return rc;
}

/* Moves what was read into the space; into an empty one without a copy. */
static int
take(struct space *s, struct space *fresh, struct err *e)
{
	struct space_version was = s->version, *now = &fresh->version;
	struct graph **graphs = s->graphs;
	uint32_t cap = s->graphs_cap;
	int rc;

	if (s->ngraphs > 0) {
		if ((rc = space_merge(s, fresh, e)) < 0)
			return rc;
	} else {
		s->graphs = fresh->graphs;
		s->ngraphs = fresh->ngraphs;
		s->graphs_cap = fresh->graphs_cap;
		fresh->graphs = graphs;
		fresh->ngraphs = 0;
		fresh->graphs_cap = cap;
		s->version.traces = now->traces;
		if (now->learned_ns > was.learned_ns)
			s->version.learned_ns = now->learned_ns;
	}
	if (was.name[0] != '\0' || was.fingerprint != 0)
		return 0;
	return space_version_set(s, now->fingerprint, now->name, s->version.learned_ns, e);
}

/* Everything is read and checked before anything is added. */
int
space_load(
    struct space *s, struct labels *labels, const char *path, const char *version, struct err *e)
{
	struct space_reader f = { .path = path, .all = labels };
	struct space *fresh;
	int rc;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return err_set(e, ERR_MISSING, "%s: no such file", path);
	if ((fresh = space_new(labels)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", path);
	rc = read_file(&f, fresh, version, e);
	sqlite3_finalize(f.field);
	sqlite3_close(f.db);
	free(f.labels);
	free(f.places);
	if (rc == 0)
		rc = take(s, fresh, e);
	space_free(fresh);
	return rc;
}
