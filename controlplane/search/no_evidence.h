/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a diagnosis gets nothing that it can use. Pure. */
#ifndef CONTROLPLANE_SEARCH_NO_EVIDENCE_H
#define CONTROLPLANE_SEARCH_NO_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "forest/reason.h"

/* Since the diagnosis began, of its request type. */
struct evidence_facts {
	int64_t lasts_ns;
	uint32_t agents;  /* connected */
	bool confirmed;   /* by all agents: what they should have enabled */
	bool traceable;   /* a program with the tracepoints of libhone or of a mapping is known */
	double sampled;   /* share of its requests, 0..1 */
	uint64_t usable;  /* traces that are evidence */
	uint64_t lossy;   /* traces in whose time records were lost */
	uint64_t no_unit; /* incomplete traces: a fork was joined without a unit */
	uint64_t open;    /* requests without an end, given up, or pending for longer than usual */
	uint64_t other;   /* traces that are incomplete otherwise */
};

/* REASON_NONE: it gets evidence, or it is too early to tell; else NO_AGENT, UNCONFIRMED, NOT_TRACEABLE,
 * NOT_SAMPLED, NO_REQUESTS, LOST_RECORDS, UNIT_MISSING, END_MISSING or INCOMPLETE. */
enum reason no_evidence(const struct evidence_facts *f);

#endif
