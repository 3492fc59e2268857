/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the file of log levels: refused, or rules that are the same after being written and read again. */
#include <stdio.h>

#include "base/buf.h"
#include "controlplane/honed/levels_keeper.h"
#include "tests/fuzz/common/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct level_rules r = { 0 }, again = { 0 };
	struct buf b = { 0 };

	if (levels_read(&r, "file", (const char *)data, len, NULL) != 0) {
		check(r.n == 0);
		return 0;
	}
	check(r.n <= LEVEL_RULES_MAX);
	for (uint32_t i = 0; i < r.n; i++)
		buf_printf(&b, "%s %s\n", loglevel_word(r.items[i].level), r.items[i].pattern);
	check(levels_read(&again, "file", (const char *)b.data, b.len, NULL) == 0);
	check(again.n == r.n && memcmp(again.items, r.items, r.n * sizeof r.items[0]) == 0);
	buf_release(&b);
	return 0;
}
