/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes a row of the forest's audit. Who is refused again and again fills no disk: beyond a
 * few rows they share one. */
#ifndef CONTROLPLANE_ANSWERS_AUDIT_LOG_H
#define CONTROLPLANE_ANSWERS_AUDIT_LOG_H

#include "controlplane/server/bucket.h"
#include "controlplane/server/roles.h"
#include "forest/forest.h"

enum { AUDIT_USERS = 32, AUDIT_ASKED_MAX = 300 };

struct audit_user { /* whose asking was to no avail, lately */
	bool used;
	struct who who;
	struct bucket pace;
	struct mono at;
	uint64_t unsaid; /* so often more than there are rows */
};

struct audit_book { /* all zeroes: empty */
	struct audit_user users[AUDIT_USERS];
};

/* w asked for it. Of what was refused or failed: a few rows of each user at once, then one in ten
 * seconds; the next row counts those between. `times`: it stands for so many. ERR_MEMORY. */
int audit_asked(struct audit_book *b, struct forest *f, const struct who *w, const char *asked,
    enum audit_outcome outcome, uint64_t run, uint64_t times, const char *text, struct mono now,
    struct wall when, struct err *e);
/* A row for each user of whom something is not said yet, where it is time again. To be called now
 * and then. */
void audit_flush(struct audit_book *b, struct forest *f, struct mono now, struct wall when);

#endif
