/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the instrumentation of the programs that wrote trace files. */
#ifndef CLI_FILE_CHECK_H
#define CLI_FILE_CHECK_H

#include "cli/command.h"

/* Whether the argument is a file, a folder or "-" (standard input), and not a request type. */
bool is_trace_file(const char *argument);

/* Reads files and folders as `analyze` does. Standard error gets a line for each that cannot be read.
 * *answer (docs/questions.md, check) is the caller's. ERR_INPUT: a flag or mapping is wrong, or there
 * was no trace; ERR_SYSTEM, ERR_MEMORY. */
int file_check(
    struct invocation *c, char *const *files, int nfiles, json_t **answer, struct err *e);

#endif
