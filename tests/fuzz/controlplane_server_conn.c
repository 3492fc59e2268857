/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes on a connection: the input is a stream of frames, each preceded by two bytes of choice
 * (frame type, next action of the controller). Invariants: the first frame is HELLO, batches pass
 * in order without a gap, a question passes only when the one before was answered.
 */
#include <stdlib.h>
#include <string.h>

#include "controlplane/server/conn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                  \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

struct seen {
	bool welcomed;
	uint64_t next_seq;
	unsigned open_questions, hellos;
};

static void
took(struct conn *c, struct seen *s, const struct frame *f, unsigned choice, struct mono now)
{
	MUST(c->identified && c->spoke);
	switch (f->kind) {
	case FRAME_HELLO:
		MUST(c->door == DOOR_AGENTS && ++s->hellos == 1 && c->hello.node[0] != '\0');
		MUST(strlen(c->hello.node) <= NODE_NAME_MAX);
		if (choice & 1) {
			s->welcomed = true;
			s->next_seq = c->hello.first_seq;
			conn_welcome(c, c->hello.first_seq - 1);
		}
		break;
	case FRAME_RECORDS:
		MUST(s->welcomed && f->seq == s->next_seq++);
		break;
	case FRAME_ASK:
		MUST(c->door == DOOR_OPERATORS && ++s->open_questions == 1);
		if (choice & 1) {
			conn_answered(c, now);
			s->open_questions = 0;
		}
		break;
	default:
		MUST(c->door == DOOR_AGENTS && s->hellos == 1);
		MUST(f->kind == FRAME_STATUS || f->kind == FRAME_PROGRAMS ||
		     (s->welcomed && (f->kind == FRAME_DONE || f->kind == FRAME_CLOCK ||
					 f->kind == FRAME_KEPT)));
	}
}

/* One frame of the input, sealed as a peer would; false: no more, or the connection ended. */
static bool
one_frame(struct conn *c, struct seen *s, struct reader *r, struct mono now)
{
	unsigned kind = read_u8(r), choice = read_u8(r);
	uint64_t seq = read_uint(r);
	size_t len = (size_t)read_u8(r) % (reader_left(r) + 1);
	const uint8_t *payload = read_bytes(r, len);
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame f;
	struct err e;

	if (r->failed)
		return false;
	frame_seal(header, (enum frame_kind)(kind % 14), seq, payload, len);
	if (choice & 0x80)
		header[choice % FRAME_HEADER_BYTES] ^= (uint8_t)(1 + choice);
	if (conn_patience_ms(c, now) == 0)
		MUST(conn_deadline_passed(c, &e) == ERR_TIMEOUT);
	if (frame_open(&f, header, &e) < 0 || conn_header(c, &f, &e) < 0)
		return false;
	if (f.length != len || frame_check(&f, header, payload, &e) < 0)
		return false;
	switch (conn_frame(c, &f, payload, now, &e)) {
	case CONN_TAKE:
		took(c, s, &f, choice, now);
		return true;
	case CONN_AGAIN:
		MUST(f.kind == FRAME_RECORDS && s->welcomed && f.seq < s->next_seq);
		return true;
	default:
		MUST(e.code < 0 && e.text[0] != '\0');
		return false;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conn_limits limits = { 1000000000, 1000000000, 1000000000 };
	struct reader r = reader_of(data, size);
	struct mono now = { 1000000000 };
	struct seen s = { 0 };
	struct conn c;

	conn_init(&c, read_u8(&r) & 1 ? DOOR_OPERATORS : DOOR_AGENTS, &limits, now);
	while (one_frame(&c, &s, &r, now))
		now.ns += 10000000;
	conn_release(&c);
	return 0;
}
