/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the nginx module. A worker serves many requests on one
 * thread, in turn. A *job* is the worker's work for one of them: for the request
 * itself, or for a subrequest (SSI, auth_request, mirror), which is a unit of its
 * own since subrequests of one request run concurrently. A *visit* is a period in
 * which the worker executes a job: the job's unit is attached to the thread, so
 * that the records of all tracepoints passed, of any provider, belong to the job.
 *
 * The module does not lock, wait or exit. It allocates from the request's pool;
 * if an allocation fails, the request is served without being traced.
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

/* Bytes of a request type with the final 0; number of methods that have types of their own. */
enum { TYPE_SIZE = 64, METHODS = 8 };

/* ---- configuration (nginx_module.c) ------------------------------------------------ */

/* Of a block http, server or location. */
struct hone_loc {
	ngx_flag_t enable, trust;
	ngx_http_complex_value_t *type; /* hone_type; NULL: method and location */
	const char *names[METHODS];     /* the types, by method; NULL if `type` has variables */
};

/* Of a server. */
struct hone_srv {
	/* A location of it sets hone or hone_type: the type is known once the location is. */
	ngx_uint_t late;
};

/* An upstream that the module has wrapped: its original init function, and its name. */
struct hone_peer {
	ngx_http_upstream_srv_conf_t *conf;
	ngx_http_upstream_init_peer_pt init;
	char name[TYPE_SIZE];
};

/* Of the block http. */
struct hone_main {
	ngx_uint_t used; /* a location has hone on; otherwise nothing is wrapped */
	ngx_http_phase_handler_pt *checkers; /* the original ones of the phase engine */
	u_char *phases;                      /* enum span of each handler of the engine */
	ngx_http_handler_pt *loggers;
	ngx_uint_t nloggers;
	struct hone_peer *peers; /* sorted by conf */
	ngx_uint_t npeers;
};

extern ngx_module_t ngx_http_hone_module;

/* ---- spans (nginx_spans.c) ----------------------------------------------------------- */

enum span {
#define SPAN(name, ...) SPAN_##name,
#include "instrument/nginx/nginx_spans.tbl.h"
#undef SPAN
	SPANS
};

struct nginx_job;

/* Begins a span; open spans of its level or a deeper one end first. O(spans that end). */
void span_begin(struct nginx_job *job, enum span span);
/* Ends a span and the open spans inside of it; no effect if it is not open. */
void span_end(struct nginx_job *job, enum span span);
void spans_end_all(struct nginx_job *job);

static inline bool span_is_open(const struct nginx_job *job, enum span span);

/* ---- jobs and visits (nginx_request.c) -------------------------------------------------- */

/* A job's use of an upstream; a job has at most one at a time. */
struct nginx_call {
	struct nginx_job *job;
	ngx_http_upstream_t *u;
	const struct hone_peer *peer; /* NULL: its name was only known with the request */
	ngx_uint_t tries;
	unsigned asked : 1;   /* the variables were evaluated: each try has a link */
	unsigned sent : 1;    /* this try: connected, the request is sent */
	unsigned waiting : 1; /* this try: waits for the header of the answer */
	unsigned joined : 1;  /* this try: the answer was received and joined */
	unsigned over : 1;
	struct hone_carrier link; /* of this try */
	char traceparent[HONE_TRACEPARENT_SIZE];
	char tracestate[HONE_TRACESTATE_SIZE];
	ngx_str_t state; /* `tracestate` and the client's other members */
	/* The original callbacks, which the module's callbacks call. */
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

struct nginx_job {
	ngx_http_request_t *r;
	struct nginx_job *main;        /* the request's own job, which may be this one */
	struct nginx_job *subs, *next; /* main: the jobs of subrequests */
	struct hone_unit unit;         /* constant once it has begun */
	struct hone_carrier from;      /* a subrequest's link */
	uint32_t open;                 /* open spans: bit 1 << enum span */
	ngx_uint_t waits;              /* times that the phase was left and resumed */
	const ngx_chain_t *chain;      /* while a body filter runs */
	ngx_int_t result;              /* of the filter that ran last */
	unsigned known : 1;            /* the sender uses Hone: a unit, not a request */
	unsigned quiet : 1; /* neither sampled nor probed: only the context is passed on */
	unsigned ended : 1;
	unsigned left : 1;       /* the phase waits for something */
	unsigned last : 1;       /* all of the reply was given to the filters */
	struct nginx_call *call; /* the latest; NULL: none so far */
};

static inline bool
span_is_open(const struct nginx_job *job, enum span span)
{
	return (job->open >> span & 1) != 0;
}

struct visit {
	struct visit *outer;
	struct nginx_job *job;   /* NULL: it has ended, and its memory may be freed */
	struct hone_unit before; /* the unit of the thread before; not set if nested */
	bool on, nested;         /* visits a job; inside of a visit of the same job */
};

/* The job of r, or NULL: hone is off, or the job has not begun yet. job_traced(): NULL also for a job
 * that is quiet or has ended. Finds the job again after an internal redirect, which clears the
 * contexts of modules in r. Cost: a few loads; for a subrequest once O(subrequests). */
struct nginx_job *job_find(ngx_http_request_t *r);
struct nginx_job *job_traced(ngx_http_request_t *r);

/* Begins the job of r, which has none; NULL: hone is off for r, or no memory. */
struct nginx_job *job_begin(ngx_http_request_t *r);
/* Ends the job, its open spans, its unit, and the jobs of its subrequests. */
void job_end(struct nginx_job *job);

/* Around all work for a job; job NULL: no effect. Visits nest, and end in reverse order. A visit also
 * ends jobs that are over: subrequests that are done, and the request whose reply was sent. */
void visit_begin(struct visit *v, struct nginx_job *job);
void visit_end(struct visit *v);

/* From now on events of the connection are handled in a visit. Idempotent. */
void connection_watch(ngx_http_request_t *r);

/* ---- the others -------------------------------------------------------------------- */

/* Put the module's functions in front of those of the phase engine (nginx_phases.c), of the upstreams
 * (nginx_upstream.c) and of the filters (nginx_filters.c) of this configuration, and add its
 * variables (nginx_variables.c). NGX_OK or NGX_ERROR. */
ngx_int_t phases_wrap(ngx_cycle_t *cycle, struct hone_main *hm, ngx_http_core_main_conf_t *core);
ngx_int_t upstreams_wrap(ngx_conf_t *cf, struct hone_main *hm);
void filters_wrap(void);
ngx_int_t variables_add(ngx_conf_t *cf);

/* The job's call of r->upstream, which is begun if it is new; if `asked`, it has a link for the next
 * try. Idempotent. NULL: no memory. */
struct nginx_call *call_of(struct nginx_job *job, bool asked);

/* The client's tracestate without members hone=, in r->pool; empty: none, or no memory. At most
 * TRACESTATE_PASSED_MAX bytes. */
ngx_str_t client_state(ngx_http_request_t *r);
/* The client's traceparent as a C string in `room`. NULL: there is none or more than one, it is too
 * long, or contains a 0 byte. */
enum { TRACEPARENT_ROOM = 1024 };
const char *client_traceparent(ngx_http_request_t *r, char room[TRACEPARENT_ROOM]);
/* Sets *ret to the members of all lines of the client's tracestate, empty if they contain a 0 byte.
 * others_max, ours_wanted: see tracestate_init(). */
void client_tracestate(
    ngx_http_request_t *r, size_t others_max, bool ours_wanted, struct tracestate *ret);

#pragma GCC visibility pop
#endif
