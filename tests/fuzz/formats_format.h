/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fuzzing target of the format that FORMAT names: it gives sound traces, the same wherever the
 * window moves. */
#include "tests/fuzz/formats_traces.h"

extern const struct format FORMAT;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int sure = FORMAT.sniff((const char *)data, len);

	check(sure >= 0 && sure <= 100);
	check(seen_read(&FORMAT, data, len, 0) == seen_read(&FORMAT, data, len, 5));
	return 0;
}
