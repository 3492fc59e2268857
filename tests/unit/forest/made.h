/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the tests of the store: a folder of their own, random forests, and comparisons of
 * forests. */
#ifndef TESTS_UNIT_FOREST_MADE_H
#define TESTS_UNIT_FOREST_MADE_H

#include "base/rng.h"
#include "forest/forest.h"

enum { TRACES = 200 }; /* low halves of the trace ids of all evidence here */

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
/* Plays one cycle, numbered from 1, of diagnoses that always take the same course, continuing
 * from what the forest contains. */
void play(struct forest *f, uint32_t cycle);
struct forest *played(
    uint32_t cycles); /* the forest after that number of cycles; no change is left to write */
void same_forest(const struct forest *a, const struct forest *b);

#endif
