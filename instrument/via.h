/* SPDX-License-Identifier: MIT */
/*
 * Whether the work came by way of another tracer. A program with OpenTelemetry between two programs with libhone hands hone= on as it is, and
 * puts the id of its own span into traceparent. So the link in hone= is that of the first program's fork, and the span is the real caller. A
 * carrier has no room for both ids; it keeps the link, and 16 bits of the other one, by which the span is found among those of the trace
 * (analysis/trace_callers.h). A proxy whose spans are not gathered changes the parent id, too: then no span is found, and the link counts.
 */
#ifndef HONE_VIA_H
#define HONE_VIA_H

#include <stdint.h>

/* 16 bits of an id, never 0. Ids of spans are random, so of n spans one of another id has the same with a probability of n/65,535. */
static inline uint16_t
hone_via_of(uint64_t id)
{
	uint16_t bits = (uint16_t)(id ^ id >> 16 ^ id >> 32 ^ id >> 48);

	return bits != 0 ? bits : 1;
}

#endif
