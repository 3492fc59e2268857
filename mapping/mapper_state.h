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
#ifndef MAPPING_MAPPER_STATE_H
#define MAPPING_MAPPER_STATE_H

#include "base/hash_map.h"
#include "base/texts.h"
#include "mapping/mapper_types.h"
#include "mapping/mapping.h"
#include "mapping/item_pool.h"

enum role_kind { BEGIN, STEP, END };

struct event_role { /* that a tracepoint plays for a rule */
	enum role_kind kind;
	uint32_t rule;
	uint32_t id, gives, type; /* fields; ITEM_NONE: it has none */
	uint32_t id_kind, gives_kind;
	uint32_t type_text; /* BEGIN: ITEM_NONE: the field's */
};

struct name_roles { /* of a name */
	uint32_t nroles;
	struct event_role roles[];
};

struct mapped_request {
	struct item_pool_link link;
	uint64_t trace_id, unit_id; /* 0: not followed */
	int64_t begin_ns;
	uint32_t pid, rule, type;
	uint32_t thread; /* MAP_THREAD: where it is; MAP_FIELD: that carries it, or ITEM_NONE */
	uint32_t outer, depth, inside; /* MAP_THREAD; inside: begins of its rule so far */
	uint32_t ids, nids;            /* MAP_FIELD */
	uint32_t older, newer;         /* of its rule */
};

struct request_id {
	struct item_pool_link link;
	uint64_t more;          /* bits of the hash, besides the key */
	uint32_t request, next; /* next: of that */
};

struct mapped_thread { /* that is in a request */
	struct item_pool_link link;
	uint32_t inner, carried;
};

struct rule_order {
	uint32_t oldest, newest;
};

struct mapper {
	const struct mapping *map;
	struct mapper_options options;
	struct item_pool requests, ids, threads;
	struct rule_order *orders; /* of each rule's requests */
	struct map plans;          /* name_id -> plan */
	struct arena arena;        /* of those */
	struct texts *types;
	uint64_t base, drawn; /* ids come from their sum */
	uint32_t now; /* the request that the tracepoint at hand belongs to; ITEM_NONE: not known,
	                 or given up */
	struct mapper_counts counts;
};

struct id_hash { /* of a request: what an id comes to */
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
