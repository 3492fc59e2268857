/* SPDX-License-Identifier: MIT */
/*
 * What the files of the nginx module share. A worker serves many requests on one
 * thread, in turn. A *job* is what it does for one of them: the request itself,
 * or a subrequest (SSI, auth_request, mirror), which is a unit of its own since
 * subrequests of one request run side by side. A *visit* is a stretch of time in
 * which the worker is busy with a job: its unit is on the thread then, so that
 * every tracepoint in between counts as the job's, whoever's it is.
 *
 * No lock, no wait, no exit. Memory is the request's own pool; where that has
 * none left, the request is served and is not traced.
 */
#ifndef HONE_NGINX_INSIDE_H
#define HONE_NGINX_INSIDE_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <stdbool.h>

#include "instrument/hone.h"
#include "instrument/nginx/nginx_tracestate.h"

#pragma GCC visibility push(hidden)

enum {
	TYPE_SIZE = 64,
	METHODS = 8
}; /* a type's 63 bytes and the final 0; methods that have types of their own */

/* ---- configuration (module.c) ------------------------------------------------ */

struct hone_loc { /* http, server, location */
	ngx_flag_t enable, trust;
	ngx_http_complex_value_t *type; /* hone_type; NULL: method and location */
	const char *names[METHODS];     /* types made beforehand; NULL where `type` has variables */
};

struct hone_srv { /* server */
	ngx_uint_t
	    late; /* a location of it has hone or hone_type of its own: only it knows the type */
};

struct hone_peer { /* an upstream: what it was called before we wrapped it */
	ngx_http_upstream_srv_conf_t *conf;
	ngx_http_upstream_init_peer_pt init;
	char name[TYPE_SIZE];
};

struct hone_main {       /* http */
	ngx_uint_t used; /* some location has hone on: else nothing is wrapped */
	ngx_http_phase_handler_pt *checkers; /* of the phase engine, as they were before */
	u_char *phases;                      /* of which phase each is: enum span */
	ngx_http_handler_pt *loggers;
	ngx_uint_t nloggers;
	struct hone_peer *peers; /* sorted by conf */
	ngx_uint_t npeers;
};

extern ngx_module_t ngx_http_hone_module;

/* ---- spans (spans.c) ----------------------------------------------------------- */

enum span {
#define SPAN(name, ...) SPAN_##name,
#include "instrument/nginx/nginx_spans.tbl.h"
#undef SPAN
	SPANS
};

struct job;

/* Begins a span; what is open of its level or deeper ends first. */
void span_begin(struct job *job, enum span span);
/* Ends it, and what is open inside of it; nothing, where it is not open. */
void span_end(struct job *job, enum span span);
void spans_end_all(struct job *job);

static inline bool span_is_open(const struct job *job, enum span span);

/* ---- jobs and visits (request.c) -------------------------------------------------- */

struct call { /* a job's use of an upstream: one at a time */
	struct job *job;
	ngx_http_upstream_t *u;
	const struct hone_peer *peer; /* NULL: found by its name, when the request came */
	ngx_uint_t tries;
	unsigned asked : 1;   /* somebody evaluated our variables: each try is a link */
	unsigned sent : 1;    /* this try: the request is on its way */
	unsigned waiting : 1; /* this try: for the header of the answer */
	unsigned joined : 1;  /* this try: its answer has come */
	unsigned over : 1;
	struct hone_carrier link; /* of this try */
	char traceparent[HONE_TRACEPARENT_SIZE];
	char tracestate[HONE_TRACESTATE_SIZE];
	ngx_str_t state; /* `tracestate` and the client's other members */
	/* What we stand in front of. */
	ngx_int_t (*process_header)(ngx_http_request_t *r);
	void (*finalize)(ngx_http_request_t *r, ngx_int_t rc);
	ngx_event_pipe_input_filter_pt pipe_filter;
	ngx_output_chain_filter_pt output;
	void *output_ctx;
	ngx_event_get_peer_pt get;
	ngx_event_free_peer_pt free;
	ngx_event_notify_peer_pt notify;
	void *data;
#if (NGX_SSL || NGX_COMPAT)
	ngx_event_set_peer_session_pt set_session;
	ngx_event_save_peer_session_pt save_session;
#endif
};

struct job {
	ngx_http_request_t *r;
	struct job *main;         /* of the request itself; that one's is the job itself */
	struct job *subs, *next;  /* main: the jobs of subrequests */
	struct hone_unit unit;    /* never changes once it has begun */
	struct hone_carrier from; /* a subrequest's link */
	uint32_t open;            /* spans, a bit for each */
	ngx_uint_t waits;         /* times that the phase was left and gone on with */
	const ngx_chain_t *chain; /* while a body filter runs */
	ngx_int_t result;         /* of the filter that ran last */
	unsigned known : 1;       /* begun by somebody under Hone: a unit, not a request */
	unsigned quiet : 1;       /* neither sampled nor probed: only what is passed on matters */
	unsigned ended : 1;
	unsigned left : 1; /* the phase waits for something */
	unsigned last : 1; /* all of the reply was given to the filters */
	struct call *call; /* the last one; NULL: none so far */
};

static inline bool
span_is_open(const struct job *job, enum span span)
{
	return (job->open >> span & 1) != 0;
}

struct visit {
	struct visit *outer;
	struct job *job;         /* NULL: ended meanwhile, and perhaps its memory is gone */
	struct hone_unit before; /* what was on the thread; not set where it is nested */
	bool on, nested;         /* in a visit for the same job, which is on the thread already */
};

/* The job of r, or NULL: switched off, or r has not got that far. job_traced():
 * NULL also where it is quiet or over. After an internal redirect, which forgets
 * what modules know, the job is found again. A few loads. */
struct job *job_find(ngx_http_request_t *r);
struct job *job_traced(ngx_http_request_t *r);

/* Begins the job of r, where there is to be one; NULL: there is none to be, or no memory for it. */
struct job *job_begin(ngx_http_request_t *r);
/* The reply has left, or never will: ends all of it. */
void job_end(struct job *job);

/* Around all that is done for a job; NULL: for none. Visits nest. A visit ends
 * what is found to be over: subrequests, and the request whose reply has left. */
void visit_begin(struct visit *v, struct job *job);
void visit_end(struct visit *v);

/* Sees to it that the connection's events, from now on, are visits. */
void connection_watch(ngx_http_request_t *r);

/* ---- the others -------------------------------------------------------------------- */

/* Wraps the phase engine of this configuration (phases.c), its upstreams
 * (upstream.c), the filters (filters.c); NGX_OK or NGX_ERROR. */
ngx_int_t phases_wrap(ngx_cycle_t *cycle, struct hone_main *hm, ngx_http_core_main_conf_t *core);
ngx_int_t upstreams_wrap(ngx_conf_t *cf, struct hone_main *hm);
void filters_wrap(void);
ngx_int_t variables_add(ngx_conf_t *cf);

/* r->upstream is about to be asked, by a request that is being made: the call, with the link of
 * the try that comes next if `asked`. Idempotent. NULL: no memory. */
struct call *call_of(struct job *job, bool asked);

/* The client's tracestate without our members (r->pool; empty: none). Only as much as everybody
 * passes on. */
ngx_str_t client_state(ngx_http_request_t *r);
/* The client's traceparent as a C string, in a buffer of the caller's. NULL: there is none, two, or
 * too much of it. */
enum { TRACEPARENT_ROOM = 1024 };
const char *client_traceparent(ngx_http_request_t *r, char room[TRACEPARENT_ROOM]);
/* All lines of its tracestate; others_max, ours_wanted: as of tracestate_init(). Empty, too, where
 * a 0 is in it. */
void client_tracestate(
    ngx_http_request_t *r, size_t others_max, bool ours_wanted, struct tracestate *ret);

#pragma GCC visibility pop
#endif
