/* SPDX-License-Identifier: GPL-3.0-or-later */
/* WAY(from, to, when): all transitions of a hypothesis; hypothesis_enter() permits no other. */
WAY(OPEN,    PROBING,   "its tracepoint is enabled")
WAY(OPEN,    ISOLATES,  "always-on tracepoints alone have isolated its edge")
WAY(OPEN,    EXPLAINED, "a key explains it, and no tracepoint is left to enable")
WAY(OPEN,    BOTTOM,    "no tracepoint is left to enable inside its edge")
WAY(OPEN,    WITHDRAWN, "the search ended, or its tracepoint is over the overhead budget")
WAY(PROBING, SEPARATES, "most of the variance lies between traces with it and without it")
WAY(PROBING, ISOLATES,  "a smaller edge has taken over enough of the share")
WAY(PROBING, EXPLAINED, "a key explains the smaller edge")
WAY(PROBING, NO_HELP,   "the share stays spread")
WAY(PROBING, BOTTOM,    "no smaller edge can be measured")
WAY(PROBING, WITHDRAWN, "congestion, overhead budget, or the search ended")
