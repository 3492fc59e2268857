/* SPDX-License-Identifier: GPL-3.0-or-later */
/* honed.conf: one table says which keys there are, what they may be, and what they mean. */
#ifndef CONTROLPLANE_HONED_HONED_CONFIG_H
#define CONTROLPLANE_HONED_HONED_CONFIG_H

#include <stdint.h>

#include "base/err.h"
#include "base/ini.h"
#include "base/log.h"
#include "controlplane/engine/engine.h"
#include "controlplane/server/server.h"

struct config { /* times in ns, sizes in bytes, shares of 1 */
	/* [controller] */
	char *agents, *operators, *user, *log;
	int64_t connections_max, strangers_max, mailbox_max, silent_after;
	/* [operators] */
	char *look, *diagnose;
	int64_t questions_per_second;
	/* [analysis] */
	double cv_max, slow_quantile, confidence;
	int64_t traces_min, memory_max, skew, patience, groups_max, samples_max, report_max;
	char *ignore, *bins, *deep;
	/* [search] */
	int64_t tracepoints_per_cycle, searches_max, effort_cycles, cycle_max, seed;
	double budget, isolate_min, explain_min;
	/* [learn] */
	double learn_budget;
	/* [agents] */
	double sampled, idle_budget, pause_fill, resume_fill;
	int64_t enough;
	int64_t network_max, memory_max_rings, withdraw_after, shed_for, lease, frames_per_second;
	char *allow;
	/* [tls] */
	char *ca, *certificate, *key, *revoked;
	/* [storage] */
	char *database, *space;
	int64_t history_days, size_max;
};

extern const struct ini_key config_keys[];
extern const unsigned config_nkeys;

int config_init(struct config *c, struct err *e); /* all defaults */
int config_read(struct config *c, const char *path, struct err *e);
int config_set(struct config *c, const char *assignment, struct err *e); /* "section.key=value" */
/* What no single key can say: ERR_INPUT when keys contradict each other. */
int config_check(const struct config *c, struct err *e);
void config_release(struct config *c);

enum log_level config_log_level(const struct config *c);
/* Texts in it stay the configuration's. */
struct engine_options config_engine(const struct config *c);
struct server_options config_server(const struct config *c); /* without roles */
/* ERR_INPUT: a name that nobody has. */
int config_roles(const struct config *c, struct roles **ret, struct err *e);

#endif
