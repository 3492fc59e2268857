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
	const char *help;       /* a line */
	const char *more;       /* for --help; "" */
	const char *few, *many; /* what is wrong with fewer or more words; NULL: a usual text */
};

/* All commands: wire/questions.tbl.h lists them, cli/command_*.c has them. */
#define COMMAND(name) extern const struct command command_##name;
#include "wire/questions.tbl.h"

/* How it is written: "--seed". */
const char *command_flag(enum flag f);

/* The whole program. Writes answers to out, all else to err. */
enum exit_code command_run(int argc, char **argv, struct pen *out, struct pen *err);

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
/* The same, and prints the answer: as JSON if --json was given, else by `print`, for people. */
enum exit_code call_ask_and_print(
    struct call *c, json_t *question, void (*print)(struct pen *p, const json_t *answer));
/* Writes all of it to the file, "-": standard output. */
int call_write(struct call *c, const char *path, const struct buf *text, struct err *e);

#endif
