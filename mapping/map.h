/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A mapping: where the requests of a program are that knows nothing of Hone.
 * It is a small file, strict as all of ours, one for each application:
 *
 *	[program]
 *	service = ganesha.nfsd			the program's name (comm); * stands for any text
 *
 *	[request rpc]				as many as there are ways in; "rpc" names it in messages
 *	begin = nfs_rpc:start			a tracepoint, or a pattern of such
 *	end = nfs_rpc:end
 *	correlate = thread			it lies between the two, on one thread; nested pairs count
 *	type = NFS				the request type; or:
 *	type_field = op				a field of begin that says it; neither: the name of begin
 *
 *	[request job]
 *	begin = broker:queued
 *	begin_id = job				correlate = field: the field that holds the request's id
 *	end = broker:done
 *	end_id = task
 *	correlate = field
 *	type = JOB
 *	step = broker:started job -> task	from here on the request is also called by field `task`
 *	step = broker:written task		... and this tracepoint says by `task` that it belongs to it
 *	step = broker:sent no as task		a field of another name that holds such an id
 *
 * A record without an id belongs to the innermost request of correlate = thread that its thread is in; else to the one of
 * correlate = field that its thread was last in, with `carry = yes` (the default), until that ends, the thread
 * is in another, or another thread is in it.
 *
 * An id has a name, that of the field which first held it: job 5 and task 5 are two things. A field of a name that is
 * none holds the only id that there is, or the file is refused.
 *
 * Asks nobody: files are read, the rest are arguments.
 */
#ifndef MAPPING_MAP_H
#define MAPPING_MAP_H

#include "mapping/mapping.h"

/* The file at path. Everything that it says is checked as far as that goes without the program.
 * ERR_INPUT: "path:line: what, and what is allowed"; ERR_MISSING: no such file; ERR_SYSTEM;
 * ERR_MEMORY. Files up to 1 MiB. O(bytes). */
int map_load(struct mapping **ret, const char *path, struct err *e);
void map_free(struct mapping *m); /* NULL is fine */

/* A mapping of any program with one rule: a request is what one thread does between an event that
 * the pattern begin describes and the next one that end does; its type is the name of the first.
 * ERR_INPUT, ERR_MEMORY. */
int map_of_pair(struct mapping **ret, const char *begin, const char *end, struct err *e);

/* All files *.map of a folder, in the order of their names, no two for one service. An absent
 * folder has none. */
struct maps {
	uint32_t count;
	struct mapping **list;
};
int maps_load(struct maps *ret, const char *folder, struct err *e);
void maps_release(struct maps *m);

/* The mapping of a program of this name, or NULL: one that names it before one that describes it,
 * else the first. O(maps). */
const struct mapping *maps_of(const struct maps *m, const char *service);

/* Whether a tracepoint "provider:event" is one that some rule names, so that it has to be on
 * always. */
bool map_needs(const struct mapping *m, const char *event);
/* The patterns of those, each once: what has to be switched on. NULL past the last. */
const char *map_pattern(const struct mapping *m, uint32_t i);

/* A tracepoint that a program has, with its fields. */
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

/* What the mapping says against what the program has: each name and each field that no tracepoint
 * has, with the nearest that there is, ids that can never be equal, and rules that begin with the
 * same, are wrong; what is odd but works is only said. line: of the file. n 0: only what can be
 * told without a program. Returns how many are wrong. O(rules x events x their length). */
uint32_t map_check(const struct mapping *m, const struct map_event *events, uint32_t n,
    void (*say)(void *of, bool wrong, int line, const char *words), void *of);

#endif
