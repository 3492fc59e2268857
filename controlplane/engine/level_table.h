/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tracepoints of all services by log level, and what they cost where they are on for sampled requests: on each node, records a second
 * times the cost of a record there.
 *
 *	records a second of a level of a service on a node =
 *	    counted while the level is on (level_rates.h), or else
 *	    sum over learned request types: passages in a request x requests a second x sampled share x share of the type's traces by the node
 *
 * A tracer knows names and no services, so a tracepoint that two services of a node have is on in both. The records of the other one are
 * counted once it is on, and are then in every price but that of nothing; before, no price has them.
 *
 * What is not known is counted and not guessed: the tracepoints of a service that no learned request type passes, or that one passes that
 * was not learned. On a node with a program without libhone its tracepoints record all requests, sampled or not.
 */
#ifndef CONTROLPLANE_ENGINE_LEVEL_TABLE_H
#define CONTROLPLANE_ENGINE_LEVEL_TABLE_H

#include "controlplane/engine/instrumentation.h"
#include "controlplane/engine/levels.h"
#include "controlplane/engine/overhead.h"
#include "controlplane/engine/request_types.h"
#include "controlplane/engine/sampler.h"

struct level_facts { /* borrowed */
	struct levels *levels;
	const struct nodes *nodes;
	const struct request_types *types;
	const struct labels *labels;
	const struct preload_labels *preload;
	const struct overhead *overhead;
	const struct sampler *sampler;
	const struct instrumentation *instrumentation;
	struct space *space;
};

struct level_service {
	const char *name;
	uint32_t number; /* of the service, in levels.labels */
	uint32_t nodes;  /* connected ones that have it */
	uint8_t upto;    /* the level that is set; LOGLEVEL_NONE: none */
	uint32_t tracepoints[LOGLEVELS];
	bool known; /* how often they are passed; where it is on, it is counted */
};

struct level_cell {             /* a service on a connected node */
	uint32_t node, service; /* service: index in the table */
	double per_second[LOGLEVELS];
	bool counted[LOGLEVELS]; /* not predicted */
	double shared
	    [LOGLEVELS]; /* records a second, counted: by names that are on for another service of the node */
};

struct level_table {
	struct arena arena;
	struct level_service *services; /* by name */
	uint32_t nservices;
	struct level_cell *cells; /* by node */
	uint32_t ncells;
};

/* *ret is to be released in any case. ERR_MEMORY. O(tracepoints of all binaries + places of the space + types x services x nodes). */
int level_table_make(struct level_table *ret, const struct level_facts *f, struct err *e);
void level_table_release(struct level_table *t);

struct level_price {
	double core;                   /* share of a core, on the node where it is most */
	uint32_t node;                 /* that one; UINT32_MAX: there is none */
	double per_second;             /* records, of all nodes together */
	uint32_t tracepoints, unknown; /* by service and name; of them, whose rate is not known */
};

/* What all services cost together by these rules. O(cells + services x rules). */
struct level_price level_table_price(
    const struct level_table *t, const struct level_facts *f, const struct level_rules *rules);
/* The same with another level for one service, the others as they are set. O(cells). */
struct level_price level_table_price_of(
    const struct level_table *t, const struct level_facts *f, uint32_t service, uint8_t upto);

#endif
