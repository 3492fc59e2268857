/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any sequences: their closed patterns occur as often as said, none contains another one of the same support, and the work is bounded. */
#include <stdlib.h>
#include <string.h>

#include "kernel/patterns/mine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEQUENCES = 16, WORK = 1 << 15 };

static void
must(int ok)
{
	if (!ok)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mine_sequence s[SEQUENCES];
	struct mine_options o = { .work_max = WORK, .nodes_max = 300 };
	struct mine_result r;
	struct arena a = { 0 };
	struct err e = { 0 };
	uint32_t n = 0, at[MINE_LENGTH_MAX];
	int rc;

	if (size < 3)
		return 0;
	o.gap_min = data[0] % 4;
	o.gap_max = o.gap_min + data[1] % 4;
	o.support = (data[2] % 100 + 1) / 100.0;
	data += 3;
	size -= 3;
	while (n < SEQUENCES && size > 1) { /* a length, then the items */
		uint32_t len = data[0] < size - 1 ? data[0] : (uint32_t)size - 1;

		s[n] = (struct mine_sequence){ data + 1, len, 1 + (uint64_t)(data[0] >> 5) };
		n++;
		data += 1 + len;
		size -= 1 + len;
	}
	rc = mine_closed(&r, s, n, &o, &a, &e);
	must(rc == 0 || ((rc == ERR_FULL || rc == ERR_INPUT) && r.n == 0 && e.text[0] != '\0'));
	/* one turn of grow() is at most MINE_ITEMS x (gaps + 3) passes over the words beyond the bound */
	must(r.work <= WORK + (uint64_t)MINE_ITEMS * 64 * 256);
	for (uint32_t i = 0; i < r.n; i++) {
		const struct mined *p = &r.patterns[i];
		uint64_t support = 0;

		for (uint32_t k = 0; k < n; k++)
			if (mine_match(
				at, p->items, p->len, s[k].items, s[k].len, o.gap_min, o.gap_max))
				support += s[k].weight;
		must(support == p->support);
		must((double)support >= o.support * (double)r.weight * (1 - 1e-8));
		for (uint32_t k = 0; k < i && i < 200; k++)
			must(
			    r.patterns[k].support != p->support ||
			    !mine_within(p->items, p->len, r.patterns[k].items, r.patterns[k].len));
	}
	arena_release(&a);
	return 0;
}
