/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stage behind a source that makes requests of programs without libhone: records of mapped
 * programs (mapping/map.h) come out with trace and unit, and with records that begin and end a
 * request; all other records pass unchanged. The stage is a source itself, in time order, with the
 * watermark of the inner one.
 *
 * Tracepoints of mapped programs are enabled without a filter, so the choice of requests is made
 * here: records of a request that is not sampled are dropped, and of one that is not probed all but
 * those that the mapping names. What comes out is what a program with libhone would have written.
 *
 * Where records were lost, the requests that were open in mapped programs are given up, as are
 * those of a process that died: such a request begins and never ends, and is no evidence.
 */
#ifndef AGENT_READER_SOURCE_MAPPED_H
#define AGENT_READER_SOURCE_MAPPED_H

#include "agent/reader/mapped_options.h"
#include "agent/reader/source.h"
#include "mapping/map.h"

/* Takes ownership of *inner, also on failure (then it is closed); maps must outlive *ret. Inner
 * must have been opened with options.wants_outside = source_mapped_wants. Memory grows with the
 * number of open requests and labels only. Cost: some 0.1 us for each record of a mapped program
 * beside the mapper, some 10 ns for each other record (bench/agent_reader_mapped.c). ERR_MEMORY. */
int source_mapped_open(struct source *ret, const struct source *inner, const struct maps *maps,
    const struct mapped_options *options, struct err *e);

/* Until until_ns only some of the tracepoints that mappings name were enabled: requests that are
 * open then are given up. Has no effect on a source of another type. */
void source_mapped_gap(struct source *s, int64_t until_ns);

/* For source_options.wants_outside: whether a program of this name has a mapping. `maps` is a
 * struct maps. */
bool source_mapped_wants(void *maps, const char *service);

#endif
