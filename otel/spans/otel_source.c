/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/otel_source.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/label.h"
#include "base/arena.h"
#include "formats/otlp.h"
#include "formats/reading.h"
#include "otel/spans/event_names.h"
#include "otel/spans/host_clocks.h"
#include "otel/spans/services.h"
#include "otel/spans/shares.h"
#include "otel/spans/span_points.h"
#include "otel/spans/trace_draw.h"

/* POLL_RECORDS: after so many, a poll says that there are more. LOSSES: kept apart until the next poll. */
enum { POLL_RECORDS = 8192, LOSSES = 64, BODY_NAMES_BYTES = 64 << 10, BODY_BYTES = 1 << 20 };

struct otel_source {
	struct otel_source_options o;
	struct gather *gather;
	struct services *services;
	struct event_names *events;
	struct span_records *records;
	struct labels *labels; /* that readings need; no spans become traces there */
	struct reading *readings[SPAN_FORMATS]; /* made when the first body of that format comes */
	struct wall_offset clock;
	struct host_clocks *hosts;
	struct want want; /* in the arena */
	struct arena arena;
	struct mono probe_until, now;
	bool sampling;
	bool has_levels; /* some points are on for all sampled requests */
	struct shares shares;
	struct otel_levers levers;
	struct loss losses[LOSSES], given[LOSSES];
	uint32_t nlosses;
	int64_t watermark_ns;
	struct receipt *receipt; /* of the body at hand */
	struct otel_source_stats stats;
};

/* ---- rates ---- */

/* The most of the requests of any type that are sampled. */
static double
sampled_most(const struct want *w)
{
	double most = w->sampled;

	for (uint32_t i = 0; i < w->nrates; i++)
		most = fmax(most, w->rates[i].sampled);
	return most;
}

/* By a hash of the id, so that all parts of a trace are chosen alike. Of which type the request is that this may be a part of is not known: then as many are
 * chosen as of any type, since a request without one of its parts would pass for whole. */
static struct span_choice
choose(void *ctx, struct text_view service, struct text_view type, bool called, uint64_t trace_id,
    int64_t begin_ns, int64_t end_ns)
{
	const struct otel_source *s = ctx;
	double draw = trace_draw(trace_id), sampled = s->want.sampled, probed = 0, most, on;
	bool probing = s->now.ns < s->probe_until.ns;
	struct span_choice ret;

	for (uint32_t i = 0; i < s->want.nrates; i++) {
		const struct rate *r = &s->want.rates[i];

		if (strlen(r->request_type) == type.len &&
		    memcmp(r->request_type, type.s, type.len) == 0) {
			sampled = r->sampled;
			probed = probing ? r->probed : 0;
			break;
		}
	}
	if (called)
		sampled = sampled_most(&s->want);
	/* What the program has thinned is not thinned again; of what is left as many are probed as of all. */
	if (sampled > 0 && s->levers.told != NULL) {
		most = fmax(sampled, s->levers.told(s->levers.ctx, service, begin_ns));
		sampled /= most;
		probed /= most;
	}
	on = shares_least(&s->shares, begin_ns, end_ns);
	ret.sampled = s->sampling && draw < sampled;
	ret.probed = s->sampling && draw < fmin(probed, on);
	ret.points = ret.probed ||
	             (ret.sampled && draw < on && probing && (s->has_levels || called));
	return ret;
}

static bool
whole(void *ctx, int64_t begin_ns, int64_t end_ns)
{
	const struct otel_source *s = ctx;

	return shares_least(&s->shares, begin_ns, end_ns) > 0;
}

/* Less than future_ns is left as it is: the arrival of a span is no exact measure. */
static int64_t
ahead(void *ctx, const struct span *span)
{
	const struct otel_source *s = ctx;
	int64_t ns = host_clocks_ahead_ns(s->hosts, span);

	return ns > s->o.future_ns ? ns : 0;
}

void
otel_source_levers(struct otel_source *s, const struct otel_levers *levers)
{
	s->levers = *levers;
}

void
otel_source_share(struct otel_source *s, double share, struct mono now)
{
	shares_add(&s->shares, share, now.ns);
}

static bool
copy_rates(struct want *to, struct arena *a, const struct want *from)
{
	*to = (struct want){ .sampled = from->sampled, .nrates = from->nrates };
	to->rates = arena_copy(a, from->rates, from->nrates * sizeof *from->rates);
	if (from->nrates > 0 && to->rates == NULL)
		return false;
	for (uint32_t i = 0; i < from->nrates; i++) {
		const char *type = from->rates[i].request_type;

		if ((to->rates[i].request_type = arena_text(a, type, strlen(type))) == NULL)
			return false;
	}
	return true;
}

int
otel_source_want(
    struct otel_source *s, const struct want *w, struct mono probe_until, struct err *e)
{
	struct arena a = { 0 };
	struct want copy;

	if (!copy_rates(&copy, &a, w)) {
		arena_release(&a);
		return err_set(
		    e, ERR_MEMORY, "no memory for the rates of %u request types", w->nrates);
	}
	arena_release(&s->arena);
	s->arena = a;
	s->want = copy;
	s->has_levels = false;
	for (uint32_t i = 0; i < w->ntoggles; i++)
		s->has_levels |= w->toggles[i].sampled;
	s->probe_until = probe_until;
	return 0;
}

void
otel_source_sample(struct otel_source *s, bool on)
{
	s->sampling = on;
}

/* ---- making and freeing ---- */

int
otel_source_new(struct otel_source **ret, const struct otel_source_options *o, struct err *e)
{
	struct otel_source *s = calloc(1, sizeof *s);
	struct span_records_options r = { o->names_max_bytes, choose, whole, ahead, s };
	int rc = ERR_MEMORY;

	if (s == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	s->o = *o;
	s->watermark_ns = INT64_MIN;
	shares_add(&s->shares, 1, INT64_MIN);
	if ((s->labels = labels_new()) == NULL || (s->services = services_new()) == NULL ||
	    (s->events = event_names_new()) == NULL || (s->hosts = host_clocks_new()) == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	else if ((rc = gather_new(&s->gather, &o->gather, e)) == 0)
		rc = span_records_new(&s->records, &r, e);
	if (rc != 0) {
		otel_source_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void
otel_source_free(struct otel_source *s)
{
	if (s == NULL)
		return;
	gather_free(s->gather);
	services_free(s->services);
	event_names_free(s->events);
	host_clocks_free(s->hosts);
	span_records_free(s->records);
	for (int i = 0; i < SPAN_FORMATS; i++)
		reading_free(s->readings[i]);
	labels_free(s->labels);
	arena_release(&s->arena);
	free(s);
}

/* ---- losses ---- */

/* Past LOSSES, the last one spans all further ones. */
static void
lose(struct otel_source *s, enum loss_reason reason, int64_t from_ns, int64_t to_ns)
{
	struct loss *last = s->nlosses > 0 ? &s->losses[s->nlosses - 1] : NULL;

	to_ns = to_ns < from_ns ? from_ns : to_ns;
	if (last != NULL &&
	    (s->nlosses == LOSSES ||
		(last->reason == reason && from_ns <= last->to_ns && to_ns >= last->from_ns))) {
		last->from_ns = from_ns < last->from_ns ? from_ns : last->from_ns;
		last->to_ns = to_ns > last->to_ns ? to_ns : last->to_ns;
		last->count++;
		return;
	}
	s->losses[s->nlosses++] = (struct loss){ (uint8_t)reason, 1, from_ns, to_ns };
}

/* At the time at which its request would have been, where that began on the span's host. */
static void
lose_span(struct otel_source *s, const struct span *span)
{
	int64_t ahead_ns = ahead(s, span);

	lose(s, LOSS_QUEUE, span->begin_ns - ahead_ns, span->end_ns - ahead_ns);
}

bool
otel_source_clocks(struct otel_source *s, struct mono before, struct wall wall, struct mono after)
{
	if (!wall_offset_look(&s->clock, before, wall, after))
		return false;
	s->stats.clock_steps++;
	lose(s, LOSS_DECODE, before.ns - s->o.delay_ns - s->o.gather.hold_ns, after.ns);
	return true;
}

/* ---- bodies ---- */

static void say(struct receipt *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
say(struct receipt *r, const char *format, ...)
{
	va_list args;

	if (r->why[0] != '\0')
		return;
	va_start(args, format);
	vsnprintf(r->why, sizeof r->why, format, args);
	va_end(args);
}

static int
reject(struct otel_source *s, const struct span *span, const char *why)
{
	s->receipt->rejected++;
	say(s->receipt, "span %016llx: %s", (unsigned long long)span->id, why);
	gather_cut(s->gather, span->trace, s->now);
	return 0;
}

/* The events whose names are known, or are made so, on the clock of this node. */
static uint32_t
take_events(struct otel_source *s, const struct span *from, struct span_event to[OTLP_EVENTS_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < from->nevents && n < OTLP_EVENTS_MAX; i++) {
		const struct span_event *e = &from->events[i];

		if (event_names_note(s->events, from->service, e->name) == NULL)
			continue;
		to[n] = *e;
		to[n++].time_ns = wall_offset_mono_ns(&s->clock, e->time_ns);
	}
	return n;
}

/* A span of an instrumentation that Hone switches is a point, as one that a gate has marked, with its name as a field; except where it begins the request
 * or takes it over from another program: that is never off. */
static void
mark_point(struct otel_source *s, struct span *span, struct attribute to[OTLP_ATTRIBUTES_MAX + 2],
    char name[POINT_NAME_MAX])
{
	struct text_view scope;
	int len;

	if (s->levers.scope == NULL || span->scope.len == 0 || !span->has_parent ||
	    span->kind == SPAN_KIND_SERVER || span->kind == SPAN_KIND_CONSUMER ||
	    span_point(span).len > 0)
		return;
	scope = s->levers.scope(s->levers.ctx, span->service, span->scope);
	len = snprintf(
	    name, POINT_NAME_MAX, "%.*s", (int)scope.len, scope.s != NULL ? scope.s : "");
	if (len <= 0 || len >= POINT_NAME_MAX)
		return;
	to[0] = (struct attribute){ POINT_ATTRIBUTE, sizeof POINT_ATTRIBUTE - 1,
		{ .type = VALUE_TEXT, .text = name, .len = (uint32_t)len } };
	to[1] = (struct attribute){ "span.name", 9,
		{ .type = VALUE_TEXT,
		    .text = span->name.s,
		    .len = span->name.len < VALUE_TEXT_MAX ? span->name.len : VALUE_TEXT_MAX } };
	memcpy(&to[2], span->attributes, span->nattributes * sizeof *to);
	span->attributes = to;
	span->nattributes += 2;
}

/* How long after now a span may end. The lead of a host that is ahead is too small by the age that the youngest span of a body has, which is up to delay_ns. */
static int64_t
future_most_ns(struct otel_source *s, const struct span *span)
{
	int64_t ahead_ns = host_clocks_ahead_ns(s->hosts, span);

	return s->o.future_ns + ahead_ns + (ahead_ns > s->o.future_ns ? s->o.delay_ns : 0);
}

/* From the reading of a body. */
static int
take_span(void *ctx, const struct span *from, struct err *e)
{
	struct otel_source *s = ctx;
	struct span_event events[OTLP_EVENTS_MAX];
	struct attribute attributes[OTLP_ATTRIBUTES_MAX + 2];
	char point[POINT_NAME_MAX];
	struct span span = *from;
	struct receipt *r = s->receipt;
	int64_t lead_ns;
	(void)e;

	s->stats.spans++;
	services_note(s->services, from, s->now);
	if (span.bad_id)
		return reject(s, from, "its id, its parent's or its trace's has a wrong length");
	if (span.no_begin || span.no_end)
		return reject(s, from, "it has no begin or no end, or ends before it begins");
	span.begin_ns = wall_offset_mono_ns(&s->clock, span.begin_ns);
	span.end_ns = wall_offset_mono_ns(&s->clock, span.end_ns);
	lead_ns = span.end_ns - s->now.ns;
	if (lead_ns <= s->o.past_ns)
		host_clocks_note(s->hosts, from, lead_ns);
	if (lead_ns > s->o.future_ns && lead_ns > future_most_ns(s, from))
		return reject(s, from,
		    "it ends in the future: the clock of its host is off, which is reckoned with after its first requests");
	if (span.end_ns < s->now.ns - s->o.past_ns || span.begin_ns < 0)
		return reject(
		    s, from, "it is too old: it ended, or this machine started, long ago");
	if (s->now.ns - span.end_ns > s->o.delay_ns)
		s->stats.delayed++;
	if (span.nattributes <= OTLP_ATTRIBUTES_MAX)
		mark_point(s, &span, attributes, point);
	span.nevents = take_events(s, from, events);
	span.events = events;
	switch (gather_add(s->gather, &span, s->now)) {
	case GATHERED:
		r->taken++;
		break;
	case GATHERED_AGAIN:
		s->stats.again++;
		r->taken++;
		break;
	case GATHERED_LATE:
		r->lost++;
		lose_span(s, &span);
		say(r, "span %016llx: its trace was ended %lld s ago at the latest, see spans.hold",
		    (unsigned long long)span.id, (long long)(s->o.gather.hold_ns / 1000000000));
		break;
	default:
		r->lost++;
		lose_span(s, &span);
		say(r, "span %016llx: the memory for spans is full, or its trace has too many",
		    (unsigned long long)span.id);
	}
	return 0;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A request without spans is none that failed: no bytes of protobuf, or {} or []. */
static bool
is_empty(enum span_format format, const char *s, size_t len)
{
	char seen[3] = "";
	size_t n = 0;

	if (format == SPANS_OTLP_PROTO)
		return len == 0;
	for (size_t i = 0; i < len; i++) {
		if (is_blank(s[i]))
			continue;
		if (n == 2)
			return false;
		seen[n++] = s[i];
	}
	return strcmp(seen, format == SPANS_ZIPKIN ? "[]" : "{}") == 0;
}

/* What the reading left out by itself, since the last call. */
static void
count_skips(struct reading *r, struct receipt *to, bool *broken)
{
	static const enum skip whys[] = { SKIP_MALFORMED, SKIP_TRUNCATED, SKIP_OVERSIZE,
		SKIP_INCOMPLETE };
	struct reading_counts c;

	reading_counts(r, &c);
	*broken = false;
	for (size_t i = 0; i < sizeof whys / sizeof whys[0]; i++) {
		const struct skipped *k = &c.skipped[whys[i]];

		to->rejected += k->count < 1000000 ? (uint32_t)k->count : 1000000;
		*broken |= k->count > 0 && whys[i] != SKIP_INCOMPLETE;
		if (k->count > 0)
			say(to, "%s", k->why);
	}
	*reading_count(r) = (struct reading_counts){ 0 };
}

/* gzip inside of what was inflated already is not followed: it would have no bound. */
static bool
is_gzip(const uint8_t *s, size_t len)
{
	return len >= 2 && s[0] == 0x1f && s[1] == 0x8b;
}

/* The reading of bodies of this format. To make one takes much longer than to read a body of some spans. */
static int
reading_for(struct otel_source *s, enum span_format format, struct reading **ret, struct err *e)
{
	static const char *const names[] = { "otlp_json", "otlp_proto", "zipkin" };
	const struct reading_options o = { .memory_max_bytes = BODY_BYTES,
		.names_max_bytes = BODY_NAMES_BYTES,
		.format = names[format],
		.message = true,
		.exact_ids = true,
		.span = take_span,
		.ctx = s };
	int rc = 0;

	if (s->readings[format] == NULL)
		rc = reading_new(&s->readings[format], &o, s->labels, e);
	*ret = s->readings[format];
	return rc;
}

static int
read_body(struct otel_source *s, enum span_format format, const void *body, size_t len,
    struct receipt *ret, struct err *e)
{
	struct err why = { 0 };
	struct reading *r;
	bool broken;
	int rc;

	if ((rc = reading_for(s, format, &r, e)) != 0)
		return rc;
	rc = reading_memory(r, body, len, &why);
	host_clocks_body(s->hosts);
	count_skips(r, ret, &broken);
	if (rc == ERR_MEMORY)
		return err_set(e, rc, "%s", why.text);
	if (rc != 0)
		say(ret, "%s", why.text);
	ret->malformed = (rc != 0 || broken) && ret->taken + ret->lost == 0;
	return 0;
}

int
otel_source_receive(struct otel_source *s, enum span_format format, const void *body, size_t len,
    struct mono now, struct receipt *ret, struct err *e)
{
	int rc = 0;

	*ret = (struct receipt){ 0 };
	s->receipt = ret;
	s->now = now;
	s->stats.bodies++;
	if (is_gzip(body, len)) {
		ret->malformed = true;
		say(ret, "the body is compressed, and Content-Encoding does not say so, or twice");
	} else if (len == 0 && format != SPANS_OTLP_PROTO) {
		ret->malformed = true;
		say(ret, "the body is empty");
	} else if (!is_empty(format, body, len)) {
		rc = read_body(s, format, body, len, ret, e);
	}
	s->receipt = NULL;
	s->stats.malformed_bodies += ret->malformed;
	s->stats.rejected += ret->rejected;
	s->stats.lost += ret->lost;
	return rc;
}

/* ---- records ---- */

int
otel_source_poll(
    struct otel_source *s, struct mono now, bool all, struct source_output *ret, struct err *e)
{
	int64_t watermark_ns = now.ns - s->o.delay_ns - s->o.gather.hold_ns;
	struct gathered_trace *t;
	uint32_t n = 0;
	int rc = 0;

	s->now = now;
	span_records_reset(s->records);
	*ret = (struct source_output){ 0 };
	while (n < POLL_RECORDS && rc == 0 && (t = gather_next(s->gather, now, all)) != NULL) {
		n += 1 + 4 * t->nspans;
		rc = span_records_add(s->records, t, e);
		if (rc != 0 && t->spans != NULL)
			lose_span(s, &t->spans->span);
		gather_trace_free(s->gather, t);
	}
	if (rc == 0)
		rc = span_records_list(s->records, &ret->records, &ret->nrecords, e);
	ret->more = n >= POLL_RECORDS;
	memcpy(s->given, s->losses, s->nlosses * sizeof s->losses[0]);
	ret->losses = s->given;
	ret->nlosses = s->nlosses;
	s->nlosses = 0;
	/* Not while traces are due that did not fit into this poll. */
	if (watermark_ns > s->watermark_ns && !ret->more)
		s->watermark_ns = watermark_ns;
	ret->watermark_ns = s->watermark_ns;
	return rc;
}

struct services *
otel_source_services(const struct otel_source *s)
{
	return s->services;
}

struct event_names *
otel_source_events(const struct otel_source *s)
{
	return s->events;
}

const struct batch_label *
otel_source_labels(const struct otel_source *s, uint32_t *count)
{
	return span_records_labels(s->records, count);
}

double
otel_source_fill(const struct otel_source *s)
{
	return gather_fill(s->gather);
}

int
otel_source_due_ms(const struct otel_source *s, struct mono now, int most_ms)
{
	return gather_due_ms(s->gather, now, most_ms);
}

void
otel_source_stats(const struct otel_source *s, struct otel_source_stats *ret)
{
	*ret = s->stats;
	ret->hosts_ahead = host_clocks_count_ahead(s->hosts, s->o.future_ns);
	gather_stats(s->gather, &ret->gather);
	span_records_stats(s->records, &ret->records);
}
