/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/nodes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/texts.h"
#include "wire/loglevel.h"

#define BEFORE_NS INT64_C(5000000000) /* age of the status that rates are measured against */

void
want_rates_unref(struct want_rates *r)
{
	if (r == NULL || --r->refs > 0)
		return;
	arena_release(&r->arena);
	free(r);
}

void
nodes_release(struct nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		arena_release(&nodes->items[i].programs_arena);
		arena_release(&nodes->items[i].want_arena);
		want_rates_unref(nodes->items[i].want_rates);
	}
	for (int i = 0; i < 2; i++) {
		want_rates_unref(nodes->rates[i]);
		nodes->rates[i] = NULL;
	}
	binaries_release(&nodes->binaries);
	texts_free(nodes->by_name);
	free(nodes->items);
	free(nodes->names);
	free(nodes->fill);
	nodes->by_name = NULL;
	nodes->items = NULL;
	nodes->names = NULL;
	nodes->fill = NULL;
	nodes->n = 0;
}

static bool
make_room(struct nodes *nodes)
{
	if (nodes->items == NULL)
		nodes->items = calloc(NODES_MAX, sizeof *nodes->items);
	if (nodes->names == NULL)
		nodes->names = calloc(NODES_MAX, sizeof *nodes->names);
	if (nodes->fill == NULL)
		nodes->fill = calloc(NODES_MAX, sizeof *nodes->fill);
	if (nodes->by_name == NULL)
		nodes->by_name = texts_new();
	return nodes->items != NULL && nodes->names != NULL && nodes->fill != NULL &&
	       nodes->by_name != NULL;
}

int
nodes_join(struct nodes *nodes, const char *name, const char *version, struct mono now,
    uint32_t *node, struct err *e)
{
	struct node *n;
	uint32_t i;

	if (!make_room(nodes))
		return err_set(e, ERR_MEMORY, "%s: no memory for the node", name);
	i = texts_find(nodes->by_name, name, strlen(name));
	if (i == UINT32_MAX && nodes->n == NODES_MAX)
		return err_set(e, ERR_FULL, "%s: %d nodes are the most that one controller takes",
		    name, NODES_MAX);
	if (i == UINT32_MAX && (i = texts_intern(nodes->by_name, name, strlen(name))) == UINT32_MAX)
		return err_set(e, ERR_MEMORY, "%s: no memory for the node", name);
	n = &nodes->items[i];
	if (i == nodes->n) {
		snprintf(n->name, sizeof n->name, "%s", name);
		nodes->names[i] = n->name;
		nodes->n++;
	}
	snprintf(n->version, sizeof n->version, "%s", version);
	n->connected = true;
	n->heard = now;
	n->confirmed_epoch = 0;
	n->status = n->before = (struct status){ .tracer_ok = true };
	n->status_at = n->before_at = now;
	nodes->fill[i] = 0;
	n->want_revision = 0;
	nodes_changed(nodes);
	*node = i;
	return 0;
}

void
nodes_leave(struct nodes *nodes, uint32_t node, struct mono now)
{
	assert(node < nodes->n);
	nodes->items[node].connected = false;
	nodes->fill[node] = 0;
	nodes->items[node].heard = now;
	nodes_changed(nodes);
}

void
nodes_status(struct nodes *nodes, uint32_t node, const struct status *s, struct mono now)
{
	struct node *n = &nodes->items[node];
	enum queue fullest;

	assert(node < nodes->n);
	if (mono_since_ns(now, n->before_at) > BEFORE_NS) {
		n->before = n->status;
		n->before_at = n->status_at;
	}
	n->status = *s;
	snprintf(n->trouble_subject, sizeof n->trouble_subject, "%s",
	    s->trouble.subject != NULL ? s->trouble.subject : "");
	snprintf(n->trouble_text, sizeof n->trouble_text, "%s",
	    s->trouble.text != NULL ? s->trouble.text : "");
	snprintf(n->below_missing, sizeof n->below_missing, "%s",
	    s->below_missing != NULL ? s->below_missing : "");
	snprintf(n->fullest, sizeof n->fullest, "%s", s->fullest != NULL ? s->fullest : "");
	n->status.fullest = n->fullest;
	n->status.below_missing = n->below_missing;
	snprintf(n->kernel_missing, sizeof n->kernel_missing, "%s",
	    s->kernel_missing != NULL ? s->kernel_missing : "");
	n->status.kernel_missing = n->kernel_missing;
	snprintf(n->recorder_missing, sizeof n->recorder_missing, "%s",
	    s->recorder_missing != NULL ? s->recorder_missing : "");
	n->status.recorder_missing = n->recorder_missing;
	n->status.trouble.subject = n->trouble_subject;
	n->status.trouble.text = n->trouble_text;
	n->status_at = n->heard = now;
	nodes->fill[node] = n->connected ? node_fill(n, &fullest) : 0;
}

/* The first program with the service and the tracepoints of program i, which may be i. `seen` has those before it. HASH_TABLE_NONE: out
 * of memory. O(1). */
static uint32_t
claim_kind(struct hash_table *seen, const struct programs *p, uint32_t i)
{
	const struct program *x = &p->programs[i];
	uint64_t hash = hash_bytes(
	    (uint64_t)x->first << 32 | x->count, x->service, strlen(x->service));

	return hash_table_claim(seen, hash, i);
}

/*
 * Many programs can share one range of names, so a small message can stand for a thousand million pairs of service and
 * tracepoint: what works on pairs would stop the controller.
 */
static int
check_pairs(const struct node *n, const struct programs *p, struct err *e)
{
	struct hash_table seen = { 0 };
	uint64_t pairs = 0;

	for (uint32_t i = 0; i < p->nprograms; i++)
		pairs += claim_kind(&seen, p, i) == i ? p->programs[i].count : 0;
	hash_table_release(&seen);
	return pairs <= TRACEPOINTS_MAX
	           ? 0
	           : err_set(e, ERR_FULL,
			 "%s: its programs have %llu tracepoints, and %d are the most", n->name,
			 (unsigned long long)pairs, TRACEPOINTS_MAX);
}

/* *ret: the same programs without their USDT probes. In the arena; false: out of memory. */
static bool
without_probes(struct programs *ret, const struct programs *p, struct arena *a)
{
	struct program *programs = arena_copy(a, p->programs, p->nprograms * sizeof *programs);
	const char **names = arena_calloc(a, p->nnames + 1, sizeof *names);
	uint32_t *kept = arena_calloc(a, (size_t)p->nnames + 1, sizeof *kept);
	uint8_t *levels = arena_alloc(a, (size_t)p->nnames + 1);

	if (programs == NULL || names == NULL || kept == NULL || levels == NULL)
		return false;
	for (uint32_t i = 0; i < p->nnames; i++) {
		kept[i + 1] = kept[i];
		if (below_is_probe(p->names[i]))
			continue;
		levels[kept[i]] = p->levels != NULL ? p->levels[i] : LOGLEVEL_NONE;
		names[kept[i + 1]++] = p->names[i];
	}
	for (uint32_t i = 0; i < p->nprograms; i++) {
		uint32_t end = programs[i].first + programs[i].count;

		programs[i].first = kept[programs[i].first];
		programs[i].count = kept[end] - programs[i].first;
	}
	*ret = *p;
	ret->programs = programs;
	ret->names = names;
	ret->levels = levels;
	ret->nnames = kept[p->nnames];
	return true;
}

/* ---- the programs of a node ---- */

/* The binary of each service and range of names, one reference each, into n->binaries; those of programs before are not released.
 * *of: of each program. False: out of memory. */
static bool
find_binaries(struct nodes *nodes, struct node *n, const struct programs *p, struct binary **of)
{
	struct hash_table seen = { 0 };
	bool ok = true;

	for (uint32_t i = 0; i < p->nprograms && ok; i++) {
		const struct program *x = &p->programs[i];
		uint32_t first = claim_kind(&seen, p, i);

		if (first != i) {
			ok = first != HASH_TABLE_NONE;
			of[i] = ok ? of[first] : NULL;
			continue;
		}
		of[i] = binaries_ref(&nodes->binaries, x->service, p->names + x->first,
		    p->levels != NULL ? p->levels + x->first : NULL, x->count);
		if ((ok = of[i] != NULL))
			n->binaries[n->nbinaries++] = of[i];
	}
	hash_table_release(&seen);
	return ok;
}

/* The names are those of one binary if that has all of them. Names of no program are copied. False: out of memory. */
static bool
point_names(struct node *n, const struct programs *p, struct binary *const *of)
{
	struct arena *a = &n->programs_arena;
	bool ok = true;

	for (uint32_t i = 0; i < p->nprograms; i++)
		if (p->programs[i].count == p->nnames) {
			n->programs.names = of[i]->names;
			return true;
		}
	if ((n->programs.names = arena_calloc(a, (size_t)p->nnames + 1, sizeof *p->names)) == NULL)
		return false;
	for (uint32_t i = 0; i < p->nprograms; i++)
		for (uint32_t k = 0;
		     k < of[i]->n && n->programs.names[p->programs[i].first + k] != of[i]->names[k];
		     k++)
			n->programs.names[p->programs[i].first + k] = of[i]->names[k];
	for (uint32_t i = 0; i < p->nnames && ok; i++)
		if (n->programs.names[i] == NULL) {
			n->programs.names[i] = arena_text(a, p->names[i], strlen(p->names[i]));
			ok = n->programs.names[i] != NULL;
		}
	return ok;
}

static void
release_binaries(struct nodes *nodes, struct binary **all, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		binaries_unref(&nodes->binaries, all[i]);
}

/* As nodes_programs(), but for what follows from it. The node's old arena is released after its new programs have their binaries: most
 * are the same. */
static int
copy_programs(struct nodes *nodes, struct node *n, const struct programs *p, struct err *e)
{
	struct binary **old = n->binaries, **of;
	struct arena old_arena = n->programs_arena, *a = &n->programs_arena;
	uint32_t nold = n->nbinaries;
	bool ok;

	n->programs_arena = (struct arena){ 0 };
	n->programs = (struct programs){ 0 };
	n->nbinaries = 0;
	n->binaries = arena_calloc(a, (size_t)p->nprograms + 1, sizeof(struct binary *));
	n->programs.programs = arena_copy(a, p->programs, p->nprograms * sizeof *p->programs);
	of = calloc((size_t)p->nprograms + 1, sizeof(struct binary *));
	ok = n->binaries != NULL && n->programs.programs != NULL && of != NULL &&
	     find_binaries(nodes, n, p, of) && point_names(n, p, of);
	for (uint32_t i = 0; i < p->nprograms && ok; i++)
		n->programs.programs[i].service = of[i]->service;
	if (ok) {
		n->programs.nprograms = p->nprograms;
		n->programs.nnames = p->nnames;
		n->listed = true;
	} else {
		release_binaries(nodes, n->binaries, n->nbinaries);
		n->nbinaries = 0;
		n->programs = (struct programs){ 0 };
	}
	release_binaries(nodes, old, nold);
	arena_release(&old_arena);
	free(of);
	return ok ? 0 : err_set(e, ERR_MEMORY, "%s: out of memory for its programs", n->name);
}

int
nodes_programs(struct nodes *nodes, uint32_t node, const struct programs *p, struct err *e)
{
	struct arena a = { 0 };
	struct programs plain = *p;
	int rc;

	assert(node < nodes->n);
	if (nodes->without_probes && !without_probes(&plain, p, &a)) {
		arena_release(&a);
		return err_set(
		    e, ERR_MEMORY, "%s: out of memory for its programs", nodes->items[node].name);
	}
	if ((rc = check_pairs(&nodes->items[node], &plain, e)) == 0)
		rc = copy_programs(nodes, &nodes->items[node], &plain, e);
	arena_release(&a);
	if (rc == ERR_FULL)
		return rc;
	nodes->items[node].programs_at = ++nodes->programs;
	nodes_changed(nodes);
	return rc;
}

void
nodes_done(struct nodes *nodes, uint32_t node, const struct done *d, struct mono now)
{
	struct node *n = &nodes->items[node];

	assert(node < nodes->n);
	n->heard = now;
	n->confirmed_epoch = d->epoch;
	if (d->epoch == n->want.epoch && n->want.ntoggles == 0)
		n->maybe_on = false;
	snprintf(n->failure, sizeof n->failure, "%s", d->failure);
}

void
nodes_changed(struct nodes *nodes)
{
	nodes->changes++;
}

uint64_t
nodes_revision(const struct nodes *nodes, const struct plan *plan)
{
	return nodes->changes + plan_version(plan) + 1;
}

bool
nodes_confirmed(const struct nodes *nodes, const struct plan *plan)
{
	uint64_t revision = nodes_revision(nodes, plan);

	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct node *n = &nodes->items[i];

		if (n->connected && (n->want.epoch == 0 || n->confirmed_epoch != n->want.epoch ||
					n->want_revision != revision))
			return false;
	}
	return true;
}

bool
node_is_unknown(const struct node *n, struct mono now, int64_t *lease_left_ns)
{
	*lease_left_ns = n->want.lease_ms * 1000000 - mono_since_ns(now, n->heard);
	return !n->connected && n->maybe_on;
}

uint32_t
nodes_connected(const struct nodes *nodes)
{
	uint32_t connected = 0;

	for (uint32_t i = 0; i < nodes->n; i++)
		connected += nodes->items[i].connected;
	return connected;
}

bool
node_has_program(const struct node *n, const char *service)
{
	for (uint32_t i = 0; i < n->nbinaries; i++)
		if (strcmp(n->binaries[i]->service, service) == 0)
			return true;
	return false;
}

/* All nodes with the program: on one that cannot, its threads would seem to run all the time. */
bool
nodes_below(const struct nodes *nodes, const char *service, char missing[BELOW_WHY_MAX + 1])
{
	bool any = false;

	snprintf(missing, BELOW_WHY_MAX + 1, "no-node");
	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct node *n = &nodes->items[i];
		bool can = n->status.below != BELOW_NODE_NONE &&
		           n->status.below != BELOW_NODE_CANNOT;

		if (!n->connected || !node_has_program(n, service))
			continue;
		if (!any || !can)
			missing[0] = '\0';
		if (missing[0] == '\0' && n->below_missing[0] != '\0')
			snprintf(missing, BELOW_WHY_MAX + 1, "%s: %s", n->name, n->below_missing);
		else if (!can)
			snprintf(missing, BELOW_WHY_MAX + 1, "no-status");
		if (!can)
			return false;
		any = true;
	}
	return any;
}

/* Functions are not listed: their name has the program's. */
static bool
has_program_of(const struct node *n, const char *function)
{
	for (uint32_t i = 0; i < n->nbinaries; i++)
		if (below_is_function(function, n->binaries[i]->service))
			return true;
	return false;
}

bool
node_has_tracepoint(const struct node *n, const char *name)
{
	if (strncmp(name, BELOW_FUNC, strlen(BELOW_FUNC)) == 0)
		return has_program_of(n, name);
	for (uint32_t i = 0; i < n->nbinaries; i++)
		if (binary_has(n->binaries[i], name))
			return true;
	return false;
}

bool
node_has_label(const struct node *n, const struct label *l, const char *name)
{
	if (!n->connected || !node_has_tracepoint(n, name))
		return false;
	for (uint32_t i = 0; i < n->nbinaries; i++)
		if (label_of_service(l, n->binaries[i]->service))
			return true;
	return false;
}

double
node_fill(const struct node *n, enum queue *which)
{
	double fullest = 0;

	*which = QUEUE_RING;
	for (int q = 0; q < QUEUES; q++)
		if (n->status.fill[q] > fullest) {
			fullest = n->status.fill[q];
			*which = (enum queue)q;
		}
	return fullest;
}

uint32_t
nodes_tracepoints(const struct nodes *nodes, const struct preload_labels *preload)
{
	struct texts *all = texts_new();
	uint32_t count = 0;

	for (uint32_t i = 0; all != NULL && i < nodes->binaries.n; i++) {
		const struct binary *x = nodes->binaries.items[i];

		for (uint32_t k = 0; x != NULL && k < x->n; k++)
			if (preload == NULL || !preload_is(preload, x->names[k]))
				texts_intern(all, x->names[k], strlen(x->names[k]));
	}
	if (all != NULL)
		count = texts_count(all);
	texts_free(all);
	return count;
}

/* Adds "service/tracepoint" of each tracepoint of the binary. */
static void
intern_pairs(struct texts *pairs, const struct binary *x, const struct preload_labels *preload)
{
	for (uint32_t t = 0; t < x->n; t++) {
		char pair[2 * TOGGLE_NAME_MAX + 2];
		int len;

		if (preload_is(preload, x->names[t]) || below_is_probe(x->names[t]))
			continue; /* whether they are there depends on the node, too */
		len = snprintf(pair, sizeof pair, "%s/%s", x->service, x->names[t]);
		len = len < (int)sizeof pair ? len : (int)sizeof pair - 1;
		texts_intern(pairs, pair, (size_t)len);
	}
}

/* A sum of hashes does not depend on their order. */
uint64_t
nodes_fingerprint(const struct nodes *nodes, const struct preload_labels *preload)
{
	struct texts *pairs = texts_new();
	uint64_t sum = 0;

	for (uint32_t i = 0; pairs != NULL && i < nodes->binaries.n; i++)
		if (nodes->binaries.items[i] != NULL)
			intern_pairs(pairs, nodes->binaries.items[i], preload);
	for (uint32_t i = 0; pairs != NULL && i < texts_count(pairs); i++)
		sum += hash_bytes(0, texts_get(pairs, i), strlen(texts_get(pairs, i)));
	texts_free(pairs);
	return sum != 0 ? sum : 1;
}
