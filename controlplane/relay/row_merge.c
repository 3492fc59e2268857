/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/relay/row_merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "controlplane/relay/split.h"

struct waiting_row {
	struct trace *t;
	int64_t due_ns;
};

struct row_queue { /* a ring would do; traces are large, and the queue is short */
	struct waiting_row *items;
	uint32_t at, n, cap;
};

struct merge_part {
	struct row_queue rows;
	int64_t upto_ns,
	    due_ns; /* all rows up to here have come; of the last one that came, with id */
	uint64_t id;
	int64_t run_from_ns; /* upto_ns when the present run of its shard began */
	struct mono heard;
	struct row_counts counts;
};

struct row_merge {
	struct row_merge_options o;
	struct labels *labels;
	struct relay_numbers *numbers; /* of each partition */
	struct merge_part *parts;
	struct row_queue incomplete;
	int64_t due_ns; /* of the last row that was passed on, */
	uint64_t id;    /* and its id */
	struct row_merge_counts counts;
	struct arena scratch;
};

static size_t
bytes_of(const struct trace *t)
{
	return t->arena.total_bytes;
}

int
row_merge_new(struct row_merge **ret, const struct row_merge_options *o, struct labels *labels,
    struct mono now, struct err *e)
{
	struct row_merge *m = calloc(1, sizeof *m);

	if (m == NULL)
		return err_set(e, ERR_MEMORY, "log: out of memory");
	m->o = *o;
	m->labels = labels;
	m->due_ns = INT64_MIN;
	m->parts = calloc(o->partitions, sizeof *m->parts);
	m->numbers = calloc(o->partitions, sizeof *m->numbers);
	if (m->parts == NULL || m->numbers == NULL) {
		row_merge_free(m);
		return err_set(e, ERR_MEMORY, "log: out of memory");
	}
	for (uint32_t i = 0; i < o->partitions; i++)
		m->parts[i] = (struct merge_part){ .upto_ns = INT64_MIN,
			.due_ns = INT64_MIN,
			.run_from_ns = INT64_MIN,
			.heard = now };
	*ret = m;
	return 0;
}

static void
queue_release(struct row_queue *q)
{
	while (q->at < q->n)
		trace_free(q->items[q->at++].t);
	free(q->items);
	*q = (struct row_queue){ 0 };
}

void
row_merge_free(struct row_merge *m)
{
	if (m == NULL)
		return;
	for (uint32_t i = 0; i < m->o.partitions && m->parts != NULL; i++)
		queue_release(&m->parts[i].rows);
	for (uint32_t i = 0; i < m->o.partitions && m->numbers != NULL; i++)
		relay_numbers_release(&m->numbers[i]);
	queue_release(&m->incomplete);
	free(m->parts);
	free(m->numbers);
	arena_release(&m->scratch);
	free(m);
}

/* ---- in ---- */

static bool
queue_add(struct row_queue *q, struct trace *t, int64_t due_ns)
{
	if (q->at > 64 && q->at > q->n / 2) {
		memmove(q->items, q->items + q->at, (q->n - q->at) * sizeof *q->items);
		q->n -= q->at;
		q->at = 0;
	}
	if (!array_reserve(q->items, q->cap, q->n + 1))
		return false;
	q->items[q->n++] = (struct waiting_row){ t, due_ns };
	return true;
}

static bool
later(int64_t due_ns, uint64_t id, int64_t than_ns, uint64_t than_id)
{
	return due_ns != than_ns ? due_ns > than_ns : id > than_id;
}

static void
take_row(struct row_merge *m, struct merge_part *p, struct trace *t, int64_t due_ns)
{
	bool whole = trace_has_times(t);
	bool again = whole ? (p->due_ns != INT64_MIN && !later(due_ns, t->id, p->due_ns, p->id)) ||
	                         (m->due_ns != INT64_MIN && !later(due_ns, t->id, m->due_ns, m->id))
	                   : t->begin_ns <= p->run_from_ns;

	if (again) {
		m->counts.again++;
		trace_free(t);
		return;
	}
	if (m->counts.memory_bytes + bytes_of(t) > m->o.memory_max_bytes ||
	    !queue_add(whole ? &p->rows : &m->incomplete, t, due_ns)) {
		m->counts.full++;
		trace_free(t);
		return;
	}
	m->counts.memory_bytes += bytes_of(t);
	m->counts.waiting++;
	if (whole) {
		p->due_ns = due_ns;
		p->id = t->id;
	}
}

static int
take_rows(struct row_merge *m, struct merge_part *p, const struct rows_message *x, struct reader *r,
    struct err *e)
{
	for (uint32_t i = 0; i < x->nrows; i++) {
		struct trace *t;
		int64_t due_ns;
		int rc = rows_next(&t, &due_ns, x, r, m->o.shift_ns, e);

		if (rc != 0)
			return rc;
		if (t == NULL)
			m->counts.strange++;
		else
			take_row(m, p, t, due_ns);
	}
	return 0;
}

int
row_merge_take(struct row_merge *m, const void *data, size_t len, rows_node *node, void *ctx,
    struct mono now, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct rows_message x;
	struct merge_part *p;
	struct relay_head h;
	struct relay_gap gap;
	enum relay_verdict v;
	uint32_t partition;
	int rc;

	arena_reset(&m->scratch);
	if ((rc = relay_head_decode(&h, &r, RELAY_ROWS, e)) != 0)
		goto refused;
	if ((partition = rows_partition(r)) >= m->o.partitions) {
		rc = err_set(e, ERR_INPUT, "log: rows of a partition that is not one of %u",
		    m->o.partitions);
		goto refused;
	}
	/* First, since labels stay: a message that counts for nothing adds none. */
	p = &m->parts[partition];
	v = relay_numbers_take(&m->numbers[partition], &h, &gap);
	if (v != RELAY_NEXT && v != RELAY_NEW_RUN)
		return 0;
	if ((rc = rows_open(&x, &r, m->labels, node, ctx, &m->scratch, e)) != 0)
		goto refused;
	if (v == RELAY_NEW_RUN)
		p->run_from_ns = p->upto_ns;
	p->heard = now;
	p->counts = x.counts;
	if ((rc = take_rows(m, p, &x, &r, e)) != 0)
		goto refused;
	if (x.upto_ns > INT64_MIN) {
		int64_t upto_ns = (int64_t)((uint64_t)x.upto_ns + (uint64_t)m->o.shift_ns);

		p->upto_ns = upto_ns > p->upto_ns ? upto_ns : p->upto_ns;
	}
	return 0;
refused:
	m->counts.refused += rc == ERR_INPUT || rc == ERR_VERSION;
	return rc;
}

/* ---- out ---- */

static bool
is_behind(const struct row_merge *m, const struct merge_part *p, struct mono now)
{
	return mono_since_ns(now, p->heard) > m->o.wait_ns;
}

static uint64_t
digest_with(uint64_t before, const struct trace *t)
{
	const uint64_t of[] = { before, t->id, (uint64_t)t->end_ns - (uint64_t)t->begin_ns,
		t->nevents, t->nbelow, t->lossy };

	return hash_bytes(0, of, sizeof of);
}

static void
pass_on(struct row_merge *m, const struct trace *t)
{
	m->counts.memory_bytes -= bytes_of(t);
	m->counts.waiting--;
	m->counts.taken++;
}

struct trace *
row_merge_next(struct row_merge *m, struct mono now)
{
	struct merge_part *of = NULL;
	const struct waiting_row *first = NULL;
	struct trace *t;
	int64_t upto_ns = INT64_MAX;

	for (uint32_t i = 0; i < m->o.partitions; i++) {
		struct merge_part *p = &m->parts[i];
		const struct waiting_row *x = p->rows.at < p->rows.n ? &p->rows.items[p->rows.at]
		                                                     : NULL;

		if (!is_behind(m, p, now) && p->upto_ns < upto_ns)
			upto_ns = p->upto_ns;
		if (x != NULL &&
		    (first == NULL || later(first->due_ns, first->t->id, x->due_ns, x->t->id))) {
			first = x;
			of = p;
		}
	}
	if (first == NULL || first->due_ns > upto_ns)
		return NULL;
	t = first->t;
	of->rows.at++;
	m->due_ns = first->due_ns;
	m->id = t->id;
	pass_on(m, t);
	m->counts.digest = digest_with(m->counts.digest, t);
	return t;
}

struct trace *
row_merge_next_incomplete(struct row_merge *m)
{
	struct trace *t;

	if (m->incomplete.at == m->incomplete.n)
		return NULL;
	t = m->incomplete.items[m->incomplete.at++].t;
	pass_on(m, t);
	return t;
}

static void
add_counts(struct row_merge_counts *to, const struct merge_part *p, const struct relay_counts *n)
{
	const uint64_t *from = (const uint64_t *)&p->counts;
	uint64_t *sums = (uint64_t *)&to->shards;

	for (size_t i = 0; i < sizeof p->counts / sizeof *from; i++)
		sums[i] += from[i];
	to->numbers.messages += n->messages;
	to->numbers.items += n->items;
	to->numbers.lost_messages += n->lost_messages;
	to->numbers.lost_items += n->lost_items;
	to->numbers.again += n->again;
	to->numbers.over += n->over;
	to->numbers.refused += n->refused;
}

void
row_merge_counts(const struct row_merge *m, struct mono now, struct row_merge_counts *ret)
{
	*ret = m->counts;
	ret->partitions = m->o.partitions;
	for (uint32_t i = 0; i < m->o.partitions; i++) {
		add_counts(ret, &m->parts[i], &m->numbers[i].counts);
		ret->behind += is_behind(m, &m->parts[i], now);
	}
}
