/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layout of a batch. uint and int are varints (base/buf.h), text is a uint and that many bytes, u64 is
 * 8 bytes, little endian.
 *
 *	+-----------+---------+----------+---------+--------+---------+--------+
 *	| watermark | nlabels | nrecords | nlosses | labels | records | losses |
 *	| int, ns   | uint    | uint     | uint    |        |         |        |
 *	+-----------+---------+----------+---------+--------+---------+--------+
 *
 * Each label, record and loss is a uint, the length of its body, and the body. A reader skips what it does not
 * know at the end of a body, so that newer writers may append to it.
 *
 *	label   kind u8 | text | nfields uint | nfields x text
 *	record  label*2 + has_link uint | ns since the record before uint | trace_id u64 |
 *	        unit_id u64 | [link_id u64] | pid uint | tid uint | nvalues u8 | values
 *	value   type u8 | int, uint, 8 bytes of a double, or length u8 and bytes
 *	loss    reason u8 | count uint | from int, ns | ns to its end uint
 *
 * The first record's time counts from INT64_MIN. Steps in time are unsigned, so a record out of order shows as a
 * step past the largest time, and is refused.
 */
#include "wire/record.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

enum {
	FIELD_NAME_MAX = 255,
	HEADER_MAX_BYTES = 10 + 3 * 5,
	/* the minimum size with the length; counts that need more bytes than are there are refused */
	LABEL_MIN_BYTES = 5,
	RECORD_MIN_BYTES = 22,
	LOSS_MIN_BYTES = 5,
	VALUE_MIN_BYTES = 1,
	POOL_VALUES = 512,
};

/* ---- writing ---- */

static uint32_t
at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

void
batch_begin(struct batch_writer *w)
{
	buf_reset(&w->labels);
	buf_reset(&w->records);
	buf_reset(&w->losses);
	w->nlabels = w->nrecords = w->nlosses = 0;
	w->last_ns = 0;
}

void
batch_release(struct batch_writer *w)
{
	buf_release(&w->labels);
	buf_release(&w->records);
	buf_release(&w->losses);
	*w = (struct batch_writer){ 0 };
}

/* The number of bytes of v as a varint. */
static size_t
uint_size(uint64_t v)
{
	return v == 0 ? 1 : (size_t)(70 - __builtin_clzll(v)) / 7;
}

uint32_t
batch_label(struct batch_writer *w, enum record_kind kind, const char *text, size_t len,
    const char *const *fields, uint32_t nfields)
{
	struct buf *b = &w->labels;
	size_t body = 1;

	assert((text != NULL || len == 0) && (fields != NULL || nfields == 0));
	len = len < LABEL_TEXT_MAX ? len : LABEL_TEXT_MAX;
	nfields = at_most(nfields, RECORD_VALUES_MAX);
	body += uint_size(len) + len + uint_size(nfields);
	for (uint32_t i = 0; i < nfields; i++) {
		size_t n = strnlen(fields[i], FIELD_NAME_MAX);

		body += uint_size(n) + n;
	}
	buf_uint(b, body);
	buf_u8(b, (uint8_t)kind);
	buf_text(b, text, len);
	buf_uint(b, nfields);
	for (uint32_t i = 0; i < nfields; i++)
		buf_text(b, fields[i], strnlen(fields[i], FIELD_NAME_MAX));
	return w->nlabels++;
}

/* These write into reserved memory and return its end. batch_record() calls them instead of buf_uint() and others: 7 to 48 ns
 * a record, instead of 37 to 88 (bench/wire_record). */
static inline uint8_t *
put_uint(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

static inline uint8_t *
put_u64(uint8_t *at, uint64_t v)
{
	v = htole64(v);
	memcpy(at, &v, sizeof v);
	return at + sizeof v;
}

static inline uint8_t *
put_value(uint8_t *at, const struct value *v)
{
	uint32_t len;

	*at++ = v->type;
	switch (v->type) {
	case VALUE_INT:
		return put_uint(at, (uint64_t)v->i << 1 ^ (v->i < 0 ? UINT64_MAX : 0));
	case VALUE_UINT:
		return put_uint(at, v->u);
	case VALUE_REAL:
		return put_u64(at, v->u);
	case VALUE_TEXT:
		len = at_most(v->len, VALUE_TEXT_MAX);
		*at++ = (uint8_t)len;
		if (len > 0)
			memcpy(at, v->text, len);
		return at + len;
	default:
		return at;
	}
}

static size_t
record_max_bytes(const struct record *r, uint32_t nvalues)
{
	size_t n = 5 + 10 + 3 * 8 + 2 * 5 + 1;

	for (uint32_t i = 0; i < nvalues; i++)
		n += r->values[i].type == VALUE_TEXT ? 2 + VALUE_TEXT_MAX : 11;
	return n;
}

/*
 * The body is written one byte after the beginning, which is the size of its length if that is under 128; a
 * longer body is then moved by one byte.
 */
void
batch_record(struct batch_writer *w, const struct record *r)
{
	uint32_t nvalues = at_most(r->nvalues, RECORD_VALUES_MAX);
	uint8_t *start = buf_reserve(&w->records, 2 + record_max_bytes(r, nvalues)), *body, *at;
	size_t len;

	assert(r->nvalues == 0 || r->values != NULL);
	if (start == NULL)
		return;
	at = body = start + 1;
	at = put_uint(at, (uint64_t)r->label << 1 | (r->link_id != 0));
	at = put_uint(at, w->nrecords == 0 ? (uint64_t)r->time_ns - (uint64_t)INT64_MIN
					   : (uint64_t)r->time_ns - (uint64_t)w->last_ns);
	at = put_u64(at, r->trace_id);
	at = put_u64(at, r->unit_id);
	if (r->link_id != 0)
		at = put_u64(at, r->link_id);
	at = put_uint(at, r->pid);
	at = put_uint(at, r->tid);
	*at++ = (uint8_t)nvalues;
	for (uint32_t i = 0; i < nvalues; i++)
		at = put_value(at, &r->values[i]);
	len = (size_t)(at - body);
	if (len >= 0x80) /* the length takes two bytes: 32 texts of 257 are under 2^14 */
		memmove(start + 2, body, len);
	w->records.len += (size_t)(put_uint(start, len) - start) + len;
	w->last_ns = r->time_ns;
	w->nrecords++;
}

void
batch_loss(struct batch_writer *w, const struct loss *l)
{
	uint64_t lasted_ns = (uint64_t)l->to_ns - (uint64_t)l->from_ns;
	uint64_t from = (uint64_t)l->from_ns << 1 ^ (l->from_ns < 0 ? UINT64_MAX : 0);

	buf_uint(&w->losses, 1 + uint_size(l->count) + uint_size(from) + uint_size(lasted_ns));
	buf_u8(&w->losses, l->reason);
	buf_uint(&w->losses, l->count);
	buf_uint(&w->losses, from);
	buf_uint(&w->losses, lasted_ns);
	w->nlosses++;
}

size_t
batch_size(const struct batch_writer *w)
{
	return HEADER_MAX_BYTES + w->labels.len + w->records.len + w->losses.len;
}

int
batch_end(struct batch_writer *w, int64_t watermark_ns, struct buf *out, struct err *e)
{
	buf_int(out, watermark_ns);
	buf_uint(out, w->nlabels);
	buf_uint(out, w->nrecords);
	buf_uint(out, w->nlosses);
	buf_bytes(out, w->labels.data, w->labels.len);
	buf_bytes(out, w->records.data, w->records.len);
	buf_bytes(out, w->losses.data, w->losses.len);
	if (out->failed || w->labels.failed || w->records.failed || w->losses.failed)
		return err_set(
		    e, ERR_MEMORY, "out of memory for a batch of %u records", w->nrecords);
	return 0;
}

/* ---- reading ---- */

/* Reads a count of at most max. */
static int
read_count(struct reader *r, uint32_t *ret, uint64_t max, const char *what, struct err *e)
{
	uint64_t n = read_uint(r);

	if (r->failed)
		return err_set(e, ERR_INPUT, "batch: cut off before the number of %s", what);
	if (n > max)
		return err_set(e, ERR_INPUT, "batch: %llu %s, at most %llu are allowed",
		    (unsigned long long)n, what, (unsigned long long)max);
	*ret = (uint32_t)n;
	return 0;
}

/* These read the common cases inline and leave the others, and all failures, to base/buf.h: 7 to 24 ns a record, instead
 * of 19 to 52 (bench/wire_record). */
static inline uint64_t
next_uint(struct reader *r)
{
	const uint8_t *at = r->at;

	if (r->end - at >= 3) {
		if (at[0] < 0x80) {
			r->at += 1;
			return at[0];
		}
		if (at[1] < 0x80) {
			r->at += 2;
			return (uint64_t)at[1] << 7 | (at[0] & 0x7f);
		}
		if (at[2] < 0x80) {
			r->at += 3;
			return (uint64_t)at[2] << 14 | (uint64_t)(at[1] & 0x7f) << 7 |
			       (at[0] & 0x7f);
		}
	}
	return read_uint(r);
}

static inline uint8_t
next_u8(struct reader *r)
{
	return r->at < r->end ? *r->at++ : read_u8(r);
}

static inline uint64_t
next_u64(struct reader *r)
{
	uint64_t v;

	if (reader_left(r) < sizeof v)
		return read_u64(r);
	memcpy(&v, r->at, sizeof v);
	r->at += sizeof v;
	return le64toh(v);
}

/* The body of the next label, record or loss. */
static inline struct reader
read_body(struct reader *r)
{
	uint64_t len = next_uint(r);
	const uint8_t *at = r->at;

	if (len > reader_left(r)) {
		read_bytes(r, SIZE_MAX); /* fails */
		return (struct reader){ r->end, r->end, true };
	}
	r->at += len;
	return (struct reader){ at, at + len, r->failed };
}

static int
read_fields(struct batch_label *l, struct reader *r, struct arena *a)
{
	uint64_t n = read_uint(r);
	const char *s;
	size_t len;

	if (r->failed || n > RECORD_VALUES_MAX || n > reader_left(r) / 2)
		return ERR_INPUT;
	l->nfields = (uint32_t)n;
	l->fields = NULL;
	if (n > 0 && (l->fields = arena_alloc(a, n * sizeof *l->fields)) == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		s = read_text(r, FIELD_NAME_MAX, &len);
		if (s == NULL || len == 0 || memchr(s, 0, len) != NULL)
			return ERR_INPUT;
		if ((l->fields[i] = arena_text(a, s, len)) == NULL)
			return ERR_MEMORY;
	}
	return 0;
}

static int
read_label(struct batch_label *l, struct reader *batch, struct arena *a)
{
	struct reader r = read_body(batch);
	size_t len;

	l->kind = read_u8(&r);
	l->text = read_text(&r, LABEL_TEXT_MAX, &len);
	l->len = (uint32_t)len;
	if (r.failed || l->kind >= RECORD_KINDS || len == 0 || memchr(l->text, 0, len) != NULL)
		return ERR_INPUT;
	return read_fields(l, &r, a);
}

static inline bool
read_value(struct value *v, struct reader *r)
{
	uint64_t u;

	v->type = next_u8(r);
	v->len = 0;
	v->u = 0;
	switch (v->type) {
	case VALUE_NONE:
		break;
	case VALUE_INT:
		u = next_uint(r);
		v->u = u >> 1 ^ (u & 1 ? UINT64_MAX : 0);
		break;
	case VALUE_UINT:
		v->u = next_uint(r);
		break;
	case VALUE_REAL:
		v->u = next_u64(r);
		break;
	case VALUE_TEXT:
		v->len = next_u8(r);
		v->text = (const char *)read_bytes(r, v->len);
		break;
	default:
		return false;
	}
	return !r->failed;
}

/* Values of several records are allocated from the arena at once. */
struct value_pool {
	struct arena *arena;
	struct value *at;
	size_t left;
};

static struct value *
pool_take(struct value_pool *p, size_t n, size_t most)
{
	if (p->left < n) {
		p->left = most < POOL_VALUES ? most : POOL_VALUES;
		if ((p->at = arena_alloc(p->arena, p->left * sizeof *p->at)) == NULL) {
			p->left = 0;
			return NULL;
		}
	}
	p->left -= n;
	p->at += n;
	return p->at - n;
}

/* most: the number of values that the rest of the batch can have, by its size. */
static int
read_values(struct record *ret, struct reader *r, struct value_pool *p, size_t most)
{
	struct value *values;

	if (ret->nvalues > reader_left(r) / VALUE_MIN_BYTES)
		return ERR_INPUT;
	if ((values = pool_take(p, ret->nvalues, most)) == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < ret->nvalues; i++)
		if (!read_value(&values[i], r))
			return ERR_INPUT;
	ret->values = values;
	return 0;
}

static inline bool
kind_has_link(uint8_t kind)
{
	return kind >= RECORD_REQUEST_BEGIN && kind <= RECORD_JOIN;
}

static inline int
read_record(struct record *ret, struct reader *batch, const struct batch *b, int64_t *last_ns,
    struct value_pool *p)
{
	struct reader r = read_body(batch);
	uint64_t label = next_uint(&r), step_ns = next_uint(&r), pid, tid;

	ret->trace_id = next_u64(&r);
	ret->unit_id = next_u64(&r);
	ret->link_id = label & 1 ? next_u64(&r) : 0;
	pid = next_uint(&r);
	tid = next_uint(&r);
	ret->nvalues = next_u8(&r);
	ret->values = NULL;
	if (r.failed || label >> 1 >= b->nlabels || pid > UINT32_MAX || tid > UINT32_MAX ||
	    step_ns > (uint64_t)INT64_MAX - (uint64_t)*last_ns ||
	    ret->nvalues != b->labels[label >> 1].nfields ||
	    (label & 1 && !kind_has_link(b->labels[label >> 1].kind)))
		return ERR_INPUT;
	*last_ns = (int64_t)((uint64_t)*last_ns + step_ns);
	ret->time_ns = *last_ns;
	ret->label = (uint32_t)(label >> 1);
	ret->pid = (uint32_t)pid;
	ret->tid = (uint32_t)tid;
	return ret->nvalues == 0 ? 0
	                         : read_values(ret, &r, p, reader_left(&r) + reader_left(batch));
}

static int
read_loss(struct loss *l, struct reader *batch)
{
	struct reader r = read_body(batch);
	uint64_t lasted_ns;

	l->reason = read_u8(&r);
	l->count = read_uint(&r);
	l->from_ns = read_int(&r);
	lasted_ns = read_uint(&r);
	if (r.failed || l->reason >= LOSS_REASONS ||
	    lasted_ns > (uint64_t)INT64_MAX - (uint64_t)l->from_ns)
		return ERR_INPUT;
	l->to_ns = (int64_t)((uint64_t)l->from_ns + lasted_ns);
	return 0;
}

static int
read_header(struct batch *b, struct reader *r, struct err *e)
{
	size_t len = reader_left(r);
	int rc;

	b->watermark_ns = read_int(r);
	if ((rc = read_count(r, &b->nlabels, BATCH_LABELS_MAX, "labels", e)) != 0 ||
	    (rc = read_count(r, &b->nrecords, BATCH_RECORDS_MAX, "records", e)) != 0 ||
	    (rc = read_count(r, &b->nlosses, UINT32_MAX, "losses", e)) != 0)
		return rc;
	if ((uint64_t)b->nlabels * LABEL_MIN_BYTES + (uint64_t)b->nrecords * RECORD_MIN_BYTES +
		(uint64_t)b->nlosses * LOSS_MIN_BYTES >
	    reader_left(r))
		return err_set(e, ERR_INPUT,
		    "batch: %u labels, %u records, %u losses cannot be in %zu bytes", b->nlabels,
		    b->nrecords, b->nlosses, len);
	return 0;
}

static int
fail(struct err *e, int rc, const char *what, uint32_t i)
{
	if (rc == ERR_MEMORY)
		return err_set(e, rc, "batch: out of memory at %s %u", what, i);
	return err_set(e, rc, "batch: %s %u is malformed or cut off", what, i);
}

/*
 * Memory in bytes for bytes of input, at most: a record 64 for 22, a label 32 for 5, a field of it 8 and a copy for 2,
 * a loss 32 for 5, a value 16 for 1. Blocks of the arena may double that.
 */
int
batch_decode(struct batch *ret, struct arena *a, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct batch b = { 0 };
	struct value_pool pool = { .arena = a };
	int64_t last_ns = INT64_MIN;
	int rc;

	assert(ret != NULL && (data != NULL || len == 0));
	if ((rc = read_header(&b, &r, e)) != 0)
		return rc;
	b.labels = arena_alloc(a, b.nlabels * sizeof *b.labels);
	b.records = arena_alloc(a, b.nrecords * sizeof *b.records);
	b.losses = arena_alloc(a, b.nlosses * sizeof *b.losses);
	if (b.labels == NULL || b.records == NULL || b.losses == NULL)
		return err_set(e, ERR_MEMORY, "batch: out of memory for %u records", b.nrecords);
	for (uint32_t i = 0; i < b.nlabels; i++)
		if ((rc = read_label(&b.labels[i], &r, a)) != 0)
			return fail(e, rc, "label", i);
	for (uint32_t i = 0; i < b.nrecords; i++)
		if ((rc = read_record(&b.records[i], &r, &b, &last_ns, &pool)) != 0)
			return fail(e, rc, "record", i);
	for (uint32_t i = 0; i < b.nlosses; i++)
		if ((rc = read_loss(&b.losses[i], &r)) != 0)
			return fail(e, rc, "loss", i);
	if (reader_left(&r) > 0)
		return err_set(e, ERR_INPUT, "batch: %zu bytes too many", reader_left(&r));
	*ret = b;
	return 0;
}
