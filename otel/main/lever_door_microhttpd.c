/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "otel/main/lever_door.h"

/* BODIES_MAX: of all messages that are being received. DISCARDED_MAX: of one that was refused. */
enum { BODIES_MAX = 8 << 20, DISCARDED_MAX = 1 << 20 };

struct lever_door {
	struct lever_door_options o;
	struct http_daemon *http;
	size_t bodies; /* bytes of all that are held */
};

struct lever_question {  /* until libmicrohttpd says that it is completed */
	unsigned status; /* 0: it is to be answered; else it is refused */
	const char *why;
	struct buf body;
	size_t discarded;
};

/* ---- answers ---- */

/* Takes the buffer over. */
static enum MHD_Result
reply(struct MHD_Connection *c, unsigned status, const char *type, struct buf *body)
{
	struct MHD_Response *r = NULL;
	enum MHD_Result ok;

	if (!body->failed && body->len > 0)
		r = MHD_create_response_from_buffer(body->len, body->data, MHD_RESPMEM_MUST_FREE);
	if (r == NULL) {
		buf_release(body);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == 503)
		MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "2");
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result
refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	struct buf text = { 0 };

	buf_printf(&text, "%s\n", why);
	return reply(c, status, "text/plain; charset=utf-8", &text);
}

static enum MHD_Result
fail(struct MHD_Connection *c, int rc, const struct err *e)
{
	return refuse(c, rc == ERR_INPUT ? 400 : 503, e->text);
}

static void say(const struct lever_door *d, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
say(const struct lever_door *d, enum log_level level, const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	d->o.log(level, text);
}

static enum MHD_Result
answer_opamp(struct lever_door *d, struct MHD_Connection *c, const struct buf *body)
{
	struct opamp_report r;
	struct opamp_answer w;
	struct arena a = { 0 };
	struct buf out = { 0 };
	enum opamp_news news = OPAMP_NOTHING;
	struct err e = { 0 };
	int rc = opamp_report_read(
	    &r, &a, body->data != NULL ? body->data : (const uint8_t *)"", body->len, &e);

	r.client = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_USER_AGENT);
	if (rc == 0)
		rc = opamp_table_ask(d->o.opamp, &r, clock_mono(), &w, &news, &e);
	if (rc == 0 && news == OPAMP_NEW)
		say(d, LOG_INFO, "%s (pid %u): an agent of OpAMP of %s%s", r.service, r.pid,
		    r.distribution[0] != '\0' ? r.distribution
					      : "a distribution that does not name itself",
		    opamp_table_names(d->o.opamp) > 0
			? ""
			: "; opamp.off is empty, so it switches nothing");
	if (rc == 0 && news == OPAMP_REFUSED)
		say(d, LOG_WARN, "an agent of OpAMP could not apply its configuration: %s",
		    r.error);
	if (rc == 0)
		opamp_answer_write(&w, &out);
	arena_release(&a);
	return rc == 0 ? reply(c, 200, OPAMP_TYPE, &out) : fail(c, rc, &e);
}

static enum MHD_Result
answer_sampling(struct lever_door *d, struct MHD_Connection *c)
{
	const char *service = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "service");
	struct buf out = { 0 };
	struct err e = { 0 };
	bool is_new;
	int rc = remote_sampling_ask(d->o.sampling, service, clock_mono(), &out, &is_new, &e);

	if (rc != 0) {
		buf_release(&out);
		return fail(c, rc, &e);
	}
	if (is_new)
		say(d, LOG_INFO, "%s: asks which share of its requests to sample", service);
	return reply(c, 200, "application/json", &out);
}

/* ---- questions ---- */

/* A page of a web site can send other types than these from a browser on this machine without being asked. */
static void
look_at_head(const struct lever_door *d, struct MHD_Connection *c, struct lever_question *q,
    const char *method, const char *path)
{
	const char *type = MHD_lookup_connection_value(
	    c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
	bool post = d->o.opamp != NULL;

	if (post ? strcmp(path, OPAMP_PATH) != 0 : !remote_sampling_is_path(path)) {
		q->status = 404;
		q->why = post ? "POST " OPAMP_PATH : "GET /sampling?service=NAME";
	} else if (strcmp(method, post ? "POST" : "GET") != 0) {
		q->status = 405;
		q->why = post ? "only POST" : "only GET";
	} else if (post && (type == NULL || strcasecmp(type, OPAMP_TYPE) != 0 ||
			       MHD_lookup_connection_value(
				   c, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_ENCODING) != NULL)) {
		q->status = 415;
		q->why = "Content-Type is not " OPAMP_TYPE ", or there is a Content-Encoding";
	}
}

static void
refuse_body(struct lever_door *d, struct lever_question *q, unsigned status, const char *why)
{
	d->bodies -= q->body.len;
	buf_release(&q->body);
	q->status = status;
	q->why = why;
}

/* False: the client sends and sends what was refused. */
static bool
take_body(struct lever_door *d, struct lever_question *q, const char *data, size_t len)
{
	if (q->status != 0) {
		q->discarded += len;
		return q->discarded <= DISCARDED_MAX;
	}
	if (q->body.len + len > LEVER_BODY_MAX) {
		refuse_body(d, q, 413, "a message of OpAMP is 256 KiB at most");
	} else if (d->bodies + len > BODIES_MAX) {
		refuse_body(d, q, 503, "too many messages are being received");
	} else {
		buf_bytes(&q->body, data, len);
		if (q->body.failed)
			refuse_body(d, q, 503, "hone-otel is out of memory");
		else
			d->bodies += len;
	}
	return true;
}

static enum MHD_Result
on_request(void *of, struct MHD_Connection *c, const char *path, const char *method,
    const char *version, const char *body, size_t *body_len, void **state)
{
	struct lever_door *d = of;
	struct lever_question *q = *state;
	(void)version;

	if (q == NULL) { /* the first call has the headers only */
		if ((q = *state = calloc(1, sizeof *q)) == NULL)
			return MHD_NO;
		look_at_head(d, c, q, method, path);
		return MHD_YES;
	}
	if (*body_len > 0) {
		bool goes_on = take_body(d, q, body, *body_len);

		*body_len = 0;
		return goes_on ? MHD_YES : MHD_NO;
	}
	if (q->status != 0)
		return refuse(c, q->status, q->why);
	return d->o.opamp != NULL ? answer_opamp(d, c, &q->body) : answer_sampling(d, c);
}

static void
on_completed(void *of, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	struct lever_question *q = *state;
	struct lever_door *d = of;
	(void)c;
	(void)why;

	if (q == NULL)
		return;
	d->bodies -= q->body.len;
	buf_release(&q->body);
	free(q);
	*state = NULL;
}

/* ---- the door ---- */

int
lever_door_open(struct lever_door **ret, const struct lever_door_options *o, struct err *e)
{
	struct lever_door *d = calloc(1, sizeof *d);
	const struct http_daemon_options h = { o->address,
		o->opamp != NULL ? OPAMP_PATH : "/sampling", o->connections, o->idle_s, on_request,
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
lever_door_close(struct lever_door *d)
{
	if (d == NULL)
		return;
	http_daemon_stop(d->http);
	free(d);
}

struct http_daemon *
lever_door_http(const struct lever_door *d)
{
	return d->http;
}
