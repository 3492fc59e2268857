/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What OTLP says in JSON and in protobuf alike (opentelemetry-proto, trace.proto):
 * spans stand under the resource that they are of, which has the names of the
 * service and of where it runs as attributes (OpenTelemetry's semantic conventions).
 */
#ifndef FORMATS_OTLP_H
#define FORMATS_OTLP_H

#include "formats/json.h"

enum { OTLP_STATUS_ERROR = 2, OTLP_KIND_CONSUMER = 5 };
enum { OTLP_ATTRIBUTES_MAX = 64 }; /* further attributes of a span are left out */

enum otlp_place {
	OTLP_POD,
	OTLP_HOST,
	OTLP_INSTANCE,
	OTLP_PLACES
}; /* the first that is known names the node */

struct otlp_resource { /* all zeroes is one that nothing is known of */
	struct text_view service, places[OTLP_PLACES];
	struct arena arena;
};

/* Takes note of what matters; copies it. 0 or ERR_MEMORY. */
int otlp_resource_attribute(
    struct otlp_resource *o, struct text_view key, const struct value *v, struct err *e);
void otlp_resource_reset(struct otlp_resource *o);
void otlp_resource_release(struct otlp_resource *o);

/* A span that was read, with the ids as bytes (`len` 0: none; all zeroes is none, too). */
struct otlp_span {
	struct span span; /* but trace, ids, service and node; a time of 0 is none */
	uint8_t trace[16], id[8], parent[8];
	uint32_t trace_len, id_len, parent_len;
	uint32_t nattributes;
	struct attribute *attributes; /* the reader's own, of OTLP_ATTRIBUTES_MAX */
};

/* Hands it on, with the names of its resource; what lacks a time is counted. As reading_span(). */
int otlp_hand_on(
    struct reading *r, struct otlp_span *s, const struct otlp_resource *o, struct err *e);

#endif
