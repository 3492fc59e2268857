/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "forest/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forest/hypothesis.h"

static const char *const words[] = {
#define VERDICT(name, number, word, help) [number] = word,
#include "forest/verdicts.tbl.h"
#undef VERDICT
};

const char *
verdict_word(enum verdict_kind k)
{
	return (unsigned)k < sizeof words / sizeof words[0] ? words[k] : "?";
}

const char *
preload_word(enum preload_kind k)
{
	static const char *const preload[] = {
#define PRELOAD(name, number, word, text) [number] = word,
#include "forest/preload.tbl.h"
#undef PRELOAD
	};

	return (unsigned)k < sizeof preload / sizeof preload[0] ? preload[k] : "?";
}

const char *
verdict_problem_word(enum problem p)
{
	switch (p) {
	case PROBLEM_UNPREDICTABLE:
		return "unpredictable";
	case PROBLEM_SLOW:
		return "slow";
	case PROBLEM_TAIL:
		return "tail";
	default:
		return "?";
	}
}

const char *
wait_word(enum wait_cause c)
{
	static const char *const causes[] = {
		[WAIT_UNKNOWN] = "",
		[WAIT_OCCUPIED] = "occupied",
		[WAIT_STILL] = "still",
	};

	return (unsigned)c < sizeof causes / sizeof causes[0] ? causes[c] : "?";
}

const char *
pool_word(enum pool_state s)
{
	static const char *const pools[] = {
#define POOL(name, number, word, text) [number] = word,
#include "forest/pools.tbl.h"
#undef POOL
	};

	return (unsigned)s < sizeof pools / sizeof pools[0] ? pools[s] : "?";
}

const char *
ground_word(enum verdict_ground g)
{
	static const char *const grounds[] = {
#define GROUND(name, number, word, text) [number] = word,
#include "forest/grounds.tbl.h"
#undef GROUND
	};

	return (unsigned)g < sizeof grounds / sizeof grounds[0] ? grounds[g] : "?";
}

static bool
is_of(const char *label, const char *event)
{
	return label != NULL && strstr(label, event) != NULL;
}

bool
verdict_is_whole(const struct verdict *v)
{
	return v->kind == VERDICT_SPREAD && is_of(v->from, "/hone:request_begin(") &&
	       is_of(v->to, "/hone:request_end(") && (v->key == NULL || v->key[0] == '\0') &&
	       (v->tail_key == NULL || v->tail_key[0] == '\0');
}

/* The waits are what a load leads to, or what others lead to. */
static bool
is_of_load(const struct verdict *v)
{
	return v->pool == POOL_USUAL || v->pool == POOL_WAITING;
}

/* Between two units, or inside one that waits for its thread. */
static bool
is_wait(const struct verdict *v)
{
	return v->handed_over || (v->pool != POOL_NONE && v->pool != POOL_STILL);
}

/* Waits for threads, of which enough is certainly new. */
static bool
is_new_wait(const struct verdict *v)
{
	return is_wait(v) &&
	       v->new_low > (is_of_load(v) || v->pool == POOL_MOST || v->pool == POOL_NONE
				    ? VERDICT_NEW_WAIT
				    : VERDICT_NEW_ODD);
}

/* Of nearly all that varies a key, or the threads that are waited for, may be the cause although no part of the edge has enough, or none is known. */
static bool
is_only_spread(const struct verdict *v, double effect_min)
{
	bool names = (v->key != NULL && v->key[0] != '\0') ||
	             (v->pool != POOL_NONE && !is_of_load(v));

	return (v->kind == VERDICT_SPREAD || v->kind == VERDICT_HIDDEN) &&
	       v->problem == PROBLEM_UNPREDICTABLE &&
	       (!names || v->effect < fmin(VERDICT_SPREAD_OVER * effect_min, VERDICT_SPREAD_ALL));
}

/* Rare bursts: one edge alone shows too few of the waits. A queue that only grows: successive requests wait for the same, so that thousands are worth ten, but how long they wait
 * is certain. Not of what the load leads to, nor where it is asked what is new. */
static bool
is_certain_pool(const struct verdict *v)
{
	bool grows = v->pool == POOL_UNEXPLAINED && v->passing >= VERDICT_MANY &&
	             v->effect >= VERDICT_POOL_SURE && v->pool_expected_ns > 0 &&
	             v->pool_wait_ns >= v->pool_service_ns &&
	             v->pool_wait_ns >= VERDICT_POOL_TIMES * v->pool_expected_ns;

	return v->pool != POOL_NONE && !is_of_load(v) && isnan(v->new_part) &&
	       (grows || v->pool_low >= VERDICT_POOL_SURE);
}

bool
verdict_sure(const struct verdict *v)
{
	if (v->kind == VERDICT_CAPTURED && v->tail_p > VERDICT_CAPTURED_P)
		return false;
	return (v->share_low > 0 || (v->handed_over && is_new_wait(v)) || v->pool == POOL_STILL ||
		   is_certain_pool(v)) &&
	       (v->mistake == NULL || v->mistake[0] == '\0') && !verdict_is_whole(v);
}

bool
verdict_worth(const struct verdict *v, double effect_min)
{
	/* 0 */
	if (v->ground == GROUND_PROCESSOR || v->ground == GROUND_NONE)
		return false;
	/* 1 */
	if (!isnan(v->new_part))
		return (is_wait(v) ? is_new_wait(v) : v->new_low > 0) &&
		       !(v->effect * v->new_part < VERDICT_NEW * effect_min);
	/* 2 */
	if (is_only_spread(v, effect_min))
		return false;
	/* 3 */
	return !(v->effect < effect_min) && !is_of_load(v);
}

double
verdict_apart(double factor, double effect_min)
{
	return fmin(factor * effect_min, (1 + effect_min) / 2);
}

double
verdict_together(double effect_min)
{
	return fmax(verdict_apart(VERDICT_ALONE, effect_min),
	    fmin(VERDICT_TOGETHER * effect_min, VERDICT_NEARLY_ALL));
}

bool
verdict_is_rare(const struct verdict *v)
{
	double cv = sqrt(fmax(0, v->share)) * v->cv / v->latency_share;
	double part = v->passing > 0 && v->passing < v->traces
	                  ? (double)v->passing / (double)v->traces
	                  : 1;

	/* A passage that does not happen takes 0. */
	return !v->by_latency && v->latency_share > 0 &&
	       part * (1 + cv * cv) - 1 >= VERDICT_RARE_CV * VERDICT_RARE_CV;
}

double
verdict_saves(const struct verdict *v)
{
	double left = v->cv_then / v->cv_now;

	return left < 1 ? 1 - left * left : 0; /* not of NAN */
}

double
verdict_saves_all(const struct verdict *v)
{
	return verdict_saves(v) * (v->share > v->effect ? v->effect / v->share : 1);
}

bool
verdict_open(const struct verdict *v, double effect_min)
{
	/* 1 */
	if (v->kind == VERDICT_CAPTURED || (v->mistake != NULL && v->mistake[0] != '\0') ||
	    verdict_is_whole(v) || !isnan(v->new_part))
		return true;
	/* 2 */
	if (verdict_worth(v, effect_min))
		return true;
	/* 3 */
	if (v->ground == GROUND_PROCESSOR || v->ground == GROUND_NONE || is_of_load(v) ||
	    is_only_spread(v, effect_min))
		return false;
	/* 4 and 5 */
	return v->traces < VERDICT_MANY;
}

/* Every text of a verdict. */
#define TEXTS(v)                                                                                \
	{                                                                                       \
		&(v)->from, &(v)->to, &(v)->path, &(v)->tracepoint, &(v)->text, &(v)->key,      \
		    &(v)->unlearned_service, &(v)->unlearned_names, &(v)->above_from,           \
		    &(v)->above_to, &(v)->call, &(v)->object, &(v)->wait_type, &(v)->wait_unit, \
		    &(v)->mistake, &(v)->mistake_at, &(v)->mistake_to, &(v)->tail_key,          \
		    &(v)->tail_value, &(v)->below_top, &(v)->below_states, &(v)->below_places,  \
		    &(v)->below_holders, &(v)->below_wakers, &(v)->below_missing,               \
		    &(v)->below_differential, &(v)->below_functions, &(v)->below_held           \
	}

bool
verdict_copy(struct verdict *to, const struct verdict *from)
{
	char **const copies[] = TEXTS(to);
	char *const *const texts[] = TEXTS(from);
	bool all = true;

	*to = *from;
	for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
		*copies[i] = NULL;
	for (size_t i = 0; i < sizeof copies / sizeof copies[0] && all; i++)
		all = hypothesis_text(copies[i], *texts[i]);
	if (!all)
		verdict_release(to);
	return all;
}

void
verdict_release(struct verdict *v)
{
	char **const texts[] = TEXTS(v);

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		free(*texts[i]);
	memset(v, 0, sizeof *v);
}
