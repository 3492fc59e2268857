/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sends requests to a back end: OTLP/HTTP with JSON (opentelemetry-proto, docs/specification.md, "OTLP/HTTP") or Zipkin's API v2, gzipped. What it
 * does with an answer:
 *
 *	1. 2xx: done. OTLP may say that it rejected some of the spans: they are counted, and not sent again.
 *	2. 429, 502, 503, 504, or no answer: sent again, PUSH_RETRIES times at most; after the time of Retry-After if it is at most
 *	   PUSH_WAIT_MAX_MS, else after PUSH_WAIT_MS times 1.5 for each attempt, times 0.5 to 1.5 at random.
 *	3. Any other, or too many attempts: dropped and counted. After a batch without an answer nothing more is tried.
 *
 * One batch is in memory at a time, and reading waits while it is sent: PUSH_BATCH_SPANS spans or PUSH_BATCH_BYTES, whichever comes first, and
 * what is left of the request that goes beyond.
 */
#ifndef CLI_EXPORT_PUSH_H
#define CLI_EXPORT_PUSH_H

#include "cli/export/sink.h"

enum {
	PUSH_BATCH_SPANS = 512,
	PUSH_BATCH_BYTES = 1 << 20,
	PUSH_RETRIES = 5,
	PUSH_WAIT_MS = 500,
	PUSH_WAIT_MAX_MS = 60000,
	PUSH_BODY_MAX = 1 << 16, /* of an answer; the rest is not read */
	PUSH_HEADERS_MAX = 32
};

struct push_answer {
	int status;           /* of HTTP; 0: there was no answer */
	double retry_after_s; /* negative: not given */
	char why[256];        /* without an answer */
	size_t len;
	char body[PUSH_BODY_MAX + 1]; /* terminated */
};

/* What push_curl.c does, which is a shared object (lib/hone/push.so), so that hone starts without libcurl. */
struct push_calls {
	/* headers: whole lines, NULL at the end; `ca`: a file with certificates of authorities, or NULL: the system's. ERR_SYSTEM. */
	int (*open)(void **ret, const char *url, const char *const *headers, const char *ca,
	    int timeout_ms, struct err *e);
	void (*post)(void *connection, const void *body, size_t len, struct push_answer *ret);
	void (*close)(void *connection);
};

extern const struct push_calls push_calls; /* of push_curl.c */

struct push_counts {
	uint64_t spans, batches, bytes; /* that were taken; bytes: compressed */
	uint64_t retries;
	uint64_t rejected;                 /* spans that the back end says it did not take */
	uint64_t dropped, dropped_batches; /* spans that were not taken */
	char why[400];                     /* of the first rejection or drop */
};

struct push_options {
	const char *format; /* "otlp" or "zipkin" */
	const struct push_calls *calls;
	void *connection;
	void (*wait)(void *ctx, int ms);
	double (*random)(void *ctx); /* from 0 to 1 */
	void *ctx;
	struct push_counts *counts;
};

/* A sink; what cannot be sent is counted and is no failure of it. Closing sends what is left. ERR_MEMORY. */
int push_open(struct export_sink **ret, const struct push_options *o, struct err *e);

enum push_next { PUSH_DONE, PUSH_AGAIN, PUSH_DROP };

/* The rules above. attempt: from 0; random: from 0 to 1. *wait_ms: of PUSH_AGAIN. */
enum push_next push_decide(const struct push_answer *a, int attempt, double random, int *wait_ms);

/* Spans that an OTLP answer says were rejected; *why: its text in the answer, cut; or "". */
uint64_t push_rejected(const struct push_answer *a, char *why, size_t size);

bool push_knows(const char *format);
/* The URL, with the format's usual path where it has none. In the arena. ERR_INPUT: neither http nor https, or no host. */
int push_url(const char **ret, const char *url, const char *format, struct arena *a, struct err *e);
/* Header lines of "name=value,name=value" as OTEL_EXPORTER_OTLP_HEADERS has it, values with %XX; NULL at the end. In the arena. ERR_INPUT. */
int push_headers(
    const char *ret[PUSH_HEADERS_MAX + 1], const char *list, struct arena *a, struct err *e);

#endif
