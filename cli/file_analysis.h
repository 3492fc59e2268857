/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes an analysis document of trace files: one thread reads them, the calling thread analyses. */
#ifndef CLI_FILE_ANALYSIS_H
#define CLI_FILE_ANALYSIS_H

#include "cli/command.h"

/* Checks the flags of `analyze`: DONE, or MISUSED after an error on standard error. */
enum exit_code analysis_check(struct invocation *c);

/* What the document has: what the text shows; everything but single requests; these, too. */
enum analysis_extent { ANALYSIS_TEXT, ANALYSIS_DOCUMENT, ANALYSIS_SAMPLES };

/*
 * Reads files, folders and "-" (standard input) according to the flags of the call. Standard error
 * gets a progress bar after 300 ms, and a line for each file that cannot be read. *document
 * (docs/report.md) is the caller's. ERR_INPUT: a flag or mapping
 * is wrong, or no trace could be analysed; ERR_SYSTEM, ERR_MEMORY. Call it once in a process: it
 * sets up malloc() for large inputs.
 */
int analysis_run(struct invocation *c, char *const *files, int nfiles, enum analysis_extent extent,
    json_t **document, struct err *e);

/* Asks honed for its report of one request type, or of all (NULL). *document is the caller's; NULL
 * on failure. ERR_PEER: no connection, or honed refused; ERR_INPUT, ERR_VERSION. */
int report_fetch(
    struct invocation *c, const char *type, bool samples, json_t **document, struct err *e);

#endif
