/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of a mapper.
 *
 *	thread --inner--> request --outer--> request		correlate = thread: innermost first
 *	   |
 *	   '--carried---> request --ids--> id, id		correlate = field; found by the id's hash
 *
 * A request is also in the list of its rule, oldest first. The roles of a name are computed once.
 */
#ifndef MAPPING_MAPPER_STATE_H
#define MAPPING_MAPPER_STATE_H

#include "base/hash_map.h"
#include "base/texts.h"
#include "mapping/mapper_types.h"
#include "mapping/mapping.h"
#include "mapping/item_pool.h"

enum role_kind { BEGIN, STEP, END, SPAN_START, SPAN_END };

struct event_role { /* of a tracepoint in a rule */
	enum role_kind kind;
	uint32_t rule;
	uint32_t id, gives,
	    type;        /* numbers of fields; ITEM_NONE: none; of a span gives is the trace's */
	uint32_t parent; /* SPAN_START */
	uint32_t id_kind, gives_kind;
	uint32_t type_text; /* BEGIN: number of the type's text; ITEM_NONE: the field holds it */
};

struct name_roles { /* all roles of a tracepoint, in the order of the file */
	uint32_t nroles;
	struct event_role roles[];
};

struct mapped_request {
	struct item_pool_link link;
	uint64_t trace_id, unit_id; /* 0: not followed */
	int64_t begin_ns;
	uint32_t pid, rule, type;
	uint32_t thread; /* MAP_THREAD: that it is on; MAP_FIELD: that carries it, or ITEM_NONE */
	uint32_t outer, depth, inside; /* MAP_THREAD; inside: begins of its rule so far */
	uint32_t ids, nids;            /* MAP_FIELD */
	uint32_t older, newer;         /* of its rule */
};

struct request_id {
	struct item_pool_link link;
	uint64_t more;          /* the second half of the hash */
	uint32_t request, next; /* next: of that */
};

struct mapped_thread { /* that is in a request, or carries one */
	struct item_pool_link link;
	uint32_t inner, carried;
};

struct open_mapped_span { /* open_spans.h */
	struct open_mapped_span *older, *newer;
	uint64_t key, trace, id, parent; /* parent 0: it is a request */
	int64_t begin_ns;
	uint32_t pid, type;
	bool followed;
};

struct rule_order {
	uint32_t oldest, newest;
};

struct mapper {
	const struct mapping *map;
	struct mapper_options options;
	struct item_pool requests, ids, threads;
	struct rule_order *orders; /* by rule: its requests */
	struct map plans;          /* name_id -> plan */
	struct arena arena;        /* holds those */
	struct texts *types;
	struct map spans; /* of spans: key -> open_mapped_span */
	struct open_mapped_span *oldest_span, *newest_span;
	uint64_t base, drawn; /* trace and unit ids are hashes of their sum */
	/* the request that the current tracepoint belongs to; ITEM_NONE: unknown, or abandoned */
	uint32_t now;
	struct mapper_counts counts;
};

struct id_hash { /* the hash of an id */
	uint64_t key, more;
};

static inline struct mapped_request *
request_at(const struct mapper *p, uint32_t i)
{
	return item_pool_at(&p->requests, i);
}

static inline struct mapped_thread *
thread_at(const struct mapper *p, uint32_t i)
{
	return item_pool_at(&p->threads, i);
}

static inline struct request_id *
id_at(const struct mapper *p, uint32_t i)
{
	return item_pool_at(&p->ids, i);
}

#endif
