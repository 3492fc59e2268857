/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a uprobe costs at an instruction, told from the instruction: the kernel emulates some after its trap (0.4 to 0.7 us a
 * hit), and single-steps all others (10 to 13 us). Behind it is the decoder Zydis (probe_price_zydis.c). Pure.
 */
#ifndef BELOW_PROBES_PROBE_PRICE_H
#define BELOW_PROBES_PROBE_PRICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_way { /* how the kernel continues after the probe (Linux, arch/x86/kernel/uprobes.c) */
	PROBE_EMULATED, /* nop, push, direct call, direct jump, conditional jump */
	PROBE_LONG_NOP, /* nop of several bytes: emulated by Linux 6.18, stepped before */
	PROBE_STEPPED,
	PROBE_NO_CODE, /* no instruction, or one that the kernel refuses to probe */
};

struct probe_price {
	enum probe_way way;
	uint8_t length; /* bytes of the instruction; 0 for PROBE_NO_CODE */
};

/* The price at the first instruction of `code`. len: 15 bytes are enough for any. O(1). */
struct probe_price probe_price_of(const uint8_t *code, size_t len);

/* What a hit costs the thread, with a record, as measured on Linux 6.18 in a virtual machine: 580, 410 and 12600 ns for
 * the first three; twice as much for entry and return of an emulated one. 0: PROBE_NO_CODE. */
uint32_t probe_price_ns(enum probe_way way, bool and_return);

/*
 * Finds where a function can be probed cheaply: the first emulated instruction from its entry on that every call passes, and
 * passes once, with the stack pointer of the entry, so that a return probe finds the return address.
 *	1. Only instructions in front of which nothing branches, returns, calls or changes rsp.
 *	2. No direct branch in the function leads to an address behind its entry and not behind the place, which would pass it
 *	   again, or pass it by. (Where a table of addresses leads is not known; compilers lead them to cases, not back there.)
 * code: the function, len: its bytes. long_nops: PROBE_LONG_NOP is cheap, too. False: there is none in its first 64
 * bytes, or it cannot be decoded. O(len).
 */
bool probe_place_of(const uint8_t *code, size_t len, bool long_nops, uint32_t *offset);

/*
 * Where the begin of a function can be probed: as probe_place_of() finds it, else the first instruction behind an endbr64, which is stepped,
 * if nothing in the function branches to it. *way: what that costs. False: neither. O(len).
 */
bool probe_entry_of(const uint8_t *code, size_t len, uint32_t *offset, enum probe_way *way);

enum { CODE_PARTS_MAX = 9 };

struct code_part { /* of a function; compilers move what is seldom run elsewhere ("f.cold") */
	uint64_t address;
	const uint8_t *code;
	size_t len;
};

/*
 * Where a function is left: its returns, and jumps out of all of its parts (a call in the last place). Probes there need no return address
 * of the program to be changed, as return probes do: an exception that passes a function with one of those ends the program.
 *	1. A jump to an address in a register, or in a table, leads to a case of a switch if the address was added up just before, or comes
 *	   from a table by index; else out of the function.
 *	2. Only instructions that direct branches and what follows lead to from the begin count; with a jump by a table, also what stands behind an
 *	   unconditional jump or a return. Constants that lie in the code of hand-written functions may look like a return.
 *	3. A conditional jump out of it leads to a part that is not among these: compilers make no calls of them.
 * Sets addresses. Returns their number; -1: over max, it cannot be decoded, a branch leads into an instruction, or case 3; then *missing
 * is where that part is, else 0. parts[0] is where it begins. O(bytes x branches that lead back), O(bytes) for most.
 */
int probe_exits_of(const struct code_part *parts, uint32_t nparts, uint64_t *exits, uint32_t max,
    uint64_t *missing);

#endif
