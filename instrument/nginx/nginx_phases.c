/* SPDX-License-Identifier: MIT */
/*
 * nginx passes a request through phases; each has handlers of several modules. A
 * handler may suspend the request until an event (limit_req waits in preaccess),
 * and is called again after it. The module adds no handlers of its own, since it
 * cannot choose their position among the others: after the configuration was read
 * it puts a checker of its own in front of the checker of each handler. So it is
 * called before and after each handler of any module. The span of a phase lasts
 * from its first handler to the first handler of the next phase.
 */
#include "instrument/nginx/nginx_inside.h"

/* Whether a job may begin in this phase. Before the location is found, the type is known only if no
 * location of the server sets hone or hone_type. */
static bool
may_begin(ngx_http_request_t *r, enum span phase)
{
	const struct hone_loc *loc = ngx_http_get_module_loc_conf(r, ngx_http_hone_module);
	const struct hone_srv *srv;

	if (r != r->main)
		return true;
	if (!loc->enable || phase > SPAN_find_config)
		return loc->enable;
	srv = ngx_http_get_module_srv_conf(r, ngx_http_hone_module);
	return loc->type != NULL && !srv->late;
}

static void
phase_enter(struct nginx_job *job, enum span phase)
{
	if (!span_is_open(job, phase)) {
		span_begin(job, phase);
		job->waits = 0;
	} else if (job->left) {
		job->waits++;
	}
	job->left = 0;
}

/* Runs the remaining phases as ngx_http_core_run_phases() does, so that they are one visit rather
 * than one for each handler. */
static ngx_int_t
run(ngx_http_request_t *r, const struct hone_main *hm, ngx_http_phase_handler_t *engine,
    struct nginx_job *job)
{
	ngx_http_phase_handler_t *ph;
	ngx_int_t rc;

	do {
		ph = &engine[r->phase_handler];
		if (job != NULL)
			phase_enter(job, hm->phases[ph - engine]);
		rc = hm->checkers[ph - engine](r, ph);
	} while (rc != NGX_OK && engine[r->phase_handler].checker != NULL);
	return rc;
}

static ngx_int_t
checker(ngx_http_request_t *r, ngx_http_phase_handler_t *ph)
{
	const struct hone_main *hm = ngx_http_get_module_main_conf(r, ngx_http_hone_module);
	const ngx_http_core_main_conf_t *core = ngx_http_get_module_main_conf(
	    r, ngx_http_core_module);
	ngx_http_phase_handler_t *engine = core->phase_engine.handlers;
	struct nginx_job *job = job_find(r);
	struct visit v;
	ngx_int_t rc;

	while (job == NULL && !may_begin(r, hm->phases[ph - engine])) {
		rc = hm->checkers[ph - engine](r, ph);
		if (rc == NGX_OK || engine[r->phase_handler].checker == NULL)
			return rc;
		ph = &engine[r->phase_handler];
	}
	if (job == NULL)
		job = job_begin(r);
	if (job == NULL || job->quiet || job->ended)
		return run(r, hm, engine, NULL);
	visit_begin(&v, job);
	rc = run(r, hm, engine, job);
	if (rc == NGX_OK && v.job != NULL)
		job->left = 1; /* the request is suspended here, or was answered */
	visit_end(&v);
	return rc;
}

/* The only handler of the log phase: calls those of all modules and ends the request, since nothing
 * else happens to it afterwards. */
static ngx_int_t
logger(ngx_http_request_t *r)
{
	const struct hone_main *hm = ngx_http_get_module_main_conf(r, ngx_http_hone_module);
	struct nginx_job *job = job_traced(r);
	struct visit v;

	visit_begin(&v, job);
	if (job != NULL && r == r->main)
		span_begin(job, SPAN_log);
	for (ngx_uint_t i = 0; i < hm->nloggers; i++)
		hm->loggers[i](r);
	if (job != NULL && r == r->main)
		job_end(job);
	visit_end(&v);
	return NGX_OK;
}

/* The number of entries that a phase has in the engine, and their span, as laid out by nginx'
 * ngx_http_init_phase_handlers(). */
static ngx_uint_t
entries(const ngx_http_core_main_conf_t *core, ngx_uint_t phase, enum span *span)
{
	static const enum span spans[NGX_HTTP_LOG_PHASE] = {
		[NGX_HTTP_POST_READ_PHASE] = SPAN_post_read,
		[NGX_HTTP_SERVER_REWRITE_PHASE] = SPAN_server_rewrite,
		[NGX_HTTP_FIND_CONFIG_PHASE] = SPAN_find_config,
		[NGX_HTTP_REWRITE_PHASE] = SPAN_rewrite,
		[NGX_HTTP_POST_REWRITE_PHASE] = SPAN_rewrite,
		[NGX_HTTP_PREACCESS_PHASE] = SPAN_preaccess,
		[NGX_HTTP_ACCESS_PHASE] = SPAN_access,
		[NGX_HTTP_POST_ACCESS_PHASE] = SPAN_access,
		[NGX_HTTP_PRECONTENT_PHASE] = SPAN_precontent,
		[NGX_HTTP_CONTENT_PHASE] = SPAN_content,
	};

	*span = spans[phase];
	switch (phase) {
	case NGX_HTTP_FIND_CONFIG_PHASE:
		return 1;
	case NGX_HTTP_POST_REWRITE_PHASE:
		return core->phases[NGX_HTTP_REWRITE_PHASE].handlers.nelts > 0;
	case NGX_HTTP_POST_ACCESS_PHASE:
		return core->phases[NGX_HTTP_ACCESS_PHASE].handlers.nelts > 0;
	default:
		return core->phases[phase].handlers.nelts;
	}
}

static ngx_int_t
loggers_wrap(ngx_cycle_t *cycle, struct hone_main *hm, ngx_array_t *handlers)
{
	ngx_http_handler_pt *own = ngx_palloc(cycle->pool, sizeof *own);

	if (own == NULL)
		return NGX_ERROR;
	*own = logger;
	hm->loggers = handlers->elts;
	hm->nloggers = handlers->nelts;
	handlers->elts = own;
	handlers->nelts = handlers->nalloc = 1;
	return NGX_OK;
}

ngx_int_t
phases_wrap(ngx_cycle_t *cycle, struct hone_main *hm, ngx_http_core_main_conf_t *core)
{
	ngx_http_phase_handler_t *engine = core->phase_engine.handlers;
	ngx_uint_t n = 0, at = 0, here;
	enum span span;

	for (ngx_uint_t p = 0; p < NGX_HTTP_LOG_PHASE; p++)
		n += entries(core, p, &span);
	for (ngx_uint_t i = 0; i <= n; i++) {
		if ((engine[i].checker != NULL) == (i < n))
			continue;
		ngx_log_error(NGX_LOG_EMERG, cycle->log, 0,
		    "hone: the phases of this nginx differ from those of " NGINX_VERSION);
		return NGX_ERROR;
	}
	hm->checkers = ngx_palloc(cycle->pool, n * sizeof *hm->checkers);
	hm->phases = ngx_palloc(cycle->pool, n);
	if (hm->checkers == NULL || hm->phases == NULL)
		return NGX_ERROR;
	for (ngx_uint_t p = 0; p < NGX_HTTP_LOG_PHASE; p++) {
		for (here = entries(core, p, &span); here > 0; here--, at++) {
			hm->checkers[at] = engine[at].checker;
			hm->phases[at] = (u_char)span;
			engine[at].checker = checker;
		}
	}
	return loggers_wrap(cycle, hm, &core->phases[NGX_HTTP_LOG_PHASE].handlers);
}
