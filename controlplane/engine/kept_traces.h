/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole traces of a few requests, for export: of each request type the slowest, and a uniform sample of all, by the smallest hashes of
 * their ids (bottom-k; Cohen & Kaplan, PODC 2007), so that the choice does not depend on the order of arrival. In bounded memory: beyond
 * it, the type that uses most gives up its fastest slow request, or the sample with the largest hash.
 */
#ifndef CONTROLPLANE_ENGINE_KEPT_TRACES_H
#define CONTROLPLANE_ENGINE_KEPT_TRACES_H

#include "analysis/trace.h"

enum {
	KEPT_SLOW = 32,   /* of each type */
	KEPT_SAMPLE = 32, /* of each type */
	KEPT_TYPES = 512,
	KEPT_BYTES = 32 << 20, /* of all; a trace of more than a sixteenth of it is not kept */
};

struct kept_type {
	uint32_t type; /* label of request_begin */
	size_t bytes;
	uint32_t nslow, nsample;
	struct trace *slow[KEPT_SLOW];     /* slowest first */
	struct trace *sample[KEPT_SAMPLE]; /* smallest hash first; none of them is in slow */
};

struct kept_traces { /* all zeroes is empty */
	struct kept_type **types;
	uint32_t n, cap;
	size_t bytes;
	uint64_t too_large; /* traces that were not kept for their size */
};

/* Takes ownership of the trace if it is kept: true. False: the trace stays the caller's. O(KEPT_SLOW + KEPT_SAMPLE), O(types) for the type. */
bool kept_traces_add(struct kept_traces *k, struct trace *t);

void kept_traces_clear(struct kept_traces *k); /* frees all traces */

/* All traces of a type, or of all (LABEL_NONE), slowest first; of equal times by id. *ret is the caller's to free(), the traces are not, and
 * are valid until the next kept_traces_add(). Their number; or UINT32_MAX: out of memory. O(n log n). */
uint32_t kept_traces_list(const struct kept_traces *k, uint32_t type, const struct trace ***ret);

#endif
