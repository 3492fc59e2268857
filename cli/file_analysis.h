/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From trace files to an analysis document: a thread reads, this one analyses. */
#ifndef CLI_FILE_ANALYSIS_H
#define CLI_FILE_ANALYSIS_H

#include "cli/command.h"

/* DONE, or MISUSED with words: a flag has a value that it cannot have. */
enum exit_code analysis_check(struct call *c);

/*
 * Reads the files, "-", and folders as the call's flags say, with a bar on standard error where it
 * takes long, and says there which could not be read. *document (docs/report.md) is the caller's.
 * samples: with single requests. ERR_INPUT: nothing could be analysed; ERR_MEMORY.
 */
int analysis_run(
    struct call *c, char *const *files, int nfiles, bool samples, json_t **document, struct err *e);

/* The live document of honed, of one request type or all (NULL); the caller's. ERR_PEER,
 * ERR_MISSING. */
int report_fetch(struct call *c, const char *type, bool samples, json_t **document, struct err *e);

#endif
