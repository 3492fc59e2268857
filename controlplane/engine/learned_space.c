/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/learned_space.h"

#include <assert.h>
#include <stdio.h>

void
learned_space_use(struct learned_space *ls, struct space *space)
{
	assert(space != NULL);
	space_free(ls->space);
	ls->space = space;
	ls->number++;
	ls->taught = false;
}

uint64_t
learned_space_fingerprint(
    struct learned_space *ls, const struct nodes *nodes, const struct preload_labels *preload)
{
	if (ls->fingerprint_of != nodes->binaries.changes + 1) {
		ls->fingerprint = nodes_fingerprint(nodes, preload);
		ls->fingerprint_of = nodes->binaries.changes + 1;
	}
	return ls->fingerprint;
}

bool
learned_space_stale(
    struct learned_space *ls, const struct nodes *nodes, const struct preload_labels *preload)
{
	uint64_t learned = space_version(ls->space)->fingerprint;

	return learned != 0 && nodes->programs > 0 &&
	       learned != learned_space_fingerprint(ls, nodes, preload);
}

/* A label in the context of the label that began its unit. */
static uint64_t
context_hash(uint32_t unit, uint32_t label)
{
	return hash_multiply((uint64_t)unit << 32 | label);
}

/* The labels of the type in the space, in their contexts, into type->learned. */
static int
index_learned(struct learned_space *ls, struct request_type *type, struct err *e)
{
	struct space_export learned;
	bool ok = true;

	hash_table_clear(&type->learned);
	if (space_export(ls->space, type->label, &learned))
		for (uint32_t i = 0; i < learned.nplaces && ok; i++)
			ok = hash_table_claim(&type->learned,
				 context_hash(learned.places[i].unit, learned.places[i].label),
				 0) != HASH_TABLE_NONE;
	if (!ok)
		return err_set(e, ERR_MEMORY, "search space: out of memory");
	type->learned_of = ls->number + 1;
	return 0;
}

/* *fresh: the unit has a label that is not in type->learned; it is added there. */
static int
index_unit(struct request_type *type, const struct trace *t, const struct unit *u,
    const struct labels *labels, struct preload_labels *preload, bool *fresh)
{
	uint32_t begin = LABEL_NONE;

	for (uint32_t i = u->first; i < u->first + u->count; i++) {
		uint32_t label = t->events[i].label;
		uint8_t kind = labels_get(labels, label)->kind;
		uint64_t hash;

		if (begin == LABEL_NONE &&
		    (kind == RECORD_UNIT_BEGIN || kind == RECORD_REQUEST_BEGIN))
			begin = label;
		hash = context_hash(begin, label);
		if (begin == LABEL_NONE ||
		    hash_table_find(&type->learned, hash) != HASH_TABLE_NONE ||
		    preload_label(preload, label))
			continue;
		*fresh = true;
		if (!hash_table_put(&type->learned, hash, 0))
			return ERR_MEMORY;
	}
	return 0;
}

int
learned_space_add(struct learned_space *ls, struct request_type *type, const struct trace *t,
    const struct labels *labels, struct preload_labels *preload, bool always, struct err *e)
{
	bool fresh = false;
	int rc = 0;

	if (!t->probed || !trace_is_evidence(t))
		return 0;
	if (type->learned_of != ls->number + 1 && (rc = index_learned(ls, type, e)) != 0)
		return rc;
	for (uint32_t i = 0; i < t->nunits; i++)
		if (index_unit(type, t, &t->units[i], labels, preload, &fresh) != 0)
			return err_set(e, ERR_MEMORY, "search space: out of memory");
	if (!fresh && !always)
		return 0;
	ls->taught = true;
	return space_learn_more(ls->space, t, e);
}

void
learned_space_diagnosed(struct learned_space *ls, const struct nodes *nodes,
    const struct preload_labels *preload, struct wall when)
{
	const struct space_version *v = space_version(ls->space);
	char name[sizeof v->name];

	if (!ls->taught)
		return;
	snprintf(name, sizeof name, "%s", v->name);
	space_version_set(ls->space,
	    v->fingerprint != 0 ? v->fingerprint : nodes_fingerprint(nodes, preload), name, when.ns,
	    NULL);
	ls->taught = false;
	ls->unsaved = true;
}

bool
learned_space_unsaved(struct learned_space *ls)
{
	bool unsaved = ls->unsaved;

	ls->unsaved = false;
	return unsaved;
}
