/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hone keys init, agent, controller, show, revoke. What makes them is an object of its own
 *(base/keys.h), so that OpenSSL is loaded by nobody else:
 *
 *	PREFIX/bin/hone			also where it was built, with $(O) for PREFIX
 *	PREFIX/lib/hone/keys.so
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/keys.h"
#include "cli/command.h"

#define DAY_NS (INT64_C(86400) * 1000000000)
#define KEYS_FOLDER "/etc/hone/keys"

/* FROM_BEFORE: of a clock that is a bit behind ours, it is valid already. */
enum { CA_DAYS = 3650, WARN_DAYS = 30, FROM_BEFORE_S = 600 };

/* ---- the object that makes them ---- */

static int
load(const struct keys_calls **ret, struct err *e)
{
	char self[PATH_MAX], file[PATH_MAX + 32], *slash;
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	void *object;

	if (len < 0)
		return err_errno(e, "cannot tell where hone lies, and so not what makes keys");
	self[len] = '\0';
	if ((slash = strrchr(self, '/')) != NULL)
		*slash = '\0';
	snprintf(file, sizeof file, "%s/../lib/hone/keys.so", self);
	if ((object = dlopen(file, RTLD_NOW | RTLD_LOCAL)) == NULL ||
	    (*ret = dlsym(object, "keys_calls")) == NULL)
		return err_set(
		    e, ERR_SYSTEM, "what makes keys, by OpenSSL, cannot be loaded: %s", dlerror());
	return 0;
}

/* ---- making ---- */

struct job {
	struct call *call;
	const struct keys_calls *keys;
	const char *dir;
};

static struct keys_span
span_of(double days)
{
	int64_t now_s = clock_wall().ns / 1000000000;

	return (struct keys_span){ { (now_s - FROM_BEFORE_S) * 1000000000 },
		{ now_s * 1000000000 + (int64_t)(days * (double)DAY_NS) } };
}

static struct keys_order
order_of(const struct call *c, const char *node)
{
	struct keys_order o = { .node = node,
		.hosts = c->hosts,
		.span = span_of(c->number[FLAG_DAYS]),
		.again = c->value[FLAG_AGAIN] != NULL };

	while (c->hosts[o.nhosts] != NULL)
		o.nhosts++;
	return o;
}

static enum exit_code
said(struct call *c, int rc, const struct err *e, const char *words)
{
	json_t *answer;

	if (rc != 0)
		return call_failed(c, e);
	answer = json_pack("{s:b, s:s}", "ok", 1, "words", words);
	c->output->done(c->out, answer);
	json_decref(answer);
	return DONE;
}

static enum exit_code
init(struct job *j)
{
	struct call *c = j->call;
	struct keys_order o = order_of(c, NULL);
	struct keys_span ca = span_of(
	    c->number[FLAG_DAYS] > CA_DAYS ? c->number[FLAG_DAYS] : CA_DAYS);
	struct err e = { 0 };
	int rc = j->keys->init(j->dir, &ca, &o, &e);

	return said(c, rc, &e,
	    pen_printf(c->out,
		"%s: a CA, and the controller's keys for honed; ca.key makes agents: keep it where "
		"nobody else is. hone keys agent NODE is next",
		j->dir));
}

static enum exit_code
agent(struct job *j)
{
	struct call *c = j->call;
	struct keys_order o = order_of(c, c->words[1]);
	struct err e = { 0 };
	int rc;

	if (o.nhosts > 0)
		return call_misused(
		    c, command_flag(FLAG_HOST), "it is for the controller, which is dialled", NULL);
	rc = j->keys->issue(j->dir, &o, &e);
	return said(c, rc, &e,
	    pen_printf(c->out,
		"%s/agents/%s: copy these three files to /etc/hone/keys on that node, for the user "
		"of hone-agent alone",
		j->dir, o.node));
}

static enum exit_code
controller(struct job *j)
{
	struct keys_order o = order_of(j->call, NULL);
	struct err e = { 0 };
	int rc = j->keys->issue(j->dir, &o, &e);

	return said(j->call, rc, &e,
	    pen_printf(j->call->out,
		"%s: new keys for the controller; honed takes them within a second if "
		"it reads them there",
		j->dir));
}

static enum exit_code
revoke_all(struct job *j)
{
	struct call *c = j->call;
	const char *name = c->words[1];
	struct err e = { 0 };
	int n, rc = j->keys->revoke(j->dir, name, clock_wall(), &n, &e);

	return said(c, rc, &e,
	    n == 0
		? pen_printf(c->out, "%s: all of its certificates were revoked already", name)
		: pen_printf(c->out,
		      "%s: revoked (%d %s); honed hangs up within seconds if it reads %s/revoked.pem, else copy that",
		      name, n, n == 1 ? "certificate" : "certificates", j->dir));
}

/* ---- showing ---- */

struct listing {
	json_t *rows;
	const char *only; /* this name, or NULL: all */
	struct wall now;
};

static void
print_date(struct wall w, char text[24])
{
	time_t s = (time_t)(w.ns / 1000000000);
	struct tm tm;

	gmtime_r(&s, &tm);
	strftime(text, 24, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static const char *
state_of(const struct keys_row *row, struct wall now)
{
	static const char *const states[KEYS_STATES] = { "valid", "not yet valid", "expired",
		"revoked" };

	if (row->state != KEYS_VALID)
		return states[row->state];
	return row->span.until.ns - now.ns < WARN_DAYS * DAY_NS ? "expires soon" : "valid";
}

static void
take_row(void *ctx, const struct keys_row *row)
{
	struct listing *l = ctx;
	char from[24], until[24];

	if (l->only != NULL && strcmp(l->only, row->name) != 0)
		return;
	print_date(row->span.from, from);
	print_date(row->span.until, until);
	json_array_append_new(
	    l->rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:b, s:s}", "name", row->name,
			 "role", row->role, "serial", row->serial, "from", from, "until", until,
			 "state", state_of(row, l->now), "left_days",
			 (double)(row->span.until.ns - l->now.ns) / (double)DAY_NS, "in_use",
			 row->now, "file", row->file));
}

static void
print_rows(struct pen *p, const json_t *rows)
{
	static const char *const head[] = { "NAME", "ROLE", "STATE", "FROM", "UNTIL", "SERIAL" };
	struct table t;
	size_t i;
	json_t *o;

	table_open(&t, "llllll");
	for (size_t k = 0; k < sizeof head / sizeof head[0]; k++)
		table_add(&t, head[k]);
	json_array_foreach (rows, i, o) {
		table_add(&t, text_of(p, o, "name"));
		table_add(&t, text_of(p, o, "role"));
		table_add(&t, is_true(o, "in_use")
				  ? text_of(p, o, "state")
				  : pen_printf(p, "%s, replaced", text_of(p, o, "state")));
		table_add(&t, pen_printf(p, "%.10s", text_of(p, o, "from")));
		table_add(&t, pen_printf(p, "%.10s", text_of(p, o, "until")));
		table_add(&t, pen_printf(p, "%.12s", text_of(p, o, "serial")));
	}
	table_print(&t, p);
}

/* What is in use and will not be for long, on standard error. */
static void
warn(struct call *c, const json_t *rows)
{
	size_t i;
	json_t *o;

	json_array_foreach (rows, i, o) {
		const char *state = text_of(c->err, o, "state"), *name = text_of(c->err, o, "name");
		bool ends = strcmp(state, "expires soon") == 0;

		if (!is_true(o, "in_use") || (!ends && strcmp(state, "expired") != 0))
			continue;
		fprintf(c->err->out, "hone: the certificate of %s %s on %.10s", name,
		    ends ? "expires" : "expired", text_of(c->err, o, "until"));
		if (strcmp(name, "CA") == 0)
			fputs(
			    "; a new CA is made by hone keys init --dir DIR, and all others with it\n",
			    c->err->out);
		else
			fprintf(c->err->out, "; hone keys %s%s --again makes a new one\n",
			    strcmp(name, "controller") == 0 ? "" : "agent ", name);
	}
}

/* A file, or all of the folder, or what is of one name there. */
static enum exit_code
show(struct job *j)
{
	struct call *c = j->call;
	const char *what = c->nwords > 1 ? c->words[1] : NULL;
	bool file = what != NULL && (strchr(what, '/') != NULL || access(what, F_OK) == 0);
	struct listing l = { json_array(), file ? NULL : what, clock_wall() };
	struct err e = { 0 };
	int rc = j->keys->list(file ? what : j->dir, l.now, take_row, &l, &e);
	json_t *answer;

	if (rc == 0 && json_array_size(l.rows) == 0)
		rc = err_set(
		    &e, ERR_MISSING, "%s: no certificate was issued to it, in %s", what, j->dir);
	if (rc != 0) {
		json_decref(l.rows);
		return call_failed(c, &e);
	}
	warn(c, l.rows);
	if (c->value[FLAG_JSON] != NULL) {
		answer = json_pack("{s:b, s:O}", "ok", 1, "keys", l.rows);
		output_json.done(c->out, answer);
		json_decref(answer);
	} else {
		print_rows(c->out, l.rows);
	}
	json_decref(l.rows);
	return DONE;
}

/* ---- the command ---- */

enum exit_code
run_keys(struct call *c)
{
	static const struct {
		const char *name;
		int words_min, words_max;
		enum exit_code (*run)(struct job *j);
	} verbs[] = {
		{ "init", 1, 1, init },
		{ "agent", 2, 2, agent },
		{ "controller", 1, 1, controller },
		{ "show", 1, 2, show },
		{ "revoke", 2, 2, revoke_all },
	};
	struct job j = { c, NULL, c->value[FLAG_DIR] != NULL ? c->value[FLAG_DIR] : KEYS_FOLDER };
	const char *verb = c->words[0];
	struct err e = { 0 };

	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
		if (strcmp(verbs[i].name, verb) != 0)
			continue;
		if (c->nwords < verbs[i].words_min || c->nwords > verbs[i].words_max) {
			fprintf(c->err->out, "hone: keys %s: %s\n", verb,
			    verbs[i].words_max == 1 ? "takes no name"
			    : c->nwords == 1        ? "of which node? hone keys show lists them"
						    : "one name at a time");
			return MISUSED;
		}
		return load(&j.keys, &e) == 0 ? verbs[i].run(&j) : call_failed(c, &e);
	}
	fprintf(c->err->out,
	    "hone: keys %s: no such thing; init, agent, controller, show or revoke\n",
	    pen_clean(c->err, verb));
	return MISUSED;
}
