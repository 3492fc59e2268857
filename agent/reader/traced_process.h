/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One traced process in one session, as its folders show it:
 *
 *	shm_dir/ust/pid/NAME/		while the daemons know the process
 *		metadata		text, appended to before a tracepoint is armed
 *		CHANNEL_CPU		a ring: produced, consumed, lost
 *	output_dir/ust/pid/NAME/	stays until traced_process_remove_folder()
 *		metadata		the same text in packets, some seconds later
 *		CHANNEL_CPU		packets, one after the other
 *		index/CHANNEL_CPU.idx	one entry for each packet, written after the packet
 *
 * Once the first folder is gone, the daemons have written their last to the second one.
 */
#ifndef AGENT_READER_TRACED_PROCESS_H
#define AGENT_READER_TRACED_PROCESS_H

#include "agent/ctf/ctf_trace.h"
#include "agent/system/symbols.h"
#include "base/buf.h"

struct cpu_stream;
struct lttng_source;
struct session_folder;

struct traced_process {
	struct session_folder *folder;
	char *name;    /* of its folders: "comm-PID-DATE-TIME" */
	int watch;     /* inotify watch of the shm folder; -1: none */
	bool relist;   /* its rings have to be listed again */
	bool seen;     /* mark of the listing in progress */
	bool live;     /* its shm folder exists */
	bool plain;    /* metadata is the text in the shm folder; else the packets in the other */
	bool broken;   /* its metadata cannot be read */
	bool finished; /* everything has been read */
	bool outside;  /* its records outside of requests are delivered */
	int64_t born_ns, died_ns;
	int metadata_fd;
	uint64_t metadata_at; /* file offset */
	struct buf text;      /* metadata that has not been parsed */
	struct ctf_trace trace;
	struct symbols *symbols; /* NULL: not asked for yet, or the process cannot be read */
	bool symbols_asked;
	struct cpu_stream **streams;
	uint32_t nstreams, streams_cap, nidle;
};

/* NULL: out of memory. */
struct traced_process *traced_process_new(struct lttng_source *src, struct session_folder *f,
    const char *name, bool live, int64_t now_ns);
void traced_process_died(struct lttng_source *src, struct traced_process *p, int64_t now_ns);
void traced_process_free(struct lttng_source *src, struct traced_process *p);

/* Maps new rings; after the process' death, finds streams that were missed. */
void traced_process_list(struct lttng_source *src, struct traced_process *p);
/* Reads and parses what was appended to the metadata. */
void traced_process_metadata(struct lttng_source *src, struct traced_process *p, int64_t now_ns);
/* Removes the files that LTTng wrote in the output folder, and the folder if it is empty then. */
void traced_process_remove_folder(struct lttng_source *src, const struct traced_process *p);

#endif
