/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of hone-agent(8) and hone-otel(8): which configuration they read, and what they do instead of running. */
#ifndef BASE_DAEMON_ARGUMENTS_H
#define BASE_DAEMON_ARGUMENTS_H

#include <stdbool.h>

enum { DAEMON_ASSIGNMENTS_MAX = 64 };

struct daemon_arguments {
	const char *file; /* -c, or what the caller has set; of argv, as are the assignments */
	char *assignments[DAEMON_ASSIGNMENTS_MAX]; /* -o: "section.key=value" */
	int nassignments;
	bool check, print, sweep, help, version;
};

/* Adds what argv says to *a. sweeps: the program has the option --sweep. False, with a message of getopt_long() on standard
 * error or none: an unknown option, a missing value, more than DAEMON_ASSIGNMENTS_MAX assignments, an argument that is no
 * option, or --print without --check. */
bool daemon_arguments_read(struct daemon_arguments *a, int argc, char **argv, bool sweeps);

#endif
