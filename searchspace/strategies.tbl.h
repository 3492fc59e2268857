/* SPDX-License-Identifier: GPL-3.0-or-later */
/* STRATEGY(name, "what it does"): strategy_<name>() proposes */
STRATEGY(flat, "parts with equal numbers of tracepoints, in happens-before order")
