/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TRANSITION(from, to, when): all transitions of a hypothesis; hypothesis_enter() permits no other. */
TRANSITION(OPEN,    PROBING,   "its tracepoint is enabled")
TRANSITION(OPEN,    ISOLATES,  "always-on tracepoints alone have isolated its edge")
TRANSITION(OPEN,    EXPLAINED, "a key explains it, and no tracepoint is left to enable")
TRANSITION(OPEN,    BOTTOM,    "no tracepoint is left to enable inside its edge")
TRANSITION(OPEN,    WITHDRAWN, "the search ended, or the tracepoint is over the overhead budget")
TRANSITION(PROBING, SEPARATES, "most of the variance lies between the traces with the tracepoint and those without it")
TRANSITION(PROBING, ISOLATES,  "a smaller edge inside it has enough of the share")
TRANSITION(PROBING, EXPLAINED, "a key explains the smaller edge")
TRANSITION(PROBING, NO_HELP,   "no part of the edge has enough of the share")
TRANSITION(PROBING, BOTTOM,    "no smaller edge can be measured")
TRANSITION(PROBING, WITHDRAWN, "congestion, the overhead budget, or the end of the search")
