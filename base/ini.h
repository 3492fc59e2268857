/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strict configuration files: [section], key = value, # comments. A table of
 * what is allowed is all that a program gives; unknown sections and keys,
 * keys given twice, values out of range or without a needed unit are errors with
 * file and line. One table, three uses: read, print back, describe.
 * A # begins a comment at the start of a line or after a blank. A text with blanks at its ends,
 * with " #" or unprintable bytes is quoted: "..." with \\ \" \n \t \xHH.
 */
#ifndef BASE_INI_H
#define BASE_INI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum ini_type {
	INI_TEXT,  /* char *, owned by the configuration */
	INI_COUNT, /* int64_t, a whole number */
	INI_TIME,  /* int64_t ns; written with ns, us, ms, s, min, h */
	INI_BYTES, /* int64_t; written with B, KiB, MiB, GiB */
	INI_SHARE, /* double; written as 10% or 0.1; 1 is all */
	INI_BOOL,  /* int; yes, no */
};

struct ini_key {
	const char *section, *name;
	enum ini_type type;
	size_t offset;        /* of the value in the configuration struct */
	const char *fallback; /* the default, written as in a file */
	double min, max;      /* for numbers, in the unit they are kept in; both 0: any */
	const char *help;     /* one sentence */
};

/* Fills *config with the defaults of all keys. 0 or ERR_MEMORY. */
int ini_defaults(const struct ini_key *keys, size_t nkeys, void *config, struct err *e);

/* Reads path over what *config holds. On error *config is still valid to release. Lines up to 4096
 * bytes, files up to 1 MiB. Words: "path:line: what, and what is allowed". No such file:
 * ERR_MISSING. */
int ini_read(
    const struct ini_key *keys, size_t nkeys, void *config, const char *path, struct err *e);

/*
 * Files of another form: sections that repeat, keys that do. The reader says for each section and
 * each key of the last one what to do with it; lines, quotes and values are read as above, and so
 * is what is said of them.
 */
struct ini_reader {
	void *of;
	int (*section)(void *of, const char *name, int line, struct err *e);
	/* Which key that is, and the struct that its value goes into; a text there is freed before.
	 */
	int (*key)(void *of, const char *name, int line, const struct ini_key **k, void **into,
	    struct err *e);
};

/* As ini_read(). What the reader refuses gets "path:line: " in front, and ends it. */
int ini_walk(const struct ini_reader *r, const char *path, struct err *e);

/* One value, as from the command line "section.name=value". */
int ini_set(
    const struct ini_key *keys, size_t nkeys, void *config, const char *assignment, struct err *e);

/* Writes a file that ini_read() reads back to the same values; with_help: each key under its
 * sentence. */
void ini_print(
    const struct ini_key *keys, size_t nkeys, const void *config, int with_help, FILE *out);
void ini_release(const struct ini_key *keys, size_t nkeys, void *config);

#endif
