/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/worth.h"

#include <assert.h>
#include <math.h>

#include "analysis/bootstrap.h"
#include "controlplane/search/tail_target.h"

double
effect_of(const struct effect_facts *f)
{
	double share = fmin(1, fmax(0, f->share));

	/* 1 */
	if (f->by_latency)
		return share;
	/* 2 */
	if (!(f->within_variance > 0))
		return 0;
	/* 3 */
	if (f->tail && f->tail_variance < TAIL_CARRIES_MIN)
		return 0;
	/* 4 */
	if (!f->tail && f->began_share > 0)
		return fmin(1, fmax(0, f->began_effect)) * fmin(1, share / f->began_share);
	/* 5 */
	return share * fmin(1, f->group_variance / f->within_variance);
}

static bool
is_between(double x, double low, double high)
{
	return low < x && x <= high;
}

bool
worth_is_open(const struct verdict *v, double effect_min)
{
	double scale = v->share > 0 ? v->effect / v->share : 0, low = v->share_low * scale,
	       high = v->share_high * scale;

	/* 1 */
	if (v->handed_over ||
	    (v->share_low > 0 && v->share >= SHARE_NEARLY_ALL && v->effect >= effect_min))
		return false;
	/* 2 */
	if (is_between(effect_min, low, high))
		return true;
	/* 3 and 4 */
	return v->traces < WORTH_ALONE_TRACES && !verdict_is_rare(v) &&
	       is_between(verdict_apart(VERDICT_ALONE, effect_min), low, high);
}

enum run_state
worth_state(const struct worth_facts *f)
{
	assert(f->worth <= f->sure && f->open_worth <= f->open);
	/* 1 */
	if ((f->sure == 0 && f->open > 0) || (f->worth == 0 && f->open_worth > 0))
		return RUN_UNSURE;
	/* 2 */
	if (f->worth == 0)
		return RUN_NOTHING;
	/* 3 */
	if (f->apart)
		return RUN_FOUND;
	/* 4 and 5 */
	return f->most < verdict_apart(VERDICT_ALONE, f->effect_min) &&
	               f->second < verdict_apart(VERDICT_TWO, f->effect_min) &&
	               f->saves < verdict_apart(VERDICT_SAVES, f->effect_min) &&
	               f->saves_own < VERDICT_SAVES_OWN &&
	               f->together < verdict_together(f->effect_min)
	           ? RUN_NOTHING
	           : RUN_FOUND;
}

bool
look_on(const struct look_facts *f)
{
	/* 1 */
	if (f->latest)
		return false;
	if (f->late)
		return f->due > f->effect_min && f->due > f->effect;
	/* 2 and 3 */
	if (f->worth == 0 || f->quiet || f->seen_ns < PRESENCE_SEEN_NS)
		return true;
	/* 4 */
	if (f->pool && f->watched_ns < LOOK_POOL_NS)
		return true;
	/* 5 and 6 */
	return f->unjudged > f->effect;
}

bool
search_again(const struct again_facts *f)
{
	/* 1 and 2 */
	if (f->searches != 1 || !f->ended)
		return false;
	/* 3 */
	if (f->requests < AGAIN_TIMES * f->requests_then)
		return false;
	/* 4 and 5 */
	return f->effect - f->named >= f->effect_min && f->effect >= 2 * f->named;
}

enum rest_step
rest_step(const struct rest_facts *f)
{
	/* 1 */
	if (!f->worth)
		return REST_NONE;
	/* 2 */
	if (f->left < f->effect_min)
		return REST_UNDER;
	/* 3 and 4 */
	return f->causes >= f->causes_max ? REST_ENOUGH : REST_SEARCH;
}
