/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/reader/listed_users.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

static bool
is_number(const char *text, uint32_t *ret)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	*ret = (uint32_t)n;
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && n < UINT32_MAX;
}

static bool
user_id(const char *text, uint32_t *ret)
{
	const struct passwd *pw;

	if (is_number(text, ret))
		return true;
	if ((pw = getpwnam(text)) == NULL)
		return false;
	*ret = pw->pw_uid;
	return true;
}

int
listed_users_parse(struct listed_users *ret, const char *text, struct err *e)
{
	char *copy = strdup(text), *at = copy;
	struct listed_users l = { 0 };
	int rc = 0;

	if (copy == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (const char *name; rc == 0 && (name = strsep(&at, " ,\t")) != NULL;) {
		if (name[0] == '\0')
			continue;
		if (l.n == LISTED_USERS_MAX)
			rc = err_set(e, ERR_INPUT, "over %d users", LISTED_USERS_MAX);
		else if (!user_id(name, &l.ids[l.n++]))
			rc = err_set(e, ERR_INPUT, "there is no user \"%.64s\"", name);
	}
	free(copy);
	if (rc == 0)
		*ret = l;
	return rc;
}

bool
listed_users_have(const struct listed_users *l, uint32_t user)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->ids[i] == user)
			return true;
	return l->n == 0;
}
