/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of a file or of standard input, through a window that moves forward.
 * gzip is seen by its first bytes and read as is; several members too. A thread
 * reads (and inflates) ahead, so that parsing waits as little as it can.
 */
#ifndef FORMATS_INPUT_H
#define FORMATS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	INPUT_WINDOW_MAX_BYTES =
	    64 << 20, /* no single piece (a JSON text, a line) may be longer, nor what is held */
	INPUT_PAD_BYTES = 64
};

struct input {
	const char *at, *end; /* what is there to be read; `at` is the reader's to move.
	                         INPUT_PAD_BYTES after `end` may be read, and are 0 */
	bool over;            /* nothing comes after `end` */
	bool cut;             /* ERR_INPUT because a gzip file ends in the middle */
	uint64_t offset;      /* of `base` in the (inflated) bytes; see input_offset() */
	const char *base;
	struct input_inside *inside;
};

/* path "-" is standard input. ERR_SYSTEM (cannot be opened or read). */
int input_open(struct input *in, const char *path, struct err *e);
/* The same, for a file that is not parsed yet: reading ahead begins now, however small it is. */
int input_open_ahead(struct input *in, const char *path, struct err *e);
void input_close(struct input *in);

/* Memory as input, for tests and fuzzing; it must outlive *in. It comes in pieces of `piece` bytes
 * (0: large ones), so that a small one has the window move at every place. No thread. */
int input_memory(struct input *in, const void *data, size_t len, size_t piece, struct err *e);

/* More bytes behind `end`; what lies from `at` on stays but may have moved. 0; 1: nothing more
 * comes (over); ERR_INPUT: damaged gzip (what came before the damage was handed out); ERR_FULL: the
 * window, with what is held, would be over its bound (nothing has changed then: with `at` moved, or
 * without the hold, it goes on); ERR_SYSTEM, ERR_MEMORY. Other failures stick. O(bytes from `at`
 * on; amortised O(1) a byte, however long a piece becomes). */
int input_more(struct input *in, struct err *e);

/* From here on all bytes from `at` on, as far as they were handed out, stay readable where they
 * are, wherever the window goes, until the release. Not nested. */
void input_hold(struct input *in);
void input_release(struct input *in);

static inline uint64_t
input_offset(const struct input *in)
{
	return in->offset + (uint64_t)(in->at - in->base);
}

/* For progress: bytes of the file itself that were read so far, and its size (0: not known). Any
 * thread. */
void input_progress(const struct input *in, uint64_t *read_bytes, uint64_t *size_bytes);

#endif
