/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request (docs/questions.md, REQUEST) as spans: one for each unit, with its fields as attributes, its other records as events, and what
 * Hone found about it as attributes "hone.*" (docs/export.md).
 */
#ifndef CLI_EXPORT_EXPORTED_H
#define CLI_EXPORT_EXPORTED_H

#include <jansson.h>

#include "base/arena.h"
#include "base/err.h"
#include "formats/trace_span.h"

enum { EXPORTED_NONE = UINT32_MAX, EXPORTED_ATTRIBUTES_MAX = 60 }; /* readers take 64 */

struct exported_unit {
	struct span span; /* times since 1970 */
	uint32_t parent;  /* index; EXPORTED_NONE */
	int64_t path_ns;  /* of the critical path, in this unit */
};

struct exported {
	struct trace_id trace;
	struct text_view type;
	int64_t begin_ns, end_ns; /* since 1970 */
	uint32_t n;
	struct exported_unit *units; /* [n], each after its parent unless the parent is missing */
	uint64_t
	    left_off; /* attributes beyond EXPORTED_ATTRIBUTES_MAX, and records of units beyond the end of memory */
	struct arena arena;
};

/* Texts are copied. *ret is to be released, also after a failure. A unit without an end ends with its last record. ERR_INPUT: it is no request,
 * as of a honed of another version; ERR_MEMORY. O(size). */
int exported_of(struct exported *ret, const json_t *request, struct err *e);
void exported_release(struct exported *x);

#endif
