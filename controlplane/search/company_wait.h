/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A verdict about a wait for threads says what these did meanwhile. Other requests are recorded for that once a search has come to such an
 * edge (controlplane/engine/company.h), as far as the limits of the nodes allow. Pure functions.
 */
#ifndef CONTROLPLANE_SEARCH_COMPANY_WAIT_H
#define CONTROLPLANE_SEARCH_COMPANY_WAIT_H

#include <stdbool.h>
#include <stdint.h>

enum company_state {
	COMPANY_NONE,   /* no other requests pass there, or it is not known which */
	COMPANY_COMING, /* not all of them are recorded yet, or they cannot be */
	COMPANY_KNOWN
};

/* How long they have to be known for, and how long a verdict waits for that at most. */
#define COMPANY_ENOUGH_NS INT64_C(4000000000)
#define COMPANY_WAIT_NS INT64_C(12000000000)
#define COMPANY_LOOK_NS INT64_C(1000000000) /* so often it is looked whether it still has to wait */

struct company_facts {
	bool awaited; /* the edge is a wait for threads, of an unpredictable group */
	enum company_state state;
	int64_t known_ns;  /* since when; of COMPANY_KNOWN */
	bool named;        /* what the threads did meanwhile can be said */
	int64_t waited_ns; /* since the verdict could be made; 0: it is made for the first time */
};

/*
 * Whether the verdict waits for more requests.
 *
 * 1. It is no wait for threads, or no other requests pass there: no.
 * 2. They are known for COMPANY_ENOUGH_NS, and say what the threads did: no. A process that stands still now and then shows later.
 * 3. It has waited for COMPANY_WAIT_NS: no. The limits of a node do not allow to record all, or too few come. But if they are known since then for less than
 *    COMPANY_ENOUGH_NS, until they are: what was known before has been forgotten.
 * 4. Yes.
 */
bool company_wait(const struct company_facts *f);

#endif
