/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints of running programs as the lttng client lists them (parsed by mapping/). */
#ifndef CLI_TRACEPOINT_LIST_H
#define CLI_TRACEPOINT_LIST_H

#include "base/buf.h"
#include "base/err.h"

/* Runs `lttng list --userspace --fields` and stores its output in *ret, which must be empty and is
 * the caller's to release, also on failure. Does not start a session daemon. ERR_MISSING: lttng is
 * not installed; ERR_TRACER: it failed, with its last line; ERR_TIMEOUT: it was killed after
 * timeout_ms; ERR_FULL: over 64 MiB; ERR_SYSTEM, ERR_MEMORY. */
int tracepoint_list_ask(struct buf *ret, int timeout_ms, struct err *e);

/* The same from a file with saved output. ERR_SYSTEM, ERR_FULL, ERR_MEMORY. */
int tracepoint_list_file(struct buf *ret, const char *path, struct err *e);

#endif
