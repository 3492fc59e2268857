/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/relay/forest_entries.h"

#include <string.h>

/* ---- entries ---- */

static void
put_place(struct buf *b, const struct forest_place *p)
{
	buf_uint(b, p->term);
	buf_uint(b, p->run);
	buf_uint(b, p->number);
}

static struct forest_place
read_place(struct reader *r)
{
	struct forest_place p;

	p.term = read_uint(r); /* one by one: initializers of a list have no order */
	p.run = read_uint(r);
	p.number = read_uint(r);
	return p;
}

void
forest_entry_encode(const struct relay_head *h, const struct forest_entry *x, struct buf *out)
{
	relay_head_encode(h, out);
	buf_uint(out, x->term);
	buf_u8(out, x->kind);
	if (x->kind == FOREST_ROWS || x->kind == FOREST_STATE || x->kind == FOREST_FILE)
		buf_u8(out, x->flags);
	if (x->kind == FOREST_ROWS || x->kind == FOREST_STATE)
		buf_uint(out, x->schema);
	if (x->kind == FOREST_FILE)
		buf_u8(out, x->which);
	if (x->kind == FOREST_STATE && (x->flags & FOREST_FIRST) != 0)
		put_place(out, &x->from);
	buf_bytes(out, x->body, x->len);
}

int
forest_entry_decode(
    struct relay_head *h, struct forest_entry *ret, const void *data, size_t len, struct err *e)
{
	static const uint8_t flags[] = { [FOREST_BEGIN] = 0,
		[FOREST_ROWS] = FOREST_MORE,
		[FOREST_STATE] = FOREST_FIRST | FOREST_LAST,
		[FOREST_FILE] = FOREST_FIRST | FOREST_LAST,
		[FOREST_ASK] = 0 };
	struct reader r = reader_of(data, len);
	struct forest_entry x = { 0 };
	uint64_t schema = 0;
	int rc;

	if ((rc = relay_head_decode(h, &r, RELAY_FOREST, e)) != 0)
		return rc;
	x.term = read_uint(&r);
	x.kind = read_u8(&r);
	if (r.failed || x.kind < FOREST_BEGIN || x.kind > FOREST_ASK)
		goto malformed;
	if (x.kind != FOREST_BEGIN && x.kind != FOREST_ASK)
		x.flags = read_u8(&r);
	if (x.kind == FOREST_ROWS || x.kind == FOREST_STATE)
		schema = read_uint(&r);
	if (x.kind == FOREST_FILE)
		x.which = read_u8(&r);
	if (x.kind == FOREST_STATE && (x.flags & FOREST_FIRST) != 0)
		x.from = read_place(&r);
	x.schema = (uint32_t)schema;
	x.len = reader_left(&r);
	x.body = read_bytes(&r, x.len);
	if (r.failed || (x.flags & ~flags[x.kind]) != 0 || schema > INT32_MAX ||
	    x.which >= FOREST_FILES || (x.kind != FOREST_ASK && x.term == 0))
		goto malformed;
	*ret = x;
	return 0;
malformed:
	return err_set(e, ERR_INPUT, "log: an entry of the forest is malformed or cut off");
}

/* ---- following ---- */

void
forest_follow_init(
    struct forest_follow *f, const struct forest_calls *calls, const struct forest_place *copy)
{
	*f = (struct forest_follow){ .calls = *calls,
		.leader = { copy->term, copy->run },
		.seen = *copy,
		.base = *copy,
		.whole = copy->term != 0,
		.file_on = -1 };
}

void
forest_follow_release(struct forest_follow *f)
{
	buf_release(&f->waiting);
	buf_release(&f->file);
}

static void
drop_waiting(struct forest_follow *f)
{
	buf_reset(&f->waiting);
	f->complete = 0;
}

/* The copy is not what the log says: a full state has to come. */
static void
lose(struct forest_follow *f)
{
	f->whole = false;
	drop_waiting(f);
}

/* The last entry that is not of a commit whose end has not come. */
static struct forest_place
last_complete(const struct forest_follow *f)
{
	struct forest_place at = f->seen;

	if (f->waiting.len > f->complete)
		at.number = f->part_from;
	return at;
}

/* The whole commits that waited are written. */
static void
take_off(struct forest_follow *f)
{
	if (f->complete > 0)
		memmove(
		    f->waiting.data, f->waiting.data + f->complete, f->waiting.len - f->complete);
	f->waiting.len -= f->complete;
	f->complete = 0;
}

/* Writes the whole commits that wait. */
static void
write_waiting(struct forest_follow *f)
{
	struct forest_place at = last_complete(f);

	if (f->complete == 0)
		return;
	if (f->calls.rows(
		f->calls.ctx, f->waiting.data, f->complete, f->schema, &at, &f->trouble) != 0)
		lose(f);
	else
		take_off(f);
}

static void
stop_state(struct forest_follow *f)
{
	if (f->state_on)
		f->calls.state_undo(f->calls.ctx);
	f->state_on = false;
}

/* Undoes a state that is on, and keeps what is on top of the copy. */
static void
undo_state(struct forest_follow *f)
{
	if (!f->state_on)
		return;
	stop_state(f);
	if (f->whole && f->on_top)
		write_waiting(f);
	else
		lose(f);
}

static void
begin_term(struct forest_follow *f, const struct relay_head *h, uint64_t term)
{
	undo_state(f);
	drop_waiting(f); /* the end of a commit that is not whole does not come any more */
	f->file_on = -1;
	f->base = f->seen;
	f->seen = (struct forest_place){ term, h->epoch, 0 };
}

static void
take_rows(struct forest_follow *f, const struct forest_entry *x)
{
	if (!f->whole && !f->state_on)
		return;
	if (x->len > FOREST_WAITING_MAX - f->waiting.len) {
		undo_state(f);
		if (x->len > FOREST_WAITING_MAX - f->waiting.len)
			lose(f);
		if (!f->whole)
			return;
	}
	if (f->waiting.len == f->complete)
		f->part_from = f->seen.number - 1;
	buf_bytes(&f->waiting, x->body, x->len);
	f->schema = x->schema;
	if (f->waiting.failed) {
		err_set(&f->trouble, ERR_MEMORY, "out of memory for the log of the forest");
		stop_state(f);
		lose(f);
		return;
	}
	if ((x->flags & FOREST_MORE) == 0)
		f->complete = f->waiting.len;
	if (!f->state_on)
		write_waiting(f);
}

static bool
same_place(const struct forest_place *a, const struct forest_place *b)
{
	return a->term == b->term && a->run == b->run && a->number == b->number;
}

/* The writer went on from what the copy has: in the same term both have all its entries. */
static bool
is_on_top(const struct forest_follow *f, const struct forest_place *from)
{
	return same_place(from, &f->base) ||
	       (from->term == f->seen.term && from->run == f->seen.run);
}

static void
state_failed(struct forest_follow *f)
{
	struct err why = f->trouble;

	undo_state(f);
	f->trouble = why;
}

/* What the former leader wrote last has not come: its successor went on from later, or from elsewhere. */
static void
count_tail(struct forest_follow *f, const struct forest_place *from)
{
	f->gaps++;
	if (from->term == f->base.term && from->run == f->base.run && from->number > f->base.number)
		f->missing += from->number - f->base.number;
}

static void
take_state(struct forest_follow *f, const struct forest_entry *x)
{
	const struct forest_calls *c = &f->calls;
	struct forest_place at;

	if ((x->flags & FOREST_FIRST) != 0) {
		undo_state(f);
		f->on_top = f->whole && is_on_top(f, &x->from);
		if (f->whole && !f->on_top)
			count_tail(f, &x->from);
		f->state_on = true;
		if (c->state_begin(c->ctx, &f->trouble) != 0) {
			state_failed(f);
			return;
		}
	}
	if (!f->state_on) /* its first entry was lost, or could not be written */
		return;
	if (c->state_rows(c->ctx, x->body, x->len, x->schema, &f->trouble) != 0) {
		state_failed(f);
		return;
	}
	if ((x->flags & FOREST_LAST) == 0)
		return;
	/* Rows on top of it, of whole commits, in its transaction. */
	at = last_complete(f);
	if ((f->complete > 0 &&
		c->state_rows(c->ctx, f->waiting.data, f->complete, f->schema, &f->trouble) != 0) ||
	    c->state_end(c->ctx, &at, &f->trouble) != 0) {
		state_failed(f);
		return;
	}
	take_off(f);
	f->state_on = false;
	f->whole = true;
	f->unread = false;
	f->states++;
	f->trouble.code = 0;
}

static void
take_file(struct forest_follow *f, const struct forest_entry *x)
{
	struct err why;

	if ((x->flags & FOREST_FIRST) != 0) {
		buf_reset(&f->file);
		f->file_on = x->which;
	}
	if (f->file_on != x->which)
		return;
	if (x->len > FOREST_FILE_MAX - f->file.len)
		f->file_on = -1;
	else
		buf_bytes(&f->file, x->body, x->len);
	if ((x->flags & FOREST_LAST) == 0 || f->file_on < 0)
		return;
	if (!f->file.failed) /* the caller says what went wrong; the rows are whole all the same */
		f->calls.file(f->calls.ctx, x->which, f->file.data, f->file.len, &why);
	f->file_on = -1;
	buf_release(&f->file);
}

/* Entries between the last one and this one: nothing after them is on top of the copy. */
static void
take_gap(struct forest_follow *f, uint64_t missing)
{
	f->gaps++;
	f->missing += missing;
	undo_state(f);
	lose(f);
	f->file_on = -1;
}

int
forest_follow_take(struct forest_follow *f, const void *data, size_t len, struct err *e)
{
	struct forest_entry x;
	struct relay_head h;
	bool begins;
	int rc = forest_entry_decode(&h, &x, data, len, e);

	f->unread = f->unread || rc != 0;
	if (rc != 0 || x.kind == FOREST_ASK)
		return rc;
	/* 1. */
	begins = x.term > f->leader.term;
	if (!leader_take(&f->leader, x.term, h.epoch)) {
		f->older++;
		return 0;
	}
	if (begins)
		begin_term(f, &h, x.term);
	/* 2. */
	if (h.number <= f->seen.number) {
		f->again++;
		return 0;
	}
	/* 3. */
	if (h.number > f->seen.number + 1)
		take_gap(f, h.number - f->seen.number - 1);
	if (!begins) /* what could not be read is in the gap, or was none of the leader's */
		f->unread = false;
	f->seen.number = h.number;
	f->entries++;
	/* 4. */
	if (x.kind == FOREST_ROWS) {
		f->rows = f->seen;
		take_rows(f, &x);
	} else if (x.kind == FOREST_STATE)
		take_state(f, &x);
	else if (x.kind == FOREST_FILE)
		take_file(f, &x);
	return 0;
}

void
forest_follow_end(struct forest_follow *f)
{
	undo_state(f);
	drop_waiting(f);
}
