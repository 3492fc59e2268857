/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ids of the traces that went last, so that a record which comes after its trace
 * is known to be late. One piece of 896 KiB, touched as a whole when it is made: its
 * memory is the same from the first trace on. Keyed by a seed, so that nobody
 * outside can choose what collides.
 */
#ifndef ANALYSIS_RETIRED_IDS_H
#define ANALYSIS_RETIRED_IDS_H

#include <stdbool.h>
#include <stdint.h>

enum { RETIRED_IDS_MAX = 65536 };

struct retired_ids;

struct retired_ids *retired_ids_new(void);    /* NULL: out of memory */
void retired_ids_free(struct retired_ids *g); /* NULL is fine */

/* From now on the id is in it, until RETIRED_IDS_MAX more have been added. O(1). */
void retired_ids_add(struct retired_ids *g, uint64_t id);

/* Is it among the last RETIRED_IDS_MAX that were added? O(1) expected. */
bool retired_ids_has(const struct retired_ids *g, uint64_t id);

#endif
