/* SPDX-License-Identifier: GPL-3.0-or-later */
/* STATE(name, number in the database, word, settled, "what it says") */
STATE(OPEN,      0, "open",      false, "a problem was found; nothing is turned on for it yet")
STATE(PROBING,   1, "probing",   false, "its tracepoint is on; traces are being gathered")
STATE(SEPARATES, 2, "separates", true,  "traces with and without the tracepoint differ")
STATE(ISOLATES,  3, "isolates",  true,  "a smaller edge took the share over")
STATE(EXPLAINED, 4, "explained", true,  "a key says why the edge takes long")
STATE(NO_HELP,   5, "no help",   true,  "the share stays spread; its tracepoint went off again")
STATE(BOTTOM,    6, "bottom",    true,  "nothing is left to turn on inside the edge: this is the place")
STATE(WITHDRAWN, 7, "withdrawn", true,  "given up: congestion, budget, or stopped")
