/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays requests, in time proportional to segments, structure and enabled tracepoints. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/random.h"

struct playing {
	struct made *m;
	struct rng *rng;
	bool dry, probed;
	uint64_t trace;
	int keys[KEYS_MAX];
	double tail_ns; /* time of the latest stretch after its last point */
	struct outing *out;
};
struct here { /* a unit being played */
	int service, replica;
	uint64_t unit;
	uint64_t path; /* hash of the structure so far */
};

static int64_t play_block(struct playing *p, struct here *h, const struct block *b, int64_t at_ns);
static int64_t play_cause(struct playing *p, struct here *h, int number, int64_t at_ns);

/* ---- waiting ---- */

double
exponential(struct rng *r, double mean)
{
	return -mean * log(1 - rng_unit(r));
}

static void
wait_more(struct wait *w)
{
	double gap_ns = exponential(&w->rng, w->gap_ns),
	       serve_ns = exponential(&w->rng, w->serve_ns);
	double left_ns = w->n > 0 ? w->after_ns[w->n - 1] - gap_ns : 0;

	if (w->n == w->room) {
		w->room = w->room > 0 ? 2 * w->room : 4096;
		w->at_ns = realloc(w->at_ns, w->room * sizeof *w->at_ns);
		w->after_ns = realloc(w->after_ns, w->room * sizeof *w->after_ns);
		if (w->at_ns == NULL || w->after_ns == NULL)
			stage_die("out of memory", "waits");
	}
	if (rng_unit(&w->rng) < w->long_share)
		serve_ns *= w->long_times;
	w->at_ns[w->n] = (w->n > 0 ? w->at_ns[w->n - 1] : 0) + (int64_t)gap_ns + 1;
	w->after_ns[w->n++] = (left_ns > 0 ? left_ns : 0) + serve_ns;
}

double
wait_at(struct wait *w, int64_t at_ns)
{
	size_t low = 0, high;
	double left_ns;

	at_ns -= START_NS;
	while (w->n == 0 || w->at_ns[w->n - 1] < at_ns)
		wait_more(w);
	for (high = w->n; high - low > 1;) {
		size_t mid = low + (high - low) / 2;

		if (w->at_ns[mid] <= at_ns)
			low = mid;
		else
			high = mid;
	}
	left_ns = w->after_ns[low] - (double)(at_ns - w->at_ns[low]);
	return w->at_ns[low] <= at_ns && left_ns > 0 ? left_ns : 0;
}

/* ---- records ---- */

static void
emit(struct playing *p, const struct here *h, uint32_t label, uint64_t link, int64_t value,
    int64_t at_ns)
{
	if (!p->dry)
		stage_emit(&p->m->stage, p->m->nodes[h->service][h->replica],
		    &(struct stage_record){ .time_ns = at_ns,
			.trace = p->trace,
			.unit = h->unit,
			.link = link,
			.value = value,
			.label = label });
}

static uint64_t
mix(uint64_t path, uint64_t what)
{
	return hash_u64(path * 31 + what);
}

/* Heavy tails: Pareto with exponent 3, shifted and scaled to mean 1 and this sigma. */
double
noise(struct rng *r, double sigma, bool heavy)
{
	if (sigma <= 0)
		return 1;
	if (heavy) {
		double x = 1 + sigma * (pow(1 - rng_unit(r), -1.0 / 3) - 1.5) / 0.8660254;

		return x > 0.2 ? x : 0.2;
	}
	return exp(sigma * rng_normal(r) - sigma * sigma / 2);
}

static void
emit_point(struct playing *p, const struct here *h, uint32_t i, double times, int64_t at_ns)
{
	const struct point *q = &p->m->points[i];

	if (p->m->life[q->tracepoint] == (p->m->learning ? LIFE_NEW : LIFE_OLD))
		return;
	emit(p, h, q->label, 0, q->key >= 0 ? p->keys[q->key] : 0,
	    at_ns + (int64_t)(q->offset_ns * times));
}

static void
emit_stretch(
    struct playing *p, const struct here *h, const struct stretch *s, double times, int64_t at_ns)
{
	const struct stage_node *node = p->m->nodes[h->service][h->replica];
	const struct on *on = &s->on[h->replica];

	if (p->dry || !p->probed)
		return;
	if (((const struct replica *)node->ctx)->all)
		for (uint32_t i = 0; i < s->n; i++)
			emit_point(p, h, s->first + i, times, at_ns);
	else
		for (uint32_t i = 0; i < on->n; i++)
			emit_point(p, h, on->points[i], times, at_ns);
}

static int64_t
play_stretch(struct playing *p, const struct here *h, const struct stretch *s, int64_t at_ns)
{
	double times = noise(p->rng, s->sigma * p->m->sigma, p->m->heavy) *
	               (s->varies ? p->m->calm : 1);

	emit_stretch(p, h, s, times, at_ns);
	p->tail_ns = (s->mean_ns - p->m->points[s->first + s->n - 1].offset_ns) * times;
	return at_ns + (int64_t)(s->mean_ns * times) + 1;
}

/* ---- structure ---- */

static int64_t
play_unit(struct playing *p, int unit, uint64_t link, uint64_t *path, int64_t at_ns)
{
	const struct unit_made *u = &p->m->units[unit];
	struct here h = { u->service, (int)rng_below(p->rng, (uint64_t)p->m->replicas[u->service]),
		++p->m->stage.next_id, mix(0, (uint64_t)unit) };

	emit(p, &h, u->begin, link, 0, at_ns);
	at_ns = play_block(p, &h, &u->block, at_ns + 5000);
	emit(p, &h, u->end, link, 0, at_ns);
	*path = h.path;
	return at_ns;
}

/* Calls the units in parallel and waits for all. The structural path leads through the last one that
 * the caller had to wait for. */
static int64_t
play_call(struct playing *p, struct here *h, const struct seg *s, int64_t at_ns)
{
	uint64_t link[CALLS_MAX], path[CALLS_MAX] = { 0 };
	int64_t back_ns[CALLS_MAX];
	int last = 0;

	for (int i = 0; i < s->what; i++) {
		link[i] = ++p->m->stage.next_id;
		emit(p, h, p->m->units[s->unit[i]].fork[h->service], link[i], 0, at_ns);
		back_ns[i] = at_ns + 30000;
		if (p->m->units[s->unit[i]].queue >= 0)
			back_ns[i] = play_cause(p, h, p->m->units[s->unit[i]].queue, back_ns[i]);
		back_ns[i] = play_unit(p, s->unit[i], link[i], &path[i], back_ns[i]) + 30000;
		at_ns += 2000;
	}
	for (int i = 0; i < s->what; i++) {
		if (back_ns[i] > at_ns) {
			at_ns = back_ns[i];
			last = i;
		} else {
			at_ns += 1000;
		}
		emit(p, h, p->m->units[s->unit[i]].join[h->service], link[i], 0, at_ns);
	}
	h->path = mix(mix(h->path, path[last]), (uint64_t)last);
	return at_ns;
}

/* Plays a unit without a join, which begins after a delay. */
static int64_t
play_alone(struct playing *p, const struct here *h, const struct seg *s, int64_t at_ns)
{
	uint64_t link = ++p->m->stage.next_id, path;

	emit(p, h, p->m->units[s->unit[0]].fork[h->service], link, 0, at_ns);
	play_unit(p, s->unit[0], link, &path,
	    at_ns + 30000 + (int64_t)exponential(p->rng, p->m->mean_ns));
	return at_ns + 2000;
}

static bool
in_branch(struct playing *p, double share)
{
	if (p->m->learning && share < 0.25)
		share = 0.25; /* tests that cover an application also take its rare branches */
	return rng_unit(p->rng) < share;
}

double
lognormal(struct rng *r, double mean, double cv)
{
	double sigma = sqrt(log(1 + cv * cv));

	return mean * exp(sigma * rng_normal(r) - sigma * sigma / 2);
}

/* Plays the tracepoints of a slow path; the time passes after one of them. */
static int64_t
play_own(struct playing *p, const struct here *h, const struct cause *c, double ns, int64_t at_ns)
{
	const struct stretch *s = &c->slow;
	const struct point *q = &p->m->points[s->first + (uint32_t)c->own_at];
	struct stretch before = *s, after = *s;
	int64_t mid_ns = at_ns + (int64_t)q->offset_ns + 1 + (int64_t)ns;

	before.n = (uint32_t)c->own_at + 1;
	after.n = s->n - before.n;
	after.first += before.n;
	for (uint32_t i = 0, n = s->on[h->replica].n; i < n; i++)
		if (s->on[h->replica].points[i] >= after.first) {
			before.on[h->replica].n = i;
			after.on[h->replica].points += i;
			after.on[h->replica].n = n - i;
			break;
		} else if (i + 1 == n) {
			after.on[h->replica].n = 0;
		}
	emit_stretch(p, h, &before, 1, at_ns);
	emit_stretch(p, h, &after, 1, mid_ns - (int64_t)q->offset_ns);
	return mid_ns + (int64_t)(s->mean_ns - q->offset_ns);
}

static int64_t
play_cause(struct playing *p, struct here *h, int number, int64_t at_ns)
{
	struct cause *c = &p->m->causes[number];
	bool taken = c->class != CAUSE_SOMETIMES || in_branch(p, c->share);
	double ns = 0, edge_ns;

	if (c->class == CAUSE_SOMETIMES || c->class == CAUSE_SLOW)
		ns = lognormal(p->rng, c->ns, 0.05) * taken;
	else if (c->class == CAUSE_THIRDPARTY)
		ns = lognormal(p->rng, c->ns, c->share);
	else if (c->class == CAUSE_KEY)
		ns = c->rounds ? c->ns : c->ns * p->keys[c->key];
	else if (c->class == CAUSE_NODE)
		ns = lognormal(p->rng, c->ns, 0.05) * (h->replica == c->bad);
	else
		ns = wait_at(&p->m->waits[c->wait], at_ns) * p->m->waits[c->wait].scale;
	if (!p->m->faulty)
		ns = 0;
	if (p->out != NULL) {
		p->out->cause_ns[number] += ns;
		edge_ns = ns + (taken && c->slow.n > 0 ? 1000 : c->queue ? 30000 : p->tail_ns);
		if (p->out->edge_ns[number] == 0 || p->m->units[c->unit].other < 0)
			p->out->first_ns[number] += edge_ns;
		p->out->edge_ns[number] += edge_ns;
		p->out->slow |= c->class == CAUSE_SLOW;
		p->out->took |= (uint32_t)taken << number;
	}
	if (taken && c->slow.n > 0)
		return play_own(p, h, c, ns, at_ns);
	return at_ns + (int64_t)ns;
}

static int64_t
play_loop(struct playing *p, struct here *h, const struct seg *s, int64_t at_ns)
{
	int rounds = s->low + (int)rng_below(p->rng, (uint64_t)(s->high - s->low + 1));
	uint64_t path = 0;

	if (s->by_key > 0)
		rounds = p->keys[s->by_key - 1];

	for (int i = 0; i < rounds; i++) {
		at_ns = play_block(p, h, &s->body, at_ns);
		path = i == 0 ? h->path : path;
	}
	h->path = path; /* iterations are folded */
	return at_ns;
}

static int64_t
play_block(struct playing *p, struct here *h, const struct block *b, int64_t at_ns)
{
	for (int i = 0; i < b->nsegs; i++) {
		const struct seg *s = &b->segs[i];

		if (s->kind == SEG_STRETCH)
			at_ns = play_stretch(p, h, &p->m->stretches[s->what], at_ns);
		else if (s->kind == SEG_CALL)
			at_ns = play_call(p, h, s, at_ns);
		else if (s->kind == SEG_ALONE)
			at_ns = play_alone(p, h, s, at_ns);
		else if (s->kind == SEG_BRANCH)
			at_ns = in_branch(p, s->share) ? play_block(p, h, &s->body, at_ns) : at_ns;
		else if (s->kind == SEG_LOOP)
			at_ns = play_loop(p, h, s, at_ns);
		else if (s->kind == SEG_WAIT)
			at_ns += (int64_t)(wait_at(&p->m->waits[s->what], at_ns) *
					   p->m->waits[s->what].scale * p->m->calm);
		else
			at_ns = play_cause(p, h, s->what, at_ns);
		p->tail_ns = s->kind == SEG_STRETCH ? p->tail_ns : 0;
		at_ns += 10;
	}
	return at_ns;
}

static void
draw_keys(struct playing *p)
{
	for (int i = 0; i < p->m->nkeys; i++)
		p->keys[i] = 1 + (int)rng_below(p->rng, (uint64_t)p->m->key_high[i]);
}

void
play_dry(struct made *m, int64_t at_ns, struct outing *ret)
{
	struct playing p = { .m = m, .rng = &m->stage.rng, .dry = true, .out = ret };
	struct here h = { m->units[0].service,
		(int)rng_below(p.rng, (uint64_t)m->replicas[m->units[0].service]), 0, 0 };

	*ret = (struct outing){ 0 };
	draw_keys(&p);
	ret->total_ns = (double)(play_block(&p, &h, &m->units[0].block, at_ns) - at_ns);
	ret->path = h.path;
}

/* Stores the path of a trace for judging its verdicts later. */
static void
remember(struct made *m, uint64_t trace, uint64_t path, uint32_t took)
{
	struct went *w = arena_calloc(&m->arena, 1, sizeof *w);

	if (w == NULL)
		stage_die("out of memory", "ways of traces");
	*w = (struct went){ path, took };
	if (!map_put(&m->path_of, trace, w))
		stage_die("out of memory", "ways of traces");
}

void
play_request(void *made, int64_t at_ns)
{
	struct made *m = made;
	const struct unit_made *u = &m->units[0];
	struct playing p = { .m = m, .rng = &m->stage.rng, .trace = rng_next(&m->stage.rng) | 1 };
	struct here h = { u->service, (int)rng_below(p.rng, (uint64_t)m->replicas[u->service]),
		++m->stage.next_id, 0 };
	const struct stage_node *n = m->nodes[h.service][h.replica];
	struct outing out = { 0 };

	p.out = &out;
	p.dry = rng_unit(p.rng) >= n->sampled;
	p.probed = !p.dry && rng_unit(p.rng) < n->probed;
	draw_keys(&p);
	emit(&p, &h, u->begin, 0, p.probed, at_ns);
	at_ns = play_block(&p, &h, &u->block, at_ns + 1000);
	emit(&p, &h, u->end, 0, 0, at_ns);
	if (!p.dry && !m->learning)
		remember(m, p.trace, h.path, out.took);
}

/* ---- enabled tracepoints ---- */

static int
by_number(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return a < b ? -1 : a > b;
}

static uint32_t *
grown(uint32_t *list, uint32_t *room, uint32_t n)
{
	if (n <= *room)
		return list;
	*room = 2 * n + 8;
	if ((list = realloc(list, *room * sizeof *list)) == NULL)
		stage_die("out of memory", "what is on");
	return list;
}

/* Stretches of slow paths are numbered from the end. */
static struct stretch *
stretch_of(struct made *m, uint32_t point)
{
	uint32_t s = m->points[point].stretch;

	return s < UINT32_MAX - CAUSES_MAX ? &m->stretches[s] : &m->causes[UINT32_MAX - 1 - s].slow;
}

static void
switch_one(struct made *m, struct replica *r, int replica, uint32_t tracepoint)
{
	m->non += m->on_now[tracepoint]++ == 0;
	m->used += !m->learning && !m->on_ever[tracepoint];
	m->on_ever[tracepoint] |= !m->learning;
	r->on = grown(r->on, &r->room, r->non + 1);
	r->on[r->non++] = tracepoint;
	for (uint32_t i = m->points_of[tracepoint]; i != UINT32_MAX; i = m->points[i].next) {
		struct on *on = &stretch_of(m, i)->on[replica];

		on->points = grown(on->points, &on->room, on->n + 1);
		on->mixed |= on->n > 0 && on->points[on->n - 1] > i;
		on->points[on->n++] = i;
	}
}

static void
switch_off(struct made *m, struct replica *r, int replica)
{
	for (uint32_t k = 0; k < r->non; k++) {
		m->non -= --m->on_now[r->on[k]] == 0;
		for (uint32_t i = m->points_of[r->on[k]]; i != UINT32_MAX; i = m->points[i].next)
			stretch_of(m, i)->on[replica].n = 0;
	}
	r->non = 0;
	r->all = false;
}

static void
put_in_order(struct made *m, const struct replica *r, int replica)
{
	for (uint32_t k = 0; k < r->non; k++)
		for (uint32_t i = m->points_of[r->on[k]]; i != UINT32_MAX; i = m->points[i].next) {
			struct on *on = &stretch_of(m, i)->on[replica];

			if (on->mixed)
				qsort(on->points, on->n, sizeof on->points[0], by_number);
			on->mixed = false;
		}
}

void
play_version(struct made *m)
{
	for (int i = 0; i < m->stage.nnodes; i++) {
		struct stage_node *n = m->stage.nodes[i];
		struct texts *had = n->has;

		if ((n->has = texts_new()) == NULL)
			stage_die("out of memory", "version");
		for (uint32_t k = 0; k < texts_count(had); k++) {
			const char *name = texts_get(had, k);

			if (m->life[texts_find(m->names, name, strlen(name))] !=
			    (m->learning ? LIFE_NEW : LIFE_OLD))
				stage_has(n, name);
		}
		texts_free(had);
		stage_programs(&m->stage, n);
	}
}

void
play_obeyed(void *made, struct stage_node *n, const struct want *w)
{
	struct made *m = made;
	struct replica *r = n->ctx;
	size_t own = strlen(n->service);
	uint32_t t;

	switch_off(m, r, r->number);
	for (uint32_t i = 0; i < w->ntoggles; i++) {
		const char *name = w->toggles[i].name;

		if (strncmp(name, n->service, own) != 0 || name[own] != ':')
			continue;
		if (strcmp(name + own, ":*") == 0)
			r->all = true;
		else if ((t = texts_find(m->names, name, strlen(name))) != UINT32_MAX)
			switch_one(m, r, r->number, t);
	}
	put_in_order(m, r, r->number);
	if (m->non > m->on_most && !m->learning)
		m->on_most = m->non;
}
