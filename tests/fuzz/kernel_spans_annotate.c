/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any spans in any places, and any kernel events in any order of kinds and threads: what each span gets adds up to its time, calls belong to
 * chosen spans, and no time of a thread is given away twice.
 *
 *	2 bytes		number of spans, number of places
 *	1 byte a span	parent, chosen
 *	4 bytes a place	span, thread, begin, length
 *	6 bytes an event	kind, time since the one before, thread, another one, flags, a number
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/spans/annotate.h"
#include "kernel/spans/unit_watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { SPANS_MAX = 96, PLACES_MAX = 128, THREADS = 4, EVENT_BYTES = 6, PLACE_BYTES = 4 };

static const int32_t numbers[] = { 0, 1, 35, 74, 202, 232, SYSCALL_UNKNOWN, SYSCALL_NONE };

static struct kernel_event
event_of(const uint8_t *b, int64_t time_ns, uint32_t name)
{
	struct kernel_event ev = { .time_ns = time_ns,
		.kind = b[0] % (KERNEL_KINDS + 1),
		.tid = 100 + b[2] % THREADS,
		.cpu = b[2] >> 6,
		.flags = b[4] & 31 };
	uint32_t other = b[3] % (THREADS + 1) == THREADS ? 0 : 100 + b[3] % (THREADS + 1);

	switch (ev.kind) {
	case KERNEL_SWITCH:
		if (b[3] & 128)
			ev.tid = 0;
		ev.change.next_tid = other;
		ev.change.syscall = numbers[b[5] % 8];
		ev.change.owner = b[5] & 64 ? 100 : 0;
		break;
	case KERNEL_WAKING:
		ev.waking.tid = other;
		ev.waking.by = b[5] % (WAKE_INTERRUPT + 1);
		ev.waking.is_new = b[5] & 64;
		ev.waking.vector = KERNEL_VECTOR_NONE;
		break;
	case KERNEL_FORK:
		ev.child.tid = other;
		ev.child.pid = other;
		break;
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		ev.flags = 0;
		ev.call.number = numbers[b[5] % 7];
		ev.call.name = ev.call.number < 0 ? name : 0;
		ev.call.value = (int8_t)b[4];
		break;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		ev.context.kind = b[5] % (CONTEXT_RECEPTION + 1);
		ev.context.vector = b[4];
		break;
	case KERNEL_COUNTED:
		ev.counted.name = name;
		ev.counted.value = b[5];
		break;
	case KERNEL_NAME:
		ev.thread.name = name;
		break;
	case KERNEL_STACK:
		ev.stack.folded = name;
		break;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		ev.message.connection = 0;
		ev.message.bytes = b[4];
		break;
	case KERNEL_LOST:
		ev.lost.from_ns = time_ns - b[5];
		ev.lost.count = b[4];
		if (b[3] & 1)
			ev.cpu = KERNEL_CPU_ALL;
		break;
	}
	return ev;
}

static int64_t
sum_of(const int64_t ns[SPAN_STATES])
{
	int64_t ret = 0;

	for (int i = 0; i < SPAN_STATES; i++) {
		if (ns[i] < 0)
			abort();
		ret += ns[i];
	}
	return ret;
}

/* Time of the threads in which some span is active: of the places, which are all below 4096 ns. */
static int64_t
covered(const struct span_place *places, uint32_t n, uint32_t nspans)
{
	int64_t ret = 0;

	for (uint32_t tid = 100; tid < 100 + THREADS; tid++) {
		static uint8_t at[8192];

		memset(at, 0, sizeof at);
		for (uint32_t i = 0; i < n; i++)
			if (places[i].tid == tid && places[i].span < nspans)
				memset(at + places[i].from_ns, 1,
				    (size_t)(places[i].to_ns - places[i].from_ns));
		for (size_t i = 0; i < sizeof at; i++)
			ret += at[i];
	}
	return ret;
}

static void
check(const struct annotate *a, const struct span_node *nodes, uint32_t nspans,
    const struct span_place *places, uint32_t nplaces)
{
	struct annotate_counts n = annotate_counts(a);
	uint64_t listed = 0;
	int64_t owned = 0;

	for (uint32_t i = 0; i < nspans; i++) {
		const struct span_result *r = annotate_result(a, i);

		if (!nodes[i].chosen) {
			if (r->ncalls + r->nsums + r->migrations > 0 || sum_of(r->self_ns) > 0)
				abort();
			continue;
		}
		if (sum_of(r->state_ns) + r->shared_ns != r->active_ns ||
		    sum_of(r->self_ns) > sum_of(r->state_ns) ||
		    r->unseen_ns > r->self_ns[BELOW_UNKNOWN])
			abort();
		owned += sum_of(r->self_ns);
		for (uint32_t k = 0; k < r->ncalls; k++) {
			const struct span_call *c = &annotate_calls(a)[r->first_call + k];

			if (c->span != i || c->end_ns < c->begin_ns ||
			    sum_of(annotate_detail(a, c).state_ns) != c->end_ns - c->begin_ns)
				abort();
		}
		for (uint32_t k = 0; k < r->nsums; k++)
			if (annotate_sums(a)[r->first_sum + k].span != i)
				abort();
			else
				listed += annotate_sums(a)[r->first_sum + k].listed;
	}
	if (owned > covered(places, nplaces, nspans) || listed > n.calls ||
	    n.calls_outside + n.calls_shared > n.calls)
		abort();
}

/* The same places as records of units, whose threads the events say something of: no time before a record, none of another thread. */
static void
check_units(const struct span_place *places, uint32_t nplaces, const uint8_t *data, size_t len)
{
	static struct place_record records[2 * PLACES_MAX];
	static struct span_of_unit spans[PLACES_MAX];
	static const struct unit_id ids[] = { { 1, 0 }, { 2, 1 }, { 3, 2 } };
	struct span_places made = { 0 };
	const struct place_note *notes;
	struct unit_watch *w = NULL;
	int64_t time_ns = 0;
	size_t nnotes;
	struct err e;

	for (uint32_t i = 0; i < nplaces; i++) {
		records[2 * i] = (struct place_record){ places[i].from_ns, 0, places[i].tid,
			places[i].span };
		records[2 * i + 1] = (struct place_record){ places[i].to_ns, 0, places[i].tid,
			places[i].span };
		spans[i] = (struct span_of_unit){ places[i].from_ns - 5, places[i].to_ns + 5,
			places[i].span, i };
	}
	if (unit_watch_new(&w, records, 2 * nplaces, ids, 3, &e) != 0)
		abort();
	for (; len >= EVENT_BYTES; data += EVENT_BYTES, len -= EVENT_BYTES) {
		struct kernel_event ev = event_of(
		    data, time_ns += data[1] == 255 ? -3 : data[1], 0);

		if (data[0] & 128) {
			ev.kind = KERNEL_UNIT;
			ev.unit.id = data[5] % 5;
		}
		if (unit_watch_take(w, &ev, &e) != 0)
			abort();
	}
	notes = unit_watch_notes(w, &nnotes);
	if (span_places_add(
		&made, records, 2 * nplaces, notes, nnotes, spans, nplaces, 1 << 20, &e) != 0)
		abort();
	for (size_t i = 0; i < made.nlist; i++) {
		const struct span_place *p = &made.list[i];

		if (p->from_ns >= p->to_ns || p->span >= nplaces || p->tid < 100 ||
		    p->tid >= 100 + THREADS)
			abort();
	}
	span_places_release(&made);
	unit_watch_free(w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct span_node nodes[SPANS_MAX];
	static struct span_place places[PLACES_MAX];
	uint32_t nspans, nplaces = 0, wanted, name;
	struct kernel_names names;
	struct kernel_graph *g = NULL;
	struct annotate *a = NULL;
	struct annotate_options o = { 0 };
	int64_t time_ns = 0;
	struct err e;

	if (len < 2)
		return 0;
	nspans = data[0] % SPANS_MAX;
	wanted = data[1] % PLACES_MAX;
	o.by_middle = data[0] & 128;
	o.call_over_ns = data[1] & 128 ? 20 : 0;
	o.calls_max = 3;
	data += 2;
	len -= 2;
	if (len < nspans)
		return 0;
	for (uint32_t i = 0; i < nspans; i++)
		nodes[i] = (struct span_node){ data[i] & 1 ? SPAN_NONE : data[i] >> 2,
			data[i] & 2 };
	data += nspans;
	len -= nspans;
	for (; nplaces < wanted && len >= PLACE_BYTES;
	     data += PLACE_BYTES, len -= PLACE_BYTES, nplaces++)
		places[nplaces] = (struct span_place){ data[2] * 16, data[2] * 16 + data[3] * 8,
			data[0] % SPANS_MAX, 0, 100 + data[1] % THREADS };
	check_units(places, nplaces, data, len);
	if (kernel_names_new(&names, &e) != 0 || texts_intern(names.hosts, "h", 1) != 0)
		abort();
	name = texts_intern(names.texts, "name", 4);
	if (kernel_connection_intern(&names, &(struct kernel_connection){ .here.port = 1 }) != 0)
		abort();
	if (kernel_graph_new(&g, &(struct kernel_graph_options){ 0 }, &names, &e) != 0 ||
	    annotate_new(&a, &o, &names, nodes, nspans, places, nplaces, &e) != 0)
		abort();
	for (; len >= EVENT_BYTES; data += EVENT_BYTES, len -= EVENT_BYTES) {
		struct kernel_event ev = event_of(
		    data, time_ns += data[1] == 255 ? -3 : data[1], name);

		if (kernel_graph_take(g, &ev, &e) != 0 || annotate_take(a, &ev, &e) != 0)
			abort();
	}
	if (kernel_graph_end(g, &e) != 0 || annotate_end(a, g, &e) != 0)
		abort();
	check(a, nodes, nspans, places, nplaces);
	annotate_free(a);
	kernel_graph_free(g);
	kernel_names_release(&names);
	return 0;
}
