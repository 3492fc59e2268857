/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of the store share: a folder of their own, random forests, and ways to
 * compare them. */
#ifndef TESTS_UNIT_FOREST_MADE_H
#define TESTS_UNIT_FOREST_MADE_H

#include "base/rng.h"
#include "forest/forest.h"

enum { TRACES = 200 }; /* low halves of trace ids of all evidence here */

struct place {
	char folder[32], path[64];
};

int folder_make(void **state);
int folder_remove(void **state);
struct store *open_store(const char *path);
void commit(struct store *s, struct forest *f);
struct forest *loaded(struct store *s, unsigned days);
int64_t sql_integer(const char *path, const char *text);
const char *any_text(struct rng *r);
void fill(struct rng *r, struct hypothesis *h);
void fill_run(struct rng *r, struct run *run);
void fill_verdict(struct rng *r, struct forest *f, const struct hypothesis *h);
void fill_evidence(struct rng *r, struct forest *f, const struct hypothesis *h);
/* One cycle, from 1, of diagnoses that always go the same way: goes on with what is in the forest.
 */
void play(struct forest *f, uint32_t cycle);
struct forest *played(uint32_t cycles); /* that number of cycles; no change is left to write */
void same_forest(const struct forest *a, const struct forest *b);

#endif
