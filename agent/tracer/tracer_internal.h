/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef AGENT_TRACER_TRACER_INTERNAL_H
#define AGENT_TRACER_TRACER_INTERNAL_H

#include <stdbool.h>

/*
 * Whether "provider:event" is the tracer's own: of a provider that every process has, and that
 * tells of the tracer. Those of LTTng's helpers are there because somebody preloaded them, and tell
 * of the program.
 */
bool is_tracers_own(const char *name);

#endif
