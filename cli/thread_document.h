/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads of a kernel recording did, as JSON (docs/kernel.md, "States of a thread"). */
#ifndef CLI_THREAD_DOCUMENT_H
#define CLI_THREAD_DOCUMENT_H

#include <jansson.h>

#include "kernel/path.h"

enum {
	THREADS_SHOWN_MAX = 32,      /* of those that match */
	THREAD_SEGMENTS_MAX = 20000, /* of the path of one thread, the longest ones */
	THREAD_CHAINS_MAX = 100,     /* of one thread, those with the most time */
	THREAD_CHAIN_LINKS_MAX = 12  /* of a chain; further ones are one link "..." */
};

/* Adds the members "threads" and "threads_matched" to a document: for each thread that `which` names, by its id or its name, states, critical path and
 * chains of waits; those with the most time on CPUs first. `segments`: also each segment of the paths. ERR_MISSING: no
 * thread has this id or name, and e names some that there are; ERR_MEMORY. */
int thread_document(json_t *document, const struct kernel_graph *g,
    const struct kernel_names *names, const char *which, bool segments, struct err *e);

#endif
