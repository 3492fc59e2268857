/* SPDX-License-Identifier: GPL-3.0-or-later */
/* agent.users: whose programs are read. */
#ifndef AGENT_READER_LISTED_USERS_H
#define AGENT_READER_LISTED_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { LISTED_USERS_MAX = 256 };

struct listed_users { /* all zeroes: everybody */
	uint32_t n;
	uint32_t ids[LISTED_USERS_MAX];
};

/* Names of users, or their numbers, separated by blanks, commas or tabs. ERR_INPUT: there is no such user, or there are too many. */
int listed_users_parse(struct listed_users *ret, const char *text, struct err *e);

/* Whether the user is listed; each one is where nobody is. O(listed). */
bool listed_users_have(const struct listed_users *l, uint32_t user);

#endif
