/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the configurations of hone-agent and hone-otel have in common beside the keys of link_keys.tbl.h and queue_keys.tbl.h. */
#ifndef AGENT_LINK_LINK_SETTINGS_H
#define AGENT_LINK_LINK_SETTINGS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"

struct link_settings {
	const char *node, *url, *log_level; /* agent.node, controller.url, log.level */
};

/* ERR_INPUT: the text names the key, and says what fits. */
int link_settings_check(const struct link_settings *s, struct err *e);

/* Whether one of the URLs is of TLS. */
bool link_settings_tls(const char *urls);

enum log_level link_settings_log_level(const char *word); /* LOG_INFO for another word */

#endif
