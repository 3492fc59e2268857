/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a message between hone-agent and hone-below: refused, or the same after being written again. */
#include "tests/fuzz/common/fuzz.h"
#include "wire/below.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf once = { 0 }, twice = { 0 };
	struct arena a = { 0 };
	struct below_message m;

	if (below_decode(&m, &a, data, len, NULL) == 0) {
		check(a.total_bytes <= 4 * len + 4096);
		below_encode(&m, &once);
		check(below_decode(&m, &a, once.data, once.len, NULL) == 0);
		below_encode(&m, &twice);
		check_same(&once, &twice);
	}
	arena_release(&a);
	return 0;
}
