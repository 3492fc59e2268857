/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Missing records of mapped programs. */
#ifndef AGENT_READER_MAPPED_LOSSES_H
#define AGENT_READER_MAPPED_LOSSES_H

#include <stdint.h>

struct mapped_source;

/* Reports `count` records that this stage could not keep. */
void mapped_losses_report(struct mapped_source *s, uint64_t count, int64_t from_ns, int64_t to_ns);
/* Records up to to_ns may be missing: once records have reached that time, the requests that are
 * open then are given up, since their end may be missing. If LOSSES_MAX are pending, the last one
 * is extended. */
void mapped_losses_add(struct mapped_source *s, int64_t to_ns);
/* Records have reached time_ns. */
void mapped_losses_reached(struct mapped_source *s, int64_t time_ns);

#endif
