/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/ctf/ctf_trace.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ctf/ctf_types.h"
#include "base/array.h"

enum { STREAMS_MAX = 64, EVENT_ID_MAX = 1 << 20 };

void
ctf_trace_init(struct ctf_trace *t, size_t max_bytes)
{
	memset(t, 0, sizeof *t);
	t->max_bytes = max_bytes;
}

void
ctf_trace_release(struct ctf_trace *t)
{
	for (uint32_t i = 0; i < t->nstreams; i++)
		free(t->streams[i].events);
	free(t->early.events);
	arena_release(&t->arena);
	memset(t, 0, sizeof *t);
}

/* Reads "key =" or "key :=" of a block; a dotted key is one text. Empty: the block has ended. */
static void
next_key(struct ctf_parser *p, char *key, size_t size)
{
	size_t len = 0;

	key[0] = '\0';
	if (ctf_accept(p, '}'))
		return;
	while (p->rc == 0 && (p->lex.token == TOKEN_WORD || p->lex.token == '.')) {
		if (len + p->lex.len + 1 > size) {
			ctf_bad(p, "a key is too long");
			break;
		}
		memcpy(key + len, p->lex.start, p->lex.len);
		len += p->lex.len;
		key[len] = '\0';
		ctf_lex_next(&p->lex);
	}
	if (!ctf_accept(p, '=') && !ctf_accept(p, TOKEN_ASSIGN))
		ctf_bad(p, "= or := is missing");
	if (p->rc != 0)
		key[0] = '\0';
}

static void
skip_value(struct ctf_parser *p)
{
	while (p->rc == 0 && p->lex.token != ';' && p->lex.token != TOKEN_END)
		ctf_lex_next(&p->lex);
}

static void
parse_uuid(struct ctf_parser *p, const char *text)
{
	struct ctf_trace *t = p->trace;
	unsigned n = 0;

	for (const char *c = text; c != NULL && *c != '\0' && n < 32; c++) {
		const char *digits = "0123456789abcdef", *at = strchr(digits, *c | 0x20);
		if (*c == '-')
			continue;
		if (at == NULL)
			break;
		t->uuid[n / 2] = (uint8_t)(t->uuid[n / 2] << 4 | (unsigned)(at - digits));
		n++;
	}
	t->has_uuid = n == 32;
}

static void
trace_block(struct ctf_parser *p)
{
	struct ctf_trace *t = p->trace;
	const struct ctf_type *header = NULL;
	char key[64];
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	while (next_key(p, key, sizeof key), key[0] != '\0') {
		if (strcmp(key, "packet.header") == 0) {
			header = ctf_parse_type(p);
		} else if (strcmp(key, "uuid") == 0) {
			parse_uuid(p, ctf_text(p));
		} else if (strcmp(key, "byte_order") == 0) {
			if (!ctf_lex_is(&p->lex, big ? "be" : "le"))
				ctf_bad(p, "the trace is not in this machine's byte order");
			skip_value(p);
		} else {
			skip_value(p);
		}
		ctf_expect(p, ';', "; is missing");
	}
	if (p->rc != 0)
		return;
	uint32_t bytes = 0;
	t->stream_id_at = t->uuid_at = UINT32_MAX;
	if (header == NULL || header->kind != CTF_STRUCT ||
	    ctf_offset(header, "magic", 0, &bytes) != 0) {
		ctf_bad(p, "packets have no magic number");
		return;
	}
	t->stream_id_at = ctf_offset(header, "stream_id", 0, &bytes);
	t->uuid_at = ctf_offset(header, "uuid", 0, &bytes);
	t->header_bytes = bytes;
	t->has_trace = bytes >= 4 &&
	               (t->stream_id_at == UINT32_MAX || t->stream_id_at + 4 <= bytes) &&
	               (t->uuid_at == UINT32_MAX || t->uuid_at + 16 <= bytes);
	if (!t->has_trace)
		ctf_bad(p, "an unknown form of packet header");
}

static void
env_block(struct ctf_parser *p)
{
	char key[64];

	while (next_key(p, key, sizeof key), key[0] != '\0') {
		if (strcmp(key, "procname") == 0)
			p->trace->procname = ctf_text(p);
		else if (strcmp(key, "vpid") == 0)
			p->trace->vpid = (uint32_t)ctf_number(p);
		else if (strcmp(key, "tracer_name") == 0)
			p->trace->tracer = ctf_text(p);
		else if (strcmp(key, "tracer_major") == 0)
			p->trace->tracer_major = (uint32_t)ctf_number(p);
		else if (strcmp(key, "tracer_minor") == 0)
			p->trace->tracer_minor = (uint32_t)ctf_number(p);
		else
			skip_value(p);
		ctf_expect(p, ';', "; is missing");
	}
}

/* Times are used unchanged, so they must be nanoseconds of CLOCK_MONOTONIC, which an LTTng clock
 * plugin could change. */
static void
clock_block(struct ctf_parser *p)
{
	char key[64];

	while (next_key(p, key, sizeof key), key[0] != '\0') {
		if (strcmp(key, "freq") == 0 && ctf_number(p) != 1000000000)
			ctf_bad(p, "the clock does not count nanoseconds");
		else if (strcmp(key, "name") == 0 &&
			 !(p->lex.len == 9 && memcmp(p->lex.start, "monotonic", 9) == 0))
			ctf_bad(p, "the clock is not the monotonic one");
		skip_value(p);
		ctf_expect(p, ';', "; is missing");
	}
}

static const struct ctf_type *
member(const struct ctf_type *t, const char *name)
{
	for (uint32_t i = 0; t != NULL && i < t->nfields; i++)
		if (strcmp(t->fields[i].name, name) == 0)
			return t->fields[i].type;
	return NULL;
}

/* LTTng writes event headers with 5 bits of id and 27 of time, or with 16 and 32. The largest id says
 * that an id of 32 bits and a time of 64 follow. */
static void
event_header(struct ctf_parser *p, struct ctf_stream *s, const struct ctf_type *t)
{
	const struct ctf_type *id = member(t, "id"), *v = member(t, "v");
	const struct ctf_type *compact = member(v, "compact"), *extended = member(v, "extended");
	const struct ctf_type *time = member(compact, "timestamp"),
			      *wide_id = member(extended, "id");
	const struct ctf_type *wide = member(extended, "timestamp");

	if (id == NULL || time == NULL || wide_id == NULL || wide == NULL || id->kind != CTF_INT ||
	    time->kind != CTF_INT || wide_id->size_bits != 32 || wide->size_bits != 64 ||
	    t->nfields != 2 ||
	    !((id->size_bits == 5 && time->size_bits == 27) ||
		(id->size_bits == 16 && time->size_bits == 32)) ||
	    t->align_bits < 8 || wide_id->align_bits < 8 || wide->align_bits < 8) {
		ctf_bad(p, "an unknown form of event header");
		return;
	}
	s->id_bits = id->size_bits;
	s->header_align = t->align_bits / 8;
	if (s->id_bits == 16 && time->align_bits / 8 > s->header_align)
		s->header_align = time->align_bits / 8;
	s->extended_time_align = wide->align_bits / 8;
	s->extended_align = extended->align_bits / 8;
	if (((s->header_align & (s->header_align - 1)) |
		(s->extended_align & (s->extended_align - 1)) |
		(s->extended_time_align & (s->extended_time_align - 1))) != 0)
		ctf_bad(p, "an alignment is no power of two");
}

static void
packet_context(struct ctf_parser *p, struct ctf_stream *s, const struct ctf_type *t)
{
	uint32_t bytes = 0, from = p->trace->header_bytes;
	const uint32_t *needed[] = { &s->begin_at, &s->end_at, &s->content_at, &s->size_at,
		&s->seq_at, &s->discarded_at };

	s->begin_at = ctf_offset(t, "timestamp_begin", from, &bytes);
	s->end_at = ctf_offset(t, "timestamp_end", from, &bytes);
	s->content_at = ctf_offset(t, "content_size", from, &bytes);
	s->size_at = ctf_offset(t, "packet_size", from, &bytes);
	s->seq_at = ctf_offset(t, "packet_seq_num", from, &bytes);
	s->discarded_at = ctf_offset(t, "events_discarded", from, &bytes);
	s->head_bytes = from + bytes;
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (bytes == 0 || *needed[i] == UINT32_MAX || *needed[i] + 8 > s->head_bytes)
			ctf_bad(p, "an unknown form of packet context");
}

static uint32_t
context_slot(const char *name, const void *about)
{
	static const struct {
		const char *name;
		uint32_t slot;
	} known[] = {
		{ "app_hone_trace_id", CONTEXT_TRACE_ID },
		{ "app_hone_unit_id", CONTEXT_UNIT_ID },
		{ "vtid", CONTEXT_VTID },
		{ "vpid", CONTEXT_VPID },
	};
	(void)about;

	if (name[0] == '_')
		name++;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].slot;
	return CTF_TRASH;
}

static struct ctf_stream *
find_stream(struct ctf_trace *t, uint64_t id)
{
	for (uint32_t i = 0; i < t->nstreams; i++)
		if (t->streams[i].id == id)
			return &t->streams[i];
	return NULL;
}

static void
stream_block(struct ctf_parser *p)
{
	struct ctf_stream s = { 0 };
	const struct ctf_type *header = NULL, *packet = NULL, *context = NULL;
	char key[64];

	while (next_key(p, key, sizeof key), key[0] != '\0') {
		if (strcmp(key, "id") == 0)
			s.id = (uint64_t)ctf_number(p);
		else if (strcmp(key, "event.header") == 0)
			header = ctf_parse_type(p);
		else if (strcmp(key, "packet.context") == 0)
			packet = ctf_parse_type(p);
		else if (strcmp(key, "event.context") == 0)
			context = ctf_parse_type(p);
		else
			skip_value(p);
		ctf_expect(p, ';', "; is missing");
	}
	if (p->rc == 0 && (header == NULL || packet == NULL || !p->trace->has_trace))
		ctf_bad(p, "a stream without its headers");
	if (p->rc != 0)
		return;
	event_header(p, &s, header);
	packet_context(p, &s, packet);
	if (context != NULL && p->rc == 0)
		ctf_compile(p, &s.context, context, context_slot, NULL, NULL, NULL);
	if (p->trace->streams == NULL)
		p->trace->streams = ctf_memory(p, STREAMS_MAX, sizeof s);
	if (p->rc == 0 &&
	    (find_stream(p->trace, s.id) != NULL || p->trace->nstreams == STREAMS_MAX))
		ctf_bad(p, "a stream is declared twice, or there are too many");
	if (p->rc != 0)
		return;
	if (p->trace->early.events != NULL && p->trace->early.id == s.id) {
		s.events = p->trace->early.events;
		s.nevents = p->trace->early.nevents;
		s.cap = p->trace->early.cap;
		p->trace->early = (struct ctf_stream){ 0 };
	}
	p->trace->streams[p->trace->nstreams++] = s;
}

/* Events that were enabled before the first channel of a program was ready precede their stream. */
static struct ctf_stream *
stream_of_event(struct ctf_trace *t, uint64_t id)
{
	struct ctf_stream *s = find_stream(t, id);

	if (s != NULL)
		return s;
	if (t->early.events != NULL && t->early.id != id)
		return NULL;
	t->early.id = id;
	return &t->early;
}

uint8_t
ctf_record_kind(const char *name)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} structure[] = {
		{ "hone:request_begin", RECORD_REQUEST_BEGIN },
		{ "hone:request_end", RECORD_REQUEST_END },
		{ "hone:fork", RECORD_FORK },
		{ "hone:join", RECORD_JOIN },
		{ "hone:unit_begin", RECORD_UNIT_BEGIN },
		{ "hone:unit_end", RECORD_UNIT_END },
	};

	for (size_t i = 0; i < sizeof structure / sizeof *structure; i++)
		if (strcmp(name, structure[i].name) == 0)
			return structure[i].kind;
	return RECORD_POINT;
}

static uint32_t
payload_slot(const char *name, const void *about)
{
	const struct ctf_event *event = about;

	if (event->kind != RECORD_POINT && strcmp(name, "name") == 0)
		return CTF_NAME;
	if (event->kind != RECORD_POINT && strcmp(name, "link_id") == 0)
		return CTF_LINK_ID;
	return UINT32_MAX;
}

static void
put_event(struct ctf_parser *p, struct ctf_stream *s, struct ctf_event *event)
{
	assert(event->id <= EVENT_ID_MAX);
	if (!array_reserve(s->events, s->cap, event->id + 1)) {
		p->rc = err_set(p->e, ERR_MEMORY, "out of memory for event classes");
		return;
	}
	while (s->nevents <= event->id)
		s->events[s->nevents++] = NULL;
	if (s->events[event->id] != NULL)
		ctf_bad(p, "an event id is declared twice");
	else
		s->events[event->id] = event;
}

static void
compile_event(struct ctf_parser *p, struct ctf_event *event, const struct ctf_type *fields)
{
	const char *names[RECORD_VALUES_MAX];

	if (fields == NULL)
		return;
	ctf_compile(p, &event->payload, fields, payload_slot, event, names, &event->nfields);
	event->fields = ctf_memory(p, event->nfields + 1, sizeof *names);
	if (p->rc == 0)
		memcpy(event->fields, names, event->nfields * sizeof *names);
}

static void
event_block(struct ctf_parser *p)
{
	struct ctf_event *event = ctf_memory(p, 1, sizeof *event);
	const struct ctf_type *fields = NULL;
	struct ctf_stream *s = NULL;
	uint64_t stream_id = 0;
	char key[64];

	while (next_key(p, key, sizeof key), key[0] != '\0') {
		if (strcmp(key, "name") == 0)
			event->name = ctf_text(p);
		else if (strcmp(key, "id") == 0)
			event->id = (uint64_t)ctf_number(p);
		else if (strcmp(key, "stream_id") == 0)
			stream_id = (uint64_t)ctf_number(p);
		else if (strcmp(key, "fields") == 0)
			fields = ctf_parse_type(p);
		else if (strcmp(key, "context") == 0)
			ctf_bad(p, "an event with a context of its own");
		else
			skip_value(p);
		ctf_expect(p, ';', "; is missing");
	}
	if (p->rc == 0 && (event->name == NULL || event->id > EVENT_ID_MAX ||
			      (s = stream_of_event(p->trace, stream_id)) == NULL))
		ctf_bad(p, "an event without name or stream, or with too large an id");
	if (p->rc != 0)
		return;
	event->kind = ctf_record_kind(event->name);
	event->label = UINT32_MAX;
	compile_event(p, event, fields);
	if (p->rc == 0)
		put_event(p, s, event);
}

static void
statement(struct ctf_parser *p)
{
	static const struct {
		const char *word;
		void (*parse)(struct ctf_parser *);
	} blocks[] = {
		{ "trace", trace_block },
		{ "env", env_block },
		{ "clock", clock_block },
		{ "stream", stream_block },
		{ "event", event_block },
	};
	struct ctf_lexer word = p->lex;

	if (ctf_lex_is(&word, "struct") || ctf_lex_is(&word, "enum") ||
	    ctf_lex_is(&word, "variant")) {
		ctf_parse_type(p);
		return;
	}
	if (p->lex.token == ';')
		return;
	if (!ctf_expect(p, TOKEN_WORD, "a statement is missing"))
		return;
	if (ctf_lex_is(&word, "typealias")) {
		ctf_parse_alias(p);
		return;
	}
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		if (ctf_lex_is(&word, blocks[i].word)) {
			if (ctf_expect(p, '{', "{ is missing"))
				blocks[i].parse(p);
			return;
		}
	p->lex = word;
	ctf_bad(p, "an unknown statement");
}

int
ctf_metadata(struct ctf_trace *t, const char *text, size_t len, size_t *used, struct err *e)
{
	struct ctf_parser p = { .trace = t, .e = e };
	size_t whole;

	assert(t->max_bytes > 0);
	*used = 0;
	if (t->scope == NULL && (t->scope = arena_calloc(&t->arena, 1, sizeof *t->scope)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for metadata");
	while (p.rc == 0 && (whole = ctf_lex_statement(text + *used, len - *used)) > 0) {
		ctf_lex_begin(&p.lex, text + *used, whole);
		*used += whole;
		statement(&p);
	}
	return p.rc;
}

/* The header of a metadata packet:
 * magic 0x75d11d57 | uuid 16 | checksum 4 | content bits 4 | packet bits 4 | compression,
 * encryption, checksum scheme, major, minor: 1 each.
 */
int64_t
ctf_metadata_unwrap(const void *data, size_t left, const char **text, size_t *len, struct err *e)
{
	const uint8_t *d = data;
	uint32_t magic, content, packet;
	enum { HEAD = 37 };

	if (left < HEAD)
		return 0;
	memcpy(&magic, d, 4);
	memcpy(&content, d + 24, 4);
	memcpy(&packet, d + 28, 4);
	if (magic != 0x75d11d57 || content % 8 != 0 || packet % 8 != 0 || content > packet ||
	    content / 8 < HEAD || d[32] != 0 || d[33] != 0)
		return err_set(e, ERR_INPUT, "metadata: not a metadata packet");
	if (left < packet / 8)
		return 0;
	*text = (const char *)d + HEAD;
	*len = content / 8 - HEAD;
	return packet / 8;
}

static uint64_t
big(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return be64toh(v);
}

int
ctf_index_head(const uint8_t head[CTF_INDEX_HEAD], struct err *e)
{
	uint32_t word[4];

	memcpy(word, head, sizeof word);
	uint32_t bytes = be32toh(word[3]);
	if (be32toh(word[0]) != 0xc1f1dcc1 || be32toh(word[1]) != 1 || bytes < CTF_INDEX_ENTRY ||
	    bytes > 4096)
		return err_set(e, ERR_INPUT, "index: not of version 1.1");
	return (int)bytes;
}

int
ctf_index_entry(struct ctf_index *ret, const uint8_t entry[CTF_INDEX_ENTRY], struct err *e)
{
	uint64_t packet_bits = big(entry + 8), content_bits = big(entry + 16);

	*ret = (struct ctf_index){
		.offset = big(entry),
		.packet_bytes = packet_bits / 8,
		.content_bytes = content_bits / 8,
		.begin_ns = big(entry + 24),
		.end_ns = big(entry + 32),
		.discarded = big(entry + 40),
		.stream_id = big(entry + 48),
		.stream_instance = big(entry + 56),
		.seq = big(entry + 64),
	};
	if (packet_bits % 8 != 0 || content_bits % 8 != 0 || content_bits > packet_bits ||
	    packet_bits == 0 || ret->begin_ns > ret->end_ns || ret->end_ns > INT64_MAX ||
	    ret->offset > INT64_MAX - ret->packet_bytes)
		return err_set(e, ERR_INPUT, "index: an invalid entry");
	return 0;
}
