/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What `lttng list --userspace --fields` (LTTng 2.10 to 2.13) writes:
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
	char *name; /* as it was called: the first word of its command line */
	uint32_t nevents;
	struct map_event *events;
};

struct lttng_list {
	uint32_t nprograms;
	struct lttng_list_program *programs;
	struct arena arena; /* all of it */
};

/* Lines that are of none of these forms are left out, names over 255 bytes and what follows 65536
 * tracepoints or 65536 programs, too. ERR_INPUT: there is no program in it; ERR_MEMORY. Takes at
 * most 64 times len. O(len). */
int lttng_list_read(struct lttng_list *ret, const char *text, size_t len, struct err *e);
void lttng_list_release(struct lttng_list *l);

/* The last part of a program's path, cut as the kernel cuts names: what `service` of a mapping is
 * compared with. */
#define LTTNG_LIST_COMM_BYTES 16
void lttng_list_comm(const struct lttng_list_program *p, char ret[LTTNG_LIST_COMM_BYTES]);

#endif
