/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One ring, and the file that its packets end up in.
 *
 * When is such a stream complete up to the time t0, at which the poll began?
 *
 *  - produced == taken: every byte that was ever reserved in the ring has been
 *    read by us, so a record that is still missing takes its place after t0. Its
 *    time may be a little older, since the tracer reads the clock before it
 *    takes the place: options.inflight_ns is for that. Usually it is some 50 ns;
 *    it is more only if the thread is put off the processor between the two, and
 *    nobody else writes to the ring meanwhile (else it starts over, with a new time).
 *  - else up to just before the end of the last packet read: times in a ring only grow,
 *    and who closes a packet takes a time and a place like a record does. The record that did
 *    not fit any more closes it with its own time, and is the first of the next. Exact.
 *
 * A new packet's own header counts as produced, and says nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/reader/source_inside.h"

enum { PUNCH_BYTES = 256 << 10, PUNCH_INDEX_BYTES = 64 << 10, ENTRIES = 32, GAP_MAX = 1 << 20 };

struct stream *
stream_new(struct process *p, uint32_t cpu, int64_t complete_ns, int64_t now_ns)
{
	struct stream *s = calloc(1, sizeof *s);
	struct stream **grown = realloc(p->streams, (p->nstreams + 1) * sizeof *grown);

	if (grown != NULL)
		p->streams = grown;
	if (s == NULL || grown == NULL) {
		free(s);
		return NULL;
	}
	s->process = p;
	s->cpu = cpu;
	s->data_fd = s->index_fd = -1;
	s->complete_ns = complete_ns;
	s->last_end_ns = s->checked_ns = complete_ns;
	s->progress_ns = now_ns;
	p->streams[p->nstreams++] = s;
	return s;
}

void
stream_free(struct lttng_source *src, struct stream *s)
{
	while (s->first != NULL)
		stream_drop_first(src, s);
	if (s->quiet_at != 0)
		stream_wake(src, s);
	ring_unmap(&s->ring);
	if (s->data_fd >= 0)
		close(s->data_fd);
	if (s->index_fd >= 0)
		close(s->index_fd);
	free(s);
}

void
stream_drop_first(struct lttng_source *src, struct stream *s)
{
	struct held *h = s->first;

	s->first = h->next;
	if (s->first == NULL)
		s->last = NULL;
	s->held_bytes -= h->len;
	src->held_bytes -= h->len;
	s->open = s->ready = false;
	h->next = src->spent;
	src->spent = h;
}

static int
open_file(struct lttng_source *src, struct stream *s, const char *folder, const char *suffix)
{
	char path[4352];

	snprintf(path, sizeof path, "%s/%s/%s%s_%u%s", s->process->folder->output.path,
	    s->process->name, folder, src->channel, s->cpu, suffix);
	/* writing is for giving space back only */
	int fd = open(path, (src->options.keep ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 && (errno == EACCES || errno == EROFS)
	           ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
	           : fd;
}

/* Opened when there is something to read, since most rings of a large machine stay empty. */
static bool
open_files(struct lttng_source *src, struct stream *s)
{
	uint8_t head[CTF_INDEX_HEAD];
	struct err e;

	if (s->data_fd < 0)
		s->data_fd = open_file(src, s, "", "");
	if (s->index_fd < 0)
		s->index_fd = open_file(src, s, "index/", ".idx");
	if (s->data_fd < 0 || s->index_fd < 0) {
		if (errno != ENOENT) {
			err_errno(&e, "%s: %s_%u", s->process->name, src->channel, s->cpu);
			source_trouble(src, &e);
		}
		return false;
	}
	if (s->entry_bytes != 0)
		return true;
	if (pread(s->index_fd, head, sizeof head, 0) != sizeof head)
		return false;
	int bytes = ctf_index_head(head, &e);
	if (bytes < 0) {
		source_trouble(src, &e);
		return false;
	}
	s->entry_bytes = (uint32_t)bytes;
	s->index_at = sizeof head;
	return true;
}

static void
punch(int fd, uint64_t *from, uint64_t to, uint64_t step)
{
	if (to - *from < step)
		return;
	to -= to % 4096;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)*from,
		(off_t)(to - *from)) == 0)
		*from = to;
	else
		*from = UINT64_MAX / 2; /* this file system can't; do not ask again */
}

static void
reclaim(struct lttng_source *src, struct stream *s)
{
	if (src->options.keep)
		return;
	if (s->data_read > s->data_punched)
		punch(s->data_fd, &s->data_punched, s->data_read, PUNCH_BYTES);
	if (s->index_at > s->index_punched)
		punch(s->index_fd, &s->index_punched, s->index_at, PUNCH_INDEX_BYTES);
}

/* Counters of losses only grow; one that fell, or is beyond anything possible, is a glitch. */
static void
tell_lost(
    struct lttng_source *src, struct stream *s, uint64_t total, int64_t from_ns, int64_t to_ns)
{
	if (total <= s->discarded || total - s->discarded > UINT64_C(1) << 48)
		return;
	source_loss(src, LOSS_RING, total - s->discarded, from_ns, to_ns);
	s->discarded = total;
}

/* The ring knows of losses at once, and so, since the last poll, when they were; packets tell
 * later. */
static void
check_lost(struct lttng_source *src, struct stream *s, int64_t now_ns)
{
	uint64_t total;

	if (s->ring.head == NULL || !ring_lost(&s->ring, &total))
		return;
	if (total > s->discarded)
		tell_lost(src, s, total, s->checked_ns, clock_mono().ns);
	s->checked_ns = now_ns;
}

static void
packet_lost(struct lttng_source *src, struct stream *s, const struct ctf_index *index)
{
	uint64_t total;

	if (s->ring.head != NULL && ring_lost(&s->ring, &total) && index->discarded > total &&
	    index->discarded - total < UINT64_C(1) << 48)
		s->ring.no_lost = true; /* the ring's counter is not what we took it for */
	tell_lost(src, s, index->discarded,
	    s->last_end_ns < (int64_t)index->end_ns ? s->last_end_ns : (int64_t)index->begin_ns,
	    (int64_t)index->end_ns);
}

/* Books the packet that an index entry tells of: where in the ring it was, and what was lost before
 * it. */
static void
account(struct lttng_source *src, struct stream *s, const struct ctf_index *index)
{
	uint64_t size = s->ring.packet_bytes;
	int64_t end_ns = (int64_t)index->end_ns;

	if (index->seq > s->next_seq && index->seq - s->next_seq < GAP_MAX &&
	    (size == 0 || index->seq * size <= ring_produced(&s->ring))) {
		source_loss(src, LOSS_RING, index->seq - s->next_seq, s->last_end_ns, end_ns);
		s->next_seq = index->seq;
	}
	s->next_seq++;
	s->taken = s->next_seq * size;
	if (index->offset + index->packet_bytes > s->data_read)
		s->data_read = index->offset + index->packet_bytes;
	src->look.bytes += index->packet_bytes;
	packet_lost(src, s, index);
	if (end_ns > s->last_end_ns)
		s->last_end_ns = end_ns;
}

/* 0; ERR_INPUT: it can't be read; ERR_MEMORY. */
static int
hold(struct lttng_source *src, struct stream *s, const struct ctf_index *index, struct err *e)
{
	uint64_t most = s->ring.packet_bytes > 0 ? s->ring.packet_bytes
	                                         : src->options.packet_max_bytes;
	struct held *h;

	if (index->packet_bytes > most)
		return err_set(e, ERR_INPUT, "%s: a packet of %llu bytes, larger than a sub-buffer",
		    s->process->name, (unsigned long long)index->packet_bytes);
	if ((h = malloc(sizeof *h + index->content_bytes)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for a packet");
	if (pread(s->data_fd, h->data, index->content_bytes, (off_t)index->offset) !=
	    (ssize_t)index->content_bytes) {
		free(h);
		return err_set(e, ERR_INPUT, "%s: a packet that the index tells of is not there",
		    s->process->name);
	}
	s->written = true;
	h->next = NULL;
	h->index = *index;
	h->len = index->content_bytes;
	if (s->last != NULL)
		s->last->next = h;
	else
		s->first = h;
	s->last = h;
	s->held_bytes += h->len;
	src->held_bytes += h->len;
	return 0;
}

/* A stream that holds nothing up to its own complete_ns may be what all others wait for; so it
 * always may. Such is also one that holds but the record that filled a packet to its last byte, for
 * that has the packet's end as its time. */
static bool
may_hold(const struct lttng_source *src, const struct stream *s)
{
	size_t share = src->options.memory_bytes / (src->busy > 0 ? src->busy : 1);

	if (s->first == NULL ||
	    (s->first == s->last && s->ready && s->cursor.time_ns > s->complete_ns))
		return true;
	return s->held_bytes < share && src->held_bytes < src->options.memory_bytes;
}

uint32_t
stream_head_bytes(const struct stream *s)
{
	/* magic to cpu_id, as LTTng writes them; who has no stream in its metadata yet has written
	 * nothing else */
	enum { HEAD_BYTES = 84 };

	return s->process->trace.nstreams > 0 ? s->process->trace.streams[0].head_bytes
	                                      : HEAD_BYTES;
}

/* What the ring calls consumed and we have not taken is in the file, which says how large it is:
 * packets are cut to what is in them when they are written. */
uint64_t
stream_waiting_bytes(const struct stream *s)
{
	uint64_t consumed = s->ring.head != NULL ? ring_consumed(&s->ring) : 0;
	struct stat st;

	if (s->ring.head != NULL ? consumed <= s->taken : s->drained)
		return s->held_bytes;
	if (s->data_fd < 0 || fstat(s->data_fd, &st) != 0)
		return s->held_bytes + (consumed > s->taken ? consumed - s->taken : 0);
	return s->held_bytes +
	       ((uint64_t)st.st_size > s->data_read ? (uint64_t)st.st_size - s->data_read : 0);
}

static bool
understood(const struct stream *s)
{
	return s->process->trace.nstreams > 0 || s->process->broken;
}

/* One entry. False: it has to stay for later, for want of memory or metadata. */
static bool
read_entry(struct lttng_source *src, struct stream *s, const uint8_t *entry, int64_t now_ns)
{
	struct ctf_index index;
	struct err e;
	int rc = ctf_index_entry(&index, entry, &e);

	if (rc == 0 && index.content_bytes > stream_head_bytes(s)) {
		if (!understood(s))
			return false;
		if (!may_hold(src, s)) {
			src->more = true;
			s->progress_ns = now_ns; /* we are slow, not the daemon */
			return false;
		}
		rc = hold(src, s, &index, &e);
	}
	if (rc == ERR_MEMORY) {
		source_trouble(src, &e);
		return false;
	}
	if (rc != 0) {
		source_trouble(src, &e);
		source_loss(src, LOSS_DECODE, 1, s->last_end_ns, now_ns);
		s->taken = ++s->next_seq * s->ring.packet_bytes;
	} else {
		account(src, s, &index);
		src->look.packets++;
	}
	s->index_at += s->entry_bytes;
	s->progress_ns = now_ns;
	return true;
}

/* Sets drained where the index was read to its end. */
static void
read_packets(struct lttng_source *src, struct stream *s, int64_t now_ns)
{
	uint8_t entries[ENTRIES * CTF_INDEX_ENTRY];

	s->drained = false;
	if (!open_files(src, s)) {
		s->drained = s->index_fd < 0 || s->entry_bytes == 0;
		return;
	}
	uint32_t batch = s->entry_bytes == CTF_INDEX_ENTRY ? ENTRIES : 1;
	for (;;) {
		ssize_t n = pread(
		    s->index_fd, entries, batch * CTF_INDEX_ENTRY, (off_t)s->index_at);
		if (n < CTF_INDEX_ENTRY) {
			s->drained = true;
			break;
		}
		for (ssize_t at = 0; at + CTF_INDEX_ENTRY <= n; at += CTF_INDEX_ENTRY)
			if (!read_entry(src, s, entries + at, now_ns))
				goto out;
	}
out:
	reclaim(src, s);
}

static void
set_complete(struct stream *s, int64_t ns)
{
	if (ns > s->complete_ns)
		s->complete_ns = ns;
}

/* Nobody drains it: a frozen program, or a dead daemon. Others must not wait for it for ever. */
static void
check_stall(struct lttng_source *src, struct stream *s, int64_t now_ns)
{
	s->progress_ns += src->unwatched_ns;
	if (now_ns - s->progress_ns < src->options.stall_ns) {
		s->stalled = false;
		return;
	}
	src->look.stalls += !s->stalled;
	s->stalled = true;
	set_complete(s, now_ns - src->options.stall_ns);
}

static void
close_files(struct stream *s)
{
	if (s->data_fd >= 0)
		close(s->data_fd);
	if (s->index_fd >= 0)
		close(s->index_fd);
	s->data_fd = s->index_fd = -1;
}

/* A ring that is idle, of which nothing waits, need only be asked whether it is so still. Each
 * begins with a packet of nothing; that alone is no reason to keep files open. */
static void
fall_quiet(struct lttng_source *src, struct stream *s, uint64_t produced)
{
	if (s->first != NULL || src->nquiet >= src->quiet_cap)
		return;
	if (!s->written)
		close_files(s);
	src->quiet[src->nquiet++] = (struct quiet){ ring_produced_word(&s->ring), produced, s };
	s->quiet_at = src->nquiet;
	s->process->nquiet++;
}

void
stream_wake(struct lttng_source *src, struct stream *s)
{
	uint32_t at = s->quiet_at - 1;

	src->quiet[at] = src->quiet[--src->nquiet];
	src->quiet[at].stream->quiet_at = at + 1;
	s->quiet_at = 0;
	s->process->nquiet--;
	s->progress_ns = s->checked_ns = src->polled_ns;
	set_complete(s, src->polled_ns - src->options.inflight_ns);
}

void
streams_wake(struct lttng_source *src)
{
	for (uint32_t i = 0; i < src->nquiet; i++)
		if (__atomic_load_n(src->quiet[i].produced, __ATOMIC_ACQUIRE) != src->quiet[i].was)
			stream_wake(src, src->quiet[i--].stream);
}

void
stream_poll(struct lttng_source *src, struct stream *s, int64_t now_ns)
{
	bool mapped = s->ring.head != NULL, dead = !s->process->live;
	uint64_t produced = mapped ? ring_produced(&s->ring) : 0;

	check_lost(src, s, now_ns);
	if (dead || !mapped || produced > s->taken + stream_head_bytes(s))
		read_packets(src, s, now_ns);
	if (dead && s->drained) {
		set_complete(s, now_ns);
	} else if (mapped && produced <= s->taken + stream_head_bytes(s)) {
		s->progress_ns = now_ns;
		s->stalled = false;
		set_complete(s, now_ns - src->options.inflight_ns);
		if (!dead)
			fall_quiet(src, s, produced);
	} else {
		set_complete(s, s->last_end_ns - 1);
		check_stall(src, s, now_ns);
	}
}
