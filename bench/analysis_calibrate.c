/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often the analysis is right on requests whose truth is known: how many of 1,000 request types
 * without a fault get a finding, and how often 95 % confidence intervals contain the true share,
 * cell by cell. Deterministic: the same numbers on every run. docs/calibration.md.
 *
 * 	analysis_calibrate [RUNS [TYPES [ROUNDS [SEED]]]]	of each cell; 200, 1000, 200, 0
 */
#include <time.h>

#include "tests/unit/analysis/simulated.h"

enum { SIZES = 5, CELLS_MAX = 128 };

static const struct {
	uint32_t n, samples_max;
} sizes[SIZES] = { { 30, 512 }, { 64, 512 }, { 128, 512 }, { 512, 512 }, { 4096, 512 } };

static const double shares[] = { 0.02, 0.2, 0.5, 0.8, 0.95 };

static uint32_t
cells_of(struct share_cell *cells)
{
	uint32_t n = 0;

	for (int first = 0; first < FAMILIES; first++) {
		for (int same = 1; same >= (first == GAMMA_2); same--)
			for (size_t s = 0; s < sizeof shares / sizeof *shares; s++)
				cells[n++] = (struct share_cell){ (enum family)first,
					same ? (enum family)first : GAMMA_2, shares[s], 0, 1 };
		cells[n++] = (struct share_cell){ (enum family)first, GAMMA_2, 0.3, 0.5, 1 };
		cells[n++] = (struct share_cell){ (enum family)first, GAMMA_2, 0.3, 0.5, -1 };
	}
	return n;
}

static double
pct(uint32_t part, uint32_t all)
{
	return all > 0 ? 100.0 * part / all : 0;
}

static void
print_cell(const struct share_cell *c, const struct covered *held)
{
	printf("%-14s %-14s %5.2f %-9s", family_names[c->first], family_names[c->third],
	    cell_share(c),
	    c->common == 0 ? ""
	    : c->sign > 0  ? "together"
			   : "against");
	for (int i = 0; i < SIZES; i++)
		printf("  %5.1f", pct(held[i].held, held[i].runs));
	printf("\n");
}

static void
print_sums(const char *what, const struct covered *sums)
{
	printf("%-44s", what);
	for (int i = 0; i < SIZES; i++)
		printf("  %5.1f", pct(sums[i].held, sums[i].runs));
	printf("\n");
}

static void
print_coverage(uint32_t runs, uint32_t rounds, uint64_t seed)
{
	struct share_cell cells[CELLS_MAX];
	struct covered sums[SIZES] = { { 0 } }, family[FAMILIES][SIZES] = { { { 0 } } },
		       all = { 0 };
	struct covered cv[FAMILIES][SIZES] = { { { 0 } } };
	uint32_t n = cells_of(cells);

	printf(
	    "\nintervals at 95 %% that hold the true share, in %%: %u runs a cell (+-%.1f), %u rounds\n\n",
	    runs, 100 * 1.96 * sqrt(0.95 * 0.05 / runs), rounds);
	printf("%-14s %-14s %5s %-9s", "edge", "the rest", "share", "common");
	for (int i = 0; i < SIZES; i++)
		printf(" n=%-4u", sizes[i].n);
	printf("\n");
	for (uint32_t c = 0; c < n; c++) {
		struct covered held[SIZES];

		for (int i = 0; i < SIZES; i++) {
			held[i] = cell_run(&cells[c], sizes[i].n, sizes[i].samples_max, runs,
			    rounds, 1000 * c + (uint64_t)i + 1000000 * seed,
			    &cv[cells[c].first][i]);
			covered_add(&sums[i], &held[i]);
			covered_add(&family[cells[c].first][i], &held[i]);
			covered_add(&all, &held[i]);
		}
		print_cell(&cells[c], held);
		fflush(stdout);
	}
	printf("\n");
	for (int f = 0; f < FAMILIES; f++)
		print_sums(family_names[f], family[f]);
	print_sums("all", sums);
	printf("%-44s", "all: from 0 to 1, nothing is known");
	for (int i = 0; i < SIZES; i++)
		printf("  %5.1f", pct(sums[i].wide, sums[i].runs));
	printf(
	    "\nall sizes: held %.2f %%, truth below %.2f %%, above %.2f %% (asked: 95, 93 to 97)\n",
	    pct(all.held, all.runs), pct(all.below, all.runs), pct(all.above, all.runs));
	printf(
	    "\nintervals at 95 %% that hold the true CV; in brackets: the truth is below, which is what makes false findings\n");
	for (int f = 0; f < FAMILIES; f++) {
		printf("%-38s", family_names[f]);
		for (int i = 0; i < SIZES; i++)
			printf("  %5.1f (%3.1f)", pct(cv[f][i].held, cv[f][i].runs),
			    pct(cv[f][i].below, cv[f][i].runs));
		printf("\n");
	}
}

static void
print_false_findings(uint32_t types, uint32_t rounds, uint64_t seed)
{
	struct false_findings sum = { 0 };

	for (uint32_t i = 0; i < types; i++) {
		struct false_findings f = healthy_run(6, rounds, 77000 + i + 1000000 * seed);

		false_findings_add(&sum, &f);
	}
	printf(
	    "%u request types without a fault, %u groups, looked at %u times (30, 60, ... 1920 requests for each group)\n",
	    sum.types, sum.groups, sum.looks);
	printf("  with a finding at any look   %5.2f %%   (asked: 1 at most)\n",
	    pct(sum.any, sum.types));
	printf("    unpredictable              %5.2f %%\n", pct(sum.unpredictable, sum.types));
	printf("    slow                       %5.2f %%\n", pct(sum.slow, sum.types));
	printf("    explained by a key         %5.2f %%\n", pct(sum.key, sum.types));
	printf("  for comparison\n");
	printf("    unpredictable, were each look the only one      %5.2f %%\n",
	    pct(sum.naive, sum.types));
	printf("    a key with p <= 0.01, however little explained  %5.2f %%\n",
	    pct(sum.key_any_p, sum.types));
	fflush(stdout);
}

/* ---- requests that depend on each other ---- */

enum { QUEUES_MAX = 3, DEPENDENT_SIZES = 5, DEPENDENT_KEPT = 512, TRUTH_REQUESTS = 200000 };
static const uint32_t dependent_sizes[DEPENDENT_SIZES] = { 150, 300, 1000, 3000, 10000 };

/* The work that is left in M/G/1 queues, as requests find it that are few beside other traffic. */
struct dependent {
	uint32_t nqueues;
	double rate, sigma, noise; /* requests/s; of the noise, log-normal, and its mean in s */
	struct {
		double gap, serve, sigma; /* means in s; service times are log-normal */
		double work, next;        /* s that are left; until the next arrival */
	} queue[QUEUES_MAX];
};

static void
dependent_draw(struct dependent *d, struct rng *r)
{
	double waits = 0;

	*d = (struct dependent){ .nqueues = 1 + (uint32_t)rng_below(r, QUEUES_MAX),
		.rate = 100 * exp(log(10) * rng_unit(r)),
		.sigma = 0.2 + 0.6 * rng_unit(r) };
	for (uint32_t i = 0; i < d->nqueues; i++) {
		double load = 0.4 + 0.3 * rng_unit(r);

		d->queue[i].serve = 5e-4 * exp(log(20) * rng_unit(r));
		d->queue[i].gap = d->queue[i].serve / load;
		d->queue[i].sigma = 1.2 * rng_unit(r);
		waits += d->queue[i].serve * load / (1 - load);
	}
	d->noise = waits * (0.3 + 2 * rng_unit(r));
}

static void
dependent_next(struct dependent *d, double *x, struct rng *r)
{
	double later = exponential_of(r) / d->rate;

	for (uint32_t i = 0; i < d->nqueues; i++) {
		double left = later, sigma = d->queue[i].sigma, work = d->queue[i].work;

		while (d->queue[i].next <= left) {
			left -= d->queue[i].next;
			work = fmax(0, work - d->queue[i].next) +
			       d->queue[i].serve * exp(sigma * rng_normal(r) - sigma * sigma / 2);
			d->queue[i].next = exponential_of(r) * d->queue[i].gap;
		}
		d->queue[i].next -= left;
		d->queue[i].work = fmax(0, work - left);
		x[i] = 1e9 * d->queue[i].work;
	}
	x[d->nqueues] = 1e9 * d->noise * exp(d->sigma * rng_normal(r) - d->sigma * d->sigma / 2);
}

static void
dependent_truth(struct dependent d, double *share, double *cv, struct rng *r)
{
	struct moments total = { 0 };
	struct moments_high high = { 0 };
	struct comoments of = { 0 };
	double x[QUEUES_MAX + 1];

	for (int i = 0; i < TRUTH_REQUESTS; i++) {
		double t = 0;

		dependent_next(&d, x, r);
		for (uint32_t k = 0; k <= d.nqueues; k++)
			t += x[k];
		comoments_add_high(&of, x, 1, t, &total, &high);
		moments_high_add(&high, &total, t);
		moments_add(&total, t);
	}
	*share = of.c_xy / total.m2;
	*cv = moments_cv(&total);
}

static void
dependent_run(struct covered *share, struct covered *cv, double *width, const struct dependent *of,
    uint32_t n, double true_share, double true_cv, uint32_t rounds, struct rng *r)
{
	static const struct conditions usual = { 0.10, 0.95, 30, 0.95 };
	struct dependent d = *of;
	struct group *g = NULL;
	struct finding f;
	double x[QUEUES_MAX + 1];
	struct sim s;

	for (int i = 0; i < 300; i++)
		dependent_next(&d, x, r);
	sim_begin(&s, DEPENDENT_KEPT, rng_next(r));
	sim_shape(&s, 0, d.nqueues + 1);
	for (uint32_t i = 0; i < n; i++) {
		dependent_next(&d, x, r);
		g = sim_add(&s, 0, x, NULL, 0, 1, 1);
	}
	g->stands_for_more = true;
	if (finding_of(&f, g, &usual, 0, rounds, rng_next(r), &s.scratch, NULL) != 0)
		sim_die("no finding");
	covered_count(share, f.edges[0].interval, true_share);
	covered_count(cv, f.cv_interval, true_cv);
	*width += f.edges[0].interval.high - f.edges[0].interval.low;
	sim_end(&s);
}

static void
print_dependent(uint32_t runs, uint32_t rounds, uint64_t seed)
{
	struct covered share[DEPENDENT_SIZES] = { { 0 } }, cv[DEPENDENT_SIZES] = { { 0 } };
	double width[DEPENDENT_SIZES] = { 0 };
	struct rng r;

	rng_seed(&r, 4711 + seed);
	for (uint32_t i = 0; i < runs; i++) {
		struct dependent d;
		double true_share, true_cv;

		dependent_draw(&d, &r);
		dependent_truth(d, &true_share, &true_cv, &r);
		for (uint32_t k = 0; k < DEPENDENT_SIZES; k++)
			dependent_run(&share[k], &cv[k], &width[k], &d, dependent_sizes[k],
			    true_share, true_cv, rounds, &r);
	}
	printf(
	    "\nrequests that wait in M/G/1 queues, of groups that stand for more, %u runs: held %% (mean width; from 0 to 1)\n",
	    runs);
	for (uint32_t k = 0; k < DEPENDENT_SIZES; k++)
		printf("  n=%-6u shares %5.1f (%.2f; %.1f)   CV %5.1f\n", dependent_sizes[k],
		    pct(share[k].held, share[k].runs), width[k] / runs,
		    pct(share[k].wide, share[k].runs), pct(cv[k].held, cv[k].runs));
	fflush(stdout);
}

static void
print_cost(void)
{
	static const struct conditions usual = { 0.10, 0.95, 30, 0.95 };
	struct timespec from, to;
	struct finding f;
	struct group *g = NULL;
	struct sim s;
	struct rng r;
	enum { TIMES = 50 };

	rng_seed(&r, 1);
	sim_begin(&s, 512, 1);
	sim_shape(&s, 0, SIM_EDGES_MAX);
	for (int i = 0; i < 512; i++) {
		double x[SIM_EDGES_MAX];

		for (int e = 0; e < SIM_EDGES_MAX; e++)
			x[e] = 1e6 * family_draw((enum family)(e % FAMILIES), &r);
		g = sim_add(&s, 0, x, NULL, 0, 1, 1);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < TIMES; i++) {
		finding_of(&f, g, &usual, 0, 200, 1, &s.scratch, NULL);
		arena_reset(&s.scratch);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	printf("\na group of %d edges, 512 samples, 200 rounds is judged in %.2f ms\n",
	    SIM_EDGES_MAX,
	    ((double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6) /
		TIMES);
	sim_end(&s);
}

int
main(int argc, char **argv)
{
	uint32_t runs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 200;
	uint32_t types = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000;
	uint32_t rounds = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 200;
	uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;

	if (types > 0)
		print_false_findings(types, rounds, seed);
	print_dependent(runs, rounds, seed);
	print_coverage(runs, rounds, seed);
	print_cost();
	return 0;
}
