/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any head and body of a request, in any pieces: the body's bytes are bounded and the same however it is cut; what is read of it
 * becomes records that a batch holds; the answer fits. Input: a byte of flags, a byte for the size of pieces, the body.
 */
#include "otel/http/span_body.h"
#include "otel/http/span_request.h"
#include "tests/fuzz/common/fuzz.h"
#include "wire/record.h"

enum { BODY_MAX = 1 << 16 };

static struct span_body *
receive(const uint8_t *data, size_t len, size_t piece, bool compressed, enum body_state *s,
    const void **out, size_t *out_len)
{
	struct span_body *b = span_body_new(BODY_MAX, compressed);

	check(b != NULL);
	for (size_t i = 0; i < len; i += piece) {
		span_body_add(b, data + i, len - i < piece ? len - i : piece);
		check(span_body_bytes(b) < 4 * BODY_MAX + (64 << 10) * 3);
	}
	*s = span_body_end(b, out, out_len);
	check(*out_len <= BODY_MAX && (*s == BODY_OK || *out_len == 0));
	return b;
}

/* Records are in order, have labels and as many values as these: so batch_decode() takes them back. */
static void
check_records(struct otel_source *s, struct mono now)
{
	struct source_output out;
	struct batch_writer w = { 0 };
	struct arena a = { 0 };
	const struct batch_label *labels;
	struct buf bytes = { 0 };
	struct batch b;
	struct err e;
	uint32_t n;

	check(otel_source_poll(s, now, true, &out, &e) == 0);
	labels = otel_source_labels(s, &n);
	batch_begin(&w);
	for (uint32_t i = 0; i < n; i++)
		batch_label(&w, (enum record_kind)labels[i].kind, labels[i].text, labels[i].len,
		    labels[i].fields, labels[i].nfields);
	for (uint32_t i = 0; i < out.nrecords; i++) {
		check(out.records[i].label < n &&
		      out.records[i].nvalues == labels[out.records[i].label].nfields);
		batch_record(&w, &out.records[i]);
	}
	for (uint32_t i = 0; i < out.nlosses; i++)
		batch_loss(&w, &out.losses[i]);
	check(batch_end(&w, out.watermark_ns, &bytes, &e) == 0);
	check(batch_decode(&b, &a, bytes.data, bytes.len, &e) == 0);
	check(b.nrecords == out.nrecords);
	arena_release(&a);
	buf_release(&bytes);
	batch_release(&w);
}

static void
check_source(const struct span_request *r, const void *body, size_t len)
{
	struct otel_source_options o = { { 1 << 20, 100, 1000000000, 1000000000 }, 1 << 16,
		1000000000, INT64_MAX / 8, INT64_MAX / 8 };
	struct want w = { .sampled = 1 };
	struct mono now = { INT64_MAX / 4 };
	struct otel_source *s;
	struct receipt receipt;
	struct buf reply = { 0 };
	struct err e;
	unsigned status;

	check(otel_source_new(&s, &o, &e) == 0);
	otel_source_clocks(s, now, (struct wall){ now.ns }, now);
	otel_source_sample(s, true);
	check(otel_source_want(s, &w, now, &e) == 0);
	check(otel_source_receive(s, r->format, body, len, now, &receipt, &e) == 0);
	status = span_reply(r, &receipt, &reply);
	if (r->otlp)
		check(status == (receipt.malformed ? 400 : 200));
	else
		check(status == 202 ||
		      (status == 400 && (receipt.malformed || receipt.rejected > 0)));
	check(status != 400 || receipt.taken + receipt.lost == 0);
	check(!receipt.malformed || receipt.taken == 0);
	buf_release(&reply);
	check_records(s, now);
	otel_source_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const types[] = { "application/json", "application/x-protobuf",
		"text/plain", NULL };
	struct request_head h = { "POST", "/v1/traces", NULL, NULL };
	struct span_request r;
	struct span_body *one, *many;
	enum body_state s, t;
	const void *out, *again;
	size_t n, m, piece;

	if (len < 2)
		return 0;
	h.content_type = types[data[0] & 3];
	h.content_encoding = data[0] & 4 ? "gzip" : NULL;
	h.path = data[0] & 8 ? "/api/v2/spans" : "/v1/traces";
	piece = (size_t)data[1] + 1;
	r = span_request_of(&h, (data[0] & 8) != 0);
	if (r.status != 0)
		return 0;
	one = receive(data + 2, len - 2, len, r.compressed, &s, &out, &n);
	many = receive(data + 2, len - 2, piece, r.compressed, &t, &again, &m);
	check(s == t && n == m && memcmp(out, again, n) == 0);
	if (s == BODY_OK)
		check_source(&r, out, n);
	span_body_free(one);
	span_body_free(many);
	return 0;
}
