/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/nodes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/texts.h"

#define BEFORE_NS INT64_C(5000000000) /* age of the status that rates are measured against */

static bool intern_name(struct texts *names, const char *name);

void
nodes_release(struct nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		texts_free(nodes->items[i].names);
		arena_release(&nodes->items[i].programs_arena);
		arena_release(&nodes->items[i].want_arena);
	}
	nodes->n = 0;
}

int
nodes_join(struct nodes *nodes, const char *name, const char *version, struct mono now,
    uint32_t *node, struct err *e)
{
	struct node *n;
	uint32_t i = 0;

	while (i < nodes->n && strcmp(nodes->items[i].name, name) != 0)
		i++;
	if (i == NODES_MAX)
		return err_set(e, ERR_FULL, "%s: %d nodes are the most that one controller takes",
		    name, NODES_MAX);
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
	nodes->items[node].heard = now;
	nodes_changed(nodes);
}

void
nodes_status(struct nodes *nodes, uint32_t node, const struct status *s, struct mono now)
{
	struct node *n = &nodes->items[node];

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
}

static int
copy_programs(struct node *n, const struct programs *p, struct err *e)
{
	struct arena *a = &n->programs_arena;
	struct texts *names = texts_new();
	struct programs *to = &n->programs;

	*to = (struct programs){ 0 };
	arena_reset(a);
	to->programs = arena_copy(a, p->programs, p->nprograms * sizeof *p->programs);
	to->names = arena_calloc(a, p->nnames + 1, sizeof *p->names);
	if (names == NULL || to->programs == NULL || to->names == NULL)
		goto fail;
	for (uint32_t i = 0; i < p->nprograms; i++)
		if ((to->programs[i].service = arena_text(
			 a, p->programs[i].service, strlen(p->programs[i].service))) == NULL)
			goto fail;
	for (uint32_t i = 0; i < p->nnames; i++)
		if ((to->names[i] = arena_text(a, p->names[i], strlen(p->names[i]))) == NULL ||
		    !intern_name(names, p->names[i]))
			goto fail;
	to->nprograms = p->nprograms;
	to->nnames = p->nnames;
	texts_free(n->names);
	n->names = names;
	return 0;
fail:
	texts_free(names);
	return err_set(e, ERR_MEMORY, "%s: out of memory for its programs", n->name);
}

static bool
intern_name(struct texts *names, const char *name)
{
	const char *colon = strchr(name, ':');
	char all[TOGGLE_NAME_MAX + 1];
	int len;

	if (texts_intern(names, name, strlen(name)) == UINT32_MAX)
		return false;
	if (colon == NULL)
		return true;
	len = snprintf(all, sizeof all, "%.*s:*", (int)(colon - name), name);
	return texts_intern(names, all, (size_t)len) != UINT32_MAX;
}

/* Whether program i has another service or other tracepoints than all before it. `seen` has those. O(1). */
static bool
is_new_kind(struct hash_table *seen, const struct programs *p, uint32_t i)
{
	const struct program *x = &p->programs[i];
	uint64_t hash = hash_bytes(
	    (uint64_t)x->first << 32 | x->count, x->service, strlen(x->service));

	return hash_table_claim(seen, hash, i) == i;
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
		pairs += is_new_kind(&seen, p, i) ? p->programs[i].count : 0;
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

	if (programs == NULL || names == NULL || kept == NULL)
		return false;
	for (uint32_t i = 0; i < p->nnames; i++) {
		kept[i + 1] = kept[i];
		if (!below_is_probe(p->names[i]))
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
	ret->nnames = kept[p->nnames];
	return true;
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
		rc = copy_programs(&nodes->items[node], &plain, e);
	arena_release(&a);
	if (rc == ERR_FULL)
		return rc;
	nodes->programs++;
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
	for (uint32_t i = 0; i < n->programs.nprograms; i++)
		if (strcmp(n->programs.programs[i].service, service) == 0)
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
	for (uint32_t i = 0; i < n->programs.nprograms; i++)
		if (below_is_function(function, n->programs.programs[i].service))
			return true;
	return false;
}

bool
node_has_tracepoint(const struct node *n, const char *name)
{
	if (strncmp(name, BELOW_FUNC, strlen(BELOW_FUNC)) == 0)
		return has_program_of(n, name);
	return n->names != NULL && texts_find(n->names, name, strlen(name)) != UINT32_MAX;
}

bool
node_has_label(const struct node *n, const struct label *l, const char *name)
{
	if (!n->connected || !node_has_tracepoint(n, name))
		return false;
	for (uint32_t i = 0; i < n->programs.nprograms; i++)
		if (label_of_service(l, n->programs.programs[i].service))
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

	for (uint32_t i = 0; all != NULL && i < nodes->n; i++)
		for (uint32_t k = 0; k < nodes->items[i].programs.nnames; k++) {
			const char *name = nodes->items[i].programs.names[k];

			if (preload == NULL || !preload_is(preload, name))
				texts_intern(all, name, strlen(name));
		}
	if (all != NULL)
		count = texts_count(all);
	texts_free(all);
	return count;
}

/* Adds "service/tracepoint" of each tracepoint of the program. */
static void
intern_pairs(struct texts *pairs, const struct programs *p, uint32_t program,
    const struct preload_labels *preload)
{
	uint32_t end = p->programs[program].first + p->programs[program].count;

	for (uint32_t t = p->programs[program].first; t < end; t++) {
		char pair[2 * TOGGLE_NAME_MAX + 2];
		int len;

		if (preload_is(preload, p->names[t]) || below_is_probe(p->names[t]))
			continue; /* whether they are there depends on the node, too */
		len = snprintf(
		    pair, sizeof pair, "%s/%s", p->programs[program].service, p->names[t]);
		len = len < (int)sizeof pair ? len : (int)sizeof pair - 1;
		texts_intern(pairs, pair, (size_t)len);
	}
}

/* A sum of hashes does not depend on their order. */
uint64_t
nodes_fingerprint(const struct nodes *nodes, const struct preload_labels *preload)
{
	struct texts *pairs = texts_new();
	struct hash_table seen = { 0 };
	uint64_t sum = 0;

	for (uint32_t i = 0; pairs != NULL && i < nodes->n; i++) {
		const struct programs *p = &nodes->items[i].programs;

		hash_table_clear(&seen);
		for (uint32_t k = 0; k < p->nprograms; k++)
			if (is_new_kind(&seen, p, k))
				intern_pairs(pairs, p, k, preload);
	}
	hash_table_release(&seen);
	for (uint32_t i = 0; pairs != NULL && i < texts_count(pairs); i++)
		sum += hash_bytes(0, texts_get(pairs, i), strlen(texts_get(pairs, i)));
	texts_free(pairs);
	return sum != 0 ? sum : 1;
}
