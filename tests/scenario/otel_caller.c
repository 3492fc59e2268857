/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * otel_caller REQUESTS CLIENT: each request of type MIXED, by libhone, calls a program with OpenTelemetry, handing on the two
 * headers: tests/scenario/otel/client.js, which makes the spans of one request below them. See otel_mixed_test.sh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "instrument/hone.h"

static int
call(const char *client)
{
	char parent[HONE_TRACEPARENT_SIZE], state[HONE_TRACESTATE_SIZE], trace[33], span[17],
	    command[1024];
	struct hone_carrier c;
	int rc;

	hone_request_begin("MIXED", NULL);
	hone_fork("node", &c);
	if (hone_traceparent(&c, parent) == 0 || hone_tracestate(&c, state) == 0)
		return 1;
	/* 00-TRACE-SPAN-FLAGS */
	snprintf(trace, sizeof trace, "%.32s", parent + 3);
	snprintf(span, sizeof span, "%.16s", parent + 36);
	snprintf(command, sizeof command,
	    "TRACE_ID=%s SPAN_ID=%s node %s proto 1 none '%s' >/dev/null", trace, span, client,
	    state);
	rc = system(command);
	hone_join(&c, "node");
	hone_request_end(rc);
	return rc;
}

int
main(int argc, char **argv)
{
	int n = argc == 3 ? atoi(argv[1]) : 0, rc = n > 0 ? 0 : 2;

	sleep(2); /* the table of rates is found within a second */
	for (int i = 0; i < n && rc == 0; i++)
		rc = call(argv[2]);
	sleep(1);
	return rc != 0;
}
