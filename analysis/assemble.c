/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * States of a trace:
 *
 *	           first record              end + skew <= least watermark
 *	(none) ------------------> pending --------------------------------> complete ---> returned
 *	                               |                                         '-------> malformed
 *	                               '---> given up: first + patience <= watermark, or memory
 *
 * With order_ns, a trace with an end also waits in the heap of one of its nodes, for the watermark of that node that is due +
 * order_ns; then in that of another one that has not come so far, until there is none. Whichever of both ways ends first
 * completes it.
 *
 * All decisions depend on the times in records and on watermarks only. When the least watermark
 * of all nodes has passed a time, all records up to that time have arrived, in whichever order;
 * so every interleaving of batches leads to the same decisions (with order_ns: if no node lags by more). Records later than
 * end + skew may or may not have arrived by then; they are always counted as late. Whether a trace waits for ends of units depends on the
 * records up to end + skew, and is asked when all of those have arrived.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/assemble.h"
#include "analysis/fork_labels.h"
#include "analysis/heap.h"
#include "analysis/late_ends.h"
#include "analysis/pending_trace.h"
#include "analysis/retired_ids.h"
#include "analysis/thread_units.h"
#include "analysis/trace_callers.h"
#include "analysis/watermarks.h"
#include "base/array.h"
#include "base/hash_map.h"

enum {
	/* Losses kept separately; above that the last two become one that spans both. */
	LOSSES_MAX = 512,
	SPARE_CHUNKS_MAX = 4096,
	RECENT = 1024,
	PART_WAIT = 4,
	NO_FIELD = UINT8_MAX
};

#define SEVERAL_NODES UINT32_MAX

#define TIME_MAX_NS (INT64_MAX / 4) /* 73 years after boot: no clock reports that */

struct node_stream {
	bool joined, known; /* known: it was joined before */
	int64_t watermark_ns;
	uint32_t labels;     /* that it was the first to send */
	struct heap waiting; /* traces that wait for a watermark of this node */
};

struct kept_loss {
	int64_t from_ns, to_ns; /* widened by the skew */
	/* Watermark of the node before this batch: traces due by then were complete without
	 * it. */
	int64_t since_ns;
	uint32_t node; /* or SEVERAL_NODES */
};

struct label_mapping { /* a label of the batch at hand, as it is known here */
	uint32_t id, nfields;
	uint8_t kind;
	uint8_t via;   /* index of the batch's field `via`, or NO_FIELD */
	bool by_spans; /* a request begins, and an agent of spans says so (PART_POINTS) */
	/* For each field of the label: index of the batch's field, or NO_FIELD */
	uint8_t from[RECORD_VALUES_MAX];
};

struct assemble {
	struct assemble_options o;
	struct labels *labels;
	struct assemble_counts counts;
	struct map pending;          /* trace id to struct pending_trace */
	struct retired_ids *retired; /* ids of traces returned or given up */
	struct heap due, first;      /* of all pending traces: BY_DUE, BY_FIRST */
	struct fork_labels *forks;   /* NULL without order_ns */
	struct node_stream *nodes;
	uint32_t nnodes, nodes_cap, njoined;
	struct watermarks watermarks; /* of the joined nodes */
	int64_t last_due_ns;          /* of the trace that was returned last */
	/* Queue of complete traces, in order of (end, id). */
	struct pending_trace *complete, **complete_end;
	size_t complete_bytes;
	/* Traces given up without a begin or an end, in a ring. */
	struct trace *incomplete_kept[INCOMPLETE_KEPT_MAX];
	uint32_t incomplete_first, nincomplete;
	size_t incomplete_bytes;
	struct thread_units *threads;
	struct pending_trace *spare;
	struct record_chunk *spare_chunks;
	uint32_t nspare_chunks;
	struct kept_loss losses[LOSSES_MAX];
	uint32_t nlosses;
	struct label_mapping *mappings;
	uint32_t mappings_cap;
	/* Traces of the last records, by a hash of their ids: most records find theirs here. */
	struct pending_trace *recent[RECENT];
	struct trace_builder *builder;
	struct late_ends late_ends;
	bool has_spans; /* some node sends spans */
};

int
assemble_new(
    struct assemble **ret, const struct assemble_options *o, struct labels *labels, struct err *e)
{
	struct assemble *a = calloc(1, sizeof *a);

	if (a == NULL || (a->retired = retired_ids_new()) == NULL ||
	    (a->builder = trace_builder_new()) == NULL ||
	    (a->threads = thread_units_new()) == NULL ||
	    (o->order_ns > 0 && (a->forks = fork_labels_new(o->open_ns)) == NULL)) {
		assemble_free(a);
		return err_set(e, ERR_MEMORY, "no memory to assemble traces in");
	}
	a->o = *o;
	a->labels = labels;
	a->complete_end = &a->complete;
	a->late_ends.seed = hash_seed();
	*ret = a;
	return 0;
}

static void
free_chunks(struct record_chunk *c)
{
	for (struct record_chunk *next; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
}

static void
free_pendings(struct pending_trace *p)
{
	for (struct pending_trace *next; p != NULL; p = next) {
		next = p->next;
		free_chunks(p->first);
		arena_release(&p->arena);
		free(p);
	}
}

void
assemble_free(struct assemble *a)
{
	if (a == NULL)
		return;
	for (uint32_t i = 0; i < a->first.count; i++) {
		a->first.slots[i].p->next = NULL;
		free_pendings(a->first.slots[i].p);
	}
	free_pendings(a->complete);
	free_pendings(a->spare);
	free_chunks(a->spare_chunks);
	free(a->due.slots);
	free(a->first.slots);
	for (uint32_t i = 0; i < a->nnodes; i++)
		free(a->nodes[i].waiting.slots);
	fork_labels_free(a->forks);
	for (struct trace *t; (t = assemble_next_incomplete(a)) != NULL;)
		trace_free(t);
	map_release(&a->pending);
	thread_units_free(a->threads);
	trace_builder_free(a->builder);
	late_ends_release(&a->late_ends);
	retired_ids_free(a->retired);
	watermarks_release(&a->watermarks);
	free(a->nodes);
	free(a->mappings);
	free(a);
}

/* ---- pending traces ---- */

static inline struct pending_trace **
recent_of(struct assemble *a, uint64_t id)
{
	return &a->recent[(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) % RECENT];
}

/* The end of the request, INT64_MAX: none yet. While only a part has ended that a span may have called, the request may still go on, and its spans come
 * late: it has the PART_WAIT part of the patience to come. Where no node sends spans (units that have the id of their link, or begins that an agent of spans
 * wrote), a part is all. */
static inline int64_t
end_of(const struct assemble *a, const struct pending_trace *p)
{
	int64_t last_ns = time_add(p->first_ns, a->o.patience_ns), ns;

	if (!a->has_spans)
		return p->end_ns < p->part_end_ns ? p->end_ns : p->part_end_ns;
	if (p->end_ns != INT64_MAX || p->has_own || p->part_end_ns > last_ns)
		return p->end_ns;
	ns = time_add(p->part_end_ns, a->o.patience_ns / PART_WAIT);
	return ns < last_ns ? ns : last_ns;
}

/* Whether the trace has an end in time. An end later than first + patience is ignored. */
static inline bool
has_end(const struct assemble *a, const struct pending_trace *p)
{
	return end_of(a, p) <= time_add(p->first_ns, a->o.patience_ns);
}

static int64_t
due_ns(const struct assemble *a, const struct pending_trace *p)
{
	bool awaits = p->awaits_ends && p->asked_end_ns == end_of(a, p);

	return has_end(a, p)
	           ? time_add(end_of(a, p), a->o.skew_ns + (awaits ? a->o.late_ends_ns : 0))
	           : time_add(p->first_ns, a->o.patience_ns);
}

/* Whether a trace that is due has to wait for ends of units; asked once for each end. Then due_ns() is later. */
static bool
awaits_ends(struct assemble *a, struct pending_trace *p)
{
	int64_t end_ns = end_of(a, p);

	if (a->o.late_ends_ns == 0 || !has_end(a, p) || p->asked_end_ns == end_ns)
		return false;
	p->asked_end_ns = end_ns;
	p->awaits_ends = late_ends_has(&a->late_ends, p, a->labels, time_add(end_ns, a->o.skew_ns));
	return p->awaits_ends;
}

static struct pending_trace *
pending_new(struct assemble *a, uint64_t id, int64_t first_ns)
{
	struct pending_trace *p = a->spare;

	if (!heap_room(&a->due) || !heap_room(&a->first))
		return NULL;
	if (p != NULL)
		a->spare = p->next;
	else if ((p = malloc(sizeof *p)) == NULL)
		return NULL;
	*p = (struct pending_trace){ .id = id,
		.first_ns = first_ns,
		.end_ns = INT64_MAX,
		.part_end_ns = INT64_MAX,
		.last_unit_end_ns = INT64_MIN,
		.asked_end_ns = INT64_MIN,
		.waits_at = PENDING_NOWHERE };
	if (!map_put(&a->pending, id, p)) {
		free(p);
		return NULL;
	}
	heap_add(&a->due, BY_DUE, p, due_ns(a, p));
	heap_add(&a->first, BY_FIRST, p, first_ns);
	return p;
}

static inline size_t
pending_bytes(const struct pending_trace *p)
{
	return p->nchunks * sizeof(struct record_chunk) + p->arena_bytes;
}

static struct record_chunk *
chunk_new(struct assemble *a)
{
	struct record_chunk *c = a->spare_chunks;

	if (c != NULL) {
		a->spare_chunks = c->next;
		a->nspare_chunks--;
	} else if ((c = malloc(sizeof *c)) == NULL) {
		return NULL;
	}
	c->next = NULL;
	c->count = 0;
	return c;
}

/* Frees the records of the trace and keeps the struct for another one. Returns how many records
 * it had. */
static uint64_t
pending_drop(struct assemble *a, struct pending_trace *p)
{
	struct record_chunk *c, *next;
	uint64_t n = 0;

	assert(a->counts.memory_bytes >= pending_bytes(p));
	a->counts.memory_bytes -= pending_bytes(p);
	for (c = p->first; c != NULL; c = next) {
		next = c->next;
		n += c->count;
		if (a->nspare_chunks == SPARE_CHUNKS_MAX) {
			free(c);
			continue;
		}
		c->next = a->spare_chunks;
		a->spare_chunks = c;
		a->nspare_chunks++;
	}
	arena_release(&p->arena);
	*p = (struct pending_trace){ .next = a->spare };
	a->spare = p;
	assert(a->counts.held >= n);
	a->counts.held -= n;
	return n;
}

static void
wait_nowhere(struct assemble *a, struct pending_trace *p)
{
	if (p->waits_at != PENDING_NOWHERE)
		heap_take(&a->nodes[p->waits_at].waiting, BY_NODE, p);
	p->waits_at = PENDING_NOWHERE;
}

/* Takes the trace out of the heaps and the map. Its further records are late. */
static void
retire(struct assemble *a, struct pending_trace *p)
{
	heap_take(&a->due, BY_DUE, p);
	heap_take(&a->first, BY_FIRST, p);
	wait_nowhere(a, p);
	if (*recent_of(a, p->id) == p)
		*recent_of(a, p->id) = NULL;
	map_take(&a->pending, p->id);
	retired_ids_add(a->retired, p->id);
}

/* ---- losses ---- */

static void
keep_loss(struct assemble *a, uint32_t node, const struct loss *l)
{
	struct kept_loss k = { time_add(l->from_ns, -a->o.skew_ns),
		time_add(l->to_ns, a->o.skew_ns), a->nodes[node].watermark_ns, node };
	struct kept_loss *last = a->nlosses > 0 ? &a->losses[a->nlosses - 1] : NULL;

	if (l->reason < LOSS_REASONS)
		a->counts.lost[l->reason] += l->count;
	if (a->nlosses < LOSSES_MAX) {
		a->losses[a->nlosses++] = k;
		return;
	}
	last->from_ns = k.from_ns < last->from_ns ? k.from_ns : last->from_ns;
	last->to_ns = k.to_ns > last->to_ns ? k.to_ns : last->to_ns;
	last->since_ns = k.since_ns < last->since_ns ? k.since_ns : last->since_ns;
	last->node = k.node == last->node ? k.node : SEVERAL_NODES;
}

/* Whether no other node can have a part in it than those that it has records of. */
static bool
is_closed(const struct pending_trace *p)
{
	return p->begun && !p->unknown && !p->on_many && p->open == 0;
}

static bool
is_on(const struct pending_trace *p, uint32_t node)
{
	for (uint32_t i = 0; i < p->nnodes; i++)
		if (p->nodes[i] == node)
			return true;
	return false;
}

/* What another node lost was of other traces, if this one is closed. */
static bool
lost_from(const struct assemble *a, const struct pending_trace *p)
{
	int64_t due = due_ns(a, p);
	bool closed = is_closed(p);

	for (uint32_t i = 0; i < a->nlosses; i++) {
		const struct kept_loss *l = &a->losses[i];

		if (l->from_ns <= end_of(a, p) && l->to_ns >= p->first_ns && l->since_ns < due &&
		    (!closed || l->node == SEVERAL_NODES || is_on(p, l->node)))
			return true;
	}
	return false;
}

/* Discards the losses that no trace can overlap any more, pending or still to begin. */
static void
forget_losses(struct assemble *a, int64_t watermark_ns)
{
	const struct heap *h = &a->first;
	uint32_t n = 0;

	if (h->count > 0 && h->slots[0].key_ns < watermark_ns)
		watermark_ns = h->slots[0].key_ns;
	for (uint32_t i = 0; i < a->nlosses; i++)
		if (a->losses[i].to_ns >= watermark_ns)
			a->losses[n++] = a->losses[i];
	a->nlosses = n;
}

/* ---- decisions by watermarks ---- */

/* The least watermark of all joined nodes. INT64_MIN while one of them has sent no batch, and
 * while no node is joined: then no trace is decided. */
static int64_t
least_watermark(const struct assemble *a)
{
	return a->njoined > 0 ? watermarks_least(&a->watermarks) : INT64_MIN;
}

/* Number of records later than `until_ns`: they are late, although they arrived before the
 * decision. */
static uint64_t
count_after(const struct pending_trace *p, int64_t until_ns)
{
	uint64_t n = 0;

	for (const struct record_chunk *c = p->first; c != NULL; c = c->next)
		for (uint32_t i = 0; i < c->count; i++)
			n += c->records[i].event.time_ns > until_ns;
	return n;
}

/* Counts a trace that is lossy or incomplete. */
static void
count_damage(struct assemble *a, const struct trace *t)
{
	if (t->lossy)
		a->counts.lossy++;
	else if (t->incomplete != INCOMPLETE_NONE)
		a->counts.incomplete[t->incomplete]++;
}

/* Keeps a trace that was given up, for assemble_next_incomplete(). */
static void
keep_incomplete(struct assemble *a, struct trace *t)
{
	count_damage(a, t);
	a->incomplete_bytes += t->arena.total_bytes;
	a->incomplete_kept[(a->incomplete_first + a->nincomplete) % INCOMPLETE_KEPT_MAX] = t;
	a->nincomplete++;
	while (a->nincomplete == INCOMPLETE_KEPT_MAX ||
	       (a->nincomplete > 0 && a->incomplete_bytes > a->o.memory_max_bytes / 16))
		trace_free(assemble_next_incomplete(a));
}

/* No end came in time. */
static void
give_up(struct assemble *a, struct pending_trace *p)
{
	int64_t until_ns = due_ns(a, p);
	uint64_t late = count_after(p, until_ns), ignored = 0;
	struct trace *t = NULL;

	p->lossy |= a->nlosses > 0 && lost_from(a, p);
	if (late < count_after(p, INT64_MIN) &&
	    trace_build(a->builder, &t, p, &p->arena, until_ns, a->labels, &ignored, &ignored)) {
		if (trace_has_times(t)) /* of a part; the request that began has no end */
			t->incomplete = INCOMPLETE_NO_END;
		keep_incomplete(a, t);
	}
	a->counts.given_up_patience++;
	a->counts.late += late;
	a->counts.given_up += pending_drop(a, p) - late;
}

/* All of its records have come: it waits to be returned. */
static void
complete(struct assemble *a, struct pending_trace *p)
{
	p->lossy |= a->nlosses > 0 && lost_from(a, p);
	p->next = NULL;
	*a->complete_end = p;
	a->complete_end = &p->next;
	a->complete_bytes += pending_bytes(p);
}

/* ---- traces that need not wait for all nodes ---- */

/* The watermark of each of its nodes at which the trace is returned. */
static int64_t
wanted_ns(const struct assemble *a, const struct pending_trace *p)
{
	return time_add(due_ns(a, p), is_closed(p) ? a->o.order_ns : a->o.open_ns);
}

/* It waits for this node. Without memory for that it waits for all nodes. */
static void
wait_at(struct assemble *a, struct pending_trace *p, uint32_t node, int64_t wanted)
{
	struct heap *h = &a->nodes[node].waiting;

	wait_nowhere(a, p);
	if (!heap_room(h))
		return;
	heap_add(h, BY_NODE, p, wanted);
	p->waits_at = node;
}

/* A node of the trace whose watermark has not come so far, or UINT32_MAX. One that has left is not awaited. */
static uint32_t
node_behind(const struct assemble *a, const struct pending_trace *p, int64_t wanted)
{
	for (uint32_t i = 0; i < p->nnodes; i++) {
		const struct node_stream *n = &a->nodes[p->nodes[i]];

		if (n->joined && n->watermark_ns < wanted)
			return p->nodes[i];
	}
	return UINT32_MAX;
}

/* Traces that have waited for this node long enough, or for nothing if it has left. */
static void
decide_at_node(struct assemble *a, uint32_t node)
{
	const struct node_stream *n = &a->nodes[node];

	while (
	    n->waiting.count > 0 && (!n->joined || n->waiting.slots[0].key_ns <= n->watermark_ns)) {
		struct pending_trace *p = n->waiting.slots[0].p;
		int64_t wanted = wanted_ns(a, p);
		uint32_t behind = node_behind(a, p, wanted);

		if (behind != UINT32_MAX) {
			wait_at(a, p, behind, wanted);
			continue;
		}
		if (awaits_ends(a, p)) {
			wait_at(a, p, node, wanted_ns(a, p));
			continue;
		}
		retire(a, p);
		p->early = true;
		a->counts.early++;
		a->counts.opened += !is_closed(p);
		p->lossy |= !is_closed(p);
		complete(a, p);
	}
}

static void
decide_by_watermarks(struct assemble *a)
{
	const struct heap *due = &a->due, *oldest = &a->first;
	int64_t watermark = least_watermark(a);
	struct pending_trace *p;

	while (due->count > 0 && due->slots[0].key_ns <= watermark && watermark != INT64_MIN) {
		p = due->slots[0].p;
		if (due_ns(a, p) > due->slots[0].key_ns ||
		    awaits_ends(a, p)) { /* or spans came since */
			heap_move(&a->due, BY_DUE, p, due_ns(a, p));
			continue;
		}
		retire(a, p);
		if (has_end(a, p))
			complete(a, p);
		else
			give_up(a, p);
	}
	while (a->counts.memory_bytes - a->complete_bytes > a->o.memory_max_bytes &&
	       oldest->count > 0) {
		p = oldest->slots[0].p;
		retire(a, p);
		a->counts.given_up_memory++;
		a->counts.given_up += pending_drop(a, p);
	}
	if (a->nlosses > 0)
		forget_losses(a, watermark);
}

/* ---- nodes ---- */

static int
node_room(struct assemble *a, uint32_t node, struct err *e)
{
	if (node < a->nnodes)
		return 0;
	if (!array_reserve(a->nodes, a->nodes_cap, node + 1) ||
	    !watermarks_room(&a->watermarks, node + 1))
		return err_set(e, ERR_MEMORY, "no memory for node %u", node);
	for (; a->nnodes <= node; a->nnodes++)
		a->nodes[a->nnodes] = (struct node_stream){ .watermark_ns = INT64_MIN };
	return 0;
}

int
assemble_join(struct assemble *a, uint32_t node, struct err *e)
{
	int rc = node_room(a, node, e);

	if (rc != 0 || a->nodes[node].joined)
		return rc;
	/* The node may have been restarted in between, with another clock. */
	if (!a->nodes[node].known && a->forks != NULL)
		fork_labels_new_node(a->forks);
	a->nodes[node].joined = a->nodes[node].known = true;
	a->nodes[node].watermark_ns = INT64_MIN;
	a->njoined++;
	watermarks_set(&a->watermarks, node, INT64_MIN);
	return 0;
}

static bool
has_record_of(const struct pending_trace *p, uint32_t node)
{
	for (const struct record_chunk *c = p->first; c != NULL; c = c->next)
		for (uint32_t i = 0; i < c->count; i++)
			if (c->records[i].event.node == node)
				return true;
	return false;
}

void
assemble_leave(struct assemble *a, uint32_t node)
{
	const struct heap *h = &a->first;

	if (node >= a->nnodes || !a->nodes[node].joined)
		return;
	for (uint32_t i = 0; i < h->count; i++)
		h->slots[i].p->lossy |= has_record_of(h->slots[i].p, node);
	a->nodes[node].joined = false;
	a->njoined--;
	watermarks_set(&a->watermarks, node, INT64_MAX);
	decide_by_watermarks(a);
	decide_at_node(a, node);
}

/* ---- batches ---- */

/* Maps each field of the label here to the same field in the batch's label. Fields are compared
 * by name, since programs may differ in their order. */
static void
match_fields(struct label_mapping *k, const struct label *here, const struct batch_label *there)
{
	bool same = here->nfields == there->nfields;

	k->nfields = here->nfields < RECORD_VALUES_MAX ? here->nfields : RECORD_VALUES_MAX;
	for (uint32_t i = 0; i < k->nfields; i++) {
		k->from[i] = (uint8_t)i;
		same = same && strcmp(here->fields[i], there->fields[i]) == 0;
	}
	for (uint32_t i = 0; i < k->nfields && !same; i++) {
		k->from[i] = NO_FIELD;
		for (uint32_t j = 0; j < there->nfields && j < NO_FIELD && k->from[i] == NO_FIELD;
		     j++)
			if (strcmp(here->fields[i], there->fields[j]) == 0)
				k->from[i] = (uint8_t)j;
	}
}

uint32_t
assemble_node_labels(const struct assemble *a, uint32_t node)
{
	return node < a->nnodes ? a->nodes[node].labels : 0;
}

/* The number of a label that this node sent, or LABEL_NONE. */
static uint32_t
label_of(struct assemble *a, struct node_stream *n, const struct batch_label *l)
{
	uint32_t known = labels_count(a->labels), id;

	if (n->labels == ASSEMBLE_NODE_LABELS_MAX)
		return labels_find(a->labels, l->text, l->len);
	id = labels_intern(a->labels, l->kind, l->text, l->len, l->fields, l->nfields);
	n->labels += labels_count(a->labels) - known;
	return id;
}

static bool
has_field(const struct batch_label *l, const char *name)
{
	for (uint32_t i = 0; i < l->nfields; i++)
		if (strcmp(l->fields[i], name) == 0)
			return true;
	return false;
}

static int
map_labels(struct assemble *a, uint32_t node, const struct batch *b, struct err *e)
{
	if (!array_reserve(a->mappings, a->mappings_cap, b->nlabels))
		return err_set(e, ERR_MEMORY, "no memory for the %u labels of a batch", b->nlabels);
	for (uint32_t i = 0; i < b->nlabels; i++) {
		const struct batch_label *l = &b->labels[i];
		struct label_mapping *k = &a->mappings[i];

		k->id = label_of(a, &a->nodes[node], l);
		if (k->id == LABEL_NONE)
			continue;
		k->kind = labels_get(a->labels, k->id)->kind;
		match_fields(k, labels_get(a->labels, k->id), l);
		k->by_spans = k->kind == RECORD_REQUEST_BEGIN && has_field(l, PART_POINTS);
		k->via = NO_FIELD;
		for (uint32_t j = 0; k->kind == RECORD_UNIT_BEGIN && j < k->nfields; j++)
			if (strcmp(labels_get(a->labels, k->id)->fields[j], "via") == 0)
				k->via = k->from[j];
	}
	return 0;
}

/* Copies the values of a record in the order of the label's fields, and their texts behind
 * them, in one allocation. */
static bool
copy_values(
    struct arena *arena, struct event *to, const struct record *r, const struct label_mapping *k)
{
	struct value picked[RECORD_VALUES_MAX], *v;
	size_t texts = 0;
	char *at;

	for (uint32_t i = 0; i < k->nfields; i++) {
		picked[i] = k->from[i] < r->nvalues ? r->values[k->from[i]]
		                                    : (struct value){ .type = VALUE_NONE };
		texts += picked[i].type == VALUE_TEXT ? picked[i].len : 0;
	}
	if ((v = arena_alloc(arena, k->nfields * sizeof *v + texts)) == NULL)
		return false;
	at = (char *)&v[k->nfields];
	for (uint32_t i = 0; i < k->nfields; i++) {
		v[i] = picked[i];
		if (v[i].type == VALUE_TEXT) {
			memcpy(at, picked[i].text, picked[i].len);
			v[i].text = at;
			at += picked[i].len;
		}
	}
	to->values = v;
	to->nvalues = k->nfields;
	return true;
}

static inline bool
is_below(uint8_t kind)
{
	return kind == RECORD_WAIT || kind == RECORD_SAMPLE;
}

static bool
add_record(struct assemble *a, struct pending_trace *p, uint32_t node, const struct record *r,
    const struct label_mapping *k)
{
	struct record_chunk *c = p->last;
	struct pending_record *raw;

	if (c == NULL || c->count == CHUNK_RECORDS) {
		if ((c = chunk_new(a)) == NULL)
			return false;
		*(p->last != NULL ? &p->last->next : &p->first) = c;
		p->last = c;
		p->nchunks++;
		a->counts.memory_bytes += sizeof *c;
	}
	raw = &c->records[c->count];
	*raw = (struct pending_record){ { .time_ns = r->time_ns,
					    .link_id = r->link_id,
					    .label = k->id,
					    .node = node,
					    .pid = r->pid,
					    .tid = r->tid },
		r->unit_id };
	if (r->nvalues > 0 && k->nfields > 0 && !copy_values(&p->arena, &raw->event, r, k))
		return false;
	c->count++;
	p->nrecords++;
	p->nbelow += is_below(k->kind);
	a->counts.held++;
	a->counts.memory_bytes += p->arena.total_bytes - p->arena_bytes;
	p->arena_bytes = p->arena.total_bytes;
	return true;
}

/* Whether a span may have called the request that ends in this unit: it began with a link, and it is not the one that began without. */
static bool
ends_part(const struct pending_trace *p, uint64_t unit_id)
{
	return p->has_part && !(p->has_own && p->own_unit == unit_id);
}

static void
note_begin(struct assemble *a, struct pending_trace *p, const struct record *r, uint8_t kind)
{
	if (kind == RECORD_UNIT_BEGIN) {
		a->has_spans |= r->link_id == r->unit_id;
	} else if (r->link_id != 0) {
		p->has_part = true;
	} else if (!p->has_own) {
		p->has_own = true;
		p->own_unit = r->unit_id;
	}
}

/* A link, or a unit, is a number that a program chose: a product by an odd number, and its halves mixed, so that sums of some seldom are sums of
 * others. */
static inline uint64_t
id_hash(uint64_t id)
{
	id = (id ^ id >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return (id ^ id >> 32) * UINT64_C(0xd6e8feb86659fd93) | 1;
}

/* Updates the times of a trace by one record, and its positions in the heaps. */
static void
note_times(struct assemble *a, struct pending_trace *p, const struct record *r, uint8_t kind)
{
	int64_t *end_ns = &p->end_ns;
	bool earlier = r->time_ns < p->first_ns, had_own = p->has_own, ends;

	if (kind == RECORD_REQUEST_BEGIN || kind == RECORD_UNIT_BEGIN)
		note_begin(a, p, r, kind);
	if (kind == RECORD_UNIT_BEGIN || kind == RECORD_REQUEST_BEGIN)
		p->open_units += id_hash(r->unit_id);
	if (kind == RECORD_UNIT_END || kind == RECORD_REQUEST_END) {
		p->open_units -= id_hash(r->unit_id);
		if (r->time_ns > p->last_unit_end_ns)
			p->last_unit_end_ns = r->time_ns;
	}
	if (kind == RECORD_REQUEST_END && ends_part(p, r->unit_id))
		end_ns = &p->part_end_ns;
	ends = kind == RECORD_REQUEST_END && r->time_ns < *end_ns;
	if (!earlier && !ends && had_own == p->has_own)
		return;
	if (earlier) {
		p->first_ns = r->time_ns;
		heap_move(&a->first, BY_FIRST, p, r->time_ns);
	}
	if (ends)
		*end_ns = r->time_ns;
	heap_move(&a->due, BY_DUE, p, due_ns(a, p));
}

static void
note_node(struct pending_trace *p, uint32_t node)
{
	uint32_t i = 0;

	while (i < p->nnodes && p->nodes[i] != node)
		i++;
	if (i == PENDING_NODES_MAX)
		p->on_many = true;
	else if (i == p->nnodes)
		p->nodes[p->nnodes++] = node;
}

/* What a span calls, or a request that a span may have called: the spans between come late, and no fork tells of them. */
static bool
is_with_spans(const struct label_mapping *k, const struct record *r)
{
	bool via = k->via < r->nvalues && r->values[k->via].u != 0;

	return (k->kind == RECORD_UNIT_BEGIN && (via || r->link_id == r->unit_id)) ||
	       (k->kind == RECORD_REQUEST_BEGIN && r->link_id != 0);
}

/* Whether the trace has all of its records, by the record that comes now; then it waits for this node, and for
 * the others after it. Precondition: note_times() was called. */
static void
note_closure(struct assemble *a, struct pending_trace *p, uint32_t node, const struct record *r,
    const struct label_mapping *k)
{
	bool was_closed = is_closed(p), ends = k->kind == RECORD_REQUEST_END;
	enum fork_rule rule = k->kind == RECORD_FORK ? fork_labels_rule(a->forks, k->id)
	                                             : FORK_LEADS_OUT;

	note_node(p, node);
	p->begun |= k->kind == RECORD_REQUEST_BEGIN;
	p->unknown |= rule == FORK_UNKNOWN || is_with_spans(k, r);
	if (rule != FORK_LEADS_OUT)
		p->open += id_hash(r->link_id);
	else if (k->kind == RECORD_UNIT_BEGIN)
		p->open -= id_hash(r->link_id);
	if (p->on_many || !has_end(a, p))
		wait_nowhere(a, p);
	else if (ends || p->waits_at == PENDING_NOWHERE || was_closed != is_closed(p))
		wait_at(a, p, node, wanted_ns(a, p));
}

/* Notes the pending units of other traces that are open on the thread where this one begins. */
static void
note_threads(struct assemble *a, uint32_t node, uint8_t kind, const struct record *r)
{
	struct open_unit shared[THREAD_UNITS_MAX];
	uint32_t n = kind != RECORD_POINT
	                 ? thread_units_note(a->threads, node, (enum record_kind)kind, r, shared)
	                 : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct pending_trace *p = map_get(&a->pending, shared[i].trace_id);

		if (p != NULL && p->nshared < PENDING_SHARED_MAX)
			p->shared[p->nshared++] = (struct shared_unit){ shared[i].unit_id,
				r->time_ns };
	}
}

static bool
take_record(
    struct assemble *a, uint32_t node, const struct record *r, const struct label_mapping *k)
{
	struct pending_trace **recent = recent_of(a, r->trace_id), *p = *recent;

	assert(node < a->nnodes);
	if (k->id == LABEL_NONE || r->time_ns < 0 || r->time_ns > TIME_MAX_NS) {
		a->counts.lost[LOSS_DECODE]++;
		a->counts.unlabelled += k->id == LABEL_NONE &&
		                        a->nodes[node].labels == ASSEMBLE_NODE_LABELS_MAX;
		return true;
	}
	a->counts.records++;
	if (p == NULL || p->id != r->trace_id)
		p = map_get(&a->pending, r->trace_id);
	/* A wait is recorded at its end, by a thread of which the trace has a record already. */
	if (p == NULL && (retired_ids_has(a->retired, r->trace_id) || is_below(k->kind))) {
		a->counts.late++;
		if (a->forks != NULL && k->kind == RECORD_UNIT_BEGIN)
			fork_labels_late(a->forks, r->trace_id, r->link_id);
		return true;
	}
	if (p == NULL && (p = pending_new(a, r->trace_id, r->time_ns)) == NULL)
		return false;
	*recent = p;
	if (a->o.records_max > 0 && p->nrecords == a->o.records_max) {
		p->too_long = true;
		a->counts.given_up++;
	} else if (!add_record(a, p, node, r, k)) {
		return false;
	}
	if (is_below(k->kind))
		return true;
	a->has_spans |= k->by_spans;
	note_times(a, p, r, k->kind);
	if (a->forks != NULL)
		note_closure(a, p, node, r, k);
	note_threads(a, node, k->kind, r);
	return true;
}

int
assemble_batch(struct assemble *a, uint32_t node, const struct batch *b, struct err *e)
{
	int rc = node_room(a, node, e);

	if (rc != 0 || (rc = map_labels(a, node, b, e)) != 0)
		return rc;
	for (uint32_t i = 0; i < b->nrecords && rc == 0; i++) {
		const struct record *r = &b->records[i];

		assert(r->trace_id == 0 || r->label < b->nlabels);
		if (r->trace_id == 0)
			a->counts.outside++;
		else if (!take_record(a, node, r, &a->mappings[r->label]))
			rc = err_set(e, ERR_MEMORY, "no memory for records of trace %016llx",
			    (unsigned long long)r->trace_id);
	}
	for (uint32_t i = 0; i < b->nlosses; i++)
		keep_loss(a, node, &b->losses[i]);
	if (rc == 0 && b->watermark_ns > a->nodes[node].watermark_ns) {
		a->nodes[node].watermark_ns = b->watermark_ns;
		if (a->nodes[node].joined)
			watermarks_set(&a->watermarks, node, b->watermark_ns);
	}
	decide_by_watermarks(a);
	decide_at_node(a, node);
	return rc;
}

struct trace *
assemble_next(struct assemble *a)
{
	struct trace *t = NULL;
	struct pending_trace *p;
	uint64_t late, duplicate, rest;
	bool built, closed, early;

	while (t == NULL && (p = a->complete) != NULL) {
		if ((a->complete = p->next) == NULL)
			a->complete_end = &a->complete;
		assert(a->complete_bytes >= pending_bytes(p));
		a->complete_bytes -= pending_bytes(p);
		late = duplicate = 0;
		closed = is_closed(p);
		early = p->early;
		a->last_due_ns = due_ns(a, p);
		built = trace_build(
		    a->builder, &t, p, &p->arena, a->last_due_ns, a->labels, &late, &duplicate);
		rest = pending_drop(a, p) - late - duplicate;
		a->counts.late += late;
		a->counts.duplicate += duplicate;
		if (built && a->forks != NULL && early)
			fork_labels_remember(a->forks, t, a->labels);
		if (built && a->forks != NULL && !closed)
			fork_labels_learn(a->forks, t, a->labels);
		*(built && trace_has_times(t) ? &a->counts.used : &a->counts.given_up) += rest;
		if (!built) {
			a->counts.given_up_memory++;
		} else if (trace_has_times(t)) {
			a->counts.complete++;
			count_damage(a, t);
		} else {
			a->counts.given_up_malformed++;
			keep_incomplete(a, t);
			t = NULL;
		}
	}
	return t;
}

struct trace *
assemble_next_incomplete(struct assemble *a)
{
	struct trace *t;

	if (a->nincomplete == 0)
		return NULL;
	t = a->incomplete_kept[a->incomplete_first];
	a->incomplete_first = (a->incomplete_first + 1) % INCOMPLETE_KEPT_MAX;
	a->nincomplete--;
	assert(a->incomplete_bytes >= t->arena.total_bytes);
	a->incomplete_bytes -= t->arena.total_bytes;
	return t;
}

static int
older_first(const void *x, const void *y)
{
	const struct heap_slot *a = x, *b = y;

	if (a->key_ns != b->key_ns)
		return a->key_ns < b->key_ns ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

void
assemble_look_pending(
    struct assemble *a, int64_t before_ns, uint32_t max, assemble_look *fn, void *ctx)
{
	const struct heap *h = &a->first;
	struct heap_slot *old = malloc((h->count + 1) * sizeof *old);
	uint32_t n = 0;

	for (uint32_t i = 0; old != NULL && i < h->count; i++)
		if (h->slots[i].key_ns < before_ns && !has_end(a, h->slots[i].p))
			old[n++] = h->slots[i];
	if (old != NULL)
		qsort(old, n, sizeof *old, older_first);
	for (uint32_t i = 0; i < n && i < max; i++) {
		uint64_t ignored = 0;
		struct arena arena = { 0 };
		struct trace *t = NULL;

		if (trace_build(a->builder, &t, old[i].p, &arena, INT64_MAX, a->labels, &ignored,
			&ignored)) {
			t->lossy |= a->nlosses > 0 && lost_from(a, old[i].p);
			fn(ctx, t);
			trace_free(t);
		} else {
			arena_release(&arena);
		}
	}
	free(old);
}

int64_t
assemble_due_ns(const struct assemble *a)
{
	return a->last_due_ns;
}

void
assemble_counts(const struct assemble *a, struct assemble_counts *ret)
{
	*ret = a->counts;
	ret->pending = a->first.count;
}
