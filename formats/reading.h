/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading trace files: each format is a file of its own with one `struct format`
 * that a line in formats.tbl.h names. What it finds goes into a reading, which
 * makes traces of it and hands them out, and keeps count of what was skipped and
 * why, with the first place where it was.
 */
#ifndef FORMATS_READING_H
#define FORMATS_READING_H

#include "analysis/trace.h"
#include "formats/input.h"
#include "formats/trace_span.h"

enum skip { /* skips.tbl.h has their words */
#define X(name, word, what) SKIP_##name,
#include "formats/skips.tbl.h"
#undef X
	SKIPS
};

struct skipped {
	uint64_t count;
	char file[256];  /* where the first was; "": not known */
	bool placed;     /* it is known where in the file: */
	uint64_t offset; /* in its (inflated) bytes */
	char why[160];
};

struct reading_counts {
	uint64_t files, files_failed; /* tried; failed: nothing of it could be read */
	uint64_t spans, events;       /* that were read */
	uint64_t traces;              /* handed out */
	struct skipped skipped[SKIPS];
};

struct mapping;

struct reading_options {
	size_t
	    memory_max_bytes;  /* of spans that wait for the rest of their traces; past it the trace
	                          that was  longest without news is handed out as it is. 0: 64 MiB */
	const char *format;    /* its name, or NULL: by content */
	const char *correlate; /* for CTF: "thread=BEGIN..END", or NULL: */
	const struct mapping
	    *map; /* of the program that was traced, or NULL: by libhone's context */
	/* Takes a trace, to be freed with trace_free() by whoever, on any thread. Not 0: reading
	 * ends with that code. NULL: they are only counted. */
	int (*take)(void *ctx, struct trace *t, struct err *e);
	void *ctx;
};

struct reading;

/* Labels are made in `labels`, by the thread that reads. */
int reading_new(
    struct reading **ret, const struct reading_options *o, struct labels *labels, struct err *e);
void reading_free(struct reading *r);

/* Reads a file, or "-". A folder: of CTF as one trace, else all files in it and in its folders, by
 * name. What is malformed in it is counted, and the rest read. ERR_INPUT: nothing in it could be
 * read; the reading can go on with others. ERR_SYSTEM (too: there is no such file), ERR_MEMORY, or
 * what take() said. */
int reading_file(struct reading *r, const char *path, struct err *e);

/* The file that will be read after the next one that is: it is inflated while that one is parsed.
 * Folders and what cannot be opened are left for then. NULL is fine. */
void reading_ahead(struct reading *r, const char *path);

/* No more files: hands out what is still held. */
int reading_end(struct reading *r, struct err *e);

void reading_counts(const struct reading *r, struct reading_counts *ret);

/* For progress, from any thread: bytes of the file being read, and its size or 0. */
void reading_progress(const struct reading *r, uint64_t *read_bytes, uint64_t *size_bytes);

/* Names of nodes by the numbers that events bear; for groups_add(). Grows; what was handed out
 * stays. Any thread that was handed a trace. */
const char *const *reading_nodes(const struct reading *r);

/* ---- for formats ---- */

struct format {
	const char *name, *what;
	int64_t resolution_ns; /* of its times: what overlaps by no more than that may as well
	                          follow one another */
	/* How sure it is that these first bytes (up to 64 KiB, inflated) are of it: 0 not at all,
	 * 100 certain. NULL: folders. */
	int (*sniff)(const char *head, size_t len);
	bool (*is_folder)(const char *path); /* or NULL */
	int (*read)(
	    struct reading *r, struct input *in, struct err *e); /* ERR_INPUT: see reading_file() */
	int (*read_folder)(struct reading *r, const char *path, struct err *e); /* or NULL */
};

extern const struct format *const formats[]; /* NULL at the end */

/* A span was read; all of it is copied. 0, ERR_MEMORY or what take() said. */
int reading_span(struct reading *r, const struct span *s, struct err *e);

/* All spans of that trace have been read (the format keeps a trace's together): it is handed out
 * now. */
int reading_complete(struct reading *r, struct trace_id id, struct err *e);

/* A part of that trace is known to be missing. Before reading_complete(). */
void reading_lossy(struct reading *r, struct trace_id id);

/* Another way to a trace than by spans: this one is handed out as it is. */
int reading_trace(struct reading *r, struct trace *t, struct err *e);

/* The number of a node by its name, "" too; UINT32_MAX: out of memory. */
uint32_t reading_node(struct reading *r, const char *name, size_t len);
struct labels *reading_labels(struct reading *r);
const struct reading_options *reading_options(const struct reading *r);
struct reading_counts *reading_count(struct reading *r); /* to add to */

struct span_origin {   /* of a span that is kept, for words about it later */
	uint32_t file; /* its number; UINT32_MAX: not known */
	uint64_t offset;
};

struct span_origin reading_origin(
    const struct reading *r, const struct span *s); /* of one that is being read */

/* Counts what could not be used; the place is the input's now (`in` NULL: no place), the words are
 * printf's. */
void reading_skip(struct reading *r, enum skip why, const struct input *in, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void reading_skip_at(struct reading *r, enum skip why, struct span_origin at, const char *format,
    ...) __attribute__((format(printf, 4, 5)));

#endif
