/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hone's recording of kernel events: CTF 1.8 with the names that LTTng's kernel tracer has for events and fields, so that
 * babeltrace2 reads it, and it is made for Trace Compass; what LTTng has no name for is in fields and events that begin with hone_
 * (docs/kernel.md). kernel_files_read() gives exactly the events that were written.
 *
 *	FOLDER/HOST/metadata		one CTF trace for each host; appended to when a new system call comes
 *	FOLDER/HOST/kernel_CPU		one stream for each CPU, of packets of 32 KiB or little more
 */
#ifndef KERNEL_FILES_CTF_WRITER_H
#define KERNEL_FILES_CTF_WRITER_H

#include <stdint.h>

#include "kernel/event.h"

struct kernel_ctf_writer;

struct kernel_ctf_options {
	int64_t wall_offset_ns;     /* of the events' times to the time since the epoch; 0: none */
	const char *kernel_release; /* for the environment, or NULL */
};

/* Begins a recording in a folder that does not exist, or is empty. The names must outlive the writer. ERR_BUSY: the folder
 * has files; ERR_SYSTEM, ERR_MEMORY. Then *ret is NULL. */
int kernel_ctf_open(struct kernel_ctf_writer **ret, const char *folder,
    const struct kernel_names *names, const struct kernel_ctf_options *o, struct err *e);

/* A kernel_take() for *w: appends an event. In the order of time. ERR_INPUT: its time is before that of the event before, or
 * negative, or its kind is unknown; ERR_FULL: the disk is full, or has no room for the user; ERR_SYSTEM, ERR_MEMORY.
 * After an error of the disk the packets before are whole, and each further call fails. O(bytes of the event);
 * memory: up to 64 KiB for each CPU, and about 60 bytes for each
 * of the first 4 million threads (further ones have no name beside their number in switches). 0.2 us of a Xeon of 2.0 GHz. */
int kernel_ctf_take(void *w, const struct kernel_event *ev, struct err *e);

/* Writes the packets that are open, so that what was taken so far can be read. ERR_FULL, ERR_SYSTEM. */
int kernel_ctf_flush(struct kernel_ctf_writer *w, struct err *e);

/* Ends the recording and frees *w, also if it fails: then the last packets are missing. NULL is fine. ERR_FULL, ERR_SYSTEM. */
int kernel_ctf_close(struct kernel_ctf_writer *w, struct err *e);

/* What was written so far. */
void kernel_ctf_written(const struct kernel_ctf_writer *w, uint64_t *events, uint64_t *bytes);

#endif
