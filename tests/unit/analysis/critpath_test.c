/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "generator.h"

/* The path as "name:kind@time ...". */
static void
print_path(struct kit *k, const struct trace *t, const struct critpath *p, char *out, size_t size)
{
	size_t at = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < p->nsteps; i++) {
		const struct label *l = labels_get(k->labels, p->steps[i].label);
		static const char kinds[] = ".BEFbeJ";
		const char *name = l->kind == RECORD_POINT ? strchr(l->event, ':') + 1 : l->name;
		int len = l->kind == RECORD_POINT ? (int)strlen(name) : (int)l->name_len;

		at += (size_t)snprintf(out + at, size - at, "%s%c%.*s@%lld", i ? " " : "",
		    kinds[l->kind], len, name, (long long)p->steps[i].time_ns);
	}
	(void)t;
}

static void
assert_path(const struct row *rows, size_t n, const char *expected)
{
	struct kit *k = kit_new(NULL);
	struct critpath p;
	struct trace *t;
	char got[2048];

	kit_rows(k, rows, n);
	t = assemble_next(k->assemble);
	assert_non_null(t);
	if (critpath_extract(&p, t, k->labels, NULL, &k->arena, &k->e) != 0)
		fail_msg("%s", k->e.text);
	print_path(k, t, &p, got, sizeof got);
	assert_string_equal(got, expected);
	trace_free(t);
	kit_free(k);
}

static void
a_call_that_is_waited_for_is_on_the_path(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "c" }, { 20, 1, 2, 'b', 7, "c" },
		{ 25, 1, 2, '.', 0, "p" }, { 80, 1, 2, 'e', 7, "c" }, { 90, 0, 1, 'J', 7, "c" },
		{ 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fc@10 bc@20 .p@25 ec@80 Jc@90 ER@100");
}

static void
a_call_that_ended_before_its_join_is_off_the_path(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "c" }, { 20, 1, 2, 'b', 7, "c" },
		{ 40, 1, 2, 'e', 7, "c" }, { 60, 0, 1, '.', 0, "own" }, { 90, 0, 1, 'J', 7, "c" },
		{ 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fc@10 .own@60 Jc@90 ER@100");
}

static void
work_without_a_join_is_off_the_path(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "c" }, { 20, 1, 2, 'b', 7, "c" },
		{ 99, 1, 2, 'e', 7, "c" }, { 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fc@10 ER@100");
}

/* The call that ends last is on the path, in every order of the joins. */
static void
of_several_joins_at_one_point_the_last_to_end_counts(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "a" }, { 11, 0, 1, 'F', 8, "b" },
		{ 20, 1, 2, 'b', 7, "a" }, { 50, 1, 2, 'e', 7, "a" }, { 20, 2, 3, 'b', 8, "b" },
		{ 80, 2, 3, 'e', 8, "b" }, { 90, 0, 1, 'J', 7, "a" }, { 91, 0, 1, 'J', 8, "b" },
		{ 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fa@10 Fb@11 bb@20 eb@80 Jb@91 ER@100");
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "a" }, { 11, 0, 1, 'F', 8, "b" },
		{ 20, 1, 2, 'b', 7, "a" }, { 80, 1, 2, 'e', 7, "a" }, { 20, 2, 3, 'b', 8, "b" },
		{ 50, 2, 3, 'e', 8, "b" }, { 90, 0, 1, 'J', 7, "a" }, { 91, 0, 1, 'J', 8, "b" },
		{ 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fa@10 ba@20 ea@80 Ja@90 Jb@91 ER@100");
	/* the joins are sequential: the second call made the request wait longer */
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "a" }, { 11, 0, 1, 'F', 8, "b" },
		{ 20, 1, 2, 'b', 7, "a" }, { 50, 1, 2, 'e', 7, "a" }, { 20, 2, 3, 'b', 8, "b" },
		{ 80, 2, 3, 'e', 8, "b" }, { 55, 0, 1, 'J', 7, "a" }, { 85, 0, 1, 'J', 8, "b" },
		{ 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fa@10 Fb@11 bb@20 eb@80 Jb@85 ER@100");
}

static void
nested_calls_are_on_the_path(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "a" }, { 15, 1, 2, 'b', 7, "a" },
		{ 20, 1, 2, 'F', 8, "b" }, { 25, 2, 3, 'b', 8, "b" }, { 60, 2, 3, 'e', 8, "b" },
		{ 65, 1, 2, 'J', 8, "b" }, { 70, 1, 2, 'e', 7, "a" }, { 75, 0, 1, 'J', 7, "a" },
		{ 80, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fa@10 ba@15 Fb@20 bb@25 eb@60 Jb@65 ea@70 Ja@75 ER@80");
}

/*
 * A queue between two units: unit 2 hands over to unit 3 and ends; the root waits for unit 3 only.
 */
static void
the_path_may_lead_back_to_another_unit_than_the_joining_one(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "a" }, { 15, 1, 2, 'b', 7, "a" },
		{ 20, 1, 2, 'F', 8, "q" }, { 21, 1, 2, 'e', 7, "a" }, { 40, 1, 3, 'b', 8, "q" },
		{ 60, 1, 3, 'e', 8, "q" }, { 65, 0, 1, 'J', 8, "q" }, { 80, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fa@10 ba@15 Fq@20 bq@40 eq@60 Jq@65 ER@80");
}

static void
a_unit_without_an_end_ends_with_its_last_event(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "c" }, { 20, 1, 2, 'b', 7, "c" },
		{ 70, 1, 2, '.', 0, "p" }, { 90, 0, 1, 'J', 7, "c" }, { 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fc@10 bc@20 .p@70 Jc@90 ER@100");
}

static void
a_unit_without_a_fork_leads_back_to_the_waiting_unit(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, '.', 0, "own" }, { 20, 1, 2, 'b', 7, "c" },
		{ 80, 1, 2, 'e', 7, "c" }, { 90, 0, 1, 'J', 7, "c" }, { 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 .own@10 bc@20 ec@80 Jc@90 ER@100");
}

/*
 * The answer leaves before the unit ends: time after the answer is not on the path of the waiting
 * unit.
 */
static void
a_unit_that_ends_after_its_answer_counts_up_to_the_join(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "c" }, { 20, 1, 2, 'b', 7, "c" },
		{ 80, 1, 2, '.', 0, "answer" }, { 95, 1, 2, 'e', 7, "c" },
		{ 90, 0, 1, 'J', 7, "c" }, { 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fc@10 bc@20 .answer@80 ec@90 Jc@90 ER@100");
}

static void
clocks_that_disagree_do_not_move_the_request(void **state)
{
	(void)state;
	/* a clock that is ahead: times are limited by the join */
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "c" }, { 1020, 1, 2, 'b', 7, "c" },
		{ 1080, 1, 2, 'e', 7, "c" }, { 90, 0, 1, 'J', 7, "c" }, { 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fc@10 bc@90 ec@90 Jc@90 ER@100");
	/*
	 * a clock that is behind: times are raised to the fork; the join shows that the unit was
	 * waited for
	 */
	assert_path(ROWS({ 1000, 0, 1, 'B', 0, "R" }, { 1010, 0, 1, 'F', 7, "c" },
			{ 20, 1, 2, 'b', 7, "c" }, { 80, 1, 2, 'e', 7, "c" },
			{ 1090, 0, 1, 'J', 7, "c" }, { 1100, 0, 1, 'E', 0, "R" }),
	    "BR@1000 Fc@1010 bc@1010 ec@1010 Jc@1090 ER@1100");
}

static void
if_two_units_have_one_link_the_answering_one_counts(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "c" }, { 20, 1, 2, 'b', 7, "c" },
		{ 50, 1, 2, 'e', 7, "c" }, { 21, 2, 3, 'b', 7, "c" }, { 99, 2, 3, 'e', 7, "c" },
		{ 60, 0, 1, 'J', 7, "c" }, { 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fc@10 bc@20 ec@50 Jc@60 ER@100");
}

static void
removed_points_count_as_disabled(void **state)
{
	const struct row rows[] = { { 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "c" },
		{ 15, 0, 1, '.', 0, "own" }, { 20, 1, 2, 'b', 7, "c" }, { 30, 1, 2, '.', 0, "p" },
		{ 80, 1, 2, 'e', 7, "c" }, { 85, 0, 1, '.', 0, "hides" }, { 90, 0, 1, 'J', 7, "c" },
		{ 100, 0, 1, 'E', 0, "R" } };
	struct kit *k = kit_new(NULL);
	struct label_set keep = { 0 };
	struct critpath p;
	struct trace *t;
	char got[512];
	(void)state;

	kit_rows(k, rows, 9);
	t = assemble_next(k->assemble);
	assert_int_equal(critpath_extract(&p, t, k->labels, NULL, &k->arena, &k->e), 0);
	print_path(k, t, &p, got, sizeof got);
	assert_string_equal(got, "BR@0 Fc@10 .own@15 .hides@85 Jc@90 ER@100");
	assert_int_equal(critpath_extract(&p, t, k->labels, &keep, &k->arena, &k->e), 0);
	print_path(k, t, &p, got, sizeof got);
	assert_string_equal(got, "BR@0 Fc@10 bc@20 ec@80 Jc@90 ER@100");
	assert_true(label_set_add(&keep, labels_find(k->labels, "s/app:p", 7)));
	assert_int_equal(critpath_extract(&p, t, k->labels, &keep, &k->arena, &k->e), 0);
	print_path(k, t, &p, got, sizeof got);
	assert_string_equal(got, "BR@0 Fc@10 bc@20 .p@30 ec@80 Jc@90 ER@100");
	assert_string_equal(
	    labels_get(k->labels, p.steps[3].unit_label)->text, "s/hone:unit_begin(c)");
	assert_string_equal(
	    labels_get(k->labels, p.steps[1].unit_label)->text, "s/hone:request_begin(R)");
	label_set_release(&keep);
	trace_free(t);
	kit_free(k);
}

/* What a thread did is kept with the trace; the path is the same as without it, wherever it lies. */
static void
waits_and_samples_are_no_points_of_a_path(void **state)
{
	(void)state;
	assert_path(
	    ROWS({ 0, 0, 1, 'B', 0, "R" }, { 5, 0, 1, 'w', 0, "lock" }, { 10, 0, 1, 'F', 7, "c" },
		{ 19, 1, 2, 's', 0, "f" }, { 20, 1, 2, 'b', 7, "c" }, { 22, 1, 2, 's', 0, "f" },
		{ 25, 1, 2, '.', 0, "p" }, { 79, 1, 2, 'w', 0, "disk" }, { 80, 1, 2, 'e', 7, "c" },
		{ 81, 1, 2, 'w', 0, "disk" }, { 85, 0, 1, 'w', 0, "thread" },
		{ 90, 0, 1, 'J', 7, "c" }, { 99, 0, 1, 's', 0, "f" }, { 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 Fc@10 bc@20 .p@25 ec@80 Jc@90 ER@100");
}

/* Units that are forked by each other or by themselves: an error, and no endless loop. */
static void
malformed_traces_end_with_an_error(void **state)
{
	const struct row rows[] = { { 0, 0, 1, 'B', 0, "R" }, { 100, 1, 2, 'E', 0, "R" },
		{ 50, 1, 2, 'b', 8, "x" }, { 60, 1, 2, 'F', 7, "x" }, { 40, 1, 3, 'b', 7, "x" },
		{ 45, 1, 3, 'F', 8, "x" } };
	struct kit *k = kit_new(NULL);
	struct critpath p;
	struct trace *t;
	(void)state;

	kit_rows(k, rows, 6);
	t = assemble_next(k->assemble);
	assert_non_null(t);
	assert_int_equal(critpath_extract(&p, t, k->labels, NULL, &k->arena, &k->e), ERR_INPUT);
	trace_free(t);
	kit_free(k);
}

static void
assert_exact(
    const struct trace *t, const struct critpath *p, const struct labels *labels, struct arena *a)
{
	const struct step *last = &p->steps[p->nsteps - 1];
	struct shape s;
	int64_t sum = 0;

	assert_true(p->nsteps >= 2);
	assert_int_equal(labels_get(labels, p->steps[0].label)->kind, RECORD_REQUEST_BEGIN);
	assert_int_equal(labels_get(labels, last->label)->kind, RECORD_REQUEST_END);
	assert_int_equal(p->steps[0].time_ns, t->begin_ns);
	assert_int_equal(last->time_ns, t->end_ns);
	for (uint32_t i = 1; i < p->nsteps; i++)
		assert_true(p->steps[i].time_ns >= p->steps[i - 1].time_ns);
	assert_int_equal(shape_of(&s, p, labels, a, NULL), 0);
	for (uint32_t i = 0; i < s.nedges; i++) {
		assert_true(s.times_ns[i] >= 0);
		sum += s.times_ns[i];
	}
	assert_int_equal(sum, t->end_ns - t->begin_ns);
}

enum { FAR_NS = 1000000000 }; /* between requests: longer than any request takes */

struct odd { /* faults to put into generated requests */
	int64_t skew_ns;
	double no_end, late_end, lost;
};

/* Processes requests of random programs, one after the other. Returns how many had a path. */
static uint32_t
run_generated(uint64_t seed, uint32_t requests, struct odd odd)
{
	static struct batch_label labels[GEN_LABELS];
	struct kit *k = kit_new(&(struct assemble_options){ 64 << 20, FAR_NS / 2, INT64_MAX });
	struct gen *g = gen_new(seed);
	uint32_t found = 0;

	g->no_end = odd.no_end;
	g->late_end = odd.late_end;
	for (uint32_t node = 0; node < GEN_NODES; node++) {
		assert_int_equal(assemble_join(k->assemble, node, &k->e), 0);
		g->offset_ns[node] = odd.skew_ns > 0
		                         ? (int64_t)rng_below(&g->when, 2 * (uint64_t)odd.skew_ns)
		                         : 0;
	}
	for (uint32_t i = 0; i < requests; i++) {
		size_t first[GEN_NODES + 1];
		struct critpath p;
		struct trace *t;
		int64_t response_ns;

		g->nrecords = 0;
		g->nlabels = 0;
		response_ns = gen_request(
		    g, i + 1, seed * 1000 + i, (int64_t)i * FAR_NS, 20 + (int)i % 300);
		gen_sort(g, first);
		memcpy(labels, g->labels, g->nlabels * sizeof *labels);
		for (uint32_t node = 0; node < GEN_NODES; node++) {
			struct record *records = malloc(
			    (first[node + 1] - first[node] + 1) * sizeof *records);
			struct batch b = { .watermark_ns = (int64_t)(i + 1) * FAR_NS - 1,
				.nlabels = g->nlabels,
				.labels = labels,
				.records = records };

			for (size_t j = first[node]; j < first[node + 1]; j++) {
				uint8_t kind = labels[g->records[j].r.label].kind;

				if (kind == RECORD_REQUEST_BEGIN || kind == RECORD_REQUEST_END ||
				    rng_unit(&g->when) >= odd.lost)
					records[b.nrecords++] = g->records[j].r;
			}
			assert_int_equal(assemble_batch(k->assemble, node, &b, &k->e), 0);
			free(records);
		}
		t = assemble_next(k->assemble);
		assert_non_null(t);
		assert_int_equal(t->end_ns - t->begin_ns, response_ns);
		if (critpath_extract(&p, t, k->labels, NULL, &k->arena, &k->e) == 0) {
			found++;
			assert_exact(t, &p, k->labels, &k->arena);
			if (odd.skew_ns == 0 && odd.late_end == 0 && odd.lost == 0)
				assert_int_equal(p.moved, 0);
		}
		arena_reset(&k->arena);
		trace_free(t);
	}
	gen_free(g);
	kit_free(k);
	return found;
}

static void
edges_add_up_to_the_response_time_exactly(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		assert_int_equal(run_generated(seed, 150, (struct odd){ 0 }), 150);
		assert_int_equal(run_generated(seed, 150, (struct odd){ .skew_ns = 5000000 }), 150);
		assert_int_equal(
		    run_generated(seed, 150, (struct odd){ .no_end = 0.3, .late_end = 0.3 }), 150);
	}
}

static void
edges_add_up_where_records_are_lost_too(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		assert_int_equal(
		    run_generated(seed, 150, (struct odd){ 3000000, 0.1, 0.1, 0.2 }), 150);
}

/* Many joins of one child, in a unit without an end: the cost stays linear, so the test is fast. */
static void
many_joins_of_one_link_cost_linear_time(void **state)
{
	enum { N = 250 };
	struct row rows[N];
	struct kit *k = kit_new(NULL);
	struct critpath p;
	struct trace *t;
	(void)state;

	rows[0] = (struct row){ 0, 0, 1, 'B', 0, "R" };
	rows[1] = (struct row){ 1, 0, 1, 'F', 7, "c" };
	rows[2] = (struct row){ 2, 0, 2, 'b', 7, "c" };
	for (int i = 3; i < N - 1; i++)
		rows[i] = (struct row){ i, 0, i % 2 ? 1 : 2, i % 2 ? 'J' : '.', i % 2 ? 7 : 0,
			"c" };
	rows[N - 1] = (struct row){ N, 0, 1, 'E', 0, "R" };
	kit_rows(k, rows, N);
	t = assemble_next(k->assemble);
	assert_int_equal(critpath_extract(&p, t, k->labels, NULL, &k->arena, &k->e), 0);
	assert_exact(t, &p, k->labels, &k->arena);
	trace_free(t);
	kit_free(k);
}

/*
 * The child unit continues between begin and end of a span: the end is not on the path, and no time
 * is lost.
 */
static void
spans_may_end_off_the_path(void **state)
{
	(void)state;
	assert_path(ROWS({ 0, 0, 1, 'B', 0, "R" }, { 5, 0, 1, '.', 0, "x_begin" },
			{ 10, 0, 1, 'F', 7, "c" }, { 20, 1, 2, 'b', 7, "c" },
			{ 25, 1, 2, '.', 0, "y_begin" }, { 30, 0, 1, '.', 0, "x_end" },
			{ 80, 1, 2, 'e', 7, "c" }, { 85, 1, 2, '.', 0, "y_end" },
			{ 90, 0, 1, 'J', 7, "c" }, { 100, 0, 1, 'E', 0, "R" }),
	    "BR@0 .x_begin@5 Fc@10 bc@20 .y_begin@25 ec@80 Jc@90 ER@100");
}

/* The work waits in a queue; this time is between fork and begin and belongs to no unit. */
static void
time_in_a_queue_is_on_the_path(void **state)
{
	struct kit *k = kit_new(NULL);
	struct critpath p;
	struct trace *t;
	(void)state;

	kit_rows(
	    k, ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "q" }, { 70, 0, 2, 'b', 7, "q" },
		   { 75, 0, 2, '.', 0, "p" }, { 80, 0, 2, 'e', 7, "q" }, { 90, 0, 1, 'J', 7, "q" },
		   { 100, 0, 1, 'E', 0, "R" }));
	t = assemble_next(k->assemble);
	assert_int_equal(critpath_extract(&p, t, k->labels, NULL, &k->arena, &k->e), 0);
	assert_int_equal(p.nsteps, 7);
	assert_int_equal(p.steps[0].owner, LABEL_NONE);
	assert_int_equal(
	    p.steps[1].owner, p.steps[0].label);        /* from BR to Fq, the time belongs to R */
	assert_int_equal(p.steps[2].owner, LABEL_NONE); /* Fq to bq */
	assert_int_equal(
	    p.steps[3].owner, p.steps[2].label); /* from bq to p, the time belongs to q */
	assert_int_equal(p.steps[4].owner, p.steps[2].label);
	assert_int_equal(p.steps[5].owner, LABEL_NONE); /* eq to Jq */
	assert_int_equal(p.steps[6].owner, p.steps[0].label);
	trace_free(t);
	kit_free(k);
}

/* Makes structure labels of these kinds silent, as if a reader had added them. */
static void
silence(struct kit *k, struct trace *t, const char *kinds)
{
	for (uint32_t i = 0; i < t->nevents; i++) {
		uint8_t kind = labels_get(k->labels, t->events[i].label)->kind;

		if (strchr(kinds, ".BEFbeJ"[kind]) != NULL)
			t->events[i].label = labels_silent(k->labels, kind);
	}
}

/* Spans: their own begins and ends are recorded, their forks and joins are not. */
static void
silent_structure_links_units_and_is_no_step(void **state)
{
	struct kit *k = kit_new(NULL);
	struct critpath p;
	struct trace *t;
	char got[512];
	(void)state;

	kit_rows(
	    k, ROWS({ 0, 0, 1, 'B', 0, "R" }, { 10, 0, 1, 'F', 7, "c" }, { 10, 1, 2, 'b', 7, "c" },
		   { 40, 1, 2, 'e', 7, "c" }, { 40, 0, 1, 'J', 7, "c" }, { 60, 0, 1, 'F', 8, "d" },
		   { 60, 1, 3, 'b', 8, "d" }, { 95, 1, 3, 'e', 8, "d" }, { 95, 0, 1, 'J', 8, "d" },
		   { 100, 0, 1, 'E', 0, "R" }));
	t = assemble_next(k->assemble);
	silence(k, t, "FJ");
	assert_int_equal(critpath_extract(&p, t, k->labels, NULL, &k->arena, &k->e), 0);
	print_path(k, t, &p, got, sizeof got);
	assert_string_equal(got, "BR@0 bc@10 ec@40 bd@60 ed@95 ER@100");
	assert_int_equal(
	    p.steps[1].owner, p.steps[0].label); /* before the call: the caller's own time */
	assert_int_equal(p.steps[2].owner, p.steps[1].label);
	assert_int_equal(
	    p.steps[3].owner, p.steps[0].label); /* between the calls: the caller's own time */
	assert_int_equal(p.steps[4].owner, p.steps[3].label);
	assert_int_equal(p.steps[5].owner, p.steps[0].label);
	trace_free(t);
	kit_free(k);
}

/* Silent labels do not change the other steps. */
static void
silent_labels_do_not_change_the_other_steps(void **state)
{
	static const char *const silent[] = { "FJ", "be", "FbeJ", "J", "b" };
	(void)state;

	for (uint64_t what = 1; what <= 200; what++) {
		struct kit *k = kit_new(NULL);
		struct gen *g = gen_new(what);
		struct critpath loud, quiet;
		size_t first[GEN_NODES + 1];
		struct trace *t;
		uint32_t n = 0;

		gen_request(g, 1, what, 1000, 120);
		gen_sort(g, first);
		for (uint32_t node = 0; node < GEN_NODES; node++)
			assert_int_equal(assemble_join(k->assemble, node, &k->e), 0);
		for (uint32_t node = 0; node < GEN_NODES; node++) {
			struct record records[2048];
			struct batch b = { .watermark_ns = INT64_MAX / 8,
				.nlabels = g->nlabels,
				.labels = g->labels,
				.records = records };

			for (size_t i = first[node]; i < first[node + 1]; i++)
				records[b.nrecords++] = g->records[i].r;
			assert_int_equal(assemble_batch(k->assemble, node, &b, &k->e), 0);
		}
		t = assemble_next(k->assemble);
		assert_int_equal(critpath_extract(&loud, t, k->labels, NULL, &k->arena, &k->e), 0);
		silence(k, t, silent[what % 5]);
		assert_int_equal(critpath_extract(&quiet, t, k->labels, NULL, &k->arena, &k->e), 0);
		for (uint32_t i = 0; i < loud.nsteps; i++) {
			const struct event *e = &t->events[loud.steps[i].event];

			if (labels_get(k->labels, e->label)->silent)
				continue;
			assert_true(n < quiet.nsteps);
			assert_int_equal(quiet.steps[n].event, loud.steps[i].event);
			assert_int_equal(quiet.steps[n++].time_ns, loud.steps[i].time_ns);
		}
		assert_int_equal(n, quiet.nsteps);
		assert_exact(t, &quiet, k->labels, &k->arena);
		trace_free(t);
		gen_free(g);
		kit_free(k);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_is_waited_for_is_on_the_path),
		cmocka_unit_test(a_call_that_ended_before_its_join_is_off_the_path),
		cmocka_unit_test(work_without_a_join_is_off_the_path),
		cmocka_unit_test(of_several_joins_at_one_point_the_last_to_end_counts),
		cmocka_unit_test(nested_calls_are_on_the_path),
		cmocka_unit_test(the_path_may_lead_back_to_another_unit_than_the_joining_one),
		cmocka_unit_test(a_unit_without_an_end_ends_with_its_last_event),
		cmocka_unit_test(a_unit_without_a_fork_leads_back_to_the_waiting_unit),
		cmocka_unit_test(a_unit_that_ends_after_its_answer_counts_up_to_the_join),
		cmocka_unit_test(clocks_that_disagree_do_not_move_the_request),
		cmocka_unit_test(if_two_units_have_one_link_the_answering_one_counts),
		cmocka_unit_test(removed_points_count_as_disabled),
		cmocka_unit_test(waits_and_samples_are_no_points_of_a_path),
		cmocka_unit_test(malformed_traces_end_with_an_error),
		cmocka_unit_test(edges_add_up_to_the_response_time_exactly),
		cmocka_unit_test(edges_add_up_where_records_are_lost_too),
		cmocka_unit_test(many_joins_of_one_link_cost_linear_time),
		cmocka_unit_test(spans_may_end_off_the_path),
		cmocka_unit_test(time_in_a_queue_is_on_the_path),
		cmocka_unit_test(silent_structure_links_units_and_is_no_step),
		cmocka_unit_test(silent_labels_do_not_change_the_other_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
