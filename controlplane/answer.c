/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions to answers, JSON to JSON; docs/questions.md says what each holds. */
#include "controlplane/answer.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/engine_inside.h"
#include "report/document.h"

typedef json_t *question(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask);

static question ask_status, ask_agents, ask_tracepoints, ask_start, ask_stop, ask_learn, ask_forest, ask_verdict, ask_report;

static const struct {
	const char *name;
	question *answer;
} QUESTIONS[] = {
	{ "status", ask_status },
	{ "agents", ask_agents },
	{ "tracepoints", ask_tracepoints },
	{ "start", ask_start },
	{ "stop", ask_stop },
	{ "learn", ask_learn },
	{ "forest", ask_forest },
	{ "verdict", ask_verdict },
	{ "report", ask_report },
};

static json_t *
refusal(int code, const char *words)
{
	const char *name = code == ERR_MISSING ? "missing" : code == ERR_BUSY ? "busy" : code == ERR_INPUT ? "input" :
	    code == ERR_STORE ? "store" : "failed";

	return json_pack("{s:b, s:s, s:s}", "ok", 0, "error", words, "code", name);
}

char *
answer_ask(struct engine *g, struct forest *f, const struct answer_context *c, const char *ask, size_t len)
{
	json_error_t why;
	json_t *q = json_loadb(ask, len, 0, &why), *a = NULL;
	const char *name = json_string_value(json_object_get(q, "ask"));
	char words[300], *text;

	if (name == NULL) {
		snprintf(words, sizeof words, "the question is not a JSON object with \"ask\"%s%s", q == NULL ? ": " : "",
		    q == NULL ? why.text : "");
		a = refusal(ERR_INPUT, words);
	}
	for (size_t i = 0; a == NULL && i < sizeof QUESTIONS / sizeof QUESTIONS[0]; i++)
		if (strcmp(QUESTIONS[i].name, name) == 0)
			a = QUESTIONS[i].answer(g, f, c, q);
	if (a == NULL) {
		snprintf(words, sizeof words, "%.80s: no such question", name);
		a = refusal(ERR_INPUT, words);
	}
	if (json_object_get(a, "ok") == NULL)
		json_object_set_new(a, "ok", json_true());
	json_object_set_new(a, "version", json_integer(1));
	text = json_dumps(a, JSON_COMPACT | JSON_PRESERVE_ORDER);
	json_decref(a);
	json_decref(q);
	return text;
}

static json_t *
text(const char *s)
{
	return text_json(s, strlen(s));
}

static json_t *
id_text(uint64_t trace_id)
{
	char text[17];

	if (trace_id == 0)
		return json_null();
	snprintf(text, sizeof text, "%016llx", (unsigned long long)trace_id);
	return json_string(text);
}

/* ---- runs and their trees ---- */

static json_t *
key_of(const char *name, double r, double p, uint32_t n)
{
	if (name == NULL || name[0] == '\0')
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:i}", "name", text(name), "r", number_json(r), "p", number_json(p), "n", (int)n);
}

static json_t *
hypothesis_json(const struct hypothesis *h)
{
	char presence[2] = { h->presence, '\0' };

	return json_pack("{s:I, s:o, s:i, s:s, s:s, s:o, s:{s:o, s:o}, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o,"
	    " s:o, s:o, s:o, s:o}",
	    "id", (json_int_t)h->id, "parent", h->parent != 0 ? json_integer((json_int_t)h->parent) : json_null(),
	    "cycle", (int)h->cycle, "state", hypothesis_word(h->state), "presence", presence, "tracepoint", text(h->tracepoint),
	    "edge", "from", text(h->edge_from), "to", text(h->edge_to),
	    "traces", (json_int_t)h->traces, "mean_ms", number_json(h->mean_ns / 1e6), "cv", number_json(h->cv),
	    "share", number_json(h->share), "share_low", number_json(h->share_low), "share_high", number_json(h->share_high),
	    "latency_share", number_json(h->latency_share), "settled_traces", (json_int_t)h->settled_traces,
	    "settled_share", number_json(h->settled_share), "settled_low", number_json(h->settled_low),
	    "settled_high", number_json(h->settled_high), "key", key_of(h->key, h->key_r, h->key_p, h->key_n),
	    "made", wall_json(h->made), "settled", wall_json(h->settled));
}

static json_t *
path_json(const char *lines)
{
	json_t *a = json_array();

	while (*lines != '\0') {
		size_t len = strcspn(lines, "\n");

		json_array_append_new(a, text_json(lines, len));
		lines += len + (lines[len] == '\n');
	}
	return a;
}

/* A verdict with all that was measured. */
static json_t *
verdict_json(const struct engine *g, const struct verdict *v)
{
	return json_pack("{s:I, s:s, s:s, s:{s:o, s:I, s:o, s:o}, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:f, s:o, s:{s:o, s:o},"
	    " s:{s:o, s:o, s:o, s:o, s:o, s:o, s:o}, s:b, s:b, s:I}",
	    "hypothesis", (json_int_t)v->hypothesis, "kind", verdict_word(v->kind),
	    "problem", v->problem == PROBLEM_SLOW ? "slow" : "unpredictable",
	    "group", "path", path_json(v->path), "traces", (json_int_t)v->traces, "mean_ms",
	    number_json(v->mean_ns / 1e6), "cv", number_json(v->cv), "edge", "from", text(v->from), "to", text(v->to),
	    "share", number_json(v->share), "share_low", number_json(v->share_low),
	    "share_high", number_json(v->share_high), "latency_share", number_json(v->latency_share),
	    "confidence", v->confidence, "key", key_of(v->key, v->key_r, v->key_p, v->key_n),
	    "exemplars", "slowest", id_text(v->slowest.low), "fastest", id_text(v->fastest.low),
	    "what_if", "cv_now", number_json(v->cv_now), "cv_then", number_json(v->cv_then),
	    "p50_then_ms", number_json(v->p50_then_ns / 1e6), "p95_now_ms", number_json(v->p95_now_ns / 1e6),
	    "p95_then_ms", number_json(v->p95_then_ns / 1e6), "p99_now_ms", number_json(v->p99_now_ns / 1e6),
	    "p99_then_ms", number_json(v->p99_then_ns / 1e6), "bottom", v->kind != VERDICT_SPREAD && v->kind != VERDICT_CUT,
	    "spread", v->kind == VERDICT_SPREAD, "added_on", (json_int_t)plan_count(g->plan));
}

/* The verdict of a run from before we started: what the database keeps of it. */
static json_t *
verdict_stored(const struct engine *g, const struct hypothesis *h)
{
	return json_pack("{s:I, s:{s:o, s:I, s:o, s:o}, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:I}",
	    "hypothesis", (json_int_t)h->id,
	    "group", "path", path_json(h->group_shape), "traces", (json_int_t)h->settled_traces,
	    "mean_ms", number_json(h->mean_ns / 1e6), "cv", number_json(h->cv), "edge", "from", text(h->edge_from), "to", text(h->edge_to),
	    "share", number_json(h->settled_share), "share_low", number_json(h->settled_low), "share_high", number_json(h->settled_high),
	    "latency_share", number_json(h->latency_share), "key", key_of(h->key, h->key_r, h->key_p, h->key_n),
	    "exemplars", "slowest", id_text(h->exemplar_slow), "fastest", id_text(h->exemplar_fast),
	    "added_on", (json_int_t)plan_count(g->plan));
}

static const struct diagnosis *
diagnosis_of(const struct engine *g, const struct run *r)
{
	for (uint32_t i = 0; i < g->ntypes; i++)
		if (g->types[i].diagnosis != NULL && g->types[i].diagnosis->run == r)
			return g->types[i].diagnosis;
	return NULL;
}

static json_t *
phase_words(const struct engine *g, const struct diagnosis *d)
{
	if (d == NULL || d->phase == PHASE_ENDED)
		return json_string("ended");
	if (d->phase == PHASE_PAUSED || g->paused)
		return json_sprintf("paused: %s", g->paused_why);
	if (d->phase == PHASE_SWITCH)
		return json_sprintf("cycle %u: switching %u tracepoint%s on", d->run->cycles, d->npicks,
		    d->npicks == 1 ? "" : "s");
	return json_sprintf("%s %u: %llu traces in %u groups", d->phase == PHASE_WATCH ? "watching, cycle" :
	    "gathering, cycle", d->run->cycles, (unsigned long long)d->traces,
	    d->groups != NULL ? groups_count(d->groups) : 0);
}

static json_t *
run_json(const struct engine *g, const struct forest *f, const struct run *r, const struct answer_context *c,
    bool tree)
{
	const struct diagnosis *d = diagnosis_of(g, r);
	const struct hypothesis *h = r->verdict != 0 ? forest_get(f, r->verdict) : NULL;
	int64_t until_ns = r->ended.ns != 0 ? r->ended.ns : c->when.ns;
	json_t *v = json_null(), *run, *all;
	uint64_t at = 0;

	if (forest_verdict(f, r->id, 1) != NULL)
		v = verdict_json(g, forest_verdict(f, r->id, 1));
	else if (h != NULL)
		v = verdict_stored(g, h);
	run = json_pack("{s:I, s:o, s:s, s:I, s:s, s:o, s:i, s:f, s:i, s:i, s:o, s:o, s:o, s:o}",
	    "run", (json_int_t)r->id, "type", text(r->type), "strategy", r->strategy != NULL ? r->strategy : "",
	    "seed", (json_int_t)r->seed, "state", run_word(r->state), "phase", phase_words(g, d),
	    "cycles", (int)r->cycles, "seconds", (double)(until_ns - r->begun.ns) / 1e9,
	    "tracepoints_used", (int)r->tracepoints, "tracepoints_all", (int)r->tracepoints_all,
	    "begun", wall_json(r->begun), "ended", wall_json(r->ended), "words", text(r->words != NULL ? r->words : ""),
	    "verdict", v);
	if (!tree)
		return run;
	all = json_array();
	while ((h = forest_next(f, r->id, &at)) != NULL)
		json_array_append_new(all, hypothesis_json(h));
	json_object_set_new(run, "hypotheses", all);
	return run;
}

static json_t *
ask_forest(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *type = json_string_value(json_object_get(ask, "type"));
	const json_t *which = json_object_get(ask, "run");
	json_t *runs = json_array();
	struct run *r;
	uint64_t at = 0;

	while ((r = forest_run_next(f, &at)) != NULL) {
		if (json_is_integer(which) ? r->id == (uint64_t)json_integer_value(which) :
		    (type == NULL || strcmp(type, r->type) == 0) && r == forest_run_latest(f, r->type))
			json_array_append_new(runs, run_json(g, f, r, c, true));
	}
	if (json_array_size(runs) == 0 && (type != NULL || which != NULL)) {
		char words[300];

		json_decref(runs);
		snprintf(words, sizeof words, "%.80s: there is no diagnosis of it; 'hone start %.80s' begins one",
		    type != NULL ? type : "that run", type != NULL ? type : "TYPE");
		return refusal(ERR_MISSING, words);
	}
	return json_pack("{s:o}", "runs", runs);
}

static json_t *
ask_verdict(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *type = json_string_value(json_object_get(ask, "type"));
	const struct run *r = forest_run_latest(f, type);
	char words[200];

	if (r != NULL)
		return json_pack("{s:o}", "run", run_json(g, f, r, c, true));
	snprintf(words, sizeof words, "%.80s: there is no diagnosis of it", type != NULL ? type : "nothing");
	return refusal(ERR_MISSING, words);
}

/* ---- doing ---- */

static json_t *
ask_start(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *type = json_string_value(json_object_get(ask, "type"));
	struct start_options o = {
		.strategy = json_string_value(json_object_get(ask, "strategy")),
		.tracepoints_per_cycle = json_integer_value(json_object_get(ask, "k")),
		.seed = (uint64_t)json_integer_value(json_object_get(ask, "seed")),
	};
	struct err e;
	uint64_t run;
	int rc;

	if (type == NULL)
		return refusal(ERR_INPUT, "which request type? \"type\" is missing");
	if (o.tracepoints_per_cycle < 0 || o.tracepoints_per_cycle > PICKS_MAX)
		return refusal(ERR_INPUT, "k is from 1 to 16");
	if ((rc = engine_start(g, type, &o, c->now, c->when, &run, &e)) != 0)
		return refusal(rc, e.text);
	return json_pack("{s:o}", "run", run_json(g, f, forest_run(f, run), c, false));
}

static json_t *
ask_stop(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *type = json_string_value(json_object_get(ask, "type"));
	json_t *stopped = json_array();
	struct err e;
	int rc;

	for (uint32_t i = 0; i < g->ntypes; i++) {
		const struct diagnosis *d = g->types[i].diagnosis;

		if (d != NULL && d->phase != PHASE_ENDED && (type == NULL || strcmp(type, g->types[i].name) == 0))
			json_array_append_new(stopped, text(g->types[i].name));
	}
	if ((rc = engine_stop(g, type, c->when, &e)) != 0) {
		json_decref(stopped);
		return refusal(rc, e.text);
	}
	(void)f;
	return json_pack("{s:o}", "stopped", stopped);
}

static json_t *
learning_json(const struct engine *g, const struct answer_context *c)
{
	const struct learning *l = &g->learning;
	struct space_stats s = { 0 };

	if (!l->active)
		return json_null();
	space_stats(g->space, LABEL_NONE, &s);
	return json_pack("{s:f, s:I, s:i}", "left_s", l->ready ? (double)mono_since_ns(l->until, c->now) / 1e9 :
	    (double)l->for_ns / 1e9, "traces", (json_int_t)l->traces, "places", (int)s.places);
}

static json_t *
ask_learn(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	double seconds = json_number_value(json_object_get(ask, "seconds"));
	struct err e;
	int rc;

	(void)f;
	if (!(seconds >= 0.1 && seconds <= 86400))
		return refusal(ERR_INPUT, "seconds: from 0.1 to 86400");
	if ((rc = engine_learn(g, (int64_t)(seconds * 1e9), c->now, &e)) != 0)
		return refusal(rc, e.text);
	return json_pack("{s:o}", "learning", learning_json(g, c));
}

/* ---- looking ---- */

static json_t *
type_json(const struct engine *g, const struct type *t)
{
	const struct label *l = labels_get(g->labels, t->label);
	struct space_stats s = { 0 };
	bool runs = t->diagnosis != NULL && t->diagnosis->phase != PHASE_ENDED;

	space_stats(g->space, t->label, &s);
	return json_pack("{s:o, s:o, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:o}", "type", text(t->name), "service",
	    text_json(l->text, l->service_len), "traces", (json_int_t)t->traces, "per_second", t->per_second,
	    "mean_ms", t->total.mean / 1e6, "p50_ms", sketch_quantile(t->sketch, 0.5) / 1e6,
	    "p95_ms", sketch_quantile(t->sketch, 0.95) / 1e6, "p99_ms", sketch_quantile(t->sketch, 0.99) / 1e6,
	    "cv", moments_cv(&t->total), "learned_places", (int)s.places,
	    "run", runs ? json_integer((json_int_t)t->diagnosis->run->id) : json_null());
}

/* The report takes every request, so what diagnoses counted of the same ones is in its counts already. */
static void
path_counts(const struct engine *g, struct report_counts *ret)
{
	*ret = (struct report_counts){ .moved = g->moved, .pathless = g->pathless, .inexact = g->inexact };
	if (g->report == NULL)
		return;
	report_counts(g->report, ret);
	ret->moved += g->windows.moved;
	ret->pathless += g->windows.pathless;
	ret->inexact += g->windows.inexact + g->inexact;	/* paths with more steps are others */
}

static json_t *
counts_json(const struct engine *g)
{
	struct assemble_counts n;
	struct report_counts r;
	uint64_t other;

	assemble_counts(g->assemble, &n);
	path_counts(g, &r);
	other = r.other;
	for (uint32_t i = 0; i < g->ntypes; i++)
		if (g->types[i].diagnosis != NULL && g->types[i].diagnosis->groups != NULL)
			other += groups_other(g->types[i].diagnosis->groups)->traces;
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I,"
	    " s:I, s:I, s:I, s:I}",
	    "records", (json_int_t)n.records, "traces", (json_int_t)n.complete, "late", (json_int_t)n.late,
	    "given_up_memory", (json_int_t)n.given_up_memory, "given_up_patience", (json_int_t)n.given_up_patience,
	    "given_up_malformed", (json_int_t)n.given_up_malformed, "lossy", (json_int_t)n.lossy,
	    "lost_ring", (json_int_t)n.lost[LOSS_RING], "lost_queue", (json_int_t)n.lost[LOSS_QUEUE],
	    "lost_decode", (json_int_t)n.lost[LOSS_DECODE], "incomplete", (json_int_t)n.incomplete,
	    "other_groups", (json_int_t)other, "moved", (json_int_t)r.moved, "pathless", (json_int_t)r.pathless,
	    "untyped", (json_int_t)g->untyped, "inexact", (json_int_t)r.inexact,
	    "duplicate", (json_int_t)n.duplicate, "used", (json_int_t)n.used, "given_up", (json_int_t)n.given_up,
	    "held", (json_int_t)n.held, "outside", (json_int_t)n.outside);
}

static json_t *
with_clocks(json_t *counts, const struct engine *g)
{
	struct clocks_counts n;

	clocks_counts(g->clocks, &n);
	json_object_set_new(counts, "clock_corrected", json_integer((json_int_t)n.corrected));
	json_object_set_new(counts, "clock_contradictory", json_integer((json_int_t)n.contradictory));
	return counts;
}

static json_t *
ask_status(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	json_t *types = json_array(), *runs = json_array(), *on = json_array();
	uint32_t agents = 0;

	(void)ask;
	for (uint32_t i = 0; i < g->nnodes; i++)
		agents += g->nodes[i].connected;
	for (uint32_t i = 0; i < plan_count(g->plan); i++) {
		uint64_t owner;

		json_array_append_new(on, text(plan_at(g->plan, i, &owner)));
	}
	for (uint32_t i = 0; i < g->ntypes; i++) {
		const struct diagnosis *d = g->types[i].diagnosis;

		json_array_append_new(types, type_json(g, &g->types[i]));
		if (d != NULL && d->phase != PHASE_ENDED)
			json_array_append_new(runs, run_json(g, f, d->run, c, false));
	}
	return json_pack("{s:{s:s, s:i, s:f, s:s, s:s, s:s}, s:b, s:s, s:i, s:i, s:o, s:b, s:o, s:o, s:o, s:o,"
	    " s:{s:I, s:f, s:f}}",
	    "controller", "version", HONE_VERSION, "pid", (int)getpid(),
	    "uptime_s", (double)mono_since_ns(c->now, c->started) / 1e9, "database", c->database,
	    "space", c->space_path, "store_trouble", c->store_trouble != NULL ? c->store_trouble : "",
	    "paused", g->paused, "paused_why", g->paused ? g->paused_why : "", "agents", (int)agents,
	    "added", (int)plan_count(g->plan), "added_names", on, "quiet", engine_quiet(g),
	    "learning", learning_json(g, c), "types", types, "runs", runs, "counts", with_clocks(counts_json(g), g),
	    "delay", "batches", (json_int_t)g->delay.n, "p50_ms", sketch_quantile(&g->delay, 0.5) / 1e6,
	    "p99_ms", sketch_quantile(&g->delay, 0.99) / 1e6);
}

static double
rate(double later, double earlier, double seconds)
{
	return seconds > 0 && later >= earlier ? (later - earlier) / seconds : 0;
}

/* The node's clock: what ours is ahead of it, and by how much that may be wrong (null: nobody knows yet). */
static void
clock_json(json_t *agent, const struct engine *g, uint32_t node, const struct answer_context *c)
{
	struct clock_look look;

	clocks_look(g->clocks, node, c->now.ns, &look);
	json_object_set_new(agent, "offset_ms", look.known ? json_real((double)look.offset_ns / 1e6) : json_null());
	json_object_set_new(agent, "uncertain_ms", look.bounded ? json_real((double)look.uncertain_ns / 1e6) : json_null());
	json_object_set_new(agent, "same_clock", json_boolean(look.here));
	json_object_set_new(agent, "clock_steps", json_integer((json_int_t)look.steps));
}

static json_t *
agent_json(const struct node *n, const struct answer_context *c)
{
	const struct status *s = &n->status, *b = &n->before;
	double seconds = (double)mono_since_ns(n->status_at, n->before_at) / 1e9;
	json_t *services = json_array();

	for (uint32_t i = 0; i < n->programs.nprograms; i++) {
		uint32_t k;

		for (k = 0; k < i && strcmp(n->programs.programs[k].service, n->programs.programs[i].service) != 0; k++)
			;
		if (k == i)
			json_array_append_new(services, text(n->programs.programs[i].service));
	}
	return json_pack("{s:o, s:b, s:o, s:i, s:o, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:i, s:b,"
	    " s:o, s:f}",
	    "node", text(n->name), "connected", n->connected, "version", text(n->version),
	    "programs", (int)s->programs, "services", services,
	    "fill_ring", s->fill[QUEUE_RING], "fill_agent", s->fill[QUEUE_AGENT], "fill_link", s->fill[QUEUE_LINK],
	    "lost_ring", (json_int_t)s->lost[LOSS_RING], "lost_queue", (json_int_t)s->lost[LOSS_QUEUE],
	    "lost_decode", (json_int_t)s->lost[LOSS_DECODE], "records", (json_int_t)s->records,
	    "records_per_second", rate((double)s->records, (double)b->records, seconds),
	    "cpu_pct", rate((double)s->cpu_us, (double)b->cpu_us, seconds) / 1e4,
	    "tracer_cpu_pct", rate((double)s->tracer_cpu_us, (double)b->tracer_cpu_us, seconds) / 1e4,
	    "memory_mib", (double)s->memory_bytes / 1048576, "ring_mib", (double)s->ring_bytes / 1048576,
	    "added", (int)s->added, "tracer_ok", s->tracer_ok, "trouble", text(n->trouble[0] != '\0' ? n->trouble : n->failure),
	    "lag_ms", (double)mono_since_ns(c->now, n->heard) / 1e6);
}

static json_t *
ask_agents(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	json_t *agents = json_array(), *agent;

	(void)f;
	(void)ask;
	for (uint32_t i = 0; i < g->nnodes; i++) {
		agent = agent_json(&g->nodes[i], c);
		clock_json(agent, g, i, c);
		json_array_append_new(agents, agent);
	}
	return json_pack("{s:o}", "agents", agents);
}

/* Adds a text to an array of them, once. */
static void
add_once(json_t *array, const char *name)
{
	for (size_t i = 0; i < json_array_size(array); i++)
		if (strcmp(json_string_value(json_array_get(array, i)), name) == 0)
			return;
	json_array_append_new(array, text(name));
}

static bool
provider_wanted(const struct engine *g, const char *name)
{
	char all[TOGGLE_NAME_MAX + 1];

	snprintf(all, sizeof all, "%.*s:*", (int)strcspn(name, ":"), name);
	return plan_wants(g->plan, all);
}

static uint64_t
owner_of(const struct engine *g, const char *name)
{
	uint64_t owner;
	const char *at;

	for (uint32_t i = 0; (at = plan_at(g->plan, i, &owner)) != NULL; i++)
		if (strcmp(at, name) == 0)
			return owner;
	return 0;
}

static json_t *
ask_tracepoints(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	json_t *all = json_object(), *list = json_array(), *entry;
	const char *name;
	int on = 0;

	(void)f;
	(void)c;
	(void)ask;
	for (uint32_t i = 0; i < g->nnodes; i++) {
		const struct programs *p = &g->nodes[i].programs;

		for (uint32_t k = 0; k < p->nprograms; k++)
			for (uint32_t t = p->programs[k].first; t < p->programs[k].first + p->programs[k].count; t++) {
				if ((entry = json_object_get(all, p->names[t])) == NULL) {
					entry = json_pack("{s:o, s:[], s:[]}", "tracepoint", text(p->names[t]), "services", "nodes");
					json_object_set_new(all, p->names[t], entry);
				}
				add_once(json_object_get(entry, "services"), p->programs[k].service);
				add_once(json_object_get(entry, "nodes"), g->nodes[i].name);
			}
	}
	json_object_foreach(all, name, entry) {
		uint64_t owner = owner_of(g, name);
		bool wanted = plan_wants(g->plan, name) || provider_wanted(g, name);

		on += wanted;
		json_object_set_new(entry, "state", json_string(wanted ? "on" : "off"));
		json_object_set_new(entry, "hypothesis", owner != 0 ? json_integer((json_int_t)owner) : json_null());
		json_array_append(list, entry);
	}
	entry = json_pack("{s:o, s:i, s:i}", "tracepoints", list, "total", (int)json_array_size(list), "on", on);
	json_decref(all);
	return entry;
}

/* ---- the report ---- */

static void
add_skipped(json_t *all, const char *reason, uint64_t count, const char *why)
{
	if (count > 0)
		json_array_append_new(all, json_pack("{s:s, s:I, s:n, s:n, s:o}", "reason", reason, "count",
		    (json_int_t)count, "file", "offset", "why", text(why)));
}

static json_t *
source_json(const struct engine *g)
{
	struct assemble_counts n;
	struct report_counts r;
	json_t *skipped = json_array();

	assemble_counts(g->assemble, &n);
	report_counts(g->report, &r);
	add_skipped(skipped, "pathless", r.pathless, r.pathless_why);
	add_skipped(skipped, "untyped", r.untyped, "requests of more types than are kept apart");
	return json_pack("{s:[], s:b, s:o, s:[], s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:o}", "files", "live", 1, "since",
	    wall_json(g->reported), "failed", "counts", "events", (json_int_t)(n.used - g->reported_used), "traces", (json_int_t)r.traces,
	    "moved", (json_int_t)r.moved, "other_groups", (json_int_t)r.other, "collisions", (json_int_t)r.collisions,
	    "inexact", (json_int_t)r.inexact, "skipped", skipped);
}

static json_t *
report_json(struct engine *g, const struct answer_context *c, uint32_t label, bool samples, struct err *e)
{
	struct document_options o = { .made = c->when, .samples = samples, .label = label };
	json_t *document;

	if (report_judge(g->report, e) != 0)
		return NULL;
	o.source = source_json(g);
	if ((document = document_new(g->report, &o)) == NULL)
		err_set(e, ERR_MEMORY, "no memory for the report");
	return document;
}

static json_t *
ask_report(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *name = json_string_value(json_object_get(ask, "type"));
	struct type *type = NULL;
	json_t *document;
	struct err e;
	int rc;

	(void)f;
	if (g->report == NULL)
		return refusal(ERR_MISSING, "no report is kept: analysis.report_max is 0 in honed.conf");
	if (name != NULL && (rc = engine_type(g, name, &type, &e)) != 0)
		return refusal(rc, e.text);
	document = report_json(g, c, type != NULL ? type->label : LABEL_NONE, json_is_true(json_object_get(ask,
	    "samples")), &e);
	if (document == NULL)
		return refusal(e.code, e.text);
	if (json_is_true(json_object_get(ask, "reset")) && (rc = engine_report_reset(g, c->when, &e)) != 0) {
		json_decref(document);
		return refusal(rc, e.text);
	}
	return json_pack("{s:o}", "report", document);
}
