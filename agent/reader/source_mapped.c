/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One record of a mapped program becomes none, one, two or three:
 *
 *	record --mapper--> belongs to no sampled request    (dropped)
 *	                   begins a request      REQUEST_BEGIN, the record
 *	                   lies within one       the record; of an added tracepoint only if probed
 *	                   ends a request        the record, REQUEST_END
 *
 * all with the record's time, in this order. Fields that the mapping uses as ids are made empty:
 * they differ in each request and explain no time.
 */
#include "agent/reader/source_mapped.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/reader/mapped_labels.h"
#include "agent/reader/mapped_losses.h"
#include "agent/reader/mapped_processes.h"
#include "agent/reader/mapped_state.h"
#include "base/array.h"

#define EXPIRE_NS INT64_C(1000000000)

enum { EACH_MAX = 3, LABELS_MAX = 4096 };

static const struct value BEGIN_VALUES[2][BEGIN_FIELDS] = {
	/* not probed, probed */
	{ { .type = VALUE_UINT }, { .type = VALUE_UINT } },
	{ { .type = VALUE_UINT }, { .type = VALUE_UINT, .u = 1 } },
};

bool
source_mapped_wants(void *maps, const char *service)
{
	return maps_of(maps, service) != NULL;
}

static struct record *
put(struct mapped_source *s, const struct record *r, uint32_t label)
{
	struct record *to = &s->records[s->nrecords++];

	*to = *r;
	to->label = label;
	return to;
}

static void
put_begin(struct mapped_source *s, const struct record *r, uint32_t label, bool probed)
{
	struct record *to = put(s, r, label);

	to->link_id = 0;
	to->nvalues = BEGIN_FIELDS;
	to->values = BEGIN_VALUES[probed];
}

static bool
ids_blank(struct mapped_source *s, struct record *r, uint32_t ids)
{
	struct value *values = arena_alloc(&s->arena, r->nvalues * sizeof *values);

	if (values == NULL)
		return false;
	memcpy(values, r->values, r->nvalues * sizeof *values);
	for (uint32_t i = 0; i < r->nvalues; i++)
		if (ids >> i & 1)
			values[i] = (struct value){ .type = VALUE_NONE };
	r->values = values;
	return true;
}

/* A record of structure, of this unit. False: out of memory. */
static bool
put_structure(struct mapped_source *s, const struct record *r, uint32_t base, enum record_kind kind,
    const char *type, uint64_t unit_id, uint64_t link_id, bool probed)
{
	uint32_t label = mapped_own_label(s, base, kind, type);
	struct record *to;

	if (label == UINT32_MAX)
		return false;
	to = put(s, r, label);
	to->unit_id = unit_id;
	to->link_id = link_id;
	to->nvalues = kind == RECORD_REQUEST_BEGIN || kind == RECORD_UNIT_BEGIN ? BEGIN_FIELDS : 0;
	to->values = BEGIN_VALUES[probed];
	return true;
}

/* A span has records of structure only: its tracepoints are not recorded, since their ids say nothing more. False: out of memory. */
static bool
put_span(struct mapped_source *s, const struct mapped_program *p, const struct record *r,
    const struct mapper_result *place)
{
	bool probed = place->begins ? s->chosen == MAPPED_PROBED
	                            : map_get(&s->probed, place->trace_id) != NULL;
	uint64_t unit = place->unit_id, parent = place->parent_id;
	void *now = (void *)(uintptr_t)r->time_ns;

	if (place->begins)
		return map_put(&s->followed, place->trace_id, now) &&
		       (!probed || map_put(&s->probed, place->trace_id, now)) &&
		       put_structure(
			   s, r, p->begin, RECORD_REQUEST_BEGIN, place->type, unit, 0, probed);
	if (place->unit_begins)
		return put_structure(
			   s, r, p->fork, RECORD_FORK, place->type, parent, unit, probed) &&
		       put_structure(
			   s, r, p->unit_begin, RECORD_UNIT_BEGIN, place->type, unit, unit, probed);
	if (place->unit_ends)
		return put_structure(
			   s, r, p->unit_end, RECORD_UNIT_END, place->type, unit, unit, probed) &&
		       put_structure(s, r, p->join, RECORD_JOIN, place->type, parent, unit, probed);
	map_take(&s->probed, place->trace_id);
	return put_structure(s, r, p->end, RECORD_REQUEST_END, place->type, unit, 0, probed);
}

/* False: out of memory, and no record was appended. */
static bool
put_mapped(struct mapped_source *s, const struct label_info *k, const struct record *r,
    const struct mapper_result *place)
{
	const struct mapped_program *p = &s->programs[k->program];
	uint32_t begin = 0, end = 0;
	bool probed;

	if (place->span)
		return put_span(s, p, r, place);
	if (place->begins && (begin = mapped_own_label(
				  s, p->begin, RECORD_REQUEST_BEGIN, place->type)) == UINT32_MAX)
		return false;
	if (place->ends &&
	    (end = mapped_own_label(s, p->end, RECORD_REQUEST_END, place->type)) == UINT32_MAX)
		return false;
	probed = place->begins ? s->chosen == MAPPED_PROBED
	                       : map_get(&s->probed, place->trace_id) != NULL;
	if (place->begins && probed &&
	    !map_put(&s->probed, place->trace_id, (void *)(uintptr_t)r->time_ns))
		return false;
	if (place->begins)
		put_begin(s, r, begin, probed);
	if (k->needed || probed)
		put(s, r, k->label);
	else
		s->dropped++;
	if (place->ends) {
		put(s, r, end)->nvalues = 0;
		map_take(&s->probed, place->trace_id);
	}
	return true;
}

/* What hone-below saw of a thread: of its request, or of none. */
static void
take_seen(struct mapped_source *s, const struct label_info *k, const struct record *r)
{
	const struct mapper_event v = { .time_ns = r->time_ns, .pid = r->pid, .tid = r->tid };
	struct mapper_result place;
	struct record placed = *r;

	s->mapped++;
	mapper_thread(s->programs[k->program].mapper, &v, &place);
	placed.trace_id = place.trace_id;
	placed.unit_id = place.unit_id;
	if (place.trace_id != 0 && map_get(&s->probed, place.trace_id) != NULL)
		put(s, &placed, k->label);
	else
		s->dropped++;
}

static bool
is_seen_below(const struct batch_label *l)
{
	return l->kind == RECORD_WAIT || l->kind == RECORD_SAMPLE;
}

static void
take_mapped(struct mapped_source *s, const struct label_info *k, const struct batch_label *l,
    const struct record *r, bool late)
{
	struct mapped_program *p = &s->programs[k->program];
	struct mapper_event v = { r->time_ns, r->pid, r->tid, k->name, r->label, l->nfields,
		l->fields, r->values };
	struct mapper_result place;
	struct record placed = *r;

	s->mapped++;
	if (late || !mapped_processes_add(s, k->program, r->pid) ||
	    mapper_event(p->mapper, &v, &place, NULL) != 0) {
		/* late or without memory: its effect on open requests is unknown */
		mapper_gone(p->mapper, r->pid);
		mapped_losses_report(s, 1, r->time_ns, r->time_ns);
		s->dropped++;
		return;
	}
	placed.trace_id = place.trace_id;
	placed.unit_id = place.unit_id;
	if (place.trace_id == 0) {
		s->dropped++;
	} else if ((k->ids != 0 && !ids_blank(s, &placed, k->ids)) ||
		   !put_mapped(s, k, &placed, &place)) {
		mapper_gone(p->mapper, r->pid);
		mapped_losses_report(s, 1, r->time_ns, r->time_ns);
		s->dropped++;
	}
}

static void
take_record(struct mapped_source *s, const struct record *r, bool late)
{
	const struct label_info *k = &s->infos[r->label];

	assert(r->label < s->ninfos);
	if (!late)
		mapped_losses_reached(s, r->time_ns);
	if (r->trace_id == 0 && s->programs[k->program].mapper != NULL &&
	    is_seen_below(&s->labels[k->label])) {
		take_seen(s, k, r);
		return;
	}
	if (r->trace_id == 0 && s->programs[k->program].mapper != NULL) {
		take_mapped(s, k, &s->labels[k->label], r, late);
		return;
	}
	put(s, r, k->label);
	s->nlate += late;
}

/* Forgets requests that are open for longer than their limit; once a second. */
static void
expire(struct mapped_source *s, int64_t watermark_ns)
{
	void *began;
	uint64_t id;

	if (watermark_ns - s->expired_ns < EXPIRE_NS)
		return;
	s->expired_ns = watermark_ns;
	for (uint32_t i = 0; i < s->nprograms; i++)
		if (s->programs[i].mapper != NULL)
			mapper_expire(s->programs[i].mapper, watermark_ns);
	for (size_t at = 0; (began = map_next(&s->probed, &at, &id)) != NULL;)
		if (watermark_ns - (int64_t)(uintptr_t)began > s->limit_ns)
			map_take(&s->probed, id);
	for (size_t at = 0; (began = map_next(&s->followed, &at, &id)) != NULL;)
		if (watermark_ns - (int64_t)(uintptr_t)began > s->limit_ns)
			map_take(&s->followed, id);
}

static int
take_begin(struct mapped_source *s, const struct source_output *t, struct err *e)
{
	s->nrecords = s->nlate = 0;
	losses_begin(&s->losses);
	arena_reset(&s->arena);
	for (uint32_t i = 0; i < t->nlosses; i++) {
		const struct loss *l = &t->losses[i];
		losses_add(&s->losses, (enum loss_reason)l->reason, l->count, l->from_ns, l->to_ns);
		mapped_losses_add(s, l->to_ns);
	}
	if (!array_reserve(s->records, s->records_cap, (size_t)EACH_MAX * t->nrecords))
		return err_set(e, ERR_MEMORY, "out of memory for %u records", t->nrecords);
	return mapped_labels_learn(s, e);
}

static int
mapped_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct mapped_source *s = state;
	struct source_output t;
	struct err problem;
	int rc;

	if ((rc = s->inner.poll(s->inner.state, now, &t, e)) != 0)
		return rc;
	s->polled_ns = now.ns;
	if (take_begin(s, &t, &problem) == 0) {
		for (uint32_t i = 0; i < t.nrecords; i++)
			take_record(s, &t.records[i], i < t.nlate);
	} else if (t.nrecords > 0) {
		mapped_give_up(s);
		mapped_losses_report(s, t.nrecords, t.records[0].time_ns, t.watermark_ns);
	}
	mapped_losses_reached(s, t.watermark_ns);
	mapped_processes_end(s, t.watermark_ns);
	expire(s, t.watermark_ns);
	*ret = t;
	ret->records = s->records;
	ret->nrecords = s->nrecords;
	ret->nlate = s->nlate;
	ret->losses = s->losses.list;
	ret->nlosses = s->losses.count;
	return 0;
}

static void
mapped_stats(void *state, struct source_stats *ret)
{
	struct mapped_source *s = state;
	struct mapper_counts c;

	s->inner.stats(s->inner.state, ret);
	mapped_processes_update(s, ret);
	ret->records -= s->dropped;
	ret->mapped += s->mapped + ret->outside_dropped;
	ret->dropped += s->dropped + ret->outside_dropped;
	ret->lost[LOSS_QUEUE] += s->lost;
	for (uint32_t i = 0; i < s->nprograms; i++) {
		if (s->programs[i].mapper == NULL)
			continue;
		mapper_get_counts(s->programs[i].mapper, &c);
		ret->given_up += c.given_up;
		ret->endless += c.endless;
		ret->orphans += c.orphans + c.clashes;
	}
}

void
source_mapped_gap(struct source *s, int64_t until_ns)
{
	if (s->poll == mapped_poll)
		mapped_losses_add(s->state, until_ns);
}

static const struct batch_label *
mapped_labels(void *state, uint32_t *count)
{
	struct mapped_source *s = state;

	*count = s->nlabels;
	return s->labels;
}

static void
mapped_close(void *state)
{
	struct mapped_source *s = state;

	mapped_processes_release(s);
	mapped_labels_release(s);
	map_release(&s->probed);
	map_release(&s->followed);
	arena_release(&s->arena);
	s->inner.close(s->inner.state);
	free(s->records);
	losses_release(&s->losses);
	free(s);
}

int
source_mapped_open(struct source *ret, const struct source *inner, const struct maps *maps,
    const struct mapped_options *options, struct err *e)
{
	struct mapped_source *s = calloc(1, sizeof *s);

	if (s == NULL) {
		inner->close(inner->state);
		return err_set(e, ERR_MEMORY, "out of memory for mappings");
	}
	s->inner = *inner;
	s->maps = maps;
	if (options != NULL)
		s->o = *options;
	for (uint32_t i = 0; i < maps->count; i++)
		for (uint32_t k = 0; k < maps->list[i]->nrules; k++)
			if (maps->list[i]->rules[k].limit_ns > s->limit_ns)
				s->limit_ns = maps->list[i]->rules[k].limit_ns;
	if (source_labels_init(&s->own, LABELS_MAX) != 0) {
		mapped_close(s);
		return err_set(e, ERR_MEMORY, "out of memory for mappings");
	}
	*ret = (struct source){ s, mapped_poll, mapped_stats, mapped_labels, mapped_close };
	return 0;
}
