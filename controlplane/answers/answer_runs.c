/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Diagnoses with their hypotheses and verdicts, from the forest; a run's phase is from the engine. */
#include "controlplane/answers/answer_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/tail_keys.h"
#include "controlplane/search/tail_target.h"

enum { HISTORY_DEFAULT = 50, HISTORY_MAX = 100000 };

static json_t *
key_of(const char *name, double r, double p, uint32_t n)
{
	if (name == NULL || name[0] == '\0')
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:i}", "name", answer_text(name), "r", number_json(r),
	    "p", number_json(p), "n", (int)n);
}

json_t *
answer_reason(enum reason r)
{
	return r != REASON_NONE ? json_string(reason_word(r)) : json_null();
}

/* Null for "" and NULL. */
static json_t *
text_or_null(const char *text)
{
	return text != NULL && text[0] != '\0' ? answer_text(text) : json_null();
}

/* ---- hypotheses ---- */

static json_t *
path_json(const char *lines)
{
	json_t *a = json_array();

	for (; lines != NULL && *lines != '\0'; lines += strspn(lines, "\n")) {
		size_t len = strcspn(lines, "\n");

		if (len > 0)
			json_array_append_new(a, text_json(lines, len));
		lines += len;
	}
	return a;
}

static void
add_settlement(json_t *j, const struct hypothesis *h)
{
	json_t *more = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
	    "settled_traces", (json_int_t)h->settled_traces, "settled_share",
	    number_json(h->settled_share), "settled_low", number_json(h->settled_low),
	    "settled_high", number_json(h->settled_high), "separation", number_json(h->separation),
	    "reason", answer_reason(h->reason), "key", key_of(h->key, h->key_r, h->key_p, h->key_n),
	    "made", wall_json(h->made), "settled", wall_json(h->settled), "cost_ms",
	    number_json(h->cost_ns / 1e6), "slowest",
	    answer_id((struct trace_id){ 0, h->exemplar_slow }), "fastest",
	    answer_id((struct trace_id){ 0, h->exemplar_fast }));

	json_object_update(j, more);
	json_decref(more);
}

json_t *
answer_hypothesis(const struct hypothesis *h)
{
	char presence[2] = { h->presence, '\0' };
	json_t *j = json_pack(
	    "{s:I, s:o, s:i, s:s, s:s, s:o, s:{s:o, s:o}, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
	    (json_int_t)h->id, "parent", answer_number_id(h->parent), "cycle", (int)h->cycle,
	    "state", hypothesis_word(h->state), "presence", presence, "tracepoint",
	    answer_text(h->tracepoint), "edge", "from", answer_text(h->edge_from), "to",
	    answer_text(h->edge_to), "traces", (json_int_t)h->traces, "mean_ms",
	    number_json(h->mean_ns / 1e6), "cv", number_json(h->cv), "share", number_json(h->share),
	    "share_low", number_json(h->share_low), "share_high", number_json(h->share_high),
	    "latency_share", number_json(h->latency_share));

	if (j != NULL)
		add_settlement(j, h);
	return j;
}

const struct hypothesis *
answer_root(const struct forest *f, const struct hypothesis *h)
{
	while (h != NULL && h->parent != 0)
		h = forest_get(f, h->parent);
	return h;
}

/* ---- verdicts ---- */

static json_t *
what_if_json(const struct verdict *v)
{
	if (isnan(v->cv_then))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cv_now",
	    number_json(v->cv_now), "cv_then", number_json(v->cv_then), "cv_then_low",
	    number_json(v->cv_then_low), "cv_then_high", number_json(v->cv_then_high),
	    "p50_then_ms", number_json(v->p50_then_ns / 1e6), "p95_now_ms",
	    number_json(v->p95_now_ns / 1e6), "p95_then_ms", number_json(v->p95_then_ns / 1e6),
	    "p99_now_ms", number_json(v->p99_now_ns / 1e6), "p99_then_ms",
	    number_json(v->p99_then_ns / 1e6));
}

static json_t *
exemplars_json(const struct verdict *v)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "slowest", answer_id(v->slowest), "fastest",
	    answer_id(v->fastest), "slowest_ms",
	    number_json(v->slowest.low != 0 ? (double)v->slowest_ns / 1e6 : NAN), "fastest_ms",
	    number_json(v->fastest.low != 0 ? (double)v->fastest_ns / 1e6 : NAN));
}

static json_t *
separation_json(const struct verdict *v)
{
	if (v->kind != VERDICT_SEPARATED || isnan(v->separation))
		return json_null();
	return json_pack("{s:o, s:o, s:s}", "tracepoint", answer_text(v->tracepoint), "share",
	    number_json(v->separation), "slow", v->slow_with ? "with" : "without");
}

static json_t *
position_json(const struct verdict *v)
{
	if (v->positions == 0)
		return json_null();
	return json_pack("{s:i, s:i, s:b}", "number", (int)v->position, "of", (int)v->positions,
	    "loop_back", v->loop_back);
}

static json_t *
unlearned_json(const struct verdict *v)
{
	if (v->unlearned == 0)
		return json_null();
	return json_pack("{s:i, s:o, s:o}", "tracepoints", (int)v->unlearned, "service",
	    answer_text(v->unlearned_service), "names", answer_lines(v->unlearned_names));
}

static json_t *
preload_json(const struct verdict *v)
{
	bool object = v->object != NULL && v->object[0] != '\0';

	if (v->preload == PRELOAD_NONE)
		return json_null();
	return json_pack("{s:s, s:{s:o, s:o}, s:o, s:o, s:o}", "kind", preload_word(v->preload),
	    "edge", "from", answer_text(v->above_from), "to", answer_text(v->above_to), "call",
	    answer_text(v->call), "object", object ? answer_text(v->object) : json_null(),
	    "object_share", object ? number_json(v->object_share) : json_null());
}

/* The span that the edge lies in. */
static json_t *
within_json(const struct verdict *v)
{
	if (v->preload != PRELOAD_NONE || v->above_from == NULL || v->above_from[0] == '\0')
		return json_null();
	return json_pack(
	    "{s:o, s:o}", "from", answer_text(v->above_from), "to", answer_text(v->above_to));
}

/* "service", of a label's text. */
static json_t *
service_json(const char *label)
{
	return json_stringn(label, strcspn(label, "/"));
}

static json_t *
waited_json(const struct verdict *v)
{
	json_t *j;

	if (v->wait_cause == WAIT_UNKNOWN)
		return json_null();
	j = json_pack("{s:s, s:i, s:o, s:o, s:o}", "cause", wait_word(v->wait_cause), "waits",
	    (int)v->waits, "share", number_json(v->wait_share), "share_low",
	    number_json(v->wait_share_low), "share_high", number_json(v->wait_share_high));
	json_object_set_new(
	    j, "type", v->wait_cause == WAIT_OCCUPIED ? answer_text(v->wait_type) : json_null());
	json_object_set_new(
	    j, "unit", v->wait_cause == WAIT_OCCUPIED ? answer_text(v->wait_unit) : json_null());
	json_object_set_new(j, "service", service_json(v->to));
	json_object_set_new(j, "also", v->wait_from_too ? service_json(v->from) : json_null());
	return j;
}

/* A time that may be infinite, in ms; null if it is or is not known. */
static json_t *
finite_ms(double ns)
{
	return number_json(isfinite(ns) ? ns / 1e6 : NAN);
}

static json_t *
pool_json(const struct verdict *v)
{
	if (v->pool == POOL_NONE)
		return json_null();
	return json_pack("{s:s, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "state",
	    pool_word(v->pool), "service", service_json(v->to), "threads", (int)v->pool_threads,
	    "utilisation", number_json(v->pool_utilisation), "service_ms",
	    finite_ms(v->pool_service_ns), "service_cv", number_json(v->pool_service_cv), "wait_ms",
	    finite_ms(v->pool_wait_ns), "expected_ms", finite_ms(v->pool_expected_ns), "effect_low",
	    number_json(v->pool_low));
}

/* As in the answer to "check". */
static json_t *
mistake_json(const struct verdict *v)
{
	if (v->mistake == NULL || v->mistake[0] == '\0')
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:I, s:I}", "kind", answer_text(v->mistake), "at",
	    answer_text(v->mistake_at), "to", text_or_null(v->mistake_to), "count",
	    (json_int_t)v->mistake_count, "of", (json_int_t)v->mistake_of);
}

/* What the slow requests have that the others have not. */
static json_t *
tail_has_json(const struct verdict *v)
{
	static const char *const words[] = { [TAIL_HAS_EQUAL] = "equal",
		[TAIL_HAS_AT_LEAST] = "at-least",
		[TAIL_HAS_AT_MOST] = "at-most" };

	if (v->tail_key[0] == '\0' || v->tail_has > TAIL_HAS_AT_MOST)
		return json_null();
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "key", answer_text(v->tail_key), "is",
	    words[v->tail_has], "value", answer_text(v->tail_value), "slow",
	    number_json(v->tail_with), "others", number_json(v->tail_without), "p",
	    number_json(v->tail_p));
}

/* The few requests that take long in the edge, where it is known what they have. */
static json_t *
few_json(const struct verdict *v)
{
	if (v->tail_quantile > 0 || v->tail_key[0] == '\0')
		return json_null();
	return json_pack("{s:o, s:I, s:o}", "above_ms", number_json(v->tail_ns / 1e6), "requests",
	    (json_int_t)v->tail_requests, "has", tail_has_json(v));
}

static json_t *
tail_json(const struct verdict *v)
{
	if (!(v->tail_quantile > 0))
		return json_null();
	return json_pack("{s:f, s:o, s:I, s:o, s:o}", "quantile", v->tail_quantile, "above_ms",
	    number_json(v->tail_ns / 1e6), "requests", (json_int_t)v->tail_requests, "carries",
	    number_json(v->tail_carries), "has", tail_has_json(v));
}

/* What a verdict about captured outliers rests on. */
static json_t *
captured_json(const struct verdict *v)
{
	double with = v->share * (double)v->tail_requests;

	if (v->kind != VERDICT_CAPTURED)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:o, s:o}", "slow", (json_int_t)v->tail_requests, "with",
	    (json_int_t)llround(with), "usual", (json_int_t)(v->traces - v->tail_requests),
	    "excess_ms", number_json(with > 0 ? v->cost_ns / with / 1e6 : NAN), "p",
	    number_json(v->tail_p));
}

/* What of it was not there in the baseline. */
static json_t *
new_json(const struct verdict *v)
{
	return isnan(v->new_part)
	           ? json_null()
	           : json_pack("{s:f, s:f}", "part", v->new_part, "at_least", v->new_low);
}

static const char *
measure_word(const struct verdict *v)
{
	return v->by_latency ? "latency" : v->tail_quantile > 0 ? "tail" : "variance";
}

static void
add_circumstances(json_t *j, const struct verdict *v, bool whole)
{
	json_t *more = json_pack(
	    "{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o}",
	    "measure", measure_word(v), "sure", verdict_sure(v), "effect", number_json(v->effect),
	    "effective_traces", number_json(v->effective_traces), "separation", separation_json(v),
	    "position", position_json(v), "unlearned", unlearned_json(v), "over_budget",
	    (int)v->over_budget, "preload_over_budget", (int)v->preload_over_budget, "preload",
	    preload_json(v), "waited", waited_json(v), "pool", pool_json(v), "handed_over",
	    v->handed_over, "text", text_or_null(v->text), "mistake", mistake_json(v), "below",
	    answer_below(v, whole), "tail", tail_json(v), "few", few_json(v), "rare",
	    !(v->tail_quantile > 0) && verdict_is_rare(v), "captured", captured_json(v), "new",
	    new_json(v), "within", within_json(v), "ground",
	    v->ground != GROUND_OPEN ? json_string(ground_word(v->ground)) : json_null());

	json_object_update(j, more);
	json_decref(more);
}

static json_t *
passing_json(const struct verdict *v)
{
	return v->passing > 0 ? json_integer((json_int_t)v->passing) : json_null();
}

json_t *
answer_verdict(const struct engine *g, const struct verdict *v, bool whole)
{
	json_t *j = json_pack(
	    "{s:I, s:i, s:s, s:s, s:o, s:{s:o, s:I, s:o, s:o, s:o, s:o}, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o,"
	    " s:o, s:o, s:o, s:o, s:b, s:b, s:I, s:o}",
	    "hypothesis", (json_int_t)v->hypothesis, "rank", (int)v->rank, "kind",
	    verdict_word(v->kind), "problem", verdict_problem_word(v->problem), "tracepoint",
	    answer_text(v->tracepoint), "group", "path", path_json(v->path), "traces",
	    (json_int_t)v->traces, "passing", passing_json(v), "passes",
	    number_json(v->passing > 0 ? v->passes : NAN), "mean_ms", number_json(v->mean_ns / 1e6),
	    "cv", number_json(v->cv), "edge", "from", answer_text(v->from), "to",
	    answer_text(v->to), "share", number_json(v->share), "share_low",
	    number_json(v->share_low), "share_high", number_json(v->share_high), "latency_share",
	    number_json(v->latency_share), "confidence", number_json(v->confidence), "probability",
	    number_json(v->probability), "cost_ms", number_json(v->cost_ns / 1e6), "key",
	    key_of(v->key, v->key_r, v->key_p, v->key_n), "exemplars", exemplars_json(v), "what_if",
	    what_if_json(v), "bottom", v->kind == VERDICT_PLACE || v->kind == VERDICT_KEY, "spread",
	    v->kind == VERDICT_SPREAD, "added_on", (json_int_t)plan_count(engine_parts_of(g)->plan),
	    "when", wall_json(v->when));

	if (j != NULL)
		add_circumstances(j, v, whole);
	return j;
}

static json_t *
verdicts_json(const struct engine *g, const struct forest *f, const struct run *r, bool whole)
{
	const struct verdict *v;
	json_t *all = json_array();

	for (uint32_t rank = 1; (v = forest_verdict(f, r->id, rank)) != NULL; rank++)
		json_array_append_new(all, answer_verdict(g, v, whole));
	return all;
}

const struct run *
answer_last_verdict(const struct forest *f, const char *type)
{
	const struct run *r, *last = NULL;
	uint64_t at = 0;

	while ((r = forest_run_next(f, &at)) != NULL)
		if ((type == NULL || strcmp(type, r->type) == 0) &&
		    forest_verdict(f, r->id, 1) != NULL)
			last = r;
	return last;
}

/* ---- what was excluded ---- */

/* Its tracepoint did not help, or even the upper end of its share is below isolate_min. */
static bool
excluded(const struct engine *g, const struct hypothesis *h)
{
	if (h->state == HYPOTHESIS_NO_HELP)
		return true;
	return hypothesis_settled(h->state) && h->state != HYPOTHESIS_WITHDRAWN &&
	       h->state != HYPOTHESIS_SEPARATES && h->settled_traces > 0 &&
	       h->settled_high < engine_parts_of(g)->options.isolate_min;
}

static json_t *
excluded_json(const struct engine *g, const struct forest *f, const struct run *r)
{
	const struct hypothesis *h;
	json_t *all = json_array();
	uint64_t at = 0;

	while ((h = forest_next(f, r->id, &at)) != NULL)
		if (excluded(g, h))
			json_array_append_new(all,
			    json_pack("{s:I, s:s, s:o, s:{s:o, s:o}, s:o, s:o, s:o}", "hypothesis",
				(json_int_t)h->id, "state", hypothesis_word(h->state), "tracepoint",
				answer_text(h->tracepoint), "edge", "from",
				answer_text(h->edge_from), "to", answer_text(h->edge_to), "share",
				number_json(h->settled_share), "share_low",
				number_json(h->settled_low), "share_high",
				number_json(h->settled_high)));
	return all;
}

/* ---- runs ---- */

static const struct diagnosis *
diagnosis_of(const struct engine *g, const struct run *r)
{
	for (uint32_t i = 0; i < engine_parts_of(g)->types.n; i++)
		if (engine_parts_of(g)->types.items[i].diagnosis != NULL &&
		    engine_parts_of(g)->types.items[i].diagnosis->run == r)
			return engine_parts_of(g)->types.items[i].diagnosis;
	return NULL;
}

/* Slow requests that a tail still needs before its search begins, and how long that takes at the present
 * rate; null: it waits for none. */
static json_t *
gathered_tail_json(const struct diagnosis *d, const struct answer_context *c)
{
	int64_t watched_ns = mono_since_ns(c->now, d->begun), all_ns;

	if (!(d->tail.quantile > 0) || d->tail.ns > 0)
		return json_null();
	all_ns = tail_gather_ns(d->traces, d->tail.quantile, watched_ns);
	return json_pack("{s:f, s:I, s:i, s:o}", "quantile", d->tail.quantile, "slow",
	    (json_int_t)((double)d->traces * (1 - d->tail.quantile)), "wanted", TAIL_SLOW_MIN,
	    "seconds_left",
	    number_json(all_ns == INT64_MAX   ? NAN
			: all_ns > watched_ns ? (double)(all_ns - watched_ns) / 1e9
					      : 0));
}

static json_t *
phase_json(const struct engine *g, const struct diagnosis *d, const struct answer_context *c)
{
	static const char *const WORDS[] = { [PHASE_WATCH] = "watching",
		[PHASE_SWITCH] = "enabling",
		[PHASE_GATHER] = "gathering",
		[PHASE_PAUSED] = "paused" };
	const struct queues *q = &engine_parts_of(g)->queues;

	if (d == NULL || d->phase == PHASE_ENDED)
		return json_null();
	return json_pack("{s:s, s:i, s:i, s:I, s:i, s:o, s:o}", "word",
	    WORDS[q->paused ? PHASE_PAUSED : d->phase], "cycle", (int)d->run->cycles, "tracepoints",
	    (int)d->npicks, "traces", (json_int_t)d->traces, "groups",
	    d->groups != NULL ? (int)groups_count(d->groups) : 0, "pause",
	    q->paused ? answer_congestion(&q->pause) : json_null(), "tail",
	    gathered_tail_json(d, c));
}

/* Why a running diagnosis gets nothing that it can use; null: it does, or it has ended. */
static json_t *
no_evidence_json(const struct engine *g, const struct diagnosis *d)
{
	const char *fork = "";

	if (d == NULL || d->phase == PHASE_ENDED || d->no_evidence == REASON_NONE)
		return json_null();
	if (d->no_evidence == REASON_UNIT_MISSING && d->no_unit_label != LABEL_NONE)
		fork = labels_get(engine_parts_of(g)->labels, d->no_unit_label)->text;
	return json_pack(
	    "{s:o, s:o}", "reason", answer_reason(d->no_evidence), "subject", text_or_null(fork));
}

/* Lines of run.ended_programs. */
static json_t *
ended_programs_json(const char *lines)
{
	json_t *all = json_array();
	const char *end;

	for (; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
		const char *node = strchr(lines, '\t'),
			   *service = node != NULL ? strchr(node + 1, '\t') : NULL;

		if (service == NULL || service > end)
			continue;
		json_array_append_new(
		    all, json_pack("{s:o, s:o, s:I}", "service",
			     text_json(service + 1, (size_t)(end - service - 1)), "node",
			     text_json(node + 1, (size_t)(service - node - 1)), "pid",
			     (json_int_t)strtoll(lines, NULL, 10)));
	}
	return all;
}

/* When the problem was there, of a run that ended as it had stopped. */
static json_t *
problem_json(const struct run *r)
{
	return r->state == RUN_GONE && r->problem_to.ns != 0
	           ? json_pack("{s:o, s:o, s:f}", "from", wall_json(r->problem_from), "to",
			 wall_json(r->problem_to), "seconds",
			 (double)(r->problem_to.ns - r->problem_from.ns) / 1e9)
	           : json_null();
}

/* The run whose baseline this one's verdicts are compared with. */
static json_t *
compared_json(const struct forest *f, const struct run *r)
{
	const struct run *with = r->compared != 0 ? forest_run(f, r->compared) : NULL;

	if (r->compared == 0)
		return json_null();
	return json_pack("{s:I, s:o}", "run", (json_int_t)r->compared, "when",
	    with != NULL ? wall_json(with->begun) : json_null());
}

static json_t *
run_facts(const struct engine *g, const struct forest *f, const struct run *r,
    const struct answer_context *c)
{
	int64_t until_ns = r->ended.ns != 0 ? r->ended.ns : c->when.ns;

	return json_pack(
	    "{s:I, s:o, s:o, s:I, s:s, s:o, s:i, s:i, s:o, s:o, s:o, s:f, s:I, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:o}",
	    "run", (json_int_t)r->id, "type", answer_text(r->type), "strategy",
	    answer_text(r->strategy), "seed", (json_int_t)r->seed, "state", run_word(r->state),
	    "phase", phase_json(g, diagnosis_of(g, r), c), "cycles", (int)r->cycles, "effort",
	    (int)r->effort, "effect_min", number_json(r->effect_min), "causes_max",
	    r->causes_max > 0 ? json_integer(r->causes_max) : json_null(), "left",
	    number_json(r->left), "seconds", (double)(until_ns - r->begun.ns) / 1e9, "requests",
	    (json_int_t)r->requests, "tracepoints_used", (int)r->tracepoints, "tracepoints_most",
	    (int)r->tracepoints_most, "tracepoints_all", (int)r->tracepoints_all, "space_version",
	    answer_text(r->version), "begun", wall_json(r->begun), "ended", wall_json(r->ended),
	    "reason", answer_reason(r->reason), "subject", text_or_null(r->subject), "text",
	    text_or_null(r->text), "by", answer_text(r->by), "no_evidence",
	    no_evidence_json(g, diagnosis_of(g, r)), "ended_programs",
	    ended_programs_json(r->ended_programs), "tail",
	    number_json(r->tail_quantile > 0 ? r->tail_quantile : NAN), "problem", problem_json(r),
	    "healthy", r->healthy, "keeps_baseline", r->baseline[0] != '\0', "compared",
	    compared_json(f, r));
}

json_t *
answer_run(const struct engine *g, const struct forest *f, const struct run *r,
    const struct answer_context *c, bool tree)
{
	json_t *run = run_facts(g, f, r, c), *verdicts = verdicts_json(g, f, r, tree), *all, *first;
	const struct hypothesis *h;
	uint64_t at = 0;

	first = json_array_get(verdicts, 0);
	json_object_set(run, "verdict", first != NULL ? first : json_null());
	json_object_set_new(run, "verdicts", verdicts);
	if (!tree)
		return run;
	all = json_array();
	while ((h = forest_next(f, r->id, &at)) != NULL)
		json_array_append_new(all, answer_hypothesis(h));
	json_object_set_new(run, "excluded", excluded_json(g, f, r));
	json_object_set_new(run, "hypotheses", all);
	return run;
}

/* ---- asked ---- */

static json_t *
no_run(const char *type, const json_t *which)
{
	if (which != NULL)
		return answer_refuse(ERR_MISSING,
		    "there is no diagnosis %lld%s%.80s; 'hone history' lists them",
		    (long long)json_integer_value(which), type != NULL ? " of " : "",
		    type != NULL ? type : "");
	return answer_refuse(ERR_MISSING,
	    "%.80s: there is no diagnosis of it; 'hone start %.80s' begins one", type, type);
}

json_t *
ask_forest(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *type = json_string_value(json_object_get(ask, "type"));
	const json_t *which = json_object_get(ask, "run");
	json_t *runs = json_array();
	struct run *r;
	uint64_t at = 0;

	while ((r = forest_run_next(f, &at)) != NULL) {
		bool selected = which != NULL ? r->id == (uint64_t)json_integer_value(which)
		                              : r == forest_run_latest(f, r->type);

		if (selected && (type == NULL || strcmp(type, r->type) == 0))
			json_array_append_new(runs, answer_run(g, f, r, c, true));
	}
	if (json_array_size(runs) > 0 || (type == NULL && which == NULL))
		return json_pack("{s:o}", "runs", runs);
	json_decref(runs);
	return no_run(type, which);
}

json_t *
ask_verdict(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *type = json_string_value(json_object_get(ask, "type"));
	const struct run *r = forest_run_latest(f, type);

	if (r != NULL)
		return json_pack("{s:o}", "run", answer_run(g, f, r, c, true));
	return answer_refuse(
	    ERR_MISSING, "%.80s: there is no diagnosis of it", type != NULL ? type : "nothing");
}

static uint64_t
runs_of(const struct forest *f, const char *type)
{
	uint64_t at = 0, n = 0;
	const struct run *r;

	while ((r = forest_run_next(f, &at)) != NULL)
		n += type == NULL || strcmp(type, r->type) == 0;
	return n;
}

/* Newest first. left_off: number of older runs. */
json_t *
ask_history(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *type = json_string_value(json_object_get(ask, "type"));
	uint64_t at = 0, n = runs_of(f, type), left_off;
	const struct run *r;
	json_t *all;
	int64_t limit;

	if (!answer_whole(ask, "limit", 1, HISTORY_MAX, HISTORY_DEFAULT, &limit))
		return answer_refuse(ERR_INPUT, "\"limit\" must be from 1 to %d", HISTORY_MAX);
	if (type != NULL && n == 0)
		return no_run(type, NULL);
	left_off = n > (uint64_t)limit ? n - (uint64_t)limit : 0;
	all = json_array();
	for (n = 0; (r = forest_run_next(f, &at)) != NULL;)
		if ((type == NULL || strcmp(type, r->type) == 0) && n++ >= left_off)
			json_array_insert_new(all, 0, answer_run(g, f, r, c, false));
	return json_pack("{s:I, s:o}", "left_off", (json_int_t)left_off, "runs", all);
}
