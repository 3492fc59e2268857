/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All doors of doors.tbl.h. */
#ifndef CONTROLPLANE_HONED_DOORS_H
#define CONTROLPLANE_HONED_DOORS_H

#include "base/clock.h"
#include "base/err.h"
#include "controlplane/honed/honed_config.h"
#include "controlplane/honed/questions.h"

struct doors;

/* Opens those that are configured, and logs where. On failure none is open. */
int doors_open(
    struct doors **ret, const struct config *c, struct questions *questions, struct err *e);
void doors_step(struct doors *d, struct mono now);
void doors_close(struct doors *d); /* NULL is fine */

#endif
