/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "base/daemon_arguments.h"

#include <getopt.h>
#include <stddef.h>

bool
daemon_arguments_read(struct daemon_arguments *a, int argc, char **argv, bool sweeps)
{
	const struct option options[] = { { "config", required_argument, NULL, 'c' },
		{ "set", required_argument, NULL, 'o' }, { "check", no_argument, NULL, 'n' },
		{ "print", no_argument, NULL, 'v' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ sweeps ? "sweep" : NULL, no_argument, NULL, 's' }, { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "c:o:nvhV", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			a->file = optarg;
			break;
		case 'n':
			a->check = true;
			break;
		case 'v':
			a->print = true;
			break;
		case 's':
			a->sweep = true;
			break;
		case 'h':
			a->help = true;
			break;
		case 'V':
			a->version = true;
			break;
		case 'o':
			if (a->nassignments == DAEMON_ASSIGNMENTS_MAX)
				return false;
			a->assignments[a->nassignments++] = optarg;
			break;
		default:
			return false;
		}
	}
	return optind == argc && (!a->print || a->check);
}
