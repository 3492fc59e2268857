/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernel events as bytes: what hone-below writes to a pipe while it records, and a recording of Hone's own. An event takes 5 to 20
 * bytes. What is read is what was written, to the last bit; names have the numbers of the reader's struct kernel_names.
 *
 *	"HONEKEV" version | chunk | chunk | ...
 *	chunk: length u32 | CRC-32C u32 | items		whole items; at most KERNEL_CHUNK_MAX bytes of them
 *	item:  tag | fields				an event, the definition of a name, or news of the source
 *	tag:   kind 0-4 | 5: another CPU, which follows | 6: tid and pid are those the CPU ran last | 7: flags follow
 *
 * Numbers are varints, times the difference from the one before. Names are numbered in the order of their definitions.
 */
#ifndef KERNEL_KERNEL_STREAM_H
#define KERNEL_KERNEL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "kernel/event.h"

enum {
	KERNEL_STREAM_VERSION = 2,
	KERNEL_CHUNK_MAX = 256 << 10,
	KERNEL_TEXT_MAX = 16 << 10, /* bytes of a name; longer ones are cut */
	KERNEL_STREAM_NAMES_MAX =
	    1 << 20 /* texts, and connections, between two kernel_writer_forget() */
};

/* What the source says beside events. */
enum kernel_news_kind {
	KERNEL_NOTE,   /* text: something is not recorded, and why */
	KERNEL_COST,   /* what has changed of the numbers */
	KERNEL_FAILED, /* code, text: it has ended, and why */
	KERNEL_END     /* it has ended as it should, and all events were before */
};

struct kernel_news {
	enum kernel_news_kind kind;
	int32_t code;     /* enum err_code */
	const char *text; /* terminated, not NULL */
	/* since the source began: */
	uint64_t cpu_us; /* that it took */
	uint64_t late;   /* events whose time was moved forward */
	uint64_t missed; /* begins and ends of interrupts that the kernel did not tell */
};

/* ---- writing ---- */

struct kernel_writer;

/* names: of the events to come; it has to live as long as the writer. NULL: out of memory. */
struct kernel_writer *kernel_writer_new(const struct kernel_names *names);
void kernel_writer_free(struct kernel_writer *w); /* NULL is fine */

/* Append to `out` what is complete: the begin of the stream, and chunks. Lack of memory sets out->failed. O(1) amortised. */
void kernel_writer_event(struct kernel_writer *w, const struct kernel_event *ev, struct buf *out);
void kernel_writer_news(struct kernel_writer *w, const struct kernel_news *n, struct buf *out);
/* What was not appended yet. */
void kernel_writer_flush(struct kernel_writer *w, struct buf *out);

/* Says that no name is known any more, after which the caller may make `names` new. Has to be called before texts or connections are more
 * than KERNEL_STREAM_NAMES_MAX. */
void kernel_writer_forget(struct kernel_writer *w, struct buf *out);

/* ---- reading ---- */

struct kernel_reader;

/* Takes news; it is valid during the call. A negative result ends the reading with that code. */
typedef int kernel_take_news(void *of, const struct kernel_news *n, struct err *e);

struct kernel_reader_options {
	struct kernel_names *names; /* gets the names */
	/* Where the source forgets its names, `names` is made new, too: for takers that keep no number of a name */
	bool forget;
	kernel_take *take;
	kernel_take_news *news;
	void *of;
	/* With `forget`, for takers that keep numbers until then: `names` is made new now, and was made new; NULL is fine. Errors as of a
	 * taker. */
	int (*forgets)(void *of, struct err *e);
	int (*forgot)(void *of, struct err *e);
};

struct kernel_reader *kernel_reader_new(
    const struct kernel_reader_options *o);       /* NULL: out of memory */
void kernel_reader_free(struct kernel_reader *r); /* NULL is fine */

/* Takes the next bytes of the stream, of any number. ERR_INPUT: malformed; ERR_VERSION; ERR_FULL: more names than permitted; what a taker
 * returned. After an error nothing more may be fed. Memory: KERNEL_CHUNK_MAX, 4 bytes for each name, 8 for each CPU up to 4,096, and the
 * names. */
int kernel_reader_feed(struct kernel_reader *r, const void *data, size_t len, struct err *e);

/* Whether the stream begins like one: `data` has its first 8 bytes. */
bool kernel_stream_begins(const void *data, size_t len);

/* Whether it stopped in the middle of something. */
bool kernel_reader_is_cut(const struct kernel_reader *r);

#endif
