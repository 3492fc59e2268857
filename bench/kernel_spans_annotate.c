/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many kernel events and spans are annotated in a second of processor time, on one core: the execution graph, the annotation, and the end, by
 * spans of a pool of threads whose truth is known. The best of several rounds, to reduce the effect of other load.
 */
#include <stdio.h>
#include <time.h>

#include "tests/unit/kernel/spans/span_pool.h"

enum { ROUNDS = 7, UNITS = 20000, POOL_THREADS = 8 };

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct times {
	double graph_s, begin_s, annotate_s, end_s;
};

static void
try_once(const struct pool *p, const struct span_node *nodes, struct times *best)
{
	struct kernel_graph *g = NULL;
	struct annotate *a = NULL;
	struct err e;
	double at = now_s(), then;

	if (kernel_graph_new(&g, &(struct kernel_graph_options){ 0 },
		(struct kernel_names *)(uintptr_t)&p->names, &e) != 0)
		abort();
	for (uint32_t i = 0; i < p->nevents; i++)
		if (kernel_graph_take(g, &p->events[i], &e) != 0)
			abort();
	if (kernel_graph_end(g, &e) != 0)
		abort();
	then = now_s();
	best->graph_s = then - at < best->graph_s ? then - at : best->graph_s;
	at = then;
	if (annotate_new(&a, &(struct annotate_options){ 0 }, &p->names, nodes, p->nspans,
		p->places, p->nplaces, &e) != 0)
		abort();
	then = now_s();
	best->begin_s = then - at < best->begin_s ? then - at : best->begin_s;
	at = then;
	for (uint32_t i = 0; i < p->nevents; i++)
		if (annotate_take(a, &p->events[i], &e) != 0)
			abort();
	then = now_s();
	best->annotate_s = then - at < best->annotate_s ? then - at : best->annotate_s;
	at = then;
	if (annotate_end(a, g, &e) != 0)
		abort();
	then = now_s();
	best->end_s = then - at < best->end_s ? then - at : best->end_s;
	annotate_free(a);
	kernel_graph_free(g);
}

int
main(void)
{
	struct times best = { 1e9, 1e9, 1e9, 1e9 };
	struct span_node *nodes;
	struct pool p;
	double all_s;

	pool_make(&p, 1, POOL_THREADS, UNITS);
	if ((nodes = calloc(p.nspans, sizeof *nodes)) == NULL)
		abort();
	for (uint32_t i = 0; i < p.nspans; i++)
		nodes[i] = (struct span_node){ p.spans[i].parent, true };
	for (int i = 0; i < ROUNDS; i++)
		try_once(&p, nodes, &best);
	all_s = best.graph_s + best.begin_s + best.annotate_s + best.end_s;
	printf("%u spans in %u places, %u system calls, %u kernel events\n", p.nspans, p.nplaces,
	    p.ncalls, p.nevents);
	printf("graph       %6.1f ns an event\n", best.graph_s * 1e9 / p.nevents);
	printf("places      %6.1f ns a place\n", best.begin_s * 1e9 / p.nplaces);
	printf("annotation  %6.1f ns an event\n", best.annotate_s * 1e9 / p.nevents);
	printf("end         %6.1f ns a span\n", best.end_s * 1e9 / p.nspans);
	printf("all of it   %.2f million events a second, %.0f spans a second\n",
	    p.nevents / all_s / 1e6, p.nspans / all_s);
	free(nodes);
	pool_release(&p);
	return 0;
}
