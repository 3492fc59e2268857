/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which services most likely contain the cause of what changed. Pure: evidence in, an order out.
 *
 * Each item of evidence is some calls of which a part changed, and the one or two services that may be
 * the reason. There are four kinds, and each is scored by itself, so that a service whose evidence is
 * of one kind is not compared with all that is known of others:
 *
 *	own time	calls that are slower by themselves
 *	ways in		round trips between a caller and the service, which is called
 *	ways		all round trips that the service has a part in, called or calling
 *	steps		calls after which requests continue differently
 *
 * The steps of the decision:
 *
 * 1. A step is charged to the service that takes it. It is charged to the service that it follows
 *    (which answered) only if that service changed as well.
 * 2. Of each kind, a service has the score changed / sqrt(all changed x touched), in calls: which share
 *    of all changes touches the service, and which share of what touches it changed (Ochiai's
 *    coefficient; Abreu, Zoeteweij & van Gemund 2006). Its largest score counts.
 * 3. The service with the largest score is a suspect. All evidence that touches it is explained by it,
 *    and step 2 is repeated with what is left, until nothing is left. "All changed" stays that of
 *    the first round, so later suspects have smaller scores.
 * 4. A service whose evidence is all explained by suspects is none, but may be the reason instead of
 *    them. It keeps its score of the first round, at most that of the suspect that explains it, and
 *    so does a service that a step follows which was not charged to it.
 */
#ifndef REPORT_CHANGE_SUSPECTS_H
#define REPORT_CHANGE_SUSPECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define NO_SERVICE UINT32_MAX
#define SUSPECTS_FAILED UINT32_MAX

enum evidence_kind { EVIDENCE_OWN, EVIDENCE_WAY_IN, EVIDENCE_WAY, EVIDENCE_STEP, EVIDENCE_KINDS };

struct clue {                    /* what a comparison says of one item */
	enum evidence_kind kind; /* OWN, WAY or STEP; a WAY is one of both kinds */
	/* The service that took the time, was called, or took the step; and the caller, or the service
	 * whose answer the step follows. far: NO_SERVICE, or another service. */
	uint32_t near, far;
	bool charged; /* to `far` as well, if there is one: see step 1 */
	double part;  /* of its calls that changed, 0 to 1; of steps up to 2 */
	double of;    /* calls */
};

struct suspect {
	uint32_t service;
	enum evidence_kind kind; /* of its largest score */
	double score;
	double changed, touched; /* calls, of that kind */
	uint32_t by;             /* the suspect that explains it; NO_SERVICE: it is one itself */
};

/* Step 1: sets `charged`. seen: scratch of nservices. O(n). */
void evidence_charge(struct clue *e, size_t n, bool *seen, uint32_t nservices);

/* Steps 2 to 4: sets *ret to the services by score, in the arena, and returns their number; step 3 is
 * repeated at most `rounds` times. SUSPECTS_FAILED: out of memory. O(rounds x (n + nservices)). */
uint32_t suspects_rank(struct suspect **ret, const struct clue *e, size_t n, uint32_t nservices,
    uint32_t rounds, struct arena *a);

/*
 * Whether a suspect is sure, and if not, why. Healthy blocks of the baseline, each compared with the
 * rest of it, have first suspects too; as one of nblocks + 1 windows that differ by chance, the window
 * would have the largest score of all with the probability 1 / (nblocks + 1).
 *
 * 1. What other suspects explain is not sure.
 * 2. One of its changes must be significant among all tests, and larger than that of the same item in any
 *    block.
 * 3. There must be blocks enough for that probability to be at most 5 %.
 * 4. Its score must be larger than that of any block.
 */
enum sureness { SURE, SURE_NOT_EXPLAINED, SURE_NOT_SIGNIFICANT, SURE_NOT_BLOCKS, SURE_NOT_UNUSUAL };

enum { BLOCKS_NEEDED = 19 };

enum sureness suspect_sure(
    const struct suspect *s, bool significant, uint32_t nblocks, double largest_score);

#endif
