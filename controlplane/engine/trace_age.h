/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CONTROLPLANE_ENGINE_TRACE_AGE_H
#define CONTROLPLANE_ENGINE_TRACE_AGE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/clocks.h"

/* Whether the trace surely began after this time of the controller's clock: its begin, less the
 * uncertainty of the clock of the node where it began (0.5 s while round trips have not bounded
 * that), is later. O(1). */
bool trace_began_after(const struct clocks *clocks, const struct trace *t, int64_t time_ns);

#endif
