/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A source of requests of programs that know nothing of Hone, behind one of
 * records: what tracepoints of mapped programs say (mapping/map.h) comes out with
 * trace and unit, and with the records that begin and end a request; all else
 * as it went in. In time order, with the same watermark.
 *
 * Such a program's tracepoints have no filter, so which requests are followed is decided
 * here: a request that is not sampled is dropped, record by record, and one
 * that is not probed keeps only what its mapping names. So what comes out is what
 * a program with libhone would have written.
 *
 * Where records were lost, what was open in mapped programs then is given up, as is what a process
 * leaves open that dies: such a request begins and never ends, and is no evidence.
 */
#ifndef AGENT_READER_SOURCE_MAPPED_H
#define AGENT_READER_SOURCE_MAPPED_H

#include "agent/reader/source.h"
#include "mapping/map.h"

enum mapped_choice { MAPPED_NOT, MAPPED_SAMPLED, MAPPED_PROBED };

struct mapped_options {
	enum mapped_choice (*choose)(
	    void *of, const char *type); /* of a request that begins; NULL: all are probed */
	void *of;
	uint64_t seed;         /* of the requests' ids */
	uint32_t requests_max; /* open at a time, of each program; 0: as in mapping/mapper.h */
};

/* inner belongs to *ret, also when this fails (then it is closed); maps must outlive it. Inner's
 * records are as source_lttng.c makes them with options.maps = source_maps_has. Takes no memory for
 * a record once as many requests and labels were seen. Some 0.1 us for each record of a mapped
 * program beside the mapper, some 10 ns for each other one (bench/agent_reader_mapped.c).
 * ERR_MEMORY. */
int source_mapped_open(struct source *ret, const struct source *inner, const struct maps *maps,
    const struct mapped_options *options, struct err *e);

/* Some tracepoints of mappings were off up to then, while others were on: what is open then is
 * given up. A source of another kind does not mind. */
void source_mapped_gap(struct source *s, int64_t until_ns);

/* For source_options: whether a program of this name has a mapping; of: struct maps. */
bool source_maps_has(void *maps, const char *service);

#endif
