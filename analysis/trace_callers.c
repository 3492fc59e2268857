/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/trace_callers.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/hash_table.h"
#include "instrument/via.h"

struct part_unit {
	uint32_t first, last; /* its records */
	uint32_t caller;      /* unit of the span that called it; TRACE_NONE */
	bool follows;         /* which does not wait for it */
};

struct trace_callers {
	struct part_unit *units;
	uint32_t units_cap;
	struct pending_record *made;
	uint32_t nmade, made_cap;
	struct record_ref *added;
	uint32_t nadded, added_cap;
	struct hash_table by_id, by_via;
	struct buf text;
};

struct trace_callers *
trace_callers_new(void)
{
	return calloc(1, sizeof(struct trace_callers));
}

void
trace_callers_free(struct trace_callers *c)
{
	if (c == NULL)
		return;
	hash_table_release(&c->by_id);
	hash_table_release(&c->by_via);
	buf_release(&c->text);
	free(c->units);
	free(c->made);
	free(c->added);
	free(c);
}

/* The field `via`: libhone writes it after `probed`, an agent of OpenTelemetry first. 0: none. */
static uint16_t
via_of(const struct event *e, const struct label *l)
{
	for (uint32_t i = 0; i < 2 && i < e->nvalues && i < l->nfields; i++)
		if (strcmp(l->fields[i], "via") == 0)
			return e->values[i].type == VALUE_UINT || e->values[i].type == VALUE_INT
			           ? (uint16_t)e->values[i].u
			           : 0;
	return 0;
}

/* The field of that name; nfields: none. Labels of one name mostly have the same fields, `extra` places apart. */
static uint32_t
field_of(const struct label *l, const char *name, uint32_t guess)
{
	uint32_t i = 0;

	if (guess < l->nfields && strcmp(l->fields[guess], name) == 0)
		return guess;
	while (i < l->nfields && strcmp(l->fields[i], name) != 0)
		i++;
	return i;
}

/* Whether the part that begins so is one for which nobody waits. */
static bool
follows(const struct event *e, const struct label *l)
{
	bool request = l->kind == RECORD_REQUEST_BEGIN;
	uint32_t at = request ? field_of(l, PART_POINTS, 2) : field_of(l, "via", 0);

	return at < e->nvalues && e->values[at].type == VALUE_UINT &&
	       (e->values[at].u & (request ? PART_FOLLOWS : VIA_FOLLOWS)) != 0;
}

static uint8_t
kind_of(const struct record_ref *r, const uint8_t *const *kinds)
{
	return kind_in(kinds, r->record->event.label);
}

static bool
is_part(const struct record_ref *r, const uint8_t *const *kinds, const struct labels *labels)
{
	const struct event *e = &r->record->event;
	uint8_t kind = kind_of(r, kinds);

	if (e->link_id == 0)
		return false;
	return kind == RECORD_REQUEST_BEGIN ||
	       (kind == RECORD_UNIT_BEGIN && via_of(e, labels_get(labels, e->label)) != 0);
}

bool
trace_callers_awaited(const struct event *begin, const struct label *label)
{
	return begin->link_id != 0 &&
	       (label->kind == RECORD_REQUEST_BEGIN || via_of(begin, label) != 0) &&
	       !follows(begin, label);
}

bool
trace_callers_may(const struct record_ref *refs, uint32_t n, const struct labels *labels)
{
	const uint8_t *const *kinds = labels_kinds(labels);

	for (uint32_t i = 0; i < n; i++)
		if (is_part(&refs[i], kinds, labels))
			return true;
	return false;
}

static uint64_t
mixed(uint64_t x, uint64_t seed)
{
	return __builtin_bswap64(x * seed);
}

/* A span is found by 16 bits of its id: one that its trace's spans called by those alone, the first span of a program by the link that it began
 * with, too, since its own is that of the same caller. */
static uint64_t
via_hash(uint64_t link, uint16_t via, uint64_t seed)
{
	return mixed(mixed(link, seed) ^ via, seed);
}

/* Notes first and last record of each unit, and finds spans by their ids: a span's unit has its id. */
static bool
survey(struct trace_callers *c, const struct record_ref *refs, const uint32_t *units, uint32_t n,
    uint32_t nunits, const uint8_t *const *kinds, uint64_t seed)
{
	hash_table_clear(&c->by_id);
	hash_table_clear(&c->by_via);
	if (!array_reserve(c->units, c->units_cap, nunits) ||
	    !hash_table_reserve(&c->by_id, nunits) || !hash_table_reserve(&c->by_via, nunits))
		return false;
	for (uint32_t u = 0; u < nunits; u++)
		c->units[u] = (struct part_unit){ TRACE_NONE, TRACE_NONE, TRACE_NONE, false };
	for (uint32_t i = 0; i < n; i++) {
		const struct pending_record *r = refs[i].record;
		struct part_unit *u = &c->units[units[i]];
		uint8_t kind = kind_of(&refs[i], kinds);

		if (kind == RECORD_WAIT || kind == RECORD_SAMPLE)
			continue;
		u->last = i;
		if (u->first != TRACE_NONE)
			continue;
		u->first = i;
		if (kind != RECORD_UNIT_BEGIN && kind != RECORD_REQUEST_BEGIN)
			continue;
		hash_table_claim(&c->by_id, mixed(r->unit_id, seed), units[i]);
		if (kind == RECORD_UNIT_BEGIN)
			hash_table_claim(&c->by_via,
			    via_hash(r->event.link_id == r->unit_id ? 0 : r->event.link_id,
				hone_via_of(r->unit_id), seed),
			    units[i]);
	}
	return true;
}

/* The unit of the span that called the part beginning with this record. TRACE_NONE: it is not in the trace. */
static uint32_t
caller_of(const struct trace_callers *c, const struct record_ref *refs, uint32_t begin,
    uint32_t unit, const struct labels *labels, uint64_t seed)
{
	const struct event *e = &refs[begin].record->event;
	const struct label *l = labels_get(labels, e->label);
	const struct part_unit *s;
	uint32_t caller;
	uint16_t via;

	if (l->kind == RECORD_REQUEST_BEGIN) {
		caller = hash_table_find(&c->by_id, mixed(e->link_id, seed));
	} else {
		via = via_of(e, l);
		caller = hash_table_find(&c->by_via, via_hash(0, via, seed));
		if (caller == HASH_TABLE_NONE)
			caller = hash_table_find(&c->by_via, via_hash(e->link_id, via, seed));
	}
	if (caller == HASH_TABLE_NONE || caller == unit)
		return TRACE_NONE;
	s = &c->units[caller];
	if (refs[s->last].time_ns <= refs[s->first].time_ns ||
	    (refs[s->first].record->event.node == e->node && refs[s->first].time_ns > e->time_ns))
		return TRACE_NONE;
	return caller;
}

/* Another record of the same time and thread; the record itself stays as it is. */
static struct pending_record *
make(struct trace_callers *c, const struct pending_record *from, uint64_t link)
{
	struct pending_record *r = &c->made[c->nmade++];

	*r = *from;
	r->event.link_id = link;
	return r;
}

bool
trace_callers_of_request(const char *field)
{
	return strcmp(field, "trace_id_high") == 0 || strcmp(field, "probed") == 0 ||
	       strcmp(field, "lossy") == 0 || strcmp(field, PART_POINTS) == 0;
}

/* The label of a unit in place of that of a request. LABEL_NONE: out of memory, or of labels. */
static uint32_t
unit_label(struct trace_callers *c, struct labels *labels, const struct label *l, bool begin)
{
	/* As the unit_begin of libhone has them, or of an agent of OpenTelemetry: whichever comes first gives the label its fields. */
	const char *fields[RECORD_VALUES_MAX];
	uint32_t n = 0;

	if (begin && field_of(l, PART_POINTS, 2) == l->nfields)
		fields[n++] = "probed";
	if (begin)
		fields[n++] = "via";
	for (uint32_t i = 0; begin && i < l->nfields && n < RECORD_VALUES_MAX; i++)
		if (!trace_callers_of_request(l->fields[i]))
			fields[n++] = l->fields[i];
	buf_reset(&c->text);
	buf_bytes(&c->text, l->text, l->service_len);
	buf_printf(&c->text, "/hone:unit_%s(", begin ? "begin" : "end");
	buf_bytes(&c->text, l->name, l->name_len);
	buf_u8(&c->text, ')');
	if (c->text.failed)
		return LABEL_NONE;
	return labels_intern(labels, begin ? RECORD_UNIT_BEGIN : RECORD_UNIT_END,
	    (char *)c->text.data, c->text.len, fields, n);
}

/* The values of `e`, of label `from`, as the fields of `to` have them. False: out of memory. */
static bool
move_values(struct event *e, const struct label *from, const struct label *to, struct arena *arena)
{
	struct value *v = arena_calloc(arena, to->nfields + 1, sizeof *v);
	uint32_t extra = from->nfields > to->nfields ? from->nfields - to->nfields : 0;

	for (uint32_t i = 0; v != NULL && i < to->nfields; i++) {
		uint32_t at = field_of(from, to->fields[i], i + extra);

		if (at < e->nvalues && !trace_callers_of_request(to->fields[i]))
			v[i] = e->values[at];
	}
	e->values = v;
	e->nvalues = to->nfields;
	return v != NULL;
}

static bool
is_without_points(const struct event *e, const struct label *l)
{
	uint32_t at = field_of(l, PART_POINTS, 2);

	return at < e->nvalues && (e->values[at].u & 1) == 0;
}

/* The begin or end of a part, with the link of the fork that is made for it. False: out of memory. */
static bool
make_end(struct trace_callers *c, struct record_ref *ref, struct labels *labels,
    struct arena *values, bool *without_points)
{
	const struct label *l = labels_get(labels, ref->record->event.label);
	bool begin = l->kind == RECORD_REQUEST_BEGIN || l->kind == RECORD_UNIT_BEGIN;
	struct pending_record *r = make(c, ref->record, ref->record->unit_id);
	uint32_t label = r->event.label;

	if (l->kind == RECORD_REQUEST_BEGIN || l->kind == RECORD_REQUEST_END) {
		label = unit_label(c, labels, l, begin);
		if (label == LABEL_NONE)
			return false;
		l = labels_get(labels, r->event.label); /* it may have moved */
		*without_points |= begin && is_without_points(&r->event, l);
		if (!move_values(&r->event, l, labels_get(labels, label), values))
			return false;
	}
	r->event.label = label;
	ref->record = r;
	return true;
}

static void
add(struct trace_callers *c, const struct pending_record *of, uint64_t link, uint32_t label,
    int64_t time_ns)
{
	struct pending_record *r = make(c, of, link);

	r->event.label = label;
	r->event.time_ns = time_ns;
	r->event.nvalues = 0;
	r->event.values = NULL;
	c->added[c->nadded++] = (struct record_ref){ time_ns, r };
}

static int64_t
within(int64_t t, int64_t from, int64_t to)
{
	return t < from ? from : t > to ? to : t;
}

/* Adds the fork and the join of a unit to that of its caller. */
static void
add_call(struct trace_callers *c, const struct record_ref *refs, uint32_t unit, uint32_t fork,
    uint32_t join)
{
	const struct part_unit *u = &c->units[unit], *s = &c->units[u->caller];
	int64_t from = refs[s->first].time_ns, to = refs[s->last].time_ns - 1,
		begin = refs[u->first].time_ns, end = refs[u->last].time_ns;
	const struct pending_record *of = refs[s->first].record;
	bool same = of->event.node == refs[u->first].record->event.node;
	uint64_t link = refs[u->first].record->unit_id;

	add(c, of, link, fork, same ? within(begin, from, to) : from);
	if (!u->follows && (same ? begin <= to : end - begin <= to + 1 - from))
		add(c, of, link, join, same ? within(end, from, to) : to);
}

bool
trace_callers_find(struct trace_callers *c, struct record_ref *refs, const uint32_t *units,
    uint32_t n, uint32_t nunits, struct labels *labels, struct arena *values, uint64_t seed,
    const struct record_ref **added, uint32_t *nadded, bool *without_points)
{
	uint32_t fork = labels_silent(labels, RECORD_FORK),
		 join = labels_silent(labels, RECORD_JOIN);
	const uint8_t *const *kinds = labels_kinds(labels);

	c->nmade = c->nadded = 0;
	*without_points = false;
	if (fork == LABEL_NONE || join == LABEL_NONE ||
	    !survey(c, refs, units, n, nunits, kinds, seed) ||
	    !array_reserve(c->made, c->made_cap, n + 2 * nunits) ||
	    !array_reserve(c->added, c->added_cap, 2 * nunits))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (c->units[units[i]].first == i && is_part(&refs[i], kinds, labels)) {
			const struct event *e = &refs[i].record->event;

			c->units[units[i]].caller = caller_of(c, refs, i, units[i], labels, seed);
			c->units[units[i]].follows = follows(e, labels_get(labels, e->label));
		}
	for (uint32_t i = 0; i < n; i++) {
		uint8_t kind = kind_of(&refs[i], kinds);

		if (c->units[units[i]].caller != TRACE_NONE &&
		    (kind == RECORD_REQUEST_BEGIN || kind == RECORD_REQUEST_END ||
			kind == RECORD_UNIT_BEGIN || kind == RECORD_UNIT_END) &&
		    !make_end(c, &refs[i], labels, values, without_points))
			return false;
	}
	for (uint32_t u = 0; u < nunits; u++)
		if (c->units[u].caller != TRACE_NONE)
			add_call(c, refs, u, fork, join);
	*added = c->added;
	*nadded = c->nadded;
	return true;
}
