/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One processor's ring of one process, and the file in which its packets end. It reads packets as
 * the index announces them and knows up to which time the stream is complete.
 */
#ifndef AGENT_READER_CPU_STREAM_H
#define AGENT_READER_CPU_STREAM_H

#include "agent/ctf/ctf_trace.h"
#include "agent/reader/quarantine.h"
#include "agent/reader/ring.h"

struct lttng_source;
struct traced_process;

struct held_packet { /* a packet in memory */
	struct held_packet *next;
	struct ctf_index index;
	size_t len;
	uint8_t data[];
};

struct cpu_stream {
	struct traced_process *process;
	uint32_t cpu;
	struct ring ring;
	int data_fd, index_fd; /* -1: not open */
	uint32_t entry_bytes;  /* of the index; 0: its head has not been read */
	uint64_t index_at, data_read, data_punched, index_punched; /* file offsets */
	uint64_t taken; /* bytes of the ring that packets read so far account for */
	uint64_t next_seq;
	uint64_t discarded;        /* lost records that have been reported */
	uint64_t looked_discarded; /* that at the last cpu_stream_look() */
	uint64_t looked_produced;  /* the ring's position then */
	int64_t complete_ns;       /* all records up to here have been read */
	int64_t last_end_ns;       /* end of the last packet read */
	int64_t checked_ns;        /* last time that the ring's loss counter was read */
	int64_t progress_ns;       /* last time that it was idle or a packet came */
	bool drained, stalled;
	bool written;     /* it has held records */
	uint32_t idle_at; /* its index among the idle rings + 1; 0: not idle */
	struct held_packet *first, *last;
	size_t held_bytes;
	struct ctf_packet cursor; /* on the first held packet, if `open` */
	bool open, ready;         /* ready: the cursor is on a record that was not taken yet */
};

/* A ring of which everything has been read, until its produced position changes. */
struct idle_ring {
	const uint64_t *produced;
	uint64_t was;
	struct cpu_stream *stream;
};

/* The stream belongs to p. All records up to complete_ns are known to be read. NULL: out of
 * memory. */
struct cpu_stream *cpu_stream_new(
    struct traced_process *p, uint32_t cpu, int64_t complete_ns, int64_t now_ns);
void cpu_stream_free(struct lttng_source *src, struct cpu_stream *s);

/* Reads packets that were written since the last call, if the metadata needed to decode them is
 * there. Not for an idle stream. */
void cpu_stream_poll(struct lttng_source *src, struct cpu_stream *s, int64_t now_ns);
/* Makes an idle stream active again; it was idle up to the last poll. */
void cpu_stream_wake(struct lttng_source *src, struct cpu_stream *s);
/* Makes idle streams active whose ring was written to. One load for each. */
void cpu_streams_wake(struct lttng_source *src);

/* Adds to *looks how its ring looks. Four loads. */
void cpu_stream_look(struct cpu_stream *s, struct ring_looks *looks);
/* The share of its ring that is occupied, 0 to 1; 0 also if its positions are impossible. */
double cpu_stream_fill(const struct cpu_stream *s);
/* Forgets what was read and is not delivered, unmaps the ring, and frees the space of the stream's
 * files, also of what the consumer daemon wrote since the last call. */
void cpu_stream_discard(struct lttng_source *src, struct cpu_stream *s);

/* Bytes of a packet without records. */
uint32_t cpu_stream_head_bytes(const struct cpu_stream *s);
/* Bytes that have left the ring and are not decoded yet. One fstat() if there are some in the file.
 */
uint64_t cpu_stream_waiting_bytes(const struct cpu_stream *s);
/* Releases its first packet, of which all records have been taken; the packet's bytes stay valid
 * until the next poll. */
void cpu_stream_drop_first(struct lttng_source *src, struct cpu_stream *s);

#endif
