/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for addresses of a running process: "cart+index_lock" (the file that is mapped there and
 * its symbol), or "cart+0x4a20" (no symbol: the offset from the file's first byte). A name is the
 * same in the next process, wherever that is loaded. An address that belongs to no file, as of the
 * heap or a stack, has no name.
 *
 * Reads /proc/PID/maps and the files named there. They belong to the traced program, so they may
 * hold anything.
 */
#ifndef AGENT_SYSTEM_SYMBOLS_H
#define AGENT_SYSTEM_SYMBOLS_H

#include <stdint.h>

enum { SYMBOL_TEXT_MAX = 95 }; /* bytes */

/* The names of one process that were looked up so far. One thread at a time. */
struct symbols;

struct symbols *symbols_new(uint32_t pid); /* NULL: out of memory */
void symbols_free(struct symbols *s);      /* NULL is fine */

/* The name, terminated, valid until symbols_free(). NULL: the address has no name, memory ran out,
 * or 256 addresses of this process were looked up before this one (each address counts once, found
 * or not). O(1) for an address that was looked up before; else O(mappings + symbols of the file),
 * a few ms. */
const char *symbols_name(struct symbols *s, uint64_t address);

#endif
