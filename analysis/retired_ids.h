/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ids of the traces that were retired last (returned or given up), so that records which arrive
 * after their trace are recognised as late. One allocation of 896 KiB, touched as a whole when
 * it is made: memory use does not grow later. Hashed with a random seed, so that ids from
 * outside cannot be chosen to collide.
 */
#ifndef ANALYSIS_RETIRED_IDS_H
#define ANALYSIS_RETIRED_IDS_H

#include <stdbool.h>
#include <stdint.h>

enum { RETIRED_IDS_MAX = 65536 };

struct retired_ids;

struct retired_ids *retired_ids_new(void);    /* NULL: out of memory */
void retired_ids_free(struct retired_ids *g); /* NULL is fine */

/* Adds an id; it is kept until RETIRED_IDS_MAX more have been added. O(1). */
void retired_ids_add(struct retired_ids *g, uint64_t id);

/* Whether the id is among the last RETIRED_IDS_MAX added ones. O(1) expected. */
bool retired_ids_has(const struct retired_ids *g, uint64_t id);

#endif
