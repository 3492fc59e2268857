/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text with an event in each line, for the formats of text: lines, names, the order of time. */
#ifndef KERNEL_FILES_RECORDING_TEXT_H
#define KERNEL_FILES_RECORDING_TEXT_H

#include "base/arena.h"
#include "formats/input.h"
#include "kernel/files/event_window.h"
#include "kernel/files/recording.h"

enum {
	TEXT_LINE_MAX = 1 << 16, /* longer lines are counted as malformed */
	TEXT_NAMES_MAX = 4096,
	TEXT_CPUS_MAX =
	    8192 /* the most that Linux can be built for; greater numbers are malformed */
};

enum text_line {
	LINE_EVENT,  /* *raw is filled in */
	LINE_UNUSED, /* an event whose name means nothing; counted by the parser */
	LINE_OTHER,  /* a comment, an empty line */
	LINE_BAD     /* *why says what is wrong */
};

struct recording_text {
	struct recording recording;
	struct recording_setting *setting;
	struct translator translator;
	struct input in;
	uint16_t host;
	struct event_window *window;
	/* Reads a line, without its end. The texts of *raw may point into the line. */
	enum text_line (*parse)(struct recording_text *t, const char *line, size_t len,
	    struct raw_event *raw, const char **why);
	struct texts *names;       /* of events */
	struct event_name *events; /* by the number of their names */
	uint32_t events_cap;
	struct arena arena;
	uint32_t cap; /* of recording.items */
	bool
	    in_order; /* the tracer writes the events of a CPU in their order: a time that goes back there is odd */
	bool over;
	uint64_t reported_bytes;                   /* of progress */
	int rc;                                    /* of recording_text_add() */
	void (*release)(struct recording_text *t); /* of what a format has beside; or NULL */
};

/* Opens it: takes over *in, also if it fails. `size`: of a structure that begins with struct recording_text, and is all
 * zeroes but for that. `window_bytes`: of events that wait to be sorted. ERR_MEMORY. */
int recording_text_open(struct recording_text **ret, size_t size, struct input *in,
    const char *path, struct recording_setting *setting, size_t window_bytes, struct err *e);

/* Adds an event beside the one that parse() returns, before it. */
void recording_text_add(struct recording_text *t, const struct kernel_event *ev);

/* What a name of events means, looked up once; valid until the next call. NULL: over TEXT_NAMES_MAX names, or out of
 * memory. */
struct event_name *recording_text_name(struct recording_text *t, const char *name, size_t len);

/* Whole numbers at *at, which moves behind them. False: there is no digit, or it does not fit. */
bool text_number(const char **at, const char *end, int64_t *ret);
bool text_hex(const char **at, const char *end, int64_t *ret);
/* A decimal number, or hexadecimal after 0x, also negative; all of the text up to `end`. */
bool text_value(const char *at, const char *end, int64_t *ret);

/* Fills in the values of "key=value key=value", for the slots of the event's meaning. O(length * slots). */
void text_pairs(struct raw_event *raw, const char *at, const char *end);

#endif
