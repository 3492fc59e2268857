/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text that grows, and the small work on text that shops are made of. */
#ifndef SHOP_TEXT_H
#define SHOP_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Owns `at`, which is a C string of `length` bytes, or NULL while empty. All
 * zeroes is an empty text. A program out of memory ends. */
struct text {
	char *at;
	size_t length, room;
};

void text_add(struct text *t, const char *bytes, size_t length);
void text_adds(struct text *t, const char *string);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_reset(struct text *t); /* empty, keeps its room */
void text_release(struct text *t);
const char *text_string(const struct text *t); /* never NULL */

/* Adds `template` with each {name} replaced by the value of that name; names
 * and values in turn, ended by NULL. Returns how many were replaced. */
int text_fill(struct text *t, const char *template, const char *const pairs[]);

/* Lower case, runs of anything else than letters and digits to one blank, in
 * place. Returns the number of words. */
int text_fold(char *string);

/* Splits at `separator` in place; at most `max` fields. Returns how many. */
int text_split(char *string, char separator, char *fields[], int max);

/*
 * 64-bit FNV-1a, over and over: `rounds` times TEXT_STRETCH passes, each beginning
 * with the last one's result. It is the shop's honest work: without it a request
 * would be little but waiting for sockets, and its spans would have no length.
 * Cost: about 2 ns for each byte and pass.
 */
enum { TEXT_STRETCH = 40 };
uint64_t text_hash(const void *bytes, size_t length, int rounds);

#endif
