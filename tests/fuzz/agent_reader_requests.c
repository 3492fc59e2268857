/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any kernel events of a few threads on a few connections, in any order of time, with losses and names told anew, and any bytes as a stream: what
 * comes is in order, and no request ends at or before a watermark that was given.
 */
#include "agent/reader/source_requests.h"
#include "kernel/kernel_stream.h"
#include "tests/fuzz/common/fuzz.h"

enum { EVENT_BYTES = 6, THREADS = 8, CONNECTIONS = 8 };

static uint32_t
connection_of(struct kernel_names *names, uint8_t which)
{
	struct kernel_connection c = { { { [10] = 0xff, 0xff, 127, 0, 0, (uint8_t)(which / 2 % 4) },
					   (uint16_t)(80 + which % 3) },
		{ { [10] = 0xff, 0xff, 127, 0, 0, 9 }, (uint16_t)(40000 + which / 2 % 4) },
		which / 8 % 3 };

	if (which >= 128) /* not the loopback address */
		c.here.address[12] = c.there.address[12] = 10;

	return which % 2 == 0 ? kernel_connection_intern(names, &c)
	                      : kernel_connection_intern(
				    names, &(struct kernel_connection){ c.there, c.here, c.net });
}

static void
write_event(struct kernel_writer *w, struct kernel_names *names, const uint8_t *in,
    int64_t *time_ns, struct buf *out)
{
	static const char *const NAMES[] = { "front", "back", "GET /a", "pid-7" };
	struct kernel_event ev = {
		.kind = in[0] % KERNEL_KINDS, .cpu = in[0] >> 6, .tid = 1 + in[1] % THREADS
	};
	const char *name = NAMES[in[2] % 4];

	*time_ns += (int64_t)in[5] * in[5] * 1000 - (in[4] == 255 ? 1000000 : 0);
	ev.time_ns = *time_ns;
	ev.pid = 1 + (ev.tid - 1) / 2 * 2;
	switch (ev.kind) {
	case KERNEL_SWITCH:
		ev.flags = in[2] % 32;
		ev.change.next_tid = in[3] % (THREADS + 1);
		ev.change.next_pid = ev.change.next_tid != 0 ? 1 + (ev.change.next_tid - 1) / 2 * 2
		                                             : 0;
		ev.change.syscall = (int8_t)in[4];
		break;
	case KERNEL_WAKING:
		ev.waking.tid = 1 + in[3] % THREADS;
		ev.waking.pid = 1 + (ev.waking.tid - 1) / 2 * 2;
		ev.waking.by = in[4] % 7;
		break;
	case KERNEL_FORK:
		ev.child.tid = 1 + in[3] % THREADS;
		ev.child.pid = 1 + (ev.child.tid - 1) / 2 * 2;
		break;
	case KERNEL_NAME:
		ev.thread.name = texts_intern(names->texts, name, strlen(name));
		break;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		ev.message.connection = connection_of(names, in[3]);
		ev.message.bytes = in[4] % 8;
		ev.message.text = in[2] % 4 == 0
		                      ? texts_intern(names->texts, NAMES[2], strlen(NAMES[2]))
		                      : 0;
		break;
	case KERNEL_LOST:
		ev.lost.count = in[2];
		ev.lost.from_ns = *time_ns - in[3];
		break;
	default:
		ev.kind = KERNEL_EXIT;
	}
	kernel_writer_event(w, &ev, out);
}

static void
look(struct source *s, int64_t now_ns, int64_t *watermark_ns)
{
	struct source_output o;
	const struct batch_label *labels;
	uint32_t n;

	check(s->poll(s->state, (struct mono){ now_ns }, &o, NULL) == 0);
	labels = s->labels(s->state, &n);
	check(o.watermark_ns >= *watermark_ns);
	for (uint32_t i = 0; i < o.nrecords; i++) {
		const struct record *r = &o.records[i];

		check(r->label < n && r->trace_id != 0 && r->nvalues == labels[r->label].nfields);
		check(i == 0 || r[-1].time_ns <= r->time_ns);
	}
	*watermark_ns = o.watermark_ns;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct source_requests_options options = {
		.rule = len % 2 == 0 ? RULE_CURRENT : RULE_ALL, .seed = 1
	};
	struct kernel_names names;
	struct kernel_writer *w;
	struct source_requests *requests;
	struct source s;
	struct buf out = { 0 };
	int64_t time_ns = INT64_C(1000000000), watermark_ns = INT64_MIN;
	bool whole = true;

	check(kernel_names_new(&names, NULL) == 0);
	check(texts_intern(names.hosts, "alpha", 5) == 0);
	check((w = kernel_writer_new(&names)) != NULL);
	check(source_requests_open(&s, &requests, &options, NULL) == 0);
	check(source_requests_begin(requests, (struct mono){ time_ns }, NULL) == 0);
	for (size_t at = 0; at + EVENT_BYTES <= len && whole; at += EVENT_BYTES) {
		write_event(w, &names, data + at, &time_ns, &out);
		if (data[at] % 32 == 31) {
			kernel_writer_flush(w, &out);
			whole = source_requests_feed(requests, out.data, out.len, NULL) == 0;
			check(whole);
			buf_reset(&out);
			source_requests_mark(requests, time_ns);
			look(&s, time_ns, &watermark_ns);
		}
	}
	kernel_writer_flush(w, &out);
	check(source_requests_feed(requests, out.data, out.len, NULL) == 0);
	source_requests_mark(requests, time_ns + 2 * REQUESTS_HOLD_NS);
	look(&s, time_ns + 2 * REQUESTS_HOLD_NS, &watermark_ns);
	source_requests_feed(requests, data, len, NULL); /* not a stream: refused */
	source_requests_end(requests, false);
	look(&s, time_ns + 3 * REQUESTS_HOLD_NS, &watermark_ns);
	s.close(s.state);
	kernel_writer_free(w);
	kernel_names_release(&names);
	buf_release(&out);
	return 0;
}
