/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings of the kernel, of other tracers and of Hone, as one stream of kernel events in the order of time
 * (docs/kernel.md):
 *
 *	ctf	folders: LTTng's kernel tracer, perf data convert --to-ctf, Hone's own (kernel/files/ctf_writer.h)
 *	ftrace	text: the file trace of tracefs, trace-cmd report
 *	psv	text: logs of MiSeRTrace, with | between the fields
 *
 * What a source leaves open is filled in from what it said before: which thread a CPU runs (the last switch), of which
 * process a thread is (forks, state dumps, contexts). What nothing said stays 0 and is counted.
 */
#ifndef KERNEL_FILES_H
#define KERNEL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kernel/event.h"
#include "kernel/files/kernel_counts.h"

enum { KERNEL_FILES_MEMORY_BYTES = 128 << 20 };

/* Progress, from any thread: bytes read of all text files, and their size; CTF folders count with neither. */
struct kernel_files_progress {
	_Atomic uint64_t read_bytes, size_bytes, events;
};

struct kernel_files_options {
	const char *format; /* "ctf", "ftrace", "psv"; NULL: each path by its content */
	const char *meta;   /* of psv: MiSeRTrace's file "pid|container|ip|id" per line; or NULL */
	/* Names of events, of base/glob.h, with commas between: those that have no kind of their own and match are given
	 * as COUNTED. Records of psv without the prefix MT are always given so. NULL: none. */
	const char *counted;
	/* Times as the recording's clock counts them, without its offset to the time since the epoch: what a live source
	 * gives. With false, recordings of several hosts have one time base if their clocks have offsets. */
	bool raw_times;
	/* Bound of the tables of threads, of texts of events, and of the events that wait to be sorted; babeltrace2's own memory
	 * is not counted. 0: KERNEL_FILES_MEMORY_BYTES. */
	size_t memory_max_bytes;
	kernel_take *take; /* NULL: events are only counted */
	void *of;
	struct kernel_files_progress *progress; /* or NULL */
};

/* Whether the file or folder is a recording that kernel_files_read() can read, by content: a folder of CTF whose metadata
 * describes events of the kernel, a text whose first lines are of ftrace or MiSeRTrace. Not for standard input. O(64 KiB). */
bool kernel_files_is(const char *path);

/*
 * Reads recordings, of one or of several hosts, as one stream: events in the order of time, of equal times in the order in
 * which they were recorded, then in the order of the paths. "-" is standard input. Folders are searched for CTF at most 12 levels
 * deep. *counts is set, also after a failure. ERR_INPUT: one of the paths is no recording that is known, or nothing could be
 * read of it; ERR_MISSING: no such format; ERR_SYSTEM, ERR_MEMORY, or the error of take(). What is damaged in a recording is
 * counted (enum kernel_oddity), and the rest is read.
 *
 * hosts: CTF's hostname; of a text the name of its file without its ending, or its path if another host has that name. Texts and connections are added to *names.
 * O(1) expected for an event, O(log n) with n recordings; text that is not sorted costs a merge of its CPUs.
 */
int kernel_files_read(char *const *paths, int npaths, const struct kernel_files_options *o,
    struct kernel_names *names, struct kernel_files_counts *counts, struct err *e);

#endif
