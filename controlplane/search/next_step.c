/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/next_step.h"

#include <assert.h>

static struct next_step
step(enum next_what what, enum next_reason reason)
{
	return (struct next_step){ .what = what, .reason = reason };
}

static struct next_step
finish(enum verdict_kind kind, enum next_reason reason)
{
	return (struct next_step){ .what = NEXT_FINISH, .reason = reason, .kind = kind };
}

struct next_step
next_step(const struct next_facts *f)
{
	bool own = f->layer == LAYER_CLOSED;

	assert(f->task != TASK_FINAL_EDGE);
	/* 1 */
	if (f->duplicate)
		return step(NEXT_END, NEXT_DUPLICATE);
	/* 2 */
	if (f->task != TASK_PROBE_LAYER && f->spreads >= NEXT_SPREADS_MAX)
		return finish(VERDICT_SPREAD, NEXT_SPREAD_TWICE);
	/* 3 */
	if (f->candidates == TRIAL_SOME || f->exploration == TRIAL_SOME ||
	    f->layer_trial == TRIAL_SOME)
		return step(NEXT_CYCLE, NEXT_ENABLED);
	if (own) {
		/* 4 */
		if (f->effort_used && f->left == TRIAL_OPEN)
			return step(NEXT_COUNT, NEXT_EFFORT_USED);
		/* 5 */
		if (f->effort_used && f->left == TRIAL_SOME)
			return finish(VERDICT_CUT, NEXT_EFFORT_USED);
		/* 6 */
		if (f->candidates == TRIAL_OPEN)
			return step(NEXT_CANDIDATES, NEXT_LEARNED);
		/* 7 */
		if (f->exploration == TRIAL_OPEN && !f->effort_used)
			return step(NEXT_EXPLORE, NEXT_NOT_LEARNED);
	}
	/* 8 */
	if (f->separates && f->side == SIDE_BOTH)
		return step(NEXT_SLOW_SIDE, NEXT_SEPARATED);
	/* 9 */
	if (f->unsure)
		return step(NEXT_FORCE, NEXT_EXCESS_UNBOUNDED);
	/* 10 */
	if (!f->spread && !f->over_budget && f->layer_trial == TRIAL_OPEN)
		return step(NEXT_LAYER, NEXT_OWN_USED_UP);
	/* 11 */
	if (f->over_budget)
		return finish(VERDICT_CUT, NEXT_OVER_BUDGET);
	/* 12 */
	if (f->spread)
		return finish(VERDICT_SPREAD, NEXT_NO_PART);
	/* 13 */
	return finish(VERDICT_PLACE, NEXT_NOTHING_LEFT);
}

enum final_step
final_step(const struct final_facts *f)
{
	bool open = f->open && f->wanted > 0;

	/* 1 */
	if (f->found && (open || f->traces >= NEXT_PLENTY) && f->traces >= f->wanted &&
	    f->passing >= NEXT_PASSING)
		return FINAL_CONCLUDE;
	/* 2 */
	if (f->found && f->deadline_passed && f->passing >= NEXT_FEW)
		return FINAL_CONCLUDE;
	/* 3 */
	if (f->deadline_passed && f->traces >= NEXT_FEW && f->can_take_back)
		return FINAL_TAKE_BACK;
	/* 4 */
	if (f->deadline_passed)
		return FINAL_END;
	/* 5 and 6 */
	return !f->looked && f->found && f->traces >= NEXT_CLEAR && f->traces >= f->wanted &&
	               f->passing >= NEXT_PASSING
	           ? FINAL_LOOK
	           : FINAL_WAIT;
}

static enum verdict_step
step_of_verdict(const struct verdict_facts *f)
{
	double least = DECIDE_OF_ROOT_MIN * f->root_share;
	bool less = f->share < least,
	     contradicted = f->share_high < least ||
	                    (less && (f->share_low <= 0 || f->traces >= DECIDE_MANY));
	bool gone = f->carries < VERDICT_GONE_MAX * f->carried_found;
	bool many_soon = !f->put_off && f->traces < DECIDE_MANY && f->traces * 3 >= DECIDE_MANY * 2;

	/* 2 */
	if ((less || contradicted || gone) && f->traces < DECIDE_MANY && !f->deadline_passed)
		return VERDICT_STEP_MORE;
	/* 3 */
	if (contradicted && !f->can_take_back)
		return VERDICT_STEP_END;
	/* 4 */
	if (contradicted)
		return VERDICT_STEP_TAKE_BACK;
	/* 5 */
	if (gone)
		return VERDICT_STEP_GONE;
	/* 6 */
	if (!f->sure && (!f->deadline_passed || !f->patience_passed || many_soon))
		return VERDICT_STEP_MORE;
	/* 7 */
	if ((f->worth_open || f->calm) && f->traces < VERDICT_WORTH_TRACES && !f->deadline_passed)
		return VERDICT_STEP_MORE;
	/* 8 */
	if (f->effective < VERDICT_EFFECTIVE_MIN && f->traces < VERDICT_DEPENDENT_TRACES &&
	    !f->deadline_passed)
		return VERDICT_STEP_MORE;
	/* 9 */
	return VERDICT_STEP_KEEP;
}

enum verdict_step
verdict_step(const struct verdict_facts *f)
{
	enum verdict_step step = step_of_verdict(f);

	assert(f->share_low <= f->share_high);
	/* 1 */
	if (f->look && (step != VERDICT_STEP_KEEP || f->share_low < VERDICT_CLEAR_MIN ||
			   f->effective < VERDICT_EFFECTIVE_MIN || f->rest_open || f->few_open))
		return VERDICT_STEP_WAIT;
	return step;
}

bool
next_explored_enough(uint64_t traces, bool costs_measured, bool deadline_passed)
{
	return deadline_passed || (traces >= NEXT_EXPLORED_MIN && costs_measured);
}
