/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any events, in any order, of few threads and connections, with small bounds: each request that begins is handed out, or counted; what is
 * handed out has a path where it is complete.
 *
 *	1 byte			rule, gateways, bounds
 *	8 bytes an event	kind, time since the last one, thread and process, then as the kind needs
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/below_time.h"
#include "analysis/critpath.h"
#include "kernel/requests/requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { EVENT_BYTES = 8, CONNECTIONS = 8, TEXTS = 4 };

static struct labels *labels;
static uint64_t taken;

static int
take(void *ctx, struct trace *t, struct err *e)
{
	struct below_records *records;
	struct below_time time;
	struct critpath path;
	struct arena a = { 0 };

	(void)ctx;
	(void)e;
	taken++;
	if (t->incomplete != INCOMPLETE_TOO_LONG &&
	    (t->incomplete == INCOMPLETE_NO_BEGIN || t->incomplete == INCOMPLETE_SEVERAL_BEGINS ||
		t->incomplete == INCOMPLETE_SEVERAL_ENDS || t->incomplete == INCOMPLETE_END_FIRST))
		abort();
	for (uint32_t i = 0; i < t->nevents; i++)
		if (t->events[i].nvalues != 0 &&
		    t->events[i].nvalues != labels_get(labels, t->events[i].label)->nfields)
			abort();
	if (trace_has_times(t) && critpath_extract(&path, t, labels, NULL, &a, NULL) == 0 &&
	    (path.nsteps < 2 || path.steps[path.nsteps - 1].time_ns < path.steps[0].time_ns))
		abort();
	if (below_records_of(&records, t, labels, &a, NULL) != 0)
		abort();
	for (uint32_t u = 0; u < t->nunits; u++)
		if (below_time_of(&time, records, u, BELOW_INSIDE, t->begin_ns,
			t->end_ns > t->begin_ns ? t->end_ns : t->begin_ns, &a, NULL) != 0)
			abort();
	arena_release(&a);
	trace_free(t);
	return 0;
}

/* Ports of clients and servers, so that some have a role by their ports, and some do not; the odd ones are the other side of the even ones. */
static uint32_t
connection(struct kernel_names *names, uint8_t n)
{
	static const uint16_t client[] = { 40000, 40001, 500, 40002 },
			      server[] = { 80, 8080, 90, 50000 };
	struct kernel_connection c = { .here = { .port = client[n / 2 % 4] },
		.there = { .port = server[n / 2 % 4] } };

	c.net = n >> 3 & 3;
	c.here.address[0] = n >> 5 & 1; /* else it is the loopback address */
	c.here.address[15] = 1;
	c.there.address[15] = (uint8_t)(2 + (n / 2 & 1));
	return n & 1 ? kernel_connection_intern(
			   names, &(struct kernel_connection){ c.there, c.here, c.net })
	             : kernel_connection_intern(names, &c);
}

static struct kernel_event
decode(struct kernel_names *names, const uint8_t *b, int64_t *now_ns)
{
	struct kernel_event ev = { .kind = (uint8_t)(b[0] % (KERNEL_KINDS + 1)), .cpu = b[2] & 3 };

	*now_ns += b[1] == 255 ? 100000000 : b[1] == 254 ? -50 : b[1];
	ev.time_ns = *now_ns;
	ev.tid = b[2] >> 2 & 7;
	ev.pid = (ev.tid != 0) * (uint32_t)(1 + (b[2] >> 5));
	switch (ev.kind) {
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		ev.message.connection = b[3] == 255 ? 1000 : connection(names, b[3]);
		ev.message.bytes = b[4];
		ev.message.text = b[5] % (TEXTS + 1);
		break;
	case KERNEL_SWITCH:
		ev.flags = b[3];
		ev.change.next_tid = b[4] & 7;
		ev.change.next_pid = b[5] & 7;
		ev.change.syscall = b[6] == 255 ? SYSCALL_UNKNOWN : b[6];
		break;
	case KERNEL_WAKING:
		ev.waking.tid = b[3] & 7;
		ev.waking.pid = b[4] & 7;
		ev.waking.by = b[5] % (WAKE_INTERRUPT + 1);
		break;
	case KERNEL_FORK:
		ev.child.tid = b[3] & 7;
		ev.child.pid = b[4] & 7;
		break;
	case KERNEL_NAME:
		ev.thread.name = b[3] % (TEXTS + 2);
		break;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		ev.context.kind = b[3];
		ev.context.vector = b[4];
		break;
	case KERNEL_COUNTED:
		ev.counted.name = b[3] % (TEXTS + 2);
		ev.counted.value = b[4] == 255 ? UINT32_MAX : b[4];
		break;
	case KERNEL_LOST:
		ev.lost.from_ns = ev.time_ns - b[3];
		break;
	}
	return ev;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const texts[TEXTS] = { "GET /a/1 HTTP/1.1", "HTTP/1.1 200 OK", "x",
		"front" };
	struct requests_options o = requests_defaults();
	struct gateways *g = gateways_new();
	struct requests_counts n;
	struct kernel_names names;
	struct requests *r;
	int64_t now_ns = 1000;

	if (len == 0) {
		gateways_free(g);
		return 0;
	}
	labels = labels_new();
	if (g == NULL || labels == NULL || kernel_names_new(&names, NULL) != 0)
		abort();
	for (int i = 0; i < TEXTS; i++)
		texts_intern(names.texts, texts[i], strlen(texts[i]));
	taken = 0;
	o.rule = data[0] & 1 ? RULE_ALL : RULE_CURRENT;
	o.gateways = data[0] & 2 ? g : NULL;
	if (data[0] & 2 && gateways_add(g, "::1,::2/127", NULL) != 0)
		abort();
	if (data[0] & 4)
		o.traces_max = o.records_max = o.threads_max = o.connections_max = 16;
	o.records_each = data[0] & 8 ? 10 : 200;
	o.hold_ns = data[0] & 16 ? 0 : 200;
	o.patience_ns = 2000;
	o.take = take;
	if (requests_new(&r, &o, &names, labels, NULL) != 0)
		abort();
	for (data++, len--; len >= EVENT_BYTES; data += EVENT_BYTES, len -= EVENT_BYTES) {
		struct kernel_event ev = decode(&names, data, &now_ns);

		if (requests_event(r, &ev, NULL) != 0)
			abort();
	}
	if (requests_end(r, NULL) != 0)
		abort();
	requests_counts(r, &n);
	if (n.traces != taken || n.requests != n.traces + n.no_response + n.given_up)
		abort();
	requests_free(r);
	labels_free(labels);
	kernel_names_release(&names);
	gateways_free(g);
	return 0;
}
