/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When is a stream complete up to the time t0, at which a poll begins?
 *
 *  1. produced == taken: every byte that was reserved in the ring before t0 has been read, so a
 *     record that is missing reserves its space after t0. Its time may be before t0, because the
 *     tracer reads the clock before it reserves: by some 50 ns, or by more if the thread is
 *     preempted in between and no other thread writes to the ring (else the reservation is repeated
 *     with a new time). options.inflight_ns bounds that.
 *  2. Else up to just before the end of the last packet read. Times in a ring only increase, and
 *     closing a packet reads the clock and reserves space like a record does. A record that does
 *     not fit closes the packet with its own time and is the first of the next. This is exact.
 *
 * The header of a new packet counts as produced before any record is in it.
 */
#define _GNU_SOURCE
#include "agent/reader/cpu_stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/reader/lttng_source.h"
#include "base/array.h"

enum { PUNCH_BYTES = 256 << 10, PUNCH_INDEX_BYTES = 64 << 10, ENTRIES = 32, GAP_MAX = 1 << 20 };

#define STUCK_FILL 0.9

struct cpu_stream *
cpu_stream_new(struct traced_process *p, uint32_t cpu, int64_t complete_ns, int64_t now_ns)
{
	struct cpu_stream *s = calloc(1, sizeof *s);

	if (s == NULL || !array_reserve(p->streams, p->streams_cap, p->nstreams + 1)) {
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
cpu_stream_free(struct lttng_source *src, struct cpu_stream *s)
{
	while (s->first != NULL)
		cpu_stream_drop_first(src, s);
	if (s->idle_at != 0)
		cpu_stream_wake(src, s);
	ring_unmap(&s->ring);
	if (s->data_fd >= 0)
		close(s->data_fd);
	if (s->index_fd >= 0)
		close(s->index_fd);
	free(s);
}

void
cpu_stream_drop_first(struct lttng_source *src, struct cpu_stream *s)
{
	struct held_packet *h = s->first;

	assert(h != NULL);
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
open_file(struct lttng_source *src, struct cpu_stream *s, const char *folder, const char *suffix)
{
	char path[4352];

	snprintf(path, sizeof path, "%s/%s/%s%s_%u%s", s->process->folder->output.path,
	    s->process->name, folder, src->channel, s->cpu, suffix);
	/* opened for writing only to punch holes */
	int fd = open(path, (src->options.keep ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 && (errno == EACCES || errno == EROFS)
	           ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
	           : fd;
}

/* Files are opened when there is something to read: on a large machine most rings stay empty. */
static bool
open_files(struct lttng_source *src, struct cpu_stream *s)
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
			trouble_set(&src->losses, &e);
		}
		return false;
	}
	if (s->entry_bytes != 0)
		return true;
	if (pread(s->index_fd, head, sizeof head, 0) != sizeof head)
		return false;
	int bytes = ctf_index_head(head, &e);
	if (bytes < 0) {
		trouble_set(&src->losses, &e);
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
		*from = UINT64_MAX / 2; /* not supported by this file system: do not try again */
}

static void
reclaim(struct lttng_source *src, struct cpu_stream *s)
{
	if (src->options.keep)
		return;
	if (s->data_read > s->data_punched)
		punch(s->data_fd, &s->data_punched, s->data_read, PUNCH_BYTES);
	if (s->index_at > s->index_punched)
		punch(s->index_fd, &s->index_punched, s->index_at, PUNCH_INDEX_BYTES);
}

/* A total that decreased, or increased by over 2^48, is no valid reading and is ignored. */
static void
report_lost(
    struct lttng_source *src, struct cpu_stream *s, uint64_t total, int64_t from_ns, int64_t to_ns)
{
	if (total <= s->discarded || total - s->discarded > UINT64_C(1) << 48)
		return;
	losses_add(&src->losses, LOSS_RING, total - s->discarded, from_ns, to_ns);
	s->discarded = total;
}

/* The ring's counter shows losses at once, so their time span is that since the last poll; packet
 * headers show them later. */
static void
check_lost(struct lttng_source *src, struct cpu_stream *s, int64_t now_ns)
{
	uint64_t total;

	if (s->ring.head == NULL || !ring_lost(&s->ring, &total))
		return;
	if (total > s->discarded)
		report_lost(src, s, total, s->checked_ns, clock_mono().ns);
	s->checked_ns = now_ns;
}

static void
packet_lost(struct lttng_source *src, struct cpu_stream *s, const struct ctf_index *index)
{
	uint64_t total;

	if (s->ring.head != NULL && ring_lost(&s->ring, &total) && index->discarded > total &&
	    index->discarded - total < UINT64_C(1) << 48)
		s->ring.no_lost = true; /* the word at that offset is not the counter of losses */
	report_lost(src, s, index->discarded,
	    s->last_end_ns < (int64_t)index->end_ns ? s->last_end_ns : (int64_t)index->begin_ns,
	    (int64_t)index->end_ns);
}

/* Accounts for the packet of an index entry: its bytes in the ring, and losses before it. */
static void
account(struct lttng_source *src, struct cpu_stream *s, const struct ctf_index *index)
{
	uint64_t size = s->ring.packet_bytes;
	int64_t end_ns = (int64_t)index->end_ns;

	if (index->seq > s->next_seq && index->seq - s->next_seq < GAP_MAX &&
	    (size == 0 || index->seq * size <= ring_produced(&s->ring))) {
		losses_add(
		    &src->losses, LOSS_RING, index->seq - s->next_seq, s->last_end_ns, end_ns);
		s->next_seq = index->seq;
	}
	s->next_seq++;
	s->taken = s->next_seq * size;
	if (index->offset + index->packet_bytes > s->data_read)
		s->data_read = index->offset + index->packet_bytes;
	src->stats.bytes += index->packet_bytes;
	packet_lost(src, s, index);
	if (end_ns > s->last_end_ns)
		s->last_end_ns = end_ns;
}

/* Reads a packet into memory. 0; ERR_INPUT: it cannot be read; ERR_MEMORY. */
static int
hold(struct lttng_source *src, struct cpu_stream *s, const struct ctf_index *index, struct err *e)
{
	uint64_t most = s->ring.packet_bytes > 0 ? s->ring.packet_bytes
	                                         : src->options.packet_max_bytes;
	struct held_packet *h;

	if (index->packet_bytes > most)
		return err_set(e, ERR_INPUT,
		    "%s: a packet of %llu bytes is larger than a sub-buffer", s->process->name,
		    (unsigned long long)index->packet_bytes);
	if ((h = malloc(sizeof *h + index->content_bytes)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a packet");
	if (pread(s->data_fd, h->data, index->content_bytes, (off_t)index->offset) !=
	    (ssize_t)index->content_bytes) {
		free(h);
		return err_set(
		    e, ERR_INPUT, "%s: a packet of the index is not in the file", s->process->name);
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

/* Whether memory_bytes permits another packet. A stream that holds no record up to its complete_ns
 * may be the one that limits the watermark, so it always may hold one more. That includes a stream
 * whose only record filled the packet to its last byte: that record's time is the packet's end. */
static bool
may_hold(const struct lttng_source *src, const struct cpu_stream *s)
{
	size_t share = src->options.memory_bytes / (src->busy > 0 ? src->busy : 1);

	if (s->first == NULL ||
	    (s->first == s->last && s->ready && s->cursor.time_ns > s->complete_ns))
		return true;
	return s->held_bytes < share && src->held_bytes < src->options.memory_bytes;
}

uint32_t
cpu_stream_head_bytes(const struct cpu_stream *s)
{
	/* from magic to cpu_id, as LTTng-UST 2.13 writes them; a process whose metadata declares
	 * no stream yet has written no record */
	enum { HEAD_BYTES = 84 };

	return s->process->trace.nstreams > 0 ? s->process->trace.streams[0].head_bytes
	                                      : HEAD_BYTES;
}

uint64_t
cpu_stream_waiting_bytes(const struct cpu_stream *s)
{
	uint64_t consumed = s->ring.head != NULL ? ring_consumed(&s->ring) : 0;
	struct stat st;

	if (s->ring.head != NULL ? consumed <= s->taken : s->drained)
		return s->held_bytes;
	/* consumed but not taken: in the file, whose size counts, since packets are written without
	 * their padding */
	if (s->data_fd < 0 || fstat(s->data_fd, &st) != 0)
		return s->held_bytes + (consumed > s->taken ? consumed - s->taken : 0);
	return s->held_bytes +
	       ((uint64_t)st.st_size > s->data_read ? (uint64_t)st.st_size - s->data_read : 0);
}

static bool
understood(const struct cpu_stream *s)
{
	return s->process->trace.nstreams > 0 || s->process->broken;
}

/* Takes one index entry. False: it stays for later, because memory or metadata is missing. */
static bool
read_entry(struct lttng_source *src, struct cpu_stream *s, const uint8_t *entry, int64_t now_ns)
{
	struct ctf_index index;
	struct err e;
	int rc = ctf_index_entry(&index, entry, &e);

	if (rc == 0 && index.content_bytes > cpu_stream_head_bytes(s)) {
		if (!understood(s))
			return false;
		if (!may_hold(src, s)) {
			src->more = true;
			s->progress_ns = now_ns; /* the delay is ours, not a stall */
			return false;
		}
		rc = hold(src, s, &index, &e);
	}
	if (rc == ERR_MEMORY) {
		trouble_set(&src->losses, &e);
		return false;
	}
	if (rc != 0) {
		trouble_set(&src->losses, &e);
		losses_add(&src->losses, LOSS_DECODE, 1, s->last_end_ns, now_ns);
		s->taken = ++s->next_seq * s->ring.packet_bytes;
	} else {
		account(src, s, &index);
		src->stats.packets++;
	}
	s->index_at += s->entry_bytes;
	s->progress_ns = now_ns;
	return true;
}

/* Reads packets; sets `drained` if the index was read to its end. */
static void
read_packets(struct lttng_source *src, struct cpu_stream *s, int64_t now_ns)
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

/* The consumer daemon may advance `consumed` between two loads; so it is read before and after. */
static bool
positions_are_possible(const struct cpu_stream *s)
{
	uint64_t before = ring_consumed(&s->ring), produced = ring_produced(&s->ring),
		 after = ring_consumed(&s->ring);

	return produced >= before && produced >= s->looked_produced &&
	       (produced < after || produced - after <= s->ring.bytes);
}

double
cpu_stream_fill(const struct cpu_stream *s)
{
	uint64_t consumed, produced;

	if (s->ring.head == NULL || !s->process->live || !positions_are_possible(s))
		return 0;
	consumed = ring_consumed(&s->ring);
	produced = ring_produced(&s->ring);
	if (produced <= consumed)
		return 0;
	return produced - consumed < s->ring.bytes
	           ? (double)(produced - consumed) / (double)s->ring.bytes
	           : 1;
}

void
cpu_stream_look(struct cpu_stream *s, struct ring_looks *looks)
{
	if (s->ring.head == NULL)
		return;
	looks->damaged |= !ring_intact(&s->ring);
	if (!positions_are_possible(s))
		looks->invalid = true;
	else
		s->looked_produced = ring_produced(&s->ring);
	looks->stuck |= s->stalled || s->discarded != s->looked_discarded ||
	                cpu_stream_fill(s) >= STUCK_FILL;
	s->looked_discarded = s->discarded;
}

void
cpu_stream_discard(struct lttng_source *src, struct cpu_stream *s)
{
	struct stat data, index;

	while (s->first != NULL)
		cpu_stream_drop_first(src, s);
	if (s->idle_at != 0)
		cpu_stream_wake(src, s);
	ring_unmap(&s->ring);
	s->drained = true;
	if (!open_files(src, s) || fstat(s->data_fd, &data) != 0 || fstat(s->index_fd, &index) != 0)
		return;
	if ((uint64_t)data.st_size > s->data_read)
		src->stats.discarded_bytes += (uint64_t)data.st_size - s->data_read;
	s->data_read = (uint64_t)data.st_size;
	s->index_at = (uint64_t)index.st_size;
	reclaim(src, s);
}

static void
set_complete(struct cpu_stream *s, int64_t ns)
{
	if (ns > s->complete_ns)
		s->complete_ns = ns;
}

/* A ring that is not drained (frozen process, dead daemon) stops holding the watermark back after
 * stall_ns. */
static void
check_stall(struct lttng_source *src, struct cpu_stream *s, int64_t now_ns)
{
	s->progress_ns += src->unwatched_ns;
	if (now_ns - s->progress_ns < src->options.stall_ns) {
		s->stalled = false;
		return;
	}
	src->stats.stalls += !s->stalled;
	s->stalled = true;
	set_complete(s, now_ns - src->options.stall_ns);
}

static void
close_files(struct cpu_stream *s)
{
	if (s->data_fd >= 0)
		close(s->data_fd);
	if (s->index_fd >= 0)
		close(s->index_fd);
	s->data_fd = s->index_fd = -1;
}

/* From an idle ring only its produced position is read until that changes. Every ring begins with
 * an empty packet; for that alone the files do not stay open. */
static void
fall_idle(struct lttng_source *src, struct cpu_stream *s, uint64_t produced)
{
	if (s->first != NULL || src->nidle >= src->idle_cap || !ring_intact(&s->ring))
		return;
	if (!s->written)
		close_files(s);
	src->idle[src->nidle++] = (struct idle_ring){ ring_produced_word(&s->ring), produced, s };
	s->idle_at = src->nidle;
	s->process->nidle++;
}

void
cpu_stream_wake(struct lttng_source *src, struct cpu_stream *s)
{
	uint32_t at = s->idle_at - 1;

	assert(s->idle_at != 0 && at < src->nidle && src->idle[at].stream == s);
	src->idle[at] = src->idle[--src->nidle];
	src->idle[at].stream->idle_at = at + 1;
	s->idle_at = 0;
	s->process->nidle--;
	s->progress_ns = s->checked_ns = src->polled_ns;
	set_complete(s, src->polled_ns - src->options.inflight_ns);
}

void
cpu_streams_wake(struct lttng_source *src)
{
	for (uint32_t i = 0; i < src->nidle; i++)
		if (__atomic_load_n(src->idle[i].produced, __ATOMIC_ACQUIRE) != src->idle[i].was)
			cpu_stream_wake(src, src->idle[i--].stream);
}

void
cpu_stream_poll(struct lttng_source *src, struct cpu_stream *s, int64_t now_ns)
{
	bool mapped = s->ring.head != NULL, dead = !s->process->live;
	uint64_t produced = mapped ? ring_produced(&s->ring) : 0;

	assert(s->idle_at == 0);
	check_lost(src, s, now_ns);
	if (dead || !mapped || produced > s->taken + cpu_stream_head_bytes(s))
		read_packets(src, s, now_ns);
	if (dead && s->drained) {
		set_complete(s, now_ns);
	} else if (mapped && produced <= s->taken + cpu_stream_head_bytes(s)) {
		s->progress_ns = now_ns;
		s->stalled = false;
		set_complete(s, now_ns - src->options.inflight_ns);
		if (!dead)
			fall_idle(src, s, produced);
	} else {
		set_complete(s, s->last_end_ns - 1);
		check_stall(src, s, now_ns);
	}
}
