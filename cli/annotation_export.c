/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The annotation as spans, for back ends: below each annotated span one named "kernel", with the summary, and below that one for each listed
 * system call. Attributes have OpenTelemetry's names where it has any (semantic conventions: thread.*, error.type, code.stacktrace,
 * network.peer.*), the others begin with "hone.".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cli/annotation.h"
#include "formats/span_writer.h"

enum { ATTRIBUTES_MAX = 60 }; /* readers take 64 */

struct export
{
	const struct annotation *a;
	struct span_writer *w;
	struct arena arena; /* of texts of the span at hand */
	struct attribute attributes[ATTRIBUTES_MAX];
	uint32_t nattributes;
	bool no_memory;
	uint64_t written;
};

/* ---- attributes ---- */

static void
add(struct export *x, const char *key, struct value v)
{
	const char *own = arena_text(&x->arena, key, strlen(key));

	if (own == NULL)
		x->no_memory = true;
	else if (x->nattributes < ATTRIBUTES_MAX)
		x->attributes[x->nattributes++] = (struct attribute){ own, (uint32_t)strlen(own),
			v };
}

static void
add_int(struct export *x, const char *key, int64_t i)
{
	add(x, key, (struct value){ .type = VALUE_INT, .i = i });
}

static void
add_ms(struct export *x, const char *key, int64_t ns)
{
	add(x, key, (struct value){ .type = VALUE_REAL, .d = (double)ns / 1e6 });
}

static void
add_text(struct export *x, const char *key, const char *text)
{
	const char *own = arena_text(&x->arena, text, strlen(text));

	if (own == NULL)
		x->no_memory = true;
	else if (text[0] != '\0')
		add(x, key,
		    (struct value){
			.type = VALUE_TEXT, .len = (uint32_t)strlen(own), .text = own });
}

static void
add_states(struct export *x, const int64_t ns[SPAN_STATES])
{
	char key[64];

	for (unsigned i = 0; i < SPAN_STATES; i++) {
		snprintf(key, sizeof key, "hone.state.%s_ms", span_state_word(i));
		if (ns[i] > 0)
			add_ms(x, key, ns[i]);
	}
}

static void
add_thread(struct export *x, const char *prefix, uint32_t host, uint32_t tid, int64_t at_ns)
{
	char key[64];

	snprintf(key, sizeof key, "%sthread.id", prefix);
	add_int(x, key, tid);
	snprintf(key, sizeof key, "%sthread.name", prefix);
	add_text(x, key, annotation_thread(x->a, host, tid, at_ns));
}

/* ---- spans ---- */

static int
put(struct export *x, struct span *s, struct err *e)
{
	int rc;

	s->attributes = x->attributes;
	s->nattributes = x->nattributes;
	rc = x->no_memory ? err_set(e, ERR_MEMORY, "out of memory") : span_writer_put(x->w, s, e);
	x->nattributes = 0;
	arena_reset(&x->arena);
	x->written++;
	return rc;
}

/* Of the nth span that is added below this one: the same whenever it is made. Never 0. */
static uint64_t
derived_id(uint64_t id, uint64_t nth)
{
	uint64_t ret = hash_u64(id ^ hash_u64(nth + UINT64_C(0x686f6e65)));

	return ret != 0 ? ret : 1;
}

static struct span
below(const struct span *s, uint64_t parent, uint64_t nth, const char *name)
{
	return (struct span){ .trace = s->trace,
		.id = derived_id(s->id, nth),
		.parent = parent,
		.has_parent = true,
		.kind = SPAN_KIND_INTERNAL,
		.service = s->service,
		.node = s->node,
		.name = { name, (uint32_t)strlen(name) } };
}

static int
put_call(struct export *x, uint32_t number, uint64_t kernel, uint32_t nth,
    const struct span_call *c, struct err *e)
{
	const struct annotation *a = x->a;
	struct span_call_detail d = annotate_detail(a->annotate, c);
	struct span s = below(
	    &a->spans.list[number].span, kernel, nth + 1, annotation_call(a, c->number, c->name));
	char text[KERNEL_END_TEXT_MAX];
	int64_t argument;

	s.begin_ns = annotation_wall_ns(a, number, c->begin_ns);
	s.end_ns = annotation_wall_ns(a, number, c->end_ns);
	add_thread(x, "", c->host, c->tid, c->begin_ns);
	add_int(x, "hone.syscall.number", c->number);
	if (annotation_argument(a, c, &argument))
		add_int(x, "hone.syscall.argument", argument);
	if (c->flags & SPAN_CALL_END)
		add_int(x, "hone.syscall.result", c->result);
	add_text(x, "error.type", c->flags & SPAN_CALL_END ? annotation_error(c->result) : "");
	if (!(c->flags & SPAN_CALL_END))
		add_text(x, "hone.syscall.seen",
		    c->flags & SPAN_CALL_BLOCKED ? "blocked" : "unfinished");
	add_states(x, d.state_ns);
	if (d.wait_ns > 0)
		add_text(x, "hone.wait.state", below_state_word(d.wait_state));
	if (d.waker != KERNEL_THREAD_NONE) {
		const struct kernel_thread *t = kernel_graph_thread(a->graph, d.waker);

		add_int(x, "hone.waker.thread.id", t->tid);
		add_text(x, "hone.waker.thread.name", texts_get(a->names.texts, t->name));
	}
	if (d.owner != 0)
		add_thread(x, "hone.lock.owner.", c->host, d.owner, c->begin_ns);
	if (c->connection != 0) {
		struct kernel_connection is = kernel_connection(&a->names, c->connection - 1);

		kernel_end_text(&is.there, text);
		*strrchr(text, ':') = '\0';
		add_text(x, "network.peer.address", text);
		add_int(x, "network.peer.port", is.there.port);
	}
	if (c->bytes > 0)
		add_int(x, "hone.message.bytes", c->bytes);
	if (c->stack != 0)
		add_text(x, "code.stacktrace", texts_get(a->names.texts, c->stack));
	return put(x, &s, e);
}

static void
add_sums(struct export *x, const struct span_result *r)
{
	char key[128], text[128];

	for (uint32_t i = 0; i < r->nsums; i++) {
		const struct span_sum *s = &annotate_sums(x->a->annotate)[r->first_sum + i];
		const char *name = s->kind == SPAN_SUM_CALL
		                       ? annotation_call(x->a, s->number, s->name)
		                       : texts_get(x->a->names.texts, s->name);

		if (s->kind == SPAN_SUM_CALL) {
			snprintf(key, sizeof key, "hone.calls.%.100s", name);
			snprintf(text, sizeof text, "%llu in %.3f ms", (unsigned long long)s->count,
			    (double)s->total_ns / 1e6);
			add_text(x, key, text);
		} else if (s->kind == SPAN_SUM_COUNTED) {
			snprintf(key, sizeof key, "hone.count.%.100s", name);
			add_int(x, key, (int64_t)s->count);
		}
	}
}

/* The span "kernel": of the time from the first to the last listed call; without any, of the whole span. */
static int
put_kernel(struct export *x, uint32_t number, struct err *e)
{
	const struct annotation *a = x->a;
	const struct source_span *is = &a->spans.list[number];
	const struct span_result *r = annotate_result(a->annotate, number);
	const struct span_call *calls = annotate_calls(a->annotate) + r->first_call;
	struct span s = below(&is->span, is->span.id, 0, "kernel");
	int rc;

	s.begin_ns = is->span.begin_ns;
	s.end_ns = is->span.end_ns;
	if (r->ncalls > 0) {
		s.begin_ns = s.end_ns = annotation_wall_ns(a, number, calls[0].begin_ns);
		for (uint32_t i = 0; i < r->ncalls; i++)
			if (annotation_wall_ns(a, number, calls[i].end_ns) > s.end_ns)
				s.end_ns = annotation_wall_ns(a, number, calls[i].end_ns);
	}
	if (is->has_tid)
		add_thread(x, "", a->hosts[is->node], is->tid,
		    is->span.begin_ns - annotation_wall_ns(a, number, 0) + 1);
	add_states(x, r->state_ns);
	add_ms(x, "hone.active_ms", r->active_ns);
	if (r->shared_ns > 0)
		add_ms(x, "hone.shared_ms", r->shared_ns);
	if (r->begun[SPAN_PREEMPTED] > 0)
		add_int(x, "hone.preemptions", r->begun[SPAN_PREEMPTED]);
	if (r->begun[BELOW_DISK] > 0)
		add_int(x, "hone.disk.waits", r->begun[BELOW_DISK]);
	if (r->migrations > 0)
		add_int(x, "hone.migrations", r->migrations);
	if (r->calls_left_out > 0)
		add_int(x, "hone.calls_left_out", r->calls_left_out);
	add_sums(x, r);
	rc = put(x, &s, e);
	for (uint32_t i = 0; i < r->ncalls && rc == 0; i++)
		rc = put_call(x, number, s.id, i, &calls[i], e);
	return rc;
}

struct in_trace {
	const struct span *span;
	uint32_t number;
};

static int
by_trace(const void *x, const void *y)
{
	const struct in_trace *one = x, *other = y;
	const struct span *a = one->span, *b = other->span;

	if (a->trace.high != b->trace.high)
		return a->trace.high < b->trace.high ? -1 : 1;
	if (a->trace.low != b->trace.low)
		return a->trace.low < b->trace.low ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (one->number > other->number) - (one->number < other->number);
}

static int
put_trace(struct export *x, const struct in_trace *spans, uint32_t n, struct err *e)
{
	bool any = false;
	int rc = 0;

	for (uint32_t i = 0; i < n; i++)
		any |= annotation_is_chosen(x->a, spans[i].number);
	for (uint32_t i = 0; i < n && any && rc == 0; i++) {
		rc = span_writer_put(x->w, spans[i].span, e);
		x->written++;
		if (rc == 0 && annotation_is_chosen(x->a, spans[i].number) &&
		    x->a->spans.list[spans[i].number].standing == SPAN_STANDS)
			rc = put_kernel(x, spans[i].number, e);
	}
	return rc;
}

static int
put_all(struct export *x, struct err *e)
{
	const struct span_source *s = &x->a->spans;
	struct in_trace *order = calloc((size_t)s->nlist + 1, sizeof *order);
	int rc = 0;

	if (order == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < s->nlist; i++)
		order[i] = (struct in_trace){ &s->list[i].span, i };
	qsort(order, s->nlist, sizeof *order, by_trace);
	for (uint32_t from = 0, to; from < s->nlist && rc == 0; from = to) {
		for (to = from + 1; to < s->nlist &&
				    order[to].span->trace.low == order[from].span->trace.low &&
				    order[to].span->trace.high == order[from].span->trace.high;)
			to++;
		rc = put_trace(x, &order[from], to - from, e);
	}
	free(order);
	return rc;
}

int
annotation_export(const struct annotation *a, const char *format, const char *path,
    uint64_t *written, struct err *e)
{
	struct export x = { .a = a };
	bool is_stdout = strcmp(path, "-") == 0;
	FILE *f = is_stdout ? stdout : fopen(path, "w");
	struct err closing;
	int rc, closed;

	if (f == NULL)
		return err_errno(e, "%s", path);
	if ((rc = span_writer_open(&x.w, format, f, e)) == 0) {
		rc = put_all(&x, e);
		closed = span_writer_close(x.w, &closing);
		if (rc == 0 && closed != 0) {
			*e = closing;
			rc = closed;
		}
	}
	arena_release(&x.arena);
	if (!is_stdout && fclose(f) != 0 && rc == 0)
		rc = err_errno(e, "%s", path);
	if (rc == ERR_SYSTEM)
		err_prefix(e, "%s", path);
	*written = x.written;
	return rc;
}
