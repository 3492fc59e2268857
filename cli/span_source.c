/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/span_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "mapping/map.h"

enum { PAIRS_MAX = 64 }; /* spans of a unit that are open one in the other */

const char *
span_standing_word(enum span_standing s)
{
	static const char *const words[SPAN_STANDINGS] = { "", "untimed", "no-thread", "other-host",
		"nowhere", "other-thread", "unseen", "lossy" };

	return (unsigned)s < SPAN_STANDINGS ? words[s] : "";
}

/* ---- what is kept ---- */

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "no memory for spans");
}

static int
check_bound(const struct span_source *s, struct err *e)
{
	size_t bytes = s->arena.total_bytes + s->list_cap * sizeof *s->list +
	               s->records_cap * sizeof *s->records + s->of_units_cap * sizeof *s->of_units;

	return bytes <= s->bytes_max
	           ? 0
	           : err_set(e, ERR_FULL,
			 "the spans need more than a quarter of the memory limit; --memory raises it");
}

static uint32_t
node_of(struct span_source *s, const char *name, size_t len)
{
	uint32_t node = texts_intern(s->nodes, name != NULL ? name : "", len);

	if (node == UINT32_MAX || !array_reserve(s->clock_ns, s->clocks_cap, node + 1))
		return UINT32_MAX;
	while (s->nclocks <= node)
		s->clock_ns[s->nclocks++] = 0;
	return node;
}

static uint64_t
key_of(struct trace_id trace, uint64_t id)
{
	return hash_u64(id + hash_u64(trace.low + hash_u64(trace.high + 1)));
}

static uint32_t
find(const struct span_source *s, struct trace_id trace, uint64_t id)
{
	const struct hash_slot *at = hash_table_first(&s->by_id, key_of(trace, id));

	for (; at != NULL; at = hash_table_next(&s->by_id, at)) {
		const struct span *is = &s->list[at->entry].span;

		if (is->id == id && is->trace.low == trace.low && is->trace.high == trace.high)
			return at->entry;
	}
	return SPAN_NONE;
}

static struct text_view
own_text(struct arena *a, struct text_view t)
{
	return (struct text_view){ t.len > 0 ? arena_text(a, t.s, t.len) : "", t.len };
}

static bool
is_key(const struct attribute *a, const char *key)
{
	return a->key_len == strlen(key) && memcmp(a->key, key, a->key_len) == 0;
}

static void
note_thread(struct source_span *to)
{
	for (uint32_t i = 0; i < to->span.nattributes; i++) {
		const struct attribute *a = &to->span.attributes[i];
		int64_t number = a->value.i;

		if (is_key(a, "thread.id") &&
		    (a->value.type == VALUE_INT || a->value.type == VALUE_UINT) && number > 0 &&
		    number < UINT32_MAX) {
			to->tid = (uint32_t)number;
			to->has_tid = true;
		} else if (is_key(a, "thread.name") && a->value.type == VALUE_TEXT) {
			to->thread_name = (struct text_view){ a->value.text, a->value.len };
		}
	}
}

/* Keeps a copy. The index, or SPAN_NONE: it was there already, or *rc is set. */
static uint32_t
keep(struct span_source *s, const struct span *span, uint32_t node, int *rc, struct err *e)
{
	struct attribute *attributes = NULL;
	struct source_span *to;
	bool ok = node != UINT32_MAX;

	if (find(s, span->trace, span->id) != SPAN_NONE) {
		s->repeated++;
		return SPAN_NONE;
	}
	ok = ok && array_reserve(s->list, s->list_cap, s->nlist + 1) &&
	     (span->nattributes == 0 || (attributes = arena_copy(&s->arena, span->attributes,
					     span->nattributes * sizeof *attributes)) != NULL) &&
	     hash_table_put(&s->by_id, key_of(span->trace, span->id), s->nlist);
	for (uint32_t i = 0; ok && i < span->nattributes; i++) {
		ok = (attributes[i].key = arena_text(
			  &s->arena, attributes[i].key, attributes[i].key_len)) != NULL;
		if (ok && attributes[i].value.type == VALUE_TEXT)
			ok = (attributes[i].value.text = arena_text(&s->arena,
				  attributes[i].value.text, attributes[i].value.len)) != NULL;
	}
	if (!ok) {
		*rc = no_memory(e);
		return SPAN_NONE;
	}
	to = &s->list[s->nlist++];
	*to = (struct source_span){
		.span = *span, .parent = SPAN_NONE, .node = node, .unit = SPAN_NONE
	};
	to->span.attributes = attributes;
	to->span.name = own_text(&s->arena, span->name);
	to->span.service = own_text(&s->arena, span->service);
	to->span.node = own_text(&s->arena, span->node);
	if (to->span.name.s == NULL || to->span.service.s == NULL || to->span.node.s == NULL)
		*rc = no_memory(e);
	note_thread(to);
	if (span->no_begin || span->no_end || span->begin_ns > span->end_ns) {
		to->standing = SPAN_UNTIMED;
	} else {
		s->from_ns = span->begin_ns < s->from_ns ? span->begin_ns : s->from_ns;
		s->to_ns = span->end_ns > s->to_ns ? span->end_ns : s->to_ns;
	}
	if (*rc == 0)
		*rc = check_bound(s, e);
	return s->nlist - 1;
}

static int
look_span(void *ctx, const struct span *span, struct err *e)
{
	struct span_source *s = ctx;
	int rc = 0;

	s->own_clock = false;
	keep(s, span, node_of(s, span->node.s, span->node.len), &rc, e);
	return rc;
}

/* ---- units ---- */

/* The stem of "provider:x_begin"; *is_end: it ends such a pair. 0: it is no part of a pair. */
static size_t
stem_of(const char *event, size_t len, bool *is_end)
{
	static const struct {
		const char *suffix;
		bool is_end;
	} suffixes[] = { { "_begin", false }, { "_start", false }, { "_entry", false },
		{ "_enter", false }, { "_req", false }, { "_end", true }, { "_done", true },
		{ "_exit", true }, { "_leave", true }, { "_acq", true } };

	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		size_t n = strlen(suffixes[i].suffix);

		if (len > n && memcmp(event + len - n, suffixes[i].suffix, n) == 0) {
			*is_end = suffixes[i].is_end;
			return len - n;
		}
	}
	return 0;
}

struct open_pair {
	const char *stem;
	size_t len;
	uint32_t span; /* index */
};

struct unit_walk {
	struct span_source *source;
	const struct trace *trace;
	const char *node;    /* its name */
	uint32_t unit, span; /* numbers of the source */
	struct open_pair open[PAIRS_MAX];
	uint32_t nopen, npairs;
};

static struct span
span_of(struct unit_walk *w, const struct label *l, const struct event *at, uint64_t id)
{
	return (struct span){ .trace = { w->trace->id_high, w->trace->id },
		.id = id,
		.kind = SPAN_KIND_INTERNAL,
		.begin_ns = at->time_ns,
		.end_ns = at->time_ns,
		.service = { l->text, l->service_len },
		.name = { l->event, l->event_len },
		.node = { w->node, (uint32_t)strlen(w->node) } };
}

/* A span that does not stand is nowhere. */
static int
add_of_unit(struct span_source *s, uint32_t span, uint32_t unit, struct err *e)
{
	if (s->list[span].standing != SPAN_STANDS)
		return 0;
	if (!array_reserve(s->of_units, s->of_units_cap, s->nof_units + 1))
		return no_memory(e);
	s->of_units[s->nof_units++] = (struct span_of_unit){ s->list[span].span.begin_ns,
		s->list[span].span.end_ns, unit, span };
	return 0;
}

/* Requests of libhone that lack a record have the right ones; of those that the kernel shows it is not known whose a part is. */
static uint8_t
standing_of(const struct span_source *s, const struct trace *t)
{
	return s->kernel != NULL && t->lossy ? SPAN_LOSSY : SPAN_STANDS;
}

static int
begin_pair(
    struct unit_walk *w, const struct label *l, const struct event *at, size_t stem, struct err *e)
{
	struct span_source *s = w->source;
	uint64_t id = hash_u64(s->list[w->span].span.id + hash_u64(++w->npairs));
	struct span span = span_of(w, l, at, id != 0 ? id : 1);
	struct attribute tid = { "thread.id", 9, { .type = VALUE_INT, .i = at->tid } };
	uint32_t above = w->nopen > 0 ? w->open[w->nopen - 1].span : w->span, made;
	int rc = 0;

	if (w->nopen == PAIRS_MAX)
		return 0;
	span.name.len = (uint32_t)stem;
	span.parent = s->list[above].span.id;
	span.has_parent = true;
	span.no_end = true;
	span.attributes = &tid;
	span.nattributes = 1;
	if ((made = keep(s, &span, s->list[w->span].node, &rc, e)) == SPAN_NONE || rc != 0)
		return rc;
	s->list[made].unit = w->unit;
	w->open[w->nopen++] = (struct open_pair){ l->event, stem, made };
	return 0;
}

/* Ends the innermost pair of this stem; pairs inside of it have no end. */
static int
end_pair(
    struct unit_walk *w, const struct label *l, const struct event *at, size_t stem, struct err *e)
{
	struct span_source *s = w->source;
	uint32_t i = w->nopen;

	while (i > 0 &&
	       (w->open[i - 1].len != stem || memcmp(w->open[i - 1].stem, l->event, stem) != 0))
		i--;
	if (i == 0)
		return 0;
	w->nopen = i - 1;
	s->list[w->open[i - 1].span].span.end_ns = at->time_ns;
	s->list[w->open[i - 1].span].span.no_end = false;
	s->list[w->open[i - 1].span].standing = standing_of(s, w->trace);
	return add_of_unit(s, w->open[i - 1].span, w->unit, e);
}

static int
add_record(
    struct span_source *s, const struct event *at, uint32_t node, uint32_t unit, struct err *e)
{
	if (!array_reserve(s->records, s->records_cap, s->nrecords + 1))
		return no_memory(e);
	s->records[s->nrecords++] = (struct place_record){ at->time_ns, node, at->tid, unit };
	return 0;
}

/* Of a unit the event that names it: its begin. */
static const struct event *
naming(const struct span_source *s, const struct trace *t, const struct unit *u)
{
	for (uint32_t i = u->first; i < u->first + u->count; i++) {
		uint8_t kind = labels_get(s->labels, t->events[i].label)->kind;

		if (kind == RECORD_REQUEST_BEGIN || kind == RECORD_UNIT_BEGIN)
			return &t->events[i];
	}
	return &t->events[u->first];
}

static int
note_clock(struct span_source *s, uint32_t reading_node, uint32_t node)
{
	return s->reading == NULL || node == UINT32_MAX ||
	               !reading_clock(s->reading, reading_node, &s->clock_ns[node])
	           ? -1
	           : 0;
}

static int
take_unit(struct span_source *s, const struct trace *t, uint32_t number, struct err *e)
{
	const struct unit *u = &t->units[number];
	const struct event *first = naming(s, t, u), *last = &t->events[u->first + u->count - 1];
	struct unit_walk w = { .source = s,
		.trace = t,
		.node = (s->reading != NULL ? reading_nodes(s->reading)
					    : kernel_traces_nodes(s->kernel))[first->node],
		.unit = s->nunits };
	const struct label *l = labels_get(s->labels, first->label);
	struct span span = span_of(&w, l, first, u->id != 0 ? u->id : hash_u64(t->id + number + 1));
	struct attribute attributes[] = { { "thread.id", 9,
					      { .type = VALUE_INT, .i = first->tid } },
		{ "process.pid", 11, { .type = VALUE_INT, .i = first->pid } } };
	uint32_t node = node_of(s, span.node.s, span.node.len);
	int rc = 0;

	if (l->silent)
		return 0;
	if (note_clock(s, first->node, node) != 0)
		s->own_clock = false;
	if (l->name_len > 0)
		span.name = (struct text_view){ l->name, l->name_len };
	span.begin_ns = t->events[u->first].time_ns;
	span.end_ns = last->time_ns;
	span.kind = number == t->root ? SPAN_KIND_SERVER : SPAN_KIND_INTERNAL;
	if (u->fork != TRACE_NONE) {
		span.parent = t->units[t->events[u->fork].unit].id;
		span.has_parent = span.parent != 0;
	}
	span.attributes = attributes;
	span.nattributes = 2;
	if ((w.span = keep(s, &span, node, &rc, e)) == SPAN_NONE || rc != 0)
		return rc;
	s->nunits++;
	s->list[w.span].unit = w.unit;
	if (s->list[w.span].standing == SPAN_STANDS)
		s->list[w.span].standing = standing_of(s, t);
	for (uint32_t i = u->first; rc == 0 && i < u->first + u->count; i++) {
		const struct event *at = &t->events[i];
		const struct label *is = labels_get(s->labels, at->label);
		bool is_end = false;
		size_t stem = is->kind == RECORD_POINT ? stem_of(is->event, is->event_len, &is_end)
		                                       : 0;

		rc = add_record(s, at, node, w.unit, e);
		if (rc == 0 && stem > 0)
			rc = (is_end ? end_pair : begin_pair)(&w, is, at, stem, e);
	}
	return rc == 0 ? add_of_unit(s, w.span, w.unit, e) : rc;
}

static int
take(void *ctx, struct trace *t, struct err *e)
{
	struct span_source *s = ctx;
	int rc = 0;

	for (uint32_t i = 0; i < t->nunits && rc == 0; i++)
		if (t->units[i].count > 0)
			rc = take_unit(s, t, i, e);
	trace_free(t);
	return rc;
}

/* ---- all of it ---- */

static void
find_parents(struct span_source *s)
{
	for (uint32_t i = 0; i < s->nlist; i++)
		if (s->list[i].span.has_parent)
			s->list[i].parent = find(s, s->list[i].span.trace, s->list[i].span.parent);
}

static int
open_reading(struct span_source *s, struct err *e)
{
	struct invocation *c = s->call;
	struct reading_options o = { .correlate = c->value[FLAG_CORRELATE],
		.memory_max_bytes = s->bytes_max,
		.take = take,
		.span = look_span,
		.ctx = s };
	int rc = 0;

	if (c->value[FLAG_MAP] != NULL)
		rc = map_load(&s->map, c->value[FLAG_MAP], e);
	o.map = s->map;
	return rc != 0 ? rc : reading_new(&s->reading, &o, s->labels, e);
}

static int
begin(struct span_source *s, struct invocation *c, size_t bytes_max, struct err *e)
{
	*s = (struct span_source){ .call = c,
		.labels = labels_new(),
		.nodes = texts_new(),
		.bytes_max = bytes_max,
		.from_ns = INT64_MAX,
		.to_ns = INT64_MIN,
		.own_clock = true };
	return s->labels != NULL && s->nodes != NULL ? 0 : no_memory(e);
}

int
span_source_requests(struct span_source *ret, struct invocation *c, char *const *recordings, int n,
    size_t bytes_max, struct err *e)
{
	struct span_source *s = ret;
	struct kernel_traces_options o = { .gateways = c->value[FLAG_GATEWAY],
		.all = c->value[FLAG_RULE] != NULL && strcmp(c->value[FLAG_RULE], "all") == 0,
		.memory_max_bytes = bytes_max,
		.take = take,
		.ctx = s };
	int rc = begin(s, c, bytes_max, e);

	if (rc != 0 || (rc = kernel_traces_new(&s->kernel, &o, s->labels, e)) != 0 ||
	    (rc = kernel_traces_read(s->kernel, recordings, n, e)) != 0)
		return rc;
	s->own_clock = false;
	s->counts.traces = kernel_traces_made(s->kernel);
	if (s->nlist == 0)
		return err_set(e, ERR_INPUT,
		    "no request is in the %llu kernel events; they need messages that are sent and received (hone kernel record has them), and --gateway says who begins requests",
		    (unsigned long long)kernel_traces_events(s->kernel));
	find_parents(s);
	return 0;
}

int
span_source_read(struct span_source *ret, struct invocation *c, const char *const *files,
    size_t bytes_max, struct err *e)
{
	struct span_source *s = ret;
	int rc = begin(s, c, bytes_max, e);

	if (rc != 0 || (rc = open_reading(s, e)) != 0)
		return rc;
	for (int i = 0; files[i] != NULL && rc == 0; i++)
		rc = reading_file(s->reading, files[i], e);
	if (rc == 0)
		rc = reading_end(s->reading, e);
	reading_counts(s->reading, &s->counts);
	if (rc == 0 && s->nlist == 0)
		rc = err_set(e, ERR_INPUT, "no spans in these files");
	find_parents(s);
	return rc;
}

void
span_source_release(struct span_source *s)
{
	reading_free(s->reading);
	kernel_traces_free(s->kernel);
	map_free(s->map);
	labels_free(s->labels);
	texts_free(s->nodes);
	hash_table_release(&s->by_id);
	arena_release(&s->arena);
	free(s->list);
	free(s->records);
	free(s->of_units);
	free(s->clock_ns);
	*s = (struct span_source){ 0 };
}
