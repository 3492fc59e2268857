/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VERDICT(name, number in the database, word, meaning) */
VERDICT(PLACE,     0, "place",     "an edge without a learned tracepoint inside: instrument there")
VERDICT(KEY,       1, "key",       "an edge without a learned tracepoint inside, and a key that explains it")
VERDICT(SEPARATED, 2, "separated", "an edge without a learned tracepoint inside, and a tracepoint that divides the requests into groups that are each predictable")
VERDICT(SPREAD,    3, "spread",    "an edge of which no part has enough of the problem")
VERDICT(CUT,       4, "cut",       "an edge; the effort or the overhead budget ended the search inside it")
VERDICT(HIDDEN,    5, "hidden",    "an edge; with tracepoints inside it enabled, the paths do not show where it is")
VERDICT(CAPTURED,  6, "captured",  "an edge in which captured outliers, too few to cut, spend most of what they take longer than usual requests")
