/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What changed between two windows of traffic, each given as a document (docs/report.md): how much of
 * the change in mean response time lies in which edge, and how much in a different mix of groups
 * (Kitagawa 1955: the parts add up to the change exactly); which calls take longer by themselves or
 * on the way to the callee and back; after which calls requests continue differently; and which
 * services most likely contain the cause.
 *
 * Slower calls: a lower bound on the share of calls that became slower, from the one-sided distance of
 * the two distributions (Smirnov 1939) less its critical value (Massart 1990); evaluated for each
 * factor of slow-down, it bounds the share of the calls' time that is lost. Different continuation: a
 * lower bound on how much more often a step is taken (Newcombe 1998, method 10). Both are in calls, so
 * they add up. As evidence, all calls of one request count as one sample, since they are correlated.
 * Every change whose own test is significant is listed; it is called sure if it remains significant
 * among all tests (Benjamini & Hochberg 1995).
 *
 * Services are ranked as test coverage ranks locations of faults (Ochiai's coefficient; Abreu,
 * Zoeteweij & van Gemund 2006): which share of all changes touches the service, and which share of
 * all that touches the service changed. What lies between two services touches both. Effects of a
 * slow or failing callee on its callers do not count for the callers: only own time and ways count,
 * and of the steps only the one directly after the call.
 */
#ifndef REPORT_CHANGE_H
#define REPORT_CHANGE_H

#include <stdint.h>

#include <jansson.h>

#include "base/err.h"

struct change_options { /* 0 in a field: its default */
	/* False discovery rate of sure changes, and one-sided error of the bounds. Default 0.01. */
	double q;
	double confidence; /* of the intervals of shares; default 0.95 */
	uint32_t list_max; /* entries of a list, the rest is given as a sum; default 50 */
};

/*
 * Returns the member "baseline" of `now`'s document (docs/report.md, CHANGE): the changes from
 * `then` to `now`. A new reference, or NULL. Members that a document lacks are not
 * compared. ERR_INPUT: not analysis documents; ERR_MEMORY.
 * O((calls + steps) log (calls + steps) + edges).
 */
json_t *change_json(const json_t *now, const json_t *then, const char *name,
    const struct change_options *o, struct err *e);

#endif
