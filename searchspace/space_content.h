/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a learned space contains, as plain values (searchspace/space.h). */
#ifndef SEARCHSPACE_SPACE_CONTENT_H
#define SEARCHSPACE_SPACE_CONTENT_H

#include <stdint.h>

struct place {
	uint32_t label, unit, span; /* labels; span LABEL_NONE: directly in the unit */
	uint64_t traces;            /* number of traces with this place */
	uint64_t count;             /* number of occurrences */
	/* Mean time since the begin of its unit: its position in happens-before order. */
	double offset_ns;
};

/* A fork or join: the place hands work to a unit, or receives its result. */
struct concurrency {
	uint32_t place,
	    unit; /* place: index, in the order learned; unit: label of its unit_begin */
	uint64_t count;
};
/* Values of a field at a place: the range of numbers, the number of different texts. */
struct place_key {
	uint32_t place;
	const char *field;
	uint8_t type; /* enum value_type */
	uint64_t count;
	double low, high; /* of numbers */
	uint32_t texts;   /* number of different ones, at most 256 */
};
struct space_step {
	uint32_t from, to; /* places: index, in the order learned */
	uint64_t count;    /* 0: seen only while other tracepoints were disabled */
	double mean_ns;
};

/* A space describes one version of the application. fingerprint: of the tracepoints of its
 * programs, 0: unknown. */
struct space_version {
	uint64_t fingerprint;
	char name[64];
	int64_t learned_ns; /* wall clock of the last learning */
	uint64_t traces;
};

#endif
