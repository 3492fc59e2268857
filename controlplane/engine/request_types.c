/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/request_types.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/search/diagnose.h"

#define WINDOW_NS INT64_C(1000000000)
/* Standard deviations of a Poisson count that chance alone exceeds less than once a day. */
#define CHANCE 5.0
#define OFFERED_NEW 0.2 /* weight of one window beside those before it */

void
request_types_release(struct request_types *types)
{
	for (uint32_t i = 0; i < types->n; i++) {
		struct request_type *type = &types->items[i];

		diagnosis_free(type->diagnosis);
		free(type->name);
		free(type->sketch);
		hash_table_release(&type->learned);
	}
	hash_table_release(&types->by_label);
	types->n = 0;
}

struct request_type *
request_types_known(struct request_types *types, uint32_t label)
{
	uint32_t at = hash_table_find(&types->by_label, hash_multiply(label));

	return at != HASH_TABLE_NONE ? &types->items[at] : NULL;
}

struct request_type *
request_types_of(struct request_types *types, const struct labels *labels, uint32_t label)
{
	struct request_type *type = request_types_known(types, label);
	const struct label *l;

	if (type != NULL)
		return type;
	if (types->n == TYPES_MAX)
		return NULL;
	l = labels_get(labels, label);
	type = &types->items[types->n];
	*type = (struct request_type){ .index = types->n, .label = label };
	type->name = strndup(l->name, l->name_len);
	type->sketch = calloc(1, sizeof *type->sketch);
	if (type->name == NULL || type->sketch == NULL ||
	    !hash_table_put(&types->by_label, hash_multiply(label), types->n)) {
		free(type->name);
		free(type->sketch);
		return NULL;
	}
	types->n++;
	return type;
}

/* "name", or "service/name". */
static bool
has_name(const struct request_type *type, const struct label *l, const char *name)
{
	const char *slash = strchr(name, '/');

	return strcmp(type->name, name) == 0 ||
	       (slash != NULL && (size_t)(slash - name) == l->service_len &&
		   strncmp(l->text, name, l->service_len) == 0 &&
		   strcmp(slash + 1, type->name) == 0);
}

int
request_types_find(struct request_types *types, const struct labels *labels, const char *name,
    struct request_type **ret, struct err *e)
{
	char seen[240] = "";
	size_t len = 0;

	*ret = NULL;
	for (uint32_t i = 0; i < types->n; i++) {
		struct request_type *t = &types->items[i];
		const struct label *l = labels_get(labels, t->label);
		bool same = has_name(t, l, name);

		if (same && *ret != NULL)
			return err_set(e, ERR_INPUT,
			    "%s: several services have this request type; say %.*s/%s", name,
			    (int)l->service_len, l->text, t->name);
		if (same)
			*ret = t;
		if (len < sizeof seen - 1)
			len += (size_t)snprintf(
			    seen + len, sizeof seen - len, "%s%s", len > 0 ? ", " : "", t->name);
	}
	if (*ret != NULL)
		return 0;
	if (types->n == 0)
		return err_set(e, ERR_MISSING,
		    "%s: no request of any type has been seen yet; is the application "
		    "instrumented with libhone, and under load? See 'hone agents'",
		    name);
	return err_set(
	    e, ERR_MISSING, "%s: no request of this type has been seen; seen: %s", name, seen);
}

/* A count that chance explains moves the estimate a little; any other is another load, and replaces
 * the estimate. */
static void
estimate_offered(struct request_type *type, double sampled, double seconds)
{
	double expected = type->offered * sampled * seconds, came = (double)type->window_traces;

	if (type->offered == 0 || fabs(came - expected) > CHANCE * sqrt(expected + 1))
		type->offered = came / seconds / sampled;
	else
		type->offered += OFFERED_NEW * (came / seconds / sampled - type->offered);
}

/* If the sampled share changed during the window, the number of requests cannot be computed from
 * the number of traces, so the estimate stays as it is. */
static void
end_window(struct request_type *type, double sampled, struct mono now)
{
	double seconds = (double)mono_since_ns(now, type->window) / 1e9;

	type->per_second = (double)type->window_traces / seconds;
	if (sampled > 0 && (sampled == type->window_sampled || type->offered == 0))
		estimate_offered(type, sampled, seconds);
	type->window_sampled = sampled;
	type->window_traces = 0;
	type->window = now;
}

void
request_type_trace(
    struct request_type *type, const struct trace *t, double sampled, struct mono now)
{
	int64_t took_ns = t->end_ns - t->begin_ns;

	assert(t->type == type->label);
	type->traces++;
	type->window_traces++;
	if (mono_since_ns(now, type->window) >= WINDOW_NS)
		end_window(type, sampled, now);
	moments_add(&type->total, (double)took_ns);
	sketch_add(type->sketch, took_ns);
}

bool
request_type_diagnosed(const struct request_type *type)
{
	return type->diagnosis != NULL && type->diagnosis->phase != PHASE_ENDED;
}

bool
request_types_diagnosed(const struct request_types *types)
{
	for (uint32_t i = 0; i < types->n; i++)
		if (request_type_diagnosed(&types->items[i]))
			return true;
	return false;
}
