/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The present state: controller, request types, counts, agents, tracepoints. */
#include "controlplane/engine/overhead.h"
#include "controlplane/answers/answer_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/texts.h"
#include "wire/below.h"

json_t *
answer_learning(const struct engine *g, const struct answer_context *c)
{
	const struct learning *l = &engine_parts_of(g)->learning;
	struct space_cover cover;
	struct space_stats s = { 0 };
	json_t *j;

	if (!l->active)
		return json_null();
	space_stats(engine_parts_of(g)->learned.space, LABEL_NONE, &s);
	j = json_pack("{s:f, s:I, s:i, s:f, s:i, s:i, s:n, s:n}", "left_s",
	    learning_left_s(&engine_parts_of(g)->learning, c->now), "traces", (json_int_t)l->traces,
	    "places", (int)s.places, "probed", overhead_probed_least(engine_parts_of(g)->overhead),
	    "group", (int)l->group + 1, "groups", (int)l->ngroups, "unseen", "next_new");
	if (space_cover(engine_parts_of(g)->learned.space, LABEL_NONE, &cover)) {
		json_object_set_new(j, "unseen", number_json(cover.unseen));
		json_object_set_new(j, "next_new", number_json(cover.next_new));
	}
	return j;
}

static json_t *
type_json(const struct engine *g, const struct request_type *t)
{
	const struct label *l = labels_get(engine_parts_of(g)->labels, t->label);
	struct space_stats s = { 0 };
	struct space_cover cover = { NAN, NAN };
	bool runs = t->diagnosis != NULL && t->diagnosis->phase != PHASE_ENDED;

	if (space_stats(engine_parts_of(g)->learned.space, t->label, &s))
		space_cover(engine_parts_of(g)->learned.space, t->label, &cover);
	return json_pack(
	    "{s:o, s:o, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:i, s:o, s:o, s:o}",
	    "type", answer_text(t->name), "service", text_json(l->text, l->service_len), "traces",
	    (json_int_t)t->traces, "per_second", t->per_second, "sampled", engine_sampled(g, t),
	    "probed",
	    runs || engine_parts_of(g)->learning.active
		? overhead_probed(engine_parts_of(g)->overhead, t)
		: 0.0,
	    "mean_ms", t->total.mean / 1e6, "p50_ms", sketch_quantile(t->sketch, 0.5) / 1e6,
	    "p95_ms", sketch_quantile(t->sketch, 0.95) / 1e6, "p99_ms",
	    sketch_quantile(t->sketch, 0.99) / 1e6, "cv", moments_cv(&t->total), "learned_traces",
	    (json_int_t)s.traces, "learned_places", (int)s.places, "unseen",
	    number_json(cover.unseen), "next_new", number_json(cover.next_new), "run",
	    runs ? json_integer((json_int_t)t->diagnosis->run->id) : json_null());
}

/* The report covers every request, so its counts include those of the diagnoses. */
static void
path_counts(const struct engine *g, struct report_counts *ret)
{
	*ret = (struct report_counts){ .moved = engine_parts_of(g)->diagnosed.moved,
		.pathless = engine_parts_of(g)->diagnosed.pathless,
		.inexact = engine_parts_of(g)->diagnosed.inexact };
	if (engine_parts_of(g)->live.report == NULL)
		return;
	report_counts(engine_parts_of(g)->live.report, ret);
	ret->moved += engine_parts_of(g)->live.before.moved;
	ret->pathless += engine_parts_of(g)->live.before.pathless;
	ret->inexact += engine_parts_of(g)->live.before.inexact +
	                engine_parts_of(g)->diagnosed.inexact; /* of paths with added tracepoints */
}

static json_t *
counts_json(const struct engine *g)
{
	struct assemble_counts n;
	struct report_counts r;
	uint64_t other;

	engine_counts(g, &n);
	path_counts(g, &r);
	other = r.other;
	for (uint32_t i = 0; i < engine_parts_of(g)->types.n; i++)
		if (engine_parts_of(g)->types.items[i].diagnosis != NULL &&
		    engine_parts_of(g)->types.items[i].diagnosis->groups != NULL)
			other += groups_other(engine_parts_of(g)->types.items[i].diagnosis->groups)
			             ->traces;
	return json_pack(
	    "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I,"
	    " s:I, s:I, s:I, s:I, s:I, s:o}",
	    "records", (json_int_t)n.records, "traces", (json_int_t)n.complete, "late",
	    (json_int_t)n.late, "given_up_memory", (json_int_t)n.given_up_memory,
	    "given_up_patience", (json_int_t)n.given_up_patience, "given_up_malformed",
	    (json_int_t)n.given_up_malformed, "lossy", (json_int_t)n.lossy, "lost_ring",
	    (json_int_t)n.lost[LOSS_RING], "lost_queue", (json_int_t)n.lost[LOSS_QUEUE],
	    "lost_decode", (json_int_t)n.lost[LOSS_DECODE], "pending", (json_int_t)n.pending,
	    "other_groups", (json_int_t)other, "moved", (json_int_t)r.moved, "pathless",
	    (json_int_t)r.pathless, "untyped", (json_int_t)engine_parts_of(g)->types.untyped,
	    "inexact", (json_int_t)r.inexact, "duplicate", (json_int_t)n.duplicate, "used",
	    (json_int_t)n.used, "given_up", (json_int_t)n.given_up, "held", (json_int_t)n.held,
	    "outside", (json_int_t)n.outside, "unlabelled", (json_int_t)n.unlabelled, "incomplete",
	    answer_incomplete(n.incomplete));
}

static json_t *
with_others(json_t *counts, const struct engine *g)
{
	struct clocks_counts n;
	struct assemble_counts a;

	clocks_counts(engine_parts_of(g)->clocks, &n);
	engine_counts(g, &a);
	json_object_set_new(counts, "clock_corrected", json_integer((json_int_t)n.corrected));
	json_object_set_new(
	    counts, "clock_contradictory", json_integer((json_int_t)n.contradictory));
	json_object_set_new(counts, "early", json_integer((json_int_t)a.early));
	json_object_set_new(counts, "opened", json_integer((json_int_t)a.opened));
	json_object_set_new(
	    counts, "types_replaced", json_integer((json_int_t)engine_parts_of(g)->types.replaced));
	return counts;
}

/* Connected agents with a queue that is not under resume_fill: they cause or prolong a pause. */
static json_t *
congested_json(const struct engine *g)
{
	json_t *list = json_array();
	enum queue q;

	for (uint32_t i = 0; i < engine_parts_of(g)->nodes.n; i++) {
		const struct node *n = &engine_parts_of(g)->nodes.items[i];
		double fill = node_fill(n, &q);

		if (n->connected && fill >= engine_parts_of(g)->options.resume_fill)
			json_array_append_new(
			    list, json_pack("{s:o, s:s, s:f}", "node", answer_text(n->name),
				      "queue", queue_name(q), "fill", fill));
	}
	return list;
}

/* since_ns is of the controller's CLOCK_MONOTONIC. */
static json_t *
queues_json(const struct engine *g, const struct answer_context *c)
{
	int64_t lasts_ns = engine_parts_of(g)->queues.paused
	                       ? mono_since_ns(c->now, engine_parts_of(g)->queues.paused_since)
	                       : 0;

	return json_pack("{s:f, s:I, s:f, s:I, s:I, s:o, s:o}", "mailbox",
	    engine_parts_of(g)->queues.mailbox_fill, "pauses",
	    (json_int_t)engine_parts_of(g)->queues.pauses, "paused_s",
	    (double)(engine_parts_of(g)->queues.paused_ns + lasts_ns) / 1e9, "since_ns",
	    (json_int_t)engine_parts_of(g)->queues.paused_since.ns, "sheds",
	    (json_int_t)engine_parts_of(g)->queues.sheds, "shed",
	    answer_congestion(&engine_parts_of(g)->queues.shed), "congested", congested_json(g));
}

/* Nodes of which nobody knows whether added tracepoints are enabled there. */
static json_t *
unknown_json(const struct engine *g, const struct answer_context *c)
{
	const struct nodes *nodes = &engine_parts_of(g)->nodes;
	json_t *list = json_array();

	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct node *n = &nodes->items[i];
		int64_t left_ns;

		if (node_is_unknown(n, c->now, &left_ns))
			json_array_append_new(
			    list, json_pack("{s:s, s:f, s:f}", "node", n->name, "since_s",
				      (double)mono_since_ns(c->now, n->heard) / 1e9, "lease_left_s",
				      (double)(left_ns > 0 ? left_ns : 0) / 1e9));
	}
	return list;
}

/* Which tracepoints log levels have on; null: none. */
static json_t *
levels_json(const struct engine *g)
{
	const struct levels *l = &engine_parts_of(g)->levels;

	return l->rules.n > 0 ? json_pack("{s:o, s:o}", "rules", answer_level_rules(&l->rules),
				    "levels_held", answer_levels_held(l))
	                      : json_null();
}

/* null: this honed works alone. */
static json_t *
log_json(const struct answer_context *c)
{
	const struct log_facts *l = c->log;
	char digest[20];

	if (l == NULL)
		return json_null();
	snprintf(digest, sizeof digest, "%016llx", (unsigned long long)l->digest);
	return json_pack(
	    "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I},"
	    " s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}, s:I, s:I, s:I,"
	    " s:f, s:{s:b, s:I, s:I, s:I}}",
	    "term", (json_int_t)l->term, "gates", (json_int_t)l->gates, "agents",
	    (json_int_t)l->agents, "partitions", (json_int_t)l->partitions, "behind",
	    (json_int_t)l->behind, "gate_records", (json_int_t)l->gate_records, "gate_bytes",
	    (json_int_t)l->gate_bytes, "shards", "records", (json_int_t)l->records, "used",
	    (json_int_t)l->used, "held", (json_int_t)l->held, "late", (json_int_t)l->late,
	    "duplicate", (json_int_t)l->duplicate, "given_up", (json_int_t)l->given_up, "lost",
	    (json_int_t)l->lost, "refused", (json_int_t)l->refused, "rows", "received",
	    (json_int_t)l->rows, "taken", (json_int_t)l->taken, "waiting", (json_int_t)l->waiting,
	    "again", (json_int_t)l->again, "strange", (json_int_t)l->strange, "full",
	    (json_int_t)l->full, "lost", (json_int_t)l->lost_rows, "digest", digest, "lost_events",
	    (json_int_t)l->lost_events, "unknown_agents", (json_int_t)l->unknown_agents, "over",
	    (json_int_t)l->over, "gates_apart_ms", (double)l->apart_ns / 1e6, "forest", "whole",
	    l->forest_whole, "entries", (json_int_t)l->forest_entries, "states",
	    (json_int_t)l->forest_states, "lost", (json_int_t)l->forest_lost);
}

json_t *
ask_status(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	json_t *types = json_array(), *runs = json_array(), *on = json_array(), *ret;
	uint32_t agents = 0;

	for (uint32_t i = 0; i < engine_parts_of(g)->nodes.n; i++)
		agents += engine_parts_of(g)->nodes.items[i].connected;
	for (uint32_t i = 0; i < plan_count(engine_parts_of(g)->plan); i++) {
		uint64_t owner;

		json_array_append_new(
		    on, answer_text(plan_at(engine_parts_of(g)->plan, i, &owner)));
	}
	for (uint32_t i = 0; i < engine_parts_of(g)->types.n; i++) {
		const struct diagnosis *d = engine_parts_of(g)->types.items[i].diagnosis;

		json_array_append_new(types, type_json(g, &engine_parts_of(g)->types.items[i]));
		if (d != NULL && d->phase != PHASE_ENDED)
			json_array_append_new(runs, answer_run(g, f, d->run, c, false));
	}
	ret = json_pack(
	    "{s:{s:s, s:i, s:f, s:s, s:s, s:o, s:b, s:s}, s:b, s:o, s:i, s:i, s:o, s:b, s:o, s:o, s:o, s:o, s:o,"
	    " s:{s:I, s:f, s:f}, s:o}",
	    "controller", "version", HONE_VERSION, "pid", (int)getpid(), "uptime_s",
	    (double)mono_since_ns(c->now, c->started) / 1e9, "database", c->database, "space",
	    c->space_path, "space_version",
	    answer_text(space_version(engine_parts_of(g)->learned.space)->name), "space_stale",
	    engine_stale(g), "store_trouble", c->store_trouble != NULL ? c->store_trouble : "",
	    "paused", engine_parts_of(g)->queues.paused, "pause",
	    engine_parts_of(g)->queues.paused ? answer_congestion(&engine_parts_of(g)->queues.pause)
					      : json_null(),
	    "agents", (int)agents, "added", (int)plan_count(engine_parts_of(g)->plan),
	    "added_names", on, "quiet", engine_quiet(g), "learning", answer_learning(g, c), "cost",
	    answer_costs(g, c), "types", types, "runs", runs, "counts",
	    with_others(counts_json(g), g), "delay", "batches",
	    (json_int_t)engine_parts_of(g)->delay.n, "p50_ms",
	    sketch_quantile(&engine_parts_of(g)->delay, 0.5) / 1e6, "p99_ms",
	    sketch_quantile(&engine_parts_of(g)->delay, 0.99) / 1e6, "queues", queues_json(g, c));
	if (ret != NULL) {
		json_object_set_new(ret, "unknown", unknown_json(g, c));
		json_object_set_new(ret, "levels", levels_json(g));
		json_object_set_new(ret, "log", log_json(c));
		if (json_is_false(json_object_get(ask, "costs")))
			json_object_del(json_object_get(ret, "cost"), "nodes");
	}
	return ret;
}

static double
rate(double later, double earlier, double seconds)
{
	return seconds > 0 && later >= earlier ? (later - earlier) / seconds : 0;
}

/* Offset of the controller's clock to the node's, and its uncertainty; null: not known yet. */
static void
clock_json(json_t *agent, const struct engine *g, uint32_t node, const struct answer_context *c)
{
	struct clock_state look;

	clocks_state(engine_parts_of(g)->clocks, node, c->now.ns, &look);
	json_object_set_new(
	    agent, "offset_ms", look.known ? json_real((double)look.offset_ns / 1e6) : json_null());
	json_object_set_new(agent, "uncertain_ms",
	    look.bounded ? json_real((double)look.uncertain_ns / 1e6) : json_null());
	json_object_set_new(agent, "same_clock", json_boolean(look.here));
	json_object_set_new(agent, "clock_steps", json_integer((json_int_t)look.steps));
}

/* What the agent reported; else the tracer's error for a tracepoint of the desired state; else null. */
static json_t *
trouble_json(const struct node *n)
{
	struct node_trouble t = n->status.trouble;

	if (t.kind == NODE_TROUBLE_NONE && n->failure[0] == '\0')
		return json_null();
	if (t.kind == NODE_TROUBLE_NONE)
		t = (struct node_trouble){ .kind = NODE_TROUBLE_TRACEPOINT, .text = n->failure };
	return json_pack("{s:s, s:o, s:o, s:f, s:I, s:I, s:I, s:o}", "kind",
	    trouble_kind_word(t.kind), "subject", answer_text(t.subject), "text",
	    answer_text(t.text), "seconds", t.seconds, "bytes", (json_int_t)t.bytes, "times",
	    (json_int_t)t.times, "pid", (json_int_t)t.pid, "user",
	    t.user != USER_UNKNOWN ? json_integer((json_int_t)t.user) : json_null());
}

/* The services of these programs, each once. O(programs). */
static json_t *
services_json(const struct programs *p)
{
	struct texts *seen = texts_new();
	json_t *ret = json_array();

	for (uint32_t i = 0; i < p->nprograms && seen != NULL; i++) {
		const char *service = p->programs[i].service;
		uint32_t known = texts_count(seen);

		if (texts_intern(seen, service, strlen(service)) == known)
			json_array_append_new(ret, answer_text(service));
	}
	texts_free(seen);
	return ret;
}

/* By what the tracepoints of each service are switched, its strongest lever: {"price": "gate"}. O(programs). */
static json_t *
levers_json(const struct programs *p)
{
	struct texts *seen = texts_new();
	uint8_t *levers = calloc(p->nprograms + 1, 1);
	json_t *ret = json_object();

	for (uint32_t i = 0; i < p->nprograms && seen != NULL && levers != NULL; i++) {
		const struct program *x = &p->programs[i];
		uint32_t at = texts_intern(seen, x->service, strlen(x->service));

		if (at != UINT32_MAX && x->lever > levers[at])
			levers[at] = x->lever;
	}
	for (uint32_t i = 0; levers != NULL && seen != NULL && i < texts_count(seen); i++) {
		json_t *service = answer_text(texts_get(seen, i));

		json_object_set_new(ret, json_string_value(service),
		    json_string(lever_word((enum lever)levers[i])));
		json_decref(service);
	}
	texts_free(seen);
	free(levers);
	return ret;
}

static json_t *
agent_json(const struct node *n, const struct answer_context *c)
{
	const struct status *s = &n->status, *b = &n->before;
	double seconds = (double)mono_since_ns(n->status_at, n->before_at) / 1e9;

	return json_pack(
	    "{s:o, s:b, s:o, s:i, s:o, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:i, s:b,"
	    " s:o, s:f, s:f, s:b, s:s, s:f, s:o, s:o}",
	    "node", answer_text(n->name), "connected", n->connected, "version",
	    answer_text(n->version), "programs", (int)s->programs, "services",
	    services_json(&n->programs), "fill_ring", s->fill[QUEUE_RING], "fill_files",
	    s->fill[QUEUE_FILES], "fill_agent", s->fill[QUEUE_AGENT], "fill_link",
	    s->fill[QUEUE_LINK], "lost_ring", (json_int_t)s->lost[LOSS_RING], "lost_queue",
	    (json_int_t)s->lost[LOSS_QUEUE], "lost_decode", (json_int_t)s->lost[LOSS_DECODE],
	    "records", (json_int_t)s->records, "records_per_second",
	    rate((double)s->records, (double)b->records, seconds), "cpu_pct",
	    rate((double)s->cpu_us, (double)b->cpu_us, seconds) / 1e4, "tracer_cpu_pct",
	    rate((double)s->tracer_cpu_us, (double)b->tracer_cpu_us, seconds) / 1e4, "memory_mib",
	    (double)s->memory_bytes / 1048576, "ring_mib", (double)s->ring_bytes / 1048576, "added",
	    (int)s->added, "tracer_ok", s->tracer_ok, "trouble", trouble_json(n), "lag_ms",
	    (double)mono_since_ns(c->now, n->heard) / 1e6, "files_mib",
	    (double)s->files_bytes / 1048576, "shed", s->shed, "shed_by",
	    s->shed ? queue_name(s->shed_by) : "", "rests_s",
	    n->backing_off ? (double)mono_since_ns(n->backoff_until, c->now) / 1e9 : 0.0,
	    "fill_ring_of",
	    n->fullest[0] != '\0' ? json_pack("{s:o, s:I}", "program", answer_text(n->fullest),
					"pid", (json_int_t)s->fullest_pid)
				  : json_null(),
	    "levers", levers_json(&n->programs));
}

/* What hone-below can do on that node, and why not more. */
static json_t *
below_json(const struct status *s)
{
	json_t *can = json_array();

	for (uint32_t flag = 1; flag < BELOW_CAN_FLAGS; flag <<= 1)
		if ((s->below_can & flag) != 0)
			json_array_append_new(can, json_string(below_can_word(flag)));
	return json_pack("{s:s, s:o, s:o}", "state", below_on_node_word(s->below), "can", can,
	    "missing", answer_text(s->below_missing != NULL ? s->below_missing : ""));
}

/* What is followed by kernel events on that node, and why not. null: nothing is configured. */
static json_t *
kernel_json(const struct status *s)
{
	if (!s->kernel)
		return json_null();
	return json_pack("{s:i, s:I, s:I, s:f, s:o}", "processes", (int)s->kernel_processes,
	    "requests", (json_int_t)s->kernel_requests, "lossy", (json_int_t)s->kernel_lossy,
	    "events_per_second", s->kernel_events_per_s, "missing",
	    answer_text(s->kernel_missing != NULL ? s->kernel_missing : ""));
}

/* What its flight recorder has, and costs. null: it is not wanted, and is off. */
static json_t *
recorder_json(const struct engine *g, uint32_t node)
{
	const struct engine_parts *p = engine_parts_of(g);
	const struct recorder_node *r = node < p->recorder.n && p->recorder.on
	                                    ? &p->recorder.items[node]
	                                    : NULL;
	const struct node *n = &p->nodes.items[node];
	const struct status *s = &n->status;
	json_t *providers;
	bool assumed;

	if (s->recorder == 0 && r == NULL)
		return json_null();
	providers = json_array();
	for (uint32_t i = 0; r != NULL && i < r->n; i++)
		json_array_append_new(providers, answer_text(r->names[i]));
	return json_pack("{s:b, s:I, s:o, s:I, s:o, s:f, s:o, s:o, s:I, s:I, s:o}", "on",
	    s->recorder > 0, "rules", (json_int_t)s->recorder, "providers", providers, "left_out",
	    (json_int_t)(r != NULL ? r->left_out : 0), "horizon_s",
	    number_json(isfinite(recorder_horizon_s(n)) ? recorder_horizon_s(n) : NAN),
	    "memory_mib", (double)s->recorder_bytes / 1048576, "predicted",
	    number_json(r != NULL ? r->predicted : NAN), "measured",
	    number_json(recorder_measured(n, overhead_record_ns(p->overhead, node, &assumed))),
	    "snapshots", (json_int_t)s->recorder_snapshots, "refused",
	    (json_int_t)s->recorder_refused, "missing", answer_text(n->recorder_missing));
}

/* The cost of a record on that node; used and permitted shares of one core. */
static void
cost_json(json_t *agent, struct engine *g, uint32_t node)
{
	bool assumed;

	json_object_set_new(agent, "record_ns",
	    json_real(overhead_record_ns(engine_parts_of(g)->overhead, node, &assumed)));
	json_object_set_new(agent, "record_assumed", json_boolean(assumed));
	json_object_set_new(agent, "spent_pct",
	    json_real(overhead_spent(engine_parts_of(g)->overhead, node) * 100));
	json_object_set_new(
	    agent, "budget_pct", json_real(overhead_limit(engine_parts_of(g)->overhead) * 100));
}

/* The most recent agents whose connection was refused. */
static json_t *
refusals_json(const struct answer_context *c)
{
	json_t *all = json_array();
	char at[25];

	for (uint32_t i = 0; c->refusals != NULL && i < c->refusals->n; i++) {
		const struct refusal *r = &c->refusals->all[i];

		wall_print(r->at, at);
		json_array_append_new(
		    all, json_pack("{s:s, s:f, s:I, s:o}", "at", at, "ago_s",
			     (double)(c->when.ns - r->at.ns) / 1e9, "times", (json_int_t)r->times,
			     "words", answer_text(r->words)));
	}
	return all;
}

json_t *
ask_agents(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	json_t *agents = json_array(), *agent;

	(void)f;
	(void)ask;
	for (uint32_t i = 0; i < engine_parts_of(g)->nodes.n; i++) {
		agent = agent_json(&engine_parts_of(g)->nodes.items[i], c);
		clock_json(agent, g, i, c);
		cost_json(agent, g, i);
		json_object_set_new(agent, "cost", answer_cost(g, i, c));
		json_object_set_new(
		    agent, "below", below_json(&engine_parts_of(g)->nodes.items[i].status));
		json_object_set_new(
		    agent, "kernel", kernel_json(&engine_parts_of(g)->nodes.items[i].status));
		json_object_set_new(agent, "recorder", recorder_json(g, i));
		json_object_set_new(agent, "by_level",
		    json_integer(levels_of(&engine_parts_of(g)->levels, i).tracepoints));
		json_array_append_new(agents, agent);
	}
	return json_pack("{s:o, s:o}", "agents", agents, "refused", refusals_json(c));
}
