/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone space: shows and manages the learned space. Only import and use change the space of honed;
 * the others read its file, and ask honed only for the path. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/call.h"
#include "cli/command.h"
#include "cli/space_document.h"
#include "wire/question.h"

/* A space read from a file, with its labels. */
struct loaded_space {
	struct labels *labels;
	struct space *space;
};

static void
release(struct loaded_space *l)
{
	space_free(l->space);
	labels_free(l->labels);
}

static int
open_empty(struct loaded_space *l, struct err *e)
{
	l->labels = labels_new();
	l->space = l->labels != NULL ? space_new(l->labels) : NULL;
	return l->space != NULL ? 0 : err_set(e, ERR_MEMORY, "out of memory");
}

/* *path: the argument of --space, or the file that honed uses. *version: that of --version, or the
 * one that honed searches, or NULL: the newest one of the file. */
static int
find_space(struct invocation *c, const char **path, const char **version, struct err *e)
{
	json_t *answer, *controller;
	int rc;

	*version = c->value[FLAG_VERSION];
	if ((*path = c->value[FLAG_SPACE]) != NULL)
		return 0;
	if ((rc = call_ask_once(c, json_pack("{s:s}", "ask", "status"), &answer, e)) < 0)
		return err_prefix(
		    e, "cannot ask honed for the file of the space; give it with --space FILE");
	controller = json_object_get(answer, "controller");
	*path = pen_printf(c->out, "%s", json_string_value(json_object_get(controller, "space")));
	if (*version == NULL)
		*version = pen_printf(c->out, "%s", text_of(c->out, controller, "space_version"));
	json_decref(answer);
	return 0;
}

/* Replaces the error for a missing file of honed, which the user did not name: the space has not
 * been learned. */
static int
explain_missing(const struct invocation *c, const char *path, int rc, struct err *e)
{
	if (rc != ERR_MISSING || c->value[FLAG_SPACE] != NULL || access(path, F_OK) == 0)
		return rc;
	return err_set(e, ERR_MISSING, "%s: nothing has been learned yet; run hone learn", path);
}

static int
load(struct invocation *c, struct loaded_space *l, const char **path, struct err *e)
{
	const char *version;
	int rc = find_space(c, path, &version, e);

	if (rc == 0 && (rc = open_empty(l, e)) == 0)
		rc = explain_missing(
		    c, *path, space_load(l->space, l->labels, *path, version, e), e);
	return rc;
}

static enum exit_code
finish(struct invocation *c, int rc, const struct err *e)
{
	return rc == 0 ? DONE : call_failed(c, e);
}

static enum exit_code
done(struct invocation *c, const char *key, const char *value, const char *text)
{
	json_t *o = json_pack(
	    "{s:i, s:b, s:s, s:s}", "version", ANSWER_VERSION, "ok", 1, key, value, "words", text);

	c->output->done(c->out, o);
	json_decref(o);
	return DONE;
}

/* "version 2.0", or "the unnamed version". */
static const char *
version_text(struct invocation *c, const char *name)
{
	return name[0] != '\0' ? pen_printf(c->out, "version %s", name) : "the unnamed version";
}

/* ---- show, stats, versions ---- */

static int
write_dot(struct invocation *c, const json_t *document, struct err *e)
{
	struct buf text = { 0 };
	int rc;

	if (c->value[FLAG_DOT] == NULL)
		return 0;
	dot_space(&text, document);
	rc = text.failed ? err_set(e, ERR_MEMORY, "out of memory")
	                 : call_write(c, c->value[FLAG_DOT], &text, e);
	buf_release(&text);
	return rc;
}

static enum exit_code
show(struct invocation *c)
{
	struct loaded_space l = { 0 };
	json_t *document = NULL;
	const char *path;
	uint32_t type;
	struct err e;
	int rc;

	if ((rc = load(c, &l, &path, &e)) == 0 &&
	    (rc = space_find_type(&type, l.space, l.labels, c->arguments[1], &e)) == 0) {
		document = space_document(l.space, l.labels, type, path);
		rc = write_dot(c, document, &e);
	}
	if (rc == 0 && (c->value[FLAG_DOT] == NULL || strcmp(c->value[FLAG_DOT], "-") != 0))
		c->output->space(c->out, document);
	json_decref(document);
	release(&l);
	return finish(c, rc, &e);
}

/* Adds what only honed knows about the version that it searches: learned tracepoints that no longer
 * exist, and existing ones that were never seen. Not for a file given with --space. */
static int
add_live(struct invocation *c, json_t *document, struct err *e)
{
	json_t *answer;
	int rc;

	if (c->value[FLAG_SPACE] != NULL)
		return 0;
	if ((rc = call_ask_once(c, json_pack("{s:s}", "ask", "space"), &answer, e)) < 0)
		return rc;
	if (strcmp(text_of(c->out, json_object_get(answer, "space_version"), "name"),
		text_of(c->out, json_object_get(document, "space_version"), "name")) == 0) {
		json_object_set(document, "stale", json_object_get(answer, "stale"));
		json_object_set(document, "never_seen", json_object_get(answer, "never_seen"));
		json_object_set(document, "never_seen_left_off",
		    json_object_get(answer, "never_seen_left_off"));
	}
	json_decref(answer);
	return 0;
}

static enum exit_code
stats(struct invocation *c)
{
	struct loaded_space l = { 0 };
	json_t *document = NULL;
	const char *path;
	uint32_t type = LABEL_NONE;
	struct err e;
	int rc;

	if ((rc = load(c, &l, &path, &e)) == 0 && c->narguments > 1)
		rc = space_find_type(&type, l.space, l.labels, c->arguments[1], &e);
	if (rc == 0) {
		document = space_document(l.space, l.labels, type, path);
		if (type != LABEL_NONE)
			json_object_del(
			    json_array_get(json_object_get(document, "types"), 0), "graph");
		rc = add_live(c, document, &e);
	}
	if (rc == 0)
		c->output->space_stats(c->out, document);
	json_decref(document);
	release(&l);
	return finish(c, rc, &e);
}

static enum exit_code
versions(struct invocation *c)
{
	json_t *document = NULL;
	const char *path, *version;
	struct err e;
	int rc;

	if ((rc = find_space(c, &path, &version, &e)) == 0)
		rc = explain_missing(c, path, space_versions_document(&document, path, &e), &e);
	if (rc == 0)
		c->output->versions(c->out, document);
	json_decref(document);
	return finish(c, rc, &e);
}

/* ---- export, merge ---- */

/* Saves to a temporary file in the same folder, then links it to `path`. link() fails if the name
 * exists, so no file is ever overwritten, even if one is created at the same time. */
static int
save_new(const struct space *s, const char *path, struct err *e)
{
	char beside[PATH_MAX];
	int rc;

	if (snprintf(beside, sizeof beside, "%s.hone-%d", path, (int)getpid()) >=
	    (int)sizeof beside)
		return err_set(e, ERR_INPUT, "the file name is too long");
	if (access(path, F_OK) == 0)
		return err_set(e, ERR_STORE, "%s: already exists; not overwritten", path);
	if ((rc = space_save(s, beside, e)) != 0)
		return rc;
	if (link(beside, path) != 0)
		rc = errno == EEXIST
		         ? err_set(e, ERR_STORE, "%s: already exists; not overwritten", path)
		         : err_errno(e, "%s: cannot be created", path);
	unlink(beside);
	return rc;
}

static enum exit_code
export_version(struct invocation *c)
{
	struct loaded_space l = { 0 };
	const char *path;
	struct err e;
	int rc;

	if ((rc = load(c, &l, &path, &e)) == 0)
		rc = save_new(l.space, c->arguments[1], &e);
	if (rc == 0)
		done(c, "path", c->arguments[1],
		    pen_printf(c->out, "%s: %s written", c->arguments[1],
			version_text(c, space_version(l.space)->name)));
	release(&l);
	return finish(c, rc, &e);
}

/* Merges a file into *all. Versions of different names are merged only if --version names the
 * result. */
static int
merge_one(struct invocation *c, struct loaded_space *all, const char *path, struct err *e)
{
	struct space *one = space_new(all->labels);
	const struct space_version *first = space_version(all->space), *v;
	int rc = one != NULL ? space_load(one, all->labels, path, NULL, e)
	                     : err_set(e, ERR_MEMORY, "out of memory");

	if (rc == 0) {
		v = space_version(one);
		if (space_type(all->space, 0) == LABEL_NONE)
			rc = space_version_set(all->space, v->fingerprint,
			    c->value[FLAG_VERSION] != NULL ? c->value[FLAG_VERSION] : v->name,
			    v->learned_ns, e);
		else if (c->value[FLAG_VERSION] == NULL && strcmp(first->name, v->name) != 0)
			rc = err_set(e, ERR_INPUT,
			    "%s: has version '%s', the first file '%s'; to merge them, name the result with --version",
			    path, v->name, first->name);
	}
	if (rc == 0)
		rc = space_merge(all->space, one, e);
	space_free(one);
	return rc;
}

static enum exit_code
merge(struct invocation *c)
{
	struct loaded_space l = { 0 };
	struct err e;
	int rc = open_empty(&l, &e);

	for (int i = 2; i < c->narguments && rc == 0; i++)
		rc = merge_one(c, &l, c->arguments[i], &e);
	if (rc == 0)
		rc = save_new(l.space, c->arguments[1], &e);
	if (rc == 0)
		done(c, "path", c->arguments[1],
		    pen_printf(c->out, "%s: %s written, merged from %d file%s", c->arguments[1],
			version_text(c, space_version(l.space)->name), c->narguments - 2,
			c->narguments == 3 ? "" : "s"));
	release(&l);
	return finish(c, rc, &e);
}

/* ---- import, use: done by honed ---- */

/* Asks honed, and prints "WHAT: BEFORE version AFTER", or that the version is stored beside another. */
static enum exit_code
print_taken(
    struct invocation *c, json_t *question, const char *what, const char *before, const char *after)
{
	json_t *answer;
	const char *name;
	struct err e;

	if (call_ask_once(c, question, &answer, &e) < 0)
		return call_failed(c, &e);
	name = text_of(c->out, json_object_get(answer, "space_version"), "name");
	json_object_set_new(answer, "words",
	    json_string(
		is_true(answer, "beside")
		    ? pen_printf(c->out,
			  "%s: stored; honed still searches %s (hone space versions lists all)",
			  what, version_text(c, name))
		    : pen_printf(
			  c->out, "%s: %s%s%s", what, before, version_text(c, name), after)));
	c->output->done(c->out, answer);
	json_decref(answer);
	return DONE;
}

static enum exit_code
import(struct invocation *c)
{
	char path[PATH_MAX];
	struct err e;

	if (realpath(c->arguments[1], path) == NULL) {
		err_errno(&e, "%s", c->arguments[1]);
		return call_failed(c, &e);
	}
	return print_taken(c,
	    json_pack("{s:s, s:s, s:s*}", "ask", "space_import", "path", path, "name",
		c->value[FLAG_VERSION]),
	    c->arguments[1], "added to ", ", which honed searches");
}

static enum exit_code
use(struct invocation *c)
{
	return print_taken(c, json_pack("{s:s, s:s}", "ask", "space_use", "name", c->arguments[1]),
	    c->arguments[1], "honed now searches ", "");
}

/* ---- the actions ---- */

static const struct {
	const char *name, *missing; /* the error if arguments are missing */
	int min, max;               /* number of arguments */
	flag_set flags;             /* of --space, --version, --dot: those allowed */
	enum exit_code (*run)(struct invocation *c);
} verbs[] = {
	{ "show", "needs a request type", 1, 1, FLAG_BIT(SPACE) | FLAG_BIT(VERSION) | FLAG_BIT(DOT),
	    show },
	{ "stats", "", 0, 1, FLAG_BIT(SPACE) | FLAG_BIT(VERSION), stats },
	{ "versions", "", 0, 0, FLAG_BIT(SPACE), versions },
	{ "export", "needs the file to write", 1, 1, FLAG_BIT(SPACE) | FLAG_BIT(VERSION),
	    export_version },
	{ "import", "needs a file", 1, 1, FLAG_BIT(VERSION), import },
	{ "merge", "needs the file to write and the files to read", 2, INT_MAX, FLAG_BIT(VERSION),
	    merge },
	{ "use", "needs a version", 1, 1, 0, use },
};

static enum exit_code
run_space(struct invocation *c)
{
	static const enum flag some[] = { FLAG_SPACE, FLAG_VERSION, FLAG_DOT };
	size_t n = sizeof verbs / sizeof verbs[0], v = 0;
	enum exit_code code;

	while (v < n && strcmp(verbs[v].name, c->arguments[0]) != 0)
		v++;
	if (v == n)
		return call_misused(c, c->arguments[0],
		    "must be show, stats, versions, export, import, merge or use", NULL);
	if (c->narguments - 1 < verbs[v].min)
		return call_misused(
		    c, pen_printf(c->err, "space %s", verbs[v].name), verbs[v].missing, NULL);
	if (c->narguments - 1 > verbs[v].max)
		return call_misused(c, c->arguments[verbs[v].max + 1], "unexpected argument", NULL);
	for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
		if (c->value[some[i]] != NULL && !flag_in(verbs[v].flags, some[i]))
			return call_misused(c, flag_texts[some[i]].name,
			    pen_printf(c->err, "does not apply to space %s", verbs[v].name), NULL);
	if ((code = call_either(c, FLAG_DOT, FLAG_JSON)) != DONE)
		return code;
	c->type = verbs[v].name;
	return verbs[v].run(c);
}

const struct command command_space = {
	.name = "space",
	.arguments = "show|stats|versions|export|import|merge|use ...",
	.arguments_min = 1,
	.arguments_max = INT_MAX,
	.flags = FLAGS_ASK | FLAG_BIT(SPACE) | FLAG_BIT(VERSION) | FLAG_BIT(DOT),
	.run = run_space,
	.help = "show and manage the learned space",
	.more =
	    "show TYPE      print the learned graph of a request type, by unit and span\n"
	    "stats [TYPE]   print how much was learned, what is not covered, and what is outdated\n"
	    "versions       list the versions in the file\n"
	    "export FILE    write one version to a new file\n"
	    "merge OUT FILE...  merge several files into a new one\n"
	    "import FILE    add the contents of a file to the space of honed\n"
	    "use NAME       make honed search with this version",
};
