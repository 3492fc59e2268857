/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two services with OpenTelemetry spans as LTTng-UST events, as processes of their own: front asks cart, which reads its store.
 *
 *	otel_spans_program REQUESTS	front: starts cart, and makes requests, of which every fourth is slow in cart's store
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/otel_spans_tp.h"

enum { SLOW_EVERY = 4, SLOW_US = 20000, USUAL_US = 300 };

struct call {
	char trace[33], span[17];
	uint32_t number;
};

static void
new_id(char id[17])
{
	static uint64_t n;

	n++;
	snprintf(id, 17, "%08x%08x", (unsigned)getpid(), (unsigned)(n * 2654435761u));
}

static void
cart(int in, int out)
{
	struct call c;
	char span[17], store[17];

	if (write(out, "r", 1) != 1) /* ready */
		return;
	while (read(in, &c, sizeof c) == sizeof c) {
		new_id(span);
		new_id(store);
		lttng_ust_tracepoint(otl_ust_go, start_span, c.trace, span, c.span);
		lttng_ust_tracepoint(otl_ust_go, start_span, c.trace, store, span);
		usleep(c.number % SLOW_EVERY == 0 ? SLOW_US : USUAL_US);
		lttng_ust_tracepoint(otl_ust_go, end_span, c.trace, store, "cart", "store.read");
		lttng_ust_tracepoint(otl_ust_go, end_span, c.trace, span, "cart", "GET /cart");
		if (write(out, "x", 1) != 1)
			break;
	}
}

int
main(int argc, char **argv)
{
	int to[2], from[2], n = argc > 1 ? atoi(argv[1]) : 0;
	struct call c = { "", "", 0 };
	char answer, to_text[16], from_text[16];
	pid_t child;

	if (argc == 4 && strcmp(argv[1], "cart") == 0) {
		cart(atoi(argv[2]), atoi(argv[3]));
		return 0;
	}
	if (n < 1 || pipe(to) != 0 || pipe(from) != 0)
		return 2;
	snprintf(to_text, sizeof to_text, "%d", to[0]);
	snprintf(from_text, sizeof from_text, "%d", from[1]);
	if ((child = fork()) == 0) {
		close(to[1]);
		execl(argv[0], argv[0], "cart", to_text, from_text, (char *)NULL);
		_exit(1);
	}
	close(to[0]);
	if (read(from[0], &answer, 1) != 1)
		return 1;
	for (int i = 0; i < n; i++) {
		char root[17];

		snprintf(c.trace, sizeof c.trace, "%016x%016x", 0xabcd,
		    (unsigned)(getpid() * 65536 + i));
		c.number = (uint32_t)i;
		new_id(root);
		new_id(c.span);
		lttng_ust_tracepoint(otl_ust_go, start_span, c.trace, root, "0000000000000000");
		lttng_ust_tracepoint(otl_ust_go, start_span, c.trace, c.span, root);
		if (write(to[1], &c, sizeof c) != sizeof c || read(from[0], &answer, 1) != 1)
			return 1;
		lttng_ust_tracepoint(otl_ust_go, end_span, c.trace, c.span, "front", "cart.get");
		lttng_ust_tracepoint(otl_ust_go, end_span, c.trace, root, "front", "GET /");
	}
	close(to[1]);
	waitpid(child, NULL, 0);
	return 0;
}
