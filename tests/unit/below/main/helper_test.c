/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone-below, as the agent starts it: how long it lives. */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "below/main/helper.h"
#include "wire/below.h"

enum { LEASE_MS = 200, LIMIT_MS = 10000 };

struct served {
	pid_t pid;
	int socket; /* the agent's end */
};

static void
start(struct served *s)
{
	int ends[2];
	struct err e;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	if ((s->pid = fork()) == 0) {
		close(ends[0]);
		_exit(helper_serve(ends[1], &e) != 0);
	}
	assert_true(s->pid > 0);
	close(ends[1]);
	s->socket = ends[0];
}

static void
say(const struct served *s, const struct below_message *m)
{
	struct buf b = { 0 };

	below_encode(m, &b);
	assert_int_equal(send(s->socket, b.data, b.len, MSG_NOSIGNAL), (ssize_t)b.len);
	buf_release(&b);
}

/* Whether it ended by itself within LIMIT_MS, and read what it said meanwhile. */
static bool
has_ended(struct served *s)
{
	struct mono began = clock_mono();
	uint8_t packet[BELOW_MESSAGE_MAX];
	bool ended = false;
	int status;

	while (!ended && mono_since_ns(clock_mono(), began) < LIMIT_MS * INT64_C(1000000)) {
		struct pollfd p = { .fd = s->socket, .events = POLLIN };

		if (poll(&p, 1, 10) > 0)
			(void)!recv(s->socket, packet, sizeof packet, MSG_DONTWAIT);
		ended = waitpid(s->pid, &status, WNOHANG) == s->pid;
	}
	if (!ended) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, &status, 0);
	}
	close(s->socket);
	return ended;
}

/* The agent hangs: it renews nothing, and closes nothing. */
static void
it_ends_when_its_lease_is_not_renewed(void **state)
{
	struct served s;
	(void)state;

	start(&s);
	say(&s, &(struct below_message){ .kind = BELOW_LEASE, .lease_ms = LEASE_MS });
	assert_true(has_ended(&s));
}

static void
it_ends_with_the_agent(void **state)
{
	struct served s;
	(void)state;

	start(&s);
	say(&s, &(struct below_message){ .kind = BELOW_LEASE, .lease_ms = UINT32_MAX });
	shutdown(s.socket, SHUT_RDWR);
	assert_true(has_ended(&s));
}

static void
it_ends_when_it_is_asked(void **state)
{
	struct served s;
	(void)state;

	start(&s);
	say(&s, &(struct below_message){ .kind = BELOW_LEASE, .lease_ms = UINT32_MAX });
	say(&s, &(struct below_message){ .kind = BELOW_END });
	assert_true(has_ended(&s));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_ends_when_its_lease_is_not_renewed),
		cmocka_unit_test(it_ends_with_the_agent),
		cmocka_unit_test(it_ends_when_it_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
