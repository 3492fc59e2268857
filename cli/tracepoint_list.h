/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which tracepoints programs have, as LTTng says (mapping/listing.h). */
#ifndef CLI_TRACEPOINT_LIST_H
#define CLI_TRACEPOINT_LIST_H

#include "base/buf.h"
#include "base/err.h"

/* What `lttng list --userspace --fields` writes, to *ret, empty before; no session daemon is
 * started for it. ERR_MISSING: lttng is not there; ERR_TRACER: it failed, with its words;
 * ERR_TIMEOUT: it was ended after so long; ERR_FULL: over 64 MiB. */
int tracepoint_list_ask(struct buf *ret, int timeout_ms, struct err *e);

/* What it wrote to a file before. ERR_SYSTEM, ERR_FULL. */
int tracepoint_list_file(struct buf *ret, const char *path, struct err *e);

#endif
