/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* ppoll() */
#include "below/main/helper.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "agent/system/otel_context.h"
#include "agent/system/thread_context.h"
#include "base/clock.h"
#include "below/main/below_watch.h"
#include "below/main/kernel_feed.h"

/* Records are handed on each READ_MS. A full socket is waited for, and then what does not fit is lost. */
enum { SAMPLES_HZ = 999, READ_MS = 50, FULL_MS = 100, COST_MS = 100, HERE_MS = 500 };

struct agent_helper {
	int socket;
	struct below_watch watch;
	char told_missing[BELOW_MISSING_MAX + 1]; /* by the last CAN */
	struct buf packet;
	struct mono lease, told,
	    read;           /* when it ends; when the cost was told; when records were handed on */
	struct mono marked; /* when the last mark was sent, and what it said; 0: there was none */
	int64_t mark_ns;
	uint64_t number;                       /* of the last message */
	struct below_lost lost;                /* messages that the socket did not take */
	struct below_hit hits[BELOW_HITS_MAX]; /* that wait for more, or for another message */
	uint32_t nhits;
	struct kernel_feed *feed; /* NULL: no kernel events are asked for, or none are possible */
	struct mono fed;
	bool ending, ended; /* it was asked to end, and hands on what there is; it ends */
};

/* With the number that follows; it is taken when the message is sent, or lost. False: out of memory. */
static bool
encode(struct agent_helper *s, const struct below_message *m)
{
	struct below_message numbered = *m;

	numbered.number = s->number + 1;
	buf_reset(&s->packet);
	below_encode(&numbered, &s->packet);
	return !s->packet.failed;
}

static bool
put_packet(struct agent_helper *s, const struct below_message *m)
{
	struct pollfd room = { .fd = s->socket, .events = POLLOUT };

	if (!encode(s, m))
		return false;
	for (int tries = 0; tries < 2; tries++) {
		if (send(s->socket, s->packet.data, s->packet.len, MSG_DONTWAIT | MSG_NOSIGNAL) >=
		    0) {
			s->number++;
			return true;
		}
		if (errno != EAGAIN && errno != EINTR) {
			s->ended = true;
			return false;
		}
		poll(&room, 1, FULL_MS);
	}
	return false;
}

/* When what the message says ended. */
static int64_t
time_of(const struct below_message *m)
{
	return m->kind == BELOW_WAIT     ? m->wait.end_ns
	       : m->kind == BELOW_SAMPLE ? m->sample.time_ns
	       : m->kind == BELOW_HITS   ? m->hits.list[m->hits.count - 1].time_ns
	                                 : clock_mono().ns;
}

/* A message with that many records was not sent. */
static void
lose(struct agent_helper *s, uint64_t count, int64_t from_ns, int64_t to_ns)
{
	struct below_lost *lost = &s->lost;

	s->number++;
	lost->messages++;
	lost->from_ns = lost->count == 0 || from_ns < lost->from_ns ? from_ns : lost->from_ns;
	lost->to_ns = to_ns > lost->to_ns ? to_ns : lost->to_ns;
	lost->count += count;
}

static void
put_hits(struct agent_helper *s)
{
	const struct below_message m = { .kind = BELOW_HITS, .hits = { s->nhits, s->hits } };

	if (s->nhits > 0 && !put_packet(s, &m))
		lose(s, s->nhits, s->hits[0].time_ns, s->hits[s->nhits - 1].time_ns);
	s->nhits = 0;
}

/*
 * Sends the last mark again: this process is at work, though not done with all that there is. Where others want the processor, many
 * messages of the agent, or new places in the code, take seconds; without a mark it would be ended as silent.
 */
static void
say_here(struct agent_helper *s)
{
	struct mono now = clock_mono();

	if (s->mark_ns == 0 || mono_since_ns(now, s->marked) < HERE_MS * INT64_C(1000000))
		return;
	s->marked = now;
	put_packet(s, &(struct below_message){ .kind = BELOW_MARK, .mark_ns = s->mark_ns });
}

static void
hand_on(void *of, const struct below_message *m)
{
	struct agent_helper *s = of;
	int64_t at = time_of(m);

	if (s->ended)
		return;
	if (m->kind == BELOW_HITS) {
		for (uint32_t i = 0; i < m->hits.count; i++) {
			s->hits[s->nhits++] = m->hits.list[i];
			if (s->nhits == BELOW_HITS_MAX)
				put_hits(s);
		}
		return;
	}
	put_hits(s);
	if (m->kind == BELOW_MARK && s->lost.count > 0) {
		struct below_message l = { .kind = BELOW_LOST, .lost = s->lost };

		if (!put_packet(s, &l))
			return; /* and no mark: it would say that all has come */
		s->lost = (struct below_lost){ 0 };
	}
	if (!put_packet(s, m)) {
		if (m->kind != BELOW_MARK)
			lose(s, 1, at, at);
	} else if (m->kind == BELOW_MARK) {
		s->marked = clock_mono();
		s->mark_ns = m->mark_ns;
	}
	say_here(s);
}

static int64_t
cpu_us(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000) + u.ru_utime.tv_usec +
	       u.ru_stime.tv_usec;
}

static void
put_cost(struct agent_helper *s, struct mono now)
{
	struct below_message m = { .kind = BELOW_COST };

	if (mono_since_ns(now, s->told) < COST_MS * INT64_C(1000000))
		return;
	s->told = now;
	m.cost_cpu_us = cpu_us(RUSAGE_SELF) + cpu_us(RUSAGE_CHILDREN);
	/* RUSAGE_CHILDREN has only those that have ended */
	m.cost_cpu_us += (int64_t)(watch_reader_cpu_ns(&s->watch) / 1000);
	put_packet(s, &m);
}

/* Finds what the agent may not: where the process publishes its context, whose memory the BPF programs read. False: it
 * publishes nothing, or has ended. */
static bool
find_context(struct below_follow *f)
{
	struct hone_context_place p = { 0 };

	struct otel_context otel;

	if (f->offset != 0 || f->address != 0)
		return true;
	switch (thread_context_find((pid_t)f->pid, &p, &f->address)) {
	case THREAD_CONTEXT_FOUND:
		f->offset = p.offset;
		f->trace_id = p.trace_id;
		f->unit_id = p.unit_id;
		f->request_type = p.request_type;
		f->probed = p.probed;
		return true;
	case THREAD_CONTEXT_UNREAD:
		return true;
	case THREAD_CONTEXT_NONE:
		if (!otel_context_find((pid_t)f->pid, &otel))
			return false;
		f->context = (uint8_t)(BELOW_CONTEXT_OTEL_FIXED + otel.model);
		f->offset = otel.offset;
		f->address = otel.address;
		return true;
	default:
		return false;
	}
}

/* A process that has just ended cannot be followed, and need not be. */
static void
follow(struct agent_helper *s, const struct below_follow *asked)
{
	struct below_follow f = *asked;

	if (!watch_is_open(&s->watch))
		return;
	if (s->watch.looks != NULL || (f.flags & BELOW_FOLLOW_ALL) != 0 ||
	    find_context(&f)) /* looks find it themselves */
		watch_follow(&s->watch, (pid_t)f.pid, &f, NULL);
}

static void
probe(struct agent_helper *s, const struct below_probe *asked)
{
	struct below_message m = { .kind = BELOW_PROBED, .probed = { asked->id, false, "" } };
	struct err e;

	if (watch_probe(&s->watch, asked, &e) == 0)
		return;
	m.probed.reason = e.text;
	put_packet(s, &m);
}

static void
put_recording(struct agent_helper *s, bool on, const char *missing)
{
	put_packet(
	    s, &(struct below_message){ .kind = BELOW_RECORDING, .recording = { on, missing } });
}

static void
record(struct agent_helper *s, uint8_t flags)
{
	struct err e;

	kernel_feed_close(s->feed);
	s->feed = NULL;
	if ((flags & BELOW_RECORD_ON) == 0)
		put_recording(s, false, "");
	else if (kernel_feed_open(&s->feed, flags, &e) != 0)
		put_recording(s, false, e.text);
	else
		put_recording(s, true, kernel_feed_missing(s->feed));
}

static void
record_of(struct agent_helper *s, uint32_t pid)
{
	struct err e;

	if (s->feed != NULL && kernel_feed_add(s->feed, (pid_t)pid, &e) != 0)
		put_recording(s, true, e.text);
}

/* Without waiting: what is not sent stays with the feed. */
static bool
put_now(void *of, const struct below_message *m)
{
	struct agent_helper *s = of;

	if (!encode(s, m))
		return false;
	if (send(s->socket, s->packet.data, s->packet.len, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
		s->number++;
		return true;
	}
	s->ended |= errno != EAGAIN && errno != EINTR;
	return false;
}

static void
feed(struct agent_helper *s, struct mono now)
{
	struct err e;

	if (s->feed == NULL ||
	    (!s->ending && mono_since_ns(now, s->fed) < FEED_MS * INT64_C(1000000)))
		return;
	s->fed = now;
	if (kernel_feed_turn(s->feed, put_now, s, &e) == 0)
		return;
	kernel_feed_close(s->feed);
	s->feed = NULL;
	put_recording(s, false, e.text);
}

static void
obey(struct agent_helper *s, const struct below_message *m, struct mono now)
{
	switch (m->kind) {
	case BELOW_LEASE:
		s->lease.ns = now.ns + m->lease_ms * INT64_C(1000000);
		break;
	case BELOW_END:
		s->ending = true;
		break;
	case BELOW_FOLLOW:
		follow(s, &m->follow);
		break;
	case BELOW_UNFOLLOW:
		if (watch_is_open(&s->watch))
			watch_unfollow(&s->watch, (pid_t)m->unfollow);
		break;
	case BELOW_LIST:
		watch_list(&s->watch, (pid_t)m->list, hand_on, s);
		break;
	case BELOW_PROBE:
		probe(s, &m->probe);
		break;
	case BELOW_RECORD:
		record(s, m->record);
		break;
	case BELOW_RECORD_OF:
		record_of(s, m->record_of);
		break;
	default:
		break;
	}
}

/* All messages of the agent that are there. */
static int
read_agent(struct agent_helper *s, struct mono now, struct err *e)
{
	uint8_t packet[BELOW_MESSAGE_MAX];
	struct arena a = { 0 };
	int rc = 0;

	while (rc == 0 && !s->ended && !s->ending) {
		struct below_message m;
		ssize_t n = recv(s->socket, packet, sizeof packet, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		s->ended = n <= 0;
		if (n > 0 && (rc = below_decode(&m, &a, packet, (size_t)n, e)) == 0)
			obey(s, &m, now);
		say_here(s);
		arena_reset(&a);
	}
	arena_release(&a);
	return rc;
}

static void
put_can(struct agent_helper *s, const struct below_can *can)
{
	struct below_message m = { .kind = BELOW_CAN, .can = *can };

	snprintf(s->told_missing, sizeof s->told_missing, "%s", can->missing);
	put_packet(s, &m);
}

static void
begin(struct agent_helper *s)
{
	const struct observer_options o = { .samples_hz = SAMPLES_HZ };
	struct below_can can = { 0, "" };
	struct err why;

	if (watch_open(&s->watch, &o, &why) == 0)
		can = watch_can(&s->watch);
	else
		can.missing = why.text;
	put_can(s, &can);
}

/* Every READ_MS, and when it ends: what there is, and what it can if that has changed. */
static void
read_watch(struct agent_helper *s, struct mono now)
{
	struct below_can can;

	if (!s->ending && mono_since_ns(now, s->read) < READ_MS * INT64_C(1000000))
		return;
	s->read = now;
	watch_read(&s->watch, s->ending, hand_on, s);
	can = watch_can(&s->watch);
	if (strcmp(can.missing, s->told_missing) != 0)
		put_can(s, &can);
}

int
helper_serve(int socket, struct err *e)
{
	struct agent_helper s = { .socket = socket };
	struct pollfd agent = { .fd = socket, .events = POLLIN };
	int rc = 0;

	s.lease.ns = clock_mono().ns + BELOW_LEASE_MS * INT64_C(1000000);
	begin(&s);
	while (rc == 0 && !s.ended) {
		int64_t wait_ns = watch_wait_ns(
		    &s.watch, (s.feed != NULL ? FEED_MS : READ_MS) * INT64_C(1000000));
		struct mono now;

		ppoll(&agent, 1, &(struct timespec){ .tv_nsec = wait_ns }, NULL);
		now = clock_mono();
		rc = read_agent(&s, now, e);
		if (watch_is_open(&s.watch) && rc == 0) {
			watch_apply(&s.watch, hand_on, &s);
			watch_turn(&s.watch, hand_on, &s);
			read_watch(&s, now);
		}
		if (rc == 0)
			feed(&s, now);
		put_cost(&s, now);
		s.ended = s.ended || s.ending || now.ns > s.lease.ns;
	}
	kernel_feed_close(s.feed);
	watch_close(&s.watch);
	buf_release(&s.packet);
	return rc;
}
