/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The growing array: a pointer, a count and a capacity, all the caller's.
 *
 *	struct item *items;		all zeroes is an empty array
 *	uint32_t nitems, items_cap;
 *
 *	if (!array_reserve(items, items_cap, nitems + 1))
 *		return ERR_MEMORY;
 *	items[nitems++] = item;
 *
 * `items` and `cap` are evaluated several times: pass plain variables or members. `cap` is of an
 * unsigned type of at least 32 bits. New items are not cleared. free(items) ends the array.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes room for n items in all. Capacities double from 16, so appending is O(1) amortised. False,
 * and everything unchanged: out of memory, or n is over half of what the type of `cap` can count
 * (which keeps the `nitems + 1` above from overflow). */
#define array_reserve(items, cap, n) array_reserve_max(items, cap, n, SIZE_MAX)

/* The same, for arrays of at most `max` items: false also if n > max; the capacity stays within
 * max. */
#define array_reserve_max(items, cap, n, max)                                                   \
	__extension__({                                                                         \
		_Static_assert((__typeof__(cap))-1 > 0 && sizeof cap >= 4, "type of " #cap);    \
		const size_t array_n_ = (n), array_max_ = (max);                                \
		size_t array_cap_ = (cap);                                                      \
		bool array_fits_ = array_n_ <= array_cap_;                                      \
		if (!array_fits_) {                                                             \
			void *array_new_ = array_grow((items), &array_cap_, array_n_,           \
			    array_max_ < ((__typeof__(cap))-1) / 2 ? array_max_                 \
								   : ((__typeof__(cap))-1) / 2, \
			    sizeof *(items));                                                   \
			if ((array_fits_ = array_new_ != NULL)) {                               \
				(items) = array_new_;                                           \
				(cap) = (__typeof__(cap))array_cap_;                            \
			}                                                                       \
		}                                                                               \
		array_fits_;                                                                    \
	})

/*
 * A ring of the newest `max` items in an array: returns the place of the next item, which is counted with that. Once there are `max` of
 * them, it is the place of the oldest one, items[next], and the ring begins behind it; `next`, which the caller has beside the others, is
 * 0 until then. So number i, from the oldest one on, is items[(next + i) % n]. NULL, and everything unchanged: out of memory. Amortised O(1).
 */
#define array_newest(items, cap, n, next, max)                          \
	__extension__({                                                 \
		__typeof__(items) array_at_ = NULL;                     \
		if ((n) == (max)) {                                     \
			array_at_ = &(items)[next];                     \
			(next) = ((next) + 1) % (max);                  \
		} else if (array_reserve_max(items, cap, (n) + 1, max)) \
			array_at_ = &(items)[(n)++];                    \
		array_at_;                                              \
	})

/* For the macros. The array, moved, with room for n or more items, n > *cap; NULL: n > max, or out
 * of memory, and nothing has changed. */
void *array_grow(void *items, size_t *cap, size_t n, size_t max, size_t item_bytes);

#endif
