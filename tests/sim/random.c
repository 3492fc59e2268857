/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plays random applications (random.h) through the real engine, each in a process
 * of its own, and prints how often their causes are found and with what effort.
 *
 * Without --strategy: all strategies except the baselines random and exhaustive.
 *
 *	random [--apps N] [--seed N] [--strategy "NAME ..."] [--per-cycle K] [--size-max N] [--jobs N]
 *	random --seed N --strategy NAME --verbose	one application (same --size-max): its truth, all hypotheses,
 *							the verdict
 *
 * Application i has the seed --seed + i, so a miss can be repeated alone. Exit 1: a target of the search was
 * missed (random_tally.c); 2: wrong usage.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "searchspace/strategy.h"
#include "tests/sim/random.h"

enum { JOBS_MAX = 64, LEARN_TRACES = 45, FEW_TRACES = 10 };

struct options {
	uint32_t apps, jobs, size_max;
	uint64_t seed;
	const char *strategies;
	int per_cycle;
	bool verbose;
};
struct job {
	pid_t pid;
	int from; /* read end of a pipe */
	uint32_t app;
};

/* Learns from few traces at a time with everything enabled: with 100,000 tracepoints, each trace is
 * large. */
static void
play(const struct options *o, const char *strategy, uint64_t seed, struct result *ret)
{
	struct mono begin = clock_mono();
	struct made *m = made_new(seed, o->size_max);
	struct engine_options options = stage_options(seed);
	const struct run *r;
	bool quiet;

	if (o->verbose)
		judge_truth(m);
	stage_open(&m->stage, &options, seed);
	m->learning = true;
	m->faulty = m->learn_faulty;
	m->stage.rate = 10;
	stage_learn(&m->stage, (m->hard == HARD_FEW ? FEW_TRACES : LEARN_TRACES) / m->stage.rate);
	m->learning = false;
	if (m->hard == HARD_VERSION)
		play_version(m);
	m->faulty = true;
	m->stage.rate = m->rate;
	r = stage_diagnose(&m->stage, m->units[0].name,
	    &(struct start_options){ .strategy = strategy, .tracepoints_per_cycle = o->per_cycle },
	    600, NULL, &quiet);
	judge(m, r, quiet, ret);
	claims_of(m, r, o->verbose, &ret->claims);
	ret->requests = m->stage.requests;
	ret->seconds = (double)(m->stage.now_ns - m->stage.begun_ns) / 1e9;
	ret->wall_s = (double)mono_since_ns(clock_mono(), begin) / 1e9;
	if (o->verbose)
		judge_verbose(m, r);
	stage_close(&m->stage);
	made_free(m);
}

static void
start(const struct options *o, const char *strategy, uint32_t app, struct job *j)
{
	struct result r = { .seed = o->seed + app };
	int ends[2];

	fflush(stdout);
	if (pipe(ends) != 0 || (j->pid = fork()) < 0)
		stage_die("cannot start a process", strerror(errno));
	if (j->pid == 0) {
		close(ends[0]);
		play(o, strategy, r.seed, &r);
		fflush(stdout);
		_Exit(write(ends[1], &r, sizeof r) == (ssize_t)sizeof r ? 0 : 1);
	}
	close(ends[1]);
	j->from = ends[0];
	j->app = app;
}

/* Waits for one job and takes its result, which is shorter than PIPE_BUF and thus complete in the
 * pipe. */
static void
take(const struct options *o, struct job *jobs, uint32_t *njobs, struct result *results)
{
	int status;
	pid_t pid = waitpid(-1, &status, 0);

	for (uint32_t i = 0; i < *njobs; i++) {
		struct result *r = &results[jobs[i].app];

		if (jobs[i].pid != pid)
			continue;
		if (read(jobs[i].from, r, sizeof *r) != (ssize_t)sizeof *r || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 0)
			*r = (struct result){ .seed = o->seed + jobs[i].app, .crashed = true };
		close(jobs[i].from);
		jobs[i] = jobs[--*njobs];
		return;
	}
}

static int
play_all(const struct options *o, const char *strategy)
{
	struct result *results = calloc(o->apps, sizeof *results);
	struct job jobs[JOBS_MAX];
	uint32_t njobs = 0;
	struct mono begin = clock_mono();
	double most_s = 0;
	int missed;

	if (results == NULL)
		stage_die("out of memory", "results");
	for (uint32_t i = 0; i < o->apps; i++) {
		if (njobs == o->jobs)
			take(o, jobs, &njobs, results);
		start(o, strategy, i, &jobs[njobs++]);
	}
	while (njobs > 0)
		take(o, jobs, &njobs, results);
	missed = tally(results, o->apps, strategy, o->per_cycle);
	for (uint32_t i = 0; i < o->apps; i++)
		most_s = fmax(most_s, results[i].wall_s);
	printf("%u applications in %.0f s, the longest %.1f s; seeds from %llu\n", o->apps,
	    (double)mono_since_ns(clock_mono(), begin) / 1e9, most_s, (unsigned long long)o->seed);
	free(results);
	return missed;
}

static void
play_verbose(const struct options *o, const char *strategy)
{
	struct result r = { .seed = o->seed };

	play(o, strategy, o->seed, &r);
	printf(
	    "%s: %s%s; %u cycles, %u on in all, %u at once; %llu requests in %.1f s (%.1f s of ours)%s%s\n%s\n",
	    strategy,
	    r.ncauses == 0 ? "none planted"
	    : r.both       ? "both ends"
	    : r.either     ? "ONE END"
			   : "MISSED",
	    r.found ? ", found" : ", nothing found", r.cycles, r.used, r.on_most,
	    (unsigned long long)r.requests, r.seconds, r.wall_s, r.ended ? "" : "; DID NOT END",
	    r.quiet ? "" : "; NOT QUIET", r.outcome);
}

static int
options_of(struct options *o, int argc, char **argv)
{
	static const struct option LONG[] = {
		{ "apps", required_argument, NULL, 'a' },
		{ "seed", required_argument, NULL, 's' },
		{ "strategy", required_argument, NULL, 't' },
		{ "per-cycle", required_argument, NULL, 'k' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "size-max", required_argument, NULL, 'm' },
		{ "verbose", no_argument, NULL, 'v' },
		{ 0 },
	};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int c;

	*o = (struct options){ .apps = 60, .seed = 1, .per_cycle = 1, .size_max = 100000 };
	o->jobs = cores > 0 && cores < JOBS_MAX ? (uint32_t)cores : 1;
	while ((c = getopt_long(argc, argv, "", LONG, NULL)) != -1)
		if (c == 'a')
			o->apps = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 's')
			o->seed = strtoull(optarg, NULL, 10);
		else if (c == 't')
			o->strategies = optarg;
		else if (c == 'k')
			o->per_cycle = atoi(optarg);
		else if (c == 'j')
			o->jobs = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'm')
			o->size_max = (uint32_t)strtoul(optarg, NULL, 10);
		else if (c == 'v')
			o->verbose = true;
		else
			return -1;
	return optind == argc && o->apps > 0 && o->jobs > 0 && o->jobs <= JOBS_MAX &&
	               o->per_cycle > 0 && o->size_max > 100 && o->size_max <= 200000
	           ? 0
	           : -1;
}

int
main(int argc, char **argv)
{
	struct options o;
	char names[400], *save;
	int missed = 0;

	if (options_of(&o, argc, argv) != 0) {
		fprintf(stderr,
		    "usage: random [--apps N] [--seed N] [--strategy \"NAME ...\"] [--per-cycle K] [--size-max N] [--jobs N] "
		    "[--verbose]\n");
		return 2;
	}
	snprintf(names, sizeof names, "%s", o.strategies != NULL ? o.strategies : "");
	for (unsigned i = 0; o.strategies == NULL && strategy_at(i) != NULL; i++)
		if (strcmp(strategy_at(i)->name, "random") != 0 &&
		    strcmp(strategy_at(i)->name, "exhaustive") != 0)
			snprintf(names + strlen(names), sizeof names - strlen(names), "%s ",
			    strategy_at(i)->name);
	for (char *name = strtok_r(names, " ,", &save); name != NULL;
	     name = strtok_r(NULL, " ,", &save))
		if (strategy_find(name) == NULL) {
			fprintf(stderr, "random: there is no strategy %s\n", name);
			missed++;
		} else if (o.verbose) {
			play_verbose(&o, name);
		} else {
			missed += play_all(&o, name);
		}
	return missed > 0;
}
