/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone baseline save --states, and hone analyze --baseline with such a baseline: states of operations, of kernel recordings. */
#ifndef CLI_STATES_ANALYSIS_H
#define CLI_STATES_ANALYSIS_H

#include "cli/command.h"
#include "kernel/patterns/states_json.h"

/* A baseline_check: of an analysis document, or of a baseline of states. */
int states_check_any(const json_t *document, const char *name, struct err *e);

/* Whether --baseline names a baseline of states, so that states_compare() is what is asked for. Reads its file. */
bool states_wanted(const struct invocation *c);

/* Saves the states of the operations in these recordings under the name, and prints what it has. */
enum exit_code states_save(struct invocation *c, const char *name, char *const *files, int nfiles);

/* Compares the recordings that the call names with the baseline of --baseline, and prints which operations departed from it. */
enum exit_code states_compare(struct invocation *c);

#endif
