/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole connections on memory: any frames of HTTP/2, in any pieces. The shared budget holds and is whole again afterwards; the
 * output is bounded; calls are answered once at most. Input: a byte for the size of pieces; a byte of flags (1: the preface and
 * SETTINGS come first; 2: what follows are frames whose lengths are made right: type, flags, stream, length, payload); bytes.
 */
#include "otel/grpc/grpc_connection.h"
#include "tests/fuzz/common/fuzz.h"

enum { BODY_MAX = 1 << 16, BODIES_MAX = 1 << 18, OUTPUT_MAX = 1 << 20 };

/* A call with these header fields, without Huffman codes; its path is that of traces if `traces`. */
static void
put_head(struct buf *to, uint8_t flags, uint32_t stream, int traces)
{
	static const char path[] = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
	struct buf head = { 0 };

	buf_bytes(&head,
	    "\x83\x86\x01\1x\x0f\x10\x10"
	    "application/grpc\4",
	    25);
	buf_text(&head, path, traces ? sizeof path - 1 : 5);
	buf_u8(to, 0);
	buf_u8(to, (uint8_t)(head.len >> 8));
	buf_u8(to, (uint8_t)head.len);
	buf_u8(to, 1);
	buf_u8(to, flags);
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_u8(to, (uint8_t)(stream >> shift));
	buf_bytes(to, head.data, head.len);
	buf_release(&head);
}

/* Type 1 with flag 0x40, which means nothing: a head that is right. */
static void
put_frames(struct buf *to, const uint8_t *at, size_t len)
{
	while (len >= 4) {
		size_t n = at[3] < len - 4 ? at[3] : len - 4;

		if (at[0] == 1 && (at[1] & 0x40) != 0) {
			put_head(to, at[1] & 5, at[2], (at[3] & 1) != 0);
			n = 0;
		} else {
			buf_bytes(to, "\0\0", 2);
			buf_u8(to, (uint8_t)n);
			buf_bytes(to, at, 2);
			buf_bytes(to, "\0\0\0", 3);
			buf_u8(to, at[2]);
			buf_bytes(to, at + 4, n);
		}
		at += 4 + n;
		len -= 4 + n;
	}
}

static void
run(const struct buf *in, size_t piece)
{
	struct otel_source_options o = { { 1 << 20, 100, 1000000000, 1000000000 }, 1 << 16,
		1000000000, INT64_MAX / 8, INT64_MAX / 8 };
	struct span_bodies bodies = { 0, BODIES_MAX };
	struct grpc_service_options g = { BODY_MAX, &bodies, NULL };
	struct mono now = { INT64_MAX / 4 };
	struct grpc_connection *c;
	struct grpc_service *s;
	struct buf out = { 0 };
	struct err e;
	bool alive = true;

	check(otel_source_new(&g.source, &o, &e) == 0);
	otel_source_clocks(g.source, now, (struct wall){ now.ns }, now);
	check(grpc_service_new(&s, &g, &e) == 0 && grpc_connection_new(&c, s, &e) == 0);
	for (size_t i = 0; i < in->len && alive; i += piece) {
		alive = grpc_connection_take(
		    c, in->data + i, in->len - i < piece ? in->len - i : piece, now);
		do {
			buf_reset(&out);
			alive = grpc_connection_output(c, &out) && alive;
			check(out.len < OUTPUT_MAX);
		} while (out.len > 0);
		check(grpc_connection_open_calls(c) <= GRPC_STREAMS_MAX + 1);
		check(bodies.bytes <= BODIES_MAX + BODY_MAX * 4 + (64 << 10) * 3);
		check(grpc_connection_answered(c) <= grpc_service_stats(s)->calls);
	}
	grpc_connection_free(c);
	check(bodies.bytes == 0);
	grpc_service_free(s);
	otel_source_free(g.source);
	buf_release(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf in = { 0 };

	if (len < 3)
		return 0;
	if (data[1] & 1)
		buf_bytes(&in, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
	if (data[1] & 2)
		put_frames(&in, data + 2, len - 2);
	else
		buf_bytes(&in, data + 2, len - 2);
	run(&in, (size_t)data[0] + 1);
	buf_release(&in);
	return 0;
}
