/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/trace_draw.h"

#include "instrument/policy.h"

double
trace_draw(uint64_t trace_id)
{
	return (double)hone_policy_draw(trace_id) * 0x1p-32;
}
