/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any body of a call, in any pieces: the message and its refusal are the same however it is cut, and bounded. Input: a byte of
 * flags, a byte for the size of pieces, the body.
 */
#include "otel/grpc/grpc_call.h"
#include "tests/fuzz/common/fuzz.h"

enum { BODY_MAX = 1 << 16 };

static struct grpc_refusal
receive(struct grpc_message *m, const uint8_t *data, size_t len, size_t piece,
    enum grpc_encoding encoding, const void **out, size_t *out_len)
{
	struct grpc_refusal r = { 0 };

	grpc_message_begin(m, BODY_MAX, encoding);
	for (size_t i = 0; i < len && r.why == NULL; i += piece) {
		r = grpc_message_add(m, data + i, len - i < piece ? len - i : piece);
		check(grpc_message_bytes(m) < 4 * BODY_MAX + (64 << 10) * 3);
	}
	*out_len = 0;
	if (r.why == NULL)
		r = grpc_message_end(m, out, out_len);
	check(r.http == 200 && (r.why == NULL) == (r.code == GRPC_OK));
	check(*out_len <= BODY_MAX);
	return r;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct grpc_message one, many;
	struct grpc_refusal r, s;
	const void *out = "", *again = "";
	enum grpc_encoding encoding;
	size_t n, m;

	if (len < 3)
		return 0;
	encoding = data[0] & 1 ? GRPC_COMPRESSED : GRPC_IDENTITY;
	r = receive(&one, data + 2, len - 2, len, encoding, &out, &n);
	s = receive(&many, data + 2, len - 2, (size_t)data[1] + 1, encoding, &again, &m);
	check(r.code == s.code && n == m && memcmp(out, again, n) == 0);
	grpc_message_release(&one);
	grpc_message_release(&many);
	return 0;
}
