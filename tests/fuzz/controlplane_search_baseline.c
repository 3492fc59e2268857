/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A baseline as text, of a database that somebody else may have written: what is read is printed, and read again as the same. */
#include <stdlib.h>
#include <string.h>

#include "controlplane/search/baseline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena a = { 0 };
	struct buf text = { 0 }, again = { 0 };
	struct baseline b, c;
	char *copy = malloc(len + 1);

	if (copy == NULL)
		return 0;
	memcpy(copy, data, len);
	copy[len] = '\0';
	if (baseline_read(&b, copy, &a)) {
		baseline_print(&b, &text);
		buf_u8(&text, 0);
		if (!text.failed && baseline_read(&c, (char *)text.data, &a)) {
			baseline_print(&c, &again);
			if (c.nedges > b.nedges || again.len != text.len - 1)
				abort();
		}
		for (uint32_t i = 0; i < b.nedges; i++) {
			struct more m = baseline_more(
			    &b, &b, b.edges[i].from, b.edges[i].to, b.edges[i].handed_over);

			if (m.part < 0 || m.part > 1 || m.low < 0 || m.low > 1)
				abort();
		}
	}
	buf_release(&text);
	buf_release(&again);
	free(copy);
	arena_release(&a);
	return 0;
}
