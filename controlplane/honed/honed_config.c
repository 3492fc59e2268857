/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/honed_config.h"

#include <stddef.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/engine/rules.h"

#define S 1e9
#define MIB 1048576.0
#define KEY(section, name, type, fallback, min, max, help)                                    \
	{                                                                                     \
		section, #name, type, offsetof(struct config, name), fallback, min, max, help \
	}

const struct ini_key config_keys[] = {
	KEY("controller", agents, INI_TEXT, "ipc:///run/hone/agents.sock", 0, 0,
	    "Where agents connect: ipc:///path, or tls://address:port for agents on other machines, which needs the keys of [tls]."),
	KEY("controller", operators, INI_TEXT, "ipc:///run/hone/honed.sock", 0, 0,
	    "Where hone connects: ipc:///path. Who may ask, and what: see operators.look."),
	KEY("controller", user, INI_TEXT, "", 0, 0,
	    "Who honed becomes when it was started as root; empty: honed, if there is such a user."),
	KEY("controller", log, INI_TEXT, "info", 0, 0,
	    "The least that is logged: debug, info, warn or error."),
	KEY("controller", connections_max, INI_COUNT, "256", 2, 10000,
	    "So many agents and operators may be connected at once. An eighth of them, but at least 8 (and at most half), is for "
	    "operators, the rest for agents; a quarter of the operators' for root and the user of honed."),
	KEY("controller", strangers_max, INI_COUNT, "64", 1, 10000,
	    "So many may be connected at once, of agents and of operators each, that have not said yet who they are, or asked. "
	    "When another one comes, the one that has been silent for longest goes."),
	KEY("controller", mailbox_max, INI_BYTES, "64MiB", 1 * MIB, 16384 * MIB,
	    "When this much waits to be analysed, nothing more is read from agents until it is less."),
	KEY("controller", silent_after, INI_TIME, "5s", 1 * S, 600 * S,
	    "An agent that sends nothing for this long is dropped; agents send a status every second."),

	KEY("operators", look, INI_TEXT, "", 0, 0,
	    "Names of users and @groups, with blanks between, who may ask for everything that changes nothing. root and the user "
	    "of honed may do all. While this and operators.diagnose are empty, nobody else can open the socket."),
	KEY("operators", diagnose, INI_TEXT, "", 0, 0,
	    "The same, who may also start, stop, learn, choose what was learned, and reset the report."),
	KEY("operators", questions_per_second, INI_COUNT, "50", 1, 100000,
	    "A user who asks more is answered more slowly; twice as many may come at once."),

	KEY("analysis", cv_max, INI_SHARE, "10%", 0.001, 10,
	    "Requests with the same critical path are unpredictable when their times' standard deviation exceeds this "
	    "share of their mean."),
	KEY("analysis", slow_quantile, INI_SHARE, "95%", 0.5, 0.9999,
	    "They are consistently slow when their mean exceeds this quantile of all requests of the type."),
	KEY("analysis", traces_min, INI_COUNT, "30", 5, 100000,
	    "No judgement of a group with fewer traces."),
	KEY("analysis", confidence, INI_SHARE, "95%", 0.5, 0.9999,
	    "The confidence of all intervals."),
	KEY("analysis", memory_max, INI_BYTES, "512MiB", 16 * MIB, 1048576 * MIB,
	    "Memory for traces that are not complete; beyond it the oldest are given up and counted. The groups of a "
	    "diagnosis may take as much; traces beyond them are counted together."),
	KEY("analysis", skew, INI_TIME, "5ms", 0, 10 * S,
	    "A trace is complete when all nodes are past its end by this. It covers what is left of the difference of "
	    "their clocks ('hone agents' shows how well each is known), and work that goes on after the end."),
	KEY("analysis", patience, INI_TIME, "30s", 0.1 * S, 3600 * S,
	    "A trace that is not complete after this long is given up and counted."),
	KEY("analysis", groups_max, INI_COUNT, "2000", 10, 1000000,
	    "Groups kept for each diagnosis; traces beyond them are counted together."),
	KEY("analysis", samples_max, INI_COUNT, "512", 32, 65536,
	    "Traces kept whole for each group."),
	KEY("analysis", report_max, INI_BYTES, "64MiB", 0, 1048576 * MIB,
	    "Memory for what hone report tells of all requests; groups beyond it are counted together. 0B: none is kept."),
	KEY("analysis", ignore, INI_TEXT, "", 0, 0,
	    "Waits at labels that fit one of these patterns (with blanks between) are meant: their time is taken out of all "
	    "others, in reports and diagnoses."),
	KEY("analysis", bins, INI_TEXT, "", 0, 0,
	    "Requests are told apart, in reports and diagnoses, by these rules (with blanks between), each LABEL.FIELD=CUT,CUT,... or "
	    "LABEL.FIELD, as of hone analyze --bin."),

	KEY("search", tracepoints_per_cycle, INI_COUNT, "3", 1, 16,
	    "So many tracepoints are turned on in a cycle for one edge."),
	KEY("search", searches_max, INI_COUNT, "3", 1, 32,
	    "So many edges with a problem of their own are searched side by side for one request type; further ones wait."),
	KEY("search", effort_cycles, INI_COUNT, "64", 1, 100000,
	    "A diagnosis gives up after so many cycles, unless hone start --effort says otherwise."),
	KEY("search", budget, INI_SHARE, "1%", 0.00001, 1,
	    "Of one core, on each node: what tracepoints that a diagnosis added may cost the programs there. Where they would "
	    "cost more, fewer requests are probed, and what is too dear even so is not turned on."),
	KEY("search", isolate_min, INI_SHARE, "30%", 0.05, 1,
	    "A smaller edge with this part of an edge's share took it over."),
	KEY("search", explain_min, INI_SHARE, "50%", 0.05, 1,
	    "A key that explains this share of an edge is its reason."),
	KEY("search", cycle_max, INI_TIME, "20s", 0.5 * S, 3600 * S,
	    "A cycle without traces enough is decided after this long with those there are."),
	KEY("search", deep, INI_TEXT,
	    "lttng_ust_pthread, lttng_ust_dl, lttng_ust_libc, lttng_ust_cyg_profile*", 0, 0,
	    "Providers (patterns, with commas or blanks between) that are turned on only inside an edge that has no tracepoint of "
	    "the program's own left, one after the other: LTTng's preloaded helpers. Learning leaves them out. Empty: none."),
	KEY("search", seed, INI_COUNT, "1", 1, 9e15,
	    "Where chance starts: the same seed, the same choices."),

	{ "learn", "budget", INI_SHARE, offsetof(struct config, learn_budget), "5%", 0.00001, 1,
	    "Of one core, on each node: what learning may cost the programs there, with every tracepoint on." },

	KEY("agents", sampled, INI_SHARE, "100%", 0, 1,
	    "The share of requests that is traced; of a type under diagnosis it is all of them."),
	KEY("agents", enough, INI_COUNT, "10", 0, 1e6,
	    "Requests of a type that are traced each second while it is under no diagnosis: more of them tell nothing new. 0: all."),
	{ "agents", "budget", INI_SHARE, offsetof(struct config, idle_budget), "1%", 0, 1,
	    "Of one core, on each node: what all of Hone may cost there while nothing is diagnosed: the agent, the tracer's "
	    "daemons, and the programs' own records. Over it fewer requests are sampled. A diagnosis may cost search.budget "
	    "more. 0%: no limit." },
	KEY("agents", network_max, INI_BYTES, "0B", 0, 1048576 * MIB,
	    "Bytes a second that an agent may send; over it fewer requests are sampled. 0B: no limit."),
	{ "agents", "memory_max", INI_BYTES, offsetof(struct config, memory_max_rings), "256MiB", 0,
	    1048576 * MIB,
	    "Memory of the tracer's buffers on a node. It follows the number of programs there, so more of it is only "
	    "said, by hone status and hone agents. 0B: never." },
	KEY("agents", lease, INI_TIME, "5s", 2 * S, 600 * S,
	    "Added tracepoints go off by themselves when the controller has not been heard for this long."),
	KEY("agents", allow, INI_TEXT, "", 0, 0,
	    "Names of users and @groups, with blanks between, beside root and the user of honed, who may run an agent over a local "
	    "socket. It may speak only for the node that has this host's name. Empty: hone, if there is such a user, since hone-agent "
	    "becomes that."),
	KEY("agents", frames_per_second, INI_COUNT, "100", 10, 100000,
	    "An agent that sends more, records not counted, is read more slowly; twice as many may come at once."),
	KEY("agents", pause_fill, INI_SHARE, "50%", 0.05, 0.9,
	    "Nothing more is turned on while any queue of any agent is fuller than this."),
	KEY("agents", resume_fill, INI_SHARE, "35%", 0.01, 0.9,
	    "It goes on when all are emptier than this."),
	KEY("agents", withdraw_after, INI_TIME, "5s", 0.5 * S, 3600 * S,
	    "After a pause of this long the newest tracepoints go off."),
	KEY("agents", shed_for, INI_TIME, "10s", 0.1 * S, 3600 * S,
	    "An agent that is so full that it lets go of its tracepoints by itself gets none for this long, and for twice as long "
	    "each time that it happens soon again, up to 32 times."),

	KEY("tls", ca, INI_TEXT, "/etc/hone/keys/ca.pem", 0, 0,
	    "For tls://, as hone keys init makes them: the CA whose agents are let in."),
	KEY("tls", certificate, INI_TEXT, "/etc/hone/keys/controller.pem", 0, 0,
	    "The controller's certificate."),
	KEY("tls", key, INI_TEXT, "/etc/hone/keys/controller.key", 0, 0,
	    "Its key, which nobody else may read."),
	KEY("tls", revoked, INI_TEXT, "/etc/hone/keys/revoked.pem", 0, 0,
	    "The certificates that are not let in any more (hone keys revoke NODE). All four are read again when they change. "
	    "Empty: none is revoked."),

	KEY("storage", database, INI_TEXT, "/var/lib/hone/forest.db", 0, 0,
	    "The forest: what was believed, and why."),
	KEY("storage", space, INI_TEXT, "/var/lib/hone/space.db", 0, 0, "What hone learn learned."),
	KEY("storage", history_days, INI_COUNT, "90", 0, 100000,
	    "Diagnoses that ended longer ago are deleted, but for the last of each request type; 0: none is."),
	KEY("storage", size_max, INI_BYTES, "1GiB", 0, 1048576 * MIB,
	    "While the database is larger, the oldest diagnoses are deleted, but for the last of each request type. 0B: it "
	    "may grow."),
};
const unsigned config_nkeys = sizeof config_keys / sizeof config_keys[0];

static const char *const levels[] = {
	[LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"
};

int
config_init(struct config *c, struct err *e)
{
	memset(c, 0, sizeof *c);
	return ini_defaults(config_keys, config_nkeys, c, e);
}

int
config_read(struct config *c, const char *path, struct err *e)
{
	return ini_read(config_keys, config_nkeys, c, path, e);
}

int
config_set(struct config *c, const char *assignment, struct err *e)
{
	return ini_set(config_keys, config_nkeys, c, assignment, e);
}

void
config_release(struct config *c)
{
	ini_release(config_keys, config_nkeys, c);
}

static int
level_of(const char *word)
{
	for (int i = LOG_DEBUG; i <= LOG_ERROR; i++)
		if (strcmp(levels[i], word) == 0)
			return i;
	return -1;
}

static int
has_scheme(const char *url, const char *scheme)
{
	return strncmp(url, scheme, strlen(scheme)) == 0 && url[strlen(scheme)] != '\0';
}

static int
check_rules(const struct config *c, struct err *e)
{
	struct rules r;
	struct err why = { 0 };
	int rc = rules_init(&r, c->ignore, c->bins, c->deep, &why);

	if (rc != 0)
		err_set(e, rc, "analysis.bins: %s", why.text);
	for (const char **p = r.deep; rc == 0 && p != NULL && *p != NULL; p++)
		if (strpbrk(*p, ":/") != NULL)
			rc = err_set(e, ERR_INPUT,
			    "search.deep: %s: names of providers, without their events or services",
			    *p);
	rules_release(&r);
	return rc;
}

/* Root's agent becomes hone (agent.user there), and would not be let in by a honed that is somebody
 * else. */
static const char *
agents_allowed(const struct config *c)
{
	return c->allow[0] == '\0' && getpwnam("hone") != NULL ? "hone" : c->allow;
}

int
config_roles(const struct config *c, struct roles **ret, struct err *e)
{
	return roles_new(ret,
	    &(struct roles_options){ .look = c->look,
		.diagnose = c->diagnose,
		.agents = agents_allowed(c),
		.own_uid = (int)geteuid() },
	    e);
}

static int
check_roles(const struct config *c, struct err *e)
{
	struct roles *roles;
	int rc = config_roles(c, &roles, e);

	if (rc == 0)
		roles_free(roles);
	return rc;
}

int
config_check(const struct config *c, struct err *e)
{
	if (has_scheme(c->agents, "tcp://"))
		return err_set(e, ERR_INPUT,
		    "controller.agents = %s: not in the clear; use tls://address:port, with keys that hone "
		    "keys init makes",
		    c->agents);
	if (!has_scheme(c->agents, "ipc:///") && !has_scheme(c->agents, "tls://"))
		return err_set(e, ERR_INPUT,
		    "controller.agents = %s: ipc:///path or tls://address:port", c->agents);
	if (!has_scheme(c->operators, "ipc:///"))
		return err_set(e, ERR_INPUT,
		    "controller.operators = %s: ipc:///path; whoever connects may start and stop "
		    "diagnoses",
		    c->operators);
	if (strcmp(c->agents, c->operators) == 0)
		return err_set(e, ERR_INPUT,
		    "controller.agents and controller.operators are the same address; give each "
		    "its own");
	if (level_of(c->log) < 0)
		return err_set(
		    e, ERR_INPUT, "controller.log = %s: debug, info, warn or error", c->log);
	if (c->resume_fill > c->pause_fill)
		return err_set(
		    e, ERR_INPUT, "agents.resume_fill is over agents.pause_fill; it must not be");
	if (c->skew > c->patience)
		return err_set(e, ERR_INPUT,
		    "analysis.skew is longer than analysis.patience; no trace would ever be whole");
	if (c->samples_max < c->traces_min)
		return err_set(e, ERR_INPUT,
		    "analysis.samples_max is under analysis.traces_min; no group could be judged");
	if (c->database[0] == '\0' || c->space[0] == '\0' || strcmp(c->database, c->space) == 0)
		return err_set(
		    e, ERR_INPUT, "storage.database and storage.space must be two files");
	return check_roles(c, e) < 0 ? e->code : check_rules(c, e);
}

enum log_level
config_log_level(const struct config *c)
{
	int level = level_of(c->log);

	return level < 0 ? LOG_INFO : (enum log_level)level;
}

struct engine_options
config_engine(const struct config *c)
{
	return (struct engine_options){
		.conditions = { .cv_max = c->cv_max,
		    .slow_quantile = c->slow_quantile,
		    .traces_min = (uint32_t)c->traces_min,
		    .confidence = c->confidence },
		.seed = (uint64_t)c->seed,
		.memory_max_bytes = c->memory_max,
		.skew_ns = c->skew,
		.patience_ns = c->patience,
		.groups_max = c->groups_max,
		.samples_max = c->samples_max,
		.report_max_bytes = c->report_max,
		.ignore = c->ignore,
		.bins = c->bins,
		.deep = c->deep,
		.tracepoints_per_cycle = c->tracepoints_per_cycle,
		.searches_max = c->searches_max,
		.effort_cycles = c->effort_cycles,
		.budget_share = c->budget,
		.learn_share = c->learn_budget,
		.idle_share = c->idle_budget,
		.network_max = c->network_max,
		.rings_max_bytes = c->memory_max_rings,
		.isolate_min = c->isolate_min,
		.explain_min = c->explain_min,
		.pause_fill = c->pause_fill,
		.resume_fill = c->resume_fill,
		.withdraw_ns = c->withdraw_after,
		.shed_ns = c->shed_for,
		.cycle_max_ns = c->cycle_max,
		.sampled = c->sampled,
		.enough = c->enough,
		.lease_ns = c->lease,
	};
}

struct server_options
config_server(const struct config *c)
{
	return (struct server_options){
		.agents = c->agents,
		.operators = c->operators,
		.connections_max = (int)c->connections_max,
		.mailbox_max_bytes = (size_t)c->mailbox_max,
		.limits = { .hello_ns = 5000000000,
		    .silent_ns = c->silent_after,
		    .idle_ns = 60000000000,
		    .frames_per_s = (double)c->frames_per_second },
		.strangers_max = (int)c->strangers_max,
		.questions_per_s = (double)c->questions_per_second,
		.replace_ns = 3000000000,
	};
}
