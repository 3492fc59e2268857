/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as want and as done: refused, or the same after being written again. */
#include "tests/fuzz/common/fuzz.h"
#include "wire/toggle.h"

static void
try_want(const uint8_t *data, size_t len)
{
	struct buf once = { 0 }, twice = { 0 };
	struct arena a = { 0 };
	struct want w;
	int rc = want_decode(&w, &a, data, len, NULL);

	check(a.total_bytes <= 64 * len + 4096);
	if (rc == 0) {
		check(w.ntoggles <= TOGGLES_MAX && w.nrates <= RATES_MAX &&
		      w.nbelow <= WANT_BELOW_MAX && w.nrecorder <= WANT_RECORDER_MAX &&
		      w.sampled >= 0 && w.sampled <= 1);
		want_encode(&w, &once);
		check(want_decode(&w, &a, once.data, once.len, NULL) == 0);
		want_encode(&w, &twice);
		check_same(&once, &twice);
	}
	arena_release(&a);
}

static void
try_done(const uint8_t *data, size_t len)
{
	struct buf once = { 0 }, twice = { 0 };
	struct arena a = { 0 };
	struct done d;
	int rc = done_decode(&d, &a, data, len, NULL);

	check(a.total_bytes <= 64 * len + 4096);
	if (rc == 0) {
		done_encode(&d, &once);
		check(done_decode(&d, &a, once.data, once.len, NULL) == 0);
		done_encode(&d, &twice);
		check_same(&once, &twice);
	}
	arena_release(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	try_want(data, len);
	try_done(data, len);
	return 0;
}
