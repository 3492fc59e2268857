/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any spans: the resulting traces are valid for any parents and times. Each span is 8 bytes: trace,
 * id, parent, flags, begin, duration, name, attribute. */
#include "tests/fuzz/formats_traces.h"

enum { SPAN_BYTES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Mostly small and often equal times; some are far away. */
static int64_t
time_of(uint8_t b)
{
	return b < 240   ? b * 4
	       : b < 248 ? (int64_t)1 << (b - 240 + 54)
	                 : -((int64_t)1 << (b - 248 + 54));
}

static void
add(struct seen *s, const uint8_t b[SPAN_BYTES])
{
	static const char names[] = "ab/(\xc3\xbc\xff\0d";
	static const char *const nodes[] = { "", "n1", "n2", "n3" };
	struct attribute a = { &names[b[7] % 4], 1 + b[7] % 3,
		{ .type = b[7] % 5, .len = b[7] / 4 % 4, .i = b[6] } };
	const char *node = nodes[b[3] >> 2 & 3];
	struct span span = { .trace = { 0, b[0] % 3u },
		.id = b[1],
		.parent = b[2],
		.has_parent = (b[3] & 1) != 0,
		.follows = (b[3] & 2) != 0,
		.failed = (b[3] & 16) != 0,
		.nattributes = (b[3] & 32) != 0,
		.attributes = &a,
		.begin_ns = time_of(b[4]),
		.service = { names + b[6] % 5, b[6] % 3u },
		.name = { names + b[6] % 7, b[6] % 4u },
		.node = { node, (uint32_t)strlen(node) } };
	struct err e;

	if (a.value.type == VALUE_TEXT)
		a.value.text = names;
	span.end_ns = (b[3] & 64) != 0 ? time_of(b[5]) : span.begin_ns / 2 + b[5];
	check(reading_span(s->r, &span, &e) == 0);
	if (b[3] >= 254)
		check(reading_complete(s->r, span.trace, &e) == 0);
	if (b[3] == 253)
		reading_lossy(s->r, span.trace);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct seen s;

	seen_begin(&s, len % 2 == 0 ? 0 : 1500);
	for (; len >= SPAN_BYTES; data += SPAN_BYTES, len -= SPAN_BYTES)
		add(&s, data);
	seen_end(&s);
	return 0;
}
