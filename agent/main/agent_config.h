/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can be said in hone-agent.conf(5). */
#ifndef AGENT_MAIN_AGENT_CONFIG_H
#define AGENT_MAIN_AGENT_CONFIG_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"

struct config {
	char *node, *run_dir, *policy, *user, *reader, *log_level;
	int64_t hang_ns;
	char *url;
	char *ca, *certificate, *key, *revoked; /* for tls:// */
	int64_t silence_ns, retry_ns, refused_ns, sampling_without_ns;
	int64_t memory_bytes, files_bytes, batch_bytes, batch_ns, watermark_ns, window;
	int64_t sub_buffers, sub_buffer_bytes, switch_timer_ns, slow_call_ns, list_every_ns;
	int64_t rules_per_session, sessions, added_sub_buffer_bytes, idle_session_ns;
	char *maps;
	double shed;
	int64_t status_ns;
};

/* Defaults, then the file (NULL: none), then each "section.key=value". On error *c is fit for
 * config_release(). */
int config_load(struct config *c, const char *path, char *const *assignments, int n, struct err *e);
void config_print(const struct config *c, FILE *out);
void config_release(struct config *c);

/* The one of debug, info, warn, error that log.level says. */
enum log_level config_log_level(const struct config *c);

#endif
