/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folded stacks of any bytes, as records carry them: a line is a part; its first byte says state, whether its request is
 * slow and whether it begins one. Differences of states add up to that of the edge, and nodes of the tree hold their children.
 * As text it is bounded, and read again; the bytes themselves as text are read or refused.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/differential_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { PARTS_MAX = 400 };

static void
check_text(struct differential *d, struct difference_node *nodes, uint32_t count, struct arena *a)
{
	struct difference_node *read_nodes;
	struct differential read;
	struct buf text = { 0 };
	uint32_t read_count;

	differential_write(&text, d, nodes, count, 0.5);
	if (text.failed || text.len > DIFFERENTIAL_TEXT_MAX ||
	    differential_read(&read, &read_nodes, &read_count, (char *)text.data, a, NULL) != 0 ||
	    read.count != d->count || read_count == 0 || read_count > count)
		abort();
	buf_release(&text);
}

static void
check_tree(
    const struct request_parts *requests, uint32_t n, struct differential *d, struct arena *a)
{
	static double inner[DIFFERENTIAL_NODES_MAX];
	struct difference_node *nodes;
	uint32_t count;

	if (differential_tree(&nodes, &count, requests, n, NULL, a, NULL) != 0)
		abort();
	memset(inner, 0, sizeof inner);
	if (fabs(nodes[0].slow_ns - d->slow_ns) > 1e-6 * d->slow_ns ||
	    count > DIFFERENTIAL_NODES_MAX)
		abort();
	for (uint32_t i = 1; i < count; i++) {
		if (nodes[i].parent >= i)
			abort();
		inner[nodes[i].parent] += nodes[i].usual_ns;
	}
	for (uint32_t i = 0; i < count; i++)
		if (inner[i] > nodes[i].usual_ns * (1 + 1e-9) + 1e-6)
			abort();
	check_text(d, nodes, count, a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct request_part parts[PARTS_MAX];
	static struct request_parts requests[PARTS_MAX];
	const char *at = (const char *)data, *end = at + len;
	uint32_t nparts = 0, n = 0;
	struct differential d;
	struct arena a = { 0 };
	double states = 0, of_edge;
	struct difference_node *nodes;
	uint32_t count;
	char *text;
	int rc;

	while (at < end && nparts < PARTS_MAX) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		uint8_t how = (uint8_t)*at++;

		stop = stop != NULL && stop >= at ? stop : at > end ? at : stop == NULL ? end : at;
		if (n == 0 || (how & 1) != 0)
			requests[n++] = (struct request_parts){ &parts[nparts], 0, (how & 2) != 0 };
		parts[nparts++] = (struct request_part){ at, (size_t)(stop - at), how >> 2,
			1 + (int64_t)(stop - at) };
		requests[n - 1].count++;
		at = stop + (stop < end);
	}
	if (differential_of(&d, requests, n, 0.95, 5, 1, &a, NULL) != 0)
		abort();
	for (uint32_t i = 0; i < d.count; i++) {
		struct difference *x = &d.items[i];

		states += x->of == DIFFERENCE_STATE ? x->slow_ns - x->usual_ns : 0;
		if (!(x->p > 0 && x->p <= 1) || !(x->more_ns.low <= x->more_ns.high) ||
		    x->slow > d.nslow || x->usual > d.nusual)
			abort();
	}
	of_edge = d.slow_ns - d.usual_ns;
	if (d.count > 0 && d.left_out == 0 &&
	    fabs(states - of_edge) > 1e-6 * (d.slow_ns + d.usual_ns))
		abort();
	check_tree(requests, n, &d, &a);
	text = arena_text(&a, (const char *)data, len);
	if (text == NULL)
		abort();
	rc = differential_read(&d, &nodes, &count, text, &a, NULL);
	if (rc != 0 && rc != ERR_INPUT)
		abort();
	for (uint32_t i = 1; rc == 0 && i < count; i++)
		if (nodes[i].parent >= i)
			abort();
	arena_release(&a);
	return 0;
}
