/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frames that a connection may send, and its rate; without sockets. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/server/conn.h"

#define S INT64_C(1000000000)

static const struct conn_limits LIMITS = {
	.hello_ns = 5 * S, .silent_ns = 7 * S, .idle_ns = 60 * S, .frames_per_s = 10
};

static struct mono
at(int64_t ns)
{
	return (struct mono){ 1000 * S + ns };
}

static enum conn_act
says(struct conn *c, enum frame_kind kind, uint64_t seq, const void *data, size_t len,
    struct mono now, struct err *e)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame f;

	frame_seal(header, kind, seq, data, len);
	assert_int_equal(frame_open(&f, header, e), 0);
	return conn_frame(c, &f, data, now, e);
}

static enum conn_act
says_hello(struct conn *c, const char *node, struct err *e)
{
	struct hello h = { .node = node, .incarnation = 1, .first_seq = 1, .version = "test" };
	struct buf b = { 0 };
	enum conn_act act;

	hello_encode(&h, &b);
	act = says(c, FRAME_HELLO, 0, b.data, b.len, at(0), e);
	buf_release(&b);
	return act;
}

/* Before a connection is identified, it can make the controller allocate no more memory than its
 * first frame may have. */
static void
an_unknown_peer_gets_memory_for_its_first_frame_only(void **state)
{
	static const char *const names[] = { "HELLO", "ASK" };
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame f;
	struct err e;
	(void)state;

	for (int door = 0; door < DOORS; door++)
		for (unsigned kind = 0; kind < 20; kind++) {
			struct conn c;
			bool first = kind == (door == DOOR_AGENTS ? FRAME_HELLO : FRAME_ASK);

			conn_init(&c, (enum door)door, &LIMITS, at(0));
			frame_seal(header, (enum frame_kind)kind, 0, "", 0);
			memcpy(header + 8, &(uint32_t){ 4096 }, 4);
			if (frame_open(&f, header, &e) == 0) {
				assert_int_equal(
				    conn_header(&c, &f, &e) == 0, first || kind == FRAME_REFUSE);
				assert_int_equal(c.spoke, first || kind == FRAME_REFUSE);
				if (!first && kind != FRAME_REFUSE)
					assert_non_null(strstr(e.text, names[door]));
			}
			assert_false(c.identified);
			conn_release(&c);
		}
	/* the largest permitted frame of each */
	frame_seal(header, FRAME_HELLO, 0, "", 0);
	memcpy(header + 8, &(uint32_t){ 4097 }, 4);
	assert_int_equal(frame_open(&f, header, &e), ERR_INPUT);
	frame_seal(header, FRAME_ASK, 0, "", 0);
	memcpy(header + 8, &(uint32_t){ 65537 }, 4);
	assert_int_equal(frame_open(&f, header, &e), ERR_INPUT);
	frame_seal(header, FRAME_REFUSE, 0, "", 0);
	memcpy(header + 8, &(uint32_t){ 4097 }, 4);
	assert_int_equal(frame_open(&f, header, &e), ERR_INPUT);
}

static void
hello_or_a_question_identifies_a_peer(void **state)
{
	struct conn c;
	struct err e;
	(void)state;

	conn_init(&c, DOOR_AGENTS, &LIMITS, at(0));
	assert_int_equal(says_hello(&c, "n1", &e), CONN_TAKE);
	assert_true(c.identified);
	conn_release(&c);
	conn_init(&c, DOOR_OPERATORS, &LIMITS, at(0));
	assert_int_equal(conn_patience_ms(&c, at(0)), 5000); /* that of an unknown peer */
	assert_int_equal(conn_patience_ms(&c, at(5 * S)), 0);
	assert_int_equal(conn_deadline_passed(&c, &e), ERR_TIMEOUT);
	assert_non_null(strstr(e.text, "no question within 5 s"));
	assert_int_equal(says(&c, FRAME_ASK, 0, "{}", 2, at(S), &e), CONN_TAKE);
	assert_true(c.identified);
	assert_int_equal(conn_patience_ms(&c, at(100 * S)), INT_MAX); /* it waits, for its answer */
	conn_answered(&c, at(100 * S));
	assert_int_equal(conn_patience_ms(&c, at(100 * S)), 60000);
	assert_int_equal(conn_patience_ms(&c, at(160 * S)), 0);
	conn_release(&c);
}

static void
a_peer_permitted_for_one_node_is_refused_for_others(void **state)
{
	struct conn c;
	struct err e;
	(void)state;

	conn_init(&c, DOOR_AGENTS, &LIMITS, at(0));
	c.only_node = "here";
	strcpy(c.who.user, "alice");
	assert_int_equal(says_hello(&c, "there", &e), CONN_REFUSE);
	assert_int_equal(e.code, ERR_DENIED);
	assert_string_equal(e.text, "alice may speak for node here only, not for there");
	assert_false(c.identified);
	conn_release(&c);
	conn_init(&c, DOOR_AGENTS, &LIMITS, at(0));
	c.only_node = "here";
	assert_int_equal(says_hello(&c, "here", &e), CONN_TAKE);
	conn_release(&c);
}

static void
frames_per_second_are_limited_except_records(void **state)
{
	struct conn c;
	int64_t now_ns = 0, wait_ns;
	int taken = 0;
	(void)state;

	conn_init(&c, DOOR_AGENTS, &LIMITS, at(0));
	while (taken < 1000 && conn_slow_ns(&c, FRAME_STATUS, at(0)) == 0)
		taken++;
	assert_int_equal(taken, 20); /* twice the number permitted in a second */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(conn_slow_ns(&c, FRAME_RECORDS, at(0)), 0);
	/* sending as fast as permitted for a hundred seconds: the number permitted in that time */
	while (now_ns < 100 * S)
		if ((wait_ns = conn_slow_ns(&c, FRAME_DONE, at(now_ns))) == 0)
			taken++;
		else
			now_ns += wait_ns;
	assert_in_range(taken, 1018, 1021);
	conn_release(&c);
	/* a clock that stands still or goes back permits no further frame */
	conn_init(&c, DOOR_AGENTS, &LIMITS, at(S));
	for (taken = 0; taken < 1000 && conn_slow_ns(&c, FRAME_STATUS, at(taken % 2 ? 0 : S)) == 0;
	     taken++)
		;
	assert_int_equal(taken, 20);
	conn_release(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unknown_peer_gets_memory_for_its_first_frame_only),
		cmocka_unit_test(hello_or_a_question_identifies_a_peer),
		cmocka_unit_test(a_peer_permitted_for_one_node_is_refused_for_others),
		cmocka_unit_test(frames_per_second_are_limited_except_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
