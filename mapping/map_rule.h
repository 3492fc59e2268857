/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One [request] section of a mapping: from its text to a rule. */
#ifndef MAPPING_MAP_RULE_H
#define MAPPING_MAP_RULE_H

#include "mapping/map_file.h"
#include "mapping/mapping.h"

/* Inside mapping/map*.c, too: a rule of the mapping, from its words. ERR_INPUT with place,
 * ERR_MEMORY. */
int map_rule_read(struct mapping *m, const struct rule_text *w, struct map_rule *r, struct err *e);
/* A tracepoint, or a pattern of such, is kept by the mapping. */
int map_rule_keep_event(struct mapping *m, const char *s, size_t len, char **ret, struct err *e);

#endif
