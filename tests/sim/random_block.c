/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a random application: points, stretches, blocks, units and nodes, and where a cause is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/random.h"

static const char *const SERVICE[] = { "front", "cart", "order", "price", "stock", "mail", "search",
	"pay" };

const char *
service_word(int service)
{
	return SERVICE[service];
}

void *
room(struct made *m, size_t n, size_t size)
{
	void *p = arena_calloc(&m->arena, n > 0 ? n : 1, size);

	if (p == NULL)
		stage_die("out of memory", "random");
	return p;
}

double
between(struct made *m, double low, double high)
{
	return low + rng_unit(&m->rng) * (high - low);
}

double
log_between(struct made *m, double low, double high)
{
	return exp(between(m, log(low), log(high)));
}

int
whole(struct made *m, int low, int high)
{
	return low + (int)rng_below(&m->rng, (uint64_t)(high - low + 1));
}

bool
chance(struct made *m, double p)
{
	return rng_unit(&m->rng) < p;
}

/* ---- tracepoints ---- */

void
add_point(struct made *m, struct unit_made *u, uint32_t i, const char *event, int key)
{
	static const char *const KEY[KEYS_MAX] = { "items", "size", "depth", "rows" };
	const char *service = SERVICE[u->service];
	struct point *p = &m->points[i];
	char text[200];

	snprintf(text, sizeof text, "%s:%s", service, event);
	p->tracepoint = texts_intern(m->names, text, strlen(text));
	p->next = m->points_of[p->tracepoint];
	m->points_of[p->tracepoint] = i;
	snprintf(text, sizeof text, "%s/%s:%s", service, service, event);
	p->label = stage_label(&m->stage, RECORD_POINT, text, key >= 0 ? KEY[key] : NULL);
	p->key = key;
}

struct stretch *
add_stretch(struct made *m, uint32_t first, uint32_t n, bool varies)
{
	struct stretch *s;

	if (m->nstretches == m->stretch_room)
		stage_die("too many stretches", "random");
	s = &m->stretches[m->nstretches];
	*s = (struct stretch){
		.first = first, .n = n, .sigma = between(m, 0.5, 1.5), .varies = varies
	};
	for (uint32_t i = first; i < first + n; i++) {
		m->points[i].stretch = m->nstretches;
		m->points[i].offset_ns = s->mean_ns;
		s->mean_ns += exp(rng_normal(&m->rng)) * 1000;
	}
	m->nstretches++;
	return s;
}

/* Names for points [first, first + n): spans that nest, and single points, now and then a name used
 * before. */
void
name_points(struct made *m, struct unit_made *u, uint32_t first, uint32_t n)
{
	uint32_t open[8], depth = 0;
	char event[64];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t left = n - i;

		if (depth > 0 && (left == depth || chance(m, 0.35)))
			snprintf(event, sizeof event, "%s_%u_end", u->name, open[--depth]);
		else if (depth < 8 && left > depth + 1 && chance(m, 0.5)) {
			snprintf(event, sizeof event, "%s_%u_begin", u->name, first + i);
			open[depth++] = first + i;
		} else if (m->reuse == REUSE_NEAR && i > 20 && chance(m, m->reused))
			snprintf(event, sizeof event, "%s_note%u", u->name, i / 300);
		else if (m->reuse == REUSE_FAR && i > 20 && chance(m, m->reused))
			snprintf(event, sizeof event, "%s_log", u->name);
		else
			snprintf(event, sizeof event, "%s_%u", u->name, first + i);
		add_point(m, u, first + i, event, -1);
	}
}

/* ---- blocks ---- */

static int
by_place(const void *x, const void *y)
{
	const struct insert *a = x, *b = y;

	return a->at < b->at ? -1 : a->at > b->at;
}

/* A block of n points with these between them; each at another place, so that a point is between
 * any two. */
void
make_block(struct made *m, struct unit_made *u, struct block *b, uint32_t n, bool varies,
    struct insert *places, int nplaces)
{
	uint32_t first = m->npoints, done = 0;

	m->npoints += n;
	name_points(m, u, first, n);
	for (int i = 0; i < nplaces; i++) {
		bool taken;

		do {
			places[i].at = (uint32_t)rng_below(&m->rng, n + 1);
			taken = false;
			for (int k = 0; k < i; k++)
				taken |= places[k].at == places[i].at;
		} while (taken);
	}
	if (nplaces > 0)
		qsort(places, (size_t)nplaces, sizeof places[0], by_place);
	b->segs = room(m, 2 * (size_t)nplaces + 1, sizeof b->segs[0]);
	for (int i = 0; i <= nplaces; i++) {
		uint32_t upto = i < nplaces ? places[i].at : n;

		if (upto > done) {
			b->segs[b->nsegs++] = (struct seg){ .kind = SEG_STRETCH,
				.what = (int)m->nstretches };
			add_stretch(m, first + done, upto - done, varies);
		}
		done = upto;
		if (i < nplaces)
			b->segs[b->nsegs++] = places[i].seg;
	}
}

int
add_wait(struct made *m)
{
	struct wait *w = &m->waits[m->nwaits];
	double load = between(m, 0.4, 0.7);

	w->long_share = between(m, 0.05, 0.3);
	w->long_times = between(m, 2, 8);
	w->gap_ns = log_between(m, 2e6, 1e7);
	w->serve_ns = load * w->gap_ns / (1 + w->long_share * (w->long_times - 1));
	w->scale = 1;
	rng_seed(&w->rng, rng_next(&m->rng));
	return m->nwaits++;
}

/* ---- units ---- */

struct unit_made *
add_unit(struct made *m, int parent, bool critical)
{
	struct unit_made *u = &m->units[m->nunits];

	*u = (struct unit_made){ .parent = parent, .critical = critical, .queue = -1, .other = -1 };
	u->service = parent < 0 ? 0 : (int)rng_below(&m->rng, (uint64_t)m->nservices);
	u->depth = parent < 0 ? 0 : m->units[parent].depth + 1;
	snprintf(u->name, sizeof u->name, parent < 0 ? "GET_%d" : "do%d", m->nunits);
	m->nunits++;
	return u;
}

static uint32_t
structure(struct made *m, enum record_kind kind, int service, const char *what, const char *name)
{
	char text[128];

	snprintf(text, sizeof text, "%s/hone:%s(%s)", SERVICE[service], what, name);
	return stage_label(&m->stage, kind, text, kind == RECORD_REQUEST_BEGIN ? "probed" : NULL);
}

void
label_unit(struct made *m, struct unit_made *u)
{
	bool root = u->parent < 0;

	u->begin = structure(m, root ? RECORD_REQUEST_BEGIN : RECORD_UNIT_BEGIN, u->service,
	    root ? "request_begin" : "unit_begin", u->name);
	u->end = structure(m, root ? RECORD_REQUEST_END : RECORD_UNIT_END, u->service,
	    root ? "request_end" : "unit_end", u->name);
	if (root)
		return;
	for (int i = 0; i < m->nservices; i++) {
		u->fork[i] = structure(m, RECORD_FORK, i, "fork", u->name);
		u->join[i] = structure(m, RECORD_JOIN, i, "join", u->name);
	}
}

/* A branch or loop around a call. */
struct seg
around(struct made *m, enum seg_kind kind, const struct seg *call)
{
	struct seg *body = room(m, 1, sizeof *body);

	*body = *call;
	return (struct seg){ .kind = kind, .body = { body, 1 } };
}

/* The slow path's own points, numbered as a stretch from the end. */
void
make_own(struct made *m, struct cause *c, int number)
{
	struct unit_made *u = &m->units[c->unit];
	char event[64];

	c->slow = (struct stretch){ .first = m->npoints, .n = (uint32_t)c->nown };
	for (int i = 0; i < c->nown; i++) {
		struct point *p = &m->points[m->npoints];

		snprintf(event, sizeof event, "%s_slow%d_%d", u->name, number, i);
		add_point(m, u, m->npoints++, event, -1);
		p->stretch = UINT32_MAX - 1 - (uint32_t)number;
		p->offset_ns = 500 + 1000 * i;
		c->own[i] = p->label;
	}
	c->slow.mean_ns = c->nown * 1000;
	c->own_at = c->nown > 0 ? (int)rng_below(&m->rng, (uint64_t)c->nown) : 0;
}

/* ---- where a cause is ---- */

/* The block of the unit that has the cause, and where in it. */
const struct block *
block_of(const struct block *b, int cause, int *at)
{
	for (int i = 0; i < b->nsegs; i++) {
		const struct block *inside;

		*at = i;
		if (b->segs[i].kind == SEG_CAUSE && b->segs[i].what == cause)
			return b;
		if (b->segs[i].body.nsegs > 0 &&
		    (inside = block_of(&b->segs[i].body, cause, at)) != NULL)
			return inside;
	}
	return NULL;
}

/*
 * The tracepoints beside a cause that may be an end of its edge, nearest first: at that segment,
 * from its last point (or its first). Of an application that was learned in another version the
 * nearest is one that was known then; what came since and is nearer will do as well.
 */
int
ends_at(const struct made *m, const struct unit_made *u, const struct block *b, int seg, bool last,
    uint32_t *ret)
{
	const struct stretch *s;
	int n = 0;

	if (seg < 0 || seg == b->nsegs) {
		ret[0] = seg < 0 ? u->begin : u->end;
		return 1;
	}
	if (b->segs[seg].kind != SEG_STRETCH)
		stage_die("a cause stands beside what is no tracepoint", u->name);
	s = &m->stretches[b->segs[seg].what];
	for (uint32_t i = 0; i < s->n && n < ENDS_MAX - OWN_MAX; i++) {
		const struct point *p = &m->points[last ? s->first + s->n - 1 - i : s->first + i];

		if (m->life[p->tracepoint] != LIFE_OLD)
			ret[n++] = p->label;
		if (m->life[p->tracepoint] == LIFE_ALL)
			break;
	}
	return n;
}
/* ---- all of it ---- */

void
make_nodes(struct made *m)
{
	uint32_t n = texts_count(m->names);

	for (int i = 0; i < m->nservices; i++)
		for (int k = 0; k < m->replicas[i]; k++) {
			char name[32];
			struct replica *r = room(m, 1, sizeof *r);

			snprintf(name, sizeof name, "%s%d", SERVICE[i], k + 1);
			m->nodes[i][k] = stage_node(&m->stage, SERVICE[i], name);
			m->nodes[i][k]->ctx = r;
			r->number = k;
			for (uint32_t t = 0; t < n; t++)
				if (strncmp(texts_get(m->names, t), SERVICE[i],
					strlen(SERVICE[i])) == 0)
					stage_has(m->nodes[i][k], texts_get(m->names, t));
		}
}

/* Tracepoints in code that this request type never reaches. */
void
add_spare(struct made *m)
{
	for (uint32_t i = 0; i < m->spare; i++) {
		char text[64];

		snprintf(text, sizeof text, "%s:spare_%u", SERVICE[i % (uint32_t)m->nservices], i);
		m->points_of[texts_intern(m->names, text, strlen(text))] = UINT32_MAX;
	}
}

struct made *
made_alloc(uint64_t seed)
{
	struct made *m = calloc(1, sizeof *m);

	if (m == NULL || (m->names = texts_new()) == NULL)
		stage_die("out of memory", "random");
	m->seed = seed;
	m->sigma = m->calm = 1;
	m->stage.app = m;
	rng_seed(&m->rng, hash_u64(seed));
	return m;
}

void
made_room(struct made *m, uint32_t most)
{
	m->points = room(m, most, sizeof m->points[0]);
	m->points_of = room(m, most, sizeof m->points_of[0]);
	memset(m->points_of, 0xff, most * sizeof m->points_of[0]);
	m->stretch_room = UNITS_MAX * (INSERTS_MAX * 2 + 1);
	m->stretches = room(m, m->stretch_room, sizeof m->stretches[0]);
	m->on_now = room(m, most, 1);
	m->life = room(m, most, 1);
	m->on_ever = room(m, most, 1);
}

void
made_free(struct made *m)
{
	for (uint32_t i = 0; i < m->nstretches; i++)
		for (int k = 0; k < REPLICAS_MAX; k++)
			free(m->stretches[i].on[k].points);
	for (int i = 0; i < m->ncauses; i++)
		for (int k = 0; k < REPLICAS_MAX; k++)
			free(m->causes[i].slow.on[k].points);
	for (int i = 0; i < m->nwaits; i++) {
		free(m->waits[i].at_ns);
		free(m->waits[i].after_ns);
	}
	for (int i = 0; i < m->stage.nnodes; i++)
		free(((struct replica *)m->stage.nodes[i]->ctx)->on);
	traffic_free(m->traffic);
	map_release(&m->path_of);
	stage_release(&m->stage);
	texts_free(m->names);
	arena_release(&m->arena);
	free(m);
}
