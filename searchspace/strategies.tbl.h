/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * STRATEGY(name, "what it does"): strategy_<name>() proposes tracepoints
 */
STRATEGY(flat, "parts with equal numbers of tracepoints, in happens-before order")
STRATEGY(hierarchical, "both ends of the span in the middle, then inside the span that carries the problem")
STRATEGY(bisect, "parts of equal learned time, with numbers of tracepoints within half of equal")
STRATEGY(random, "tracepoints chosen at random, for comparison")
STRATEGY(exhaustive, "all tracepoints at once, for comparison")
