/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The USDT probes that a program or library contains: its section .note.stapsdt, as <sys/sdt.h> of SystemTap writes it. Pure:
 * the file is bytes in memory, which may hold anything.
 *
 *	note: u32 name size = 8, u32 description size, u32 type = 3, "stapsdt\0", description, padding to 4
 *	description: u64 address, u64 base, u64 semaphore, provider\0 name\0 arguments\0
 *
 * Addresses are those of the file (p_vaddr) when it was linked. If it was moved since (prelink), the section .stapsdt.base
 * lies elsewhere than `base` says, and all are moved by the difference.
 */
#ifndef BELOW_PROBES_USDT_NOTES_H
#define BELOW_PROBES_USDT_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum {
	USDT_PROBES_MAX = 4096, /* of a file; libjvm.so has 517 */
	USDT_NAME_MAX =
	    127, /* bytes of a provider and of a name; a probe with a longer one is left out */
	USDT_ARGUMENTS_MAX = 12, /* what SystemTap can write */
};

struct usdt_probe {
	const char *provider,
	    *name; /* in the arena, terminated; letters, digits, '_', '-', '.', ':', '$' */
	const char *arguments; /* in the arena, terminated: "-4@%ebx 8@-144(%rbp)" */
	uint64_t address,
	    offset; /* of the instruction: in the file's terms, and its position in the file */
	/* Of the counter that tracers increase while the probe is watched; 0: it has none. */
	uint64_t semaphore, semaphore_offset;
};

struct usdt_notes { /* all in the arena; in the order of the file */
	struct usdt_probe *probes;
	uint32_t count;
	uint32_t left_out; /* malformed, or over a limit, or not in a loaded segment with code */
};

/* Reads an ELF file for x86-64. A file without the section has none, which is no error. ERR_INPUT: it is not such a
 * file, or its section headers are malformed; ERR_MEMORY. O(sections + bytes of the notes). */
int usdt_notes_read(
    struct usdt_notes *ret, const uint8_t *file, size_t len, struct arena *a, struct err *e);

enum usdt_argument_kind {
	USDT_CONSTANT, /* the value is `constant` */
	USDT_REGISTER, /* in a register */
	USDT_MEMORY,   /* at the register, plus constant */
	USDT_UNKNOWN,  /* of another form: relative to a symbol, or with an index */
};

struct usdt_argument {
	enum usdt_argument_kind kind;
	uint8_t size; /* 1, 2, 4, 8 bytes */
	bool is_signed;
	uint8_t
	    dwarf_register; /* 0 to 16, as in DWARF: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip */
	int64_t constant;
};

/* Reads the text of arguments. Returns their number, at most USDT_ARGUMENTS_MAX; what is malformed is USDT_UNKNOWN. */
uint32_t usdt_arguments(struct usdt_argument ret[USDT_ARGUMENTS_MAX], const char *text);

#endif
