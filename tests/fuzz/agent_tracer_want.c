/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any sequence of desired states: neither Hone's own tracepoints nor the tracer's are enabled or disabled. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/tracer/reconcile.h"
#include "agent/tracer/tracer_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool
none(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return false;
}

static void
turn(struct reconcile *r, struct mono now)
{
	struct tracer_change *c;
	struct done d;
	uint32_t n;

	if ((c = reconcile_changes(r, RECONCILE_TRACER, now, &n)) != NULL) {
		for (uint32_t i = 0; i < n; i++) {
			if (strncmp(c[i].name, "hone:", 5) == 0 || is_tracer_internal(c[i].name))
				abort();
			c[i].failed = i % 3 == 1;
		}
		reconcile_applied(r, c, n, false, now);
	}
	if (reconcile_done(r, now, none, NULL, &d) && d.nresults > TOGGLES_MAX)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct reconcile *r = reconcile_new();
	struct mono now = { 0 };

	while (len > 2) {
		size_t part = data[0] < len - 1 ? data[0] : len - 1;
		struct arena a = { 0 };
		struct want w;

		if (want_decode(&w, &a, data + 1, part, NULL) == 0)
			reconcile_want(r, &w, now, NULL);
		arena_release(&a);
		turn(r, now);
		now.ns += 700000000;
		data += part + 1;
		len -= part + 1;
	}
	reconcile_free(r);
	return 0;
}
