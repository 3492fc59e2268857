/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request is answered when all of its body has come, also one that is refused: the connection of an exporter stays open
 * then. What is refused is not kept; after DISCARDED_MAX bytes of it the connection is closed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "otel/http/span_body.h"
#include "otel/http/span_request.h"
#include "otel/main/span_door.h"

enum { DISCARDED_MAX = 64 << 20 };
#define FULL \
	0.9 /* of the memory for spans: then clients are asked to repeat their requests later */

struct span_door {
	struct span_door_options o;
	struct http_daemon *http;
	struct span_door_stats stats;
};

struct door_request { /* until libmicrohttpd says that it is completed */
	struct span_request is;
	bool gate;              /* it is a question of a gate */
	struct span_body *body; /* NULL: it is refused */
	size_t counted;         /* of o.bodies */
	size_t discarded;
};

/* ---- the answer ---- */

static enum MHD_Result
answer(struct span_door *d, struct MHD_Connection *c, const struct span_request *is,
    const struct receipt *receipt)
{
	struct buf text = { 0 };
	unsigned status = span_reply(is, receipt, &text);
	struct MHD_Response *r;
	enum MHD_Result ok;
	char seconds[16];

	if (text.failed) {
		buf_release(&text);
		return MHD_NO;
	}
	if (status >= 300)
		d->stats.refused++;
	r = text.len > 0
	        ? MHD_create_response_from_buffer(text.len, text.data, MHD_RESPMEM_MUST_FREE)
	        : MHD_create_response_from_buffer(
		      0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
	if (r == NULL || text.len == 0)
		buf_release(&text);
	if (r == NULL)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, span_reply_type(is));
	if (status == 405)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "POST");
	if (status == 503) {
		d->stats.full++;
		snprintf(seconds, sizeof seconds, "%d", RETRY_AFTER_S);
		MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
	}
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static void
forget_body(struct span_door *d, struct door_request *q)
{
	d->o.bodies->bytes -= q->counted;
	q->counted = 0;
	span_body_free(q->body);
	q->body = NULL;
}

static void
refuse(struct span_door *d, struct door_request *q, unsigned status, const char *why)
{
	forget_body(d, q);
	q->is.status = status;
	q->is.why = why;
}

static void
refuse_state(struct span_door *d, struct door_request *q, enum body_state s)
{
	if (s == BODY_TOO_LARGE && q->gate)
		refuse(d, q, 413, "a question of a gate is 512 KiB at most");
	else if (s == BODY_TOO_LARGE)
		refuse(d, q, 413, "the body is larger than listen.body in hone-otel.conf");
	else if (s == BODY_DAMAGED)
		refuse(d, q, 400,
		    "the body is not compressed as Content-Encoding says, or is damaged");
	else
		refuse(d, q, 503, "hone-otel is out of memory");
}

/* ---- the request ---- */

static const char *
header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* JSON alone: a page of a web site can send other types from a browser on this machine without being asked. */
static struct span_request
gate_request(const struct request_head *h)
{
	struct span_request r = { .otlp = true, .format = SPANS_OTLP_JSON };

	if (strcmp(h->method, "POST") != 0) {
		r.status = 405;
		r.why = "only POST";
	} else if (h->content_type == NULL ||
		   strncasecmp(h->content_type, "application/json", 16) != 0 ||
		   h->content_encoding != NULL) {
		r.status = 415;
		r.why = "Content-Type is not application/json, or there is a Content-Encoding";
	}
	return r;
}

static struct door_request *
request_begin(struct span_door *d, struct MHD_Connection *c, const char *method, const char *path)
{
	struct door_request *q = calloc(1, sizeof *q);
	const struct request_head head = { method, path, header(c, MHD_HTTP_HEADER_CONTENT_TYPE),
		header(c, MHD_HTTP_HEADER_CONTENT_ENCODING) };

	if (q == NULL)
		return NULL;
	d->stats.requests++;
	q->gate = d->o.gates != NULL && strcmp(path, GATE_PATH) == 0;
	q->is = q->gate ? gate_request(&head) : span_request_of(&head, d->o.zipkin);
	if (q->gate && q->is.status == 0) {
		q->body = span_body_new(GATE_BODY_MAX, false);
		if (q->body == NULL)
			refuse(d, q, 503, "hone-otel is out of memory");
	} else if (q->is.status == 0 && otel_source_fill(d->o.source) >= FULL)
		refuse(d, q, 503, "the memory for spans is full");
	else if (q->is.status == 0 &&
		 (q->body = span_body_new(d->o.body_max, q->is.compressed)) == NULL)
		refuse(d, q, 503, "hone-otel is out of memory");
	return q;
}

/* False: the client sends and sends what was refused. */
static bool
request_take(struct span_door *d, struct door_request *q, const char *data, size_t len)
{
	enum body_state s;
	size_t bytes;

	if (q->body == NULL) {
		q->discarded += len;
		return q->discarded <= DISCARDED_MAX;
	}
	s = span_body_add(q->body, data, len);
	bytes = span_body_bytes(q->body);
	d->o.bodies->bytes += bytes - q->counted;
	q->counted = bytes;
	if (s != BODY_OK)
		refuse_state(d, q, s);
	else if (d->o.bodies->bytes > d->o.bodies->bytes_max)
		refuse(d, q, 503, "too many bodies are being received");
	return true;
}

static void
say_new_gate(struct span_door *d, const struct gate_question *g)
{
	char text[400];

	snprintf(text, sizeof text,
	    "%s (pid %u): hone-otel-gate %s can turn spans on, %u are known", g->service, g->pid,
	    g->gate, g->nnames);
	d->o.log(LOG_INFO, text);
}

/* The answer to the question of a gate. A full table is 503: the gate asks again later, and is off until then. */
static enum MHD_Result
answer_gate(struct span_door *d, struct MHD_Connection *c, struct door_request *q, const void *data,
    size_t len)
{
	struct gate_question asked;
	struct gate_answer told;
	struct arena a = { 0 };
	struct buf text = { 0 };
	struct MHD_Response *r = NULL;
	enum MHD_Result ok;
	struct err e = { 0 };
	bool is_new = false;
	int rc;

	if ((rc = gate_question_read(&asked, &a, data, len, &e)) == 0 &&
	    (rc = gate_table_ask(d->o.gates, &asked, clock_mono(), &told, &is_new, &a, &e)) == 0)
		rc = gate_answer_write(&told, &text, &e);
	if (rc == 0 && is_new)
		say_new_gate(d, &asked);
	arena_release(&a);
	forget_body(d, q);
	if (rc == 0)
		r = MHD_create_response_from_buffer(text.len, text.data, MHD_RESPMEM_MUST_FREE);
	if (r == NULL) {
		buf_release(&text);
		q->is.status = rc == ERR_INPUT ? 400 : 503;
		q->is.why = rc != 0 ? e.text : "hone-otel is out of memory";
		return answer(d, c, &q->is, NULL);
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
	ok = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result
request_end(struct span_door *d, struct MHD_Connection *c, struct door_request *q)
{
	struct receipt receipt;
	enum body_state s = BODY_OK;
	const void *data;
	size_t len;

	if (q->body != NULL && (s = span_body_end(q->body, &data, &len)) != BODY_OK)
		refuse_state(d, q, s);
	if (q->body == NULL)
		return answer(d, c, &q->is, NULL);
	if (q->gate)
		return answer_gate(d, c, q, data, len);
	if (otel_source_receive(
		d->o.source, q->is.format, data, len, clock_mono(), &receipt, NULL) != 0)
		refuse(d, q, 503, "hone-otel is out of memory");
	forget_body(d, q);
	return answer(d, c, &q->is, q->is.status == 0 ? &receipt : NULL);
}

static enum MHD_Result
on_request(void *of, struct MHD_Connection *c, const char *path, const char *method,
    const char *version, const char *body, size_t *body_len, void **state)
{
	struct span_door *d = of;
	struct door_request *q = *state;
	size_t len = *body_len;
	(void)version;

	if (q == NULL) { /* the first call has the headers only */
		*state = request_begin(d, c, method, path);
		return *state != NULL ? MHD_YES : MHD_NO;
	}
	if (len > 0) {
		*body_len = 0;
		return request_take(d, q, body, len) ? MHD_YES : MHD_NO;
	}
	return request_end(d, c, q);
}

static void
on_completed(void *of, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	struct door_request *q = *state;
	(void)c;
	(void)why;

	if (q == NULL)
		return;
	forget_body(of, q);
	free(q);
	*state = NULL;
}

/* ---- the door ---- */

int
span_door_open(struct span_door **ret, const struct span_door_options *o, struct err *e)
{
	struct span_door *d = calloc(1, sizeof *d);
	const struct http_daemon_options h = { o->address,
		o->zipkin ? "/api/v2/spans" : "/v1/traces", o->connections, o->idle_s, on_request,
		on_completed, d, o->log };
	int rc;

	if (d == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	d->o = *o;
	if ((rc = http_daemon_start(&d->http, &h, e)) != 0) {
		free(d);
		return rc;
	}
	*ret = d;
	return 0;
}

void
span_door_close(struct span_door *d)
{
	if (d == NULL)
		return;
	http_daemon_stop(d->http);
	free(d);
}

struct http_daemon *
span_door_http(const struct span_door *d)
{
	return d->http;
}

void
span_door_stats(const struct span_door *d, struct span_door_stats *ret)
{
	*ret = d->stats;
}
