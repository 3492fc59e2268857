/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hostile_records units RECORDS_PER_SECOND	units of requests that it says were sampled elsewhere, 8 records each, whatever the
 *						table of rates says
 * hostile_records types NUMBER			requests of so many types, each again and again
 * hostile_records joins NUMBER			so many joins of one hand-over, in one request, as fast as it can
 * hostile_records request TYPE EVERY_US	honest: requests of one type
 * What a program can do with libhone's public calls alone; until it is killed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instrument/hone.h"
#include "tests/scenario/program.h"

static uint64_t
next(uint64_t *at)
{
	*at = *at * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *at | 1;
}

static void
unit(uint64_t *at)
{
	struct hone_carrier c = { .trace_id = next(at), .link_id = next(at), .sampled = 1 };
	struct hone_carrier to;

	c.request_type = hone_request_type("WORK");
	hone_unit_begin(&c, "work");
	for (int i = 0; i < 3; i++) {
		hone_fork("part", &to);
		hone_join(&to, "part");
	}
	hone_unit_end();
}

static void
units(double per_second)
{
	const long long began_ns = now_ns();
	uint64_t at = (uint64_t)began_ns;

	for (double wrote = 0;; wrote += 8) {
		unit(&at);
		if (wrote > per_second * (double)(now_ns() - began_ns) / 1e9)
			wait_us(1000);
	}
}

static void
types(long n)
{
	char name[32];

	for (;;)
		for (long i = 0; i < n; i++) {
			snprintf(name, sizeof name, "INVENTED_%ld", i);
			hone_request_begin(name, NULL);
			hone_request_end(0);
			if (i % 100 == 0)
				wait_us(1000);
		}
}

static void
joins(long n)
{
	uint64_t at = (uint64_t)now_ns();
	struct hone_carrier c = { .trace_id = next(&at), .link_id = next(&at), .sampled = 1 };
	struct hone_carrier to;

	c.request_type = hone_request_type("WORK");
	for (long i = 0; i < n; i++) {
		if (i % 1000 == 0) { /* units of one link, which each join has to consider */
			hone_unit_begin(&c, "work");
			hone_fork("part", &to);
		}
		hone_join(&c, "part");
		if (i % 1000 == 999)
			hone_unit_end();
	}
	for (;;)
		wait_us(1000000);
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "units") == 0)
		units(atof(argv[2]));
	if (argc == 3 && strcmp(argv[1], "types") == 0)
		types(atol(argv[2]));
	if (argc == 3 && strcmp(argv[1], "joins") == 0)
		joins(atol(argv[2]));
	while (argc == 4 && strcmp(argv[1], "request") == 0) {
		hone_request_begin(argv[2], NULL);
		wait_us(100);
		hone_request_end(0);
		wait_us(atol(argv[3]));
	}
	fprintf(stderr,
	    "usage: hostile_records units RECORDS_PER_SECOND | types NUMBER | joins NUMBER | request TYPE EVERY_US\n");
	return 2;
}
