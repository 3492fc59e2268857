/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of hone: a table of commands, a table of flags. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/output.h"
#include "cli/pen.h"

enum exit_code { DONE = 0, FAILED = 1, MISUSED = 2 };

enum flag {
	FLAG_SOCKET,
	FLAG_TIMEOUT,
	FLAG_JSON,
	FLAG_HELP,
	FLAG_WAIT,
	FLAG_STRATEGY,
	FLAG_K,
	FLAG_SEED,
	FLAG_SECONDS,
	FLAG_FORMAT,
	FLAG_CORRELATE,
	FLAG_TYPE,
	FLAG_IGNORE,
	FLAG_BIN,
	FLAG_BASELINE,
	FLAG_CONFIDENCE,
	FLAG_CV,
	FLAG_MIN_TRACES,
	FLAG_SAMPLES,
	FLAG_MEMORY,
	FLAG_HTML,
	FLAG_RESET,
	FLAG_EFFORT,
	FLAG_RUN,
	FLAG_DOT,
	FLAG_SALVAGE,
	FLAG_TRACEPOINT,
	FLAG_LIMIT,
	FLAG_VERSION,
	FLAG_SPACE,
	FLAG_SINCE,
	FLAG_DIR,
	FLAG_HOST,
	FLAG_DAYS,
	FLAG_AGAIN,
	FLAG_MAP,
	FLAG_EVENTS,
	FLAG_NO_PROGRAM,
	FLAGS
};

enum { FLAG_REPEATS_MAX = 64 };

struct call { /* a command with what was said of it */
	const struct command *command;
	char *const *words; /* what is no flag, in order */
	int nwords;
	const char *type;         /* the first of them; NULL: not said */
	const char *value[FLAGS]; /* NULL: not said; "" for a flag without a value */
	const char *ignore[FLAG_REPEATS_MAX + 1], *bins[FLAG_REPEATS_MAX + 1],
	    *hosts[FLAG_REPEATS_MAX + 1]; /* flags that
may be repeated; NULL at the end */
	double number[FLAGS];             /* of flags that take one, or what holds without */
	int timeout_ms;
	const struct output *output;
	struct pen *out, *err;
};

struct command {
	const char *name, *arguments;
	int words_min, words_max; /* how many words that are no flags */
	uint64_t flags;           /* bits of the flags beyond the common ones */
	enum exit_code (*run)(struct call *c);
	const char *help; /* a line */
	const char *more; /* for --help */
};

extern const struct command commands[];

/* How it is written: "--seed". */
const char *command_flag(enum flag f);

/* The whole program. Writes answers to out, all else to err. */
enum exit_code command_run(int argc, char **argv, struct pen *out, struct pen *err);

enum exit_code run_start(struct call *c);
enum exit_code run_stop(struct call *c);
enum exit_code run_status(struct call *c);
enum exit_code run_learn(struct call *c);
enum exit_code run_forest(struct call *c);
enum exit_code run_tracepoints(struct call *c);
enum exit_code run_agents(struct call *c);
enum exit_code run_analyze(struct call *c);
enum exit_code run_report(struct call *c);
enum exit_code run_baseline(struct call *c);
enum exit_code run_why(struct call *c);
enum exit_code run_history(struct call *c);
enum exit_code run_diff(struct call *c);
enum exit_code run_audit(struct call *c);
enum exit_code run_space(struct call *c);
enum exit_code run_keys(struct call *c);
enum exit_code run_map(struct call *c);

/* ---- for those ---- */
struct client;

/* Says on standard error what failed. FAILED. */
enum exit_code call_failed(struct call *c, const struct err *e);
/* Says what is wrong with the command line: "hone: WHAT: WHY", or what was meant. MISUSED. */
enum exit_code call_misused(struct call *c, const char *what, const char *why, const char *best);
/* These two contradict each other, if both were said. DONE or MISUSED. */
enum exit_code call_either(struct call *c, enum flag a, enum flag b);
int call_connect(struct call *c, struct client **client, struct err *e);
/* Takes the question; *answer is the caller's, NULL unless 0 is returned. A no of honed is printed
 * with --json. */
int call_ask(
    struct call *c, struct client *client, json_t *question, json_t **answer, struct err *e);
/* Connects and asks one question, which is taken; *answer is the caller's. */
int call_ask_once(struct call *c, json_t *question, json_t **answer, struct err *e);
/* The same, and prints the answer. */
enum exit_code call_ask_and_print(
    struct call *c, json_t *question, void (*print)(struct pen *p, const json_t *answer));
/* Writes all of it to the file, "-": standard output. */
int call_write(struct call *c, const char *path, const struct buf *text, struct err *e);

#endif
