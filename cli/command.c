/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/command.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
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
	    "where honed listens (HONE_SOCKET, else " CLIENT_SOCKET ")" },
	[FLAG_TIMEOUT] = { "--timeout", "SECONDS", "how long to wait for an answer (10)" },
	[FLAG_JSON] = { "--json", NULL, "print the answer as JSON" },
	[FLAG_HELP] = { "--help", NULL, "this text" },
	[FLAG_WAIT] = { "--wait", NULL, "stay until it has ended" },
	[FLAG_STRATEGY] = { "--strategy", "NAME", "how to choose tracepoints, see below" },
	[FLAG_K] = { "--k", "N",
	    "so many tracepoints in a cycle, 1 to 16 (as honed is configured)" },
	[FLAG_SEED] = { "--seed", "N", "where chance starts, 1 or more" },
	[FLAG_SECONDS] = { "--seconds", "N", "how long to learn, 1 to 86400 (10)" },
	[FLAG_FORMAT] = { "--format", "NAME", "of the files (by their content)" },
	[FLAG_CORRELATE] = { "--correlate", "HOW",
	    "thread=BEGIN..END: a request is what a thread does between these" },
	[FLAG_MAP] = { "--map", "FILE",
	    "which tracepoints begin and end requests, of a program without libhone" },
	[FLAG_EVENTS] = { "--events", "FILE",
	    "what lttng list --userspace --fields wrote, in place of asking" },
	[FLAG_NO_PROGRAM] = { "--no-program", NULL, "look at the file alone" },
	[FLAG_TYPE] = { "--type", "PATTERN", "only request types of such names" },
	[FLAG_IGNORE] = { "--ignore", "PATTERN", "labels whose waits are meant; may be repeated" },
	[FLAG_BIN] = { "--bin", "RULE", "LABEL.FIELD=CUT,..: groups apart by it; may be repeated" },
	[FLAG_BASELINE] = { "--baseline", "NAME", "what has changed since then; a name or a file" },
	[FLAG_CONFIDENCE] = { "--confidence", "SHARE", "of all intervals, 50% to 99.99% (95%)" },
	[FLAG_CV] = { "--cv", "SHARE", "more is unpredictable: standard deviation / mean (10%)" },
	[FLAG_MIN_TRACES] = { "--min-traces", "N",
	    "no judgement of groups with fewer traces (30)" },
	[FLAG_SAMPLES] = { "--samples", NULL, "with single requests in the document" },
	[FLAG_MEMORY] = { "--memory", "MIB", "for what is kept, 16 to 1048576 (128)" },
	[FLAG_HTML] = { "--html", "FILE", "write a page with pictures there, too" },
	[FLAG_RESET] = { "--reset", NULL, "and begin the window of traffic anew" },
	[FLAG_EFFORT] = { "--effort", "CYCLES",
	    "give up after so many, 1 to 10000 (as honed is configured)" },
	[FLAG_RUN] = { "--run", "N", "that diagnosis; hone history lists them" },
	[FLAG_DOT] = { "--dot", "FILE",
	    "write a graph for graphviz there, too; - is standard output" },
	[FLAG_SALVAGE] = { "--salvage", NULL, "read what can be read of a damaged database" },
	[FLAG_TRACEPOINT] = { "--tracepoint", "NAME", "provider:event" },
	[FLAG_LIMIT] = { "--limit", "N", "at most so many, 1 to 100000 (50)" },
	[FLAG_VERSION] = { "--version", "NAME", "of the application" },
	[FLAG_DIR] = { "--dir", "DIR", "of keys (/etc/hone/keys)" },
	[FLAG_HOST] = { "--host", "NAME",
	    "the controller is dialled by this, and no other; may be repeated" },
	[FLAG_DAYS] = { "--days", "N", "so long is it valid, 1 to 36500 (365)" },
	[FLAG_AGAIN] = { "--again", NULL, "in place of the one that is there" },
	[FLAG_SINCE] = { "--since", "TIME",
	    "90s, 10min, 2h or 3d ago; or 2026-11-21, 2026-11-21T14:30" },
	[FLAG_SPACE] = { "--space", "FILE", "the space's file (where honed has it)" },
};

const struct command commands[] = {
	{ "start", "TYPE", 1, 1, ASK | BIT(WAIT) | BIT(STRATEGY) | BIT(K) | BIT(SEED) | BIT(EFFORT),
	    run_start, "begin to diagnose a request type",
	    "Looks for the place that makes requests of this type slow or unpredictable, by turning\n"
	    "tracepoints on and off. With --wait shows how far it is and then the verdict; ends with 1\n"
	    "when nothing was found." },
	{ "stop", "[TYPE]", 0, 1, ASK, run_stop, "end one diagnosis, or all and learning too",
	    "Every tracepoint that was added for it goes off." },
	{ "status", "", 0, 0, ASK, run_status, "what the controller does now", "" },
	{ "learn", "", 0, 0, ASK | BIT(WAIT) | BIT(SECONDS) | BIT(VERSION), run_learn,
	    "turn all tracepoints on for a while, to learn what there is",
	    "Put load on the application meanwhile that uses all of it. With --version NAME what is\n"
	    "learned is kept apart, beside that of other versions of the application." },
	{ "space", "show|stats|versions|export|import|merge|use ...", 1, INT_MAX,
	    ASK | BIT(SPACE) | BIT(VERSION) | BIT(DOT), run_space,
	    "what was learned of the application",
	    "show TYPE draws what was learned of a request type, by unit and span; stats says how much\n"
	    "there is, what is not covered and what is stale; versions lists the versions in the file;\n"
	    "export FILE writes one of them to a file of its own, merge OUT FILE... several as one;\n"
	    "import FILE has honed learn what is in it, use NAME search with that version." },
	{ "forest", "[TYPE]", 0, 2, ASK | BIT(RUN) | BIT(DOT) | BIT(HTML) | BIT(SALVAGE),
	    run_forest, "the tree of hypotheses of each diagnosis",
	    "The newest of each type, or of this one, or --run N. hone forest --salvage FILE NEW writes\n"
	    "what can still be read of a damaged database to a new one, and needs no controller." },
	{ "why", "TRACE-ID | [slowest] [TYPE]", 0, 2, ASK | BIT(TRACEPOINT), run_why,
	    "what is known of a trace, or a tracepoint",
	    "Which hypotheses a trace belongs to, what they say, and where its time went beside what its\n"
	    "group usually takes; of the slowest trace of the newest verdict (of this type), or of any\n"
	    "whose id is known. With --tracepoint: who turned it on, when, for what, with what outcome." },
	{ "history", "[TYPE]", 0, 1, ASK | BIT(LIMIT), run_history, "all diagnoses, newest first",
	    "" },
	{ "diff", "RUN RUN", 2, 2, ASK, run_diff,
	    "what has changed between two diagnoses of a type",
	    "Verdicts that are gone, new or moved; and whether what was foretold has happened." },
	{ "audit", "", 0, 0, ASK | BIT(SINCE) | BIT(LIMIT), run_audit,
	    "who asked for what, newest first",
	    "All that operators asked that changes something, with what came of it; what they were refused;\n"
	    "and what Hone switched off by itself." },
	{ "tracepoints", "[PATTERN]", 0, 1, ASK, run_tracepoints,
	    "all tracepoints, and which are on",
	    "Or those of such names: * stands for any text, so 'shop_cart:*'." },
	{ "agents", "", 0, 0, ASK, run_agents, "the agents: their queues, losses and cost", "" },
	{ "analyze", "FILE...", 1, INT_MAX, ANALYSE | BIT(BASELINE) | BIT(SAMPLES) | BIT(HTML),
	    run_analyze, "what makes requests slow or unpredictable, from trace files",
	    "Reads files and folders in all formats that hone(1) names, gzip too; - is standard\n"
	    "input. Needs no controller. Ends with 1 only when nothing could be analysed." },
	{ "report", "[TYPE]", 0, 1, ASK | BIT(BASELINE) | BIT(SAMPLES) | BIT(HTML) | BIT(RESET),
	    run_report, "the same, of the traffic that the controller sees",
	    "Of all sampled requests since honed was started, or since --reset." },
	{ "baseline", "save|list|show|delete [NAME [FILE...]]", 1, INT_MAX, ASK | ANALYSE,
	    run_baseline, "keep a healthy window under a name, to compare with",
	    "save NAME FILE... keeps what these files say, save NAME what the controller sees now;\n"
	    "analyze and report compare with it by --baseline NAME." },
	{ "keys", "init|agent|controller|show|revoke [NAME]", 1, 2,
	    BIT(DIR) | BIT(HOST) | BIT(DAYS) | BIT(AGAIN), run_keys,
	    "certificates, for agents on other machines",
	    "init makes a CA and the controller's keys; agent NODE a folder with the three files that\n"
	    "belong on that node; revoke NODE has honed hang up on it; show lists all, or what is of one\n"
	    "name or in a FILE, and warns of what expires within 30 days. agent NODE --again and\n"
	    "controller --again make new ones; daemons take them without a restart." },
	{ "map", "check|show FILE", 1, 2, BIT(TIMEOUT) | BIT(EVENTS) | BIT(NO_PROGRAM), run_map,
	    "which tracepoints of a program without libhone are its requests",
	    "check reads the file, asks LTTng what the program that runs has, and tells each name and field\n"
	    "that does not exist; it ends with 1 when something is wrong. show says what Hone understands." },
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
	    "Finds out why requests are slow or unpredictable, by turning on only the tracepoints\n"
	    "that tell. Talks to the controller honed; analyze works on files alone.\n\n",
	    out);
	for (const struct command *c = commands; c->name != NULL; c++)
		fprintf(out, "  %s %-*s %s\n", c->name, (int)(18 - strlen(c->name)),
		    strlen(c->arguments) < 12 ? c->arguments : "...", c->help);
	fputs("\n  hone COMMAND --help says more; hone --version; see hone(1)\n"
	      "  Ends with 0 done, 1 failed, 2 misused.\n",
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
		fprintf(c->err->out, "hone %s%s--help says what there is\n", of,
		    of[0] != '\0' ? " " : "");
	return MISUSED;
}

enum exit_code
call_either(struct call *c, enum flag a, enum flag b)
{
	if (c->value[a] == NULL || c->value[b] == NULL)
		return DONE;
	return call_misused(
	    c, flags[a].name, pen_printf(c->err, "not together with %s", flags[b].name), NULL);
}

static enum exit_code
unknown_command(struct call *c, const char *word)
{
	struct nearest g = { .said = word };

	for (const struct command *k = commands; k->name != NULL; k++)
		nearest_try(&g, k->name);
	return call_misused(c, word, "no such command", g.best);
}

static enum exit_code
unknown_flag(struct call *c, const char *word)
{
	struct nearest g = { .said = word };

	for (int i = 0; i < FLAGS; i++)
		if ((COMMON | c->command->flags) & UINT64_C(1) << i)
			nearest_try(&g, flags[i].name);
	return call_misused(c, word, "no such flag", g.best);
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
		return call_misused(c, flags[f].name, "given over 64 times", NULL);
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
			    c->command->words_max == 0    ? "takes no such word"
			    : c->command->run == run_diff ? "two diagnoses at a time"
							  : "one request type at a time",
			    NULL);
		}
	}
	c->type = c->nwords > 0 ? c->words[0] : NULL;
	if (c->value[FLAG_HELP] != NULL || c->nwords >= c->command->words_min)
		return DONE;
	return call_misused(c, c->command->name,
	    c->command->run == run_start     ? "which request type? hone status lists them"
	    : c->command->run == run_analyze ? "which files? - is standard input"
	    : c->command->run == run_diff    ? "which two diagnoses? hone history lists them"
					     : "to do what?",
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
			    pen_printf(c->err, "it takes %s", rules[i].why), NULL);
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
	    pen_printf(c->err, "no such strategy, there are %s", all), NULL);
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
