/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of all streams in one time order. */
#ifndef AGENT_READER_RECORD_MERGE_H
#define AGENT_READER_RECORD_MERGE_H

#include <stdint.h>

#include "base/err.h"

struct lttng_source;

/* Appends the records of all streams up to until_ns to src->records, in time order, at most
 * options.records_max. *reached_ns: the time up to which that is complete. ERR_MEMORY: the record
 * that did not fit is counted as lost. O(n log streams). */
int record_merge(struct lttng_source *src, int64_t until_ns, int64_t *reached_ns, struct err *e);

#endif
