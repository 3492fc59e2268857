/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The actions of hone kernel, each in a file of its own: cli/kernel_*.c. The table is in command_kernel.c. */
#ifndef CLI_KERNEL_VERBS_H
#define CLI_KERNEL_VERBS_H

#include "cli/command.h"

/* hone kernel read FILE...: what recordings of the kernel have, and what is wrong with them. */
enum exit_code kernel_read_run(struct invocation *c);

#endif
