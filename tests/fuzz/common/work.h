/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work that an input may take: a part that each input may, and one for each of its bytes. */
#ifndef TESTS_FUZZ_COMMON_WORK_H
#define TESTS_FUZZ_COMMON_WORK_H

#include <stdint.h>

enum { WORK_BASE = 2000000, WORK_PER_BYTE = 4000 };

/* The bound in use; a target may set another one before it returns from its first input. */
extern uint64_t work_max, work_per_byte;

uint64_t work_done(void); /* by this process so far, in basic blocks */

#endif
