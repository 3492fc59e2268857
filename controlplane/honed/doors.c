/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/doors.h"

#include <stdlib.h>

#include "base/log.h"
#include "controlplane/honed/door.h"

#define DOOR(name, what) extern const struct door_ops door_##name;
#include "controlplane/honed/doors.tbl.h"
#undef DOOR

static const struct door_ops *const ALL[] = {
#define DOOR(name, what) &door_##name,
#include "controlplane/honed/doors.tbl.h"
#undef DOOR
	NULL
};

enum { DOORS_MAX = sizeof ALL / sizeof ALL[0] };

struct doors {
	void *states[DOORS_MAX]; /* NULL: closed */
};

int
doors_open(struct doors **ret, const struct config *c, struct questions *questions, struct err *e)
{
	struct doors *d = calloc(1, sizeof *d);
	int rc;

	if (d == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (int i = 0; ALL[i] != NULL; i++) {
		if ((rc = ALL[i]->open(&d->states[i], c, questions, e)) < 0) {
			d->states[i] = NULL;
			err_prefix(e, "%s", ALL[i]->name);
			doors_close(d);
			return rc;
		}
		if (d->states[i] != NULL)
			log_line(LOG_INFO, "%s at %s", ALL[i]->name, ALL[i]->url(d->states[i]));
	}
	*ret = d;
	return 0;
}

void
doors_step(struct doors *d, struct mono now)
{
	for (int i = 0; ALL[i] != NULL; i++)
		if (d->states[i] != NULL)
			ALL[i]->step(d->states[i], now);
}

void
doors_close(struct doors *d)
{
	if (d == NULL)
		return;
	for (int i = DOORS_MAX - 1; i >= 0; i--)
		if (d->states[i] != NULL)
			ALL[i]->close(d->states[i]);
	free(d);
}
