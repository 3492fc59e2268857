/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events become records like those that agents send, and go through the same assembly: in batches for
 * each node, with a watermark SLACK_NS before the newest record of all nodes.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/assemble.h"
#include "base/array.h"
#include "base/glob.h"
#include "base/texts.h"
#include "formats/correlate.h"
#include "formats/span_events.h"
#include "formats/span_names.h"
#include "mapping/map.h"
#include "mapping/mapper.h"

enum {
	BATCH_RECORDS = 8192,
	NODES_MAX = 4096,
	LABELS_MAX = 60000,
	NAMED_MAX = 50000, /* labels past which names of requests and units are "(other)" */
	NAME_MAX_BYTES = 63,
	RULE_MAX = 512
};

#define SLACK_NS INT64_C(1000000000)
/* clock difference of machines with NTP, with a wide margin */
#define SKEW_NS INT64_C(100000000)
/* a request that takes longer counts as one without an end */
#define PATIENCE_NS INT64_C(600000000000)

struct node_batch { /* records of a node that are not assembled yet */
	bool joined;
	struct record *records;
	struct loss losses[8];
	uint32_t nrecords, nlosses;
	struct mapper *mapper; /* NULL: not needed so far */
};

/* A tracepoint of a mapping of no open request: its request may have begun before the recording. */
struct early_end {
	int64_t time_ns;
	uint32_t label;
};

struct correlate {
	struct reading *reading;
	struct assemble *assemble;
	struct node_batch *piles;
	uint32_t npiles, piles_cap, count; /* count: of records in all piles */
	struct arena arena;                /* values and texts of the piles */
	struct arena names;                /* of labels */
	struct texts *keys;                /* kind and text of each label */
	struct batch_label *labels;
	uint32_t labels_cap;
	int64_t first_ns;             /* of all events */
	int64_t oldest_ns, newest_ns; /* of the records */
	int64_t longest_ns;           /* request that was handed out */
	struct early_end *early;
	uint32_t nearly, early_cap;
	bool told; /* look_mapped() was */
	/* foreign: events of programs that the mapping does not name */
	uint64_t events, placed, threadless, foreign;
	struct mapping *pair;      /* of the rule; NULL: none */
	struct span_events *spans; /* NULL: the mapping has no spans */
	const struct mapping *map; /* `pair`, or the reading's; NULL: correlate by context alone */
};

static int
read_rule(struct mapping **ret, const char *rule, struct err *e)
{
	char words[RULE_MAX], *dots;

	if (strncmp(rule, "thread=", 7) != 0 || strlen(rule) - 7 >= sizeof words)
		return err_set(e, ERR_INPUT,
		    "the rule must be thread=BEGIN..END, e.g. thread=nfs:rpc_begin..nfs:rpc_end");
	snprintf(words, sizeof words, "%s", rule + 7);
	if ((dots = strstr(words, "..")) == NULL || dots == words || dots[2] == '\0')
		return err_set(
		    e, ERR_INPUT, "the rule names no pair of events; it must be thread=BEGIN..END");
	*dots = '\0';
	return map_of_pair(ret, words, dots + 2, e);
}

int
correlate_check(const char *rule, struct err *e)
{
	struct mapping *pair;
	int rc = read_rule(&pair, rule, e);

	if (rc == 0)
		map_free(pair);
	return rc;
}

int
correlate_new(struct correlate **ret, struct reading *r, const char *rule, struct err *e)
{
	struct assemble_options o = { reading_options(r)->memory_max_bytes, SKEW_NS, PATIENCE_NS };
	struct correlate *c = calloc(1, sizeof *c);
	int rc = 0;

	if (c == NULL || (c->keys = texts_new()) == NULL) {
		free(c);
		return err_set(e, ERR_MEMORY, "no memory to read a tracer's events");
	}
	c->reading = r;
	c->map = reading_options(r)->map;
	if (rule != NULL && (rc = read_rule(&c->pair, rule, e)) == 0)
		c->map = c->pair;
	if (rc == 0 && c->map != NULL)
		c->spans = span_events_new(r, c->map, &rc, e);
	if (rc != 0 || (rc = assemble_new(&c->assemble, &o, reading_labels(r), e)) != 0) {
		correlate_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void
correlate_free(struct correlate *c)
{
	if (c == NULL)
		return;
	for (uint32_t i = 0; i < c->npiles; i++) {
		free(c->piles[i].records);
		mapper_free(c->piles[i].mapper);
	}
	free(c->piles);
	map_free(c->pair);
	span_events_free(c->spans);
	if (c->assemble != NULL)
		assemble_free(c->assemble);
	arena_release(&c->arena);
	arena_release(&c->names);
	texts_free(c->keys);
	free(c->labels);
	free(c->early);
	free(c);
}

/* ---- assembly ---- */

/* Whether the recording may have begun after the request did, or ended before it: other requests took
 * as long. */
static bool
is_cut_off(const struct correlate *c, const struct trace *t)
{
	switch (t->incomplete) {
	case INCOMPLETE_NO_BEGIN:
		return t->begin_ns - c->oldest_ns <= c->longest_ns;
	case INCOMPLETE_NO_END:
		return c->newest_ns - t->begin_ns <= c->longest_ns;
	default:
		return false;
	}
}

static int
hand_out(struct correlate *c, struct err *e)
{
	struct trace *t;
	int rc = 0;

	while (rc == 0 && (t = assemble_next(c->assemble)) != NULL) {
		if (t->end_ns - t->begin_ns > c->longest_ns)
			c->longest_ns = t->end_ns - t->begin_ns;
		rc = reading_trace(c->reading, t, e);
	}
	while (rc == 0 && (t = assemble_next_incomplete(c->assemble)) != NULL) {
		if (!is_cut_off(c, t))
			rc = reading_look(c->reading, t, e);
		trace_free(t);
	}
	return rc;
}

struct look {
	struct correlate *c;
	struct err *e;
	int rc;
};

static void
look_at_pending(void *ctx, const struct trace *t)
{
	struct look *l = ctx;

	if (l->rc == 0 && !is_cut_off(l->c, t))
		l->rc = reading_look(l->c->reading, t, l->e);
}

static int
flush(struct correlate *c, int64_t watermark_ns, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < c->npiles && rc == 0; i++) {
		struct node_batch *p = &c->piles[i];
		struct batch b = { .watermark_ns = watermark_ns,
			.nlabels = texts_count(c->keys),
			.labels = c->labels,
			.nrecords = p->nrecords,
			.records = p->records,
			.nlosses = p->nlosses,
			.losses = p->losses };

		if (!p->joined)
			continue;
		rc = assemble_batch(c->assemble, i, &b, e);
		if (p->mapper != NULL)
			mapper_expire(p->mapper, watermark_ns);
		p->nrecords = p->nlosses = 0;
	}
	c->count = 0;
	arena_reset(&c->arena);
	return rc != 0 ? rc : hand_out(c, e);
}

static int
flush_full(struct correlate *c, struct err *e)
{
	return flush(c, c->newest_ns > SLACK_NS ? c->newest_ns - SLACK_NS : 0, e);
}

/* ---- records ---- */

static struct node_batch *
pile_of(struct correlate *c, uint32_t node, struct err *e)
{
	struct node_batch *p;

	if (node >= NODES_MAX) {
		err_set(e, ERR_MEMORY, "the events are of more than %d nodes", NODES_MAX);
		return NULL;
	}
	if (node >= c->npiles) {
		if (!array_reserve(c->piles, c->piles_cap, node + 1))
			goto none;
		memset(&c->piles[c->npiles], 0, (node + 1 - c->npiles) * sizeof *p);
		c->npiles = node + 1;
	}
	p = &c->piles[node];
	if (p->records == NULL && (p->records = malloc(BATCH_RECORDS * sizeof *p->records)) == NULL)
		goto none;
	if (!p->joined && assemble_join(c->assemble, node, e) != 0)
		return NULL;
	p->joined = true;
	return p;
none:
	err_set(e, ERR_MEMORY, "no memory for the events of node %u", node);
	return NULL;
}

static bool
add_label(struct correlate *c, enum record_kind kind, const char *text, uint32_t len,
    const struct tracer_event *v)
{
	uint32_t n = texts_count(c->keys) - 1;
	const char **fields = arena_alloc(&c->names, (v->nfields + 1) * sizeof *fields);

	if (!array_reserve(c->labels, c->labels_cap, n + 1))
		return false;
	for (uint32_t i = 0; fields != NULL && i < v->nfields; i++)
		if ((fields[i] = arena_text(&c->names, v->fields[i], strlen(v->fields[i]))) == NULL)
			return false;
	c->labels[n] = (struct batch_label){ kind, len, v->nfields,
		arena_text(&c->names, text, len), fields };
	return fields != NULL && c->labels[n].text != NULL;
}

/* Appends a text that is safe to print and to split at a slash: control characters (and '/', with
 * `slash`) become '_'. */
static size_t
put_clean(char *out, struct text_view t, size_t most, bool slash)
{
	size_t len = t.len < most ? t.len : most;

	for (size_t i = 0; i < len; i++)
		out[i] = (unsigned char)t.s[i] < 0x20 || t.s[i] == 0x7f || (slash && t.s[i] == '/')
		             ? '_'
		             : t.s[i];
	text_clean(out, len);
	return len;
}

/* The number of the label "service/event" or "service/event(name)"; past NAMED_MAX labels the name is
 * "(other)". UINT32_MAX: out of memory, or over LABELS_MAX. */
static uint32_t
label_of(struct correlate *c, enum record_kind kind, const struct tracer_event *v,
    struct text_view event, const struct text_view *name)
{
	static const struct text_view other = { "(other)", 7 };
	struct text_view unknown = { "unknown", 7 };
	char key[512];
	size_t len = 1;
	uint32_t id;

	key[0] = (char)('0' + kind);
	len += put_clean(
	    key + len, v->service.len > 0 ? v->service : unknown, NAME_MAX_BYTES, true);
	key[len++] = '/';
	len += put_clean(key + len, event, 200, false);
	if (name != NULL) {
		key[len++] = '(';
		len += put_clean(key + len, *name, NAME_MAX_BYTES, false);
		key[len++] = ')';
	}
	if ((id = texts_find(c->keys, key, len)) != UINT32_MAX)
		return id;
	if (name != NULL && name != &other &&
	    (texts_count(c->keys) >= NAMED_MAX || !reading_name_room(c->reading, len))) {
		reading_skip(c->reading, SKIP_NAMES, NULL, "%.*s", (int)len - 1, key + 1);
		return label_of(c, kind, v, event, &other);
	}
	if (texts_count(c->keys) >= LABELS_MAX ||
	    (id = texts_intern(c->keys, key, len)) == UINT32_MAX ||
	    !add_label(c, kind, key + 1, (uint32_t)len - 1, v))
		return UINT32_MAX;
	return id;
}

/* Puts the event's values into the order of its label's fields. Texts are not copied. */
static void
arrange(const struct correlate *c, const struct tracer_event *v, uint32_t label,
    struct value to[RECORD_VALUES_MAX])
{
	const struct batch_label *l = &c->labels[label];

	for (uint32_t i = 0, j = 0; i < l->nfields; i++) {
		if (j >= v->nfields || strcmp(v->fields[j], l->fields[i]) != 0)
			for (j = 0; j < v->nfields && strcmp(v->fields[j], l->fields[i]) != 0;)
				j++;
		to[i] = j < v->nfields ? v->values[j++] : (struct value){ .type = VALUE_NONE };
	}
}

static const struct value *
keep_values(struct correlate *c, const struct value *values, uint32_t n)
{
	struct value *to = arena_alloc(&c->arena, (n + 1) * sizeof *to);

	for (uint32_t i = 0; to != NULL && i < n; i++) {
		to[i] = values[i];
		if (to[i].type != VALUE_TEXT)
			continue;
		to[i].len = to[i].len < VALUE_TEXT_MAX ? to[i].len : VALUE_TEXT_MAX;
		if ((to[i].text = arena_text(&c->arena, to[i].text, to[i].len)) == NULL)
			return NULL;
	}
	return to;
}

static int
no_label(struct err *e)
{
	return err_set(e, ERR_MEMORY,
	    "there are more than %d different events, or no memory for them", LABELS_MAX);
}

static int
add_record(struct correlate *c, const struct tracer_event *v, uint32_t label, struct record r,
    struct err *e)
{
	struct value values[RECORD_VALUES_MAX];
	struct node_batch *p = pile_of(c, v->node, e);

	if (p == NULL)
		return ERR_MEMORY;
	if (label == UINT32_MAX)
		return no_label(e);
	arrange(c, v, label, values);
	r.time_ns = v->time_ns;
	r.label = label;
	r.pid = v->pid;
	r.tid = v->tid;
	r.nvalues = c->labels[label].nfields;
	if ((r.values = keep_values(c, values, r.nvalues)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for an event's values");
	p->records[p->nrecords++] = r;
	c->placed++;
	if (v->time_ns > c->newest_ns)
		c->newest_ns = v->time_ns;
	if (c->placed == 1 || v->time_ns < c->oldest_ns)
		c->oldest_ns = v->time_ns;
	return ++c->count == BATCH_RECORDS ? flush_full(c, e) : 0;
}

/* ---- by libhone's context ---- */

static const struct {
	const char *event;
	enum record_kind kind;
} structure[] = {
	{ "hone:request_begin", RECORD_REQUEST_BEGIN },
	{ "hone:request_end", RECORD_REQUEST_END },
	{ "hone:fork", RECORD_FORK },
	{ "hone:join", RECORD_JOIN },
	{ "hone:unit_begin", RECORD_UNIT_BEGIN },
	{ "hone:unit_end", RECORD_UNIT_END },
};

static enum record_kind
kind_of(struct text_view name)
{
	for (size_t i = 0; i < sizeof structure / sizeof structure[0]; i++)
		if (name.len == strlen(structure[i].event) &&
		    memcmp(name.s, structure[i].event, name.len) == 0)
			return structure[i].kind;
	return RECORD_POINT;
}

/* Of a structure event, "name" becomes a part of the label and "link_id" the record's link; other
 * fields stay. */
static int
by_context(struct correlate *c, const struct tracer_event *v, struct err *e)
{
	enum record_kind kind = kind_of(v->name);
	struct record r = { .trace_id = v->trace_id, .unit_id = v->unit_id };
	const char *fields[RECORD_VALUES_MAX];
	struct value values[RECORD_VALUES_MAX];
	struct tracer_event rest = *v;
	struct text_view name = { "", 0 };

	if (!v->has_context || v->trace_id == 0)
		return 0;
	if (kind == RECORD_POINT)
		return add_record(c, v, label_of(c, kind, v, v->name, NULL), r, e);
	rest.nfields = 0;
	for (uint32_t i = 0; i < v->nfields; i++) {
		if (strcmp(v->fields[i], "name") == 0 && v->values[i].type == VALUE_TEXT) {
			name = (struct text_view){ v->values[i].text, v->values[i].len };
		} else if (strcmp(v->fields[i], "link_id") == 0) {
			r.link_id = v->values[i].type == VALUE_UINT ||
			                    v->values[i].type == VALUE_INT
			                ? v->values[i].u
			                : 0;
		} else {
			fields[rest.nfields] = v->fields[i];
			values[rest.nfields++] = v->values[i];
		}
	}
	rest.fields = fields;
	rest.values = values;
	return add_record(c, &rest, label_of(c, kind, &rest, rest.name, &name), r, e);
}

/* ---- by a mapping ---- */

static struct mapper *
mapper_of(struct correlate *c, uint32_t node, struct err *e)
{
	struct mapper_options o = { .seed = node };
	struct node_batch *p = pile_of(c, node, e);

	if (p == NULL || (p->mapper == NULL && mapper_new(&p->mapper, c->map, &o, e) != 0))
		return NULL;
	return p->mapper;
}

/* Passes an event to the mapper, with the name and fields of its label, whose addresses do not
 * change. */
static int
ask_mapper(struct correlate *c, const struct tracer_event *v, uint32_t label,
    struct mapper_result *ret, struct err *e)
{
	const struct batch_label *l = &c->labels[label];
	struct value values[RECORD_VALUES_MAX];
	struct mapper_event event = { .time_ns = v->time_ns,
		.pid = v->pid,
		.tid = v->tid,
		.name = strchr(l->text, '/') + 1,
		.name_id = label,
		.nfields = l->nfields,
		.fields = l->fields,
		.values = values };
	struct mapper *m = mapper_of(c, v->node, e);

	if (m == NULL)
		return ERR_MEMORY;
	arrange(c, v, label, values);
	return mapper_event(m, &event, ret, e);
}

/* Adds a record at the time of the event that begins or ends the request. */
static int
add_end(struct correlate *c, const struct tracer_event *v, enum record_kind kind,
    const struct mapper_result *place, struct err *e)
{
	struct text_view event = {
		kind == RECORD_REQUEST_BEGIN ? "hone:request_begin" : "hone:request_end", 0
	};
	struct text_view type = { place->type, (uint32_t)strlen(place->type) };
	struct record r = { .trace_id = place->trace_id, .unit_id = place->unit_id };
	struct tracer_event bare = *v;

	event.len = (uint32_t)strlen(event.s);
	bare.nfields = 0;
	return add_record(c, &bare, label_of(c, kind, &bare, event, &type), r, e);
}

static int
tell_mapped(struct correlate *c, uint32_t label, enum mapped_event what, struct err *e)
{
	const struct reading_options *o = reading_options(c->reading);
	const struct batch_label *l = &c->labels[label];
	uint32_t id = labels_intern(reading_labels(c->reading), (enum record_kind)l->kind, l->text,
	    l->len, l->fields, l->nfields);

	c->told = true;
	if (id != LABEL_NONE &&
	    o->look_mapped(o->ctx, id, what, what == MAPPED_INSIDE ? MAPPER_INSIDE_MANY : 1))
		return 0;
	return err_set(e, ERR_MEMORY, "no memory for what pairs in the traces");
}

/* What became of a tracepoint, by what the mapper counted meanwhile. */
static int
note_mapped(struct correlate *c, const struct tracer_event *v, uint32_t label,
    const struct mapper_result *place, const struct mapper_counts *before, struct err *e)
{
	struct mapper_counts now;

	mapper_get_counts(c->piles[v->node].mapper, &now);
	if (now.idless > before->idless)
		return tell_mapped(c, label, MAPPED_IDLESS, e);
	if (now.endless > before->endless)
		return tell_mapped(c, label, MAPPED_INSIDE, e);
	if (place->begins || place->ends)
		return tell_mapped(c, label, MAPPED_PAIRED, e);
	if (now.orphans == before->orphans)
		return 0;
	if (!array_reserve(c->early, c->early_cap, c->nearly + 1))
		return err_set(e, ERR_MEMORY, "no memory for what pairs in the traces");
	c->early[c->nearly++] = (struct early_end){ v->time_ns, label };
	return 0;
}

/* Those that the recording did not cut off: other requests did not take as long. */
static int
tell_alone(struct correlate *c, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < c->nearly && rc == 0; i++)
		if (c->early[i].time_ns - c->first_ns > c->longest_ns)
			rc = tell_mapped(c, c->early[i].label, MAPPED_ALONE, e);
	return rc;
}

static int
by_mapping(struct correlate *c, const struct tracer_event *v, struct err *e)
{
	bool looks = reading_options(c->reading)->look_mapped != NULL;
	struct mapper_counts before = { 0 };
	struct mapper_result place;
	uint32_t label;
	bool taken = false;
	int rc = 0;

	if (c->spans != NULL && (rc = span_events_take(c->spans, v, &taken, e)) == 0)
		c->placed += taken;
	if (rc != 0 || taken)
		return rc;
	if (!v->has_tid) {
		c->threadless++;
		return 0;
	}
	if ((label = label_of(c, RECORD_POINT, v, v->name, NULL)) == UINT32_MAX)
		return no_label(e);
	if (looks && mapper_of(c, v->node, e) == NULL)
		return ERR_MEMORY;
	if (looks)
		mapper_get_counts(c->piles[v->node].mapper, &before);
	if ((rc = ask_mapper(c, v, label, &place, e)) != 0 ||
	    (looks && (rc = note_mapped(c, v, label, &place, &before, e)) != 0) ||
	    place.trace_id == 0)
		return rc;
	if (place.begins && (rc = add_end(c, v, RECORD_REQUEST_BEGIN, &place, e)) != 0)
		return rc;
	rc = add_record(c, v, label,
	    (struct record){ .trace_id = place.trace_id, .unit_id = place.unit_id }, e);
	return rc != 0 || !place.ends ? rc : add_end(c, v, RECORD_REQUEST_END, &place, e);
}

/* Whether the mapping applies. libhone's context takes precedence over a mapping, but not over a pair
 * of events. A mapping applies to programs without a name. */
static bool
is_mapped(struct correlate *c, const struct tracer_event *v)
{
	char name[64];

	if (c->map == NULL || c->pair != NULL)
		return c->map != NULL;
	if (v->has_context && v->trace_id != 0)
		return false;
	snprintf(name, sizeof name, "%.*s", (int)(v->service.len < 63 ? v->service.len : 63),
	    v->service.s);
	if (v->service.len == 0 || glob_matches(c->map->service, name))
		return true;
	c->foreign++;
	return false;
}

int
correlate_event(struct correlate *c, const struct tracer_event *v, struct err *e)
{
	assert(v->nfields <= RECORD_VALUES_MAX);
	if (c->events++ == 0 || v->time_ns < c->first_ns)
		c->first_ns = v->time_ns;
	return is_mapped(c, v) ? by_mapping(c, v, e) : by_context(c, v, e);
}

int
correlate_loss(struct correlate *c, uint32_t node, uint64_t count, int64_t from_ns, int64_t to_ns,
    struct err *e)
{
	struct node_batch *p = pile_of(c, node, e);
	struct loss *l;

	if (p == NULL)
		return ERR_MEMORY;
	/* Where pairs nest, a request that lost its end would stay open. */
	if (p->mapper != NULL && c->pair == NULL)
		mapper_lost(p->mapper);
	/* The last loss is extended if there is no room for another. */
	if (p->nlosses == sizeof p->losses / sizeof p->losses[0]) {
		l = &p->losses[p->nlosses - 1];
		l->count += count;
		l->from_ns = from_ns < l->from_ns ? from_ns : l->from_ns;
		l->to_ns = to_ns > l->to_ns ? to_ns : l->to_ns;
		return 0;
	}
	p->losses[p->nlosses++] = (struct loss){ LOSS_RING, count, from_ns, to_ns };
	return 0;
}

static void
skip_many(struct correlate *c, enum skip why, uint64_t count, const char *words)
{
	if (count == 0)
		return;
	reading_skip(c->reading, why, NULL, "%s", words);
	reading_count(c->reading)->skipped[why].count += count - 1;
}

static void
count_skips(struct correlate *c)
{
	struct assemble_counts n;

	assemble_counts(c->assemble, &n);
	skip_many(c, SKIP_ROOTLESS, n.given_up_malformed + n.given_up_patience + n.pending,
	    "a request whose begin or end is not in the trace");
	skip_many(c, SKIP_SPLIT, n.given_up_memory,
	    "more requests at the same time than the memory limit permits");
	skip_many(c, SKIP_LATE, n.late, "an event of a request that had ended long before");
}

int
correlate_end(struct correlate *c, struct err *e)
{
	struct look look = { c, e, flush(c, c->newest_ns + SKEW_NS + 1, e) };

	if (look.rc == 0 && c->spans != NULL)
		look.rc = span_events_end(c->spans, e);
	if (look.rc == 0 && reading_options(c->reading)->look != NULL)
		assemble_look_pending(c->assemble, INT64_MAX, UINT32_MAX, look_at_pending, &look);
	if (look.rc == 0)
		look.rc = tell_alone(c, e);
	if (look.rc != 0)
		return look.rc;
	count_skips(c);
	if (c->placed > 0 || c->events == 0 || c->told)
		return 0;
	if (c->map == NULL)
		return err_set(e, ERR_INPUT,
		    "none of the %llu events has the id of a request ($app.hone:trace_id): record "
		    "with libhone and its contexts, or name the events that begin and end a request: --correlate "
		    "thread=BEGIN..END, --map FILE",
		    (unsigned long long)c->events);
	if (c->threadless == c->events)
		return err_set(e, ERR_INPUT,
		    "the events do not have the id of their thread: record them with the context "
		    "vtid (lttng add-context -u -t vtid -t vpid)");
	if (c->foreign == c->events)
		return err_set(e, ERR_INPUT,
		    "none of the %llu events is of a program called %s, to which the mapping applies",
		    (unsigned long long)c->events, c->map->service);
	if (c->pair != NULL)
		return err_set(e, ERR_INPUT,
		    "none of the %llu events is called %s: check the name in --correlate",
		    (unsigned long long)c->events, c->pair->rules[0].begin);
	return err_set(e, ERR_INPUT,
	    "none of the %llu events begins a request by the mapping %s: check its rules",
	    (unsigned long long)c->events, c->map->path);
}
