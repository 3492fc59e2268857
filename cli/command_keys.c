/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * hone keys: create, list and revoke certificates. The code that uses OpenSSL is a shared object of
 * its own (base/credentials.h), so that no other command loads OpenSSL:
 *
 *	PREFIX/bin/hone			PREFIX is $(O) in a build tree
 *	PREFIX/lib/hone/credentials.so
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/shared_object.h"
#include "base/credentials.h"
#include "cli/call.h"
#include "cli/command.h"

#define DAY_NS (INT64_C(86400) * 1000000000)
#define KEYS_FOLDER "/etc/hone/keys"

/* FROM_BEFORE_S: certificates are valid from 10 min ago, for machines whose clock is behind. */
enum { CA_DAYS = 3650, WARN_DAYS = 30, FROM_BEFORE_S = 600 };

/* ---- loading credentials.so ---- */

static int
load(const struct credentials_calls **ret, struct err *e)
{
	void *found;
	int rc = shared_object_symbol(&found, "credentials.so", "credentials_calls",
	    "cannot load credentials.so, which uses OpenSSL", e);

	if (rc == 0)
		*ret = found;
	return rc;
}

/* ---- creating ---- */

struct keys_task {
	struct invocation *call;
	const struct credentials_calls *keys;
	const char *dir;
};

static struct credentials_span
span_of(double days)
{
	int64_t now_s = clock_wall().ns / 1000000000;

	return (struct credentials_span){ { (now_s - FROM_BEFORE_S) * 1000000000 },
		{ now_s * 1000000000 + (int64_t)(days * (double)DAY_NS) } };
}

static struct credentials_order
order_of(const struct invocation *c, const char *node)
{
	struct credentials_order o = { .node = node,
		.hosts = c->hosts,
		.span = span_of(c->number[FLAG_DAYS]),
		.again = c->value[FLAG_AGAIN] != NULL };

	while (c->hosts[o.nhosts] != NULL)
		o.nhosts++;
	return o;
}

/* Prints the error, or the text that reports success. */
static enum exit_code
finish(struct invocation *c, int rc, const struct err *e, const char *text)
{
	json_t *answer;

	if (rc != 0)
		return call_failed(c, e);
	answer = json_pack("{s:b, s:s}", "ok", 1, "words", text);
	c->output->done(c->out, answer);
	json_decref(answer);
	return DONE;
}

static enum exit_code
init(struct keys_task *j)
{
	struct invocation *c = j->call;
	struct credentials_order o = order_of(c, NULL);
	struct credentials_span ca = span_of(
	    c->number[FLAG_DAYS] > CA_DAYS ? c->number[FLAG_DAYS] : CA_DAYS);
	struct err e = { 0 };
	int rc = j->keys->init(j->dir, &ca, &o, &e);

	return finish(c, rc, &e,
	    pen_printf(c->out,
		"%s: created a CA and the controller's certificate. Keep ca.key secret: it signs certificates "
		"of agents. Next: hone keys agent NODE",
		j->dir));
}

static enum exit_code
agent(struct keys_task *j)
{
	struct invocation *c = j->call;
	struct credentials_order o = order_of(c, c->arguments[1]);
	struct err e = { 0 };
	int rc;

	if (o.nhosts > 0)
		return call_misused(c, flag_texts[FLAG_HOST].name,
		    "applies to the controller's certificate only", NULL);
	rc = j->keys->issue(j->dir, &o, &e);
	return finish(c, rc, &e,
	    pen_printf(c->out,
		"%s/agents/%s: copy these three files to /etc/hone/keys on that node, readable only by the "
		"user of hone-agent",
		j->dir, o.node));
}

static enum exit_code
controller(struct keys_task *j)
{
	struct credentials_order o = order_of(j->call, NULL);
	struct err e = { 0 };
	int rc = j->keys->issue(j->dir, &o, &e);

	return finish(j->call, rc, &e,
	    pen_printf(j->call->out,
		"%s: replaced the controller's certificate; honed loads it within a second if it reads this folder",
		j->dir));
}

static enum exit_code
revoke_all(struct keys_task *j)
{
	struct invocation *c = j->call;
	const char *name = c->arguments[1];
	struct err e = { 0 };
	int n, rc = j->keys->revoke(j->dir, name, clock_wall(), &n, &e);

	return finish(c, rc, &e,
	    n == 0
		? pen_printf(c->out, "%s: all its certificates are already revoked", name)
		: pen_printf(c->out,
		      "%s: revoked (%d %s); honed disconnects it within seconds if it reads %s/revoked.pem; otherwise "
		      "copy that file to it",
		      name, n, n == 1 ? "certificate" : "certificates", j->dir));
}

/* ---- listing ---- */

struct certificate_rows {
	json_t *rows;
	const char *only; /* list this name only; NULL: all */
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
state_of(const struct credentials_row *row, struct wall now)
{
	static const char *const states[CREDENTIALS_STATES] = { "valid", "not yet valid", "expired",
		"revoked" };

	if (row->state != CREDENTIALS_VALID)
		return states[row->state];
	return row->span.until.ns - now.ns < WARN_DAYS * DAY_NS ? "expires soon" : "valid";
}

static void
take_row(void *ctx, const struct credentials_row *row)
{
	struct certificate_rows *l = ctx;
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
	struct columns t;
	size_t i;
	json_t *o;

	columns_open(&t, "llllll");
	for (size_t k = 0; k < sizeof head / sizeof head[0]; k++)
		columns_add(&t, head[k]);
	json_array_foreach (rows, i, o) {
		columns_add(&t, text_of(p, o, "name"));
		columns_add(&t, text_of(p, o, "role"));
		columns_add(&t, is_true(o, "in_use")
				    ? text_of(p, o, "state")
				    : pen_printf(p, "%s, replaced", text_of(p, o, "state")));
		columns_add(&t, pen_printf(p, "%.10s", text_of(p, o, "from")));
		columns_add(&t, pen_printf(p, "%.10s", text_of(p, o, "until")));
		columns_add(&t, pen_printf(p, "%.12s", text_of(p, o, "serial")));
	}
	columns_print(&t, p);
}

/* Warns on standard error of certificates in use that have expired or expire within WARN_DAYS. */
static void
warn(struct invocation *c, const json_t *rows)
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
			    "; create a new CA, and all other certificates, with hone keys init --dir DIR\n",
			    c->err->out);
		else
			fprintf(c->err->out, "; replace it with hone keys %s%s --again\n",
			    strcmp(name, "controller") == 0 ? "" : "agent ", name);
	}
}

/* Lists the certificates in a file, in the folder, or of one name in the folder. */
static enum exit_code
show(struct keys_task *j)
{
	struct invocation *c = j->call;
	const char *what = c->narguments > 1 ? c->arguments[1] : NULL;
	bool file = what != NULL && (strchr(what, '/') != NULL || access(what, F_OK) == 0);
	struct certificate_rows l = { json_array(), file ? NULL : what, clock_wall() };
	struct err e = { 0 };
	int rc = j->keys->list(file ? what : j->dir, l.now, take_row, &l, &e);
	json_t *answer;

	if (rc == 0 && json_array_size(l.rows) == 0)
		rc = err_set(&e, ERR_MISSING, "%s: has no certificate in %s", what, j->dir);
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

static enum exit_code
run_keys(struct invocation *c)
{
	static const struct {
		const char *name;
		int arguments_min, arguments_max;
		enum exit_code (*run)(struct keys_task *j);
	} verbs[] = {
		{ "init", 1, 1, init },
		{ "agent", 2, 2, agent },
		{ "controller", 1, 1, controller },
		{ "show", 1, 2, show },
		{ "revoke", 2, 2, revoke_all },
	};
	struct keys_task j = { c, NULL,
		c->value[FLAG_DIR] != NULL ? c->value[FLAG_DIR] : KEYS_FOLDER };
	const char *verb = c->arguments[0];
	struct err e = { 0 };

	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
		if (strcmp(verbs[i].name, verb) != 0)
			continue;
		if (c->narguments < verbs[i].arguments_min ||
		    c->narguments > verbs[i].arguments_max) {
			fprintf(c->err->out, "hone: keys %s: %s\n", verb,
			    verbs[i].arguments_max == 1 ? "takes no name"
			    : c->narguments == 1        ? "needs a node; hone keys show lists them"
							: "give one name only");
			return MISUSED;
		}
		return load(&j.keys, &e) == 0 ? verbs[i].run(&j) : call_failed(c, &e);
	}
	fprintf(c->err->out,
	    "hone: keys %s: unknown action; must be init, agent, controller, show or revoke\n",
	    pen_clean(c->err, verb));
	return MISUSED;
}

const struct command command_keys = {
	.name = "keys",
	.arguments = "init|agent|controller|show|revoke [NAME]",
	.arguments_min = 1,
	.arguments_max = 2,
	.flags = FLAG_BIT(DIR) | FLAG_BIT(HOST) | FLAG_BIT(DAYS) | FLAG_BIT(AGAIN),
	.run = run_keys,
	.help = "manage certificates for agents on other machines",
	.more =
	    "init            create a CA and the controller's certificate\n"
	    "agent NODE      create a folder with the three files for this node\n"
	    "controller --again  replace the controller's certificate\n"
	    "show [NAME]     list all certificates, those of a name, or those in a file; warns of those\n"
	    "                that expire within 30 days\n"
	    "revoke NODE     make honed disconnect this node and refuse it\n"
	    "The daemons read new files without a restart.",
};
