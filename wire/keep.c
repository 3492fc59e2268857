/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * uint and int are varints, text is a varint length and bytes (base/buf.h).
 *
 *	keep  number uint | trace u64 | from int, ns | to int, ns
 *	kept  number uint | trace u64 | result u8 | rings uint | overwritten uint | unlisted uint | undecoded uint | cut uint |
 *	      horizon int, ns | failure text | batch: the rest
 */
#include "wire/keep.h"

#include <assert.h>

#include "wire/message_fields.h"

const char *
kept_result_word(enum kept_result r)
{
	static const char *const WORDS[KEPT_RESULTS] = { "read", "no-recorder", "refused",
		"unreadable", "busy", "silent" };

	assert((unsigned)r < KEPT_RESULTS);
	return WORDS[r];
}

void
keep_encode(const struct keep *k, struct buf *b)
{
	buf_uint(b, k->number);
	buf_u64(b, k->trace_id);
	buf_int(b, k->from_ns);
	buf_int(b, k->to_ns);
}

int
keep_decode(struct keep *ret, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	struct keep k;
	int rc;

	assert(ret != NULL && (data != NULL || len == 0));
	k.number = read_uint(&r);
	k.trace_id = read_u64(&r);
	k.from_ns = read_int(&r);
	k.to_ns = read_int(&r);
	if ((rc = take_end(&r, "keep", e)) != 0)
		return rc;
	if (k.trace_id == 0 || k.from_ns > k.to_ns)
		return err_set(
		    e, ERR_INPUT, "keep: no trace id, or a time that ends before it begins");
	*ret = k;
	return 0;
}

void
kept_encode(const struct kept *k, struct buf *b)
{
	assert(k->batch_len <= KEPT_BATCH_MAX);
	buf_uint(b, k->number);
	buf_u64(b, k->trace_id);
	buf_u8(b, k->result);
	buf_uint(b, k->rings);
	buf_uint(b, k->overwritten);
	buf_uint(b, k->unlisted);
	buf_uint(b, k->undecoded);
	buf_uint(b, k->cut);
	buf_int(b, k->horizon_ns);
	put_name(b, k->failure, KEPT_FAILURE_MAX);
	if (k->batch_len > 0)
		buf_bytes(b, k->batch, k->batch_len);
}

int
kept_decode(struct kept *ret, struct arena *a, const void *data, size_t len, struct err *e)
{
	struct reader r = reader_of(data, len);
	uint64_t rings, overwritten, unlisted;
	struct kept k = { 0 };
	int rc;

	assert(ret != NULL && (data != NULL || len == 0));
	k.number = read_uint(&r);
	k.trace_id = read_u64(&r);
	k.result = read_u8(&r);
	rings = read_uint(&r);
	overwritten = read_uint(&r);
	unlisted = read_uint(&r);
	k.undecoded = read_uint(&r);
	k.cut = read_uint(&r);
	k.horizon_ns = read_int(&r);
	if (r.failed || k.result >= KEPT_SILENT || rings > UINT32_MAX || overwritten > rings ||
	    unlisted > UINT32_MAX)
		return err_set(
		    e, ERR_INPUT, "kept: cut off, or its result or a number of rings out of range");
	if ((rc = take_text(&k.failure, &r, a, KEPT_FAILURE_MAX)) != 0)
		return err_set(e, rc, "kept: the text of its failure is cut off or too long");
	k.batch_len = reader_left(&r);
	k.batch = k.batch_len > 0 ? r.at : NULL;
	if (k.batch_len > KEPT_BATCH_MAX || (k.result != KEPT_READ && k.batch_len > 0))
		return err_set(e, ERR_INPUT, "kept: %zu bytes of records%s", k.batch_len,
		    k.result != KEPT_READ ? " that were not read" : "");
	k.rings = (uint32_t)rings;
	k.overwritten = (uint32_t)overwritten;
	k.unlisted = (uint32_t)unlisted;
	*ret = k;
	return 0;
}
