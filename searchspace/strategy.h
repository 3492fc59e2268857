/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A strategy chooses the next tracepoints to enable from the candidates in a gap. It only
 * proposes.
 */
#ifndef SEARCHSPACE_STRATEGY_H
#define SEARCHSPACE_STRATEGY_H

#include "searchspace/strategy_propose.h"

struct strategy {
	const char *name, *help;
	strategy_propose *propose;
};

const struct strategy *strategy_find(const char *name); /* or NULL */
const struct strategy *strategy_at(unsigned i);         /* or NULL past the last */

#endif
