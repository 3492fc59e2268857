/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a program with an OpenTelemetry SDK keeps the context of each thread: the record of OTEP 4947, "Thread Context", to which the
 * thread-local pointer otel_thread_ctx_v1 leads.
 *
 *	record: u8 trace id[16], u8 span id[8], both in the order of W3C traceparent; u8 valid: 1; u8 reserved; u16 and attributes
 */
#ifndef AGENT_SYSTEM_OTEL_CONTEXT_H
#define AGENT_SYSTEM_OTEL_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/system/symbol_file.h"

#define OTEL_CONTEXT_SYMBOL "otel_thread_ctx_v1"

struct otel_context {
	enum tls_model model;
	int64_t offset;   /* of the pointer: as in struct tls_symbol */
	uint64_t address; /* of the word or words in the process' memory; not FIXED */
};

/* Looks at the program and its libraries. False: none exports the pointer, or the mappings or the files may not be read. O(files), 0.1 to 1 ms
 * each. */
bool otel_context_find(pid_t pid, struct otel_context *ret);

#endif
