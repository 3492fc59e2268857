/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone baseline save, list, show, delete. */
#include <limits.h>
#include <string.h>

#include "cli/call.h"
#include "cli/file_analysis.h"
#include "cli/states_analysis.h"
#include "report/baseline_files.h"
#include "report/document.h"

static enum exit_code
ended(struct invocation *c, int rc, const struct err *e)
{
	return rc == 0 ? DONE : call_failed(c, e);
}

/* Without files the report of honed is saved, whose options are in honed.conf: refuses the flags
 * that apply to files only. */
static enum exit_code
check_live(struct invocation *c)
{
	static const enum flag of_files[] = { FLAG_FORMAT, FLAG_CORRELATE, FLAG_IGNORE, FLAG_BIN,
		FLAG_CONFIDENCE, FLAG_CV, FLAG_MIN_TRACES, FLAG_SEED, FLAG_MEMORY, FLAG_GATEWAY,
		FLAG_RULE, FLAG_COUNT };

	for (size_t i = 0; c->narguments == 2 && i < sizeof of_files / sizeof of_files[0]; i++)
		if (c->value[of_files[i]] != NULL) {
			fprintf(c->err->out,
			    "hone: baseline save: %s is for files; without a file the report of honed is saved, whose "
			    "options are in honed.conf(5)\n",
			    flag_texts[of_files[i]].name);
			return MISUSED;
		}
	return DONE;
}

/* Saves the analysis of the files given, or without files the report of honed. */
static enum exit_code
save(struct invocation *c)
{
	const char *name = c->arguments[1];
	json_t *document = NULL;
	struct err e = { 0 };
	enum exit_code code;
	int rc;

	code = analysis_check(c);
	if (code == DONE && c->value[FLAG_STATES] != NULL)
		return states_save(c, name, c->arguments + 2, c->narguments - 2);
	if (code != DONE || (code = check_live(c)) != DONE)
		return code;
	if ((rc = baseline_name_check(name, &e)) == 0)
		rc = c->narguments > 2 ? analysis_run(c, c->arguments + 2, c->narguments - 2,
					     ANALYSIS_DOCUMENT, &document, &e)
		                       : report_fetch(c, c->value[FLAG_TYPE], false, &document, &e);
	if (rc == 0) {
		rc = baseline_save(name, document, &e);
		json_decref(document);
	}
	return ended(c, rc, &e);
}

static enum exit_code
list(struct invocation *c)
{
	json_t *all = NULL;
	struct err e = { 0 };
	int rc = baseline_list(&all, &e);

	if (rc == 0)
		c->output->baselines(c->out, all);
	json_decref(all);
	return ended(c, rc, &e);
}

static enum exit_code
show(struct invocation *c)
{
	json_t *document = NULL;
	struct err e = { 0 };
	int rc = baseline_load_as(c->arguments[1], states_check_any, &document, &e);

	if (rc == 0 && states_is(document) && c->output == &output_text)
		states_print(c->out, document);
	else if (rc == 0)
		c->output->analysis(c->out, document);
	json_decref(document);
	return ended(c, rc, &e);
}

static enum exit_code delete (struct invocation *c) {
	struct err e = { 0 };

	return ended(c, baseline_delete(c->arguments[1], &e), &e);
}

static enum exit_code
run_baseline(struct invocation *c)
{
	static const struct {
		const char *name;
		int arguments_min, arguments_max;
		enum exit_code (*run)(struct invocation *c);
	} verbs[] = {
		{ "save", 2, 1 << 30, save },
		{ "list", 1, 1, list },
		{ "show", 2, 2, show },
		{ "delete", 2, 2, delete },
	};
	const char *verb = c->arguments[0];

	c->type = NULL;
	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
		if (strcmp(verbs[i].name, verb) != 0)
			continue;
		if (c->narguments >= verbs[i].arguments_min &&
		    c->narguments <= verbs[i].arguments_max)
			return verbs[i].run(c);
		fprintf(c->err->out, "hone: baseline %s: %s\n", verb,
		    verbs[i].arguments_max == 1 ? "takes no name"
		    : c->narguments == 1        ? "needs a name; hone baseline list shows them"
						: "give one name only");
		return MISUSED;
	}
	fprintf(c->err->out,
	    "hone: baseline %s: unknown action; must be save, list, show or delete\n",
	    pen_clean(c->err, verb));
	return MISUSED;
}

const struct command command_baseline = {
	.name = "baseline",
	.arguments = "save|list|show|delete [NAME [FILE...]]",
	.arguments_min = 1,
	.arguments_max = INT_MAX,
	.flags = FLAGS_ASK | FLAGS_ANALYSE | FLAG_BIT(STATES) | FLAG_BIT(SUPPORT),
	.run = run_baseline,
	.help = "keep a window of healthy traffic for comparison",
	.more =
	    "save NAME FILE... keeps the analysis of these files, save NAME the current report of the\n"
	    "controller; analyze and report compare with it by --baseline NAME. save --states NAME FILE...\n"
	    "keeps what the operations of kernel recordings usually wait for.",
};
