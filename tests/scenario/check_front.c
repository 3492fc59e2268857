/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * check_front FOLDER [carrier|join|detach]: an event loop on one thread that begins a request of type GET about
 * every 8 ms, has its work done by check_back in 2 to 18 ms, and ends it when the answer has come. It begins
 * as soon as FOLDER/go exists. Of those that are with check_back there are so few that no queue of datagrams (of ten at
 * least) fills: a program that waits to send, to one that waits to send to it, would wait for ever. The argument is the mistake:
 *
 *	carrier	the carrier is not passed on
 *	join	no join after the answer
 *	detach	the request stays on the thread while it serves others
 */
#include <poll.h>

#include "instrument/hone.h"
#include "tests/scenario/check_message.h"
#include "tests/scenario/program.h"

enum { OPEN_MAX = 256, AWAY_MAX = 8, EVERY_US = 8000 };

struct connection {
	struct hone_unit unit;
	struct hone_carrier carrier;
};

static struct connection open_ones[OPEN_MAX];
static const char *folder, *mistake = "";
static int inbox;

static int
is(const char *which)
{
	return strcmp(mistake, which) == 0;
}

static void
begin(uint32_t number)
{
	struct connection *c = &open_ones[number % OPEN_MAX];
	struct check_message m = { .number = number, .work_us = 2000 + number * 7919 % 16000 };

	hone_request_begin("GET", NULL);
	hone_fork("work", &c->carrier);
	if (!is("carrier"))
		memcpy(m.carrier, &c->carrier, sizeof m.carrier);
	check_send(inbox, folder, "back", &m);
	if (!is("detach"))
		hone_detach(&c->unit);
}

static void
answered(const struct check_message *m)
{
	struct connection *c = &open_ones[m->number % OPEN_MAX];

	if (!is("detach"))
		hone_attach(&c->unit);
	if (!is("join"))
		hone_join(&c->carrier, "work");
	hone_request_end(200);
}

int
main(int argc, char **argv)
{
	char go[128];
	int64_t next;
	uint32_t number = 0, away = 0;

	if (argc < 2)
		return 2;
	folder = argv[1];
	mistake = argc > 2 ? argv[2] : "";
	snprintf(go, sizeof go, "%.100s/go", folder);
	inbox = check_socket(folder, "front");
	while (access(go, F_OK) != 0)
		wait_us(10000);
	for (next = now_ns();;) {
		struct pollfd p = { .fd = inbox, .events = POLLIN };
		struct check_message m;
		int64_t left_ns = next - now_ns();

		if (left_ns <= 0 && away < AWAY_MAX) {
			begin(number++);
			away++;
			next += EVERY_US * 1000;
			continue;
		}
		if (poll(&p, 1, left_ns > 0 ? (int)(left_ns / 1000000) + 1 : -1) > 0 &&
		    recv(inbox, &m, sizeof m, 0) == sizeof m) {
			answered(&m);
			away--;
		}
	}
}
