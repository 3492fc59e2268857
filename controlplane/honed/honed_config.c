/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/honed_config.h"

#include <stddef.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/engine/rules.h"
#include "controlplane/relay/numbers.h"

const struct ini_key config_keys[] = {
#define KEY(section, name, field, type, fallback, min, max, help) \
	{ #section, #name, INI_##type, offsetof(struct config, field), fallback, min, max, help },
#include "controlplane/honed/config.tbl.h"
#undef KEY
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
check_below(const struct config *c, struct err *e)
{
	if (strcmp(c->below, "on") != 0 && strcmp(c->below, "off") != 0)
		return err_set(e, ERR_INPUT, "search.below: %s: must be on or off", c->below);
	if (strcmp(c->probes, "usdt") != 0 && strcmp(c->probes, "off") != 0 &&
	    strcmp(c->probes, "functions") != 0)
		return err_set(
		    e, ERR_INPUT, "search.probes: %s: must be off, usdt or functions", c->probes);
	return 0;
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
			    "search.deep: %s: must be the name of a provider, without service and event",
			    *p);
	rules_release(&r);
	return rc;
}

/* agents.allow; if it is empty, the user hone where it exists: an agent that root starts runs as that
 * user (agent.user), which a honed of another user would refuse. */
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

static const char *const role_words[] = {
	[ROLE_GATE] = "gate", [ROLE_SHARD] = "shard", [ROLE_DECIDER] = "decider"
};

enum honed_role
config_role(const struct config *c)
{
	for (int i = ROLE_GATE; i <= ROLE_DECIDER && c->kafka_brokers[0] != '\0'; i++)
		if (strcmp(c->kafka_role, role_words[i]) == 0)
			return (enum honed_role)i;
	return ROLE_ALONE;
}

static int
check_kafka(const struct config *c, struct err *e)
{
	if (c->kafka_brokers[0] == '\0' && strcmp(c->kafka_role, role_words[ROLE_DECIDER]) != 0)
		return err_set(e, ERR_INPUT,
		    "kafka.role: %s: needs kafka.brokers; without them this honed works alone",
		    c->kafka_role);
	if (c->kafka_brokers[0] != '\0' && config_role(c) == ROLE_ALONE)
		return err_set(
		    e, ERR_INPUT, "kafka.role: %s: must be gate, shard or decider", c->kafka_role);
	if (strlen(c->kafka_name) > RELAY_SOURCE_MAX)
		return err_set(e, ERR_INPUT, "kafka.name: %s: is longer than %d bytes",
		    c->kafka_name, RELAY_SOURCE_MAX);
	if (c->kafka_prefix[0] == '\0' || strlen(c->kafka_prefix) > 200 ||
	    strspn(c->kafka_prefix,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
		strlen(c->kafka_prefix))
		return err_set(e, ERR_INPUT,
		    "kafka.prefix: %s: must be 1 to 200 letters, digits, dots, underscores and hyphens",
		    c->kafka_prefix);
	return 0;
}

int
config_check(const struct config *c, struct err *e)
{
	if (has_scheme(c->agents, "tcp://"))
		return err_set(e, ERR_INPUT,
		    "controller.agents = %s: is not encrypted; use tls://address:port, with keys from "
		    "hone keys init",
		    c->agents);
	if (!has_scheme(c->agents, "ipc:///") && !has_scheme(c->agents, "tls://"))
		return err_set(e, ERR_INPUT,
		    "controller.agents = %s: must be ipc:///path or tls://address:port", c->agents);
	if (!has_scheme(c->operators, "ipc:///"))
		return err_set(e, ERR_INPUT,
		    "controller.operators = %s: must be ipc:///path, since the kernel reports the user of a "
		    "local connection only",
		    c->operators);
	if (strcmp(c->agents, c->operators) == 0)
		return err_set(e, ERR_INPUT,
		    "controller.agents and controller.operators are the same address; give each "
		    "its own");
	if (level_of(c->log) < 0)
		return err_set(e, ERR_INPUT,
		    "controller.log = %s: must be debug, info, warn or error", c->log);
	if (c->resume_fill > c->pause_fill)
		return err_set(
		    e, ERR_INPUT, "agents.resume_fill must not be higher than agents.pause_fill");
	if (c->skew > c->patience)
		return err_set(e, ERR_INPUT,
		    "analysis.skew must not be longer than analysis.patience: no trace would be complete");
	if (c->samples_max < c->traces_min)
		return err_set(e, ERR_INPUT,
		    "analysis.samples_max must be at least analysis.traces_min: no group could be judged");
	if (c->database[0] == '\0' || c->space[0] == '\0' || strcmp(c->database, c->space) == 0)
		return err_set(
		    e, ERR_INPUT, "storage.database and storage.space must be two files");
	if (strcmp(c->recorder_always, "on") != 0 && strcmp(c->recorder_always, "off") != 0)
		return err_set(
		    e, ERR_INPUT, "capture.always: %s: must be on or off", c->recorder_always);
	if (check_below(c, e) < 0 || check_kafka(c, e) < 0)
		return e->code;
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
		.order_ns = c->order,
		.open_ns = c->open_forks,
		.late_ends_ns = c->late_ends,
		.records_max = c->records_max,
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
		.recorder_share = c->recorder_budget,
		.levels_share = c->levels_budget,
		.recorder_always = strcmp(c->recorder_always, "on") == 0,
		.outlier_wait_ns = c->outlier_wait,
		.network_max = c->network_max,
		.rings_max_bytes = c->memory_max_rings,
		.effect_min = c->effect_min,
		.causes_max = c->causes_max,
		.isolate_min = c->isolate_min,
		.explain_min = c->explain_min,
		.pause_fill = c->pause_fill,
		.resume_fill = c->resume_fill,
		.withdraw_ns = c->withdraw_after,
		.shed_ns = c->shed_for,
		.cycle_max_ns = c->cycle_max,
		.below = strcmp(c->below, "on") == 0,
		.without_probes = strcmp(c->probes, "off") == 0,
		.functions = strcmp(c->probes, "functions") == 0,
		.sampled = c->sampled,
		.enough = c->enough,
		.diagnosed_most = c->diagnosed_most,
		.lease_ns = c->lease,
		.watch = { .types = c->watch_types,
		    .objectives = c->watch_objectives,
		    .cost_min = c->watch_cost_min,
		    .window_ns = c->watch_window,
		    .learn_ns = c->watch_learn,
		    .self_start = { c->starts_per_day, c->cool_down } },
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
