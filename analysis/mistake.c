/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules, for each place of each request type. "Enough" is a count of at least count_min whose
 * share of the whole lies above share_min by its interval.
 *
 * 1. Enough joined units without an end, or nearly all of a few: UNIT_OPEN.
 * 2. Enough joined forks without a unit:
 *    a. Requests begin inside of the request (9): nothing more, the carrier arrives.
 *    b. Units of its name are open (1): nothing more, threads with four open units begin no further ones.
 *    c. A unit began by other ones of these forks, or one of the same name began elsewhere:
 *       CARRIER_LOST, expected there.
 *    d. A traceable program is seen that begins nothing: CARRIER_LOST, expected there.
 *    e. PROGRAM_UNSEEN.
 * 3. Enough units by a fork that had begun another one: FORK_REUSED.
 * 4. Enough forks are joined unless a unit of another trace began on the thread meanwhile; their share
 *    lies above that of forks without a join when the thread was not shared, or no thread is ever given back
 *    (7): DETACH_MISSING, of the unit that forks.
 * 5. Enough forks without a join whose unit ended while the forking unit recorded nothing, and
 *    nearly all of that time had passed by then: it waited. JOIN_MISSING. Time that has nothing to do
 *    with the unit would be over by half at its end, on average.
 * 6. Enough units whose fork is not in the trace: FORK_UNSEEN.
 * 7. Enough requests without an end: DETACH_MISSING, if enough of them shared their thread while they
 *    waited, and none of the others that did was joined: a request that stays on its thread loses what comes
 *    after the next one has begun there. REQUEST_OPEN otherwise: an answer may never have come.
 * 8. Enough requests with two ends, or the end first: ENDS_AGAIN.
 * 9. Enough requests inside of a request: REQUEST_INSIDE.
 * 10. Enough traces without a request_begin, of all traces: REQUEST_UNSEEN.
 * 11. Enough tracepoints of a mapping without their id, that end what is not open, or that begin inside
 *    of what never ends: MAPPED_IDLESS, MAPPED_ALONE, MAPPED_INSIDE.
 */
#include "analysis/mistake.h"

#include <math.h>
#include <string.h>

/* Rule 1: fewer are enough where most are open: a thread has at most four. */
enum { OPEN_MIN = 3 };
static const double OPEN_SHARE_MIN = 0.3;

/* Rule 4: a shared thread goes without a join at least so often. Rule 5: so much of the gap may follow
 * the unit's end. Rule 7: part of the open requests. */
static const double SHARED_MIN = 0.2, SLACK_MAX = 0.2, WAITING_MIN = 0.1;

struct mistake_search {
	struct mistake *out;
	uint32_t n, max;
	const struct place_table *facts;
	const struct labels *labels;
	const char *const *idle;
	const struct mistake_limits *limits;
};

const char *
mistake_word(enum mistake_kind k)
{
	static const char *const words[MISTAKES] = {
#define MISTAKE(name, word, text, advice, spans) word,
#include "analysis/mistakes.tbl.h"
#undef MISTAKE
	};

	return words[k];
}

struct mistake_limits
mistake_defaults(void)
{
	return (struct mistake_limits){ .count_min = 5, .share_min = 0.01, .z = 1.96 };
}

void
wilson_interval(double k, double n, double z, double *low, double *high)
{
	double p = n > 0 ? k / n : 0, middle, half;

	*low = 0;
	*high = 1;
	if (n <= 0)
		return;
	middle = (p + z * z / 2 / n) / (1 + z * z / n);
	half = z * sqrt(p * (1 - p) / n + z * z / 4 / n / n) / (1 + z * z / n);
	*low = k > 0 ? fmax(0, middle - half) : 0;
	*high = k < n ? fmin(1, middle + half) : 1;
}

static bool
is_enough(const struct mistake_search *s, uint64_t count, uint64_t of, double least)
{
	double low, high;

	wilson_interval((double)count, (double)of, s->limits->z, &low, &high);
	return count >= s->limits->count_min && low > least;
}

static bool
is_same(const struct mistake *a, const struct mistake *b)
{
	return a->kind == b->kind && a->type == b->type && a->at == b->at;
}

/* Adds a mistake, in the order of their counts. Of two of the same kind and place the more frequent one
 * stays. */
static void
add(struct mistake_search *s, struct mistake m)
{
	uint32_t at;

	m.share = (double)m.count / (double)m.of;
	wilson_interval((double)m.count, (double)m.of, s->limits->z, &m.low, &m.high);
	for (at = 0; at < s->n && !is_same(&s->out[at], &m); at++)
		;
	if (at < s->n) {
		if (s->out[at].count >= m.count)
			return;
		memmove(&s->out[at], &s->out[at + 1], (--s->n - at) * sizeof m);
	}
	for (at = s->n; at > 0 && s->out[at - 1].count < m.count; at--)
		;
	if (at == s->max)
		return;
	s->n -= s->n == s->max;
	memmove(&s->out[at + 1], &s->out[at], (s->n - at) * sizeof m);
	s->out[at] = m;
	s->n++;
}

static bool
same_name(const struct mistake_search *s, uint32_t a, uint32_t b)
{
	const struct label *x = labels_get(s->labels, a), *y = labels_get(s->labels, b);

	return x->name_len == y->name_len && memcmp(x->name, y->name, x->name_len) == 0;
}

static bool
units_are_open(const struct mistake_search *s, const struct place_facts *unit)
{
	double low, high;

	wilson_interval(
	    (double)unit->open_units, (double)unit->joined_units, s->limits->z, &low, &high);
	return is_enough(s, unit->open_units, unit->joined_units, s->limits->share_min) ||
	       (unit->open_units >= OPEN_MIN && low > OPEN_SHARE_MIN);
}

/* ---- rule 2 ---- */

static bool
begins_inside(const struct mistake_search *s, uint32_t type)
{
	for (uint32_t i = 0; i < s->facts->n; i++)
		if (s->facts->items[i].type == type &&
		    s->facts->items[i].begun_inside >= s->limits->count_min)
			return true;
	return false;
}

static void
find_lost(struct mistake_search *s, const struct place_facts *f)
{
	struct mistake m = { .kind = MISTAKE_CARRIER_LOST,
		.type = f->type,
		.at = f->label,
		.to = f->unit,
		.count = f->joined_unbegun,
		.of = f->joined };

	/* a */
	if (begins_inside(s, f->type))
		return;
	for (uint32_t i = 0; i < s->facts->n; i++) {
		const struct place_facts *u = &s->facts->items[i];

		if (u->units == 0 || !(u->label == f->unit || same_name(s, u->label, f->label)))
			continue;
		/* b */
		if (units_are_open(s, u))
			return;
		/* c */
		if (m.to == LABEL_NONE)
			m.to = u->label;
	}
	/* d */
	if (m.to == LABEL_NONE && s->idle != NULL)
		m.to_service = s->idle[0];
	/* e */
	if (m.to == LABEL_NONE && m.to_service == NULL)
		m.kind = MISTAKE_PROGRAM_UNSEEN;
	add(s, m);
}

/* ---- rule 4 ---- */

/* Enough forks are joined although their thread served others meanwhile: it was given back. */
static bool
is_detached(const struct mistake_search *s, const struct place_facts *f)
{
	return is_enough(
	    s, f->shared_joined, f->shared_joined + f->shared_unjoined, s->limits->share_min);
}

static bool
is_detached_never(const struct mistake_search *s, const struct place_facts *f)
{
	double low, high, unused;
	uint64_t shared = f->shared_joined + f->shared_unjoined,
		 alone = f->alone_joined + f->alone_unjoined;

	if (f->joined == 0 || f->forker == LABEL_NONE ||
	    !is_enough(s, f->shared_unjoined, shared, SHARED_MIN))
		return false;
	wilson_interval((double)f->shared_unjoined, (double)shared, s->limits->z, &low, &unused);
	wilson_interval((double)f->alone_unjoined, (double)alone, s->limits->z, &unused, &high);
	return alone == 0 ? !is_detached(s, f) : low > high;
}

/* ---- all rules of one place ---- */

static void
find_at_fork(struct mistake_search *s, const struct place_facts *f)
{
	double least = s->limits->share_min;

	/* 2 */
	if (is_enough(s, f->joined_unbegun, f->joined, least))
		find_lost(s, f);
	/* 3 */
	if (is_enough(s, f->begun_again, f->begun + f->begun_again, least))
		add(s, (struct mistake){ .kind = MISTAKE_FORK_REUSED,
			   .type = f->type,
			   .at = f->label,
			   .to = f->unit,
			   .count = f->begun_again,
			   .of = f->begun + f->begun_again });
	/* 4 */
	if (is_detached_never(s, f)) {
		add(s, (struct mistake){ .kind = MISTAKE_DETACH_MISSING,
			   .type = f->type,
			   .at = f->forker,
			   .to = f->label,
			   .count = f->shared_unjoined,
			   .of = f->shared_joined + f->shared_unjoined });
		return;
	}
	/* 5 */
	if (is_enough(s, f->in_gap, f->forked, least) && f->slack_ns <= SLACK_MAX * f->gap_ns)
		add(s, (struct mistake){ .kind = MISTAKE_JOIN_MISSING,
			   .type = f->type,
			   .at = f->label,
			   .to = f->unit,
			   .count = f->forked - f->joined,
			   .of = f->forked });
}

static void
find_at_unit(struct mistake_search *s, const struct place_facts *f)
{
	/* 1 */
	if (units_are_open(s, f))
		add(s, (struct mistake){ .kind = MISTAKE_UNIT_OPEN,
			   .type = f->type,
			   .at = f->label,
			   .to = LABEL_NONE,
			   .count = f->open_units,
			   .of = f->joined_units });
	/* 6 */
	if (f->type != LABEL_NONE && is_enough(s, f->orphans, f->units, s->limits->share_min))
		add(s, (struct mistake){ .kind = MISTAKE_FORK_UNSEEN,
			   .type = f->type,
			   .at = f->label,
			   .to = LABEL_NONE,
			   .count = f->orphans,
			   .of = f->units });
}

/* The threads of requests that begin there are given back while these wait. */
static bool
detaches(const struct mistake_search *s, const struct place_facts *request)
{
	for (uint32_t i = 0; i < s->facts->n; i++) {
		const struct place_facts *f = &s->facts->items[i];

		if (f->type == request->type && f->forker == request->label && is_detached(s, f))
			return true;
	}
	return false;
}

static void
find_at_request(struct mistake_search *s, const struct place_facts *f)
{
	struct mistake m = { .type = f->type, .at = f->label, .to = LABEL_NONE };
	double least = s->limits->share_min;

	/* 7 */
	if (is_enough(s, f->open, f->requests, least)) {
		bool waits = is_enough(s, f->open_shared, f->open, WAITING_MIN) && !detaches(s, f);

		m.kind = waits ? MISTAKE_DETACH_MISSING : MISTAKE_REQUEST_OPEN;
		m.count = f->open;
		m.of = f->requests;
		add(s, m);
	}
	/* 8 */
	if (is_enough(s, f->ended_again + f->ended_first, f->requests, least)) {
		m.kind = MISTAKE_ENDS_AGAIN;
		m.count = f->ended_again + f->ended_first;
		m.of = f->requests;
		add(s, m);
	}
}

/* Of a place where requests begin inside of those of f->type: of all requests of that type. */
static void
find_inside(struct mistake_search *s, const struct place_facts *f)
{
	for (uint32_t i = 0; i < s->facts->n; i++) {
		const struct place_facts *r = &s->facts->items[i];

		if (r->type != f->type || r->label != f->type)
			continue;
		/* 9 */
		if (is_enough(s, f->begun_inside, r->requests, s->limits->share_min))
			add(s, (struct mistake){ .kind = MISTAKE_REQUEST_INSIDE,
				   .type = f->type,
				   .at = f->label,
				   .to = LABEL_NONE,
				   .count = f->begun_inside,
				   .of = r->requests });
	}
}

/* 11 */
static void
find_mapped(struct mistake_search *s, const struct place_facts *f)
{
	const struct {
		enum mistake_kind kind;
		uint64_t count;
	} all[] = { { MISTAKE_MAPPED_IDLESS, f->mapped_idless },
		{ MISTAKE_MAPPED_ALONE, f->mapped_alone },
		{ MISTAKE_MAPPED_INSIDE, f->mapped_inside } };

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (is_enough(s, all[i].count, f->mapped, s->limits->share_min))
			add(s, (struct mistake){ .kind = all[i].kind,
				   .type = LABEL_NONE,
				   .at = f->label,
				   .to = LABEL_NONE,
				   .count = all[i].count,
				   .of = f->mapped });
}

uint32_t
mistakes_find(struct mistake *out, uint32_t max, const struct place_table *facts,
    const struct labels *labels, const char *const *idle, const struct mistake_limits *limits)
{
	struct mistake_search s = { out, 0, max, facts, labels,
		idle != NULL && idle[0] != NULL ? idle : NULL, limits };

	for (uint32_t i = 0; i < facts->n && max > 0; i++) {
		const struct place_facts *f = &facts->items[i];

		if (f->forked > 0)
			find_at_fork(&s, f);
		if (f->units > 0)
			find_at_unit(&s, f);
		if (f->requests > 0)
			find_at_request(&s, f);
		if (f->begun_inside > 0)
			find_inside(&s, f);
		if (f->mapped > 0)
			find_mapped(&s, f);
		/* 10 */
		if (is_enough(&s, f->headless, facts->traces - facts->lossy, limits->share_min))
			add(&s, (struct mistake){ .kind = MISTAKE_REQUEST_UNSEEN,
				    .type = LABEL_NONE,
				    .at = f->label,
				    .to = LABEL_NONE,
				    .count = f->headless,
				    .of = facts->traces - facts->lossy });
	}
	return s.n;
}

static const double CONCERNS_MIN = 0.05;

/* The first place of the label on the path, or n. */
static uint32_t
place_on(const uint32_t *path, uint32_t n, uint32_t label)
{
	uint32_t i = 0;

	while (i < n && (label == LABEL_NONE || path[i] != label))
		i++;
	return i;
}

bool
mistake_concerns(
    const struct mistake *m, uint32_t type, const uint32_t *path, uint32_t n, uint32_t from)
{
	/* 1 */
	if (m->type != type || m->low < CONCERNS_MIN)
		return false;
	switch (m->kind) {
	/* 2 */
	case MISTAKE_JOIN_MISSING:
		return place_on(path, n, m->at) <= from;
	/* 3 */
	case MISTAKE_DETACH_MISSING:
	case MISTAKE_UNIT_OPEN:
	case MISTAKE_FORK_REUSED:
		return place_on(path, n, m->at) < n || place_on(path, n, m->to) < n;
	/* 4 */
	default:
		return false;
	}
}
