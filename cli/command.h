/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command of hone, and a command line as parsed. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/flag.h"
#include "cli/output.h"
#include "cli/pen.h"

/* NOTHING_FOUND: a diagnosis whose result is that nothing stands out; PROBLEM_GONE: that the problem has stopped. */
enum exit_code { DONE = 0, FAILED = 1, MISUSED = 2, NOTHING_FOUND = 3, PROBLEM_GONE = 4 };

enum { FLAG_REPEATS_MAX = 64 };

/* A command line as parsed: the command with its arguments and flags. */
struct invocation {
	const struct command *command;
	char *const *arguments; /* those that are not flags, in order */
	int narguments;
	const char *type;         /* the first argument; NULL: none */
	const char *value[FLAGS]; /* NULL: flag not given; "" for a flag without a value */
	/* values of flags that may be repeated; NULL after the last */
	const char *ignore[FLAG_REPEATS_MAX + 1], *bins[FLAG_REPEATS_MAX + 1],
	    *hosts[FLAG_REPEATS_MAX + 1], *pids[FLAG_REPEATS_MAX + 1], *spans[FLAG_REPEATS_MAX + 1];
	double number[FLAGS]; /* values of numeric flags, or their defaults */
	int timeout_ms;
	const struct output *output;
	struct pen *out, *err;
};

struct command {
	const char *name, *arguments;
	int arguments_min, arguments_max; /* number of arguments that are not flags */
	flag_set flags;                   /* beyond the common ones */
	enum exit_code (*run)(struct invocation *c);
	const char *help;       /* one line */
	const char *more;       /* further lines for --help; may be "" */
	const char *few, *many; /* the error for too few or too many arguments; NULL: a default */
};

/* All commands: wire/questions.tbl.h lists them, cli/command_*.c has them. */
#define COMMAND(name) extern const struct command command_##name;
#include "wire/questions.tbl.h"

#endif
