/* SPDX-License-Identifier: GPL-3.0-or-later */
/* news-stall: while its fault is on, stops a whole process for 30 ms at random times, as a quota of processor time, a
 * debugger or a suspended virtual machine does. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "switches.h"
#include "work.h"

int
main(int argc, char **argv)
{
	pid_t pid;

	if (argc != 3 || atoi(argv[2]) <= 1) {
		fprintf(stderr, "usage: news-stall DIR PID\n");
		return 2;
	}
	pid = atoi(argv[2]);
	if (switches_open(argv[1]) != 0)
		return 1;
	for (;;) {
		work_wait(-300 * log(1 - work_chance()));
		if (!switch_degree(SWITCH_stop))
			continue;
		if (kill(pid, SIGSTOP) != 0)
			return 0;
		work_wait(30.0 * switch_degree(SWITCH_stop));
		kill(pid, SIGCONT);
	}
}
