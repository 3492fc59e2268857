/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The draw by which a trace is chosen: from its id alone, so that all who see a part of the trace choose alike. The package
 * hone-otel-gate draws in the same way (npm/hone-otel-gate/gate.js), and a test compares both; libhone does where an agent says that its
 * callers are known (instrument/policy.h).
 */
#ifndef OTEL_SPANS_TRACE_DRAW_H
#define OTEL_SPANS_TRACE_DRAW_H

#include <stdint.h>

/* 0 to 1, without 1, by the low half of the trace's id: hone_policy_draw() / 2^32. O(1). */
double trace_draw(uint64_t trace_id);

#endif
