/* SPDX-License-Identifier: MIT */
/*
 * Reads two headers; the result must be the same after being written and read again, but for `via`,
 * since a proxy's parent id is not written. The input is combined with valid headers (exclusive
 * or), so that an input of zeroes is a valid request.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "instrument/hone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
#define STATE "a=b , hone=00f067aa0ba902b7-123456783,c=d"

/* The text is in a block of exactly its size, so that a read past its end is detected. */
static char *
header(const char *valid, const uint8_t *data, size_t size)
{
	size_t len = strlen(valid);
	char *s = malloc(size + 1);

	if (s == NULL)
		abort();
	for (size_t i = 0; i < size; i++)
		s[i] = (char)((i < len ? valid[i] : '\0') ^ data[i]);
	s[size] = '\0';
	return s;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hone_carrier none;
	size_t rest = size - 1, first;
	char *parent, *state;
	char parent_out[HONE_TRACEPARENT_SIZE], state_out[HONE_TRACESTATE_SIZE];
	struct hone_carrier c, again;

	if (size == 0)
		return 0;
	first = data[0] < rest ? data[0] : rest;
	parent = header(PARENT, data + 1, first);
	state = first < rest ? header(STATE, data + 1 + first, rest - first) : NULL;
	if (hone_carrier_read(&c, parent, state) != 0) {
		assert(memcmp(&c, &none, sizeof c) == 0);
	} else {
		assert(c.trace_id != 0 && c.link_id != 0 && (hone_from_known(&c) || !c.sampled));
		assert(hone_traceparent(&c, parent_out) == sizeof parent_out - 1);
		hone_tracestate(&c, state_out);
		assert(hone_carrier_read(&again, parent_out, state_out) == 0);
		assert(again.via == 0);
		again.via = c.via;
		assert(memcmp(&c, &again, sizeof c) == 0);
	}
	free(parent);
	free(state);
	return 0;
}
