/* SPDX-License-Identifier: GPL-3.0-or-later */
/* STRATEGY(name, "what it does"): strategy_<name>() proposes */
STRATEGY(flat, "parts with equal numbers of tracepoints, in happens-before order")
STRATEGY(hierarchical, "both ends of the span in the middle, then inside of the one that carries the problem")
STRATEGY(bisect, "parts of equal learned time, as far as their numbers stay within half of equal")
STRATEGY(random, "as many as asked for, drawn from all: a yardstick")
STRATEGY(exhaustive, "all there are, at once: a yardstick")
