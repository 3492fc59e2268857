/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applications of kind `tree`: a tree of units, each with a thread of its own, with causes, difficulties
 * and troubles. Draws again what is not fair. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/random.h"

enum { TRIES = 60, DEPTH_MAX = 3 };

static const char *const CLASS[] = { "sometimes", "contention", "key", "slow", "node",
	"thirdparty" };
static const char *const TROUBLE[] = { "-", "lost", "late", "congestion", "clocks", "killed" };
static const char *const HARD[] = { "-", "loop", "places", "alone", "weak", "few", "version" };

const char *
class_word(enum cause_class c)
{
	return CLASS[c];
}

const char *
trouble_word(enum trouble t)
{
	return TROUBLE[t];
}

const char *
hard_word(enum hard h)
{
	return HARD[h];
}

/* A tree of calls. Of calls at the same time only the first is critical. Slow causes bring units of
 * their own. */
static void
make_calls(struct made *m, struct seg calls[UNITS_MAX][UNITS_MAX], int ncalls[UNITS_MAX])
{
	int want = whole(m, 2, m->size < 300 ? 4 : 14);
	bool has_rare = false; /* one is enough: few groups */

	add_unit(m, -1, true);
	while (m->nunits < want) {
		int parent = (int)rng_below(&m->rng, (uint64_t)m->nunits),
		    n = chance(m, 0.3) ? whole(m, 2, CALLS_MAX) : 1;
		bool rare = n == 1 && m->units[parent].depth == 0 && !has_rare && chance(m, 0.15);
		bool again = n == 1 && !rare && chance(m, 0.15);
		struct seg s = { .kind = SEG_CALL, .what = n };

		if (m->units[parent].depth >= DEPTH_MAX || ncalls[parent] >= 6)
			continue;
		for (int i = 0; i < n && m->nunits < UNITS_MAX - CAUSES_MAX; i++) {
			s.unit[i] = m->nunits;
			add_unit(m, parent, m->units[parent].critical && i == 0 && !rare && !again);
		}
		if (rare) {
			s = around(m, SEG_BRANCH, &s);
			s.share = between(m, 0.2, 0.8);
			has_rare = true;
		} else if (again) {
			m->units[m->nunits - 1]
			    .depth = DEPTH_MAX; /* calls nothing: each round is like the others */
			s = around(m, SEG_LOOP, &s);
			s.low = s.high = whole(m, 2, 5);
		}
		calls[parent][ncalls[parent]++] = s;
	}
}

/* Where causes go: to units that all requests pass; slow ones bring a branch with a unit. */
static void
place_causes(struct made *m, struct seg calls[UNITS_MAX][UNITS_MAX], int ncalls[UNITS_MAX])
{
	for (int i = 0; i < m->ncauses; i++) {
		struct cause *c = &m->causes[i];
		int unit;

		do
			unit = (int)rng_below(&m->rng, (uint64_t)m->nunits);
		while (!m->units[unit].critical);
		*c = (struct cause){ .class = m->class, .unit = unit };
		if (c->class == CAUSE_SLOW) {
			struct seg *branch = &calls[unit][ncalls[unit]++];

			c->unit = m->nunits;
			add_unit(m, unit, false);
			*branch = around(m, SEG_BRANCH,
			    &(struct seg){ .kind = SEG_CALL, .what = 1, .unit = { c->unit } });
			branch->share = c->share = between(m, 0.02, 0.035) /
			                           (m->ncauses > 1 ? 2 : 1);
		} else if (c->class == CAUSE_SOMETIMES) {
			c->share = between(m, 0.1, 0.4);
			c->nown = chance(m, 0.5) ? whole(m, 1, OWN_MAX) : 0;
		} else if (c->class == CAUSE_KEY) {
			c->key = m->nkeys;
			m->key_high[m->nkeys++] = whole(m, 4, 20);
		} else if (c->class == CAUSE_NODE) {
			int *replicas = &m->replicas[m->units[unit].service];

			if (*replicas == 1)
				*replicas = whole(m, 2, REPLICAS_MAX);
			c->bad = (int)rng_below(&m->rng, (uint64_t)*replicas);
		} else if (c->class == CAUSE_THIRDPARTY) {
			c->share = between(m, 0.5, 1);
		} else {
			c->wait = add_wait(m);
			c->queue = unit > 0 && m->units[unit].queue < 0 && chance(m, 0.25);
			if (c->queue)
				m->units[unit].queue = i;
		}
	}
}

/* A second call of a unit that has a cause, or of any; callees have larger numbers, so nothing
 * calls itself. */
static void
call_twice(struct made *m, struct seg calls[UNITS_MAX][UNITS_MAX], int ncalls[UNITS_MAX])
{
	int unit = m->ncauses > 0 && m->class != CAUSE_SLOW ? m->causes[0].unit : m->nunits - 1,
	    parent;

	if (unit == 0 || !m->units[unit].critical) {
		m->hard = HARD_NONE;
		return;
	}
	do
		parent = (int)rng_below(&m->rng, (uint64_t)unit);
	while (!m->units[parent].critical);
	m->units[unit].other = parent;
	calls[parent][ncalls[parent]++] = (struct seg){
		.kind = SEG_CALL, .what = 1, .unit = { unit }
	};
}

static void
call_alone(struct made *m, struct seg calls[UNITS_MAX][UNITS_MAX], int ncalls[UNITS_MAX])
{
	int parent;

	do
		parent = (int)rng_below(&m->rng, (uint64_t)m->nunits);
	while (!m->units[parent].critical);
	calls[parent][ncalls[parent]++] = (struct seg){
		.kind = SEG_ALONE, .what = 1, .unit = { m->nunits }
	};
	add_unit(m, parent, false);
}

/* A cause inside a loop, with points before and after it. */
static struct seg
make_loop(struct made *m, struct unit_made *u, int cause, uint32_t *budget)
{
	struct cause *c = &m->causes[cause];
	uint32_t before = (uint32_t)whole(m, 1, 3), n = before + (uint32_t)whole(m, 1, 3),
		 first = m->npoints;
	struct seg *body = room(m, 3, sizeof *body);
	struct seg s = { .kind = SEG_LOOP, .low = whole(m, 2, 4), .body = { body, 3 } };

	c->looped = true;
	s.high = s.low + (chance(m, 0.5) ? whole(m, 1, 3) : 0);
	c->rounds = c->class == CAUSE_KEY && chance(m, 0.5);
	s.by_key = c->rounds ? c->key + 1 : 0;
	m->npoints += n;
	*budget -= n;
	name_points(m, u, first, n);
	body[0] = (struct seg){ .kind = SEG_STRETCH, .what = (int)m->nstretches };
	add_stretch(m, first, before, c->rounds || s.high > s.low);
	body[1] = (struct seg){ .kind = SEG_CAUSE, .what = cause };
	body[2] = (struct seg){ .kind = SEG_STRETCH, .what = (int)m->nstretches };
	add_stretch(m, first + before, n - before, c->rounds || s.high > s.low);
	return s;
}

/* Branches and loops with a few points of their own, and queues and locks that hardly ever make
 * wait. */
static int
make_extras(
    struct made *m, struct unit_made *u, uint32_t *budget, struct insert *places, int nplaces)
{
	int want = whole(m, 0, 3 + (int)log10((double)*budget));

	for (int i = 0; i<want && * budget> 12; i++) {
		struct seg *s = &places[nplaces].seg;
		uint32_t n = (uint32_t)whole(m, 1, *budget > 100 ? 12 : 3);
		int kind = whole(m, 0, 3);

		if (kind == 3 && m->nwaits < 8) {
			*s = (struct seg){ .kind = SEG_WAIT, .what = add_wait(m) };
			m->waits[s->what].scale = 0.02;
		} else if (kind == 2) {
			*s = (struct seg){ .kind = SEG_LOOP, .low = whole(m, 1, 8) };
			s->high = s->low + (chance(m, 0.5) ? whole(m, 1, 4) : 0);
			make_block(m, u, &s->body, n, s->high > s->low, NULL, 0);
			*budget -= n;
		} else {
			*s = (struct seg){ .kind = SEG_BRANCH, .share = between(m, 0.05, 0.95) };
			make_block(m, u, &s->body, n, true, NULL, 0);
			*budget -= n;
		}
		nplaces++;
	}
	return nplaces;
}

static void
make_unit(struct made *m, int number, uint32_t budget, struct seg *calls, int ncalls)
{
	struct unit_made *u = &m->units[number];
	struct insert places[INSERTS_MAX];
	int n = 0;

	for (int i = 0; i < ncalls; i++)
		places[n++].seg = calls[i];
	for (int i = 0; i < m->ncauses; i++)
		if (m->causes[i].unit == number && !m->causes[i].queue) {
			if (m->hard == HARD_LOOP)
				places[n++].seg = make_loop(m, u, i, &budget);
			else
				places[n++].seg = (struct seg){ .kind = SEG_CAUSE, .what = i };
			make_own(m, &m->causes[i], i);
			budget -= (uint32_t)m->causes[i].nown;
		}
	if (budget > (uint32_t)n + 10)
		n = make_extras(m, u, &budget, places, n);
	make_block(m, u, &u->block, budget, false, places, n);
}

/* ---- the truth ---- */

/* Some tracepoints are of one version only; beside a cause there is one of both in each stretch. */
static void
live(struct made *m, const struct block *b, int seg, bool last)
{
	const struct stretch *s;
	uint32_t near, next;

	if (seg < 0 || seg == b->nsegs)
		return;
	s = &m->stretches[b->segs[seg].what];
	near = last ? s->first + s->n - 1 : s->first;
	next = s->n == 1 ? near : last ? near - 1 : near + 1;
	m->life[m->points[near].tracepoint] = (uint8_t)whole(m, LIFE_OLD, LIFE_NEW);
	m->life[m->points[next].tracepoint] = LIFE_ALL;
}

static void
live_all(struct made *m)
{
	for (uint32_t i = 0; i < texts_count(m->names); i++)
		m->life[i] = chance(m, 0.75) ? LIFE_ALL : (uint8_t)whole(m, LIFE_OLD, LIFE_NEW);
	for (int i = 0; i < m->ncauses; i++) {
		const struct cause *c = &m->causes[i];
		const struct block *b;
		int at;

		for (int k = 0; k < c->nown; k++)
			m->life[m->points[c->slow.first + (uint32_t)k].tracepoint] = LIFE_ALL;
		if (c->queue || (b = block_of(&m->units[c->unit].block, i, &at)) == NULL)
			continue;
		live(m, b, at - 1, true);
		live(m, b, at + 1, false);
	}
}

/* A key is carried by the tracepoint before the gap, or where that is none, by the one behind. */
static void
give_key(struct made *m, struct cause *c, uint32_t label)
{
	for (uint32_t i = 0; i < m->npoints; i++)
		if (m->points[i].label == label)
			m->points[i].key = c->key;
	m->stage.label[label].field = "amount";
	c->key_label = label;
}

static void
find_truth(struct made *m)
{
	for (int i = 0; i < m->ncauses; i++) {
		struct cause *c = &m->causes[i];
		const struct unit_made *u = &m->units[c->unit];
		const struct block *b;
		int at = 0;

		if (c->queue) { /* for a thread of the pool: between labels that are always on */
			c->from[c->nfrom++] = u->fork[m->units[u->parent].service];
			if (u->other >= 0)
				c->from[c->nfrom++] = u->fork[m->units[u->other].service];
			c->to[c->nto++] = u->begin;
			continue;
		}
		if ((b = block_of(&u->block, i, &at)) == NULL)
			stage_die("a cause is nowhere", u->name);
		c->nfrom = ends_at(m, u, b, at - 1, true, c->from);
		c->nto = ends_at(m, u, b, at + 1, false, c->to);
		if (c->nfrom == 0 || c->nto == 0)
			stage_die("a cause has no ends", u->name);
		if (c->class == CAUSE_KEY)
			give_key(m, c, at > 0 ? c->from[c->nfrom - 1] : c->to[c->nto - 1]);
		for (int k = 0; k < c->nown; k++)
			c->from[c->nfrom++] = c->to[c->nto++] = c->own[k];
	}
}

/* ---- times ---- */

static double
block_mean(const struct made *m, const struct block *b, double times)
{
	double sum = 0;

	for (int i = 0; i < b->nsegs; i++) {
		const struct seg *s = &b->segs[i];

		if (s->kind == SEG_STRETCH)
			sum += times * m->stretches[s->what].mean_ns;
		else if (s->kind == SEG_LOOP)
			sum += block_mean(m, &s->body, times * (s->low + s->high) / 2);
		else if (s->kind == SEG_BRANCH)
			sum += block_mean(m, &s->body, times * s->share);
		else if (s->kind == SEG_CALL)
			sum += block_mean(m, &m->units[s->unit[0]].block, times);
	}
	return sum;
}

/* All times of the block, and of what it calls, times that; each unit once, wherever it is called.
 */
static void
stretch_once(struct made *m, const struct block *b, double times, uint32_t *seen)
{
	for (int i = 0; i < b->nsegs; i++) {
		const struct seg *s = &b->segs[i];

		if (s->kind == SEG_STRETCH) {
			struct stretch *x = &m->stretches[s->what];

			x->mean_ns *= times;
			for (uint32_t k = x->first; k < x->first + x->n; k++)
				m->points[k].offset_ns *= times;
		}
		stretch_once(m, &s->body, times, seen);
		for (int k = 0; (s->kind == SEG_CALL || s->kind == SEG_ALONE) && k < s->what; k++)
			if ((*seen >> s->unit[k] & 1) == 0) {
				*seen |= UINT32_C(1) << s->unit[k];
				stretch_once(m, &m->units[s->unit[k]].block, times, seen);
			}
	}
}

static void
stretch_block(struct made *m, const struct block *b, double times)
{
	uint32_t seen = 0;

	stretch_once(m, b, times, &seen);
}

/* Of calls at the same time the first takes twice as long as the others, with what the wire takes.
 */
static void
dominate(struct made *m, const struct block *b)
{
	for (int i = 0; i < b->nsegs; i++) {
		const struct seg *s = &b->segs[i];

		dominate(m, &s->body);
		for (int k = 0; s->kind == SEG_CALL && k < s->what; k++)
			dominate(m, &m->units[s->unit[k]].block);
		for (int k = 1; s->kind == SEG_CALL && k < s->what; k++) {
			double first = block_mean(m, &m->units[s->unit[0]].block, 1);
			double other = block_mean(m, &m->units[s->unit[k]].block, 1);

			stretch_block(
			    m, &m->units[s->unit[k]].block, between(m, 0.1, 0.45) * first / other);
		}
	}
}

/* ---- all of it ---- */

static void
make_services(struct made *m)
{
	m->nservices = whole(m, 2, SERVICES_MAX);
	for (int i = 0; i < m->nservices; i++)
		m->replicas[i] = chance(m, 0.6) ? 1 : whole(m, 2, REPLICAS_MAX);
}

static void
make_troubles(struct made *m)
{
	struct stage_node *n = m->stage.nodes[rng_below(&m->rng, (uint64_t)m->stage.nnodes)];

	if (m->trouble == TROUBLE_LOST) {
		n->lose_count = whole(m, 3, 40);
		n->lose_every_s = between(m, 0.3, 2);
	} else if (m->trouble == TROUBLE_LATE) {
		n->late_ns = (int64_t)(between(m, 0.1, 1.5) * 1e9);
	} else if (m->trouble == TROUBLE_CONGESTION) {
		n->fill = 0.7;
		n->fill_from_s = between(m, 0.5, 4);
		n->fill_for_s = between(m, 1, 9);
	} else if (m->trouble == TROUBLE_KILLED) {
		n->gone_from_s = between(m, 0.3, 6);
		n->gone_for_s = between(m, 0.5, 4);
	} else if (m->trouble == TROUBLE_CLOCKS) {
		m->stage.has_clocks = true;
		for (int i = 0; i < m->stage.nnodes; i++) {
			m->stage.nodes[i]->ahead_ns = (int64_t)(between(m, -900, 86400) * 1e9);
			m->stage.nodes[i]->drift_ppm = between(m, -150, 150);
		}
	}
}

/* Tracepoints are shared out over units at random; some are in code that this request never
 * reaches. */
static void
share_out(struct made *m, uint32_t budget[UNITS_MAX])
{
	double weight[UNITS_MAX], sum = 0;
	uint32_t least = m->size < 300 ? 4 : 10,
		 left = m->size - m->spare - least * (uint32_t)m->nunits - 2 * OWN_MAX * CAUSES_MAX;

	for (int i = 0; i < m->nunits; i++)
		sum += weight[i] = exp(rng_normal(&m->rng));
	for (int i = 0; i < m->nunits; i++)
		budget[i] = least + (uint32_t)(left * weight[i] / sum);
	for (int i = 0; i < m->ncauses; i++)
		budget[m->causes[i].unit] += 2 * OWN_MAX;
}

static void
make_once(struct made *m)
{
	struct seg(*calls)[UNITS_MAX] = room(m, UNITS_MAX, sizeof *calls);
	int ncalls[UNITS_MAX] = { 0 };
	uint32_t budget[UNITS_MAX];

	make_services(m);
	make_calls(m, calls, ncalls);
	place_causes(m, calls, ncalls);
	if (m->hard == HARD_PLACES)
		call_twice(m, calls, ncalls);
	else if (m->hard == HARD_ALONE)
		call_alone(m, calls, ncalls);
	share_out(m, budget);
	for (int i = m->nunits; i-- > 0;) {
		uint32_t need = 2 * (uint32_t)ncalls[i] + 4;

		label_unit(m, &m->units[i]);
		m->units[i].npoints = budget[i] > need ? budget[i] : need;
		make_unit(m, i, m->units[i].npoints, calls[i], ncalls[i]);
	}
	add_spare(m);
	m->size = texts_count(m->names);
	if (m->hard == HARD_VERSION)
		live_all(m);
	find_truth(m);
	dominate(m, &m->units[0].block);
	m->mean_ns = fmax(log_between(m, 5e6, 4e7), 300.0 * m->npoints);
	stretch_block(m, &m->units[0].block, m->mean_ns / block_mean(m, &m->units[0].block, 1));
	make_nodes(m);
	make_troubles(m);
}

static struct made *
draw(uint64_t seed, uint32_t size_max, uint64_t again)
{
	struct made *m = made_alloc(seed);

	m->ncauses = chance(m, 0.2) ? 0 : chance(m, 0.5) ? 1 : whole(m, 2, CAUSES_MAX);
	m->class = (enum cause_class)rng_below(&m->rng, CAUSE_CLASSES);
	m->size = (uint32_t)log_between(m, 100, size_max);
	m->rate = m->class == CAUSE_SLOW ? between(m, 500, 1000) : log_between(m, 100, 1000);
	m->trouble = chance(m, 0.75) ? TROUBLE_NONE : (enum trouble)whole(m, 1, TROUBLES - 1);
	m->hard = chance(m, 0.5) ? HARD_NONE : (enum hard)whole(m, 1, HARDS - 1);
	if (m->hard == HARD_WEAK &&
	    (m->class == CAUSE_SLOW || m->ncauses == 0 || again > TRIES / 2))
		m->hard = HARD_NONE;
	if (m->hard == HARD_LOOP && m->class == CAUSE_SLOW)
		m->hard = HARD_FEW;
	if (m->hard == HARD_WEAK)
		m->ncauses = 1;
	rng_seed(&m->rng, hash_u64(seed) + again);
	m->heavy = chance(m, 0.4);
	m->learn_faulty = chance(m, 0.5);
	m->reuse = chance(m, 0.5) ? REUSE_NONE : chance(m, 0.6) ? REUSE_NEAR : REUSE_FAR;
	m->reused = log_between(m, 0.003, 0.03);
	m->spare = (uint32_t)(m->size * between(m, 0, 0.2));
	made_room(m, 2 * m->size + 2000);
	m->stage.request = play_request;
	m->stage.obeyed = play_obeyed;
	make_once(m);
	return m;
}

struct made *
make_tree(uint64_t seed, uint32_t size_max)
{
	for (uint64_t again = 0; again < TRIES; again++) {
		struct made *m = draw(seed, size_max, again);

		if (fair(m))
			return m;
		made_free(m);
	}
	stage_die("nothing fair was drawn", "random");
}
