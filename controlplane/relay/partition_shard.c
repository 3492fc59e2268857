/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/relay/partition_shard.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/texts.h"

struct shard_node {
	bool here;
	uint32_t gate;
	int64_t watermark_ns;      /* the highest of its sections; INT64_MIN: none */
	int64_t lost_from_ns;      /* messages are missing since then; INT64_MAX: none are */
	uint64_t incarnation, seq; /* of its last batch */
};

struct shard_gate {
	int64_t newest_ns; /* watermark of its nodes */
	bool left;
};

/* While it is joined, and sends nothing, no trace is complete. Its number is that of the name "". */
enum { NOBODY = 0, HEAD_BYTES = 512 /* of a message, at most, with its counts */ };

/* A message that may still be needed: until the rows are past the last time in it, of a record or a loss, by as long as a trace waits. */
struct held_message {
	int64_t offset, last_ns;
};

struct partition_shard {
	struct partition_shard_options o;
	struct labels *labels;
	struct assemble *assemble;
	struct relay_numbers numbers;
	struct texts *gate_names, *node_names;
	struct shard_gate *gates;
	struct shard_node *nodes;
	const char **names; /* of the nodes */
	uint32_t ngates, gates_cap, nnodes, nodes_cap, names_cap;
	struct held_message *held;
	uint32_t held_at, nheld, held_cap; /* [held_at, nheld) */
	int64_t first_ns, made_ns;         /* when the first message was made, and the newest */
	bool waits;                        /* the first hello_ns have not passed */
	int64_t upto_ns, told_ns;          /* all rows up to here are made; were told */
	int64_t next_offset;
	uint64_t twice;             /* records of batches that came before, through another gate */
	uint64_t refused, gap_owed; /* records of a gap that no node has been charged with yet */
	struct rows_writer writer;
	uint64_t number, before; /* of the messages of rows */
	struct trace *next;      /* made, and not in a message yet, */
	int64_t next_due_ns;     /* and when it was due */
	struct arena scratch;
};

static uint32_t
node_for(struct partition_shard *s, const char *name)
{
	uint32_t i = texts_find(s->node_names, name, strlen(name));

	if (i != UINT32_MAX)
		return i;
	if (s->nnodes == SHARD_NODES_MAX ||
	    (i = texts_intern(s->node_names, name, strlen(name))) == UINT32_MAX)
		return UINT32_MAX;
	if (!array_reserve(s->nodes, s->nodes_cap, i + 1) ||
	    !array_reserve(s->names, s->names_cap, i + 1))
		return UINT32_MAX;
	s->nodes[i] = (struct shard_node){ .watermark_ns = INT64_MIN, .lost_from_ns = INT64_MAX };
	s->names[i] = texts_get(s->node_names, i);
	s->nnodes++;
	return i;
}

int
partition_shard_new(
    struct partition_shard **ret, const struct partition_shard_options *o, struct err *e)
{
	struct partition_shard *s = calloc(1, sizeof *s);
	int rc = ERR_MEMORY;

	if (s == NULL)
		return err_set(e, ERR_MEMORY, "shard: out of memory");
	s->o = *o;
	s->o.assemble.order_ns = 0;
	s->upto_ns = s->told_ns = s->first_ns = s->made_ns = INT64_MIN;
	s->next_offset = -1;
	s->waits = true;
	s->labels = labels_new();
	s->gate_names = texts_new();
	s->node_names = texts_new();
	if (s->labels == NULL || s->gate_names == NULL || s->node_names == NULL ||
	    node_for(s, "") != NOBODY || /* no node has this name */
	    (rc = assemble_new(&s->assemble, &s->o.assemble, s->labels, e)) != 0 ||
	    (rc = assemble_join(s->assemble, NOBODY, e)) != 0) {
		partition_shard_free(s);
		return err_set(e, rc, "shard: out of memory");
	}
	*ret = s;
	return 0;
}

void
partition_shard_free(struct partition_shard *s)
{
	if (s == NULL)
		return;
	trace_free(s->next);
	rows_release(&s->writer);
	relay_numbers_release(&s->numbers);
	assemble_free(s->assemble);
	texts_free(s->gate_names);
	texts_free(s->node_names);
	labels_free(s->labels);
	arena_release(&s->scratch);
	free(s->gates);
	free(s->nodes);
	free(s->names);
	free(s->held);
	free(s);
}

/* ---- gates and nodes ---- */

static void
node_leaves(struct partition_shard *s, uint32_t node)
{
	if (s->nodes[node].here)
		assemble_leave(s->assemble, node);
	s->nodes[node].here = false;
}

static void
gate_leaves(struct partition_shard *s, uint32_t gate)
{
	for (uint32_t i = 0; i < s->nnodes; i++)
		if (s->nodes[i].gate == gate)
			node_leaves(s, i);
	s->gates[gate].left = true;
}

/* Its number; UINT32_MAX: out of memory. */
static uint32_t
gate_for(struct partition_shard *s, const char *name)
{
	uint32_t i = texts_intern(s->gate_names, name, strlen(name));

	if (i == UINT32_MAX || i < s->ngates)
		return i;
	if (!array_reserve(s->gates, s->gates_cap, i + 1))
		return UINT32_MAX;
	s->gates[s->ngates++] = (struct shard_gate){ .newest_ns = INT64_MIN };
	return i;
}

/* What is missing in the log may be of any of the gate's nodes, since the last that came of it. */
static void
note_gap(struct partition_shard *s, uint32_t gate, const struct relay_gap *gap)
{
	if (gap->messages == 0)
		return;
	s->gap_owed += gap->items;
	for (uint32_t i = 0; i < s->nnodes; i++)
		if (s->nodes[i].gate == gate && s->nodes[i].lost_from_ns == INT64_MAX)
			s->nodes[i].lost_from_ns = s->nodes[i].watermark_ns;
}

/* ---- sections ---- */

/* The loss of a gap, at the end of the batch's losses. */
static int
add_gap(struct partition_shard *s, struct shard_node *n, struct batch *b)
{
	struct loss *all;

	if (n->lost_from_ns == INT64_MAX)
		return 0;
	if ((all = arena_alloc(&s->scratch, (b->nlosses + 1) * sizeof *all)) == NULL)
		return ERR_MEMORY;
	if (b->nlosses > 0)
		memcpy(all, b->losses, b->nlosses * sizeof *all);
	all[b->nlosses++] = (struct loss){ .reason = LOSS_QUEUE,
		.count = s->gap_owed,
		.from_ns = n->lost_from_ns < b->watermark_ns ? n->lost_from_ns : b->watermark_ns,
		.to_ns = b->watermark_ns };
	b->losses = all;
	n->lost_from_ns = INT64_MAX;
	s->gap_owed = 0;
	return 0;
}

static int
join(struct partition_shard *s, uint32_t node, uint32_t gate, struct err *e)
{
	struct shard_node *n = &s->nodes[node];
	int rc = 0;

	if (n->here &&
	    n->gate !=
		gate) /* it went to another gate, which has what the first had not delivered */
		n->gate = gate;
	if (!n->here && (rc = assemble_join(s->assemble, node, e)) == 0) {
		n->here = true;
		n->gate = gate;
		n->watermark_ns = INT64_MIN;
	}
	return rc;
}

/* Whether the batch came before: an agent's batches come in order, and again only from where the next gate has none acknowledged. */
static bool
is_again(struct shard_node *n, const struct relay_section *x)
{
	if (n->incarnation == x->incarnation && x->seq <= n->seq)
		return true;
	n->incarnation = x->incarnation;
	n->seq = x->seq;
	return false;
}

/* Times of the log are those of the day, so they are positive; and far from the ends, so that no sum of two overflows. */
static bool
has_sound_times(const struct batch *b)
{
	const int64_t most_ns = INT64_MAX / 4;

	if (b->watermark_ns < 0 || b->watermark_ns > most_ns)
		return false;
	/* They are in order. */
	if (b->nrecords > 0 &&
	    (b->records[0].time_ns < 0 || b->records[b->nrecords - 1].time_ns > most_ns))
		return false;
	for (uint32_t i = 0; i < b->nlosses; i++)
		if (b->losses[i].from_ns < 0 || b->losses[i].to_ns > most_ns)
			return false;
	return true;
}

static int
take_section(struct partition_shard *s, uint32_t gate, const struct relay_section *x,
    int64_t *last_ns, struct err *e)
{
	uint32_t node = node_for(s, x->node);
	struct shard_node *n;
	struct batch b;
	bool again;
	int rc;

	if (node == UINT32_MAX)
		return s->nnodes == SHARD_NODES_MAX
		           ? err_set(e, ERR_INPUT, "%d nodes are the most that one shard takes",
				 SHARD_NODES_MAX)
		           : err_set(e, ERR_MEMORY, "shard: out of memory");
	n = &s->nodes[node];
	if (x->state == RELAY_NODE_LEFT) {
		if (n->gate == gate)
			node_leaves(s, node);
		return 0;
	}
	if ((rc = batch_decode(&b, &s->scratch, x->batch, x->len, e)) != 0)
		return rc;
	if (!has_sound_times(&b))
		return err_set(e, ERR_INPUT, "a time is out of range");
	if ((again = is_again(n, x))) { /* its watermark is as true as before */
		s->twice += b.nrecords;
		b.nrecords = b.nlosses = 0;
	}
	/* What the gate before has had waiting does not bring the node back to it. */
	if ((!again || !n->here) && (rc = join(s, node, gate, e)) != 0)
		return rc;
	if ((rc = add_gap(s, n, &b)) != 0)
		return rc;
	if (b.watermark_ns > n->watermark_ns)
		n->watermark_ns = b.watermark_ns;
	if (b.watermark_ns > s->gates[gate].newest_ns)
		s->gates[gate].newest_ns = b.watermark_ns;
	if (b.nrecords > 0 && b.records[b.nrecords - 1].time_ns > *last_ns)
		*last_ns = b.records[b.nrecords - 1].time_ns;
	for (uint32_t i = 0; i < b.nlosses; i++)
		if (b.losses[i].to_ns > *last_ns)
			*last_ns = b.losses[i].to_ns;
	return assemble_batch(s->assemble, node, &b, e);
}

/* ---- messages ---- */

/* Gates that are silent while this one is not; and nodes of this one of which nothing came since a message was missing: it may have said that
 * they left. */
static void
miss_gates(struct partition_shard *s, uint32_t by)
{
	int64_t limit_ns = s->gates[by].newest_ns;

	if (limit_ns < INT64_MIN + s->o.silent_ns)
		return;
	limit_ns -= s->o.silent_ns;
	for (uint32_t i = 0; i < s->ngates; i++)
		if (!s->gates[i].left && s->gates[i].newest_ns < limit_ns)
			gate_leaves(s, i);
	for (uint32_t i = 0; i < s->nnodes; i++)
		if (s->nodes[i].gate == by && s->nodes[i].lost_from_ns != INT64_MAX &&
		    s->nodes[i].watermark_ns < limit_ns)
			node_leaves(s, i);
}

static int
hold(struct partition_shard *s, int64_t offset, int64_t last_ns)
{
	if (s->held_at > 1024 && s->held_at > s->nheld / 2) {
		memmove(s->held, s->held + s->held_at, (s->nheld - s->held_at) * sizeof *s->held);
		s->nheld -= s->held_at;
		s->held_at = 0;
	}
	if (!array_reserve(s->held, s->held_cap, s->nheld + 1))
		return ERR_MEMORY;
	s->held[s->nheld++] = (struct held_message){ offset, last_ns };
	return 0;
}

static int
take_sections(
    struct partition_shard *s, uint32_t gate, struct reader *r, int64_t *last_ns, struct err *e)
{
	struct relay_section x;
	struct err why;
	uint32_t n;
	int64_t made_ns = INT64_MIN;
	int rc = relay_sections(&made_ns, &n, r, e), first = 0;

	if (s->first_ns == INT64_MIN)
		s->first_ns = made_ns;
	if (made_ns > s->made_ns)
		s->made_ns = made_ns;
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		if ((rc = relay_section_decode(&x, r, e)) != 0)
			break;
		arena_reset(&s->scratch);
		rc = take_section(s, gate, &x, last_ns, &why);
		if (rc == ERR_INPUT) { /* one section; the others have lengths of their own */
			s->refused++;
			first = first != 0 ? first
			                   : err_set(e, rc, "node %s: %s", x.node, why.text);
			rc = 0;
		} else if (rc != 0) {
			err_set(e, rc, "%s", why.text);
		}
	}
	if (rc == ERR_INPUT)
		s->refused++;
	return rc != 0 ? rc : first;
}

int
partition_shard_take(
    struct partition_shard *s, const void *data, size_t len, int64_t offset, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct relay_head h;
	struct relay_gap gap;
	enum relay_verdict v;
	uint32_t gate;
	int64_t last_ns = INT64_MIN;
	int rc;

	s->next_offset = offset + 1;
	if ((rc = relay_head_decode(&h, &r, RELAY_RECORDS, e)) != 0) {
		s->refused++;
		return rc;
	}
	v = relay_numbers_take(&s->numbers, &h, &gap);
	if (v != RELAY_NEXT && v != RELAY_NEW_RUN)
		return 0;
	if ((gate = gate_for(s, h.source)) == UINT32_MAX)
		return err_set(e, ERR_MEMORY, "shard: out of memory");
	if (v == RELAY_NEW_RUN)
		gate_leaves(s, gate);
	note_gap(s, gate, &gap);
	s->gates[gate].left = false;
	rc = take_sections(s, gate, &r, &last_ns, e);
	if (s->waits && s->made_ns > INT64_MIN && s->made_ns - s->first_ns >= s->o.hello_ns) {
		s->waits = false;
		assemble_leave(s->assemble, NOBODY);
	}
	miss_gates(s, gate);
	if (hold(s, offset, last_ns) != 0)
		return err_set(e, ERR_MEMORY, "shard: out of memory");
	return rc;
}

/* ---- rows ---- */

/* All traces that are due up to here are made: the least watermark of the nodes. It does not go back when a node comes. */
static int64_t
frontier(const struct partition_shard *s)
{
	int64_t least = INT64_MAX;

	if (s->waits)
		return s->upto_ns;
	for (uint32_t i = 0; i < s->nnodes; i++)
		if (s->nodes[i].here && s->nodes[i].watermark_ns < least)
			least = s->nodes[i].watermark_ns;
	if (least == INT64_MAX)
		return s->upto_ns;
	return least > s->upto_ns ? least : s->upto_ns;
}

static void
forget_held(struct partition_shard *s)
{
	const struct assemble_options *o = &s->o.assemble;
	int64_t waits_ns = o->patience_ns + o->skew_ns + o->late_ends_ns;

	while (s->held_at < s->nheld &&
	       (s->held[s->held_at].last_ns == INT64_MIN ||
		   (s->upto_ns > INT64_MIN && s->held[s->held_at].last_ns < s->upto_ns - waits_ns)))
		s->held_at++;
}

/* The next trace, complete or given up. */
static struct trace *
next_trace(struct partition_shard *s)
{
	struct trace *t = s->next;

	s->next = NULL;
	if (t != NULL)
		return t;
	if ((t = assemble_next(s->assemble)) != NULL)
		s->next_due_ns = assemble_due_ns(s->assemble);
	else if ((t = assemble_next_incomplete(s->assemble)) != NULL)
		s->next_due_ns = t->end_ns;
	return t;
}

static int
fill(struct partition_shard *s, size_t max_bytes, size_t most_bytes, bool *more, struct err *e)
{
	struct trace *t;

	rows_begin(&s->writer);
	*more = false;
	while ((t = next_trace(s)) != NULL) {
		if (rows_size(&s->writer) >= max_bytes || s->writer.nrows == ROWS_MAX) {
			s->next = t;
			*more = true;
			return 0;
		}
		if (!rows_add(&s->writer, t, s->next_due_ns, s->labels, s->names)) {
			s->next = t; /* again with the next call */
			return err_set(e, ERR_MEMORY, "shard: out of memory for a row");
		}
		if (s->writer.nrows > 1 && rows_size(&s->writer) + HEAD_BYTES > most_bytes) {
			rows_take_back(&s->writer);
			s->next = t;
			*more = true;
			return 0;
		}
		trace_free(t);
	}
	return 0;
}

int
partition_shard_rows(struct partition_shard *s, const char *source, uint64_t epoch,
    size_t max_bytes, size_t most_bytes, struct buf *out, bool *none, bool *more, struct err *e)
{
	struct relay_head h = { .kind = RELAY_ROWS, .epoch = epoch };
	int64_t upto_ns;
	struct row_counts counts;
	struct relay_counts numbers;
	int rc = fill(s, max_bytes, most_bytes, more, e);

	if (rc != 0)
		return rc;
	upto_ns = *more ? s->upto_ns : frontier(s);
	*none = s->writer.nrows == 0 && upto_ns == s->told_ns;
	if (*none)
		return 0;
	h.number = s->number + 1;
	h.before = s->before;
	h.items = s->writer.nrows;
	strncpy(h.source, source, RELAY_SOURCE_MAX);
	partition_shard_counts(s, &counts, &numbers);
	if ((rc = rows_end(&s->writer, &h, s->o.partition, *more ? s->told_ns : upto_ns, &counts,
		 out, e)) != 0)
		return rc;
	s->upto_ns = upto_ns;
	if (!*more)
		s->told_ns = upto_ns;
	s->number++;
	s->before += h.items;
	forget_held(s);
	return 0;
}

int64_t
partition_shard_keep(const struct partition_shard *s)
{
	return s->held_at < s->nheld ? s->held[s->held_at].offset : s->next_offset;
}

void
partition_shard_counts(
    const struct partition_shard *s, struct row_counts *ret, struct relay_counts *numbers)
{
	struct assemble_counts n;
	uint64_t lost = 0;

	assemble_counts(s->assemble, &n);
	for (int i = 0; i < LOSS_REASONS; i++)
		lost += n.lost[i];
	*ret = (struct row_counts){ n.records + s->twice, n.used, n.held, n.late,
		n.duplicate + s->twice, n.given_up, n.outside, lost + s->gap_owed, n.complete,
		n.lossy, s->refused };
	*numbers = s->numbers.counts;
}
