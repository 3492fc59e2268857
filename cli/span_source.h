/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The spans of trace files, for hone annotate: those of OTLP, Jaeger, Zipkin and others as they are; of LTTng-UST traces the units of
 * requests (libhone, --map, --correlate), and in each unit the pairs of tracepoints that the program calls its own spans ("x_begin", "x_end";
 * docs/trace-contract.md); of recordings of the kernel the requests that they show (kernel/requests), and their calls to others. All are kept in
 * memory, within a bound.
 */
#ifndef CLI_SPAN_SOURCE_H
#define CLI_SPAN_SOURCE_H

#include "base/arena.h"
#include "base/hash_table.h"
#include "base/texts.h"
#include "cli/command.h"
#include "cli/kernel_traces.h"
#include "formats/reading.h"
#include "kernel/spans/span_places.h"

enum span_standing { /* why nothing could be attributed to a span */
	SPAN_STANDS,
	SPAN_UNTIMED,      /* its begin or its end is not known */
	SPAN_NO_THREAD,    /* nothing says on which thread it was */
	SPAN_OTHER_HOST,   /* it was on a host that the recording does not have */
	SPAN_NOWHERE,      /* a unit of which no two records in turn are of one thread */
	SPAN_OTHER_THREAD, /* the kernel knows the thread by another name than the span */
	SPAN_UNSEEN,       /* the recording does not know the thread at that time */
	SPAN_LOSSY,        /* of a request that may lack a part, or have one of another request */
	SPAN_STANDINGS
};

const char *span_standing_word(enum span_standing s); /* "no-thread"; "" of SPAN_STANDS */

struct source_span {
	struct span span; /* times since the epoch; what it points to belongs to the source */
	uint32_t parent;  /* index, or SPAN_NONE */
	uint32_t node;    /* number in nodes */
	uint32_t unit;    /* or SPAN_NONE: it is a span of one thread, if has_tid */
	uint32_t tid;     /* that it began on */
	bool has_tid;
	struct text_view thread_name; /* as the span has it; "" */
	uint8_t standing;             /* enum span_standing */
};

struct span_source {
	struct invocation *call;
	struct labels *labels;
	struct mapping *map;     /* or NULL */
	struct reading *reading; /* NULL: the spans are the requests of recordings of the kernel */
	struct kernel_traces *kernel; /* of these; else NULL */
	struct source_span *list;
	uint32_t nlist, list_cap;
	struct place_record *records; /* of units; host: number in nodes; times since the epoch */
	uint32_t nrecords, records_cap;
	struct span_of_unit *of_units; /* times since the epoch */
	uint32_t nof_units, of_units_cap;
	uint32_t nunits;
	struct texts *nodes;
	int64_t *
	    clock_ns; /* of each node: what was added to its own clock; 0: it has times since the epoch */
	uint32_t nclocks, clocks_cap;
	struct hash_table by_id;
	struct arena arena;
	size_t bytes_max;
	struct reading_counts counts;
	uint64_t repeated;      /* spans with the id of an earlier one */
	int64_t from_ns, to_ns; /* of all spans; INT64_MAX, INT64_MIN: there is none */
	bool
	    own_clock; /* all times are of clocks of the nodes, so that they can be compared without conversion */
};

/* Reads the files according to the flags --map and --correlate of the call. *ret is to be released, also after a failure. ERR_INPUT, ERR_SYSTEM, ERR_MEMORY;
 * ERR_FULL: over bytes_max. */
int span_source_read(struct span_source *ret, struct invocation *c, const char *const *files,
    size_t bytes_max, struct err *e);

/* As span_source_read(), of the requests that recordings of the kernel show, according to the flags --gateway and --rule. Times are those of the
 * recordings. The stage that finds the requests has bounds of its own (kernel/requests/requests.h). */
int span_source_requests(struct span_source *ret, struct invocation *c, char *const *recordings,
    int n, size_t bytes_max, struct err *e);
void span_source_release(struct span_source *s);

#endif
