/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording of kernel events as it is written. */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include <stdint.h>

#include "kernel/event.h"

struct recording_file;

/* Makes the folder, for this user only. The names have to live as long. ERR_SYSTEM, ERR_FULL, ERR_MEMORY. */
int recording_file_open(struct recording_file **ret, const char *folder,
    const struct kernel_names *names, struct err *e);
int recording_file_take(struct recording_file *f, const struct kernel_event *ev, struct err *e);
/* Ends it and frees it; *bytes: what it has on the disk. NULL is fine. ERR_FULL, ERR_SYSTEM. */
int recording_file_close(struct recording_file *f, uint64_t *bytes, struct err *e);

#endif
