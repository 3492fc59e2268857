/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace is in two of three queues, each in the order of its time, so that the first of each is due first:
 *
 *	quiet   by the arrival of its last span, while it has no entry
 *	begun   by the arrival of its entry
 *	old     by the arrival of its first span
 *
 * Texts that occur again and again (services, names, keys) are kept once, up to TEXTS_BYTES; others with their span.
 */
#include "otel/spans/span_gather.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "base/hash_map.h"
#include "base/hash_table.h"
#include "base/texts.h"

enum { TEXTS_BYTES = 4 << 20, KEPT_TEXT_MAX = 512 };

struct held_trace {
	struct gathered_trace trace;
	struct gathered_span **end;
	struct mono first, last, began;
	bool has_entry;
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
	struct texts *texts;
	size_t texts_bytes;
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

	if (g == NULL || (g->texts = texts_new()) == NULL) {
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
				       (t->trace.id.low != id.low || t->trace.id.high != id.high);)
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
trace_new(struct gather *g, struct trace_id id, uint64_t key, struct mono now)
{
	struct held_trace *t = calloc(1, sizeof *t);

	if (t == NULL || !map_put(&g->held, key, t)) {
		free(t);
		return NULL;
	}
	t->trace.id = id;
	t->end = &t->trace.spans;
	t->key = key;
	t->first = t->last = now;
	TAILQ_INSERT_TAIL(&g->quiet, t, turn);
	TAILQ_INSERT_TAIL(&g->old, t, age);
	g->stats.bytes += sizeof *t;
	g->stats.held++;
	return t;
}

/* ---- spans ---- */

/* The most that a copy of the span takes. */
static size_t
span_bytes(const struct span *s)
{
	size_t n = sizeof(struct gathered_span) + s->nattributes * sizeof *s->attributes +
	           s->service.len + s->name.len + s->node.len;

	for (uint32_t i = 0; i < s->nattributes; i++)
		n += s->attributes[i].key_len +
		     (s->attributes[i].value.type == VALUE_TEXT ? s->attributes[i].value.len : 0);
	return n;
}

/* The text among those that are kept once; NULL: it is not among them, and *size grows by its length. */
static const char *
kept_once(struct gather *g, const char *s, size_t len, size_t *size)
{
	uint32_t id = len <= KEPT_TEXT_MAX ? texts_find(g->texts, s, len) : UINT32_MAX;

	if (len == 0)
		return "";
	if (id == UINT32_MAX && len <= KEPT_TEXT_MAX && g->texts_bytes + len <= TEXTS_BYTES &&
	    (id = texts_intern(g->texts, s, len)) != UINT32_MAX)
		g->texts_bytes += len;
	if (id != UINT32_MAX)
		return texts_get(g->texts, id);
	*size += len;
	return NULL;
}

/* The text that is kept once, or a copy at *at. */
static const char *
put_text(char **at, const char *once, const char *s, size_t len)
{
	char *to = *at;

	if (once != NULL)
		return once;
	memcpy(to, s, len);
	*at += len;
	return to;
}

static struct gathered_span *
span_copy(struct gather *g, const struct span *s)
{
	uint32_t n = s->nattributes < RECORD_VALUES_MAX ? s->nattributes : RECORD_VALUES_MAX;
	const struct attribute *from = s->attributes;
	const char *keys[RECORD_VALUES_MAX];
	size_t size = sizeof(struct gathered_span) + n * sizeof *from;
	const char *service = kept_once(g, s->service.s, s->service.len, &size);
	const char *name = kept_once(g, s->name.s, s->name.len, &size);
	const char *node = kept_once(g, s->node.s, s->node.len, &size);
	struct gathered_span *to;
	struct attribute *a;
	char *at;

	for (uint32_t i = 0; i < n; i++) {
		keys[i] = kept_once(g, from[i].key, from[i].key_len, &size);
		size += from[i].value.type == VALUE_TEXT ? from[i].value.len : 0;
	}
	if ((to = malloc(size)) == NULL)
		return NULL;
	*to = (struct gathered_span){
		.span = *s, .caller = trace_state_caller(s->state), .bytes = size
	};
	a = (struct attribute *)(to + 1);
	at = (char *)(a + n);
	to->span.state = (struct text_view){ NULL, 0 };
	to->span.service.s = put_text(&at, service, s->service.s, s->service.len);
	to->span.name.s = put_text(&at, name, s->name.s, s->name.len);
	to->span.node.s = put_text(&at, node, s->node.s, s->node.len);
	for (uint32_t i = 0; i < n; i++) {
		a[i] = from[i];
		a[i].key = put_text(&at, keys[i], from[i].key, from[i].key_len);
		if (a[i].value.type == VALUE_TEXT)
			a[i].value.text = put_text(
			    &at, NULL, from[i].value.text, from[i].value.len);
	}
	to->span.attributes = a;
	to->span.nattributes = n;
	assert((size_t)(at - (char *)to) == size);
	return to;
}

static enum gathered
count(struct gather *g, enum gathered what)
{
	g->stats.results[what]++;
	return what;
}

/* All spans of a program carry its caller; the first one has it as its parent, unless a proxy has replaced that. */
static bool
is_entry(const struct gathered_span *s)
{
	return !s->span.has_parent ||
	       (s->caller.link_id != 0 && s->caller.link_id == s->span.parent);
}

/* The trace moves behind all whose last span, or entry, came before. */
static void
move_on(struct gather *g, struct held_trace *t, const struct gathered_span *s, struct mono now)
{
	t->last = now;
	if (t->has_entry)
		return;
	TAILQ_REMOVE(&g->quiet, t, turn);
	if (is_entry(s)) {
		t->has_entry = true;
		t->began = now;
		TAILQ_INSERT_TAIL(&g->begun, t, turn);
	} else {
		TAILQ_INSERT_TAIL(&g->quiet, t, turn);
	}
}

enum gathered
gather_add(struct gather *g, const struct span *s, struct mono now)
{
	uint64_t key, hash = hash_u64(trace_hash(g, s->trace) ^ hash_u64(s->id));
	struct held_trace *t = find(g, s->trace, &key);
	struct gathered_span *copy;

	if (lately_has(&g->spans, hash))
		return count(g, GATHERED_AGAIN);
	if (t == NULL && lately_has(&g->traces, trace_hash(g, s->trace)))
		return count(g, GATHERED_LATE);
	if (g->stats.bytes + sizeof *t + span_bytes(s) > g->o.bytes_max ||
	    (t != NULL && t->trace.nspans >= g->o.spans_max) ||
	    (t == NULL && (t = trace_new(g, s->trace, key, now)) == NULL) ||
	    (copy = span_copy(g, s)) == NULL) {
		if (t != NULL)
			t->trace.cut = true;
		return count(g, GATHERED_FULL);
	}
	*t->end = copy;
	t->end = &copy->next;
	t->trace.nspans++;
	g->stats.bytes += copy->bytes;
	lately_add(&g->spans, hash);
	move_on(g, t, copy, now);
	return count(g, GATHERED);
}

void
gather_cut(struct gather *g, struct trace_id id)
{
	uint64_t key;
	struct held_trace *t = find(g, id, &key);

	if (t != NULL)
		t->trace.cut = true;
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

struct gathered_trace *
gather_next(struct gather *g, struct mono now, bool all)
{
	struct held_trace *t;
	int64_t due = first_due_ns(g, &t);

	if (t == NULL || (!all && due > now.ns))
		return NULL;
	unlink_trace(g, t);
	lately_add(&g->traces, trace_hash(g, t->trace.id));
	g->stats.traces++;
	return &t->trace;
}

void
gather_trace_free(struct gather *g, struct gathered_trace *t)
{
	for (struct gathered_span *s = t->spans, *next; s != NULL; s = next) {
		next = s->next;
		assert(g->stats.bytes >= s->bytes);
		g->stats.bytes -= s->bytes;
		free(s);
	}
	g->stats.bytes -= sizeof(struct held_trace);
	free(t); /* the first member of its held_trace */
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
	texts_free(g->texts);
	free(g);
}
