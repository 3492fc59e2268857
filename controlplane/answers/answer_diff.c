/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares two diagnoses of a request type: which verdicts are gone, new or moved, and whether the
 * prediction of the first came true. Two verdicts are the same if they are about the same edge. If only
 * the group is the same (by its critical path of always-on tracepoints, which no diagnosis changes), the
 * problem has moved.
 */
#include "controlplane/answers/answer_inside.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

/* The most verdicts of a run that are compared; further ones are left out. */
enum { PAIRS_MAX = 256 };

/* The verdicts of one of the two diagnoses. */
struct run_verdicts {
	const struct run *run;
	const struct verdict *verdicts[PAIRS_MAX];
	bool paired[PAIRS_MAX];
	uint32_t n;
};

static void
read_verdicts(struct run_verdicts *s, const struct forest *f, const struct run *r)
{
	s->run = r;
	while (s->n < PAIRS_MAX && (s->verdicts[s->n] = forest_verdict(f, r->id, s->n + 1)) != NULL)
		s->n++;
}

/* ---- one verdict ---- */

/* Confidence interval of the mean by Student's t; NAN: n < 2, or the confidence is not known. */
static struct interval
mean_interval(double mean_ns, double cv, uint64_t n, double confidence)
{
	double half;

	if (n < 2 || !(confidence > 0 && confidence < 1))
		return (struct interval){ NAN, NAN };
	half = gsl_cdf_tdist_Pinv(0.5 + confidence / 2, (double)(n - 1)) * cv * mean_ns /
	       sqrt((double)n);
	return (struct interval){ mean_ns - half, mean_ns + half };
}

static json_t *
measures_json(const struct verdict *v)
{
	struct interval mean = mean_interval(v->mean_ns, v->cv, v->traces, v->confidence);

	return json_pack(
	    "{s:I, s:i, s:s, s:s, s:{s:o, s:o}, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
	    "hypothesis", (json_int_t)v->hypothesis, "rank", (int)v->rank, "kind",
	    verdict_word(v->kind), "problem", verdict_problem_word(v->problem), "edge", "from",
	    answer_text(v->from), "to", answer_text(v->to), "traces", (json_int_t)v->traces,
	    "share", number_json(v->share), "share_low", number_json(v->share_low), "share_high",
	    number_json(v->share_high), "cv", number_json(v->cv), "mean_ms",
	    number_json(v->mean_ns / 1e6), "mean_low_ms", number_json(mean.low / 1e6),
	    "mean_high_ms", number_json(mean.high / 1e6), "p95_ms",
	    number_json(v->p95_now_ns / 1e6), "cost_ms", number_json(v->cost_ns / 1e6), "key",
	    answer_text(v->key));
}

static json_t *
overlap_json(double a_low, double a_high, double b_low, double b_high)
{
	if (isnan(a_low) || isnan(a_high) || isnan(b_low) || isnan(b_high))
		return json_null();
	return json_boolean(a_low <= b_high && b_low <= a_high);
}

/* ---- two verdicts ---- */

static bool
same_edge(const struct verdict *a, const struct verdict *b)
{
	return strcmp(a->from, b->from) == 0 && strcmp(a->to, b->to) == 0;
}

static bool
same_root(const struct hypothesis *a, const struct hypothesis *b)
{
	return a != NULL && b != NULL &&
	       memcmp(a->group_key, b->group_key, sizeof a->group_key) == 0;
}

static bool
same_group(const struct forest *f, const struct verdict *a, const struct verdict *b)
{
	return same_root(answer_root(f, forest_get(f, a->hypothesis)),
	    answer_root(f, forest_get(f, b->hypothesis)));
}

/* The prediction of verdict v beside the present CV and p95. */
static json_t *
foretold_json(const struct verdict *v, double cv, double p95_ns)
{
	bool bounded = !isnan(v->cv_then_low) && !isnan(v->cv_then_high);

	if (isnan(v->cv_then))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cv", number_json(v->cv_then),
	    "cv_low", number_json(v->cv_then_low), "cv_high", number_json(v->cv_then_high),
	    "p95_ms", number_json(v->p95_then_ns / 1e6), "happened_cv", number_json(cv),
	    "happened_p95_ms", number_json(p95_ns / 1e6), "within",
	    bounded && !isnan(cv) ? json_boolean(cv >= v->cv_then_low && cv <= v->cv_then_high)
				  : json_null());
}

static json_t *
pair_json(const char *what, const struct verdict *a, const struct verdict *b)
{
	struct interval before = mean_interval(a->mean_ns, a->cv, a->traces, a->confidence);
	struct interval after = mean_interval(b->mean_ns, b->cv, b->traces, b->confidence);

	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "what", what, "before", measures_json(a),
	    "after", measures_json(b), "share_overlaps",
	    overlap_json(a->share_low, a->share_high, b->share_low, b->share_high), "mean_overlaps",
	    overlap_json(before.low, before.high, after.low, after.high), "foretold",
	    foretold_json(a, b->cv, b->p95_now_ns));
}

/* A verdict that is gone. If the later run measured the same group, its present values are `after`. */
static json_t *
gone_json(const struct forest *f, const struct verdict *a, const struct run *after)
{
	const struct hypothesis *root = answer_root(f, forest_get(f, a->hypothesis)), *h;
	json_t *now = json_null();
	double cv = NAN;
	uint64_t at = 0;

	while ((h = forest_next(f, after->id, &at)) != NULL)
		if (h->parent == 0 && same_root(root, h)) {
			cv = h->cv;
			now = json_pack("{s:I, s:o, s:o}", "traces", (json_int_t)h->traces, "cv",
			    number_json(h->cv), "mean_ms", number_json(h->mean_ns / 1e6));
			break;
		}
	return json_pack("{s:s, s:o, s:o, s:n, s:n, s:o}", "what", "gone", "before",
	    measures_json(a), "after", now, "share_overlaps", "mean_overlaps", "foretold",
	    foretold_json(a, cv, NAN));
}

/* ---- two diagnoses ---- */

enum pairing { EDGE_AND_GROUP, EDGE, GROUP };

/* Pairs the verdicts that are not paired yet and match by `by`. O(a->n * b->n). */
static void
add_pairs(json_t *changes, const struct forest *f, struct run_verdicts *a, struct run_verdicts *b,
    enum pairing by)
{
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t k = 0; k < b->n && !a->paired[i]; k++) {
			const struct verdict *v = a->verdicts[i], *w = b->verdicts[k];

			if (b->paired[k] || (by != GROUP && !same_edge(v, w)) ||
			    (by != EDGE && !same_group(f, v, w)))
				continue;
			a->paired[i] = b->paired[k] = true;
			json_array_append_new(
			    changes, pair_json(by == GROUP ? "moved" : "same", v, w));
		}
}

static json_t *
changes_json(const struct forest *f, const struct run *before, const struct run *after)
{
	struct run_verdicts a = { 0 }, b = { 0 };
	json_t *changes = json_array();

	read_verdicts(&a, f, before);
	read_verdicts(&b, f, after);
	add_pairs(changes, f, &a, &b, EDGE_AND_GROUP);
	add_pairs(changes, f, &a, &b, EDGE);
	add_pairs(changes, f, &a, &b, GROUP);
	for (uint32_t i = 0; i < a.n; i++)
		if (!a.paired[i])
			json_array_append_new(changes, gone_json(f, a.verdicts[i], after));
	for (uint32_t k = 0; k < b.n; k++)
		if (!b.paired[k])
			json_array_append_new(
			    changes, json_pack("{s:s, s:n, s:o, s:n, s:n, s:n}", "what", "new",
					 "before", "after", measures_json(b.verdicts[k]),
					 "share_overlaps", "mean_overlaps", "foretold"));
	return changes;
}

json_t *
ask_diff(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const json_t *ids = json_object_get(ask, "runs");
	const struct run *r[2];

	if (json_array_size(ids) != 2 || !json_is_integer(json_array_get(ids, 0)) ||
	    !json_is_integer(json_array_get(ids, 1)))
		return answer_refuse(ERR_INPUT, "\"runs\" must be the ids of two diagnoses");
	for (size_t i = 0; i < 2; i++) {
		long long id = json_integer_value(json_array_get(ids, i));

		if ((r[i] = forest_run(f, (uint64_t)id)) == NULL)
			return answer_refuse(ERR_MISSING,
			    "there is no diagnosis %lld; 'hone history' lists them", id);
	}
	if (r[0] == r[1])
		return answer_refuse(ERR_INPUT, "\"runs\" has the same diagnosis twice");
	if (strcmp(r[0]->type, r[1]->type) != 0)
		return answer_refuse(ERR_INPUT,
		    "diagnosis %llu is of %.80s, diagnosis %llu of %.80s: they must be of the same request type",
		    (unsigned long long)r[0]->id, r[0]->type, (unsigned long long)r[1]->id,
		    r[1]->type);
	return json_pack("{s:o, s:o, s:o, s:o}", "type", answer_text(r[0]->type), "before",
	    answer_run(g, f, r[0], c, false), "after", answer_run(g, f, r[1], c, false), "changes",
	    changes_json(f, r[0], r[1]));
}
