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
#define FLAG(name, written, value, help) FLAG_##name,
#include "cli/flags.tbl.h"
#undef FLAG
	FLAGS
};

#define FLAG_BIT(name) (UINT64_C(1) << FLAG_##name)
/* of commands that ask honed; of those that analyse traces */
#define FLAGS_ASK (FLAG_BIT(SOCKET) | FLAG_BIT(TIMEOUT))
#define FLAGS_ANALYSE                                                                \
	(FLAG_BIT(FORMAT) | FLAG_BIT(CORRELATE) | FLAG_BIT(MAP) | FLAG_BIT(TYPE) |   \
	    FLAG_BIT(IGNORE) | FLAG_BIT(BIN) | FLAG_BIT(CONFIDENCE) | FLAG_BIT(CV) | \
	    FLAG_BIT(MIN_TRACES) | FLAG_BIT(SEED) | FLAG_BIT(MEMORY))

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
	    *hosts[FLAG_REPEATS_MAX + 1];
	double number[FLAGS]; /* values of numeric flags, or their defaults */
	int timeout_ms;
	const struct output *output;
	struct pen *out, *err;
};

struct command {
	const char *name, *arguments;
	int arguments_min, arguments_max; /* number of arguments that are not flags */
	uint64_t flags;                   /* bits of the flags beyond the common ones */
	enum exit_code (*run)(struct invocation *c);
	const char *help;       /* one line */
	const char *more;       /* further lines for --help; may be "" */
	const char *few, *many; /* the error for too few or too many arguments; NULL: a default */
};

/* All commands: wire/questions.tbl.h lists them, cli/command_*.c has them. */
#define COMMAND(name) extern const struct command command_##name;
#include "wire/questions.tbl.h"

/* The name of the flag: "--seed". */
const char *command_flag(enum flag f);

/* Runs the program. Answers go to out; errors, warnings and progress to err. */
enum exit_code command_run(int argc, char **argv, struct pen *out, struct pen *err);

/* ---- for the commands ---- */
struct client;

/* Prints the error to standard error; returns FAILED. */
enum exit_code call_failed(struct invocation *c, const struct err *e);
/* Prints an error of the command line, "hone: WHAT: WHY; did you mean BEST?", or a pointer to --help if best is
 * NULL; returns MISUSED. */
enum exit_code call_misused(
    struct invocation *c, const char *what, const char *why, const char *best);
/* MISUSED after an error if both flags were given, else DONE. */
enum exit_code call_either(struct invocation *c, enum flag a, enum flag b);
int call_connect(struct invocation *c, struct client **client, struct err *e);
/* Sends the question, of which it takes ownership (NULL: its arguments are not UTF-8, ERR_INPUT). 0: *answer is
 * the caller's; otherwise it is NULL, and with --json a refusal of honed has been printed. */
int call_ask(
    struct invocation *c, struct client *client, json_t *question, json_t **answer, struct err *e);
/* The same with a connection of its own. */
int call_ask_once(struct invocation *c, json_t *question, json_t **answer, struct err *e);
/* The same; then prints the answer, as JSON with --json, otherwise with `print`. */
enum exit_code call_ask_and_print(
    struct invocation *c, json_t *question, void (*print)(struct pen *p, const json_t *answer));
/* Writes the text to the file; "-" is standard output. ERR_SYSTEM. */
int call_write(struct invocation *c, const char *path, const struct buf *text, struct err *e);

#endif
