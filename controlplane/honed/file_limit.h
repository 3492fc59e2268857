/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CONTROLPLANE_HONED_FILE_LIMIT_H
#define CONTROLPLANE_HONED_FILE_LIMIT_H

#include <sys/resource.h>

#include "controlplane/server/server.h"

/* Raises the limit of open files to the most that is allowed, and logs a warning if that is too few for the connections that may come. */
void file_limit_raise(const struct server_options *o);
/* The limit that honed was started with, for programs that it starts: select(2) fails in those that do not expect more than 1,024 files. */
rlim_t file_limit_of_others(void);

#endif
