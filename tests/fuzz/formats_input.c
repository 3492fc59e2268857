/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a file, plain or gzip: content and final status do not depend on where the window
 * moves. */
#include "formats/input.h"
#include "tests/fuzz/common/fuzz.h"

enum { MOST_BYTES = 8 << 20 }; /* a few bytes of gzip can expand to very many */

/* Takes `step` bytes at a time; returns a hash of all bytes. */
static uint64_t
read_all(const uint8_t *data, size_t len, size_t piece, size_t step, bool hold, int *rc)
{
	struct input in;
	struct err e;
	uint64_t hash = 0, n = 0;

	check(input_memory(&in, data, len, piece, &e) == 0);
	if (hold)
		input_hold(&in);
	do {
		while ((size_t)(in.end - in.at) >= step && n < MOST_BYTES) {
			for (size_t i = 0; i < step; i++, n++)
				hash = hash * 31 + (uint8_t)in.at[i];
			in.at += step;
			check(input_offset(&in) == n);
		}
		for (int i = 0; i < INPUT_PAD_BYTES; i++)
			check(in.end[i] == 0);
	} while (n < MOST_BYTES && (*rc = input_more(&in, &e)) == 0);
	for (; in.at < in.end && n < MOST_BYTES; n++)
		hash = hash * 31 + (uint8_t)*in.at++;
	if (n >= MOST_BYTES)
		*rc = 0;
	if (hold)
		input_release(&in);
	input_close(&in);
	return hash;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int rc = 0, again = 0;
	uint64_t hash = read_all(data, len, 0, 1, false, &rc);

	/* How many bytes zlib delivers before damage depends on how many are requested. */
	check(
	    (read_all(data, len, 61, 1, false, &again) == hash || rc == ERR_INPUT) && again == rc);
	check((read_all(data, len, 4096, 512, true, &again) == hash || rc == ERR_INPUT) &&
	      again == rc);
	return 0;
}
