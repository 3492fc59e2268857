/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside mapping/: what the mapper keeps.
 *
 *	thread --inner--> request --outer--> request		correlate = thread: a list, the innermost first
 *	   |
 *	   '--carried---> request --ids--> id, id		correlate = field; an id is found by its hash
 *
 * A request is also in a list of its rule, the oldest first. What a name means to each rule is looked up once.
 */
#ifndef MAPPING_MAPPER_INSIDE_H
#define MAPPING_MAPPER_INSIDE_H

#include "base/hash_map.h"
#include "base/texts.h"
#include "mapping/mapper.h"
#include "mapping/pool.h"

enum what { BEGIN, STEP, END };

struct role { /* that a tracepoint plays for a rule */
	enum what what;
	uint32_t rule;
	uint32_t id, gives, type; /* fields; POOL_NONE: it has none */
	uint32_t id_kind, gives_kind;
	uint32_t type_text; /* BEGIN: POOL_NONE: the field's */
};

struct plan { /* of a name */
	uint32_t nroles;
	struct role roles[];
};

struct request {
	struct pool_link link;
	uint64_t trace_id, unit_id; /* 0: not followed */
	int64_t begin_ns;
	uint32_t pid, rule, type;
	uint32_t thread; /* MAP_THREAD: where it is; MAP_FIELD: that carries it, or POOL_NONE */
	uint32_t outer, depth, inside; /* MAP_THREAD; inside: begins of its rule so far */
	uint32_t ids, nids;            /* MAP_FIELD */
	uint32_t older, newer;         /* of its rule */
};

struct id {
	struct pool_link link;
	uint64_t more;          /* bits of the hash, besides the key */
	uint32_t request, next; /* next: of that */
};

struct thread { /* that is in a request */
	struct pool_link link;
	uint32_t inner, carried;
};

struct order {
	uint32_t oldest, newest;
};

struct mapper {
	const struct mapping *map;
	struct mapper_options options;
	struct pool requests, ids, threads;
	struct order *orders; /* of each rule's requests */
	struct map plans;     /* name_id -> plan */
	struct arena arena;   /* of those */
	struct texts *types;
	uint64_t base, drawn; /* ids come from their sum */
	uint32_t now; /* the request that the tracepoint at hand belongs to; POOL_NONE: not known,
	                 or given up */
	struct mapper_counts counts;
};

struct name { /* of a request: what an id comes to */
	uint64_t key, more;
};

static inline struct request *
request_at(const struct mapper *p, uint32_t i)
{
	return pool_at(&p->requests, i);
}

static inline struct thread *
thread_at(const struct mapper *p, uint32_t i)
{
	return pool_at(&p->threads, i);
}

static inline struct id *
id_at(const struct mapper *p, uint32_t i)
{
	return pool_at(&p->ids, i);
}

/* ---- roles.c: what a name means ---- */

/* Looked up once. NULL: no memory. */
const struct plan *roles_plan(struct mapper *p, const struct mapper_event *v);

/* The number of the type of a request that begins so. POOL_NONE: no memory. */
uint32_t roles_type(struct mapper *p, const struct mapper_event *v, const struct role *role);

/* ---- held.c: requests, where they are, how they are called ---- */

/* What the field says, as an id of that kind. false: no number and no text. */
bool held_name(const struct mapper *p, const struct mapper_event *v, uint32_t rule, uint32_t kind,
    uint32_t field, struct name *ret);
uint32_t held_named(
    const struct mapper *p, const struct name *name); /* the open request; POOL_NONE: none */

/* Not followed, if it is of a type that is not sampled. The oldest one makes room. POOL_NONE: no
 * memory. */
uint32_t held_new(struct mapper *p, const struct mapper_event *v, uint32_t rule, uint32_t type);
/* From now on the request is known by this id as well; another one that was is lost. ERR_MEMORY. */
int held_call(struct mapper *p, uint32_t request, const struct name *name, struct err *e);
void held_drop(struct mapper *p, uint32_t request);
void held_lose(struct mapper *p, uint32_t request,
    uint64_t *count); /* the same, counted there if it was followed */

uint32_t held_thread(
    const struct mapper *p, const struct mapper_event *v); /* POOL_NONE: it is in no request */
uint32_t held_thread_made(
    struct mapper *p, const struct mapper_event *v); /* POOL_NONE: no memory */
/* A request of correlate = field is worked on by this thread now: no other carries it, and this one
 * no other. ERR_MEMORY. */
int held_enter(struct mapper *p, const struct mapper_event *v, uint32_t request, struct err *e);
void held_leave(struct mapper *p,
    uint32_t thread); /* the thread carries none; whichever it was is still open */

#endif
