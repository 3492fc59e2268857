/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * KEY(section, name, field, type, default, min, max, help): the keys of honed.conf. struct config,
 * the parser (honed_config.c), `honed -nv` and honed.conf(5) are made from this table (make docs).
 * Bounds are in the unit that the field is kept in; 0, 0: none. help: whole sentences.
 */
#define S 1e9
#define MIB 1048576.0

KEY(controller, agents, agents, TEXT, "ipc:///run/hone/agents.sock", 0, 0,
    "Where agents connect: ipc:///path, or tls://address:port for agents on other machines, which needs the files of section [tls]. "
    "Unencrypted TCP (tcp://) is refused.")
KEY(controller, operators, operators, TEXT, "ipc:///run/hone/honed.sock", 0, 0,
    "Where hone connects: ipc:///path. Access is configured in section [operators].")
KEY(controller, user, user, TEXT, "", 0, 0,
    "The user that honed becomes if it is started as root. Empty: honed, if there is such a user.")
KEY(controller, log, log, TEXT, "info", 0, 0,
    "The lowest level that is logged: debug, info, warn or error.")
KEY(controller, connections_max, connections_max, COUNT, "256", 2, 20000,
    "Agents and operators that may be connected at the same time. One eighth, at least 8 and at most half, is reserved for "
    "operators, and a quarter of these for root and the user of honed.")
KEY(controller, strangers_max, strangers_max, COUNT, "64", 1, 10000,
    "Connections that have not identified themselves (agents) or asked anything (operators), of each kind. When another one "
    "comes, one that has sent nothing is closed, of the address that has the most. One address of another machine (of IPv6 its "
    "/64 network) has at most a quarter of them, and at most 20 connections per second that fail.")
KEY(controller, mailbox_max, mailbox_max, BYTES, "64MiB", 1 * MIB, 16384 * MIB,
    "Frames that wait to be analysed. While there are more, no frames are read from agents.")
KEY(controller, silent_after, silent_after, TIME, "5s", 1 * S, 600 * S,
    "An agent that has sent nothing for this long is disconnected. Agents send a status every second.")

KEY(kafka, brokers, kafka_brokers, TEXT, "", 0, 0,
    "Brokers of Kafka, as host:port,host:port, when several honed share the work (docs/scale.md). Empty: this honed works alone, and needs no Kafka.")
KEY(kafka, role, kafka_role, TEXT, "decider", 0, 0,
    "What this honed does, with kafka.brokers. gate: agents connect to it; their records go to Kafka. shard: makes traces of the records of some "
    "partitions. decider: takes the traces, answers operators and decides what is on; there is one, and others stand by with a copy of its database.")
KEY(kafka, name, kafka_name, TEXT, "", 0, 0,
    "The name of this gate or shard, which no other one may have. Empty: the name of the host.")
KEY(kafka, prefix, kafka_prefix, TEXT, "hone.", 0, 0,
    "The topics are this with records, rows, events, orders and forest behind it. They must exist, forest for deciders only: records has as many "
    "partitions as traces are divided into, which must never change; the others have one.")
KEY(kafka, options, kafka_options, TEXT, "", 0, 0,
    "Further settings of librdkafka, as key=value, separated by blanks, such as security.protocol=ssl ssl.ca.location=/etc/hone/kafka.pem.")
KEY(kafka, wait, kafka_wait, TIME, "30s", 1 * S, 3600 * S,
    "How long the decider waits for a partition that no shard works on. Then it goes on without it, and requests that come later from there "
    "are counted and left out.")

KEY(metrics, listen, metrics_listen, TEXT, "", 0, 0,
    "Where metrics are served by HTTP, as address:port, such as 127.0.0.1:9464 or [::1]:9464; the path is /metrics. They have names of "
    "nodes, services, request types and tracepoints, and there is no encryption and no login: whoever reaches the address reads them. "
    "Empty: nowhere.")

KEY(web, listen, web_listen, TEXT, "127.0.0.1:9470", 0, 0,
    "Where the live page is served by HTTP: address:port of this machine's loopback, or unix:///path, to be forwarded by ssh -L. honed listens there only "
    "from when hone web asks for a link until the last session has ended. Other addresses are refused, since there is no encryption. Empty: nowhere.")

KEY(operators, look, look, TEXT, "", 0, 0,
    "Users and @groups, separated by blanks, that may ask every question that changes nothing. root and the user of honed may "
    "do everything. While this and operators.diagnose are empty, nobody else can open the socket: its mode is 0600, otherwise 0666.")
KEY(operators, diagnose, diagnose, TEXT, "", 0, 0,
    "Users and @groups, separated by blanks, that may also start and stop diagnoses, learn, capture, set log levels, choose the learned space, and reset "
    "the report.")
KEY(operators, questions_per_second, questions_per_second, COUNT, "50", 1, 100000,
    "Questions of one user that are answered each second; twice as many at once. Further ones are delayed.")

KEY(analysis, cv_max, cv_max, SHARE, "10%", 0.001, 10,
    "Requests with the same critical path are unpredictable if the coefficient of variation of their response times (standard "
    "deviation / mean) exceeds this.")
KEY(analysis, slow_quantile, slow_quantile, SHARE, "95%", 0.5, 0.9999,
    "They are consistently slow if their mean exceeds this quantile of all requests of the type.")
KEY(analysis, traces_min, traces_min, COUNT, "30", 5, 100000,
    "Traces that a group needs before it is judged.")
KEY(analysis, confidence, confidence, SHARE, "95%", 0.5, 0.9999,
    "The confidence level of all intervals.")
KEY(analysis, memory_max, memory_max, BYTES, "512MiB", 16 * MIB, 1048576 * MIB,
    "Memory for incomplete traces. Beyond it the oldest ones are dropped and counted. The groups of a diagnosis may take as much; "
    "traces beyond that are counted as other.")
KEY(analysis, skew, skew, TIME, "5ms", 0, 10 * S,
    "A trace is complete when the watermarks of its nodes are past its end by this. It covers the remaining error of their clocks "
    "(hone agents shows it) and work that continues after the end of the request.")
KEY(analysis, patience, patience, TIME, "30s", 0.1 * S, 3600 * S,
    "A trace that is incomplete for this long is dropped and counted.")
KEY(analysis, order, order, TIME, "250ms", 0, 60 * S,
    "A trace that has all its records waits at most this long for nodes that are not in it, so that traces are analysed in the order of "
    "their ends; a node that lags by more delays its own traces only. 0s: each trace waits for all nodes.")
KEY(analysis, open_forks, open_forks, TIME, "30s", 0, 3600 * S,
    "With analysis.order: a trace in which work was handed on (hone:fork) that nobody has begun yet, or of which that is not known, "
    "waits for all nodes, but no longer than this; then it is no evidence. Longer than any agent lags: hone-otel does so by design "
    "(spans.hold).")
KEY(analysis, late_ends, late_ends, TIME, "500ms", 0, 60 * S,
    "A trace of whose units one was joined, and has not ended when the trace would be complete, waits so much longer for that end: a "
    "program records it after its answer was sent, and a busy one some time after. 0s: no trace waits.")
KEY(analysis, records_max, records_max, COUNT, "100000", 1000, 100000000,
    "Records of one trace. A trace with more of them is incomplete: it is counted, and is no evidence.")
KEY(analysis, groups_max, groups_max, COUNT, "2000", 10, 1000000,
    "Groups of each diagnosis. Traces of further groups are counted as other.")
KEY(analysis, samples_max, samples_max, COUNT, "512", 32, 65536,
    "Traces of each group that are kept whole.")
KEY(analysis, report_max, report_max, BYTES, "64MiB", 0, 1048576 * MIB,
    "Memory for the report of all requests (hone report). Groups beyond it are counted as other. 0B: no report is kept.")
KEY(analysis, ignore, ignore, TEXT, "", 0, 0,
    "Patterns of labels (shell file name patterns, separated by blanks) whose waits are excluded, such as long polls: the time from "
    "and to such a label is subtracted from reports and diagnoses. A report knows labels of libhone's own events only.")
KEY(analysis, bins, bins, TEXT, "", 0, 0,
    "Rules, separated by blanks, that put requests into different groups by a field, in reports and diagnoses. A rule is "
    "LABEL.FIELD=CUT,CUT,... or LABEL.FIELD, as of hone analyze --bin.")

KEY(search, tracepoints_per_cycle, tracepoints_per_cycle, COUNT, "3", 1, 16,
    "Tracepoints that a search enables in one cycle.")
KEY(search, searches_max, searches_max, COUNT, "3", 1, 32,
    "Searches that run side by side for one request type. Further ones wait.")
KEY(search, effort_cycles, effort_cycles, COUNT, "64", 1, 100000,
    "Cycles after which a diagnosis gives up, unless hone start --effort gives another number.")
KEY(search, budget, budget, SHARE, "1%", 0.00001, 1,
    "Overhead budget of added tracepoints: a share of one core, on each node. Where they would cost more, fewer requests are probed; a "
    "tracepoint that is over the budget even then is not enabled. Each agent measures what a record costs; hone agents shows it.")
KEY(search, effect_min, effect_min, SHARE, "25%", 0.0001, 1,
    "The least effect that is worth mending, unless hone start --effect gives another one: the part of the variance of all requests of the "
    "type that an edge carries. A diagnosis whose verdicts all have less ends with the result that nothing stands out.")
KEY(search, causes_max, causes_max, COUNT, "3", 1, 32,
    "What a verdict leaves of the problem is searched, too, until so many causes are named or less than effect_min is left, unless "
    "hone start --causes gives another number. 1: only what stands out at once.")
KEY(search, isolate_min, isolate_min, SHARE, "30%", 0.05, 1,
    "A part of an edge with at least this part of the edge's share is followed.")
KEY(search, explain_min, explain_min, SHARE, "50%", 0.05, 1,
    "A key that explains at least this share of an edge is reported as its reason.")
KEY(search, cycle_max, cycle_max, TIME, "20s", 0.5 * S, 3600 * S,
    "Deadline of a cycle. When it has passed, the search decides by the traces that it has. The measurement of the edge that a verdict is about "
    "may go on for up to six times that, while it is not sure that the edge has any of the problem. For twice that from its start, a "
    "diagnosis waits for paths that few requests take.")
KEY(search, below, below, TEXT, "on", 0, 0,
    "on or off: when no tracepoint is left inside the edge that a search ends with, it asks nodes that can for what threads do there, "
    "below the tracepoints.")
KEY(search, probes, probes, TEXT, "usdt", 0, 0,
    "off, usdt or functions. usdt: USDT probes that programs contain are tracepoints, too, where agents can switch them (hone agents). "
    "functions: those also, and when threads were looked at below the edge that a search ends with, the functions in which they were seen are "
    "timed, three at a time. All requests that pass a probe pay for it, probed or not: 0.9 us, and up to 16 us at the end of a function.")
KEY(search, deep, deep, TEXT,
    "lttng_ust_pthread, lttng_ust_dl, lttng_ust_libc, lttng_ust_cyg_profile*", 0, 0,
    "Patterns of providers, separated by commas or blanks, of the preload layer: LTTng's preloaded helpers. They are enabled, one after "
    "the other, only inside an edge that has no tracepoint of the program's own left. Learning leaves them out. Empty: none.")
KEY(search, seed, seed, COUNT, "1", 1, 9e15,
    "The random seed. The same seed and the same records give the same decisions.")

KEY(watch, types, watch_types, TEXT, "*", 0, 0,
    "Patterns of request types, NAME or SERVICE/NAME, separated by blanks, whose response times are watched: what they are while the type is "
    "healthy is learned, at each rate of requests, and an alert begins when they leave that. hone alerts shows them. Empty: none.")
KEY(watch, window, watch_window, TIME, "1min", 0.2 * S, 3600 * S,
    "The time over which response times are taken together. An alert begins or ends when the same quantile says so in 4 of 5 windows; one with fewer than 100 "
    "traced requests says nothing.")
KEY(watch, learn, watch_learn, TIME, "24h", 10 * S, 72 * 3600 * S,
    "How much healthy time of a type is learned before anything is an alert, at least 60 windows; the newest 4,320 windows are kept. Load follows "
    "the day.")
KEY(watch, cost_min, watch_cost_min, SHARE, "5%", 0, 1,
    "The least part of the mean response time that must be more than usual, or may be so as far as healthy windows differ, for an alert to begin.")
KEY(watch, objectives, watch_objectives, TEXT, "", 0, 0,
    "Objectives, separated by blanks: TYPE<TIME:SHARE, such as CHECKOUT<200ms:99.9%. An alert begins when the requests that may miss it in 30 days "
    "are used up too fast: 14.4 times over 60 windows and over 5, 6 times over 360 and 30, or once over 4,320 and 360.")
KEY(watch, starts_per_day, starts_per_day, COUNT, "0", 0, 1000,
    "Diagnoses that alerts may start in 24 h, of all types together, none while another one or learning is active. 0: none.")
KEY(watch, cool_down, cool_down, TIME, "1h", 0, 720 * 3600 * S,
    "The least time between two diagnoses of one request type that alerts start.")
KEY(watch, alertmanager, watch_alertmanager, TEXT, "", 0, 0,
    "The URL of an Alertmanager, such as http://127.0.0.1:9093. Alerts are sent to its /api/v2/alerts, with the verdict as annotations, each minute "
    "while they last. Empty: none.")
KEY(watch, webhook, watch_webhook, TEXT, "", 0, 0,
    "A URL to which each alert is sent by POST as JSON when it begins, with the verdict, and when it has ended. Empty: none.")
KEY(watch, command, watch_command, TEXT, "", 0, 0,
    "A program, with its whole path and without arguments, that gets the same JSON at its standard input. It runs as the user of honed, for at most 60 s, one "
    "at a time. Empty: none.")
KEY(watch, receive_token, watch_receive_token, TEXT, "", 0, 0,
    "A file whose first line is a token of 16 to 512 characters; only its owner and its group may have access. An Alertmanager that shows it "
    "(http_config: authorization: credentials_file) may post its alerts to /alerts at metrics.listen, ten at once and one each second: for those with "
    "labels type, and perhaps service, of a request type a diagnosis is started within starts_per_day and cool_down. The file is read at each post. "
    "Empty: none is received.")
KEY(watch, healthy, watch_healthy, TEXT, "", 0, 0,
    "The file in which healthy windows are kept. Empty: healthy.db in the folder of storage.database.")

KEY(learn, budget, learn_budget, SHARE, "5%", 0.00001, 1,
    "Overhead budget of learning, with all tracepoints enabled: a share of one core, on each node.")

KEY(capture, budget, recorder_budget, SHARE, "0.5%", 0.00001, 1,
    "What the flight recorders of hone capture may cost in the programs: a share of one core, on each node. It is a part of agents.budget, or "
    "of search.budget beside it. Providers of tracepoints that do not fit are left out, the most frequent first.")
KEY(capture, always, recorder_always, TEXT, "off", 0, 0,
    "on: flight recorders are on all the time, so that of each request type the slowest requests beyond p99.9 are captured by themselves, and "
    "what was over before anybody looked is known; then all requests are sampled that agents.budget permits, whatever agents.enough is. off: "
    "only while hone capture or a diagnosis needs them.")
KEY(capture, wait, outlier_wait, TIME, "2min", 1 * S, 3600 * S,
    "How long after its start a diagnosis that has found no cause still waits for outliers that are too rare to cut, at most; and it waits only if "
    "there have been some. 1s: it does not wait.")

KEY(levels, budget, levels_budget, SHARE, "0.5%", 0.00001, 1,
    "What tracepoints that are on by their log level (hone levels) may cost in the programs: a share of one core, on each node. hone levels "
    "refuses more, unless it is told --force. It is a part of agents.budget.")
KEY(levels, file, levels_file, TEXT, "", 0, 0,
    "The file in which the levels are kept. Empty: levels in the folder of storage.database.")

KEY(agents, sampled, sampled, SHARE, "100%", 0, 1,
    "The share of requests that is traced. Of a type under diagnosis all requests are, up to agents.diagnosed_most.")
KEY(agents, enough, enough, COUNT, "10", 0, 1e6,
    "Traces each second that suffice for a request type under no diagnosis. Which requests are traced is decided at random when they "
    "begin. 0: no limit.")
KEY(agents, diagnosed_most, diagnosed_most, COUNT, "2000", 0, 1e9,
    "Requests of a type under diagnosis that are sampled each second on all nodes together, chosen by their trace ids where they begin. So "
    "the diagnosis of a type that thousands of nodes serve has a bound. 0: all are, as far as the budgets of the nodes permit.")
KEY(agents, budget, idle_budget, SHARE, "1%", 0, 1,
    "What all of Hone may cost while nothing is diagnosed: a share of one core, on each node, for the agent, the tracer's daemons and "
    "the records of the programs. Over it fewer requests are sampled: of all types that come by the node alike, and of types under "
    "diagnosis only when the others are down to 1 % of their requests, the least. While a diagnosis runs, it may cost search.budget "
    "more; while hone learn runs, this limit does not hold. 0%: no limit.")
KEY(agents, network_max, network_max, BYTES, "0B", 0, 1048576 * MIB,
    "Bytes that an agent may send each second. Over it fewer requests are sampled. 0B: no limit.")
KEY(agents, memory_max, memory_max_rings, BYTES, "256MiB", 0, 1048576 * MIB,
    "Memory of the tracer's buffers on a node. It follows the number of programs there, so hone status and hone agents only warn of "
    "more. 0B: never.")
KEY(agents, lease, lease, TIME, "5s", 2 * S, 600 * S,
    "Added tracepoints are disabled when the controller has not renewed them for this long.")
KEY(agents, allow, allow, TEXT, "", 0, 0,
    "Users and @groups, separated by blanks, that may run an agent over a local socket, beside root and the user of honed. Such an agent "
    "may report only for the node that has this host's name. Empty: hone, if there is such a user, since hone-agent becomes that.")
KEY(agents, frames_per_second, frames_per_second, COUNT, "100", 10, 100000,
    "Frames of one agent, records not counted, that are read each second; twice as many at once. Further ones are delayed.")
KEY(agents, pause_fill, pause_fill, SHARE, "50%", 0.05, 0.9,
    "Congestion: while any queue of any agent is fuller than this, no more tracepoints are enabled.")
KEY(agents, resume_fill, resume_fill, SHARE, "35%", 0.01, 0.9,
    "The congestion ends when all queues are emptier than this.")
KEY(agents, withdraw_after, withdraw_after, TIME, "5s", 0.5 * S, 3600 * S,
    "When congestion has lasted for this long, the newest tracepoints are disabled.")
KEY(agents, shed_for, shed_for, TIME, "3s", 0.1 * S, 3600 * S,
    "Backoff of an agent that has shed load, that is, disabled all added tracepoints by itself: none is enabled there for this long, and "
    "for twice as long each time that it happens again soon, up to 32 times as long.")

KEY(tls, ca, ca, TEXT, "/etc/hone/keys/ca.pem", 0, 0,
    "The certificate of the CA that signs the agents' certificates.")
KEY(tls, certificate, certificate, TEXT, "/etc/hone/keys/controller.pem", 0, 0,
    "The controller's certificate.")
KEY(tls, key, key, TEXT, "/etc/hone/keys/controller.key", 0, 0,
    "The controller's private key. Nobody else may be able to read it: mode 0600, or 0640 if it belongs to root.")
KEY(tls, revoked, revoked, TEXT, "/etc/hone/keys/revoked.pem", 0, 0,
    "The list of revoked certificates (hone keys revoke NODE). Empty: none is revoked.")

KEY(storage, database, database, TEXT, "/var/lib/hone/forest.db", 0, 0,
    "The database of diagnoses: the forest of hypotheses, and the audit.")
KEY(storage, space, space, TEXT, "/var/lib/hone/space.db", 0, 0,
    "The learned space (hone learn).")
KEY(storage, history_days, history_days, COUNT, "90", 0, 100000,
    "Diagnoses that ended longer ago are deleted, except the last one of each request type. 0: none is deleted.")
KEY(storage, size_max, size_max, BYTES, "1GiB", 0, 1048576 * MIB,
    "While the database is larger, the oldest diagnoses are deleted, except the last one of each request type. 0B: no limit.")

#undef S
#undef MIB
