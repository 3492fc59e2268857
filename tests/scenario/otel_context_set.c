/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of an OpenTelemetry SDK that publishes a thread's context (OTEP 4947): in a program, or in a library, in each way in which thread-local
 * variables are reached. */
#include "tests/scenario/otel_context.h"

__attribute__((visibility("default"))) __thread struct otel_record *otel_thread_ctx_v1;

__attribute__((visibility("default"))) void
otel_context_set(struct otel_record *r)
{
	otel_thread_ctx_v1 = r;
}
