/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Common Trace Format 1.8, as LTTng-UST 2.13 writes it: metadata text
 * (TSDL) becomes event classes, bytes of a packet become records. Pure: no
 * files, no clocks. Whatever the bytes are, nothing outside of them is read.
 *
 *	packet:  header | packet context | event | event | ... | padding
 *	event:   event header (id, 27 or 32 bits of time; or, extended, all 64) | context | payload
 *
 * Understood as field: integers of 8 to 64 bits in either byte order, enums
 * (as the text of their label), floats, strings, arrays and sequences of
 * characters (as text), variants of those. Other arrays and sequences are
 * stepped over; of such a sequence the length remains, as field "name_length".
 */
#ifndef AGENT_CTF_CTF_H
#define AGENT_CTF_CTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "wire/record.h"

struct ctf_op;
struct ctf_scope;

struct ctf_code { /* how to walk over a struct */
	struct ctf_op *ops;
	uint32_t nops, nregs;
};

/* What is asked of a record besides its payload. Where a value is not there, its type is
 * VALUE_NONE. */
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
	uint32_t label;  /* the caller's; UINT32_MAX at first */
	bool of_address; /* the caller's: its first value is the address of a lock or a function */
};

struct ctf_stream {
	uint64_t id;
	struct ctf_code context;
	uint32_t header_align;                        /* bytes; of the event header */
	uint32_t id_bits;                             /* 5 or 16 */
	uint32_t extended_align, extended_time_align; /* bytes */
	/* where things are in a packet, in bytes from its start; UINT32_MAX: not there */
	uint32_t begin_at, end_at, content_at, size_at, seq_at, discarded_at, head_bytes;
	struct ctf_event **events; /* by id, NULL where there is none */
	size_t nevents, cap;
};

struct ctf_trace {
	struct arena arena;      /* all texts, types and code; nothing is freed before the whole */
	size_t max_bytes;        /* of that arena */
	struct ctf_scope *scope; /* named types */
	const char *procname;    /* env: NULL until it is known */
	uint32_t vpid;
	const char *tracer; /* env: its name; NULL until it is known */
	uint32_t tracer_major, tracer_minor;
	bool has_trace; /* the trace block was there */
	uint8_t uuid[16];
	bool has_uuid;
	uint32_t stream_id_at, uuid_at, header_bytes;
	struct ctf_stream
	    early; /* events of a stream that is not declared yet: only id and events */
	struct ctf_stream *streams; /* few: one for each channel */
	uint32_t nstreams;
};

/* The enum record_kind of a tracepoint "provider:event": those of libhone are structure records. */
uint8_t ctf_record_kind(const char *name);

/* An empty trace. max_bytes bounds the memory that metadata may take. */
void ctf_trace_init(struct ctf_trace *t, size_t max_bytes);
void ctf_trace_release(struct ctf_trace *t);

/* Takes all whole statements of text, which goes on where the last call's *used ended. Metadata
 * grows while programs run, so an unfinished statement at the end is no error, it is left for the
 * next call. ERR_INPUT: malformed, or of a kind that LTTng-UST does not write (the words say what
 * and where); what came before stays good, *used is behind the bad statement. ERR_MEMORY. O(len).
 */
int ctf_metadata(struct ctf_trace *t, const char *text, size_t len, size_t *used, struct err *e);

/* Metadata as it lies on disk: text cut into packets, each with a header of 37 bytes. Gives the
 * next packet's text in *text and *len and its whole size. 0: incomplete; ERR_INPUT: this is no
 * such packet. */
int64_t ctf_metadata_unwrap(
    const void *data, size_t left, const char **text, size_t *len, struct err *e);

struct ctf_packet { /* a packet that is being read */
	const struct ctf_stream *stream;
	const uint8_t *base, *at, *end;
	struct ctf_event *event; /* of the record that comes next */
	int64_t time_ns;         /* of that record */
	int64_t begin_ns, end_ns;
	uint64_t discarded, seq; /* as the packet says */
};

/* data: a whole packet of len bytes (its content may be less); it must live as long as the records
 * do. Stands before the first record. ERR_INPUT: not a packet of this trace. */
int ctf_packet_open(
    struct ctf_packet *p, struct ctf_trace *t, const void *data, size_t len, struct err *e);

/* Looks at the next record: 1: event and time_ns say what comes. 0: the packet is at its end.
 * ERR_INPUT. */
int ctf_packet_next(struct ctf_packet *p, struct err *e);

/* Takes the record that ctf_packet_next() found. values has CTF_SLOTS places: the first
 * event->nfields are the payload; texts point into the packet or the trace. Sets all of *r but
 * label, values, and pid where there is no vpid context. ERR_INPUT. No allocation; O(bytes). */
int ctf_packet_take(struct ctf_packet *p, struct record *r, struct value *values, struct err *e);

struct ctf_index { /* what the consumer daemon says of a packet that it has written */
	uint64_t offset, packet_bytes, content_bytes;
	uint64_t begin_ns, end_ns, discarded, stream_id, stream_instance, seq;
};

enum { CTF_INDEX_HEAD = 16, CTF_INDEX_ENTRY = 72 };

/* The head of an index file: the size of its entries, or ERR_INPUT. */
int ctf_index_head(const uint8_t head[CTF_INDEX_HEAD], struct err *e);
/* 0, or ERR_INPUT where the sizes cannot be (not whole bytes, content larger than packet, times
 * reversed). */
int ctf_index_entry(struct ctf_index *ret, const uint8_t entry[CTF_INDEX_ENTRY], struct err *e);

#endif
