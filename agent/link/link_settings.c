/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/link/link_settings.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "wire/agent_messages.h"

static const char *const LEVELS[] = { "debug", "info", "warn", "error" };

/* -1: it is none. */
static int
level_of(const char *word)
{
	for (int i = 0; i < 4; i++)
		if (strcmp(word, LEVELS[i]) == 0)
			return i;
	return -1;
}

enum log_level
link_settings_log_level(const char *word)
{
	int level = level_of(word);

	return level >= 0 ? (enum log_level)level : LOG_INFO;
}

/* It becomes part of the names of sessions, folders and certificates. */
static bool
node_name_fits(const char *s)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && (i == 0 || strchr("-_.", s[i]) == NULL))
			return false;
	return len > 0 && len <= NODE_NAME_MAX;
}

int
link_settings_check(const struct link_settings *s, struct err *e)
{
	if (level_of(s->log_level) < 0)
		return err_set(e, ERR_INPUT,
		    "log.level: \"%s\" is not one of debug, info, warn, error", s->log_level);
	if (!node_name_fits(s->node))
		return err_set(e, ERR_INPUT,
		    "agent.node: \"%s\": 1 to %d letters, digits, and - _ . after the first",
		    s->node, NODE_NAME_MAX);
	if (strncmp(s->url, "tcp://", 6) == 0)
		return err_set(e, ERR_INPUT,
		    "controller.url: \"%s\": it is not encrypted; use tls://host:port, with the keys that hone keys "
		    "agent %s makes",
		    s->url, s->node);
	if (strncmp(s->url, "ipc:///", 7) != 0 && strncmp(s->url, "tls://", 6) != 0)
		return err_set(
		    e, ERR_INPUT, "controller.url: \"%s\": ipc:///path or tls://host:port", s->url);
	return 0;
}
