/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The configuration of hone-agent(8). agent_config_keys is the one table of its settings: the
 * parser, `hone-agent -nv` and hone-agent.conf(5) follow it (a unit test compares the page).
 */
#ifndef AGENT_MAIN_AGENT_CONFIG_H
#define AGENT_MAIN_AGENT_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/ini.h"
#include "base/log.h"

struct agent_config {
	char *node, *run_dir, *policy, *user, *users, *reader, *log_level;
	int callers_known;
	int64_t hang_ns;
	char *url;
	char *ca, *certificate, *key, *revoked; /* for tls:// */
	int64_t silence_ns, retry_ns, refused_ns, sampling_without_ns;
	int64_t memory_bytes, files_bytes, batch_bytes, batch_ns, watermark_ns, calm_ns, window;
	int64_t sub_buffers, sub_buffer_bytes, switch_timer_ns, slow_call_ns, list_every_ns;
	int64_t rules_per_session, sessions, added_sub_buffer_bytes, idle_session_ns;
	int64_t recorder_sub_buffers, recorder_sub_buffer_bytes;
	char *maps;
	int below, probes;
	char *below_user;
	char *services, *gateways, *gateway_cgroups, *kernel_rule;
	int kernel_http;
	int64_t kernel_limit;
	double shed;
	int64_t status_ns;
};

extern const struct ini_key agent_config_keys[];
extern const size_t agent_config_nkeys;

/* Takes the defaults, then the file (path NULL: none), then each "section.key=value". Checks values
 * that depend on each other. ERR_INPUT: the text names file, line and key, or the assignment;
 * ERR_MISSING: no such file; ERR_MEMORY; ERR_SYSTEM. Also then *c must be released. */
int agent_config_load(
    struct agent_config *c, const char *path, char *const *assignments, int n, struct err *e);

/* Writes a file that agent_config_load() reads back to the same values, each key below its help. */
void agent_config_print(const struct agent_config *c, FILE *out);
void agent_config_release(struct agent_config *c);

enum log_level agent_config_log_level(const struct agent_config *c); /* of log.level */

#endif
