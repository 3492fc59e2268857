/* SPDX-License-Identifier: GPL-3.0-or-later */
/* WAY(from, to, "when"): all that a hypothesis can become; hypothesis_enter() takes no other. */
WAY(OPEN,    PROBING,   "its tracepoints go on")
WAY(OPEN,    ISOLATES,  "always-on tracepoints alone have isolated its edge")
WAY(OPEN,    EXPLAINED, "a key explains it, nothing is left to turn on")
WAY(OPEN,    BOTTOM,    "nothing is left to turn on inside its edge")
WAY(OPEN,    WITHDRAWN, "stopped, or the budget cannot pay for what it would take")
WAY(PROBING, SEPARATES, "most variance lies between traces with and without it")
WAY(PROBING, ISOLATES,  "a smaller edge took over enough of the share")
WAY(PROBING, EXPLAINED, "a key explains the smaller edge")
WAY(PROBING, NO_HELP,   "the share stays spread")
WAY(PROBING, BOTTOM,    "nothing smaller is to be had: the edge is measured, and is the place")
WAY(PROBING, WITHDRAWN, "congestion, budget, or stopped")
