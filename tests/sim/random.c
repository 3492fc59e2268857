/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plays random applications (random.h) through the real engine, each in a process
 * of its own, and prints how often their causes are found and with what effort.
 *
 * Without --strategy: all strategies except the baselines random and exhaustive.
 *
 *	random [--kind NAME] [--apps N] [--seed N] [--strategy "NAME ..."] [--per-cycle K] [--size-max N] [--jobs N]
 *		[--baseline]		before its causes are there, it is said to be healthy
 *		[--tail PCT]		the tail beyond that percentile is asked for
 *		[--several]		only applications with two or more causes are played, of those with these seeds
 *	random --list-kinds
 *	random --kind NAME --seed N --strategy NAME --verbose	one application (same --size-max): its truth, all hypotheses,
 *							the verdict
 *
 * Without --kind: N applications of kind tree, and N / 10 of each other kind. Application i of a kind has the seed --seed + i, so a miss can be repeated alone. Exit 1: a target of the search was
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

enum { JOBS_MAX = 64, LEARN_TRACES = 45, FEW_TRACES = 10, FAULTY_S = 5 };

static const char USAGE[] =
    "usage: random [--kind NAME] [--apps N] [--seed N] [--strategy \"NAME ...\"] [--per-cycle K] [--size-max N]\n"
    "              [--jobs N] [--effect PCT] [--causes N] [--tail PCT] [--several]\n"
    "              [--baseline] [--verbose]\n"
    "       random --list-kinds\n";

struct options {
	uint32_t apps, jobs, size_max;
	uint64_t seed;
	int kind; /* -1: all */
	const char *strategies;
	int per_cycle;
	double effect_min;  /* 0: that of the stage */
	int64_t causes_max; /* the same */
	double tail;        /* quantile; 0: the variance is searched */
	bool several;
	bool baseline, verbose, list, help;
};
struct job {
	pid_t pid;
	int from; /* read end of a pipe */
	uint32_t app;
};

/* Each other kind is played a tenth as often as trees. */
enum { OTHERS = 10 };

/* Keeps what the application does without its causes. */
static void
keep_baseline(struct made *m, enum kind_number kind)
{
	bool quiet;

	m->faulty = false;
	for (int i = 0; kind != KIND_tree && i < FAULTY_S; i++)
		stage_learn(&m->stage, 0);
	stage_diagnose(&m->stage, m->units[0].name, &(struct start_options){ .healthy = true }, 600,
	    NULL, &quiet);
	m->stage.begun_ns = INT64_MAX;
}

/* Learns from few traces at a time with everything enabled: with 100,000 tracepoints, each trace is
 * large. */
static void
play(const struct options *o, const char *strategy, enum kind_number kind, uint64_t seed,
    struct result *ret)
{
	struct mono begin = clock_mono();
	struct made *m = made_new(kind, seed, o->size_max);
	struct engine_options options = stage_options(seed);
	const struct run *r;
	bool quiet;

	if (o->several && m->ncauses < 2) {
		ret->skipped = true;
		made_free(m);
		return;
	}
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
	m->stage.rate = m->rate;
	if (o->baseline)
		keep_baseline(m, kind);
	m->faulty = true;
	for (int i = 0; kind != KIND_tree && i < FAULTY_S; i++)
		stage_learn(&m->stage, 0); /* queues fill, in a second each */
	r = stage_diagnose(&m->stage, m->units[0].name,
	    &(struct start_options){ .strategy = strategy,
		.tracepoints_per_cycle = o->per_cycle,
		.effect_min = o->effect_min,
		.causes_max = o->causes_max,
		.tail_quantile = o->tail },
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

static uint32_t
others(const struct options *o)
{
	return (o->apps + OTHERS - 1) / OTHERS;
}

static uint32_t
count_apps(const struct options *o)
{
	return o->kind >= 0 ? o->apps : o->apps + (KINDS - 1) * others(o);
}

/* Kind and seed of application i: those of the kind tree come first. */
static struct result
app_of(const struct options *o, uint32_t i)
{
	if (o->kind >= 0 || i < o->apps)
		return (
		    struct result){ .kind = o->kind >= 0 ? (enum kind_number)o->kind : KIND_tree,
			.seed = o->seed + i };
	i -= o->apps;
	return (struct result){ .kind = (enum kind_number)(1 + i / others(o)),
		.seed = o->seed + i % others(o) };
}

static void
start(const struct options *o, const char *strategy, uint32_t app, struct job *j)
{
	struct result r = app_of(o, app);
	int ends[2];

	fflush(stdout);
	if (pipe(ends) != 0 || (j->pid = fork()) < 0)
		stage_die("cannot start a process", strerror(errno));
	if (j->pid == 0) {
		close(ends[0]);
		play(o, strategy, r.kind, r.seed, &r);
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
		    WEXITSTATUS(status) != 0) {
			*r = app_of(o, jobs[i].app);
			r->crashed = true;
		}
		close(jobs[i].from);
		jobs[i] = jobs[--*njobs];
		return;
	}
}

/* Returns how many are left. */
static uint32_t
without_skipped(struct result *results, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!results[i].skipped)
			results[kept++] = results[i];
	return kept;
}

static int
play_all(const struct options *o, const char *strategy)
{
	uint32_t napps = count_apps(o), njobs = 0;
	struct result *results = calloc(napps, sizeof *results);
	struct job jobs[JOBS_MAX];
	struct mono begin = clock_mono();
	double most_s = 0;
	int missed;

	if (results == NULL)
		stage_die("out of memory", "results");
	for (uint32_t i = 0; i < napps; i++) {
		if (njobs == o->jobs)
			take(o, jobs, &njobs, results);
		start(o, strategy, i, &jobs[njobs++]);
	}
	while (njobs > 0)
		take(o, jobs, &njobs, results);
	napps = without_skipped(results, napps);
	missed = tally(results, napps, strategy, o->per_cycle, o->baseline);
	for (uint32_t i = 0; i < napps; i++)
		most_s = fmax(most_s, results[i].wall_s);
	printf("%u applications in %.0f s, the longest %.1f s; seeds from %llu\n", napps,
	    (double)mono_since_ns(clock_mono(), begin) / 1e9, most_s, (unsigned long long)o->seed);
	free(results);
	return missed;
}

static void
play_verbose(const struct options *o, const char *strategy)
{
	struct result r = app_of(o, 0);

	play(o, strategy, r.kind, r.seed, &r);
	if (r.skipped) {
		printf("%llu: skipped, it has no two causes\n", (unsigned long long)r.seed);
		return;
	}
	printf(
	    "%s: %s%s (%s); %u cycles, %u on in all, %u at once; %llu requests in %.1f s (%.1f s of ours)%s%s\n%s\n",
	    strategy,
	    r.ncauses == 0 ? "none planted"
	    : r.both       ? "both ends"
	    : r.either     ? "ONE END"
			   : "MISSED",
	    r.found ? ", found" : ", nothing found", r.state, r.cycles, r.used, r.on_most,
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
		{ "effect", required_argument, NULL, 'e' },
		{ "causes", required_argument, NULL, 'c' },
		{ "tail", required_argument, NULL, 'p' },
		{ "several", no_argument, NULL, 'o' },
		{ "baseline", no_argument, NULL, 'b' },
		{ "kind", required_argument, NULL, 'i' },
		{ "list-kinds", no_argument, NULL, 'l' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int c;

	*o = (struct options){
		.apps = 60, .seed = 1, .per_cycle = 1, .size_max = 100000, .kind = -1
	};
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
		else if (c == 'i' && strcmp(optarg, "all") == 0)
			o->kind = -1;
		else if (c == 'i' && (o->kind = kind_find(optarg)) >= 0)
			;
		else if (c == 'e')
			o->effect_min = strtod(optarg, NULL) / 100;
		else if (c == 'c')
			o->causes_max = atoi(optarg);
		else if (c == 'p')
			o->tail = strtod(optarg, NULL) / 100;
		else if (c == 'o')
			o->several = true;
		else if (c == 'b')
			o->baseline = true;
		else if (c == 'l')
			o->list = true;
		else if (c == 'h')
			o->help = true;
		else if (c == 'v')
			o->verbose = true;
		else
			return -1;
	return optind == argc && o->apps > 0 && o->jobs > 0 && o->jobs <= JOBS_MAX &&
	               o->per_cycle > 0 && o->size_max > 100 && o->size_max <= 200000 &&
	               o->tail >= 0 && o->tail < 1
	           ? 0
	           : -1;
}

static void
list_kinds(void)
{
	printf("%-16s %6s %6s %s\n", "kind", "goal", "target", "what");
	for (int i = 0; i < KINDS; i++) {
		char target[16] = "none";

		if (kind_of[i].target > 0)
			snprintf(target, sizeof target, "%.0f %%", kind_of[i].target * 100);
		printf("%-16s %4.0f %% %6s %s\n", kind_of[i].name, kind_of[i].goal * 100, target,
		    kind_of[i].what);
	}
}

int
main(int argc, char **argv)
{
	struct options o;
	char names[400], *save;
	int missed = 0;

	if (options_of(&o, argc, argv) != 0) {
		fputs(USAGE, stderr);
		return 2;
	}
	if (o.help)
		fputs(USAGE, stdout);
	if (o.list)
		list_kinds();
	if (o.help || o.list)
		return 0;
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
