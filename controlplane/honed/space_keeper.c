/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/space_keeper.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "searchspace/space.h"

#define SETTLED_NS INT64_C(2000000000)

int
space_keeper_load(struct space_keeper *k, struct err *e)
{
	struct space *space = engine_space(k->engine);
	struct space_stats st;
	int rc = space_load(space, engine_labels(k->engine), k->path, NULL, e);

	if (rc == ERR_MISSING) {
		log_line(LOG_INFO,
		    "%s: no learned space yet; run 'hone learn' while the application is under load",
		    k->path);
		return 0;
	}
	if (rc < 0)
		return err_prefix(e, "learned space (to begin anew, move the file away)");
	if (space_stats(space, LABEL_NONE, &st))
		log_line(LOG_INFO,
		    "%s: learned from %" PRIu64 " traces: %" PRIu32 " places, %" PRIu32
		    " tracepoints that can be enabled",
		    k->path, st.traces, st.places, st.labels);
	return 0;
}

void
space_keeper_save(struct space_keeper *k)
{
	struct err e;

	if (!engine_learned(k->engine))
		return;
	if (space_save(engine_space(k->engine), k->path, &e) < 0)
		log_line(
		    LOG_ERROR, "%s; what was learned is kept in memory until honed ends", e.text);
	else
		log_line(LOG_INFO, "%s: learned", k->path);
}

/* The newest version of the file that was learned of these programs. 1: *ret; 0: there is none; or
 * a negative code. */
static int
find_version(const char *path, uint64_t fingerprint, struct space_version *ret, struct err *e)
{
	struct space_version *all = NULL;
	uint32_t n = 0;
	int rc = space_versions(&all, &n, path, e), found = 0;

	for (uint32_t i = 0; rc == 0 && i < n && !found; i++)
		if (all[i].fingerprint == fingerprint) {
			*ret = all[i];
			found = 1;
		}
	free(all);
	return rc == ERR_MISSING ? 0 : rc < 0 ? rc : found;
}

static int
use_version(struct space_keeper *k, const struct space_version *v, struct err *e)
{
	struct labels *labels = engine_labels(k->engine);
	struct space *space = space_new(labels);
	int rc = space == NULL ? err_set(e, ERR_MEMORY, "out of memory")
	                       : space_load(space, labels, k->path, v->name, e);

	if (rc < 0) {
		space_free(space);
		return rc;
	}
	engine_space_use(k->engine, space);
	k->seen = space;
	log_line(LOG_INFO, "%s: uses version %s, which was learned of the programs that run",
	    k->path, v->name[0] != '\0' ? v->name : "(no name)");
	return 0;
}

void
space_keeper_choose(struct space_keeper *k)
{
	uint64_t runs = engine_fingerprint(k->engine);
	struct mono now = clock_mono();
	struct space_version v;
	struct err e = { 0 };
	int rc;

	/* 1. an operator has chosen, also while the choice for these programs had to wait */
	if (k->seen != NULL && k->seen != engine_space(k->engine))
		k->chosen = runs;
	k->seen = engine_space(k->engine);
	/* 2. the programs have settled, and the space was not yet chosen for them */
	if (runs != k->fingerprint) {
		k->fingerprint = runs;
		k->since = now;
	}
	if (runs == k->chosen || mono_since_ns(now, k->since) < SETTLED_NS ||
	    engine_busy(k->engine))
		return;
	k->chosen = runs;
	/* 3. the space in use is of other programs */
	if (!engine_stale(k->engine))
		return;
	if ((rc = find_version(k->path, runs, &v, &e)) > 0)
		rc = use_version(k, &v, &e);
	if (rc < 0)
		log_line(LOG_ERROR, "%s; the space in use stays", e.text);
	else if (engine_stale(k->engine))
		log_line(LOG_WARN,
		    "%s: was learned of other programs than those that run; run 'hone learn'",
		    k->path);
}
