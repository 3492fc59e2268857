/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What OTLP in JSON and in protobuf have in common (opentelemetry-proto, trace.proto): spans are
 * grouped by resource, whose attributes name the service and the node (OpenTelemetry's semantic
 * conventions).
 */
#ifndef FORMATS_OTLP_H
#define FORMATS_OTLP_H

#include "formats/json.h"

enum { OTLP_STATUS_ERROR = 2 };
enum { OTLP_ATTRIBUTES_MAX = 64 }; /* further attributes of a span are left out */

/* Attributes that can name the node; the first that is present does. */
enum otlp_node { OTLP_POD, OTLP_HOST, OTLP_INSTANCE, OTLP_NODES };

struct otlp_resource { /* all zeroes: nothing is known */
	struct text_view service, nodes[OTLP_NODES];
	struct arena arena;
};

/* Copies the attribute if it names the service or the node, and ignores it otherwise. 0 or
 * ERR_MEMORY. */
int otlp_resource_attribute(
    struct otlp_resource *o, struct text_view key, const struct value *v, struct err *e);
void otlp_resource_reset(struct otlp_resource *o);
void otlp_resource_release(struct otlp_resource *o);

/* A span as it was read. Ids are bytes; a length of 0, or all zeroes, is no id. */
struct otlp_span {
	/* without trace, ids, service, node and attributes; a time of 0 is missing */
	struct span span;
	uint8_t trace[16], id[8], parent[8];
	uint32_t trace_len, id_len, parent_len;
	uint32_t nattributes;
	struct attribute *attributes; /* [OTLP_ATTRIBUTES_MAX], the caller's */
};

/* Completes the span by its ids and its resource and passes it to reading_span(), whose result it
 * returns. */
int otlp_hand_on(
    struct reading *r, struct otlp_span *s, const struct otlp_resource *o, struct err *e);

#endif
