/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of the stage of mapped programs (source_mapped.h). */
#ifndef AGENT_READER_MAPPED_OPTIONS_H
#define AGENT_READER_MAPPED_OPTIONS_H

#include <stdint.h>

enum mapped_choice { MAPPED_NOT, MAPPED_SAMPLED, MAPPED_PROBED };

struct mapped_options {
	enum mapped_choice (*choose)(
	    void *of, const char *type); /* for each request that begins; NULL: all are probed */
	void *of;
	uint64_t seed;         /* random seed of trace and unit ids */
	uint32_t requests_max; /* open at a time in each program; 0: default of mapping/mapper.h */
};

#endif
