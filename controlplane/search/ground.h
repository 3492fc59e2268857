/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a verdict about programs without instrumentation rests on. Kernel events say of each request what its threads did, so a place in such
 * a program that is a cause has a state of them that stands out: they computed, or waited for something. On a busy machine the largest part of what
 * varies is that threads wait for a processor, wherever a message is handed over or a thread computes; that edge carries most of it by chance.
 */
#ifndef CONTROLPLANE_SEARCH_GROUND_H
#define CONTROLPLANE_SEARCH_GROUND_H

#include "analysis/critpath.h"
#include "forest/verdict.h"
#include "wire/below.h"

struct ground_facts {
	bool looks;           /* the diagnosis looks below the tracepoints */
	bool followed;        /* the requests are those of kernel events */
	bool told;            /* a state stands out ... */
	enum below_state top; /* ... which is this */
};

/*
 * 1. The diagnosis does not look below, or the program says by itself what its requests do: GROUND_OPEN.
 * 2. No state stands out, or nobody could say what the threads did: GROUND_NONE.
 * 3. They waited for a processor, and that does not come of what they did otherwise (analysis/below_cause.h): GROUND_PROCESSOR.
 * 4. GROUND_STATE.
 */
enum verdict_ground ground_of(const struct ground_facts *f);

/* Whether the service of `label` is followed by kernel events: the ends of its units in the shape say how long they were ready
 * (agent/reader/source_requests.h). O(tokens). */
bool ground_is_followed(const struct shape *s, const struct labels *labels, uint32_t label);

#endif
