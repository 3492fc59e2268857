/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as a stream of frames, which the reader splits; and any bytes as a payload, which must
 * be the same after it was sealed and opened.
 */
#include "tests/fuzz/common/fuzz.h"
#include "wire/frame.h"

static void
take_apart(const uint8_t *data, size_t len)
{
	struct frame f;

	while (len >= FRAME_HEADER_BYTES && frame_open(&f, data, NULL) == 0) {
		check(f.version == FRAME_VERSION && strcmp(frame_kind_name(f.kind), "?") != 0);
		if (f.length > len - FRAME_HEADER_BYTES ||
		    frame_check(&f, data, data + FRAME_HEADER_BYTES, NULL) != 0)
			break;
		data += FRAME_HEADER_BYTES + f.length;
		len -= FRAME_HEADER_BYTES + f.length;
	}
}

static void
seal(const uint8_t *data, size_t len)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame f;

	frame_seal(header, FRAME_ANSWER, len, data, len);
	check(frame_open(&f, header, NULL) == 0);
	check(f.length == len && f.seq == len && f.kind == FRAME_ANSWER);
	check(frame_check(&f, header, data, NULL) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	take_apart(data, len);
	seal(data, len);
	return 0;
}
