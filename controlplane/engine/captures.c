/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/captures.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/label.h"
#include "base/hash.h"

/* Requests between these quantiles are usual. */
#define USUAL_LOW 0.40
#define USUAL_HIGH 0.60
#define SKETCH_ERROR 0.02 /* twice that of the sketch */
/* Beyond the stated uncertainty of a node's clock: the offset in use may follow it meanwhile. */
#define CLOCK_MARGIN_NS INT64_C(2000000)
#define CLOCK_UNKNOWN_NS INT64_C(50000000)

/* ---- captured traces ---- */

static void
drop_batch(struct captures *c, struct captured_node *n)
{
	c->bytes -= n->batch.len;
	buf_release(&n->batch);
}

static void
captured_free(struct captures *c, struct captured *x)
{
	if (x == NULL)
		return;
	if (x->trace != NULL)
		c->bytes -= x->trace->arena.total_bytes;
	trace_free(x->trace);
	for (uint32_t i = 0; i < x->nnodes; i++)
		drop_batch(c, &x->nodes[i]);
	free(x->nodes);
	free(x);
}

static void
capture_free(struct captures *c, struct capture *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		captured_free(c, x->list[i]);
	for (uint32_t i = 0; i < x->nusual; i++)
		captured_free(c, x->usual[i]);
	free(x);
}

void
captures_release(struct captures *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		capture_free(c, c->items[i]);
	for (uint32_t i = 0; i < c->nstanding; i++)
		capture_free(c, c->standing[i]);
	c->n = c->nstanding = 0;
}

/* The i-th of all captures, standing ones after the others. */
static struct capture *
capture_at(const struct captures *c, uint32_t i)
{
	return i < c->n ? c->items[i] : c->standing[i - c->n];
}

/* Calls fn for each captured trace, usual ones too, until it returns true, for the one that it did. */
static struct captured *
find_captured(
    struct captures *c, bool (*fn)(const struct captured *x, const void *of), const void *of)
{
	for (uint32_t i = 0; i < c->n + c->nstanding; i++) {
		struct capture *k = capture_at(c, i);

		for (uint32_t j = 0; j < k->n + k->nusual; j++) {
			struct captured *x = j < k->n ? k->list[j] : k->usual[j - k->n];

			if (fn(x, of))
				return x;
		}
	}
	return NULL;
}

/* ---- captures ---- */

/* The oldest capture that has ended gives way. False: there is none. */
static bool
drop_ended(struct captures *c)
{
	uint32_t i = 0;

	while (i < c->n && c->items[i]->end == CAPTURE_ACTIVE)
		i++;
	if (i == c->n)
		return false;
	capture_free(c, c->items[i]);
	memmove(&c->items[i], &c->items[i + 1], (c->n - i - 1) * sizeof(struct capture *));
	c->n--;
	return true;
}

int
captures_begin(struct captures *c, uint32_t type, const struct capture_options *o, struct mono now,
    uint64_t *id, struct err *e)
{
	struct capture *x;

	assert(o->count >= 1 && o->count <= CAPTURE_COUNT_MAX);
	if (!o->diagnosis)
		captures_stop_diagnosis(c, type);
	if (captures_of(c, type))
		return err_set(e, ERR_BUSY, "requests of this type are being captured already");
	if (c->n == CAPTURES_MAX && !drop_ended(c))
		return err_set(
		    e, ERR_FULL, "%d captures are active, and that is the most", CAPTURES_MAX);
	if ((x = calloc(1, sizeof *x)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a capture");
	x->id = ++c->ids;
	x->type = type;
	x->options = *o;
	x->begun = now;
	c->items[c->n++] = x;
	*id = x->id;
	return 0;
}

bool
captures_stop(struct captures *c, uint32_t type)
{
	bool any = false;

	for (uint32_t i = 0; i < c->n; i++)
		if (c->items[i]->end == CAPTURE_ACTIVE &&
		    (type == LABEL_NONE || c->items[i]->type == type)) {
			c->items[i]->end = CAPTURE_STOPPED;
			any = true;
		}
	return any;
}

static struct capture *
active_of(const struct captures *c, uint32_t type)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->items[i]->end == CAPTURE_ACTIVE && c->items[i]->type == type)
			return c->items[i];
	return NULL;
}

const struct capture *
captures_active(const struct captures *c, uint32_t type)
{
	return active_of(c, type);
}

void
captures_stop_diagnosis(struct captures *c, uint32_t type)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->items[i]->type == type && c->items[i]->options.diagnosis)
			c->items[i]->end = CAPTURE_STOPPED;
}

bool
captures_of(const struct captures *c, uint32_t type)
{
	return active_of(c, type) != NULL;
}

bool
captures_any(const struct captures *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->items[i]->end == CAPTURE_ACTIVE)
			return true;
	return false;
}

static bool
is_not_whole(const struct captured *x, const void *of)
{
	(void)of;
	return x->whole_at.ns == 0;
}

bool
captures_record(struct captures *c)
{
	return captures_any(c) || find_captured(c, is_not_whole, NULL) != NULL;
}

void
captures_ready(struct captures *c, bool ready, struct mono now)
{
	if (!ready)
		c->ready.ns = 0;
	else if (c->ready.ns == 0)
		c->ready = now;
	for (uint32_t i = 0; i < c->n && ready; i++)
		if (c->items[i]->ready.ns == 0)
			c->items[i]->ready = now;
}

bool
capture_is_whole(const struct capture *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->list[i]->whole_at.ns == 0)
			return false;
	for (uint32_t i = 0; i < x->nusual; i++)
		if (x->usual[i]->whole_at.ns == 0)
			return false;
	return true;
}

const struct capture *
captures_find(const struct captures *c, uint64_t id)
{
	for (uint32_t i = 0; i < c->n + c->nstanding; i++)
		if (capture_at(c, i)->id == id)
			return capture_at(c, i);
	return NULL;
}

/* Of a capture that has ended the fault may have been mended since; that of a diagnosis counts until it is stopped with it. */
static bool
is_listed(const struct capture *x)
{
	return x->standing || x->end == CAPTURE_ACTIVE ||
	       (x->options.diagnosis && x->end != CAPTURE_STOPPED);
}

uint32_t
captures_list(const struct captures *c, uint32_t type, const struct captured **list, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = c->n + c->nstanding; i-- > 0;) { /* the newest first */
		const struct capture *x = capture_at(c, i);

		if (x->type != type || !is_listed(x))
			continue;
		for (uint32_t k = 0; k < x->n + x->nusual && n < max; k++)
			list[n++] = k < x->n ? x->list[k] : x->usual[k - x->n];
	}
	return n;
}

bool
captured_lacks(const struct captured *x)
{
	for (uint32_t i = 0; i < x->nnodes; i++) {
		const struct captured_node *n = &x->nodes[i];

		if ((n->result != KEPT_READ && n->result != KEPT_NO_RECORDER) ||
		    n->overwritten > 0 || n->undecoded > 0 || n->cut > 0 || n->unlisted > 0)
			return true;
	}
	return x->trace->lossy || x->trace->incomplete != INCOMPLETE_NONE;
}

uint64_t
captured_unrecorded(const struct captured *x)
{
	uint64_t hash = 0;

	/* in whatever order the trace has its nodes */
	for (uint32_t i = 0; i < x->nnodes; i++)
		if (x->nodes[i].result == KEPT_NO_RECORDER)
			hash += hash_bytes(1, &x->nodes[i].node, sizeof x->nodes[i].node);
	return hash;
}

/* ---- traces ---- */

/* The nodes with events of the trace, each once. UINT32_MAX: more than CAPTURE_NODES_MAX. */
static uint32_t
nodes_of(const struct trace *t, uint32_t nodes[CAPTURE_NODES_MAX])
{
	uint32_t n = 0, last = UINT32_MAX;

	for (uint32_t i = 0; i < t->nevents; i++) {
		uint32_t k = 0;

		if (t->events[i].node == last)
			continue;
		last = t->events[i].node;
		while (k < n && nodes[k] != last)
			k++;
		if (k < n)
			continue;
		if (n == CAPTURE_NODES_MAX)
			return UINT32_MAX;
		nodes[n++] = last;
	}
	return n;
}

/* The time of the trace by the node's clock, as wide as is not known better. */
static struct keep
keep_for(const struct trace *t, uint64_t number, uint32_t node, const struct clocks *clocks,
    struct mono now)
{
	struct clock_state s = { 0 };
	int64_t margin_ns;

	clocks_state(clocks, node, now.ns, &s);
	margin_ns = s.bounded && s.uncertain_ns < CLOCK_UNKNOWN_NS
	                ? s.uncertain_ns + CLOCK_MARGIN_NS
	                : CLOCK_UNKNOWN_NS;
	return (struct keep){ .number = number,
		.trace_id = t->id,
		.from_ns = t->begin_ns - s.offset_ns - margin_ns,
		.to_ns = t->end_ns - s.offset_ns + margin_ns };
}

/* *ret NULL: the bounds do not permit it. */
static int
captured_new(struct captures *c, struct captured **ret, const struct trace *t,
    const int64_t *shift_ns, const struct clocks *clocks, struct labels *labels, struct mono now,
    struct err *e)
{
	uint32_t nodes[CAPTURE_NODES_MAX], n;
	struct trace_merge_counts none;
	struct captured *x;
	int rc = ERR_MEMORY;

	*ret = NULL;
	if (c->bytes > CAPTURE_BYTES_MAX || t->nevents > CAPTURE_EVENTS_MAX ||
	    (n = nodes_of(t, nodes)) == UINT32_MAX)
		return 0;
	if ((x = calloc(1, sizeof *x)) == NULL ||
	    (x->nodes = calloc(n + 1, sizeof *x->nodes)) == NULL ||
	    (rc = trace_merge(&x->trace, t, NULL, NULL, 0, labels, &none, e)) != 0 ||
	    (x->shift_ns = arena_copy(&x->trace->arena, shift_ns, t->nunits * sizeof *shift_ns)) ==
		NULL) {
		if (x != NULL) {
			trace_free(x->trace);
			free(x->nodes);
		}
		free(x);
		return err_set(e, rc, "out of memory for a captured trace");
	}
	c->bytes += x->trace->arena.total_bytes;
	x->number = ++c->numbers;
	x->at = now;
	x->nnodes = n;
	for (uint32_t i = 0; i < n; i++) {
		x->nodes[i].node = nodes[i];
		x->nodes[i].keep = keep_for(t, x->number, nodes[i], clocks, now);
	}
	*ret = x;
	return 0;
}

/* 0: not known yet. */
static int64_t
limit_of(const struct capture *x, const struct sketch *times)
{
	if (x->options.quantile <= 0)
		return x->options.over_ns;
	return times->n >= CAPTURE_TRACES_MIN
	           ? (int64_t)sketch_quantile_most(times, x->options.quantile)
	           : 0;
}

/* The place of the oldest of them, if it is whole, and older than that; n: there is none. */
static uint32_t
outdated(struct captured *const *list, uint32_t n, int64_t older_ns, struct mono now)
{
	uint32_t oldest = 0;

	for (uint32_t i = 1; i < n; i++)
		if (list[i]->at.ns < list[oldest]->at.ns)
			oldest = i;
	return n > 0 && list[oldest]->whole_at.ns != 0 &&
	               mono_since_ns(now, list[oldest]->at) > older_ns
	           ? oldest
	           : n;
}

static int64_t
took_of(const struct captured *x)
{
	return x->trace->end_ns - x->trace->begin_ns;
}

/*
 * Where a standing capture keeps a slow request.
 *
 * 1. The last one came just before: nowhere.
 * 2. There is a free place.
 * 3. The oldest one is too old, and gives its place.
 * 4. The fastest one does, if it is whole, and faster than this one.
 * 5. Nowhere.
 *
 * UINT32_MAX: nowhere.
 */
static uint32_t
standing_place(const struct capture *x, int64_t took_ns, struct mono now)
{
	uint32_t old = outdated(x->list, x->n, CAPTURE_STANDING_KEEP_NS, now), fastest = 0;

	/* 1 */
	if (mono_since_ns(now, x->slow_at) < CAPTURE_STANDING_EVERY_NS)
		return UINT32_MAX;
	/* 2 and 3 */
	if (x->n < CAPTURE_STANDING || old < x->n)
		return x->n < CAPTURE_STANDING ? x->n : old;
	for (uint32_t i = 1; i < x->n; i++)
		if (took_of(x->list[i]) < took_of(x->list[fastest]))
			fastest = i;
	/* 4 and 5 */
	return x->list[fastest]->whole_at.ns != 0 && took_of(x->list[fastest]) < took_ns
	           ? fastest
	           : UINT32_MAX;
}

static uint32_t
slow_place(const struct capture *x, int64_t took_ns, struct mono now)
{
	if (x->standing)
		return standing_place(x, took_ns, now);
	return x->n < x->options.count ? x->n : UINT32_MAX; /* it only waits for usual ones */
}

static uint32_t
usual_place(const struct capture *x, struct mono now)
{
	uint32_t old = x->nusual;

	if (x->standing && x->nusual == CAPTURE_USUAL)
		old = outdated(x->usual, x->nusual, CAPTURE_STANDING_USUAL_NS, now);
	return old < CAPTURE_USUAL ? old : UINT32_MAX;
}

static bool
is_usual(const struct sketch *times, int64_t took_ns)
{
	return times->n >= 100 &&
	       (double)took_ns >= sketch_quantile(times, USUAL_LOW) * (1 - SKETCH_ERROR) &&
	       (double)took_ns <= sketch_quantile(times, USUAL_HIGH) * (1 + SKETCH_ERROR);
}

static void
put_captured(
    struct captures *c, struct captured **list, uint32_t *n, uint32_t at, struct captured *x)
{
	if (at < *n)
		captured_free(c, list[at]);
	else
		++*n;
	list[at] = x;
}

/* The standing capture of the type, a new one if there is a place. NULL: it has none. */
static struct capture *
standing_of(struct captures *c, uint32_t type, struct mono now)
{
	struct capture *x;

	for (uint32_t i = 0; i < c->nstanding && c->always; i++)
		if (c->standing[i]->type == type)
			return c->standing[i];
	if (!c->always || c->ready.ns == 0 || c->nstanding == CAPTURE_STANDING_MAX ||
	    (x = calloc(1, sizeof *x)) == NULL)
		return NULL;
	x->id = ++c->ids;
	x->type = type;
	x->options = (struct capture_options){ .quantile = CAPTURE_STANDING_QUANTILE,
		.count = CAPTURE_STANDING };
	x->begun = x->ready = now;
	x->standing = true;
	c->standing[c->nstanding++] = x;
	return x;
}

/* It is captured, unless the bounds forbid it; else it counts as missed if it is slow. */
static int
take(struct captures *c, struct capture *x, struct captured *new, bool usual, uint32_t at,
    struct mono now)
{
	if (new == NULL) {
		x->missed += !usual;
		return 0;
	}
	new->usual = usual;
	if (usual)
		put_captured(c, x->usual, &x->nusual, at, new);
	else
		put_captured(c, x->list, &x->n, at, new);
	*(usual ? &x->usual_at : &x->slow_at) = now;
	if (!x->standing && x->n == x->options.count && x->nusual >= CAPTURE_USUAL_LEAST)
		x->end = CAPTURE_ENOUGH;
	return 0;
}

int
captures_trace(struct captures *c, const struct trace *t, const struct sketch *times,
    const int64_t *shift_ns, const struct clocks *clocks, struct labels *labels, struct mono now,
    struct err *e)
{
	struct capture *x = active_of(c, t->type);
	int64_t took_ns = t->end_ns - t->begin_ns;
	struct captured *new = NULL;
	bool slow, usual;
	uint32_t at;
	int rc = 0;

	if (x == NULL)
		x = standing_of(c, t->type, now);
	/* A request that began before the recorders were on has left nothing there. */
	if (x == NULL || x->ready.ns == 0 || t->begin_ns < x->ready.ns || !trace_has_times(t) ||
	    (x->standing && (c->ready.ns == 0 || t->begin_ns < c->ready.ns)))
		return 0;
	x->limit_ns = limit_of(x, times);
	x->seen++;
	slow = x->limit_ns > 0 && took_ns > x->limit_ns;
	usual = !slow && trace_is_evidence(t) && is_usual(times, took_ns) &&
	        mono_since_ns(now, x->usual_at) >= CAPTURE_USUAL_EVERY_NS;
	x->slow += slow;
	at = slow ? slow_place(x, took_ns, now) : usual ? usual_place(x, now) : UINT32_MAX;
	if (at == UINT32_MAX)
		return 0;
	while (!x->standing && c->bytes > CAPTURE_BYTES_MAX && drop_ended(c))
		;
	if (!x->standing || c->bytes <= CAPTURE_BYTES_MAX / 2)
		rc = captured_new(c, &new, t, shift_ns, clocks, labels, now, e);
	return rc != 0 ? rc : take(c, x, new, usual, at, now);
}

/* ---- nodes ---- */

static struct captured_node *
node_of(const struct captured *x, uint32_t node)
{
	for (uint32_t i = 0; i < x->nnodes; i++)
		if (x->nodes[i].node == node)
			return &x->nodes[i];
	return NULL;
}

static bool
is_due(const struct captured *x, const void *of)
{
	const struct captured_node *n = node_of(x, *(const uint32_t *)of);

	return x->whole_at.ns == 0 && n != NULL && n->state == CAPTURED_DUE;
}

static bool
has_due(const struct captured *x, const void *of)
{
	(void)of;
	for (uint32_t i = 0; i < x->nnodes && x->whole_at.ns == 0; i++)
		if (x->nodes[i].state == CAPTURED_DUE)
			return true;
	return false;
}

static bool
has_number(const struct captured *x, const void *of)
{
	return x->number == *(const uint64_t *)of;
}

bool
captures_due(struct captures *c)
{
	return find_captured(c, has_due, NULL) != NULL;
}

bool
captures_next(struct captures *c, uint32_t node, struct keep *ret)
{
	const struct captured *x = find_captured(c, is_due, &node);

	if (x != NULL)
		*ret = node_of(x, node)->keep;
	return x != NULL;
}

void
captures_asked(struct captures *c, uint32_t node, uint64_t number, bool recorder)
{
	struct captured *x = find_captured(c, has_number, &number);
	struct captured_node *n = x != NULL ? node_of(x, node) : NULL;

	if (n == NULL)
		return;
	n->state = recorder ? CAPTURED_ASKED : CAPTURED_ANSWERED;
	n->result = recorder ? KEPT_SILENT : KEPT_NO_RECORDER;
}

int
captures_answer(struct captures *c, uint32_t node, const struct kept *k, struct err *e)
{
	struct captured *x = find_captured(c, has_number, &k->number);
	struct captured_node *n = x != NULL ? node_of(x, node) : NULL;
	struct arena a = { 0 };
	struct batch b = { 0 };
	bool full = c->bytes + k->batch_len > CAPTURE_BYTES_MAX;
	int rc = 0;

	if (n == NULL || n->state != CAPTURED_ASKED || x->whole_at.ns != 0 ||
	    k->trace_id != x->trace->id)
		return 0;
	if (k->batch_len > 0)
		rc = batch_decode(&b, &a, k->batch, k->batch_len, e);
	if (rc == 0 && b.nrecords > KEPT_RECORDS_MAX)
		rc = err_set(e, ERR_INPUT, "kept: %u records", b.nrecords);
	if (rc == 0 && k->batch_len > 0 && !full)
		buf_bytes(&n->batch, k->batch, k->batch_len);
	if (rc != 0 || n->batch.failed) {
		arena_release(&a);
		return rc != 0 ? rc : err_set(e, ERR_MEMORY, "out of memory for kept records");
	}
	c->bytes += n->batch.len;
	n->state = CAPTURED_ANSWERED;
	n->result = k->result;
	n->rings = k->rings;
	n->overwritten = k->overwritten;
	n->unlisted = k->unlisted;
	n->undecoded = k->undecoded;
	n->cut = k->cut + (full ? b.nrecords : 0);
	n->nrecords = full ? 0 : b.nrecords;
	snprintf(n->failure, sizeof n->failure, "%s", k->failure != NULL ? k->failure : "");
	arena_release(&a);
	return 0;
}

static bool
awaits(const struct captured *x, const void *of)
{
	const struct captured_node *n = node_of(x, *(const uint32_t *)of);

	return x->whole_at.ns == 0 && n != NULL && n->state != CAPTURED_ANSWERED;
}

void
captures_leave(struct captures *c, uint32_t node)
{
	struct captured *x;

	while ((x = find_captured(c, awaits, &node)) != NULL) {
		struct captured_node *n = node_of(x, node);

		n->state = CAPTURED_ANSWERED;
		n->result = KEPT_SILENT;
	}
}

/* ---- whole traces ---- */

static bool
all_answered(const struct captured *x)
{
	for (uint32_t i = 0; i < x->nnodes; i++)
		if (x->nodes[i].state != CAPTURED_ANSWERED)
			return false;
	return true;
}

static int
make_whole(struct captures *c, struct captured *x, struct clocks *clocks, struct labels *labels,
    struct mono now, struct err *e)
{
	struct trace_addition *add = calloc(x->nnodes + 1, sizeof *add);
	struct batch *batches = calloc(x->nnodes + 1, sizeof *batches);
	struct arena a = { 0 };
	struct trace *whole = NULL;
	uint32_t n = 0;
	int rc = add != NULL && batches != NULL ? 0 : ERR_MEMORY;

	for (uint32_t i = 0; rc == 0 && i < x->nnodes; i++) {
		struct captured_node *from = &x->nodes[i];

		if (from->state != CAPTURED_ANSWERED)
			from->result = KEPT_SILENT;
		if (from->batch.len == 0)
			continue;
		if ((rc = batch_decode(&batches[n], &a, from->batch.data, from->batch.len, e)) != 0)
			break;
		for (uint32_t r = 0; r < batches[n].nrecords; r++)
			batches[n].records[r].time_ns = clocks_near(
			    clocks, from->node, batches[n].records[r].time_ns);
		add[n] = (struct trace_addition){ from->node, &batches[n] };
		n++;
	}
	if (rc == 0)
		rc = trace_merge(&whole, x->trace, x->shift_ns, add, n, labels, &x->merged, e);
	if (rc == 0) {
		c->bytes += whole->arena.total_bytes - x->trace->arena.total_bytes;
		trace_free(x->trace);
		x->trace = whole;
		x->shift_ns = NULL;
		x->whole_at = now;
		for (uint32_t i = 0; i < x->nnodes; i++)
			drop_batch(c, &x->nodes[i]);
	} else {
		err_set(e, rc, "out of memory for a captured trace");
	}
	arena_release(&a);
	free(add);
	free(batches);
	return rc;
}

static bool
is_to_be_whole(const struct captured *x, const void *of)
{
	const struct mono *now = of;

	return x->whole_at.ns == 0 &&
	       (all_answered(x) || mono_since_ns(*now, x->at) > CAPTURE_ANSWER_NS);
}

int
captures_step(struct captures *c, struct clocks *clocks, struct labels *labels, struct mono now,
    struct err *e)
{
	struct captured *x;
	int rc = 0;

	while (rc == 0 && (x = find_captured(c, is_to_be_whole, &now)) != NULL)
		rc = make_whole(c, x, clocks, labels, now, e);
	for (uint32_t i = 0; i < c->n; i++)
		if (c->items[i]->end == CAPTURE_ACTIVE &&
		    mono_since_ns(now, c->items[i]->begun) > c->items[i]->options.for_ns)
			c->items[i]->end = CAPTURE_TIME;
	return rc;
}
