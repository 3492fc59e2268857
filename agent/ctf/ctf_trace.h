/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Common Trace Format 1.8, as LTTng-UST 2.13 writes it: metadata text (TSDL) becomes event
 * classes, and the bytes of a packet become records. Pure: no files, no clocks. For any input, no
 * byte outside of it is read.
 *
 *	packet:  header | packet context | event | event | ... | padding
 *	event:   event header (id, 27 or 32 bits of time; or, extended, all 64) | context | payload
 *
 * Values are made of integers of 8 to 64 bits in either byte order, enums (the text of their first
 * matching label; without one, the number), floats, strings, arrays and sequences of characters (as
 * text), and variants of those. Other arrays and sequences are skipped; of such a sequence the length
 * remains, as field "name_length".
 */
#ifndef AGENT_CTF_CTF_TRACE_H
#define AGENT_CTF_CTF_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "wire/record.h"

struct ctf_op;
struct ctf_scope;

struct ctf_code { /* instructions that decode a struct */
	struct ctf_op *ops;
	uint32_t nops, nregs;
};

/* Values of a record besides its payload; VALUE_NONE if the record does not have it. */
enum ctf_slot {
	CTF_NAME = RECORD_VALUES_MAX, /* of structure records */
	CTF_LINK_ID,
	CTF_TRASH,
	CTF_SLOTS
};

struct ctf_event {
	const char *name; /* "provider:event" */
	uint64_t id;
	uint8_t kind; /* enum record_kind */
	uint32_t nfields;
	const char **fields; /* names of the values, terminated */
	struct ctf_code payload;
	uint32_t label;  /* for the caller; initially UINT32_MAX */
	bool of_address; /* for the caller: its first value is the address of a lock or function */
};

struct ctf_stream {
	uint64_t id;
	struct ctf_code context;
	uint32_t header_align;                        /* bytes; of the event header */
	uint32_t id_bits;                             /* 5 or 16 */
	uint32_t extended_align, extended_time_align; /* bytes */
	/* offsets in a packet, in bytes from its start */
	uint32_t begin_at, end_at, content_at, size_at, seq_at, discarded_at, head_bytes;
	struct ctf_event **events; /* by id, NULL where there is none */
	size_t nevents, cap;
};

struct ctf_trace {
	struct arena arena;      /* all texts, types and code, for the life of the trace */
	size_t max_bytes;        /* limit of that arena */
	struct ctf_scope *scope; /* named types */
	const char *procname;    /* env: NULL until it is known */
	uint32_t vpid;
	const char *tracer; /* env: its name; NULL until it is known */
	uint32_t tracer_major, tracer_minor;
	bool has_trace; /* the trace block has been read */
	uint8_t uuid[16];
	bool has_uuid;
	uint32_t stream_id_at, uuid_at; /* offsets in a packet; UINT32_MAX: absent */
	uint32_t header_bytes;
	struct ctf_stream
	    early; /* events of a stream that is not declared yet: only id and events are set */
	struct ctf_stream *streams; /* one for each channel */
	uint32_t nstreams;
};

/* The enum record_kind of "provider:event": libhone's own are structure records, all others points. */
uint8_t ctf_record_kind(const char *name);

/* An empty trace. max_bytes: limit of the memory that its metadata may take. */
void ctf_trace_init(struct ctf_trace *t, size_t max_bytes);
void ctf_trace_release(struct ctf_trace *t);

/* Parses all whole statements of `text`, which continues where the *used of the last call ended.
 * Metadata grows while programs run, so an incomplete statement at the end is no error: it is left
 * for the next call. ERR_INPUT: a statement is malformed, or LTTng-UST 2.13 does not write such a
 * one (the text says what and where); statements before it are in effect, *used is behind it.
 * ERR_MEMORY: max_bytes is reached. O(len). */
int ctf_metadata(struct ctf_trace *t, const char *text, size_t len, size_t *used, struct err *e);

/* Metadata on disk is text in packets, each with a header of 37 bytes. Returns the size of the packet
 * at `data`, its text in *text and *len. 0: incomplete; ERR_INPUT: not a metadata packet. */
int64_t ctf_metadata_unwrap(
    const void *data, size_t left, const char **text, size_t *len, struct err *e);

struct ctf_packet { /* a cursor over the records of a packet */
	const struct ctf_stream *stream;
	const uint8_t *base, *at, *end;
	struct ctf_event *event; /* of the next record */
	int64_t time_ns;         /* of the next record */
	int64_t begin_ns, end_ns;
	uint64_t discarded, seq; /* of the packet context */
};

/* Puts the cursor before the first record. data: a packet of len bytes, with or without its padding;
 * texts of records point into it. ERR_INPUT: not a packet of this trace. */
int ctf_packet_open(
    struct ctf_packet *p, struct ctf_trace *t, const void *data, size_t len, struct err *e);

/* Decodes the header of the next record into event and time_ns. 1; 0: there is no more record;
 * ERR_INPUT. */
int ctf_packet_next(struct ctf_packet *p, struct err *e);

/* Decodes the record whose header ctf_packet_next() has decoded. `values` has room for CTF_SLOTS: the
 * first event->nfields are the payload; texts point into the packet or the trace. Sets all members of
 * *r but label, values, and, without a vpid context, pid. ERR_INPUT. No allocation; O(bytes). */
int ctf_packet_take(struct ctf_packet *p, struct record *r, struct value *values, struct err *e);

struct ctf_index { /* an index entry: the consumer daemon's description of a packet in the file */
	uint64_t offset, packet_bytes, content_bytes;
	uint64_t begin_ns, end_ns, discarded, stream_id, stream_instance, seq;
};

enum { CTF_INDEX_HEAD = 16, CTF_INDEX_ENTRY = 72 };

/* The size of the entries of an index file (CTF_INDEX_ENTRY or more), by its head; ERR_INPUT. */
int ctf_index_head(const uint8_t head[CTF_INDEX_HEAD], struct err *e);
/* 0; ERR_INPUT: sizes are no whole bytes, content is larger than the packet, or times are reversed. */
int ctf_index_entry(struct ctf_index *ret, const uint8_t entry[CTF_INDEX_ENTRY], struct err *e);

#endif
