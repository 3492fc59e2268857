/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/overhead.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "controlplane/engine/trace_age.h"
#include "searchspace/budget.h"
#include "wire/below.h"
#include "base/texts.h"

#define WINDOW_NS INT64_C(1000000000)
/* Ratio of neighbouring shares: a smaller change is not worth a new desired state. */
#define STEP 1.05
/* Saved, of the cost of a record, by not probing where no filter can reject it. Not 0, so that a
 * node over its budget has a share that falls. */
#define UNFILTERED_SAVES 0.01

/* Not a tracepoint: the records of hone-below, in units of records of tracepoints. */
#define BELOW_POINT "hone-below"

/* The number of probed traces after which the measured rate replaces the learned one. */
enum { PASSES_SURE = 10 };
enum { POINT_NONE = (1 << 30) - 1 };

/* ---- counters by (type, point, node) ---- */

struct counter {
	uint64_t key;
	uint64_t n;
	uint64_t traces; /* of `passes`: probed traces; of `came`: the last trace that counted */
};

struct counters {
	struct hash_table index;
	struct counter *items;
	uint32_t n, cap;
};

static uint64_t
counter_key(uint32_t type, uint32_t point, uint32_t node)
{
	return (uint64_t)type << 54 | (uint64_t)node << 30 | point;
}

/* NULL: there is none. */
static struct counter *
counter_find(const struct counters *c, uint64_t key)
{
	uint32_t at = hash_table_find(&c->index, hash_multiply(key));

	return at != HASH_TABLE_NONE ? &c->items[at] : NULL;
}

/* The counter, which is made if there is none; valid until the next is made. NULL: out of memory.
 */
static struct counter *
counter_of(struct counters *c, uint64_t key)
{
	uint32_t at;

	if (!array_reserve(c->items, c->cap, c->n + 1))
		return NULL;
	at = hash_table_claim(&c->index, hash_multiply(key), c->n);
	if (at == HASH_TABLE_NONE)
		return NULL;
	if (at == c->n)
		c->items[c->n++] = (struct counter){ .key = key };
	return &c->items[at];
}

static void
counters_clear(struct counters *c)
{
	hash_table_clear(&c->index);
	c->n = 0;
}

static void
counters_release(struct counters *c)
{
	hash_table_release(&c->index);
	free(c->items);
	*c = (struct counters){ 0 };
}

/* ---- */

struct learned_passes { /* of a label, by the requests of a type */
	uint32_t point; /* number of its tracepoint in overhead.points */
	uint32_t label;
	double per_trace;
};

struct type_cost {
	struct learned_passes *learned; /* by point, then label */
	uint32_t nlearned;
	uint64_t learned_traces; /* traces of the space that `learned` was made of */
	uint64_t traces, probed; /* in this window */
	double wanted;           /* share of its requests to probe */
};

struct costed { /* the budget has an entry for it */
	uint32_t type, point, node;
};

struct overhead {
	struct overhead_facts is;
	bool learning;
	uint32_t learn_groups;
	double learn_shrink;

	struct budget *budget, *learn_budget;
	struct texts *points; /* "provider:event" */
	uint32_t below_point;
	struct type_cost types[TYPES_MAX];
	struct counters came;    /* traces with a unit on the node, ever */
	struct counters records; /* of this window */
	/* records and probed traces while enabled, since the space is in use */
	struct counters passes;
	struct label_set unknown; /* points that were asked for and are not in the space */

	struct costed *costed;
	uint32_t ncosted, costed_cap;
	uint64_t costed_revision; /* nodes_revision() of these */
	uint64_t ntraces;
	uint64_t window_revision;  /* nodes_revision() at the begin of the window */
	uint64_t measured_version; /* plan_version() at the end of the last window that counted */
	bool steady;               /* the window counts so far */
	struct mono window;        /* its begin */
};

struct overhead *
overhead_new(const struct overhead_facts *facts)
{
	struct budget_options bo = { .share = facts->budget_share,
		.record_ns = OVERHEAD_RECORD_NS,
		.rejected_ns = OVERHEAD_REJECTED_NS,
		.probed_min = OVERHEAD_PROBED_MIN,
		.slack = OVERHEAD_SLACK };
	struct overhead *o = calloc(1, sizeof *o);

	if (o == NULL)
		return NULL;
	o->is = *facts;
	o->learn_groups = 1;
	o->learn_shrink = 1;
	o->budget = budget_new(&bo);
	bo.share = facts->learn_share;
	o->learn_budget = budget_new(&bo);
	o->points = texts_new();
	o->below_point = o->points != NULL
	                     ? texts_intern(o->points, BELOW_POINT, strlen(BELOW_POINT))
	                     : UINT32_MAX;
	for (uint32_t i = 0; i < TYPES_MAX; i++)
		o->types[i].wanted = 1;
	if (o->budget != NULL && o->learn_budget != NULL && o->below_point != UINT32_MAX)
		return o;
	overhead_free(o);
	return NULL;
}

void
overhead_free(struct overhead *o)
{
	if (o == NULL)
		return;
	for (uint32_t i = 0; i < TYPES_MAX; i++)
		free(o->types[i].learned);
	budget_free(o->budget);
	budget_free(o->learn_budget);
	texts_free(o->points);
	counters_release(&o->came);
	counters_release(&o->records);
	counters_release(&o->passes);
	label_set_release(&o->unknown);
	free(o->costed);
	free(o);
}

static uint32_t
point_of(struct overhead *o, const struct label *l)
{
	return texts_intern(o->points, l->event, l->event_len);
}

static const struct request_type *
type_at(const struct overhead *o, uint32_t i)
{
	return &o->is.types->items[i];
}

/* "func.shop-cart:flush_log_done" */
static bool
is_function_end(const char *name)
{
	size_t len = strlen(name), end = strlen(BELOW_FUNC_DONE);

	return strncmp(name, BELOW_FUNC, strlen(BELOW_FUNC)) == 0 && len > end &&
	       strcmp(name + len - end, BELOW_FUNC_DONE) == 0;
}

/* As how many records a record of this tracepoint counts. */
static double
records_of(const struct overhead *o, const char *name, uint32_t node)
{
	const struct status *s = &o->is.nodes->items[node].status;
	double rejected_ns = s->mapped > 0        ? (1 - UNFILTERED_SAVES) * OVERHEAD_RECORD_NS
	                     : s->rejected_ns > 0 ? s->rejected_ns
	                                          : OVERHEAD_REJECTED_NS;

	return is_function_end(name)  ? fmax(1, round(OVERHEAD_FUNCTION_END_NS / rejected_ns))
	       : below_is_probe(name) ? fmax(1, round(OVERHEAD_PROBE_NS / rejected_ns))
	                              : 1;
}

/* ---- counting ---- */

static int
count_event(struct overhead *o, uint32_t type, const struct event *v)
{
	const struct label *l = labels_get(o->is.labels, v->label);
	struct counter *c;
	uint32_t point;

	if (l->kind != RECORD_POINT || l->silent)
		return 0;
	if ((point = point_of(o, l)) >= POINT_NONE ||
	    (c = counter_of(&o->records, counter_key(type, point, v->node))) == NULL)
		return ERR_MEMORY;
	c->n += (uint64_t)records_of(o, texts_get(o->points, point), v->node);
	return 0;
}

/* Waits and samples, which cost more than records of tracepoints. */
static int
count_below(struct overhead *o, uint32_t type, const struct event *v)
{
	struct counter *c = counter_of(&o->records, counter_key(type, o->below_point, v->node));
	bool assumed;

	if (c == NULL)
		return ERR_MEMORY;
	c->n += (uint64_t)fmax(
	    1, round(OVERHEAD_BELOW_NS / overhead_record_ns(o, v->node, &assumed)));
	return 0;
}

/* A trace counts once on each node. */
static int
count_nodes(struct overhead *o, uint32_t type, const struct trace *t)
{
	o->ntraces++;
	for (uint32_t i = 0; i < t->nunits; i++) {
		uint32_t node = t->events[t->units[i].first].node;
		struct counter *c;

		if (t->units[i].count == 0)
			continue;
		if ((c = counter_of(&o->came, counter_key(type, POINT_NONE, node))) == NULL)
			return ERR_MEMORY;
		c->n += c->traces != o->ntraces;
		c->traces = o->ntraces;
	}
	return 0;
}

int
overhead_trace(
    struct overhead *o, const struct request_type *type, const struct trace *t, struct err *e)
{
	struct type_cost *k = &o->types[type->index];
	int rc = count_nodes(o, type->index, t);

	if (rc == 0 && o->steady && trace_began_after(o->is.clocks, t, o->window.ns)) {
		k->traces++;
		k->probed += t->probed;
		for (uint32_t i = 0; t->probed && rc == 0 && i < t->nevents; i++)
			rc = count_event(o, type->index, &t->events[i]);
		for (uint32_t i = 0; t->probed && rc == 0 && i < t->nbelow; i++)
			rc = count_below(o, type->index, &t->below[i]);
	}
	return rc == 0 ? 0 : err_set(e, rc, "budget: out of memory");
}

/* ---- predicting ---- */

static int
by_point(const void *a, const void *b)
{
	const struct learned_passes *x = a, *y = b;

	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	return x->label == y->label ? 0 : x->label < y->label ? -1 : 1;
}

/* Takes the passes of the type from the space, when it is first asked for and each time the space
 * has grown by a tenth. */
static int
take_learned(struct overhead *o, const struct request_type *type, struct err *e)
{
	struct type_cost *k = &o->types[type->index];
	struct space *space = *o->is.space;
	uint64_t traces = space_traces(space, type->label);
	struct space_export learned;

	if (traces == 0 || (k->learned_traces != 0 && k->learned_traces <= traces &&
			       traces - k->learned_traces <= k->learned_traces / 10))
		return 0;
	if (!space_export(space, type->label, &learned))
		return 0;
	free(k->learned);
	k->nlearned = 0;
	if ((k->learned = calloc(learned.nplaces + 1, sizeof *k->learned)) == NULL)
		return err_set(e, ERR_MEMORY, "budget: out of memory");
	for (uint32_t i = 0; i < learned.nplaces; i++) {
		const struct label *l = labels_get(o->is.labels, learned.places[i].label);
		uint32_t point;

		if (l->kind != RECORD_POINT || l->silent)
			continue;
		if ((point = point_of(o, l)) == UINT32_MAX)
			return err_set(e, ERR_MEMORY, "budget: out of memory");
		k->learned[k->nlearned++] = (struct learned_passes){ point, learned.places[i].label,
			(double)learned.places[i].count / (double)traces };
	}
	qsort(k->learned, k->nlearned, sizeof *k->learned, by_point);
	k->learned_traces = traces;
	return 0;
}

double
overhead_node_share(const struct overhead *o, const struct request_type *type, uint32_t node)
{
	const struct counter *c;

	if (type->traces == 0)
		return 1;
	c = counter_find(&o->came, counter_key(type->index, POINT_NONE, node));
	return c != NULL ? fmin(1, (double)c->n / (double)type->traces) : 0;
}

/* The share of the type's traces that came by this node, if other nodes have the tracepoint too. */
static double
share_of_node(const struct overhead *o, const struct request_type *type, uint32_t node,
    const struct label *l, const char *name)
{
	uint32_t others = 0;

	for (uint32_t i = 0; i < o->is.nodes->n && others == 0; i++)
		others += i != node && node_has_label(&o->is.nodes->items[i], l, name);
	return others == 0 ? 1 : overhead_node_share(o, type, node);
}

/* The first of k->learned with this point, or k->nlearned. */
static uint32_t
learned_first(const struct type_cost *k, uint32_t point)
{
	uint32_t low = 0, high = k->nlearned;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (k->learned[mid].point < point)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Whether a program of the node is looked below. */
static bool
is_below(const struct overhead *o, uint32_t node)
{
	const struct below_asked *b = o->is.below;

	for (uint32_t i = 0; i < b->n; i++)
		if (node_has_program(&o->is.nodes->items[node], b->items[i].service))
			return true;
	return false;
}

/* Records a second of a tracepoint on the node if all requests of the type were probed: 1. as
 * measured while it was enabled; 2. as learned; 3. as assumed. O(log places), and nodes x services.
 */
/* How often the function that ends there is called, as measured at its begin. */
static double
passes_of_begin(
    const struct overhead *o, const struct request_type *type, const char *end, uint32_t node)
{
	int len = (int)(strlen(end) - strlen(BELOW_FUNC_DONE));
	char begin[TOGGLE_NAME_MAX + 1];
	const struct counter *was;
	uint32_t point;

	len = snprintf(begin, sizeof begin, "%.*s%s", len, end, BELOW_FUNC_START);
	point = len < (int)sizeof begin ? texts_find(o->points, begin, (size_t)len) : UINT32_MAX;
	was = point != UINT32_MAX ? counter_find(&o->passes, counter_key(type->index, point, node))
	                          : NULL;
	/* passages are counted as records, at the price of a begin */
	return was != NULL && was->traces > 0 ? (double)was->n / (double)was->traces *
	                                            type->offered / records_of(o, begin, node)
	                                      : 0;
}

static double
predict(const struct overhead *o, const struct request_type *type, uint32_t point, uint32_t node)
{
	const struct type_cost *k = &o->types[type->index];
	const struct node *n = &o->is.nodes->items[node];
	const char *name = texts_get(o->points, point);
	const struct counter *was = counter_find(&o->passes, counter_key(type->index, point, node));
	double sum = 0;

	if (was != NULL && was->traces >= PASSES_SURE)
		return (double)was->n / (double)was->traces * type->offered;
	if (point == o->below_point) {
		bool assumed;

		return OVERHEAD_BELOW_WAITS * OVERHEAD_BELOW_NS /
		       overhead_record_ns(o, node, &assumed) * type->offered;
	}
	for (uint32_t i = learned_first(k, point); i < k->nlearned && k->learned[i].point == point;
	     i++) {
		const struct label *l = labels_get(o->is.labels, k->learned[i].label);

		if (node_has_label(n, l, name))
			sum += k->learned[i].per_trace * type->offered *
			       share_of_node(o, type, node, l, name);
	}
	if (is_function_end(name))
		sum = passes_of_begin(o, type, name, node);
	else if (sum == 0 && label_set_has(&o->unknown, point) && node_has_tracepoint(n, name))
		sum = (preload_is(o->is.preload, name) ? OVERHEAD_PRELOAD_PASSES
						       : OVERHEAD_PASSES) *
		      type->offered;
	return sum * records_of(o, name, node);
}

/* All types under diagnosis, and this one, pass it, and all others that pass a USDT probe: records a second on the node if all of their
 * requests were probed. */
static double
predict_all(struct overhead *o, uint32_t type, uint32_t point, uint32_t node)
{
	double sum = 0;

	for (uint32_t i = 0; i < o->is.types->n; i++) {
		const struct request_type *t = type_at(o, i);

		if ((request_type_diagnosed(t) || t->label == type ||
			below_is_probe(texts_get(o->points, point))) &&
		    take_learned(o, t, NULL) == 0)
			sum += predict(o, t, point, node);
	}
	return sum;
}

static bool
fits(struct overhead *o, uint32_t type, uint32_t point)
{
	if (point == UINT32_MAX || plan_wants(o->is.plan, texts_get(o->points, point)))
		return true;
	for (uint32_t n = 0; n < o->is.nodes->n; n++) {
		double sum = predict_all(o, type, point, n);

		if (sum > 0 && !budget_fits(o->budget, type, point, n, sum))
			return false;
	}
	return true;
}

/* Where another search looks below already, its entries are in the budget. */
bool
overhead_fits_below(struct overhead *o, uint32_t type, const char *service)
{
	for (uint32_t n = 0; n < o->is.nodes->n; n++)
		if (node_has_program(&o->is.nodes->items[n], service) && !is_below(o, n) &&
		    !budget_fits(o->budget, type, o->below_point, n,
			predict_all(o, type, o->below_point, n)))
			return false;
	return true;
}

bool
overhead_fits(struct overhead *o, uint32_t type, uint32_t label)
{
	return fits(o, type, point_of(o, labels_get(o->is.labels, label)));
}

bool
overhead_fits_unknown(struct overhead *o, uint32_t type, const char *name)
{
	uint32_t point = texts_intern(o->points, name, strlen(name));

	return point == UINT32_MAX || !label_set_add(&o->unknown, point) || fits(o, type, point);
}

bool
overhead_exceeded(const struct overhead *o, uint32_t type)
{
	return o->costed_revision == nodes_revision(o->is.nodes, o->is.plan) &&
	       budget_probed(o->budget, type) < OVERHEAD_PROBED_MIN;
}

static void
counters_forget(struct counters *c, uint32_t type)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->items[i].key >> 54 == type)
			c->items[i].n = c->items[i].traces = 0;
}

/* A type without a diagnosis has no entry in the budget. */
void
overhead_forget_type(struct overhead *o, uint32_t type)
{
	free(o->types[type].learned);
	o->types[type] = (struct type_cost){ .wanted = 1 };
	counters_forget(&o->came, type);
	counters_forget(&o->records, type);
	counters_forget(&o->passes, type);
}

/* ---- the budget's entries: what is enabled ---- */

static int
cost_on_node(struct overhead *o, const struct request_type *type, uint32_t point, uint32_t node,
    struct err *e)
{
	if (!array_reserve(o->costed, o->costed_cap, o->ncosted + 1))
		return err_set(e, ERR_MEMORY, "budget: out of memory");
	o->costed[o->ncosted++] = (struct costed){ type->index, point, node };
	return budget_predict(
	    o->budget, type->label, point, node, predict(o, type, point, node), e);
}

static int
cost_tracepoint(
    struct overhead *o, const struct request_type *type, const char *name, struct err *e)
{
	uint32_t point = texts_intern(o->points, name, strlen(name));
	int rc = point != UINT32_MAX ? 0 : err_set(e, ERR_MEMORY, "budget: out of memory");

	for (uint32_t n = 0; rc == 0 && n < o->is.nodes->n; n++)
		if (node_has_tracepoint(&o->is.nodes->items[n], name))
			rc = cost_on_node(o, type, point, n, e);
	return rc;
}

/* What is looked below costs each request of the type that comes by the node. */
static int
cost_below(struct overhead *o, const struct request_type *type, struct err *e)
{
	int rc = 0;

	for (uint32_t n = 0; rc == 0 && n < o->is.nodes->n; n++)
		if (is_below(o, n))
			rc = cost_on_node(o, type, o->below_point, n, e);
	return rc;
}

/* Wildcards are those of learning, which has a budget of its own. */
static int
cost_type(struct overhead *o, const struct request_type *type, struct err *e)
{
	uint64_t owner;
	int rc = take_learned(o, type, e);

	for (uint32_t i = 0; rc == 0 && i < plan_count(o->is.plan); i++) {
		const char *name = plan_at(o->is.plan, i, &owner);

		if (name[strlen(name) - 1] != '*')
			rc = cost_tracepoint(o, type, name, e);
	}
	return rc == 0 ? cost_below(o, type, e) : rc;
}

int
overhead_enabled(struct overhead *o, const char *name, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < o->is.types->n; i++)
		if (request_type_diagnosed(type_at(o, i)) &&
		    (rc = take_learned(o, type_at(o, i), e)) == 0)
			rc = cost_tracepoint(o, type_at(o, i), name, e);
	return rc;
}

/* Drops what was disabled, and what belongs to a type that is no longer diagnosed; other entries
 * keep what was measured. */
static int
cost_all(struct overhead *o, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < o->ncosted; i++) {
		const struct request_type *type = type_at(o, o->costed[i].type);

		bool wanted = o->costed[i].point == o->below_point
		                  ? is_below(o, o->costed[i].node)
		                  : plan_wants(
					o->is.plan, texts_get(o->points, o->costed[i].point));

		if (!request_type_diagnosed(type) || !wanted)
			budget_drop(o->budget, type->label, o->costed[i].point);
	}
	o->ncosted = 0;
	for (uint32_t i = 0; rc == 0 && i < o->is.types->n; i++)
		if (request_type_diagnosed(type_at(o, i)))
			rc = cost_type(o, type_at(o, i), e);
	return rc;
}

/* ---- measuring ---- */

/* Records of probed traces, scaled to all requests that are offered. */
static int
measure(struct overhead *o, const struct costed *costed, struct err *e)
{
	const struct type_cost *k = &o->types[costed->type];
	const struct request_type *type = type_at(o, costed->type);
	const uint64_t key = counter_key(costed->type, costed->point, costed->node);
	const struct counter *c = counter_find(&o->records, key);
	uint64_t records = c != NULL ? c->n : 0;
	struct counter *passes;

	if (k->probed == 0)
		return 0;
	if ((passes = counter_of(&o->passes, key)) == NULL)
		return err_set(e, ERR_MEMORY, "budget: out of memory");
	passes->n += records;
	passes->traces += k->probed;
	return budget_measured(o->budget, type->label, costed->point, costed->node,
	    (double)records / (double)k->traces * type->offered,
	    (double)k->probed / (double)k->traces, e);
}

/* Of learning: all records of a type on a node are one entry. */
static int
measure_learning(struct overhead *o, struct err *e)
{
	struct counters sums = { 0 };
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < o->records.n; i++) {
		struct counter *sum = counter_of(&sums, o->records.items[i].key | POINT_NONE);

		if (sum == NULL)
			rc = err_set(e, ERR_MEMORY, "budget: out of memory");
		else
			sum->n += o->records.items[i].n;
	}
	for (uint32_t i = 0; rc == 0 && i < o->is.types->n; i++) {
		const struct type_cost *k = &o->types[i];

		for (uint32_t n = 0; rc == 0 && n < o->is.nodes->n && k->probed > 0; n++) {
			const struct counter *sum = counter_find(
			    &sums, counter_key(i, POINT_NONE, n));

			rc = budget_measured(o->learn_budget, type_at(o, i)->label, 0, n,
			    (sum != NULL ? (double)sum->n : 0) / (double)k->traces *
				type_at(o, i)->offered,
			    (double)k->probed / (double)k->traces, e);
		}
	}
	counters_release(&sums);
	return rc;
}

static void
begin_window(struct overhead *o, struct mono now, bool steady)
{
	for (uint32_t i = 0; i < o->is.types->n; i++)
		o->types[i].traces = o->types[i].probed = 0;
	counters_clear(&o->records);
	o->window = now;
	o->steady = steady;
	o->window_revision = nodes_revision(o->is.nodes, o->is.plan);
}

/* A window counts if the same tracepoints were enabled everywhere from its begin to its end. */
static int
step_window(struct overhead *o, struct mono now, struct err *e)
{
	bool steady = (o->ncosted > 0 || o->learning) && nodes_confirmed(o->is.nodes, o->is.plan);
	int rc = 0;

	if (!steady || !o->steady ||
	    o->window_revision != nodes_revision(o->is.nodes, o->is.plan)) {
		begin_window(o, now, steady);
		return 0;
	}
	if (mono_since_ns(now, o->window) < WINDOW_NS)
		return 0;
	for (uint32_t i = 0; rc == 0 && i < o->ncosted; i++)
		rc = measure(o, &o->costed[i], e);
	if (rc == 0 && o->learning)
		rc = measure_learning(o, e);
	o->measured_version = plan_version(o->is.plan);
	begin_window(o, now, true);
	return rc;
}

bool
overhead_measured(const struct overhead *o)
{
	return o->measured_version == plan_version(o->is.plan);
}

/* ---- learning ---- */

void
overhead_learning(struct overhead *o, bool active, uint32_t ngroups, double shrink)
{
	assert(ngroups > 0 && shrink > 0 && shrink <= 1);
	o->learning = active;
	o->learn_groups = ngroups;
	o->learn_shrink = shrink;
}

/* Until the first window has measured it, every request is taken to pass every tracepoint
 * OVERHEAD_PASSES times. */
int
overhead_learning_predict(struct overhead *o, bool anew, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < o->is.types->n; i++) {
		const struct request_type *type = type_at(o, i);

		if (anew)
			budget_drop(o->learn_budget, type->label, 0);
		for (uint32_t n = 0; rc == 0 && n < o->is.nodes->n; n++)
			rc = budget_predict(o->learn_budget, type->label, 0, n,
			    OVERHEAD_PASSES * o->is.nodes->items[n].programs.nnames /
				o->learn_groups * type->offered,
			    e);
	}
	return rc;
}

double
overhead_learning_probed(struct overhead *o, const struct request_type *type)
{
	return budget_probed(o->learn_budget, type->label);
}

void
overhead_forget(struct overhead *o)
{
	counters_clear(&o->passes);
	for (uint32_t i = 0; i < o->is.types->n; i++) {
		o->types[i].nlearned = 0;
		o->types[i].learned_traces = 0;
	}
}

/* ---- shares ---- */

/* The largest power of STEP that is not over the share. */
static double
round_down(double share)
{
	return share >= 1 ? 1 : pow(STEP, floor(log(share) / log(STEP) + 1e-9));
}

/* Never under OVERHEAD_PROBED_MIN: without probed traces a rate that was predicted too high would
 * never be corrected. overhead_exceeded() reports that case. */
static double
share_to_probe(struct overhead *o, const struct request_type *type)
{
	double share = 1;

	if (o->learning)
		share = overhead_learning_probed(o, type) * o->learn_shrink;
	else if (request_type_diagnosed(type))
		share = budget_probed(o->budget, type->label);
	return fmax(round_down(fmax(share, OVERHEAD_PROBED_MIN / 2)), OVERHEAD_PROBED_MIN);
}

int
overhead_step(struct overhead *o, struct mono now, struct err *e)
{
	uint64_t revision = nodes_revision(o->is.nodes, o->is.plan);
	int rc = 0;

	/* 1. what is enabled has changed */
	if (o->costed_revision != revision) {
		rc = cost_all(o, e);
		if (rc == 0 && o->learning)
			rc = overhead_learning_predict(o, false, e);
		o->costed_revision = revision;
	}
	/* 2. a window has ended */
	if (rc == 0)
		rc = step_window(o, now, e);
	/* 3. the shares that follow */
	for (uint32_t i = 0; rc == 0 && i < o->is.types->n; i++) {
		double share = share_to_probe(o, type_at(o, i));

		if (share == o->types[i].wanted)
			continue;
		o->types[i].wanted = share;
		nodes_changed(o->is.revise);
	}
	return rc;
}

/*
 * Programs without libhone have no filter: a record of a request that is not probed costs as much
 * as one of a probed request, and the agent drops it. A node with such a program is counted as if
 * all its programs were: what is enabled there is paid for in full, and only disabling saves.
 */
int
overhead_node(struct overhead *o, uint32_t node, struct err *e)
{
	const struct status *s = &o->is.nodes->items[node].status;
	double record_ns = s->record_ns, rejected_ns = s->rejected_ns;
	int rc;

	assert(node < o->is.nodes->n);
	if (s->mapped > 0) {
		record_ns = record_ns > 0 ? record_ns : OVERHEAD_RECORD_NS;
		rejected_ns = (1 - UNFILTERED_SAVES) * record_ns;
	}
	rc = budget_node(o->budget, node, record_ns, rejected_ns, e);
	return rc != 0 ? rc : budget_node(o->learn_budget, node, record_ns, rejected_ns, e);
}

double
overhead_probed(const struct overhead *o, const struct request_type *type)
{
	return o->types[type->index].wanted;
}

double
overhead_probed_least(const struct overhead *o)
{
	double least = 1;

	for (uint32_t i = 0; i < o->is.types->n; i++)
		least = fmin(least, o->types[i].wanted);
	return least;
}

double
overhead_spent(const struct overhead *o, uint32_t node)
{
	return budget_spent(o->learning ? o->learn_budget : o->budget, node);
}

double
overhead_rejected(const struct overhead *o, uint32_t node)
{
	return budget_rejected(o->learning ? o->learn_budget : o->budget, node);
}

double
overhead_limit(const struct overhead *o)
{
	return o->learning ? o->is.learn_share : o->is.budget_share;
}

double
overhead_record_ns(const struct overhead *o, uint32_t node, bool *assumed)
{
	double ns = o->is.nodes->items[node].status.record_ns;

	assert(node < o->is.nodes->n);
	*assumed = ns <= 0;
	return ns > 0 ? ns : OVERHEAD_RECORD_NS;
}
