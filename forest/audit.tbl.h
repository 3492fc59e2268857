/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ACTOR(name, number in the database, word in JSON, text): the part of Hone that acted.
 * ACTION(name, number in the database, word in JSON, text): what was done, other than a question.
 * "{node}" in a text stands for the node, "{count}" for the number of tracepoints,
 * "{text}", "{pid}" and "{uid}" for a program. A number that was
 * released keeps its meaning.
 */
#ifdef ACTOR
ACTOR(NONE,          0, "",              "")
ACTOR(BUDGET,        1, "budget",        "the overhead budget")
ACTOR(QUEUES,        2, "queues",        "full queues")
ACTOR(LEARNING,      3, "learning",      "learning")
ACTOR(LEASE,         4, "lease",         "the lease")
ACTOR(CONTROLLER,    5, "controller",    "the controller")
ACTOR(AGENT,         6, "agent",         "agent {node}")
ACTOR(SEVERAL_USERS, 7, "several-users", "several users")
ACTOR(ALERT,         8, "alert",         "an alert")
#endif
#ifdef ACTION
ACTION(NONE,           0, "",               "")
ACTION(DISABLE_ONE,    1, "disable-one",    "disabled a tracepoint")
ACTION(DISABLE_NEWEST, 2, "disable-newest", "disabled the newest tracepoints")
ACTION(DISABLE_ALL,    3, "disable-all",    "disabled all tracepoints")
ACTION(DISABLE_RUN,    4, "disable-run",    "disabled all tracepoints that the diagnosis had added")
ACTION(DISABLE_NODE,   5, "disable-node",   "disabled all tracepoints that were added there")
ACTION(DISABLE_COUNT,  6, "disable-count",  "disabled {count} added tracepoints on node {node}")
ACTION(STOP,           7, "stop",           "ended all diagnoses and learning")
ACTION(CONNECT,        8, "connect",        "connect")
ACTION(CONNECT_AGENT,  9, "connect-agent",  "connect as an agent")
ACTION(QUARANTINE,    10, "quarantine",     "stopped reading {text} ({pid}) of user {uid} on node {node}")
ACTION(FOLLOW,        11, "follow",         "began to follow threads below the tracepoints on node {node}")
ACTION(DISABLE_LEVELS,14, "disable-levels", "disabled what was on by its log level")
ACTION(START,         13, "start",          "started a diagnosis")
ACTION(UNFOLLOW,      12, "unfollow",       "ended following threads below the tracepoints on node {node}")
#endif
