/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A k-way merge: streams are in a heap by the time of their next record, for which only the
 * record's header has been decoded. The rest is decoded when the record is taken, so records beyond
 * the watermark stay in their packets.
 */
#include "agent/reader/record_merge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/system/process.h"
#include "agent/reader/cpu_stream.h"
#include "agent/reader/lttng_source.h"
#include "base/array.h"

enum { VALUES_CHUNK = 4096 };

static void
packet_bad(struct lttng_source *src, struct cpu_stream *s, const struct err *e)
{
	const struct ctf_index *index = &s->first->index;

	trouble_set(&src->losses, e);
	losses_add(&src->losses, LOSS_DECODE, 1,
	    s->open ? s->cursor.time_ns : (int64_t)index->begin_ns, (int64_t)index->end_ns);
	cpu_stream_drop_first(src, s);
}

/* Puts the cursor on the stream's next record. False: no record is held. */
static bool
ready(struct lttng_source *src, struct cpu_stream *s)
{
	struct err e;

	while (!s->ready && s->first != NULL) {
		if (!s->open) {
			if (ctf_packet_open(&s->cursor, &s->process->trace, s->first->data,
				s->first->len, &e) != 0) {
				packet_bad(src, s, &e);
				continue;
			}
			s->open = true;
		}
		int rc = ctf_packet_next(&s->cursor, &e);
		if (rc < 0)
			packet_bad(src, s, &e);
		else if (rc == 0)
			cpu_stream_drop_first(src, s);
		else
			s->ready = true;
	}
	return s->ready;
}

static void
sift_down(struct cpu_stream **heap, uint32_t n, uint32_t at)
{
	struct cpu_stream *s = heap[at];

	assert(at < n);
	for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && heap[child + 1]->cursor.time_ns < heap[child]->cursor.time_ns)
			child++;
		if (heap[child]->cursor.time_ns >= s->cursor.time_ns)
			break;
		heap[at] = heap[child];
	}
	heap[at] = s;
}

/* Makes a heap of the streams that have a record up to until_ns, and returns their number. */
static uint32_t
make_heap(struct lttng_source *src, int64_t until_ns)
{
	uint32_t n = 0;

	src->busy = 0;
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		struct traced_process *p = src->processes[i];
		for (uint32_t k = 0; p->nidle < p->nstreams && k < p->nstreams; k++) {
			src->busy += p->streams[k]->first != NULL;
			if (p->streams[k]->first != NULL && ready(src, p->streams[k]) &&
			    p->streams[k]->cursor.time_ns <= until_ns)
				src->heap[n++] = p->streams[k];
		}
	}
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(src->heap, n, i);
	return n;
}

static bool
make_room(struct lttng_source *src)
{
	if (!array_reserve(src->records, src->records_cap, src->nrecords + 1))
		return false;
	if (src->values_left < CTF_SLOTS) {
		src->values = arena_alloc(&src->arena, VALUES_CHUNK * sizeof *src->values);
		src->values_left = src->values == NULL ? 0 : VALUES_CHUNK;
	}
	return src->values != NULL;
}

/* The label of a record: of its event class, or, for structure records, of class and name. */
static uint32_t
label_of(struct lttng_source *src, const struct traced_process *p, struct ctf_event *event,
    const struct value *name)
{
	const char *service = p->trace.procname != NULL ? p->trace.procname : "unknown";
	bool named = event->kind != RECORD_POINT;

	if (event->label == UINT32_MAX)
		event->of_address = strncmp(event->name, "lttng_ust_pthread:", 18) == 0 ||
		                    strncmp(event->name, "lttng_ust_cyg_profile", 21) == 0;
	if (event->label == UINT32_MAX && named)
		event->label = source_labels_base(
		    &src->labels, event->kind, service, event->name, event->fields, event->nfields);
	else if (event->label == UINT32_MAX)
		event->label = source_labels_get(
		    &src->labels, event->kind, service, event->name, event->fields, event->nfields);
	if (!named || event->label == UINT32_MAX)
		return event->label;
	return source_labels_named(&src->labels, event->label, event->kind,
	    name->type == VALUE_TEXT ? name->text : "", name->type == VALUE_TEXT ? name->len : 0,
	    event->fields, event->nfields);
}

/* Replaces the address of a lock or function by its name, which is the same in all processes of a
 * program. Not for a process of another pid namespace, whose number means another one here. */
static void
name_address(struct traced_process *p, const struct ctf_event *event, struct value *v)
{
	const char *name;

	if (!event->of_address || event->nfields == 0 || v->type != VALUE_UINT ||
	    p->trace.procname == NULL)
		return;
	if (!p->symbols_asked && process_is((pid_t)p->trace.vpid, p->trace.procname))
		p->symbols = symbols_new(p->trace.vpid);
	p->symbols_asked = true;
	if (p->symbols != NULL && (name = symbols_name(p->symbols, v->u)) != NULL)
		*v = (struct value){
			.type = VALUE_TEXT, .len = (uint32_t)strlen(name), .text = name
		};
}

/* Appends the stream's next record. 0; ERR_INPUT: it is malformed; ERR_MEMORY. */
static int
take(struct lttng_source *src, struct cpu_stream *s, struct err *e)
{
	if (!make_room(src))
		return err_set(e, ERR_MEMORY, "out of memory for records");
	struct record *r = &src->records[src->nrecords];
	r->pid = s->process->trace.vpid;
	int rc = ctf_packet_take(&s->cursor, r, src->values, e);
	if (rc != 0)
		return rc;
	s->process->records++;
	if (r->trace_id == 0 && !src->options.outside && !s->process->outside) {
		src->stats.outside_dropped++;
		return 0;
	}
	r->label = label_of(src, s->process, s->cursor.event, &src->values[CTF_NAME]);
	if (r->label == UINT32_MAX)
		return err_set(e, ERR_MEMORY, "out of memory for labels");
	name_address(s->process, s->cursor.event, src->values);
	r->values = src->values;
	src->values += r->nvalues;
	src->values_left -= r->nvalues;
	src->nlate += r->time_ns <= src->watermark_ns;
	src->nrecords++;
	src->stats.records++;
	return 0;
}

/* Takes records of the heap's first stream, up to the next record of another one or until_ns. */
static int
run_first(struct lttng_source *src, uint32_t n, int64_t until_ns, struct err *e)
{
	struct cpu_stream *s = src->heap[0];
	int rc;

	for (uint32_t child = 1; child <= 2 && child < n; child++)
		if (src->heap[child]->cursor.time_ns < until_ns)
			until_ns = src->heap[child]->cursor.time_ns;
	do {
		s->ready = false;
		rc = take(src, s, e);
		if (rc == ERR_MEMORY) {
			losses_add(
			    &src->losses, LOSS_DECODE, 1, s->cursor.time_ns, s->cursor.time_ns);
			cpu_stream_drop_first(src, s);
			return rc;
		}
		if (rc != 0)
			packet_bad(src, s, e);
	} while (ready(src, s) && s->cursor.time_ns <= until_ns &&
		 src->nrecords < src->options.records_max);
	return 0;
}

int
record_merge(struct lttng_source *src, int64_t until_ns, int64_t *reached_ns, struct err *e)
{
	uint32_t n = make_heap(src, until_ns);
	int rc = 0;

	while (n > 0 && src->nrecords < src->options.records_max && rc == 0) {
		struct cpu_stream *s = src->heap[0];
		rc = run_first(src, n, until_ns, e);
		if (!s->ready || s->cursor.time_ns > until_ns)
			src->heap[0] = src->heap[--n];
		if (n > 0)
			sift_down(src->heap, n, 0);
	}
	*reached_ns = until_ns;
	if (n > 0) {
		src->more = true;
		*reached_ns = src->heap[0]->cursor.time_ns - 1;
	}
	return rc;
}
