/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules about labels from the configuration, for reports and diagnoses: excluded waits, bins,
 * and providers of the preload layer. */
#ifndef CONTROLPLANE_ENGINE_RULES_H
#define CONTROLPLANE_ENGINE_RULES_H

#include "analysis/bins.h"
#include "base/err.h"

struct rules {
	char *texts[3];              /* copies that the lists point into */
	const char **ignore, **bins; /* NULL at the end, or NULL: none */
	const char **deep;           /* the same: see search/preload_labels.h */
	struct bins *made;           /* from `bins`; NULL: none */
};

/* Lists separated by blanks: patterns of labels (fnmatch), rules of analysis/bins.h, and patterns of
 * providers, which may be separated by commas too; NULL: empty. Copies them. ERR_INPUT: not a rule;
 * ERR_MEMORY. *r is to be released in any case. O(bytes). */
int rules_init(
    struct rules *r, const char *ignore, const char *bins, const char *deep, struct err *e);
void rules_release(struct rules *r); /* all zeroes is fine */

#endif
