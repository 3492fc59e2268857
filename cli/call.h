/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What commands share: asking honed, printing its answer, and reporting errors. */
#ifndef CLI_CALL_H
#define CLI_CALL_H

#include "cli/command.h"

struct client;

/* Prints the error to standard error; returns FAILED. */
enum exit_code call_failed(struct invocation *c, const struct err *e);
/* Prints an error of the command line, "hone: WHAT: WHY; did you mean BEST?", or a pointer to --help if best is
 * NULL; returns MISUSED. */
enum exit_code call_misused(
    struct invocation *c, const char *what, const char *why, const char *best);
/* MISUSED after an error if both flags were given, else DONE. */
enum exit_code call_either(struct invocation *c, enum flag a, enum flag b);
int call_connect(struct invocation *c, struct client **client, struct err *e);
/* Sends the question, of which it takes ownership (NULL: its arguments are not UTF-8, ERR_INPUT). 0: *answer is
 * the caller's; otherwise it is NULL, and with --json a refusal of honed has been printed. */
int call_ask(
    struct invocation *c, struct client *client, json_t *question, json_t **answer, struct err *e);
/* The same with a connection of its own. */
int call_ask_once(struct invocation *c, json_t *question, json_t **answer, struct err *e);
/* The same; then prints the answer, as JSON with --json, otherwise with `print`. */
enum exit_code call_ask_and_print(
    struct invocation *c, json_t *question, void (*print)(struct pen *p, const json_t *answer));
/* The bound of --memory. Analyses that keep the states of all threads of a recording of the kernel (--thread, states, annotate) need more than others: without the flag
 * theirs is 1024 MiB, of which they use what the recording needs. */
size_t call_memory_bytes(const struct invocation *c, bool keeps_states);
/* Writes the text to the file; "-" is standard output. ERR_SYSTEM. */
int call_write(struct invocation *c, const char *path, const struct buf *text, struct err *e);

#endif
