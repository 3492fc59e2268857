/* SPDX-License-Identifier: MIT */
/*
 * A traced program that is not linked with libhone and refers to it by weak symbols: with the
 * library preloaded its records carry contexts. Serves one request for each line of its input, of
 * the type in that line, and answers each with "trace_id unit_id sampled probed", to compare with
 * the records.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "instrument/hone.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/instrument_tp.h"

#pragma weak hone_request_begin
#pragma weak hone_request_end
#pragma weak hone_fork
#pragma weak hone_unit_id

static void
serve(const char *type, int i)
{
	struct hone_carrier c;

	if (hone_request_begin == NULL) {
		lttng_ust_tracepoint(plain, step, i, "without");
		puts("without libhone");
		return;
	}
	hone_request_begin(type, NULL);
	lttng_ust_tracepoint(plain, step, i, "inside");
	hone_fork("nothing", &c);
	printf("%" PRIu64 " %" PRIu64 " %d %d\n", c.trace_id, hone_unit_id(), c.sampled, c.probed);
	hone_request_end(200);
}

int
main(void)
{
	char type[64];

	for (int i = 0; fgets(type, sizeof type, stdin) != NULL; i++) {
		type[strcspn(type, "\n")] = '\0';
		lttng_ust_tracepoint(plain, step, i, "outside");
		serve(type, i);
		fflush(stdout);
	}
	return 0;
}
