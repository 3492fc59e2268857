/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of `hone check`, of live traffic and of trace files: how forks, units and requests pair, and
 * the mistakes in the instrumentation (docs/questions.md, check). */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H

#include <jansson.h>

#include "analysis/mistake.h"

struct check_options {
	const char *type;        /* only this request type, "name" or "service/name"; NULL: all */
	double seconds;          /* of which the requests are; NAN: not known */
	uint64_t spans;          /* that the traces are made of; 0: of records */
	const char *const *idle; /* see mistakes_find(); NULL: no programs are known */
	/* Whether requests at the label come, or may come, from a mapping. NULL: none does. */
	bool (*is_mapped)(const void *ctx, const struct label *l);
	const void *ctx;
};

/* A new reference, or NULL: out of memory. O(rows) beside mistakes_find(). */
json_t *check_json(
    const struct place_table *facts, const struct labels *labels, const struct check_options *o);

#endif
