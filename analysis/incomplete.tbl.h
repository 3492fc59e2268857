/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * INCOMPLETE(name, word in JSON, text): what is missing in a trace although no agent reported a lost
 * record in its time: its instrumentation is wrong, the trace began before its programs were
 * observed, or it is longer than a trace may be. A trace has the first reason that applies.
 */
INCOMPLETE(NONE, "", "")
INCOMPLETE(TOO_LONG, "too-long", "the request has more records than are examined")
INCOMPLETE(NO_BEGIN, "no-begin", "the request has no begin")
INCOMPLETE(SEVERAL_BEGINS, "several-begins", "the request begins more than once")
INCOMPLETE(NO_END, "no-end", "the request has no end")
INCOMPLETE(SEVERAL_ENDS, "several-ends", "the request ends more than once")
INCOMPLETE(END_FIRST, "end-first", "the request ends before it begins")
INCOMPLETE(NO_UNIT, "no-unit", "a fork was joined, but no unit began by it")
