/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels of made-up traces: the structure of a request, and points whose names are begins, ends, or look so. */
#ifndef TESTS_FUZZ_COMMON_KNOWN_POINTS_H
#define TESTS_FUZZ_COMMON_KNOWN_POINTS_H

#include "wire/record.h"

enum { LABELS = 16 };

static const struct {
	enum record_kind kind;
	const char *text;
} known[LABELS] = {
	{ RECORD_REQUEST_BEGIN, "s/hone:request_begin(A)" },
	{ RECORD_REQUEST_END, "s/hone:request_end(A)" },
	{ RECORD_UNIT_BEGIN, "s/hone:unit_begin(u)" },
	{ RECORD_UNIT_END, "s/hone:unit_end(u)" },
	{ RECORD_FORK, "s/hone:fork(u)" },
	{ RECORD_JOIN, "s/hone:join(u)" },
	{ RECORD_POINT, "s/p:a" },
	{ RECORD_POINT, "s/p:b" },
	{ RECORD_POINT, "s/p:x_begin" },
	{ RECORD_POINT, "s/p:x_end" },
	{ RECORD_POINT, "s/p:y_enter" },
	{ RECORD_POINT, "s/p:y_exit" },
	{ RECORD_POINT, "s/p:y_leave" },
	{ RECORD_POINT, "s/p:_end" },
	{ RECORD_POINT, "s/_start" },
	{ RECORD_POINT, "t/p:x_end" },
};

#endif
