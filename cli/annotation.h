/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The annotation of spans by recordings of the kernel: reads both, and has what kernel/spans/annotate.h made of them. */
#ifndef CLI_ANNOTATION_H
#define CLI_ANNOTATION_H

#include <jansson.h>

#include "cli/span_source.h"
#include "kernel/files/kernel_files.h"
#include "kernel/spans/annotate.h"
#include "kernel/spans/unit_watch.h"
#include "kernel/thread_graph.h"

enum annotation_clock {
	ANNOTATION_MONOTONIC, /* spans and events are of CLOCK_MONOTONIC: compared as they are */
	ANNOTATION_WALL /* of the time since the epoch: by the offset that the recording has */
};

struct annotation {
	struct span_source spans;
	struct kernel_names names;
	struct kernel_graph *graph;
	struct unit_watch *watch;  /* of units, if the clock is MONOTONIC; or NULL */
	struct annotate *annotate; /* NULL: no event came */
	struct kernel_files_counts counts;
	uint32_t
	    *hosts; /* of each node of the spans: the host of the recording; UINT32_MAX: none */
	uint32_t nhosts;
	bool assumed; /* the only node is taken for the only host, although their names differ */
	enum annotation_clock clock;
	int64_t over_ns; /* spans of at least this duration are annotated */
	uint32_t nchosen,
	    nplaced; /* spans that were long enough; of them, with something attributed */
	size_t places;
	const char *calls[64]; /* --calls, split */
	uint32_t ncalls;
	char *calls_text;
	struct kernel_files_options o;
	struct annotate_options ao;
};

/* Annotates according to the flags of the call: --map, --correlate, --gateway, --rule, --over, --call-over, --calls, --count, --host, --memory. spans: files, up to a
 * NULL; NULL: the spans are the requests that the recordings show themselves. *ret is to be released, also after a failure. ERR_INPUT: also if spans and recording do not overlap; ERR_MISSING, ERR_SYSTEM, ERR_MEMORY, ERR_FULL. */
int annotation_make(struct annotation *ret, struct invocation *c, const char *const *spans,
    char *const *recordings, int nrecordings, struct err *e);
void annotation_release(struct annotation *a);

bool annotation_is_chosen(const struct annotation *a, uint32_t span);
/* Of a time of the recording: since the epoch. */
int64_t annotation_wall_ns(const struct annotation *a, uint32_t span, int64_t event_ns);
/* Name of the thread at that time, or "". */
const char *annotation_thread(
    const struct annotation *a, uint32_t host, uint32_t tid, int64_t at_ns);
/* "fsync": of a call or of a sum of calls. */
const char *annotation_call(const struct annotation *a, int32_t number, uint32_t name);
/* Whether the call has a first argument that says something (a path is no number), as a number: *ret. Of an int its sign is kept: -100 is AT_FDCWD. */
bool annotation_argument(const struct annotation *a, const struct span_call *c, int64_t *ret);
/* "EAGAIN" of a result from -4095 to -1, else "". */
const char *annotation_error(int64_t result);

/* The document (docs/kernel.md, "Annotated spans"). NULL: out of memory. */
json_t *annotation_document(const struct annotation *a);

/* Writes the traces that have a chosen span, with what was added, to the file; "-" is standard output. ERR_SYSTEM, ERR_MEMORY. *written: spans. */
int annotation_export(const struct annotation *a, const char *format, const char *path,
    uint64_t *written, struct err *e);

#endif
