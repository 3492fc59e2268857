/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records on their way from what reads them (agent/reader/source.h) into batches (agent/link/pack.h). */
#ifndef WIRE_SOURCE_OUTPUT_H
#define WIRE_SOURCE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/record.h"

/* What one poll returns. The arrays and all that they point to are valid until the next poll. */
struct source_output {
	const struct record *records; /* in time order; label: an index into labels() */
	uint32_t nrecords;
	uint32_t nlate; /* the first nlate records are at or before an earlier watermark */
	const struct loss *losses; /* each with count > 0 and from_ns <= to_ns */
	uint32_t nlosses;
	int64_t watermark_ns; /* CLOCK_MONOTONIC; never decreases */
	bool more;            /* a limit was reached: poll again without waiting */
};

#endif
