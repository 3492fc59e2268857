/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A controller that diagnoses nothing: passes real agents' records through the engine's clocks and
 * assembly, and prints statistics of the time between nodes.
 *
 * 	clock_collect AGENTS_URL OPERATORS_URL AGENTS TRACES SECONDS	counts traces that began after AGENTS agents traced
 *
 * 	traces COUNT lossy COUNT given-up COUNT late COUNT
 * 	steps COUNT moved COUNT moved-before COUNT	of critical paths; before: without the correction by pairs of nodes
 * 	node NAME offset MS uncertain MS		of its clock to the controller's
 * 	edge COUNT LEAST_US MEDIAN_US NODE NODE FROM -> TO	each edge of critical paths that crosses nodes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/honed/honed_config.h"
#include "controlplane/engine/engine.h"
#include "controlplane/engine/parts.h"

enum { AGENTS_MAX = 64, EDGES_MAX = 512 };
#define MS INT64_C(1000000)

struct agent {
	struct peer *peer;
	uint32_t node;
	struct mono asked, told;
	bool tracing;
};

struct edge {
	uint32_t from, to, from_node, to_node;
	uint64_t count;
	int64_t least_ns;
	struct sketch sketch;
};

static struct collect {
	struct server *server;
	struct engine *engine;
	struct agent agents[AGENTS_MAX];
	struct edge edges[EDGES_MAX];
	uint32_t nedges;
	uint64_t traces, lossy, steps, moved, moved_before;
	uint32_t wanted, tracing; /* agents */
	struct mono since;        /* all of them trace */
	struct arena arena;
} all;

static void
die(const char *words)
{
	fprintf(stderr, "clock_collect: %s\n", words);
	exit(1);
}

/* ---- agents ---- */

static void
now_tracing(struct agent *a)
{
	if (a->tracing)
		return;
	a->tracing = true;
	if (++all.tracing == all.wanted)
		all.since = clock_mono();
}

static void
joined(const struct mail *m)
{
	uint32_t node;
	struct err e;

	if (engine_join(all.engine, m->hello->node, m->hello->version, clock_mono(), &node, &e) !=
	    0)
		die(e.text);
	if (node >= AGENTS_MAX)
		die("too many nodes");
	engine_clock(all.engine, node, NULL, m->hello->clock_ns, m->at);
	all.agents[node] = (struct agent){ .peer = m->peer, .node = node };
	server_welcome(all.server, m->peer, node);
}

static int
took(const struct mail *m, struct arena *a, struct err *e)
{
	uint32_t node = m->tag;
	struct clock_echo clock;
	struct status status;
	struct done done;
	int rc = 0;

	if (m->frame == FRAME_RECORDS &&
	    (rc = engine_batch(all.engine, node, m->data, m->len, clock_mono(), e)) == 0)
		server_took(all.server, m->peer, m->seq);
	else if (m->frame == FRAME_CLOCK && (rc = clock_decode(&clock, m->data, m->len, e)) == 0)
		engine_clock(all.engine, node, &clock, 0, m->at);
	else if (m->frame == FRAME_STATUS &&
		 (rc = status_decode(&status, a, m->data, m->len, e)) == 0) {
		engine_status(all.engine, node, &status, clock_mono());
		if (status.tracer_ok)
			now_tracing(&all.agents[node]);
	} else if (m->frame == FRAME_DONE && (rc = done_decode(&done, a, m->data, m->len, e)) == 0)
		engine_done(all.engine, node, &done, clock_mono());
	return rc;
}

static void
take_mail(void)
{
	struct arena a = { 0 };
	struct mail m;
	struct err e;

	while (server_next(all.server, &m, 20)) {
		if (m.kind == MAIL_JOINED)
			joined(&m);
		else if (m.kind == MAIL_FRAME && took(&m, &a, &e) != 0)
			die(e.text);
		else if (m.kind == MAIL_LEFT) {
			engine_leave(all.engine, m.tag, clock_mono());
			all.agents[m.tag].peer = NULL;
		}
		mail_release(&m);
		arena_reset(&a);
	}
	arena_release(&a);
}

static void
tell(struct agent *a, struct mono now)
{
	struct buf b = { 0 };

	if (a->peer == NULL)
		return;
	if (mono_since_ns(now, a->asked) > 500 * MS) {
		server_clock(all.server, a->peer);
		a->asked = now;
	}
	if (mono_since_ns(now, a->told) > 900 * MS) {
		want_encode(engine_want(all.engine, a->node), &b);
		server_want(all.server, a->peer, &b);
		buf_release(&b);
		a->told = now;
	}
}

/* ---- traces ---- */

static void
edge_add(const struct trace *t, const struct step *from, const struct step *to)
{
	struct edge key = { .from = from->label,
		.to = to->label,
		.from_node = t->events[from->event].node,
		.to_node = t->events[to->event].node,
		.least_ns = INT64_MAX };
	int64_t ns = to->time_ns - from->time_ns;
	struct edge *edge;
	uint32_t i = 0;

	while (i < all.nedges && memcmp(&all.edges[i], &key, 4 * sizeof(uint32_t)) != 0)
		i++;
	if (i == EDGES_MAX)
		return;
	edge = &all.edges[i];
	if (i == all.nedges) {
		*edge = key;
		all.nedges++;
	}
	edge->count++;
	edge->least_ns = ns < edge->least_ns ? ns : edge->least_ns;
	sketch_add(&edge->sketch, ns);
}

/* What began before every node was traced may lack what some of them did. The users' node has our
 * own clock. */
static bool
in_full(const struct trace *t)
{
	return all.since.ns > 0 && t->begin_ns > all.since.ns;
}

static void
trace_take(struct trace *t)
{
	static const struct label_set none = { 0 };
	struct labels *labels = engine_parts(all.engine)->labels;
	struct critpath before, path;
	int64_t sum_ns = 0;

	arena_reset(&all.arena);
	all.traces++;
	if (critpath_extract(&before, t, labels, &none, &all.arena, NULL) != 0)
		return;
	t->lossy |= !clocks_trace(engine_parts(all.engine)->clocks, t, labels);
	all.lossy += t->lossy;
	if (t->lossy) /* no evidence, to the engine too */
		return;
	if (critpath_extract(&path, t, labels, &none, &all.arena, NULL) != 0)
		return;
	all.steps += path.nsteps;
	all.moved += path.moved;
	all.moved_before += before.moved;
	for (uint32_t i = 1; i < path.nsteps; i++) {
		int64_t ns = path.steps[i].time_ns - path.steps[i - 1].time_ns;

		if (ns < 0)
			die("an effect is shown before its cause");
		sum_ns += ns;
		if (t->events[path.steps[i].event].node != t->events[path.steps[i - 1].event].node)
			edge_add(t, &path.steps[i - 1], &path.steps[i]);
	}
	if (sum_ns != t->end_ns - t->begin_ns)
		die("edges do not add up to the response time");
}

static void
print_all(void)
{
	struct engine *g = all.engine;
	struct assemble_counts n;

	assemble_counts(engine_parts(g)->assemble, &n);
	printf("traces %llu lossy %llu given-up %llu late %llu\n", (unsigned long long)all.traces,
	    (unsigned long long)all.lossy,
	    (unsigned long long)(n.given_up_memory + n.given_up_patience + n.given_up_malformed),
	    (unsigned long long)n.late);
	printf("steps %llu moved %llu moved-before %llu\n", (unsigned long long)all.steps,
	    (unsigned long long)all.moved, (unsigned long long)all.moved_before);
	for (uint32_t i = 0; i < engine_parts(g)->nodes.n; i++) {
		struct clock_state look;

		clocks_state(engine_parts(g)->clocks, i, clock_mono().ns, &look);
		printf("node %s offset %.3f uncertain %.3f\n", engine_parts(g)->nodes.items[i].name,
		    (double)look.offset_ns / 1e6,
		    look.bounded ? (double)look.uncertain_ns / 1e6 : -1);
	}
	for (uint32_t i = 0; i < all.nedges; i++) {
		const struct edge *edge = &all.edges[i];

		printf("edge %llu %.1f %.1f %s %s %s -> %s\n", (unsigned long long)edge->count,
		    (double)edge->least_ns / 1e3, sketch_quantile(&edge->sketch, 0.5) / 1e3,
		    engine_parts(g)->nodes.items[edge->from_node].name,
		    engine_parts(g)->nodes.items[edge->to_node].name,
		    labels_get(engine_parts(g)->labels, edge->from)->text,
		    labels_get(engine_parts(g)->labels, edge->to)->text);
	}
}

int
main(int argc, char **argv)
{
	struct engine_options eo;
	struct server_options so;
	struct forest *forest = forest_new();
	struct config c;
	struct trace *t;
	struct mono now, until;
	uint64_t wanted;
	struct err e;

	if (argc != 6) {
		fprintf(stderr,
		    "usage: clock_collect AGENTS_URL OPERATORS_URL AGENTS TRACES SECONDS\n");
		return 2;
	}
	if (config_init(&c, &e) != 0)
		die(e.text);
	eo = config_engine(&c);
	so = config_server(&c);
	so.agents = argv[1];
	so.operators = argv[2];
	all.wanted = (uint32_t)strtoul(argv[3], NULL, 10);
	wanted = strtoull(argv[4], NULL, 10);
	until = (struct mono){ clock_mono().ns + strtoll(argv[5], NULL, 10) * 1000 * MS };
	if (engine_new(&all.engine, &eo, forest, &e) != 0 || server_open(&all.server, &so, &e) != 0)
		die(e.text);
	do {
		take_mail();
		now = clock_mono();
		while ((t = assemble_next(engine_parts(all.engine)->assemble)) != NULL) {
			if (in_full(t))
				trace_take(t);
			trace_free(t);
		}
		for (int i = 0; i < AGENTS_MAX; i++)
			tell(&all.agents[i], now);
	} while (all.traces < wanted && mono_since_ns(until, now) > 0);
	print_all();
	server_close(all.server);
	engine_free(all.engine);
	forest_free(forest);
	arena_release(&all.arena);
	config_release(&c);
	return all.traces < wanted;
}
