/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What fuzz targets share: a promise that does not hold ends the process, and libFuzzer keeps the input. */
#ifndef TESTS_FUZZ_COMMON_FUZZ_H
#define TESTS_FUZZ_COMMON_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static inline void
check(bool ok)
{
	if (!ok)
		abort();
}

/* What was read and written once, and again: the same bytes. Releases both. */
static inline void
check_same(struct buf *once, struct buf *twice)
{
	check(!once->failed && !twice->failed && once->len == twice->len &&
	      (once->len == 0 || memcmp(once->data, twice->data, once->len) == 0));
	buf_release(once);
	buf_release(twice);
}

#endif
