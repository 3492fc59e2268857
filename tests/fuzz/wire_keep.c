/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as keep and as kept: refused, or the same after being written again. */
#include "tests/fuzz/common/fuzz.h"
#include "wire/keep.h"

static void
try_keep(const uint8_t *data, size_t len)
{
	struct buf once = { 0 }, twice = { 0 };
	struct keep k;

	if (keep_decode(&k, data, len, NULL) != 0)
		return;
	check(k.trace_id != 0 && k.from_ns <= k.to_ns);
	keep_encode(&k, &once);
	check(keep_decode(&k, once.data, once.len, NULL) == 0);
	keep_encode(&k, &twice);
	check_same(&once, &twice);
}

static void
try_kept(const uint8_t *data, size_t len)
{
	struct buf once = { 0 }, twice = { 0 };
	struct arena a = { 0 };
	struct kept k;
	int rc = kept_decode(&k, &a, data, len, NULL);

	check(a.total_bytes <= 64 * len + 4096);
	if (rc == 0) {
		check(k.result < KEPT_SILENT && k.overwritten <= k.rings && k.batch_len <= len);
		kept_encode(&k, &once);
		check(kept_decode(&k, &a, once.data, once.len, NULL) == 0);
		kept_encode(&k, &twice);
		check_same(&once, &twice);
	}
	arena_release(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	try_keep(data, len);
	try_kept(data, len);
	return 0;
}
