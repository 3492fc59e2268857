/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * report_rounds: requests of type ROUNDS, one after the other until SIGTERM. Each has one to three
 * iterations, each of one or two steps of 10 ms: nested loops whose lengths depend on the data.
 * Then it waits for two news messages. Every fourth request fails.
 */
#include <signal.h>
#include <stdint.h>

#include "instrument/hone.h"
#include "tests/scenario/program.h"

enum { STEP_US = 10000, NEWS_US = 2000, PAUSE_US = 5000 };

static volatile sig_atomic_t ended;

static void
end(int sig)
{
	(void)sig;
	ended = 1;
}

/* A piece of work that takes so long. */
static void
work(const char *name, long us)
{
	struct hone_carrier c;

	hone_fork(name, &c);
	hone_unit_begin(&c, name);
	wait_us(us);
	hone_unit_end();
	hone_join(&c, name);
}

static void
go_round(unsigned steps)
{
	struct hone_carrier c;

	hone_fork("round", &c);
	hone_unit_begin(&c, "round");
	for (unsigned i = 0; i < steps; i++)
		work("step", STEP_US);
	hone_unit_end();
	hone_join(&c, "round");
}

int
main(void)
{
	signal(SIGTERM, end);
	for (uint64_t n = 0; !ended; n++) {
		hone_request_begin("ROUNDS", NULL);
		for (uint64_t i = 0; i <= n % 3; i++)
			go_round(1 + (unsigned)((n / 3 >> i) % 2));
		work("news", NEWS_US);
		hone_request_end(n % 4 == 3 ? 500 : 200);
		wait_us(PAUSE_US);
	}
}
