/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/command_line.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggestion.h"
#include "cli/call.h"
#include "cli/client.h"
#include "searchspace/strategy.h"

#define COMMON (FLAG_BIT(JSON) | FLAG_BIT(HELP))

static const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "wire/questions.tbl.h"
	NULL
};

/* The command of this name, or NULL. */
static const struct command *
find_command(const char *name)
{
	for (const struct command *const *k = commands; *k != NULL; k++)
		if (strcmp((*k)->name, name) == 0)
			return *k;
	return NULL;
}

/* ---- help ---- */

static void
print_help(FILE *out)
{
	fputs(
	    "usage: hone COMMAND [TYPE] [FLAGS]\n\n"
	    "Finds out why requests of a distributed application are slow or unpredictable. Enables only\n"
	    "the LTTng tracepoints that help to explain it. All commands talk to the controller honed,\n"
	    "except analyze, annotate, kernel, keys and map, which work on files.\n\n",
	    out);
	for (const struct command *const *c = commands; *c != NULL; c++)
		fprintf(out, "  %s %-*s %s\n", (*c)->name, (int)(18 - strlen((*c)->name)),
		    strlen((*c)->arguments) < 12 ? (*c)->arguments : "...", (*c)->help);
	fputs(
	    "\nhone COMMAND --help describes a command, hone --version prints the version; see hone(1).\n"
	    "Exit status: 0 success, 1 failure, 2 wrong usage.\n",
	    out);
}

static void
print_strategies(FILE *out)
{
	fputs("\nStrategies:\n", out);
	for (unsigned i = 0; strategy_at(i) != NULL; i++)
		fprintf(out, "  %-18s  %s\n", strategy_at(i)->name, strategy_at(i)->help);
}

static void
print_command_help(const struct command *c, FILE *out)
{
	fprintf(out, "usage: hone %s%s%s [FLAGS]\n\n%c%s.\n", c->name,
	    c->arguments[0] != '\0' ? " " : "", c->arguments, c->help[0] - 'a' + 'A', c->help + 1);
	if (c->more[0] != '\0')
		fprintf(out, "%s\n", c->more);
	fputs("\n", out);
	for (int i = 0; i < FLAGS; i++)
		if (flag_in(COMMON | c->flags, i))
			fprintf(out, "  %s %-*s %s\n", flag_texts[i].name,
			    (int)(18 - strlen(flag_texts[i].name)),
			    flag_texts[i].value != NULL ? flag_texts[i].value : "",
			    flag_texts[i].help);
	if (c->flags & FLAG_BIT(STRATEGY))
		print_strategies(out);
}

/* For cli/hone.bash: prints all commands, or the flags of the command `name`, one on each line. */
static void
print_completions(FILE *out, const char *name)
{
	const struct command *k = name != NULL ? find_command(name) : NULL;

	for (const struct command *const *c = commands; name == NULL && *c != NULL; c++)
		fprintf(out, "%s\n", (*c)->name);
	for (int i = 0; k != NULL && i < FLAGS; i++)
		if (flag_in(COMMON | k->flags, i))
			fprintf(out, "%s\n", flag_texts[i].name);
}

/* ---- errors of the command line ---- */

static enum exit_code
unknown_command(struct invocation *c, const char *word)
{
	struct suggestion g = { .said = word };

	if (word[0] == '-')
		return call_misused(c, word,
		    "the command comes first, then its flags: hone COMMAND --socket URL", NULL);
	for (const struct command *const *k = commands; *k != NULL; k++)
		suggestion_try(&g, (*k)->name);
	return call_misused(c, word, "unknown command", g.best);
}

static enum exit_code
unknown_flag(struct invocation *c, const char *word)
{
	struct suggestion g = { .said = word };

	for (int i = 0; i < FLAGS; i++)
		if (flag_in(COMMON | c->command->flags, i))
			suggestion_try(&g, flag_texts[i].name);
	return call_misused(c, word, "unknown flag", g.best);
}

/* ---- reading the command line ---- */

static enum exit_code
take_repeated(struct invocation *c, enum flag f, const char *value)
{
	const char **list = f == FLAG_IGNORE  ? c->ignore
	                    : f == FLAG_HOST  ? c->hosts
	                    : f == FLAG_PID   ? c->pids
	                    : f == FLAG_SPANS ? c->spans
	                                      : c->bins;
	int n = 0;

	while (list[n] != NULL)
		n++;
	if (n == FLAG_REPEATS_MAX)
		return call_misused(c, flag_texts[f].name, "given more than 64 times", NULL);
	list[n] = value;
	return DONE;
}

/* Reads the flag at argv[*i], in the form "--k 3" (which advances *i) or "--k=3". DONE, or MISUSED after an
 * error. */
static enum exit_code
take_flag(struct invocation *c, int argc, char **argv, int *i)
{
	const char *word = argv[*i], *equals = strchr(word, '=');
	size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);

	for (int f = 0; f < FLAGS; f++) {
		if (!flag_in(COMMON | c->command->flags, f) || strlen(flag_texts[f].name) != len ||
		    strncmp(flag_texts[f].name, word, len) != 0)
			continue;
		bool repeats = f == FLAG_IGNORE || f == FLAG_BIN || f == FLAG_HOST ||
		               f == FLAG_PID || f == FLAG_SPANS;

		if (c->value[f] != NULL && !repeats)
			return call_misused(c, flag_texts[f].name, "given twice", NULL);
		if (flag_texts[f].value == NULL && equals != NULL)
			return call_misused(c, flag_texts[f].name, "takes no value", NULL);
		if (flag_texts[f].value != NULL && equals == NULL && ++*i >= argc)
			return call_misused(c, flag_texts[f].name, "needs a value", NULL);
		c->value[f] = flag_texts[f].value == NULL ? ""
		              : equals != NULL            ? equals + 1
		                                          : argv[*i];
		return repeats ? take_repeated(c, (enum flag)f, c->value[f]) : DONE;
	}
	return unknown_flag(c, word);
}

/* Reads the flags and moves the other arguments to the front of argv + 2, where c->arguments points. */
static enum exit_code
take_arguments(struct invocation *c, int argc, char **argv)
{
	bool only_arguments = false;
	enum exit_code code;

	c->arguments = argv + 2;
	for (int i = 2; i < argc; i++) {
		if (!only_arguments && strcmp(argv[i], "--") == 0) {
			only_arguments = true;
		} else if (!only_arguments && argv[i][0] == '-' && argv[i][1] != '\0') {
			if ((code = take_flag(c, argc, argv, &i)) != DONE)
				return code;
		} else if (c->narguments < c->command->arguments_max) {
			argv[2 + c->narguments++] = argv[i];
		} else {
			return call_misused(c, argv[i],
			    c->command->arguments_max == 0 ? "unexpected argument"
			    : c->command->many != NULL     ? c->command->many
							   : "give one request type only",
			    NULL);
		}
	}
	c->type = c->narguments > 0 ? c->arguments[0] : NULL;
	if (c->value[FLAG_HELP] != NULL || c->narguments >= c->command->arguments_min)
		return DONE;
	return call_misused(c, c->command->name,
	    c->command->few != NULL ? c->command->few : "needs an action", NULL);
}

/* Reads a number from min to max; `share` permits percent, as in 10% for 0.1. False: malformed. */
static bool
number(const char *s, double min, double max, bool whole, bool share, double *ret)
{
	bool quantile = share && *s == 'p';
	char *end;

	errno = 0;
	/* p99 is the quantile 0.99 */
	*ret = strtod(quantile ? s + 1 : s, &end);
	if (quantile)
		*ret /= 100;
	if (share && end != s && *end == '%') {
		*ret /= 100;
		end++;
	}
	return end != s + quantile && *end == '\0' && errno == 0 && *ret >= min && *ret <= max &&
	       (!whole || *ret == floor(*ret));
}

static enum exit_code
take_numbers(struct invocation *c)
{
	static const struct {
		enum flag flag;
		double fallback, min, max;
		bool whole, share;
		const char *why;
	} rules[] = {
		{ FLAG_TIMEOUT, 10, 0.001, 86400, false, false,
		    "a number of seconds, up to 86400" },
		{ FLAG_K, 0, 1, 16, true, false, "a whole number from 1 to 16" },
		{ FLAG_SEED, 1, 1, 9007199254740992.0, true, false,
		    "a whole number from 1 to 2^53" },
		{ FLAG_SECONDS, 10, 1, 86400, false, false, "a number of seconds from 1 to 86400" },
		{ FLAG_CONFIDENCE, 0.95, 0.5, 0.9999, false, true, "a share from 50% to 99.99%" },
		{ FLAG_CV, 0.1, 0.001, 10, false, true, "a share from 0.1% to 1000%" },
		{ FLAG_MIN_TRACES, 30, 5, 1e6, true, false, "a whole number from 5 to 1000000" },
		{ FLAG_SUPPORT, 0.95, 0.5, 1, false, true, "a share from 50% to 100%" },
		{ FLAG_EFFORT, 0, 1, 10000, true, false,
		    "a whole number of cycles from 1 to 10000" },
		{ FLAG_EFFECT, 0, 0.001, 1, false, true, "a share from 0.1% to 100%" },
		{ FLAG_CAUSES, 0, 1, 32, true, false, "a whole number from 1 to 32" },
		{ FLAG_TAIL, 0, 0.9, 0.9999, false, true, "a quantile from p90 to p99.99" },
		{ FLAG_RUN, 0, 1, 9007199254740992.0, true, false,
		    "the number of a diagnosis; hone history lists them" },
		{ FLAG_LIMIT, 50, 1, 100000, true, false, "a whole number from 1 to 100000" },
		{ FLAG_SLOWEST, 0, 1, 100000, true, false, "a whole number from 1 to 100000" },
		{ FLAG_OVER, 0, 0, 1e9, false, false, "a number of milliseconds from 0 to 10^9" },
		{ FLAG_CALL_OVER, 0, 0, 1e12, false, false,
		    "a number of microseconds from 0 to 10^12" },
		{ FLAG_DAYS, 365, 1, 36500, false, false, "a number of days from 1 to 36500" },
		{ FLAG_MEMORY, 128, 16, 1048576, true, false,
		    "a whole number of MiB from 16 to 1048576" },
	};

	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
		enum flag f = rules[i].flag;

		c->number[f] = rules[i].fallback;
		/* of capture it may be a quantile */
		if (f == FLAG_OVER && c->command == &command_capture)
			continue;
		if (c->value[f] != NULL && !number(c->value[f], rules[i].min, rules[i].max,
					       rules[i].whole, rules[i].share, &c->number[f]))
			return call_misused(c,
			    pen_printf(c->err, "%s %s", flag_texts[f].name, c->value[f]),
			    pen_printf(c->err, "must be %s", rules[i].why), NULL);
	}
	c->timeout_ms = (int)ceil(c->number[FLAG_TIMEOUT] * 1e3);
	return DONE;
}

static enum exit_code
take_strategy(struct invocation *c)
{
	const char *name = c->value[FLAG_STRATEGY], *all = "";

	if (name == NULL || strategy_find(name) != NULL)
		return DONE;
	for (unsigned i = 0; strategy_at(i) != NULL; i++)
		all = pen_printf(c->err, "%s%s%s", all,
		    i == 0                       ? ""
		    : strategy_at(i + 1) != NULL ? ", "
						 : " and ",
		    strategy_at(i)->name);
	return call_misused(c, pen_printf(c->err, "--strategy %s", name),
	    pen_printf(c->err, "unknown strategy; known are %s", all), NULL);
}

static void
take_defaults(struct invocation *c)
{
	const char *socket = getenv("HONE_SOCKET");

	if (c->value[FLAG_SOCKET] == NULL)
		c->value[FLAG_SOCKET] = socket != NULL && socket[0] != '\0' ? socket
		                                                            : CLIENT_SOCKET;
	c->output = c->value[FLAG_JSON] != NULL ? &output_json : &output_text;
}

enum exit_code
command_run(int argc, char **argv, struct pen *out, struct pen *err)
{
	struct invocation c = { .out = out, .err = err };
	const struct command *k;
	enum exit_code code;

	if (argc < 2) {
		print_help(err->out);
		return MISUSED;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_help(out->out);
		return DONE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		fprintf(out->out, "hone %s\n", HONE_VERSION);
		return DONE;
	}
	if (strcmp(argv[1], "--complete") == 0) {
		print_completions(out->out, argc > 2 ? argv[2] : NULL);
		return DONE;
	}
	if ((k = find_command(argv[1])) == NULL)
		return unknown_command(&c, argv[1]);
	c.command = k;
	if ((code = take_arguments(&c, argc, argv)) != DONE || (code = take_numbers(&c)) != DONE ||
	    (code = take_strategy(&c)) != DONE)
		return code;
	if (c.value[FLAG_HELP] != NULL) {
		print_command_help(k, out->out);
		return DONE;
	}
	take_defaults(&c);
	return k->run(&c);
}
