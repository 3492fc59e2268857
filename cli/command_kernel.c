/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone kernel: recordings of the kernel (docs/kernel.md). */
#include <limits.h>
#include <string.h>

#include "cli/call.h"
#include "cli/kernel_record.h"
#include "cli/kernel_verbs.h"

static const struct {
	const char *name, *missing; /* the error if arguments are missing */
	int min, max;               /* number of arguments */
	flag_set flags;             /* beyond those that all commands have */
	enum exit_code (*run)(struct invocation *c);
} verbs[] = {
	{ "read", "needs a recording", 1, INT_MAX,
	    FLAG_BIT(FORMAT) | FLAG_BIT(MAP) | FLAG_BIT(COUNT) | FLAG_BIT(MEMORY) | FLAG_BIT(WRITE),
	    kernel_read_run },
	{ "record", "", 0, 1, KERNEL_RECORD_FLAGS, kernel_record_run },
};

enum { VERBS = sizeof verbs / sizeof *verbs };

#define VERB_FLAGS                                                                                 \
	(FLAG_BIT(FORMAT) | FLAG_BIT(MAP) | FLAG_BIT(COUNT) | FLAG_BIT(MEMORY) | FLAG_BIT(WRITE) | \
	    KERNEL_RECORD_FLAGS)

static enum exit_code
run_kernel(struct invocation *c)
{
	int v = 0;

	while (v < VERBS && strcmp(verbs[v].name, c->arguments[0]) != 0)
		v++;
	if (v == VERBS)
		return call_misused(c, c->arguments[0], "must be read or record", NULL);
	if (c->narguments - 1 < verbs[v].min)
		return call_misused(
		    c, pen_printf(c->err, "kernel %s", verbs[v].name), verbs[v].missing, NULL);
	if (c->narguments - 1 > verbs[v].max)
		return call_misused(c, c->arguments[verbs[v].max + 1], "unexpected argument", NULL);
	for (int f = 0; f < FLAGS; f++)
		if (c->value[f] != NULL && flag_in(VERB_FLAGS, f) && !flag_in(verbs[v].flags, f))
			return call_misused(c, flag_texts[f].name,
			    pen_printf(c->err, "does not apply to kernel %s", verbs[v].name), NULL);
	return verbs[v].run(c);
}

const struct command command_kernel = {
	.name = "kernel",
	.arguments = "read|record ...",
	.arguments_min = 1,
	.arguments_max = INT_MAX,
	.flags = VERB_FLAGS,
	.run = run_kernel,
	.help = "record what happens in the kernel, and read recordings of it",
	.more =
	    "read FILE... reads recordings of one or several hosts: folders of CTF (LTTng's kernel tracer,\n"
	    "perf data convert --to-ctf, Hone's own), text of ftrace and trace-cmd report, logs of MiSeRTrace.\n"
	    "It prints what they have and what is wrong with them. --write FOLDER writes what was read as a\n"
	    "recording of Hone, which Trace Compass opens, too. --tracepoint PATTERN,... counts further events\n"
	    "by name. --map FILE is MiSeRTrace's meta file.\n"
	    "record [FOLDER] takes events of the kernel as they happen, for --seconds, from the whole machine or from\n"
	    "the processes of --pid with their children. Groups of --events: sched (threads that run and wait, always\n"
	    "recorded), net (what threads send and receive by TCP), irq, syscalls, packets, block, faults, migrations,\n"
	    "units, stacks (call stacks of system calls that waited, of the processes of --pid);\n"
	    "lean is sched,net, full is sched,net,irq,syscalls,block; SYSTEM:TRACEPOINT is counted. It needs CAP_BPF\n"
	    "and CAP_PERFMON, or root.",
};
