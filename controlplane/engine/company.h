/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The company of requests under diagnosis: all other requests that pass a node with a thread that these wait for. What the thread
 * did meanwhile is known only if they are recorded, too. Of types under no diagnosis a few requests a second suffice (sampling.h);
 * while they are company all are wanted, as far as the limits of their nodes allow, and they are the first that are lowered.
 *
 * Once all of them are recorded, the history of threads begins anew: before, threads seem to be free while they work for requests of which
 * nothing is known. Not while a search looks below the tracepoints: that may have lowered them for a time, and the verdict that it is for was
 * known before.
 */
#ifndef CONTROLPLANE_ENGINE_COMPANY_H
#define CONTROLPLANE_ENGINE_COMPANY_H

#include "analysis/thread_history.h"
#include "controlplane/engine/nodes.h"
#include "controlplane/engine/request_types.h"
#include "controlplane/engine/sampler.h"
#include "controlplane/search/company_wait.h"

/* Threads that all diagnoses together wait for; further ones are left out. */
enum { COMPANY_AWAITED_MAX = 64, COMPANY_EVERY_NS = 500000000 };

struct company {
	bool of[TYPES_MAX]; /* by the index of the type: it is company, and under no diagnosis */
	uint32_t n;
	struct mono looked; /* when it was found */
	struct mono since;  /* when the history began anew; 0: it has not */
	uint64_t
	    partial; /* arrivals in the history when one of these types was last not recorded whole */
};

/* Finds the types anew, every COMPANY_EVERY_NS. history: NULL is fine. O(nodes x programs x threads + types x nodes). ERR_MEMORY. */
int company_find(struct company *c, const struct thread_history *history,
    const struct request_types *types, const struct nodes *nodes, const struct sampler *s,
    const struct labels *labels, struct mono now, struct err *e);

/* A trace has come of a type that is company or under diagnosis, and of which not all requests are recorded. */
void company_partial(struct company *c, const struct thread_history *history);

/* KNOWN: all of these requests, and those under diagnosis, are recorded, and the history has none of a time when they were not. Other types do not matter:
 * they pass other nodes. O(types). */
enum company_state company_state(const struct company *c, const struct thread_history *history,
    const struct request_types *types, const struct sampler *s);

/* All agents have confirmed their shares. Clears the history (NULL is fine) if it has events of a time when not all requests that are company or under
 * diagnosis were recorded, though they are now; at most every COMPANY_ANEW_NS, since shares at a limit come and go. O(types). */
#define COMPANY_ANEW_NS COMPANY_WAIT_NS
void company_whole(struct company *c, struct thread_history *history,
    const struct request_types *types, const struct sampler *s, struct mono now);

#endif
