/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/late_ends.h"

#include "analysis/trace_callers.h"
#include "base/hash.h"

/* Links and units are numbers of two kinds in one table. */
static uint64_t
hash_of(const struct late_ends *l, uint8_t kind, uint64_t id)
{
	return hash_u64(id ^ (kind == RECORD_JOIN ? l->seed : ~l->seed));
}

static uint8_t
kind_of(const uint8_t *const *kinds, const struct pending_record *r)
{
	return kind_in(kinds, r->event.label) & (uint8_t)~KIND_SILENT;
}

void
late_ends_release(struct late_ends *l)
{
	hash_table_release(&l->seen);
}

static bool
is_end(uint8_t kind)
{
	return kind == RECORD_UNIT_END || kind == RECORD_REQUEST_END;
}

/* Whether a unit begins with this record whose end somebody may have waited for. */
static bool
begins_awaited(const struct late_ends *l, const struct pending_trace *p,
    const struct pending_record *r, uint8_t kind, const struct labels *labels)
{
	if (kind == RECORD_UNIT_BEGIN &&
	    hash_table_find(&l->seen, hash_of(l, RECORD_JOIN, r->event.link_id)) != HASH_TABLE_NONE)
		return true;
	return (kind == RECORD_UNIT_BEGIN || kind == RECORD_REQUEST_BEGIN) &&
	       !(p->has_own && p->own_unit == r->unit_id) &&
	       trace_callers_awaited(&r->event, labels_get(labels, r->event.label));
}

/* The links that are joined, and the units that have ended. */
static bool
survey(
    struct late_ends *l, const struct pending_trace *p, const uint8_t *const *kinds, int64_t by_ns)
{
	for (const struct record_chunk *c = p->first; c != NULL; c = c->next)
		for (uint32_t i = 0; i < c->count; i++) {
			const struct pending_record *r = &c->records[i];
			uint8_t kind = kind_of(kinds, r);

			if (r->event.time_ns > by_ns || (kind != RECORD_JOIN && !is_end(kind)))
				continue;
			if (hash_table_claim(&l->seen,
				hash_of(
				    l, kind, kind == RECORD_JOIN ? r->event.link_id : r->unit_id),
				0) == HASH_TABLE_NONE)
				return false;
		}
	return true;
}

bool
late_ends_has(
    struct late_ends *l, const struct pending_trace *p, const struct labels *labels, int64_t by_ns)
{
	const uint8_t *const *kinds = labels_kinds(labels);

	if (p->open_units == 0 && p->last_unit_end_ns <= by_ns)
		return false;
	hash_table_clear(&l->seen);
	if (!survey(l, p, kinds, by_ns))
		return false;
	for (const struct record_chunk *c = p->first; c != NULL; c = c->next)
		for (uint32_t i = 0; i < c->count; i++) {
			const struct pending_record *r = &c->records[i];

			if (r->event.time_ns <= by_ns &&
			    begins_awaited(l, p, r, kind_of(kinds, r), labels) &&
			    hash_table_find(&l->seen, hash_of(l, RECORD_UNIT_END, r->unit_id)) ==
				HASH_TABLE_NONE)
				return true;
		}
	return false;
}
