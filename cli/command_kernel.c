/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone kernel: recordings of what happens in the kernel (docs/kernel.md). */
#include <string.h>

#include "cli/call.h"
#include "cli/command.h"
#include "cli/kernel_record.h"

static enum exit_code
run_kernel(struct invocation *c)
{
	const char *verb = c->arguments[0];

	if (strcmp(verb, "record") != 0)
		return call_misused(c, verb, "unknown action; must be record", NULL);
	return kernel_record(c, c->narguments > 1 ? c->arguments[1] : NULL);
}

const struct command command_kernel = {
	.name = "kernel",
	.arguments = "record [FOLDER]",
	.arguments_min = 1,
	.arguments_max = 2,
	.flags = KERNEL_RECORD_FLAGS,
	.run = run_kernel,
	.help = "record what happens in the kernel",
	.more =
	    "record takes events of the kernel as they happen, for --seconds, from the whole machine or from the\n"
	    "processes of --pid with their children, and keeps them in FOLDER. Groups of --events: sched (threads\n"
	    "that run and wait, always recorded), net (what threads send and receive by TCP), irq, syscalls, packets,\n"
	    "block, faults, migrations; lean is sched,net, full is sched,net,irq,syscalls,block; SYSTEM:TRACEPOINT is\n"
	    "counted. It needs CAP_BPF and CAP_PERFMON, or root.",
	.many = "give one folder only",
};
