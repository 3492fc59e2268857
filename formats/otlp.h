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
/* Further ones of a span are left out; event attributes are those of all its events. */
enum {
	OTLP_ATTRIBUTES_MAX = 64,
	OTLP_EVENTS_MAX = 32,
	OTLP_EVENT_ATTRIBUTES_MAX = 128,
	OTLP_LINKS_MAX = 16
};
#define OTLP_LINKS_ATTRIBUTE "hone.links" /* how many links a span has, if it has any */

/* Attributes that can name the node; the first that is present does. */
enum otlp_node { OTLP_POD, OTLP_HOST, OTLP_INSTANCE, OTLP_NODES };

struct otlp_resource { /* all zeroes: nothing is known */
	struct text_view service, nodes[OTLP_NODES];
	struct text_view
	    scope; /* of the spans at hand, as far as it stands before them; the caller's */
	struct arena arena;
};

/* Copies the attribute if it names the service or the node, and ignores it otherwise. 0 or
 * ERR_MEMORY. */
int otlp_resource_attribute(
    struct otlp_resource *o, struct text_view key, const struct value *v, struct err *e);
void otlp_resource_reset(struct otlp_resource *o);
void otlp_resource_release(struct otlp_resource *o);

/* The events and links of a span. */
struct otlp_extras {
	uint32_t nevents, nattributes, nlinks;
	uint32_t links; /* with those that were left out */
	struct span_event events[OTLP_EVENTS_MAX];
	struct attribute
	    attributes[OTLP_EVENT_ATTRIBUTES_MAX]; /* of the events, one after another */
	struct span_link kept[OTLP_LINKS_MAX];
};

/* The next event, without a name and a time; NULL: there is no room. Its attributes are those that the caller adds at
 * x->attributes[x->nattributes], counted in both. */
struct span_event *otlp_extras_event(struct otlp_extras *x);
/* Keeps the link, by ids as bytes. */
void otlp_extras_link(struct otlp_extras *x, const uint8_t *trace, uint32_t trace_len,
    const uint8_t *id, uint32_t id_len);

/* A span as it was read. Ids are bytes; a length of 0, or all zeroes, is no id. */
struct otlp_span {
	/* without trace, ids, service, node and attributes; a time of 0 is missing */
	struct span span;
	uint8_t trace[16], id[8], parent[8];
	uint32_t trace_len, id_len, parent_len;
	bool bad_parent; /* its bytes are too many, or none that can be read */
	uint32_t nattributes;
	struct attribute *attributes; /* [OTLP_ATTRIBUTES_MAX], the caller's */
	struct otlp_extras *extras;   /* the caller's; NULL: events and links are left out */
};

/* Completes the span by its ids and its resource and passes it to reading_span(), whose result it
 * returns. */
int otlp_hand_on(
    struct reading *r, struct otlp_span *s, const struct otlp_resource *o, struct err *e);

#endif
