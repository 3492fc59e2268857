/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/forest/made.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
folder_make(void **state)
{
	struct place *p = calloc(1, sizeof *p);

	strcpy(p->folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/hone-store-XXXXXX"
							: "/tmp/hone-store-XXXXXX");
	if (mkdtemp(p->folder) == NULL)
		return -1;
	snprintf(p->path, sizeof p->path, "%s/forest.db", p->folder);
	*state = p;
	return 0;
}

int
folder_remove(void **state)
{
	struct place *p = *state;
	char command[96];
	int rc;

	snprintf(command, sizeof command, "chmod 755 %s; rm -rf %s", p->folder, p->folder);
	rc = system(command);
	free(p);
	return rc;
}

struct store *
open_store(const char *path)
{
	struct store *s = NULL;
	struct err e = { 0 };

	if (store_open(&s, path, &e) != 0)
		fail_msg("store_open: %s", e.text);
	return s;
}

void
commit(struct store *s, struct forest *f)
{
	struct err e = { 0 };

	if (store_commit(s, f, &e) != 0)
		fail_msg("store_commit: %s", e.text);
}

struct forest *
loaded(struct store *s, unsigned days)
{
	struct forest *f = forest_new();
	struct err e = { 0 };

	if (store_load(s, f, days, &e) != 0)
		fail_msg("store_load: %s", e.text);
	return f;
}

int64_t
sql_integer(const char *path, const char *text)
{
	sqlite3 *db;
	sqlite3_stmt *q;
	int64_t ret;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	if (sqlite3_prepare_v2(db, text, -1, &q, NULL) != SQLITE_OK ||
	    sqlite3_step(q) != SQLITE_ROW)
		fail_msg("%s: %s", text, sqlite3_errmsg(db));
	ret = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return ret;
}

/* ---- random forests ---- */

static double
any_number(struct rng *r)
{
	switch (rng_below(r, 8)) {
	case 0:
		return NAN;
	case 1:
		return INFINITY;
	case 2:
		return 0;
	default:
		return rng_normal(r) * 1e9;
	}
}

const char *
any_text(struct rng *r)
{
	static char text[5000];
	size_t len = rng_below(r, 10) == 0 ? rng_below(r, sizeof text - 1) : rng_below(r, 30);

	for (size_t i = 0; i < len; i++)
		text[i] = (char)(' ' + rng_below(r, 95));
	text[len] = '\0';
	return rng_below(r, 5) == 0 ? "w\xc3\xa4hrend 'x'; -- \"" : text;
}

static enum reason
any_reason(struct rng *r)
{
	unsigned number;

	while (!reason_valid(number = (unsigned)rng_below(r, 64)))
		;
	return (enum reason)number;
}

void
fill(struct rng *r, struct hypothesis *h)
{
	double *const numbers[] = { &h->mean_ns, &h->cv, &h->share, &h->share_low, &h->share_high,
		&h->latency_share, &h->settled_share, &h->settled_low, &h->settled_high, &h->key_r,
		&h->key_p, &h->cost_ns, &h->separation };
	char **const texts[] = { &h->tracepoint, &h->edge_from, &h->edge_to, &h->group_shape,
		&h->key };

	h->cycle = (uint32_t)rng_next(r);
	h->state = (enum hypothesis_state)rng_below(r, 8);
	h->presence = "+~ "[rng_below(r, 3)];
	h->group_key[0] = rng_next(r);
	h->group_key[1] = rng_next(r);
	h->traces = rng_next(r);
	h->settled_traces = rng_next(r);
	h->key_n = (uint32_t)rng_next(r);
	h->exemplar_slow = rng_next(r);
	h->exemplar_fast = rng_next(r);
	h->made.ns = (int64_t)rng_next(r);
	h->settled.ns = (int64_t)rng_next(r);
	h->reason = any_reason(r);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		*numbers[i] = any_number(r);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		assert_true(hypothesis_text(texts[i], any_text(r)));
}

void
fill_run(struct rng *r, struct run *run)
{
	run->seed = rng_next(r);
	run->state = (enum run_state)rng_below(r, RUN_STATES);
	run->cycles = (uint32_t)rng_next(r);
	run->tracepoints = (uint32_t)rng_next(r);
	run->tracepoints_all = (uint32_t)rng_next(r);
	run->tracepoints_most = (uint32_t)rng_next(r);
	run->requests = rng_next(r);
	run->effort = (uint32_t)rng_next(r);
	run->causes_max = (uint32_t)rng_next(r);
	run->left = any_number(r);
	assert_true(hypothesis_text(&run->version, any_text(r)));
	run->begun.ns = (int64_t)(rng_next(r) >> 2);
	run->ended.ns = (int64_t)(rng_next(r) >> 2);
	run->problem_from.ns = (int64_t)(rng_next(r) >> 2);
	run->problem_to.ns = (int64_t)(rng_next(r) >> 2);
	assert_true(hypothesis_text(&run->strategy, any_text(r)));
	run->healthy = rng_below(r, 2) == 1;
	run->compared = rng_next(r);
	assert_true(hypothesis_text(&run->baseline, any_text(r)));
	run->reason = any_reason(r);
	assert_true(hypothesis_text(&run->subject, any_text(r)));
	assert_true(hypothesis_text(&run->text, any_text(r)));
}

static void
same_number(double a, double b)
{
	assert_true(a == b || (isnan(a) && isnan(b)));
}

static void
same_hypothesis(const struct hypothesis *a, const struct hypothesis *b)
{
	assert_non_null(b);
	assert_true(a->id == b->id && a->run == b->run && a->parent == b->parent &&
		    a->cycle == b->cycle && a->state == b->state && a->presence == b->presence &&
		    a->group_key[0] == b->group_key[0] && a->group_key[1] == b->group_key[1] &&
		    a->traces == b->traces && a->settled_traces == b->settled_traces &&
		    a->key_n == b->key_n && a->exemplar_slow == b->exemplar_slow &&
		    a->exemplar_fast == b->exemplar_fast && a->made.ns == b->made.ns &&
		    a->settled.ns == b->settled.ns);
	same_number(a->mean_ns, b->mean_ns);
	same_number(a->cv, b->cv);
	same_number(a->share, b->share);
	same_number(a->share_low, b->share_low);
	same_number(a->share_high, b->share_high);
	same_number(a->latency_share, b->latency_share);
	same_number(a->settled_share, b->settled_share);
	same_number(a->settled_low, b->settled_low);
	same_number(a->settled_high, b->settled_high);
	same_number(a->key_r, b->key_r);
	same_number(a->key_p, b->key_p);
	same_number(a->cost_ns, b->cost_ns);
	same_number(a->separation, b->separation);
	assert_int_equal(a->reason, b->reason);
	assert_string_equal(a->tracepoint, b->tracepoint);
	assert_string_equal(a->edge_from, b->edge_from);
	assert_string_equal(a->edge_to, b->edge_to);
	assert_string_equal(a->group_shape, b->group_shape);
	assert_string_equal(a->key, b->key);
}

static void
same_verdicts(const struct forest *a, const struct forest *b, uint64_t run)
{
	const struct verdict *x, *y;

	for (uint32_t rank = 1; (x = forest_verdict(a, run, rank)) != NULL; rank++) {
		const double mine[] = { x->confidence, x->mean_ns, x->cv, x->share, x->share_low,
			x->share_high, x->latency_share, x->probability, x->cost_ns, x->cv_now,
			x->cv_then, x->cv_then_low, x->cv_then_high, x->p50_then_ns, x->p95_now_ns,
			x->p95_then_ns, x->p99_now_ns, x->p99_then_ns, x->key_r, x->key_p,
			x->effective_traces, x->separation, x->object_share, x->wait_share,
			x->wait_share_low, x->wait_share_high, x->passes, x->effect,
			x->pool_utilisation, x->pool_service_ns, x->pool_service_cv,
			x->pool_wait_ns, x->pool_expected_ns, x->tail_quantile, x->tail_ns,
			x->tail_carries, x->tail_with, x->tail_without, x->tail_p, x->new_part,
			x->new_low, x->pool_low };

		assert_non_null(y = forest_verdict(b, run, rank));
		const double others[] = { y->confidence, y->mean_ns, y->cv, y->share, y->share_low,
			y->share_high, y->latency_share, y->probability, y->cost_ns, y->cv_now,
			y->cv_then, y->cv_then_low, y->cv_then_high, y->p50_then_ns, y->p95_now_ns,
			y->p95_then_ns, y->p99_now_ns, y->p99_then_ns, y->key_r, y->key_p,
			y->effective_traces, y->separation, y->object_share, y->wait_share,
			y->wait_share_low, y->wait_share_high, y->passes, y->effect,
			y->pool_utilisation, y->pool_service_ns, y->pool_service_cv,
			y->pool_wait_ns, y->pool_expected_ns, y->tail_quantile, y->tail_ns,
			y->tail_carries, y->tail_with, y->tail_without, y->tail_p, y->new_part,
			y->new_low, y->pool_low };

		for (size_t i = 0; i < sizeof mine / sizeof mine[0]; i++)
			same_number(mine[i], others[i]);
		assert_true(
		    x->run == y->run && x->hypothesis == y->hypothesis && x->rank == y->rank &&
		    x->kind == y->kind && x->problem == y->problem && x->traces == y->traces &&
		    x->key_n == y->key_n && x->slowest.high == y->slowest.high &&
		    x->slowest.low == y->slowest.low && x->fastest.high == y->fastest.high &&
		    x->fastest.low == y->fastest.low && x->slowest_ns == y->slowest_ns &&
		    x->fastest_ns == y->fastest_ns && x->when.ns == y->when.ns);
		assert_string_equal(x->from, y->from);
		assert_string_equal(x->to, y->to);
		assert_string_equal(x->path, y->path);
		assert_string_equal(x->tracepoint, y->tracepoint);
		assert_string_equal(x->text, y->text);
		assert_string_equal(x->key, y->key);
		assert_true(x->by_latency == y->by_latency && x->slow_with == y->slow_with &&
			    x->loop_back == y->loop_back && x->position == y->position &&
			    x->positions == y->positions && x->unlearned == y->unlearned &&
			    x->over_budget == y->over_budget && x->preload == y->preload &&
			    x->preload_over_budget == y->preload_over_budget &&
			    x->handed_over == y->handed_over && x->wait_cause == y->wait_cause &&
			    x->waits == y->waits && x->wait_from_too == y->wait_from_too &&
			    x->pool == y->pool && x->ground == y->ground &&
			    x->pool_threads == y->pool_threads);
		assert_string_equal(x->wait_type, y->wait_type);
		assert_string_equal(x->wait_unit, y->wait_unit);
		assert_string_equal(x->unlearned_service, y->unlearned_service);
		assert_string_equal(x->unlearned_names, y->unlearned_names);
		assert_string_equal(x->above_from, y->above_from);
		assert_string_equal(x->above_to, y->above_to);
		assert_string_equal(x->call, y->call);
		assert_string_equal(x->object, y->object);
		assert_string_equal(x->mistake, y->mistake);
		assert_string_equal(x->mistake_at, y->mistake_at);
		assert_string_equal(x->mistake_to, y->mistake_to);
		assert_true(x->mistake_count == y->mistake_count &&
			    x->mistake_of == y->mistake_of &&
			    x->tail_requests == y->tail_requests && x->tail_has == y->tail_has);
		assert_string_equal(x->tail_key, y->tail_key);
		assert_string_equal(x->tail_value, y->tail_value);
		assert_int_equal(x->below_requests, y->below_requests);
		assert_string_equal(x->below_top, y->below_top);
		assert_string_equal(x->below_states, y->below_states);
		assert_string_equal(x->below_places, y->below_places);
		assert_string_equal(x->below_holders, y->below_holders);
		assert_string_equal(x->below_wakers, y->below_wakers);
		assert_string_equal(x->below_missing, y->below_missing);
		assert_string_equal(x->below_differential, y->below_differential);
		assert_string_equal(x->below_functions, y->below_functions);
		assert_string_equal(x->below_held, y->below_held);
	}
	for (uint32_t rank = 1; rank <= 3; rank++)
		assert_int_equal(
		    forest_verdict(a, run, rank) == NULL, forest_verdict(b, run, rank) == NULL);
}

/* Evidence is queried by trace: the ids that play() and fill_evidence() assign. */
static void
same_logs(const struct forest *a, const struct forest *b)
{
	const struct switched *s, *t;
	const struct evidence *v, *w;
	uint64_t at = 0, other = 0;

	while ((s = forest_switched_next(a, NULL, &at)) != NULL) {
		assert_non_null(t = forest_switched_next(b, NULL, &other));
		assert_true(s->run == t->run && s->hypothesis == t->hypothesis &&
			    s->cycle == t->cycle && s->on == t->on && s->when.ns == t->when.ns &&
			    s->reason == t->reason);
		assert_string_equal(s->tracepoint, t->tracepoint);
		assert_string_equal(s->subject, t->subject);
		assert_string_equal(s->text, t->text);
	}
	assert_null(forest_switched_next(b, NULL, &other));
	for (uint64_t low = 0; low < TRACES; low++) {
		at = other = 0;
		while ((v = forest_evidence(a, (struct trace_id){ 0, low }, &at)) != NULL) {
			assert_non_null(
			    w = forest_evidence(b, (struct trace_id){ 0, low }, &other));
			assert_true(v->trace.high == w->trace.high && v->run == w->run &&
				    v->hypothesis == w->hypothesis && v->total_ns == w->total_ns &&
				    v->edge_ns == w->edge_ns);
		}
		assert_null(forest_evidence(b, (struct trace_id){ 0, low }, &other));
	}
}

static void
same_audit(const struct forest *a, const struct forest *b)
{
	const struct audit *x, *y;
	uint64_t at = 0, other = 0;

	while ((x = forest_audit_next(a, &at)) != NULL) {
		assert_non_null(y = forest_audit_next(b, &other));
		assert_true(x->when.ns == y->when.ns && x->uid == y->uid && x->pid == y->pid &&
			    x->outcome == y->outcome && x->run == y->run && x->times == y->times &&
			    x->reason == y->reason);
		assert_true(x->actor == y->actor && x->action == y->action &&
			    x->count == y->count && x->cause == y->cause && x->queue == y->queue &&
			    (x->cause == REASON_NONE || x->fill == y->fill));
		assert_string_equal(x->node, y->node);
		assert_string_equal(x->types, y->types);
		assert_string_equal(x->user, y->user);
		assert_string_equal(x->asked, y->asked);
		assert_string_equal(x->text, y->text);
	}
	assert_null(forest_audit_next(b, &other));
}

/* Requests of an operator and, in each third cycle, actions of Hone itself. */
static void
play_audit(struct forest *f, const struct run *r, uint32_t cycle, struct wall now)
{
	char asked[64];
	struct audit a = { .when = now,
		.uid = cycle % 2 ? 0 : 65534,
		.pid = 100 + cycle,
		.user = cycle % 2 ? "root" : "nobody",
		.asked = asked,
		.outcome = (enum audit_outcome)(cycle % AUDIT_OUTCOMES),
		.run = r->id,
		.times = 1 + cycle % 4,
		.text = "",
		.types = cycle % 2 ? "GET_HOME\nPUT_CART" : "" };

	snprintf(asked, sizeof asked, "{\"ask\":\"start\",\"k\":%u}", cycle);
	assert_int_equal(forest_audit_add(f, &a, NULL), 0);
	if (cycle % 3 != 0)
		return;
	a = (struct audit){ .when = now,
		.uid = -1,
		.pid = -1,
		.actor = ACTOR_QUEUES,
		.action = ACTION_DISABLE_COUNT,
		.node = "node2",
		.count = cycle,
		.cause = REASON_QUEUE_FULL,
		.queue = QUEUE_LINK,
		.fill = 1.0 / cycle,
		.times = 1,
		.reason = REASON_CONGESTION };
	assert_int_equal(forest_audit_add(f, &a, NULL), 0);
}

void
fill_verdict(struct rng *r, struct forest *f, const struct hypothesis *h)
{
	struct verdict v = { .run = h->run,
		.hypothesis = h->id,
		.kind = (enum verdict_kind)rng_below(r, 6),
		.problem = (enum problem)rng_below(r, 4),
		.traces = rng_next(r),
		.key_n = (uint32_t)rng_next(r),
		.slowest = { rng_next(r), rng_next(r) },
		.fastest = { rng_next(r), rng_next(r) },
		.slowest_ns = (int64_t)rng_next(r),
		.fastest_ns = (int64_t)rng_next(r),
		.when = { (int64_t)rng_next(r) },
		.by_latency = rng_below(r, 2),
		.slow_with = rng_below(r, 2),
		.loop_back = rng_below(r, 2),
		.mistake_count = rng_next(r),
		.mistake_of = rng_next(r),
		.position = (uint32_t)rng_next(r),
		.positions = (uint32_t)rng_next(r),
		.unlearned = (uint32_t)rng_next(r),
		.over_budget = (uint32_t)rng_next(r),
		.preload_over_budget = (uint32_t)rng_next(r),
		.preload = (enum preload_kind)rng_below(r, PRELOAD_OTHER + 1),
		.handed_over = rng_below(r, 2),
		.wait_cause = (enum wait_cause)rng_below(r, WAIT_STILL + 1),
		.waits = (uint32_t)rng_next(r),
		.wait_from_too = rng_below(r, 2),
		.pool = (enum pool_state)rng_below(r, POOL_MOST + 1),
		.pool_threads = (uint32_t)rng_next(r),
		.ground = (enum verdict_ground)rng_below(r, GROUND_NONE + 1),
		.below_requests = (uint32_t)rng_next(r),
		.tail_requests = rng_next(r),
		.tail_has = (uint32_t)rng_below(r, 3) };
	double *const numbers[] = { &v.confidence, &v.mean_ns, &v.cv, &v.share, &v.share_low,
		&v.share_high, &v.latency_share, &v.probability, &v.cost_ns, &v.cv_now, &v.cv_then,
		&v.cv_then_low, &v.cv_then_high, &v.p50_then_ns, &v.p95_now_ns, &v.p95_then_ns,
		&v.p99_now_ns, &v.p99_then_ns, &v.key_r, &v.key_p, &v.effective_traces,
		&v.separation, &v.object_share, &v.wait_share, &v.wait_share_low,
		&v.wait_share_high, &v.passes, &v.effect, &v.pool_utilisation, &v.pool_service_ns,
		&v.pool_service_cv, &v.pool_wait_ns, &v.pool_expected_ns, &v.tail_quantile,
		&v.tail_ns, &v.tail_carries, &v.tail_with, &v.tail_without, &v.tail_p, &v.new_part,
		&v.new_low, &v.pool_low };
	char **const texts[] = { &v.from, &v.to, &v.path, &v.tracepoint, &v.text, &v.key,
		&v.unlearned_service, &v.unlearned_names, &v.above_from, &v.above_to, &v.call,
		&v.object, &v.wait_type, &v.wait_unit, &v.mistake, &v.mistake_at, &v.mistake_to,
		&v.tail_key, &v.tail_value, &v.below_top, &v.below_states, &v.below_places,
		&v.below_holders, &v.below_wakers, &v.below_missing, &v.below_differential,
		&v.below_functions, &v.below_held };

	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		*numbers[i] = any_number(r);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		assert_true(hypothesis_text(texts[i], any_text(r)));
	assert_non_null(forest_verdict_new(f, &v));
	verdict_release(&v);
}

void
fill_evidence(struct rng *r, struct forest *f, const struct hypothesis *h)
{
	struct evidence v = { { rng_next(r), rng_below(r, TRACES) }, h->run, h->id,
		(int64_t)rng_next(r), (int64_t)rng_next(r) };

	assert_int_equal(forest_evidence_add(f, &v, NULL), 0);
}

/*
 * Odd cycles probe two hypotheses, even ones settle them and look deeper; every
 * third ends the run with two verdicts and begins the next one.
 */
void
play(struct forest *f, uint32_t cycle)
{
	struct run *r = cycle % 3 == 1 ? forest_run_new(f, cycle % 2 ? "GET_HOME" : "PUT_ORDER")
	                               : forest_run_latest(f, NULL);
	const struct hypothesis *last[2] = { 0 };
	struct hypothesis *h;
	struct wall now = { cycle * INT64_C(1000000000) };
	uint64_t at = 0;
	struct rng rng;

	rng_seed(&rng, cycle);
	if (cycle % 3 == 1) {
		r->begun = now;
		assert_true(hypothesis_text(&r->by, cycle % 2 ? "root" : "nobody"));
		assert_true(hypothesis_text(
		    &r->ended_programs, cycle % 2 ? "17 n1 cart\n18 n2 a b\n" : ""));
	}
	play_audit(f, r, cycle, now);
	r->cycles++;
	forest_touch_run(f, r);
	while ((h = forest_next(f, r->id, &at)) != NULL) {
		if (h->state == HYPOTHESIS_PROBING) {
			hypothesis_enter(
			    h, h->id % 2 ? HYPOTHESIS_ISOLATES : HYPOTHESIS_NO_HELP, now);
			forest_touch(f, h);
		}
		last[h->id % 2] = h;
	}
	for (int i = 0; i < 2; i++) {
		struct switched s = { r->id, 0, cycle, true, i ? "shop:begin" : "shop:end",
			(enum reason)(REASON_SPLITS_EDGE + i), i ? "n1" : "", i ? "looking" : "",
			now };

		h = forest_hypothesis_new(f, r->id, last[1] != NULL ? last[1]->id : 0);
		assert_non_null(h);
		hypothesis_enter(h, HYPOTHESIS_PROBING, now);
		assert_true(hypothesis_text(&h->tracepoint, s.tracepoint));
		s.hypothesis = h->id;
		assert_int_equal(forest_switched(f, &s, NULL), 0);
		for (int n = 0; n < 20; n++)
			fill_evidence(&rng, f, h);
	}
	if (cycle % 3 != 0)
		return;
	fill_verdict(&rng, f, last[0]);
	fill_verdict(&rng, f, last[1]);
	r->state = RUN_FOUND;
	r->ended = now;
}

struct forest *
played(uint32_t cycles)
{
	struct forest *f = forest_new();

	for (uint32_t i = 1; i <= cycles; i++)
		play(f, i);
	forest_written(f);
	return f;
}

void
same_forest(const struct forest *a, const struct forest *b)
{
	const struct run *x, *y;
	const struct hypothesis *h;
	uint64_t at = 0, other = 0;

	while ((x = forest_run_next(a, &at)) != NULL) {
		uint64_t in = 0, in_other = 0;

		y = forest_run_next(b, &other);
		assert_non_null(y);
		assert_true(
		    x->id == y->id && x->seed == y->seed && x->state == y->state &&
		    x->verdict == y->verdict && x->cycles == y->cycles &&
		    x->tracepoints == y->tracepoints && x->tracepoints_all == y->tracepoints_all &&
		    x->begun.ns == y->begun.ns && x->ended.ns == y->ended.ns &&
		    x->requests == y->requests && x->tracepoints_most == y->tracepoints_most &&
		    x->effort == y->effort && x->causes_max == y->causes_max);
		same_number(x->left, y->left);
		assert_string_equal(x->version, y->version);
		assert_string_equal(x->by != NULL ? x->by : "", y->by != NULL ? y->by : "");
		assert_string_equal(x->ended_programs, y->ended_programs);
		assert_true(x->healthy == y->healthy && x->compared == y->compared);
		assert_string_equal(x->baseline, y->baseline);
		assert_string_equal(x->type, y->type);
		assert_string_equal(x->strategy, y->strategy);
		assert_string_equal(x->subject, y->subject);
		assert_string_equal(x->text, y->text);
		assert_int_equal(x->reason, y->reason);
		while ((h = forest_next(a, x->id, &in)) != NULL)
			same_hypothesis(h, forest_next(b, y->id, &in_other));
		assert_null(forest_next(b, y->id, &in_other));
		same_verdicts(a, b, x->id);
	}
	assert_null(forest_run_next(b, &other));
	same_logs(a, b);
	same_audit(a, b);
}
