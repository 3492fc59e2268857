/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keys that a developer chose to tell requests apart by: a label's field and the
 * values at which it is cut. Requests in different bins are in different groups.
 * Written LABEL.FIELD=CUT,CUT,...; the label may be a pattern (fnmatch). A
 * number is in the bin of how many cuts are at or below it; without cuts (LABEL.FIELD, or
 * with the = and nothing more), each text and each number is a bin of its own, up to
 * 4096 of them: the others share one. A value that is missing, or a text where there are
 * cuts, is in no bin: BIN_NONE.
 */
#ifndef ANALYSIS_BINS_H
#define ANALYSIS_BINS_H

#include "analysis/critpath.h"

struct bins;

struct bins *bins_new(void); /* NULL: out of memory */
void bins_free(struct bins *b);

/* One rule. ERR_INPUT: not of that form, cuts not rising; ERR_MEMORY. */
int bins_add(struct bins *b, const char *rule, struct err *e);

/* Sets `bin` of the path's steps. The first rule that fits a label, and names a field that it has,
 * counts. `b` may be NULL. O(steps). */
void bins_apply(
    struct bins *b, const struct trace *t, const struct labels *labels, struct critpath *p);

/* What a bin stands for: "10 <= items < 100", "size < 10", "shard = eu". Appends. BIN_NONE:
 * nothing. */
void bin_print(const struct bins *b, const struct labels *labels, uint32_t label, uint32_t bin,
    struct buf *out);

#endif
