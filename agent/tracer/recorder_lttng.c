/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/tracer/recorder_lttng.h"

#include <stdio.h>
#include <string.h>

#include "agent/system/folder.h"

/* Of one snapshot, in memory: beyond it each ring gives its newest packets alone. */
#define SNAPSHOT_BYTES_MAX (UINT64_C(256) << 20)

void
recorder_forget(struct recorder *r)
{
	session_forget(&r->session);
	r->rules.n = 0;
	r->ending = false;
}

/* False: its session still exists; the next call tries again. */
static bool
recorder_end(struct recorder *r)
{
	r->rules.n = 0;
	r->ending = r->session.handle != NULL && !session_bury(r->session.name, r->session.folder);
	if (!r->ending)
		recorder_forget(r);
	return !r->ending;
}

static bool
has_rule(const struct recorder_rules *rules, const char *name)
{
	for (uint32_t i = 0; i < rules->n; i++)
		if (strcmp(rules->names[i], name) == 0)
			return true;
	return false;
}

/* Disables what is not wanted any more. False: the tracer refused, and the rule is still enabled. */
static bool
disable_rest(struct recorder *r, const struct recorder_rules *rules)
{
	uint32_t kept = 0;
	bool all = true;

	for (uint32_t i = 0; i < r->rules.n; i++) {
		if (!has_rule(rules, r->rules.names[i]) &&
		    session_rule_off(&r->session, r->rules.names[i]) >= 0)
			continue;
		all &= has_rule(rules, r->rules.names[i]);
		memmove(r->rules.names[kept++], r->rules.names[i], sizeof r->rules.names[i]);
	}
	r->rules.n = kept;
	return all;
}

static void
enable_missing(struct recorder *r, const char *filter, const struct recorder_rules *rules,
    struct recorder_state *ret)
{
	for (uint32_t i = 0; i < rules->n; i++) {
		int rc;

		if (has_rule(&r->rules, rules->names[i]))
			continue;
		if ((rc = session_rule_on(&r->session, rules->names[i], filter)) < 0) {
			ret->failed++;
			snprintf(ret->reason, sizeof ret->reason, "%.60s: %.60s", rules->names[i],
			    lttng_strerror(rc));
			continue;
		}
		snprintf(
		    r->rules.names[r->rules.n++], sizeof *r->rules.names, "%s", rules->names[i]);
		ret->changed = true;
	}
}

/*
 * 1. Without rules the session is ended.
 * 2. A session that does not exist any more is made again.
 * 3. What is not wanted is disabled; if that fails, by ending the session.
 * 4. What is missing is enabled.
 */
int
recorder_set(struct recorder *r, const char *agent, const char *folder,
    const struct session_rings *rings, const char *filter, const struct recorder_rules *rules,
    struct recorder_state *ret, struct err *e)
{
	char name[128], own[PATH_MAX];
	uint32_t were = r->rules.n;
	int rc;

	memset(ret, 0, sizeof *ret);
	if ((rules->n == 0 || r->ending ||
		(r->session.handle != NULL && !session_listed(r->session.name)) ||
		(r->session.handle != NULL && !disable_rest(r, rules))) &&
	    !recorder_end(r))
		return err_set(e, ERR_TRACER, "%s: the session cannot be ended", r->session.name);
	if (rules->n == 0)
		return 0;
	if (r->session.handle == NULL) {
		snprintf(name, sizeof name, "%.100s-r%u", agent, r->made);
		snprintf(own, sizeof own, "%.3000s/recorder/%u", folder, r->made++);
		if ((rc = session_make(&r->session, name, own, rings, e)) != 0)
			return rc;
	}
	ret->changed = r->rules.n != were;
	enable_missing(r, filter, rules, ret);
	ret->on = r->rules.n;
	snprintf(ret->shm, sizeof ret->shm, "%.3900s/shm", r->session.folder);
	return 0;
}

static int
record(const char *session, const char *folder, struct err *e)
{
	struct lttng_snapshot_output *out = lttng_snapshot_output_create();
	int rc;

	if (out == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = lttng_snapshot_output_set_size(SNAPSHOT_BYTES_MAX, out)) >= 0 &&
	    (rc = lttng_snapshot_output_set_local_path(folder, out)) >= 0 &&
	    (rc = lttng_snapshot_output_set_name("s", out)) >= 0)
		rc = lttng_snapshot_record(session, out, 1);
	lttng_snapshot_output_destroy(out);
	return rc < 0 ? session_err(e, rc, "snapshot") : 0;
}

int
recorder_snapshot(
    struct recorder *r, const char *agent_folder, char folder[PATH_MAX], struct err *e)
{
	int rc;

	if (r->session.handle == NULL || r->ending)
		return err_set(e, ERR_TRACER, "the flight recorder is off");
	snprintf(folder, PATH_MAX, "%.3000s/recorder/snapshot-%u", agent_folder, r->snapshots++);
	if ((rc = folder_make(folder, e)) == 0)
		rc = record(r->session.name, folder, e);
	if (rc != 0)
		folder_remove(folder);
	return rc;
}
