/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measures whether an application is fair: plays it without records, with and without its causes. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/random.h"

enum { OUTINGS = 1500, PATHS_MAX = 64, ROUNDS = 8, APART_NS = 7 * MS };

struct path { /* requests with the same structural path */
	uint64_t path;
	bool slow;
	double n, sum, sum2, cause_sum[CAUSES_MAX], cause_sum2[CAUSES_MAX];
};
struct seen {
	struct path paths[PATHS_MAX];
	int npaths;
	double totals[OUTINGS];
};

static struct path *
path_of(struct seen *s, const struct outing *o)
{
	int i = 0;

	while (i < s->npaths && (s->paths[i].path != o->path || s->paths[i].slow != o->slow))
		i++;
	if (i == PATHS_MAX)
		return NULL;
	if (i == s->npaths)
		s->paths[s->npaths++] = (struct path){ .path = o->path, .slow = o->slow };
	return &s->paths[i];
}

static int
by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* Returns false where the application has too many paths to search. */
static bool
look(struct made *m, bool faulty, struct seen *s)
{
	m->faulty = faulty;
	rng_seed(&m->stage.rng, m->seed + 1);
	s->npaths = 0;
	for (int i = 0; i < OUTINGS; i++) {
		struct outing o;
		struct path *p;

		play_dry(m, START_NS + i * (int64_t)APART_NS, &o);
		if ((p = path_of(s, &o)) == NULL)
			return false;
		s->totals[i] = o.total_ns;
		p->n++;
		p->sum += o.total_ns;
		p->sum2 += o.total_ns * o.total_ns;
		for (int k = 0; k < m->ncauses; k++) {
			p->cause_sum[k] += o.cause_ns[k];
			p->cause_sum2[k] += o.cause_ns[k] * o.cause_ns[k];
		}
	}
	qsort(s->totals, OUTINGS, sizeof s->totals[0], by_size);
	m->faulty = false;
	return true;
}

static double
variance(double n, double sum, double sum2)
{
	return n > 1 ? fmax(0, (sum2 - sum * sum / n) / (n - 1)) : 0;
}

static double
cv(const struct path *p)
{
	return sqrt(variance(p->n, p->sum, p->sum2)) / (p->sum / p->n);
}

static bool
counts(const struct path *p)
{
	return p->n >= OUTINGS * 0.05;
}

static double
cv_most(const struct seen *s)
{
	double most = 0;

	for (int i = 0; i < s->npaths; i++)
		if (counts(&s->paths[i]))
			most = fmax(most, cv(&s->paths[i]));
	return most;
}

/* First scales down the times that differ between code paths, to at most 0.6 of the target CV; then
 * sets the noise so that the CV reaches the target. */
static bool
calm_down(struct made *m, struct seen *s)
{
	double want = m->hard == HARD_WEAK ? 0.083 + 0.008 * rng_unit(&m->rng)
	                                   : 0.03 + 0.035 * rng_unit(&m->rng),
	       got = 0;

	m->sigma = 0;
	for (int i = 0; i < ROUNDS; i++) {
		if (!look(m, false, s))
			return false;
		if ((got = cv_most(s)) <= 0.6 * want)
			break;
		m->calm *= 0.5 * want / got;
	}
	m->sigma = 0.1;
	for (int i = 0; i < ROUNDS; i++) {
		if (!look(m, false, s))
			return false;
		if ((got = cv_most(s)) > 0.95 * want && got < 1.05 * want)
			break;
		m->sigma = fmin(1.2, m->sigma * fmax(0.2, fmin(5, want / got)));
	}
	m->healthy_cv = got;
	return true;
}

/* Whether the healthy application meets the conditions of random.h. */
static bool
healthy(struct made *m, struct seen *s)
{
	double p95_ns = s->totals[(int)(OUTINGS * 0.95)], sum = 0;

	for (int i = 0; i < s->npaths; i++) {
		const struct path *p = &s->paths[i];

		sum += p->sum;
		if (!p->slow && p->n >= OUTINGS * 0.005 && p->sum / p->n > p95_ns)
			return false;
		if (counts(p) && (cv(p) < 0.025 || cv(p) > (m->hard == HARD_WEAK ? 0.095 : 0.075)))
			return false;
	}
	m->mean_ns = sum / OUTINGS;
	return true;
}

static double
wait_sd(struct wait *w)
{
	double sum = 0, sum2 = 0;

	for (int i = 0; i < 2 * OUTINGS; i++) {
		double ns = wait_at(w, START_NS + i * (int64_t)APART_NS);

		sum += ns;
		sum2 += ns * ns;
	}
	return sqrt(variance(2 * OUTINGS, sum, sum2));
}

/* Scales the cause to this standard deviation. */
static void
size_cause(struct made *m, struct cause *c, double sd_ns)
{
	double share = c->share;

	c->sd_ns = sd_ns;
	if (c->class == CAUSE_NODE)
		share = 1.0 / m->replicas[m->units[c->unit].service];
	if (c->class == CAUSE_SOMETIMES || c->class == CAUSE_NODE)
		c->ns = sd_ns / sqrt(share * (1 - share));
	else if (c->class == CAUSE_KEY)
		c->ns = sd_ns / sqrt((m->key_high[c->key] * (double)m->key_high[c->key] - 1) / 12);
	else if (c->class == CAUSE_THIRDPARTY)
		c->ns = sd_ns / c->share;
	else if (c->class == CAUSE_CONTENTION)
		m->waits[c->wait].scale = sd_ns / wait_sd(&m->waits[c->wait]);
}

static bool
slow_is_fair(struct made *m, const struct seen *s)
{
	double p95_ns = s->totals[(int)(OUTINGS * 0.95)], n = 0, share = 1;

	for (int i = 0; i < s->npaths; i++) {
		const struct path *p = &s->paths[i];
		double cause = 0;

		if (!p->slow)
			continue;
		for (int k = 0; k < m->ncauses; k++)
			cause = fmax(cause, p->cause_sum[k]);
		n += p->n;
		if (p->n >= 5 && (p->sum / p->n <= p95_ns || cv(p) > 0.1))
			return false;
		if (p->n >= OUTINGS * 0.005) /* excludes groups where two causes coincide */
			share = fmin(share, cause / p->sum);
	}
	m->cause_share = share;
	m->cause_cv = cv_most(s);
	return n >= OUTINGS * 0.01 && n <= OUTINGS * 0.045 && share >= 0.55 && m->cause_cv <= 0.08;
}

static bool
causes_are_fair(struct made *m, const struct seen *s)
{
	m->cause_share = 1;
	m->cause_cv = 1;
	for (int i = 0; i < s->npaths; i++) {
		const struct path *p = &s->paths[i];
		double all = variance(p->n, p->sum, p->sum2), least = all, most = 0, causes = 0;

		if (!counts(p))
			continue;
		for (int k = 0; k < m->ncauses; k++) {
			double one = variance(p->n, p->cause_sum[k], p->cause_sum2[k]);

			least = fmin(least, one);
			most = fmax(most, one);
			causes += one;
		}
		m->cause_cv = fmin(m->cause_cv, cv(p));
		m->cause_share = fmin(m->cause_share, causes / all);
		if (m->hard == HARD_WEAK ? causes < 0.3 * all || causes > 0.6 * all
		    : m->ncauses == 1    ? causes < 0.6 * all
					 : least < fmax(most / 4, all - causes))
			return false;
	}
	return m->cause_cv >= (m->hard == HARD_WEAK ? 0.115 : 0.14);
}

static bool
plant(struct made *m, struct seen *s)
{
	double sd_ns = m->mean_ns * (0.3 + 0.4 * rng_unit(&m->rng)) / sqrt(m->ncauses),
	       times[CAUSES_MAX];

	if (m->hard == HARD_WEAK)
		sd_ns = m->mean_ns * 0.05;
	for (int k = 0; k < m->ncauses; k++) {
		times[k] = 0.9 + 0.2 * rng_unit(&m->rng);
		m->causes[k].ns = m->mean_ns * (1.6 + 2.4 * rng_unit(&m->rng)); /* of slow causes */
	}
	for (int i = 0; i < ROUNDS; i++, sd_ns *= 1.2) {
		for (int k = 0; k < m->ncauses; k++)
			size_cause(m, &m->causes[k], sd_ns * times[k]);
		if (!look(m, true, s))
			return false;
		if (m->class == CAUSE_SLOW)
			return slow_is_fair(m, s);
		if (causes_are_fair(m, s))
			return true;
	}
	return false;
}

bool
fair(struct made *m)
{
	struct seen *s = calloc(1, sizeof *s);
	bool is = s != NULL && calm_down(m, s) && healthy(m, s) && (m->ncauses == 0 || plant(m, s));

	free(s);
	return is;
}
