/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What changed between two windows of traffic, each given as a document
 * (docs/report.md): how much of the change in mean response time lies in which edge
 * and how much in another mix of groups (Kitagawa 1955: the parts add up to the
 * change exactly); which calls take longer by themselves or on the way; where requests
 * go on otherwise than they did; and which services are the likeliest places of it.
 *
 * What got slower: the share of calls that must have, by the one-sided distance of
 * the two distributions (Smirnov 1939), less what chance may do (Massart 1990); for
 * each factor that they may be slower by, and so what share of the calls' time is
 * lost. What goes on otherwise: how much more often a step is taken, less what chance
 * may do (Newcombe 1998, method 10). Both count calls, so they add up; as evidence,
 * all calls of one request count as one, since they go alike. Whatever is
 * more than chance by itself is told; what is significant among all that was tried
 * (Benjamini & Hochberg 1995) is called sure.
 *
 * Services are ranked as places of faults are by test coverage (Ochiai's
 * coefficient; Abreu, Zoeteweij & van Gemund 2006): how much of all that changed
 * touches the service, and how much of all that touches it changed. What lies between
 * two services touches both. What a slow or failing callee does to its callers does
 * not count for them: only own time and ways do, and of steps the one after the call.
 */
#ifndef REPORT_CHANGE_H
#define REPORT_CHANGE_H

#include <stdint.h>

#include <jansson.h>

#include "base/err.h"

struct change_options { /* all zeroes: the defaults */
	double q; /* 0.01: false discoveries among what is called a change, and one-sided error of
	             bounds */
	double confidence; /* 0.95: of the intervals of shares */
	uint32_t list_max; /* 50: entries of a list; of further ones the sum is told */
};

/*
 * The member "baseline" of `now`'s document (docs/report.md, CHANGE): changes from
 * `then` to `now`. A new reference, or NULL. What a document lacks is not
 * compared. ERR_INPUT: not such documents; ERR_MEMORY.
 * O((calls + steps) log (calls + steps) + edges).
 */
json_t *change_json(const json_t *now, const json_t *then, const char *name,
    const struct change_options *o, struct err *e);

#endif
