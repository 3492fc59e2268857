/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes rows of the audit. Repeated refusals of a user share rows, so that they cannot fill the disk. */
#ifndef CONTROLPLANE_ANSWERS_AUDIT_LOG_H
#define CONTROLPLANE_ANSWERS_AUDIT_LOG_H

#include "controlplane/server/bucket.h"
#include "controlplane/server/roles.h"
#include "forest/forest.h"

enum { AUDIT_USERS = 32, AUDIT_ASKED_MAX = 300 };

struct audit_user {         /* with recent refusals or failures */
	bool used, several; /* several: of all users without an entry; `who` is nobody */
	struct who who;
	struct bucket pace;
	struct mono at;
	uint64_t unwritten; /* events without a row yet */
};

struct audit_book { /* all zeroes: empty */
	struct audit_user users[AUDIT_USERS];
};

/* A row for a question of w, or an attempt of w: `row` without who asked. Refused and failed ones: 10 rows of a user at once, then one in ten
 * seconds, which counts those in between. ERR_MEMORY. */
int audit_asked(struct audit_book *b, struct forest *f, const struct who *w,
    const struct audit *row, struct mono now, struct err *e);
/* A row for each user with events that have no row, where ten seconds have passed. To be called
 * regularly. */
void audit_flush(struct audit_book *b, struct forest *f, struct mono now, struct wall when);

#endif
