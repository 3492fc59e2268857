/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bins: a developer chooses a field of a label and cuts for its values; requests in different
 * bins belong to different groups. A rule is written LABEL.FIELD=CUT,CUT,...; LABEL may be a
 * pattern (fnmatch). The bin of a number is given by the number of cuts at or below it. Without
 * cuts (LABEL.FIELD or LABEL.FIELD=) each text and each number has a bin of its own, up to 4096
 * values of all rules together; further values share one bin. A missing value, and a text where
 * there are cuts, is in no bin: BIN_NONE.
 */
#ifndef ANALYSIS_BINS_H
#define ANALYSIS_BINS_H

#include "analysis/critpath.h"

struct bins;

struct bins *bins_new(void); /* NULL: out of memory */
void bins_free(struct bins *b);

/* Adds one rule. ERR_INPUT: not of this form, more than 64 cuts, or cuts not in ascending
 * order; ERR_MEMORY. */
int bins_add(struct bins *b, const char *rule, struct err *e);

/* Sets `bin` of each step of the path. The first rule whose pattern matches the label and whose
 * field the label has decides. `b` may be NULL. O(steps), plus O(rules) for each new label. */
void bins_apply(
    struct bins *b, const struct trace *t, const struct labels *labels, struct critpath *p);

/* Appends what a bin stands for: "10 <= items < 100", "size < 10", "shard = eu". Appends no
 * text for BIN_NONE. */
void bin_print(const struct bins *b, const struct labels *labels, uint32_t label, uint32_t bin,
    struct buf *out);

#endif
