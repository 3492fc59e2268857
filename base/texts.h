/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interned texts: equal texts have equal numbers, from 0 up in the order in which they came, and
 * keep them.
 */
#ifndef BASE_TEXTS_H
#define BASE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct texts; /* owns copies of its texts */

struct texts *texts_new(void); /* NULL: out of memory */
void texts_free(struct texts *t);

/* The number of the text, which is added if it is new. UINT32_MAX: out of memory, or 4 GiB long.
 * O(len) expected, amortised. */
uint32_t texts_intern(struct texts *t, const char *s, size_t len);

/* The number of the text, or UINT32_MAX: absent. O(len) expected. */
uint32_t texts_find(const struct texts *t, const char *s, size_t len);

/* The text with a terminating 0, valid while t lives. `id` is one that t gave. */
const char *texts_get(const struct texts *t, uint32_t id);
/* Its length, in which bytes of 0 count. */
uint32_t texts_length(const struct texts *t, uint32_t id);

uint32_t texts_count(const struct texts *t);

#endif
