/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report as the analysis document (docs/report.md), in JSON. */
#ifndef REPORT_DOCUMENT_H
#define REPORT_DOCUMENT_H

#include <jansson.h>

#include "base/clock.h"
#include "report/report.h"

enum { DOCUMENT_VERSION = 1, DOCUMENT_SAMPLES_MAX = 400 };

struct document_options {
	struct wall made;
	json_t *source; /* what becomes "source"; taken, also on failure */
	bool samples;   /* with samples, for pictures */
	uint32_t label; /* only this request type; LABEL_NONE: all */
};

/* The whole document, of what report_judge() said last; groups that it did not look into have their
 * measures only. The caller's to json_decref(). NULL: out of memory. Names that are not UTF-8 are
 * shown with '?'. O(groups x (edges + samples)). */
json_t *document_new(const struct report *r, const struct document_options *o);

/* That this is such a document, and of a version that we read. `name` is for the words. ERR_INPUT,
 * ERR_VERSION. */
int document_check(const json_t *document, const char *name, struct err *e);

/* ---- pieces that others print with too ---- */

/* JSON takes UTF-8 only: other texts get '?' for each byte beyond ASCII. NULL: out of memory. */
json_t *text_json(const char *s, size_t len);
json_t *number_json(double x);                      /* null where it is no number */
json_t *trace_id_json(uint64_t high, uint64_t low); /* 32 or 16 hex digits */
json_t *wall_json(struct wall w);                   /* "2026-11-21T04:18:26.123Z"; null at 0 */

#endif
