/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One [request] section of a mapping: from its text to a rule. */
#ifndef MAPPING_MAP_RULE_H
#define MAPPING_MAP_RULE_H

#include "mapping/map_file.h"
#include "mapping/mapping.h"

/* Makes a rule of its text; what *r points to is in the arena of m. ERR_INPUT: "path:line: what
 * is wrong"; ERR_MEMORY. */
int map_rule_read(struct mapping *m, const struct rule_text *w, struct map_rule *r, struct err *e);
/* Copies a tracepoint, or a pattern, into the arena of m. ERR_INPUT: it is neither; ERR_MEMORY. */
int map_rule_keep_event(struct mapping *m, const char *s, size_t len, char **ret, struct err *e);

#endif
