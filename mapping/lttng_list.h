/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the output of `lttng list --userspace --fields` (LTTng 2.10 to 2.13):
 *
 *	PID: 4711 - Name: /usr/sbin/broker
 *	      broker:queued (loglevel: TRACE_DEBUG_LINE (13)) (type: tracepoint)
 *	        field: job (integer)
 *	        field: kind (string)
 */
#ifndef MAPPING_LTTNG_LIST_H
#define MAPPING_LTTNG_LIST_H

#include "mapping/map.h"

struct lttng_list_program {
	uint32_t pid;
	char *name; /* the first word of its command line */
	uint32_t nevents;
	struct map_event *events;
};

struct lttng_list {
	uint32_t nprograms;
	struct lttng_list_program *programs;
	struct arena arena; /* all of it */
};

/* Ignores lines of any other form, names above 255 bytes, and what exceeds 65536 programs, 65536
 * tracepoints of a program or 1024 fields of a tracepoint. On success *ret must be released. ERR_INPUT:
 * it lists no program; ERR_MEMORY. Takes up to 64 times len bytes of memory. O(len). */
int lttng_list_read(struct lttng_list *ret, const char *text, size_t len, struct err *e);
void lttng_list_release(struct lttng_list *l);

/* The last part of a program's path, cut to 15 bytes as the kernel does: what `service` of a mapping is
 * compared with. */
#define LTTNG_LIST_COMM_BYTES 16
void lttng_list_comm(const struct lttng_list_program *p, char ret[LTTNG_LIST_COMM_BYTES]);

#endif
