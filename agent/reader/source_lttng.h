/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The source of LTTng-UST records with Hone's own decoder. Of each session it needs: per-process
 * buffers, lttng_set_session_shm_path(), the channel in discard mode with a switch timer T such
 * that num_subbuf * T is 1 s or more (a stall of that length loses no record), context vtid, and
 * for requests $app.hone:trace_id and $app.hone:unit_id.
 *
 * The watermark is at most T behind while the daemons live. Removes files of dead processes below
 * the output folders once they have been read. Uses two file descriptors for each ring that was
 * ever written to, one for each process, and an inotify watch for each process. A poll costs one
 * system call, one load for each idle ring, and under 0.2 us a record.
 */
#ifndef AGENT_READER_SOURCE_LTTNG_H
#define AGENT_READER_SOURCE_LTTNG_H

#include "agent/reader/source.h"

/* One session: its output folder and its shm folder, both of this session alone, so that each holds
 * ust/pid/...; they need not exist yet. */
int source_lttng_open(struct source *ret, const char *output_dir, const char *shm_dir,
    const char *channel, const struct source_options *options, struct err *e);

/* All sessions of one agent, as they come and go: those of the folders FOLDER/N, N a number. A
 * folder must exist before a tracepoint is enabled in its session. A process that is in several
 * sessions is listed once. To end a session in which all tracepoints have been disabled for a
 * while, its folder is first renamed to something that is not a number: what the daemons write
 * afterwards is not read. */
source_open_fn source_lttng_follow;

#endif
