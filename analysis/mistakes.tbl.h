/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MISTAKE(name, word in JSON, text, advice, advice for spans): what is wrong with the instrumentation of
 * a place. COUNT of OF stand before the text. "{}" stands for the place, "{to}" for the other end,
 * where the mistake has one. Advice for spans is that for trace files of spans, "" where they cannot have
 * the mistake.
 */
MISTAKE(UNIT_OPEN, "unit-open", "units begin at {} and do not end",
    "call hone_unit_end() on every way out of the unit, also on errors: after four units that did not end, a thread begins no more",
    "end the span on every way out of the operation, also on errors, and let the exporter send it before the process ends")
MISTAKE(CARRIER_LOST, "carrier-lost",
    "forks {} are joined, but no unit begins by them: the carrier does not arrive in {to}",
    "pass the carrier on with the work, as it came from hone_fork(), and begin the unit with it; or earlier units do not end there: a thread with four of them begins no more",
    "")
MISTAKE(PROGRAM_UNSEEN, "program-unseen",
    "forks {} are joined, but no unit begins by them, and no program is known that could begin it",
    "the work is done by a program that Hone does not see: run an agent on its node, and instrument it with libhone or a mapping; or, within the same program, the carrier is not passed on",
    "")
MISTAKE(FORK_REUSED, "fork-reused", "units begin by a fork {} that had begun another unit",
    "call hone_fork() once for each piece of work",
    "two spans have one id: begin a span for each operation, and do not send one twice with other times")
MISTAKE(JOIN_MISSING, "join-missing", "forks {} have no join, but their unit's end is waited for",
    "call hone_join() with the carrier when the result has come; without it the wait counts as time of the program that waits",
    "")
MISTAKE(DETACH_MISSING, "detach-missing",
    "waits of {} end without their join, since another request's unit began on the thread meanwhile",
    "call hone_detach() before the thread serves other work, and hone_attach() when it continues",
    "")
MISTAKE(FORK_UNSEEN, "fork-unseen",
    "units begin at {} by a link that no fork of their request created",
    "the program that forks them is not seen by Hone, or the carrier is not the one that hone_fork() gave",
    "the parent is not there: the program that began it exports no spans, or to another place, or they were sampled apart from those of the others")
MISTAKE(REQUEST_OPEN, "request-open", "requests begin at {} and do not end",
    "call hone_request_end() on every way out of the request, on the thread that has its context",
    "end the root span on every way out of the request, also on errors, and let the exporter send it before the process ends")
MISTAKE(REQUEST_INSIDE, "request-inside",
    "requests begin at {} inside of a request that has begun already",
    "ask hone_from_known(): work of a sender under Hone begins by hone_unit_begin(), not by hone_request_begin(); and pass tracestate on beside traceparent",
    "the span has the trace id of a request and no parent: pass on the whole context, and not the trace id alone")
MISTAKE(ENDS_AGAIN, "ends-again",
    "requests that began at {} end more than once, or before they begin",
    "call hone_request_end() once, on the thread that has the request's context", "")
MISTAKE(REQUEST_UNSEEN, "request-unseen",
    "traces begin with a unit at {}: no program is seen that began the request",
    "run an agent on the node where the requests begin",
    "no span of the trace is without a parent: the program in which the requests begin exports no spans, or to another place")
MISTAKE(MAPPED_IDLESS, "mapped-id-missing",
    "records {} have no id in the field that the mapping names",
    "name the field that holds the id: lttng list --userspace --fields, and hone map check", "")
MISTAKE(MAPPED_ALONE, "mapped-end-alone",
    "records {} end a request of the mapping, or are a step of one, that has not begun",
    "begin the request at a tracepoint that every request passes, on the same thread or with the same id: hone map check",
    "")
MISTAKE(MAPPED_INSIDE, "mapped-begin-inside",
    "records {} begin a request of the mapping inside of one that does not end",
    "end the request at a tracepoint that every request passes, on the thread of its begin; otherwise correlate = field",
    "")
