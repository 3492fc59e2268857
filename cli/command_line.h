/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the command line, finds the command, and runs it. */
#ifndef CLI_COMMAND_LINE_H
#define CLI_COMMAND_LINE_H

#include "cli/command.h"

/* Runs the program. Answers go to out; errors, warnings and progress to err. */
enum exit_code command_run(int argc, char **argv, struct pen *out, struct pen *err);

#endif
