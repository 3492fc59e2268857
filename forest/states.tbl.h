/* SPDX-License-Identifier: GPL-3.0-or-later */
/* STATE(name, number in the database, word, settled, meaning) */
STATE(OPEN,      0, "open",      false, "a problem was found; no tracepoint is enabled for it yet")
STATE(PROBING,   1, "probing",   false, "its tracepoint is enabled; traces are being gathered")
STATE(SEPARATES, 2, "separates", true,  "requests with the tracepoint differ from those without it")
STATE(ISOLATES,  3, "isolates",  true,  "a smaller edge inside it has enough of the share")
STATE(EXPLAINED, 4, "explained", true,  "a key explains the time of the edge")
STATE(NO_HELP,   5, "no help",   true,  "no part of the edge has enough of the share; its tracepoint was disabled")
STATE(BOTTOM,    6, "bottom",    true,  "no tracepoint is left to enable inside the edge")
STATE(WITHDRAWN, 7, "withdrawn", true,  "ended without a result: see its reason")
