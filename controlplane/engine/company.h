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
};

/* Finds the types anew, every COMPANY_EVERY_NS. O(nodes x programs x threads + types x nodes). ERR_MEMORY. */
int company_find(struct company *c, const struct request_types *types, const struct nodes *nodes,
    const struct sampler *s, const struct labels *labels, struct mono now, struct err *e);

/* KNOWN: all of these requests, and those under diagnosis, are recorded, and the history has no others. O(types). */
enum company_state company_state(const struct company *c, const struct thread_history *history,
    const struct request_types *types, const struct sampler *s);

/* All agents have confirmed their shares. Clears the history (NULL is fine) if it is partial though all requests that are company or under diagnosis
 * are recorded from now on. O(types). */
void company_whole(struct company *c, struct thread_history *history,
    const struct request_types *types, const struct sampler *s, struct mono now);

#endif
