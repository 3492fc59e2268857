/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A text that grows, and operations on text. */
#ifndef SHOP_TEXT_H
#define SHOP_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Owns `at`, a C string of `length` bytes, or NULL while empty. All zeroes is an
 * empty text. Out of memory, the program ends. */
struct shop_text {
	char *at;
	size_t length, room;
};

void text_add(struct shop_text *t, const char *bytes, size_t length);
void text_adds(struct shop_text *t, const char *string);
void text_addf(struct shop_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_reset(struct shop_text *t); /* empties it and keeps its memory */
void text_release(struct shop_text *t);
const char *text_string(const struct shop_text *t); /* never NULL */

/* Appends `template` with each {name} replaced by the value of that name. `pairs`: name, value, name,
 * value, ..., NULL. Returns the number of replacements. */
int text_fill(struct shop_text *t, const char *template, const char *const pairs[]);

/* In place: converts to lower case, and each run of other characters than letters and digits to one
 * blank. Returns the number of words. */
int text_fold(char *string);

/* Splits at `separator` in place, into at most `max` fields. Returns their number. */
int text_split(char *string, char separator, char *fields[], int max);

/*
 * 64-bit FNV-1a in `rounds` times TEXT_STRETCH passes, each beginning with the result
 * of the one before. It stands for the computation of a real service: without it
 * requests would mostly wait for sockets, and spans would have almost no duration.
 * Cost: about 2 ns for each byte and pass.
 */
enum { TEXT_STRETCH = 40 };
uint64_t text_hash(const void *bytes, size_t length, int rounds);

#endif
