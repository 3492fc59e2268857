/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of a file or of standard input, through a window that moves forward. gzip is
 * recognised by its first two bytes and decompressed, also with several members. For all but small
 * files a thread reads and decompresses ahead of the parser.
 */
#ifndef FORMATS_INPUT_H
#define FORMATS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	/* of unread bytes and held blocks together: no JSON text or line can be longer */
	INPUT_WINDOW_MAX_BYTES = 64 << 20,
	INPUT_PAD_BYTES = 64
};

struct input {
	/* The unread bytes; the parser moves `at`. The INPUT_PAD_BYTES after `end` are readable and
	 * 0. */
	const char *at, *end;
	bool over;       /* no bytes follow `end` */
	bool cut;        /* with ERR_INPUT: the gzip file ends in the middle of a member */
	uint64_t offset; /* of `base` in the decompressed bytes; see input_offset() */
	const char *base;
	struct input_inside *inside;
};

/* Opens a file; "-" is standard input. ERR_SYSTEM (cannot be opened; is a folder; no thread),
 * ERR_MEMORY. After a failure *in is closed. */
int input_open(struct input *in, const char *path, struct err *e);
/* The same for a file that is parsed later: reads ahead at once, however small the file is. */
int input_open_ahead(struct input *in, const char *path, struct err *e);
void input_close(struct input *in); /* also if closed already */

/* Memory as an input, for tests and fuzzing, without a thread. The memory must outlive *in. It
 * arrives in pieces of `piece` bytes (0: large ones): a small piece makes the window move
 * everywhere. ERR_MEMORY. */
int input_memory(struct input *in, const void *data, size_t len, size_t piece, struct err *e);

/*
 * Appends bytes at `end`. The bytes from `at` on are kept, but may move. Returns 0; 1: the end
 * (`over`); ERR_INPUT: damaged gzip, after the bytes before the damage were returned; ERR_FULL:
 * over INPUT_WINDOW_MAX_BYTES. ERR_FULL changes nothing: after `at` was moved, or the hold
 * released, the next call can succeed. ERR_INPUT and ERR_SYSTEM are returned again by each further
 * call. After ERR_MEMORY bytes may be missing: the input can only be closed. O(bytes from `at` on);
 * amortised O(1) for a byte, also in a long piece.
 */
int input_more(struct input *in, struct err *e);

/* From now on the bytes from `at` on, and all that input_more() appends, stay readable at their
 * address until input_release(). Holds do not nest. */
void input_hold(struct input *in);
void input_release(struct input *in);

static inline uint64_t
input_offset(const struct input *in)
{
	return in->offset + (uint64_t)(in->at - in->base);
}

/* Progress: bytes of the file (compressed, if it is) that were read, and its size (0: not known).
 * From any thread, while the input is open. */
void input_progress(const struct input *in, uint64_t *read_bytes, uint64_t *size_bytes);

#endif
