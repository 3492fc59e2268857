/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was copied of a thread's stack, and the limits of what may be spent on reading it. */
#ifndef BELOW_STACKS_STACK_SAMPLE_H
#define BELOW_STACKS_STACK_SAMPLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
