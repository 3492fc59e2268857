/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client of LTTng: the tracepoints of running programs as it lists them (parsed by mapping/), and its other commands. */
#ifndef CLI_TRACEPOINT_LIST_H
#define CLI_TRACEPOINT_LIST_H

#include "base/buf.h"
#include "base/err.h"

/* Runs `lttng list --userspace --fields` and stores its output in *ret, which must be empty and is
 * the caller's to release, also on failure. Does not start a session daemon. ERR_MISSING: lttng is
 * not installed; ERR_TRACER: it failed, with its last line; ERR_TIMEOUT: it was killed after
 * timeout_ms; ERR_FULL: over 64 MiB; ERR_SYSTEM, ERR_MEMORY. */
int tracepoint_list_ask(struct buf *ret, int timeout_ms, struct err *e);

/* Runs the client with these arguments, of which the first three are "lttng", a flag, and the command; NULL after the last. As above. */
int tracepoint_list_lttng(
    struct buf *ret, const char *const *arguments, int timeout_ms, struct err *e);

/* The same as the first one from a file with saved output. ERR_SYSTEM, ERR_FULL, ERR_MEMORY. */
int tracepoint_list_file(struct buf *ret, const char *path, struct err *e);

#endif
