/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How to write for a person: what the terminal can show, numbers in words, tables, bars. */
#ifndef CLI_PEN_H
#define CLI_PEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"

struct pen {
	FILE *out;
	bool utf8, colour, terminal, live; /* live: a terminal that can be written over */
	int columns;
	struct arena texts; /* what the functions below return lives here, until pen_release() */
};

enum colour { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, CYAN };

/* Finds out what `out` is: colours only on a terminal and without NO_COLOR, UTF-8 if the locale is.
 */
void pen_open(struct pen *p, FILE *out);
void pen_release(struct pen *p); /* the texts, not the file */

/* Texts come from traced programs: what could steer a terminal is shown as '?'. NULL is "". */
const char *pen_clean(struct pen *p, const char *s);
const char *pen_printf(struct pen *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));
void pen_put(
    struct pen *p, enum colour c, const char *s); /* in this colour, if there are colours */
int pen_width(const char *s);                     /* in columns: one for each character of UTF-8 */
/* At most `columns` wide, with the middle left out. */
const char *pen_shorten(struct pen *p, const char *s, int columns);

/* A paragraph: every line behind the margin, broken between words where a terminal ends; elsewhere
 * one line. */
void pen_wrap(struct pen *p, const char *margin, const char *text);

const char *pen_count(struct pen *p, double n);     /* 12,345 */
const char *pen_ms(struct pen *p, double ms);       /* 12.3 ms, 1.50 s, 120 us */
const char *pen_seconds(struct pen *p, double s);   /* 12.3 s, 2 min 5 s, 3 h 4 min */
const char *pen_share(struct pen *p, double share); /* 84 %, 0.4 % */
/* A bar of `cells` columns, `share` of it full. */
const char *pen_bar(struct pen *p, double share, int cells);
const char *pen_arrow(const struct pen *p); /* between an edge's ends */

/* ---- tables: cells row by row, the first row is the head ---- */
enum { TABLE_COLUMNS_MAX = 16 };

struct table {
	int columns, cells, cap;
	const char *align; /* 'l' or 'r' for each column */
	const char **cell;
};

void table_open(struct table *t, const char *align);
void table_add(struct table *t, const char *s);   /* not copied */
void table_print(struct table *t, struct pen *p); /* and releases it */
void table_release(struct table *t);

#endif
