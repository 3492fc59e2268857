/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/restarts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "controlplane/engine/parts.h"

#define SECOND_NS INT64_C(1000000000)
#define PATIENCE_NS (600 * SECOND_NS)

enum { ENDS_MAX = 3 };

static bool
ended_with_controller(const struct run *r, struct wall now)
{
	return r->state == RUN_STOPPED && r->reason == REASON_CONTROLLER_ENDED &&
	       r->ended.ns > now.ns - PATIENCE_NS;
}

/* How often diagnoses of the type ended with a controller within the last 10 minutes. */
static uint32_t
ends_of(const struct forest *f, const char *type, struct wall now)
{
	const struct run *r;
	uint64_t at = 0;
	uint32_t n = 0;

	while ((r = forest_run_next(f, &at)) != NULL)
		n += ended_with_controller(r, now) && strcmp(r->type, type) == 0;
	return n;
}

void
restarts_begin(struct restarts *r, struct forest *f, struct mono now, struct wall when)
{
	const struct run *run;
	uint64_t at = 0;

	*r = (struct restarts){ .began = now };
	while ((run = forest_run_next(f, &at)) != NULL) {
		if (!ended_with_controller(run, when) || forest_run_latest(f, run->type) != run)
			continue;
		if (ends_of(f, run->type, when) >= ENDS_MAX)
			log_line(LOG_WARN,
			    "diagnosis %" PRIu64
			    " of %s is not begun anew: %d of them ended with a controller within 10 minutes",
			    run->id, run->type, ENDS_MAX);
		else if (r->n < RESTARTS_MAX)
			r->runs[r->n++] = run->id;
	}
}

bool
restarts_type_is_shared(const struct labels *labels, const char *type)
{
	const struct label *first = NULL;
	size_t len = strlen(type);

	for (uint32_t i = 0; i < labels_count(labels); i++) {
		const struct label *l = labels_get(labels, i);

		if (l->kind != RECORD_REQUEST_BEGIN || l->name_len != len ||
		    memcmp(l->name, type, len) != 0)
			continue;
		if (first != NULL && (first->service_len != l->service_len ||
					 memcmp(first->text, l->text, l->service_len) != 0))
			return true;
		first = l;
	}
	return false;
}

/* True: it is done with. */
static bool
restart(struct engine *g, struct forest *f, const struct run *old, bool last, struct mono now,
    struct wall when)
{
	const struct start_options o = { .strategy = old->strategy,
		.seed = old->seed,
		.effort_cycles = old->effort,
		.effect_min = isnan(old->effect_min) ? 0 : old->effect_min,
		.causes_max = old->causes_max,
		.tail_quantile = isnan(old->tail_quantile) ? 0 : old->tail_quantile,
		.healthy = old->healthy };
	uint64_t id;
	struct err e;
	int rc;

	if (restarts_type_is_shared(engine_parts(g)->labels, old->type)) {
		log_line(LOG_WARN,
		    "diagnosis %" PRIu64
		    " of %s is not begun anew: several services have this request type; start it with SERVICE/%s",
		    old->id, old->type, old->type);
		return true;
	}
	rc = engine_start(g, old->type, &o, now, when, &id, &e);
	if (rc == ERR_MISSING && !last) /* none of its requests has come yet */
		return false;
	if (rc != 0) {
		log_line(rc == ERR_BUSY ? LOG_INFO : LOG_WARN,
		    "diagnosis %" PRIu64 " of %s is not begun anew: %s", old->id, old->type,
		    e.text);
		return true;
	}
	hypothesis_text(&forest_run(f, id)->by, old->by);
	forest_audit_own(f, &(struct audit){ .when = when,
				.actor = ACTOR_CONTROLLER,
				.action = ACTION_START,
				.run = id,
				.reason = REASON_CONTROLLER_ENDED });
	log_line(LOG_INFO, "diagnosis %" PRIu64 " of %s begins anew as %" PRIu64, old->id,
	    old->type, id);
	return true;
}

void
restarts_step(
    struct restarts *r, struct engine *g, struct forest *f, struct mono now, struct wall when)
{
	bool last = mono_since_ns(now, r->began) >= PATIENCE_NS;
	uint32_t kept = 0;

	if (r->n == 0 || mono_since_ns(now, r->tried) < SECOND_NS)
		return;
	r->tried = now;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct run *old = forest_run(f, r->runs[i]);

		if (old != NULL && !restart(g, f, old, last, now, when))
			r->runs[kept++] = r->runs[i];
	}
	r->n = kept;
}
