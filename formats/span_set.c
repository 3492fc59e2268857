/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pending traces are in a list, ordered by the time of the last span, and in a map by id. The ids of
 * the last GONE_MAX traces that were handed out early, to free memory, are remembered, so that their
 * late spans do not make new traces.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/hash_map.h"
#include "formats/as_recorded.h"
#include "formats/span_set.h"
#include "formats/tree.h"

enum { GONE_MAX = 65536, SPARES_MAX = 64 };

struct pending {
	struct trace_id id;
	uint64_t key;                  /* in the map */
	uint64_t number;               /* position by first span */
	struct pending *older, *newer; /* by last span */
	struct kept_span *spans;
	uint32_t count, cap;
	struct arena arena; /* values; becomes the trace's */
	size_t arena_bytes; /* as counted in span_set.bytes */
	int64_t resolution_ns;
	bool lossy;
};

struct span_set {
	struct reading *r;
	struct span_names *names;
	struct tree *tree;
	struct map held; /* key to struct pending, or to `gone` or `split` */
	struct pending gone,
	    split;           /* gone: handed out early; split: late spans arrived afterwards */
	uint64_t *gone_keys; /* a ring; NULL until a trace was handed out early */
	uint64_t ngone;
	struct pending *oldest, *newest;
	struct pending *recent;
	struct pending *spares;
	uint32_t nspares;
	uint64_t next_number;
	size_t bytes, bytes_max;
};

struct span_set *
span_set_new(struct reading *r)
{
	struct span_set *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->r = r;
	s->bytes_max = reading_options(r)->memory_max_bytes / 8 * 7;
	s->names = span_names_new(reading_labels(r), reading_options(r)->names_max_bytes);
	s->tree = s->names != NULL ? tree_new(s->names, reading_labels(r)) : NULL;
	if (s->tree != NULL)
		return s;
	span_set_free(s);
	return NULL;
}

static void
pendings_free(struct pending *p)
{
	for (struct pending *next; p != NULL; p = next) {
		next = p->newer;
		arena_release(&p->arena);
		free(p->spans);
		free(p);
	}
}

void
span_set_free(struct span_set *s)
{
	if (s == NULL)
		return;
	pendings_free(s->oldest);
	pendings_free(s->spares);
	map_release(&s->held);
	tree_free(s->tree);
	span_names_free(s->names);
	free(s->gone_keys);
	free(s);
}

/* ---- the list and the map ---- */

static void
unlink_pending(struct span_set *s, struct pending *p)
{
	*(p->older != NULL ? &p->older->newer : &s->oldest) = p->newer;
	*(p->newer != NULL ? &p->newer->older : &s->newest) = p->older;
}

static void
link_newest(struct span_set *s, struct pending *p)
{
	p->newer = NULL;
	p->older = s->newest;
	*(s->newest != NULL ? &s->newest->newer : &s->oldest) = p;
	s->newest = p;
}

static inline bool
same_id(struct trace_id a, struct trace_id b)
{
	return a.high == b.high && a.low == b.low;
}

static bool
is_gone(const struct span_set *s, const struct pending *p)
{
	return p == &s->gone || p == &s->split;
}

/* Finds a trace and its key in the map. Both halves of the id make the key; if two ids collide, the
 * second gets another key. NULL: not known. */
static struct pending *
find(const struct span_set *s, struct trace_id id, uint64_t *key)
{
	struct pending *p;

	*key = id.high != 0 ? hash_u64(id.high) + id.low : id.low;
	while ((p = map_get(&s->held, *key)) != NULL && !is_gone(s, p) && !same_id(p->id, id))
		*key = hash_u64(*key + 1);
	return p;
}

static struct pending *
pending_new(struct span_set *s, struct trace_id id, uint64_t key, int64_t resolution_ns)
{
	struct pending *p = s->spares;
	struct kept_span *spans = NULL;
	uint32_t cap = 0;

	if (p != NULL) {
		s->spares = p->newer;
		s->nspares--;
		spans = p->spans;
		cap = p->cap;
	} else if ((p = malloc(sizeof *p)) == NULL) {
		return NULL;
	}
	*p = (struct pending){ .id = id,
		.key = key,
		.number = s->next_number++,
		.spans = spans,
		.cap = cap,
		.resolution_ns = resolution_ns };
	if (!map_put(&s->held, key, p)) {
		free(spans);
		free(p);
		return NULL;
	}
	s->bytes += sizeof *p + cap * sizeof *spans;
	link_newest(s, p);
	return p;
}

/* Frees or recycles a pending trace; the arrays of a large one are not kept. */
static void
pending_drop(struct span_set *s, struct pending *p)
{
	enum { LARGE = 4096 };

	s->bytes -= sizeof *p + p->cap * sizeof *p->spans + p->arena_bytes;
	if (s->recent == p)
		s->recent = NULL;
	unlink_pending(s, p);
	arena_release(&p->arena);
	if (s->nspares < SPARES_MAX && p->cap <= LARGE) {
		p->newer = s->spares;
		s->spares = p;
		s->nspares++;
	} else {
		free(p->spans);
		free(p);
	}
}

/* ---- handing out ---- */

/* Marks the trace as handed out early: its further spans are late. False: out of memory. */
static bool
remember(struct span_set *s, uint64_t key)
{
	uint64_t *place;

	if (s->gone_keys == NULL && (s->gone_keys = calloc(GONE_MAX, sizeof *s->gone_keys)) == NULL)
		return false;
	place = &s->gone_keys[s->ngone % GONE_MAX];
	if (s->ngone++ >= GONE_MAX && is_gone(s, map_get(&s->held, *place)))
		map_take(&s->held, *place);
	*place = key;
	return map_put(&s->held, key, &s->gone);
}

static int
hand_out(struct span_set *s, struct pending *p, struct err *e)
{
	struct reading_counts *n = reading_count(s->r);
	uint64_t traces, nspans;
	struct trace *t;
	int rc = reading_options(s->r)->look != NULL
	             ? as_recorded(&t, s->names, reading_labels(s->r), p->id, p->spans, p->count,
			   p->lossy, &p->arena, e)
	             : tree_build(&t, s->tree, s->r, p->id, p->spans, p->count, p->resolution_ns,
			   p->lossy, &p->arena, e);

	pending_drop(s, p);
	if (rc != 0 || t == NULL)
		return rc;
	nspans = t->nunits;
	traces = n->traces;
	rc = reading_trace(s->r, t, e);
	n->spans_used += n->traces > traces ? nspans : 0;
	return rc;
}

int
span_set_complete(struct span_set *s, struct trace_id id, struct err *e)
{
	uint64_t key;
	struct pending *p = find(s, id, &key);

	if (p == NULL || is_gone(s, p))
		return 0;
	map_take(&s->held, key);
	return hand_out(s, p, e);
}

void
span_set_lossy(struct span_set *s, struct trace_id id)
{
	uint64_t key;
	struct pending *p = find(s, id, &key);

	if (p != NULL && !is_gone(s, p))
		p->lossy = true;
}

static int
by_number(const void *a, const void *b)
{
	const struct pending *const *p = a, *const *q = b;

	return (*p)->number < (*q)->number ? -1 : 1;
}

int
span_set_end(struct span_set *s, struct err *e)
{
	struct pending **all;
	size_t n = 0, i = 0;
	int rc = 0;

	for (struct pending *p = s->oldest; p != NULL; p = p->newer)
		n++;
	if (n == 0)
		return 0;
	if ((all = malloc(n * sizeof *all)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for %zu traces", n);
	for (struct pending *p = s->oldest; p != NULL; p = p->newer)
		all[i++] = p;
	qsort(all, n, sizeof *all, by_number);
	for (i = 0; i < n && rc == 0; i++) {
		map_take(&s->held, all[i]->key);
		rc = hand_out(s, all[i], e);
	}
	free(all);
	return rc;
}

/* ---- taking in ---- */

static int
late(struct span_set *s, uint64_t key, const struct pending *what, struct span_origin at)
{
	if (what == &s->gone) {
		reading_skip_at(s->r, SKIP_SPLIT, at,
		    "spans that came after their trace had been completed because memory was full");
		map_put(&s->held, key, &s->split); /* replaces */
	}
	reading_skip_at(s->r, SKIP_LATE, at, "a span of a trace that had been completed before");
	return 0;
}

static struct kept_span *
room(struct span_set *s, struct pending *p)
{
	uint32_t cap = p->cap;

	if (!array_reserve(p->spans, p->cap, p->count + 1))
		return NULL;
	s->bytes += (p->cap - cap) * sizeof *p->spans;
	return &p->spans[p->count];
}

static int
keep(struct span_set *s, struct pending *p, const struct span *span, struct err *e)
{
	struct span_origin at = reading_origin(s->r, span);
	struct kept_span *k = room(s, p);
	uint32_t nvalues;
	bool other;

	if (k == NULL)
		goto memory;
	*k = (struct kept_span){ .id = span->id,
		.parent = span->parent,
		.has_parent = span->has_parent,
		.begin_ns = span->begin_ns,
		.end_ns = span->end_ns,
		.follows = span->follows,
		.no_begin = span->no_begin,
		.no_end = span->no_end,
		.node_known = span->node.len > 0,
		.client = span->kind == SPAN_KIND_CLIENT,
		.server = span->kind == SPAN_KIND_SERVER,
		.file = at.file,
		.offset = at.offset };
	k->node = reading_node(s->r, span->node.s, span->node.len);
	k->name = span_names_of(s->names, span, &other);
	if (k->node == UINT32_MAX || k->name == NULL ||
	    !span_names_values(s->names, k->name, span, &p->arena, &k->values, &nvalues))
		goto memory;
	k->nvalues = nvalues;
	if (other)
		reading_skip_at(s->r, SKIP_NAMES, at, "%.*s", (int)span->name.len, span->name.s);
	p->count++;
	s->bytes += p->arena.total_bytes - p->arena_bytes;
	p->arena_bytes = p->arena.total_bytes;
	return 0;
memory:
	return err_set(e, ERR_MEMORY, "no memory for the spans of a trace");
}

/* Hands out one trace if memory is exceeded, which frees more than one span takes. */
static int
make_room(struct span_set *s, struct err *e)
{
	struct pending *p = s->oldest;

	if (s->bytes <= s->bytes_max || p == NULL)
		return 0;
	if (!remember(s, p->key))
		return err_set(e, ERR_MEMORY, "no memory for the list of completed traces");
	return hand_out(s, p, e);
}

int
span_set_add(struct span_set *s, const struct span *span, int64_t resolution_ns, struct err *e)
{
	struct pending *p = s->recent;
	uint64_t key;
	int rc;

	if (p == NULL || !same_id(p->id, span->trace)) {
		p = find(s, span->trace, &key);
		if (p != NULL && is_gone(s, p))
			return late(s, key, p, reading_origin(s->r, span));
		if (p == NULL && (p = pending_new(s, span->trace, key, resolution_ns)) == NULL)
			return err_set(e, ERR_MEMORY, "no memory for the spans of a trace");
		if (p != s->newest) {
			unlink_pending(s, p);
			link_newest(s, p);
		}
		s->recent = p;
	}
	rc = keep(s, p, span, e);
	return rc != 0 ? rc : make_room(s, e);
}

/* ---- ids ---- */

static const uint8_t hex_digit[256] = { /* value of the digit + 16; 0: no digit */
	['0'] = 16,
	['1'] = 17,
	['2'] = 18,
	['3'] = 19,
	['4'] = 20,
	['5'] = 21,
	['6'] = 22,
	['7'] = 23,
	['8'] = 24,
	['9'] = 25,
	['a'] = 26,
	['b'] = 27,
	['c'] = 28,
	['d'] = 29,
	['e'] = 30,
	['f'] = 31,
	['A'] = 26,
	['B'] = 27,
	['C'] = 28,
	['D'] = 29,
	['E'] = 30,
	['F'] = 31
};

/*
 * Parses eight hexadecimal digits in one word, the first digit in its lowest byte. Bytes with bit 6
 * are letters. A byte below its range borrows, and one above it carries, into the highest bit of
 * its lane.
 */
static inline bool
eight_hex(const char *s, uint64_t *ret)
{
	const uint64_t ones = 0x0101010101010101;
	uint64_t w, letters, x;

	memcpy(&w, s, sizeof w);
	w = le64toh(w);
	letters = (w >> 6 & ones) * 0xff;
	x = (w | (letters & ones * 0x20)) - (letters & ones * 0x61) - (~letters & ones * 0x30);
	if (((w | x | (x + (letters & ones * 0x7a) + (~letters & ones * 0x76))) & ones * 0x80) != 0)
		return false;
	x += letters & ones * 10;
	x = (x << 4 | x >> 8) & 0x00ff00ff00ff00ff;
	x = (x << 8 | x >> 16) & 0x0000ffff0000ffff;
	*ret = *ret << 32 | (uint32_t)(x << 16 | x >> 32);
	return true;
}

static bool
hex(const char *s, size_t len, uint64_t *ret)
{
	uint64_t v = 0;
	uint8_t all = 16;

	for (; len >= 8; s += 8, len -= 8)
		if (!eight_hex(s, &v))
			return false;
	for (size_t i = 0; i < len; i++) {
		uint8_t d = hex_digit[(unsigned char)s[i]];

		all &= d;
		v = v << 4 | (d & 15);
	}
	*ret = v;
	return all != 0;
}

enum { ID_HASH_SEED = 0x1d5 };

struct trace_id
trace_id_of(const char *s, size_t len)
{
	struct trace_id id = { 0, 0 };
	size_t high = len > 16 ? len - 16 : 0;
	struct hash128 h;

	if (len == 0)
		return id;
	if (len <= 32 && hex(s, high, &id.high) && hex(s + high, len - high, &id.low))
		return id;
	h = hash_bytes128(ID_HASH_SEED, s, len);
	return (struct trace_id){ h.a, h.b };
}

uint64_t
span_id_of(const char *s, size_t len)
{
	uint64_t id;

	if (len == 0)
		return 0;
	return len <= 16 && hex(s, len, &id) ? id : hash_bytes(ID_HASH_SEED, s, len);
}
