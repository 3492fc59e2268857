/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of a mapping file, by section and key. A rule is checked later (map_rule.h), when all
 * of its keys are known. */
#ifndef MAPPING_MAP_FILE_H
#define MAPPING_MAP_FILE_H

#include "base/ini.h"
#include "mapping/mapping.h"

enum { MAP_NAME_MAX_BYTES = 63 }; /* of a request, a service */

enum rule_key {
	KEY_BEGIN,
	KEY_END,
	KEY_CORRELATE,
	KEY_TYPE,
	KEY_TYPE_FIELD,
	KEY_BEGIN_ID,
	KEY_END_ID,
	KEY_CARRY,
	KEY_NESTED,
	KEY_LIMIT,
	KEY_TRACE_ID,
	KEY_PARENT_ID,
	KEY_SERVICE_FIELD,
	RULE_KEYS
};

struct step_text {
	char *text;
	int line;
};

struct rule_text {
	char *begin, *end, *correlate, *type, *type_field, *begin_id, *end_id, *trace_id,
	    *parent_id, *service_field;
	int carry, nested;
	int64_t limit_ns;
	struct step_text steps[MAP_STEPS_MAX];
	uint32_t nsteps;
	char *name;
	int line, line_of[RULE_KEYS]; /* line_of: 0: not given */
};

struct map_file {
	char *service;
	int program_line, service_line;
	struct rule_text rules[MAP_RULES_MAX];
	uint32_t nrules;
	bool in_rule;
};

/* The name of a key. */
const char *map_file_key(enum rule_key k);

/* Reads the file into *ret, which is all zeroes. Unknown sections and keys, and values of another type,
 * are errors. Errors as of ini_walk(); also then *ret must be released. */
int map_file_read(struct map_file *ret, const char *path, struct err *e);
void map_file_release(struct map_file *w);

#endif
