/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VERDICT(name, number in the database, word, "what it says") */
VERDICT(PLACE,     0, "place",     "an edge that nothing can split: no learned tracepoint is left between its ends, instrument there")
VERDICT(KEY,       1, "key",       "such an edge, and a key that explains it")
VERDICT(SEPARATED, 2, "separated", "a tracepoint splits the requests into groups that are each predictable")
VERDICT(SPREAD,    3, "spread",    "an edge no part of which has enough of it")
VERDICT(CUT,       4, "cut",       "an edge; the search inside it was cut short by the effort or the budget given")
