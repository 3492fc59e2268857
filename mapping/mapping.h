/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A mapping in memory: its rules, and what they name. map.h reads it from a file. */
#ifndef MAPPING_MAPPING_H
#define MAPPING_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum {
	MAP_RULES_MAX = 64,     /* [request] sections of a file */
	MAP_STEPS_MAX = 16,     /* of a rule */
	MAP_TYPE_MAX_BYTES = 63 /* of a request type; a longer one is cut */
};

enum map_correlate { MAP_THREAD, MAP_FIELD, MAP_SPAN };

enum { MAP_ALTERNATIVES_MAX = 8 };

struct map_fields { /* the first that an event has */
	uint32_t n;
	char *names[MAP_ALTERNATIVES_MAX];
};

struct map_step {
	char *event;                  /* "provider:event", or a pattern */
	char *id;                     /* the field that holds an id known so far */
	char *gives;                  /* the field that holds a further id; NULL: none */
	uint32_t id_kind, gives_kind; /* which of the rule's ids those are */
	int line;
};

struct map_rule {
	char *name; /* of its section */
	int line;   /* where that is */
	enum map_correlate correlate;
	char *begin, *end;
	int begin_line, end_line, begin_id_line, end_id_line,
	    type_line;           /* of the file; 0: not given */
	char *type, *type_field; /* one of them; or neither */
	char *begin_id, *end_id; /* MAP_FIELD; else NULL */
	uint32_t nids, end_kind; /* ids by their names: begin's is 0 */
	char **ids;
	bool carry;      /* MAP_FIELD */
	int nested_line; /* of the key; 0: not given */
	/* MAP_THREAD: a begin within a request is part of it; else it abandons that request */
	bool nested;
	int64_t limit_ns; /* a request that is open for longer is abandoned, and counted */
	uint32_t nsteps;
	struct map_step *steps;
	/* MAP_SPAN: the fields that hold the ids of begin and end, the service and the name. Other rules have none of these. */
	struct map_fields trace_fields, span_fields, end_span_fields, parent_fields, service_fields,
	    type_fields;
};

struct mapping {
	char *path, *service;
	uint32_t nrules;
	struct map_rule *rules;
	uint32_t npatterns;
	char **patterns;
	struct arena arena; /* all of the above */
};

#endif
