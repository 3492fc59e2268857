/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/relay/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* ---- the head ---- */

void
relay_head_encode(const struct relay_head *h, struct buf *b)
{
	buf_u8(b, RELAY_VERSION);
	buf_u8(b, h->kind);
	buf_text(b, h->source, strnlen(h->source, RELAY_SOURCE_MAX));
	buf_u64(b, h->epoch);
	buf_uint(b, h->number);
	buf_uint(b, h->before);
	buf_uint(b, h->items);
}

int
relay_head_decode(struct relay_head *ret, struct reader *r, enum relay_kind kind, struct err *e)
{
	struct relay_head h = { 0 };
	uint8_t version = read_u8(r);
	const char *source;
	size_t len;

	if (!r->failed && version != RELAY_VERSION)
		return err_set(e, ERR_VERSION,
		    "log: a message of version %u; this honed reads version %d", version,
		    RELAY_VERSION);
	h.kind = read_u8(r);
	source = read_text(r, RELAY_SOURCE_MAX, &len);
	h.epoch = read_u64(r);
	h.number = read_uint(r);
	h.before = read_uint(r);
	h.items = read_uint(r);
	if (r->failed || h.kind != kind || len == 0 || memchr(source, 0, len) != NULL ||
	    h.number == 0)
		return err_set(e, ERR_INPUT, "log: the head of a message is malformed or cut off");
	memcpy(h.source, source, len);
	*ret = h;
	return 0;
}

/* ---- numbers ---- */

void
relay_numbers_release(struct relay_numbers *n)
{
	free(n->sources);
	*n = (struct relay_numbers){ 0 };
}

static struct relay_source *
source_of(struct relay_numbers *n, const char *name)
{
	for (uint32_t i = 0; i < n->n; i++)
		if (strcmp(n->sources[i].name, name) == 0)
			return &n->sources[i];
	return NULL;
}

static struct relay_source *
add_source(struct relay_numbers *n, const char *name)
{
	struct relay_source *s;

	if (n->n >= RELAY_SOURCES_MAX || !array_reserve(n->sources, n->cap, n->n + 1))
		return NULL;
	s = &n->sources[n->n++];
	*s = (struct relay_source){ 0 };
	snprintf(s->name, sizeof s->name, "%s", name);
	return s;
}

static bool
was_replaced(const struct relay_source *s, uint64_t epoch)
{
	uint32_t kept = s->nreplaced < RELAY_REPLACED_MAX ? s->nreplaced : RELAY_REPLACED_MAX;

	for (uint32_t i = 0; i < kept; i++)
		if (s->replaced[i] == epoch)
			return true;
	return false;
}

static void
begin_run(struct relay_source *s, const struct relay_head *h)
{
	s->epoch = h->epoch;
	s->next = h->number + 1;
	s->items = h->before + h->items;
}

/* Of a damaged writer, items may shrink: nothing is missing then. */
static uint64_t
missing(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static enum relay_verdict
judge(struct relay_numbers *n, const struct relay_head *h, struct relay_gap *gap)
{
	struct relay_source *s = source_of(n, h->source);

	/* 1. */
	if (s == NULL) {
		if ((s = add_source(n, h->source)) == NULL)
			return RELAY_TOO_MANY;
		begin_run(s, h);
		return RELAY_NEW_RUN;
	}
	/* 2. */
	if (was_replaced(s, h->epoch))
		return RELAY_OVER;
	/* 3. */
	if (s->epoch != h->epoch) {
		s->replaced[s->nreplaced++ % RELAY_REPLACED_MAX] = s->epoch;
		*gap = (struct relay_gap){ h->number - 1, h->before };
		begin_run(s, h);
		return RELAY_NEW_RUN;
	}
	/* 4. */
	if (h->number < s->next)
		return RELAY_AGAIN;
	/* 5. */
	*gap = (struct relay_gap){ h->number - s->next, missing(s->items, h->before) };
	begin_run(s, h);
	return RELAY_NEXT;
}

enum relay_verdict
relay_numbers_take(struct relay_numbers *n, const struct relay_head *h, struct relay_gap *gap)
{
	struct relay_counts *c = &n->counts;
	enum relay_verdict v;

	*gap = (struct relay_gap){ 0 };
	v = judge(n, h, gap);
	switch (v) {
	case RELAY_NEXT:
	case RELAY_NEW_RUN:
		c->messages++;
		c->items += h->items;
		c->lost_messages += gap->messages;
		c->lost_items += gap->items;
		break;
	case RELAY_AGAIN:
		c->again++;
		break;
	case RELAY_OVER:
		c->over++;
		break;
	case RELAY_TOO_MANY:
		c->refused++;
		break;
	}
	return v;
}
