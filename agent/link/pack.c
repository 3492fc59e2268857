/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/link/pack.h"
#include "base/array.h"

struct packed_label {   /* by the source's number of a label */
	uint64_t batch; /* the last that it is in */
	uint32_t number;
};

struct pack {
	struct pack_options options;
	struct outbox *out;
	struct batch_writer w;
	struct parcel parcel; /* of the batch; without its bytes */
	struct packed_label *seen;
	uint32_t nseen;            /* also the capacity */
	uint64_t batch;            /* its number, from 1 */
	struct mono flushed, busy; /* busy: the last batch with records or losses */
	int64_t watermark_ns, last_ns;
};

struct pack *
pack_new(const struct pack_options *o, struct outbox *out)
{
	struct pack *p = calloc(1, sizeof *p);

	if (p == NULL)
		return NULL;
	p->options = *o;
	p->out = out;
	p->batch = 1;
	p->watermark_ns = p->last_ns = INT64_MIN;
	batch_begin(&p->w);
	return p;
}

void
pack_free(struct pack *p)
{
	if (p == NULL)
		return;
	batch_release(&p->w);
	free(p->seen);
	free(p);
}

static bool
any_loss(const struct pack *p)
{
	for (int i = 0; i < LOSS_REASONS; i++)
		if (p->parcel.losses[i].count > 0)
			return true;
	return false;
}

/* Out of memory: the batch is dropped, and its records are reported as a loss. */
static void
hand_over(struct pack *p, struct mono now)
{
	struct parcel *q = &p->parcel;
	struct loss lost = { LOSS_QUEUE, q->records, q->from_ns, q->to_ns };
	int rc;

	q->watermark_ns = p->watermark_ns;
	if (q->records > 0 || any_loss(p) || p->busy.ns == 0)
		p->busy = now;
	rc = batch_end(&p->w, p->watermark_ns, &q->bytes, NULL);
	if (rc == 0) {
		outbox_put(p->out, q);
		lost.count = 0;
	}
	buf_release(&q->bytes);
	memset(q, 0, sizeof *q);
	batch_begin(&p->w);
	p->batch++;
	p->last_ns = INT64_MIN;
	p->flushed = now;
	if (lost.count > 0)
		pack_loss(p, &lost);
}

bool
pack_flush(struct pack *p, struct mono now)
{
	if (p->watermark_ns == INT64_MIN)
		return false;
	hand_over(p, now);
	return true;
}

static uint32_t
label_number(struct pack *p, const struct batch_label *labels, uint32_t id)
{
	struct packed_label *s = &p->seen[id];
	const struct batch_label *l = &labels[id];

	if (s->batch != p->batch) {
		s->number = batch_label(
		    &p->w, (enum record_kind)l->kind, l->text, l->len, l->fields, l->nfields);
		s->batch = p->batch;
	}
	return s->number;
}

static bool
seen_grow(struct pack *p, uint32_t nlabels)
{
	uint32_t n = p->nseen;

	if (!array_reserve(p->seen, p->nseen, nlabels))
		return false;
	for (; n < p->nseen; n++)
		p->seen[n] = (struct packed_label){ 0 };
	return true;
}

static void
add(struct pack *p, const struct record *from, const struct batch_label *labels)
{
	struct record r = *from;
	struct parcel *q = &p->parcel;

	r.label = label_number(p, labels, from->label);
	batch_record(&p->w, &r);
	if (q->records == 0 || r.time_ns < q->from_ns)
		q->from_ns = r.time_ns;
	if (q->records == 0 || r.time_ns > q->to_ns)
		q->to_ns = r.time_ns;
	q->records++;
	p->last_ns = r.time_ns;
}

static bool
full(const struct pack *p)
{
	return batch_size(&p->w) >= p->options.batch_bytes || p->w.nrecords >= BATCH_RECORDS_MAX ||
	       p->w.nlabels >= BATCH_LABELS_MAX;
}

/* Ends a batch within the records of one poll. Its watermark is just before its last record, since
 * others may have the same time; unless the next poll may have earlier ones. */
static void
flush_within(struct pack *p, struct mono now)
{
	if (p->last_ns != INT64_MIN && !p->options.unordered)
		pack_watermark(p, p->last_ns - 1);
	hand_over(p, now);
}

void
pack_take(struct pack *p, const struct source_output *t, const struct batch_label *labels,
    uint32_t nlabels, struct mono now)
{
	struct loss none = { LOSS_QUEUE, t->nrecords, t->watermark_ns, t->watermark_ns };

	for (uint32_t i = 0; i < t->nlosses; i++)
		pack_loss(p, &t->losses[i]);
	if (!seen_grow(p, nlabels)) {
		pack_loss(p, &none);
	} else {
		for (uint32_t i = 0; i < t->nrecords; i++) {
			if (full(p) || t->records[i].time_ns < p->last_ns)
				flush_within(p, now);
			add(p, &t->records[i], labels);
		}
	}
	pack_watermark(p, t->watermark_ns);
}

void
pack_loss(struct pack *p, const struct loss *l)
{
	struct loss *known = &p->parcel.losses[l->reason];

	batch_loss(&p->w, l);
	if (known->count == 0) {
		*known = *l;
		return;
	}
	known->count += l->count;
	known->from_ns = l->from_ns < known->from_ns ? l->from_ns : known->from_ns;
	known->to_ns = l->to_ns > known->to_ns ? l->to_ns : known->to_ns;
}

void
pack_watermark(struct pack *p, int64_t watermark_ns)
{
	if (watermark_ns > p->watermark_ns)
		p->watermark_ns = watermark_ns;
}

/* Time from one batch to the next. */
static int64_t
due_ns(const struct pack *p)
{
	const struct pack_options *o = &p->options;
	bool calm = mono_since_ns(p->flushed, p->busy) >= PACK_CALM_NS;

	if (p->parcel.records > 0)
		return o->batch_ns < o->watermark_ns ? o->batch_ns : o->watermark_ns;
	return calm && o->calm_ns > o->watermark_ns && !any_loss(p) ? o->calm_ns : o->watermark_ns;
}

bool
pack_tick(struct pack *p, struct mono now)
{
	if (full(p) || mono_since_ns(now, p->flushed) >= due_ns(p))
		return pack_flush(p, now);
	return false;
}

int
pack_due_ms(const struct pack *p, struct mono now)
{
	int64_t left_ns = due_ns(p) - mono_since_ns(now, p->flushed);

	if (p->watermark_ns == INT64_MIN)
		return INT_MAX;
	return left_ns > 0 ? (int)((left_ns + 999999) / 1000000) : 1;
}

void
pack_forget_labels(struct pack *p)
{
	if (p->nseen > 0)
		memset(p->seen, 0, p->nseen * sizeof *p->seen);
}

int64_t
pack_watermark_ns(const struct pack *p)
{
	return p->watermark_ns;
}
