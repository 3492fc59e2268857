/* SPDX-License-Identifier: MIT */
/* The module's filters of the reply's header, the reply's body and the request's body; each is the first of its chain. */
#include "instrument/nginx/nginx_inside.h"

static ngx_http_output_header_filter_pt next_header;
static ngx_http_output_body_filter_pt next_body;
static ngx_http_request_body_filter_pt next_request_body;

static ngx_int_t
header_filter(ngx_http_request_t *r)
{
	struct nginx_job *job = job_traced(r);
	struct visit v;
	ngx_int_t rc;

	if (job == NULL)
		return next_header(r);
	visit_begin(&v, job);
	connection_watch(r); /* nginx restores its own handlers before it makes an error page */
	span_begin(job, SPAN_header_filter);
	job->result = rc = next_header(r);
	span_end(job, SPAN_header_filter);
	visit_end(&v);
	return rc;
}

static bool
has_last(const ngx_chain_t *chain)
{
	for (; chain != NULL; chain = chain->next)
		if (chain->buf->last_buf)
			return true;
	return false;
}

/* The span send is the time from when all of the reply was given to the filters until all of it was
 * written: only the client can delay it. Before that an upstream may be slow as well. */
static ngx_int_t
body_filter(ngx_http_request_t *r, ngx_chain_t *in)
{
	struct nginx_job *job = job_traced(r);
	struct visit v;
	ngx_int_t rc;

	if (job == NULL)
		return next_body(r, in);
	visit_begin(&v, job);
	job->last |= has_last(in);
	job->chain = in;
	span_begin(job, SPAN_body_filter);
	job->chain = NULL;
	job->result = rc = next_body(r, in);
	span_end(job, SPAN_body_filter);
	if (job->last && !span_is_open(job, SPAN_upstream)) {
		if (!r->buffered && !r->connection->buffered)
			span_end(job, SPAN_send);
		else if (!span_is_open(job, SPAN_send))
			span_begin(job, SPAN_send);
	}
	visit_end(&v);
	return rc;
}

/* A request body that is passed on while it is read is part of the span upstream. */
static ngx_int_t
request_body_filter(ngx_http_request_t *r, ngx_chain_t *in)
{
	struct nginx_job *job = r == r->main ? job_traced(r) : NULL;
	struct visit v;
	ngx_int_t rc;

	if (job == NULL || span_is_open(job, SPAN_upstream))
		return next_request_body(r, in);
	visit_begin(&v, job);
	if (r->request_body->rest != 0 && !span_is_open(job, SPAN_read_body))
		span_begin(job, SPAN_read_body);
	rc = next_request_body(r, in);
	if (r->request_body->rest == 0)
		span_end(job, SPAN_read_body);
	visit_end(&v);
	return rc;
}

void
filters_wrap(void)
{
	next_header = ngx_http_top_header_filter;
	ngx_http_top_header_filter = header_filter;
	next_body = ngx_http_top_body_filter;
	ngx_http_top_body_filter = body_filter;
	next_request_body = ngx_http_top_request_body_filter;
	ngx_http_top_request_body_filter = request_body_filter;
}
