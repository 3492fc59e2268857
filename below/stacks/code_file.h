/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file with code, as the unwinder sees it: rules that lead from a function to its caller, and names of addresses.
 * Behind it is libdw (code_file_libdw.c). The file may hold anything. What libdw does with a malformed file is bounded by
 * the process that runs this, not here: see stacks.h.
 *
 * Addresses are those that the file gives itself (p_vaddr), wherever it is mapped.
 */
#ifndef BELOW_STACKS_CODE_FILE_H
#define BELOW_STACKS_CODE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "below/stacks/code_maps.h"

struct code_file;

/* Opens the file that fd is open on; fd stays the caller's. `name` is its path, where debug files are sought beside it. NULL:
 * it is no ELF file for x86-64, or there was not enough memory. */
struct code_file *code_file_open(int fd, const char *name);
void code_file_close(struct code_file *f); /* NULL is fine */

/* The build id of a file that is open as fd. Reads at most 64 KiB, without libdw. len 0: none. */
struct build_id build_id_of(int fd);

/* Converts a position in the file to an address. False: it is not in a loaded segment. */
bool code_file_address(const struct code_file *f, uint64_t offset, uint64_t *ret);

enum { CODE_REGISTERS = 17 }; /* in the order of stacks.h */

struct code_state { /* of a thread in one of its frames */
	uint64_t registers[CODE_REGISTERS];
	uint64_t low;         /* where the copied bytes begin */
	const uint8_t *bytes; /* of the stack, from `low` upwards */
	size_t nbytes;
	bool
	    exact; /* the instruction pointer is at the next instruction; else it is behind a call */
};

enum code_step {
	STEP_CALLER, /* the state is the caller's now */
	STEP_START,  /* there is no caller: the start of the thread */
	STEP_NO_RULES,
	STEP_BYTES_MISSED,
};

/* Goes from a frame to its caller. `address`: where the frame's instruction is in this file, already reduced by 1 if it
 * is behind a call. On all results but STEP_CALLER the state is unchanged. */
enum code_step code_file_step(struct code_file *f, uint64_t address, struct code_state *s);

enum { CODE_INLINED_MAX = 16 };

/* The name of code that the linker made, which jumps to a function of another file. */
#define CODE_LINK_NAME "[plt]"

struct code_name {
	char function[128], file[128];
	uint32_t line;
};

/* Names an address: ret[0] is the innermost function, ret[1] the one that it is compiled into, and so on, with the lines of the
 * calls. Returns their number, 1 to CODE_INLINED_MAX; 0: the file has no symbol and no debug information for it. */
int code_file_name(struct code_file *f, uint64_t address, struct code_name ret[CODE_INLINED_MAX]);

/* Where the function that contains the address begins, by the table of unwinding rules. False: unknown. O(log n). */
bool code_file_function_start(struct code_file *f, uint64_t address, uint64_t *ret);

/* The same with where the next one begins: parts of a function that lie elsewhere have rules of their own. False: unknown, or the last
 * one. O(log n). */
bool code_file_function_range(
    struct code_file *f, uint64_t address, uint64_t *begin, uint64_t *end);

#endif
