/* SPDX-License-Identifier: MIT */
/* The open spans of a job, and the fields of their tracepoints, which are computed only while the
 * tracepoint is enabled. */
#include "instrument/nginx/nginx_inside.h"
#include "instrument/nginx/nginx_tracepoints.h"

static const u_char levels[SPANS] = {
#define SPAN(name, level, ...) level,
#include "instrument/nginx/nginx_spans.tbl.h"
#undef SPAN
};

/* ---- fields: each is computed by the function field_NAME() ---------------------------------------------------- */

#define FIELD(name, expr)                                                              \
	static int64_t field_##name(const struct nginx_job *job)                       \
	{                                                                              \
		ngx_http_request_t *r __attribute__((unused)) = job->r;                \
		const ngx_http_upstream_t *u                                           \
		    __attribute__((unused)) = job->call != NULL ? job->call->u : NULL; \
                                                                                       \
		return (int64_t)(expr);                                                \
	}

static int64_t
chain_bytes(const ngx_chain_t *chain)
{
	int64_t bytes = 0;

	for (; chain != NULL; chain = chain->next)
		bytes += ngx_buf_size(chain->buf);
	return bytes;
}

FIELD(requests, r->connection->requests) /* so far on this connection */
FIELD(redirects, NGX_HTTP_MAX_URI_CHANGES + 1 - (int64_t)r->uri_changes)
FIELD(waits, job->waits)
FIELD(status, r->err_status != 0 ? r->err_status : r->headers_out.status)
FIELD(sent, r->connection->sent)
FIELD(length, r->headers_in.content_length_n) /* of the client's body; -1: unknown */
FIELD(received, r->request_length)
FIELD(in_file, r->request_body != NULL && r->request_body->temp_file != NULL)
FIELD(reply_length, r->headers_out.content_length_n)
FIELD(buffered, r->buffered || r->connection->buffered)
FIELD(result, job->result)
FIELD(bytes, chain_bytes(job->chain))
FIELD(last, job->last)
FIELD(servers, u->peer.tries) /* tries that are left */
FIELD(attempt, job->call->tries)
FIELD(cached, u->peer.cached) /* 1: uses a kept connection */
FIELD(connected, job->call->sent)
FIELD(buffering, u->buffering)
FIELD(answer_status, u->headers_in.status_n)
FIELD(answer_length, u->headers_in.content_length_n)
FIELD(answer_bytes, u->pipe != NULL && u->pipe->read_length > 0 ? u->pipe->read_length
		    : u->state != NULL                          ? u->state->bytes_received
								: 0)
FIELD(
    answer_in_file, u->pipe != NULL && u->pipe->temp_file != NULL ? u->pipe->temp_file->offset : 0)
FIELD(cache,
    r->upstream != NULL ? r->upstream->cache_status : 0) /* NGX_HTTP_CACHE_...: 1 miss, 6 hit */

/* ---- emitting ------------------------------------------------------------------------------- */

static void
emit_begin(const struct nginx_job *job, enum span span)
{
	switch (span) {
#define SPAN(name, level, b1, b2, ...)                                                       \
	case SPAN_##name:                                                                    \
		lttng_ust_tracepoint(nginx, name##_begin, field_##b1(job), field_##b2(job)); \
		break;
#include "instrument/nginx/nginx_spans.tbl.h"
#undef SPAN
	case SPANS:
		break;
	}
}

static void
emit_end(const struct nginx_job *job, enum span span)
{
	switch (span) {
#define SPAN(name, level, b1, b2, e1, e2, e3)                                              \
	case SPAN_##name:                                                                  \
		lttng_ust_tracepoint(                                                      \
		    nginx, name##_end, field_##e1(job), field_##e2(job), field_##e3(job)); \
		break;
#include "instrument/nginx/nginx_spans.tbl.h"
#undef SPAN
	case SPANS:
		break;
	}
}

/* Ends the open spans of this level and deeper ones, the innermost first: enum span is in order of
 * levels. */
static void
end_from(struct nginx_job *job, u_char level)
{
	while (job->open != 0) {
		enum span top = (enum span)(31 - __builtin_clz(job->open));

		if (levels[top] < level)
			return;
		job->open &= ~(UINT32_C(1) << top);
		emit_end(job, top);
	}
}

void
span_begin(struct nginx_job *job, enum span span)
{
	end_from(job, levels[span]);
	job->open |= UINT32_C(1) << span;
	emit_begin(job, span);
}

void
span_end(struct nginx_job *job, enum span span)
{
	if (!span_is_open(job, span))
		return;
	end_from(job, levels[span]);
}

void
spans_end_all(struct nginx_job *job)
{
	end_from(job, 0);
}
