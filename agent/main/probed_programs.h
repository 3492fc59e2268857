/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that a mapping describes by USDT probes alone: the tracer does not know them, so they are found in /proc by their names. */
#ifndef AGENT_MAIN_PROBED_PROGRAMS_H
#define AGENT_MAIN_PROBED_PROGRAMS_H

#include "agent/main/agent_state.h"

/* Looks for them each 2 s, and tells the source of hone-below when they are others than before. Those of users that agent.users does not
 * list are left out. Costs a file of each process of the machine; nothing if no mapping names USDT probes. */
void probed_programs_find(struct agent *a, struct mono now);

#endif
