/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/below.h"

#include <string.h>

#include "wire/message_fields.h"

enum {
	HIT_MIN_BYTES = 22
}; /* four numbers of a byte, two ids of eight, how many values, and the length of a word */

static const char *const WORDS[] = {
#define STATE(name, number, word, text) [number] = word,
#include "wire/below_states.tbl.h"
#undef STATE
};

static const char *const TEXTS[] = {
#define STATE(name, number, word, text) [number] = text,
#include "wire/below_states.tbl.h"
#undef STATE
};

bool
below_is_probe(const char *name)
{
	return strncmp(name, BELOW_USDT, strlen(BELOW_USDT)) == 0 ||
	       strncmp(name, BELOW_FUNC, strlen(BELOW_FUNC)) == 0;
}

bool
below_is_function(const char *name, const char *service)
{
	size_t len = strlen(service), head = strlen(BELOW_FUNC);

	return strncmp(name, BELOW_FUNC, head) == 0 && strncmp(name + head, service, len) == 0 &&
	       name[head + len] == ':';
}

const char *
below_state_word(enum below_state s)
{
	return WORDS[(unsigned)s < BELOW_STATES ? s : BELOW_UNKNOWN];
}

const char *
below_state_text(enum below_state s)
{
	return TEXTS[(unsigned)s < BELOW_STATES ? s : BELOW_UNKNOWN];
}

const char *
below_can_word(uint32_t flag)
{
	switch ((enum below_can_flag)flag) {
	case BELOW_CAN_WAITS:
		return "waits";
	case BELOW_CAN_SAMPLES:
		return "samples";
	case BELOW_CAN_STACKS:
		return "stacks";
	case BELOW_CAN_FAULTS:
		return "faults";
	case BELOW_CAN_HOLDERS:
		return "holders";
	case BELOW_CAN_SAMPLED:
		return "sampled";
	case BELOW_CAN_PROBES:
		return "probes";
	default:
		return "unknown";
	}
}

static void
put_follow(const struct below_follow *f, struct buf *b)
{
	const uint16_t members[] = { f->trace_id, f->unit_id, f->request_type, f->probed };

	buf_uint(b, f->pid);
	buf_u8(b, f->flags);
	buf_u8(b, f->context);
	buf_int(b, f->offset);
	buf_uint(b, f->address);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		buf_uint(b, members[i]);
}

static void
put_name_of_place(const struct below_name *n, struct buf *b)
{
	buf_uint(b, n->id);
	put_name(b, n->folded, BELOW_FOLDED_MAX);
	put_name(b, n->function, BELOW_FUNCTION_MAX);
	put_name(b, n->file, BELOW_FILE_MAX);
	put_name(b, n->called, BELOW_FUNCTION_MAX);
	buf_uint(b, n->line);
}

static void
put_wait(const struct below_wait *w, struct buf *b)
{
	buf_uint(b, w->pid);
	buf_uint(b, w->tid);
	buf_u64(b, w->trace_id);
	buf_u64(b, w->unit_id);
	buf_int(b, w->begin_ns);
	buf_int(b, w->woken_ns - w->begin_ns);
	buf_int(b, w->end_ns - w->woken_ns);
	buf_u8(b, w->state);
	buf_uint(b, w->place);
	buf_uint(b, w->lock);
	buf_uint(b, w->owner_tid);
	buf_u8(b, w->owner_state);
	buf_uint(b, w->owner_place);
	buf_uint(b, w->waker_tid);
	buf_u64(b, w->waker_trace_id);
	buf_uint(b, w->waker_type);
	put_name(b, w->owner_name, BELOW_WORD_MAX);
	buf_u8(b, w->owner_is_read);
	buf_u64(b, w->owner_trace_id);
	buf_uint(b, w->owner_type);
	put_name(b, w->waker_name, BELOW_WORD_MAX);
}

static void
put_sample(const struct below_sample *s, struct buf *b)
{
	buf_uint(b, s->pid);
	buf_uint(b, s->tid);
	buf_u64(b, s->trace_id);
	buf_u64(b, s->unit_id);
	buf_int(b, s->time_ns);
	buf_int(b, s->weight_ns);
	buf_uint(b, s->place);
}

static void
put_hit(const struct below_hit *h, struct buf *b)
{
	buf_uint(b, h->id);
	buf_uint(b, h->pid);
	buf_uint(b, h->tid);
	buf_u64(b, h->trace_id);
	buf_u64(b, h->unit_id);
	buf_int(b, h->time_ns);
	buf_u8(b, h->nvalues);
	for (int i = 0; i < h->nvalues && i < BELOW_VALUES_MAX; i++)
		buf_int(b, h->values[i]);
	put_name(b, h->word, BELOW_WORD_MAX);
}

void
below_encode(const struct below_message *m, struct buf *b)
{
	buf_u8(b, (uint8_t)m->kind);
	buf_uint(b, m->number);
	switch (m->kind) {
	case BELOW_FOLLOW:
		put_follow(&m->follow, b);
		break;
	case BELOW_UNFOLLOW:
		buf_uint(b, m->unfollow);
		break;
	case BELOW_LEASE:
		buf_uint(b, m->lease_ms);
		break;
	case BELOW_END:
		break;
	case BELOW_CAN:
		buf_uint(b, m->can.flags);
		put_name(b, m->can.missing, BELOW_MISSING_MAX);
		break;
	case BELOW_NAME:
		put_name_of_place(&m->name, b);
		break;
	case BELOW_WAIT:
		put_wait(&m->wait, b);
		break;
	case BELOW_SAMPLE:
		put_sample(&m->sample, b);
		break;
	case BELOW_LOST:
		buf_uint(b, m->lost.count);
		buf_int(b, m->lost.from_ns);
		buf_int(b, m->lost.to_ns);
		buf_uint(b, m->lost.messages);
		break;
	case BELOW_MARK:
		buf_int(b, m->mark_ns);
		break;
	case BELOW_COST:
		buf_int(b, m->cost_cpu_us);
		break;
	case BELOW_LIST:
		buf_uint(b, m->list);
		break;
	case BELOW_PROBE:
		buf_uint(b, m->probe.id);
		buf_uint(b, m->probe.pid);
		buf_u8(b, m->probe.on);
		buf_u8(b, m->probe.word);
		put_name(b, m->probe.name, BELOW_PROBE_NAME_MAX);
		break;
	case BELOW_LISTED:
		buf_uint(b, m->listed.pid);
		buf_u8(b, m->listed.last);
		put_name(b, m->listed.names, BELOW_NAMES_MAX);
		break;
	case BELOW_PROBED:
		buf_uint(b, m->probed.id);
		buf_u8(b, m->probed.on);
		put_name(b, m->probed.reason, BELOW_REASON_MAX);
		buf_u8(b, m->probed.full);
		break;
	case BELOW_HITS:
		buf_u8(b, (uint8_t)m->hits.count);
		for (uint32_t i = 0; i < m->hits.count; i++)
			put_hit(&m->hits.list[i], b);
		break;
	case BELOW_RECORD:
		buf_u8(b, m->record);
		break;
	case BELOW_RECORD_OF:
		buf_uint(b, m->record_of);
		break;
	case BELOW_RECORDING:
		buf_u8(b, m->recording.on);
		put_name(b, m->recording.missing, BELOW_MISSING_MAX);
		break;
	case BELOW_EVENTS:
		buf_uint(b, m->events.len);
		buf_bytes(b, m->events.bytes, m->events.len);
		break;
	case BELOW_EVENTS_MARK:
		buf_int(b, m->events_mark_ns);
		break;
	}
}

static uint32_t
take_u32(struct reader *r)
{
	uint64_t v = read_uint(r);

	r->failed |= v > UINT32_MAX;
	return (uint32_t)v;
}

static uint16_t
take_u16(struct reader *r)
{
	uint64_t v = read_uint(r);

	r->failed |= v > UINT16_MAX;
	return (uint16_t)v;
}

/* A time or a length of time, which is never negative. */
static int64_t
take_ns(struct reader *r)
{
	int64_t v = read_int(r);

	r->failed |= v < 0 || v > INT64_MAX / 4;
	return v;
}

static uint8_t
take_state(struct reader *r)
{
	uint8_t v = read_u8(r);

	r->failed |= v >= BELOW_STATES;
	return v;
}

static void
take_follow(struct below_follow *f, struct reader *r)
{
	f->pid = take_u32(r);
	f->flags = read_u8(r);
	r->failed |= (f->flags & ~BELOW_FOLLOW_FLAGS) != 0;
	f->context = read_u8(r);
	r->failed |= f->context >= BELOW_CONTEXTS;
	f->offset = read_int(r);
	f->address = read_uint(r);
	f->trace_id = take_u16(r);
	f->unit_id = take_u16(r);
	f->request_type = take_u16(r);
	f->probed = take_u16(r);
}

static int
take_name_of_place(struct below_name *n, struct reader *r, struct arena *a)
{
	int rc;

	n->id = take_u32(r);
	r->failed |= n->id == 0;
	if ((rc = take_text(&n->folded, r, a, BELOW_FOLDED_MAX)) != 0 ||
	    (rc = take_text(&n->function, r, a, BELOW_FUNCTION_MAX)) != 0 ||
	    (rc = take_text(&n->file, r, a, BELOW_FILE_MAX)) != 0 ||
	    (rc = take_text(&n->called, r, a, BELOW_FUNCTION_MAX)) != 0)
		return rc;
	n->line = take_u32(r);
	return 0;
}

static bool
take_bool(struct reader *r)
{
	uint8_t v = read_u8(r);

	r->failed |= v > 1;
	return v == 1;
}

static int
take_wait(struct below_wait *w, struct reader *r, struct arena *a)
{
	const char *name;
	int rc;

	w->pid = take_u32(r);
	w->tid = take_u32(r);
	w->trace_id = read_u64(r);
	w->unit_id = read_u64(r);
	w->begin_ns = take_ns(r);
	w->woken_ns = w->begin_ns + take_ns(r);
	w->end_ns = w->woken_ns + take_ns(r);
	w->state = take_state(r);
	w->place = take_u32(r);
	w->lock = read_uint(r);
	w->owner_tid = take_u32(r);
	w->owner_state = take_state(r);
	w->owner_place = take_u32(r);
	w->waker_tid = take_u32(r);
	w->waker_trace_id = read_u64(r);
	w->waker_type = take_u32(r);
	if ((rc = take_text(&name, r, a, BELOW_WORD_MAX)) != 0)
		return rc;
	memcpy(w->owner_name, name, strlen(name) + 1);
	w->owner_is_read = take_bool(r);
	w->owner_trace_id = read_u64(r);
	w->owner_type = take_u32(r);
	if ((rc = take_text(&name, r, a, BELOW_WORD_MAX)) == 0)
		memcpy(w->waker_name, name, strlen(name) + 1);
	return rc;
}

static void
take_sample(struct below_sample *s, struct reader *r)
{
	s->pid = take_u32(r);
	s->tid = take_u32(r);
	s->trace_id = read_u64(r);
	s->unit_id = read_u64(r);
	s->time_ns = take_ns(r);
	s->weight_ns = take_ns(r);
	s->place = take_u32(r);
}

static void
take_lost(struct below_lost *l, struct reader *r)
{
	l->count = read_uint(r);
	l->from_ns = take_ns(r);
	l->to_ns = take_ns(r);
	l->messages = read_uint(r);
	r->failed |= l->count == 0 || l->from_ns > l->to_ns;
}

static int
take_can(struct below_can *c, struct reader *r, struct arena *a)
{
	c->flags = take_u32(r);
	r->failed |= (c->flags & ~(uint32_t)BELOW_CAN_FLAGS) != 0;
	return take_text(&c->missing, r, a, BELOW_MISSING_MAX);
}

static int
take_hit(struct below_hit *h, struct reader *r, struct arena *a)
{
	const char *word;
	int rc;

	h->id = take_u32(r);
	h->pid = take_u32(r);
	h->tid = take_u32(r);
	h->trace_id = read_u64(r);
	h->unit_id = read_u64(r);
	h->time_ns = take_ns(r);
	h->nvalues = read_u8(r);
	r->failed |= h->nvalues > BELOW_VALUES_MAX;
	for (int i = 0; i < h->nvalues && !r->failed; i++)
		h->values[i] = read_int(r);
	if ((rc = take_text(&word, r, a, BELOW_WORD_MAX)) == 0)
		memcpy(h->word, word, strlen(word) + 1);
	return rc;
}

static int
take_hits(struct below_hits *h, struct reader *r, struct arena *a)
{
	struct below_hit *list;
	int rc = 0;

	h->count = read_u8(r);
	r->failed |= h->count == 0 || h->count > BELOW_HITS_MAX ||
	             h->count * HIT_MIN_BYTES > reader_left(r);
	if (r->failed)
		return ERR_INPUT;
	if ((list = arena_calloc(a, h->count, sizeof *list)) == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < h->count && rc == 0; i++)
		rc = take_hit(&list[i], r, a);
	h->list = list;
	return rc;
}

static void
take_events(struct below_events *v, struct reader *r)
{
	uint64_t len = read_uint(r);

	r->failed |= len == 0 || len > BELOW_PIECE_MAX;
	if (r->failed)
		return;
	v->bytes = read_bytes(r, (size_t)len);
	v->len = (uint32_t)len;
}

/* 0, ERR_MEMORY, or ERR_INPUT, also where the reader failed. */
static int
take_fields(struct below_message *m, struct reader *r, struct arena *a)
{
	int rc = 0;

	switch (m->kind) {
	case BELOW_FOLLOW:
		take_follow(&m->follow, r);
		break;
	case BELOW_UNFOLLOW:
		m->unfollow = take_u32(r);
		break;
	case BELOW_LEASE:
		m->lease_ms = take_u32(r);
		break;
	case BELOW_END:
		break;
	case BELOW_CAN:
		rc = take_can(&m->can, r, a);
		break;
	case BELOW_NAME:
		rc = take_name_of_place(&m->name, r, a);
		break;
	case BELOW_WAIT:
		rc = take_wait(&m->wait, r, a);
		break;
	case BELOW_SAMPLE:
		take_sample(&m->sample, r);
		break;
	case BELOW_LOST:
		take_lost(&m->lost, r);
		break;
	case BELOW_MARK:
		m->mark_ns = take_ns(r);
		break;
	case BELOW_COST:
		m->cost_cpu_us = take_ns(r);
		break;
	case BELOW_LIST:
		m->list = take_u32(r);
		break;
	case BELOW_PROBE:
		m->probe.id = take_u32(r);
		m->probe.pid = take_u32(r);
		m->probe.on = take_bool(r);
		m->probe.word = read_u8(r);
		r->failed |= m->probe.word > BELOW_VALUES_MAX;
		rc = take_text(&m->probe.name, r, a, BELOW_PROBE_NAME_MAX);
		break;
	case BELOW_LISTED:
		m->listed.pid = take_u32(r);
		m->listed.last = take_bool(r);
		rc = take_text(&m->listed.names, r, a, BELOW_NAMES_MAX);
		break;
	case BELOW_PROBED:
		m->probed.id = take_u32(r);
		m->probed.on = take_bool(r);
		rc = take_text(&m->probed.reason, r, a, BELOW_REASON_MAX);
		m->probed.full = take_bool(r);
		break;
	case BELOW_HITS:
		rc = take_hits(&m->hits, r, a);
		break;
	case BELOW_RECORD:
		m->record = read_u8(r);
		r->failed |= (m->record & ~BELOW_RECORD_FLAGS) != 0;
		break;
	case BELOW_RECORD_OF:
		m->record_of = take_u32(r);
		r->failed |= m->record_of == 0;
		break;
	case BELOW_RECORDING:
		m->recording.on = take_bool(r);
		rc = take_text(&m->recording.missing, r, a, BELOW_MISSING_MAX);
		break;
	case BELOW_EVENTS:
		take_events(&m->events, r);
		break;
	case BELOW_EVENTS_MARK:
		m->events_mark_ns = take_ns(r);
		break;
	default:
		return ERR_INPUT;
	}
	return rc != 0 || !r->failed ? rc : ERR_INPUT;
}

int
below_decode(
    struct below_message *ret, struct arena *a, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct below_message m = { 0 };
	int rc;

	if (len > BELOW_MESSAGE_MAX)
		return err_set(e, ERR_INPUT, "hone-below: a message of %zu bytes", len);
	m.kind = (enum below_kind)read_u8(&r);
	m.number = read_uint(&r);
	if ((rc = take_fields(&m, &r, a)) == ERR_MEMORY)
		return err_set(e, ERR_MEMORY, "out of memory");
	if (rc != 0 || r.failed)
		return err_set(
		    e, ERR_INPUT, "hone-below: a malformed message of kind %d", (int)m.kind);
	if ((rc = take_end(&r, "hone-below: a message", e)) != 0)
		return rc;
	*ret = m;
	return 0;
}
