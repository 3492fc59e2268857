/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/link/outbox.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/lock.h"

struct outbox_item {
	STAILQ_ENTRY(outbox_item) link;
	struct parcel p;
	uint64_t seq; /* 0 while it waits */
};

STAILQ_HEAD(outbox_items, outbox_item);

struct outbox {
	struct lock lock; /* of all that follows */
	size_t limit_bytes, held_bytes, waiting_bytes;
	struct outbox_items sent, waiting;
	uint32_t nsent;
	struct outbox_item *next;   /* to be sent again on this connection, or NULL */
	struct outbox_item *pinned; /* between outbox_next() and outbox_sent() */
	bool pinned_done;   /* it was acknowledged meanwhile, so it is not in `sent` any more */
	uint64_t last_seq;  /* the last number that a batch got */
	uint64_t conn_seq;  /* the last that was sent on this connection */
	struct parcel hole; /* bytes unused */
	bool has_hole;
	uint64_t batches_sent, dropped_batches, dropped_records;
};

/* Memory that a batch takes; with its item, so that many small ones are bounded, too. */
static size_t
item_bytes(const struct outbox_item *i)
{
	return i->p.bytes.cap + sizeof *i;
}

static void
item_free(struct outbox_item *i)
{
	buf_release(&i->p.bytes);
	free(i);
}

struct outbox *
outbox_new(size_t limit_bytes)
{
	struct outbox *o = calloc(1, sizeof *o);

	if (o == NULL)
		return NULL;
	lock_init(&o->lock);
	STAILQ_INIT(&o->sent);
	STAILQ_INIT(&o->waiting);
	o->limit_bytes = limit_bytes;
	return o;
}

void
outbox_free(struct outbox *o)
{
	struct outbox_item *i;

	if (o == NULL)
		return;
	STAILQ_CONCAT(&o->sent, &o->waiting);
	while ((i = STAILQ_FIRST(&o->sent)) != NULL) {
		STAILQ_REMOVE_HEAD(&o->sent, link);
		item_free(i);
	}
	if (o->pinned_done)
		item_free(o->pinned);
	lock_destroy(&o->lock);
	free(o);
}

static void
loss_add(struct loss *into, enum loss_reason reason, uint64_t count, int64_t from_ns, int64_t to_ns)
{
	if (count == 0)
		return;
	if (into->count == 0 || from_ns < into->from_ns)
		into->from_ns = from_ns;
	if (into->count == 0 || to_ns > into->to_ns)
		into->to_ns = to_ns;
	into->reason = (uint8_t)reason;
	into->count += count;
}

/* Adds a dropped batch to the hole: its records, and the losses that it reported. */
static void
hole_widen(struct outbox *o, const struct parcel *p)
{
	struct loss *l = o->hole.losses;

	assert(lock_is_held(&o->lock));
	for (int r = 0; r < LOSS_REASONS; r++)
		loss_add(&l[r], (enum loss_reason)r, p->losses[r].count, p->losses[r].from_ns,
		    p->losses[r].to_ns);
	loss_add(&l[LOSS_QUEUE], LOSS_QUEUE, p->records, p->from_ns, p->to_ns);
	o->hole.watermark_ns = p->watermark_ns;
	o->has_hole = true;
	o->dropped_batches++;
	o->dropped_records += p->records;
}

static bool
drop_oldest(struct outbox *o)
{
	struct outbox_item *i = STAILQ_FIRST(&o->waiting);

	assert(lock_is_held(&o->lock));
	if (i == NULL)
		return false;
	STAILQ_REMOVE_HEAD(&o->waiting, link);
	o->held_bytes -= item_bytes(i);
	o->waiting_bytes -= item_bytes(i);
	hole_widen(o, &i->p);
	item_free(i);
	return true;
}

void
outbox_put(struct outbox *o, struct parcel *p)
{
	struct outbox_item *i = calloc(1, sizeof *i);
	size_t size;

	lock_take(&o->lock);
	if (i != NULL) {
		i->p = *p;
		size = item_bytes(i);
		while (o->held_bytes + size > o->limit_bytes && drop_oldest(o))
			;
		if (o->held_bytes + size <= o->limit_bytes) {
			STAILQ_INSERT_TAIL(&o->waiting, i, link);
			o->held_bytes += size;
			o->waiting_bytes += size;
			lock_give(&o->lock);
			memset(p, 0, sizeof *p);
			return;
		}
		free(i);
	} else {
		/* Out of memory: all that wait are dropped, since there is only one hole. */
		while (drop_oldest(o))
			;
	}
	hole_widen(o, p);
	lock_give(&o->lock);
	buf_release(&p->bytes);
	memset(p, 0, sizeof *p);
}

uint64_t
outbox_first(struct outbox *o)
{
	const struct outbox_item *i;
	uint64_t seq;

	lock_take(&o->lock);
	i = STAILQ_FIRST(&o->sent);
	seq = i != NULL ? i->seq : o->last_seq + 1;
	lock_give(&o->lock);
	return seq;
}

static void
forget_until(struct outbox *o, uint64_t seq)
{
	struct outbox_item *i;

	assert(lock_is_held(&o->lock) && seq <= o->last_seq);
	while ((i = STAILQ_FIRST(&o->sent)) != NULL && i->seq <= seq) {
		STAILQ_REMOVE_HEAD(&o->sent, link);
		o->nsent--;
		o->held_bytes -= item_bytes(i);
		if (o->next == i)
			o->next = STAILQ_NEXT(i, link);
		if (o->pinned == i)
			o->pinned_done = true;
		else
			item_free(i);
	}
}

int
outbox_restart(struct outbox *o, uint64_t have_seq, struct err *e)
{
	int rc = 0;

	lock_take(&o->lock);
	if (have_seq > o->last_seq) {
		rc = err_set(e, ERR_INPUT,
		    "the controller claims to have batch %llu, the last that was sent is %llu",
		    (unsigned long long)have_seq, (unsigned long long)o->last_seq);
	} else {
		forget_until(o, have_seq);
		o->next = STAILQ_FIRST(&o->sent);
		o->conn_seq = have_seq;
	}
	lock_give(&o->lock);
	return rc;
}

/* Makes a batch of the hole. NULL: out of memory; the hole stays. */
static struct outbox_item *
hole_close(struct outbox *o)
{
	struct outbox_item *i = calloc(1, sizeof *i);
	struct batch_writer w = { 0 };

	assert(lock_is_held(&o->lock) && o->has_hole);
	if (i == NULL)
		return NULL;
	batch_begin(&w);
	for (int r = 0; r < LOSS_REASONS; r++)
		if (o->hole.losses[r].count > 0)
			batch_loss(&w, &o->hole.losses[r]);
	if (batch_end(&w, o->hole.watermark_ns, &i->p.bytes, NULL) != 0) {
		batch_release(&w);
		item_free(i);
		return NULL;
	}
	batch_release(&w);
	memset(&o->hole, 0, sizeof o->hole);
	o->has_hole = false;
	o->held_bytes += item_bytes(i);
	return i;
}

static struct outbox_item *
take_waiting(struct outbox *o)
{
	struct outbox_item *i;

	assert(lock_is_held(&o->lock) && o->next == NULL);
	if (o->has_hole) {
		i = hole_close(o);
	} else if ((i = STAILQ_FIRST(&o->waiting)) != NULL) {
		STAILQ_REMOVE_HEAD(&o->waiting, link);
		o->waiting_bytes -= item_bytes(i);
	}
	if (i == NULL)
		return NULL;
	i->seq = ++o->last_seq;
	STAILQ_INSERT_TAIL(&o->sent, i, link);
	o->nsent++;
	return i;
}

/* The window counts what was sent on this connection, not what will be sent again. */
static bool
ready(const struct outbox *o, uint32_t window)
{
	const struct outbox_item *oldest = STAILQ_FIRST(&o->sent);
	uint64_t flying = oldest != NULL && o->conn_seq >= oldest->seq
	                      ? o->conn_seq - oldest->seq + 1
	                      : 0;

	assert(lock_is_held(&o->lock) && o->conn_seq <= o->last_seq);
	return flying < window && (o->next != NULL || o->has_hole || !STAILQ_EMPTY(&o->waiting));
}

bool
outbox_ready(struct outbox *o, uint32_t window)
{
	bool yes;

	lock_take(&o->lock);
	yes = ready(o, window);
	lock_give(&o->lock);
	return yes;
}

uint64_t
outbox_next(struct outbox *o, uint32_t window, const uint8_t **data, size_t *len)
{
	struct outbox_item *i = NULL;
	uint64_t seq = 0;

	lock_take(&o->lock);
	assert(o->pinned == NULL);
	if (ready(o, window)) {
		i = o->next != NULL ? o->next : take_waiting(o);
		o->next = o->next != NULL ? STAILQ_NEXT(i, link) : NULL;
	}
	if (i != NULL) {
		o->pinned = i;
		o->conn_seq = seq = i->seq;
		o->batches_sent++;
		*data = i->p.bytes.data;
		*len = i->p.bytes.len;
	}
	lock_give(&o->lock);
	return seq;
}

void
outbox_sent(struct outbox *o)
{
	lock_take(&o->lock);
	assert(o->pinned != NULL);
	if (o->pinned_done)
		item_free(o->pinned);
	o->pinned = NULL;
	o->pinned_done = false;
	lock_give(&o->lock);
}

int
outbox_ack(struct outbox *o, uint64_t seq, struct err *e)
{
	int rc = 0;

	lock_take(&o->lock);
	if (seq > o->conn_seq)
		rc = err_set(e, ERR_INPUT,
		    "batch %llu was acknowledged, the last that was sent is %llu",
		    (unsigned long long)seq, (unsigned long long)o->conn_seq);
	else
		forget_until(o, seq);
	lock_give(&o->lock);
	return rc;
}

void
outbox_stats(struct outbox *o, struct outbox_stats *ret)
{
	lock_take(&o->lock);
	*ret = (struct outbox_stats){ .held_bytes = o->held_bytes,
		.waiting_bytes = o->waiting_bytes,
		.limit_bytes = o->limit_bytes,
		.unacknowledged = o->nsent,
		.sent = o->batches_sent,
		.dropped_batches = o->dropped_batches,
		.dropped_records = o->dropped_records };
	lock_give(&o->lock);
}
