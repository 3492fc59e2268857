/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside mapping/map*.c: a file in its own words, since a rule can be judged only when all of it is
 * known. */
#ifndef MAPPING_WORDS_H
#define MAPPING_WORDS_H

#include "base/ini.h"
#include "mapping/map.h"

enum { WORDS_NAME_MAX_BYTES = 63 }; /* of a request, a service */

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
	RULE_KEYS
};

struct step_words {
	char *text;
	int line;
};

struct rule_words {
	char *begin, *end, *correlate, *type, *type_field, *begin_id, *end_id;
	int carry, nested;
	int64_t limit_ns;
	struct step_words steps[MAP_STEPS_MAX];
	uint32_t nsteps;
	char *name;
	int line, line_of[RULE_KEYS]; /* line_of: 0: not given */
};

struct words {
	char *service;
	int program_line, service_line;
	struct rule_words rules[MAP_RULES_MAX];
	uint32_t nrules;
	bool in_rule;
};

/* How a key is written. */
const char *words_key(enum rule_key k);

/* The file; *ret is all zeroes before. Sections and keys are known, values of their types. As
 * ini_walk(). */
int words_read(struct words *ret, const char *path, struct err *e);
void words_release(struct words *w);

/* Inside mapping/map*.c, too: a rule of the mapping, from its words. ERR_INPUT with place,
 * ERR_MEMORY. */
int rule_read(struct mapping *m, const struct rule_words *w, struct map_rule *r, struct err *e);
/* A tracepoint, or a pattern of such, is kept by the mapping. */
int rule_keep_event(struct mapping *m, const char *s, size_t len, char **ret, struct err *e);

#endif
