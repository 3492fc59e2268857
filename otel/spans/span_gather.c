/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace is in two of three queues, each in the order of its time, so that the first of each is due first:
 *
 *	quiet   by the arrival of its last span, while it has no entry
 *	begun   by the arrival of its entry
 *	old     by the arrival of its first span
 *
 * Its spans are held packed, and are unpacked when it is handed out.
 */
#include "otel/spans/span_gather.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "base/hash_map.h"
#include "base/hash_table.h"
#include "otel/spans/span_pack.h"

enum { CHUNK_BYTES = 16 }; /* of what malloc() adds to a piece, and rounds it up by */

struct held_span {
	struct held_span *next;
	uint32_t len;
	uint8_t packed[];
};

struct held_trace {
	struct trace_id id;
	struct held_span *spans, **end;
	uint32_t nspans;
	bool cut, has_entry;
	int64_t base_ns; /* begin of its first span */
	struct mono first, last, began;
	uint64_t key; /* in the map */
	TAILQ_ENTRY(held_trace) turn, age;
};

TAILQ_HEAD(held_traces, held_trace);

/* What was seen lately: when the newer table is full, the older one is emptied and takes its place. */
struct lately {
	struct hash_table tables[2];
	int newer;
	uint32_t each;
};

struct gather {
	struct gather_options o;
	struct map held;
	struct held_traces quiet, begun, old;
	struct span_pack *pack;
	struct buf packed; /* of the span at hand */
	struct gathered_trace handed;
	struct arena arena; /* of its spans */
	bool is_handed;
	struct lately spans, traces; /* traces: those that were handed out */
	uint64_t seed;
	struct gather_stats stats;
};

/* ---- lately ---- */

static bool
lately_has(const struct lately *l, uint64_t hash)
{
	return hash_table_find(&l->tables[0], hash) != HASH_TABLE_NONE ||
	       hash_table_find(&l->tables[1], hash) != HASH_TABLE_NONE;
}

/* Without memory it is not remembered. */
static void
lately_add(struct lately *l, uint64_t hash)
{
	if (l->tables[l->newer].count >= l->each) {
		l->newer = !l->newer;
		hash_table_clear(&l->tables[l->newer]);
	}
	hash_table_put(&l->tables[l->newer], hash, 0);
}

static void
lately_release(struct lately *l)
{
	hash_table_release(&l->tables[0]);
	hash_table_release(&l->tables[1]);
}

/* ---- the gatherer ---- */

int
gather_new(struct gather **ret, const struct gather_options *o, struct err *e)
{
	struct gather *g = calloc(1, sizeof *g);

	if (g == NULL || (g->pack = span_pack_new()) == NULL) {
		free(g);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	g->o = *o;
	g->seed = hash_seed();
	g->spans.each = GATHER_KNOWN_SPANS;
	g->traces.each = GATHER_KNOWN_TRACES;
	g->stats.bytes_max = o->bytes_max;
	TAILQ_INIT(&g->quiet);
	TAILQ_INIT(&g->begun);
	TAILQ_INIT(&g->old);
	*ret = g;
	return 0;
}

static uint64_t
trace_hash(const struct gather *g, struct trace_id id)
{
	return hash_u64(g->seed ^ hash_u64(id.low ^ hash_u64(id.high)));
}

static struct held_trace *
find(const struct gather *g, struct trace_id id, uint64_t *key)
{
	struct held_trace *t;

	for (*key = trace_hash(g, id); (t = map_get(&g->held, *key)) != NULL &&
				       (t->id.low != id.low || t->id.high != id.high);)
		*key = hash_u64(*key + 1);
	return t;
}

static void
unlink_trace(struct gather *g, struct held_trace *t)
{
	TAILQ_REMOVE(t->has_entry ? &g->begun : &g->quiet, t, turn);
	TAILQ_REMOVE(&g->old, t, age);
	map_take(&g->held, t->key);
	g->stats.held--;
}

static struct held_trace *
trace_new(struct gather *g, struct trace_id id, uint64_t key, int64_t base_ns, struct mono now)
{
	struct held_trace *t = calloc(1, sizeof *t);

	if (t == NULL || !map_put(&g->held, key, t)) {
		free(t);
		return NULL;
	}
	t->id = id;
	t->end = &t->spans;
	t->key = key;
	t->base_ns = base_ns;
	t->first = t->last = now;
	TAILQ_INSERT_TAIL(&g->quiet, t, turn);
	TAILQ_INSERT_TAIL(&g->old, t, age);
	g->stats.bytes += sizeof *t + CHUNK_BYTES;
	g->stats.held++;
	return t;
}

/* ---- spans ---- */

static enum gathered
count(struct gather *g, enum gathered what)
{
	g->stats.results[what]++;
	return what;
}

/* All spans of a program carry its caller; the first one has it as its parent, unless a proxy has replaced that. */
static bool
is_entry(const struct span *s, const struct caller *caller)
{
	return !s->has_parent || (caller->link_id != 0 && caller->link_id == s->parent);
}

/* The trace moves behind all whose last span, or entry, came before. */
static void
move_on(struct gather *g, struct held_trace *t, bool entry, struct mono now)
{
	t->last = now;
	if (t->has_entry)
		return;
	TAILQ_REMOVE(&g->quiet, t, turn);
	if (entry) {
		t->has_entry = true;
		t->began = now;
		TAILQ_INSERT_TAIL(&g->begun, t, turn);
	} else {
		TAILQ_INSERT_TAIL(&g->quiet, t, turn);
	}
}

static size_t
held_bytes(size_t packed)
{
	return sizeof(struct held_span) + packed + CHUNK_BYTES;
}

/* Packs the span, relative to the first one of its trace. False: the bound of memory, or there is none. */
static bool
pack(
    struct gather *g, const struct held_trace *t, const struct span *s, const struct caller *caller)
{
	size_t new = t == NULL ? sizeof *t + CHUNK_BYTES : 0;

	buf_reset(&g->packed);
	if (g->stats.bytes + new + held_bytes(0) > g->o.bytes_max)
		return false;
	span_pack_put(g->pack, &g->packed, s, caller, t != NULL ? t->base_ns : s->begin_ns);
	return !g->packed.failed &&
	       g->stats.bytes + new + held_bytes(g->packed.len) <= g->o.bytes_max;
}

static bool
hold(struct gather *g, struct held_trace *t)
{
	struct held_span *h = malloc(sizeof *h + g->packed.len);

	if (h == NULL)
		return false;
	h->next = NULL;
	h->len = (uint32_t)g->packed.len;
	memcpy(h->packed, g->packed.data, g->packed.len);
	*t->end = h;
	t->end = &h->next;
	t->nspans++;
	g->stats.bytes += held_bytes(h->len);
	return true;
}

enum gathered
gather_add(struct gather *g, const struct span *s, struct mono now)
{
	uint64_t key, hash = hash_u64(trace_hash(g, s->trace) ^ hash_u64(s->id));
	struct held_trace *t = find(g, s->trace, &key);
	struct caller caller = trace_state_caller(s->state);

	if (lately_has(&g->spans, hash))
		return count(g, GATHERED_AGAIN);
	if (t == NULL && lately_has(&g->traces, trace_hash(g, s->trace)))
		return count(g, GATHERED_LATE);
	if ((t != NULL && t->nspans >= g->o.spans_max) || !pack(g, t, s, &caller) ||
	    (t == NULL && (t = trace_new(g, s->trace, key, s->begin_ns, now)) == NULL) ||
	    !hold(g, t)) {
		if (t != NULL)
			t->cut = true;
		return count(g, GATHERED_FULL);
	}
	lately_add(&g->spans, hash);
	move_on(g, t, is_entry(s, &caller), now);
	return count(g, GATHERED);
}

void
gather_cut(struct gather *g, struct trace_id id, struct mono now)
{
	uint64_t key;
	struct held_trace *t = find(g, id, &key);

	if (t == NULL && !lately_has(&g->traces, trace_hash(g, id)) &&
	    g->stats.bytes + sizeof *t + CHUNK_BYTES <= g->o.bytes_max)
		t = trace_new(g, id, key, now.ns, now);
	if (t != NULL)
		t->cut = true;
}

/* ---- what is due ---- */

static int64_t
quiet_ns(const struct gather *g, const struct held_trace *t)
{
	return t->last.ns + g->o.hold_ns;
}

static int64_t
begun_ns(const struct gather *g, const struct held_trace *t)
{
	return t->began.ns + g->o.hold_ns;
}

/* When the first of all is due. INT64_MAX: none is held. */
static int64_t
first_due_ns(const struct gather *g, struct held_trace **ret)
{
	struct held_trace *quiet = TAILQ_FIRST(&g->quiet), *begun = TAILQ_FIRST(&g->begun),
			  *old = TAILQ_FIRST(&g->old);
	int64_t due = INT64_MAX;

	*ret = NULL;
	if (quiet != NULL && quiet_ns(g, quiet) < due) {
		due = quiet_ns(g, quiet);
		*ret = quiet;
	}
	if (begun != NULL && begun_ns(g, begun) < due) {
		due = begun_ns(g, begun);
		*ret = begun;
	}
	if (old != NULL && old->first.ns + g->o.age_ns < due) {
		due = old->first.ns + g->o.age_ns;
		*ret = old;
	}
	return due;
}

/* Frees what was held. */
static void
trace_free_held(struct gather *g, struct held_trace *t)
{
	for (struct held_span *h = t->spans, *next; h != NULL; h = next) {
		next = h->next;
		assert(g->stats.bytes >= held_bytes(h->len));
		g->stats.bytes -= held_bytes(h->len);
		free(h);
	}
	g->stats.bytes -= sizeof *t + CHUNK_BYTES;
	free(t);
}

static void
unpack(struct gather *g, const struct held_trace *t)
{
	struct gathered_trace *to = &g->handed;
	struct gathered_span **end = &to->spans, *s;

	*to = (struct gathered_trace){ .id = t->id, .cut = t->cut };
	for (const struct held_span *h = t->spans; h != NULL; h = h->next) {
		if ((s = arena_alloc(&g->arena, sizeof *s)) == NULL ||
		    !span_pack_get(
			g->pack, h->packed, h->len, t->base_ns, &s->span, &s->caller, &g->arena)) {
			to->cut = true;
			return;
		}
		s->span.trace = t->id;
		s->next = NULL;
		*end = s;
		end = &s->next;
		to->nspans++;
	}
}

struct gathered_trace *
gather_next(struct gather *g, struct mono now, bool all)
{
	struct held_trace *t;
	int64_t due = first_due_ns(g, &t);

	assert(!g->is_handed);
	if (t == NULL || (!all && due > now.ns))
		return NULL;
	unlink_trace(g, t);
	lately_add(&g->traces, trace_hash(g, t->id));
	g->stats.traces++;
	unpack(g, t);
	trace_free_held(g, t);
	g->is_handed = true;
	return &g->handed;
}

void
gather_trace_free(struct gather *g, struct gathered_trace *t)
{
	assert(g->is_handed && t == &g->handed);
	(void)t;
	g->is_handed = false;
	arena_reset(&g->arena);
}

int
gather_due_ms(const struct gather *g, struct mono now, int most_ms)
{
	struct held_trace *t;
	int64_t due = first_due_ns(g, &t);

	if (t == NULL || due - now.ns > most_ms * INT64_C(1000000))
		return most_ms;
	return due > now.ns ? (int)((due - now.ns + 999999) / 1000000) : 0;
}

double
gather_fill(const struct gather *g)
{
	double fill = (double)g->stats.bytes / (double)g->o.bytes_max;

	return fill < 1 ? fill : 1;
}

void
gather_stats(const struct gather *g, struct gather_stats *ret)
{
	*ret = g->stats;
}

void
gather_free(struct gather *g)
{
	struct gathered_trace *t;

	if (g == NULL)
		return;
	while ((t = gather_next(g, (struct mono){ 0 }, true)) != NULL)
		gather_trace_free(g, t);
	map_release(&g->held);
	lately_release(&g->spans);
	lately_release(&g->traces);
	span_pack_free(g->pack);
	buf_release(&g->packed);
	arena_release(&g->arena);
	free(g);
}
