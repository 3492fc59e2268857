/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bad_peer ROLE SOCKET SEED FIRST STEPS FOLDER: conversations with a faulty peer.
 *
 * 	agent		connects to honed's socket for agents and plays a faulty agent
 * 	operator	connects to honed's socket for operators and plays a faulty operator
 * 	controller	listens, and plays a faulty controller to each agent that connects
 *
 * Step number i depends only on SEED and i: to repeat a failed step, give its number as FIRST.
 * Exits with 0 when all steps were played; with 1, and the step, when the other side has gone. At
 * the end prints the numbers of frames sent and received. FOLDER: holds the files that questions
 * name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/scenario/bad_peer.h"
#include "wire/agent_messages.h"
#include "wire/record.h"

enum { HELD = 16, CROWD = 300, TURN_MS = 1000 };

static const char *path, *folder;
static int held[HELD]; /* connections that say nothing any more */
static unsigned long long sent, came, connections;

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static int
open_socket(bool listens)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	if (fd < 0)
		return -1;
	if (listens)
		unlink(path);
	if (listens ? bind(fd, (void *)&at, sizeof at) != 0 || listen(fd, 64) != 0
		    : connect(fd, (void *)&at, sizeof at) != 0) {
		close(fd);
		return -1;
	}
	connections++;
	return fd;
}

/* A full backlog is not a dead controller: that refuses at once, and for good. */
static int
dial(void)
{
	int fd = -1;

	for (int64_t until = now_ms() + 20000; (fd = open_socket(false)) < 0 && now_ms() < until;)
		usleep(20000);
	return fd;
}

/* Reads, and forgets, what there is: false when the other side has hung up. */
static bool
drain(int fd, int ms)
{
	struct pollfd p = { fd, POLLIN, 0 };
	uint8_t bytes[65536];
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return true;
	n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
	came += n > 0;
	return n > 0 || (n < 0 && errno == EAGAIN);
}

/* All of it, unless the other side does not read for a second. */
static bool
push(int fd, const uint8_t *data, size_t len)
{
	for (int64_t until = now_ms() + TURN_MS; len > 0;) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno != EAGAIN || now_ms() > until))
			return false;
		if (n < 0)
			drain(fd, 5);
		else
			data += n, len -= (size_t)n;
	}
	return true;
}

/* A whole frame; now and then with a header that is not right. */
static bool
send_frame(int fd, struct rng *dice, unsigned kind, uint64_t seq, const struct buf *b)
{
	uint8_t header[FRAME_HEADER_BYTES];

	frame_seal(header, (enum frame_kind)kind, seq, b->data, b->len);
	if (rng_below(dice, 40) == 0)
		header[rng_below(dice, sizeof header)] ^= (uint8_t)(1u << rng_below(dice, 8));
	sent++;
	return push(fd, header, sizeof header) && push(fd, b->data, b->len);
}

/* ---- how a conversation ends ---- */

static void
hold(struct rng *dice, int fd)
{
	int i = (int)rng_below(dice, HELD);

	if (held[i] > 0)
		close(held[i]);
	held[i] = fd;
}

static void
drip(struct rng *dice, int fd)
{
	uint8_t header[FRAME_HEADER_BYTES];

	frame_seal(header, FRAME_ASK, 0, "{}", 2);
	for (uint64_t i = rng_below(dice, sizeof header); i > 0; i--) {
		if (!push(fd, header + i, 1) || !drain(fd, 20))
			break;
	}
	close(fd);
}

/* Some bytes of a frame that says that it is large, and no more of it. */
static void
stop_half(struct rng *dice, int fd)
{
	static const enum frame_kind kinds[] = { FRAME_PROGRAMS, FRAME_RECORDS, FRAME_WANT,
		FRAME_ASK, FRAME_ANSWER };
	uint8_t header[FRAME_HEADER_BYTES], rest[4096] = { 0 };
	uint32_t length = (uint32_t)rng_next(dice) >> rng_below(dice, 20);

	frame_seal(header, kinds[rng_below(dice, 5)], 0, rest, 0);
	memcpy(header + 8, &length, 4);
	push(fd, header, rng_below(dice, 2) ? sizeof header : rng_below(dice, sizeof header));
	if (rng_below(dice, 2))
		push(fd, rest, rng_below(dice, sizeof rest));
}

static void
part(struct rng *dice, int fd)
{
	switch (rng_below(dice, 6)) {
	case 0:
		stop_half(dice, fd);
		hold(dice, fd);
		break;
	case 1:
		hold(dice, fd);
		break;
	case 2:
		drip(dice, fd);
		break;
	case 3:
		stop_half(dice, fd);
		close(fd);
		break;
	case 4:
		setsockopt(
		    fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
		close(fd);
		break;
	default:
		close(fd);
	}
}

/* ---- the roles ---- */

static void
crowd(struct rng *dice)
{
	int fds[CROWD];
	uint8_t byte = (uint8_t)rng_next(dice);

	for (int i = 0; i < CROWD; i++)
		if ((fds[i] = open_socket(false)) >= 0 && rng_below(dice, 2))
			push(fds[i], &byte, 1);
	for (int i = 0; i < CROWD; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static unsigned
make_agents(struct rng *dice, struct buf *b)
{
	switch (rng_below(dice, 12)) {
	case 0:
		make_programs(dice, b);
		return FRAME_PROGRAMS;
	case 1:
		make_status(dice, b);
		return FRAME_STATUS;
	case 2:
		make_done(dice, b);
		return FRAME_DONE;
	case 3:
		clock_encode(&(struct clock_echo){ (int64_t)rng_next(dice), (int64_t)rng_next(dice),
				 (int64_t)rng_next(dice) },
		    b);
		return FRAME_CLOCK;
	case 4:
		make_rubbish(dice, 2000, b);
		return (unsigned)rng_below(dice, 16);
	default:
		make_records(dice, b);
		return FRAME_RECORDS;
	}
}

static bool
play_agent(struct rng *dice)
{
	static const char *const nodes[] = { "good", "bad", "bad-2", "bad-3", "x", "" };
	uint64_t seq = 1, n = rng_below(dice, 12);
	struct buf b = { 0 };
	int fd;

	if (rng_below(dice, 60) == 0)
		crowd(dice);
	if ((fd = dial()) < 0)
		return false;
	if (rng_below(dice, 10) > 0) {
		make_hello(dice, nodes[rng_below(dice, 6)], &b);
		if (rng_below(dice, 8) == 0)
			mutate(dice, &b);
		if (!send_frame(fd, dice, FRAME_HELLO, 0, &b) || !drain(fd, TURN_MS))
			n = 0;
	}
	for (uint64_t i = 0; i < n; i++) {
		buf_reset(&b);
		unsigned kind = make_agents(dice, &b);

		if (rng_below(dice, 4) == 0)
			mutate(dice, &b);
		seq = rng_below(dice, 20) == 0 ? rng_next(dice) >> rng_below(dice, 64) : seq;
		if (!send_frame(fd, dice, kind, kind == FRAME_RECORDS ? seq++ : 0, &b) ||
		    !drain(fd, (int)rng_below(dice, 5)))
			break;
	}
	buf_release(&b);
	part(dice, fd);
	return true;
}

static bool
play_operator(struct rng *dice)
{
	uint64_t n = 1 + rng_below(dice, 6);
	struct buf b = { 0 };
	int fd;

	if (rng_below(dice, 200) == 0)
		crowd(dice);
	if ((fd = dial()) < 0)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		buf_reset(&b);
		make_question(dice, folder, &b);
		if (rng_below(dice, 5) == 0)
			mutate(dice, &b);
		if (!send_frame(fd, dice,
			rng_below(dice, 20) ? FRAME_ASK : (unsigned)rng_below(dice, 14), 0, &b))
			break;
		if (rng_below(dice, 4) > 0 && !drain(fd, TURN_MS))
			break;
	}
	buf_release(&b);
	part(dice, fd);
	return true;
}

static unsigned
make_controllers(struct rng *dice, uint64_t *epoch, struct buf *b)
{
	switch (rng_below(dice, 10)) {
	case 0:
		buf_u64(b, rng_next(dice) >> rng_below(dice, 64));
		return FRAME_ACK;
	case 1:
		make_rubbish(dice, 2000, b);
		return (unsigned)rng_below(dice, 16);
	case 2:
		make_question(dice, folder, b);
		return FRAME_ANSWER;
	case 3:
	case 4:
	case 5:
		clock_encode(&(struct clock_echo){ .asked_ns = (int64_t)(rng_next(dice) >>
									 rng_below(dice, 64)) },
		    b);
		return FRAME_CLOCK;
	default:
		*epoch = rng_below(dice, 8) ? *epoch + 1 : rng_next(dice) >> rng_below(dice, 64);
		make_want(dice, *epoch, b);
		return FRAME_WANT;
	}
}

static bool
play_controller(struct rng *dice, int listener)
{
	struct pollfd p = { listener, POLLIN, 0 };
	uint64_t epoch = rng_below(dice, 1000), n = rng_below(dice, 30);
	struct buf b = { 0 };
	int fd;

	/* An agent that was turned away, or lost us, comes again within seconds. */
	if (poll(&p, 1, 30000) <= 0 || (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
		return false;
	connections++;
	drain(fd, TURN_MS);
	if (rng_below(dice, 10) > 0) {
		welcome_encode(
		    &(struct welcome){
			rng_below(dice, 4) ? 0 : rng_next(dice) >> rng_below(dice, 64) },
		    &b);
		if (!send_frame(fd, dice, FRAME_WELCOME, 0, &b))
			n = 0;
	}
	for (uint64_t i = 0; i < n; i++) {
		buf_reset(&b);
		unsigned kind = make_controllers(dice, &epoch, &b);

		if (rng_below(dice, 8) == 0)
			mutate(dice, &b);
		if (!send_frame(fd, dice, kind, 0, &b) || !drain(fd, (int)rng_below(dice, 20)))
			break;
	}
	buf_release(&b);
	part(dice, fd);
	return true;
}

int
main(int argc, char **argv)
{
	uint64_t seed = argc == 7 ? strtoull(argv[3], NULL, 10) : 0,
		 first = argc == 7 ? strtoull(argv[4], NULL, 10) : 0;
	uint64_t last = argc == 7 ? first + strtoull(argv[5], NULL, 10) : 0;
	bool ok = true;
	int listener = -1;

	if (argc != 7) {
		fprintf(stderr,
		    "usage: bad_peer agent|operator|controller SOCKET SEED FIRST STEPS FOLDER\n");
		return 2;
	}
	path = argv[2];
	folder = argv[6];
	signal(SIGPIPE, SIG_IGN);
	if (argv[1][0] == 'c' && (listener = open_socket(true)) < 0) {
		perror(path);
		return 1;
	}
	for (uint64_t step = first; step < last && ok; step++) {
		struct rng dice;

		rng_seed(&dice, seed * UINT64_C(1000003) + step);
		ok = argv[1][0] == 'a'   ? play_agent(&dice)
		     : argv[1][0] == 'o' ? play_operator(&dice)
		                         : play_controller(&dice, listener);
		if (!ok)
			printf("%s: nobody there at step %llu of seed %llu: %s\n", argv[1],
			    (unsigned long long)step, (unsigned long long)seed, strerror(errno));
	}
	printf(
	    "%s: seed %llu, steps %llu to %llu: %llu connections, %llu frames sent, %llu times answered\n",
	    argv[1], (unsigned long long)seed, (unsigned long long)first, (unsigned long long)last,
	    connections, sent, came);
	return ok ? 0 : 1;
}
