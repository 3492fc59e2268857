/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/relay/rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

enum {
	FLAG_PROBED = 1,
	FLAG_LOSSY = 2,
	FIELD_NAME_MAX = 255,
	ROW_COUNTS = sizeof(struct row_counts) / sizeof(uint64_t),
	LABEL_MIN_BYTES = 3,
	NODE_MIN_BYTES = 2,
	UNIT_MIN_BYTES = 11,
	EVENT_MIN_BYTES = 5,
	NO_FIELD = 255 /* over RECORD_VALUES_MAX */
};

#define TIME_MAX_NS (INT64_MAX / 4)
#define DUE_MAX_NS INT64_C(3600000000000) /* after the end of a request */

/* ---- writing ---- */

void
rows_release(struct rows_writer *w)
{
	buf_release(&w->labels);
	buf_release(&w->nodes);
	buf_release(&w->rows);
	free(w->label_numbers);
	free(w->node_numbers);
	free(w->used);
	*w = (struct rows_writer){ 0 };
}

void
rows_begin(struct rows_writer *w)
{
	for (uint32_t i = 0; i < w->nlabels; i++)
		w->label_numbers[w->used[i]] = 0;
	if (w->node_numbers != NULL)
		memset(w->node_numbers, 0, w->nodes_cap * sizeof *w->node_numbers);
	buf_reset(&w->labels);
	buf_reset(&w->nodes);
	buf_reset(&w->rows);
	w->nlabels = w->nnodes = w->nrows = 0;
}

/* Room for n numbers, those that are new 0. */
static bool
room_for(uint32_t **numbers, uint32_t *cap, uint32_t n)
{
	uint32_t before = *cap;

	if (n <= before)
		return true;
	if (!array_reserve(*numbers, *cap, n))
		return false;
	memset(*numbers + before, 0, (*cap - before) * sizeof **numbers);
	return true;
}

/* The label's number in the message; UINT32_MAX: out of memory. */
static uint32_t
label_number(struct rows_writer *w, const struct labels *labels, uint32_t id)
{
	const struct label *l = labels_get(labels, id);

	if (!room_for(&w->label_numbers, &w->labels_cap, id + 1) ||
	    !array_reserve(w->used, w->used_cap, w->nlabels + 1))
		return UINT32_MAX;
	if (w->label_numbers[id] == 0) {
		buf_u8(&w->labels, (uint8_t)(l->kind | (l->silent ? KIND_SILENT : 0)));
		buf_text(&w->labels, l->text, strlen(l->text));
		buf_uint(&w->labels, l->nfields);
		for (uint32_t i = 0; i < l->nfields; i++)
			buf_text(&w->labels, l->fields[i], strlen(l->fields[i]));
		if (w->labels.failed)
			return UINT32_MAX;
		w->used[w->nlabels] = id;
		w->label_numbers[id] = ++w->nlabels;
	}
	return w->label_numbers[id] - 1;
}

static uint32_t
node_number(struct rows_writer *w, const char *const *names, uint32_t node)
{
	if (!room_for(&w->node_numbers, &w->nodes_cap, node + 1))
		return UINT32_MAX;
	if (w->node_numbers[node] == 0) {
		buf_text(&w->nodes, names[node], strlen(names[node]));
		if (w->nodes.failed)
			return UINT32_MAX;
		w->node_numbers[node] = ++w->nnodes;
	}
	return w->node_numbers[node] - 1;
}

/* A label or NONE, plus one. */
static bool
put_label(struct rows_writer *w, const struct labels *labels, uint32_t id)
{
	uint32_t n = id == LABEL_NONE ? 0 : label_number(w, labels, id);

	if (n == UINT32_MAX)
		return false;
	buf_uint(&w->rows, id == LABEL_NONE ? 0 : (uint64_t)n + 1);
	return true;
}

static void
put_value(struct buf *b, const struct value *v)
{
	buf_u8(b, v->type);
	switch (v->type) {
	case VALUE_INT:
		buf_int(b, v->i);
		break;
	case VALUE_UINT:
		buf_uint(b, v->u);
		break;
	case VALUE_REAL:
		buf_double(b, v->d);
		break;
	case VALUE_TEXT:
		buf_text(b, v->text, v->len);
		break;
	default:
		break;
	}
}

/* label * 4 + has values * 2 + has link */
static bool
put_event(struct rows_writer *w, const struct event *e, int64_t *last_ns,
    const struct labels *labels, const char *const *names)
{
	uint32_t label = label_number(w, labels, e->label), node = node_number(w, names, e->node);
	bool values = e->nvalues > 0;

	if (label == UINT32_MAX || node == UINT32_MAX)
		return false;
	buf_uint(&w->rows, (uint64_t)label << 2 | (uint64_t)values << 1 | (e->link_id != 0));
	buf_int(&w->rows, (int64_t)((uint64_t)e->time_ns - (uint64_t)*last_ns));
	if (e->link_id != 0)
		buf_u64(&w->rows, e->link_id);
	buf_uint(&w->rows, node);
	buf_uint(&w->rows, e->pid);
	buf_uint(&w->rows, e->tid);
	for (uint32_t i = 0; i < e->nvalues; i++)
		put_value(&w->rows, &e->values[i]);
	*last_ns = e->time_ns;
	return true;
}

static bool
put_row(struct rows_writer *w, const struct trace *t, int64_t due_ns, const struct labels *labels,
    const char *const *names)
{
	struct buf *b = &w->rows;
	int64_t last_ns = t->begin_ns;
	bool ok;

	buf_u8(b, (uint8_t)((t->probed ? FLAG_PROBED : 0) | (t->lossy ? FLAG_LOSSY : 0)));
	buf_u8(b, t->incomplete);
	ok = put_label(w, labels, t->incomplete_label);
	buf_u64(b, t->id);
	buf_u64(b, t->id_high);
	ok = ok && put_label(w, labels, t->type);
	buf_uint(b, t->root == TRACE_NONE ? 0 : (uint64_t)t->root + 1);
	buf_int(b, t->begin_ns);
	buf_int(b, (int64_t)((uint64_t)t->end_ns - (uint64_t)t->begin_ns));
	buf_int(b, (int64_t)((uint64_t)due_ns - (uint64_t)t->end_ns));
	buf_uint(b, t->nunits);
	for (uint32_t i = 0; i < t->nunits; i++) {
		const struct unit *u = &t->units[i];

		buf_u64(b, u->id);
		buf_uint(b, u->count);
		buf_uint(b, u->fork == TRACE_NONE ? 0 : (uint64_t)u->fork + 1);
		/* On the clock of the events, so relative to the begin, as they are. */
		buf_uint(b, u->shared_ns != 0);
		if (u->shared_ns != 0)
			buf_int(b, (int64_t)((uint64_t)u->shared_ns - (uint64_t)t->begin_ns));
	}
	buf_uint(b, t->nevents);
	for (uint32_t i = 0; i < t->nevents && ok; i++)
		ok = put_event(w, &t->events[i], &last_ns, labels, names);
	buf_uint(b, t->nbelow);
	for (uint32_t i = 0; i < t->nbelow && ok; i++) {
		buf_uint(b, t->below[i].unit);
		ok = put_event(w, &t->below[i], &last_ns, labels, names);
	}
	return ok && !b->failed;
}

bool
rows_add(struct rows_writer *w, const struct trace *t, int64_t due_ns, const struct labels *labels,
    const char *const *names)
{
	w->before.labels_len = w->labels.len;
	w->before.nodes_len = w->nodes.len;
	w->before.rows_len = w->rows.len;
	w->before.nlabels = w->nlabels;
	w->before.nnodes = w->nnodes;
	if (!put_row(w, t, due_ns, labels, names)) {
		/* Further labels and nodes in the tables do no harm. */
		w->rows.len = w->before.rows_len;
		return false;
	}
	w->nrows++;
	return true;
}

void
rows_take_back(struct rows_writer *w)
{
	while (w->nlabels > w->before.nlabels)
		w->label_numbers[w->used[--w->nlabels]] = 0;
	for (uint32_t i = 0; i < w->nodes_cap; i++)
		if (w->node_numbers[i] > w->before.nnodes)
			w->node_numbers[i] = 0;
	w->nnodes = w->before.nnodes;
	w->labels.len = w->before.labels_len;
	w->nodes.len = w->before.nodes_len;
	w->rows.len = w->before.rows_len;
	w->nrows--;
}

size_t
rows_size(const struct rows_writer *w)
{
	return w->labels.len + w->nodes.len + w->rows.len;
}

int
rows_end(struct rows_writer *w, const struct relay_head *h, uint32_t partition, int64_t upto_ns,
    const struct row_counts *c, struct buf *out, struct err *e)
{
	const uint64_t counts[ROW_COUNTS] = { c->records, c->used, c->held, c->late, c->duplicate,
		c->given_up, c->outside, c->lost, c->complete, c->lossy, c->refused };

	assert(h->items == w->nrows);
	relay_head_encode(h, out);
	buf_uint(out, partition);
	buf_int(out, upto_ns);
	for (size_t i = 0; i < ROW_COUNTS; i++)
		buf_uint(out, counts[i]);
	buf_uint(out, w->nlabels);
	buf_bytes(out, w->labels.data, w->labels.len);
	buf_uint(out, w->nnodes);
	buf_bytes(out, w->nodes.data, w->nodes.len);
	buf_uint(out, w->nrows);
	buf_bytes(out, w->rows.data, w->rows.len);
	if (out->failed || w->labels.failed || w->nodes.failed || w->rows.failed)
		return err_set(e, ERR_MEMORY, "log: out of memory for %u rows", w->nrows);
	return 0;
}

/* ---- reading: the tables ---- */

static int
malformed(struct err *e, const char *what)
{
	return err_set(e, ERR_INPUT, "log: rows: %s is malformed or cut off", what);
}

static int
out_of_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "log: out of memory for rows");
}

/* A count of things of which each has at least min_bytes. */
static bool
read_count(uint32_t *ret, struct reader *r, uint64_t max, size_t min_bytes)
{
	uint64_t n = read_uint(r);

	if (r->failed || n > max || n > reader_left(r) / min_bytes)
		return false;
	*ret = (uint32_t)n;
	return true;
}

/* A label that is known by this text has the fields of its first program; values go by their names, as in a batch of another version. */
static int
match_fields(
    struct rows_message *m, uint32_t i, const char *const *sent, struct arena *a, struct err *e)
{
	const struct label *here = labels_get(m->known, m->labels[i]);
	uint32_t n = m->nfields[i];
	bool same = here->nfields == n;
	uint8_t *from;

	for (uint32_t j = 0; j < n && same; j++)
		same = strcmp(here->fields[j], sent[j]) == 0;
	if (same)
		return 0;
	if ((from = arena_alloc(a, RECORD_VALUES_MAX)) == NULL)
		return out_of_memory(e);
	memset(from, NO_FIELD, RECORD_VALUES_MAX);
	for (uint32_t j = 0; j < here->nfields && j < RECORD_VALUES_MAX; j++)
		for (uint32_t k = 0; k < n && from[j] == NO_FIELD; k++)
			if (strcmp(here->fields[j], sent[k]) == 0)
				from[j] = (uint8_t)k;
	m->from[i] = from;
	return 0;
}

static int
read_label(struct rows_message *m, uint32_t i, struct reader *r, struct labels *labels,
    struct arena *a, struct err *e)
{
	const char *fields[RECORD_VALUES_MAX], *text, *s;
	static const char nothing[] = "";
	char names[RECORD_VALUES_MAX][FIELD_NAME_MAX + 1];
	size_t len, n;
	uint8_t kind = read_u8(r);
	uint64_t nfields;

	text = read_text(r, LABEL_TEXT_MAX, &len);
	nfields = read_uint(r);
	if (r->failed || (kind & ~KIND_SILENT) >= RECORD_KINDS || nfields > RECORD_VALUES_MAX)
		return malformed(e, "a label");
	for (uint32_t j = 0; j < nfields; j++) {
		s = read_text(r, FIELD_NAME_MAX, &n);
		if (r->failed || n == 0 || memchr(s, 0, n) != NULL)
			return malformed(e, "a field of a label");
		memcpy(names[j], s, n);
		names[j][n] = '\0';
		fields[j] = names[j];
	}
	if ((kind & KIND_SILENT) != 0 && nfields > 0)
		return malformed(e, "a label");
	if ((kind & KIND_SILENT) != 0)
		m->labels[i] = labels_silent(labels, (enum record_kind)(kind & ~KIND_SILENT));
	else
		m->labels[i] = labels_intern(labels, (enum record_kind)kind,
		    text != NULL ? text : nothing, len, fields, (uint32_t)nfields);
	if (m->labels[i] == LABEL_NONE)
		return malformed(e, "a label (or there is no room for it)");
	m->nfields[i] = (uint32_t)nfields;
	return match_fields(m, i, fields, a, e);
}

uint32_t
rows_partition(struct reader r)
{
	uint64_t partition = read_uint(&r);

	return r.failed || partition > UINT16_MAX ? UINT32_MAX : (uint32_t)partition;
}

int
rows_open(struct rows_message *ret, struct reader *r, struct labels *labels, rows_node *node,
    void *ctx, struct arena *a, struct err *e)
{
	struct rows_message m = { 0 };
	uint64_t counts[ROW_COUNTS], partition = read_uint(r);
	char name[NODE_NAME_MAX + 1];
	const char *s;
	size_t len;
	int rc;

	m.known = labels;
	m.upto_ns = read_int(r);
	for (size_t i = 0; i < ROW_COUNTS; i++)
		counts[i] = read_uint(r);
	if (r->failed || partition > UINT16_MAX)
		return malformed(e, "the beginning");
	m.partition = (uint32_t)partition;
	m.counts = (struct row_counts){ counts[0], counts[1], counts[2], counts[3], counts[4],
		counts[5], counts[6], counts[7], counts[8], counts[9], counts[10] };
	if (!read_count(&m.nlabels, r, BATCH_LABELS_MAX, LABEL_MIN_BYTES))
		return malformed(e, "the number of labels");
	m.labels = arena_calloc(a, m.nlabels, sizeof *m.labels);
	m.from = arena_calloc(a, m.nlabels, sizeof *m.from);
	m.nfields = arena_calloc(a, m.nlabels, sizeof *m.nfields);
	if (m.labels == NULL || m.from == NULL || m.nfields == NULL)
		return out_of_memory(e);
	for (uint32_t i = 0; i < m.nlabels; i++)
		if ((rc = read_label(&m, i, r, labels, a, e)) != 0)
			return rc;
	if (!read_count(&m.nnodes, r, UINT16_MAX, NODE_MIN_BYTES))
		return malformed(e, "the number of nodes");
	if ((m.nodes = arena_calloc(a, m.nnodes, sizeof *m.nodes)) == NULL)
		return out_of_memory(e);
	for (uint32_t i = 0; i < m.nnodes; i++) {
		if ((s = read_text(r, NODE_NAME_MAX, &len)) == NULL || len == 0 ||
		    memchr(s, 0, len) != NULL)
			return malformed(e, "a node");
		memcpy(name, s, len);
		name[len] = '\0';
		m.nodes[i] = node(ctx, name);
	}
	if (!read_count(&m.nrows, r, ROWS_MAX, 1))
		return malformed(e, "the number of rows");
	*ret = m;
	return 0;
}

/* ---- reading: a row ---- */

struct row_reader {
	const struct rows_message *m;
	struct reader *r;
	struct trace *t;
	int64_t last_ns, due_ns;
	bool strange; /* it has a node that is not known */
};

static bool
read_label_number(uint32_t *ret, struct row_reader *x)
{
	uint64_t n = read_uint(x->r);

	if (x->r->failed || n > x->m->nlabels)
		return false;
	*ret = n == 0 ? LABEL_NONE : x->m->labels[n - 1];
	return true;
}

static bool
read_value(struct value *v, struct row_reader *x)
{
	size_t len = 0;
	const char *s;

	*v = (struct value){ .type = read_u8(x->r) };
	switch (v->type) {
	case VALUE_NONE:
		break;
	case VALUE_INT:
		v->i = read_int(x->r);
		break;
	case VALUE_UINT:
		v->u = read_uint(x->r);
		break;
	case VALUE_REAL:
		v->d = read_double(x->r);
		break;
	case VALUE_TEXT:
		s = read_text(x->r, VALUE_TEXT_MAX, &len);
		v->len = (uint32_t)len;
		v->text = s == NULL ? NULL : arena_text(&x->t->arena, s, len);
		if (v->text == NULL)
			return false;
		break;
	default:
		return false;
	}
	return !x->r->failed;
}

/* In the order of the label's fields here. */
static bool
read_values(struct event *e, struct row_reader *x, uint32_t label)
{
	uint32_t n = x->m->nfields[label], here = labels_get(x->m->known, e->label)->nfields;
	const uint8_t *from = x->m->from[label];
	struct value sent[RECORD_VALUES_MAX], *values;

	if (n > reader_left(x->r))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!read_value(&sent[i], x))
			return false;
	here = here < RECORD_VALUES_MAX ? here : RECORD_VALUES_MAX;
	if (here == 0)
		return true;
	if ((values = arena_calloc(&x->t->arena, here, sizeof *values)) == NULL)
		return false;
	for (uint32_t i = 0; i < here; i++) {
		uint32_t j = from != NULL ? from[i] : i;

		if (j < n)
			values[i] = sent[j];
	}
	e->nvalues = here;
	e->values = values;
	return true;
}

static bool
read_event(struct event *e, struct row_reader *x, uint32_t unit)
{
	uint64_t head = read_uint(x->r), label = head >> 2, node;

	*e = (struct event){ .unit = unit };
	e->time_ns = x->last_ns = (int64_t)((uint64_t)x->last_ns + (uint64_t)read_int(x->r));
	if ((head & 1) != 0)
		e->link_id = read_u64(x->r);
	node = read_uint(x->r);
	e->pid = (uint32_t)read_uint(x->r);
	e->tid = (uint32_t)read_uint(x->r);
	if (x->r->failed || label >= x->m->nlabels || node >= x->m->nnodes)
		return false;
	e->label = x->m->labels[label];
	e->node = x->m->nodes[node];
	x->strange |= e->node == TRACE_NONE;
	if ((head & 2) == 0)
		return true;
	return read_values(e, x, (uint32_t)label);
}

static bool
read_units(struct row_reader *x)
{
	struct trace *t = x->t;
	uint64_t sum = 0;

	if (!read_count(&t->nunits, x->r, ROW_EVENTS_MAX, UNIT_MIN_BYTES) ||
	    (t->units = arena_calloc(&t->arena, t->nunits, sizeof *t->units)) == NULL)
		return false;
	for (uint32_t i = 0; i < t->nunits; i++) {
		struct unit *u = &t->units[i];
		uint64_t count, fork;

		u->id = read_u64(x->r);
		count = read_uint(x->r);
		fork = read_uint(x->r);
		if (read_uint(x->r) != 0)
			u->shared_ns = (int64_t)((uint64_t)t->begin_ns + (uint64_t)read_int(x->r));
		if (x->r->failed || count == 0 || count > ROW_EVENTS_MAX || fork > ROW_EVENTS_MAX)
			return false;
		u->first = (uint32_t)sum;
		u->count = (uint32_t)count;
		u->fork = fork == 0 ? TRACE_NONE : (uint32_t)fork - 1;
		if ((sum += count) > ROW_EVENTS_MAX)
			return false;
	}
	t->nevents = (uint32_t)sum;
	return true;
}

static bool
read_events(struct row_reader *x)
{
	struct trace *t = x->t;
	uint32_t n;

	if (!read_count(&n, x->r, ROW_EVENTS_MAX, EVENT_MIN_BYTES) || n != t->nevents ||
	    (t->events = arena_calloc(&t->arena, n, sizeof *t->events)) == NULL)
		return false;
	for (uint32_t u = 0; u < t->nunits; u++) {
		if (t->units[u].fork != TRACE_NONE && t->units[u].fork >= n)
			return false;
		for (uint32_t i = 0; i < t->units[u].count; i++)
			if (!read_event(&t->events[t->units[u].first + i], x, u))
				return false;
	}
	if (!read_count(&t->nbelow, x->r, ROW_EVENTS_MAX, EVENT_MIN_BYTES + 1) ||
	    (t->below = arena_calloc(&t->arena, t->nbelow, sizeof *t->below)) == NULL)
		return false;
	for (uint32_t i = 0; i < t->nbelow; i++) {
		uint64_t unit = read_uint(x->r);

		if (x->r->failed || unit >= t->nunits ||
		    !read_event(&t->below[i], x, (uint32_t)unit))
			return false;
	}
	return true;
}

static bool
is_time(int64_t ns)
{
	return ns >= -TIME_MAX_NS && ns <= TIME_MAX_NS;
}

/* Sums and differences of two of its times do not overflow. */
static bool
has_sound_times(const struct trace *t, int64_t due_ns)
{
	if (!is_time(t->begin_ns) || !is_time(t->end_ns) || due_ns < t->end_ns ||
	    due_ns - t->end_ns > DUE_MAX_NS)
		return false;
	for (uint32_t i = 0; i < t->nunits; i++)
		if (!is_time(t->units[i].shared_ns))
			return false;
	for (uint32_t i = 0; i < t->nevents; i++)
		if (!is_time(t->events[i].time_ns))
			return false;
	for (uint32_t i = 0; i < t->nbelow; i++)
		if (!is_time(t->below[i].time_ns))
			return false;
	return true;
}

/* What the analysis takes for granted: a trace with times has one begin, in its root, and one end, at its times; events of a unit are in order; and
 * its type, and the fork without a unit, are there. */
static bool
is_sound(const struct trace *t, const struct labels *labels)
{
	uint32_t begins = 0, ends = 0;

	if (t->type != LABEL_NONE && kind_in(labels_kinds(labels), t->type) != RECORD_REQUEST_BEGIN)
		return false;
	if (t->incomplete == INCOMPLETE_NO_UNIT && t->incomplete_label == LABEL_NONE)
		return false;
	for (uint32_t i = 0; i < t->nevents; i++) {
		const struct event *e = &t->events[i];
		uint8_t kind = kind_in(labels_kinds(labels), e->label) & (uint8_t)~KIND_SILENT;

		if (i > 0 && e[-1].unit == e->unit && e[-1].time_ns > e->time_ns)
			return false;
		if (kind == RECORD_WAIT || kind == RECORD_SAMPLE)
			return false;
		if (kind == RECORD_REQUEST_BEGIN && e->unit == t->root && e->label == t->type &&
		    e->time_ns == t->begin_ns)
			begins++;
		else if (kind == RECORD_REQUEST_END && e->time_ns == t->end_ns)
			ends++;
		else if (kind == RECORD_REQUEST_BEGIN || kind == RECORD_REQUEST_END)
			begins = 2;
	}
	return !trace_has_times(t) || (begins == 1 && ends == 1 && t->end_ns >= t->begin_ns);
}

static bool
read_row(struct row_reader *x, int64_t shift_ns)
{
	struct trace *t = x->t;
	uint8_t flags = read_u8(x->r);
	uint64_t root;

	t->incomplete = read_u8(x->r);
	t->probed = (flags & FLAG_PROBED) != 0;
	t->lossy = (flags & FLAG_LOSSY) != 0;
	if (x->r->failed || t->incomplete >= INCOMPLETES ||
	    !read_label_number(&t->incomplete_label, x))
		return false;
	t->id = read_u64(x->r);
	t->id_high = read_u64(x->r);
	if (!read_label_number(&t->type, x))
		return false;
	root = read_uint(x->r);
	t->begin_ns = x->last_ns = (int64_t)((uint64_t)read_int(x->r) + (uint64_t)shift_ns);
	t->end_ns = (int64_t)((uint64_t)t->begin_ns + (uint64_t)read_int(x->r));
	x->due_ns = (int64_t)((uint64_t)t->end_ns + (uint64_t)read_int(x->r));
	if (x->r->failed || !read_units(x) || root > t->nunits)
		return false;
	t->root = root == 0 ? TRACE_NONE : (uint32_t)root - 1;
	return read_events(x) && has_sound_times(t, x->due_ns) && is_sound(t, x->m->known);
}

int
rows_next(struct trace **ret, int64_t *due_ns, const struct rows_message *m, struct reader *r,
    int64_t shift_ns, struct err *e)
{
	struct arena a = { 0 };
	struct row_reader x = { .m = m, .r = r };

	*ret = NULL;
	if ((x.t = arena_calloc(&a, 1, sizeof *x.t)) == NULL)
		return out_of_memory(e);
	x.t->arena = a;
	if (!read_row(&x, shift_ns)) {
		trace_free(x.t);
		return malformed(e, "a row");
	}
	if (x.strange)
		trace_free(x.t);
	else
		*ret = x.t;
	*due_ns = x.due_ns;
	return 0;
}

/* ---- digest ---- */

static uint64_t
digest_event(uint64_t h, const struct trace *t, const struct event *e, const struct labels *labels,
    const char *const *names)
{
	const char *text = labels_get(labels, e->label)->text;
	int64_t at_ns = e->time_ns - t->begin_ns;

	h = hash_bytes(h, text, strlen(text));
	h = hash_bytes(h, names[e->node], strlen(names[e->node]));
	h = hash_bytes(h, &at_ns, sizeof at_ns);
	h = hash_bytes(h, &e->link_id, sizeof e->link_id);
	h = hash_bytes(h, &e->unit, sizeof e->unit);
	h = hash_bytes(h, &e->tid, sizeof e->tid);
	for (uint32_t i = 0; i < e->nvalues; i++) {
		const struct value *v = &e->values[i];

		if (v->type == VALUE_TEXT)
			h = hash_bytes(h, v->text, v->len);
		else if (v->type != VALUE_NONE)
			h = hash_bytes(h, &v->u, sizeof v->u);
	}
	return h;
}

uint64_t
row_digest(const struct trace *t, const struct labels *labels, const char *const *names)
{
	int64_t lasts_ns = t->end_ns - t->begin_ns;
	uint64_t h = hash_bytes(0, &t->id, sizeof t->id);

	h = hash_bytes(h, &lasts_ns, sizeof lasts_ns);
	h = hash_bytes(h, &t->lossy, sizeof t->lossy);
	h = hash_bytes(h, &t->incomplete, sizeof t->incomplete);
	for (uint32_t i = 0; i < t->nunits; i++) {
		h = hash_bytes(h, &t->units[i].id, sizeof t->units[i].id);
		h = hash_bytes(h, &t->units[i].fork, sizeof t->units[i].fork);
	}
	for (uint32_t i = 0; i < t->nevents; i++)
		h = digest_event(h, t, &t->events[i], labels, names);
	for (uint32_t i = 0; i < t->nbelow; i++)
		h = digest_event(h, t, &t->below[i], labels, names);
	return h;
}
