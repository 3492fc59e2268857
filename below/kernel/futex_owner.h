/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the owner of a lock is named, by the conventions of glibc (nptl, 2.25 to 2.41, x86-64). The same for the BPF programs and for
 * user space.
 *
 *	pthread_mutex_t   | word   | count  | owner  |               the waiter expects 2, of a timed wait, too
 *	with inheritance  | owner and flags |
 *	pthread_rwlock_t  | readers| writers| phase  | wfutex |  ..  |  ..  | writer |     the waiter expects 3 if a writer has it
 *	                  0        4        8        12       16     20     24
 */
#ifndef BELOW_KERNEL_FUTEX_OWNER_H
#define BELOW_KERNEL_FUTEX_OWNER_H

enum { FUTEX_OWNER_MASK = 0x3fffffff, FUTEX_NO_OWNER = -1 };

/* How many bytes behind the word the owner's thread id lies (0: in the word itself, its lower 30 bits), or FUTEX_NO_OWNER. The arguments are
 * those of futex(2); other users of a futex have anything there, so the caller checks that it is a thread of the process. A waiter for
 * readers of an rwlock has no owner. */
static inline __attribute__((always_inline)) int
futex_owner_at(unsigned long long word, unsigned long long operation, unsigned expected)
{
	enum { WAIT = 0, LOCK_PI = 6, WAIT_BITSET = 9, LOCK_PI2 = 13, WRITER_HAS_IT = 3 };

	switch (operation & 127) {
	case WAIT_BITSET: /* the word of the phase is aligned to 8 bytes, that of writers is not */
		if (expected == WRITER_HAS_IT)
			return (word & 4) != 0 ? 12 : 16;
		return 8;
	case WAIT:
		return 8;
	case LOCK_PI:
	case LOCK_PI2:
		return 0;
	}
	return FUTEX_NO_OWNER;
}

#endif
