/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as text of ftrace: sound events in the order of time, the same wherever the window moves. */
#include "tests/fuzz/kernel_files_seen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int sure = recording_ftrace_sniff((const char *)data, len);

	check(sure >= 0 && sure <= 100);
	check(seen_read(recording_ftrace_open, NULL, data, len, 0) ==
	      seen_read(recording_ftrace_open, NULL, data, len, 5));
	return 0;
}
