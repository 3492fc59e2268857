/* SPDX-License-Identifier: MIT */
/*
 * The variables with which the configuration passes the context on:
 *
 *	proxy_set_header traceparent $hone_traceparent;
 *	proxy_set_header tracestate  $hone_tracestate;
 *
 * While a request to an upstream is built, their values are the link of that
 * request. Where hone is off, they are the headers of the client, without its hone=
 * unless hone_trust is on, so that the traces of others are not interrupted.
 */
#include "instrument/nginx/nginx_inside.h"

enum variable { TRACEPARENT, TRACESTATE, TRACE_ID };

/* Sets a variable to `data`, which is not copied; len 0: not found. */
static void
value_set(ngx_http_variable_value_t *v, const void *data, size_t len)
{
	v->data = (u_char *)data;
	v->len = (unsigned)len;
	v->valid = 1;
	v->no_cacheable = 1;
	v->not_found = len == 0;
}

static const void *
pool_copy(ngx_http_request_t *r, const void *data, size_t len)
{
	u_char *copy = ngx_pnalloc(r->pool, len);

	return copy != NULL ? memcpy(copy, data, len) : NULL;
}

static ngx_str_t
state_copy(ngx_http_request_t *r, const struct tracestate *state)
{
	ngx_str_t ret = ngx_null_string;

	ret.data = state->len > 0 ? (u_char *)pool_copy(r, state->text, state->len) : NULL;
	if (ret.data != NULL)
		ret.len = state->len;
	return ret;
}

ngx_str_t
client_state(ngx_http_request_t *r)
{
	struct tracestate others;

	client_tracestate(r, TRACESTATE_PASSED_MAX, false, &others);
	return state_copy(r, &others);
}

/* ---- for a request without a job ------------------------------------------------------------------- */

static void
client_parent(ngx_http_request_t *r, ngx_http_variable_value_t *v)
{
	char room[TRACEPARENT_ROOM];
	const char *parent = client_traceparent(r, room), *copy = NULL;
	struct hone_carrier c;
	size_t len = parent != NULL ? ngx_strlen(parent) : 0;

	if (hone_carrier_read(&c, parent, NULL) == 0)
		copy = pool_copy(r, parent, len);
	value_set(v, copy, copy != NULL ? len : 0);
}

static void
passed_on(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t which)
{
	const struct hone_loc *conf = ngx_http_get_module_loc_conf(r, ngx_http_hone_module);
	struct tracestate all;
	ngx_str_t state;

	value_set(v, NULL, 0);
	if (which == TRACEPARENT) {
		client_parent(r, v);
	} else if (which == TRACESTATE && !conf->trust) {
		state = client_state(r);
		value_set(v, state.data, state.len);
	} else if (which == TRACESTATE) {
		client_tracestate(r, TRACESTATE_OTHERS_MAX, true, &all);
		state = state_copy(r, &all);
		value_set(v, state.data, state.len);
	}
}

/* ---- for a request with a job -------------------------------------------------------------- */

static void
trace_id(struct nginx_job *job, ngx_http_variable_value_t *v)
{
	struct hone_carrier c = job->unit.carrier;
	char room[HONE_TRACEPARENT_SIZE];
	const void *copy = NULL;

	c.link_id = 1; /* not used, but hone_traceparent() writes nothing for link id 0 */
	if (hone_traceparent(&c, room) > 0)
		copy = pool_copy(job->r, room + 3, 32);
	value_set(v, copy, copy != NULL ? 32 : 0);
}

/* Sets call->state; left empty if there are no members, or no memory. */
static void
state_make(struct nginx_job *job, struct nginx_call *call)
{
	ngx_str_t others = client_state(job->r);
	size_t len = ngx_strlen(call->tracestate);
	u_char *data, *at;

	if (len + others.len == 0 ||
	    (data = ngx_pnalloc(job->r->pool, len + 1 + others.len)) == NULL)
		return;
	at = ngx_cpymem(data, call->tracestate, len);
	if (len > 0 && others.len > 0)
		*at++ = ',';
	at = ngx_cpymem(at, others.data, others.len);
	call->state = (ngx_str_t){ (size_t)(at - data), data };
}

static ngx_int_t
get(ngx_http_request_t *r, ngx_http_variable_value_t *v, uintptr_t which)
{
	struct nginx_job *job = job_find(r);
	struct nginx_call *call;

	value_set(v, NULL, 0);
	if (job == NULL) {
		passed_on(r, v, which);
	} else if (which == TRACE_ID) {
		trace_id(job, v);
	} else if (r->upstream != NULL && !job->ended && (call = call_of(job, true)) != NULL) {
		if (which == TRACESTATE && call->state.data == NULL)
			state_make(job, call);
		if (which == TRACESTATE)
			value_set(v, call->state.data, call->state.len);
		else
			value_set(v, call->traceparent, ngx_strlen(call->traceparent));
	}
	return NGX_OK;
}

ngx_int_t
variables_add(ngx_conf_t *cf)
{
	static ngx_str_t names[] = {
		[TRACEPARENT] = ngx_string("hone_traceparent"),
		[TRACESTATE] = ngx_string("hone_tracestate"),
		[TRACE_ID] = ngx_string("hone_trace_id"),
	};

	for (uintptr_t i = 0; i < sizeof names / sizeof *names; i++) {
		ngx_http_variable_t *v = ngx_http_add_variable(
		    cf, &names[i], NGX_HTTP_VAR_NOCACHEABLE);

		if (v == NULL)
			return NGX_ERROR;
		v->get_handler = get;
		v->data = i;
	}
	return NGX_OK;
}
