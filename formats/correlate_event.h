/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An event of a tracer, before it is known to which request it belongs. */
#ifndef FORMATS_CORRELATE_EVENT_H
#define FORMATS_CORRELATE_EVENT_H

#include "formats/reading.h"

struct tracer_event {
	int64_t time_ns; /* on a clock that all events of its node share */
	uint32_t node;   /* from reading_node(); below 4096 */
	uint32_t pid, tid;
	bool has_tid, has_context;
	uint64_t trace_id, unit_id; /* valid if has_context */
	struct text_view service;
	struct text_view name; /* "provider:event" */
	uint32_t nfields;      /* at most RECORD_VALUES_MAX */
	const char *const *fields;
	const struct value *values;
};

#endif
