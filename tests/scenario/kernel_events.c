/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: "kernel_events RECORDING" prints the events of a recording as lines, as kernel_stream does those of a stream. */
#include <stdio.h>

#include "kernel/files/kernel_files.h"
#include "tests/scenario/kernel_events.h"

static struct kernel_names names;

static int
take(void *of, const struct kernel_event *ev, struct err *e)
{
	(void)of;
	(void)e;
	kernel_events_print(stdout, &names, ev);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct kernel_files_options o = { .raw_times = true, .take = take };
	struct kernel_files_counts counts;
	struct err e = { 0 };

	if (argc != 2 || kernel_names_new(&names, &e) != 0)
		return 1;
	if (kernel_files_read(argv + 1, 1, &o, &names, &counts, &e) != 0)
		fprintf(stderr, "kernel_events: %s\n", e.text);
	for (int i = 0; i < KERNEL_ODDITIES; i++)
		if (counts.odd[i].count > 0)
			fprintf(stderr, "%s %llu %s\n", kernel_oddity_word((enum kernel_oddity)i),
			    (unsigned long long)counts.odd[i].count, counts.odd[i].why);
	kernel_names_release(&names);
	return e.code == 0 ? 0 : 1;
}
