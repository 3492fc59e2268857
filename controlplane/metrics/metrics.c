/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/metrics/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/engine/parts.h"
#include "controlplane/metrics/metrics_text.h"

/* Upper bounds of the buckets of response times. */
static const int64_t BOUNDS_NS[] = { 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000,
	25000000, 50000000, 100000000, 250000000, 500000000, 1000000000, 2500000000, 5000000000,
	10000000000, 30000000000, 60000000000 };
static const char *const BOUNDS[] = { "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005",
	"0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0", "30.0", "60.0",
	"+Inf" };
enum { NBOUNDS = sizeof BOUNDS_NS / sizeof *BOUNDS_NS, NBUCKETS = sizeof BOUNDS / sizeof *BOUNDS };
_Static_assert(NBUCKETS == NBOUNDS + 1, "a bucket for all");

static struct metric_label
label_of(const char *name, const char *value)
{
	return (struct metric_label){ name, value, strlen(value) };
}

static void
put_one(
    struct metric_lines *m, const char *name, enum metric_kind kind, const char *help, double value)
{
	metric_begin(m, name, kind, help);
	metric_put(m, "", NULL, 0, value);
}

/* ---- honed itself ---- */

static double
known(int64_t value)
{
	return value < 0 ? NAN : (double)value;
}

static void
put_process(struct metric_lines *m, const struct metrics_process *p)
{
	const struct metric_label version = label_of("version", HONE_VERSION);

	metric_begin(m, "hone_build_info", METRIC_GAUGE, "Always 1; the version of honed.");
	metric_put(m, "", &version, 1, 1);
	put_one(m, "process_cpu_seconds", METRIC_COUNTER, "Processor time of honed.", p->cpu_s);
	put_one(m, "process_start_time_seconds", METRIC_GAUGE,
	    "When honed started, in seconds since 1970.", p->start_s);
	put_one(m, "process_resident_memory_bytes", METRIC_GAUGE, "Resident memory of honed.",
	    known(p->resident_bytes));
	put_one(m, "process_open_fds", METRIC_GAUGE, "Open files of honed.", known(p->open_files));
	put_one(m, "process_max_fds", METRIC_GAUGE, "Files that honed may have open.",
	    known(p->files_max));
	put_one(m, "hone_store_ok", METRIC_GAUGE,
	    "1: the database can be written; 0: no more tracepoints are enabled until it can.",
	    p->stored);
}

/* ---- request types ---- */

enum { OF_TYPE = 2 }; /* labels */

static void
labels_of_type(
    struct metric_label ret[OF_TYPE], const struct engine_parts *e, const struct request_type *t)
{
	const struct label *l = labels_get(e->labels, t->label);

	ret[0] = label_of("type", t->name);
	ret[1] = (struct metric_label){ "service", l->text, l->service_len };
}

static double
traces_of(const struct engine *g, const struct request_type *t)
{
	(void)g;
	return (double)t->traces;
}

static double
sampled_of(const struct engine *g, const struct request_type *t)
{
	return engine_sampled(g, t);
}

static double
offered_of(const struct engine *g, const struct request_type *t)
{
	(void)g;
	return t->offered;
}

static double
variation_of(const struct engine *g, const struct request_type *t)
{
	(void)g;
	return t->traces > 1 ? moments_cv(&t->total) : NAN;
}

static double
run_of(const struct engine *g, const struct request_type *t)
{
	(void)g;
	return t->diagnosis != NULL && t->diagnosis->phase != PHASE_ENDED;
}

static const struct type_metric {
	const char *name, *help;
	enum metric_kind kind;
	double (*value)(const struct engine *g, const struct request_type *t);
} TYPE_METRICS[] = {
	{ "hone_requests",
	    "Requests of the type whose trace is complete: of those that were sampled.",
	    METRIC_COUNTER, traces_of },
	{ "hone_request_sampled_ratio", "Share of the requests of the type that is sampled now.",
	    METRIC_GAUGE, sampled_of },
	{ "hone_request_offered_per_second",
	    "Requests of the type in a second, sampled or not: an estimate.", METRIC_GAUGE,
	    offered_of },
	{ "hone_request_variation_ratio",
	    "Coefficient of variation of the response time, over all paths of the type.",
	    METRIC_GAUGE, variation_of },
	{ "hone_run_active", "1: a diagnosis of the type runs.", METRIC_GAUGE, run_of },
};

static void
put_types(struct metric_lines *m, const struct engine *g)
{
	const struct engine_parts *e = engine_parts_of(g);

	for (size_t k = 0; k < sizeof TYPE_METRICS / sizeof *TYPE_METRICS; k++) {
		const struct type_metric *x = &TYPE_METRICS[k];

		metric_begin(m, x->name, x->kind, x->help);
		for (uint32_t i = 0; i < e->types.n; i++) {
			struct metric_label of[OF_TYPE];

			labels_of_type(of, e, &e->types.items[i]);
			metric_put(m, "", of, OF_TYPE, x->value(g, &e->types.items[i]));
		}
	}
}

/* ---- alerts ---- */

enum { OF_WATCHED = 3 }; /* labels: two of the type, and what follows */

static double
judged_of(const struct watched_type *t)
{
	return t->all.last.answer == RANGE_INSIDE || t->all.last.answer == RANGE_OUTSIDE;
}

static double
outside_of(const struct watched_type *t)
{
	return judged_of(t) ? t->all.last.answer == RANGE_OUTSIDE : NAN;
}

static double
more_than_usual_of(const struct watched_type *t)
{
	return judged_of(t) ? t->all.last.cost_share : NAN;
}

static double
healthy_of(const struct watched_type *t)
{
	return t->all.healthy.n;
}

static const struct watch_metric {
	const char *name, *help;
	double (*value)(const struct watched_type *t);
} WATCH_METRICS[] = {
	{ "hone_watch_healthy_windows",
	    "Windows from which it is known what is usual for the type.", healthy_of },
	{ "hone_watch_judged",
	    "1: the last window was compared with them; 0: it could not be, hone alerts says why.",
	    judged_of },
	{ "hone_watch_outside",
	    "1: response times of the last window were outside of what is usual; left out if not judged.",
	    outside_of },
	{ "hone_watch_excess_ratio",
	    "Share of the mean response time of the last window that is more than usual, negative: it is less; left out if not judged.",
	    more_than_usual_of },
};

static bool
objective_fires(const struct watched_type *t)
{
	for (uint32_t i = 0; i < t->nslos; i++)
		if (t->slos[i].firing)
			return true;
	return false;
}

static void
put_firing(struct metric_lines *m, const struct watched_type *t, struct metric_label *of)
{
	if (t->watched) {
		of[OF_WATCHED - 1] = label_of("kind", alert_kind_word(ALERT_RANGE));
		metric_put(m, "", of, OF_WATCHED, t->firing);
	}
	if (t->nslos > 0) {
		of[OF_WATCHED - 1] = label_of("kind", alert_kind_word(ALERT_OBJECTIVE));
		metric_put(m, "", of, OF_WATCHED, objective_fires(t));
	}
}

/* O(types + objectives) */
static void
put_watched(struct metric_lines *m, const struct watcher *w)
{
	enum { EACH = sizeof WATCH_METRICS / sizeof *WATCH_METRICS };

	for (size_t k = 0; k <= EACH; k++) {
		if (k < EACH)
			metric_begin(m, WATCH_METRICS[k].name, METRIC_GAUGE, WATCH_METRICS[k].help);
		else
			metric_begin(
			    m, "hone_alert_firing", METRIC_GAUGE, "1: an alert of the type fires.");
		for (uint32_t i = 0; i < WATCHED_MAX; i++) {
			const struct watched_type *t = w->types[i];
			struct metric_label of[OF_WATCHED];

			if (t == NULL)
				continue;
			of[0] = label_of("type", t->name);
			of[1] = label_of("service", t->service);
			if (k == EACH)
				put_firing(m, t, of);
			else if (t->watched)
				metric_put(m, "", of, OF_WATCHED - 1, WATCH_METRICS[k].value(t));
		}
	}
	put_one(
	    m, "hone_alerts_firing", METRIC_GAUGE, "Alerts that are firing.", watcher_firing(w));
	put_one(m, "hone_alerts", METRIC_COUNTER, "Alerts that have begun since honed started.",
	    (double)w->number);
}

/* The slowest request of the type in the report; none: total_ns is negative. O(groups). */
static struct exemplar
slowest_of(const struct engine_parts *e, uint32_t type)
{
	struct exemplar ret = { .total_ns = -1 };
	const struct group *x;

	for (uint32_t i = 0;
	     e->live.report != NULL && (x = report_group(e->live.report, i)) != NULL; i++)
		if (x->type == type && x->slowest.total_ns > ret.total_ns)
			ret = x->slowest;
	return ret;
}

static void
put_duration(struct metric_lines *m, const struct engine_parts *e, const struct request_type *t)
{
	struct metric_label of[OF_TYPE + 1];
	uint64_t counts[NBUCKETS];
	struct exemplar slowest = { .total_ns = -1 };

	if (m->form == METRICS_OPENMETRICS)
		slowest = slowest_of(e, t->label);
	labels_of_type(of, e, t);
	sketch_counts(t->sketch, BOUNDS_NS, NBOUNDS, counts);
	counts[NBOUNDS] = t->sketch->n;
	for (uint32_t i = 0; i < NBUCKETS; i++) {
		int64_t above_ns = i > 0 ? BOUNDS_NS[i - 1] : -1;

		of[OF_TYPE] = label_of("le", BOUNDS[i]);
		metric_put(m, "_bucket", of, OF_TYPE + 1, (double)counts[i]);
		if (slowest.total_ns > above_ns &&
		    (i == NBOUNDS || slowest.total_ns <= BOUNDS_NS[i]))
			metric_exemplar(
			    m, slowest.id.high, slowest.id.low, (double)slowest.total_ns / 1e9);
	}
	metric_put(m, "_sum", of, OF_TYPE, (double)t->sketch->n * t->total.mean / 1e9);
	metric_put(m, "_count", of, OF_TYPE, (double)t->sketch->n);
}

static void
put_durations(struct metric_lines *m, const struct engine *g)
{
	const struct engine_parts *e = engine_parts_of(g);

	metric_begin(m, "hone_request_duration_seconds", METRIC_HISTOGRAM,
	    "Response time of the requests in hone_requests; bounds are exact to 2 %.");
	for (uint32_t i = 0; i < e->types.n; i++)
		put_duration(m, e, &e->types.items[i]);
}

/* ---- groups ---- */

struct told_groups {
	const struct group *items[METRICS_GROUPS_MAX]; /* most requests first */
	uint32_t n;
};

/* O(groups x METRICS_GROUPS_MAX) */
static void
choose_groups(struct told_groups *ret, const struct engine_parts *e)
{
	const struct group *x;

	ret->n = 0;
	for (uint32_t i = 0;
	     e->live.report != NULL && (x = report_group(e->live.report, i)) != NULL; i++) {
		uint32_t at = ret->n;

		while (at > 0 && ret->items[at - 1]->total.n < x->total.n)
			at--;
		if (at == METRICS_GROUPS_MAX)
			continue;
		ret->n += ret->n < METRICS_GROUPS_MAX;
		memmove(
		    &ret->items[at + 1], &ret->items[at], (ret->n - 1 - at) * sizeof *ret->items);
		ret->items[at] = x;
	}
}

enum { OF_GROUP = 2, ID_TEXT = 17 };

static void
labels_of_group(struct metric_label ret[OF_GROUP], char id[ID_TEXT], const struct engine_parts *e,
    const struct group *x)
{
	size_t len;
	const char *type = report_type_name(e->live.report, x->type, &len);

	snprintf(id, ID_TEXT, "%016llx", (unsigned long long)x->shape.key.a);
	ret[0] = (struct metric_label){ "type", type, len };
	ret[1] = label_of("group", id);
}

struct told_edge {
	uint32_t edge;
	double share;
};

/* Returns how many: those with METRICS_SHARE_MIN of the variance, largest first. */
static uint32_t
largest_edges(struct told_edge ret[METRICS_EDGES_MAX], const struct group *x)
{
	double variance = moments_variance(&x->total);
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->shape.nedges && variance > 0; i++) {
		double share = comoments_covariance(&x->edges[i]) / variance;
		uint32_t at = n;

		if (share < METRICS_SHARE_MIN)
			continue;
		while (at > 0 && ret[at - 1].share < share)
			at--;
		if (at == METRICS_EDGES_MAX)
			continue;
		n += n < METRICS_EDGES_MAX;
		memmove(&ret[at + 1], &ret[at], (n - 1 - at) * sizeof *ret);
		ret[at] = (struct told_edge){ i, share };
	}
	return n;
}

/* Edges with the same ends would be the same time series: their position tells them apart. */
static void
put_edges(struct metric_lines *m, const struct engine_parts *e, const struct group *x)
{
	struct metric_label of[OF_GROUP + 3];
	struct told_edge edges[METRICS_EDGES_MAX];
	uint32_t n = largest_edges(edges, x);
	char id[ID_TEXT], position[16];

	labels_of_group(of, id, e, x);
	for (uint32_t i = 0; i < n; i++) {
		const struct shape_edge *edge = &x->shape.edges[edges[i].edge];

		snprintf(position, sizeof position, "%u", edges[i].edge);
		of[OF_GROUP] = label_of("from", labels_get(e->labels, edge->from)->text);
		of[OF_GROUP + 1] = label_of("to", labels_get(e->labels, edge->to)->text);
		of[OF_GROUP + 2] = label_of("edge", position);
		metric_put(m, "", of, OF_GROUP + 3, edges[i].share);
	}
}

static void
put_groups(struct metric_lines *m, const struct engine *g)
{
	const struct engine_parts *e = engine_parts_of(g);
	struct metric_label of[OF_GROUP];
	struct told_groups groups;
	char id[ID_TEXT];

	choose_groups(&groups, e);
	metric_begin(m, "hone_group_requests", METRIC_COUNTER,
	    "Requests with the same critical path, since hone report was reset; of the 20 groups with most.");
	for (uint32_t i = 0; i < groups.n; i++) {
		labels_of_group(of, id, e, groups.items[i]);
		metric_put(m, "", of, OF_GROUP, (double)groups.items[i]->total.n);
	}
	metric_begin(m, "hone_group_variation_ratio", METRIC_GAUGE,
	    "Coefficient of variation of their response times.");
	for (uint32_t i = 0; i < groups.n; i++) {
		labels_of_group(of, id, e, groups.items[i]);
		metric_put(m, "", of, OF_GROUP,
		    groups.items[i]->total.n > 1 ? moments_cv(&groups.items[i]->total) : NAN);
	}
	metric_begin(m, "hone_edge_variance_share", METRIC_GAUGE,
	    "Share of the variance of a group's response time that an edge of its critical path has; of at most 3 edges, with 0.1 or more.");
	for (uint32_t i = 0; i < groups.n; i++)
		put_edges(m, e, groups.items[i]);
}

/* ---- records and traces ---- */

struct fate {
	const char *word;
	uint64_t count;
};

static void
put_fates(struct metric_lines *m, const char *name, const char *help, const char *label,
    const struct fate *fates, size_t n)
{
	metric_begin(m, name, METRIC_COUNTER, help);
	for (size_t i = 0; i < n; i++) {
		const struct metric_label of = label_of(label, fates[i].word);

		metric_put(m, "", &of, 1, (double)fates[i].count);
	}
}

static void
put_records(struct metric_lines *m, const struct engine *g)
{
	struct assemble_counts n;

	engine_counts(g, &n);
	const struct fate records[] = { { "used", n.used }, { "late", n.late },
		{ "duplicate", n.duplicate }, { "given_up", n.given_up },
		{ "outside", n.outside } };
	const struct fate lost[] = { { "ring", n.lost[LOSS_RING] }, { "queue", n.lost[LOSS_QUEUE] },
		{ "decode", n.lost[LOSS_DECODE] } };
	const struct fate traces[] = { { "complete", n.complete },
		{ "given_up_memory", n.given_up_memory },
		{ "given_up_patience", n.given_up_patience },
		{ "given_up_malformed", n.given_up_malformed } };

	put_fates(m, "hone_records", "Records that came, by what became of them.", "fate", records,
	    sizeof records / sizeof *records);
	put_fates(m, "hone_records_lost", "Records that agents reported as lost, by where.",
	    "reason", lost, sizeof lost / sizeof *lost);
	put_fates(m, "hone_traces", "Traces, by what became of them.", "fate", traces,
	    sizeof traces / sizeof *traces);
	put_one(m, "hone_traces_lossy", METRIC_COUNTER,
	    "Traces that are no evidence, since records may be lost in their time.",
	    (double)n.lossy);
	put_one(m, "hone_traces_pending", METRIC_GAUGE,
	    "Traces whose end or watermarks are still missing.", (double)n.pending);
	put_one(m, "hone_traces_pending_bytes", METRIC_GAUGE, "Memory of the records of these.",
	    (double)n.memory_bytes);
}

/* ---- the control plane ---- */

static void
put_control(struct metric_lines *m, const struct engine *g, struct mono now)
{
	const struct engine_parts *e = engine_parts_of(g);
	const struct queues *q = &e->queues;
	int64_t lasts_ns = q->paused ? mono_since_ns(now, q->paused_since) : 0;

	put_one(m, "hone_tracepoints_added", METRIC_GAUGE,
	    "Tracepoints that diagnoses and learning have added.", plan_count(e->plan));
	put_one(m, "hone_learning_active", METRIC_GAUGE, "1: the learned space is being extended.",
	    e->learning.active);
	put_one(m, "hone_paused", METRIC_GAUGE,
	    "1: nothing more is enabled, since a queue is too full.", q->paused);
	put_one(m, "hone_pauses", METRIC_COUNTER, "How often that began.", (double)q->pauses);
	put_one(m, "hone_paused_seconds", METRIC_COUNTER, "How long that lasted in all.",
	    (double)(q->paused_ns + lasts_ns) / 1e9);
	put_one(m, "hone_sheds", METRIC_COUNTER,
	    "How often an agent has disabled all added tracepoints by itself.", (double)q->sheds);
	put_one(m, "hone_mailbox_fill_ratio", METRIC_GAUGE,
	    "Occupancy of the controller's mailbox.", q->mailbox_fill);
}

/* ---- log levels ---- */

static void
put_levels(struct metric_lines *m, const struct levels *l)
{
	metric_begin(m, "hone_level_rule", METRIC_GAUGE,
	    "1: tracepoints of these services are on for all sampled requests up to this log level (hone levels).");
	for (uint32_t i = 0; i < l->rules.n; i++) {
		const struct metric_label of[] = { label_of("service", l->rules.items[i].pattern),
			label_of("level", loglevel_word(l->rules.items[i].level)) };

		metric_put(m, "", of, 2, 1);
	}
	metric_begin(m, "hone_levels_held", METRIC_GAUGE,
	    "1: no tracepoint is on by its log level, for this reason.");
	for (int h = LEVELS_HELD_CONGESTION; h < LEVELS_HELD_END; h++) {
		const struct metric_label of = label_of("reason", levels_held_word(h));

		metric_put(m, "", &of, 1, (int)l->held == h);
	}
	put_one(m, "hone_levels_holds", METRIC_COUNTER,
	    "How often congestion has disabled all tracepoints that were on by their log level.",
	    (double)l->holds);
}

/* ---- nodes ---- */

struct node_at {
	const struct engine_parts *e;
	const struct node *n;
	uint32_t i;
	struct mono now;
};

static double
of_node_up(const struct node_at *x)
{
	return x->n->connected;
}

static double
of_node_programs(const struct node_at *x)
{
	return x->n->status.programs;
}

static double
of_node_added(const struct node_at *x)
{
	return x->n->status.added;
}

static double
of_node_by_level(const struct node_at *x)
{
	return levels_of(&x->e->levels, x->i).tracepoints;
}

static double
of_node_unknown(const struct node_at *x)
{
	int64_t left_ns;

	return node_is_unknown(x->n, x->now, &left_ns);
}

static double
of_node_records(const struct node_at *x)
{
	return (double)x->n->status.records;
}

static double
of_node_memory(const struct node_at *x)
{
	return (double)x->n->status.memory_bytes;
}

static double
of_node_ring(const struct node_at *x)
{
	return (double)x->n->status.ring_bytes;
}

static double
of_node_cost(const struct node_at *x)
{
	return overhead_spent(x->e->overhead, x->i);
}

static double
of_node_budget(const struct node_at *x)
{
	return overhead_limit(x->e->overhead);
}

static double
of_recorder_on(const struct node_at *x)
{
	return x->n->status.recorder > 0;
}

static double
of_recorder_horizon(const struct node_at *x)
{
	return recorder_horizon_s(x->n);
}

static double
of_recorder_bytes(const struct node_at *x)
{
	return (double)x->n->status.recorder_bytes;
}

static double
of_recorder_cost(const struct node_at *x)
{
	bool assumed;

	return recorder_measured(x->n, overhead_record_ns(x->e->overhead, x->i, &assumed));
}

static double
of_recorder_left_out(const struct node_at *x)
{
	const struct recorder_plan *p = &x->e->recorder;

	return p->on && x->i < p->n ? p->items[x->i].left_out : 0;
}

static double
of_recorder_records(const struct node_at *x)
{
	return (double)x->n->status.recorder_records;
}

static double
of_recorder_snapshots(const struct node_at *x)
{
	return (double)x->n->status.recorder_snapshots;
}

static double
of_recorder_refused(const struct node_at *x)
{
	return (double)x->n->status.recorder_refused;
}

static const struct node_metric {
	const char *name, *help;
	enum metric_kind kind;
	double (*value)(const struct node_at *x);
} NODE_METRICS[] = {
	{ "hone_agent_up", "1: the node's agent is connected.", METRIC_GAUGE, of_node_up },
	{ "hone_agent_programs", "Traceable processes on the node.", METRIC_GAUGE,
	    of_node_programs },
	{ "hone_agent_tracepoints_added", "Added tracepoints that are enabled on the node.",
	    METRIC_GAUGE, of_node_added },
	{ "hone_agent_tracepoints_by_level",
	    "Tracepoints that are to be on for all sampled requests by their log level.",
	    METRIC_GAUGE, of_node_by_level },
	{ "hone_agent_tracepoints_unknown",
	    "1: its agent left before it confirmed that added tracepoints are disabled.",
	    METRIC_GAUGE, of_node_unknown },
	{ "hone_agent_records", "Records that the agent has read since it started.", METRIC_COUNTER,
	    of_node_records },
	{ "hone_agent_memory_bytes", "Resident memory of the agent.", METRIC_GAUGE,
	    of_node_memory },
	{ "hone_agent_ring_bytes", "Memory of the tracer's ring buffers.", METRIC_GAUGE,
	    of_node_ring },
	{ "hone_agent_cost_ratio",
	    "What added tracepoints cost the node now, as a share of one core.", METRIC_GAUGE,
	    of_node_cost },
	{ "hone_agent_budget_ratio", "What they may cost.", METRIC_GAUGE, of_node_budget },
	{ "hone_recorder_on", "1: the flight recorder of the node is on.", METRIC_GAUGE,
	    of_recorder_on },
	{ "hone_recorder_horizon_seconds",
	    "How far back its buffers reach at the present rate; +Inf: nothing is written.",
	    METRIC_GAUGE, of_recorder_horizon },
	{ "hone_recorder_bytes", "Memory of its buffers.", METRIC_GAUGE, of_recorder_bytes },
	{ "hone_recorder_cost_ratio", "What it costs the programs, as a share of one core.",
	    METRIC_GAUGE, of_recorder_cost },
	{ "hone_recorder_providers_left_out",
	    "Providers of tracepoints that do not fit into its budget.", METRIC_GAUGE,
	    of_recorder_left_out },
	{ "hone_recorder_records", "Records that were written to it since the agent started.",
	    METRIC_COUNTER, of_recorder_records },
	{ "hone_recorder_snapshots", "Snapshots that were taken of it since the agent started.",
	    METRIC_COUNTER, of_recorder_snapshots },
	{ "hone_recorder_refused", "Snapshots that the tracer refused since the agent started.",
	    METRIC_COUNTER, of_recorder_refused },
};

static void
put_node_parts(struct metric_lines *m, const struct engine_parts *e)
{
	metric_begin(m, "hone_agent_cpu_seconds", METRIC_COUNTER,
	    "Processor time since the agent started: of the agent, and of LTTng's daemons.");
	for (uint32_t i = 0; i < e->nodes.n; i++) {
		const struct node *n = &e->nodes.items[i];
		struct metric_label of[] = { label_of("node", n->name), label_of("part", "agent") };

		metric_put(m, "", of, 2, (double)n->status.cpu_us / 1e6);
		of[1] = label_of("part", "tracer");
		metric_put(m, "", of, 2, (double)n->status.tracer_cpu_us / 1e6);
	}
	metric_begin(m, "hone_queue_fill_ratio", METRIC_GAUGE,
	    "Occupancy of the agent's queues: the most since its last report.");
	for (uint32_t i = 0; i < e->nodes.n; i++)
		for (int q = 0; q < QUEUES; q++) {
			const struct metric_label of[] = { label_of("node", e->nodes.items[i].name),
				label_of("queue", queue_name((enum queue)q)) };

			metric_put(m, "", of, 2, e->nodes.items[i].status.fill[q]);
		}
}

static void
put_nodes(struct metric_lines *m, const struct engine *g, struct mono now)
{
	const struct engine_parts *e = engine_parts_of(g);

	for (size_t k = 0; k < sizeof NODE_METRICS / sizeof *NODE_METRICS; k++) {
		metric_begin(m, NODE_METRICS[k].name, NODE_METRICS[k].kind, NODE_METRICS[k].help);
		for (uint32_t i = 0; i < e->nodes.n; i++) {
			const struct node_at at = { e, &e->nodes.items[i], i, now };
			const struct metric_label of = label_of("node", at.n->name);

			metric_put(m, "", &of, 1, NODE_METRICS[k].value(&at));
		}
	}
	put_node_parts(m, e);
}

void
metrics_write(struct buf *out, const struct engine *g, struct mono now,
    const struct metrics_process *p, enum metrics_form form)
{
	struct metric_lines m = { .out = out, .form = form };

	put_process(&m, p);
	put_types(&m, g);
	put_durations(&m, g);
	put_watched(&m, &engine_parts_of(g)->watcher);
	put_groups(&m, g);
	put_records(&m, g);
	put_control(&m, g, now);
	put_levels(&m, &engine_parts_of(g)->levels);
	put_nodes(&m, g, now);
	metric_end(&m);
}
