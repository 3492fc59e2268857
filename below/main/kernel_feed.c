/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/kernel_feed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "below/kernel/record_bpf.h"
#include "below/main/record_events.h"
#include "kernel/kernel_stream.h"

enum { RING_BYTES = 4 << 20, NAMES_MAX = 1 << 18 };

struct kernel_feed {
	struct record_bpf *from;
	struct kernel_names names;
	struct record_events events;
	struct kernel_writer *writer;
	struct buf out;
	size_t put;      /* of out */
	int64_t mark_ns; /* all until then is in out, or was put */
	int64_t told_ns; /* the last mark that was put */
	bool list; /* threads of processes that are followed since the last turn are to be named */
	bool failed; /* out of memory for an event */
};

static int
begin_names(struct kernel_feed *f, struct err *e)
{
	char host[256] = "";
	int rc = kernel_names_new(&f->names, e);

	if (rc != 0)
		return rc;
	gethostname(host, sizeof host - 1);
	if (texts_intern(f->names.hosts, host, strlen(host)) == UINT32_MAX)
		return err_set(e, ERR_MEMORY, "out of memory");
	return 0;
}

int
kernel_feed_open(struct kernel_feed **ret, uint8_t flags, struct err *e)
{
	const struct record_bpf_options o = { .groups = RECORD_OF_NET,
		.filtered = true,
		.texts = (flags & BELOW_RECORD_TEXTS) != 0,
		.excluded = { getpid() },
		.ring_bytes = RING_BYTES };
	struct kernel_feed *f = calloc(1, sizeof *f);
	int rc;

	if (f == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	rc = begin_names(f, e);
	if (rc == 0 && (f->writer = kernel_writer_new(&f->names)) == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	f->events.names = &f->names;
	if (rc != 0 || (rc = record_bpf_open(&f->from, &o, e)) != 0) {
		kernel_feed_close(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void
kernel_feed_close(struct kernel_feed *f)
{
	if (f == NULL)
		return;
	record_bpf_close(f->from);
	kernel_writer_free(f->writer);
	kernel_names_release(&f->names);
	buf_release(&f->out);
	free(f);
}

const char *
kernel_feed_missing(const struct kernel_feed *f)
{
	return record_bpf_missing(f->from);
}

int
kernel_feed_add(struct kernel_feed *f, pid_t pid, struct err *e)
{
	int rc = record_bpf_follow(f->from, pid, e);

	/* At once: what it does before it has a name is of no service. */
	return rc != 0 ? rc : record_bpf_list(f->from, e);
}

static void
take(void *of, uint32_t cpu, const struct record_head *h, size_t len)
{
	struct kernel_feed *f = of;
	struct kernel_event list[RECORD_EVENTS_MAX];
	int n = record_events_make(&f->events, cpu, h, len, list);

	f->failed |= n < 0;
	for (int i = 0; i < n; i++)
		kernel_writer_event(f->writer, &list[i], &f->out);
}

/* Connections that have ended keep their names, so from time to time all names begin anew, and threads are named again. */
static int
renew_names(struct kernel_feed *f, struct err *e)
{
	if (texts_count(f->names.connections) < NAMES_MAX &&
	    texts_count(f->names.texts) < NAMES_MAX)
		return 0;
	kernel_writer_forget(f->writer, &f->out);
	kernel_names_release(&f->names);
	f->list = true;
	return begin_names(f, e);
}

static int
read_events(struct kernel_feed *f, struct err *e)
{
	int rc = f->list ? record_bpf_list(f->from, e) : 0;

	f->list = false;
	record_bpf_read(f->from, false, take, f);
	if (rc == 0)
		rc = renew_names(f, e);
	kernel_writer_flush(f->writer, &f->out);
	if (f->failed || f->out.failed)
		return err_set(e, ERR_MEMORY, "out of memory for kernel events");
	f->mark_ns = record_bpf_until(f->from);
	return rc;
}

int
kernel_feed_turn(struct kernel_feed *f, kernel_feed_put *put, void *of, struct err *e)
{
	int rc = f->out.len - f->put < FEED_PENDING_MAX ? read_events(f, e) : 0;

	while (rc == 0 && f->put < f->out.len) {
		size_t left = f->out.len - f->put;
		const struct below_message m = { .kind = BELOW_EVENTS,
			.events = { (uint32_t)(left < BELOW_PIECE_MAX ? left : BELOW_PIECE_MAX),
			    f->out.data + f->put } };

		if (!put(of, &m))
			return 0;
		f->put += m.events.len;
	}
	if (rc != 0)
		return rc;
	buf_reset(&f->out);
	f->put = 0;
	if (f->mark_ns > f->told_ns && put(of, &(struct below_message){ .kind = BELOW_EVENTS_MARK,
						   .events_mark_ns = f->mark_ns }))
		f->told_ns = f->mark_ns;
	return 0;
}
