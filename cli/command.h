/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of hone: a table of commands, a table of flags. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>

#include "cli/output.h"
#include "cli/pen.h"

enum exit_code { DONE = 0, FAILED = 1, MISUSED = 2 };

enum flag {
	FLAG_SOCKET, FLAG_TIMEOUT, FLAG_JSON, FLAG_HELP, FLAG_WAIT, FLAG_STRATEGY, FLAG_K, FLAG_SEED, FLAG_SECONDS, FLAGS
};

struct call {			/* a command with what was said of it */
	const struct command *command;
	const char *type;	/* NULL: not said */
	const char *value[FLAGS];	/* NULL: not said; "" for a flag without a value */
	int timeout_ms;
	long long k, seed;	/* 0: not said */
	double seconds;
	const struct output *output;
	struct pen *out, *err;
};

struct command {
	const char *name, *arguments;
	int type_min, type_max;		/* how many TYPEs */
	unsigned flags;			/* bits of the flags beyond the common ones */
	enum exit_code (*run)(struct call *c);
	const char *help;		/* a line */
	const char *more;		/* for --help */
};

extern const struct command commands[];

/* The whole program. Writes answers to out, all else to err. */
enum exit_code command_run(int argc, char **argv, struct pen *out, struct pen *err);

enum exit_code run_start(struct call *c);
enum exit_code run_stop(struct call *c);
enum exit_code run_status(struct call *c);
enum exit_code run_learn(struct call *c);
enum exit_code run_forest(struct call *c);
enum exit_code run_tracepoints(struct call *c);
enum exit_code run_agents(struct call *c);

#endif
