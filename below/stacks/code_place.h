/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A place in the code where a thread was seen: its stack as text, and of it the function that a person would look at.
 * Pure: made from the named frames of one stack.
 */
#ifndef BELOW_STACKS_CODE_PLACE_H
#define BELOW_STACKS_CODE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PLACE_FOLDED_MAX = 1023,  /* bytes of the folded stack */
	PLACE_FUNCTION_MAX = 127, /* bytes of a function's name; a longer one is cut */
	PLACE_FILE_MAX = 127,     /* bytes of a file's name, without its folders */
	PLACE_FRAMES_MAX = 128, /* frames of a stack, functions compiled into others not counted */
};

enum stack_end {            /* how the unwinding of a stack ended */
	STACK_COMPLETE,     /* at the start of the thread */
	STACK_BYTES_MISSED, /* beyond the copied bytes */
	STACK_NO_RULES,     /* at code that has no unwinding rules, as of a just-in-time compiler */
	STACK_REPLACED,     /* at code of a file that has been replaced since it was mapped */
	STACK_UNMAPPED,   /* at an address that is no code: the registers or the bytes are wrong */
	STACK_TOO_DEEP,   /* after PLACE_FRAMES_MAX frames */
	STACK_NO_PROCESS, /* at once: the process has ended or is not visible */
	STACK_GIVEN_UP, /* its files took too much time or memory: they are malformed or hostile */
};

struct code_place {
	/* "_start;main;serve() at dd.c:88;append() at dd.c:27;fsync": the outermost function first; functions that are
	 * compiled into others have entries of their own. Only the function of `function`, where its line is known, and the
	 * innermost of its callers whose line is known, have "() at FILE:LINE". If not all fits, outer entries are left out, and it begins with "...;". It also begins with
	 * "...;" if `end` is not STACK_COMPLETE. Semicolons and control characters in names are '_'. */
	char folded[PLACE_FOLDED_MAX + 1];

	/* The innermost frame that is not of the C library or the loader, or the innermost frame if
	 * all are: function, or "program+0x1234" (from where the function begins) where the file has no symbol for it,
	 * or "program (replaced)" where the file that was mapped is gone. Empty: there is no frame. */
	char function[PLACE_FUNCTION_MAX + 1];
	char file[PLACE_FILE_MAX + 1]; /* "" : unknown */
	uint32_t line;                 /* 0: unknown */
	/* What `function` called of those libraries, as "fsync"; "": nothing. */
	char call[PLACE_FUNCTION_MAX + 1];

	uint64_t key; /* a hash of all of the above: equal for equal places, in every run */
	uint16_t frames;
	uint8_t end; /* enum stack_end */
};

/* A function on a stack; one that is compiled into another has a frame of its own here. */
struct code_frame {
	const char *function; /* as in struct code_place, not empty */
	const char *file;     /* "": unknown */
	uint32_t line;        /* 0: unknown */
	bool
	    library; /* of the C library, the loader, the kernel's vdso, the C++ runtime, or a jump to them */
};

/* Makes the place of n frames, the innermost first. `frames` and `end` of struct code_place are the arguments. O(n). */
void code_place_make(struct code_place *ret, const struct code_frame *frames, size_t n,
    uint16_t nunwound, enum stack_end end);

/* Copies a function's name without what compilers append (".isra.0", ".part.3", ".constprop.1", ".cold", ".lto_priv.0",
 * "@@GLIBC_2.34") and with '_' for what the folded text cannot hold. At most PLACE_FUNCTION_MAX bytes. */
void code_function_name(char ret[PLACE_FUNCTION_MAX + 1], const char *symbol);

/* Whether a mapped file's name says that it is one of the libraries of struct code_frame.library. */
bool code_is_library(const char *file_name);

#endif
