/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the bodies of requests to records: reads spans (formats/), converts their times, gathers them by trace
 * (span_gather.h) and makes records of those that are whole (span_records.h).
 *
 *	receive(body) ---> held by trace ---> poll() ---> records, losses, watermark
 *
 * The watermark. A span comes at most delay_ns after its end (the exporter's batches; retries are later), and its trace is
 * handed out at most hold_ns after its entry came. So after now - (delay_ns + hold_ns) no trace ends whose records are
 * still to come: that is the watermark, and the controller completes no trace before. Records are much older than the
 * watermark of other sources; a trace that other nodes have a part in is complete that much later, too.
 *
 * A request whose spans come later than that is still whole, since its end is the last of its records; only one that other
 * nodes have a part in is not, and it is incomplete then.
 *
 * Pure; one thread at a time.
 */
#ifndef OTEL_SPANS_OTEL_SOURCE_H
#define OTEL_SPANS_OTEL_SOURCE_H

#include "otel/spans/span_gather.h"
#include "otel/spans/span_records.h"
#include "otel/spans/wall_offset.h"
#include "wire/source_output.h"
#include "wire/toggle.h"

struct otel_source;
struct services;
struct event_names;

struct otel_source_options {
	struct gather_options gather;
	size_t names_max_bytes;
	int64_t delay_ns;
	/* A span that ends later than this after now is refused, beyond what its host's clock is known to be ahead (host_clocks.h); if that is more than
	 * this, delay_ns more are permitted. */
	int64_t future_ns;
	int64_t
	    past_ns; /* one that ended this long ago, too; and no clock is believed to be further ahead */
};

/* What is switched in programs by other means than gates; functions may be NULL. */
struct otel_levers {
	/* The name "PROVIDER:NAME" of the point that a span of this service and scope is, valid until the next call; length 0: it is none. */
	struct text_view (*scope)(void *ctx, struct text_view service, struct text_view scope);
	/* The share of requests beginning in this service at this time that it sampled itself, at least, as far as is known; 1: all. */
	double (*told)(void *ctx, struct text_view service, int64_t begin_ns);
	void *ctx;
};

enum span_format { SPANS_OTLP_JSON, SPANS_OTLP_PROTO, SPANS_ZIPKIN, SPAN_FORMATS };

struct receipt {           /* what became of the spans of one body */
	uint32_t taken;    /* with those that had come before */
	uint32_t rejected; /* malformed, without an id or a time, or of another time than now */
	uint32_t lost;     /* for want of memory, or since their trace was handed out before */
	bool malformed;    /* the body as a whole: nothing of it could be read */
	char why[200];     /* of the first that was rejected or lost; "": none was */
};

struct otel_source_stats {
	struct gather_stats gather;
	struct span_records_stats records;
	uint64_t bodies, malformed_bodies;
	uint64_t spans; /* read, with all that follow */
	uint64_t rejected, lost, again;
	uint64_t delayed; /* came later than delay_ns after their end */
	uint64_t clock_steps;
	uint32_t hosts_ahead; /* now, by more than future_ns: their requests are put earlier */
};

/* ERR_MEMORY. */
int otel_source_new(struct otel_source **ret, const struct otel_source_options *o, struct err *e);
void otel_source_free(struct otel_source *s); /* NULL is fine */

/* Reads a body, which is whole and not compressed. ERR_MEMORY: some of it was not taken, and is counted as lost. O(len). */
int otel_source_receive(struct otel_source *s, enum span_format format, const void *body,
    size_t len, struct mono now, struct receipt *ret, struct err *e);

/* Both clocks, as wall_offset_look(). To be called before the first body, and about every second. A step of the wall clock
 * is reported as a loss: traces of that time decide nothing. True: there was one. */
bool otel_source_clocks(
    struct otel_source *s, struct mono before, struct wall wall, struct mono after);

/* The rates of the desired state; probed requests, and points for all sampled ones, until `probe_until`. ERR_MEMORY: they stay as they were. */
int otel_source_want(
    struct otel_source *s, const struct want *w, struct mono probe_until, struct err *e);
/* From now on spans that Hone turns on are on in this share of all traces, in every program: 1 at the begin, and where no program can
 * turn spans on. A trace is probed only if it was chosen by the least share of its time (shares.h). O(1). */
void otel_source_share(struct otel_source *s, double share, struct mono now);
void otel_source_levers(struct otel_source *s, const struct otel_levers *levers);
/* Whether requests are sampled at all. At the begin they are not. */
void otel_source_sample(struct otel_source *s, bool on);

/* The records of all traces that are due, up to some thousands (`more`). Results, labels and validity as of a source
 * (agent/reader/source.h). all: also those that are not due yet. */
int otel_source_poll(
    struct otel_source *s, struct mono now, bool all, struct source_output *ret, struct err *e);
/* The services that spans came from, until otel_source_free(). */
struct services *otel_source_services(const struct otel_source *s);
/* The names of events of spans, until otel_source_free(). */
struct event_names *otel_source_events(const struct otel_source *s);
const struct batch_label *otel_source_labels(const struct otel_source *s, uint32_t *count);

/* Share of the memory for spans that is used, 0 to 1; and the time until a trace is due. */
double otel_source_fill(const struct otel_source *s);
int otel_source_due_ms(const struct otel_source *s, struct mono now, int most_ms);
void otel_source_stats(const struct otel_source *s, struct otel_source_stats *ret);

#endif
