/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formats/span_writer.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/texts.h"
#include "formats/json_put.h"

enum written { WRITTEN_OTLP, WRITTEN_JAEGER, WRITTEN_ZIPKIN, WRITTEN_FORMATS };

static const char *const formats_written[WRITTEN_FORMATS] = { "otlp", "jaeger", "zipkin" };

struct span_writer {
	FILE *to;
	enum written format;
	uint64_t nspans;
	struct trace_id trace;   /* that is open, of jaeger */
	struct texts *processes; /* service, NUL, node; numbers are those of all traces */
	uint32_t process;        /* of otlp: whose resource is open */
	uint64_t *used; /* of jaeger: the number of the trace in which a process was used last */
	uint32_t nused, used_cap;
	uint64_t ntraces;
};

/* ---- texts ---- */

static void
put_view(FILE *to, struct text_view t)
{
	json_put_text(to, t.s, t.len);
}

static void
put_trace_id(FILE *to, struct trace_id id)
{
	fprintf(to, "\"%016" PRIx64 "%016" PRIx64 "\"", id.high, id.low);
}

static bool
is_truth(const struct value *v)
{
	return v->type == VALUE_UINT && v->u <= 1;
}

/* The value of a number, without quotes. */
static void
put_number(FILE *to, const struct value *v)
{
	if (is_truth(v))
		fputs(v->u ? "true" : "false", to);
	else if (v->type == VALUE_INT)
		fprintf(to, "%" PRId64, v->i);
	else if (v->type == VALUE_UINT)
		fprintf(to, "%" PRIu64, v->u);
	else
		json_put_real(to, v->d);
}

/* A real number that JSON cannot write is a text. */
static bool
is_text(const struct value *v)
{
	return v->type == VALUE_TEXT || (v->type == VALUE_REAL && !isfinite(v->d));
}

static void
put_text_value(FILE *to, const struct value *v)
{
	if (v->type == VALUE_TEXT)
		json_put_text(to, v->text, v->len);
	else
		fprintf(to, "\"%g\"", v->d);
}

/* ---- what all have ---- */

bool
span_writer_knows(const char *format)
{
	for (int i = 0; i < WRITTEN_FORMATS; i++)
		if (strcmp(formats_written[i], format) == 0)
			return true;
	return false;
}

int
span_writer_open(struct span_writer **ret, const char *format, FILE *to, struct err *e)
{
	struct span_writer *w = NULL;

	*ret = NULL;
	if (!span_writer_knows(format))
		return err_set(e, ERR_MISSING,
		    "%s: unknown format; known are otlp, jaeger and zipkin", format);
	if ((w = calloc(1, sizeof *w)) == NULL || (w->processes = texts_new()) == NULL) {
		free(w);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	while (strcmp(formats_written[w->format], format) != 0)
		w->format++;
	w->to = to;
	w->process = UINT32_MAX;
	fputs(w->format == WRITTEN_OTLP     ? "{\"resourceSpans\":["
	      : w->format == WRITTEN_JAEGER ? "{\"data\":["
					    : "[",
	    to);
	*ret = w;
	return 0;
}

/* The number of the span's service and node. */
static uint32_t
process_of(struct span_writer *w, const struct span *s)
{
	char key[2 * VALUE_TEXT_MAX + 1];
	uint32_t service = s->service.len < VALUE_TEXT_MAX ? s->service.len : VALUE_TEXT_MAX,
		 node = s->node.len < VALUE_TEXT_MAX ? s->node.len : VALUE_TEXT_MAX;

	if (service > 0)
		memcpy(key, s->service.s, service);
	key[service] = '\0';
	if (node > 0)
		memcpy(key + service + 1, s->node.s, node);
	return texts_intern(w->processes, key, service + 1 + node);
}

static const char *
service_of(const struct span_writer *w, uint32_t process)
{
	return texts_get(w->processes, process);
}

static const char *
node_of(const struct span_writer *w, uint32_t process)
{
	const char *key = texts_get(w->processes, process);

	return key + strlen(key) + 1;
}

static enum span_kind
kind_of(const struct span *s)
{
	return s->follows && s->kind <= SPAN_KIND_INTERNAL ? SPAN_KIND_CONSUMER
	                                                   : (enum span_kind)s->kind;
}

static bool
has_attribute(const struct span *s, const char *key)
{
	for (uint32_t i = 0; i < s->nattributes; i++)
		if (s->attributes[i].key_len == strlen(key) &&
		    memcmp(s->attributes[i].key, key, strlen(key)) == 0)
			return true;
	return false;
}

static int64_t
us_before(int64_t ns)
{
	return ns / 1000 - (ns % 1000 < 0);
}

static int64_t
us_after(int64_t ns)
{
	return ns / 1000 + (ns % 1000 > 0);
}

/* ---- OTLP ---- */

static void
put_otlp_attribute(FILE *to, const char *key, uint32_t key_len, const struct value *v)
{
	fputs("{\"key\":", to);
	json_put_text(to, key, key_len);
	fputs(",\"value\":{", to);
	if (is_text(v)) {
		fputs("\"stringValue\":", to);
		put_text_value(to, v);
	} else {
		bool whole = !is_truth(v) &&
		             v->type != VALUE_REAL; /* 64 bits are a text in protobuf's JSON */

		fputs(is_truth(v) ? "\"boolValue\":"
		      : whole     ? "\"intValue\":\""
				  : "\"doubleValue\":",
		    to);
		put_number(to, v);
		if (whole)
			putc('"', to);
	}
	fputs("}}", to);
}

static void
put_otlp_text(FILE *to, const char *key, const char *text)
{
	put_otlp_attribute(to, key, (uint32_t)strlen(key),
	    &(struct value){ .type = VALUE_TEXT, .len = (uint32_t)strlen(text), .text = text });
}

static void
open_resource(struct span_writer *w, uint32_t process)
{
	FILE *to = w->to;

	if (w->process != UINT32_MAX)
		fputs("]}]},\n", to);
	w->process = process;
	fputs("{\"resource\":{\"attributes\":[", to);
	put_otlp_text(to, "service.name", service_of(w, process));
	if (node_of(w, process)[0] != '\0') {
		putc(',', to);
		put_otlp_text(to, "host.name", node_of(w, process));
	}
	fputs("]},\"scopeSpans\":[{\"scope\":{\"name\":\"hone\"},\"spans\":[", to);
}

static void
put_otlp_attributes(FILE *to, const struct attribute *a, uint32_t count)
{
	uint32_t n = 0;

	fputs(",\"attributes\":[", to);
	for (uint32_t i = 0; i < count; i++) {
		if (a[i].value.type == VALUE_NONE)
			continue;
		if (n++ > 0)
			putc(',', to);
		put_otlp_attribute(to, a[i].key, a[i].key_len, &a[i].value);
	}
	putc(']', to);
}

static void
put_otlp_events(FILE *to, const struct span *s)
{
	for (uint32_t i = 0; i < s->nevents; i++) {
		const struct span_event *v = &s->events[i];

		fprintf(to,
		    "%s{\"timeUnixNano\":\"%" PRId64 "\",\"name\":", i == 0 ? ",\"events\":[" : ",",
		    v->time_ns);
		put_view(to, v->name);
		put_otlp_attributes(to, v->attributes, v->nattributes);
		putc('}', to);
	}
	if (s->nevents > 0)
		putc(']', to);
}

static void
put_otlp(struct span_writer *w, const struct span *s, uint32_t process)
{
	FILE *to = w->to;

	if (process != w->process)
		open_resource(w, process);
	else
		fputs(",\n", to);
	fputs("{\"traceId\":", to);
	put_trace_id(to, s->trace);
	fprintf(to, ",\"spanId\":\"%016" PRIx64 "\"", s->id);
	if (s->has_parent)
		fprintf(to, ",\"parentSpanId\":\"%016" PRIx64 "\"", s->parent);
	fputs(",\"name\":", to);
	put_view(to, s->name);
	if (kind_of(s) != SPAN_KIND_NONE)
		fprintf(to, ",\"kind\":%d", (int)kind_of(s));
	if (!s->no_begin)
		fprintf(to, ",\"startTimeUnixNano\":\"%" PRId64 "\"", s->begin_ns);
	if (!s->no_end)
		fprintf(to, ",\"endTimeUnixNano\":\"%" PRId64 "\"", s->end_ns);
	put_otlp_attributes(to, s->attributes, s->nattributes);
	put_otlp_events(to, s);
	if (s->failed)
		fputs(",\"status\":{\"code\":2}", to);
	putc('}', to);
}

/* ---- Jaeger ---- */

static void
put_jaeger_tag(FILE *to, bool first, const char *key, uint32_t key_len, const struct value *v)
{
	fputs(first ? "{\"key\":" : ",{\"key\":", to);
	json_put_text(to, key, key_len);
	fprintf(to, ",\"type\":\"%s\",\"value\":",
	    is_text(v)              ? "string"
	    : is_truth(v)           ? "bool"
	    : v->type == VALUE_REAL ? "float64"
				    : "int64");
	if (is_text(v))
		put_text_value(to, v);
	else
		put_number(to, v);
	putc('}', to);
}

static void
put_jaeger_text(FILE *to, bool first, const char *key, const char *text)
{
	put_jaeger_tag(to, first, key, (uint32_t)strlen(key),
	    &(struct value){ .type = VALUE_TEXT, .len = (uint32_t)strlen(text), .text = text });
}

static void
close_jaeger_trace(struct span_writer *w)
{
	bool first = true;

	if (w->ntraces == 0)
		return;
	fputs("],\"processes\":{", w->to);
	for (uint32_t i = 0; i < w->nused; i++) {
		if (w->used[i] != w->ntraces)
			continue;
		fprintf(w->to, "%s\"p%u\":{\"serviceName\":", first ? "" : ",", i + 1);
		json_put_text(w->to, service_of(w, i), strlen(service_of(w, i)));
		fputs(",\"tags\":[", w->to);
		if (node_of(w, i)[0] != '\0')
			put_jaeger_text(w->to, true, "hostname", node_of(w, i));
		fputs("]}", w->to);
		first = false;
	}
	fputs("},\"warnings\":null}", w->to);
}

static bool
use_process(struct span_writer *w, uint32_t process)
{
	if (!array_reserve(w->used, w->used_cap, process + 1))
		return false;
	while (w->nused <= process)
		w->used[w->nused++] = 0;
	w->used[process] = w->ntraces;
	return true;
}

static void
put_jaeger_logs(FILE *to, const struct span *s)
{
	for (uint32_t i = 0; i < s->nevents; i++) {
		const struct span_event *v = &s->events[i];
		struct value name = { .type = VALUE_TEXT, .len = v->name.len, .text = v->name.s };

		fprintf(to, "%s{\"timestamp\":%" PRId64 ",\"fields\":[", i == 0 ? "" : ",",
		    us_before(v->time_ns));
		put_jaeger_tag(to, true, "event", 5, &name);
		for (uint32_t k = 0; k < v->nattributes; k++)
			if (v->attributes[k].value.type != VALUE_NONE)
				put_jaeger_tag(to, false, v->attributes[k].key,
				    v->attributes[k].key_len, &v->attributes[k].value);
		fputs("]}", to);
	}
}

static bool
put_jaeger(struct span_writer *w, const struct span *s, uint32_t process)
{
	static const char *const kinds[SPAN_KINDS] = { "", "internal", "server", "client",
		"producer", "consumer" };
	FILE *to = w->to;
	bool same = w->ntraces > 0 && s->trace.low == w->trace.low &&
	            s->trace.high == w->trace.high,
	     first = true;
	enum span_kind kind = (enum span_kind)s->kind;

	if (!same) {
		close_jaeger_trace(w);
		fputs(w->ntraces > 0 ? ",\n{\"traceID\":" : "{\"traceID\":", to);
		put_trace_id(to, s->trace);
		fputs(",\"spans\":[", to);
		w->trace = s->trace;
		w->ntraces++;
	}
	if (!use_process(w, process))
		return false;
	fputs(same ? ",\n{\"traceID\":" : "{\"traceID\":", to);
	put_trace_id(to, s->trace);
	fprintf(to, ",\"spanID\":\"%016" PRIx64 "\",\"operationName\":", s->id);
	put_view(to, s->name);
	fputs(",\"references\":[", to);
	if (s->has_parent) {
		fprintf(to, "{\"refType\":\"%s\",\"traceID\":",
		    s->follows && kind != SPAN_KIND_CONSUMER ? "FOLLOWS_FROM" : "CHILD_OF");
		put_trace_id(to, s->trace);
		fprintf(to, ",\"spanID\":\"%016" PRIx64 "\"}", s->parent);
	}
	putc(']', to);
	if (!s->no_begin)
		fprintf(to, ",\"startTime\":%" PRId64, us_before(s->begin_ns));
	if (!s->no_begin && !s->no_end)
		fprintf(to, ",\"duration\":%" PRId64, us_after(s->end_ns) - us_before(s->begin_ns));
	fputs(",\"tags\":[", to);
	if (kind != SPAN_KIND_NONE && kind < SPAN_KINDS) {
		put_jaeger_text(to, first, "span.kind", kinds[kind]);
		first = false;
	}
	if (s->failed) {
		put_jaeger_tag(
		    to, first, "error", 5, &(struct value){ .type = VALUE_UINT, .u = 1 });
		first = false;
	}
	for (uint32_t i = 0; i < s->nattributes; i++) {
		const struct attribute *a = &s->attributes[i];

		if (a->value.type == VALUE_NONE ||
		    (a->key_len == 5 && memcmp(a->key, "error", 5) == 0))
			continue;
		put_jaeger_tag(to, first, a->key, a->key_len, &a->value);
		first = false;
	}
	fputs("],\"logs\":[", to);
	put_jaeger_logs(to, s);
	fprintf(to, "],\"processID\":\"p%u\"}", process + 1);
	return true;
}

/* ---- Zipkin ---- */

static bool
is_ip(int family, const char *node)
{
	struct in6_addr address; /* the longer of both */

	return inet_pton(family, node, &address) == 1;
}

/* An annotation has one text: the attributes follow the name. */
static void
put_zipkin_annotations(FILE *to, const struct span *s)
{
	for (uint32_t i = 0; i < s->nevents; i++) {
		const struct span_event *v = &s->events[i];

		fprintf(to, "%s{\"timestamp\":%" PRId64 ",\"value\":\"",
		    i == 0 ? ",\"annotations\":[" : ",", us_before(v->time_ns));
		json_put_characters(to, v->name.s, v->name.len);
		for (uint32_t k = 0; k < v->nattributes; k++) {
			const struct attribute *a = &v->attributes[k];

			if (a->value.type == VALUE_NONE)
				continue;
			putc(' ', to);
			json_put_characters(to, a->key, a->key_len);
			putc('=', to);
			if (a->value.type == VALUE_TEXT)
				json_put_characters(to, a->value.text, a->value.len);
			else if (is_text(&a->value))
				fprintf(to, "%g", a->value.d);
			else
				put_number(to, &a->value);
		}
		fputs("\"}", to);
	}
	if (s->nevents > 0)
		putc(']', to);
}

static void
put_zipkin(struct span_writer *w, const struct span *s, uint32_t process)
{
	static const char *const kinds[SPAN_KINDS] = { NULL, NULL, "SERVER", "CLIENT", "PRODUCER",
		"CONSUMER" };
	FILE *to = w->to;
	enum span_kind kind = kind_of(s);
	const char *node = node_of(w, process);
	bool first = true;

	fputs(w->nspans > 0 ? ",\n{\"traceId\":" : "{\"traceId\":", to);
	put_trace_id(to, s->trace);
	fprintf(to, ",\"id\":\"%016" PRIx64 "\"", s->id);
	if (s->has_parent)
		fprintf(to, ",\"parentId\":\"%016" PRIx64 "\"", s->parent);
	if (kind < SPAN_KINDS && kinds[kind] != NULL)
		fprintf(to, ",\"kind\":\"%s\"", kinds[kind]);
	fputs(",\"name\":", to);
	put_view(to, s->name);
	if (!s->no_begin)
		fprintf(to, ",\"timestamp\":%" PRId64, us_before(s->begin_ns));
	if (!s->no_begin && !s->no_end)
		fprintf(to, ",\"duration\":%" PRId64, /* 0 is not permitted */
		    s->end_ns > s->begin_ns ? us_after(s->end_ns) - us_before(s->begin_ns) : 1);
	fputs(",\"localEndpoint\":{\"serviceName\":", to);
	json_put_text(to, service_of(w, process), strlen(service_of(w, process)));
	if (is_ip(AF_INET, node))
		fprintf(to, ",\"ipv4\":\"%s\"", node);
	else if (is_ip(AF_INET6, node))
		fprintf(to, ",\"ipv6\":\"%s\"", node);
	putc('}', to);
	put_zipkin_annotations(to, s);
	fputs(",\"tags\":{", to);
	if (node[0] != '\0' && !is_ip(AF_INET, node) && !is_ip(AF_INET6, node)) {
		fputs("\"host.name\":", to);
		json_put_text(to, node, strlen(node));
		first = false;
	}
	if (s->failed && !has_attribute(s, "error")) {
		fputs(first ? "\"error\":\"true\"" : ",\"error\":\"true\"", to);
		first = false;
	}
	for (uint32_t i = 0; i < s->nattributes; i++) {
		const struct attribute *a = &s->attributes[i];

		if (a->value.type == VALUE_NONE)
			continue;
		if (!first)
			putc(',', to);
		first = false;
		json_put_text(to, a->key, a->key_len);
		putc(':', to);
		if (is_text(&a->value)) {
			put_text_value(to, &a->value);
		} else {
			putc('"', to);
			put_number(to, &a->value);
			putc('"', to);
		}
	}
	fputs("}}", to);
}

/* ---- */

int
span_writer_put(struct span_writer *w, const struct span *s, struct err *e)
{
	uint32_t process = process_of(w, s);
	bool ok = process != UINT32_MAX;

	if (ok && w->format == WRITTEN_OTLP)
		put_otlp(w, s, process);
	else if (ok && w->format == WRITTEN_JAEGER)
		ok = put_jaeger(w, s, process);
	else if (ok)
		put_zipkin(w, s, process);
	w->nspans++;
	if (!ok)
		return err_set(e, ERR_MEMORY, "out of memory");
	return ferror(w->to) ? err_set(e, ERR_SYSTEM, "the spans cannot be written") : 0;
}

int
span_writer_close(struct span_writer *w, struct err *e)
{
	int rc = 0;

	if (w == NULL)
		return 0;
	if (w->format == WRITTEN_OTLP) {
		fputs(w->process != UINT32_MAX ? "]}]}]}\n" : "]}\n", w->to);
	} else if (w->format == WRITTEN_JAEGER) {
		close_jaeger_trace(w);
		fputs("]}\n", w->to);
	} else {
		fputs("]\n", w->to);
	}
	if (fflush(w->to) != 0 || ferror(w->to))
		rc = err_errno(e, "the spans cannot be written");
	texts_free(w->processes);
	free(w->used);
	free(w);
	return rc;
}
