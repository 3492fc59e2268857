/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/change_suspects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 1e-9 /* of what there was: a difference of two sums below it is 0 */

void
evidence_charge(struct clue *e, size_t n, bool *seen, uint32_t nservices)
{
	memset(seen, 0, nservices * sizeof *seen);
	for (size_t i = 0; i < n; i++)
		if (e[i].part > 0)
			seen[e[i].near] = true;
	for (size_t i = 0; i < n; i++)
		e[i].charged = e[i].far != NO_SERVICE &&
		               (e[i].kind != EVIDENCE_STEP || seen[e[i].far]);
}

/* ---- steps 2 to 4 ---- */

struct round { /* [service * EVIDENCE_KINDS + kind], in calls */
	double *changed, *touched, *least;
	double *answered;           /* changed of the first round, if all steps were charged */
	double all[EVIDENCE_KINDS]; /* changed */
	uint32_t *place;            /* [service]: among the suspects; NO_SERVICE: it is none */
	uint32_t *by;               /* [service]: scratch of step 4 */
};

static void
add(double *sums, const struct clue *e, double calls, bool charged)
{
	sums[(size_t)e->near * EVIDENCE_KINDS + e->kind] += calls;
	if (e->kind == EVIDENCE_WAY)
		sums[(size_t)e->near * EVIDENCE_KINDS + EVIDENCE_WAY_IN] += calls;
	if (charged)
		sums[(size_t)e->far * EVIDENCE_KINDS + e->kind] += calls;
}

static bool
sum_up(struct round *r, const struct clue *e, size_t n, uint32_t nservices, struct arena *a)
{
	size_t each = (size_t)nservices * EVIDENCE_KINDS;

	*r = (struct round){ .changed = arena_calloc(a, each + 1, sizeof *r->changed),
		.touched = arena_calloc(a, each + 1, sizeof *r->touched),
		.least = arena_calloc(a, each + 1, sizeof *r->least),
		.answered = arena_calloc(a, each + 1, sizeof *r->answered),
		.place = arena_alloc(a, (nservices + 1) * sizeof *r->place),
		.by = arena_alloc(a, (nservices + 1) * sizeof *r->by) };
	if (r->changed == NULL || r->touched == NULL || r->least == NULL || r->answered == NULL ||
	    r->place == NULL || r->by == NULL)
		return false;
	memset(r->place, 0xff, nservices * sizeof *r->place);
	for (size_t i = 0; i < n; i++) {
		double changed = e[i].part * e[i].of;

		add(r->changed, &e[i], changed, e[i].charged);
		add(r->answered, &e[i], changed, e[i].far != NO_SERVICE);
		add(r->touched, &e[i], e[i].of, e[i].far != NO_SERVICE);
		r->all[e[i].kind] += changed;
	}
	r->all[EVIDENCE_WAY_IN] = r->all[EVIDENCE_WAY];
	for (size_t i = 0; i < each; i++)
		r->least[i] = LEAST * r->changed[i];
	return true;
}

/* Step 3: a service's score of its best kind. */
static struct suspect
score_of(const struct round *r, const double *changed, uint32_t service)
{
	struct suspect s = { .service = service, .by = NO_SERVICE };

	for (int k = 0; k < EVIDENCE_KINDS; k++) {
		size_t at = (size_t)service * EVIDENCE_KINDS + (size_t)k;
		double score = changed[at] > r->least[at]
		                   ? changed[at] / sqrt(r->all[k] * r->touched[at])
		                   : 0;

		if (score > s.score) {
			s.kind = (enum evidence_kind)k;
			s.score = score;
			s.changed = changed[at];
			s.touched = r->touched[at];
		}
	}
	return s;
}

/* The suspect that explains the evidence; NO_SERVICE: none does. */
static uint32_t
explained_by(const struct round *r, const struct clue *e)
{
	uint32_t near = r->place[e->near], far = e->charged ? r->place[e->far] : NO_SERVICE;

	return near < far ? near : far;
}

/* Step 4: subtracts what the suspect at this place is the first to explain. */
static void
explain(struct round *r, uint32_t service, uint32_t place, const struct clue *e, size_t n)
{
	r->place[service] = place;
	for (size_t i = 0; i < n; i++)
		if (e[i].part > 0 && explained_by(r, &e[i]) == place)
			add(r->changed, &e[i], -e[i].part * e[i].of, e[i].charged);
}

/* By score; of the same score, suspects first. */
static int
compare_suspects(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	if ((x->by == NO_SERVICE) != (y->by == NO_SERVICE))
		return x->by == NO_SERVICE ? -1 : 1;
	return (x->service > y->service) - (x->service < y->service);
}

/* The service with the largest score of what is left, of equal ones that of the first kind: who is called
 * before who calls. Score 0: none. */
static struct suspect
largest(const struct round *r, uint32_t nservices)
{
	struct suspect best = { .service = NO_SERVICE, .by = NO_SERVICE }, now;

	for (uint32_t s = 0; s < nservices; s++) {
		if (r->place[s] != NO_SERVICE)
			continue;
		now = score_of(r, r->changed, s);
		if (now.score > best.score ||
		    (now.score == best.score && now.score > 0 && now.kind < best.kind))
			best = now;
	}
	return best;
}

/* Step 4: for each service that is no suspect and touches explained evidence: `by`, its first suspect, and
 * its score of the first round in `scores`, limited. list: [0..found) the suspects, to which the
 * services are added. Returns the new length. */
static uint32_t
add_explained(const struct round *r, struct suspect *list, uint32_t found,
    const struct suspect *scores, const struct clue *e, size_t n, uint32_t nservices)
{
	uint32_t *by = r->by, nlist = found;

	memset(by, 0xff, nservices * sizeof *by);
	for (size_t i = 0; i < n; i++) {
		uint32_t ends[2] = { e[i].near, e[i].far }, place = explained_by(r, &e[i]);

		for (int end = 0; end < 2 && e[i].part > 0; end++)
			if (ends[end] != NO_SERVICE && r->place[ends[end]] == NO_SERVICE &&
			    place < by[ends[end]])
				by[ends[end]] = place;
	}
	for (uint32_t s = 0; s < nservices; s++)
		if (by[s] != NO_SERVICE) {
			list[nlist] = scores[s];
			list[nlist].score = fmin(scores[s].score, list[by[s]].score);
			list[nlist++].by = list[by[s]].service;
		}
	return nlist;
}

uint32_t
suspects_rank(struct suspect **ret, const struct clue *e, size_t n, uint32_t nservices,
    uint32_t rounds, struct arena *a)
{
	struct suspect *list = arena_alloc(a, (nservices + 1) * sizeof *list);
	struct suspect *scores = arena_alloc(a, (nservices + 1) * sizeof *scores);
	uint32_t found, nlist;
	struct round r;

	if (list == NULL || scores == NULL || !sum_up(&r, e, n, nservices, a))
		return SUSPECTS_FAILED;
	for (uint32_t s = 0; s < nservices; s++) /* 2. */
		scores[s] = score_of(&r, r.answered, s);
	for (found = 0; found < nservices && found < rounds; found++) { /* 3. */
		list[found] = largest(&r, nservices);
		if (list[found].score == 0)
			break;
		explain(&r, list[found].service, found, e, n);
	}
	nlist = add_explained(&r, list, found, scores, e, n, nservices); /* 4. */
	qsort(list, nlist, sizeof *list, compare_suspects);
	*ret = list;
	return nlist;
}

bool
usual_begin(struct usual *u, struct arena *a)
{
	size_t n = u->nservices;

	u->scores = arena_calloc(a, u->nblocks * n + 1, sizeof *u->scores);
	u->significant = arena_calloc(a, u->nblocks * n + 1, sizeof *u->significant);
	u->largest = arena_calloc(a, n + 1, sizeof *u->largest);
	u->excess = arena_calloc(a, u->nblocks + 1, sizeof *u->excess);
	return u->scores != NULL && u->significant != NULL && u->largest != NULL &&
	       u->excess != NULL;
}

void
usual_add(
    struct usual *u, uint32_t block, const struct suspect *s, uint32_t n, const bool *significant)
{
	size_t first = (size_t)block * u->nservices;

	for (uint32_t i = 0; i < n; i++) {
		u->scores[first + s[i].service] = s[i].score;
		u->significant[first + s[i].service] = significant[s[i].service];
		u->largest[s[i].service] = fmax(u->largest[s[i].service], s[i].score);
	}
}

/* The largest score of the service in blocks that are no neighbours of this one. */
static double
largest_elsewhere(const struct usual *u, uint32_t block, uint32_t service)
{
	double most = 0;

	for (uint32_t b = 0; b < u->nblocks; b++)
		if (b + u->apart <= block || b >= block + u->apart)
			most = fmax(most, u->scores[(size_t)b * u->nservices + service]);
	return most;
}

void
usual_end(struct usual *u)
{
	for (uint32_t b = 0; b < u->nblocks; b++)
		for (uint32_t s = 0; s < u->nservices; s++) {
			size_t at = (size_t)b * u->nservices + s;
			double score = u->scores[at];

			if (u->significant[at] && score > u->excess[b])
				u->excess[b] = fmax(
				    u->excess[b], score - largest_elsewhere(u, b, s));
		}
}

double
usual_p(const struct usual *u, const struct suspect *s)
{
	double excess = s->score - u->largest[s->service];
	uint32_t n = 1;

	for (uint32_t b = 0; b < u->nblocks; b++)
		n += excess <= u->excess[b];
	return (double)n / (u->nblocks + 1);
}

enum sureness
suspect_sure(const struct suspect *s, bool significant, const struct usual *u)
{
	if (s->by != NO_SERVICE) /* 1. */
		return SURE_NOT_EXPLAINED;
	if (!significant) /* 2. */
		return SURE_NOT_SIGNIFICANT;
	if (u->nblocks < BLOCKS_NEEDED) /* 3. */
		return SURE_NOT_BLOCKS;
	return usual_p(u, s) <= SURE_P ? SURE : SURE_NOT_UNUSUAL; /* 4. */
}
