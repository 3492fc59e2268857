/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a program with USDT notes: what is found lies in the file, has terminated names, and can be priced and probed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "below/probes/probe_price.h"
#include "below/probes/usdt_notes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* As a function in two parts: what is probed is in these. */
static void
try_function(const uint8_t *code, size_t len)
{
	const struct code_part parts[] = { { 0x1000, code, len / 2 },
		{ 0x9000, code + len / 2, len - len / 2 } };
	uint64_t exits[8], missing;
	enum probe_way way;
	uint32_t at;
	int n = probe_exits_of(parts, 2, exits, 8, &missing);

	if (probe_entry_of(code, len, &at, &way) && (at >= len || way == PROBE_NO_CODE))
		abort();
	if (n > 8 || (n >= 0 && missing != 0))
		abort();
	for (int i = 0; i < n; i++)
		if (exits[i] - 0x1000 >= parts[0].len && exits[i] - 0x9000 >= parts[1].len)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct usdt_argument arguments[USDT_ARGUMENTS_MAX];
	struct arena a = { 0 };
	struct usdt_notes n;
	struct err e;
	uint32_t at;

	if (usdt_notes_read(&n, data, len, &a, &e) == 0)
		for (uint32_t i = 0; i < n.count; i++) {
			const struct usdt_probe *p = &n.probes[i];

			if (p->offset >= len || p->semaphore_offset >= len || p->name[0] == '\0' ||
			    strlen(p->name) > USDT_NAME_MAX ||
			    usdt_arguments(arguments, p->arguments) > USDT_ARGUMENTS_MAX)
				abort();
			if (probe_price_of(data + p->offset, len - p->offset).length >
			    len - p->offset)
				abort();
		}
	arena_release(&a);
	if (probe_place_of(data, len < 400 ? len : 400, len % 2 == 0, &at) && at >= len)
		abort();
	try_function(data, len < 400 ? len : 400);
	return 0;
}
