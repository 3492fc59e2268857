/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/trace_draw.h"

#define SALT 0x6f74656cu

static uint32_t
mix(uint32_t h)
{
	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}

double
trace_draw(uint64_t trace_id)
{
	uint32_t low = (uint32_t)trace_id, high = (uint32_t)(trace_id >> 32);

	return (double)mix(mix(low ^ SALT) ^ high) * 0x1p-32;
}
