/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * TROUBLE(name, number on the wire, word in JSON, text): what is wrong on a node. In a text, "{text}",
 * "{subject}", "{seconds}", "{mib}", "{times}", "{pid}" and "{user}" stand for fields of struct node_trouble.
 */
TROUBLE(NONE,            0, "",                "")
TROUBLE(GUARDIAN,        1, "guardian-killed", "the guardian was killed; another one will be started")
TROUBLE(TRACER_SILENT,   2, "tracer-silent",   "the session daemon has not answered for {seconds} s: it hangs, or waits for a program that is stopped")
TROUBLE(AGENT_HUNG,      3, "agent-hung",      "this agent did not move for {seconds} s, and its guardian ended the session")
TROUBLE(TRACER,          4, "tracer",          "{text}")
TROUBLE(FILES_FULL,      5, "files-full",      "the tracer's files are full ({mib} MiB unread in {subject}): no request is sampled until under half; occurrence {times}, {seconds} s in all before")
TROUBLE(UNTRACED,        6, "untraced",        "{subject} ({pid}) runs untraced: the session daemon lost its registration; it is traced when it is started again")
TROUBLE(READER,          7, "reader",          "{text}")
TROUBLE(RATES,           8, "rates",           "{text}")
TROUBLE(TRACEPOINT,      9, "tracepoint",      "{text}")
TROUBLE(RING_DAMAGED,   10, "ring-damaged",    "{subject} ({pid}) of user {user} shortened or overwrote its ring buffer: it is not traced until it is started again")
TROUBLE(RING_POSITIONS, 11, "ring-positions",  "{subject} ({pid}) of user {user} wrote impossible positions into its ring buffer: it is not traced until it is started again")
TROUBLE(RING_STUCK,     12, "ring-stuck",      "the ring buffer of {subject} ({pid}) of user {user} stayed full, or was not drained: it is not traced until it is started again")
TROUBLE(CONSUMER,       13, "consumer-broken", "the consumer daemon of LTTng ended, or takes a whole core, since {subject} ({pid}) of user {user} damaged its ring buffer: restart lttng-sessiond (systemctl restart lttng-sessiond)")
TROUBLE(OVERRUN,        14, "overrun",         "{subject} ({pid}) of user {user} writes far more than the table of rates lets it, and kept this node over its limit: it is not traced until it is started again")
