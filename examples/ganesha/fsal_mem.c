/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file that FSAL_MEM of nfs-ganesha 4.3 needs to be linked with LTTng-UST 2.13. Its
 * tracepoints are defined in the server, and since 2.13 such definitions are visible
 * only there. Here they are looked up by name in libganesha_trace.so, as in the server.
 */
#include "config.h"
#include "fsal.h"
#define TRACEPOINT_DEFINE
#define TRACEPOINT_PROBE_DYNAMIC_LINKAGE
#include "gsh_lttng/fsal_mem.h"
