/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone analyze --thread: what threads of kernel recordings did. */
#ifndef CLI_THREAD_ANALYSIS_H
#define CLI_THREAD_ANALYSIS_H

#include "cli/command.h"

/* Reads the recordings that the call names, prints the states and the critical path of the threads that --thread names, and writes the page
 * that --html names. */
enum exit_code thread_analysis(struct invocation *c);

#endif
