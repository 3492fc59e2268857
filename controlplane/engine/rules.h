/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an operator says of labels: which waits are meant, and what tells requests apart. For
 * reports and diagnoses. */
#ifndef CONTROLPLANE_ENGINE_RULES_H
#define CONTROLPLANE_ENGINE_RULES_H

#include "analysis/bins.h"
#include "base/err.h"

struct rules {
	char *texts[3];              /* what the lists point into */
	const char **ignore, **bins; /* NULL at the end, or NULL: none */
	const char **deep;           /* the same: patterns of providers, see deep.c */
	struct bins *made;           /* of the bins; NULL: none */
};

/* All are words with blanks between: patterns of labels (fnmatch), rules as analysis/bins.h has
 * them, and patterns of providers, which may have commas between as well; NULL: none. They are
 * copied. ERR_INPUT: no such rule; ERR_MEMORY. *r is to be released in any case. O(bytes). */
int rules_init(
    struct rules *r, const char *ignore, const char *bins, const char *deep, struct err *e);
void rules_release(struct rules *r); /* all zeroes is fine */

#endif
