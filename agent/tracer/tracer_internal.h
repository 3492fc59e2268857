/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AGENT_TRACER_TRACER_INTERNAL_H
#define AGENT_TRACER_TRACER_INTERNAL_H

#include <stdbool.h>

/*
 * True: "provider:event" is internal to the tracer: of a provider "lttng_*" that every process has
 * and that describes the tracer. Tracepoints of LTTng's preloaded helpers (libc, pthread, dl,
 * cyg_profile) describe the program and are not internal.
 */
bool is_tracer_internal(const char *name);

#endif
