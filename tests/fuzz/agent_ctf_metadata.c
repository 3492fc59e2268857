/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arbitrary metadata, then an arbitrary packet: 2 bytes of length, that much metadata, and the rest
 * is a packet. If the length is even, the metadata follows the real metadata of tests/data, so that
 * packets can be decoded. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ctf/ctf_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *known;
static size_t known_len;

static void
load_known(void)
{
	FILE *f;

	if (known != NULL)
		return;
	f = fopen("tests/data/ctf-kinds.metadata", "rb");
	known = malloc(1 << 16);
	if (f == NULL || known == NULL) {
		fprintf(
		    stderr, "tests/data/ctf-kinds.metadata: run this in the project's folder\n");
		exit(1);
	}
	known_len = fread(known, 1, 1 << 16, f);
	fclose(f);
}

static void
feed(struct ctf_trace *t, const char *text, size_t len)
{
	struct err e;
	size_t used, at = 0;

	while (ctf_metadata(t, text + at, len - at, &used, &e) == ERR_INPUT && used > 0)
		at += used;
}

static void
check(const struct ctf_event *ev, const struct record *r, const struct value *v)
{
	volatile char last;

	if (r->nvalues != ev->nfields || r->nvalues > RECORD_VALUES_MAX)
		abort();
	for (uint32_t i = 0; i < r->nvalues; i++) {
		if (v[i].type == VALUE_TEXT && v[i].len > VALUE_TEXT_MAX)
			abort();
		if (v[i].type == VALUE_TEXT && v[i].len > 0)
			last = v[i].text[v[i].len - 1];
		if (ev->fields[i][0] == '\xff')
			last = 0;
	}
	(void)last;
}

static void
read_packet(struct ctf_trace *t, const uint8_t *data, size_t size)
{
	struct ctf_packet p;
	struct record r;
	struct value v[CTF_SLOTS];
	struct err e;

	memset(v, 0, sizeof v);
	if (ctf_packet_open(&p, t, data, size, &e) != 0)
		return;
	for (int64_t before = p.begin_ns; ctf_packet_next(&p, &e) == 1; before = p.time_ns) {
		const uint8_t *at = p.at;
		const struct ctf_event *ev = p.event;
		if (p.time_ns < before || p.time_ns > p.end_ns || p.at > p.end)
			abort();
		if (ctf_packet_take(&p, &r, v, &e) != 0)
			break;
		if (p.at < at || p.at > p.end)
			abort();
		check(ev, &r, v);
	}
}

/* Writes a valid packet header and a content size equal to the available bytes, so that the
 * fuzzer need not find them. */
static void
repair(struct ctf_trace *t, uint8_t *packet, size_t size)
{
	uint32_t magic = 0xc1fc1fc1;
	uint64_t bits = size * 8;

	if (t->nstreams == 0 || size < t->streams[0].head_bytes)
		return;
	memcpy(packet, &magic, 4);
	if (t->has_uuid && t->uuid_at != UINT32_MAX)
		memcpy(packet + t->uuid_at, t->uuid, 16);
	if (t->stream_id_at != UINT32_MAX)
		memset(packet + t->stream_id_at, 0, 4);
	memcpy(packet + t->streams[0].content_at, &bits, 8);
	memcpy(packet + t->streams[0].size_at, &bits, 8);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctf_trace t;
	struct ctf_index index;
	struct err e;
	const char *text;
	size_t len;

	if (size < 3)
		return 0;
	load_known();
	size_t meta = (size_t)(data[0] | data[1] << 8);
	bool real = (data[0] & 1) == 0;
	uint8_t *rest = malloc(size);
	if (rest == NULL)
		return 0;
	meta = meta > size - 2 ? size - 2 : meta;
	ctf_trace_init(&t, 1 << 20);
	if (real)
		feed(&t, known, known_len);
	feed(&t, (const char *)data + 2, meta);
	size_t left = size - 2 - meta;
	memcpy(rest, data + 2 + meta, left);
	uint8_t *packet = realloc(rest, left > 0 ? left : 1);
	if (packet != NULL) {
		if (data[2] & 1)
			repair(&t, packet, left);
		read_packet(&t, packet, left);
		ctf_metadata_unwrap(packet, left, &text, &len, &e);
		if (left >= CTF_INDEX_ENTRY && ctf_index_entry(&index, packet, &e) == 0)
			ctf_index_head(packet, &e);
	}
	free(packet != NULL ? packet : rest);
	ctf_trace_release(&t);
	return 0;
}
