/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which processes wrote records, so that the requests that a process leaves open are given up after
 * its death, and not before its last record has been delivered. */
#ifndef AGENT_READER_MAPPED_PROCESSES_H
#define AGENT_READER_MAPPED_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/reader/source.h"

struct mapped_source;

/* A process has written a record. False: out of memory. */
bool mapped_processes_add(struct mapped_source *s, uint32_t program, uint32_t pid);
/* Marks as dead the processes that are not in the list of live ones. Everything that they wrote is
 * before the time of the last poll. */
void mapped_processes_update(struct mapped_source *s, const struct source_stats *stats);
/* Gives up the open requests of dead processes whose last record is before the watermark. */
void mapped_processes_end(struct mapped_source *s, int64_t watermark_ns);
/* Gives up the open requests of all processes: records of them may be lost. */
void mapped_give_up(struct mapped_source *s);
void mapped_processes_release(struct mapped_source *s);

#endif
