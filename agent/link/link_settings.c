/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/link/link_settings.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "agent/link/redial.h"
#include "base/stream.h"
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

static int
check_url(const char *url, const char *node, struct err *e)
{
	if (strncmp(url, "tcp://", 6) == 0)
		return err_set(e, ERR_INPUT,
		    "controller.url: \"%s\": it is not encrypted; use tls://host:port, with the keys that hone keys "
		    "agent %s makes",
		    url, node);
	if (strncmp(url, "ipc:///", 7) != 0 && strncmp(url, "tls://", 6) != 0)
		return err_set(
		    e, ERR_INPUT, "controller.url: \"%s\": ipc:///path or tls://host:port", url);
	return 0;
}

int
link_settings_check(const struct link_settings *s, struct err *e)
{
	char url[REDIAL_URL_MAX + 1];
	uint32_t nurls = 0;
	int rc = 0;

	if (level_of(s->log_level) < 0)
		return err_set(e, ERR_INPUT,
		    "log.level: \"%s\" is not one of debug, info, warn, error", s->log_level);
	if (!node_name_fits(s->node))
		return err_set(e, ERR_INPUT,
		    "agent.node: \"%s\": 1 to %d letters, digits, and - _ . after the first",
		    s->node, NODE_NAME_MAX);
	for (; rc == 0 && redial_url(s->url, nurls, url); nurls++)
		rc = check_url(url, s->node, e);
	/* It stops at one that is too long. */
	if (rc == 0 && (nurls == 0 || nurls > REDIAL_URLS_MAX || nurls < redial_words(s->url)))
		rc = err_set(e, ERR_INPUT,
		    "controller.url: \"%s\": 1 to %d URLs of at most %d characters, separated by blanks",
		    s->url, REDIAL_URLS_MAX, REDIAL_URL_MAX);
	return rc;
}

bool
link_settings_tls(const char *urls)
{
	char url[REDIAL_URL_MAX + 1];
	bool any = false;

	for (uint32_t i = 0; redial_url(urls, i, url); i++)
		any |= url_is_tls(url);
	return any;
}
