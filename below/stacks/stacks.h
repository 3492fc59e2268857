/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From copied stack bytes to places in the code. Registers and the bytes above the stack pointer are unwound by the
 * rules in the .eh_frame of the mapped files (libdw), since Debian's libraries have no frame pointers; then each
 * distinct address is named once, by function, file and line, with the functions that are compiled into it.
 *
 *	sample (pid, registers, bytes) ---> frames (file, offset) ---> names, cached by build id ---> struct code_place
 *
 * Programs of the node are not trusted: their files may hold anything, and may be replaced, deleted or upgraded while
 * they run. What is bounded is in struct stacks_limits. A file that is not the one that was mapped is never used: its
 * frames are "NAME (replaced)". Stack bytes are user data: they are read here and kept nowhere.
 *
 * One thread at a time. Reads /proc/PID/maps and the files named there, through /proc/PID/map_files or /proc/PID/root
 * where that is permitted, else by path.
 */
#ifndef BELOW_STACKS_STACKS_H
#define BELOW_STACKS_STACKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "below/stacks/code_place.h"

enum { /* x86-64 registers in the order of DWARF, as in struct stack_sample.registers */
	STACK_RAX,
	STACK_RDX,
	STACK_RCX,
	STACK_RBX,
	STACK_RSI,
	STACK_RDI,
	STACK_RBP,
	STACK_RSP,
	STACK_R8,
	STACK_R15 = 15,
	STACK_RIP,
	STACK_REGISTERS,
};

enum { STACK_BYTES_MAX = 64 << 10 };

struct stack_sample {
	pid_t pid;                           /* the process (thread group) */
	uint64_t time_ns;                    /* CLOCK_MONOTONIC, when the bytes were copied */
	uint64_t registers[STACK_REGISTERS]; /* of user space; those that were not saved are 0 */
	const uint8_t *bytes;                /* from registers[STACK_RSP] upwards */
	size_t nbytes;                       /* more than STACK_BYTES_MAX are not read */
};

struct stacks_limits {      /* 0: the value in parentheses */
	uint32_t processes; /* (256) the one that was used longest ago is forgotten */
	uint32_t modules;   /* (512) files that are open; as above */
	uint32_t names;     /* (65536) named addresses; when full, all are forgotten */

	uint64_t file_bytes;   /* (1 GiB) a larger file is not read */
	uint64_t memory_bytes; /* (512 MiB) resident, of the process that reads the files */

	/* (2000) CPU time for one sample with all its names; then the file that takes it is given up. */
	uint32_t sample_ms;
	/* (1000) /proc/PID/maps of a process is not read more often, but for an unknown address. */
	uint32_t maps_every_ms;
};

struct stacks_counts { /* since stacks_open() */
	uint64_t samples, ends[STACK_GIVEN_UP + 1], frames, names;
	uint64_t
	    given_up_files; /* that took too much time or memory, or ended the process that reads them */
};

struct stacks;

/* Starts a process that reads the files, without privileges of its own beyond those of the caller, so that a hostile file
 * can end or delay only that process; it ends with stacks_close() or with the caller. On success *ret is the caller's.
 * ERR_SYSTEM, ERR_MEMORY. */
int stacks_open(struct stacks **ret, const struct stacks_limits *limits, struct err *e);
void stacks_close(struct stacks *s); /* NULL is fine */

/* Reads the maps of a process that will be sampled, so that they are known before it can end. Optional. */
void stacks_follow(struct stacks *s, pid_t pid);

/* Forgets a process: it has ended (since_ns UINT64_MAX), or it executes another program since this time
 * (CLOCK_MONOTONIC): its maps are read again, and samples from before are not unwound with them. */
void stacks_forget(struct stacks *s, pid_t pid, uint64_t since_ns);

/* Unwinds and names. Always fills *ret; ret->end says how far it came. Costs 10 to 50 us where the addresses are known,
 * up to 100 ms for the first address in a file with debug information, at most 3 * limits.sample_ms. */
void stacks_place(struct stacks *s, const struct stack_sample *sample, struct code_place *ret);

void stacks_counts(const struct stacks *s, struct stacks_counts *ret);

#endif
