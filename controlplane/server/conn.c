/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/server/conn.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

void
conn_init(struct conn *c, enum door door, const struct conn_limits *l, struct mono now)
{
	memset(c, 0, sizeof *c);
	c->door = door;
	c->stage = door == DOOR_AGENTS ? CONN_NEW : CONN_OPEN;
	c->limits = *l;
	c->opened = c->heard = now;
	c->who = (struct who){ .uid = -1, .pid = -1 };
	bucket_init(&c->rate, l->frames_per_s, 2 * l->frames_per_s, now);
}

void
conn_release(struct conn *c)
{
	arena_release(&c->texts);
	memset(&c->hello, 0, sizeof c->hello);
}

static bool
expected(const struct conn *c, unsigned kind)
{
	if (kind == FRAME_REFUSE)
		return true;
	if (c->door == DOOR_OPERATORS)
		return kind == FRAME_ASK && c->stage == CONN_OPEN;
	switch (c->stage) {
	case CONN_NEW:
		return kind == FRAME_HELLO;
	case CONN_OPEN:
		return kind == FRAME_RECORDS || kind == FRAME_STATUS || kind == FRAME_PROGRAMS ||
		       kind == FRAME_DONE || kind == FRAME_CLOCK || kind == FRAME_KEPT;
	default:
		return kind == FRAME_STATUS || kind == FRAME_PROGRAMS;
	}
}

static const char *
awaited(const struct conn *c)
{
	if (c->door == DOOR_OPERATORS)
		return c->stage == CONN_ASKED ? "no frame before the answer" : "ASK";
	switch (c->stage) {
	case CONN_NEW:
		return "HELLO";
	case CONN_GREETED:
		return "only STATUS or PROGRAMS before WELCOME";
	default:
		return "RECORDS, STATUS, PROGRAMS, DONE, KEPT or CLOCK";
	}
}

int
conn_header(struct conn *c, const struct frame *f, struct err *e)
{
	if (!expected(c, f->kind))
		return err_set(e, ERR_INPUT, "a frame %s where %s was expected%s",
		    frame_kind_name(f->kind), awaited(c),
		    c->door == DOOR_OPERATORS && f->kind == FRAME_HELLO
			? "; agents connect to another address"
			: "");
	c->spoke = true;
	return 0;
}

int64_t
conn_slow_ns(struct conn *c, unsigned kind, struct mono now)
{
	if (c->door != DOOR_AGENTS || kind == FRAME_RECORDS || kind == FRAME_REFUSE)
		return 0;
	return bucket_wait_ns(&c->rate, now);
}

/* Names of nodes are displayed, and are keys of traces: printable, without blanks. */
static int
check_node(const char *name, struct err *e)
{
	if (name[0] == '\0')
		return err_set(e, ERR_INPUT, "the name of the node is empty");
	for (const char *p = name; *p != '\0'; p++)
		if (!isgraph((unsigned char)*p) && (unsigned char)*p < 0x80)
			return err_set(
			    e, ERR_INPUT, "the name of the node has blanks or control characters");
	return 0;
}

static enum conn_act
take_hello(struct conn *c, const struct frame *f, const void *payload, struct err *e)
{
	if (hello_decode(&c->hello, &c->texts, payload, f->length, e) < 0) {
		err_prefix(e, "HELLO");
		return CONN_REFUSE;
	}
	if (check_node(c->hello.node, e) < 0)
		return CONN_REFUSE;
	if (c->only_node != NULL && strcmp(c->hello.node, c->only_node) != 0) {
		err_set(e, ERR_DENIED, "%s%smay speak for node %s only, not for %s", c->who.user,
		    c->who.user[0] != '\0' ? " " : "it ", c->only_node, c->hello.node);
		return CONN_REFUSE;
	}
	c->stage = CONN_GREETED;
	c->identified = true;
	return CONN_TAKE;
}

static enum conn_act
take_records(struct conn *c, const struct frame *f, struct err *e)
{
	if (f->seq == 0) {
		err_set(e, ERR_INPUT, "RECORDS without sequence number");
		return CONN_REFUSE;
	}
	if (f->seq < c->next_seq)
		return CONN_AGAIN;
	if (f->seq > c->next_seq) {
		err_set(e, ERR_INPUT, "batches are missing: batch %llu where %llu was expected",
		    (unsigned long long)f->seq, (unsigned long long)c->next_seq);
		return CONN_REFUSE;
	}
	c->next_seq++;
	return CONN_TAKE;
}

/* The peer closes the connection with a reason. The reason is displayed, so characters that are not
 * printable ASCII become a question mark. */
static enum conn_act
take_refusal(const struct frame *f, const void *payload, struct err *e)
{
	char text[200];
	size_t n = f->length < sizeof text - 1 ? f->length : sizeof text - 1;

	for (size_t i = 0; i < n; i++) {
		unsigned char ch = ((const unsigned char *)payload)[i];

		text[i] = ch >= 0x20 && ch < 0x7f ? (char)ch : '?';
	}
	text[n] = '\0';
	err_set(e, ERR_PEER, "the peer closed the connection: %s", text);
	return CONN_REFUSE;
}

enum conn_act
conn_frame(
    struct conn *c, const struct frame *f, const void *payload, struct mono now, struct err *e)
{
	if (conn_header(c, f, e) < 0)
		return CONN_REFUSE;
	c->heard = now;
	switch (f->kind) {
	case FRAME_REFUSE:
		return take_refusal(f, payload, e);
	case FRAME_HELLO:
		return take_hello(c, f, payload, e);
	case FRAME_RECORDS:
		return take_records(c, f, e);
	case FRAME_ASK:
		c->stage = CONN_ASKED;
		c->identified = true;
		return CONN_TAKE;
	default:
		return CONN_TAKE;
	}
}

void
conn_welcome(struct conn *c, uint64_t have_seq)
{
	c->next_seq = have_seq + 1;
	c->stage = CONN_OPEN;
}

void
conn_answered(struct conn *c, struct mono now)
{
	if (c->stage != CONN_ASKED)
		return;
	c->stage = CONN_OPEN;
	c->heard = now;
}

int
conn_patience_ms(const struct conn *c, struct mono now)
{
	int64_t left_ns;

	if (c->stage == CONN_ASKED)
		return INT_MAX;
	if (c->door == DOOR_OPERATORS && c->identified)
		left_ns = c->limits.idle_ns - mono_since_ns(now, c->heard);
	else if (!c->identified)
		left_ns = c->limits.hello_ns - mono_since_ns(now, c->opened);
	else
		left_ns = c->limits.silent_ns - mono_since_ns(now, c->heard);
	if (left_ns <= 0)
		return 0;
	left_ns = (left_ns + 999999) / 1000000;
	return left_ns > INT_MAX ? INT_MAX : (int)left_ns;
}

int
conn_deadline_passed(const struct conn *c, struct err *e)
{
	if (c->door == DOOR_OPERATORS && !c->identified)
		return err_set(
		    e, ERR_TIMEOUT, "no question within %.3g s", (double)c->limits.hello_ns / 1e9);
	if (c->door == DOOR_OPERATORS)
		return err_set(
		    e, ERR_TIMEOUT, "no question for %.3g s", (double)c->limits.idle_ns / 1e9);
	if (c->stage == CONN_NEW)
		return err_set(
		    e, ERR_TIMEOUT, "no HELLO within %.3g s", (double)c->limits.hello_ns / 1e9);
	return err_set(e, ERR_TIMEOUT, "no frame for %.3g s", (double)c->limits.silent_ns / 1e9);
}
