/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The folders of honed's sockets and databases. */
#ifndef CONTROLPLANE_HONED_FOLDERS_H
#define CONTROLPLANE_HONED_FOLDERS_H

#include "base/err.h"
#include "base/privilege.h"
#include "controlplane/honed/honed_config.h"

/* Makes those that are missing, owned by the user that honed will become; to be called before it
 * becomes that. Only the last component of a path is made. ERR_INPUT: a path of over 4095 bytes;
 * ERR_IO and others by errno. */
int folders_make(const struct config *c, const struct privilege *who, struct err *e);
/* Whether honed, as the user that it runs as, can write to them. */
int folders_check(const struct config *c, struct err *e);

/* From here on, files that honed makes are for its user only. Databases of before that others can open become so, with a
 * line in the log: who reads them sees the audit, and who locks them stops honed's writes. Those of another owner stay
 * as they are. */
void folders_private(const struct config *c);

#endif
