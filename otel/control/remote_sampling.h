/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jaeger's remote sampling (jaeger-idl, sampling.proto, its JSON): SDKs of OpenTelemetry with OTEL_TRACES_SAMPLER=jaeger_remote or
 * parentbased_jaeger_remote ask which share of the requests of each type to sample, and are told what the controller wants. So a request
 * that is not sampled costs its program nothing. A type is the name of the root span at its begin.
 *
 *	GET /sampling?service=S, /api/sampling?service=S, /api/sampling/sampling?service=S
 *	{ "strategyType": "PROBABILISTIC", "probabilisticSampling": { "samplingRate": 0.1 }, "operationSampling": {
 *	  "defaultSamplingProbability": 0.1, "defaultLowerBoundTracesPerSecond": 0.1,
 *	  "perOperationStrategies": [ { "operation": "GET /", "probabilisticSampling": { "samplingRate": 1 } } ] } }
 *
 * There is no lease: an SDK keeps what it was told. Without a want of the controller, and before hone-otel ends, each is told `rate`, the
 * operator's. Bounded: services. Pure; one thread at a time.
 */
#ifndef OTEL_CONTROL_REMOTE_SAMPLING_H
#define OTEL_CONTROL_REMOTE_SAMPLING_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "formats/trace_span.h"
#include "wire/agent_messages.h"
#include "wire/toggle.h"

enum { SAMPLING_SERVICES_MAX = 1024, SAMPLING_NAME_MAX = 63, SAMPLING_TYPES_MAX = 4096 };

struct remote_sampling;

struct remote_sampling_options {
	double rate;      /* 0 to 1 */
	int64_t quiet_ns; /* a service that did not ask for this long is forgotten */
};

struct remote_sampling *remote_sampling_new(
    const struct remote_sampling_options *o);         /* NULL: out of memory */
void remote_sampling_free(struct remote_sampling *s); /* NULL is fine */

/* Whether one of the three paths. */
bool remote_sampling_is_path(const char *path);

/* Takes the rates that the controller wants, until then. ERR_MEMORY: they stay as they were. O(rates). */
int remote_sampling_want(
    struct remote_sampling *s, const struct want *w, struct mono until, struct err *e);
void remote_sampling_set_back(
    struct remote_sampling *s); /* from now on each is told the operator's rate */

/* A service asks. *is_new: for the first time. ERR_INPUT: no name, or one over SAMPLING_NAME_MAX bytes; ERR_FULL: too many services; ERR_MEMORY.
 * O(rates + services). */
int remote_sampling_ask(struct remote_sampling *s, const char *service, struct mono now,
    struct buf *to, bool *is_new, struct err *e);

/* Forgets services that are quiet. O(services). */
void remote_sampling_turn(struct remote_sampling *s, struct mono now);

/* The share of the requests that began in the service at this time which it sampled itself, if it has none of their own for their types: a type is known by
 * the last name of its span, an SDK goes by the first one. 1: it did not ask. O(services). */
double remote_sampling_told(
    const struct remote_sampling *s, struct text_view service, int64_t begin_ns);

/* Whether every service has asked since remote_sampling_set_back(), of those that asked within since_ns before now. */
bool remote_sampling_is_set_back(
    const struct remote_sampling *s, struct mono now, int64_t since_ns);

/* Appends a program for each service to *ret, in the arena; changes() is another number when they are others. False: out of memory. */
bool remote_sampling_programs(
    const struct remote_sampling *s, struct programs *ret, struct arena *a);
uint64_t remote_sampling_changes(const struct remote_sampling *s);

#endif
