/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts what was reached. A target is missed when what came out would come by
 * chance in less than one of a hundred tries, were the target just met: a sample of
 * 60 does not fail for one unlucky seed, one of 1,000 is held to it closely.
 * Shares by the binomial's tail; medians by the sign test (how many lie above).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/random.h"

#define CHANCE 0.01

struct row { /* of those results that it takes */
	uint32_t n, found, either, both, keys;
	uint32_t ncycles;
	double *cycles, *used, *most, *requests;
};

/* Chance of k or fewer of n, each with p. O(n). */
static double
binomial_at_most(uint32_t k, uint32_t n, double p)
{
	double sum = 0;

	for (uint32_t i = 0; i <= k; i++)
		sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) +
			   (n - i) * log1p(-p));
	return sum < 1 ? sum : 1;
}

static uint32_t
umin(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int
by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static double
median(double *of, uint32_t n)
{
	qsort(of, n, sizeof *of, by_size);
	return n > 0 ? (of[(n - 1) / 2] + of[n / 2]) / 2 : 0;
}

static void
row_add(struct row *w, const struct result *r)
{
	w->n++;
	w->found += r->found;
	w->either += r->either;
	w->both += r->both;
	w->keys += r->key;
	if (r->ncauses == 0)
		return;
	w->cycles[w->ncycles] = r->cycles;
	w->used[w->ncycles] = 100.0 * r->used / r->size;
	w->most[w->ncycles] = 100.0 * r->on_most / r->size;
	w->requests[w->ncycles++] = (double)r->requests;
}

static void
row_print(struct row *w, const char *name)
{
	double cycles = median(w->cycles, w->ncycles);

	if (w->n == 0)
		return;
	printf("%-22s %6u %6u %6u %6u %6u", name, w->n, w->found, w->either, w->both, w->keys);
	if (w->ncycles > 0)
		printf(" %6.1f %4.0f %8.3f %8.3f %9.0f", cycles, w->cycles[w->ncycles - 1],
		    median(w->used, w->ncycles), median(w->most, w->ncycles),
		    median(w->requests, w->ncycles));
	printf("\n");
}

static void
row_clear(struct row *w)
{
	w->n = w->found = w->either = w->both = w->keys = w->ncycles = 0;
}

static void
row_of_hard(struct row *w, const struct result *results, uint32_t n, enum hard hard)
{
	row_clear(w);
	for (uint32_t i = 0; i < n; i++)
		if (results[i].hard == hard && results[i].ncauses > 0)
			row_add(w, &results[i]);
}

static void
row_of_trouble(struct row *w, const struct result *results, uint32_t n, enum trouble trouble)
{
	row_clear(w);
	for (uint32_t i = 0; i < n; i++)
		if (results[i].trouble == trouble && results[i].ncauses > 0)
			row_add(w, &results[i]);
}

/* Those with this class (negative: all), from so many causes to so many, of that size. */
static void
row_of(struct row *w, const struct result *results, uint32_t n, int class, int low, int high,
    double from, double to)
{
	row_clear(w);
	for (uint32_t i = 0; i < n; i++) {
		const struct result *r = &results[i];

		if ((class < 0 || (int)r->class == class) && r->ncauses >= low &&
		    r->ncauses <= high && r->size >= from && r->size < to)
			row_add(w, r);
	}
}

static void
tables(struct row *w, const struct result *results, uint32_t n, const char *strategy)
{
	char name[64];

	printf("\n%-22s %6s %6s %6s %6s %6s %6s %4s %8s %8s %9s\n", strategy, "apps", "found",
	    "either", "both", "key", "cycles", "max", "on %", "once %", "requests");
	for (int class = 0; class < CAUSE_CLASSES; class ++)
		for (int several = 0; several < 2; several++) {
			snprintf(name, sizeof name, "%s, %s", class_word((enum cause_class) class),
			    several ? "2 or 3" : "1");
			row_of(w, results, n, class, several ? 2 : 1, several ? CAUSES_MAX : 1, 0,
			    INFINITY);
			row_print(w, name);
		}
	row_of(w, results, n, -1, 0, 0, 0, INFINITY);
	row_print(w, "none planted");
	for (int hard = 0; hard < HARDS; hard++) {
		snprintf(name, sizeof name, "harder: %s", hard_word((enum hard)hard));
		row_of_hard(w, results, n, (enum hard)hard);
		row_print(w, name);
	}
	for (int trouble = 0; trouble < TROUBLES; trouble++) {
		snprintf(name, sizeof name, "trouble: %s", trouble_word((enum trouble)trouble));
		row_of_trouble(w, results, n, (enum trouble)trouble);
		row_print(w, name);
	}
	for (double from = 100; from < 1e5; from *= 10) {
		snprintf(name, sizeof name, "%.0f to %.0f", from, from * 10);
		row_of(w, results, n, -1, 1, CAUSES_MAX, from == 100 ? 0 : from,
		    from >= 1e4 ? INFINITY : from * 10);
		row_print(w, name);
	}
}

static bool
is_yardstick(const char *strategy)
{
	return strcmp(strategy, "random") == 0 || strcmp(strategy, "exhaustive") == 0;
}

static int
share_target(const char *what, uint32_t good, uint32_t n, double want)
{
	bool missed = n > 0 && binomial_at_most(good, n, want) < CHANCE;

	if (n > 0)
		printf("%s: %s: %u of %u, %.1f %% (target %.0f %%)\n", missed ? "MISSED" : "ok",
		    what, good, n, 100.0 * good / n, want * 100);
	return missed;
}

static int
median_target(const char *what, uint32_t above, uint32_t n)
{
	bool missed = n > 0 && binomial_at_most(n - above, n, 0.5) < CHANCE;

	if (n > 0)
		printf("%s: %s: %u of %u are above (target: not more than half)\n",
		    missed ? "MISSED" : "ok", what, above, n);
	return missed;
}

static int
effort_targets(const struct result *results, uint32_t n, const char *strategy, int per_cycle)
{
	uint32_t apps = 0, above = 0, near = 0, many = 0;
	int missed = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct result *r = &results[i];

		if (r->ncauses == 0 || !r->found)
			continue;
		apps++;
		above += r->cycles > log2(r->size) + 4;
		if (r->size >= 500 && r->size < 2000) {
			near++;
			many += r->used > 0.03 * r->size;
		}
	}
	if (strcmp(strategy, "hierarchical") == 0 || strcmp(strategy, "bisect") == 0)
		missed += median_target(
		    "at 500 to 2,000 tracepoints, more than 3 % of them turned on", many, near);
	if (per_cycle == 1 && strcmp(strategy, "random") != 0 &&
	    strcmp(strategy, "exhaustive") != 0)
		missed += median_target("more than log2(tracepoints) + 4 cycles", above, apps);
	return missed;
}

/* What all verdicts together claim; none of it is asked of a yardstick. */
static int
claim_targets(const struct result *results, uint32_t n)
{
	struct claims all = { 0 };
	uint32_t causes = 0, several = 0, of_several = 0, all_named = 0;
	int missed = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct claims *c = &results[i].claims;

		all.verdicts += c->verdicts;
		all.planted += c->planted;
		all.keys += c->keys;
		all.false_keys += c->false_keys;
		all.keys_due += c->keys_due;
		all.keys_missed += c->keys_missed;
		all.intervals += c->intervals;
		all.held += c->held;
		all.waits += c->waits;
		all.waits_held += c->waits_held;
		all.spread += c->spread;
		all.kinds += c->kinds;
		all.fields += c->fields;
		all.unsettled += c->unsettled;
		all.log += c->log;
		all.blank += c->blank;
		if (results[i].ncauses < 2)
			continue;
		several++;
		causes += (uint32_t)results[i].ncauses;
		of_several += c->found;
		all_named += c->due_found == c->due;
	}
	missed += share_target(
	    "verdicts that name a planted edge", all.planted, all.verdicts, 0.95);
	missed += share_target(
	    "verdicts without a false key", all.verdicts - all.false_keys, all.verdicts, 0.98);
	missed += share_target("intervals of shares that hold the truth", all.held + all.waits_held,
	    all.intervals + all.waits, 0.92);
	missed += share_target("verdicts of a kind, and with fields, that are so",
	    all.verdicts - umin(all.kinds + all.fields, all.verdicts), all.verdicts, 0.98);
	if (all.waits > 0)
		printf(
		    "of these, of queues and locks, whose requests wait like those before them: %u of %u\n",
		    all.waits_held, all.waits);
	if (all.spread > 0)
		printf("verdicts that name no place, but where it is spread: %u\n", all.spread);
	if (several > 0)
		printf("of 2 or 3 planted causes %u of %u were named, %.0f %%\n", of_several,
		    causes, 100.0 * of_several / causes);
	missed += share_target(
	    "several causes: all with the least effect are named", all_named, several, 0.90);
	if (all.keys_due > 0)
		printf("where a key was planted, %u of %u verdicts name one\n",
		    all.keys_due - all.keys_missed, all.keys_due);
	printf(
	    "%s: verdicts of a wrong kind %u, with false fields %u; hypotheses left open %u, blank %u; faults in the log %u\n",
	    all.unsettled + all.blank + all.log > 0 ? "MISSED" : "ok", all.kinds, all.fields,
	    all.unsettled, all.blank, all.log);
	return missed + (all.unsettled + all.blank + all.log > 0);
}

static bool
claims_are_so(const struct claims *c)
{
	return c->planted == c->verdicts && c->held == c->intervals && c->due_found == c->due &&
	       c->false_keys + c->kinds + c->fields + c->unsettled + c->log + c->blank == 0;
}

static void
list_claims(const struct result *results, uint32_t n, const char *strategy)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct claims *c = &results[i].claims;

		if (!results[i].crashed && !claims_are_so(c))
			printf(
			    "claims: --seed %llu --strategy %s: %d x %s, %u verdicts: %u not planted, %u of %u intervals do not hold, "
			    "%u of %u causes not named, %u false keys, kinds %u, fields %u; left open %u, blank %u, log %u\n",
			    (unsigned long long)results[i].seed, strategy, results[i].ncauses,
			    class_word(results[i].class), c->verdicts, c->verdicts - c->planted,
			    c->intervals - c->held, c->intervals, c->due - c->due_found, c->due,
			    c->false_keys, c->kinds, c->fields, c->unsettled, c->blank, c->log);
	}
}

static bool
other_is_right(const struct result *r)
{
	return !r->crashed && (kind_healthy(r->kind) ? !r->found : r->both);
}

static void
list_other(const struct result *r, const char *strategy)
{
	if (!other_is_right(r))
		printf(
		    "%s: --kind %s --seed %llu --strategy %s: CV %.0f %%, the cause has %.0f %%, %u cycles, %.0f s, %s: %s\n",
		    r->found ? "WRONG" : "miss", kind_of[r->kind].name, (unsigned long long)r->seed,
		    strategy, r->cause_cv * 100, r->cause_share * 100, r->cycles, r->seconds,
		    r->state, r->outcome);
}

static void
list_misses(const struct result *results, uint32_t n, const char *strategy)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct result *r = &results[i];

		if (r->crashed)
			printf("crashed: --kind %s --seed %llu --strategy %s\n",
			    kind_of[r->kind].name, (unsigned long long)r->seed, strategy);
		else if (r->kind != KIND_tree && r->ended && r->quiet)
			list_other(r, strategy);
		else if (!r->ended || !r->quiet || (r->ncauses > 0 ? !r->both : r->found))
			printf(
			    "miss: --kind %s --seed %llu --strategy %s: %d x %s, %s, %s, %u tracepoints%s, %u cycles: %s%s%s\n",
			    kind_of[r->kind].name, (unsigned long long)r->seed, strategy,
			    r->ncauses, class_word(r->class), hard_word(r->hard),
			    trouble_word(r->trouble), r->size,
			    r->reuse == REUSE_NONE   ? ""
			    : r->reuse == REUSE_NEAR ? " (reused near)"
						     : " (reused far)",
			    r->cycles, !r->ended ? "DID NOT END " : "",
			    !r->quiet ? "NOT QUIET " : "", r->outcome);
	}
}

/* The rows of kinds other than tree. A kind that is not held to its goal is printed, and never missed. */
static int
kind_targets(const struct result *results, uint32_t n, const char *strategy, bool compared)
{
	int missed = 0;

	for (int k = KIND_tree + 1; k < KINDS; k++) {
		uint32_t apps = 0, right = 0, wrong = 0;
		double target = compared ? kind_of[k].compared : kind_of[k].target;
		char what[80];

		for (uint32_t i = 0; i < n; i++)
			if ((int)results[i].kind == k) {
				apps++;
				right += other_is_right(&results[i]);
				wrong += results[i].found && !other_is_right(&results[i]);
			}
		snprintf(what, sizeof what, "%s (%u found and wrong, goal %.0f %%)",
		    kind_of[k].name, wrong, kind_of[k].goal * 100);
		if (target > 0)
			missed += share_target(what, right, apps, target);
		else if (apps > 0)
			printf("no target yet: %s: %u of %u right, %.1f %%\n", what, right, apps,
			    100.0 * right / apps);
	}
	return is_yardstick(strategy) ? 0 : missed;
}

static int
by_kind(const void *x, const void *y)
{
	const struct result *a = x, *b = y;

	return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : a->seed < b->seed ? -1 : 1;
}

int
tally(struct result *results, uint32_t napps, const char *strategy, int per_cycle, bool compared)
{
	uint32_t n = 0; /* of kind tree */
	struct row w = { .cycles = calloc(napps + 1, sizeof(double)),
		.used = calloc(napps + 1, sizeof(double)),
		.most = calloc(napps + 1, sizeof(double)),
		.requests = calloc(napps + 1, sizeof(double)) };
	uint32_t crashed = 0, unquiet = 0;
	int missed = 0;

	if (w.cycles == NULL || w.used == NULL || w.most == NULL || w.requests == NULL)
		stage_die("out of memory", "tally");
	qsort(results, napps, sizeof results[0], by_kind);
	while (n < napps && results[n].kind == KIND_tree)
		n++;
	list_misses(results, napps, strategy);
	list_claims(results, n, strategy);
	tables(&w, results, n, strategy);
	for (uint32_t i = 0; i < napps; i++) {
		crashed += results[i].crashed;
		unquiet += !results[i].crashed && (!results[i].quiet || !results[i].ended);
	}
	row_of(&w, results, n, -1, 1, 1, 0, INFINITY);
	missed += share_target(
	    "the planted edge is the first finding, one cause", w.both, w.n, 0.99);
	row_of(&w, results, n, -1, 2, CAUSES_MAX, 0, INFINITY);
	/* the goal is 95 %: since verdicts have to stand out, 78 to 86 % of few applications are */
	missed += share_target(
	    "the planted edge is the first finding, several causes", w.both, w.n, 0.8);
	row_of(&w, results, n, -1, 0, 0, 0, INFINITY);
	missed += share_target("none found where none is planted", w.n - w.found, w.n, 0.99);
	missed += effort_targets(results, n, strategy, per_cycle);
	missed += claim_targets(results, n);
	if (n == 0)
		missed = 0;
	missed += kind_targets(results, napps, strategy, compared);
	if (is_yardstick(strategy)) {
		printf("%s is a yardstick: no target is its own\n", strategy);
		missed = 0;
	}
	if (crashed + unquiet > 0)
		printf(
		    "MISSED: %u crashed, %u did not end, or left something on\n", crashed, unquiet);
	free(w.cycles);
	free(w.used);
	free(w.most);
	free(w.requests);
	return missed + (crashed + unquiet > 0);
}
