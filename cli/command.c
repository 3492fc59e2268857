/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/command.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggestion.h"
#include "cli/client.h"
#include "searchspace/strategy.h"

#define BIT(f) (UINT64_C(1) << FLAG_##f)
#define COMMON (BIT(JSON) | BIT(HELP))
#define ASK (BIT(SOCKET) | BIT(TIMEOUT))
#define ANALYSE                                                                         \
	(BIT(FORMAT) | BIT(CORRELATE) | BIT(MAP) | BIT(TYPE) | BIT(IGNORE) | BIT(BIN) | \
	    BIT(CONFIDENCE) | BIT(CV) | BIT(MIN_TRACES) | BIT(SEED) | BIT(MEMORY))

static const struct {
	const char *name, *value, *help;
} flags[FLAGS] = {
	[FLAG_SOCKET] = { "--socket", "URL",
	    "socket of honed (default: HONE_SOCKET, then " CLIENT_SOCKET ")" },
	[FLAG_TIMEOUT] = { "--timeout", "SECONDS", "how long to wait for an answer (10)" },
	[FLAG_JSON] = { "--json", NULL, "print the answer as JSON" },
	[FLAG_HELP] = { "--help", NULL, "print this text" },
	[FLAG_WAIT] = { "--wait", NULL, "show the progress, and return when it has ended" },
	[FLAG_STRATEGY] = { "--strategy", "NAME", "how to choose tracepoints, see below" },
	[FLAG_K] = { "--k", "N", "tracepoints to enable in a cycle, 1 to 16 (search.k of honed)" },
	[FLAG_SEED] = { "--seed", "N", "random seed, 1 or more" },
	[FLAG_SECONDS] = { "--seconds", "N", "duration of learning, 1 to 86400 (10)" },
	[FLAG_FORMAT] = { "--format", "NAME", "format of the files (detected by content)" },
	[FLAG_CORRELATE] = { "--correlate", "HOW",
	    "thread=BEGIN..END: a request is what a thread does between these two events" },
	[FLAG_MAP] = { "--map", "FILE",
	    "mapping: the tracepoints that begin and end requests of a program without libhone" },
	[FLAG_EVENTS] = { "--events", "FILE",
	    "saved output of lttng list --userspace --fields; lttng is not run" },
	[FLAG_NO_PROGRAM] = { "--no-program", NULL, "check the file only, not a program" },
	[FLAG_TYPE] = { "--type", "PATTERN", "only request types whose name matches" },
	[FLAG_IGNORE] = { "--ignore", "PATTERN", "labels of excluded waits; may be repeated" },
	[FLAG_BIN] = { "--bin", "RULE",
	    "LABEL.FIELD=CUT,...: separate groups by this field; may be repeated" },
	[FLAG_BASELINE] = { "--baseline", "NAME", "compare with this baseline; a name or a file" },
	[FLAG_CONFIDENCE] = { "--confidence", "SHARE",
	    "confidence of all intervals, 50% to 99.99% (95%)" },
	[FLAG_CV] = { "--cv", "SHARE",
	    "CV threshold for \"unpredictable\": standard deviation / mean (10%)" },
	[FLAG_MIN_TRACES] = { "--min-traces", "N",
	    "fewest traces with which a group is judged (30)" },
	[FLAG_SAMPLES] = { "--samples", NULL, "add single requests to the document" },
	[FLAG_MEMORY] = { "--memory", "MIB",
	    "memory limit for groups and spans, 16 to 1048576 (128)" },
	[FLAG_HTML] = { "--html", "FILE", "also write a page with diagrams to this file" },
	[FLAG_RESET] = { "--reset", NULL, "then begin a new window of traffic" },
	[FLAG_EFFORT] = { "--effort", "CYCLES",
	    "stop after this number of cycles, 1 to 10000 (search.effort of honed)" },
	[FLAG_RUN] = { "--run", "N", "number of the diagnosis; hone history lists them" },
	[FLAG_DOT] = { "--dot", "FILE", "also write a graph for Graphviz; - is standard output" },
	[FLAG_SALVAGE] = { "--salvage", NULL, "recover the readable rows of a damaged database" },
	[FLAG_TRACEPOINT] = { "--tracepoint", "NAME", "provider:event" },
	[FLAG_LIMIT] = { "--limit", "N", "greatest number of rows, 1 to 100000 (50)" },
	[FLAG_VERSION] = { "--version", "NAME", "version of the application" },
	[FLAG_DIR] = { "--dir", "DIR", "folder of certificates and private keys (/etc/hone/keys)" },
	[FLAG_HOST] = { "--host", "NAME",
	    "the only name or address by which agents accept the controller; may be repeated" },
	[FLAG_DAYS] = { "--days", "N", "validity of the certificate, 1 to 36500 (365)" },
	[FLAG_AGAIN] = { "--again", NULL, "replace the existing certificate" },
	[FLAG_SINCE] = { "--since", "TIME",
	    "90s, 10min, 2h or 3d ago; or 2026-11-21, 2026-11-21T14:30" },
	[FLAG_SPACE] = { "--space", "FILE", "file of the learned space (that of honed)" },
};

const struct command commands[] = {
	{ "start", "TYPE", 1, 1, ASK | BIT(WAIT) | BIT(STRATEGY) | BIT(K) | BIT(SEED) | BIT(EFFORT),
	    run_start, "start the diagnosis of a request type",
	    "Searches for the step that makes requests of this type slow or unpredictable, by enabling\n"
	    "and disabling tracepoints. With --wait it shows the progress and then the verdict; the exit\n"
	    "status is 1 if no problem was found." },
	{ "stop", "[TYPE]", 0, 1, ASK, run_stop,
	    "stop the diagnosis of a type, or all diagnoses and learning",
	    "All tracepoints that were added for it are disabled." },
	{ "status", "", 0, 0, ASK, run_status, "show what the controller is doing", "" },
	{ "learn", "", 0, 0, ASK | BIT(WAIT) | BIT(SECONDS) | BIT(VERSION), run_learn,
	    "learn which tracepoints occur in which requests",
	    "Enables all tracepoints for a limited time. Put load on the application that uses all of it.\n"
	    "With --version NAME the result is kept apart from that of other versions." },
	{ "space", "show|stats|versions|export|import|merge|use ...", 1, INT_MAX,
	    ASK | BIT(SPACE) | BIT(VERSION) | BIT(DOT), run_space,
	    "show and manage the learned space",
	    "show TYPE      print the learned graph of a request type, by unit and span\n"
	    "stats [TYPE]   print how much was learned, what is not covered, and what is outdated\n"
	    "versions       list the versions in the file\n"
	    "export FILE    write one version to a new file\n"
	    "merge OUT FILE...  merge several files into a new one\n"
	    "import FILE    add the contents of a file to the space of honed\n"
	    "use NAME       make honed search with this version" },
	{ "forest", "[TYPE]", 0, 2, ASK | BIT(RUN) | BIT(DOT) | BIT(HTML) | BIT(SALVAGE),
	    run_forest, "show the hypotheses of each diagnosis as a tree",
	    "Prints the newest diagnosis of each type, the newest of TYPE, or that of --run N.\n"
	    "hone forest --salvage FILE NEW recovers the readable rows of a damaged database into a new\n"
	    "file, without the controller." },
	{ "why", "TRACE-ID | [slowest] [TYPE]", 0, 2, ASK | BIT(TRACEPOINT), run_why,
	    "explain a trace or a tracepoint",
	    "For a trace: the hypotheses that it belongs to, and its times beside the usual times of its\n"
	    "group. slowest is the slowest trace of the newest verdict (of TYPE). With --tracepoint:\n"
	    "which diagnoses enabled it, when, for which hypothesis, and with which outcome." },
	{ "history", "[TYPE]", 0, 1, ASK | BIT(LIMIT), run_history,
	    "list all diagnoses, newest first", "" },
	{ "diff", "RUN RUN", 2, 2, ASK, run_diff, "compare two diagnoses of a request type",
	    "Shows which verdicts are gone, new or moved, and whether predictions came true." },
	{ "audit", "", 0, 0, ASK | BIT(SINCE) | BIT(LIMIT), run_audit,
	    "list who asked for what, newest first",
	    "Lists all requests of operators that change something, with their result; requests that were\n"
	    "refused; and what Hone disabled by itself." },
	{ "tracepoints", "[PATTERN]", 0, 1, ASK, run_tracepoints,
	    "list all tracepoints, and which are enabled",
	    "In PATTERN, * stands for any text: 'shop_cart:*'." },
	{ "agents", "", 0, 0, ASK, run_agents, "list the agents: queues, losses and cost", "" },
	{ "analyze", "FILE...", 1, INT_MAX, ANALYSE | BIT(BASELINE) | BIT(SAMPLES) | BIT(HTML),
	    run_analyze, "find slow and unpredictable requests in trace files",
	    "Reads files and folders in all formats that hone(1) lists, also compressed by gzip; - is\n"
	    "standard input. Needs no controller. The exit status is 1 only if no trace could be analysed." },
	{ "report", "[TYPE]", 0, 1, ASK | BIT(BASELINE) | BIT(SAMPLES) | BIT(HTML) | BIT(RESET),
	    run_report, "the same for the traffic that the controller sees",
	    "Covers all sampled requests since honed was started, or since --reset." },
	{ "baseline", "save|list|show|delete [NAME [FILE...]]", 1, INT_MAX, ASK | ANALYSE,
	    run_baseline, "keep a window of healthy traffic for comparison",
	    "save NAME FILE... keeps the analysis of these files, save NAME the current report of the\n"
	    "controller; analyze and report compare with it by --baseline NAME." },
	{ "keys", "init|agent|controller|show|revoke [NAME]", 1, 2,
	    BIT(DIR) | BIT(HOST) | BIT(DAYS) | BIT(AGAIN), run_keys,
	    "manage certificates for agents on other machines",
	    "init            create a CA and the controller's certificate\n"
	    "agent NODE      create a folder with the three files for this node\n"
	    "controller --again  replace the controller's certificate\n"
	    "show [NAME]     list all certificates, those of a name, or those in a file; warns of those\n"
	    "                that expire within 30 days\n"
	    "revoke NODE     make honed disconnect this node and refuse it\n"
	    "The daemons read new files without a restart." },
	{ "map", "check|show FILE", 1, 2, BIT(TIMEOUT) | BIT(EVENTS) | BIT(NO_PROGRAM), run_map,
	    "check the mapping of a program without libhone",
	    "check reads the file, asks LTTng for the tracepoints of the running program, and reports each\n"
	    "name and field that does not exist; the exit status is 1 if the mapping has an error. show\n"
	    "prints the mapping as Hone understands it." },
	{ NULL, NULL, 0, 0, 0, NULL, NULL, NULL },
};

const char *
command_flag(enum flag f)
{
	return flags[f].name;
}

/* ---- help ---- */

static void
print_help(FILE *out)
{
	fputs(
	    "usage: hone COMMAND [TYPE] [FLAGS]\n\n"
	    "Finds out why requests of a distributed application are slow or unpredictable. Enables only\n"
	    "the LTTng tracepoints that help to explain it. All commands talk to the controller honed,\n"
	    "except analyze, keys and map, which work on files.\n\n",
	    out);
	for (const struct command *c = commands; c->name != NULL; c++)
		fprintf(out, "  %s %-*s %s\n", c->name, (int)(18 - strlen(c->name)),
		    strlen(c->arguments) < 12 ? c->arguments : "...", c->help);
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
		if ((COMMON | c->flags) & UINT64_C(1) << i)
			fprintf(out, "  %s %-*s %s\n", flags[i].name,
			    (int)(18 - strlen(flags[i].name)),
			    flags[i].value != NULL ? flags[i].value : "", flags[i].help);
	if (c->flags & BIT(STRATEGY))
		print_strategies(out);
}

/* ---- what was meant ---- */

enum exit_code
call_misused(struct call *c, const char *what, const char *why, const char *best)
{
	const char *of = c->command != NULL ? c->command->name : "";

	fprintf(c->err->out, "hone: %s: %s; ", pen_clean(c->err, what), why);
	if (best != NULL)
		fprintf(c->err->out, "did you mean %s?\n", best);
	else
		fprintf(c->err->out, "see hone %s%s--help\n", of, of[0] != '\0' ? " " : "");
	return MISUSED;
}

enum exit_code
call_either(struct call *c, enum flag a, enum flag b)
{
	if (c->value[a] == NULL || c->value[b] == NULL)
		return DONE;
	return call_misused(c, flags[a].name,
	    pen_printf(c->err, "cannot be combined with %s", flags[b].name), NULL);
}

static enum exit_code
unknown_command(struct call *c, const char *word)
{
	struct suggestion g = { .said = word };

	for (const struct command *k = commands; k->name != NULL; k++)
		suggestion_try(&g, k->name);
	return call_misused(c, word, "unknown command", g.best);
}

static enum exit_code
unknown_flag(struct call *c, const char *word)
{
	struct suggestion g = { .said = word };

	for (int i = 0; i < FLAGS; i++)
		if ((COMMON | c->command->flags) & UINT64_C(1) << i)
			suggestion_try(&g, flags[i].name);
	return call_misused(c, word, "unknown flag", g.best);
}

/* ---- reading the command line ---- */

static enum exit_code
take_repeated(struct call *c, enum flag f, const char *value)
{
	const char **list = f == FLAG_IGNORE ? c->ignore : f == FLAG_HOST ? c->hosts : c->bins;
	int n = 0;

	while (list[n] != NULL)
		n++;
	if (n == FLAG_REPEATS_MAX)
		return call_misused(c, flags[f].name, "given more than 64 times", NULL);
	list[n] = value;
	return DONE;
}

/* The flag at argv[*i], in either form, "--k 3" or "--k=3". DONE, or MISUSED. */
static enum exit_code
take_flag(struct call *c, int argc, char **argv, int *i)
{
	const char *word = argv[*i], *equals = strchr(word, '=');
	size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);

	for (int f = 0; f < FLAGS; f++) {
		if (!((COMMON | c->command->flags) & UINT64_C(1) << f) ||
		    strlen(flags[f].name) != len || strncmp(flags[f].name, word, len) != 0)
			continue;
		bool repeats = f == FLAG_IGNORE || f == FLAG_BIN || f == FLAG_HOST;

		if (c->value[f] != NULL && !repeats)
			return call_misused(c, flags[f].name, "given twice", NULL);
		if (flags[f].value == NULL && equals != NULL)
			return call_misused(c, flags[f].name, "takes no value", NULL);
		if (flags[f].value != NULL && equals == NULL && ++*i >= argc)
			return call_misused(c, flags[f].name, "needs a value", NULL);
		c->value[f] = flags[f].value == NULL ? "" : equals != NULL ? equals + 1 : argv[*i];
		return repeats ? take_repeated(c, (enum flag)f, c->value[f]) : DONE;
	}
	return unknown_flag(c, word);
}

/* Moves the words that are no flags to the front of argv + 2, where the call finds them. */
static enum exit_code
take_words(struct call *c, int argc, char **argv)
{
	bool only_words = false;
	enum exit_code code;

	c->words = argv + 2;
	for (int i = 2; i < argc; i++) {
		if (!only_words && strcmp(argv[i], "--") == 0) {
			only_words = true;
		} else if (!only_words && argv[i][0] == '-' && argv[i][1] != '\0') {
			if ((code = take_flag(c, argc, argv, &i)) != DONE)
				return code;
		} else if (c->nwords < c->command->words_max) {
			argv[2 + c->nwords++] = argv[i];
		} else {
			return call_misused(c, argv[i],
			    c->command->words_max == 0    ? "unexpected argument"
			    : c->command->run == run_diff ? "give exactly two diagnoses"
							  : "give one request type only",
			    NULL);
		}
	}
	c->type = c->nwords > 0 ? c->words[0] : NULL;
	if (c->value[FLAG_HELP] != NULL || c->nwords >= c->command->words_min)
		return DONE;
	return call_misused(c, c->command->name,
	    c->command->run == run_start     ? "needs a request type; hone status lists them"
	    : c->command->run == run_analyze ? "needs a file; - is standard input"
	    : c->command->run == run_diff    ? "needs two diagnoses; hone history lists them"
					     : "needs an action",
	    NULL);
}

/* Shares may be written as 0.1 or 10%. */
static bool
number(const char *s, double min, double max, bool whole, bool share, double *ret)
{
	char *end;

	errno = 0;
	*ret = strtod(s, &end);
	if (share && end != s && *end == '%') {
		*ret /= 100;
		end++;
	}
	return end != s && *end == '\0' && errno == 0 && *ret >= min && *ret <= max &&
	       (!whole || *ret == floor(*ret));
}

static enum exit_code
take_numbers(struct call *c)
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
		{ FLAG_EFFORT, 0, 1, 10000, true, false,
		    "a whole number of cycles from 1 to 10000" },
		{ FLAG_RUN, 0, 1, 9007199254740992.0, true, false,
		    "the number of a diagnosis; hone history lists them" },
		{ FLAG_LIMIT, 50, 1, 100000, true, false, "a whole number from 1 to 100000" },
		{ FLAG_DAYS, 365, 1, 36500, false, false, "a number of days from 1 to 36500" },
		{ FLAG_MEMORY, 128, 16, 1048576, true, false,
		    "a whole number of MiB from 16 to 1048576" },
	};

	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
		enum flag f = rules[i].flag;

		c->number[f] = rules[i].fallback;
		if (c->value[f] != NULL && !number(c->value[f], rules[i].min, rules[i].max,
					       rules[i].whole, rules[i].share, &c->number[f]))
			return call_misused(c,
			    pen_printf(c->err, "%s %s", flags[f].name, c->value[f]),
			    pen_printf(c->err, "must be %s", rules[i].why), NULL);
	}
	c->timeout_ms = (int)ceil(c->number[FLAG_TIMEOUT] * 1e3);
	return DONE;
}

static enum exit_code
take_strategy(struct call *c)
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
take_defaults(struct call *c)
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
	struct call c = { .out = out, .err = err };
	const struct command *k = commands;
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
	while (k->name != NULL && strcmp(k->name, argv[1]) != 0)
		k++;
	if (k->name == NULL)
		return unknown_command(&c, argv[1]);
	c.command = k;
	if ((code = take_words(&c, argc, argv)) != DONE || (code = take_numbers(&c)) != DONE ||
	    (code = take_strategy(&c)) != DONE)
		return code;
	if (c.value[FLAG_HELP] != NULL) {
		print_command_help(k, out->out);
		return DONE;
	}
	take_defaults(&c);
	return k->run(&c);
}
