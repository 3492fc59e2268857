/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads trace files. Each format is a file with one `struct format`, named by a line of
 * formats.tbl.h. It passes spans, or whole traces, to a reading, which makes traces of them, hands
 * them out, and counts what was skipped by reason, with the position of the first case.
 */
#ifndef FORMATS_READING_H
#define FORMATS_READING_H

#include "analysis/place_facts.h"
#include "analysis/trace.h"
#include "formats/input.h"
#include "formats/trace_span.h"

enum skip { /* described in skips.tbl.h */
#define X(name, word, what) SKIP_##name,
#include "formats/skips.tbl.h"
#undef X
	SKIPS
};

struct skipped {
	uint64_t count;
	char file[256];  /* of the first case; "": not known */
	bool placed;     /* `offset` is known */
	uint64_t offset; /* of the first case, in decompressed bytes */
	char why[160];   /* of the first case */
};

struct reading_counts {
	uint64_t files;         /* opened, or tried in a folder */
	uint64_t files_failed;  /* of these, files of which nothing could be read */
	uint64_t spans, events; /* read */
	uint64_t spans_used;    /* of these, spans that are in a trace that was handed out */
	uint64_t traces;        /* handed out */
	struct skipped skipped[SKIPS];
};

struct mapping;

enum { READING_MEMORY_BYTES = 64 << 20 };

struct reading_options {
	/* Bound of the spans of incomplete traces, an eighth of it for the ids of traces that were
	 * handed out. Past it the trace that received no span for the longest time is handed out as
	 * it is. 0: READING_MEMORY_BYTES. */
	size_t memory_max_bytes;
	/* Bound of the names of spans, labels and nodes; further ones are "(other)". Their labels take
	 * as much again. 0: SPAN_NAMES_MAX_BYTES. */
	size_t names_max_bytes;
	const char *format; /* its name; NULL: detected by content */
	bool message;       /* of OTLP in protobuf: the input is one message, without framing */
	bool
	    exact_ids; /* of OTLP and Zipkin, with span(): spans whose ids have a wrong length are handed out, with bad_id */
	const char *correlate;     /* for CTF: the rule of correlate_new(), or NULL */
	const struct mapping *map; /* for CTF: of the traced program, or NULL */
	/* Takes ownership of a trace, which any thread may free with trace_free(). A negative
	 * result ends the reading with that code. NULL: traces are only counted. */
	int (*take)(void *ctx, struct trace *t, struct err *e);
	/* Takes each span, which is valid during the call, in place of gathering it by trace. A negative
	 * result ends the reading with that code. Formats whose traces are not made of spans hand out traces all the
	 * same. NULL: spans become traces. */
	int (*span)(void *ctx, const struct span *s, struct err *e);
	/* For a check of the instrumentation: is shown each trace as it was recorded, also those without a
	 * begin or an end, instead of take(); it is valid during the call. False: out of memory. */
	bool (*look)(void *ctx, const struct trace *t);
	/* Of CTF with a mapping, with look(): is told of each tracepoint that begins or ends a request.
	 * False: out of memory. */
	bool (*look_mapped)(void *ctx, uint32_t label, enum mapped_event what, uint32_t times);
	void *ctx;
};

struct reading;

/* Labels are made in `labels` by the thread that reads. The options' strings, map and `labels` must
 * outlive *ret. ERR_MEMORY. */
int reading_new(
    struct reading **ret, const struct reading_options *o, struct labels *labels, struct err *e);
void reading_free(struct reading *r);

/* Reads a file, or standard input ("-"). A folder of CTF is read as one trace; of another folder
 * all files, also of its folders (at most 16 levels), in the order of names. Malformed elements are
 * counted and the rest is read. ERR_INPUT: nothing in it could be read; other files still can.
 * ERR_MISSING: the options' format does not exist. ERR_SYSTEM (also: no such file), ERR_MEMORY, or
 * the error of take(). */
int reading_file(struct reading *r, const char *path, struct err *e);

/* Reads memory as one file of the options' format, without a thread; the memory must be free of change
 * meanwhile. Results as of reading_file(). */
int reading_memory(struct reading *r, const void *data, size_t len, struct err *e);

/* Names the file that follows the next one: it is decompressed while the next one is parsed.
 * Folders and files that cannot be opened are ignored here. NULL: no file follows. */
void reading_ahead(struct reading *r, const char *path);

/* After the last file: hands out all pending traces. ERR_MEMORY, or the error of take(). */
int reading_end(struct reading *r, struct err *e);

void reading_counts(const struct reading *r, struct reading_counts *ret);

/* Progress, from any thread: bytes read of the current file, and its size; 0: not known. */
void reading_progress(const struct reading *r, uint64_t *read_bytes, uint64_t *size_bytes);

/* Names of nodes by the node number of events, for groups_add(). The array stays at its address and
 * its entries never change. For any thread that took a trace, until reading_free(). */
const char *const *reading_nodes(const struct reading *r);

/* What was added to the times of a node's own clock (CLOCK_MONOTONIC, of CTF) to make them times since the epoch. False: the
 * format has times since the epoch, or the node is not known. After reading_end(). */
bool reading_clock(const struct reading *r, uint32_t node, int64_t *wall_offset_ns);

/* ---- for formats ---- */

struct format {
	const char *name, *what;
	/* of its times: spans that overlap by no more than this count as consecutive */
	int64_t resolution_ns;
	bool draws_ids; /* of traces: files may have the same ids for different traces */
	/* The confidence that a file has this format, from 0 (excluded) to 100 (certain), by its
	 * first decompressed bytes: at least 64 KiB if the file has them and is not damaged. NULL: the
	 * format reads folders. */
	int (*sniff)(const char *head, size_t len);
	bool (*is_folder)(const char *path); /* or NULL */
	int (*read)(
	    struct reading *r, struct input *in, struct err *e); /* ERR_INPUT: see reading_file() */
	int (*read_folder)(struct reading *r, const char *path, struct err *e); /* or NULL */
};

extern const struct format *const formats[]; /* NULL at the end */

/* Their names: "jaeger, otlp_json or ctf". Cut if there is no room. Returns `out`. */
const char *formats_names(char *out, size_t size);

/* Passes on a span, which is copied. One without an id is counted and left out. A time that is out of
 * range counts as not known, and so does the end of a span that ends before it begins; such a span
 * is counted and kept. 0, ERR_MEMORY or the error of take(). */
int reading_span(struct reading *r, const struct span *s, struct err *e);

/* All spans of the trace have been read: hands it out. For formats that keep a trace's spans
 * together. ERR_MEMORY or the error of take(). */
int reading_complete(struct reading *r, struct trace_id id, struct err *e);

/* Marks a trace as lossy: a part of it is missing. Between its first span and reading_complete();
 * otherwise without effect. */
void reading_lossy(struct reading *r, struct trace_id id);

/* Hands out a trace that was not made of spans, if it was not handed out before: then it is counted
 * and freed. Takes ownership, also if it fails. The error of take(). */
int reading_trace(struct reading *r, struct trace *t, struct err *e);

/* A trace without a begin or an end, which is not handed out: only look() is shown it. ERR_MEMORY. */
int reading_look(struct reading *r, const struct trace *t, struct err *e);

/* The number of a node by its name, which may be "" and ends at a byte of 0; past 65,536 names it is
 * "(other)". UINT32_MAX: out of memory. */
uint32_t reading_node(struct reading *r, const char *name, size_t len);
/* Whether there is room for a new name of that length, which then counts. Not for names of spans, which
 * span_names.c counts. */
bool reading_name_room(struct reading *r, size_t len);
struct labels *reading_labels(struct reading *r);
/* Of a node whose times were read from a clock of its own: what was added to that to make it the time since the epoch. */
void reading_note_clock(struct reading *r, uint32_t node, int64_t wall_offset_ns);
const struct reading_options *reading_options(const struct reading *r);
struct reading_counts *reading_count(struct reading *r); /* for a format to add to */

struct span_origin {   /* where a span was read, for messages */
	uint32_t file; /* number of the file; UINT32_MAX: not known */
	uint64_t offset;
};

struct span_origin reading_origin(
    const struct reading *r, const struct span *s); /* of a span of the current file */

/* Counts an element that was skipped. Its position is the input's current one (`in` NULL: none), or
 * `at`; `format` is printf's. Only the first case of each reason keeps its text and position. */
void reading_skip(struct reading *r, enum skip why, const struct input *in, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void reading_skip_at(struct reading *r, enum skip why, struct span_origin at, const char *format,
    ...) __attribute__((format(printf, 4, 5)));

#endif
