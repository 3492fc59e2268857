/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/span_records.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/hash_map.h"
#include "base/hash_table.h"
#include "formats/reading.h"
#include "formats/span_names.h"
#include "instrument/via.h"
#include "otel/spans/event_names.h"
#include "otel/spans/span_points.h"

enum { READING_BYTES = 32 << 20 }; /* of one trace's spans, and of what was seen before */
enum { NO_SPAN = UINT32_MAX };

/* What records that begin have before the attributes. */
static const char *const OF_REQUEST[] = { "trace_id_high", "probed", PART_POINTS };
static const char *const OF_UNIT[] = { "via" };

/* How a label of the trace becomes one of the batch. */
enum label_use { USE_AS_IS, USE_REQUEST, USE_ENTRY, USE_FORK, USE_JOIN };

/* How the tree at hand began. */
enum tree_begin { BEGAN_REQUEST, CALLED_BY_HONE, CALLED_BY_SPAN };

struct sorted_span { /* a span of the trace at hand */
	struct gathered_span *from;
	struct text_view point; /* its name; length 0: it is a unit */
	bool marked;            /* as a point, also if it is none for want of a parent */
	uint32_t parent; /* NO_SPAN: none, or missing; never a point, after settle_points() */
	uint32_t top;    /* the topmost one above it; NO_SPAN: not known yet */
	uint32_t first;  /* of an entry: the first span of its tree */
	uint32_t next;   /* of the same tree */
};

struct time_order {
	int64_t time_ns;
	uint32_t number; /* as they were made */
};

struct kept_trace { /* until the records were taken */
	struct trace *trace;
	struct kept_trace *next;
};

struct span_records {
	struct span_records_options o;
	struct labels *labels; /* of traces */
	struct labels *out;    /* of records, numbered as in the batch */
	struct reading *reading;
	struct batch_label *batch;
	uint32_t nbatch, batch_cap;
	uint32_t others[RECORD_KINDS]; /* for labels past SPAN_LABELS_MAX */
	struct map known;              /* label and use to number in `out`, plus 1 */
	struct buf text;
	/* of the trace at hand */
	struct sorted_span *spans;
	uint32_t spans_cap;
	struct hash_table by_id;
	enum tree_begin began;
	const struct gathered_span
	    *entry;         /* what called the tree at hand called this span; NULL: nothing did */
	int64_t ahead_ns;   /* by which the tree at hand is put earlier */
	uint32_t list, fed; /* the first span of the tree at hand; how many of it are units */
	bool has_points, has_events; /* of the tree at hand */
	bool built;                  /* a trace was made of them */
	bool cut;
	/* the result */
	struct record *records, *sorted;
	uint32_t nrecords, records_cap, sorted_cap;
	struct time_order *order;
	uint32_t order_cap;
	struct point_time *points;
	uint32_t points_cap;
	int64_t
	    *shifts_ns; /* of the units at hand: their times - those that their spans came with */
	uint32_t shifts_cap;
	struct kept_trace *traces;
	struct arena values;
	struct span_records_stats stats;
};

static int take_trace(void *ctx, struct trace *t, struct err *e);
static bool make_others(struct span_records *s);

int
span_records_new(struct span_records **ret, const struct span_records_options *o, struct err *e)
{
	struct span_records *s = calloc(1, sizeof *s);
	struct reading_options r = { .memory_max_bytes = READING_BYTES,
		.names_max_bytes = o->names_max_bytes,
		.take = take_trace };

	if (s == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	s->o = *o;
	r.ctx = s;
	s->labels = labels_new();
	s->out = labels_new();
	if (s->labels == NULL || s->out == NULL || !make_others(s) ||
	    reading_new(&s->reading, &r, s->labels, e) != 0) {
		span_records_free(s);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	*ret = s;
	return 0;
}

void
span_records_reset(struct span_records *s)
{
	for (struct kept_trace *k = s->traces, *next; k != NULL; k = next) {
		next = k->next;
		trace_free(k->trace);
		free(k);
	}
	s->traces = NULL;
	s->nrecords = 0;
	arena_reset(&s->values);
}

void
span_records_free(struct span_records *s)
{
	if (s == NULL)
		return;
	span_records_reset(s);
	reading_free(s->reading);
	labels_free(s->labels);
	labels_free(s->out);
	map_release(&s->known);
	buf_release(&s->text);
	hash_table_release(&s->by_id);
	arena_release(&s->values);
	free(s->batch);
	free(s->spans);
	free(s->points);
	free(s->shifts_ns);
	free(s->records);
	free(s->sorted);
	free(s->order);
	free(s);
}

/* ---- labels ---- */

/* Makes the labels of the batch that are new. */
static bool
follow_labels(struct span_records *s)
{
	uint32_t n = labels_count(s->out);

	if (!array_reserve(s->batch, s->batch_cap, n))
		return false;
	for (; s->nbatch < n; s->nbatch++) {
		const struct label *l = labels_get(s->out, s->nbatch);

		s->batch[s->nbatch] = (struct batch_label){ .kind = l->kind,
			.len = (uint32_t)strlen(l->text),
			.nfields = l->nfields,
			.text = l->text,
			.fields = (const char **)(uintptr_t)l->fields };
	}
	return true;
}

/* Writes "SERVICE/hone:EVENT(NAME)", the name cut to what a label holds, at the end of a character. */
static bool
write_label(struct span_records *s, const struct label *service, const char *event,
    const struct label *named)
{
	size_t room, len = named->name_len;

	buf_reset(&s->text);
	buf_bytes(&s->text, service->text, service->service_len);
	buf_printf(&s->text, "/hone:%s(", event);
	if (s->text.failed || s->text.len + 1 >= LABEL_TEXT_MAX)
		return false;
	room = LABEL_TEXT_MAX - s->text.len - 1;
	if (len > room)
		for (len = room; len > 0 && ((unsigned char)named->name[len] & 0xc0) == 0x80;)
			len--;
	buf_bytes(&s->text, named->name, len);
	buf_u8(&s->text, ')');
	return !s->text.failed;
}

static uint32_t
extra_fields(enum record_kind kind)
{
	return kind == RECORD_REQUEST_BEGIN ? sizeof OF_REQUEST / sizeof *OF_REQUEST
	       : kind == RECORD_UNIT_BEGIN  ? sizeof OF_UNIT / sizeof *OF_UNIT
	                                    : 0;
}

static uint32_t
make_label(struct span_records *s, const struct label *service, const struct label *named,
    enum record_kind kind)
{
	static const char *const events[RECORD_KINDS] = { [RECORD_REQUEST_BEGIN] = "request_begin",
		[RECORD_REQUEST_END] = "request_end",
		[RECORD_FORK] = "fork",
		[RECORD_UNIT_BEGIN] = "unit_begin",
		[RECORD_UNIT_END] = "unit_end",
		[RECORD_JOIN] = "join" };
	const char *fields[RECORD_VALUES_MAX];
	uint32_t n = extra_fields(kind);

	if (!write_label(s, service, events[kind], named))
		return LABEL_NONE;
	memcpy(fields, kind == RECORD_REQUEST_BEGIN ? OF_REQUEST : OF_UNIT, n * sizeof *fields);
	if (kind == RECORD_REQUEST_BEGIN || kind == RECORD_UNIT_BEGIN)
		for (uint32_t i = 0; i < named->nfields && n < RECORD_VALUES_MAX; i++)
			fields[n++] = named->fields[i];
	return labels_intern(s->out, kind, (char *)s->text.data, s->text.len, fields, n);
}

static bool
make_others(struct span_records *s)
{
	static const struct label other = {
		.text = "other", .name = "other", .service_len = 5, .name_len = 5
	};

	for (int k = RECORD_REQUEST_BEGIN; k <= RECORD_JOIN; k++)
		if ((s->others[k] = make_label(s, &other, &other, (enum record_kind)k)) ==
		    LABEL_NONE)
			return false;
	return follow_labels(s);
}

/* The number of a record's label. service, named: labels of the trace. LABEL_NONE: out of memory. */
static uint32_t
label_of(struct span_records *s, uint32_t service, uint32_t named, enum label_use use,
    enum record_kind kind)
{
	uint64_t key = hash_u64((uint64_t)use << 56 | (uint64_t)service << 28 | named);
	uint64_t number = (uint64_t)(uintptr_t)map_get(&s->known, key);
	uint32_t id;

	if (number != 0)
		return (uint32_t)number - 1;
	if (labels_count(s->out) >= SPAN_LABELS_MAX)
		return s->others[kind];
	id = make_label(s, labels_get(s->labels, service), labels_get(s->labels, named), kind);
	if (id == LABEL_NONE || !follow_labels(s) ||
	    !map_put(&s->known, key, (void *)(uintptr_t)(id + UINT64_C(1))))
		return LABEL_NONE;
	return id;
}

/* ---- records ---- */

struct tree_at_hand {
	const struct trace *trace;
	struct span_choice chosen;
	struct hash_table by_unit; /* hash of a unit's id to its index */
};

/* By which the caller of the tree's first span is found, where that span is one of another node. 0: the caller itself is under Hone. */
static uint16_t
via_of(const struct span_records *s)
{
	const struct span *span = &s->entry->span;

	return span->parent != s->entry->caller.link_id ? hone_via_of(span->parent) : 0;
}

/* Whether the tree's first span was called by way of a queue, so that its caller does not wait for it. */
static bool
consumed(const struct span_records *s)
{
	return s->entry != NULL && s->entry->span.follows;
}

/* The values of a record that begins, as many as its label has fields. NULL: out of memory. */
static const struct value *
values_of(struct span_records *s, const struct tree_at_hand *h, const struct event *e,
    enum record_kind kind, uint32_t nfields)
{
	struct value *v = arena_calloc(&s->values, nfields > 0 ? nfields : 1, sizeof *v);
	uint32_t first = extra_fields(kind);

	if (v == NULL)
		return NULL;
	if (kind == RECORD_REQUEST_BEGIN) {
		v[0] = (struct value){ .type = VALUE_UINT, .u = h->trace->id_high };
		v[1] = (struct value){ .type = VALUE_UINT, .u = h->chosen.probed };
		v[2] = (struct value){ .type = VALUE_UINT,
			.u = h->chosen.points | (consumed(s) ? PART_FOLLOWS : 0) };
	} else if (e->unit == 0 && s->began == CALLED_BY_HONE && via_of(s) != 0) {
		v[0] = (struct value){ .type = VALUE_UINT,
			.u = via_of(s) | (consumed(s) ? VIA_FOLLOWS : 0) };
	}
	for (uint32_t i = 0; i < e->nvalues && first + i < nfields; i++)
		v[first + i] = e->values[i];
	return v;
}

/* ---- links ---- */

static int64_t
end_of(const struct trace *t, const struct unit *u)
{
	return t->events[u->first + u->count - 1].time_ns;
}

/*
 * The unit of the span that the unit's span links to as its cause: of those that ended before it began, the one that ended last, since that is what it
 * waited for. Then that one forks it in place of its parent, which joins it as before. NULL: none. As the cause ended before, forks lead to earlier units
 * only, so never in a circle. O(links).
 */
static const struct unit *
cause_of(const struct span_records *s, const struct tree_at_hand *h, const struct unit *u)
{
	const struct trace *t = h->trace;
	uint32_t at = hash_table_find(&s->by_id, hash_u64(u->id));
	const struct span *span = at != HASH_TABLE_NONE ? &s->spans[at].from->span : NULL;
	int64_t begin_ns = t->events[u->first].time_ns;
	const struct unit *cause = NULL;

	for (uint32_t i = 0; span != NULL && i < span->nlinks; i++) {
		uint32_t unit = hash_table_find(&h->by_unit, hash_u64(span->links[i].id));
		const struct unit *c = unit != HASH_TABLE_NONE ? &t->units[unit] : NULL;

		if (c == NULL || c == u || c->count < 2 || end_of(t, c) > begin_ns ||
		    end_of(t, c) <= t->events[c->first].time_ns)
			continue;
		if (cause == NULL || end_of(t, c) > end_of(t, cause))
			cause = c;
	}
	return cause;
}

static bool
add_record(struct span_records *s, const struct tree_at_hand *h, const struct event *e)
{
	const struct trace *t = h->trace;
	const struct unit *u = &t->units[e->unit], *cause;
	int64_t time_ns = e->time_ns;
	enum record_kind kind = (enum record_kind)labels_get(s->labels, e->label)->kind;
	enum label_use use = USE_AS_IS;
	uint32_t service = e->label, named = e->label, child, label;
	uint64_t link_id = e->link_id;
	struct record *r;

	if (kind == RECORD_FORK || kind == RECORD_JOIN) {
		child = hash_table_find(&h->by_unit, hash_u64(e->link_id));
		assert(child != HASH_TABLE_NONE);
		service = t->events[u->first].label;
		named = t->events[t->units[child].first].label;
		use = kind == RECORD_FORK ? USE_FORK : USE_JOIN;
		if (kind == RECORD_FORK && (cause = cause_of(s, h, &t->units[child])) != NULL) {
			u = cause;
			service = t->events[u->first].label;
			time_ns = end_of(t, u) - 1; /* before its last record */
			s->stats.links++;
		}
	} else if (e->unit == 0 && s->began == CALLED_BY_HONE) {
		kind = kind == RECORD_REQUEST_BEGIN ? RECORD_UNIT_BEGIN : RECORD_UNIT_END;
		use = USE_ENTRY;
		link_id = s->entry->caller.link_id;
	} else if (kind == RECORD_REQUEST_BEGIN) {
		use = USE_REQUEST;
		link_id = s->began == CALLED_BY_SPAN ? s->entry->span.parent : link_id;
	}
	label = label_of(s, service, named, use, kind);
	if (label == LABEL_NONE || !array_reserve(s->records, s->records_cap, s->nrecords + 1))
		return false;
	r = &s->records[s->nrecords];
	*r = (struct record){ .trace_id = t->id,
		.unit_id = u->id,
		.link_id = link_id,
		.time_ns = time_ns,
		.label = label,
		.tid = (uint32_t)u->id, /* each span is a thread of control */
		.nvalues = s->batch[label].nfields };
	if (r->nvalues > 0 && (r->values = values_of(s, h, e, kind, r->nvalues)) == NULL)
		return false;
	s->nrecords++;
	return true;
}

/* ---- clocks ---- */

/*
 * By how much each unit was moved from the times of its span: what is in it is moved by the same. A unit that was moved by itself fits into its parent, so
 * it was not cut there (formats/tree.h), and its begin says it. Any other was moved with its parent; if it was cut, at its begin, its end or both,
 *
 *	end - end of its span <= move of its parent <= begin - begin of its span
 *
 * Parents are before their children. For points and events alone: a trace without them does not pay for it. False: out of memory.
 */
static bool
find_shifts(struct span_records *s, const struct trace *t)
{
	if (!array_reserve(s->shifts_ns, s->shifts_cap, t->nunits))
		return false;
	for (uint32_t i = 0; i < t->nunits; i++) {
		const struct unit *u = &t->units[i];
		uint32_t at = hash_table_find(&s->by_id, hash_u64(u->id));
		const struct span *span;
		int64_t by_begin, by_end;

		assert(at != HASH_TABLE_NONE);
		span = &s->spans[at].from->span;
		by_begin = t->events[u->first].time_ns - span->begin_ns;
		by_end = end_of(t, u) - span->end_ns;
		s->shifts_ns[i] = by_begin;
		if (u->fork != TRACE_NONE) {
			int64_t parent = s->shifts_ns[t->events[u->fork].unit];

			if (by_end <= parent && parent <= by_begin)
				s->shifts_ns[i] = parent;
		}
	}
	return true;
}

/* ---- points ---- */

/* The label of a point in a unit of that service, "SERVICE/PROVIDER NAME ENDING" without the spaces; its fields are these attributes, without the
 * one that holds the name. LABEL_NONE: out of memory, of labels, or of room for its text. */
static uint32_t
point_label(struct span_records *s, const struct label *service, const char *provider,
    struct text_view name, const char *ending, const struct attribute *attributes,
    uint32_t nattributes)
{
	const char *fields[RECORD_VALUES_MAX];
	uint32_t n = 0, id;

	buf_reset(&s->text);
	buf_bytes(&s->text, service->text, service->service_len + 1);
	buf_printf(&s->text, "%s", provider);
	buf_bytes(&s->text, name.s, name.len);
	buf_printf(&s->text, "%s", ending);
	if (s->text.failed || s->text.len > LABEL_TEXT_MAX)
		return LABEL_NONE;
	text_clean((char *)s->text.data, s->text.len);
	id = labels_find(s->out, (char *)s->text.data, s->text.len);
	if (id != LABEL_NONE)
		return labels_get(s->out, id)->kind == RECORD_POINT ? id : LABEL_NONE;
	if (labels_count(s->out) >= SPAN_LABELS_MAX)
		return LABEL_NONE;
	for (uint32_t i = 0; i < nattributes && n < RECORD_VALUES_MAX; i++) {
		const struct attribute *a = &attributes[i];

		if (a->value.type == VALUE_TEXT && a->value.text == name.s)
			continue;
		/* As of spans (span_names.c): a field without a name makes the controller refuse the batch. */
		if (a->key_len == 0 || a->key_len > VALUE_TEXT_MAX ||
		    memchr(a->key, 0, a->key_len) != NULL)
			continue;
		if ((fields[n++] = arena_text(&s->values, a->key, a->key_len)) == NULL)
			return LABEL_NONE;
	}
	id = labels_intern(s->out, RECORD_POINT, (char *)s->text.data, s->text.len, fields, n);
	return id != LABEL_NONE && follow_labels(s) ? id : LABEL_NONE;
}

static const struct attribute *
attribute_of(const struct attribute *all, uint32_t n, const char *key)
{
	size_t len = strlen(key);

	for (uint32_t i = 0; i < n; i++)
		if (all[i].key_len == len && memcmp(all[i].key, key, len) == 0)
			return &all[i];
	return NULL;
}

/* The values of the fields of the label. NULL: out of memory. */
static const struct value *
point_values(
    struct span_records *s, const struct attribute *all, uint32_t n, const struct batch_label *l)
{
	struct value *v = arena_calloc(&s->values, l->nfields, sizeof *v);

	for (uint32_t i = 0; v != NULL && i < l->nfields; i++) {
		const struct attribute *a = attribute_of(all, n, l->fields[i]);

		if (a == NULL)
			continue;
		v[i] = a->value;
		if (a->value.type == VALUE_TEXT &&
		    (v[i].text = arena_text(&s->values, a->value.text, a->value.len)) == NULL)
			return NULL;
	}
	return v;
}

/* Adds the record of a point to a unit. False: out of memory. */
static bool
put_point(struct span_records *s, const struct tree_at_hand *h, uint32_t unit, uint32_t label,
    int64_t time_ns, const struct attribute *all, uint32_t n)
{
	uint64_t id = h->trace->units[unit].id;
	struct record *r;

	if (!array_reserve(s->records, s->records_cap, s->nrecords + 1))
		return false;
	r = &s->records[s->nrecords];
	*r = (struct record){ .trace_id = h->trace->id,
		.unit_id = id,
		.time_ns = time_ns,
		.label = label,
		.tid = (uint32_t)id,
		.nvalues = s->batch[label].nfields };
	if (r->nvalues > 0 && (r->values = point_values(s, all, n, &s->batch[label])) == NULL)
		return false;
	s->nrecords++;
	return true;
}

static const struct label *
service_of(const struct span_records *s, const struct tree_at_hand *h, uint32_t unit)
{
	return labels_get(s->labels, h->trace->events[h->trace->units[unit].first].label);
}

/* False: out of memory. */
static bool
add_point(struct span_records *s, const struct tree_at_hand *h, const struct point_time *p)
{
	const struct sorted_span *at = &s->spans[p->span];
	const struct span *span = &at->from->span;
	uint64_t id = s->spans[at->parent].from->span.id;
	uint32_t unit = hash_table_find(&h->by_unit, hash_u64(id)), label;

	label = point_label(s, service_of(s, h, unit), "", at->point,
	    p->end ? POINT_END : POINT_BEGIN, span->attributes, p->end ? 0 : span->nattributes);
	if (label == LABEL_NONE) {
		s->stats.points_left += p->end;
		return true;
	}
	return put_point(s, h, unit, label, p->time_ns, span->attributes, span->nattributes);
}

/* Both ends of the point, if its unit has room for them. */
static bool
has_times(struct point_time ret[2], const struct span_records *s, const struct tree_at_hand *h,
    uint32_t point)
{
	const struct gathered_span *above = s->spans[s->spans[point].parent].from;
	uint32_t unit = hash_table_find(&h->by_unit, hash_u64(above->span.id));
	const struct unit *u = unit != HASH_TABLE_NONE ? &h->trace->units[unit] : NULL;
	const struct event *events = h->trace->events;
	struct span span = s->spans[point].from->span;

	if (u == NULL || u->count < 2)
		return false;
	span.begin_ns += s->shifts_ns[unit];
	span.end_ns += s->shifts_ns[unit];
	return point_times(
	    ret, &span, point, events[u->first].time_ns, events[u->first + u->count - 1].time_ns);
}

/* The records of the points of the tree at hand. False: out of memory. O(n log n). */
static bool
add_points(struct span_records *s, const struct tree_at_hand *h)
{
	uint32_t n = 0;
	bool ok = true;

	for (uint32_t i = s->list; i != NO_SPAN; i = s->spans[i].next) {
		if (s->spans[i].point.len == 0)
			continue;
		s->stats.points++;
		if (!array_reserve(s->points, s->points_cap, n + 2))
			return false;
		if (has_times(&s->points[n], s, h, i))
			n += 2;
		else
			s->stats.points_left++;
	}
	if (n > 0)
		qsort(s->points, n, sizeof *s->points, point_time_order);
	for (uint32_t i = 0; i < n && ok; i++)
		ok = add_point(s, h, &s->points[i]);
	return ok;
}

/* ---- events of spans ---- */

/* In the span's unit, or that above a point. Its time is brought within that of the unit, between its first and its last record. False: out of
 * memory. */
static bool
add_event(
    struct span_records *s, const struct tree_at_hand *h, uint32_t unit, const struct span_event *e)
{
	const struct unit *u = &h->trace->units[unit];
	int64_t first_ns = h->trace->events[u->first].time_ns,
		last_ns = h->trace->events[u->first + u->count - 1].time_ns,
		ns = e->time_ns + s->shifts_ns[unit];
	uint32_t label = LABEL_NONE;

	ns = ns < last_ns ? ns : last_ns - 1;
	if (u->count > 1 && first_ns < last_ns)
		label = point_label(s, service_of(s, h, unit), EVENT_PROVIDER, e->name, "",
		    e->attributes, e->nattributes);
	if (label == LABEL_NONE) {
		s->stats.events_left++;
		return true;
	}
	s->stats.events++;
	return put_point(
	    s, h, unit, label, ns > first_ns ? ns : first_ns, e->attributes, e->nattributes);
}

static bool
add_events(struct span_records *s, const struct tree_at_hand *h, bool with_points)
{
	bool ok = true;

	for (uint32_t i = s->list; i != NO_SPAN; i = s->spans[i].next) {
		const struct sorted_span *at = &s->spans[i];
		const struct span *span = &at->from->span;
		uint64_t id = at->point.len > 0 ? s->spans[at->parent].from->span.id : span->id;
		uint32_t unit = span->nevents > 0 ? hash_table_find(&h->by_unit, hash_u64(id))
		                                  : HASH_TABLE_NONE;

		if (unit == HASH_TABLE_NONE || (at->point.len > 0 && !with_points))
			continue;
		for (uint32_t k = 0; ok && k < span->nevents; k++)
			ok = add_event(s, h, unit, &span->events[k]);
	}
	return ok;
}

static bool
add_records(struct span_records *s, const struct trace *t, struct span_choice chosen)
{
	struct tree_at_hand h = { .trace = t, .chosen = chosen };
	uint32_t before = s->nrecords, points;
	bool ok = hash_table_reserve(&h.by_unit, t->nunits);

	for (uint32_t u = 0; u < t->nunits && ok; u++)
		ok = hash_table_put(&h.by_unit, hash_u64(t->units[u].id), u);
	for (uint32_t i = 0; i < t->nevents && ok; i++)
		ok = add_record(s, &h, &t->events[i]);
	if (ok && (s->has_events || (s->has_points && chosen.points)))
		ok = find_shifts(s, t);
	if (ok && s->has_events)
		ok = add_events(s, &h, chosen.points);
	points = s->nrecords;
	if (ok && s->has_points && chosen.points)
		ok = add_points(s, &h);
	hash_table_release(&h.by_unit);
	if (!ok)
		s->nrecords = points = before;
	s->stats.records += s->nrecords - before;
	s->stats.point_records += s->nrecords - points;
	return ok;
}

static struct span_choice
choose(const struct span_records *s, const struct trace *t)
{
	const struct label *type = labels_get(s->labels, t->type);

	if (s->began == CALLED_BY_HONE) {
		bool probed = s->entry->caller.probed &&
		              s->o.whole(s->o.ctx, t->begin_ns, t->end_ns);

		return (struct span_choice){ s->entry->caller.sampled, probed, probed };
	}
	return s->o.choose(s->o.ctx, (struct text_view){ type->text, type->service_len },
	    (struct text_view){ type->name, type->name_len }, s->began == CALLED_BY_SPAN, t->id,
	    t->begin_ns, t->end_ns);
}

/* Whether a span of a host whose clock is known to be ahead of that of the tree's first span still begins after the tree's end: it was not moved into its
 * parent (it is longer, or its parent names no host), so its place is not known, and its records would come too late for the trace. */
static bool
is_apart(const struct span_records *s, const struct trace *t)
{
	int64_t end_ns = t->nunits > 0 && t->units[0].count > 0 ? end_of(t, &t->units[0]) : 0;

	for (uint32_t i = 1; i < t->nunits; i++) {
		const struct unit *u = &t->units[i];
		uint32_t at;

		if (u->count == 0 || t->events[u->first].time_ns <= end_ns)
			continue;
		at = hash_table_find(&s->by_id, hash_u64(u->id));
		if (at != HASH_TABLE_NONE &&
		    s->o.ahead_ns(s->o.ctx, &s->spans[at].from->span) > s->ahead_ns)
			return true;
	}
	return false;
}

/* From the reading: the trace of the spans of the tree at hand. */
static int
take_trace(void *ctx, struct trace *t, struct err *e)
{
	struct span_records *s = ctx;
	struct kept_trace *k;
	struct span_choice chosen = choose(s, t);

	s->built = true;
	if (!chosen.sampled) {
		s->stats.unsampled++;
		s->stats.unsampled_spans += s->fed;
		trace_free(t);
		return 0;
	}
	if (t->lossy || s->cut || t->nunits < s->fed || is_apart(s, t)) {
		s->stats.incomplete++;
		s->stats.incomplete_spans += s->fed;
		trace_free(t);
		return 0;
	}
	if ((k = malloc(sizeof *k)) == NULL || !add_records(s, t, chosen)) {
		free(k);
		trace_free(t);
		return err_set(e, ERR_MEMORY, "no memory for the records of a trace");
	}
	*k = (struct kept_trace){ t, s->traces };
	s->traces = k;
	*(s->began == BEGAN_REQUEST ? &s->stats.requests : &s->stats.entries) += 1;
	return 0;
}

/* ---- trees ---- */

/* A span of a server, or of a consumer, whose parent is not here: it is of another program, which may send its spans to another node. */
static enum tree_begin
began_by(const struct sorted_span *s)
{
	const struct span *span = &s->from->span;

	if (s->parent != NO_SPAN || !span->has_parent)
		return BEGAN_REQUEST;
	if (s->from->caller.link_id != 0)
		return CALLED_BY_HONE;
	return (span->kind == SPAN_KIND_SERVER || span->kind == SPAN_KIND_CONSUMER) &&
	               span->parent != span->id
	           ? CALLED_BY_SPAN
	           : BEGAN_REQUEST;
}

/* Finds the parents. */
static bool
index_spans(struct span_records *s, const struct gathered_trace *t)
{
	uint32_t n = 0;

	hash_table_clear(&s->by_id);
	if (!array_reserve(s->spans, s->spans_cap, t->nspans) ||
	    !hash_table_reserve(&s->by_id, t->nspans))
		return false;
	for (struct gathered_span *g = t->spans; g != NULL; g = g->next, n++) {
		s->spans[n] = (struct sorted_span){ g, span_point(&g->span), false, NO_SPAN,
			NO_SPAN, NO_SPAN, NO_SPAN };
		s->spans[n].marked = s->spans[n].point.len > 0;
		hash_table_claim(&s->by_id, hash_u64(g->span.id), n);
	}
	assert(n == t->nspans);
	for (uint32_t i = 0; i < n; i++) {
		const struct span *span = &s->spans[i].from->span;
		uint32_t at = span->has_parent ? hash_table_find(&s->by_id, hash_u64(span->parent))
		                               : HASH_TABLE_NONE;

		s->spans[i].parent = at != HASH_TABLE_NONE && at != i ? at : NO_SPAN;
	}
	return true;
}

/* The topmost span above; NO_SPAN: its ancestors form a circle. O(1) amortised, since all on the way learn it. */
static uint32_t
top_of(struct span_records *s, uint32_t span, uint32_t n)
{
	uint32_t at = span, steps = 0, top;

	while (s->spans[at].top == NO_SPAN && s->spans[at].parent != NO_SPAN && steps++ <= n)
		at = s->spans[at].parent;
	if (steps > n)
		return NO_SPAN;
	top = s->spans[at].top != NO_SPAN ? s->spans[at].top : at;
	for (uint32_t next; span != at; span = next) {
		next = s->spans[span].parent;
		s->spans[span].top = top;
	}
	return s->spans[at].top = top;
}

/* Lists the spans below each entry, and returns the first of all others. */
static uint32_t
list_trees(struct span_records *s, uint32_t n)
{
	uint32_t others = NO_SPAN, top;

	for (uint32_t i = n; i-- > 0;) {
		uint32_t *list = &others;

		if ((top = top_of(s, i, n)) != NO_SPAN && began_by(&s->spans[top]) != BEGAN_REQUEST)
			list = &s->spans[top].first;
		s->spans[i].next = *list;
		*list = i;
	}
	return others;
}

/* The parent of each span is then the nearest one above that is a unit. A point needs one: with a parent that is missing, or in a circle,
 * it counts as a unit. O(1) amortised for a span, since all on the way learn it. */
static void
settle_points(struct span_records *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (s->spans[i].parent == NO_SPAN || s->spans[i].top == NO_SPAN)
			s->spans[i].point.len = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t above = s->spans[i].parent, next;

		if (above == NO_SPAN || s->spans[above].point.len == 0)
			continue;
		while (s->spans[above].point.len > 0)
			above = s->spans[above].parent;
		for (uint32_t at = i; s->spans[at].parent != above; at = next) {
			next = s->spans[at].parent;
			s->spans[at].parent = above;
		}
	}
}

/* A point begins no request, and is no entry: its parent is of the same program, so it must be there. */
static bool
lacks_parent_of_point(const struct span_records *s, uint32_t list)
{
	for (uint32_t i = list; i != NO_SPAN; i = s->spans[i].next)
		if (s->spans[i].marked && s->spans[i].parent == NO_SPAN)
			return true;
	return false;
}

static void
leave_out(struct span_records *s, uint32_t list)
{
	s->stats.incomplete++;
	for (uint32_t i = list; i != NO_SPAN; i = s->spans[i].next)
		s->stats.incomplete_spans++;
}

/* By how much the clock of the tree's first span is ahead. begin: as below. */
static int64_t
ahead_of(const struct span_records *s, uint32_t first, uint32_t begin)
{
	for (uint32_t i = first; begin == NO_SPAN && i != NO_SPAN; i = s->spans[i].next)
		if (!s->spans[i].from->span.has_parent)
			begin = i;
	return begin != NO_SPAN ? s->o.ahead_ns(s->o.ctx, &s->spans[begin].from->span) : 0;
}

/* Makes the records of the spans of a list. begin: the span that has no parent here, or NO_SPAN. */
static int
make_tree(struct span_records *s, uint32_t first, uint32_t begin, struct err *e)
{
	struct trace_id id = s->spans[first].from->span.trace;
	int64_t ahead_ns = s->ahead_ns = ahead_of(s, first, begin);
	int rc = 0;

	if (lacks_parent_of_point(s, first)) {
		leave_out(s, first);
		return 0;
	}
	s->fed = 0;
	s->built = s->has_points = s->has_events = false;
	s->list = first;
	for (uint32_t i = first; i != NO_SPAN && rc == 0; i = s->spans[i].next) {
		struct span span = s->spans[i].from->span;

		s->has_events |= span.nevents > 0;
		s->has_points |= s->spans[i].point.len > 0;
		if (s->spans[i].point.len > 0)
			continue;
		span.has_parent &= i != begin;
		if (s->spans[i].parent != NO_SPAN)
			span.parent = s->spans[s->spans[i].parent].from->span.id;
		/* Not before this machine started. */
		span.begin_ns = span.begin_ns > ahead_ns ? span.begin_ns - ahead_ns : 0;
		span.end_ns = span.end_ns > ahead_ns ? span.end_ns - ahead_ns : 0;
		rc = reading_span(s->reading, &span, e);
		s->fed++;
	}
	if (rc == 0)
		rc = reading_complete(s->reading, id, e);
	if (rc == 0 && !s->built) { /* no root, or no time of it */
		s->stats.incomplete++;
		s->stats.incomplete_spans += s->fed;
	}
	return rc;
}

/* The span that begins the request, if none is without a parent: the earliest whose parent is missing. */
static uint32_t
first_caller(const struct span_records *s, uint32_t list)
{
	uint32_t begin = NO_SPAN;

	for (uint32_t i = list; i != NO_SPAN; i = s->spans[i].next) {
		const struct span *span = &s->spans[i].from->span;

		if (!span->has_parent)
			return NO_SPAN;
		if (s->spans[i].parent == NO_SPAN && span->parent != span->id &&
		    (begin == NO_SPAN || span->begin_ns < s->spans[begin].from->span.begin_ns))
			begin = i;
	}
	return begin;
}

int
span_records_add(struct span_records *s, const struct gathered_trace *t, struct err *e)
{
	uint32_t others;
	int rc = 0;

	if (t->nspans == 0)
		return 0;
	if (!index_spans(s, t))
		return err_set(e, ERR_MEMORY, "no memory for the spans of a trace");
	s->cut = t->cut;
	others = list_trees(s, t->nspans);
	settle_points(s, t->nspans);
	for (uint32_t i = 0; i < t->nspans && rc == 0; i++)
		if (s->spans[i].first != NO_SPAN) {
			s->entry = s->spans[i].from;
			s->began = began_by(&s->spans[i]);
			rc = make_tree(s, s->spans[i].first, i, e);
		}
	s->entry = NULL;
	s->began = BEGAN_REQUEST;
	if (others != NO_SPAN && rc == 0)
		rc = make_tree(s, others, first_caller(s, others), e);
	return rc;
}

/* ---- the result ---- */

static int
earlier(const void *a, const void *b)
{
	const struct time_order *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

int
span_records_list(struct span_records *s, const struct record **ret, uint32_t *count, struct err *e)
{
	if (!array_reserve(s->order, s->order_cap, s->nrecords) ||
	    !array_reserve(s->sorted, s->sorted_cap, s->nrecords))
		return err_set(e, ERR_MEMORY, "no memory for %u records", s->nrecords);
	for (uint32_t i = 0; i < s->nrecords; i++)
		s->order[i] = (struct time_order){ s->records[i].time_ns, i };
	if (s->nrecords > 0)
		qsort(s->order, s->nrecords, sizeof *s->order, earlier);
	for (uint32_t i = 0; i < s->nrecords; i++)
		s->sorted[i] = s->records[s->order[i].number];
	*ret = s->sorted;
	*count = s->nrecords;
	return 0;
}

const struct batch_label *
span_records_labels(const struct span_records *s, uint32_t *count)
{
	*count = s->nbatch;
	return s->batch;
}

void
span_records_stats(const struct span_records *s, struct span_records_stats *ret)
{
	*ret = s->stats;
}
