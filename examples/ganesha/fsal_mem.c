/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What FSAL_MEM of nfs-ganesha 4.3 lacks to be linked with LTTng-UST 2.13: its
 * tracepoints are defined in the server, and seen only there since 2.13. They
 * are asked for by name from libganesha_trace.so, as in the server.
 */
#include "config.h"
#include "fsal.h"
#define TRACEPOINT_DEFINE
#define TRACEPOINT_PROBE_DYNAMIC_LINKAGE
#include "gsh_lttng/fsal_mem.h"
