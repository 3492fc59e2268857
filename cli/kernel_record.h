/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone kernel record. */
#ifndef CLI_KERNEL_RECORD_H
#define CLI_KERNEL_RECORD_H

#include "cli/command.h"

#define KERNEL_RECORD_FLAGS \
	(FLAG_BIT(SECONDS) | FLAG_BIT(PID) | FLAG_BIT(EVENTS) | FLAG_BIT(TEXTS) | FLAG_BIT(RING))

/* record [FOLDER]: without one, it is one in the current folder, named after the time. */
enum exit_code kernel_record_run(struct invocation *c);

#endif
