/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strict configuration files: [section], key = value, # comment. A program gives a table of its config keys;
 * unknown sections and keys, keys that are given twice, values out of range and missing
 * units are errors with file and line. One table serves to read, to print and to describe.
 *
 * A # begins a comment at the start of a line or after a blank. A text with blanks at its ends,
 * with " #" or with unprintable bytes is quoted: "..." with \\ \" \n \t \xHH.
 */
#ifndef BASE_INI_H
#define BASE_INI_H

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "base/ini_key.h"

/* Fills *config with the defaults of all keys. 0 or ERR_MEMORY; *config can be released either way. A default
 * that is malformed is a mistake of the program and aborts it. */
int ini_defaults(const struct ini_key *keys, size_t nkeys, void *config, struct err *e);

/* Reads the file over the values in *config. On error *config can still be released; keys before
 * the error are set. Lines have at most 4096 bytes, files 1 MiB. ERR_INPUT: "path:line: what is
 * wrong, and what is allowed"; ERR_MISSING: no such file; ERR_SYSTEM; ERR_MEMORY. */
int ini_read(
    const struct ini_key *keys, size_t nkeys, void *config, const char *path, struct err *e);

/*
 * For files in which sections and keys repeat. The callbacks decide what each section and each key
 * of the last section means; lines, quotes and values are parsed as above, with the same errors.
 */
struct ini_reader {
	void *of; /* for the callbacks */
	int (*section)(void *of, const char *name, int line, struct err *e);
	/* Sets *k and *into, the struct that the value is written to at k->offset; a former text
	 * there is freed. */
	int (*key)(void *of, const char *name, int line, const struct ini_key **k, void **into,
	    struct err *e);
};

/* As ini_read(). An error of a callback gets "path:line: " in front and ends the walk. */
int ini_walk(const struct ini_reader *r, const char *path, struct err *e);

/* Sets one value, as from the command line: "section.name=value". ERR_INPUT, ERR_MEMORY. */
int ini_set(
    const struct ini_key *keys, size_t nkeys, void *config, const char *assignment, struct err *e);

/* Writes a file from which ini_read() gets the same values; with_help: each key below its help
 * and its bounds. */
void ini_print(
    const struct ini_key *keys, size_t nkeys, const void *config, int with_help, FILE *out);

void ini_release(const struct ini_key *keys, size_t nkeys, void *config); /* frees the texts */

#endif
