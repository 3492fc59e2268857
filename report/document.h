/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a report as the analysis document (docs/report.md), in JSON. */
#ifndef REPORT_DOCUMENT_H
#define REPORT_DOCUMENT_H

#include <jansson.h>

#include "base/clock.h"
#include "report/report.h"

enum { DOCUMENT_VERSION = 1, DOCUMENT_SAMPLES_MAX = 400 };

struct document_options {
	struct wall made;
	json_t *source; /* becomes the member "source"; ownership passes also on failure */
	bool samples;   /* include samples, for charts */
	uint32_t label; /* of the only request type to write; LABEL_NONE: all */
	/* What makes times since 1970 of the traces' times. */
	int64_t wall_offset_ns;
};

/* Returns the document of the last report_judge(); groups beyond its `details` have only their
 * moments and shares. The caller's to json_decref(). NULL: out of memory. Bytes that are not UTF-8
 * become '?'. O(groups x (edges + samples)). */
json_t *document_new(const struct report *r, const struct document_options *o);

/* Checks that this is an analysis document of a version that we read. `name` is for the error's text.
 * ERR_INPUT, ERR_VERSION. */
int document_check(const json_t *document, const char *name, struct err *e);

/* ---- values, also for other writers of JSON ---- */

/* JSON takes UTF-8 only: in other texts each byte beyond ASCII becomes '?'. NULL: out of memory. */
json_t *text_json(const char *s, size_t len);
json_t *number_json(double x);                      /* null if x is not finite */
json_t *trace_id_json(uint64_t high, uint64_t low); /* 32 or 16 hex digits */
json_t *wall_json(struct wall w);                   /* "2026-11-21T04:18:26.123Z"; null at 0 */

#endif
