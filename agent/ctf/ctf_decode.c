/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets to records. This is the inner loop of the agent: one pass over the bytes, no allocation. */
#include <assert.h>
#include <string.h>

#include "agent/ctf/ctf_types.h"

enum { REGS = 64 };

static uint64_t
load(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;

	switch (bytes) {
	case 1:
		return *p;
	case 2: {
		uint16_t x;
		memcpy(&x, p, 2);
		return x;
	}
	case 4: {
		uint32_t x;
		memcpy(&x, p, 4);
		return x;
	}
	default:
		memcpy(&v, p, 8);
		return v;
	}
}

static uint64_t
load_int(const struct ctf_op *op, const uint8_t *p)
{
	uint64_t v = load(p, op->bytes);
	unsigned unused = 64 - 8 * op->bytes;

	if (op->swap)
		v = __builtin_bswap64(v) >> unused;
	if (op->is_signed)
		v = (uint64_t)((int64_t)(v << unused) >> unused);
	return v;
}

static bool
in_range(uint64_t v, uint64_t low, uint64_t high, bool is_signed)
{
	if (is_signed)
		return (int64_t)v >= (int64_t)low && (int64_t)v <= (int64_t)high;
	return v >= low && v <= high;
}

static void
set_int(const struct ctf_op *op, struct value *out, uint64_t v)
{
	out->type = op->is_signed ? VALUE_INT : VALUE_UINT;
	out->len = 0;
	out->u = v;
}

static void
set_text(struct value *out, const void *text, size_t len)
{
	out->type = VALUE_TEXT;
	out->len = len > VALUE_TEXT_MAX ? VALUE_TEXT_MAX : (uint32_t)len;
	out->text = text;
}

static void
set_enum(const struct ctf_op *op, struct value *out, uint64_t v)
{
	for (uint32_t i = 0; i < op->nranges; i++)
		if (in_range(v, op->ranges[i].low, op->ranges[i].high, op->is_signed)) {
			set_text(out, op->ranges[i].text, op->ranges[i].len);
			return;
		}
	set_int(op, out, v);
}

static void
set_float(const struct ctf_op *op, struct value *out, uint64_t v)
{
	out->type = VALUE_REAL;
	out->len = 0;
	if (op->bytes == 4) {
		uint32_t bits = (uint32_t)v;
		float f;
		memcpy(&f, &bits, 4);
		out->d = f;
	} else {
		memcpy(&out->d, &v, 8);
	}
}

/* Skips `count` strings. NULL: they exceed the packet. */
static const uint8_t *
skip_strings(const uint8_t *at, const uint8_t *end, uint64_t count)
{
	for (; count > 0 && at != NULL && at < end; count--) {
		at = memchr(at, 0, (size_t)(end - at));
		at = at == NULL ? NULL : at + 1;
	}
	return count == 0 ? at : NULL;
}

static const uint8_t *
take_array(const struct ctf_op *op, const uint8_t *at, const uint8_t *end, uint64_t count,
    struct value *out)
{
	if (op->what == OP_SKIP_STRINGS || op->what == OP_SKIP_STRINGS_BY)
		return skip_strings(at, end, count);
	if (count > (uint64_t)(end - at) / op->bytes)
		return NULL;
	if (op->what == OP_TEXT || op->what == OP_TEXT_BY) {
		const uint8_t *zero = memchr(at, 0, count);
		set_text(&out[op->slot], at, zero == NULL ? count : (size_t)(zero - at));
	}
	return at + count * op->bytes;
}

/* Aligns a position, relative to the packet. NULL: the result is past the end, which an empty array
 * or struct can cause. */
static inline const uint8_t *
align_up(const uint8_t *base, const uint8_t *at, const uint8_t *end, uint32_t mask)
{
	size_t aligned = ((size_t)(at - base) + mask) & ~(size_t)mask;

	return aligned > (size_t)(end - base) ? NULL : base + aligned;
}

static const uint8_t *
take_plain(const struct ctf_op *op, const uint8_t *at, const uint8_t *end, uint64_t *regs,
    struct value *out)
{
	if (op->what == OP_STRING) {
		const uint8_t *zero = memchr(at, 0, (size_t)(end - at));
		if (zero == NULL)
			return NULL;
		set_text(&out[op->slot], at, (size_t)(zero - at));
		return zero + 1;
	}
	if ((size_t)(end - at) < op->bytes)
		return NULL;
	uint64_t v = load_int(op, at);
	regs[op->to] = v;
	if (op->what == OP_INT)
		set_int(op, &out[op->slot], v);
	else if (op->what == OP_ENUM)
		set_enum(op, &out[op->slot], v);
	else
		set_float(op, &out[op->slot], v);
	return at + op->bytes;
}

static const struct ctf_op *
choose(const struct ctf_op *op, uint64_t tag, bool *known)
{
	const struct ctf_choice *c = op->choices;

	/* fast path: the tags of LTTng's dynamic contexts count from 0 */
	if (tag < op->nchoices && c[tag].low == tag && c[tag].high == tag) {
		*known = true;
		return c[tag].op;
	}
	for (uint32_t i = 0; i < op->nchoices; i++)
		if (in_range(tag, c[i].low, c[i].high, true)) {
			*known = true;
			return c[i].op;
		}
	*known = false;
	return NULL;
}

/* Decodes a struct and returns its end. NULL: it exceeds the packet, or a tag is unknown. */
static const uint8_t *
run(const struct ctf_code *code, const uint8_t *base, const uint8_t *at, const uint8_t *end,
    struct value *out)
{
	uint64_t regs[REGS];

	for (uint32_t i = 0; i < code->nops && at != NULL; i++) {
		const struct ctf_op *op = &code->ops[i], *one = op;
		if (op->what == OP_VARIANT) {
			bool known;
			one = choose(op, regs[op->by], &known);
			out[op->slot].type = VALUE_NONE;
			if (!known)
				return NULL;
			if (one == NULL)
				continue;
		}
		if (one->align_mask != 0 && (at = align_up(base, at, end, one->align_mask)) == NULL)
			return NULL;
		if (one->what <= OP_STRING)
			at = take_plain(one, at, end, regs, out);
		else if (one->what != OP_ALIGN)
			at = take_array(
			    one, at, end, one->by != 0 ? regs[one->by] : one->length, out);
	}
	return at;
}

int
ctf_packet_open(
    struct ctf_packet *p, struct ctf_trace *t, const void *data, size_t len, struct err *e)
{
	const uint8_t *d = data;
	const struct ctf_stream *s = NULL;

	memset(p, 0, sizeof *p);
	if (!t->has_trace || len < t->header_bytes || load(d, 4) != 0xc1fc1fc1)
		return err_set(e, ERR_INPUT, "packet: no magic number");
	if (t->has_uuid && t->uuid_at != UINT32_MAX && memcmp(d + t->uuid_at, t->uuid, 16) != 0)
		return err_set(e, ERR_INPUT, "packet: the uuid is of another trace");
	uint64_t id = t->stream_id_at == UINT32_MAX ? 0 : load(d + t->stream_id_at, 4);
	for (uint32_t i = 0; i < t->nstreams && s == NULL; i++)
		if (t->streams[i].id == id)
			s = &t->streams[i];
	if (s == NULL || len < s->head_bytes)
		return err_set(e, ERR_INPUT,
		    "packet: stream %llu is not in the metadata, or the packet is too short",
		    (unsigned long long)id);
	uint64_t begin = load(d + s->begin_at, 8), end = load(d + s->end_at, 8);
	uint64_t content = load(d + s->content_at, 8), size = load(d + s->size_at, 8);
	if (begin > end || end > INT64_MAX || content % 8 != 0 || content / 8 > len ||
	    content / 8 < s->head_bytes || size < content)
		return err_set(e, ERR_INPUT, "packet: invalid sizes or times");
	p->stream = s;
	p->base = d;
	p->at = d + s->head_bytes;
	p->end = d + content / 8;
	p->begin_ns = p->time_ns = (int64_t)begin;
	p->end_ns = (int64_t)end;
	p->seq = load(d + s->seq_at, 8);
	p->discarded = load(d + s->discarded_at, 8);
	return 0;
}

/* The full time of which `low` are the low bits, at or after the time `before`. */
static int64_t
widen(int64_t before, uint64_t low, unsigned bits)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1, b = (uint64_t)before;
	uint64_t v = (b & ~mask) | low;

	return (int64_t)(v < b ? v + mask + 1 : v);
}

static const uint8_t *
extended(const struct ctf_packet *p, const uint8_t *at, uint64_t *id, int64_t *time_ns)
{
	const struct ctf_stream *s = p->stream;

	at = align_up(p->base, at, p->end, s->extended_align - 1);
	if (at == NULL || p->end - at < 4)
		return NULL;
	*id = load(at, 4);
	at = align_up(p->base, at + 4, p->end, s->extended_time_align - 1);
	if (at == NULL || p->end - at < 8)
		return NULL;
	*time_ns = (int64_t)load(at, 8);
	return at + 8;
}

int
ctf_packet_next(struct ctf_packet *p, struct err *e)
{
	const struct ctf_stream *s = p->stream;
	const uint8_t *at;
	uint64_t id;
	int64_t time_ns;

	assert(s != NULL && p->at <= p->end);
	if (p->at == p->end)
		return 0;
	at = align_up(p->base, p->at, p->end, s->header_align - 1);
	if (at == NULL || p->end - at < 4)
		return err_set(e, ERR_INPUT, "packet: ends within an event header");
	if (s->id_bits == 5) {
		uint32_t word = (uint32_t)load(at, 4);
		bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
		id = big ? word >> 27 : word & 31;
		time_ns = widen(p->time_ns, big ? word & 0x7ffffff : word >> 5, 27);
		at = id == 31 ? extended(p, at + 1, &id, &time_ns) : at + 4;
	} else {
		id = load(at, 2);
		if (id == 65535) {
			at = extended(p, at + 2, &id, &time_ns);
		} else {
			at = align_up(p->base, at + 2, p->end, s->header_align - 1);
			if (at == NULL || p->end - at < 4)
				return err_set(e, ERR_INPUT, "packet: ends within an event header");
			time_ns = widen(p->time_ns, load(at, 4), 32);
			at += 4;
		}
	}
	if (at == NULL)
		return err_set(e, ERR_INPUT, "packet: ends within an event header");
	if (time_ns < p->time_ns || time_ns > p->end_ns)
		return err_set(e, ERR_INPUT, "packet: an event's time is outside of the packet's");
	if (id >= s->nevents || s->events[id] == NULL)
		return err_set(e, ERR_INPUT, "packet: event id %llu is not in the metadata",
		    (unsigned long long)id);
	p->at = at;
	p->time_ns = time_ns;
	p->event = s->events[id];
	return 1;
}

static uint64_t
number(const struct value *v)
{
	return v->type == VALUE_UINT || v->type == VALUE_INT ? v->u : 0;
}

int
ctf_packet_take(struct ctf_packet *p, struct record *r, struct value *values, struct err *e)
{
	const struct ctf_event *event = p->event;
	const uint8_t *at;

	assert(event != NULL);
	for (unsigned i = 0; i <= CONTEXT_VPID; i++)
		values[i].type = VALUE_NONE;
	if ((at = run(&p->stream->context, p->base, p->at, p->end, values)) == NULL)
		return err_set(e, ERR_INPUT, "packet: the context of %s is malformed", event->name);
	r->trace_id = number(&values[CONTEXT_TRACE_ID]);
	r->unit_id = number(&values[CONTEXT_UNIT_ID]);
	r->tid = (uint32_t)number(&values[CONTEXT_VTID]);
	if (values[CONTEXT_VPID].type != VALUE_NONE)
		r->pid = (uint32_t)number(&values[CONTEXT_VPID]);
	values[CTF_NAME].type = values[CTF_LINK_ID].type = VALUE_NONE;
	if ((at = run(&event->payload, p->base, at, p->end, values)) == NULL)
		return err_set(e, ERR_INPUT, "packet: the payload of %s is malformed", event->name);
	r->link_id = number(&values[CTF_LINK_ID]);
	r->time_ns = p->time_ns;
	r->nvalues = event->nfields;
	p->at = at;
	return 0;
}
