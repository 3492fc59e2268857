/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as Jaeger's JSON: sound traces, the same wherever the window moves. */
#include "tests/fuzz/formats_traces.h"

extern const struct format format_jaeger;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int sure = format_jaeger.sniff((const char *)data, len);

	check(sure >= 0 && sure <= 100);
	check(seen_read(&format_jaeger, data, len, 0) == seen_read(&format_jaeger, data, len, 5));
	return 0;
}
