/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A baseline of states as a document, and back; a comparison as a document (docs/kernel.md, State patterns). Both are JSON:
 *
 *	{"document": "hone.states", "version": 1, "requests": ..., "types": [...]}
 *	{"document": "hone.states-comparison", "version": 1, "baseline": NAME, "operations": [...], ...}
 */
#ifndef KERNEL_PATTERNS_STATES_JSON_H
#define KERNEL_PATTERNS_STATES_JSON_H

#include <jansson.h>

#include "kernel/patterns/states_compare.h"

enum { STATES_VERSION = 1 };

#define STATES_DOCUMENT "hone.states"

/* Checks that this is a baseline of states of a version that we read. name is for the error's text. ERR_INPUT, ERR_VERSION. */
int states_check(const json_t *document, const char *name, struct err *e);
bool states_is(const json_t *document); /* whether it is one, of any version */

/* The document: the caller's; NULL: out of memory. made: a time as text, or NULL. */
json_t *states_json(const struct states_baseline *b, const char *made);

/*
 * Reads a document; *ret is the caller's. Everything is checked: ranges of numbers, states, sizes that agree; what is not there is as for a
 * measure that never was anything but 0. Memory is at most some 40 times the document, as far as it has places: a place without measures takes
 * 1 KiB for each of its intervals. ERR_INPUT, ERR_VERSION, ERR_MEMORY.
 */
int states_read(
    struct states_baseline **ret, const json_t *document, const char *name, struct err *e);

/* The comparison with the baseline of this name, as of docs/kernel.md: the caller's; NULL: out of memory. */
json_t *states_comparison_json(const struct states_comparison *c, const char *baseline);

#endif
