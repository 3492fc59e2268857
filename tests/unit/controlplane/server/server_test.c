/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server with agents and operators over real sockets, both correct and faulty ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/stream.h"
#include "controlplane/server/server.h"

#define MS INT64_C(1000000)

enum { SOON_MS = 10000 }; /* a time limit, not a delay */

struct bench {
	char folder[64], agents[96], operators[96];
	struct server_options o;
	struct server *server;
};

static void
begin(struct bench *b)
{
	struct err e;

	b->o.agents = b->agents;
	b->o.operators = b->operators;
	if (server_open(&b->server, &b->o, &e) < 0)
		fail_msg("%s", e.text);
}

static int
set_up(void **state)
{
	struct bench *b = calloc(1, sizeof *b);

	snprintf(b->folder, sizeof b->folder, "/tmp/hone-server-XXXXXX");
	assert_non_null(mkdtemp(b->folder));
	snprintf(b->agents, sizeof b->agents, "ipc://%s/agents.sock", b->folder);
	snprintf(b->operators, sizeof b->operators, "ipc://%s/honed.sock", b->folder);
	b->o.connections_max = 32;
	b->o.mailbox_max_bytes = 1 << 20;
	b->o.limits = (struct conn_limits){
		.hello_ns = 5000 * MS, .silent_ns = 20000 * MS, .idle_ns = 20000 * MS
	};
	b->o.replace_ns = 20000 * MS;
	*state = b;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *b = *state;
	char path[128];

	server_close(b->server);
	snprintf(path, sizeof path, "%s/agents.sock", b->folder);
	unlink(path);
	snprintf(path, sizeof path, "%s/honed.sock", b->folder);
	unlink(path);
	assert_int_equal(rmdir(b->folder), 0);
	free(b);
	return 0;
}

/* ---- the peer ---- */

static struct stream *
dial(const char *url)
{
	struct stream *s;
	struct err e;

	if (stream_dial(&s, url, SOON_MS, &e) < 0)
		fail_msg("%s", e.text);
	return s;
}

static void
put(struct stream *s, enum frame_kind kind, uint64_t seq, const void *data, size_t len)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct err e;

	frame_seal(header, kind, seq, data, len);
	if (stream_write(s, header, sizeof header, SOON_MS, &e) < 0 ||
	    (len > 0 && stream_write(s, data, len, SOON_MS, &e) < 0))
		fail_msg("%s", e.text);
}

static void
hello(struct stream *s, const char *node, uint64_t incarnation, uint64_t first_seq)
{
	struct hello h = {
		.node = node, .incarnation = incarnation, .first_seq = first_seq, .version = "test"
	};
	struct buf b = { 0 };

	hello_encode(&h, &b);
	put(s, FRAME_HELLO, 0, b.data, b.len);
	buf_release(&b);
}

/*
 * Returns the payload of the next frame, which must be of this kind, followed by a 0; the caller
 * frees it.
 */
static char *
get(struct stream *s, enum frame_kind kind, size_t *len)
{
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame f;
	struct err e;
	char *payload;

	if (stream_read(s, header, sizeof header, SOON_MS, &e) < 0 ||
	    frame_open(&f, header, &e) < 0)
		fail_msg("waiting for %s: %s", frame_kind_name(kind), e.text);
	payload = calloc(1, f.length + 1);
	if (f.length > 0 && stream_read(s, payload, f.length, SOON_MS, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(frame_check(&f, header, payload, &e), 0);
	if (f.kind != kind)
		fail_msg("%s where %s was expected: %s", frame_kind_name(f.kind),
		    frame_kind_name(kind), payload);
	if (len != NULL)
		*len = f.length;
	return payload;
}

static void
get_refusal(struct stream *s, const char *words)
{
	char *said = get(s, FRAME_REFUSE, NULL);
	uint8_t byte;

	if (strstr(said, words) == NULL)
		fail_msg("refused with '%s', without '%s'", said, words);
	free(said);
	assert_int_equal(stream_read(s, &byte, 1, SOON_MS, NULL), ERR_PEER);
}

static uint64_t
get_ack(struct stream *s)
{
	size_t len;
	char *payload = get(s, FRAME_ACK, &len);
	struct reader r = reader_of(payload, len);
	uint64_t seq = read_u64(&r);

	assert_false(r.failed);
	assert_int_equal(reader_left(&r), 0);
	free(payload);
	return seq;
}

static uint64_t
get_welcome(struct stream *s)
{
	size_t len;
	char *payload = get(s, FRAME_WELCOME, &len);
	struct welcome w;
	struct err e;

	assert_int_equal(welcome_decode(&w, payload, len, &e), 0);
	free(payload);
	return w.have_seq;
}

/* ---- the server ---- */

/* Returns the next mail that is no note; it must be of this kind. */
static struct mail
expect(struct bench *b, enum mail_kind kind)
{
	struct mail m;

	do {
		if (!server_next(b->server, &m, SOON_MS))
			fail_msg("no mail of kind %d", kind);
		if (m.kind == MAIL_NOTE && kind != MAIL_NOTE)
			mail_release(&m);
	} while (m.kind == MAIL_NOTE && kind != MAIL_NOTE);
	assert_int_equal(m.kind, kind);
	return m;
}

static void
expect_note(struct bench *b, const char *words)
{
	struct mail m = expect(b, MAIL_NOTE);

	if (strstr(m.text, words) == NULL)
		fail_msg("noted '%s', without '%s'", m.text, words);
	mail_release(&m);
}

/* An agent that was welcomed; tag 7. */
static struct stream *
join(struct bench *b, const char *node, uint64_t incarnation, uint64_t first_seq, uint64_t have,
    struct peer **peer)
{
	struct stream *s = dial(b->agents);
	struct mail m;

	hello(s, node, incarnation, first_seq);
	m = expect(b, MAIL_JOINED);
	assert_string_equal(m.hello->node, node);
	assert_int_equal(m.hello->incarnation, incarnation);
	server_welcome(b->server, m.peer, 7);
	if (peer != NULL)
		*peer = m.peer;
	mail_release(&m);
	assert_int_equal(get_welcome(s), have);
	return s;
}

static void
expect_batch(struct bench *b, uint64_t seq, const char *payload)
{
	struct mail m = expect(b, MAIL_FRAME);

	assert_int_equal(m.frame, FRAME_RECORDS);
	assert_int_equal(m.seq, seq);
	assert_int_equal(m.tag, 7);
	assert_string_equal((char *)m.data, payload);
	server_took(b->server, m.peer, m.seq);
	mail_release(&m);
}

static void
expect_left(struct bench *b)
{
	struct mail m = expect(b, MAIL_LEFT);

	assert_int_equal(m.tag, 7);
	mail_release(&m);
}

/* ---- other users than root ---- */

enum { NOBODY = 65534 };

/*
 * Connects as the user nobody: the kernel records the effective user of this thread, which only the
 * system call changes for one thread alone.
 */
static struct stream *
dial_as_nobody(const char *url)
{
	struct stream *s;

	assert_int_equal(syscall(SYS_setresuid, -1, NOBODY, -1), 0);
	s = dial(url);
	assert_int_equal(syscall(SYS_setresuid, -1, 0, -1), 0);
	return s;
}

static void
open_to(struct bench *b, struct roles **roles, const char *look, const char *agents)
{
	struct roles_options o = { .look = look, .agents = agents, .own_uid = (int)geteuid() };
	struct err e;

	if (roles_new(roles, &o, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(chmod(b->folder, 0755), 0);
	b->o.roles = *roles;
	begin(b);
}

static void
expect_mode(const char *url, unsigned mode)
{
	struct stat st;

	assert_int_equal(stat(url + strlen("ipc://"), &st), 0);
	assert_int_equal(st.st_mode & 0777, mode);
}

static void
answer(struct bench *b, struct stream *s, struct who *who)
{
	struct mail m;

	put(s, FRAME_ASK, 0, "{}", 2);
	m = expect(b, MAIL_ASKED);
	if (who != NULL)
		*who = m.who;
	server_answer(b->server, m.peer, "{}", 2);
	mail_release(&m);
	free(get(s, FRAME_ANSWER, NULL));
}

/* ---- tests ---- */

static void
operators_without_the_role_are_refused_before_their_question_is_read(void **state)
{
	struct bench *b = *state;
	struct roles *roles;
	struct stream *s;
	struct mail m;
	struct who who;

	if (geteuid() != 0)
		return; /* not skip(): cmocka prints it as "not ok" in TAP */
	open_to(b, &roles, "nobody", "");
	expect_mode(b->operators, 0666);
	expect_mode(b->agents, 0600);
	s = dial_as_nobody(b->operators);
	answer(b, s, &who);
	assert_true(who.uid == NOBODY && who.role == ROLE_LOOK && !who.own && who.pid == getpid());
	assert_string_equal(who.user, "nobody");
	stream_close(s);
	s = dial(b->operators);
	answer(b, s, &who);
	assert_true(who.uid == 0 && who.role == ROLE_DIAGNOSE && who.own);
	stream_close(s);
	server_close(b->server);
	roles_free(roles);

	open_to(b, &roles, "root", "root");
	s = dial_as_nobody(b->operators);
	get_refusal(s, "operators.look"); /* and no question was delivered */
	stream_close(s);
	m = expect(b, MAIL_REFUSED);
	assert_true(m.who.uid == NOBODY && m.door == DOOR_OPERATORS && m.times == 1);
	assert_non_null(strstr(m.text, "may not ask"));
	mail_release(&m);
	s = dial_as_nobody(b->agents);
	get_refusal(s, "agents.allow");
	stream_close(s);
	m = expect(b, MAIL_REFUSED);
	assert_true(m.door == DOOR_AGENTS);
	mail_release(&m);
	server_close(b->server);
	b->server = NULL;
	roles_free(roles);
}

static void
agents_of_other_users_may_use_only_the_name_of_this_host(void **state)
{
	struct bench *b = *state;
	struct roles *roles;
	struct stream *s;
	struct mail m;
	char host[256] = "";

	if (geteuid() != 0)
		return; /* not skip(): cmocka prints it as "not ok" in TAP */
	assert_int_equal(gethostname(host, sizeof host - 1), 0);
	open_to(b, &roles, "", "nobody");
	expect_mode(b->agents, 0666);
	expect_mode(b->operators, 0600);
	s = dial_as_nobody(b->agents);
	hello(s, "elsewhere", 1, 1);
	get_refusal(s, "not for elsewhere");
	stream_close(s);
	m = expect(b, MAIL_REFUSED);
	assert_int_equal(m.who.uid, NOBODY);
	mail_release(&m);
	s = dial_as_nobody(b->agents);
	hello(s, host, 1, 1);
	m = expect(b, MAIL_JOINED);
	server_welcome(b->server, m.peer, 7);
	mail_release(&m);
	assert_int_equal(get_welcome(s), 0);
	stream_close(s);
	expect_left(b);
	s = join(b, "elsewhere", 1, 1, 0, NULL); /* agents of root may use any node name */
	stream_close(s);
	server_close(b->server);
	b->server = NULL;
	roles_free(roles);
}

/* Until one of the streams has been refused with these words: the first that were closed were told why. */
static void
get_any_refusal(struct stream *const *streams, int n, const char *words)
{
	int64_t until_ns = clock_mono().ns + SOON_MS * MS;
	uint8_t header[FRAME_HEADER_BYTES];
	char payload[256] = "";
	struct frame f;

	while (clock_mono().ns < until_ns)
		for (int i = 0; i < n; i++)
			if (stream_read(streams[i], header, sizeof header, 20, NULL) == 0 &&
			    frame_open(&f, header, NULL) == 0 && f.kind == FRAME_REFUSE &&
			    f.length < sizeof payload &&
			    stream_read(streams[i], payload, f.length, SOON_MS, NULL) == 0 &&
			    strstr(payload, words) != NULL)
				return;
	fail_msg("nobody was refused with '%s'", words);
}

/* All of them stay open and silent: far more than the limit. */
static void
silent_connections_do_not_keep_others_out(void **state)
{
	struct bench *b = *state;
	enum { FLOOD = 120 };
	struct stream *silent[2 * FLOOD], *agent, *operator;

	b->o.strangers_max = 8;
	b->o.connections_max = 16;
	begin(b);
	agent = join(b, "known", 1, 1, 0, NULL);
	operator= dial(b->operators);
	answer(b, operator, NULL);
	for (int i = 0; i < FLOOD; i++) {
		silent[2 * i] = dial(b->agents);
		silent[2 * i + 1] = dial(b->operators);
		if (i % 20 == 10) { /* meanwhile other peers connect and are accepted */
			char node[16];
			struct stream *other;

			snprintf(node, sizeof node, "n%d", i);
			other = join(b, node, 1, 1, 0, NULL);
			stream_close(other);
			expect_left(b);
			other = dial(b->operators);
			answer(b, other, NULL);
			stream_close(other);
		}
	}
	put(agent, FRAME_RECORDS, 1, "one", 3);
	expect_batch(b, 1, "one");
	assert_int_equal(get_ack(agent), 1);
	answer(b, operator, NULL);
	get_any_refusal(silent, 2 * FLOOD, "sent nothing");
	for (int i = 0; i < 2 * FLOOD; i++)
		stream_close(silent[i]);
	stream_close(agent);
	stream_close(operator);
}

static void
agents_and_operators_have_reserved_connections(void **state)
{
	struct bench *b = *state;
	struct stream *agents[8], *operators[9], *more;

	b->o.connections_max = 16;
	begin(b);
	for (int i = 0; i < 8; i++) {
		char node[16];

		snprintf(node, sizeof node, "n%d", i);
		agents[i] = join(b, node, 1, 1, 0, NULL);
	}
	more = dial(b->agents);
	hello(more, "n8", 1, 1);
	get_refusal(more, "there are 8 agents");
	stream_close(more);
	/* the operator that is idle for longest is closed for the next one */
	for (int i = 0; i < 9; i++) {
		operators[i] = dial(b->operators);
		answer(b, operators[i], NULL);
	}
	get_refusal(operators[0], "for another operator");
	answer(b, operators[1], NULL);
	for (int i = 0; i < 8; i++) {
		put(agents[i], FRAME_RECORDS, 1, "one", 3);
		expect_batch(b, 1, "one");
	}
	for (int i = 0; i < 8; i++)
		stream_close(agents[i]);
	for (int i = 0; i < 9; i++)
		stream_close(operators[i]);
}

static void
questions_over_the_rate_are_delayed_and_answered(void **state)
{
	struct bench *b = *state;
	struct stream *s;
	struct mono began;

	b->o.questions_per_s = 20;
	begin(b);
	began = clock_mono();
	for (int i = 0; i < 60;
	     i++) { /* each over its own connection, as hone does: the limit is per user */
		s = dial(b->operators);
		answer(b, s, NULL);
		stream_close(s);
	}
	/* forty at once, then twenty a second */
	assert_in_range(mono_since_ns(clock_mono(), began) / MS, 900, 60000);
}

static void
frames_over_the_rate_are_read_later(void **state)
{
	struct bench *b = *state;
	struct stream *s;
	struct mono began;

	b->o.limits.frames_per_s = 20;
	begin(b);
	s = join(b, "n1", 1, 1, 0, NULL); /* its HELLO is counted too */
	began = clock_mono();
	for (int i = 0; i < 60; i++)
		put(s, FRAME_STATUS, 0, "x", 1);
	for (int i = 0; i < 60; i++) {
		struct mail m = expect(b, MAIL_FRAME);

		assert_int_equal(m.frame, FRAME_STATUS);
		mail_release(&m);
	}
	assert_in_range(mono_since_ns(clock_mono(), began) / MS, 900, 60000);
	stream_close(s);
}

/*
 * Agents that send half a frame each: memory for partial frames stays within the mailbox's limit;
 * the other agents wait and are read afterwards.
 */
static void
partial_frames_stay_within_the_memory_limit_of_the_mailbox(void **state)
{
	struct bench *b = *state;
	enum { AGENTS = 6, BYTES = 60000, HALF = BYTES / 2 }; /* a socket buffers a whole one */
	struct stream *s[AGENTS];
	struct mono until = { clock_mono().ns + SOON_MS * MS };
	uint8_t header[FRAME_HEADER_BYTES], *payload = calloc(1, BYTES);

	b->o.mailbox_max_bytes = 2 * BYTES + HALF; /* two of them at once */
	begin(b);
	frame_seal(header, FRAME_RECORDS, 1, payload, BYTES);
	for (int i = 0; i < AGENTS; i++) {
		char node[16];

		snprintf(node, sizeof node, "n%d", i);
		s[i] = join(b, node, 1, 1, 0, NULL);
		assert_int_equal(stream_write(s[i], header, sizeof header, SOON_MS, NULL), 0);
		assert_int_equal(stream_write(s[i], payload, HALF, SOON_MS, NULL), 0);
	}
	while (
	    server_reading_bytes(b->server) < 2 * BYTES && mono_since_ns(until, clock_mono()) > 0)
		;
	assert_int_equal(server_reading_bytes(b->server), 2 * BYTES);
	for (int i = 0; i < AGENTS; i++)
		assert_int_equal(
		    stream_write(s[i], payload + HALF, BYTES - HALF, SOON_MS, NULL), 0);
	for (int i = 0; i < AGENTS; i++) {
		struct mail m = expect(b, MAIL_FRAME);

		assert_int_equal(m.len, BYTES);
		assert_true(server_reading_bytes(b->server) <= b->o.mailbox_max_bytes);
		server_took(b->server, m.peer, m.seq);
		mail_release(&m);
	}
	for (int i = 0; i < AGENTS; i++)
		assert_int_equal(get_ack(s[i]), 1);
	assert_int_equal(server_reading_bytes(b->server), 0);
	for (int i = 0; i < AGENTS; i++)
		stream_close(s[i]);
	free(payload);
}

static void
a_batch_is_acknowledged_when_it_is_taken(void **state)
{
	struct bench *b = *state;
	struct stream *s;

	begin(b);
	s = join(b, "n1", 11, 5, 4, NULL);
	put(s, FRAME_RECORDS, 5, "five", 4);
	expect_batch(b, 5, "five");
	assert_int_equal(get_ack(s), 5);
	stream_close(s);
	expect_left(b);
}

/* Each write costs a call of the kernel and with TLS a record, so an ACK waits for further batches. */
static void
batches_that_are_taken_together_are_acknowledged_by_one_frame(void **state)
{
	enum { BATCHES = 8 }; /* as many are not waited for */
	struct bench *b = *state;
	struct mail m[BATCHES];
	struct stream *s;

	begin(b);
	s = join(b, "n1", 11, 1, 0, NULL);
	for (uint64_t seq = 1; seq <= BATCHES; seq++)
		put(s, FRAME_RECORDS, seq, "six", 4);
	for (int i = 0; i < BATCHES; i++)
		m[i] = expect(b, MAIL_FRAME);
	for (int i = 0; i < BATCHES; i++) {
		server_took(b->server, m[i].peer, m[i].seq);
		mail_release(&m[i]);
	}
	assert_int_equal(get_ack(s), BATCHES);
	stream_close(s);
	expect_left(b);
}

/* An ACK that waits is not a reason to send it later than another frame. */
static void
an_ack_that_waits_goes_with_the_next_frame(void **state)
{
	struct bench *b = *state;
	struct buf want = { 0 };
	struct stream *s;
	size_t len;
	struct mail m;

	begin(b);
	buf_text(&want, "w", 1);
	s = join(b, "n1", 11, 1, 0, NULL);
	put(s, FRAME_RECORDS, 1, "one", 4);
	m = expect(b, MAIL_FRAME);
	server_took(b->server, m.peer, m.seq);
	server_want(b->server, m.peer, &want);
	mail_release(&m);
	assert_int_equal(get_ack(s), 1);
	free(get(s, FRAME_WANT, &len));
	buf_release(&want);
	stream_close(s);
	expect_left(b);
}

static void
a_repeated_batch_is_taken_once(void **state)
{
	struct bench *b = *state;
	struct stream *s;

	begin(b);
	s = join(b, "n1", 11, 1, 0, NULL);
	put(s, FRAME_RECORDS, 1, "one", 3);
	expect_batch(b, 1, "one");
	assert_int_equal(get_ack(s), 1);
	put(s, FRAME_RECORDS, 1, "one", 3);
	assert_int_equal(get_ack(s), 1);
	put(s, FRAME_RECORDS, 2, "two", 3);
	expect_batch(b, 2, "two");
	assert_int_equal(get_ack(s), 2);
	stream_close(s);
	expect_left(b);
	/* the same agent again, then a new agent of the node */
	s = join(b, "n1", 11, 1, 2, NULL);
	put(s, FRAME_RECORDS, 2, "two", 3);
	assert_int_equal(get_ack(s), 2);
	stream_close(s);
	expect_left(b);
	s = join(b, "n1", 12, 1, 0, NULL);
	put(s, FRAME_RECORDS, 1, "new", 3);
	expect_batch(b, 1, "new");
	stream_close(s);
}

/* If the controller died now, the batch would be lost: it only waits in the mailbox. */
static void
a_repeated_batch_that_nobody_has_taken_is_not_acknowledged(void **state)
{
	struct bench *b = *state;
	struct stream *s;

	begin(b);
	s = join(b, "n1", 11, 1, 0, NULL);
	put(s, FRAME_RECORDS, 1, "one", 3);
	put(s, FRAME_RECORDS, 1, "one", 3);
	assert_int_equal(get_ack(s), 0);
	expect_batch(b, 1, "one");
	assert_int_equal(get_ack(s), 1);
	stream_close(s);
}

static void
a_batch_not_taken_is_sent_again(void **state)
{
	struct bench *b = *state;
	struct stream *s, *again;
	struct mail m;

	begin(b);
	s = join(b, "n1", 11, 1, 0, NULL);
	put(s, FRAME_RECORDS, 1, "one", 3);
	m = expect(b, MAIL_FRAME); /* not taken, for example because the engine refuses it */
	server_refuse(b->server, m.peer, "no room");
	mail_release(&m);
	get_refusal(s, "no room");
	stream_close(s);
	expect_left(b);
	again = join(b, "n1", 11, 1, 0, NULL);
	put(again, FRAME_RECORDS, 1, "one", 3);
	expect_batch(b, 1, "one");
	stream_close(again);
}

static void
a_gap_in_batch_numbers_closes_the_connection(void **state)
{
	struct bench *b = *state;
	struct stream *s;

	begin(b);
	s = join(b, "n1", 11, 1, 0, NULL);
	put(s, FRAME_RECORDS, 2, "two", 3);
	get_refusal(s, "batch 2 where 1 was expected");
	stream_close(s);
	expect_left(b);
}

static void
another_version_is_refused_with_both_versions(void **state)
{
	struct bench *b = *state;
	uint8_t header[FRAME_HEADER_BYTES];
	struct stream *s;

	begin(b);
	s = dial(b->agents);
	frame_seal(header, FRAME_HELLO, 0, "", 0);
	header[4] = FRAME_VERSION + 1;
	assert_int_equal(stream_write(s, header, sizeof header, SOON_MS, NULL), 0);
	get_refusal(s, "this side");
	expect_note(b, "version");
	stream_close(s);
}

static void
malformed_frames_do_not_affect_other_peers(void **state)
{
	struct bench *b = *state;
	uint8_t garbage[512], header[FRAME_HEADER_BYTES];
	struct stream *good, *bad;

	begin(b);
	good = join(b, "good", 1, 1, 0, NULL);
	memset(garbage, 0x5a, sizeof garbage);
	bad = dial(b->agents);
	assert_int_equal(stream_write(bad, garbage, sizeof garbage, SOON_MS, NULL), 0);
	get_refusal(bad, "");
	stream_close(bad);
	/* valid except for its checksum */
	bad = dial(b->agents);
	frame_seal(header, FRAME_HELLO, 0, "hello", 5);
	assert_int_equal(stream_write(bad, header, sizeof header, SOON_MS, NULL), 0);
	assert_int_equal(stream_write(bad, "hellO", 5, SOON_MS, NULL), 0);
	get_refusal(bad, "");
	stream_close(bad);
	/* no hello */
	bad = dial(b->agents);
	put(bad, FRAME_RECORDS, 1, "x", 1);
	get_refusal(bad, "HELLO was expected");
	stream_close(bad);
	/* half a header, then closed */
	bad = dial(b->agents);
	assert_int_equal(stream_write(bad, header, 7, SOON_MS, NULL), 0);
	stream_close(bad);
	put(good, FRAME_RECORDS, 1, "one", 3);
	expect_batch(b, 1, "one");
	assert_int_equal(get_ack(good), 1);
	stream_close(good);
}

static void
silent_peers_are_refused(void **state)
{
	struct bench *b = *state;
	struct stream *mute, *agent;

	b->o.limits.hello_ns = 200 * MS;
	b->o.limits.silent_ns = 400 * MS;
	begin(b);
	mute = dial(b->agents);
	get_refusal(mute, "no HELLO within 0.2 s");
	stream_close(mute);
	agent = join(b, "n1", 1, 1, 0, NULL);
	get_refusal(agent, "no frame for 0.4 s");
	stream_close(agent);
	expect_left(b);
}

static void
a_live_node_is_not_replaced(void **state)
{
	struct bench *b = *state;
	struct stream *first, *second;

	begin(b);
	first = join(b, "n1", 1, 1, 0, NULL);
	second = dial(b->agents);
	hello(second, "n1", 2, 1);
	expect_note(b, "n1 is connected already");
	get_refusal(second, "n1 is connected already");
	put(first, FRAME_RECORDS, 1, "one", 3);
	expect_batch(b, 1, "one");
	stream_close(second);
	stream_close(first);
}

static void
a_silent_node_is_replaced(void **state)
{
	struct bench *b = *state;
	struct stream *first, *second;

	b->o.replace_ns = 0;
	begin(b);
	first = join(b, "n1", 1, 1, 0, NULL);
	second = dial(b->agents);
	hello(second, "n1", 2, 1);
	expect_left(b);
	struct mail m = expect(b, MAIL_JOINED);

	server_welcome(b->server, m.peer, 7);
	mail_release(&m);
	get_refusal(first, "took over");
	assert_int_equal(get_welcome(second), 0);
	stream_close(first);
	put(second, FRAME_RECORDS, 1, "one", 3);
	expect_batch(b, 1, "one");
	stream_close(second);
	expect_left(b);
}

static void
an_agent_that_reconnects_loses_no_batch(void **state)
{
	struct bench *b = *state;
	struct stream *first, *second;

	begin(b);
	first = join(b, "n1", 1, 1, 0, NULL);
	put(first, FRAME_RECORDS, 1, "one", 3);
	expect_batch(b, 1, "one");
	assert_int_equal(get_ack(first), 1);
	second = dial(b->agents);
	hello(second, "n1", 1, 1);
	expect_left(b);
	struct mail m = expect(b, MAIL_JOINED);

	server_welcome(b->server, m.peer, 7);
	mail_release(&m);
	assert_int_equal(get_welcome(second), 1);
	put(second, FRAME_RECORDS, 2, "two", 3);
	expect_batch(b, 2, "two");
	stream_close(first);
	stream_close(second);
}

static void
the_number_of_connections_is_limited(void **state)
{
	struct bench *b = *state;
	struct stream *s[3];

	b->o.connections_max = 3; /* one of them is reserved for operators */
	begin(b);
	s[0] = join(b, "n0", 1, 1, 0, NULL);
	s[1] = join(b, "n1", 1, 1, 0, NULL);
	s[2] = dial(b->agents);
	hello(s[2], "n2", 1, 1);
	get_refusal(s[2], "connections_max");
	stream_close(s[2]);
	stream_close(s[1]);
	expect_left(b);
	/* the connection is freed by the call after the one that sees its end */
	for (int tries = 0; tries < 100; tries++) {
		struct mail m;

		if (server_next(b->server, &m, 20))
			mail_release(&m);
		else
			break;
	}
	s[1] = join(b, "n2", 1, 1, 0, NULL);
	stream_close(s[0]);
	stream_close(s[1]);
}

static void
questions_are_answered(void **state)
{
	struct bench *b = *state;
	struct stream *s, *agent;
	struct mail m;
	char *text;

	begin(b);
	s = dial(b->operators);
	for (int i = 0; i < 3; i++) {
		put(s, FRAME_ASK, 0, "{\"ask\":1}", 9);
		m = expect(b, MAIL_ASKED);
		assert_string_equal((char *)m.data, "{\"ask\":1}");
		server_answer(b->server, m.peer, "{\"ok\":true}", 11);
		mail_release(&m);
		text = get(s, FRAME_ANSWER, NULL);
		assert_string_equal(text, "{\"ok\":true}");
		free(text);
	}
	put(s, FRAME_RECORDS, 1, "x", 1);
	get_refusal(s, "ASK was expected");
	stream_close(s);
	agent = dial(b->agents);
	put(agent, FRAME_ASK, 0, "{}", 2);
	get_refusal(agent, "HELLO was expected");
	stream_close(agent);
}

/* A question whose answer is to come later. */
static struct peer *
deferred(struct bench *b, struct stream *s)
{
	struct mail m;

	put(s, FRAME_ASK, 0, "{}", 2);
	m = expect(b, MAIL_ASKED);
	server_defer(b->server, m.peer);
	mail_release(&m);
	return m.peer;
}

static void
an_answer_that_comes_later_delays_no_other(void **state)
{
	struct bench *b = *state;
	struct stream *s, *other;
	struct peer *p;

	begin(b);
	s = dial(b->operators);
	other = dial(b->operators);
	p = deferred(b, s);
	answer(b, other, NULL);
	assert_true(server_waits(b->server, p));
	server_answer(b->server, p, "{\"late\":1}", 10);
	free(get(s, FRAME_ANSWER, NULL));
	answer(b, s, NULL); /* its connection goes on */
	stream_close(s);
	stream_close(other);
}

/* Lets the server notice what has happened to its connections. */
static bool
waits_on(struct bench *b, struct peer *p)
{
	struct mail m;

	for (int i = 0; i < 1000 && server_waits(b->server, p); i++)
		if (server_next(b->server, &m, 10))
			mail_release(&m);
	return server_waits(b->server, p);
}

static void
who_leaves_before_a_later_answer_is_freed_with_it(void **state)
{
	struct bench *b = *state;
	struct stream *s[4], *other;
	struct peer *p[4];
	struct mail m;

	begin(b);
	other = dial(b->operators);
	for (int i = 0; i < 4; i++) {
		s[i] = dial(b->operators);
		p[i] = deferred(b, s[i]);
	}
	for (int i = 0; i < 3; i++)
		stream_close(s[i]);
	for (int i = 0; i < 3; i++)
		assert_false(waits_on(b, p[i]));
	while (server_next(b->server, &m, 100)) /* their last letters */
		mail_release(&m);
	server_answer(b->server, p[0], "{}", 2);
	server_refuse(b->server, p[1], "no memory");
	answer(b, other, NULL);
	server_answer(b->server, p[2], "{}", 2);
	assert_true(server_waits(b->server, p[3]));
	stream_close(other);
	server_refuse(b->server, p[3], "the controller ends");
	get_refusal(s[3], "the controller ends");
	stream_close(s[3]);
}

static void
a_connection_has_one_question_at_a_time(void **state)
{
	struct bench *b = *state;
	struct stream *s;

	begin(b);
	s = dial(b->operators);
	put(s, FRAME_ASK, 0, "{}", 2);
	put(s, FRAME_ASK, 0, "{}", 2);
	get_refusal(s, "before the answer");
	stream_close(s);
}

static void
a_peer_that_does_not_read_does_not_delay_others(void **state)
{
	struct bench *b = *state;
	struct stream *deaf, *good;
	struct peer *peer;
	struct buf want = { 0 };

	begin(b);
	deaf = join(b, "deaf", 1, 1, 0, &peer);
	good = join(b, "good", 1, 1, 0, NULL);
	for (int i = 0; i < 1 << 20; i++)
		buf_u8(&want, 'w');
	/* far more than the socket buffers: each want replaces the pending one */
	for (int i = 0; i < 200; i++)
		server_want(b->server, peer, &want);
	put(good, FRAME_RECORDS, 1, "one", 3);
	expect_batch(b, 1, "one");
	assert_int_equal(get_ack(good), 1);
	stream_close(good);
	stream_close(deaf);
	buf_release(&want);
}

static void
a_full_mailbox_stops_reading_and_loses_no_mail(void **state)
{
	struct bench *b = *state;
	struct stream *s;
	struct mail m;
	enum { BATCHES = 40, BYTES = 20000, AHEAD = 10 };
	char *payload = calloc(1, BYTES);

	b->o.mailbox_max_bytes = 100000;
	begin(b);
	s = join(b, "n1", 1, 1, 0, NULL);
	for (uint64_t seq = 1; seq <= AHEAD; seq++)
		put(s, FRAME_RECORDS, seq, payload, BYTES);
	/* the sixth and later wait in the socket until there is room */
	for (uint64_t seq = 1, sent = AHEAD; seq <= BATCHES; seq++) {
		assert_true(server_waiting_bytes(b->server) < 100000 + BYTES + 1000);
		m = expect(b, MAIL_FRAME);
		assert_int_equal(m.seq, seq);
		server_took(b->server, m.peer, seq);
		mail_release(&m);
		if (sent < BATCHES)
			put(s, FRAME_RECORDS, ++sent, payload, BYTES);
	}
	while (get_ack(s) < BATCHES)
		;
	free(payload);
	stream_close(s);
}

static void
closing_closes_all_connections(void **state)
{
	struct bench *b = *state;
	struct stream *s[4];
	uint8_t byte;
	int rc;

	begin(b);
	s[0] = join(b, "n0", 1, 1, 0, NULL);
	s[1] = dial(b->agents);
	s[2] = dial(b->operators);
	s[3] = dial(b->agents);
	put(s[0], FRAME_RECORDS, 1, "not taken", 9);
	hello(s[3], "n3", 1, 1);
	server_close(b->server);
	b->server = NULL;
	for (int i = 0; i < 4; i++) {
		/* an agent that waits for its welcome gets the reason first */
		while ((rc = stream_read(s[i], &byte, 1, SOON_MS, NULL)) == 0)
			;
		assert_int_equal(rc, ERR_PEER);
		stream_close(s[i]);
	}
}

static void
a_second_server_is_refused(void **state)
{
	struct bench *b = *state;
	struct server *second;
	struct err e;

	begin(b);
	assert_int_equal(server_open(&second, &b->o, &e), ERR_BUSY);
}

static void
operators_have_a_local_socket(void **state)
{
	struct bench *b = *state;
	struct server_options o = b->o;
	struct server *s;
	struct err e;

	o.agents = b->agents;
	o.operators = "tcp://127.0.0.1:0";
	assert_int_equal(server_open(&s, &o, &e), ERR_INPUT);
	begin(b);
}

static void
agents_may_connect_over_tcp(void **state)
{
	struct bench *b = *state;
	struct stream *s;
	struct mail m;

	snprintf(b->agents, sizeof b->agents, "tcp://127.0.0.1:0");
	begin(b);
	s = dial(server_url(b->server, DOOR_AGENTS));
	hello(s, "far", 1, 1);
	m = expect(b, MAIL_JOINED);
	server_welcome(b->server, m.peer, 7);
	mail_release(&m);
	assert_int_equal(get_welcome(s), 0);
	stream_close(s);
	expect_left(b);
}

#define PROMISE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PROMISE(operators_without_the_role_are_refused_before_their_question_is_read),
		PROMISE(agents_of_other_users_may_use_only_the_name_of_this_host),
		PROMISE(silent_connections_do_not_keep_others_out),
		PROMISE(agents_and_operators_have_reserved_connections),
		PROMISE(questions_over_the_rate_are_delayed_and_answered),
		PROMISE(frames_over_the_rate_are_read_later),
		PROMISE(partial_frames_stay_within_the_memory_limit_of_the_mailbox),
		PROMISE(a_batch_is_acknowledged_when_it_is_taken),
		PROMISE(batches_that_are_taken_together_are_acknowledged_by_one_frame),
		PROMISE(an_ack_that_waits_goes_with_the_next_frame),
		PROMISE(a_repeated_batch_is_taken_once),
		PROMISE(a_repeated_batch_that_nobody_has_taken_is_not_acknowledged),
		PROMISE(a_batch_not_taken_is_sent_again),
		PROMISE(a_gap_in_batch_numbers_closes_the_connection),
		PROMISE(another_version_is_refused_with_both_versions),
		PROMISE(malformed_frames_do_not_affect_other_peers),
		PROMISE(silent_peers_are_refused),
		PROMISE(a_live_node_is_not_replaced),
		PROMISE(a_silent_node_is_replaced),
		PROMISE(an_agent_that_reconnects_loses_no_batch),
		PROMISE(the_number_of_connections_is_limited),
		PROMISE(questions_are_answered),
		PROMISE(an_answer_that_comes_later_delays_no_other),
		PROMISE(who_leaves_before_a_later_answer_is_freed_with_it),
		PROMISE(a_connection_has_one_question_at_a_time),
		PROMISE(a_peer_that_does_not_read_does_not_delay_others),
		PROMISE(a_full_mailbox_stops_reading_and_loses_no_mail),
		PROMISE(closing_closes_all_connections),
		PROMISE(a_second_server_is_refused),
		PROMISE(operators_have_a_local_socket),
		PROMISE(agents_may_connect_over_tcp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
