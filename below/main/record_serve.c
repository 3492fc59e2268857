/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/record_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "below/main/observe.h"
#include "below/main/record_events.h"
#include "below/main/record_stacks.h"
#include "kernel/kernel_stream.h"

enum {
	READ_MS = 20,     /* how often the rings are read */
	READ_SOON_MS = 2, /* if one of them was fuller than FULL_PCT */
	FULL_PCT = 20,
	COST_MS = 500,
	STACKS_MARGIN_NS = 1000000 /* what a CPU may take to write down a wait that has ended */
};

struct record_stream {
	const struct record_serve_options *o;
	struct record_bpf *from;
	struct observer *observer; /* NULL: no stacks */
	struct record_stacks *stacks;
	struct kernel_names names;
	struct record_events events;
	struct kernel_writer *writer;
	struct buf out;
	size_t written;          /* of out */
	struct mono moved, told; /* when the reader took something last; when the cost was told */
	uint64_t failed;         /* records that were lost for lack of memory */
	bool gone;               /* the reader */
};

/* The stacks of that time or before. */
static void
put_stacks(struct record_stream *r, int64_t until_ns)
{
	struct kernel_event ev;
	int n = 0;

	while (
	    r->stacks != NULL && (n = record_stacks_next(r->stacks, until_ns, &r->names, &ev)) == 1)
		kernel_writer_event(r->writer, &ev, &r->out);
	if (n < 0)
		r->failed++;
}

static void
take(void *of, uint32_t cpu, const struct record_head *h, size_t len)
{
	struct record_stream *r = of;
	struct kernel_event list[RECORD_EVENTS_MAX];
	int n = record_events_make(&r->events, cpu, h, len, list);

	if (n < 0)
		r->failed++;
	for (int i = 0; i < n; i++) {
		put_stacks(r, list[i].time_ns - 1);
		kernel_writer_event(r->writer, &list[i], &r->out);
		if (r->stacks != NULL)
			record_stacks_saw(r->stacks, &list[i]);
	}
}

/* Stacks first: of the events only those up to then can be merged with them. */
static double
read_events(struct record_stream *r, bool all)
{
	double full;

	if (r->observer != NULL) {
		observer_read(r->observer, record_stacks_take, r->stacks);
		record_bpf_hold(r->from, record_stacks_mark(r->stacks) - STACKS_MARGIN_NS);
	}
	full = record_bpf_read(r->from, all, take, r);
	put_stacks(r, all ? INT64_MAX : record_bpf_until(r->from));
	return full;
}

static int
begin_names(struct record_stream *r, struct err *e)
{
	char host[256] = "";
	int rc = kernel_names_new(&r->names, e);

	if (rc != 0)
		return rc;
	gethostname(host, sizeof host - 1);
	if (texts_intern(r->names.hosts, host, strlen(host)) == UINT32_MAX)
		return err_set(e, ERR_MEMORY, "out of memory");
	return 0;
}

/* Names of connections that have ended stay known, so that from time to time all begin anew. */
static int
renew_names(struct record_stream *r, struct err *e)
{
	if (texts_count(r->names.connections) < RECORD_NAMES_MAX &&
	    texts_count(r->names.texts) < RECORD_NAMES_MAX)
		return 0;
	kernel_writer_forget(r->writer, &r->out);
	kernel_names_release(&r->names);
	return begin_names(r, e);
}

static void
tell(struct record_stream *r, enum kernel_news_kind kind, int code, const char *text)
{
	struct rusage u;
	struct kernel_news n = { .kind = kind, .code = code, .text = text };

	getrusage(RUSAGE_SELF, &u);
	n.cpu_us = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
	           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	if (r->observer != NULL)
		n.cpu_us += observer_reader_cpu_ns(r->observer) / 1000;
	if (r->from != NULL) {
		n.late = record_bpf_late(r->from);
		n.missed = record_bpf_missed(r->from);
	}
	kernel_writer_news(r->writer, &n, &r->out);
}

static size_t
pending(const struct record_stream *r)
{
	return r->out.len - r->written;
}

/* What the reader takes without waiting. */
static void
write_some(struct record_stream *r)
{
	while (pending(r) > 0 && !r->gone) {
		ssize_t n = write(r->o->out, r->out.data + r->written, pending(r));

		if (n > 0) {
			r->written += (size_t)n;
			r->moved = clock_mono();
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			r->gone = true;
		}
	}
	if (pending(r) == 0) {
		buf_reset(&r->out);
		r->written = 0;
	}
}

/* Waits until the reader takes more, or its end is closed. */
static void
wait_for_reader(struct record_stream *r, int ms)
{
	struct pollfd p = { .fd = r->o->out, .events = pending(r) > 0 ? POLLOUT : 0 };

	if (poll(&p, 1, ms) > 0 && (p.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
		r->gone = true;
}

static bool
is_stalled(const struct record_stream *r)
{
	return pending(r) > 0 &&
	       mono_since_ns(clock_mono(), r->moved) > RECORD_STALL_MS * INT64_C(1000000);
}

/* Hands on all that is left, unless the reader takes nothing. */
static void
write_all(struct record_stream *r)
{
	write_some(r);
	while (pending(r) > 0 && !r->gone && !is_stalled(r)) {
		wait_for_reader(r, READ_MS);
		write_some(r);
	}
}

/* A turn. Returns for how long nothing has to be done, ms. */
static int
turn(struct record_stream *r, struct err *e, int *rc)
{
	double full = 0;

	if (pending(r) < RECORD_PENDING_MAX) {
		full = read_events(r, false);
		if (mono_since_ns(clock_mono(), r->told) > COST_MS * INT64_C(1000000)) {
			r->told = clock_mono();
			tell(r, KERNEL_COST, 0, "");
			if (r->observer != NULL)
				observer_forget_ended(r->observer);
		}
		kernel_writer_flush(r->writer, &r->out);
		*rc = r->out.failed ? err_set(e, ERR_MEMORY, "out of memory") : renew_names(r, e);
	}
	write_some(r);
	return full * 100 > FULL_PCT ? READ_SOON_MS : READ_MS;
}

static bool
is_over(const struct record_stream *r, struct mono begun)
{
	return (double)mono_since_ns(clock_mono(), begun) / 1e9 >= r->o->seconds ||
	       record_bpf_is_over(r->from);
}

static int
run(struct record_stream *r, const volatile sig_atomic_t *ended, struct err *e)
{
	struct mono begun = clock_mono();
	int rc = 0;

	r->moved = r->told = begun;
	while (rc == 0 && !*ended && !r->gone && !is_stalled(r) && !is_over(r, begun)) {
		int ms = turn(r, e, &rc);

		wait_for_reader(r, ms);
		/* the reader takes more at any time; the rings are read in turns */
		if (pending(r) > 0 && pending(r) < RECORD_PENDING_MAX)
			poll(NULL, 0, READ_SOON_MS);
	}
	if (rc != 0)
		return rc;
	if (r->gone)
		return err_set(e, ERR_PEER, "the reader of the events has ended");
	if (is_stalled(r))
		return err_set(e, ERR_PEER, "the reader of the events takes none of them");
	read_events(r, true);
	return 0;
}

struct stacks_following {
	struct observer *observer;
	int rc;
	struct err *e;
};

static void
follow_stacks(void *of, pid_t pid)
{
	struct stacks_following *x = of;

	if (x->rc == 0)
		x->rc = observer_follow(x->observer, pid, NULL, x->e);
}

/* All that are recorded. A child that is made while its parent is not followed yet is among those that are recorded, so until there is no new one. */
static int
follow_all(struct record_stream *r, struct err *e)
{
	struct stacks_following x = { r->observer, 0, e };
	uint32_t n = 0, before;

	do {
		before = n;
		n = record_bpf_followed(r->from, follow_stacks, &x);
	} while (x.rc == 0 && n > before);
	return x.rc;
}

/* Behind what records: so its programs run after that at the same switch. Without stacks the recording goes on, and says why. */
static int
begin_stacks(struct record_stream *r, struct err *e)
{
	const struct observer_options o = { .without = BELOW_CAN_HOLDERS | BELOW_CAN_PROBES,
		.calls_only = true,
		.children = true };
	char text[sizeof e->text + 40];
	struct err why;
	int rc;

	if ((r->stacks = record_stacks_new()) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	rc = observer_open(&r->observer, &o, &why);
	if (rc == 0 && (rc = follow_all(r, &why)) == 0)
		return 0;
	observer_close(r->observer);
	r->observer = NULL;
	snprintf(text, sizeof text, "no call stacks: %s", why.text);
	tell(r, KERNEL_NOTE, 0, text);
	return 0;
}

static void
tell_stacks(struct record_stream *r)
{
	const struct record_stacks_counts c = record_stacks_counts(r->stacks);
	uint64_t unfollowed = r->observer != NULL ? observer_unfollowed(r->observer) : 0;
	char text[320];

	if (c.lost + c.late + c.unnamed + c.apart + unfollowed == 0)
		return;
	snprintf(text, sizeof text,
	    "call stacks are missing: lost records of them %llu, calls without one %llu, told too late %llu, "
	    "of threads that no switch puts on a CPU %llu, new processes over the limit %llu",
	    (unsigned long long)c.lost, (unsigned long long)c.unnamed, (unsigned long long)c.late,
	    (unsigned long long)c.apart, (unsigned long long)unfollowed);
	tell(r, KERNEL_NOTE, 0, text);
}

static int
begin(struct record_stream *r, struct err *e)
{
	int rc = begin_names(r, e), flags = fcntl(r->o->out, F_GETFL);

	if (rc != 0)
		return rc;
	if ((r->writer = kernel_writer_new(&r->names)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	r->events = (struct record_events){ &r->names, r->o->counted, r->o->bpf.ncounted };
	if (flags < 0 || fcntl(r->o->out, F_SETFL, flags | O_NONBLOCK) != 0)
		return err_errno(e, "the output");
	if ((rc = record_bpf_open(&r->from, &r->o->bpf, e)) != 0)
		return rc;
	if (record_bpf_missing(r->from)[0] != '\0')
		tell(r, KERNEL_NOTE, 0, record_bpf_missing(r->from));
	if (r->o->stacks && (rc = begin_stacks(r, e)) != 0)
		return rc;
	return record_bpf_list(r->from, e);
}

int
record_serve(
    const struct record_serve_options *o, const volatile sig_atomic_t *ended, struct err *e)
{
	struct record_stream r = { .o = o };
	struct err why = { 0 };
	char text[120];
	int rc = begin(&r, &why);

	r.moved = clock_mono();
	if (rc == 0)
		rc = run(&r, ended, &why);
	if (r.writer != NULL) {
		if (rc == 0 && record_bpf_unfollowed(r.from) > 0) {
			snprintf(text, sizeof text,
			    "%llu new processes were not followed: too many at a time",
			    (unsigned long long)record_bpf_unfollowed(r.from));
			tell(&r, KERNEL_NOTE, 0, text);
		}
		if (rc == 0 && r.stacks != NULL)
			tell_stacks(&r);
		if (rc == 0 && r.failed > 0)
			rc = err_set(&why, ERR_MEMORY, "out of memory");
		tell(&r, rc == 0 ? KERNEL_END : KERNEL_FAILED, rc, rc == 0 ? "" : why.text);
		kernel_writer_flush(r.writer, &r.out);
	}
	record_bpf_close(r.from);
	observer_close(r.observer);
	record_stacks_free(r.stacks);
	write_all(&r);
	kernel_writer_free(r.writer);
	kernel_names_release(&r.names);
	buf_release(&r.out);
	return rc == 0 ? 0 : err_set(e, rc, "%s", why.text);
}
