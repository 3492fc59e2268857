/* SPDX-License-Identifier: MIT */
/*
 * Calls of upstreams of any protocol: nginx handles all of them with the same
 * callbacks, and the module puts its own functions in front of these.
 *
 *	create_request	evaluates $hone_traceparent: the fork
 *	peer.init, get	a try begins				upstream_begin connect_begin
 *	output filter	connected; the request leaves		connect_end header_begin
 *	process_header	the answer's header has come		header_end body_begin
 *	pipe's filter	all of the answer has come		join
 *	peer.free	the try is over, perhaps with another to come
 *	finalize	the call is over			body_end upstream_end
 *
 * nginx builds the request to an upstream once and sends it again in the next try.
 * Each try has a link of its own nevertheless: its ids, which have the same length,
 * overwrite those of the previous try in the request.
 */
#define _GNU_SOURCE
#include <string.h>

#include "instrument/nginx/nginx_inside.h"

static ngx_event_handler_pt upstream_events; /* nginx's handler, the same for all upstreams */

static struct nginx_job *
traced(struct nginx_job *job)
{
	return job == NULL || job->quiet || job->ended ? NULL : job;
}

static const struct hone_peer *
peer_find(ngx_http_request_t *r, const ngx_http_upstream_srv_conf_t *conf)
{
	const struct hone_main *hm = ngx_http_get_module_main_conf(r, ngx_http_hone_module);
	ngx_uint_t low = 0, high = hm->npeers;

	while (low < high) {
		ngx_uint_t mid = (low + high) / 2;

		if (hm->peers[mid].conf == conf)
			return &hm->peers[mid];
		if ((uintptr_t)hm->peers[mid].conf < (uintptr_t)conf)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* ---- links --------------------------------------------------------------------------- */

/* The name of the link. Names must be few, so an upstream that a request determines has none of its own. */
static const char *
call_name(const struct nginx_job *job)
{
	const ngx_http_upstream_srv_conf_t *conf = job->call->u->conf->upstream;
	const struct hone_peer *peer = job->call->peer;

	if (peer == NULL && conf != NULL)
		peer = peer_find(job->r, conf);
	return peer != NULL ? peer->name : "upstream";
}

/* Forks a link for the next try. */
static void
link_next(struct nginx_job *job)
{
	struct nginx_call *call = job->call;
	struct hone_unit before;

	hone_detach(&before);
	hone_attach(&job->unit);
	hone_fork(call_name(job), &call->link);
	hone_attach(&before);
	hone_traceparent(&call->link, call->traceparent);
	hone_tracestate(&call->link, call->tracestate);
	call->joined = 0;
}

/* Joins the link of this try, once. Only in a visit of the job. */
static void
join(struct nginx_job *job)
{
	struct nginx_call *call = job->call;

	if (call->asked && !call->joined)
		hone_join(&call->link, call_name(job));
	call->joined = 1;
}

/* Overwrites the first `old` in the buffer with `new` if they have the same length; false: not found. */
static bool
overwrite(ngx_buf_t *b, const char *old, const char *new)
{
	size_t len = strlen(old);
	void *at = memmem(b->start, (size_t)(b->last - b->start), old, len);

	if (at != NULL && len == strlen(new))
		memcpy(at, new, len);
	return at != NULL;
}

/* Forks a new link for another try and writes its ids into the request. If the request does not
 * contain the old ids as text (HTTP/2 compresses them), the old link is kept. */
static void
link_again(struct nginx_job *job)
{
	struct nginx_call *call = job->call;
	ngx_buf_t *b = call->u->request_bufs != NULL ? call->u->request_bufs->buf : NULL;
	char parent[HONE_TRACEPARENT_SIZE], state[HONE_TRACESTATE_SIZE];

	if (b == NULL || !b->temporary ||
	    memmem(b->start, (size_t)(b->last - b->start), call->traceparent,
		strlen(call->traceparent)) == NULL)
		return;
	memcpy(parent, call->traceparent, sizeof parent);
	memcpy(state, call->tracestate, sizeof state);
	link_next(job);
	overwrite(b, parent, call->traceparent);
	overwrite(b, state, call->tracestate);
}

/* ---- callbacks ------------------------------------------------------------------------- */

/* Whether all of the answer is in the buffer of its header. */
static bool
answer_is_whole(const ngx_http_request_t *r, const ngx_http_upstream_t *u)
{
	off_t have = u->buffer.last - u->buffer.pos;

	if (r->method == NGX_HTTP_HEAD || u->headers_in.status_n == 204 ||
	    u->headers_in.status_n == 304)
		return true;
	if (u->headers_in.content_length_n >= 0)
		return have >= u->headers_in.content_length_n;
	return u->headers_in.chunked && have >= 5 &&
	       memcmp(u->buffer.last - 5, "0\r\n\r\n", 5) == 0;
}

static ngx_int_t
on_pipe(ngx_event_pipe_t *p, ngx_buf_t *buf)
{
	struct nginx_job *job = job_find(p->output_ctx);
	struct visit v;
	ngx_int_t rc;

	if (job == NULL || job->call == NULL)
		return NGX_ERROR;
	rc = job->call->pipe_filter(p, buf);
	if (job->call->joined || (p->length != 0 && !p->upstream_done))
		return rc;
	visit_begin(&v, traced(job));
	if (v.on)
		join(job);
	visit_end(&v);
	return rc;
}

/* The join comes when the whole answer was received: a join at its first part would hide the wait for
 * the rest. Only an unbuffered answer, which is passed on while it arrives, is joined at its header. */
static void
header_came(struct nginx_job *job)
{
	struct nginx_call *call = job->call;
	ngx_http_upstream_t *u = call->u;

	call->waiting = 0;
	if (!u->buffering || u->pipe == NULL || answer_is_whole(job->r, u)) {
		join(job);
	} else if (u->pipe->input_filter != on_pipe && u->pipe->input_filter != NULL) {
		call->pipe_filter = u->pipe->input_filter;
		u->pipe->input_filter = on_pipe;
	}
	span_end(job, SPAN_header);
	span_begin(job, SPAN_body);
}

static ngx_int_t
on_process_header(ngx_http_request_t *r)
{
	struct nginx_job *job = job_find(r);
	struct visit v;
	ngx_int_t rc;

	if (job == NULL)
		return NGX_ERROR;
	visit_begin(&v, traced(job));
	rc = job->call->process_header(r);
	if (v.on && rc == NGX_OK && (job->call->waiting || (job->call->peer == NULL && !r->cached)))
		header_came(job); /* not for the header of an answer from the cache */
	visit_end(&v);
	return rc;
}

static void
on_finalize(ngx_http_request_t *r, ngx_int_t rc)
{
	struct nginx_job *job = job_find(r);
	struct visit v;

	if (job == NULL)
		return;
	visit_begin(&v, traced(job));
	job->call->over = 1;
	if (v.on) {
		if (span_is_open(job, SPAN_body))
			join(job);
		span_end(job, SPAN_upstream);
	}
	job->call->finalize(r, rc);
	visit_end(&v);
}

static void
on_upstream_event(ngx_event_t *ev)
{
	ngx_connection_t *c = ev->data;
	struct visit v;

	visit_begin(&v, job_traced(c->data));
	upstream_events(ev);
	visit_end(&v);
}

static void
upstream_watch(ngx_connection_t *c)
{
	if (c == NULL)
		return;
	if (upstream_events == NULL && c->read->handler == c->write->handler)
		upstream_events = c->read->handler;
	if (c->read->handler == upstream_events)
		c->read->handler = on_upstream_event;
	if (c->write->handler == upstream_events)
		c->write->handler = on_upstream_event;
}

static ngx_int_t
on_output(void *data, ngx_chain_t *in)
{
	struct nginx_call *call = data;
	struct nginx_job *job = call->job;
	struct visit v;
	ngx_int_t rc;

	visit_begin(&v, traced(job));
	if (v.on && !call->sent) {
		call->sent = call->waiting = 1;
		span_end(job, SPAN_connect);
		span_begin(job, SPAN_header);
		upstream_watch(call->u->peer.connection);
	}
	rc = call->output(call->output_ctx, in);
	visit_end(&v);
	return rc;
}

static ngx_int_t
on_get(ngx_peer_connection_t *pc, void *data)
{
	struct nginx_call *call = data;
	struct nginx_job *job = call->job;
	struct visit v;
	ngx_int_t rc;

	visit_begin(&v, traced(job));
	call->sent = call->waiting = 0;
	if (v.on) {
		if (++call->tries > 1 && call->asked)
			link_again(job);
		span_begin(job, SPAN_connect);
	}
	rc = call->get(pc, call->data);
	visit_end(&v);
	return rc;
}

static void
on_free(ngx_peer_connection_t *pc, void *data, ngx_uint_t state)
{
	struct nginx_call *call = data;
	struct nginx_job *job = call->job;
	struct visit v;

	visit_begin(&v, traced(job));
	if (v.on) {
		if (span_is_open(job, SPAN_body))
			join(job); /* it answered, but another upstream is tried */
		span_end(job, SPAN_connect);
		span_end(job, SPAN_header);
		span_end(job, SPAN_body);
	}
	call->free(pc, call->data, state);
	visit_end(&v);
}

static void
on_notify(ngx_peer_connection_t *pc, void *data, ngx_uint_t type)
{
	struct nginx_call *call = data;

	call->notify(pc, call->data, type);
}

#if (NGX_SSL || NGX_COMPAT)
static ngx_int_t
on_set_session(ngx_peer_connection_t *pc, void *data)
{
	struct nginx_call *call = data;

	return call->set_session(pc, call->data);
}

static void
on_save_session(ngx_peer_connection_t *pc, void *data)
{
	struct nginx_call *call = data;

	call->save_session(pc, call->data);
}
#endif

/* ---- wrapping ----------------------------------------------------------------------------- */

static void
peer_wrap(struct nginx_call *call, ngx_peer_connection_t *pc)
{
	call->data = pc->data;
	call->get = pc->get;
	call->free = pc->free;
	call->notify = pc->notify;
	pc->data = call;
	pc->get = on_get;
	if (pc->free != NULL)
		pc->free = on_free;
	if (pc->notify != NULL)
		pc->notify = on_notify;
#if (NGX_SSL || NGX_COMPAT)
	call->set_session = pc->set_session;
	call->save_session = pc->save_session;
	if (pc->set_session != NULL)
		pc->set_session = on_set_session;
	if (pc->save_session != NULL)
		pc->save_session = on_save_session;
#endif
}

static ngx_int_t
on_init(ngx_http_request_t *r, ngx_http_upstream_srv_conf_t *conf)
{
	const struct hone_peer *peer = peer_find(r, conf);
	ngx_http_upstream_t *u = r->upstream;
	struct nginx_job *job = job_traced(r);
	struct nginx_call *call;
	struct visit v;
	ngx_int_t rc;

	if (peer == NULL)
		return NGX_ERROR;
	visit_begin(&v, job);
	rc = peer->init(r, conf);
	if (job != NULL && rc == NGX_OK && (call = call_of(job, false)) != NULL) {
		call->peer = peer;
		peer_wrap(call, &u->peer);
		call->output = u->output.output_filter;
		call->output_ctx = u->output.filter_ctx;
		u->output.output_filter = on_output;
		u->output.filter_ctx = call;
	}
	visit_end(&v);
	return rc;
}

static struct nginx_call *
call_begin(struct nginx_job *job)
{
	struct nginx_call *call = ngx_pcalloc(job->r->pool, sizeof *call);
	ngx_http_upstream_t *u = job->r->upstream;

	if (call == NULL)
		return NULL;
	call->job = job;
	call->u = u;
	job->call = call;
	if (job->quiet)
		return call;
	call->process_header = u->process_header;
	u->process_header = on_process_header;
	call->finalize = u->finalize_request;
	u->finalize_request = on_finalize;
	span_begin(job, SPAN_upstream);
	return call;
}

struct nginx_call *
call_of(struct nginx_job *job, bool asked)
{
	struct nginx_call *call = job->call;
	struct visit v;

	visit_begin(&v, traced(job));
	if (call == NULL || call->u != job->r->upstream)
		call = call_begin(job);
	if (call != NULL && asked && !call->asked && !call->over) {
		call->asked = 1;
		link_next(job);
	}
	visit_end(&v);
	return call;
}

static int
by_conf(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct hone_peer *)a)->conf,
		  y = (uintptr_t)((const struct hone_peer *)b)->conf;

	return (x > y) - (x < y);
}

ngx_int_t
upstreams_wrap(ngx_conf_t *cf, struct hone_main *hm)
{
	ngx_http_upstream_main_conf_t *um = ngx_http_conf_get_module_main_conf(
	    cf, ngx_http_upstream_module);
	ngx_http_upstream_srv_conf_t **confs = um->upstreams.elts;

	hm->npeers = um->upstreams.nelts;
	hm->peers = ngx_pcalloc(cf->pool, hm->npeers * sizeof *hm->peers + 1);
	if (hm->peers == NULL)
		return NGX_ERROR;
	for (ngx_uint_t i = 0; i < hm->npeers; i++) {
		struct hone_peer *peer = &hm->peers[i];
		u_char *last = (u_char *)peer->name + TYPE_SIZE - 1;

		peer->conf = confs[i];
		peer->init = confs[i]->peer.init;
		if (confs[i]->port != 0)
			last = ngx_snprintf((u_char *)peer->name, TYPE_SIZE - 1, "%V:%d",
			    &confs[i]->host, (int)confs[i]->port);
		else
			last = ngx_snprintf(
			    (u_char *)peer->name, TYPE_SIZE - 1, "%V", &confs[i]->host);
		*last = '\0';
		confs[i]->peer.init = on_init;
	}
	qsort(hm->peers, hm->npeers, sizeof *hm->peers, by_conf);
	return NGX_OK;
}
