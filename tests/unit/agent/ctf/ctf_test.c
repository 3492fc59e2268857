/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tests/data/ctf-kinds.*: recorded by LTTng-UST 2.13 from two rounds of
 * tests/scenario/source_program.c with libhone, in sub-buffers of 4096 bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/ctf/ctf_trace.h"
#include "base/rng.h"

static char *
load(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *data = malloc(1 << 20);

	assert_non_null(f);
	assert_non_null(data);
	*len = fread(data, 1, 1 << 20, f);
	fclose(f);
	char *fit = realloc(
	    data, *len > 0 ? *len : 1); /* exact size: a sanitizer detects reads past the end */
	assert_non_null(fit);
	return fit;
}

static void
trace_of(struct ctf_trace *t, const char *text, size_t len)
{
	struct err e = { 0 };
	size_t used;

	ctf_trace_init(t, 1 << 24);
	if (ctf_metadata(t, text, len, &used, &e) != 0)
		fail_msg("%s", e.text);
	/* only blanks remain */
	for (size_t i = used; i < len; i++)
		assert_true(text[i] == '\n' || text[i] == ' ');
}

static void
load_trace(struct ctf_trace *t)
{
	size_t len;
	char *text = load("tests/data/ctf-kinds.metadata", &len);

	trace_of(t, text, len);
	free(text);
}

static const struct ctf_event *
event(const struct ctf_trace *t, const char *name)
{
	for (size_t i = 0; i < t->streams[0].nevents; i++)
		if (t->streams[0].events[i] != NULL &&
		    strcmp(t->streams[0].events[i]->name, name) == 0)
			return t->streams[0].events[i];
	return NULL;
}

static uint32_t
field(const struct ctf_event *ev, const char *name)
{
	for (uint32_t i = 0; i < ev->nfields; i++)
		if (strcmp(ev->fields[i], name) == 0)
			return i;
	fail_msg("no field %s", name);
	return 0;
}

static void
metadata_becomes_event_classes(void **state)
{
	struct ctf_trace t;
	const struct ctf_event *ev;
	(void)state;

	load_trace(&t);
	assert_string_equal(t.procname, "source_program");
	assert_true(t.vpid > 0);
	assert_int_equal(t.nstreams, 1);
	assert_int_equal(t.streams[0].head_bytes, 84);
	assert_non_null(ev = event(&t, "kinds:ints"));
	assert_int_equal(ev->kind, RECORD_POINT);
	assert_int_equal(ev->nfields, 18); /* excluding the hidden field */
	assert_string_equal(ev->fields[0], "i8");
	assert_non_null(ev = event(&t, "kinds:others"));
	/* excluding arrays of numbers, including lengths of sequences */
	assert_int_equal(ev->nfields, 9);
	field(ev, "seq_length");
	field(ev, "array_text");
	field(ev, "seq_text");
	assert_int_equal(event(&t, "kinds:none")->nfields, 0);
	assert_int_equal(event(&t, "kinds:wide")->nfields, RECORD_VALUES_MAX);
	assert_non_null(ev = event(&t, "hone:request_begin"));
	assert_int_equal(ev->kind, RECORD_REQUEST_BEGIN);
	assert_int_equal(ev->nfields, 2); /* name and link_id have become part of the record */
	assert_string_equal(ev->fields[0], "trace_id_high");
	ctf_trace_release(&t);
}

/* Metadata grows while it is read: the result does not depend on where it is cut. */
static void
metadata_may_come_in_any_pieces(void **state)
{
	size_t len, used;
	char *text = load("tests/data/ctf-kinds.metadata", &len);
	(void)state;

	for (size_t piece = 1; piece < len; piece = piece * 3 + 1) {
		struct ctf_trace t;
		struct err e;
		size_t at = 0;

		ctf_trace_init(&t, 1 << 24);
		for (size_t have = piece;; have = have + piece < len ? have + piece : len) {
			assert_int_equal(ctf_metadata(&t, text + at, have - at, &used, &e), 0);
			at += used;
			if (have == len)
				break;
		}
		assert_non_null(event(&t, "kinds:wide"));
		assert_non_null(event(&t, "kinds:others"));
		ctf_trace_release(&t);
	}
	free(text);
}

static void
wrapped_metadata_is_the_same_text(void **state)
{
	size_t plain_len, len, at = 0, text_len, total = 0;
	char *plain = load("tests/data/ctf-kinds.metadata", &plain_len);
	char *data = load("tests/data/ctf-kinds.wrapped", &len);
	const char *text;
	struct err e;
	int64_t step;
	(void)state;

	while ((step = ctf_metadata_unwrap(data + at, len - at, &text, &text_len, &e)) > 0) {
		assert_true(total + text_len <= plain_len);
		assert_memory_equal(plain + total, text, text_len);
		total += text_len;
		at += (size_t)step;
	}
	assert_int_equal(step, 0);
	assert_int_equal(at, len);
	assert_int_equal(total, plain_len);
	assert_int_equal(ctf_metadata_unwrap(data, 4000, &text, &text_len, &e), 0);
	assert_int_equal(ctf_metadata_unwrap(plain, plain_len, &text, &text_len, &e), ERR_INPUT);
	free(data);
	free(plain);
}

static void
a_bad_statement_does_not_affect_others(void **state)
{
	static const char *const bad[] = {
		"event { name = \"a:b\"; id = 90; stream_id = 0; fields := struct { integer { size = 7; } x; }; };",
		"event { id = 90; stream_id = 0; };",
		"event { name = \"a:b\"; id = 99999999999; stream_id = 0; };",
		"nonsense;",
		"typealias integer { } := x;",
		"event { name = \"a:b\"; id = 90; stream_id = 0; fields := struct { unheard_of x; }; };",
		"event { name = \"a:b\"; id = 90; stream_id = 0; fields := struct { integer { size = 8; } x[ n ]; }; };",
		"event { name = \"a:b\"; id = 90; stream_id = 0; fields := struct { variant <t> { string s; } v; }; };",
		"clock { name = \"tsc\"; freq = 3000000000; };",
		"stream { id = 0; };",
		"{ } ;",
		"trace { }; ",
		"struct { ;",
	};
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char text[512];
		struct ctf_trace t;
		struct err e = { 0 };
		size_t used, at;

		load_trace(&t);
		int len = snprintf(text, sizeof text,
		    "%s event { name = \"c:d\"; id = 91; stream_id = 0; fields := struct { "
		    "string _s; }; };",
		    bad[i]);
		int rc = ctf_metadata(&t, text, (size_t)len, &used, &e);
		if (strcmp(bad[i], "struct { ;") == 0) { /* an incomplete statement */
			assert_int_equal(rc, 0);
			assert_int_equal(used, 0);
		} else {
			if (rc != ERR_INPUT)
				fail_msg("taken: %s", bad[i]);
			assert_true(strlen(e.text) > 10);
			at = used;
			assert_int_equal(
			    ctf_metadata(&t, text + at, (size_t)len - at, &used, &e), 0);
			assert_non_null(event(&t, "c:d"));
		}
		assert_null(event(&t, "a:b"));
		ctf_trace_release(&t);
	}
}

/* A tracepoint that is enabled before the first channel of the program is ready. */
static void
events_may_precede_their_stream(void **state)
{
	size_t len;
	char *text = load("tests/data/ctf-kinds.metadata", &len), *moved = malloc(len + 200);
	static const char EARLY[] = "event { name = \"a:early\"; id = 70; stream_id = 0; };\n";
	struct ctf_trace t;
	(void)state;

	assert_non_null(moved);
	char *stream = strstr(text, "\nstream {");
	assert_non_null(stream);
	size_t before = (size_t)(stream - text);
	memcpy(moved, text, before);
	memcpy(moved + before, EARLY, sizeof EARLY - 1);
	memcpy(moved + before + sizeof EARLY - 1, stream, len - before);
	trace_of(&t, moved, before + sizeof EARLY - 1);
	assert_int_equal(t.nstreams, 0);
	ctf_trace_release(&t);
	trace_of(&t, moved, len + sizeof EARLY - 1);
	assert_non_null(event(&t, "a:early"));
	assert_non_null(event(&t, "kinds:wide"));
	ctf_trace_release(&t);
	free(moved);
	free(text);
}

static bool
is_text(const struct value *v, const char *text)
{
	return v->type == VALUE_TEXT && v->len == strlen(text) &&
	       memcmp(v->text, text, v->len) == 0;
}

/* The fields of the program's second round. */
static void
check_record(const struct ctf_event *ev, const struct record *r, const struct value *v)
{
	const uint64_t n = 0x9e3779b97f4a7c15u;

	if (strcmp(ev->name, "kinds:ints") == 0) {
		assert_int_equal(v[field(ev, "i8")].i, (int8_t)n);
		assert_int_equal(v[field(ev, "u8")].u, (uint8_t)n);
		assert_int_equal(v[field(ev, "i16")].i, (int16_t)n);
		assert_int_equal(v[field(ev, "i32")].i, (int32_t)n);
		assert_true(v[field(ev, "i64")].i == (int64_t)n);
		assert_true(v[field(ev, "u64")].u == n);
		assert_int_equal(v[field(ev, "net16")].u, __builtin_bswap16((uint16_t)n));
		assert_int_equal(v[field(ev, "net32")].i, (int32_t)__builtin_bswap32((uint32_t)n));
		assert_true(v[field(ev, "net64")].u == __builtin_bswap64(n));
		assert_int_equal(v[field(ev, "i8")].type, VALUE_INT);
		assert_int_equal(v[field(ev, "u8")].type, VALUE_UINT);
		assert_true(is_text(&v[field(ev, "quoted")], "a \"quoted\" one; with } and {"));
		assert_int_equal(n % 13, 12); /* no label matches: the number */
		assert_int_equal(v[field(ev, "color")].u, 12);
		assert_true(is_text(&v[field(ev, "below")], "LOW"));
	} else if (strcmp(ev->name, "kinds:others") == 0) {
		assert_true(v[field(ev, "f")].d == -1.75);
		assert_true(v[field(ev, "d")].d == -1.75);
		assert_true(is_text(&v[field(ev, "text")], "plain"));
		assert_true(is_text(&v[field(ev, "seq_text")], "plain"));
		assert_true(is_text(&v[field(ev, "array_text")], "ab"));
		assert_int_equal(v[field(ev, "seq_length")].u, 1);
		assert_int_equal(v[field(ev, "last")].u, 1);
	} else if (ev->kind == RECORD_FORK || ev->kind == RECORD_JOIN) {
		assert_true(is_text(&v[CTF_NAME], "part"));
		assert_true(r->link_id != 0);
	} else if (ev->kind == RECORD_REQUEST_BEGIN) {
		assert_true(is_text(&v[CTF_NAME], "GET_ODD"));
	} else if (ev->kind == RECORD_REQUEST_END) {
		assert_int_equal(v[field(ev, "status")].i, 200);
	}
}

static void
packets_become_records(void **state)
{
	struct ctf_trace t;
	struct err e = { 0 };
	size_t len, seen = 0;
	uint64_t first_trace = 0;
	char *data = load("tests/data/ctf-kinds.packets", &len);
	(void)state;

	load_trace(&t);
	for (size_t at = 0; at + 4096 <= len; at += 4096) {
		struct ctf_packet p;
		int64_t before_ns = 0;

		assert_int_equal(ctf_packet_open(&p, &t, data + at, 4096, &e), 0);
		assert_int_equal(p.seq, at / 4096);
		assert_int_equal(p.discarded, 0);
		while (ctf_packet_next(&p, &e) == 1) {
			struct value v[CTF_SLOTS];
			struct record r;
			const struct ctf_event *ev = p.event;

			if (ctf_packet_take(&p, &r, v, &e) != 0)
				fail_msg("%s", e.text);
			assert_true(r.trace_id != 0 && r.unit_id != 0 && r.tid != 0);
			assert_true(r.time_ns >= before_ns && r.time_ns >= p.begin_ns &&
				    r.time_ns <= p.end_ns);
			before_ns = r.time_ns;
			if (first_trace == 0)
				first_trace = r.trace_id;
			if (r.trace_id != first_trace)
				check_record(ev, &r, v);
			seen++;
		}
		assert_ptr_equal(p.at, p.end);
	}
	assert_int_equal(seen, 19);
	ctf_trace_release(&t);
	free(data);
}

/* Reads a packet to its end or to its first error. Returns the number of records. */
static unsigned
read_all(struct ctf_trace *t, const void *data, size_t len)
{
	struct ctf_packet p;
	struct record r;
	struct value v[CTF_SLOTS];
	struct err e;
	unsigned n = 0;

	if (ctf_packet_open(&p, t, data, len, &e) != 0)
		return 0;
	while (ctf_packet_next(&p, &e) == 1 && ctf_packet_take(&p, &r, v, &e) == 0)
		n++;
	return n;
}

/* Wherever a packet is cut, whole records are decoded and no byte behind the cut is read. */
static void
a_cut_packet_yields_its_whole_records(void **state)
{
	struct ctf_trace t;
	size_t len;
	unsigned before = 0;
	char *data = load("tests/data/ctf-kinds.packets", &len);
	uint64_t content;
	(void)state;

	load_trace(&t);
	memcpy(&content, data + t.streams[0].content_at, 8);
	for (size_t cut = 0; cut <= content / 8; cut++) {
		char *copy = malloc(cut > 0 ? cut : 1);
		uint64_t bits = cut * 8;

		assert_non_null(copy);
		memcpy(copy, data, cut);
		if (cut >= t.streams[0].head_bytes)
			memcpy(copy + t.streams[0].content_at, &bits, 8);
		unsigned n = read_all(&t, copy, cut);
		assert_true(n >= before && n <= before + 1);
		before = n;
		free(copy);
	}
	assert_true(before > 5);
	ctf_trace_release(&t);
	free(data);
}

static void
invalid_packets_are_refused(void **state)
{
	const uint64_t bits = (4096 + 8) * 8;
	struct ctf_trace t;
	struct ctf_packet p;
	struct rng rng;
	struct err e;
	size_t len;
	char *data = load("tests/data/ctf-kinds.packets", &len), longer[4096];
	(void)state;

	load_trace(&t);
	memcpy(longer, data, sizeof longer);
	memcpy(longer + t.streams[0].content_at, &bits, sizeof bits); /* more than there is */
	memcpy(longer + t.streams[0].size_at, &bits, sizeof bits);
	assert_int_equal(ctf_packet_open(&p, &t, longer, sizeof longer, &e), ERR_INPUT);
	rng_seed(&rng, 7);
	for (int i = 0; i < 20000; i++) {
		char copy[4096];
		memcpy(copy, data, sizeof copy);
		for (int k = 0; k < 4; k++)
			copy[rng_below(&rng, 1500)] ^= (char)(1 + rng_below(&rng, 255));
		read_all(&t, copy, sizeof copy);
	}
	ctf_trace_release(&t);
	free(data);
}

static void
append(uint8_t **at, const void *data, size_t len)
{
	memcpy(*at, data, len);
	*at += len;
}

/* LTTng-UST 2.13 writes event headers of 16 + 32 bits; the other form, 5 + 27, is composed here. */
static void
compact_headers_extend_their_times(void **state)
{
	static const char META[] =
	    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	    "typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
	    "typealias integer { size = 27; align = 1; signed = false; } := uint27_t;\n"
	    "trace { byte_order = le; packet.header := struct { uint32_t magic; uint32_t stream_id; }; };\n"
	    "struct packet_context { uint64_t timestamp_begin; uint64_t timestamp_end; uint64_t content_size;"
	    " uint64_t packet_size; uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id; };\n"
	    "struct event_header_compact { enum : uint5_t { compact = 0 ... 30, extended = 31 } id; variant <id> {"
	    " struct { uint27_t timestamp; } compact; struct { uint32_t id; uint64_t timestamp; } extended; } v; } align(8);\n"
	    "stream { id = 0; event.header := struct event_header_compact; packet.context := struct packet_context; };\n"
	    "event { name = \"a:b\"; id = 3; stream_id = 0; fields := struct { uint32_t _x; }; };\n"
	    "event { name = \"a:wide\"; id = 300; stream_id = 0; };\n";
	const int64_t begin = (INT64_C(5) << 27) + 100, third = (INT64_C(9) << 27) + 7;
	uint64_t head[6] = { (uint64_t)begin, (uint64_t)third + 50, 0, 4096 * 8, 17, 5 };
	uint8_t packet[256], *at = packet;
	uint32_t word, magic = 0xc1fc1fc1, zero = 0, x = 77, id = 300;
	struct ctf_trace t;
	struct ctf_packet p;
	struct record r;
	struct value v[CTF_SLOTS];
	struct err e = { 0 };
	(void)state;

	trace_of(&t, META, sizeof META - 1);
	append(&at, &magic, 4);
	append(&at, &zero, 4);
	append(&at, head, sizeof head);
	append(&at, &zero, 4);
	word = 3 | 110u << 5; /* 10 ns after begin */
	append(&at, &word, 4);
	append(&at, &x, 4);
	word = 3 | 5u << 5; /* the low bits have overflowed once */
	append(&at, &word, 4);
	append(&at, &x, 4);
	*at++ = 31; /* extended */
	append(&at, &id, 4);
	append(&at, &third, 8);
	head[2] = (uint64_t)(at - packet) * 8;
	memcpy(packet + t.streams[0].content_at, &head[2], 8);

	assert_int_equal(ctf_packet_open(&p, &t, packet, (size_t)(at - packet), &e), 0);
	assert_int_equal(p.seq, 17);
	assert_int_equal(p.discarded, 5);
	assert_int_equal(ctf_packet_next(&p, &e), 1);
	assert_true(p.time_ns == begin + 10);
	assert_int_equal(ctf_packet_take(&p, &r, v, &e), 0);
	assert_int_equal(v[0].u, 77);
	assert_int_equal(ctf_packet_next(&p, &e), 1);
	assert_true(p.time_ns == (INT64_C(6) << 27) + 5);
	assert_int_equal(ctf_packet_take(&p, &r, v, &e), 0);
	assert_int_equal(ctf_packet_next(&p, &e), 1);
	assert_true(p.time_ns == third);
	assert_string_equal(p.event->name, "a:wide");
	assert_int_equal(ctf_packet_take(&p, &r, v, &e), 0);
	assert_int_equal(r.nvalues, 0);
	assert_int_equal(ctf_packet_next(&p, &e), 0);

	memcpy(at - sizeof begin, &begin, sizeof begin); /* the last one is before the others */
	assert_int_equal(ctf_packet_open(&p, &t, packet, (size_t)(at - packet), &e), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ctf_packet_next(&p, &e), 1);
		assert_int_equal(ctf_packet_take(&p, &r, v, &e), 0);
	}
	assert_int_equal(ctf_packet_next(&p, &e), ERR_INPUT);
	ctf_trace_release(&t);
}

/* Every type of the dynamic context, and its absence in a process without libhone. */
static void
a_context_may_be_of_any_type_or_none(void **state)
{
	size_t len;
	char *text = load("tests/data/ctf-kinds.metadata", &len);
	char *data = load("tests/data/ctf-kinds.packets", &(size_t){ 0 });
	struct ctf_trace t;
	struct err e;
	(void)state;

	trace_of(&t, text, len);
	uint64_t head[6] = { 1000, 2000, 0, 4096 * 8, 0, 0 };
	for (uint8_t tag = 0; tag <= 12; tag++) {
		static const uint8_t bytes[] = { 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1 };
		uint8_t packet[256], *at = packet;
		uint64_t value = tag == 11 ? 0 : 5, zero = 0;
		struct ctf_packet p;
		struct record r;
		struct value v[CTF_SLOTS];

		append(&at, data, 32); /* the packet's header */
		append(&at, head, sizeof head);
		append(&at, &zero, 4);
		uint16_t id = (uint16_t)event(&t, "kinds:none")->id;
		uint32_t low = 1500, tid = 42;
		append(&at, &id, 2);
		append(&at, &low, 4);
		append(&at, &tid, 4);
		append(&at, &tag, 1); /* trace_id */
		append(&at, &value, tag < 12 ? bytes[tag] : 0);
		append(&at, &zero, 1); /* unit_id: _none */
		uint64_t bits = (uint64_t)(at - packet) * 8;
		memcpy(packet + t.streams[0].content_at, &bits, 8);

		assert_int_equal(ctf_packet_open(&p, &t, packet, (size_t)(at - packet), &e), 0);
		assert_int_equal(ctf_packet_next(&p, &e), 1);
		assert_int_equal(ctf_packet_take(&p, &r, v, &e), tag <= 11 ? 0 : ERR_INPUT);
		if (tag > 11)
			continue;
		assert_true(r.trace_id == (tag >= 1 && tag <= 8 ? 5 : 0));
		assert_int_equal(r.unit_id, 0);
		assert_int_equal(r.tid, 42);
		assert_ptr_equal(p.at, p.end);
	}
	ctf_trace_release(&t);
	free(text);
	free(data);
}

static void
an_index_locates_packets(void **state)
{
	size_t len;
	uint8_t *data = (uint8_t *)load("tests/data/ctf-kinds.index", &len);
	struct ctf_index index;
	struct err e;
	(void)state;

	assert_int_equal(ctf_index_head(data, &e), CTF_INDEX_ENTRY);
	for (size_t i = 0; CTF_INDEX_HEAD + (i + 1) * CTF_INDEX_ENTRY <= len; i++) {
		assert_int_equal(
		    ctf_index_entry(&index, data + CTF_INDEX_HEAD + i * CTF_INDEX_ENTRY, &e), 0);
		assert_int_equal(index.seq, i);
		assert_int_equal(index.offset, i * 4096);
		assert_int_equal(index.packet_bytes, 4096);
	}
	data[CTF_INDEX_HEAD + 16] = 0x7f; /* content larger than the packet */
	assert_int_equal(ctf_index_entry(&index, data + CTF_INDEX_HEAD, &e), ERR_INPUT);
	data[0] = 0;
	assert_int_equal(ctf_index_head(data, &e), ERR_INPUT);
	free(data);
}

static void
memory_is_bounded(void **state)
{
	struct ctf_trace t;
	struct err e;
	size_t len, used, at = 0;
	char *text = load("tests/data/ctf-kinds.metadata", &len);
	int rc;
	(void)state;

	ctf_trace_init(&t, 4096);
	while ((rc = ctf_metadata(&t, text + at, len - at, &used, &e)) == ERR_INPUT && used > 0)
		at += used;
	assert_int_equal(rc, ERR_MEMORY);
	assert_true(t.arena.total_bytes < 65536);
	ctf_trace_release(&t);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metadata_becomes_event_classes),
		cmocka_unit_test(metadata_may_come_in_any_pieces),
		cmocka_unit_test(wrapped_metadata_is_the_same_text),
		cmocka_unit_test(a_bad_statement_does_not_affect_others),
		cmocka_unit_test(events_may_precede_their_stream),
		cmocka_unit_test(packets_become_records),
		cmocka_unit_test(a_cut_packet_yields_its_whole_records),
		cmocka_unit_test(invalid_packets_are_refused),
		cmocka_unit_test(compact_headers_extend_their_times),
		cmocka_unit_test(a_context_may_be_of_any_type_or_none),
		cmocka_unit_test(an_index_locates_packets),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
