/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "controlplane/search/baseline.h"
#include "controlplane/search/search_verdict.h"

/* The edge from 'b' to 'c' of "(abc)" has the problem. */
enum { EDGE = 2, TRACES = 200 };

struct scene {
	struct fake f;
	struct search *s;
	struct group *group;
};

/* A search that gathers, of a group with n traces (0: the caller adds them); in three of ten `slow_ns` go to the edge. */
static void
begin_with(struct scene *x, const char *path, int n, int64_t slow_ns)
{
	int64_t time_ns[PATH_MAX_STEPS];

	fake_begin(&x->f, "(abc)");
	x->s = fake_search(&x->f, 'b', 'c');
	search_enter(x->s, SEARCH_SWITCHING);
	search_enter(x->s, SEARCH_GATHERING);
	x->f.d->groups = x->f.paths.groups;
	for (int i = 0; i < n; i++) {
		fake_times(&x->f, path, -1, time_ns);
		time_ns[EDGE] += rng_below(&x->f.rng, 10) < 3 ? slow_ns + i * 1000 : 0;
		x->group = paths_add(&x->f.paths, path, time_ns);
	}
	if (n > 0)
		x->s->origin.group_id = x->group->shape.key;
}

static void
begin(struct scene *x)
{
	begin_with(x, "(abc)", TRACES, 20 * MS_NS);
}

static void
end(struct scene *x)
{
	x->f.d->groups = NULL;
	fake_end(&x->f);
}

static void
judge(struct scene *x, enum verdict_kind kind)
{
	assert_int_equal(
	    conclude(&x->f.port, x->s, x->f.paths.groups, x->group, EDGE, kind, NULL), 0);
}

/* The verdict as stored in the forest. */
static const struct verdict *
verdict_of(struct scene *x, enum verdict_kind kind)
{
	const struct verdict *v;

	judge(x, kind);
	assert_int_equal(x->s->phase, SEARCH_ENDED);
	assert_int_equal(x->s->outcome.reason, REASON_NONE);
	assert_non_null(v = x->s->outcome.verdict);
	assert_ptr_equal(v, forest_verdict(x->f.port.forest, x->f.d->run->id, 1));
	return v;
}

static enum hypothesis_state
state_of(struct scene *x, const struct verdict *v)
{
	return forest_get(x->f.port.forest, v->hypothesis)->state;
}

/* Requests of another type work on thread 3 from 0 to 9 ms of every 20 ms, and a request waits
 * for the thread then. */
static void
add_occupied_thread(struct scene *x, struct thread_history *history)
{
	const char *other = "s/hone:request_begin(OTHER)";
	uint32_t begin = labels_intern(
	    x->f.paths.labels, RECORD_REQUEST_BEGIN, other, strlen(other), NULL, 0);
	struct event events[2] = { { .label = begin, .pid = 1, .tid = 3 },
		{ .label = x->f.paths.of['a'], .pid = 1, .tid = 3 } };
	struct unit unit = { .count = 2, .fork = TRACE_NONE };
	struct trace t = {
		.type = begin, .nevents = 2, .nunits = 1, .events = events, .units = &unit
	};
	struct step steps[2] = { { .label = x->s->at.gap.from,
				     .unit_label = x->s->at.gap.from_unit },
		{ .label = x->s->at.gap.to, .unit_label = x->s->at.gap.to_unit, .event = 1 } };
	struct critpath path = { .nsteps = 2, .steps = steps };

	for (int64_t i = 1; i <= 50; i++) {
		t.id = 1000 + (uint64_t)i;
		events[0].time_ns = i * 20 * MS_NS;
		events[1].time_ns = events[0].time_ns + 9 * MS_NS;
		assert_int_equal(thread_history_add(history, &t, x->f.paths.labels, NULL), 0);
		t.id = (uint64_t)i;
		steps[0].time_ns = events[0].time_ns;
		steps[1].time_ns = events[0].time_ns + 10 * MS_NS;
		assert_int_equal(wait_list_add(&x->f.d->waits, &t, &path, &x->s->at.gap, NULL), 0);
	}
}

/* The edge still has most of the variance, but that is a small part of what it was. */
static void
a_problem_that_went_away_ends_the_search_without_a_verdict(void **state)
{
	struct scene x;
	(void)state;

	begin(&x);
	x.s->cycle.deadline_passed = true;
	x.s->at.carried = 11 * comoments_covariance(&x.group->edges[EDGE]);
	judge(&x, VERDICT_PLACE);
	assert_int_equal(x.s->phase, SEARCH_ENDED);
	assert_int_equal(x.s->outcome.reason, REASON_PROBLEM_GONE);
	assert_null(x.s->outcome.verdict);
	end(&x);
}

static void
a_wait_for_threads_waits_until_others_are_recorded_and_no_longer(void **state)
{
	struct thread_history *history = thread_history_new(1000);
	struct scene x;
	(void)state;

	begin(&x);
	x.f.port.history = history;
	x.group->shape.edges[EDGE].owner = LABEL_NONE; /* a hand-over */
	x.f.company = COMPANY_COMING;
	judge(&x, VERDICT_PLACE);
	assert_int_equal(x.s->phase, SEARCH_GATHERING);
	assert_int_equal(mono_since_ns(x.s->company_due, x.f.port.now), COMPANY_LOOK_NS);
	x.f.port.now.ns += COMPANY_WAIT_NS - 1;
	judge(&x, VERDICT_PLACE);
	assert_int_equal(x.s->phase, SEARCH_GATHERING);
	x.f.port.now.ns++;
	judge(&x, VERDICT_PLACE);
	assert_int_equal(x.s->phase, SEARCH_ENDED);
	assert_non_null(x.s->outcome.verdict);
	assert_false(x.s->company_known);
	end(&x);
	thread_history_free(history);
}

static void
a_wait_for_threads_ends_once_it_is_known_what_they_did(void **state)
{
	struct thread_history *history = thread_history_new(1000);
	struct scene x;
	(void)state;

	begin(&x);
	x.f.d->below = x.f.can_look_below = true;
	x.f.port.history = history;
	x.group->shape.edges[EDGE].owner = LABEL_NONE;
	add_occupied_thread(&x, history);
	x.f.company = COMPANY_KNOWN;
	x.f.company_since = x.f.port.now;
	judge(&x, VERDICT_PLACE);
	assert_int_equal(x.s->phase, SEARCH_GATHERING);
	x.f.port.now.ns += COMPANY_ENOUGH_NS;
	judge(&x, VERDICT_PLACE);
	assert_int_equal(x.s->phase, SEARCH_ENDED);
	assert_int_equal(x.s->outcome.verdict->wait_cause, WAIT_OCCUPIED);
	assert_int_equal(x.f.below, 0); /* it says more than what is below */
	assert_int_equal(x.s->below.state, BELOW_NOT_BEGUN);
	end(&x);
	thread_history_free(history);
}

static void
a_verdict_names_who_occupied_the_thread(void **state)
{
	struct thread_history *history = thread_history_new(1000);
	const struct verdict *v;
	struct scene x;
	(void)state;

	begin(&x);
	x.f.port.history = history;
	add_occupied_thread(&x, history);
	v = verdict_of(&x, VERDICT_PLACE);
	assert_int_equal(v->wait_cause, WAIT_OCCUPIED);
	assert_int_equal(v->waits, 50);
	assert_near(v->wait_share, 0.9, 1e-9);
	assert_string_equal(v->wait_type, "OTHER");
	assert_string_equal(v->wait_unit, "s/hone:request_begin(OTHER)");
	end(&x);
	thread_history_free(history);
}

static void
a_verdict_agrees_with_the_group_that_was_measured(void **state)
{
	const struct verdict *v;
	const struct comoments *edge;
	const struct moments *total;
	struct scene x;
	(void)state;

	begin(&x);
	v = verdict_of(&x, VERDICT_PLACE);
	edge = &x.group->edges[EDGE];
	total = &x.group->total;
	assert_int_equal(v->kind, VERDICT_PLACE);
	assert_int_equal(v->problem, PROBLEM_UNPREDICTABLE);
	assert_string_equal(v->from, "s/app:b");
	assert_string_equal(v->to, "s/app:c");
	assert_string_equal(v->path, "s/hone:((R)\ns/app:a\ns/app:b\ns/app:c\ns/hone:)(R)");
	assert_string_equal(v->tracepoint, "");
	assert_string_equal(v->key, "");
	assert_int_equal(v->traces, TRACES);
	assert_near(v->effective_traces, TRACES, 0);
	assert_near(v->confidence, 0.95, 0);
	assert_near(v->mean_ns, total->mean, 1e-6 * total->mean);
	assert_near(v->cv, moments_cv(total), 1e-9);
	assert_false(v->by_latency);
	assert_near(v->share, comoments_covariance(edge) / moments_variance(total), 1e-9);
	assert_true(v->share_low < v->share && v->share < v->share_high);
	assert_near(v->latency_share, edge->mean_x / total->mean, 1e-9);
	assert_int_equal(v->slowest_ns, x.group->slowest.total_ns);
	assert_int_equal(v->fastest_ns, x.group->fastest.total_ns);
	assert_int_equal(v->slowest.low, x.group->slowest.id.low);
	assert_int_equal(v->position, 1);
	assert_int_equal(v->positions, 1);
	assert_false(v->loop_back);
	assert_true(v->probability > 0.9);
	assert_true(v->cost_ns > 0);
	assert_true(v->cv_then < v->cv_now);
	assert_near(v->cv_now, v->cv, 0.1);
	assert_true(v->p99_then_ns < v->p99_now_ns);
	assert_int_equal(v->preload, PRELOAD_NONE);
	assert_int_equal(v->over_budget, 0);
	assert_int_equal(state_of(&x, v), HYPOTHESIS_BOTTOM);
	end(&x);
}

static void
of_a_slow_group_the_share_is_of_the_mean(void **state)
{
	const struct verdict *v;
	struct scene x;
	(void)state;

	begin(&x);
	x.s->at.by_latency = true;
	x.s->origin.problem = PROBLEM_SLOW;
	x.s->origin.share = 0.5;
	v = verdict_of(&x, VERDICT_PLACE);
	assert_true(v->by_latency);
	assert_int_equal(v->problem, PROBLEM_SLOW);
	assert_near(v->share, v->latency_share, 1e-12);
	end(&x);
}

static void
a_place_becomes_separated_when_a_label_divides_its_requests(void **state)
{
	const struct verdict *v;
	struct scene x;
	(void)state;

	for (int with = 0; with < 2; with++) {
		begin(&x);
		x.s->sides.separation = (struct separation){
			.label = x.f.paths.of['a'], .between = 0.8, .with = with
		};
		v = verdict_of(&x, VERDICT_PLACE);
		assert_int_equal(v->kind, VERDICT_SEPARATED);
		assert_string_equal(v->tracepoint, "s/app:a");
		assert_near(v->separation, 0.8, 0);
		assert_int_equal(v->slow_with, with);
		end(&x);
	}
	begin(&x); /* a spread verdict names the label and makes no other claim */
	x.s->sides.separation = (struct separation){
		.label = x.f.paths.of['a'], .between = 0.8, .with = true
	};
	v = verdict_of(&x, VERDICT_SPREAD);
	assert_int_equal(v->kind, VERDICT_SPREAD);
	assert_string_equal(v->tracepoint, "s/app:a");
	assert_near(v->separation, 0, 0);
	assert_false(v->slow_with);
	end(&x);
}

static void
a_place_that_iterations_explain_becomes_a_key(void **state)
{
	int64_t time_ns[PATH_MAX_STEPS];
	const struct verdict *v;
	const struct hypothesis *h;
	struct scene x;
	uint32_t back;
	(void)state;

	fake_begin(&x.f, "(abc)");
	x.s = fake_search(&x.f, 'b', 'b');
	search_enter(x.s, SEARCH_SWITCHING);
	x.f.d->groups = x.f.paths.groups;
	for (int i = 0; i < TRACES; i++) { /* the loop of 'b' iterates 2 to 11 times */
		uint32_t rounds = 2 + (uint32_t)rng_below(&x.f.rng, 10);
		char path[PATH_MAX_STEPS] = "(a";

		memset(path + 2, 'b', rounds);
		memcpy(path + 2 + rounds, "c)", 3);
		fake_times(&x.f, path, -1, time_ns);
		x.group = paths_add(&x.f.paths, path, time_ns);
	}
	x.s->origin.group_id = x.group->shape.key;
	for (back = 0; x.group->shape.edges[back].from != x.group->shape.edges[back].to; back++)
		assert_true(back + 1 < x.group->shape.nedges);
	assert_int_equal(
	    conclude(&x.f.port, x.s, x.f.paths.groups, x.group, back, VERDICT_PLACE, NULL), 0);
	assert_non_null(v = x.s->outcome.verdict);
	assert_int_equal(v->kind, VERDICT_KEY);
	assert_true(strstr(v->key, "iterations") != NULL);
	assert_true(v->key_r > 0.9);
	assert_true(v->key_p < 0.01);
	assert_int_equal(v->key_n, TRACES);
	assert_true(v->loop_back);
	assert_true(strstr(v->path, "\n(\ns/app:b\n)+\n") != NULL);
	h = forest_get(x.f.port.forest, v->hypothesis);
	assert_int_equal(h->state, HYPOTHESIS_EXPLAINED);
	assert_string_equal(h->key, v->key);
	end(&x);
}

/* The edge that the search began with, the back edge of a loop, is observed with always-on
 * labels alone: how often it is taken explains all of it. Inside it, a tracepoint divides it. */
static void
a_key_of_the_edge_that_the_search_began_with_explains_most_of_it(void **state)
{
	(void)state;

	for (int part = 0; part < 2; part++) {
		int64_t time_ns[PATH_MAX_STEPS];
		struct groups_options o = { .groups_max = 8, .samples_max = 512, .seed = 1 };
		const struct verdict *v;
		struct group *watched = NULL;
		struct groups *measured;
		struct scene x;
		uint32_t edge = 0;

		fake_begin(&x.f, "(abx)");
		x.s = fake_search(&x.f, 'b', 'a');
		x.s->origin.gap.back = true;
		x.s->at.gap = x.s->at.most = x.s->origin.gap;
		search_enter(x.s, SEARCH_SWITCHING);
		measured = groups_new(&o, x.f.port.labels);
		for (int turn = 0; turn < 2; turn++) {
			struct groups *both[] = { x.f.paths.groups, measured };

			x.f.paths.groups = both[turn];
			for (int i = 0; i < TRACES;
			     i++) { /* one request in ten takes the back edge once */
				const char *path = i % 10 != 0 ? "(ab)"
				                   : turn == 0 ? "(abab)"
				                               : "(abxab)";

				fake_times(&x.f, path, -1, time_ns);
				if (i % 10 == 0)
					time_ns[turn == 0 || part ? 2 : 3] += 20 * MS_NS;
				x.group = paths_add(&x.f.paths, path, time_ns);
				if (turn == 0)
					watched = x.group;
			}
			x.f.paths.groups = both[0];
		}
		x.f.d->groups = x.f.paths.groups;
		x.s->origin.group_id = watched->shape.key;
		for (uint32_t i = 0; i < groups_count(measured); i++)
			if (groups_at(measured, i)->shape.ntokens > 4)
				x.group = groups_at(measured, i);
		while (x.group->shape.edges[edge].from != x.f.paths.of['x'])
			assert_true(++edge < x.group->shape.nedges);
		x.s->cycle.deadline_passed = true;
		x.s->origin.share = 0.9;
		assert_int_equal(
		    conclude(&x.f.port, x.s, measured, x.group, edge, VERDICT_PLACE, NULL), 0);
		if (part) { /* the other part has the problem: contradicted */
			assert_null(x.s->outcome.verdict);
		} else {
			assert_non_null(v = x.s->outcome.verdict);
			assert_string_equal(v->to, "s/app:a");
			assert_int_equal(v->kind, VERDICT_KEY);
			assert_string_equal(v->key, "iterations of ( s/app:a ... )+");
			assert_int_equal(v->passing, TRACES / 10);
		}
		groups_free(measured);
		end(&x);
	}
}

static void
what_is_spread_or_cut_short_isolates_and_keeps_its_kind(void **state)
{
	static const enum verdict_kind KINDS[] = { VERDICT_SPREAD, VERDICT_CUT };
	(void)state;

	for (int i = 0; i < 2; i++) {
		const struct verdict *v;
		struct scene x;

		begin(&x);
		x.s->budget.left_out = 3;
		x.s->layer.over_budget = 2;
		v = verdict_of(&x, KINDS[i]);
		assert_int_equal(v->kind, KINDS[i]);
		assert_int_equal(v->over_budget, 3);
		assert_int_equal(v->preload_over_budget, 2);
		assert_int_equal(v->unlearned, 0);
		assert_int_equal(state_of(&x, v), HYPOTHESIS_ISOLATES);
		end(&x);
	}
}

static void
tracepoints_that_were_never_learned_are_counted_unless_the_search_was_cut_short(void **state)
{
	const char *names[] = { "app:a", "app:of_another_type", "app:new", "app:newer" };
	struct program program = { "s", 1, 0, 4 }, other = { "t", 2, 0, 4 };
	struct program both[] = { program, other };
	const struct programs programs = { 2, 4, both, names };
	(void)state;

	for (int cut = 0; cut < 2; cut++) {
		const struct verdict *v;
		struct scene x;
		uint32_t own;

		begin(&x);
		fake_learn(&x.f, "(abc)");
		/* another request type of the service */
		own = x.f.paths.of['('];
		x.f.paths.of['('] = labels_intern(
		    x.f.paths.labels, RECORD_REQUEST_BEGIN, "s/hone:(other)", 14, NULL, 0);
		fake_label(&x.f, 'X', "s/app:of_another_type");
		fake_learn(&x.f, "(X)");
		x.f.paths.of['('] = own;
		x.f.programs = &programs;
		v = verdict_of(&x, cut ? VERDICT_CUT : VERDICT_PLACE);
		assert_int_equal(v->unlearned, cut ? 0 : 2);
		assert_string_equal(v->unlearned_names != NULL ? v->unlearned_names : "",
		    cut ? "" : "app:new\napp:newer");
		assert_string_equal(v->unlearned_service, cut ? "" : "s");
		end(&x);
	}
}

static void
one_of_several_positions_is_numbered(void **state)
{
	int64_t time_ns[PATH_MAX_STEPS];
	const struct verdict *v;
	struct scene x;
	(void)state;

	begin_with(&x, "(abc)", 1, 0);
	for (int i = 0; i < TRACES;
	     i++) { /* the second occurrence of the edge from 'a' to 'b' has the problem */
		fake_times(&x.f, "(abcab)", 4, time_ns);
		x.group = paths_add(&x.f.paths, "(abcab)", time_ns);
	}
	x.s->origin.group_id = x.group->shape.key;
	assert_int_equal(
	    conclude(&x.f.port, x.s, x.f.paths.groups, x.group, 4, VERDICT_PLACE, NULL), 0);
	assert_non_null(v = x.s->outcome.verdict);
	assert_string_equal(v->to, "s/app:b");
	assert_int_equal(v->position, 2);
	assert_int_equal(v->positions, 2);
	end(&x);
}

/* As many slow requests as otherwise, but 10 of them in a row. */
static void
correlated_traces_count_for_fewer_and_widen_the_interval(void **state)
{
	int64_t time_ns[PATH_MAX_STEPS];
	const struct verdict *v;
	double width[2];
	struct scene x;
	(void)state;

	for (int burst = 0; burst < 2; burst++) {
		begin_with(&x, "(abc)", 0, 0);
		for (int i = 0; i < 600; i++) {
			bool slow = burst ? i % 40 < 10 : rng_below(&x.f.rng, 4) == 0;

			/* the response time has a second part that varies as much */
			fake_times(&x.f, "(abc)", -1, time_ns);
			time_ns[EDGE] += slow ? 20 * MS_NS + i * 1000 : 0;
			time_ns[EDGE + 1] += rng_below(&x.f.rng, 4) == 0 ? 20 * MS_NS : 0;
			x.group = paths_add(&x.f.paths, "(abc)", time_ns);
		}
		x.s->origin.group_id = x.group->shape.key;
		x.s->cycle.deadline_passed = true;
		v = verdict_of(&x, VERDICT_PLACE);
		width[burst] = v->share_high - v->share_low;
		assert_true(burst ? v->effective_traces < 300 : v->effective_traces > 300);
		end(&x);
	}
	assert_true(width[1] > 1.3 * width[0]);
}

static void
what_the_last_measurement_contradicts_ends_without_a_verdict(void **state)
{
	struct scene x;
	(void)state;

	begin(&x); /* the edge before 'a' has no share of the problem */
	x.s->cycle.deadline_passed = true;
	assert_int_equal(
	    conclude(&x.f.port, x.s, x.f.paths.groups, x.group, 0, VERDICT_PLACE, NULL), 0);
	assert_int_equal(x.s->phase, SEARCH_ENDED);
	assert_int_equal(x.s->outcome.reason, REASON_CONTRADICTED);
	assert_null(x.s->outcome.verdict);
	assert_null(forest_verdict(x.f.port.forest, x.f.d->run->id, 1));
	end(&x);
}

static void
a_contradicted_search_of_slow_requests_goes_back_to_all_of_them(void **state)
{
	struct scene x;
	(void)state;

	begin(&x);
	x.s->cycle.deadline_passed = true;
	x.s->sides.followed = SIDE_SLOW;
	x.s->sides.since = paths_gap(&x.f.paths, 'a', 'c', 0, false);
	x.s->sides.separation.label = x.f.paths.of['b'];
	assert_true(label_set_add(&x.s->sides.must, x.f.paths.of['b']));
	assert_int_equal(
	    conclude(&x.f.port, x.s, x.f.paths.groups, x.group, 0, VERDICT_PLACE, NULL), 1);
	assert_int_equal(x.s->task, TASK_FINAL_EDGE);
	assert_int_equal(x.s->at.gap.from, x.f.paths.of['a']);
	assert_int_equal(x.s->at.gap.to, x.f.paths.of['c']);
	assert_int_equal(x.s->sides.followed, SIDE_BOTH);
	assert_int_equal(x.s->sides.separation.label, LABEL_NONE);
	assert_false(label_set_has(&x.s->sides.must, x.f.paths.of['b']));
	end(&x);
}

static void
a_contradicted_search_goes_back_to_the_larger_edge_and_measures_it(void **state)
{
	struct scene x;
	(void)state;

	begin(&x);
	x.s->cycle.deadline_passed = true;
	assert_int_equal(enable_candidate(&x.f.port, x.s, x.f.paths.of['a'], NULL), 0);
	x.s->origin.gap = paths_gap(&x.f.paths, '(', ')', 0, false);
	assert_int_equal(
	    conclude(&x.f.port, x.s, x.f.paths.groups, x.group, 0, VERDICT_PLACE, NULL), 1);
	assert_int_equal(x.s->phase, SEARCH_GATHERING);
	assert_int_equal(x.s->task, TASK_FINAL_EDGE);
	assert_int_equal(x.s->final.kind, VERDICT_SPREAD);
	assert_int_equal(x.s->final.wanted, 0);
	assert_true(gap_same(&x.s->at.gap, &x.s->origin.gap));
	assert_true(gap_same(&x.s->at.most, &x.s->origin.gap));
	assert_false(fake_wants(&x.f, 'a')); /* which cuts it */
	end(&x);
}

/* What was open in the preload layer, or separated, was the smaller edge. */
static void
nothing_of_the_smaller_edge_cuts_the_larger_one(void **state)
{
	(void)state;

	for (int separates = 0; separates < 2; separates++) {
		struct scene x;

		begin(&x);
		x.s->cycle.deadline_passed = true;
		assert_int_equal(enable_candidate(&x.f.port, x.s, x.f.paths.of['a'], NULL), 0);
		x.s->origin.gap = paths_gap(&x.f.paths, '(', ')', 0, false);
		if (separates) {
			x.s->sides.separation.label = x.f.paths.of['a'];
		} else {
			x.s->layer.state = LAYER_OPEN;
			x.s->layer.above = paths_gap(&x.f.paths, 'a', 'b', 0, false);
		}
		assert_int_equal(
		    conclude(&x.f.port, x.s, x.f.paths.groups, x.group, 0, VERDICT_PLACE, NULL), 1);
		assert_true(gap_same(&x.s->at.gap, &x.s->origin.gap));
		assert_false(fake_wants(&x.f, 'a'));
		end(&x);
	}
}

static void
from_the_preload_layer_it_goes_back_to_the_edge_above(void **state)
{
	static const char *const PATTERNS[] = { "lttng_ust_*", NULL };
	struct scene x;
	(void)state;

	begin(&x);
	x.s->cycle.deadline_passed = true;
	fake_label(&x.f, 'L', "s/lttng_ust_libc:malloc");
	preload_init(&x.f.preload, PATTERNS, x.f.port.labels);
	x.s->layer.state = LAYER_FOUND;
	x.s->layer.above = paths_gap(&x.f.paths, 'a', 'c', 0, false);
	x.s->origin.gap = paths_gap(&x.f.paths, '(', ')', 0, false);
	assert_int_equal(enable_candidate(&x.f.port, x.s, x.f.paths.of['a'], NULL), 0);
	assert_int_equal(enable_candidate(&x.f.port, x.s, x.f.paths.of['L'], NULL), 0);
	assert_int_equal(
	    conclude(&x.f.port, x.s, x.f.paths.groups, x.group, 0, VERDICT_PLACE, NULL), 1);
	assert_int_equal(x.s->layer.state, LAYER_OPEN);
	assert_true(gap_same(&x.s->at.gap, &x.s->layer.above));
	assert_true(fake_wants(&x.f, 'a'));
	assert_false(fake_wants(&x.f, 'L'));
	assert_int_equal(fake_last_switch(&x.f)->reason, REASON_CONTRADICTED);
	end(&x);
}

/* Before there was time for 150 requests it is the patience that asks for more, not the one time that the deadline is put off. */
static void
the_deadline_is_put_off_only_when_the_patience_has_passed(void **state)
{
	enum { NEARLY = 700 };
	(void)state;

	for (int passed = 0; passed < 2; passed++) {
		uint32_t edge = 0;
		struct scene x;

		begin_with(&x, "(abc)", NEARLY, 20 * MS_NS);
		x.s->origin.share = 0;
		x.s->cycle.deadline_passed = true;
		x.f.d->run->effect_min = 2; /* of an edge that would be worth mending it is 1,000 */
		/* 150 requests in 30 s */
		x.f.d->begun.ns = x.f.port.now.ns - 140000 * MS_NS;
		x.s->cycle.begun.ns = x.f.port.now.ns - (passed ? 31000 : 29000) * MS_NS;
		while (edge == EDGE || x.group->edges[edge].c_xy <= 0)
			assert_true(++edge < x.group->shape.nedges);
		assert_int_equal(
		    conclude(&x.f.port, x.s, x.f.paths.groups, x.group, edge, VERDICT_CUT, NULL),
		    0);
		assert_int_equal(x.s->phase, SEARCH_GATHERING);
		assert_int_equal(x.s->final.wanted, 2 * NEARLY);
		assert_true(x.s->final.open);
		assert_int_equal(x.s->final.put_off, passed);
		end(&x);
	}
}

/* Of all requests since the diagnosis began, which may be others than those that the verdict rests on. */
static void
an_effect_becomes_nothing_and_grows_again_with_what_its_edge_carries(void **state)
{
	int64_t time_ns[PATH_MAX_STEPS];
	const struct verdict *v;
	double then;
	struct scene x;
	(void)state;

	begin(&x);
	v = verdict_of(&x, VERDICT_PLACE);
	then = v->effect;
	assert_true(then > 0.5);
	for (int i = 0; i < 2000;
	     i++) { /* where the first edge is long, that with the problem is short */
		fake_times(&x.f, "(abc)", -1, time_ns);
		time_ns[0] += i % 2 * 900 * MS_NS;
		time_ns[EDGE] += (1 - i % 2) * 5 * MS_NS;
		paths_add(&x.f.paths, "(abc)", time_ns);
	}
	assert_int_equal(search_effect_again(&x.f.port, x.s, NULL), 0);
	assert_near(v->effect, 0, 0);
	for (int i = 0; i < 2000; i++) {
		fake_times(&x.f, "(abc)", -1, time_ns);
		time_ns[EDGE] += i % 10 < 3 ? 4000 * MS_NS : 0;
		paths_add(&x.f.paths, "(abc)", time_ns);
	}
	assert_int_equal(search_effect_again(&x.f.port, x.s, NULL), 0);
	assert_true(v->effect > 0.5 * then && v->effect <= 1);
	end(&x);
}

/* A request waits for thread 3 in every 20 ms while it is held, by another request or (own) by another unit of its own one: in one of ten
 * for 15 ms, else for 0.5 ms. All between the ends of the gap, inside a unit; what lies between two units takes 1 us. parts: also as
 * parts of critical paths. */
static void
add_held_thread(struct scene *x, struct thread_history *history, bool own, bool parts)
{
	const char *name = own ? "s/hone:request_begin(OWN)" : "s/hone:request_begin(OTHER)";
	uint32_t begin = labels_intern(
	    x->f.paths.labels, RECORD_REQUEST_BEGIN, name, strlen(name), NULL, 0);
	struct event events[2] = { { .label = begin, .pid = 1, .tid = 3 },
		{ .label = x->f.paths.of['a'], .pid = 1, .tid = 3 } },
		     its = { .pid = 1, .tid = 3, .unit = 1 }, ends[3] = { its, its, its };
	struct unit unit = { .count = 2, .fork = TRACE_NONE };
	struct trace t = {
		.type = begin, .nevents = 2, .nunits = 1, .events = events, .units = &unit
	};
	const struct trace waits = { .nevents = 3, .events = ends };
	struct step steps[3] = { { .label = x->f.paths.of['a'] },
		{ .label = x->s->at.gap.from, .event = 1, .owner = LABEL_NONE },
		{ .label = x->s->at.gap.to, .event = 2, .owner = 1 } };
	struct critpath path = { .nsteps = 3, .steps = steps };

	for (int64_t i = 1; i <= 200; i++) {
		struct trace w = waits;

		t.id = (own ? 0 : 1000) + (uint64_t)i;
		events[0].time_ns = i * 20 * MS_NS;
		events[1].time_ns = events[0].time_ns + (i % 10 == 0 ? 15 * MS_NS : MS_NS / 2);
		assert_int_equal(thread_history_add(history, &t, x->f.paths.labels, NULL), 0);
		w.id = (uint64_t)i;
		steps[1].time_ns = events[0].time_ns;
		steps[0].time_ns = steps[1].time_ns - 1000;
		steps[2].time_ns = events[1].time_ns + 1000;
		assert_int_equal(wait_list_add(&x->f.d->waits, &w, &path, &x->s->at.gap, NULL), 0);
		assert_int_equal(wait_list_add(&x->f.d->waits, &w, &path, NULL, NULL), 0);
		if (parts)
			assert_int_equal(path_parts_add(&x->f.d->parts, &w, &path, 0, NULL), 0);
	}
}

/* Requests whose paths are on another thread. */
static void
add_paths_elsewhere(struct scene *x)
{
	struct event events[2] = { { .pid = 1, .tid = 9 }, { .pid = 1, .tid = 9 } };
	const struct trace t = { .nevents = 2, .events = events };
	struct step steps[2] = { { .owner = 1 }, { .event = 1, .owner = 1 } };
	const struct critpath path = { .nsteps = 2, .steps = steps };

	for (int64_t i = 1; i <= 180; i++) {
		steps[0].time_ns = i * 20 * MS_NS;
		steps[1].time_ns = steps[0].time_ns + (1 + i % 3) * MS_NS;
		assert_int_equal(path_parts_add(&x->f.d->parts, &t, &path, 0, NULL), 0);
	}
}

/* What all waits for its thread have is not known (no parts of paths), or is nothing: its own edge still has all of it. */
static void
a_wait_for_a_thread_inside_a_unit_keeps_the_effect_of_its_edge(void **state)
{
	(void)state;

	for (int known = 0; known < 2; known++) {
		struct thread_history *history = thread_history_new(1000);
		const struct verdict *v;
		struct scene x;
		double then;

		begin(&x);
		x.f.port.history = history;
		add_held_thread(&x, history, false, false);
		v = verdict_of(&x, VERDICT_PLACE);
		then = v->effect;
		assert_false(v->handed_over);
		assert_true(then > 0.8);
		assert_int_equal(v->pool, POOL_LONG);
		if (known)
			add_paths_elsewhere(&x);
		assert_int_equal(search_effect_again(&x.f.port, x.s, NULL), 0);
		assert_near(v->effect, then, 1e-9);
		assert_int_equal(v->pool, POOL_LONG);
		end(&x);
		thread_history_free(history);
	}
}

/* The edge was not there before, but all waits for its thread had more. */
static void
inside_a_unit_all_waits_for_the_thread_are_compared_with_before(void **state)
{
	struct carrying_edge edge = { .from = "s/hone:fork(x)",
		.to = "s/hone:unit_begin(x)",
		.handed_over = true,
		.carried = { 1e18, 1e18, 1e18 } };
	struct baseline before = { .requests = 1000,
		.seconds = 10,
		.variance = edge.carried,
		.edges = &edge,
		.nedges = 1 };
	(void)state;

	for (int waits = 0; waits < 2; waits++) {
		struct thread_history *history = thread_history_new(1000);
		const struct verdict *v;
		struct scene x;

		begin(&x);
		x.f.d->before = &before;
		x.f.port.history = waits ? history : NULL;
		add_held_thread(&x, history, false, false);
		v = verdict_of(&x, VERDICT_PLACE);
		assert_int_equal(v->pool, waits ? POOL_LONG : POOL_NONE);
		assert_near(v->new_part, waits ? 0 : 1, 1e-3);
		end(&x);
		thread_history_free(history);
	}
}

/* The thread, which other requests held, is held by units of the same request by now, and then by others again. */
static void
who_held_the_thread_changes_with_what_the_waits_come_from(void **state)
{
	struct thread_history *history = thread_history_new(400);
	struct verdict *v;
	struct scene x;
	(void)state;

	begin(&x);
	x.f.port.history = history;
	add_held_thread(&x, history, false, true);
	v = (struct verdict *)verdict_of(&x, VERDICT_PLACE);
	v->handed_over = true; /* inside a unit it would be a wait for other requests only */
	for (int own = 0; own < 4; own++) {
		x.f.d->waits.nitems = 0;
		path_parts_release(&x.f.d->parts);
		add_held_thread(&x, history, own % 2, true); /* the history keeps this only */
		assert_int_equal(search_effect_again(&x.f.port, x.s, NULL), 0);
		assert_int_equal(v->pool, own % 2 ? POOL_OWN : POOL_LONG);
		assert_int_equal(v->wait_cause, WAIT_OCCUPIED);
		assert_string_equal(v->wait_type, own % 2 ? "OWN" : "OTHER");
		assert_string_equal(v->wait_unit,
		    own % 2 ? "s/hone:request_begin(OWN)" : "s/hone:request_begin(OTHER)");
		assert_true(v->wait_share > 0.9);
	}
	end(&x);
	thread_history_free(history);
}

static void
an_interval_that_holds_0_asks_for_twice_as_many_traces_before_the_deadline(void **state)
{
	(void)state;

	for (int passed = 0; passed < 2; passed++) {
		uint32_t edge = 0;
		struct scene x;

		begin(&x);
		x.s->origin.share = 0;
		x.s->cycle.deadline_passed = passed;
		while (edge == EDGE || x.group->edges[edge].c_xy <= 0)
			assert_true(++edge < x.group->shape.nedges);
		assert_int_equal(
		    conclude(&x.f.port, x.s, x.f.paths.groups, x.group, edge, VERDICT_CUT, NULL),
		    0);
		if (passed) {
			assert_non_null(x.s->outcome.verdict);
			assert_false(verdict_sure(x.s->outcome.verdict));
		} else {
			assert_int_equal(x.s->phase, SEARCH_GATHERING);
			assert_int_equal(x.s->task, TASK_FINAL_EDGE);
			assert_int_equal(x.s->final.wanted, 2 * TRACES);
			assert_int_equal(x.s->final.kind, VERDICT_CUT);
		}
		end(&x);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_verdict_agrees_with_the_group_that_was_measured),
		cmocka_unit_test(a_problem_that_went_away_ends_the_search_without_a_verdict),
		cmocka_unit_test(a_wait_for_threads_waits_until_others_are_recorded_and_no_longer),
		cmocka_unit_test(a_wait_for_threads_ends_once_it_is_known_what_they_did),
		cmocka_unit_test(a_verdict_names_who_occupied_the_thread),
		cmocka_unit_test(of_a_slow_group_the_share_is_of_the_mean),
		cmocka_unit_test(a_place_becomes_separated_when_a_label_divides_its_requests),
		cmocka_unit_test(a_place_that_iterations_explain_becomes_a_key),
		cmocka_unit_test(a_key_of_the_edge_that_the_search_began_with_explains_most_of_it),
		cmocka_unit_test(what_is_spread_or_cut_short_isolates_and_keeps_its_kind),
		cmocka_unit_test(
		    tracepoints_that_were_never_learned_are_counted_unless_the_search_was_cut_short),
		cmocka_unit_test(one_of_several_positions_is_numbered),
		cmocka_unit_test(correlated_traces_count_for_fewer_and_widen_the_interval),
		cmocka_unit_test(what_the_last_measurement_contradicts_ends_without_a_verdict),
		cmocka_unit_test(a_contradicted_search_of_slow_requests_goes_back_to_all_of_them),
		cmocka_unit_test(
		    a_contradicted_search_goes_back_to_the_larger_edge_and_measures_it),
		cmocka_unit_test(nothing_of_the_smaller_edge_cuts_the_larger_one),
		cmocka_unit_test(from_the_preload_layer_it_goes_back_to_the_edge_above),
		cmocka_unit_test(
		    an_effect_becomes_nothing_and_grows_again_with_what_its_edge_carries),
		cmocka_unit_test(a_wait_for_a_thread_inside_a_unit_keeps_the_effect_of_its_edge),
		cmocka_unit_test(inside_a_unit_all_waits_for_the_thread_are_compared_with_before),
		cmocka_unit_test(who_held_the_thread_changes_with_what_the_waits_come_from),
		cmocka_unit_test(the_deadline_is_put_off_only_when_the_patience_has_passed),
		cmocka_unit_test(
		    an_interval_that_holds_0_asks_for_twice_as_many_traces_before_the_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
