/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What lies at an address of a running process: "cart+index_lock" (the file that is
 * mapped there, and its symbol), "cart+0x4a20" (no symbol: the place in the file), so
 * that it is the same in the next process, wherever that is loaded. Names are looked up
 * once; what is neither in a file nor in its data stays a number.
 *
 * Reads /proc/PID/maps and the files named there, which belong to the traced
 * program: believed to be nothing but bytes.
 */
#ifndef AGENT_SYSTEM_SYMBOLS_H
#define AGENT_SYSTEM_SYMBOLS_H

#include <stdint.h>

enum { SYMBOL_TEXT_MAX = 95 };

struct symbols; /* of one process */

struct symbols *symbols_new(uint32_t pid); /* NULL: out of memory */
void symbols_free(struct symbols *s);      /* NULL is fine */

/* Terminated, and as long as *s lives; NULL: nothing is known, or there are too many different ones
 * already. A table look-up; for a new address O(mappings + symbols of the file), some ms at most,
 * for up to 256 of these a process. */
const char *symbols_name(struct symbols *s, uint64_t address);

#endif
