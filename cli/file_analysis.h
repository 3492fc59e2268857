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

/* Which requests of files are wanted. */
struct request_choice {
	const char *trace; /* the one with this id, 16 or 32 hex digits; or NULL */
	uint32_t slowest;  /* else so many of the slowest of all; 0: all of them */
};

/* Is handed a request (docs/questions.md), which stays the caller's. Another return than 0 ends the reading. */
typedef int take_request(void *ctx, const json_t *request, struct err *e);

/*
 * Hands out requests of the files, in their order, each with what its group says about it. The files are read twice: the first time for the
 * groups, so standard input is refused. Flags, errors and memory are those of analysis_run(); at most one request more is in memory,
 * and 24 bytes for each of the slowest. ERR_MISSING: no request is as chosen.
 */
int analysis_requests(struct invocation *c, char *const *files, int nfiles,
    const struct request_choice *choice, take_request *take, void *ctx, struct err *e);

/* Asks honed for its report of one request type, or of all (NULL). *document is the caller's; NULL
 * on failure. ERR_PEER: no connection, or honed refused; ERR_INPUT, ERR_VERSION. */
int report_fetch(
    struct invocation *c, const char *type, bool samples, json_t **document, struct err *e);

#endif
