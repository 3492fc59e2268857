/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/control/opamp_table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "otel/spans/span_points.h"

enum { CONFIG_MAX = 128 + OPAMP_OFF_MAX * (OPAMP_OFF_NAME_MAX + 1) };
/* An agent that did not ask for so many polls and this long is gone, or finds nobody: nothing waits for it. */
enum { AWAITED_POLLS = 5 };
#define AWAITED_NS INT64_C(5000000000)

struct opamp_agent {
	uint8_t uid[OPAMP_UID_BYTES];
	char service[OPAMP_NAME_MAX + 1];
	uint32_t pid;
	bool described, obeys;
	uint64_t applied, failed, told; /* hashes of configurations; 0: none. told: offered last */
	struct mono asked;
};

struct opamp_table {
	struct opamp_table_options o;
	char names[OPAMP_OFF_MAX][OPAMP_OFF_NAME_MAX + 1]; /* instrumentations that are off */
	char points[OPAMP_OFF_MAX][sizeof OPAMP_PROVIDER + OPAMP_OFF_NAME_MAX]; /* "opamp:NAME" */
	bool wanted[OPAMP_OFF_MAX];
	uint32_t nnames;
	bool set_back;
	struct mono until;
	char config[CONFIG_MAX];
	uint64_t hash; /* of it */
	struct opamp_agent *agents;
	uint32_t n;
	uint64_t changes;
	struct mono now; /* of the last turn */
};

/* ---- configuration ---- */

static bool
is_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && strchr("-_.", s[i]) == NULL)
			return false;
	return len > 0 && len <= OPAMP_OFF_NAME_MAX;
}

/* The next name of the list; its end. */
static const char *
next_name(const char *at, const char **name, size_t *len)
{
	at += strspn(at, ", ");
	*name = at;
	*len = strcspn(at, ", ");
	return at + *len;
}

bool
opamp_off_fits(const char *off)
{
	const char *name;
	uint32_t n = 0;
	size_t len;

	for (off = next_name(off, &name, &len); len > 0; off = next_name(off, &name, &len))
		if (!is_name(name, len) || ++n > OPAMP_OFF_MAX)
			return false;
	return true;
}

/* What agents are to do now. A configuration without a key resets it to what the application started with. */
static void
write_config(struct opamp_table *t)
{
	size_t len = 0;
	bool any = false;

	len += (size_t)snprintf(t->config, sizeof t->config, "{");
	if (!t->set_back && t->nnames > 0) {
		len += (size_t)snprintf(t->config + len, sizeof t->config - len,
		    "\"opamp_polling_interval\":\"%lldms\",\"deactivate_instrumentations\":\"",
		    (long long)(t->o.poll_ns / 1000000));
		for (uint32_t i = 0; i < t->nnames; i++) {
			if (t->wanted[i])
				continue;
			len += (size_t)snprintf(t->config + len, sizeof t->config - len, "%s%s",
			    any ? "," : "", t->names[i]);
			any = true;
		}
		len += (size_t)snprintf(t->config + len, sizeof t->config - len, "\"");
	}
	snprintf(t->config + len, sizeof t->config - len, "}");
	t->hash = hash_bytes(1, t->config, strlen(t->config)) | 1; /* 0 is none */
}

struct opamp_table *
opamp_table_new(const struct opamp_table_options *o)
{
	struct opamp_table *t = calloc(1, sizeof *t);
	const char *at, *name;
	size_t len;

	if (t == NULL || (t->agents = calloc(OPAMP_AGENTS_MAX, sizeof *t->agents)) == NULL) {
		free(t);
		return NULL;
	}
	t->o = *o;
	for (at = next_name(o->off, &name, &len); len > 0 && t->nnames < OPAMP_OFF_MAX;
	     at = next_name(at, &name, &len))
		if (is_name(name, len)) {
			memcpy(t->names[t->nnames], name, len);
			memcpy(t->points[t->nnames], OPAMP_PROVIDER, sizeof OPAMP_PROVIDER - 1);
			memcpy(t->points[t->nnames] + sizeof OPAMP_PROVIDER - 1, name, len);
			t->nnames++;
		}
	write_config(t);
	return t;
}

void
opamp_table_free(struct opamp_table *t)
{
	if (t == NULL)
		return;
	free(t->agents);
	free(t);
}

/* ---- names ---- */

/* The number of the instrumentation of which this is a tracepoint; UINT32_MAX: it is none. */
static uint32_t
of_tracepoint(const struct opamp_table *t, const char *tracepoint)
{
	static const char *const ends[] = { POINT_BEGIN, POINT_END };
	size_t provider = strlen(OPAMP_PROVIDER);

	if (strncmp(tracepoint, OPAMP_PROVIDER, provider) != 0)
		return UINT32_MAX;
	tracepoint += provider;
	for (uint32_t i = 0; i < t->nnames; i++) {
		size_t len = strlen(t->names[i]);

		for (int k = 0; k < 2; k++)
			if (strncmp(tracepoint, t->names[i], len) == 0 &&
			    strcmp(tracepoint + len, ends[k]) == 0)
				return i;
	}
	return UINT32_MAX;
}

static bool
ends_with(struct text_view s, const char *name)
{
	size_t len = strlen(name);
	char before;

	if (len > s.len || memcmp(s.s + s.len - len, name, len) != 0)
		return false;
	before = len < s.len ? s.s[s.len - len - 1] : '.';
	return strchr("-./", before) != NULL;
}

/* "@opentelemetry/instrumentation-NAME", "io.opentelemetry.NAME-1.0", "opentelemetry.instrumentation.NAME",
 * "io.opentelemetry.contrib.php.NAME": the end of the scope, without a version. */
static struct text_view
without_version(struct text_view scope)
{
	uint32_t n = scope.len;

	while (n > 0 && (isdigit((unsigned char)scope.s[n - 1]) || scope.s[n - 1] == '.'))
		n--;
	if (n > 1 && n < scope.len && scope.s[n - 1] == '-')
		scope.len = n - 1;
	return scope;
}

/* The longest name counts: of http and akka-http it is the latter. */
static uint32_t
of_scope(const struct opamp_table *t, struct text_view scope)
{
	struct text_view stem = without_version(scope);
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < t->nnames; i++)
		if ((ends_with(scope, t->names[i]) || ends_with(stem, t->names[i])) &&
		    (best == UINT32_MAX || strlen(t->names[i]) > strlen(t->names[best])))
			best = i;
	return best;
}

/* Whether the service of a span, as it was sent, is the agent's. */
static bool
is_of(const struct opamp_agent *a, struct text_view service)
{
	uint32_t len = service.len < OPAMP_NAME_MAX ? service.len : OPAMP_NAME_MAX;

	if (strlen(a->service) != len)
		return false;
	for (uint32_t i = 0; i < len; i++)
		if (a->service[i] != opamp_text_char(service.s[i]))
			return false;
	return true;
}

struct text_view
opamp_table_scope(const struct opamp_table *t, struct text_view service, struct text_view scope)
{
	uint32_t name = scope.len > 0 && t->n > 0 ? of_scope(t, scope) : UINT32_MAX;

	for (uint32_t i = 0; i < t->n && name != UINT32_MAX; i++) {
		const struct opamp_agent *a = &t->agents[i];

		if (a->obeys && is_of(a, service))
			return (
			    struct text_view){ t->points[name], (uint32_t)strlen(t->points[name]) };
	}
	return (struct text_view){ 0 };
}

/* ---- what is wanted ---- */

static void
replace_wanted(struct opamp_table *t, const bool wanted[OPAMP_OFF_MAX])
{
	if (memcmp(t->wanted, wanted, sizeof t->wanted) == 0)
		return;
	memcpy(t->wanted, wanted, sizeof t->wanted);
	write_config(t);
}

void
opamp_table_want(struct opamp_table *t, const struct want *w, struct mono until)
{
	bool wanted[OPAMP_OFF_MAX] = { false };
	uint32_t at;

	for (uint32_t i = 0; i < w->ntoggles; i++) {
		if (strcmp(w->toggles[i].name, OPAMP_PROVIDER "*") == 0)
			memset(wanted, true, t->nnames * sizeof *wanted);
		else if ((at = of_tracepoint(t, w->toggles[i].name)) != UINT32_MAX)
			wanted[at] = true;
	}
	t->until = until;
	replace_wanted(t, wanted);
}

void
opamp_table_set_back(struct opamp_table *t)
{
	t->set_back = true;
	write_config(t);
}

void
opamp_table_turn(struct opamp_table *t, struct mono now)
{
	static const bool none[OPAMP_OFF_MAX];

	t->now = now;
	if (now.ns >= t->until.ns)
		replace_wanted(t, none);
	for (uint32_t i = 0; i < t->n;) {
		if (mono_since_ns(now, t->agents[i].asked) < t->o.quiet_ns) {
			i++;
			continue;
		}
		t->agents[i] = t->agents[--t->n];
		t->changes++;
	}
}

/* ---- agents ---- */

static int
find_agent(
    struct opamp_table *t, const struct opamp_report *r, struct opamp_agent **ret, struct err *e)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (memcmp(t->agents[i].uid, r->uid, OPAMP_UID_BYTES) == 0) {
			*ret = &t->agents[i];
			return 0;
		}
	if (t->n == OPAMP_AGENTS_MAX)
		return err_set(e, ERR_FULL, "%d agents of OpAMP are the most", OPAMP_AGENTS_MAX);
	*ret = &t->agents[t->n++];
	**ret = (struct opamp_agent){ 0 };
	memcpy((*ret)->uid, r->uid, OPAMP_UID_BYTES);
	t->changes++;
	return 0;
}

#define PYTHON_CLIENT "OTel-OpAMP-Python/"

/* Others may take any configuration, but do not know these keys. Elastic's distribution for Node does not name itself; what reports its effective
 * configuration is no agent in a program but one of a collector. Elastic's distribution for Python confirms any configuration, but switches no
 * instrumentations (elasticotel/distro/config.py); its first versions are known by their client alone. */
static bool
knows_keys(const struct opamp_report *r)
{
	return (r->capabilities & OPAMP_ACCEPTS_CONFIG) != 0 &&
	       (r->client == NULL ||
		   strncmp(r->client, PYTHON_CLIENT, sizeof PYTHON_CLIENT - 1) != 0) &&
	       (strcmp(r->distribution, "elastic") == 0 ||
		   (r->distribution[0] == '\0' &&
		       (r->capabilities & OPAMP_REPORTS_EFFECTIVE) == 0));
}

/* True: it is described now, and was not. */
static bool
describe(struct opamp_table *t, struct opamp_agent *a, const struct opamp_report *r)
{
	bool obeys, is_new = !a->described;

	if (!r->described || r->service[0] == '\0')
		return false;
	obeys = knows_keys(r);
	if (strcmp(a->service, r->service) != 0 || a->obeys != obeys || a->pid != r->pid)
		t->changes++;
	snprintf(a->service, sizeof a->service, "%s", r->service);
	a->pid = r->pid;
	a->obeys = obeys;
	a->described = true;
	return is_new;
}

/* An agent says it only when it has changed, so it is kept. True: it failed now. */
static bool
note_status(struct opamp_table *t, struct opamp_agent *a, const struct opamp_report *r)
{
	if (!r->has_status || !opamp_hash_is(r, t->hash))
		return false;
	if (r->status == OPAMP_APPLIED)
		a->applied = t->hash;
	if (r->status != OPAMP_FAILED || a->failed == t->hash)
		return false;
	a->failed = t->hash;
	return true;
}

static void
forget(struct opamp_table *t, struct opamp_agent *a)
{
	*a = t->agents[--t->n];
	t->changes++;
}

/* It has neither said that what is wanted now is in effect, nor that it cannot apply it. */
static bool
is_behind(const struct opamp_table *t, const struct opamp_agent *a)
{
	return a->obeys && a->applied != t->hash && a->failed != t->hash;
}

int
opamp_table_ask(struct opamp_table *t, const struct opamp_report *r, struct mono now,
    struct opamp_answer *ret, enum opamp_news *news, struct err *e)
{
	struct opamp_agent *a = NULL;
	int rc;

	opamp_table_turn(t, now);
	*ret = (struct opamp_answer){ .hash = t->hash };
	*news = OPAMP_NOTHING;
	memcpy(ret->uid, r->uid, OPAMP_UID_BYTES);
	if ((rc = find_agent(t, r, &a, e)) != 0)
		return rc;
	a->asked = now;
	if (r->leaves) {
		forget(t, a);
		return 0;
	}
	if (describe(t, a, r))
		*news = OPAMP_NEW;
	if (note_status(t, a, r))
		*news = OPAMP_REFUSED;
	ret->report_all = !a->described;
	/* Also without names: an earlier hone-otel may have told it another one. */
	if (is_behind(t, a)) {
		ret->config = t->config;
		/* It may apply it and say so when another one is wanted again: what it said before no longer holds. One that has this one already
		 * does not say it again unless it is asked. */
		ret->report_all |= a->told == t->hash;
		a->told = t->hash;
		a->applied = a->failed = 0;
	}
	return 0;
}

bool
opamp_table_confirmed(const struct opamp_table *t)
{
	for (uint32_t i = 0; i < t->n && t->nnames > 0; i++) {
		const struct opamp_agent *a = &t->agents[i];

		if (is_behind(t, a) &&
		    mono_since_ns(t->now, a->asked) < AWAITED_POLLS * t->o.poll_ns + AWAITED_NS)
			return false;
	}
	return true;
}

/* ---- what is told ---- */

static uint32_t
obeying(const struct opamp_table *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i++)
		n += t->agents[i].obeys;
	return n;
}

bool
opamp_table_has(const struct opamp_table *t, const char *name)
{
	bool any = false;

	for (uint32_t i = 0; i < t->n; i++)
		any |= t->agents[i].obeys && t->agents[i].failed != t->hash;
	if (t->nnames == 0 || !any)
		return false;
	return strcmp(name, OPAMP_PROVIDER "*") == 0 || of_tracepoint(t, name) != UINT32_MAX;
}

bool
opamp_table_programs(const struct opamp_table *t, struct programs *ret, struct arena *a)
{
	uint32_t n = obeying(t), count = 2 * t->nnames;
	uint32_t first = ret->nnames;
	struct program *all = arena_calloc(a, (size_t)ret->nprograms + n + 1, sizeof *all);
	const char **names = arena_calloc(a, (size_t)ret->nnames + count + 1, sizeof *names);

	if (all == NULL || names == NULL)
		return false;
	if (ret->nprograms > 0)
		memcpy(all, ret->programs, ret->nprograms * sizeof *all);
	if (ret->nnames > 0)
		memcpy(names, ret->names, ret->nnames * sizeof *names);
	for (uint32_t i = 0; i < count && n > 0; i++) {
		char text[TOGGLE_NAME_MAX + 1];

		snprintf(text, sizeof text, "%s%s%s", OPAMP_PROVIDER, t->names[i / 2],
		    i % 2 == 0 ? POINT_BEGIN : POINT_END);
		if ((names[first + i] = arena_text(a, text, strlen(text))) == NULL)
			return false;
	}
	for (uint32_t i = 0; i < t->n && ret->nprograms < PROGRAMS_MAX; i++) {
		const struct opamp_agent *from = &t->agents[i];
		const char *service;

		if (!from->obeys)
			continue;
		if ((service = arena_text(a, from->service, strlen(from->service))) == NULL)
			return false;
		all[ret->nprograms++] = (struct program){ .service = service,
			.pid = from->pid,
			.first = first,
			.count = count,
			.lever = LEVER_OPAMP };
	}
	ret->programs = all;
	ret->names = names;
	ret->nnames += n > 0 ? count : 0;
	return true;
}

uint64_t
opamp_table_changes(const struct opamp_table *t)
{
	return t->changes;
}

uint32_t
opamp_table_names(const struct opamp_table *t)
{
	return t->nnames;
}

void
opamp_table_stats(const struct opamp_table *t, struct opamp_table_stats *ret)
{
	*ret = (struct opamp_table_stats){ .agents = t->n, .obey = obeying(t) };
	for (uint32_t i = 0; i < t->nnames && ret->obey > 0; i++)
		ret->on += 2 * t->wanted[i];
	for (uint32_t i = 0; i < t->n; i++)
		ret->failed += t->agents[i].obeys && t->agents[i].failed == t->hash;
}
