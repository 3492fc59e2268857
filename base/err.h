/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What went wrong, with what, and what to do about it, in words for a person. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_code {
	ERR_OK = 0,
	ERR_SYSTEM = -1,  /* the operating system said no */
	ERR_MEMORY = -2,  /* out of memory, or of the memory we were allowed */
	ERR_INPUT = -3,   /* malformed: a message, a file, a command line */
	ERR_VERSION = -4, /* well formed, of a version that we do not speak */
	ERR_STORE = -5,   /* the database */
	ERR_TRACER = -6,  /* LTTng */
	ERR_PEER = -7,    /* the other side is gone, or refuses us */
	ERR_TIMEOUT = -8,
	ERR_FULL = -9,     /* a queue, a table, a disk */
	ERR_MISSING = -10, /* no such thing */
	ERR_BUSY = -11,    /* somebody else holds it */
	ERR_DENIED = -12,  /* who asks may not */
};

struct err {
	int code;
	char text[400];
};

/* Sets words and code (e may be NULL) and returns the code, so that a failure is
 * one statement: return err_set(e, ERR_INPUT, "%s: no such key", key). Words that
 * do not fit are cut. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same with ": strerror(errno)" at the end, and code ERR_SYSTEM. */
int err_errno(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "words: " in front of what e says already; returns e->code. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
