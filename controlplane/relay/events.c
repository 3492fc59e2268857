/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/relay/events.h"

#include <assert.h>
#include <string.h>

static int
malformed(struct err *e, const char *what)
{
	return err_set(e, ERR_INPUT, "log: %s is malformed or cut off", what);
}

/* ---- events ---- */

void
events_release(struct events_writer *w)
{
	buf_release(&w->events);
	w->n = 0;
}

void
events_add(struct events_writer *w, enum relay_event_kind kind, uint64_t link, const void *body,
    size_t len)
{
	buf_u8(&w->events, (uint8_t)kind);
	buf_uint(&w->events, link);
	buf_text(&w->events, body, len);
	w->n++;
}

int
events_end(struct events_writer *w, const struct relay_head *h, int64_t beat_ns, uint64_t records,
    uint64_t bytes, struct buf *out, struct err *e)
{
	assert(h->items == w->n);
	relay_head_encode(h, out);
	buf_int(out, beat_ns);
	buf_uint(out, records);
	buf_uint(out, bytes);
	buf_uint(out, w->n);
	buf_bytes(out, w->events.data, w->events.len);
	if (out->failed || w->events.failed)
		return err_set(e, ERR_MEMORY, "log: out of memory for events");
	buf_reset(&w->events);
	w->n = 0;
	return 0;
}

static int
read_many(uint32_t *ret, struct reader *r, uint64_t max, struct err *e)
{
	uint64_t n = read_uint(r);

	if (r->failed || n > max || n > reader_left(r))
		return malformed(e, "a number of events or orders");
	*ret = (uint32_t)n;
	return 0;
}

int
events_open(struct events_message *ret, struct reader *r, struct err *e)
{
	struct events_message m = { 0 };
	int rc;

	m.beat_ns = read_int(r);
	m.records = read_uint(r);
	m.bytes = read_uint(r);
	if ((rc = read_many(&m.n, r, RELAY_EVENTS_MAX, e)) == 0)
		*ret = m;
	return rc;
}

int
events_next(struct relay_event *ret, struct reader *r, struct err *e)
{
	struct relay_event x = { .kind = read_u8(r) };

	x.link = read_uint(r);
	x.body = (const uint8_t *)read_text(r, SIZE_MAX, &x.len);
	if (r->failed || x.kind < RELAY_JOINED || x.kind > RELAY_CLOCK)
		return malformed(e, "an event");
	*ret = x;
	return 0;
}

/* ---- orders ---- */

void
orders_release(struct orders_writer *w)
{
	buf_release(&w->orders);
	w->n = 0;
}

void
orders_add(struct orders_writer *w, uint32_t echo, enum relay_order_kind kind, uint64_t link,
    const void *body, size_t len)
{
	buf_uint(&w->orders, echo);
	buf_u8(&w->orders, (uint8_t)kind);
	buf_uint(&w->orders, link);
	buf_text(&w->orders, body, len);
	w->n++;
}

int
orders_end(struct orders_writer *w, const struct relay_head *h, uint64_t term,
    const struct relay_echo *echoes, uint32_t nechoes, struct buf *out, struct err *e)
{
	assert(h->items == w->n);
	relay_head_encode(h, out);
	buf_uint(out, term);
	buf_uint(out, nechoes);
	for (uint32_t i = 0; i < nechoes; i++) {
		buf_text(out, echoes[i].gate, strnlen(echoes[i].gate, RELAY_SOURCE_MAX));
		buf_u64(out, echoes[i].epoch);
		buf_int(out, echoes[i].beat_ns);
	}
	buf_uint(out, w->n);
	buf_bytes(out, w->orders.data, w->orders.len);
	if (out->failed || w->orders.failed)
		return err_set(e, ERR_MEMORY, "log: out of memory for orders");
	buf_reset(&w->orders);
	w->n = 0;
	return 0;
}

int
orders_term(uint64_t *ret, struct reader *r, struct err *e)
{
	uint64_t term = read_uint(r);

	if (r->failed || term == 0)
		return malformed(e, "a term");
	*ret = term;
	return 0;
}

bool
leader_take(struct leader *l, uint64_t term, uint64_t epoch)
{
	if (term > l->term)
		*l = (struct leader){ term, epoch };
	return term == l->term && epoch == l->epoch;
}

int
next_term(const struct leader *l, int64_t end, uint64_t *ret, struct err *e)
{
	uint64_t most = end > 0 && (uint64_t)end > l->term ? (uint64_t)end : l->term;

	if (most == UINT64_MAX)
		return err_set(e, ERR_INPUT, "log: a decider has the highest term possible");
	*ret = most + 1;
	return 0;
}

int
orders_open(struct reader *r, const char *gate, uint64_t epoch, uint32_t *echo, int64_t *beat_ns,
    uint32_t *n, struct err *e)
{
	uint32_t nechoes = 0;
	int rc = read_many(&nechoes, r, RELAY_GATES_MAX, e);

	if (rc != 0)
		return rc;
	*echo = UINT32_MAX;
	*beat_ns = INT64_MIN;
	for (uint32_t i = 0; i < nechoes; i++) {
		size_t len;
		const char *name = read_text(r, RELAY_SOURCE_MAX, &len);
		uint64_t run = read_u64(r);
		int64_t beat = read_int(r);

		if (r->failed)
			return malformed(e, "an echo");
		if (len == strlen(gate) && memcmp(name, gate, len) == 0 && run == epoch) {
			*echo = i;
			*beat_ns = beat;
		}
	}
	return read_many(n, r, RELAY_EVENTS_MAX, e);
}

int
orders_next(struct relay_order *ret, struct reader *r, struct err *e)
{
	struct relay_order x = { 0 };
	uint64_t echo = read_uint(r);

	x.kind = read_u8(r);
	x.link = read_uint(r);
	x.body = (const uint8_t *)read_text(r, SIZE_MAX, &x.len);
	if (r->failed || echo >= RELAY_GATES_MAX || x.kind < RELAY_WANT || x.kind > RELAY_REFUSE)
		return malformed(e, "an order");
	x.echo = (uint32_t)echo;
	*ret = x;
	return 0;
}

bool
order_counts(int64_t beat_ns, int64_t now_ns)
{
	return beat_ns <= now_ns && beat_ns >= now_ns - ORDER_AGE_MAX_NS;
}
