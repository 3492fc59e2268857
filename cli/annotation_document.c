/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The document of hone annotate. */
#include <stdlib.h>
#include <string.h>

#include "cli/annotation.h"
#include "report/document.h"

static json_t *
cstring_json(const char *s)
{
	return text_json(s, strlen(s));
}

static json_t *
ms_json(int64_t ns)
{
	return json_real((double)ns / 1e6);
}

/* Only the states that took time. */
static json_t *
states_json(const int64_t ns[SPAN_STATES])
{
	json_t *ret = json_object();

	for (unsigned i = 0; i < SPAN_STATES; i++)
		if (ns[i] > 0)
			json_object_set_new(ret, span_state_word(i), ms_json(ns[i]));
	return ret;
}

static json_t *
begun_json(const uint32_t begun[SPAN_STATES])
{
	json_t *ret = json_object();

	for (unsigned i = 0; i < SPAN_STATES; i++)
		if (begun[i] > 0 && i != BELOW_RUNNING)
			json_object_set_new(
			    ret, span_state_word(i), json_integer((json_int_t)begun[i]));
	return ret;
}

static json_t *
thread_json(const struct annotation *a, uint32_t host, uint32_t tid, int64_t at_ns)
{
	return json_pack("{s:I, s:o}", "tid", (json_int_t)tid, "name",
	    cstring_json(annotation_thread(a, host, tid, at_ns)));
}

static json_t *
wait_json(const struct annotation *a, const struct span_call *c, const struct span_call_detail *d)
{
	const struct kernel_thread *waker = d->waker != KERNEL_THREAD_NONE
	                                        ? kernel_graph_thread(a->graph, d->waker)
	                                        : NULL;

	if (d->wait_ns == 0)
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:o}", "state", below_state_word(d->wait_state), "ms",
	    ms_json(d->wait_ns), "waker",
	    waker == NULL ? json_null()
			  : json_pack("{s:I, s:o}", "tid", (json_int_t)waker->tid, "name",
				cstring_json(texts_get(a->names.texts, waker->name))),
	    "owner", d->owner == 0 ? json_null() : thread_json(a, c->host, d->owner, c->begin_ns));
}

static json_t *
peer_json(const struct annotation *a, const struct span_call *c)
{
	char text[KERNEL_END_TEXT_MAX];
	struct kernel_connection is;

	if (c->connection == 0)
		return json_null();
	is = kernel_connection(&a->names, c->connection - 1);
	kernel_end_text(&is.there, text);
	return json_string(text);
}

static json_t *
call_json(const struct annotation *a, uint32_t span, const struct span_call *c)
{
	struct span_call_detail d = annotate_detail(a->annotate, c);
	const char *error = annotation_error(c->result);
	bool ended = c->flags & SPAN_CALL_END;
	int64_t argument;

	return json_pack(
	    "{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:I}", "name",
	    cstring_json(annotation_call(a, c->number, c->name)), "number", (json_int_t)c->number,
	    "at_ms",
	    ms_json(annotation_wall_ns(a, span, c->begin_ns) - a->spans.list[span].span.begin_ns),
	    "ms", ms_json(c->end_ns - c->begin_ns), "argument",
	    annotation_argument(a, c, &argument) ? json_integer(argument) : json_null(), "result",
	    ended ? json_integer(c->result) : json_null(), "error",
	    ended && error[0] != '\0' ? json_string(error) : json_null(), "finished", ended,
	    "only_blocked", (c->flags & SPAN_CALL_BLOCKED) != 0, "thread",
	    thread_json(a, c->host, c->tid, c->begin_ns), "states", states_json(d.state_ns), "wait",
	    wait_json(a, c, &d), "peer", peer_json(a, c), "stack",
	    c->stack != 0 ? cstring_json(texts_get(a->names.texts, c->stack)) : json_null(),
	    "bytes", (json_int_t)c->bytes);
}

static json_t *
sum_json(const struct annotation *a, const struct span_sum *s)
{
	return json_pack("{s:o, s:I, s:I, s:I, s:o, s:o}", "name",
	    cstring_json(annotation_call(a, s->number, s->name)), "count", (json_int_t)s->count,
	    "listed", (json_int_t)s->listed, "failed", (json_int_t)s->failed, "total_ms",
	    ms_json(s->total_ns), "max_ms", ms_json(s->max_ns));
}

static void
put_sums(const struct annotation *a, const struct span_result *r, json_t *to)
{
	json_t *calls = json_array(), *counted = json_object(), *stacks = json_array();

	for (uint32_t i = 0; i < r->nsums; i++) {
		const struct span_sum *s = &annotate_sums(a->annotate)[r->first_sum + i];
		const char *name = texts_get(a->names.texts, s->name);

		if (s->kind == SPAN_SUM_CALL)
			json_array_append_new(calls, sum_json(a, s));
		else if (s->kind == SPAN_SUM_COUNTED)
			json_object_set_new(counted, name,
			    json_integer(
				(json_int_t)s->count)); /* a name that is no UTF-8 is left out */
		else
			json_array_append_new(
			    stacks, json_pack("{s:o, s:I}", "stack", cstring_json(name), "count",
					(json_int_t)s->count));
	}
	json_object_set_new(to, "summary", calls);
	json_object_set_new(to, "counted", counted);
	json_object_set_new(to, "stacks", stacks);
}

static json_t *
id_json(uint64_t id)
{
	return trace_id_json(0, id);
}

static json_t *
span_json(const struct annotation *a, uint32_t number)
{
	const struct source_span *is = &a->spans.list[number];
	const struct span *s = &is->span;
	const struct span_result *r = annotate_result(a->annotate, number);
	int64_t duration_ns = s->end_ns - s->begin_ns;
	json_t *calls = json_array(),
	       *ret = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "trace",
		   trace_id_json(s->trace.high, s->trace.low), "span", id_json(s->id), "parent",
		   s->has_parent ? id_json(s->parent) : json_null(), "service",
		   text_json(s->service.s, s->service.len), "name",
		   text_json(s->name.s, s->name.len), "node", text_json(s->node.s, s->node.len),
		   "begin_ns", (json_int_t)s->begin_ns, "ms", ms_json(duration_ns), "thread",
		   is->has_tid && a->hosts[is->node] != UINT32_MAX
		       ? thread_json(a, a->hosts[is->node], is->tid,
			     s->begin_ns - annotation_wall_ns(a, number, 0) + 1)
		       : json_null(),
		   "not_attributed",
		   is->standing != SPAN_STANDS ? json_string(span_standing_word(is->standing))
					       : json_null());

	if (ret == NULL || is->standing != SPAN_STANDS) {
		json_decref(calls);
		return ret;
	}
	json_object_set_new(ret, "active_ms", ms_json(r->active_ns));
	json_object_set_new(ret, "elsewhere_ms",
	    ms_json(duration_ns > r->active_ns ? duration_ns - r->active_ns : 0));
	json_object_set_new(ret, "shared_ms", ms_json(r->shared_ns));
	json_object_set_new(ret, "unseen_ms", ms_json(r->unseen_ns));
	json_object_set_new(ret, "states", states_json(r->state_ns));
	json_object_set_new(ret, "self", states_json(r->self_ns));
	json_object_set_new(ret, "times", begun_json(r->begun));
	json_object_set_new(ret, "migrations", json_integer((json_int_t)r->migrations));
	for (uint32_t i = 0; i < r->ncalls; i++)
		json_array_append_new(
		    calls, call_json(a, number, &annotate_calls(a->annotate)[r->first_call + i]));
	json_object_set_new(ret, "calls", calls);
	json_object_set_new(ret, "calls_left_out", json_integer((json_int_t)r->calls_left_out));
	put_sums(a, r, ret);
	return ret;
}

static json_t *
recording_json(const struct annotation *a)
{
	struct annotate_counts n = annotate_counts(a->annotate);
	json_t *odd = json_object();

	for (int i = 0; i < KERNEL_ODDITIES; i++)
		if (a->counts.odd[i].count > 0)
			json_object_set_new(odd, kernel_oddity_word((enum kernel_oddity)i),
			    json_integer((json_int_t)a->counts.odd[i].count));
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}",
	    "events", (json_int_t)a->counts.used, "hosts", (json_int_t)a->counts.hosts, "losses",
	    (json_int_t)n.losses, "calls", (json_int_t)n.calls, "calls_outside",
	    (json_int_t)n.calls_outside, "calls_shared", (json_int_t)n.calls_shared,
	    "calls_without_begin", (json_int_t)n.without_begin, "calls_without_end",
	    (json_int_t)n.without_end, "calls_mismatched", (json_int_t)n.mismatched, "calls_lost",
	    (json_int_t)n.lost_calls, "crowded", (json_int_t)n.crowded, "lean", n.lean, "odd", odd);
}

struct by_duration {
	int64_t ns;
	uint32_t span;
};

static int
longest_first(const void *x, const void *y)
{
	const struct by_duration *a = x, *b = y;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return (a->span > b->span) - (a->span < b->span);
}

static json_t *
spans_json(const struct annotation *a)
{
	struct by_duration *order = calloc((size_t)a->spans.nlist + 1, sizeof *order);
	json_t *ret = json_array();
	uint32_t n = 0;

	if (order == NULL) {
		json_decref(ret);
		return NULL;
	}
	for (uint32_t i = 0; i < a->spans.nlist; i++)
		if (annotation_is_chosen(a, i))
			order[n++] = (struct by_duration){
				a->spans.list[i].span.end_ns - a->spans.list[i].span.begin_ns, i
			};
	qsort(order, n, sizeof *order, longest_first);
	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(ret, span_json(a, order[i].span));
	free(order);
	return ret;
}

json_t *
annotation_document(const struct annotation *a)
{
	uint64_t why[SPAN_STANDINGS] = { 0 };
	json_t *not_attributed = json_object();

	for (uint32_t i = 0; i < a->spans.nlist; i++)
		why[a->spans.list[i].standing]++;
	for (int i = 1; i < SPAN_STANDINGS; i++)
		if (why[i] > 0)
			json_object_set_new(not_attributed,
			    span_standing_word((enum span_standing)i),
			    json_integer((json_int_t)why[i]));
	return json_pack("{s:i, s:s, s:b, s:{s:I, s:I, s:I, s:I, s:I, s:o}, s:o, s:o}", "version",
	    1, "clock", a->clock == ANNOTATION_MONOTONIC ? "monotonic" : "wall", "host_assumed",
	    a->assumed, "counts", "spans", (json_int_t)a->spans.nlist, "chosen",
	    (json_int_t)a->nchosen, "annotated", (json_int_t)a->nplaced, "traces",
	    (json_int_t)a->spans.counts.traces, "repeated", (json_int_t)a->spans.repeated,
	    "not_attributed", not_attributed, "recording", recording_json(a), "spans",
	    spans_json(a));
}
