/* SPDX-License-Identifier: MIT */
/*
 * Jobs: their begin and end, and the visits in which their unit is on the thread.
 *
 *	request   job_begin --- visit --- visit --- visit, log phase --- job_end
 *	             \                    /
 *	subrequest    fork, unit_begin .. unit_end, join
 */
#include "instrument/nginx/nginx_inside.h"

static struct visit *innermost;
static ngx_event_handler_pt request_events; /* nginx's handler, the same for all requests */
static const struct hone_unit OUTSIDE;

/* ---- visits ------------------------------------------------------------------------ */

/* Removes a job that has ended from all visits, so that it is neither attached again nor accessed. */
static void
visits_forget(const struct nginx_job *job)
{
	for (struct visit *v = innermost; v != NULL; v = v->outer) {
		if (v->job == job)
			v->job = NULL;
		if (!v->nested && v->before.unit_id == job->unit.unit_id)
			v->before = OUTSIDE;
	}
}

static void
sub_end(struct nginx_job *sub)
{
	struct nginx_job *parent = job_traced(sub->r->parent);

	job_end(sub);
	if (sub->quiet || sub->r->background || parent == NULL)
		return; /* the parent does not wait for it */
	hone_attach(&parent->unit);
	hone_join(&sub->from, "subrequest");
}

/* Ends the subrequests that are done, then attaches the visit's job to the thread. nginx has no
 * callback for the end of a subrequest, but a subrequest is done before its parent continues. */
static void
sweep(const struct visit *v)
{
	struct nginx_job *sub = v->job->main->subs;

	if (sub == NULL && v->nested)
		return;
	for (; sub != NULL; sub = sub->next)
		if (!sub->ended && sub->r->done)
			sub_end(sub);
	hone_attach(v->job != NULL ? &v->job->unit : &OUTSIDE);
}

void
visit_begin(struct visit *v, struct nginx_job *job)
{
	v->on = job != NULL;
	if (!v->on)
		return;
	v->job = job;
	v->outer = innermost;
	v->nested = innermost != NULL && innermost->job == job;
	innermost = v;
	if (!v->nested)
		hone_detach(&v->before);
	sweep(v);
}

/* Usually the log phase ends the job, before the outermost visit ends. But nginx may keep a request
 * long after its reply was sent, to read the rest of the client's body or to wait for a mirror: then
 * the job ends here. */
void
visit_end(struct visit *v)
{
	struct nginx_job *main;

	if (!v->on)
		return;
	if (v->job != NULL && (v->outer == NULL || v->job->main->subs != NULL)) {
		main = v->job->main;
		sweep(v);
		if (v->outer == NULL && main->r->done && !main->ended)
			job_end(main);
	}
	innermost = v->outer;
	if (!v->nested)
		hone_attach(&v->before);
}

/* ---- finding ------------------------------------------------------------------------ */

static void
job_cleanup(void *data)
{
	struct nginx_job *job = data;

	if (!job->ended)
		job_end(job);
}

static struct nginx_job *
main_find(ngx_http_request_t *r)
{
	struct nginx_job *job = ngx_http_get_module_ctx(r, ngx_http_hone_module);

	if (job != NULL || !r->internal || r->pool == NULL)
		return job;
	for (ngx_pool_cleanup_t *c = r->pool->cleanup; c != NULL; c = c->next) {
		if (c->handler != job_cleanup)
			continue;
		ngx_http_set_ctx(r, c->data, ngx_http_hone_module);
		return c->data;
	}
	return NULL;
}

struct nginx_job *
job_find(ngx_http_request_t *r)
{
	struct nginx_job *job = ngx_http_get_module_ctx(r, ngx_http_hone_module);

	if (job != NULL)
		return job;
	job = main_find(r->main);
	if (job == NULL || r == r->main)
		return job;
	for (job = job->subs; job != NULL; job = job->next) {
		if (job->r != r)
			continue;
		ngx_http_set_ctx(r, job, ngx_http_hone_module);
		return job;
	}
	return NULL;
}

struct nginx_job *
job_traced(ngx_http_request_t *r)
{
	struct nginx_job *job = job_find(r);

	return job == NULL || job->quiet || job->ended ? NULL : job;
}

/* ---- beginning ------------------------------------------------------------------------ */

/* A position in the lines of the client's header. */
struct lines {
	const ngx_list_part_t *part;
	ngx_uint_t at;
};

/* The value of the next line of that name, or NULL. */
static const ngx_str_t *
line_next(struct lines *lines, const char *name, size_t len)
{
	for (; lines->part != NULL; lines->part = lines->part->next, lines->at = 0) {
		const ngx_table_elt_t *h = lines->part->elts;

		while (lines->at < lines->part->nelts) {
			const ngx_table_elt_t *line = &h[lines->at++];

			if (line->key.len == len &&
			    ngx_strncasecmp(line->key.data, (u_char *)name, len) == 0)
				return &line->value;
		}
	}
	return NULL;
}

const char *
client_traceparent(ngx_http_request_t *r, char room[TRACEPARENT_ROOM])
{
	struct lines lines = { &r->headers_in.headers.part, 0 };
	const ngx_str_t *line = line_next(&lines, "traceparent", 11);

	if (line == NULL || line->len >= TRACEPARENT_ROOM ||
	    line_next(&lines, "traceparent", 11) != NULL)
		return NULL;
	ngx_memcpy(room, line->data, line->len);
	room[line->len] = '\0';
	return ngx_strlen(room) == line->len ? room : NULL;
}

void
client_tracestate(
    ngx_http_request_t *r, size_t others_max, bool ours_wanted, struct tracestate *ret)
{
	struct lines lines = { &r->headers_in.headers.part, 0 };
	const ngx_str_t *line;

	tracestate_init(ret, others_max, ours_wanted);
	while ((line = line_next(&lines, "tracestate", 10)) != NULL)
		tracestate_add(ret, (const char *)line->data, line->len);
	if (memchr(ret->text, '\0', ret->len) != NULL)
		ret->len = 0;
}

/* Sampling flags of untrusted clients are ignored; their trace id is kept, as W3C requires. */
static void
client_read(ngx_http_request_t *r, bool trust, struct hone_carrier *ret)
{
	char parent[TRACEPARENT_ROOM];
	struct tracestate ours;

	tracestate_init(&ours, 0, true);
	if (trust)
		client_tracestate(r, 0, true, &ours);
	ours.text[ours.len] = '\0';
	hone_carrier_read(ret, client_traceparent(r, parent), ours.text);
}

static int
method_index(const ngx_http_request_t *r)
{
	switch (r->method) {
	case NGX_HTTP_GET:
		return 0;
	case NGX_HTTP_HEAD:
		return 1;
	case NGX_HTTP_POST:
		return 2;
	case NGX_HTTP_PUT:
		return 3;
	case NGX_HTTP_DELETE:
		return 4;
	case NGX_HTTP_PATCH:
		return 5;
	case NGX_HTTP_OPTIONS:
		return 6;
	default:
		return 7;
	}
}

/*
 * Whether a type is among the first 256 that this worker has seen. A type that is made
 * from the client's request could differ each time, and the agent's table has 512
 * entries. Usually one probe of a hash table.
 */
static bool
type_is_one_of_few(const char *type)
{
	enum { SLOTS = 1024, MAX = 256 };
	static uint32_t seen[SLOTS];
	static uint32_t nseen;
	uint32_t id = hone_request_type(type), at = id % SLOTS;

	while (seen[at] != 0 && seen[at] != id)
		at = (at + 1) % SLOTS;
	if (seen[at] == id)
		return true;
	if (nseen == MAX)
		return false;
	seen[at] = id;
	nseen++;
	return true;
}

/* The request's type: a literal, of the configuration, or in r->pool. */
static const char *
type_of(ngx_http_request_t *r, const struct hone_loc *conf)
{
	ngx_str_t value;
	char *room;
	size_t len;

	if (conf->names[0] != NULL)
		return conf->names[method_index(r)];
	if (ngx_http_complex_value(r, conf->type, &value) != NGX_OK || value.len == 0 ||
	    (room = ngx_pnalloc(r->pool, TYPE_SIZE)) == NULL)
		return "(none)";
	len = ngx_min(value.len, TYPE_SIZE - 1);
	for (size_t i = 0; i < len; i++)
		room[i] = value.data[i] < ' ' || value.data[i] == 0x7f ? '_' : (char)value.data[i];
	room[len] = '\0';
	return type_is_one_of_few(room) ? room : "(others)";
}

static struct nginx_job *
job_new(ngx_http_request_t *r)
{
	struct nginx_job *job = ngx_pcalloc(r->pool, sizeof *job);

	if (job == NULL)
		return NULL;
	job->r = r;
	job->main = job;
	ngx_http_set_ctx(r, job, ngx_http_hone_module);
	return job;
}

static struct nginx_job *
main_begin(ngx_http_request_t *r, const struct hone_loc *conf)
{
	struct hone_carrier from;
	struct hone_unit before;
	ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(r->pool, 0);
	struct nginx_job *job = cleanup != NULL ? job_new(r) : NULL;
	const char *type;

	if (job == NULL)
		return NULL;
	client_read(r, conf->trust, &from);
	type = type_of(r, conf);
	if (innermost != NULL) /* otherwise no unit is on the thread */
		hone_detach(&before);
	job->known = hone_from_known(&from) != 0;
	if (job->known)
		hone_unit_begin(&from, type);
	else
		hone_request_begin(type, &from);
	hone_detach(&job->unit);
	if (innermost != NULL)
		hone_attach(&before);
	job->quiet = !job->unit.carrier.sampled && !job->unit.carrier.probed;
	cleanup->handler = job_cleanup;
	cleanup->data = job;
	if (!job->quiet)
		connection_watch(r);
	return job;
}

static struct nginx_job *
sub_begin(ngx_http_request_t *r)
{
	struct nginx_job *main = main_find(r->main), *parent, *job;
	struct hone_unit before;

	if (main == NULL || main->ended || (job = job_new(r)) == NULL)
		return NULL;
	job->main = main;
	job->next = main->subs;
	main->subs = job;
	job->quiet = main->quiet;
	job->unit = main->unit;
	if (job->quiet)
		return job;
	parent = job_traced(r->parent);
	hone_detach(&before);
	hone_attach(parent != NULL ? &parent->unit : &main->unit);
	hone_fork("subrequest", &job->from);
	hone_attach(&OUTSIDE);
	hone_unit_begin(&job->from, "subrequest");
	hone_detach(&job->unit);
	hone_attach(&before);
	return job;
}

struct nginx_job *
job_begin(ngx_http_request_t *r)
{
	const struct hone_loc *conf = ngx_http_get_module_loc_conf(r, ngx_http_hone_module);

	if (r != r->main)
		return sub_begin(r);
	return conf->enable ? main_begin(r, conf) : NULL;
}

/* ---- ending ---------------------------------------------------------------------------- */

/* The HTTP status, as nginx logs it; 0: none. */
static int
status_of(const ngx_http_request_t *r)
{
	if (r->err_status != 0)
		return (int)r->err_status;
	return r->headers_out.status != 0              ? (int)r->headers_out.status
	       : r->http_version == NGX_HTTP_VERSION_9 ? 9
	                                               : 0;
}

void
job_end(struct nginx_job *job)
{
	struct hone_unit before;

	if (job->main == job)
		for (struct nginx_job *sub = job->subs; sub != NULL; sub = sub->next)
			if (!sub->ended)
				job_end(sub);
	job->ended = 1;
	if (!job->quiet) {
		hone_detach(&before);
		hone_attach(&job->unit);
		spans_end_all(job);
		if (job->main == job && !job->known)
			hone_request_end(status_of(job->r));
		else
			hone_unit_end();
		if (before.unit_id != job->unit.unit_id)
			hone_attach(&before);
	}
	visits_forget(job);
}

/* ---- events ------------------------------------------------------------------------------- */

/* Calls nginx's handler in a visit. */
static void
on_event(ngx_event_t *ev)
{
	ngx_connection_t *c = ev->data;
	struct visit v;

	visit_begin(&v, job_traced(c->data));
	request_events(ev);
	visit_end(&v);
}

/* nginx sets its handler when it has read a request, and again before it makes an error page. Other
 * handlers (reading ahead, keepalive, lingering) are left in place. */
void
connection_watch(ngx_http_request_t *r)
{
	ngx_connection_t *c = r->connection;

	if (request_events == NULL && c->read->handler == c->write->handler)
		request_events = c->read->handler;
	if (c->read->handler == request_events)
		c->read->handler = on_event;
	if (c->write->handler == request_events)
		c->write->handler = on_event;
}
