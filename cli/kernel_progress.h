/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shows how far the reading of recordings of the kernel is. All zeroes but for `call` before the first event. */
#ifndef CLI_KERNEL_PROGRESS_H
#define CLI_KERNEL_PROGRESS_H

#include "base/clock.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "kernel/files/kernel_files.h"

struct kernel_progress {
	struct invocation *call;
	struct kernel_files_progress at; /* for kernel_files_options.progress */
	struct progress line;
	struct mono begun, shown; /* 0: not yet */
	uint64_t events;
};

/* One more event was read. Shows the progress on a terminal, from 300 ms after the first one on, ten times a second at most. O(1). */
void kernel_progress_event(struct kernel_progress *p);
/* Clears the line, if there is one. */
void kernel_progress_end(struct kernel_progress *p);

#endif
