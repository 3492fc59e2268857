/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The symbols of a program file or shared library; behind it is libelf (symbol_file_libelf.c). */
#ifndef AGENT_SYSTEM_SYMBOL_FILE_H
#define AGENT_SYSTEM_SYMBOL_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { SYMBOL_NAME_MAX = 63 }; /* bytes; a longer name is cut */

/*
 * Finds the object or function that contains a position in an ELF file that is open as fd.
 * from_start: distance in memory, in bytes, between the file's first byte and the position, where
 * the file is mapped. True: its name is in `name`, terminated and not empty. False: no symbol
 * contains it, the file is no ELF file, or there was not enough memory.
 *
 * The file may hold anything and may change meanwhile: it is read, never mapped, at most two symbol
 * tables of it are searched, and a table or string section above 64 MiB is ignored. O(symbols).
 */
bool symbol_file_find(int fd, uint64_t from_start, char name[SYMBOL_NAME_MAX + 1]);

/*
 * The reverse: where the exported object of this name lies, as the distance in memory between the
 * file's first byte and the object, where the file is mapped. False: the file exports no object of
 * this name with at least `bytes` bytes. Bounded as above.
 */
bool symbol_file_place(int fd, const char *name, uint64_t bytes, uint64_t *from_start);

/* How the address of a thread-local variable is known in a running process (Drepper, ELF Handling For Thread-Local Storage; x86-64). */
enum tls_model {
	TLS_FIXED,  /* thread pointer + offset: it is of the program itself */
	TLS_OFFSET, /* a word of the process has that offset (R_X86_64_TPOFF64) */
	TLS_DESCRIPTOR, /* the second of two words has it, or leads to {module, offset} (R_X86_64_TLSDESC) */
	TLS_MODULE /* a word has the number of the module, in whose block it lies at `offset` (R_X86_64_DTPMOD64) */
};

struct tls_symbol {
	enum tls_model model;
	int64_t offset; /* FIXED, MODULE */
	uint64_t
	    from_start; /* of the word or words, from the file's first byte in memory; not FIXED */
};

/* The thread-local variable of this name that the file exports. False: it exports none, or nothing in the file says where the loader puts its
 * offset. Bounded as above. */
bool symbol_file_tls(int fd, const char *name, struct tls_symbol *ret);

#endif
