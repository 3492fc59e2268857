/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text output: the abilities of the terminal, formatting of numbers, bars, columns. */
#ifndef CLI_PEN_H
#define CLI_PEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"

struct pen {
	FILE *out;
	bool utf8, colour, terminal, live; /* live: a terminal on which a line can be overwritten */
	int columns;
	/* the strings that the functions below return; they live until pen_release() or
	 * arena_reset() */
	struct arena texts;
};

enum colour { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, CYAN };

/* Colours are used on a terminal without NO_COLOR, UTF-8 if the locale uses it. `columns` is the
 * width of the terminal, 100 elsewhere. The functions below end the program if memory runs out. */
void pen_open(struct pen *p, FILE *out);
void pen_release(struct pen *p); /* releases the strings, does not close the file */

/* A copy in which control characters and malformed UTF-8 are '?', since strings from traced
 * programs could otherwise control the terminal. Without UTF-8, every byte over 127 is '?'. NULL
 * gives "". */
const char *pen_clean(struct pen *p, const char *s);
const char *pen_printf(struct pen *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));
void pen_put(struct pen *p, enum colour c, const char *s); /* prints s, coloured if possible */
int pen_width(const char *s); /* in columns; every UTF-8 character counts as one */
/* s, or a copy of at most max(columns, 8) columns with its middle replaced by an ellipsis. */
const char *pen_shorten(struct pen *p, const char *s, int columns);

/* Prints a paragraph with `margin` before every line. Lines are broken at spaces to fit a terminal;
 * elsewhere it is one line. */
void pen_wrap(struct pen *p, const char *margin, const char *text);

const char *pen_count(struct pen *p, double n);     /* 12,345 */
const char *pen_ms(struct pen *p, double ms);       /* 12.3 ms, 1.50 s, 120 us */
const char *pen_seconds(struct pen *p, double s);   /* 12.3 s, 2 min 5 s, 3 h 4 min */
const char *pen_share(struct pen *p, double share); /* 84 %, 0.4 % */
/* A bar of `cells` columns, `share` of it full. */
const char *pen_bar(struct pen *p, double share, int cells);
const char *pen_arrow(const struct pen *p); /* separates the two labels of an edge */

/* ---- columns: cells row by row, the first row holds the headings ---- */
enum { COLUMNS_MAX = 16 };

struct columns {
	int columns, cells;
	uint32_t cap;
	const char *align; /* 'l' or 'r' for each column */
	const char **cell;
};

void columns_open(struct columns *t, const char *align);
void columns_add(struct columns *t, const char *s);   /* s is not copied */
void columns_print(struct columns *t, struct pen *p); /* also releases the cells */
void columns_release(struct columns *t);

#endif
