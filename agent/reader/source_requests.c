/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/source_requests.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/reader/record_list.h"
#include "agent/reader/seen_below.h"
#include "agent/reader/source_labels.h"
#include "agent/reader/source_losses.h"
#include "base/array.h"
#include "base/hash.h"
#include "kernel/kernel_stream.h"

enum {
	LABELS_MAX = 8192,
	READY_BYTES_MAX = 32 << 20, /* records of one poll */
	STAGE_LABELS_MAX = 65536,   /* then the stage begins anew */
	SERVICE_BYTES = 64,
	UNKNOWN = UINT32_MAX, /* a label that was not looked up yet */
	NONE = UINT32_MAX - 1 /* one that has no label here */
};

#define BEFORE_NS \
	INT64_C(100000000) /* that far back, what a thread did before it began a unit is told */

/* Two programs at one tracepoint see the same moment within this. */
#define SAME_NS INT64_C(100000)

static const char *BEGIN_FIELDS[] = { "trace_id_high", "probed", "lossy" };
enum { NBEGIN = sizeof BEGIN_FIELDS / sizeof *BEGIN_FIELDS };

struct stage { /* of one stream, or of the part of it between two times that names are told anew */
	struct requests *requests;
	struct labels *labels; /* its own */
	uint32_t *label_at;    /* its label -> the source's */
	uint32_t nlabel_at, cap;
	struct requests_counts counted; /* as they are in the sums */
};

struct source_requests {
	struct source_requests_options o;
	struct requests_options stage_options;
	struct kernel_names names;
	struct kernel_reader *reader; /* NULL: idle */
	struct stage stage;
	struct seen_below seen;
	uint64_t streams; /* so far: trace ids of each are others */

	struct source_labels labels;
	struct record_list ready[2], scratch;
	struct arena arena[2]; /* values of ready */
	int turn;              /* for the next poll; the other one is what the last poll returned */
	struct source_losses losses;
	int64_t mark_ns, watermark_ns;
	uint64_t records;
	struct source_requests_counts counts;

	struct source_process *programs;
	char (*program_names)[SERVICE_BYTES];
	uint32_t nprograms;
	uint64_t changes;
};

/* ---- labels ---- */

/* "SERVICE/event(name)" as the source's own label: structure by its base, so that names share what room there is. */
static uint32_t
make_label(struct source_requests *s, const struct label *l)
{
	char service[SERVICE_BYTES], event[LABEL_TEXT_MAX + 1];
	const char **fields = (const char **)(uintptr_t)l->fields;
	enum record_kind kind = (enum record_kind)l->kind;
	uint32_t nfields = l->nfields, base, id;

	if (l->service_len >= sizeof service || l->event_len >= sizeof event)
		return NONE;
	memcpy(service, l->text, l->service_len);
	service[l->service_len] = '\0';
	if (kind == RECORD_POINT || kind == RECORD_WAIT || kind == RECORD_SAMPLE) {
		if (s->labels.count >= LABELS_MAX)
			return NONE;
		id = source_labels_get(
		    &s->labels, kind, service, l->text + l->service_len + 1, fields, nfields);
		return id != UINT32_MAX ? id : NONE;
	}
	if (kind == RECORD_REQUEST_BEGIN) {
		fields = BEGIN_FIELDS;
		nfields = NBEGIN;
	}
	memcpy(event, l->event, l->event_len);
	event[l->event_len] = '\0';
	base = source_labels_base(&s->labels, kind, service, event, fields, nfields);
	if (base == UINT32_MAX)
		return NONE;
	id = source_labels_named(&s->labels, base, kind, l->name, l->name_len, fields, nfields);
	return id != UINT32_MAX ? id : NONE;
}

/* The source's label of the stage's; NONE. */
static uint32_t
label_of(struct source_requests *s, uint32_t id)
{
	struct stage *g = &s->stage;

	if (id >= g->nlabel_at) {
		if (!array_reserve(g->label_at, g->cap, id + 1))
			return NONE;
		for (; g->nlabel_at <= id; g->nlabel_at++)
			g->label_at[g->nlabel_at] = UNKNOWN;
	}
	if (g->label_at[id] == UNKNOWN)
		g->label_at[id] = make_label(s, labels_get(g->labels, id));
	return g->label_at[id];
}

/* ---- a trace becomes records ---- */

static bool
is_looked_below(struct source_requests *s, const struct label *l)
{
	char service[SERVICE_BYTES];

	if (s->o.looks_below == NULL)
		return true;
	if (l->service_len >= sizeof service)
		return false;
	memcpy(service, l->text, l->service_len);
	service[l->service_len] = '\0';
	return s->o.looks_below(s->o.of, service);
}

static uint64_t
trace_id_of(const struct source_requests *s, const struct trace *t)
{
	return hash_u64(t->id ^ hash_u64(hash_u64(s->o.seed) + s->streams));
}

/* False: out of memory, or of labels. */
static bool
put(struct source_requests *s, const struct trace *t, const struct event *ev,
    enum mapped_choice chosen)
{
	const struct value begin[NBEGIN] = { { .type = VALUE_UINT, .u = t->id_high },
		{ .type = VALUE_UINT, .u = chosen == MAPPED_PROBED },
		{ .type = VALUE_UINT, .u = t->lossy } };
	struct record r = { .trace_id = hash_u64(
				t->id ^ hash_u64(hash_u64(s->o.seed) + s->streams)),
		.unit_id = t->units[ev->unit].id,
		.link_id = ev->link_id,
		.time_ns = ev->time_ns,
		.label = label_of(s, ev->label),
		.pid = ev->pid,
		.tid = ev->tid,
		.nvalues = ev->nvalues,
		.values = ev->values };

	if (r.label == NONE)
		return false;
	if (s->labels.labels[r.label].kind == RECORD_REQUEST_BEGIN) {
		r.nvalues = NBEGIN;
		r.values = begin;
	}
	return record_list_copy(&s->ready[s->turn], &s->arena[s->turn], &r);
}

struct seen_match { /* what was seen of a wait, or of a time that a thread ran */
	struct source_requests *s;
	const struct trace *t;
	const struct event *of;
	const struct record *wait; /* the nearest one; NULL: none */
	int64_t apart_ns, seen_ns; /* seen_ns: of the run, by samples */
	bool failed;
};

static bool
put_seen(struct seen_match *m, const struct record *seen, int64_t time_ns)
{
	struct record r = *seen;

	r.trace_id = trace_id_of(m->s, m->t);
	r.unit_id = m->t->units[m->of->unit].id;
	r.time_ns = time_ns;
	return record_list_copy(&m->s->ready[m->s->turn], &m->s->arena[m->s->turn], &r);
}

static void
match_wait(void *of, const struct record *r)
{
	struct seen_match *m = of;
	int64_t apart_ns = r->time_ns - m->of->time_ns;

	apart_ns = apart_ns < 0 ? -apart_ns : apart_ns;
	if (m->s->labels.labels[r->label].kind != RECORD_WAIT ||
	    (m->wait != NULL && m->apart_ns <= apart_ns))
		return;
	m->wait = r;
	m->apart_ns = apart_ns;
}

static void
match_run(void *of, const struct record *r)
{
	struct seen_match *m = of;

	if (m->s->labels.labels[r->label].kind != RECORD_SAMPLE)
		return;
	m->failed |= !put_seen(m, r, r->time_ns);
	m->seen_ns += (int64_t)r->values[0].u;
}

/* A wait as hone-below saw it, or as the kernel events say; a run as its samples, and what is left of it. */
static bool
put_below(struct source_requests *s, const struct trace *t, const struct event *ev)
{
	struct seen_match m = { .s = s, .t = t, .of = ev };
	struct event rest = *ev;
	struct value left = { .type = VALUE_UINT };

	if (labels_get(s->stage.labels, ev->label)->kind == RECORD_WAIT) {
		seen_below_find(&s->seen, ev->tid, ev->time_ns - SAME_NS, ev->time_ns + SAME_NS,
		    match_wait, &m);
		return m.wait != NULL ? put_seen(&m, m.wait, ev->time_ns)
		                      : put(s, t, ev, MAPPED_PROBED);
	}
	seen_below_find(&s->seen, ev->tid, ev->time_ns - (int64_t)ev->values[0].u + 1, ev->time_ns,
	    match_run, &m);
	if (m.failed || m.seen_ns >= (int64_t)ev->values[0].u)
		return !m.failed;
	left.u = ev->values[0].u - (uint64_t)m.seen_ns;
	rest.values = &left;
	return put(s, t, &rest, MAPPED_PROBED);
}

/* What the thread did before it began the unit, as source_before.h has it. */
static void
match_before(void *of, const struct record *r)
{
	struct seen_match *m = of;
	const struct batch_label *l = &m->s->labels.labels[r->label];
	struct value values[RECORD_VALUES_MAX];
	struct record own = *r;

	if (r->nvalues == 0 || strcmp(l->fields[l->nfields - 1], "before_ns") != 0)
		return;
	memcpy(values, r->values, r->nvalues * sizeof *values);
	values[r->nvalues - 1] = (struct value){ .type = VALUE_UINT,
		.u = (uint64_t)(m->of->time_ns - r->time_ns) };
	own.values = values;
	m->failed |= !put_seen(m, &own, m->of->time_ns);
}

static bool
put_before(struct source_requests *s, const struct trace *t, const struct event *ev)
{
	struct seen_match m = { .s = s, .t = t, .of = ev };
	const struct label *l = labels_get(s->stage.labels, ev->label);

	if (l->kind == RECORD_UNIT_BEGIN && is_looked_below(s, l))
		seen_below_find(
		    &s->seen, ev->tid, ev->time_ns - BEFORE_NS, ev->time_ns, match_before, &m);
	return !m.failed;
}

static bool
put_trace(struct source_requests *s, const struct trace *t, enum mapped_choice chosen)
{
	for (uint32_t i = 0; i < t->nevents; i++)
		if (!put(s, t, &t->events[i], chosen) ||
		    (chosen == MAPPED_PROBED && !put_before(s, t, &t->events[i])))
			return false;
	for (uint32_t i = 0; i < t->nbelow && chosen == MAPPED_PROBED; i++)
		if (is_looked_below(s, labels_get(s->stage.labels, t->below[i].label)) &&
		    !put_below(s, t, &t->below[i]))
			return false;
	return true;
}

/* The stage calls a service so whose name it does not know: it began and ended just when it was followed. */
static bool
is_unnamed(const struct label *l)
{
	return strncmp(l->text, "pid-", 4) == 0 &&
	       strspn(l->text + 4, "0123456789") + 4 == l->service_len;
}

/* The type as the controller knows it: cut, or `other`. *ret is terminated. False: it has no label. */
static bool
type_of(struct source_requests *s, const struct trace *t, char ret[LABEL_TEXT_MAX + 1])
{
	uint32_t label = t->type != LABEL_NONE && !is_unnamed(labels_get(s->stage.labels, t->type))
	                     ? label_of(s, t->type)
	                     : NONE;
	const struct batch_label *l;
	const char *name;
	uint32_t len;

	if (label == NONE)
		return false;
	l = &s->labels.labels[label];
	if ((name = memchr(l->text, '(', l->len)) == NULL || l->len > LABEL_TEXT_MAX)
		return false;
	len = l->len - (uint32_t)(name + 1 - l->text) - 1; /* without the brackets */
	memcpy(ret, name + 1, len);
	ret[len] = '\0';
	return true;
}

static int
take_trace(void *of, struct trace *t, struct err *e)
{
	struct source_requests *s = of;
	char type[LABEL_TEXT_MAX + 1];
	enum mapped_choice chosen = MAPPED_PROBED;
	uint32_t before = s->ready[s->turn].count;
	(void)e;

	if (!type_of(s, t, type) || s->arena[s->turn].total_bytes > READY_BYTES_MAX) {
		s->counts.unlabelled++;
	} else if (s->o.choose != NULL && (chosen = s->o.choose(s->o.of, type)) == MAPPED_NOT) {
		s->counts.skipped++;
	} else if (put_trace(s, t, chosen)) {
		s->counts.sampled++;
	} else {
		s->ready[s->turn].count = before;
		s->counts.unlabelled++;
	}
	trace_free(t);
	return 0;
}

void
source_requests_seen(struct source_requests *s, const struct record *r, const struct batch_label *l)
{
	const char *slash = memchr(l->text, '/', l->len);
	char service[SERVICE_BYTES];
	struct record own = *r;

	/* The other half of the labels is for requests. */
	if (s->reader == NULL || slash == NULL || slash - l->text >= SERVICE_BYTES ||
	    s->labels.count >= LABELS_MAX / 2)
		return;
	memcpy(service, l->text, (size_t)(slash - l->text));
	service[slash - l->text] = '\0';
	own.label = source_labels_get(
	    &s->labels, (enum record_kind)l->kind, service, slash + 1, l->fields, l->nfields);
	if (own.label != UINT32_MAX && own.nvalues == l->nfields && own.nvalues > 0)
		seen_below_add(&s->seen, &own);
}

/* ---- the stream ---- */

static void
stage_count(struct source_requests *s)
{
	struct stage *g = &s->stage;
	struct requests_counts now;
	uint64_t *sum = (uint64_t *)(void *)&s->counts.stage, *c = (uint64_t *)(void *)&now,
		 *before = (uint64_t *)(void *)&g->counted;

	if (g->requests == NULL)
		return;
	requests_counts(g->requests, &now);
	for (size_t i = 0; i < sizeof now / sizeof *c; i++)
		sum[i] += c[i] - before[i];
	g->counted = now;
}

_Static_assert(sizeof(struct requests_counts) % sizeof(uint64_t) == 0, "counts are all uint64_t");

static void
stage_end(struct source_requests *s)
{
	struct stage *g = &s->stage;
	struct requests_counts c;
	struct err e;

	if (g->requests != NULL) {
		requests_counts(g->requests, &c);
		s->counts.cut_off -= c.no_response;
		requests_end(g->requests, &e);
		requests_counts(g->requests, &c);
		s->counts.cut_off += c.no_response;
		stage_count(s);
	}
	requests_free(g->requests);
	labels_free(g->labels);
	free(g->label_at);
	*g = (struct stage){ 0 };
}

static int
stage_begin(struct source_requests *s, struct err *e)
{
	s->streams++;
	if ((s->stage.labels = labels_new()) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for labels");
	return requests_new(&s->stage.requests, &s->stage_options, &s->names, s->stage.labels, e);
}

static int
names_forgets(void *of, struct err *e)
{
	(void)e;
	stage_end(of);
	return 0;
}

static int
names_forgot(void *of, struct err *e)
{
	return stage_begin(of, e);
}

static int
take_event(void *of, const struct kernel_event *ev, struct err *e)
{
	struct source_requests *s = of;

	s->counts.events++;
	/* A count of 0 is what came before of a process that is followed from now on. */
	if (ev->kind == KERNEL_LOST && ev->lost.count > 0) {
		s->counts.losses++;
		s->counts.lost += ev->lost.count;
		s->losses.total[LOSS_RING] += ev->lost.count;
	}
	return requests_event(s->stage.requests, ev, e);
}

static int
take_news(void *of, const struct kernel_news *n, struct err *e)
{
	struct source_requests *s = of;
	struct err what;
	(void)e;

	if (n->text[0] != '\0') {
		err_set(&what, n->code != 0 ? (enum err_code)n->code : ERR_MISSING, "%s", n->text);
		trouble_set(&s->losses, &what);
	}
	return 0;
}

static void
go_idle(struct source_requests *s)
{
	stage_end(s);
	kernel_reader_free(s->reader);
	s->reader = NULL;
	kernel_names_release(&s->names);
	s->names = (struct kernel_names){ 0 };
	seen_below_release(&s->seen);
	s->mark_ns = INT64_MIN;
}

int
source_requests_begin(struct source_requests *s, struct mono now, struct err *e)
{
	const struct kernel_reader_options o = { .names = &s->names,
		.forget = true,
		.take = take_event,
		.news = take_news,
		.forgets = names_forgets,
		.forgot = names_forgot,
		.of = s };
	int rc;

	source_requests_end(s, true);
	if ((rc = kernel_names_new(&s->names, e)) == 0 && (rc = stage_begin(s, e)) == 0 &&
	    (s->reader = kernel_reader_new(&o)) == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory for kernel events");
	if (rc != 0)
		go_idle(s);
	else
		s->mark_ns = now.ns;
	return rc;
}

int
source_requests_feed(struct source_requests *s, const void *data, size_t len, struct err *e)
{
	struct err why;
	int rc;

	if (s->reader == NULL)
		return 0; /* of a stream that was given up */
	rc = kernel_reader_feed(s->reader, data, len, &why);
	if (rc == 0 && labels_count(s->stage.labels) > STAGE_LABELS_MAX) {
		stage_end(s);
		rc = stage_begin(s, &why);
	}
	if (rc == 0)
		return 0;
	trouble_set(&s->losses, &why);
	source_requests_end(s, false);
	return err_set(e, rc, "%s", why.text);
}

void
source_requests_mark(struct source_requests *s, int64_t mark_ns)
{
	if (s->reader != NULL && mark_ns > s->mark_ns)
		s->mark_ns = mark_ns;
}

void
source_requests_end(struct source_requests *s, bool asked)
{
	if (s->reader == NULL)
		return;
	if (!asked) {
		s->counts.losses++;
		s->losses.total[LOSS_RING]++;
	}
	go_idle(s);
}

/* ---- the source ---- */

/* A stage hands out by the times of its events; without one it does not know that time has passed. */
static void
pass_time(struct source_requests *s)
{
	struct err e;

	if (s->reader != NULL && s->stage.requests != NULL &&
	    requests_pass(s->stage.requests, s->mark_ns, &e) != 0) {
		trouble_set(&s->losses, &e);
		source_requests_end(s, false);
	}
}

static int
requests_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct source_requests *s = state;
	struct record_list *ready = &s->ready[s->turn];
	int64_t to_ns;
	(void)e;

	losses_begin(&s->losses);
	pass_time(s);
	to_ns = s->reader != NULL ? s->mark_ns - REQUESTS_HOLD_NS : now.ns;
	if (to_ns > s->watermark_ns)
		s->watermark_ns = to_ns;
	if (!record_list_sort(ready, &s->scratch)) {
		losses_add(&s->losses, LOSS_QUEUE, ready->count, s->watermark_ns, s->watermark_ns);
		ready->count = 0;
	}
	s->records += ready->count;
	*ret = (struct source_output){ .records = ready->list,
		.nrecords = ready->count,
		.losses = s->losses.list,
		.nlosses = s->losses.count,
		.watermark_ns = s->watermark_ns };
	s->turn = !s->turn;
	s->ready[s->turn].count = 0;
	arena_release(&s->arena[s->turn]);
	stage_count(s);
	return 0;
}

static void
requests_stats(void *state, struct source_stats *ret)
{
	const struct source_requests *s = state;

	*ret = (struct source_stats){ .records = s->records,
		.files_bytes = (int64_t)s->arena[s->turn].total_bytes,
		.mapped = s->counts.events * REQUESTS_EVENT_RECORDS,
		.dropped = s->counts.events * REQUESTS_EVENT_RECORDS,
		.processes = s->programs,
		.nprocesses = s->nprograms,
		.changes = s->changes,
		.trouble = s->losses.trouble.text };
	memcpy(ret->lost, s->losses.total, sizeof ret->lost);
}

static const struct batch_label *
requests_labels(void *state, uint32_t *count)
{
	const struct source_requests *s = state;

	*count = s->labels.count;
	return s->labels.labels;
}

static void
requests_close(void *state)
{
	struct source_requests *s = state;

	go_idle(s);
	source_labels_release(&s->labels);
	record_list_release(&s->ready[0]);
	record_list_release(&s->ready[1]);
	record_list_release(&s->scratch);
	arena_release(&s->arena[0]);
	arena_release(&s->arena[1]);
	losses_release(&s->losses);
	free(s->programs);
	free(s->program_names);
	free(s);
}

int
source_requests_open(struct source *ret, struct source_requests **handle,
    const struct source_requests_options *o, struct err *e)
{
	struct source_requests *s = calloc(1, sizeof *s);

	if (s == NULL || source_labels_init(&s->labels, LABELS_MAX) != 0) {
		if (s != NULL)
			source_labels_release(&s->labels);
		free(s);
		return err_set(e, ERR_MEMORY, "out of memory for requests from kernel events");
	}
	s->o = *o;
	s->stage_options = requests_defaults();
	s->stage_options.rule = o->rule;
	s->stage_options.gateways = o->gateways;
	s->stage_options.hold_ns = REQUESTS_HOLD_NS;
	s->stage_options.runs = true;
	s->stage_options.traces_max = 8192;
	s->stage_options.records_max = 1 << 17;
	s->stage_options.threads_max = 8192;
	s->stage_options.connections_max = 16384;
	s->stage_options.take = take_trace;
	s->stage_options.ctx = s;
	s->mark_ns = s->watermark_ns = INT64_MIN;
	*ret = (struct source){ s, requests_poll, requests_stats, requests_labels, requests_close };
	*handle = s;
	return 0;
}

bool
source_requests_programs(struct source_requests *s, const struct source_process *list, uint32_t n)
{
	struct source_process *programs = calloc((size_t)n + 1, sizeof *programs);
	char(*names)[SERVICE_BYTES] = calloc((size_t)n + 1, sizeof *names);

	if (programs == NULL || names == NULL) {
		free(programs);
		free(names);
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		strncpy(names[i], list[i].service, SERVICE_BYTES - 1);
		programs[i] = list[i];
		programs[i].service = names[i];
	}
	free(s->programs);
	free(s->program_names);
	s->programs = programs;
	s->program_names = names;
	s->nprograms = n;
	s->changes++;
	return true;
}

void
source_requests_count(const struct source_requests *s, struct source_requests_counts *ret)
{
	*ret = s->counts;
}
