/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a message between hone-agent and hone-below: refused, or the same after being written again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/below.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
check(int ok)
{
	if (!ok)
		abort();
}

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
		check(!once.failed && once.len == twice.len &&
		      memcmp(once.data, twice.data, once.len) == 0);
	}
	buf_release(&once);
	buf_release(&twice);
	arena_release(&a);
	return 0;
}
