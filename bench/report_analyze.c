/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs `hone analyze FILES`, also with --json, and prints its speed, as a whole process from start
 * to end, and its peak memory.
 *
 * 	report_analyze HONE RUNS WORDS FILE...
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

struct run {
	double seconds, cpu_seconds, peak_mib;
};

static double
count_of(const json_t *document, const char *key)
{
	return json_number_value(
	    json_object_get(json_object_get(json_object_get(document, "source"), "counts"), key));
}

static json_t *
read_document(FILE *out)
{
	json_error_t why;
	json_t *document;

	rewind(out);
	if ((document = json_loadf(out, 0, &why)) == NULL) {
		fprintf(stderr, "report_analyze: line %d: %s\n", why.line, why.text);
		exit(1);
	}
	return document;
}

/* Runs the program once; its output is left in `out`. */
static struct run
run_once(char **argv, FILE *out)
{
	struct mono begun = clock_mono();
	struct run r = { 0 };
	struct rusage used;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		dup2(fileno(out), STDOUT_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0) {
		fprintf(stderr, "report_analyze: %s failed\n", argv[0]);
		exit(1);
	}
	r.seconds = (double)mono_since_ns(clock_mono(), begun) / 1e9;
	r.cpu_seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	r.peak_mib = (double)used.ru_maxrss / 1024;
	return r;
}

/* The time of the fastest run, and the largest peak memory of all runs. */
static struct run
run_often(char **argv, int runs)
{
	struct run best = { .seconds = INFINITY };
	double peak_mib = 0;

	for (int i = 0; i < runs; i++) {
		FILE *out = tmpfile();
		struct run r = run_once(argv, out);

		peak_mib = fmax(peak_mib, r.peak_mib);
		if (r.seconds < best.seconds)
			best = r;
		fclose(out);
	}
	best.peak_mib = peak_mib;
	return best;
}

static void
print_run(const char *words, const char *how, const json_t *document, const struct run *r)
{
	double traces = count_of(document, "traces"),
	       spans = count_of(document, "spans") + count_of(document, "events");

	printf(
	    "%-30s %-6s %7.0f traces %8.0f spans: %8.1f ms (%.1f of CPU) %7.0f traces/s %9.0f spans/s %6.1f MiB\n",
	    words, how, traces, spans, r->seconds * 1e3, r->cpu_seconds * 1e3, traces / r->seconds,
	    spans / r->seconds, r->peak_mib);
}

int
main(int argc, char **argv)
{
	struct run text, json;
	json_t *document;
	FILE *out;

	if (argc < 5) {
		fputs("usage: report_analyze HONE RUNS WORDS FILE...\n", stderr);
		return 2;
	}
	int runs = atoi(argv[2]);
	const char *words = argv[3];
	char **call = argv + 1;

	call[1] = "analyze";
	call[2] = "--json";
	out = tmpfile();
	run_once(call, out);
	document = read_document(out);
	fclose(out);
	json = run_often(call, runs);
	call[1] = call[0];
	call[2] = "analyze";
	text = run_often(call + 1, runs);
	print_run(words, "", document, &text);
	print_run("", "--json", document, &json);
	json_decref(document);
	return 0;
}
