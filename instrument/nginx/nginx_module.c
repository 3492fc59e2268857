/* SPDX-License-Identifier: MIT */
/*
 * The directives, and the set-up of the module after the configuration was read:
 *
 *	hone on | off;		http, server, location; default off
 *	hone_type text;		the request type, with variables; default the method and the location's name
 *	hone_trust on | off;	whether hone= in a client's tracestate is used; default off
 */
#include "instrument/nginx/nginx_inside.h"

static const char *const methods[METHODS] = { "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH",
	"OPTIONS", "OTHER" };

static char *
type_set(ngx_conf_t *cf, ngx_command_t *command, void *conf)
{
	struct hone_loc *loc = conf;
	ngx_str_t *value = cf->args->elts;
	ngx_http_compile_complex_value_t compile = { .cf = cf, .value = &value[1] };

	(void)command;
	if (loc->type != NGX_CONF_UNSET_PTR)
		return "is duplicate";
	if (value[1].len == 0)
		return "needs a name";
	loc->type = ngx_palloc(cf->pool, sizeof *loc->type);
	if (loc->type == NULL)
		return NGX_CONF_ERROR;
	compile.complex_value = loc->type;
	if (ngx_http_compile_complex_value(&compile) != NGX_OK)
		return NGX_CONF_ERROR;
	if (loc->type->lengths == NULL && value[1].len >= TYPE_SIZE)
		return "is longer than 63 bytes";
	return NGX_CONF_OK;
}

#define WHERE (NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF)

static ngx_command_t commands[] = { { ngx_string("hone"), WHERE | NGX_CONF_FLAG,
					ngx_conf_set_flag_slot, NGX_HTTP_LOC_CONF_OFFSET,
					offsetof(struct hone_loc, enable), NULL },
	{ ngx_string("hone_trust"), WHERE | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
	    NGX_HTTP_LOC_CONF_OFFSET, offsetof(struct hone_loc, trust), NULL },
	{ ngx_string("hone_type"), WHERE | NGX_CONF_TAKE1, type_set, NGX_HTTP_LOC_CONF_OFFSET, 0,
	    NULL },
	ngx_null_command };

static void *
main_create(ngx_conf_t *cf)
{
	return ngx_pcalloc(cf->pool, sizeof(struct hone_main));
}

static void *
srv_create(ngx_conf_t *cf)
{
	return ngx_pcalloc(cf->pool, sizeof(struct hone_srv));
}

static void *
loc_create(ngx_conf_t *cf)
{
	struct hone_loc *loc = ngx_pcalloc(cf->pool, sizeof *loc);

	if (loc == NULL)
		return NULL;
	loc->enable = loc->trust = NGX_CONF_UNSET;
	loc->type = NGX_CONF_UNSET_PTR;
	return loc;
}

/* "method name", or `name` if method is NULL, cut to 63 bytes; NULL: no memory. */
static const char *
name_make(ngx_conf_t *cf, const char *method, const ngx_str_t *name)
{
	u_char *out = ngx_pnalloc(cf->pool, TYPE_SIZE), *end;

	if (out == NULL)
		return NULL;
	end = method != NULL ? ngx_snprintf(out, TYPE_SIZE - 1, "%s %V", method, name)
	                     : ngx_snprintf(out, TYPE_SIZE - 1, "%V", name);
	*end = '\0';
	return (char *)out;
}

/* Makes the types of a block, if they are constant. A server's own block, used where no location
 * matches, has no name: "(server)"; a block limit_except inherits the names of its location. */
static bool
names_make(ngx_conf_t *cf, const struct hone_loc *prev, struct hone_loc *loc)
{
	const ngx_http_core_loc_conf_t *core = ngx_http_conf_get_module_loc_conf(
	    cf, ngx_http_core_module);
	ngx_str_t name = ngx_string("(server)");

	if (loc->type != NULL && loc->type->lengths != NULL)
		return true;
	if (core->name.len > 0)
		name = core->name;
	for (int i = 0; i < METHODS; i++) {
		if (loc->type != NULL)
			loc->names[i] = i > 0 ? loc->names[0]
			                      : name_make(cf, NULL, &loc->type->value);
		else if (core->name.len == 0 && prev->names[i] != NULL)
			loc->names[i] = prev->names[i];
		else
			loc->names[i] = name_make(cf, methods[i], &name);
		if (loc->names[i] == NULL)
			return false;
	}
	return true;
}

static char *
loc_merge(ngx_conf_t *cf, void *parent, void *child)
{
	const ngx_http_core_loc_conf_t *core = ngx_http_conf_get_module_loc_conf(
	    cf, ngx_http_core_module);
	struct hone_main *hm = ngx_http_conf_get_module_main_conf(cf, ngx_http_hone_module);
	struct hone_srv *srv = ngx_http_conf_get_module_srv_conf(cf, ngx_http_hone_module);
	const struct hone_loc *prev = parent;
	struct hone_loc *loc = child;

	if ((core->name.len > 0 || core->noname) &&
	    (loc->enable != NGX_CONF_UNSET || loc->type != NGX_CONF_UNSET_PTR))
		srv->late = 1;
	ngx_conf_merge_value(loc->enable, prev->enable, 0);
	ngx_conf_merge_value(loc->trust, prev->trust, 0);
	ngx_conf_merge_ptr_value(loc->type, prev->type, NULL);
	hm->used |= loc->enable != 0;
	return names_make(cf, prev, loc) ? NGX_CONF_OK : NGX_CONF_ERROR;
}

/* nginx's other filters are registered by now. Those of the module are registered last, so they are
 * called first. */
static ngx_int_t
configured(ngx_conf_t *cf)
{
	struct hone_main *hm = ngx_http_conf_get_module_main_conf(cf, ngx_http_hone_module);

	if (!hm->used)
		return NGX_OK;
	filters_wrap();
	return upstreams_wrap(cf, hm);
}

/* Called when the phase engine is built. */
static ngx_int_t
started(ngx_cycle_t *cycle)
{
	struct hone_main *hm = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_hone_module);

	if (hm == NULL || !hm->used)
		return NGX_OK;
	return phases_wrap(
	    cycle, hm, ngx_http_cycle_get_module_main_conf(cycle, ngx_http_core_module));
}

static ngx_http_module_t functions = {
	.preconfiguration = variables_add,
	.postconfiguration = configured,
	.create_main_conf = main_create,
	.create_srv_conf = srv_create,
	.create_loc_conf = loc_create,
	.merge_loc_conf = loc_merge,
};

ngx_module_t ngx_http_hone_module = { NGX_MODULE_V1, &functions, commands, NGX_HTTP_MODULE, NULL,
	started, NULL, NULL, NULL, NULL, NULL, NGX_MODULE_V1_PADDING };
