/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A mapping says which tracepoints begin and end the requests of a program without libhone. It is a
 * small file, one for each program; its format is strict, like that of all configuration files:
 *
 *	[program]
 *	service = ganesha.nfsd			the program's name (comm); * matches any text
 *
 *	[request rpc]				one or more; the name "rpc" is for messages
 *	begin = nfs_rpc:start			a tracepoint, or a pattern
 *	end = nfs_rpc:end
 *	correlate = thread			all between the two on one thread; pairs nest
 *	type = NFS				the request type; or:
 *	type_field = op				the field of begin that holds it; default: begin's name
 *
 *	[request job]
 *	begin = broker:queued
 *	begin_id = job				correlate = field: the field that holds the request's id
 *	end = broker:done
 *	end_id = task
 *	correlate = field
 *	type = JOB
 *	step = broker:started job -> task	from here on field `task` also holds an id of it
 *	step = broker:written task		a tracepoint that belongs to the request with this id
 *	step = broker:sent no as task		a field of another name that holds such an id
 *
 *	[request otel]				spans, over all programs
 *	begin = otl_ust*:start_span
 *	begin_id = span_id			the field with the id of the span
 *	end = otl_ust*:end_span
 *	end_id = span_id
 *	correlate = span
 *	trace_id = trace_id			the fields of both that hold the id of the trace, of begin that of the parent
 *	parent_id = parent_span_id
 *	service_field = service_name | service	of begin or end: the first that it has
 *	type_field = op_name | operation
 *
 * A record without an id belongs to the innermost request of correlate = thread that its thread is
 * in; else, with `carry = yes` (the default), to the request of correlate = field that its thread
 * worked on last, until that request ends, its thread works on another, or another thread works on
 * it.
 *
 * An id has the name of the field that first held it: job 5 and task 5 are different. A field whose
 * name is not the name of an id holds the rule's only id; if there are several, the file is refused.
 */
#ifndef MAPPING_MAP_H
#define MAPPING_MAP_H

#include "mapping/mapping.h"

/* Reads the file at path and checks all that can be checked without the program. On success *ret is
 * the caller's, until map_free(). ERR_INPUT: "path:line: what is wrong, and what is allowed";
 * ERR_MISSING: no such file; ERR_SYSTEM; ERR_MEMORY. Files up to 1 MiB. O(bytes). */
int map_load(struct mapping **ret, const char *path, struct err *e);
void map_free(struct mapping *m); /* NULL is fine */

/* Makes a mapping of all programs with one rule: a request is what a thread does from an event that
 * matches `begin` to the next one that matches `end`; its type is the name of the first. *ret as
 * above. ERR_INPUT: one of them is no pattern; ERR_MEMORY. */
int map_of_pair(struct mapping **ret, const char *begin, const char *end, struct err *e);

/* The mappings of a folder: all files *.map, in the order of their names. */
struct maps {
	uint32_t count;
	struct mapping **list;
};
/* Reads all of them. A folder that does not exist has none. ERR_INPUT: as map_load(), or two files have
 * the same service; ERR_SYSTEM, ERR_MEMORY; then *ret is empty. */
int maps_load(struct maps *ret, const char *folder, struct err *e);
void maps_release(struct maps *m);

/* The mapping of a program with this name: one with this very service, else the first whose pattern
 * matches; NULL: none. O(maps). */
const struct mapping *maps_of(const struct maps *m, const char *service);

/* True: some rule names the tracepoint "provider:event", so it has to be enabled. O(patterns). */
bool map_needs(const struct mapping *m, const char *event);
/* Pattern number i of what has to be enabled; each occurs once. NULL: i is past the last. */
const char *map_pattern(const struct mapping *m, uint32_t i);

/* Whether a rule names USDT probes, "usdt.PROVIDER:NAME", which LTTng does not know. O(patterns). */
bool map_has_probes(const struct mapping *m);

/* The type of a field of a tracepoint. */
enum map_field_type {
	MAP_FIELD_OTHER,
	MAP_FIELD_INT,
	MAP_FIELD_ENUM,
	MAP_FIELD_REAL,
	MAP_FIELD_TEXT
};

struct map_field {
	const char *name;
	enum map_field_type type;
};

struct map_event {
	const char *name; /* "provider:event" */
	uint32_t nfields;
	const struct map_field *fields;
};

/*
 * Compares the mapping with the tracepoints of the program. Errors are: names and fields that no
 * tracepoint has (with the nearest that exists), ids that can never be equal, and rules that begin
 * with the same tracepoint. Each error, and each warning, is passed to say() with the line of the
 * file. n 0: only what needs no program is checked. Returns the number of errors.
 * O(rules x events x their length).
 */
uint32_t map_check(const struct mapping *m, const struct map_event *events, uint32_t n,
    void (*say)(void *of, bool wrong, int line, const char *text), void *of);

#endif
