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
 * What is usual: healthy blocks of the baseline, each compared with the rest of it, have suspects too.
 * The excess of a service in a block is its score less its largest score in the other blocks (but for
 * those within the window's length, which a disturbance may have in common with it, while the window has
 * no such neighbours); that of the block is the largest excess of all services of which a change is
 * significant in the block, since the same is asked of a suspect. The excess of a suspect of the window is its score
 * less its largest score in any block. If the window differs from the blocks by chance alone, it is one
 * of n + 1 exchangeable ones, and its largest excess is among the k largest of them with a probability
 * of at most k / (n + 1), whatever the scores and however they depend on each other (Vovk, Gammerman &
 * Shafer 2005; Westfall & Young 1993: the maximum accounts for the number of services). Each service is
 * beside its own past, so one that always varies does not hide another one that never did.
 */
struct usual {
	uint32_t nblocks, nservices;
	uint32_t
	    apart; /* blocks whose numbers differ by at least this are not neighbours; 1: all others */
	double *scores;    /* [nblocks x nservices]; 0: no suspect */
	bool *significant; /* [nblocks x nservices]: one of its changes is */
	double *largest;   /* [nservices]: the largest of all blocks */
	double *excess;    /* [nblocks], set by usual_end() */
};

/* Sets arrays, in the arena; the numbers are set by the caller. False: out of memory. */
bool usual_begin(struct usual *u, struct arena *a);
/* Adds the suspects of a block; significant: [nservices]. O(n). */
void usual_add(
    struct usual *u, uint32_t block, const struct suspect *s, uint32_t n, const bool *significant);
/* After the last block. O(nblocks^2 x nservices). */
void usual_end(struct usual *u);
/* The probability of such an excess by chance: (1 + blocks with at least as large a one) / (blocks + 1).
 * O(blocks). */
double usual_p(const struct usual *u, const struct suspect *s);

/*
 * Whether a suspect is sure, and if not, why.
 *
 * 1. What other suspects explain is not sure.
 * 2. One of its changes must be significant among all tests, and larger than that of the same item in any
 *    block.
 * 3. There must be blocks enough for an excess to have a probability of at most SURE_P.
 * 4. The probability of its excess must be at most that.
 */
enum sureness { SURE, SURE_NOT_EXPLAINED, SURE_NOT_SIGNIFICANT, SURE_NOT_BLOCKS, SURE_NOT_UNUSUAL };

#define SURE_P 0.05
enum { BLOCKS_NEEDED = 19 }; /* 1 / (19 + 1) = SURE_P */

enum sureness suspect_sure(const struct suspect *s, bool significant, const struct usual *u);

#endif
