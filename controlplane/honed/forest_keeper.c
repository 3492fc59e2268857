/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/forest_keeper.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define SECOND_NS INT64_C(1000000000)
#define PRUNE_NS (60 * SECOND_NS)
#define DAY_NS (86400 * SECOND_NS)

/* ---- opening ---- */

static void
end_hypotheses(struct forest *f, uint64_t run, struct wall now)
{
	struct hypothesis *h;
	uint64_t at = 0;

	while ((h = forest_next(f, run, &at)) != NULL) {
		if (hypothesis_settled(h->state))
			continue;
		hypothesis_enter(h, HYPOTHESIS_WITHDRAWN, now);
		h->reason = REASON_STOPPED;
		forest_touch(f, h);
	}
}

static int
end_orphans(struct forest_keeper *k, struct err *e)
{
	struct wall now = clock_wall();
	struct run *r;
	uint64_t at = 0;

	while ((r = forest_run_next(k->forest, &at)) != NULL) {
		if (r->state != RUN_ACTIVE)
			continue;
		r->state = RUN_STOPPED;
		r->ended = now;
		r->reason = REASON_CONTROLLER_ENDED;
		forest_touch_run(k->forest, r);
		end_hypotheses(k->forest, r->id, now);
		forest_audit_own(k->forest, &(struct audit){ .when = now,
						.actor = ACTOR_LEASE,
						.action = ACTION_DISABLE_RUN,
						.run = r->id,
						.reason = REASON_CONTROLLER_ENDED });
		log_line(LOG_WARN,
		    "diagnosis %" PRIu64
		    " of %s was active when the controller ended; it is stopped",
		    r->id, r->type);
	}
	return store_commit(k->store, k->forest, e);
}

int
forest_keeper_open(struct forest_keeper *k, const char *path, int64_t history_days,
    int64_t size_max_bytes, struct err *e)
{
	int rc;

	*k = (struct forest_keeper){
		.path = path, .history_days = history_days, .size_max_bytes = size_max_bytes
	};
	if ((k->forest = forest_new()) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = store_open(&k->store, path, e)) < 0 ||
	    (rc = store_load(k->store, k->forest, (unsigned)history_days, e)) < 0 ||
	    (rc = store_newest(k->store, &k->newest, e)) < 0)
		return rc;
	calendar_begin(&k->calendar, k->newest, clock_wall(), clock_mono());
	return end_orphans(k, e);
}

void
forest_keeper_close(struct forest_keeper *k)
{
	store_close(k->store);
	if (k->forest != NULL)
		forest_free(k->forest);
	k->store = NULL;
	k->forest = NULL;
}

/* ---- keeping ---- */

static bool
has_changed(struct forest *f)
{
	const struct forest_changes *c = forest_changes(f);

	return c->nruns + c->nhypotheses + c->nverdicts + c->nswitched + c->nevidence + c->naudit >
	       0;
}

static int
commit(struct forest_keeper *k, struct err *e)
{
	struct store_place at;
	int rc;

	if (k->feed == NULL)
		return store_commit(k->store, k->forest, e);
	if ((rc = forest_feed_changes(k->feed, forest_changes(k->forest), &at, e)) != 0)
		return rc;
	store_note_place(k->store, &at);
	if ((rc = store_commit(k->store, k->forest, e)) == 0)
		forest_feed_committed(k->feed);
	return rc;
}

bool
forest_keeper_commit(struct forest_keeper *k)
{
	struct mono now = clock_mono();
	bool failed = k->trouble[0] != '\0';
	struct err e;

	assert(k->store != NULL);
	if (!has_changed(k->forest) && !failed)
		return true;
	if (failed && mono_since_ns(now, k->tried) < SECOND_NS)
		return false;
	if (commit(k, &e) == 0) {
		if (failed)
			log_line(LOG_INFO, "%s: can be written again", k->path);
		k->trouble[0] = '\0';
		return true;
	}
	if (strcmp(k->trouble, e.text) != 0)
		log_line(LOG_ERROR, "%s; no more tracepoints are enabled until it can be written",
		    e.text);
	snprintf(k->trouble, sizeof k->trouble, "%s", e.text);
	k->tried = now;
	return false;
}

void
forest_keeper_prune(struct forest_keeper *k, struct wall wall, struct mono now)
{
	struct wall before = { 0 };
	struct err e = { 0 };
	int deleted;

	if (k->pruned.ns != 0 && mono_since_ns(now, k->pruned) < PRUNE_NS)
		return;
	if (k->history_days > 0)
		before.ns = calendar_now(&k->calendar, wall, now).ns - k->history_days * DAY_NS;
	deleted = store_prune(k->store, k->forest, before, k->size_max_bytes, &e);
	if (deleted > 0)
		log_line(LOG_INFO, "%s: %d old diagnos%s deleted", k->path, deleted,
		    deleted == 1 ? "is" : "es");
	if (deleted < 0 && strcmp(k->prune_trouble.text, e.text) != 0)
		log_line(LOG_WARN, "%s; old diagnoses are kept", e.text);
	k->prune_trouble = e;
	if (deleted <= 0)
		k->pruned = now;
}
