/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OTLP in protobuf (opentelemetry-proto: trace.proto, common.proto), decoded
 * where it lies. All messages on the way to a span, by their fields' numbers:
 *
 *	TracesData, ExportTraceServiceRequest    1 ResourceSpans
 *	ResourceSpans    1 Resource { 1 KeyValue }    2, 1000 ScopeSpans { 2 Span }
 *	Span             1 trace, 2 id, 4 parent: bytes; 3 tracestate; 5 name; 6 kind; 7 begin, 8 end: fixed64; 9 KeyValue; 15 Status { 3 code };
 *	                 where spans are not gathered, 11 Event { 1 time: fixed64; 2 name; 3 KeyValue }; 13 Link { 1 trace, 2 id: bytes }
 *	KeyValue         1 key; 2 AnyValue { 1 string, 2 bool, 3 int, 4 double }
 *
 * A file is one such message, of which ResourceSpans after ResourceSpans is read; or
 * messages behind each other, each with its length before it: in 4 bytes, big endian, as the
 * collector's file exporter writes them, or as a varint, as protobuf's own libraries do.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "formats/otlp.h"
#include "formats/protobuf.h"

enum framing { FRAME_NONE, FRAME_FIXED, FRAME_VARINT, FRAMINGS, FRAME_UNKNOWN = FRAMINGS };

enum {
	HEAD_BYTES = 64 << 10,                       /* by which the framing is detected */
	PIECE_MAX_BYTES = INPUT_WINDOW_MAX_BYTES / 2 /* larger messages are skipped */
};

struct otlp_proto {
	struct reading *r;
	struct input *in;
	struct otlp_resource resource;
	struct otlp_span span; /* at hand, with */
	struct attribute attributes[OTLP_ATTRIBUTES_MAX];
	struct otlp_extras extras;
	bool truncated; /* the current message is truncated, and counted */
};

/* ---- fields ---- */

static inline struct text_view
text_of(const struct proto_field *f)
{
	return (struct text_view){ (const char *)f->bytes,
		f->len < UINT32_MAX ? (uint32_t)f->len : UINT32_MAX };
}

/* Lists, maps and bytes become VALUE_NONE. */
static bool
decode_any_value(const struct proto_field *message, struct value *v)
{
	struct reader r = reader_of(message->bytes, message->len);
	struct proto_field f = { 0 };

	while (proto_next(&r, &f)) {
		if (proto_is(&f, 1, PROTO_BYTES)) {
			*v = (struct value){ .type = VALUE_TEXT,
				.text = (const char *)f.bytes,
				.len = f.len < VALUE_TEXT_MAX ? (uint32_t)f.len : VALUE_TEXT_MAX };
		} else if (proto_is(&f, 2, PROTO_VARINT)) {
			*v = (struct value){ .type = VALUE_UINT, .u = f.n != 0 };
		} else if (proto_is(&f, 3, PROTO_VARINT)) {
			*v = (struct value){ .type = VALUE_INT, .i = (int64_t)f.n };
		} else if (proto_is(&f, 4, PROTO_FIXED64)) {
			v->type = VALUE_REAL;
			memcpy(&v->d, &f.n, sizeof v->d);
		}
	}
	return !proto_malformed(&r, &f);
}

static bool
decode_key_value(const struct proto_field *message, struct attribute *to)
{
	struct reader r = reader_of(message->bytes, message->len);
	struct proto_field f = { 0 };
	bool ok = true;

	*to = (struct attribute){ .value.type = VALUE_NONE };
	while (ok && proto_next(&r, &f)) {
		if (proto_is(&f, 1, PROTO_BYTES)) {
			to->key = text_of(&f).s;
			to->key_len = text_of(&f).len;
		} else if (proto_is(&f, 2, PROTO_BYTES)) {
			ok = decode_any_value(&f, &to->value);
		}
	}
	return ok && !proto_malformed(&r, &f);
}

/* ---- messages ---- */

static bool
decode_status(const struct proto_field *message, bool *failed)
{
	struct reader r = reader_of(message->bytes, message->len);
	struct proto_field f = { 0 };

	while (proto_next(&r, &f))
		if (proto_is(&f, 3, PROTO_VARINT))
			*failed = f.n == OTLP_STATUS_ERROR;
	return !proto_malformed(&r, &f);
}

/* An id that is too long has length 0. */
static void
decode_id(const struct proto_field *f, uint8_t *to, uint32_t max, uint32_t *len)
{
	*len = f->len <= max ? (uint32_t)f->len : 0;
	memcpy(to, f->bytes, *len);
}

static bool
decode_event(const struct proto_field *message, struct otlp_extras *x)
{
	struct reader r = reader_of(message->bytes, message->len);
	struct span_event *e = otlp_extras_event(x);
	struct proto_field f = { 0 };
	bool ok = true;

	while (e != NULL && ok && proto_next(&r, &f)) {
		if (proto_is(&f, 1, PROTO_FIXED64)) {
			e->time_ns = f.n <= INT64_MAX ? (int64_t)f.n : 0;
		} else if (proto_is(&f, 2, PROTO_BYTES)) {
			e->name = text_of(&f);
		} else if (proto_is(&f, 3, PROTO_BYTES) &&
			   x->nattributes < OTLP_EVENT_ATTRIBUTES_MAX) {
			struct attribute *to = &x->attributes[x->nattributes];

			if ((ok = decode_key_value(&f, to)) && to->key_len > 0 &&
			    to->value.type != VALUE_NONE) {
				x->nattributes++;
				e->nattributes++;
			}
		}
	}
	return ok && (e == NULL || !proto_malformed(&r, &f));
}

static bool
decode_link(const struct proto_field *message, struct otlp_extras *x)
{
	struct reader r = reader_of(message->bytes, message->len);
	uint8_t trace[16] = { 0 }, id[8] = { 0 };
	uint32_t trace_len = 0, id_len = 0;
	struct proto_field f = { 0 };

	while (proto_next(&r, &f)) {
		if (proto_is(&f, 1, PROTO_BYTES))
			decode_id(&f, trace, sizeof trace, &trace_len);
		else if (proto_is(&f, 2, PROTO_BYTES))
			decode_id(&f, id, sizeof id, &id_len);
	}
	if (proto_malformed(&r, &f))
		return false;
	otlp_extras_link(x, trace, trace_len, id, id_len);
	return true;
}

static bool
decode_span(const struct proto_field *message, struct otlp_span *s)
{
	struct reader r = reader_of(message->bytes, message->len);
	struct proto_field f = { 0 };
	bool ok = true;

	s->span = (struct span){ 0 };
	s->trace_len = s->id_len = s->parent_len = s->nattributes = 0;
	s->bad_parent = false;
	if (s->extras != NULL)
		s->extras->nevents = s->extras->nattributes = s->extras->nlinks = s->extras
		                                                                      ->links = 0;
	while (ok && proto_next(&r, &f)) {
		if (proto_is(&f, 1, PROTO_BYTES)) {
			decode_id(&f, s->trace, sizeof s->trace, &s->trace_len);
		} else if (proto_is(&f, 2, PROTO_BYTES)) {
			decode_id(&f, s->id, sizeof s->id, &s->id_len);
		} else if (proto_is(&f, 3, PROTO_BYTES)) {
			s->span.state = text_of(&f);
		} else if (proto_is(&f, 4, PROTO_BYTES)) {
			decode_id(&f, s->parent, sizeof s->parent, &s->parent_len);
			s->bad_parent = f.len > sizeof s->parent;
		} else if (proto_is(&f, 5, PROTO_BYTES)) {
			s->span.name = text_of(&f);
		} else if (proto_is(&f, 6, PROTO_VARINT)) {
			s->span.kind = f.n < SPAN_KINDS ? (uint8_t)f.n : SPAN_KIND_NONE;
			s->span.follows = s->span.kind == SPAN_KIND_CONSUMER;
		} else if (proto_is(&f, 7, PROTO_FIXED64)) {
			s->span.begin_ns = f.n <= INT64_MAX ? (int64_t)f.n : 0;
		} else if (proto_is(&f, 8, PROTO_FIXED64)) {
			s->span.end_ns = f.n <= INT64_MAX ? (int64_t)f.n : 0;
		} else if (proto_is(&f, 9, PROTO_BYTES) && s->nattributes < OTLP_ATTRIBUTES_MAX) {
			struct attribute *to = &s->attributes[s->nattributes];

			ok = decode_key_value(&f, to);
			s->nattributes += ok && to->key_len > 0 && to->value.type != VALUE_NONE;
		} else if (proto_is(&f, 11, PROTO_BYTES) && s->extras != NULL) {
			ok = decode_event(&f, s->extras);
		} else if (proto_is(&f, 13, PROTO_BYTES) && s->extras != NULL) {
			ok = decode_link(&f, s->extras);
		} else if (proto_is(&f, 15, PROTO_BYTES)) {
			ok = decode_status(&f, &s->span.failed);
		}
	}
	return ok && !proto_malformed(&r, &f);
}

static void
fail(struct otlp_proto *x, enum skip why, const char *words)
{
	reading_skip(x->r, why, x->in, "%s", words);
}

static int
take_span(struct otlp_proto *x, const struct proto_field *message, struct err *e)
{
	if (message->cut && x->truncated)
		return 0;
	if (message->cut || !decode_span(message, &x->span)) {
		fail(x, SKIP_MALFORMED, "a span that is not valid protobuf");
		return 0;
	}
	x->span.span.offset = input_offset(x->in) +
	                      (uint64_t)((const char *)message->bytes - x->in->at);
	return otlp_hand_on(x->r, &x->span, &x->resource, e);
}

/* Its name. What is malformed in it is left out: its spans can be read. */
static void
take_scope(struct otlp_proto *x, const struct proto_field *message)
{
	struct reader r = reader_of(message->bytes, message->len);
	struct proto_field f = { 0 };

	while (proto_next(&r, &f))
		if (proto_is(&f, 1, PROTO_BYTES) && !f.cut)
			x->resource.scope = text_of(&f);
}

/* The scope is the first field in what all SDKs write; spans before it are of no known one. */
static int
take_scope_spans(struct otlp_proto *x, const struct proto_field *message, struct err *e)
{
	struct reader r = reader_of(message->bytes, message->len);
	struct proto_field f;
	int rc = 0;

	x->resource.scope = (struct text_view){ 0 };
	while (rc == 0 && proto_next(&r, &f))
		if (proto_is(&f, 2, PROTO_BYTES))
			rc = take_span(x, &f, e);
		else if (proto_is(&f, 1, PROTO_BYTES))
			take_scope(x, &f);
	if (r.failed && !x->truncated)
		fail(x, SKIP_MALFORMED, "ScopeSpans that are not valid protobuf");
	return rc;
}

static int
take_resource(struct otlp_proto *x, const struct proto_field *message, struct err *e)
{
	struct reader r = reader_of(message->bytes, message->len);
	struct attribute a;
	struct proto_field f;
	int rc = 0;

	while (rc == 0 && proto_next(&r, &f))
		if (proto_is(&f, 1, PROTO_BYTES) && decode_key_value(&f, &a))
			rc = otlp_resource_attribute(
			    &x->resource, (struct text_view){ a.key, a.key_len }, &a.value, e);
	return rc;
}

/* Two passes over the fields, because the resource may follow its spans. */
static int
take_resource_spans(struct otlp_proto *x, const struct proto_field *message, struct err *e)
{
	struct reader first = reader_of(message->bytes, message->len), r = first;
	struct proto_field f;
	int rc = 0;

	otlp_resource_reset(&x->resource);
	while (rc == 0 && proto_next(&first, &f))
		if (proto_is(&f, 1, PROTO_BYTES))
			rc = take_resource(x, &f, e);
	while (rc == 0 && proto_next(&r, &f))
		if (proto_is(&f, 2, PROTO_BYTES) || proto_is(&f, 1000, PROTO_BYTES))
			rc = take_scope_spans(x, &f, e);
	if (r.failed && !x->truncated)
		fail(x, SKIP_MALFORMED, "ResourceSpans that are not valid protobuf");
	return rc;
}

static int
take_message(struct otlp_proto *x, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct proto_field f;
	int rc = 0;

	while (rc == 0 && proto_next(&r, &f))
		if (proto_is(&f, 1, PROTO_BYTES))
			rc = take_resource_spans(x, &f, e);
	if (r.failed && !x->truncated)
		fail(x, SKIP_MALFORMED, "a message that is not valid protobuf");
	return rc;
}

/* ---- framing ---- */

/* A varint of at most 5 bytes. Its size; 0: it is cut off; negative: it is longer. */
static int
short_varint(const uint8_t *s, size_t have, uint64_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 5 && (size_t)i < have; i++) {
		*ret |= (uint64_t)(s[i] & 0x7f) << 7 * i;
		if ((s[i] & 0x80) == 0)
			return i + 1;
	}
	return have < 5 ? 0 : -1;
}

/* Decodes the head of a field of bytes. Returns its size; 0: cut off; negative: another field. */
static int
bytes_head(const uint8_t *s, size_t have, uint64_t *number, uint64_t *len)
{
	int tag = short_varint(s, have, number), size;

	if (tag <= 0)
		return tag;
	if ((*number & 7) != PROTO_BYTES || *number >> 3 == 0)
		return -1;
	*number >>= 3;
	size = short_varint(s + tag, have - (size_t)tag, len);
	return size <= 0 ? size : tag + size;
}

/* Decodes the head of a message. Returns its size; 0: cut off; negative: invalid. */
static int
frame_head(enum framing framing, const uint8_t *s, size_t have, uint64_t *len)
{
	uint64_t number = 1;
	int size;

	if (framing == FRAME_VARINT)
		return short_varint(s, have, len);
	if (framing == FRAME_NONE) {
		size = bytes_head(s, have, &number, len);
		return size > 0 && number != 1 ? -1 : size;
	}
	if (have < 4)
		return 0;
	*len = (uint64_t)s[0] << 24 | (uint64_t)s[1] << 16 | (uint64_t)s[2] << 8 | s[3];
	return 4;
}

/*
 * Descends from the first message to its first span. Returns the number of valid levels; 5 if the span
 * has ids of 16 and 8 bytes, which is the highest confidence. Negative: the framing is excluded.
 */
static int
plausible(enum framing framing, const uint8_t *s, size_t have)
{
	uint64_t room, number, len;
	int size = frame_head(framing, s, have, &room), level = framing == FRAME_NONE ? 1 : 0;

	if (size <= 0)
		return size;
	while (level < 3) {
		s += size;
		have -= (size_t)size;
		have = have < room ? have : (size_t)room;
		size = bytes_head(s, have, &number, &len);
		if (size == 0)
			return have < room || room == 0 ? level : -1;
		if (size < 0 || len > room - (uint64_t)size || (number > 3 && number != 1000))
			return -1;
		if (number == (level == 0 ? 1 : 2) || (level == 1 && number == 1000)) {
			room = len;
			level++;
		} else if (len > have - (size_t)size) {
			return level;
		} else {
			room -= (uint64_t)size + len;
			size += (int)len;
		}
	}
	s += size;
	have -= (size_t)size;
	return have >= 28 && s[0] == 0x0a && s[1] == 16 && s[18] == 0x12 && s[19] == 8 ? 5 : 3;
}

static enum framing
most_plausible(const uint8_t *s, size_t have, int *how)
{
	enum framing best = FRAME_UNKNOWN;

	*how = 0;
	for (enum framing f = FRAME_NONE; f < FRAMINGS; f++) {
		int p = plausible(f, s, have);

		if (p > *how) {
			*how = p;
			best = f;
		}
	}
	return best;
}

/* ---- the file ---- */

/* Reads until n bytes are in the window. 1; 0: the input ends before, or is damaged, which is
 * counted; negative: failed. */
static int
need(struct otlp_proto *x, uint64_t n, struct err *e)
{
	struct err cause = { 0 };
	int rc = 0;

	while ((uint64_t)(x->in->end - x->in->at) < n && rc == 0 && !x->in->over)
		rc = input_more(x->in, &cause);
	if (rc == ERR_INPUT || rc == ERR_FULL) {
		fail(x,
		    rc == ERR_FULL ? SKIP_OVERSIZE
		    : x->in->cut   ? SKIP_TRUNCATED
				   : SKIP_MALFORMED,
		    cause.text);
		x->in->over = true;
		return 0;
	}
	if (rc < 0)
		return err_set(e, rc, "%s", cause.text);
	return (uint64_t)(x->in->end - x->in->at) >= n;
}

/* Skips a message that is too large. */
static int
pass_over(struct otlp_proto *x, uint64_t n, struct err *e)
{
	int rc = 1;

	fail(x, SKIP_OVERSIZE, "a message of over 32 MiB");
	while (n > 0 && rc > 0) {
		uint64_t have = (uint64_t)(x->in->end - x->in->at);

		have = have < n ? have : n;
		x->in->at += have;
		n -= have;
		if (n > 0)
			rc = need(x, 1, e);
	}
	return rc < 0 ? rc : 0;
}

/* The piece of `len` bytes behind a head of `size` bytes. */
static int
take_piece(struct otlp_proto *x, enum framing framing, size_t size, uint64_t len, struct err *e)
{
	struct proto_field f = { .number = 1, .wire = PROTO_BYTES };
	int rc;

	if (len > PIECE_MAX_BYTES)
		return pass_over(x, size + len, e);
	if ((rc = need(x, size + len, e)) < 0)
		return rc;
	x->truncated = rc == 0;
	f.bytes = (const uint8_t *)x->in->at + size;
	f.len = x->truncated ? (size_t)(x->in->end - x->in->at) - size : (size_t)len;
	if (x->truncated)
		fail(x, SKIP_TRUNCATED, "a message that ends in the middle");
	rc = framing == FRAME_NONE ? take_resource_spans(x, &f, e)
	                           : take_message(x, f.bytes, f.len, e);
	x->in->at = (const char *)f.bytes + f.len;
	return rc;
}

static int
take_all(struct otlp_proto *x, enum framing framing, struct err *e)
{
	uint64_t len;
	int rc, size;

	while ((rc = need(x, 1, e)) == 1) {
		if ((rc = need(x, 16, e)) < 0) /* more than any head has */
			return rc;
		size = frame_head(
		    framing, (const uint8_t *)x->in->at, (size_t)(x->in->end - x->in->at), &len);
		if (size <= 0) {
			fail(x, size == 0 ? SKIP_TRUNCATED : SKIP_MALFORMED,
			    "bytes that are not a message: the rest of the file is not read");
			return 0;
		}
		if ((rc = take_piece(x, framing, (size_t)size, len, e)) != 0)
			return rc;
	}
	return rc;
}

static int
read_otlp_proto(struct reading *r, struct input *in, struct err *e)
{
	struct otlp_proto *x = calloc(1, sizeof *x);
	enum framing framing;
	int rc, how;

	if (x == NULL)
		return err_set(e, ERR_MEMORY, "no memory to read a file");
	x->r = r;
	x->in = in;
	x->span.attributes = x->attributes;
	x->span.extras = reading_options(r)->span != NULL ? &x->extras : NULL;
	rc = need(x, HEAD_BYTES, e);
	framing = reading_options(r)->message
	              ? FRAME_NONE
	              : most_plausible((const uint8_t *)in->at, (size_t)(in->end - in->at), &how);
	if (rc >= 0)
		rc = framing != FRAME_UNKNOWN
		         ? take_all(x, framing, e)
		         : err_set(e, ERR_INPUT, "the file does not begin like OTLP in protobuf");
	otlp_resource_release(&x->resource);
	free(x);
	return rc;
}

/* Protobuf has no signature, so its confidence stays below those of text formats. */
static int
sniff_otlp_proto(const char *head, size_t len)
{
	int how;

	most_plausible((const uint8_t *)head, len, &how);
	return how == 5 ? 60 : how >= 2 ? 20 : 0;
}

const struct format format_otlp_proto = {
	.name = "otlp_proto",
	.what = "OTLP in protobuf, one message or many with their lengths",
	.resolution_ns = 1,
	.sniff = sniff_otlp_proto,
	.read = read_otlp_proto,
};
