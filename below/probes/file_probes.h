/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The USDT probes of a file as one process tells them to another: structs of a fixed size, without pointers. */
#ifndef BELOW_PROBES_FILE_PROBES_H
#define BELOW_PROBES_FILE_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "below/probes/usdt_notes.h"

enum {
	FILE_PROBES_MAX = 64,      /* of an answer */
	FILE_PROBE_NAME_MAX = 191, /* a probe with a longer name is left out */
	FILE_PROBE_VALUES_MAX = 6  /* arguments; more are left out */
};

struct file_probe {                         /* one place of a probe */
	char name[FILE_PROBE_NAME_MAX + 1]; /* "provider:name" */
	uint64_t offset, semaphore;         /* in the file; semaphore 0: none */
	uint32_t nvalues;
	struct usdt_argument values[FILE_PROBE_VALUES_MAX];
};

struct file_probes {
	uint32_t total; /* of the file */
	uint32_t count; /* of them in `list`, from the number that was asked for on */
	/* Places that cannot be probed at a low price (probe_price.h), are malformed, or over a limit: a probe that has such a
	 * place is not complete. */
	uint32_t left_out;
	bool
	    unread; /* the file was not read: it has these probes if it is known by its identity, else none */
	struct file_probe list[FILE_PROBES_MAX];
};

enum { FILE_FUNCTIONS_MAX = 4, FUNCTION_EXITS_MAX = 64, FUNCTION_PARTS_MAX = 4 };

enum function_lack { /* why a function cannot be probed */
	FUNCTION_IS_PROBED,
	FUNCTION_MISSING,  /* the file has no function of that name: it is compiled into others */
	FUNCTION_MANY,     /* more than FILE_FUNCTIONS_MAX have that name */
	FUNCTION_NO_PLACE, /* there is no place at its begin that each call passes once */
	FUNCTION_NO_EXITS, /* it is not known where it is left */
	FUNCTION_LACKS
};

struct file_function {  /* offsets in the file */
	uint64_t entry; /* of the instruction that is probed for its begin */
	uint32_t is_dear,
	    nexits; /* is_dear: a hit of that is single-stepped, as are those of exits */
	uint64_t exits[FUNCTION_EXITS_MAX];
};

struct file_functions { /* all functions of a name */
	uint32_t count; /* 0: none can be probed */
	uint32_t lack;  /* enum function_lack, of the first that cannot be */
	struct file_function list[FILE_FUNCTIONS_MAX];
};

/* Reads the file that is open as fd; from: how many to skip. A file that is no program for x86-64 has none. O(bytes of the notes) plus
 * the sections of the file, which is mapped meanwhile: if it is cut, the process gets SIGBUS. */
void file_probes_read(struct file_probes *ret, int fd, uint32_t from);

#endif
