/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Detects formats, reads files and folders, hands out traces and counts what was skipped. One thread
 * reads. `lock` protects what reading_progress() reads. `names` has its final size from the begin,
 * because other threads read it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/texts.h"
#include "formats/reading.h"
#include "formats/seen_traces.h"
#include "formats/span_names.h"
#include "formats/span_set.h"

enum {
	HEAD_BYTES = 64 << 10, /* by which formats are detected */
	NODES_MAX = 65536,     /* further ones are "(other)" */
	NODE_TEXT_MAX = 255,
	FILES_MAX = 65536, /* numbered; spans of further files have no position */
	SURE = 90,         /* confidence at which the format of the last file is used again */
	FOLDER_DEPTH_MAX = 16
};

#define TIME_MAX_NS \
	(INT64_MAX / 4) /* 73 years before or after 1970: room for sums and differences */

struct reading {
	struct reading_options o;
	struct labels *labels;
	struct reading_counts counts;
	struct span_set *spans;
	struct seen_traces seen;
	struct texts *nodes, *files;
	uint32_t file_number; /* of `file` among them, or UINT32_MAX */
	const char **names;   /* [NODES_MAX + 1] */
	uint32_t last_node;
	size_t name_bytes;
	int64_t *wall_ns; /* of each node below nwall; 0: not known */
	uint32_t nwall, wall_cap;
	const struct format *format; /* of the file being read */
	const struct format *before; /* of the file before it */
	char *coming;                /* path of the next file, or NULL */
	char *ahead_path;            /* path of `ahead`; NULL: it is not open */
	struct input ahead;
	char file[sizeof((struct skipped *)NULL)->file];
	pthread_mutex_t lock;
	const struct input *input; /* being read; under the lock */
};

static void
drop_ahead(struct reading *r)
{
	if (r->ahead_path != NULL)
		input_close(&r->ahead);
	free(r->ahead_path);
	r->ahead_path = NULL;
}

int
reading_new(
    struct reading **ret, const struct reading_options *o, struct labels *labels, struct err *e)
{
	struct reading *r = calloc(1, sizeof *r);

	if (r == NULL)
		return err_set(e, ERR_MEMORY, "no memory to read traces");
	pthread_mutex_init(&r->lock, NULL);
	r->o = *o;
	if (o->memory_max_bytes == 0)
		r->o.memory_max_bytes = READING_MEMORY_BYTES;
	if (o->names_max_bytes == 0)
		r->o.names_max_bytes = SPAN_NAMES_MAX_BYTES;
	seen_traces_init(&r->seen, r->o.memory_max_bytes / 8);
	r->labels = labels;
	r->last_node = r->file_number = UINT32_MAX;
	r->names = calloc(NODES_MAX + 1, sizeof *r->names);
	r->nodes = texts_new();
	r->files = texts_new();
	if (r->names != NULL && r->nodes != NULL && r->files != NULL &&
	    (r->spans = span_set_new(r)) != NULL) {
		*ret = r;
		return 0;
	}
	reading_free(r);
	return err_set(e, ERR_MEMORY, "no memory to read traces");
}

void
reading_free(struct reading *r)
{
	if (r == NULL)
		return;
	drop_ahead(r);
	free(r->coming);
	span_set_free(r->spans);
	seen_traces_release(&r->seen);
	texts_free(r->nodes);
	texts_free(r->files);
	free(r->names);
	free(r->wall_ns);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* ---- files ---- */

static const struct format *
find_format(const char *name)
{
	for (const struct format *const *f = formats; *f != NULL; f++)
		if (strcmp((*f)->name, name) == 0)
			return *f;
	return NULL;
}

/* The format with the highest confidence by the first bytes. NULL: none. */
static const struct format *
sniff(const struct format *before, const char *head, size_t len)
{
	const struct format *best = NULL;
	int most = 0;

	/* Files that are read together usually have one format. */
	if (before != NULL && before->sniff != NULL && before->sniff(head, len) >= SURE)
		return before;
	for (const struct format *const *f = formats; *f != NULL; f++) {
		int sure = (*f)->sniff != NULL ? (*f)->sniff(head, len) : 0;

		if (sure > most) {
			most = sure;
			best = *f;
		}
	}
	return best;
}

static void
set_input(struct reading *r, const struct input *in)
{
	pthread_mutex_lock(&r->lock);
	r->input = in;
	pthread_mutex_unlock(&r->lock);
}

/* Fills the window with HEAD_BYTES, or what precedes the end or the damage of the file. */
static int
fill_head(struct input *in, struct err *e)
{
	int rc = 0;

	while (rc == 0 && in->end - in->at < HEAD_BYTES)
		rc = input_more(in, e);
	return rc == 1 || in->end > in->at ? 0 : rc;
}

/* The number of spans and events so far. */
static uint64_t
found(const struct reading *r)
{
	return r->counts.spans + r->counts.events;
}

static uint64_t
skipped(const struct reading *r)
{
	uint64_t n = 0;

	for (int i = 0; i < SKIPS; i++)
		n += r->counts.skipped[i].count;
	return n;
}

static int
read_input(struct reading *r, struct input *in, struct err *e)
{
	uint64_t before = found(r), skips = skipped(r);
	char names[128];
	int rc = fill_head(in, e);

	if (rc != 0)
		return rc;
	r->format = r->o.format != NULL ? find_format(r->o.format)
	                                : sniff(r->before, in->at, (size_t)(in->end - in->at));
	if (in->at == in->end && (r->format == NULL || r->format->read == NULL))
		return err_set(e, ERR_INPUT, "the input is empty");
	if (r->format != NULL && r->format->read == NULL)
		return err_set(e, ERR_INPUT,
		    "%s is a format of folders: name the folder instead of this file", r->o.format);
	if (r->format == NULL)
		return err_set(e, ERR_INPUT, "the format is not one of the known formats: %s",
		    formats_names(names, sizeof names));
	r->before = r->format;
	rc = r->format->read(r, in, e);
	if (rc == 0 && found(r) == before && skipped(r) > skips)
		return err_set(
		    e, ERR_INPUT, "no part of the input could be read as %s", r->format->what);
	return rc;
}

/* Counts a file that could not be read at all. In a folder, a file that cannot be opened is treated
 * the same way. */
static int
failed(struct reading *r, bool in_folder, int rc, struct err *e)
{
	if (in_folder && rc == ERR_SYSTEM)
		rc = e->code = ERR_INPUT;
	if (rc != ERR_INPUT)
		return rc;
	r->counts.files_failed++;
	reading_skip(r, SKIP_FILE, NULL, "%s", e->text);
	return rc;
}

void
reading_ahead(struct reading *r, const char *path)
{
	free(r->coming);
	r->coming = path != NULL && strcmp(path, "-") != 0 ? strdup(path) : NULL;
}

/* Opens the next file ahead. Its errors are reported when it is read. */
static void
open_ahead(struct reading *r)
{
	drop_ahead(r);
	if (r->coming != NULL && input_open_ahead(&r->ahead, r->coming, NULL) == 0)
		r->ahead_path = r->coming;
	else
		free(r->coming);
	r->coming = NULL;
}

/* Uses the file opened ahead if it is this one, and opens the next one ahead. */
static int
open_next(struct reading *r, struct input *in, const char *path, struct err *e)
{
	int rc = 0;

	if (r->ahead_path != NULL && strcmp(r->ahead_path, path) == 0) {
		*in = r->ahead;
		free(r->ahead_path);
		r->ahead_path = NULL;
	} else {
		rc = input_open(in, path, e);
	}
	open_ahead(r);
	return rc;
}

/* Makes it the current file. Without memory for its name, its spans have no position. */
static void
set_file(struct reading *r, const char *path)
{
	snprintf(r->file, sizeof r->file, "%s", path);
	r->file_number = texts_find(r->files, r->file, strlen(r->file));
	if (r->file_number == UINT32_MAX && texts_count(r->files) < FILES_MAX)
		r->file_number = texts_intern(r->files, r->file, strlen(r->file));
}

static int
read_one(struct reading *r, const char *path, bool in_folder, struct err *e)
{
	struct input in;
	int rc;

	set_file(r, path);
	if ((rc = open_next(r, &in, path, e)) != 0 && !in_folder)
		return rc;
	r->counts.files++;
	if (rc != 0)
		return failed(r, in_folder, rc, e);
	set_input(r, &in);
	rc = read_input(r, &in, e);
	set_input(r, NULL);
	input_close(&in);
	r->format = NULL;
	if (rc != 0)
		err_prefix(e, "%s", strcmp(path, "-") != 0 ? path : "standard input");
	return failed(r, in_folder, rc, e);
}

static const struct format *
folder_format(const struct reading *r, const char *path)
{
	for (const struct format *const *f = formats; *f != NULL; f++)
		if ((r->o.format == NULL || strcmp(r->o.format, (*f)->name) == 0) &&
		    (*f)->is_folder != NULL && (*f)->is_folder(path))
			return *f;
	return NULL;
}

static int
visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int read_path(
    struct reading *r, const char *path, int depth, uint64_t *nread, struct err *e);

/* Accepts files, folders, and dangling links (which are reported). Excludes pipes and devices, which
 * may block for ever, and links to folders, which may form cycles. */
static bool
may_be_read(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return false;
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ||
	       (S_ISLNK(st.st_mode) && (stat(path, &st) != 0 || S_ISREG(st.st_mode)));
}

/* Lists the files and folders of a folder as paths, sorted; returns their number. The caller frees
 * *ret and the paths. Negative: failed. */
static int
list_folder(const char *path, char ***ret, struct err *e)
{
	struct dirent **all;
	int n = scandir(path, &all, visible, alphasort), kept = 0;
	char **paths;

	if (n < 0)
		return err_errno(e, "%s", path);
	paths = calloc((size_t)n + 1, sizeof *paths);
	for (int i = 0; i < n; i++) {
		if (paths != NULL && asprintf(&paths[kept], "%s/%s", path, all[i]->d_name) >= 0) {
			if (may_be_read(paths[kept]))
				kept++;
			else
				free(paths[kept]);
		}
		free(all[i]);
	}
	free(all);
	*ret = paths;
	return paths != NULL ? kept : err_set(e, ERR_MEMORY, "no memory for the files of %s", path);
}

/* Reads all files of a folder, also after ERR_INPUT of one of them. */
static int
read_folder(struct reading *r, const char *path, int depth, uint64_t *nread, struct err *e)
{
	char **paths = NULL;
	int n, rc = 0;

	set_file(r, path);
	if (depth == FOLDER_DEPTH_MAX)
		n = err_set(e, ERR_INPUT, "%s: folders are too deep in each other", path);
	else
		n = list_folder(path, &paths, e);
	if (n < 0) {
		r->counts.files++;
		return failed(r, depth > 0, n, e);
	}
	if (n == 0)
		rc = err_set(e, ERR_INPUT, "%s: the folder contains no files", path);
	for (int i = 0; i < n; i++) {
		if (rc == 0 || rc == ERR_INPUT) {
			if (i + 1 < n)
				reading_ahead(r, paths[i + 1]);
			rc = read_path(r, paths[i], depth + 1, nread, e);
		}
		free(paths[i]);
	}
	free(paths);
	return rc;
}

/* Adds to *nread the files of which something was read. */
static int
read_path(struct reading *r, const char *path, int depth, uint64_t *nread, struct err *e)
{
	const struct format *f;
	struct stat st;
	int rc;

	if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
		rc = read_one(r, path, depth > 0, e);
	} else if ((f = folder_format(r, path)) != NULL) {
		set_file(r, path);
		r->counts.files++;
		r->format = f;
		if ((rc = f->read_folder(r, path, e)) != 0)
			err_prefix(e, "%s", path);
		rc = failed(r, depth > 0, rc, e);
		r->format = NULL;
	} else {
		return read_folder(r, path, depth, nread, e);
	}
	*nread += rc == 0;
	return rc;
}

int
reading_file(struct reading *r, const char *path, struct err *e)
{
	struct err inside;
	char names[128];
	uint64_t nread = 0;
	int rc;

	if (r->o.format != NULL && find_format(r->o.format) == NULL)
		return err_set(e, ERR_MISSING, "%s: unknown format; the known formats are %s",
		    r->o.format, formats_names(names, sizeof names));
	rc = read_path(r, path, 0, &nread, &inside);
	if (rc == ERR_INPUT && nread > 0)
		return 0;
	if (rc != 0 && e != NULL)
		*e = inside;
	return rc;
}

int
reading_memory(struct reading *r, const void *data, size_t len, struct err *e)
{
	const struct format *f = r->o.format != NULL ? find_format(r->o.format) : NULL;
	char names[128];
	struct input in;
	int rc;

	if (f == NULL)
		return err_set(e, ERR_MISSING, "%s: unknown format; the known formats are %s",
		    r->o.format != NULL ? r->o.format : "", formats_names(names, sizeof names));
	if ((rc = input_memory(&in, data, len, 0, e)) != 0)
		return rc;
	r->counts.files++;
	rc = read_input(r, &in, e);
	input_close(&in);
	r->format = NULL;
	return failed(r, false, rc, e);
}

int
reading_end(struct reading *r, struct err *e)
{
	r->file[0] = '\0';
	return span_set_end(r->spans, e);
}

/* ---- what formats find ---- */

static bool
in_range(int64_t ns)
{
	return ns >= -TIME_MAX_NS && ns <= TIME_MAX_NS;
}

/* The span with unknown times in place of those that cannot be. Counts it. */
static struct span
without_nonsense(struct reading *r, const struct span *from)
{
	struct span s = *from;

	s.no_begin |= !in_range(s.begin_ns);
	s.no_end |= !in_range(s.end_ns);
	if (s.no_begin || s.no_end) {
		reading_skip_at(r, SKIP_UNTIMED, reading_origin(r, &s), "span %016llx: no %s",
		    (unsigned long long)s.id,
		    !s.no_end     ? "begin"
		    : !s.no_begin ? "end"
				  : "begin and no end");
	} else {
		reading_skip_at(r, SKIP_NEGATIVE, reading_origin(r, &s),
		    "span %016llx ends before it begins", (unsigned long long)s.id);
		s.no_end = true;
	}
	return s;
}

int
reading_span(struct reading *r, const struct span *s, struct err *e)
{
	int64_t resolution_ns = r->format != NULL ? r->format->resolution_ns : 0;
	struct span kept;

	if (s->id == 0 || (s->trace.high == 0 && s->trace.low == 0)) {
		reading_skip_at(r, SKIP_INCOMPLETE, reading_origin(r, s),
		    "a span without an id or without a trace id");
		return 0;
	}
	if (s->bad_id && !r->o.exact_ids) {
		reading_skip_at(r, SKIP_INCOMPLETE, reading_origin(r, s),
		    "span %016llx: its parent's id is none", (unsigned long long)s->id);
		return 0;
	}
	r->counts.spans++;
	if (s->no_begin || s->no_end || !in_range(s->begin_ns) || !in_range(s->end_ns) ||
	    s->begin_ns > s->end_ns) {
		kept = without_nonsense(r, s);
		s = &kept;
	}
	if (r->o.span != NULL)
		return r->o.span(r->o.ctx, s, e);
	return span_set_add(r->spans, s, resolution_ns, e);
}

int
reading_complete(struct reading *r, struct trace_id id, struct err *e)
{
	return span_set_complete(r->spans, id, e);
}

void
reading_lossy(struct reading *r, struct trace_id id)
{
	span_set_lossy(r->spans, id);
}

/* Whether the trace is to be handed out; counts one that was seen before. */
static bool
is_new(struct reading *r, const struct trace *t)
{
	enum seen seen = seen_traces_add(&r->seen, t);

	if (seen == SEEN_BEFORE)
		reading_skip(r, SKIP_REPEATED, NULL, "trace %016llx%016llx",
		    (unsigned long long)t->id_high, (unsigned long long)t->id);
	else if (seen == SEEN_ID && (r->format == NULL || !r->format->draws_ids))
		reading_skip(r, SKIP_SAME_ID, NULL, "trace %016llx%016llx",
		    (unsigned long long)t->id_high, (unsigned long long)t->id);
	return seen != SEEN_BEFORE;
}

int
reading_look(struct reading *r, const struct trace *t, struct err *e)
{
	if (r->o.look == NULL || r->o.look(r->o.ctx, t))
		return 0;
	return err_set(e, ERR_MEMORY, "no memory for what pairs in the traces");
}

int
reading_trace(struct reading *r, struct trace *t, struct err *e)
{
	int rc;

	if (!is_new(r, t)) {
		trace_free(t);
		return 0;
	}
	r->counts.traces++;
	if (r->o.look != NULL) {
		rc = reading_look(r, t, e);
		trace_free(t);
		return rc;
	}
	if (r->o.take == NULL) {
		trace_free(t);
		return 0;
	}
	return r->o.take(r->o.ctx, t, e);
}

bool
reading_name_room(struct reading *r, size_t len)
{
	if (r->name_bytes + len > r->o.names_max_bytes)
		return false;
	r->name_bytes += len;
	return true;
}

uint32_t
reading_node(struct reading *r, const char *name, size_t len)
{
	static const char other[] = "(other)";
	uint32_t id = r->last_node;

	len = len == 0 ? 0 : strnlen(name, len < NODE_TEXT_MAX ? len : NODE_TEXT_MAX);
	if (len == 0)
		name = "";
	if (id != UINT32_MAX && strncmp(r->names[id], name, len) == 0 && r->names[id][len] == '\0')
		return id;
	id = texts_find(r->nodes, name, len);
	if (id == UINT32_MAX &&
	    (texts_count(r->nodes) >= NODES_MAX || !reading_name_room(r, len))) {
		name = other;
		len = sizeof other - 1;
	}
	if (id == UINT32_MAX && (id = texts_intern(r->nodes, name, len)) == UINT32_MAX)
		return id;
	r->names[id] = texts_get(r->nodes, id);
	return r->last_node = id;
}

struct span_origin
reading_origin(const struct reading *r, const struct span *s)
{
	return (struct span_origin){ r->file_number, s->offset };
}

void
reading_skip(struct reading *r, enum skip why, const struct input *in, const char *format, ...)
{
	struct skipped *s = &r->counts.skipped[why];
	va_list args;

	if (s->count++ > 0)
		return;
	snprintf(s->file, sizeof s->file, "%s", r->file);
	s->placed = in != NULL;
	s->offset = in != NULL ? input_offset(in) : 0;
	va_start(args, format);
	vsnprintf(s->why, sizeof s->why, format, args);
	va_end(args);
}

void
reading_skip_at(struct reading *r, enum skip why, struct span_origin at, const char *format, ...)
{
	struct skipped *s = &r->counts.skipped[why];
	va_list args;

	if (s->count++ > 0)
		return;
	s->placed = at.file != UINT32_MAX;
	s->offset = s->placed ? at.offset : 0;
	if (s->placed)
		snprintf(s->file, sizeof s->file, "%s", texts_get(r->files, at.file));
	va_start(args, format);
	vsnprintf(s->why, sizeof s->why, format, args);
	va_end(args);
}

/* ---- being asked ---- */

void
reading_counts(const struct reading *r, struct reading_counts *ret)
{
	*ret = r->counts;
}

void
reading_progress(const struct reading *r, uint64_t *read_bytes, uint64_t *size_bytes)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&r->lock;

	*read_bytes = *size_bytes = 0;
	pthread_mutex_lock(lock);
	if (r->input != NULL)
		input_progress(r->input, read_bytes, size_bytes);
	pthread_mutex_unlock(lock);
}

const char *const *
reading_nodes(const struct reading *r)
{
	return (const char *const *)r->names;
}

void
reading_note_clock(struct reading *r, uint32_t node, int64_t wall_offset_ns)
{
	if (!array_reserve_max(r->wall_ns, r->wall_cap, node + 1, NODES_MAX + 1))
		return;
	while (r->nwall <= node)
		r->wall_ns[r->nwall++] = 0;
	r->wall_ns[node] = wall_offset_ns;
}

bool
reading_clock(const struct reading *r, uint32_t node, int64_t *wall_offset_ns)
{
	if (node >= r->nwall || r->wall_ns[node] == 0)
		return false;
	*wall_offset_ns = r->wall_ns[node];
	return true;
}

struct labels *
reading_labels(struct reading *r)
{
	return r->labels;
}

const struct reading_options *
reading_options(const struct reading *r)
{
	return &r->o;
}

struct reading_counts *
reading_count(struct reading *r)
{
	return &r->counts;
}
