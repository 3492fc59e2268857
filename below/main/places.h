/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ids for places in the code: each place is named once, by a NAME, before its id is used. */
#ifndef BELOW_MAIN_PLACES_H
#define BELOW_MAIN_PLACES_H

#include "below/stacks/code_place.h"
#include "wire/below.h"

/* Gets every message; texts are valid during the call. */
typedef void below_take(void *of, const struct below_message *m);

struct places;

struct places *places_new(void); /* NULL: out of memory */
void places_free(struct places *p);

/* The id of a place; if it is new, it is named with `take`. 0: 32768 are named, or the place has no frame. O(1) on average. */
uint32_t places_id(struct places *p, const struct code_place *place, below_take *take, void *of);

#endif
