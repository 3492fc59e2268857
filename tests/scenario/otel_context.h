/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_SCENARIO_OTEL_CONTEXT_H
#define TESTS_SCENARIO_OTEL_CONTEXT_H

#include <stdint.h>

struct otel_record {
	uint8_t trace_id[16], span_id[8], valid, reserved;
	uint16_t attributes_bytes;
};

void otel_context_set(struct otel_record *r);

#endif
