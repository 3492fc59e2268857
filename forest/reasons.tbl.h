/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * REASON(name, number in the database, word in JSON, text): why something of the forest is as it is.
 * "{}" in a text stands for the subject: a tracepoint or an agent. A number that was released keeps
 * its meaning.
 */
REASON(NONE,              0, "",                  "")
/* why a run or a search has no verdict, or (the first) what a run begins with */
REASON(NOTHING_LEARNED,   1, "nothing-learned",   "nothing was learned of this request type: tracepoints inside an edge are explored first; after `hone learn` fewer are needed")
REASON(OPERATOR,          2, "operator",          "stopped by an operator")
REASON(CONTROLLER_ENDED,  3, "controller-ended",  "the controller ended meanwhile; its tracepoints were disabled when their lease ended, and the diagnosis can be started again")
REASON(NO_PROBLEM,        4, "no-problem",        "no group of requests is unpredictable or slow by the configured conditions")
REASON(FEW_REQUESTS,      5, "few-requests",      "too few requests of this type came")
REASON(LOST_RECORDS,      6, "lost-records",      "most traces had lost records and are no evidence; `hone agents` shows where records are lost")
REASON(PATH_GONE,         7, "path-gone",         "the critical path that had the problem did not come back")
REASON(SAME_EDGE,         8, "same-edge",         "another search has reached the same edge")
REASON(PROBLEM_GONE,      9, "problem-gone",      "the requests under diagnosis stopped coming, or their problem went away")
REASON(AS_BASELINE,      55, "as-baseline",       "the response times vary as they did in the baseline")
REASON(RARE_PATHS,       58, "rare-paths",        "paths that too few requests take to be judged have more than the least effect of what the response times vary by; a diagnosis that gets more of them may say more (`hone start TYPE --tail p99`, `hone capture`)")
REASON(UNDECIDED,        59, "undecided",         "the response times seem to vary by more than the limit, which is not certain by the requests that came; a diagnosis that gets more of them may say more")
REASON(PROBLEM_STOPPED,  54, "problem-stopped",   "the problem was there for a time, and has stopped ({})")
REASON(END_OVER_BUDGET,  10, "end-over-budget",   "{}, an end of the edge, is over the overhead budget; raise search.budget")
REASON(UNCONFIRMED,      11, "unconfirmed",       "an agent did not confirm that its tracepoints are enabled; `hone agents` shows which")
REASON(CONTRADICTED,     12, "contradicted",      "the last measurement contradicts the earlier ones: the remaining edge has no sure share of the problem")
REASON(INCOMPLETE,       13, "incomplete",        "most traces were incomplete and are no evidence, though no record was lost: the instrumentation is wrong; `hone check` names the mistake")
REASON(UNIT_MISSING,     14, "unit-missing",      "most traces were incomplete and are no evidence: {} is joined, but no unit begins by it; `hone check` names the mistake")
REASON(END_MISSING,      15, "end-missing",      "most requests began and did not end, and are no evidence; `hone check` names the mistake")
/* beside some of these: why a running diagnosis gets nothing that it can use */
REASON(NO_AGENT,         16, "no-agent",          "no agent is connected")
REASON(NOT_TRACEABLE,    17, "not-traceable",     "no program is known that has the tracepoints of libhone or of a mapping; `hone agents` lists the programs of each node")
REASON(NOT_SAMPLED,      18, "not-sampled",       "no request of this type is sampled, since that would be over the overhead budget (agents.budget)")
REASON(NO_REQUESTS,      19, "no-requests",       "no request of this type comes: the application has no load, or its programs are not traced")
/* why a hypothesis was withdrawn, or settled without a measurement */
REASON(CONGESTION,       20, "congestion",        "queues are full")
REASON(OVER_BUDGET,      21, "over-budget",       "over the overhead budget")
REASON(STOPPED,          22, "stopped",           "the diagnosis or its search ended")
REASON(EXPLORED,         23, "explored",          "explored")
REASON(HIDES_EDGE,       24, "hides-edge",        "with it, the paths did not show where the edge is")
/* why a tracepoint was enabled */
REASON(SPLITS_EDGE,      30, "splits-edge",       "splits the edge with the largest share")
REASON(EDGE_END,         31, "edge-end",          "is an end of the edge")
REASON(SPLITS_TRACES,    32, "splits-traces",     "its presence divides the requests into slow and fast")
REASON(EXPLORES,         33, "explores",          "explores: nothing was learned of the inside of the edge")
REASON(EXPLORES_PRELOAD, 34, "explores-preload",  "explores the preload layer: no tracepoint of the program's own is left inside the edge")
REASON(EXPLORES_FUNCTIONS, 36, "explores-functions", "explores: threads were seen in this function inside the edge")
REASON(BACKOFF_OVER,     35, "backoff-over",      "the backoff of the agent that shed load is over")
/* why a tracepoint was disabled */
REASON(EDGE_MEASURED,    40, "edge-measured",     "the edge is measured without it")
REASON(NO_END,           41, "no-end",            "is no longer an end of the edge")
REASON(NO_HELP,          42, "no-help",           "did not help")
REASON(SHED,             43, "shed",              "an agent shed load, since one of its queues was nearly full (agent/queue: {})")
REASON(AGENT_GONE,       44, "agent-gone",        "the agent is gone; what it had enabled is disabled when its lease ends")
REASON(TIME_OVER,        45, "time-over",         "the time for learning is over")
REASON(TOLD_TO_END,      46, "told-to-end",       "the controller was stopped")
REASON(FAILED,           47, "failed",            "an error ended it")
/* congestion: why nothing more is enabled. "{}" is the agent; the queue and its fill are fields beside it */
REASON(MAILBOX_FULL,     51, "mailbox-full",      "the controller's mailbox is full")
REASON(QUEUE_FULL,       52, "queue-full",        "a queue of agent {} is full")
REASON(LOAD_SHED,        53, "load-shed",         "agent {} has shed load")
/* of the audit alone */
REASON(LEFT_RANGE,       56, "left-range",        "the response times have left the range that they have while the type is healthy, at a like rate of requests")
REASON(OBJECTIVE,        57, "objective",         "its objective is missed too often")
REASON(ALERTMANAGER,     60, "alertmanager",      "an Alertmanager told of an alert")
REASON(UNLISTED,         50, "unlisted",          "further questions that were refused or failed, counted in one row")
