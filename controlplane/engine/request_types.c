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

static void
type_release(struct request_type *type)
{
	diagnosis_free(type->diagnosis);
	free(type->name);
	free(type->sketch);
	hash_table_release(&type->learned);
}

void
request_types_release(struct request_types *types)
{
	for (uint32_t i = 0; i < types->n; i++)
		type_release(&types->items[i]);
	hash_table_release(&types->by_label);
	types->n = 0;
}

struct request_type *
request_types_known(struct request_types *types, uint32_t label)
{
	uint32_t at = hash_table_find(&types->by_label, hash_multiply(label));

	return at != HASH_TABLE_NONE ? &types->items[at] : NULL;
}

static bool
of_one_service(const struct labels *labels, uint32_t a, uint32_t b)
{
	const struct label *x = labels_get(labels, a), *y = labels_get(labels, b);

	return x->service_len == y->service_len && memcmp(x->text, y->text, x->service_len) == 0;
}

/* The label of a type of the service that has more than half of all places; LABEL_NONE: none has. By voting (Boyer and Moore, MJRTY,
 * 1981). */
static uint32_t
crowding_service(const struct request_types *types, const struct labels *labels)
{
	uint32_t label = LABEL_NONE, votes = 0, count = 0;

	for (uint32_t i = 0; i < types->n; i++) {
		if (votes == 0)
			label = types->items[i].label;
		votes += of_one_service(labels, label, types->items[i].label) ? 1 : -1;
	}
	for (uint32_t i = 0; i < types->n; i++)
		count += of_one_service(labels, label, types->items[i].label);
	return count > TYPES_MAX / 2 ? label : LABEL_NONE;
}

/* The type that has been idle for longest, without a diagnosis; of the service of that label, if it is one. */
static uint32_t
longest_idle(const struct request_types *types, const struct labels *labels, uint32_t of)
{
	uint32_t oldest = UINT32_MAX;

	for (uint32_t i = 0; i < types->n; i++) {
		const struct request_type *type = &types->items[i];

		/* 1 */
		if (type->diagnosis == NULL &&
		    (of == LABEL_NONE || of_one_service(labels, of, type->label)) &&
		    (oldest == UINT32_MAX || type->last.ns < types->items[oldest].last.ns))
			oldest = i;
	}
	return oldest;
}

uint32_t
request_types_oldest(
    const struct request_types *types, const struct labels *labels, uint32_t label, struct mono now)
{
	uint32_t oldest = longest_idle(types, labels, LABEL_NONE), crowding;

	/* 2 */
	if (oldest != UINT32_MAX && mono_since_ns(now, types->items[oldest].last) >= TYPE_IDLE_NS)
		return oldest;
	/* 3 */
	crowding = crowding_service(types, labels);
	return crowding != LABEL_NONE && !of_one_service(labels, crowding, label)
	           ? longest_idle(types, labels, crowding)
	           : UINT32_MAX;
}

static void
leave_place(struct request_types *types, uint32_t at)
{
	uint64_t hash = hash_multiply(types->items[at].label);

	hash_table_remove(&types->by_label, hash_table_first(&types->by_label, hash));
	type_release(&types->items[at]);
}

struct request_type *
request_types_of(struct request_types *types, const struct labels *labels, uint32_t label,
    struct mono now, bool may_replace, bool *replaced)
{
	struct request_type *type = request_types_known(types, label),
			    new = { .label = label, .last = now };
	const struct label *l;

	*replaced = false;
	if (type != NULL)
		return type;
	new.index = types->n < TYPES_MAX ? types->n
	            : may_replace        ? request_types_oldest(types, labels, label, now)
	                                 : UINT32_MAX;
	if (new.index == UINT32_MAX)
		return NULL;
	l = labels_get(labels, label);
	new.name = strndup(l->name, l->name_len);
	new.sketch = calloc(1, sizeof *new.sketch);
	if (new.name == NULL || new.sketch == NULL ||
	    !hash_table_put(&types->by_label, hash_multiply(label), new.index)) {
		type_release(&new);
		return NULL;
	}
	*replaced = new.index < types->n;
	if (*replaced) {
		leave_place(types, new.index);
		types->replaced++;
	} else {
		types->n++;
	}
	types->items[new.index] = new;
	return &types->items[new.index];
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
	type->last = now;
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
