/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Six nodes in one process, with the agent's own connection and outbox (agent/link): requests that are the same in each run but for when
 * they begin, each over three nodes.
 *
 *	kafka_agents STATE TRACES PER_SECOND URLS URLS [FIRST]
 *
 * FIRST: the number of the first request, 0: requests with other numbers are others. The first three nodes have the first list of URLs, the others the second. STATE is a file of one line of JSON, written anew ten times a second:
 * records that were made, batches that are not acknowledged, nodes that are connected, nodes whose last desired state enables tracepoints, how
 * many desired states had some so far. When all requests are made the nodes go on with watermarks. SIGTERM ends it.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/link/link.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "wire/frame.h"
#include "wire/record.h"

enum { NODES = 6, STEPS = 3, LABELS = 6, POINTS = 5, PER_TRACE = 10 };
#define MS INT64_C(1000000)
#define BEHIND_NS (40 * MS)

struct one { /* a record that is to be sent */
	int node;
	struct record r;
};

struct sender {
	struct link *link;
	struct outbox *out;
	struct batch_writer writer;
	uint32_t labels[STEPS][LABELS]; /* of the batch; number + 1 */
	uint64_t epoch;
	bool on;
};

static struct sender nodes[NODES];
static struct one *all;
static size_t nall, at;
static uint64_t wants_on;
static volatile sig_atomic_t stop;

static void
on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* ---- requests ---- */

static const enum record_kind kinds[LABELS] = { RECORD_REQUEST_BEGIN, RECORD_REQUEST_END,
	RECORD_FORK, RECORD_UNIT_BEGIN, RECORD_UNIT_END, RECORD_JOIN };
static const char *const texts[LABELS] = { "hone:request_begin(BUY)", "hone:request_end(BUY)",
	"hone:fork(call)", "hone:unit_begin(call)", "hone:unit_end(call)", "hone:join(call)" };

static void
emit(uint64_t trace, int step, int node, int label, uint64_t link, int64_t ns)
{
	all[nall++] = (struct one){ node, { .trace_id = trace,
					      .unit_id = trace + (uint64_t)step,
					      .link_id = link,
					      .time_ns = ns,
					      .label = (uint32_t)(step * LABELS + label),
					      .pid = 100 + (uint32_t)step,
					      .tid = 100 + (uint32_t)step } };
}

/* Neither the unit's own number, as that of a span of OpenTelemetry is, nor 0. */
static uint64_t
link_id(uint64_t trace, int step)
{
	return (trace + (uint64_t)step) ^ UINT64_C(0x5a5a000000000000);
}

/* Each part takes 1 to 2 ms, and that of the last step up to 9 ms more: it is the reason for the variance. */
static void
make_request(uint64_t i, int64_t begin_ns)
{
	uint64_t trace = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) & ~UINT64_C(3), h = hash_u64(i);
	int64_t t = begin_ns, step_ns[STEPS];
	int node[STEPS];

	for (int s = 0; s < STEPS; s++) {
		step_ns[s] = MS + (int64_t)(h >> (8 * s) & 255) * 4000;
		node[s] = (int)((i + (uint64_t)s * (1 + i % 2)) % NODES);
	}
	step_ns[STEPS - 1] += (int64_t)(h >> 40 & 7) * MS;
	emit(trace, 0, node[0], 0, 0, t);
	for (int s = 1; s < STEPS; s++) {
		emit(trace, s - 1, node[s - 1], 2, link_id(trace, s), t += step_ns[s - 1]);
		emit(trace, s, node[s], 3, link_id(trace, s), t += 100000);
	}
	t += step_ns[STEPS - 1];
	for (int s = STEPS - 1; s > 0; s--) {
		emit(trace, s, node[s], 4, link_id(trace, s), t += 50000);
		emit(trace, s - 1, node[s - 1], 5, link_id(trace, s), t += 100000);
	}
	emit(trace, 0, node[0], 1, 0, t + 20000);
}

static int
by_time(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	if (x->r.time_ns != y->r.time_ns)
		return x->r.time_ns < y->r.time_ns ? -1 : 1;
	return x->r.unit_id < y->r.unit_id ? -1 : x->r.unit_id > y->r.unit_id;
}

/* ---- sending ---- */

static uint32_t
label_for(struct sender *n, uint32_t label)
{
	uint32_t step = label / LABELS, which = label % LABELS;
	char text[64];

	if (n->labels[step][which] == 0) {
		snprintf(text, sizeof text, "shop%u/%s", step, texts[which]);
		n->labels[step][which] = batch_label(&n->writer, kinds[which], text, strlen(text),
					     NULL, 0) +
		                         1;
	}
	return n->labels[step][which] - 1;
}

static void
send_batch(struct sender *n, int64_t mark_ns)
{
	struct parcel p = { .records = n->writer.nrecords, .watermark_ns = mark_ns };

	if (batch_end(&n->writer, mark_ns, &p.bytes, NULL) != 0)
		abort();
	outbox_put(n->out, &p);
	link_kick(n->link);
	batch_begin(&n->writer);
	memset(n->labels, 0, sizeof n->labels);
}

static void
send_until(int64_t mark_ns)
{
	for (; at < nall && all[at].r.time_ns <= mark_ns; at++) {
		struct sender *n = &nodes[all[at].node];
		struct record r = all[at].r;

		r.label = label_for(n, r.label);
		batch_record(&n->writer, &r);
	}
	for (int i = 0; i < NODES; i++)
		send_batch(&nodes[i], mark_ns);
}

static void
send_status(struct sender *n)
{
	struct status s = { .epoch = n->epoch,
		.tracer_ok = true,
		.guard_ok = true,
		.programs = 1,
		.record_ns = 170,
		.rejected_ns = 27 };
	struct buf b = { 0 };

	status_encode(&s, &b);
	link_post(n->link, FRAME_STATUS, &b);
}

static void
send_programs(struct sender *n)
{
	const char *names[POINTS] = { "shop:a", "shop:b", "shop:c", "shop:d", "shop:e" };
	struct program list[STEPS];
	char services[STEPS][16];
	struct programs p = { STEPS, POINTS, list, names, NULL };
	struct buf b = { 0 };

	for (int i = 0; i < STEPS; i++) {
		snprintf(services[i], sizeof services[i], "shop%d", i);
		list[i] = (struct program){ .service = services[i],
			.pid = 100 + (uint32_t)i,
			.first = 0,
			.count = POINTS };
	}
	programs_encode(&p, &b);
	link_post(n->link, FRAME_PROGRAMS, &b);
}

static void
take_want(struct sender *n)
{
	struct link_want *w = link_take_want(n->link);
	uint8_t results[TOGGLES_MAX] = { 0 };
	struct buf b = { 0 };

	if (w == NULL)
		return;
	if (!w->want.renews) {
		struct done d = { w->want.epoch, clock_mono().ns, w->want.ntoggles, results, "" };

		n->epoch = w->want.epoch;
		n->on = w->want.ntoggles > 0;
		wants_on += n->on;
		done_encode(&d, &b);
		link_post(n->link, FRAME_DONE, &b);
	}
	link_want_free(w);
}

static void
write_state(const char *path)
{
	uint32_t connected = 0, unacknowledged = 0, on = 0;
	char tmp[300];
	FILE *f;

	for (int i = 0; i < NODES; i++) {
		struct outbox_stats o;
		struct link_stats l;

		outbox_stats(nodes[i].out, &o);
		link_stats(nodes[i].link, &l);
		connected += l.connected;
		/* A watermark is always on its way: of each node a few batches are the rule. */
		unacknowledged += o.unacknowledged;
		on += nodes[i].on;
	}
	snprintf(tmp, sizeof tmp, "%s.new", path);
	if ((f = fopen(tmp, "w")) == NULL)
		return;
	fprintf(f,
	    "{\"records\": %zu, \"of\": %zu, \"unacknowledged\": %u, \"connected\": %u, \"on\": %u, \"wants_on\": %llu}\n",
	    at, nall, unacknowledged, connected, on, (unsigned long long)wants_on);
	fclose(f);
	rename(tmp, path);
}

static void
start(int i, const char *urls)
{
	struct sender *n = &nodes[i];
	char name[8];
	struct link_options o = { .url = urls,
		.node = name,
		.version = "0",
		.incarnation = hash_u64((uint64_t)clock_wall().ns + (uint64_t)i),
		.window = 64,
		.silence_ms = 60000, /* a decider may be away for some time */
		.retry_ms = 200,
		.refused_ms = 100,
		.wake = -1 };
	struct err e;

	snprintf(name, sizeof name, "n%d", i);
	n->out = outbox_new(64 << 20);
	if (n->out == NULL || link_start(&n->link, &o, n->out, &e) != 0)
		abort();
	batch_begin(&n->writer);
	send_programs(n);
}

int
main(int argc, char **argv)
{
	struct timespec tick = { 0, 20 * MS };
	uint64_t traces, per_s, first;
	int64_t first_ns;

	if (argc != 6 && argc != 7)
		return 2;
	traces = strtoull(argv[2], NULL, 10);
	per_s = strtoull(argv[3], NULL, 10);
	first = argc == 7 ? strtoull(argv[6], NULL, 10) : 0;
	signal(SIGTERM, on_signal);
	log_open("kafka_agents", LOG_WARN);
	all = calloc(traces * PER_TRACE, sizeof *all);
	for (int i = 0; i < NODES; i++)
		start(i, argv[4 + (i >= NODES / 2)]);
	first_ns = clock_mono().ns + 2000 * MS; /* clocks are asked often at first */
	for (uint64_t i = 0; i < traces; i++)
		make_request(first + i, first_ns + (int64_t)(i * 1000000000 / per_s));
	qsort(all, nall, sizeof *all, by_time);
	for (int turn = 0; !stop; turn++) {
		if (turn % 3 == 0)
			send_until(clock_mono().ns - BEHIND_NS);
		for (int i = 0; i < NODES; i++) {
			take_want(&nodes[i]);
			if (turn % 50 == i)
				send_status(&nodes[i]);
		}
		if (turn % 5 == 0)
			write_state(argv[1]);
		nanosleep(&tick, NULL);
	}
	for (int i = 0; i < NODES; i++) {
		link_stop(nodes[i].link);
		outbox_free(nodes[i].out);
		batch_release(&nodes[i].writer);
	}
	free(all);
	return 0;
}
